#!/usr/bin/python3
"""A net with GaussianNoise before both of its layers, in f64, against the same training in NumPy with the same draws.

    noise_test.py           NEON is the program
    noise_test.py gpu       the same on a GPU
"""
import json
import pathlib
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import support
from draws import uniforms

SEED, BATCH, SAMPLES, TESTS, EPOCHS, RATE = 3, 8, 20, 5, 3, 0.1
DEVICE = sys.argv.pop() if sys.argv[1:] == ["gpu"] else "cpu"
CLOSE = 2e-5  # draws have the 24 bits of f32, and so have their logarithms and cosines


def noise(layer, step, shape):
    """Numbers of a normal distribution from two uniform ones (Box and Muller)."""
    u, v = (uniforms(SEED, f"{layer}/{name}", step, shape) for name in ("noise", "angle"))
    return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)


class Noise(support.Case):
    def setUp(self):
        super().setUp()
        if DEVICE == "gpu":
            del self.environment["CUDA_VISIBLE_DEVICES"]
        draw = np.random.RandomState(5)
        self.x, self.y = draw.randn(SAMPLES, 6), draw.randn(SAMPLES, 2)
        self.x_test, self.y_test = draw.randn(TESTS, 6), draw.randn(TESTS, 2)
        self.w = [draw.randn(4, 6) * 0.3, draw.randn(2, 4) * 0.3]

    def train(self, x, x_test, shape):
        np.savez(self.path("d.npz"), x_train=x.reshape(-1, *shape).astype("f4"), y_train=self.y.astype("f4"),
                 x_test=x_test.reshape(-1, *shape).astype("f4"), y_test=self.y_test.astype("f4"))
        array = lambda w: {"Array": {"val": [float(v) for v in w.ravel()]}}
        layers = [{"GaussianNoise": {"deviation": 0.5, "name": "first"}},
                  {"Affine": {"nout": 4, "init": array(self.w[0]), "activation": "Tanh", "name": "a"}},
                  {"GaussianNoise": {"stddev": 0.25, "name": "second"}},
                  {"Affine": {"nout": 2, "init": array(self.w[1]), "name": "b"}}]
        self.write("s.yaml", json.dumps({
            "dataset": {"NPZ": {"path": "d.npz", "regression": True}}, "layers": layers, "cost": "SumSquared", "metrics": [],
            "optimizer": {"GradientDescentMomentum": {"learning_rate": RATE, "momentum_coef": 0}}, "batch_size": BATCH,
            "epochs": EPOCHS, "shuffle": False, "datatype": "f64"}))
        self.neon("-b", DEVICE, "-r", str(SEED), "-s", "m.safetensors", "s.yaml")
        found = support.tensors(self.path("m.safetensors"))[0]
        return [np.frombuffer(found[name][2]).reshape(found[name][1]) for name in ("a/W", "b/W")]

    def mirrored(self, x):
        w, v = (each.copy() for each in self.w)
        step = 0
        for _ in range(EPOCHS):
            for first in range(0, SAMPLES, BATCH):
                some, t = x[first:first + BATCH], self.y[first:first + BATCH]
                seen = some + 0.5 * noise("first", step, some.shape)
                hidden = np.tanh(seen @ w.T)
                told = hidden + 0.25 * noise("second", step, hidden.shape)
                e = (told @ v.T - t) / len(some)
                back = (e @ v) * (1 - hidden**2)
                w, v = w - RATE * back.T @ seen, v - RATE * e.T @ told
                step += 1
        return w, v

    def test_weights_are_those_of_the_same_draws(self):
        x, x_test = (each.astype("f4").astype(float) for each in (self.x, self.x_test))
        self.y, self.y_test = (each.astype("f4").astype(float) for each in (self.y, self.y_test))
        got, expected = self.train(x, x_test, (6,)), self.mirrored(x)
        for name, a, b in zip("ab", got, expected):
            self.assertLess(np.abs(a - b).max(), CLOSE, name)
        # The noise matters, and an evaluation has none.
        self.assertGreater(np.abs(got[0] - self.w[0]).max(), 1e-2)
        cost = json.loads(self.neon("eval", "m.safetensors", "-b", DEVICE, "--format", "json").out)["cost"]
        y = np.tanh(x_test @ got[0].T) @ got[1].T
        self.assertAlmostEqual(cost, ((y - self.y_test) ** 2).sum(1).mean() / 2, places=6)

    def test_draws_have_their_distribution(self):
        """The layer gives its noise for zeros, which the first step takes off the weights: the gradient is the input."""
        count = 200 * 200
        np.savez(self.path("z.npz"), x_train=np.zeros((1, count), "f4"), y_train=np.full((1, 1), -1, "f4"),
                 x_test=np.zeros((1, count), "f4"), y_test=np.zeros((1, 1), "f4"))
        self.write("z.yaml", json.dumps({
            "dataset": {"NPZ": {"path": "z.npz", "regression": True}}, "cost": "SumSquared", "metrics": [],
            "layers": [{"GaussianNoise": {"deviation": 1, "name": "any"}}, {"Affine": {"nout": 1, "init": {"Constant": 0}, "name": "a"}}],
            "optimizer": {"GradientDescentMomentum": {"learning_rate": 1, "momentum_coef": 0}}, "batch_size": 1, "epochs": 1,
            "datatype": "f64"}))
        self.neon("-b", DEVICE, "-r", str(SEED), "-s", "z.safetensors", "z.yaml")
        draws = -np.frombuffer(support.tensors(self.path("z.safetensors"))[0]["a/W"][2])
        self.assertEqual(draws.size, count)
        self.assertLess(np.abs(draws - noise("any", 0, (count,))).max(), CLOSE)
        self.assertLess(abs(draws.mean()), 5 / 200)
        self.assertLess(abs(draws.std() - 1), 5 / 200 / np.sqrt(2))
        self.assertLess(abs((np.abs(draws) < 1).mean() - 0.682689), 5 * 0.5 / 200)


if __name__ == "__main__":
    support.main()
