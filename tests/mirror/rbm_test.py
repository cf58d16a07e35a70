#!/usr/bin/python3
"""Restricted Boltzmann machines and a deep belief net of 28x28 pixels, in f64, against the same trainings in NumPy with
the same draws: weights, reconstruction errors, free energies and their gap between test and training samples.

    rbm_test.py      NEON is the program
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
from draws import uniforms
from net import logistic, softmax, softplus

SEED, BATCH, SAMPLES, TESTS, CLASSES = 3, 20, 50, 12, 10
RATE, MOMENTUM = 0.05, 0.5
CLOSE = 1e-9


def strokes(count, draw):
    """Images of some lines each, as pens make them, and a label for each."""
    out, labels = np.zeros((count, 28, 28), np.float32), draw.randint(0, CLASSES, count)
    for image, label in zip(out, labels):
        for line in range(2 + label % 3):
            row, column, down = draw.randint(2, 14), draw.randint(2, 14), draw.rand() < 0.5
            for i in range(12):
                image[row + i * down + label % 2, column + i * (not down)] = 0.5 + draw.rand() / 2
    return out, labels


class Machine:
    def __init__(self, name, w, hidden=None, visible=None):
        self.name, self.w = name, w.copy()
        self.c = np.zeros(w.shape[0]) if hidden is None else hidden
        self.b = np.zeros(w.shape[1]) if visible is None else visible
        self.velocity, self.chains = [0, 0, 0], np.zeros((BATCH, w.shape[1]))

    def hidden(self, v):
        return logistic(v @ self.w.T + self.c)

    def visible(self, h):
        return logistic(h @ self.w + self.b)

    def free_energy(self, v):
        return -v @ self.b - softplus(v @ self.w.T + self.c).sum(1)

    def error(self, v):
        return ((v - self.visible(self.hidden(v))) ** 2).sum(1)

    def gibbs(self, v, step, number, sample_visible):
        sampled = lambda p, kind: (uniforms(SEED, f"{self.name}/{kind}/{number}", step, p.shape) < p).astype(float)
        means = self.visible(sampled(self.hidden(v), "hidden"))
        return sampled(means, "visible") if sample_visible else means

    def step(self, v, step, k=1, persistent=False, sample_visible=False):
        """One update by the difference of the statistics. Returns the errors before it."""
        errors, model, n = self.error(v), self.chains[:len(v)] if persistent else v, len(v)
        for number in range(k):
            model = self.gibbs(model, step, number, sample_visible)
        if persistent:
            self.chains[:n] = model
        h, hm = self.hidden(v), self.hidden(model)
        gradients = [(hm.T @ model - h.T @ v) / n, (hm - h).mean(0), (model - v).mean(0)]
        for i, g in enumerate(gradients):
            self.velocity[i] = MOMENTUM * self.velocity[i] - RATE * g
        self.w, self.c, self.b = (x + v for x, v in zip((self.w, self.c, self.b), self.velocity))
        return errors


def batches(count):
    return [slice(first, first + BATCH) for first in range(0, count, BATCH)]


class RBMs(support.Case):
    def setUp(self):
        super().setUp()
        draw = np.random.RandomState(5)
        self.x, self.y = strokes(SAMPLES, draw)
        self.x_test, self.y_test = strokes(TESTS, draw)
        np.savez(self.path("d.npz"), x_train=self.x, y_train=self.y, x_test=self.x_test, y_test=self.y_test)
        np.savez(self.path("train.npz"), x_train=self.x, y_train=self.y, x_test=self.x, y_test=self.y)
        self.rows, self.rows_test = (x.reshape(len(x), -1).astype(float) for x in (self.x, self.x_test))
        self.normal = lambda *shape: draw.randn(*shape) * 0.1

    def array(self, values):
        return {"Array": {"val": [float(v) for v in values.ravel()]}}

    def train(self, spec):
        self.write("s.yaml", json.dumps({"dataset": {"NPZ": {"path": "d.npz", "classes": CLASSES}}, "batch_size": BATCH,
                                         "shuffle": False, "datatype": "f64", **spec}))
        self.neon("-r", str(SEED), "-eval", "1", "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
        return {name: np.frombuffer(content).reshape(shape)
                for name, (kind, shape, content) in support.tensors(self.path("m.safetensors"))[0].items() if kind == "F64"}

    def close(self, got, expected, name, most=CLOSE):
        self.assertLess(np.abs(got - expected).max() / max(1e-3, np.abs(expected).max()), most, name)

    def sgd(self):
        return {"GradientDescentMomentum": {"learning_rate": RATE, "momentum_coef": MOMENTUM}}

    def result(self, dataset):
        """The results of `neon eval` for the data set's test samples."""
        out = self.neon("eval", "m.safetensors", "--set", f"dataset.NPZ.path={dataset}", "--format", "json").out
        return json.loads(out)

    def test_machines_are_those_of_the_statistics(self):
        w = self.normal(16, 784)
        for rule in {}, {"k": 3}, {"k": 2, "persistent": True}, {"k": 2, "persistent": True, "sample_visible": True}:
            with self.subTest(rule=rule):
                rbm, epochs, tests, energies, step = Machine("rbm", w), [], [], [], 0
                for _ in range(3):
                    errors = []
                    for some in batches(SAMPLES):
                        errors += list(rbm.step(self.rows[some], step, **rule))
                        step += 1
                    epochs.append(np.mean(errors))
                    tests.append(rbm.error(self.rows_test).mean())
                    energies.append(rbm.free_energy(self.rows_test).mean())
                found = self.train({"layers": [{"RBM": {"name": "rbm", "nout": 16, "init": self.array(w)}}], "epochs": 3,
                                    "rule": {"ContrastiveDivergence": rule}, "optimizer": self.sgd(), "train_metrics": 1000})
                for name, values in ("rbm/W", rbm.w), ("rbm_bias/b", rbm.c), ("rbm_visible/b", rbm.b):
                    self.close(found[name], values, name)
                if rule.get("persistent"):
                    self.close(found["rbm/chains/carried"], rbm.chains, "chains")
                with h5py.File(self.path("r.h5")) as file:
                    self.close(file["epoch/cost"][:], epochs, "epoch/cost")
                    self.close(file["cost/loss"][:], tests, "cost/loss", 1e-6)  # kept in f32
                    self.close(file["metrics/FreeEnergy"][:], energies, "FreeEnergy", 1e-6)
                    gap = rbm.free_energy(self.rows_test).mean() - rbm.free_energy(self.rows).mean()
                    self.close(file["metrics/FreeEnergy"][-1] - file["metrics/train_FreeEnergy"][-1], gap, "gap", 1e-6)
                    self.close(file["metrics/train_cost"][-1], rbm.error(self.rows).mean(), "train_cost", 1e-6)
                test, training = self.result("d.npz"), self.result("train.npz")
                self.close(test["cost"], tests[-1], "reconstruction error", 1e-12)
                gap = rbm.free_energy(self.rows_test).mean() - rbm.free_energy(self.rows).mean()
                self.close(test["FreeEnergy"] - training["FreeEnergy"], gap, "free-energy gap", 1e-6)

    def test_a_belief_net_is_trained_greedily_and_then_tuned(self):
        w = [self.normal(14, 784), self.normal(9, 14), self.normal(CLASSES, 9)]
        layers = [{"RBM": {"name": f"rbm{i}", "nout": len(w[i]), "init": self.array(w[i])}} for i in range(2)]
        top = {"Affine": {"name": "top", "nout": CLASSES, "init": self.array(w[2]), "activation": "Softmax"}}
        found = self.train({
            "layers": [*layers, top], "cost": "CrossEntropyMulti", "optimizer": {"GradientDescentMomentum": {"learning_rate": RATE}},
            "phases": [{"name": "first", "epochs": 2, "layers": layers[:1], "rule": "ContrastiveDivergence", "optimizer": self.sgd()},
                       {"name": "second", "epochs": 2, "layers": layers, "rule": {"ContrastiveDivergence": {"k": 2}},
                        "optimizer": self.sgd()},
                       {"name": "tune", "epochs": 1}]})
        first, second, top, step = Machine("rbm0", w[0]), Machine("rbm1", w[1]), w[2], 0
        costs = []
        for epoch in range(5):
            for some in batches(SAMPLES):
                v = self.rows[some]
                if epoch < 2:
                    costs.append(first.step(v, step).mean())
                elif epoch < 4:
                    costs.append(second.step(first.hidden(v), step, k=2).mean())
                else:
                    h1, t = first.hidden(v), np.eye(CLASSES)[self.y[some]]
                    h2 = second.hidden(h1)
                    p = softmax(h2 @ top.T)
                    costs.append(-np.log((p * t).sum(1)).mean())
                    d = (p - t) / len(v)
                    d2 = d @ top * h2 * (1 - h2)
                    d1 = d2 @ second.w * h1 * (1 - h1)
                    top = top - RATE * d.T @ h2
                    second.w, second.c = second.w - RATE * d2.T @ h1, second.c - RATE * d2.sum(0)
                    first.w, first.c = first.w - RATE * d1.T @ v, first.c - RATE * d1.sum(0)
                step += 1
        for name, values in (("rbm0/W", first.w), ("rbm0_bias/b", first.c), ("rbm0_visible/b", first.b), ("rbm1/W", second.w),
                             ("rbm1_bias/b", second.c), ("rbm1_visible/b", second.b), ("top/W", top)):
            self.close(found[name], values, name)
        with h5py.File(self.path("r.h5")) as file:
            self.close(file["cost/train"][:], costs, "cost/train", 1e-6)  # kept in f32

    def test_a_stopped_run_goes_on_with_its_chains(self):
        spec = {"layers": [{"RBM": {"name": "rbm", "nout": 6, "init": {"Gaussian": {"scale": 0.1}}}}], "epochs": 4,
                "rule": {"ContrastiveDivergence": {"persistent": True}}, "optimizer": self.sgd()}
        whole = self.train(spec)
        self.neon("-r", str(SEED), "-eval", "1", "-e", "2", "-s", "h.safetensors", "s.yaml")
        self.neon("resume", "h.safetensors", "-e", "4")
        rest = support.tensors(self.path("h.safetensors"))[0]
        for name, values in whole.items():
            self.assertEqual(values.tobytes(), rest[name][2], name)

    def test_what_does_not_fit_is_refused(self):
        affine = "{Affine: {nout: 3, init: Kaiming}}"
        head = "dataset: Iris\noptimizer: {SGD: {learning_rate: 0.1}}\nrule: ContrastiveDivergence\nbatch_size: 32\n"
        self.spec(head + f"layers: [{affine}]\n", name="a.yaml")
        self.refused(2, "check", "a.yaml", says="a.yaml:3:7: rule: ContrastiveDivergence trains the last layer, which must be an "
                                                "RBM; it is Affine_0 (Affine)")
        self.spec(head + f"layers: [{affine}]\ncost: MeanSquared\n", name="b.yaml")
        self.refused(2, "check", "b.yaml", says="rule and cost are both given")
        self.spec(head + "layers: [RBM: {nout: 3, init: Kaiming}]\nmetrics: [Misclassification]\n", name="c.yaml")
        self.refused(2, "check", "c.yaml", says="a rule has results of its own")
        self.spec(head.replace("Iris", "{Digits: {ntrain: 40, ntest: 10}}") + "layers: [RBM: {nout: 3, init: Kaiming}]\n"
                  "augment: [RandomCrop: {size: 24, average: 2}]\n", name="d.yaml")
        for verb in [], ["check"]:
            self.refused(2, *verb, "d.yaml", says="a rule measures the images themselves, leave it out")

    def test_binary_units_and_yes_or_no_take_numbers_from_0_to_1(self):
        """Bytes as they are and normalised, and numbers of a file."""
        digits, normal = "dataset: {Digits: {ntrain: 40, ntest: 10%s}}\n", "normalize: true\n"
        rest = "optimizer: {SGD: {learning_rate: 0.01}}\nbatch_size: 10\nepochs: 1\n"
        rbm = rest + "rule: CD\nlayers: [RBM: {nout: 3, init: Kaiming%s}]\n"
        coder = rest.replace("epochs: 1\n", "") + "layers: [Affine: {nout: 10, init: Kaiming, activation: Softmax}]\ncost: CrossEntropyMulti\nphases:\n- name: coder\n" \
            "  epochs: 1\n  reconstruct: true\n  cost: %s\n  layers: [Affine: {nout: 784, init: Kaiming, activation: Logistic}]\n- {name: end, epochs: 1}\n"
        values = np.linspace(0, 1, 40 * 4, dtype="f4").reshape(40, 4)
        np.savez(self.path("v.npz"), x_train=values)
        np.savez(self.path("w.npz"), x_train=values * 1.5)
        np.savez(self.path("bits.npz"), x_train=values > 0.5)  # bytes of 0 and 1
        file = rest + "dataset: {NPZ: {path: %s.npz, y_train: '', y_test: ''}}\nlayers: [Affine: {nout: 4, init: Kaiming, activation: Logistic}]\ncost: CrossEntropyBinary\n"
        for spec in digits % "" + rbm % "", digits % "" + normal + rbm % ", visible: gaussian", digits % "" + coder % "CrossEntropyBinary", \
                digits % "" + normal + coder % "MeanSquared", file % "v", file % "bits":
            self.neon(self.spec(spec))
        for spec, says in ((digits % "" + normal + rbm % "", "rule: visible units that are binary take numbers between 0 and 1, and those of samples go to -"),
                           (digits % ", sym_range: true" + rbm % "", "go to -1; leave normalize and sym_range out, or give the RBM visible: gaussian"),
                           (digits % "" + normal + coder % "CrossEntropyBinary", "phase 'coder': the cost compares outputs between 0 and 1 with the samples, "
                            "whose numbers go to -"),
                           (file % "w", "cost: the cost compares outputs between 0 and 1 with the samples, whose numbers go to 1.009; leave")):
            self.refused(2, self.spec(spec), says=says)


if __name__ == "__main__":
    support.main()
