#!/usr/bin/python3
"""Whiten against NumPy: the matrix, the training images that it whitens, and other images in eval and predict."""
import json

import numpy as np

import support
from support import Case, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz}}
augment: [ContrastNormalize, Whiten]
layers:
  - Affine: {name: a, nout: 3, init: Kaiming, bias: {Constant: 0}}
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0.01}}
batch_size: 16
epochs: 1
metrics: []
"""
SHAPE = (3, 4, 5)


def images(n, seed, mixed=0.5):
    """(n, 3, 4, 5), neighbours alike."""
    x = np.random.default_rng(seed).uniform(0, 1, (n, *SHAPE))
    return (x + mixed * np.roll(x, 1, 3) + mixed * np.roll(x, 1, 2)).astype("f4")


def contrast(x, scale=55):
    """Rows of (H, W, C), as ContrastNormalize makes them."""
    rows = x.astype("f8").transpose(0, 2, 3, 1).reshape(len(x), -1)
    rows = rows - rows.mean(1, keepdims=True)
    return rows * scale / np.sqrt((rows ** 2).sum(1, keepdims=True))


def zca(rows, bias):
    covariance = np.cov(rows.T)
    values, vectors = np.linalg.eigh(covariance + bias * np.eye(len(covariance)))
    return rows.mean(0), vectors @ np.diag(values ** -0.5) @ vectors.T


class Whiten(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        # More than two of the pieces in which neon reads the images, and a part of one.
        self.train, self.test = images(1100, 1), images(40, 2, mixed=-0.3) * 3
        np.savez(self.path("d.npz"), x_train=self.train, y_train=rng.normal(size=(1100, 3)).astype("f4"), x_test=self.test,
                 y_test=rng.normal(size=(40, 3)).astype("f4"))

    def array(self, path, name):
        dtype, shape, content = tensors(self.path(path))[0][name]
        return np.frombuffer(content, {"F64": "f8", "F32": "f4"}[dtype]).reshape(shape)

    def trained(self, spec, *more, path="m"):
        self.neon("-r", "1", "-d", "f64", "-s", path, spec, *more)
        return self.array(path, "augment/Whiten/mean"), self.array(path, "augment/Whiten/matrix")

    def test_the_matrix_of_a_checkpoint_stays(self):
        self.trained(self.write("s.yaml", SPEC))
        for verb in ["eval", "m"], ["resume", "-e", "2", "m"]:
            self.refused(2, *verb, "--set", "augment[1].bias=0.5", says="--set augment: the checkpoint has the numbers of Whiten as the net was trained with them")
        self.neon("eval", "m", "--set", "augment[1].bias=0.1")
        self.neon("eval", "m", "--set", "augment=[ContrastNormalize, Whiten]")
        self.refused(2, "eval", "m", "--set", "augment=[ContrastNormalize, ZCA: {bias: 0.5}]", says="--set augment: the checkpoint has the numbers of Whiten")

    def test_the_matrix_is_that_of_the_training_images_alone(self):
        for bias in 0.1, 7:
            mean, matrix = self.trained(self.spec(SPEC, augment=f"[ContrastNormalize, Whiten: {{bias: {bias}}}]"))
            rows = contrast(self.train)
            wanted = zca(rows, bias)
            np.testing.assert_allclose(mean, wanted[0], atol=1e-10)
            np.testing.assert_allclose(matrix, wanted[1], atol=1e-8)
            np.testing.assert_array_equal(matrix, matrix.T)
            # Each direction of variance v has v / (v + bias) then: C (C + bias I)^-1.
            covariance = np.cov(rows.T)
            shrunk = covariance @ np.linalg.inv(covariance + bias * np.eye(60))
            np.testing.assert_allclose(np.cov(((rows - mean) @ matrix).T), shrunk, atol=1e-9)

    def test_f32_and_raw_pixels(self):
        rows = self.train.astype("f8").transpose(0, 2, 3, 1).reshape(1100, 60)
        self.neon("-r", "1", "-s", "m", self.spec(SPEC, augment="[Whiten: {bias: 0.001}, Flip]"))
        np.testing.assert_allclose(self.array("m", "augment/Whiten/matrix"), zca(rows, 0.001)[1], atol=2e-4)

    def test_eval_and_predict_use_the_stored_matrix(self):
        spec = self.spec(SPEC)
        mean, matrix = self.trained(spec)
        w, b = self.array("m", "a/W"), self.array("m", "a_bias/b").reshape(-1)
        wanted = (contrast(self.test) - mean) @ matrix @ w.reshape(3, 60).T + b
        np.save(self.path("x.npy"), self.test)
        out = self.neon("-d", "f64", "predict", "m", "x.npy", "--format", "json").out
        got = np.array([json.loads(line)["outputs"] for line in out.splitlines()])
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
        y = np.load(self.path("d.npz"))["y_test"]
        cost = json.loads(self.neon("-d", "f64", "eval", "m", "--format", "json").out)["cost"]
        self.assertAlmostEqual(cost, ((wanted - y) ** 2).mean() / 2, delta=1e-6 * cost)
        # Other samples change nothing: the matrix is the training's.
        np.savez(self.path("d.npz"), x_train=images(50, 9), y_train=np.zeros((50, 3), "f4"), x_test=self.test, y_test=y)
        self.assertEqual(json.loads(self.neon("-d", "f64", "eval", "m", "--format", "json").out)["cost"], cost)

    def test_ranks_learn_the_same_matrix(self):
        spec = self.spec(SPEC)
        alone = self.trained(spec)
        self.neon("-r", "1", "-d", "f64", "-s", "ranks", "-m", "2", spec)
        for one, name in zip(alone, ("mean", "matrix")):
            np.testing.assert_array_equal(self.array("ranks", f"augment/Whiten/{name}"), one)

    def test_a_resumed_run_keeps_the_matrix(self):
        spec = self.spec(SPEC)
        self.neon("-r", "1", "-s", "whole", "-e", "3", spec)
        begun = self.neon("-r", "1", "-s", "parts", "-e", "1", spec).err
        self.assertIn("Whiten: learning from 1100 training images", begun)
        self.assertNotIn("learning from", self.neon("resume", "parts", "-e", "3").err)
        for name in "a/W", "augment/Whiten/matrix":
            np.testing.assert_array_equal(self.array("parts", name), self.array("whole", name))

    def test_what_does_not_fit_is_refused(self):
        says = "Whiten: makes the mean of each pixel 0, so normalize has no means of channels to subtract"
        self.refused(2, "-r", "1", self.spec(SPEC, normalize="true"), "--set", "augment=[Whiten]", says=says)
        self.refused(2, "-r", "1", self.spec(SPEC, augment="[Whiten, Whiten]"), says="leave the second Whiten out")
        np.savez(self.path("d.npz"), x_train=np.zeros((20, 3, 80, 60), "f4"), y_train=np.zeros((20, 3), "f4"))
        self.refused(2, "-r", "1", self.spec(SPEC), says="Whiten: is for images of at most 12288 numbers, these have 14400")


if __name__ == "__main__":
    support.main()
