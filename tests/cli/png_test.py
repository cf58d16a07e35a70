"""PNG files of all depths, colour types and interlacing against an encoder after the PNG specification (ISO 15948)."""
import itertools
import os
import struct
import zlib

import numpy as np
import support

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# First row and column, and the steps, of each pass of Adam7 (section 8.2).
ADAM7 = (0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)
LUMA = 0.299, 0.587, 0.114


def filtered(kind, row, above, step):
    """A row of bytes with one of the five filters (section 9.2)."""
    row, above = row.astype(int), above.astype(int)
    a, c = (np.concatenate([np.zeros(step, int), line])[:len(line)] for line in (row, above))
    p = a + above - c
    near = np.abs(np.stack([p - a, p - above, p - c]))
    paeth = np.where((near[0] <= near[1]) & (near[0] <= near[2]), a, np.where(near[1] <= near[2], above, c))
    return bytes([kind]) + ((row - (0 * row, a, above, (a + above) // 2, paeth)[kind]) % 256).astype(np.uint8).tobytes()


def packed(row, depth):
    """Samples (n) as bytes, the first in the upper bits."""
    if depth == 16:
        return np.frombuffer(row.astype(">u2").tobytes(), np.uint8)
    return np.packbits(np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, -depth:])


def encoded(samples, colour, depth, interlaced, *chunks):
    """A PNG of samples (H, W, C); the filters follow one another. `chunks`: (name, content) before the pixels."""
    height, width, channels = samples.shape
    kinds, out = itertools.cycle((4, 1, 0, 3, 2)), b""
    for y, x, down, right in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        part = samples[y::down, x::right]
        lines = [packed(row.reshape(-1), depth) for row in part] if part.size else []
        for above, line in zip([np.zeros_like(lines[0])] + lines if lines else [], lines):
            out += filtered(next(kinds), line, above, max(1, channels * depth // 8))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    chunks = [(b"IHDR", head), *chunks, (b"IDAT", zlib.compress(out)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content)) for name, content in chunks)


class Png(support.Case):
    def pixels(self, files, size, channels):
        """What neon reads of each file, (n, H, W, channels)."""
        folder = f"{len(os.listdir(self.folder))}"
        for i, content in enumerate(files):
            self.write(f"{folder}/{i:03}/a.png", content)
        spec = self.spec(dataset=f"{{ImageFolder: {{path: \"{folder}\", channels: {channels}}}}}")
        self.neon("data", "pack", spec, f"packed{folder}", "--pixels", "--size", "0")
        shard = self.read(f"packed{folder}/train-0000.shard")
        table, count = struct.unpack("<QQ", shard[-32:-16])
        out = [None] * count
        for i in range(count):
            place, length, _, label, _ = struct.unpack("<QIIiI", shard[table + 24 * i:table + 24 * (i + 1)])
            out[label] = np.frombuffer(shard[place:place + length], np.uint8).reshape(*size, channels)
        return np.stack(out)

    def cases(self, height, width):
        """(what it is, file, colours (H, W, 3) and opacity (H, W), both 0 to 1)"""
        draw = np.random.default_rng(height * width)
        for colour, interlaced, transparent in itertools.product(CHANNELS, (0, 1), (0, 1)):
            for depth in DEPTHS[colour] if colour < 4 or not transparent else ():
                most = 2**depth - 1
                samples = draw.integers(0, most + 1, (height, width, CHANNELS[colour]))
                shown, chunks, opacity = samples / most, [], np.ones((height, width))
                if colour == 3:
                    palette, opacities = draw.integers(0, 256, (most + 1, 3)), draw.integers(0, 256, most + 1)
                    chunks = [(b"PLTE", bytes(palette.reshape(-1).tolist()))] + [(b"tRNS", bytes(opacities.tolist()))] * transparent
                    shown = palette[samples[:, :, 0]] / 255
                    opacity = opacities[samples[:, :, 0]] / 255 if transparent else opacity
                elif colour > 3:
                    shown, opacity = shown[:, :, :-1], shown[:, :, -1]
                elif transparent:  # one colour
                    chunks = [(b"tRNS", struct.pack(f">{CHANNELS[colour]}H", *samples[-1, 0]))]
                    opacity = (samples != samples[-1, 0]).any(axis=2) * 1.0
                file = encoded(samples, colour, depth, interlaced, *chunks)
                yield f"type {colour}, {depth} bits, interlaced {interlaced}, tRNS {transparent}", file, shown, opacity

    def test_every_kind_has_the_pixels_that_the_specification_gives_it(self):
        for size in (1, 1), (2, 3), (8, 8), (13, 11):
            names, files, shown, opacities = zip(*self.cases(*size))
            for channels in 1, 3:
                for name, got, colours, opacity in zip(names, self.pixels(files, size, channels), shown, opacities):
                    expected = colours * opacity[:, :, None]
                    if channels == 1 and colours.shape[2] == 3:
                        expected = (expected @ LUMA)[:, :, None]
                    # Colour and opacity are each rounded to 8 bits first, and the grey of both again.
                    limit = 0.51 if (opacity == 1).all() and (channels == 3 or colours.shape[2] == 1) else 1.51
                    self.assertLessEqual(np.abs(got - 255 * expected).max(), limit, f"{name}, {size} to {channels} channels")

    def test_a_ramp_of_16_bits_and_a_file_of_linear_intensities(self):
        ramp = (np.arange(64) * 1028).reshape(8, 8, 1)
        for gamma in 1, 0.45455:
            chunks = [(b"gAMA", struct.pack(">I", 100000))] if gamma < 1 else []
            for got in self.pixels([encoded(ramp, 0, 16, interlaced, *chunks) for interlaced in (0, 1)], (8, 8), 1):
                expected = 255 * (ramp / 65535) ** gamma
                self.assertLessEqual(np.abs(got - expected).max(), 0.01 if gamma == 1 else 2)

    def test_texts_are_not_unpacked(self):
        text = (b"zTXt", b"a\0\0" + zlib.compress(bytes(7_000_000), 9))
        spent = []
        for folder, chunks in ("small", []), ("large", [text] * 40):
            for kind in "ab":
                self.write(f"{folder}/{kind}/1.png", encoded(np.zeros((8, 8, 1), int), 0, 8, 0, *chunks))
            spent.append(self.processor_seconds("data", "check", folder))
        self.assertLess(spent[1], spent[0] + 1)  # s; libpng takes 0.05 s and more a text


if __name__ == "__main__":
    support.main()
