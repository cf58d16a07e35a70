#!/usr/bin/python3
"""XCovariance: a training carried out again in NumPy, and its gradient beside differences; the same of a balanced net,
whose samples are targets beside their classes."""
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


BALANCED = """\
dataset: {NPZ: {path: c.npz, reconstruct: true, scale: 0.5, shift: 0.25}}
layers:
  - Affine: {name: h, nout: 5, init: {Gaussian: {scale: 1}}}
  - Affine: {name: p, inputs: h, nout: 3, init: {Gaussian: {scale: 1}}, activation: Softmax}
  - Affine: {name: s, inputs: h, nout: 2, init: {Gaussian: {scale: 1}}}
  - MergeConcat: {inputs: [p, s]}
  - XCovariance: {split: 3, scale: 0.7}
  - Affine: {name: r, nout: 4, init: {Gaussian: {scale: 1}}}
outputs:
  sample: {cost: MeanSquared, layer: r}
  class: {cost: CrossEntropyMulti, weight: 0.5, layer: p}
optimizer: {GradientDescentMomentum: {learning_rate: 0.05}}
batch_size: 8
epochs: 3
shuffle: false
"""


class Penalty(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(4)
        self.x, self.y = rng.normal(0.5, 1, (20, 4)).astype("f4"), rng.normal(size=(20, 3)).astype("f4")
        np.savez(self.path("d.npz"), x_train=self.x, y_train=self.y, x_test=self.x, y_test=self.y)

    def weights(self, *arguments, names=("a/W", "b/W")):
        out = self.neon("-r", "1", "-d", "f64", "-s", "m", *arguments).out
        stored = tensors(self.path("m"))[0]
        return [np.frombuffer(stored[name][2]).reshape(stored[name][1]) for name in names], out

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

    def test_the_scale_of_a_cost_is_of_the_cost_alone(self):
        """Twice the cost's gradient, at half the rate, beside half of the penalty at the rate."""
        scaled = SPEC.replace("MeanSquared", "{SumSquared: {scale: 2}}")
        plain = SPEC.replace("MeanSquared", "SumSquared").replace("scale: 0.7", "scale: 0.35").replace("rate: 0.05", "rate: 0.1")
        for one, other in zip(self.weights(self.spec(scaled))[0], self.weights(self.spec(plain))[0]):
            np.testing.assert_allclose(one, other, rtol=1e-9)

    def test_a_balanced_net_learns_class_and_sample_at_once(self):
        names = ("h/W", "p/W", "s/W", "r/W")
        labels, stored = np.arange(20) % 3, np.round(self.x * 64) / 64
        np.savez(self.path("c.npz"), x_train=stored, y_train=labels, x_test=stored, y_test=labels)
        self.x = stored * np.float32(0.5) + np.float32(0.25)  # exact in f32
        (h, p, s, r), _ = self.weights(self.spec(BALANCED), "--set", "optimizer.GradientDescentMomentum.learning_rate=0", names=names)

        def forward(x):
            hidden = x @ h.T
            scores = np.exp(hidden @ p.T)
            return hidden, scores / scores.sum(1, keepdims=True), hidden @ s.T

        for _ in range(3):
            for at in 0, 8, 16:
                x, one_hot = self.x[at:at + 8].astype("f8"), np.eye(3)[labels[at:at + 8]]
                n = len(x)
                hidden, share, style = forward(x)
                units = np.hstack([share, style])
                error = (units @ r.T - x) / (4 * n)
                centred = units - units.mean(0)
                u, v = centred[:, :3], centred[:, 3:]
                c = u.T @ v / n
                d = error @ r + 0.7 * np.hstack([v @ c.T, u @ c]) / n
                dp = share * (d[:, :3] - (d[:, :3] * share).sum(1, keepdims=True)) + 0.5 * (share - one_hot) / n
                dh = dp @ p + d[:, 3:] @ s
                h, p, s, r = (w - 0.05 * g for w, g in ((h, dh.T @ x), (p, dp.T @ hidden), (s, d[:, 3:].T @ hidden), (r, error.T @ units)))
        trained, out = self.weights("s.yaml", names=names)
        for one, expected in zip(trained, (h, p, s, r)):
            np.testing.assert_allclose(one, expected, rtol=1e-9)
        x = self.x.astype("f8")
        _, share, style = forward(x)
        missed = ((np.hstack([share, style]) @ r.T - x) ** 2).mean() / 2
        self.assertIn(f"sample.cost {missed:.4f}", out)
        self.assertIn(f"class.cost {-np.log(share[np.arange(20), labels]).mean():.4g}", out)
        self.assertIn(f"class.Top1Misclass {100 * (share.argmax(1) != labels).mean():.2f} %", out)

    def test_samples_that_are_images_are_targets_channel_by_channel(self):
        images, labels = np.random.default_rng(6).normal(size=(20, 2, 2, 3)).astype("f4"), np.arange(20) % 3
        np.savez(self.path("c.npz"), x_train=images, y_train=labels, x_test=images, y_test=labels)
        spec = ("dataset: {NPZ: {path: c.npz, reconstruct: true}}\nbatch_size: 20\nepochs: 1\noptimizer: {GradientDescentMomentum: {learning_rate: 0}}\n"
                "layers:\n  - Affine: {name: r, nout: 12, init: {Gaussian: {scale: 1}}}\n"
                "  - Affine: {name: p, nout: 3, init: {Gaussian: {scale: 1}}, activation: Softmax}\n"
                "outputs: {sample: {cost: MeanSquared, layer: r}, class: {cost: CrossEntropyMulti, layer: p}}\n")
        (r,), out = self.weights(self.spec(spec), names=("r/W",))
        y = images.transpose(0, 2, 3, 1).reshape(20, 12).astype("f8") @ r.T  # weights have (H,W,C)
        missed = ((y - images.reshape(20, 12)) ** 2).mean() / 2
        self.assertRegex(out, rf"sample.cost {missed:.4g}")

    def test_ranks_penalise_the_covariances_of_the_whole_batch(self):
        """Of 17 samples the last batch has one, and so none for some ranks."""
        np.savez(self.path("d.npz"), x_train=self.x[:17], y_train=self.y[:17], x_test=self.x, y_test=self.y)
        self.spec(SPEC)
        (a, b), _ = self.weights("s.yaml")
        for ranks in "2", "3":
            (shared_a, shared_b), _ = self.weights("-b", "cpu", "-m", ranks, "s.yaml")
            np.testing.assert_allclose(shared_a, a, rtol=1e-12)
            np.testing.assert_allclose(shared_b, b, rtol=1e-12)

    def test_its_gradient_is_that_of_differences(self):
        self.assertIn("a/W", self.neon("grad-check", "-r", "1", self.spec(SPEC)).out)

    def test_what_does_not_fit_is_refused(self):
        self.refused(2, self.spec(SPEC), "--set", "layers[1].split=5",
                     says="XCovariance: split: 5 of 5 features leave none for the second group; give less than 5")


if __name__ == "__main__":
    main()
