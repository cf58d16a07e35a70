#!/usr/bin/python3
"""Checks a checkpoint's checksums as neon/train/checkpoint.h describes them, with Python's zlib."""
import json
import re
import struct
import sys
import zlib

with open(sys.argv[1], "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
text, data = content[8 : 8 + length], content[8 + length :]
header = json.loads(text)
metadata = header.pop("__metadata__")
sums = json.loads(metadata["neon.checksums"])
assert sorted(sums) == sorted(header)
for name, item in sorted(header.items()):
    begin, end = item["data_offsets"]
    print(name, "ok" if sums[name] == "crc32:%08x" % zlib.crc32(data[begin:end]) else "wrong")
zeroed = re.sub(rb'("neon\.header_checksum":"crc32:)[0-9a-f]{8}', rb"\g<1>00000000", text)
print("header", "ok" if metadata["neon.header_checksum"] == "crc32:%08x" % zlib.crc32(zeroed) else "wrong")
