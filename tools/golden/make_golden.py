#!/usr/bin/python3
"""Makes the golden files of histograms, transforms, optimizers, layers and models under tests/*/golden.

    /usr/bin/python3 tools/golden/make_golden.py        (Debian's python3-torch and python3-numpy)

Values come from PyTorch in f64 wherever it has the same rule; where neon's rule is its own, the formula is restated in
NumPy. All inputs are exact in f32, so the same values serve tests in f32. Numbers are drawn from fixed seeds: running
this again gives the same files.
"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden_histograms
import golden_nets
import golden_optimizers
import golden_transforms

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"


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


if __name__ == "__main__":
    write("backends/golden/histograms.json", golden_histograms.histograms())
    write("transforms/golden/activations.json", golden_transforms.activations())
    write("transforms/golden/costs.json", golden_transforms.costs())
    write("transforms/golden/metrics.json", golden_transforms.metrics())
    write("optimizers/golden/rules.json", golden_optimizers.rules())
    write("optimizers/golden/schedules.json", golden_optimizers.schedules())
    write("layers/golden/layers.json", golden_nets.layers())
    write("models/golden/mlp.json", [golden_nets.mlp()])
