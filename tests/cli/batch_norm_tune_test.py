#!/usr/bin/python3
"""BatchNormTune against NumPy: means over the batches of a pass, with the weights of the epoch's end."""
import json
import re

import numpy as np

from support import Case, main, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz}}
layers:
  - Affine: {name: a, nout: 5, init: Kaiming, batch_norm: true, activation: Tanh}
  - Affine: {name: b, nout: 3, init: Kaiming, batch_norm: true}
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0.2, momentum_coef: 0.5}}
batch_size: 8
epochs: 3
shuffle: false
metrics: []
callbacks: [BatchNormTune]
"""
EPS = 1e-3


class Tune(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(3)
        self.x, self.y = rng.normal(1, 2, (37, 4)).astype("f4"), rng.normal(size=(37, 3)).astype("f4")
        np.savez(self.path("d.npz"), x_train=self.x, y_train=self.y, x_test=self.x[:20] * 2, y_test=self.y[:20])

    def stored(self, path, average=False):
        arrays = {name: np.frombuffer(content, {"F64": "f8", "F32": "f4"}[dtype]).reshape(shape)
                  for name, (dtype, shape, content) in tensors(self.path(path))[0].items()}
        return lambda name: arrays[name + "/ema"] if average else arrays[name]

    def measured(self, get, parts):
        """Means and variances of both batch norms, over the given batches: by samples, where ranks share these unevenly."""
        sums = {}
        for x in parts:
            for layer, activation in ("a", np.tanh), ("b", lambda z: z):
                z = x @ get(layer + "/W").T
                mean, variance = z.mean(0), z.var(0)
                for name, value in ("gmean", mean), ("gvar", variance):
                    sums.setdefault((layer, name), []).append(value)
                x = activation((z - mean) / np.sqrt(variance + EPS) * get(layer + "_bnorm/gamma") + get(layer + "_bnorm/beta"))
        samples = [len(part) for part in parts]
        return {key: np.average(values, 0, samples) for key, values in sums.items()}

    def compare(self, get, parts, batches):
        for (layer, name), value in self.measured(get, parts).items():
            wanted = value * batches / (batches - 1) if name == "gvar" and batches > 1 else value
            np.testing.assert_allclose(get(f"{layer}_bnorm/{name}"), wanted, rtol=1e-9, err_msg=f"{layer} {name}")

    def test_statistics_are_means_over_the_whole_batches(self):
        trained = self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(SPEC)).out
        get = self.stored("m")
        self.compare(get, [self.x[k:k + 8] for k in range(0, 32, 8)], 4)
        # The evaluation of the last epoch has them.
        x = self.x[:20].astype("f8") * 2
        for layer, activation in ("a", np.tanh), ("b", lambda z: z):
            z = x @ get(layer + "/W").T
            z = (z - get(layer + "_bnorm/gmean")) / np.sqrt(get(layer + "_bnorm/gvar") + EPS)
            x = activation(z * get(layer + "_bnorm/gamma") + get(layer + "_bnorm/beta"))
        cost = json.loads(self.neon("eval", "m", "--format", "json").out)["cost"]
        self.assertAlmostEqual(cost, ((x - self.y[:20]) ** 2).mean() / 2, delta=1e-6)
        self.assertIn(re.search(r"test: (.*?)  \(", trained)[1], self.neon("eval", "m").out)

    def test_one_batch_is_as_it_is(self):
        self.neon("-r", "1", "-d", "f64", "-s", "m", "-z", "37", self.spec(SPEC))
        self.compare(self.stored("m"), [self.x], 1)

    def test_running_means_of_the_weights_get_statistics_of_their_own(self):
        self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(SPEC, ema="0.9"))
        self.compare(self.stored("m", average=True), [self.x[k:k + 8] for k in range(0, 32, 8)], 4)

    def test_frozen_statistics_stay(self):
        for average in False, True:
            self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(SPEC, freeze="[a]", **({"ema": "0.9"} if average else {})))
            get = self.stored("m")
            np.testing.assert_array_equal(get("a_bnorm/gmean"), np.zeros(5))
            np.testing.assert_array_equal(get("a_bnorm/gvar"), np.ones(5))
            h = np.tanh(self.x @ get("a/W").T / np.sqrt(1 + EPS) * get("a_bnorm/gamma") + get("a_bnorm/beta"))
            get = self.stored("m", average)
            z = [h[k:k + 8] @ get("b/W").T for k in range(0, 32, 8)]
            np.testing.assert_allclose(get("b_bnorm/gmean"), np.mean([part.mean(0) for part in z], 0), rtol=1e-9)
            np.testing.assert_allclose(get("b_bnorm/gvar"), np.mean([part.var(0) for part in z], 0) * 4 / 3, rtol=1e-9)

    def test_ranks_measure_their_shares(self):
        self.neon("-r", "1", "-d", "f64", "-s", "m", "-m", "2", self.spec(SPEC))
        self.compare(self.stored("m"), [self.x[k:k + 4] for k in range(0, 32, 4)], 4)
        self.neon("-r", "1", "-d", "f64", "-s", "m", "-m", "3", "-z", "10", "s.yaml")  # of 10 samples 3, 3 and 4
        self.compare(self.stored("m"), np.split(self.x[:30], [3, 6, 10, 13, 16, 20, 23, 26]), 3)

    def test_a_run_in_two_parts_is_the_whole_run(self):
        self.neon("-r", "1", "-s", "whole", self.spec(SPEC))
        self.neon("-r", "1", "-s", "parts", "-e", "1", "s.yaml")
        self.neon("resume", "parts", "-e", "3")
        for name, array in tensors(self.path("whole"))[0].items():
            self.assertEqual(tensors(self.path("parts"))[0][name], array, name)

    def test_what_cannot_be_measured_is_refused(self):
        plain = SPEC.replace(", batch_norm: true", "")
        self.refused(2, self.spec(plain), says="BatchNormTune: the net keeps no statistics of a batch norm")


if __name__ == "__main__":
    main()
