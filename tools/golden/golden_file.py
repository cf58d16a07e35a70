"""How golden files are written, JSON, a case a line; and how their numbers are drawn. See make_golden.py."""
import hashlib
import json
import pathlib

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"


def stream(*key):
    """A generator that depends on the key alone, not on what was drawn before: a new row changes no other row."""
    return np.random.default_rng(list(hashlib.sha256(repr(key).encode()).digest()))


def draw(key, shape, scale=1.0):
    """Normal numbers, exact in f32. The same key and shape give the same numbers; the key is what the array is for."""
    return (scale * stream(key, shape).standard_normal(shape)).astype(np.float32).astype(np.float64)


def plain(value):
    """Arrays as {"shape": [...], "values": [...]}, f32-exact numbers in their shortest form."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": [short(x) for x in value.ravel().tolist()]}
    return short(value) if isinstance(value, float) else value


def short(x):
    return int(x) if float(x).is_integer() and abs(x) < 1e6 and not (x == 0 and np.signbit(x)) else float(x)


def write(path, cases):
    lines = [json.dumps(plain(case)) for case in cases]
    (TESTS / path).parent.mkdir(exist_ok=True)
    (TESTS / path).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(path, (TESTS / path).stat().st_size, "bytes,", len(cases), "cases")
