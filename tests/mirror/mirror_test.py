#!/usr/bin/python3
"""Small trainings of every kind, in f64, against the same in NumPy: weights, states, running means and curves.

    mirror_test.py [FIRST [COUNT]]      seeds of the trainings; NEON is the program
"""
import json
import os
import pathlib
import sys

import h5py
import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import support
from drawn import Training
from net import cost, forward, step
from rules import Rule, rate_at, share_kept

FIRST, COUNT = (int(x) for x in (sys.argv[1:] + ["1", "80"][len(sys.argv) - 1:])[:2])
CLOSE = 1e-9  # over the largest number of an array: thousands of roundings of 2^-53, and what small divisors make of them


def train(told):
    """Weights, rules with their states, running means; costs of the epochs, and of the test samples after each."""
    weights = {name: w.copy() for name, w in told.weights.items()}
    means, rules = dict(weights), {name: Rule(spec) for name, spec in told.optimizers.items()}
    sums, count, number, epoch_costs, test_costs = {name: 0 for name in weights}, 0, 0, [], []
    for epoch in range(told.epochs):
        total = 0
        for first in range(0, told.samples, told.batch):
            some = slice(first, first + told.batch)
            costs, gradients = step(weights, told.hidden, told.last, told.kind, told.cost_params, told.x[some], told.t[some],
                                    told.sample_weights[some])
            total += costs.sum()
            sums, count = {name: sums[name] + g for name, g in gradients.items()}, count + len(costs)
            if (number + 1) % told.accumulate == 0:
                for name, rule in rules.items():
                    own = {array: w for array, w in weights.items()
                           if told.optimizer_of(array) == name and not told.is_frozen(array)}
                    rate = rate_at(rule.p.get("schedule"), rule.base_rate(), epoch, number, told.steps, told.epochs)
                    gradients = {array: sums[array] / count for array in own}
                    weights.update(rule.update(own, gradients, rate, (number + 1) // told.accumulate, epoch, told.layers_behind))
                kept = share_kept(told.ema, (number + 1) // told.accumulate)
                means = {name: kept * means[name] + (1 - kept) * w for name, w in weights.items()}
                sums, count = {name: 0 for name in weights}, 0
            number += 1
        epoch_costs.append(total / told.samples)
        y = forward(means if told.ema else weights, told.hidden, told.last, told.x_test)[2]
        test_costs.append(cost(told.kind, told.cost_params, told.last, y, told.t_test)[0].mean())
    return weights, rules, means, epoch_costs, test_costs


class Mirror(support.Case):
    def check(self, told):
        np.savez(self.path("d.npz"), x_train=told.x, y_train=told.y, x_test=told.x_test, y_test=told.y_test)
        self.write("s.yaml", json.dumps(told.spec()))
        self.neon("-r", "1", "-eval", "1", "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
        found = {name: np.frombuffer(content).reshape(shape)
                 for name, (kind, shape, content) in support.tensors(self.path("m.safetensors"))[0].items() if kind == "F64"}
        weights, rules, means, epoch_costs, test_costs = train(told)
        expected = dict(weights)
        for array in filter(told.is_frozen, weights):
            self.assertEqual([name for name in found if name.startswith(array)], [array])
            self.assertEqual(found[array].tobytes(), told.weights[array].tobytes())
        for array in (name for name in weights if not told.is_frozen(name)):
            expected.update({f"{array}/{name}": s for name, s in rules[told.optimizer_of(array)].state[array].items()})
            if told.ema:
                expected[array + "/ema"] = means[array]
        for name, values in expected.items():
            self.close(found[name], values, name)
        with h5py.File(self.path("r.h5")) as file:
            self.close(file["epoch/cost"][:], epoch_costs, "epoch/cost", 1e-6)  # kept in f32
            self.close(file["cost/loss"][:], test_costs, "cost/loss", 1e-6)

    def close(self, got, expected, name, most=CLOSE):
        off = np.abs(got - expected).max() / max(1e-3, np.abs(expected).max())
        self.assertLess(off, most, name)

    def test_trainings_are_those_of_the_formulas(self):
        for seed in range(FIRST, FIRST + COUNT):
            told = Training(seed)
            with self.subTest(seed=seed, cost=told.kind, optimizers=told.optimizers, hidden=told.hidden[0], freeze=told.freeze):
                self.check(told)


if __name__ == "__main__":
    del sys.argv[1:]
    support.main()
