#!/usr/bin/python3
"""XCovariance: a training carried out again in NumPy, and its gradient beside differences."""
import numpy as np

from support import Case, main, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz}}
layers:
  - Affine: {name: a, nout: 5, init: {Gaussian: {scale: 1}}}
  - XCovariance: {split: 2, scale: 0.7}
  - Affine: {name: b, nout: 3, init: {Gaussian: {scale: 1}}}
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0.05}}
batch_size: 8
epochs: 3
shuffle: false
metrics: []
"""


class Penalty(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(4)
        self.x, self.y = rng.normal(0.5, 1, (20, 4)).astype("f4"), rng.normal(size=(20, 3)).astype("f4")
        np.savez(self.path("d.npz"), x_train=self.x, y_train=self.y, x_test=self.x, y_test=self.y)

    def weights(self, *arguments):
        out = self.neon("-r", "1", "-d", "f64", "-s", "m", *arguments).out
        stored = tensors(self.path("m"))[0]
        return [np.frombuffer(stored[name][2]).reshape(stored[name][1]) for name in ("a/W", "b/W")], out

    def test_training_minimises_the_squared_covariances_of_both_groups(self):
        (a, b), _ = self.weights(self.spec(SPEC), "--set", "optimizer.GradientDescentMomentum.learning_rate=0")
        for _ in range(3):
            for at in 0, 8, 16:
                x, y = self.x[at:at + 8].astype("f8"), self.y[at:at + 8]
                n, h = len(x), x @ a.T
                centred = h - h.mean(0)
                u, v = centred[:, :2], centred[:, 2:]
                c = u.T @ v / n
                error = (h @ b.T - y) / (3 * n)
                # d/du of 1/2 sum c^2 is v c^T / n; the means have no part, since the columns of u and v sum to 0.
                dh = error @ b + 0.7 * np.hstack([v @ c.T, u @ c]) / n
                a, b = a - 0.05 * dh.T @ x, b - 0.05 * error.T @ h
        (trained_a, trained_b), out = self.weights("s.yaml")
        np.testing.assert_allclose(trained_a, a, rtol=1e-9)
        np.testing.assert_allclose(trained_b, b, rtol=1e-9)
        # The costs are those of the outputs alone.
        cost = ((self.x @ a.T @ b.T - self.y) ** 2).mean() / 2
        self.assertIn(f"test cost {cost:.4f}", out)

    def test_its_gradient_is_that_of_differences(self):
        self.assertIn("a/W", self.neon("grad-check", "-r", "1", self.spec(SPEC)).out)

    def test_what_does_not_fit_is_refused(self):
        self.refused(2, self.spec(SPEC), "--set", "layers[1].split=5",
                     says="XCovariance: split: 5 of 5 features leave none for the second group; give less than 5")
        self.refused(2, "-m", "2", "s.yaml", says="XCovariance is over a whole batch, and each rank has a part of one; leave -m out")


if __name__ == "__main__":
    main()
