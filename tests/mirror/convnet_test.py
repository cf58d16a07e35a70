#!/usr/bin/python3
"""Small nets of images of every kind against the same in NumPy: weights, states, running statistics, curves, and what
eval and predict make of the checkpoint.

    convnet_test.py [FIRST [COUNT [gpu]]]      seeds of the trainings; gpu: there, not in f64; NEON is the program
"""
import json
import os
import pathlib
import sys

import h5py
import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import devices_test
import support
from drawn_convnet import Training
from net import LAST, cost
from rules import Rule, share_kept
from tape import Var

FIRST, COUNT = (int(x) for x in (sys.argv[1:] + ["1", "40"][len(sys.argv) - 1:])[:2])
GPU = sys.argv[3:] == ["gpu"]
# How far an array may be off, of its largest number; with 11 or 8 bits a maximum or a rectifier may take another turn.
CLOSE = {"f64": 1e-9, "f32": 3e-3, "f16": 0.15, "bf16": 0.2}


def costs_of(told, outputs, t):
    """Of each sample, and the gradients of their sum by the outputs, before their last activation."""
    total, gradients = 0, []
    for kind, weight, y in zip(told.costs, told.weights, outputs):
        x = y.value
        with np.errstate(divide="ignore", invalid="ignore"):  # where an output has been rounded to 0 or 1
            each, g = cost(kind, {}, told.last, LAST[told.last][0](x), t)
        if kind == "CrossEntropyBinary":
            each = (np.logaddexp(0, x) - t * x).sum(1)
        elif kind == "CrossEntropyMulti":
            each = np.logaddexp.reduce(x, axis=1) - (t * x).sum(1)
        total, gradients = total + weight * each, [*gradients, weight * g]
    return total, gradients


def train(told):
    """The rule; costs of the epochs, and of the test samples after each; of those the outputs in the end. What is trained
    is left in told.net."""
    net, rule, epoch_costs, test_costs, number = told.net, Rule(told.optimizer), [], [], 0
    told.means, sums, count = {**net.weights, **net.states}, {}, 0
    for epoch in range(told.epochs):
        total = 0
        for begin in range(0, told.samples, told.batch):
            some = slice(begin, begin + told.batch)
            outputs = net.forward(told.layers, told.x[some], True)
            costs, gradients = costs_of(told, outputs, told.t[some])
            Var(0.0, outputs, lambda _: gradients).backward(1.0)
            sums = {name: sums.get(name, 0) + var.grad for name, var in net.vars.items()}
            number, count, total = number + 1, count + len(costs), total + costs.sum()
            if number % told.accumulate == 0:
                means = {name: g / count for name, g in sums.items()}
                net.weights.update(rule.update(net.weights, means, rule.base_rate(), number, epoch))
                kept, now = share_kept(told.ema, number // told.accumulate), {**net.weights, **net.states}
                told.means = {name: kept * m + (1 - kept) * now[name] for name, m in told.means.items()}
                sums, count = {}, 0
        epoch_costs.append(total / told.samples)
        outputs = net.forward(told.layers, told.x_test, False, told.means if told.ema else None)
        test_costs.append(costs_of(told, outputs, told.t_test)[0].mean())
    return rule, epoch_costs, test_costs, LAST[told.last][0](outputs[0].value)


class Mirror(support.Case):
    def setUp(self):
        super().setUp()
        if GPU:
            del self.environment["CUDA_VISIBLE_DEVICES"]
            self.environment.update({name: os.environ[name] for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
                                     if name in os.environ})

    def neon(self, *arguments):
        return super().neon("-b", "gpu" if GPU else "cpu", *arguments)

    def trained(self, told, kind):
        self.neon("-r", "1", "-eval", "1", "-d", kind, "-s", "m.safetensors", "-o", "r.h5", *told.options(), "s.yaml")
        name, dtype = ("F64", np.float64) if kind == "f64" else ("F32", np.float32)  # of the masters
        return {array: np.frombuffer(content, dtype).reshape(shape)
                for array, (of, shape, content) in support.tensors(self.path("m.safetensors"))[0].items() if of == name}

    def check(self, told, kinds):
        spec = told.spec()
        np.savez(self.path("d.npz"), **told.arrays())
        self.write("s.yaml", json.dumps(spec))
        told.net.begin_again()
        rule, epoch_costs, test_costs, outputs = train(told)
        expected = {**told.net.weights, **told.net.states}
        for array in told.net.weights:
            expected.update({f"{array}/{name}": s for name, s in rule.state.get(array, {}).items()})
        if told.ema:
            expected.update({f"{array}/ema": mean for array, mean in told.means.items()})
        for kind in kinds:
            found = self.trained(told, kind)
            self.assertEqual({a for a in found if a in expected}, set(expected))
            most = max(1e-6, CLOSE[kind])  # of what is kept or printed in f32
            with h5py.File(self.path("r.h5")) as file:
                if kind == "f16" and file["epoch/skipped_steps"][-1] > 0:  # their scale was too large at first
                    continue
                self.close(file["epoch/cost"][:], epoch_costs, f"{kind} epoch/cost", most)
                self.close(file["cost/loss"][:], test_costs, f"{kind} cost/loss", most)
            for name, values in expected.items():
                self.close(found[name], values, f"{kind} {name}", CLOSE[kind])
            again = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
            self.close(again["cost"], test_costs[-1], f"{kind} eval", most)
            self.close(self.predicted(told), outputs, f"{kind} predict", most)

    def predicted(self, told):
        """The outputs for the test samples, by neon predict."""
        np.save(self.path("x.npy"), told.turned(told.raw_test))
        classes = ["--top_k", str(told.classes)] if told.labelled else []
        lines = self.neon("predict", "m.safetensors", "x.npy", "--format", "json", *classes).out.splitlines()
        rows = [json.loads(line) for line in lines]
        if not told.labelled:
            return np.array([row["outputs"] for row in rows])
        return np.array([[one["output"] for one in sorted(row["top"], key=lambda one: int(one["class"]))] for row in rows])

    def close(self, got, expected, name, most):
        off = np.abs(got - np.asarray(expected)).max() / max(1e-2, np.abs(expected).max())
        self.assertLess(off, most, name)

    def test_trainings_are_those_of_the_formulas(self):
        for seed in range(FIRST, FIRST + COUNT):
            told = Training(seed)
            if told.net.least_variance < 1e-12:  # of a constant only rounding is left, and rectifiers turn on its sign
                continue
            with self.subTest(seed=seed):
                self.check(told, [kind for kind in CLOSE if not (GPU and kind == "f64")])


if __name__ == "__main__":
    del sys.argv[1:]
    if GPU and (problem := devices_test.why_no_gpu()):
        print(f"{problem}\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    support.main()
