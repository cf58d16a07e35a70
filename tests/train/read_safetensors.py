#!/usr/bin/python3
"""Reads a .safetensors file by the format's description alone and prints it, one tensor a line, data as hex."""
import json
import struct
import sys

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1}

with open(sys.argv[1], "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
assert (8 + length) % 8 == 0, "the data do not begin at a multiple of 8"
header = json.loads(content[8 : 8 + length])
data = content[8 + length :]
for key, value in sorted(header.pop("__metadata__", {}).items()):
    print("metadata", key, value)
assert list(header) == sorted(header), "names are not sorted"
covered = 0
for name, item in sorted(header.items(), key=lambda pair: pair[1]["data_offsets"]):
    begin, end = item["data_offsets"]
    count = 1
    for size in item["shape"]:
        count *= size
    assert begin == covered and end - begin == count * SIZES[item["dtype"]], name
    assert begin % SIZES[item["dtype"]] == 0, name + " is not aligned"
    covered = end
assert covered == len(data)
for name, item in sorted(header.items()):
    begin, end = item["data_offsets"]
    print(name, item["dtype"], item["shape"], data[begin:end].hex() or "-")
