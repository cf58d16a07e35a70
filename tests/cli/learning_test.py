#!/usr/bin/python3
"""Runs that do not learn, or whose cost grows beyond any sense, and what a message says is not finite."""
import json
import os
import re

import numpy as np

import support
from support import IRIS

STILL = {"GradientDescentMomentum": {"learning_rate": 0}}
NO_BETTER = "is no better than the same answer for every sample, "


class Learning(support.Case):
    def made(self, x, t, layers, cost, optimizer=STILL, **more):
        """A spec of one batch a step, of all samples."""
        np.savez(self.path("d.npz"), x_train=x, y_train=t, x_test=x[:8], y_test=t[:8])
        spec = {"dataset": {"NPZ": {"path": "d.npz"}}, "layers": layers, "cost": cost, "optimizer": optimizer, "epochs": 12,
                "batch_size": len(x), **more}
        self.write("s.yaml", json.dumps(spec))
        return ["-r", "1", "-b", "cpu", "s.yaml"]

    def warned(self, err):
        """What the warning says of the constant answer's cost, each time."""
        return [float(number) for number in re.findall(re.escape(NO_BETTER) + r"([\d.e+-]+):", err)]

    def test_the_cost_of_class_shares(self):
        """Unequal classes, and a net that answers ln 3 for all of them."""
        labels = np.repeat([0, 1, 2], [60, 30, 10]).astype(np.int32)
        p, x = np.array([0.6, 0.3, 0.1]), np.ones((100, 2), np.float32)
        q, off = 0.9 * p + 0.1 / 3, p * (1 - p)
        binary = -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum()
        for cost, expected in ("CrossEntropyMulti", -(p * np.log(p)).sum()), ("CrossEntropyBinary", binary), \
                ({"CrossEntropyMulti": {"smoothing": 0.1}}, -(q * np.log(p)).sum()), ("MeanSquared", off.sum() / 6), \
                ("SumSquared", off.sum() / 2):
            layers = [{"Affine": {"nout": 3, "init": {"Constant": 0}, "activation": "Softmax"}}]
            err = self.neon(*self.made(x, labels, layers, cost)).err
            found = self.warned(err)
            self.assertEqual(len(found), 1, err)  # once, though no epoch is better
            self.assertAlmostEqual(found[0], expected, delta=1e-4)

    def test_the_cost_of_the_mean_of_targets(self):
        t = np.random.RandomState(1).gamma(2, 3, (50, 2)).astype(np.float32)
        x = np.random.RandomState(2).randn(50, 3).astype(np.float32)
        layers = [{"Linear": {"nout": 2, "init": {"Constant": 0}}}]
        each = np.abs(t - t.mean(0))
        smooth = np.where(each < 1, each ** 2 / 2, each - 0.5).sum(1).mean()
        for cost, expected in ("MeanSquared", t.var(0).mean() / 2), ("SumSquared", t.var(0).sum() / 2), ("SmoothL1Loss", smooth):
            found = self.warned(self.neon(*self.made(x, t, layers, cost)).err)
            self.assertEqual(len(found), 1)
            self.assertAlmostEqual(found[0] / expected, 1, delta=1e-3)

    def test_images_that_are_their_own_targets(self):
        """By channel normalised numbers have variance 1, over all of a channel's pixels."""
        x = np.random.RandomState(3).randint(0, 256, (40, 2, 3, 3)).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=x, y_train=np.zeros(40, np.float32))
        self.write("s.yaml", json.dumps({"dataset": {"NPZ": {"path": "d.npz", "autoencoder": True}}, "normalize": True, "epochs": 12, "batch_size": 40,
                                         "layers": [{"Affine": {"nout": 18, "init": {"Constant": 0}}}], "cost": "MeanSquared",
                                         "optimizer": STILL}))
        raw = (x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True)
        found = self.warned(self.neon("-r", "1", "-b", "cpu", "s.yaml").err)
        self.assertEqual(len(found), 1)
        self.assertAlmostEqual(found[0], raw.var(0).mean() / 2, delta=1e-3)

    def test_a_net_that_learns_is_not_warned_of(self):
        self.assertNotIn(NO_BETTER, self.neon("-r", "1", self.spec()).err)
        x = np.random.RandomState(2).randn(64, 3).astype(np.float32)
        layers = [{"Affine": {"nout": 1, "init": {"Constant": 0}, "bias": {"Constant": 0}}}]
        descent = {"GradientDescentMomentum": {"learning_rate": 0.5}}
        self.assertNotIn(NO_BETTER, self.neon(*self.made(x, x[:, :1] * 2 + 5, layers, "MeanSquared", descent, batch_size=4)).err)

    def test_a_net_that_begins_far_off_and_learns_is_not_warned_of(self):
        """Of y = w x with t = x, each step takes 5 % off w - 1: after 16 steps a cost of 970, where 0 for all has 0.5."""
        x, layers = np.float32([[-1], [1]] * 32), [{"Linear": {"nout": 1, "init": {"Constant": 101}}}]
        for rate, warned in (0.05, 0), (0, 1):
            descent = {"GradientDescentMomentum": {"learning_rate": rate}}
            err = self.neon("-e", "1", *self.made(x, x, layers, "MeanSquared", descent, batch_size=4)).err
            self.assertEqual(len(self.warned(err)), warned, err)

    def test_a_cost_that_explodes_is_divergence(self):
        """Of y = w x with x = 1 each step makes 1 - rate of the error: -9 times it, 81 times the cost."""
        x, layers = np.ones((8, 1), np.float32), [{"Linear": {"nout": 1, "init": {"Constant": 2}}}]
        run = self.made(x, x, layers, "SumSquared", {"GradientDescentMomentum": {"learning_rate": 10}}, batch_size=1, datatype="f64")
        err = self.refused(5, "-s", "m.safetensors", *run, says=["diverged in epoch 1: the training cost grew from 0.5000 to",
                                                                "had saved no checkpoint yet", "learning rate"]).err
        late = np.mean([0.5 * 81.0 ** step for step in range(4, 8)])
        self.assertAlmostEqual(float(re.search(r"to ([\d.e+]+);", err)[1]) / late, 1, delta=1e-3)
        self.assertFalse(os.path.exists(self.path("m.safetensors")))
        # 4 times the cost each step: a cost that grows 16,384 times over an epoch is bad, but a number that means something.
        self.neon("-e", "1", *self.made(x, x, layers, "SumSquared", {"GradientDescentMomentum": {"learning_rate": 3}}, batch_size=1))

    def test_signs_of_samples_that_are_never_negative(self):
        """Bytes from 0 to 1 have one sign: the first layer gives the same for all of them."""
        layers = [{"BinaryAffine": {"name": "first", "nout": 4, "activation": "Sign"}}, {"BinaryLinear": "classes"}]
        x, labels = np.arange(48, dtype=np.uint8).reshape(12, 1, 2, 2), np.arange(12) % 2
        words = "warning: first takes the signs of the samples, whose numbers are never below 0"
        options = self.made(x, labels, layers, "SquareHingeLoss")
        self.assertIn(words, self.neon(*options, "-s", "m").err)
        said = [json.loads(line) for line in self.neon("predict", "m", "d.npz", "--format", "json").out.splitlines()]
        self.assertEqual(len({json.dumps({k: v for k, v in line.items() if k != "sample"}) for line in said}), 1, said)
        self.assertIn(words, self.neon("check", *options).err)
        for change in "normalize=true", "layers[0].BinaryAffine.binary_input=false":
            self.assertNotIn(words, self.neon("check", "--set", change, *options).err)

    def test_costs_that_hardly_fit_a_softmax(self):
        for cost, warned in ("CrossEntropyMulti", False), ("CrossEntropyBinary", True), ("MeanSquared", True), \
                ("{GeneralizedCost: {costfunc: CrossEntropyBinary}}", True):
            spec = self.spec(cost=cost)
            for verb in ["check"], ["-e", "1"]:
                err = self.neon(*verb, spec).err
                self.assertEqual("on a Softmax of classes learns slowly; CrossEntropyMulti is made for it" in err, warned, err)
                self.assertEqual(bool(re.search(r"(?m)^warning: s\.yaml:\d+:\d+: cost: \w+ on", err)), warned, err)
        logistic = IRIS.replace("Softmax", "Logistic")
        self.assertNotIn("warning", self.neon("check", self.spec(logistic, cost="CrossEntropyBinary")).err)


class NotFinite(support.Case):
    def diverged(self, x, t, layers, **more):
        np.savez(self.path("d.npz"), x_train=x, y_train=t)
        self.write("s.yaml", json.dumps({"dataset": {"NPZ": {"path": "d.npz"}}, "layers": layers, "cost": "SumSquared",
                                         "optimizer": STILL, "batch_size": len(x), "epochs": 1, **more}))
        return self.refused(5, "-r", "1", "-b", "cpu", "s.yaml", says="diverged in epoch 1, step 1: ").err

    def test_the_place_has_a_name(self):
        linear = {"Linear": {"name": "first", "nout": 1, "init": {"Constant": 1}}}
        x, t = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
        # Each sample's cost is finite, their sum is not.
        self.assertRegex(self.diverged(x, t * 1.5e19, [linear]), r"infinity in the result f32 \(1, 1\) of sum of the cost; ")
        self.assertRegex(self.diverged(x, t * 1e30, [linear]), r"infinity in the result f32 \(.*\) of \w+ of the cost; ")
        self.assertRegex(self.diverged(x * 3e38, t, [linear]), r"infinity in the result f32 \(.*\) of \w+ of layer first; ")
        # The output is finite, its square's slope is, and times the weights behind it no more.
        grown = [{"Linear": {"name": "first", "nout": 1, "init": {"Constant": 1e-30}}},
                 {"Linear": {"name": "second", "nout": 1, "init": {"Constant": 1e30}}}]
        self.assertRegex(self.diverged(x, t * 1e10, grown),
                         r"infinity in the result f32 \(.*\) of \w+ of the gradient of layer (first|second); ")

    def test_samples_that_are_infinite_in_the_type_of_the_net(self):
        """f16 ends at 65504."""
        linear = {"Linear": {"name": "first", "nout": 1, "init": {"Constant": 1}}}
        x, t = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
        x[2, 1] = 7e4
        self.assertIn("step 1: infinity in the samples of the batch, f16 (4, 2); ", self.diverged(x, t, [linear], datatype="f16"))


if __name__ == "__main__":
    support.main()
