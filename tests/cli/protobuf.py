"""The fields of a protobuf message, for tests of files that have some."""


def varint(content, at):
    """A whole number, and where the next byte is."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(content):
    """[(number, value)] of a message: ints, bytes, or 4 or 8 raw bytes."""
    out, at = [], 0
    while at < len(content):
        tag, at = varint(content, at)
        if tag & 7 == 0:
            value, at = varint(content, at)
        else:
            size, at = {1: lambda: (8, at), 2: lambda: varint(content, at), 5: lambda: (4, at)}[tag & 7]()
            value, at = content[at:at + size], at + size
        out.append((tag >> 3, value))
    return out
