#!/usr/bin/python3
"""Writes the small .safetensors files in tests/train/golden and the fuzzer's seeds, from the format's
description alone (struct and json, nothing of neon's). Run from the repository's root."""
import json
import os
import struct
import zlib

GOLDEN = "tests/train/golden"
SEEDS = "tests/fuzz/corpus/safetensors"


def file_bytes(header, data, pad=0):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * pad
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def all_types():
    """One tensor of each dtype, in no order, of values that each dtype holds exactly."""
    parts = [
        ("u8", "U8", [3], struct.pack("<3B", 0, 128, 255)),
        ("i8", "I8", [3], struct.pack("<3b", -128, 0, 127)),
        ("f16", "F16", [2], struct.pack("<2H", 0x3C00, 0xC100)),  # 1, -2.5
        ("bf16", "BF16", [2], struct.pack("<2H", 0x3F80, 0xC020)),  # 1, -2.5
        ("f32", "F32", [2, 2], struct.pack("<4f", 1.5, -0.25, 3e38, 0.1)),
        ("i32", "I32", [2], struct.pack("<2i", -(2**31), 2**31 - 1)),
        ("f64", "F64", [1, 2], struct.pack("<2d", 0.1, -1e300)),
        ("i64", "I64", [2], struct.pack("<2q", -(2**63), 2**63 - 1)),
        ("scalar", "F32", [], struct.pack("<f", 7.0)),
        ("none", "F32", [0, 5], b""),
    ]
    header, data = {"__metadata__": {"made": "by hand", "caf\u00e9": "line\n\"quoted\""}}, b""
    for name, dtype, shape, raw in parts:
        header[name] = entry(dtype, shape, len(data), len(data) + len(raw))
        data += raw
    return file_bytes(header, data)


def checkpoint():
    """Format 1 as neon/train/checkpoint.h describes it. Never change it: old checkpoints must stay readable."""
    raw = {"bias": struct.pack("<3f", 0.5, -1, 2), "step": struct.pack("<q", 1200)}
    header = {
        "__metadata__": {
            "neon.format": "1",
            "neon.run": "00112233445566ff",
            "neon.epoch": "3",
            "neon.number": "12",
            "neon.checksums": json.dumps({name: "crc32:%08x" % zlib.crc32(data) for name, data in raw.items()}),
            "neon.header_checksum": "crc32:00000000",
            "note": 'not "neon.header_checksum":"crc32:00000000" itself',
        },
        "bias": entry("F32", [3], 8, 20),
        "step": entry("I64", [], 0, 8),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    place = text.index(b'"neon.header_checksum":"crc32:') + len('"neon.header_checksum":"crc32:')
    text = text[:place] + b"%08x" % zlib.crc32(text) + text[place + 8 :]
    return file_bytes(text, raw["step"] + raw["bias"])


FILES = {
    "checkpoint_1": checkpoint(),
    "all_types": all_types(),
    "empty": file_bytes({}, b""),
    "padded": file_bytes({"w": entry("F32", [2], 0, 8)}, struct.pack("<2f", 1, 2), pad=13),
    "only_metadata": file_bytes({"__metadata__": {"a": "b"}}, b""),
}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(content)


for name, content in FILES.items():
    write(f"{GOLDEN}/{name}.safetensors", content)
    write(f"{SEEDS}/{name}", content)
write(f"{SEEDS}/gap", file_bytes({"w": entry("F32", [1], 4, 8)}, b"\0" * 8))
write(f"{SEEDS}/overflow", file_bytes({"w": entry("F32", [2**62, 4], 0, 0)}, b""))
write(f"{SEEDS}/nested", file_bytes(b'{"w":' + b"[" * 200 + b"]" * 200 + b"}", b""))
