#!/usr/bin/python3
"""Adversarial nets in f64 against the same trainings in NumPy with the same draws: both players' costs for 20 steps, their
weights, the running statistics of batch norm.

    gan_test.py      NEON is the program
"""
import json
import pathlib
import sys

import h5py
import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import support
from draws import uniforms
from net import logistic
from rules import Rule

SEED, BATCH, STEPS, NOISE, UNITS, PIXELS = 7, 8, 20, 3, 6, 9
RHO, EPS = 0.9, 1e-3


class Half:
    """A player's net: a product, batch norm, leaky rectifiers, a product with biases, an activation."""

    def __init__(self, name, draw, inputs, outputs, last):
        normal = lambda *shape: draw.randn(*shape) * 0.4
        self.name, self.last = name, last
        self.p = {"1/W": normal(UNITS, inputs), "1_bnorm/gamma": np.ones(UNITS), "1_bnorm/beta": np.zeros(UNITS),
                  "2/W": normal(outputs, UNITS), "2_bias/b": normal(outputs)}
        self.mean, self.variance = np.zeros(UNITS), np.ones(UNITS)

    def forward(self, x, keeps, infers=False):
        """Outputs, and what backward() needs. `keeps`: the running statistics follow."""
        p, a = self.p, x @ self.p["1/W"].T
        m, v = (self.mean, self.variance) if infers else (a.mean(0), a.var(0))
        if keeps:
            self.mean, self.variance = RHO * self.mean + (1 - RHO) * m, RHO * self.variance + (1 - RHO) * v
        n = (a - m) / np.sqrt(v + EPS)
        h = n * p["1_bnorm/gamma"] + p["1_bnorm/beta"]
        r = np.where(h > 0, h, 0.2 * h)
        z = r @ p["2/W"].T + p["2_bias/b"]
        y = np.tanh(z) if self.last == "Tanh" else logistic(z) if self.last == "Logistic" else z
        return y, (x, v, n, h, r, y)

    def backward(self, dy, kept):
        """Gradients by the parameters, and by the inputs."""
        x, v, n, h, r, y = kept
        dz = dy * (1 - y * y) if self.last == "Tanh" else dy * y * (1 - y) if self.last == "Logistic" else dy
        dh = (dz @ self.p["2/W"]) * np.where(h > 0, 1, 0.2)
        dn = dh * self.p["1_bnorm/gamma"]
        da = (dn - dn.mean(0) - n * (dn * n).mean(0)) / np.sqrt(v + EPS)
        return {"1/W": da.T @ x, "1_bnorm/gamma": (dh * n).sum(0), "1_bnorm/beta": dh.sum(0), "2/W": dz.T @ r,
                "2_bias/b": dz.sum(0)}, da @ self.p["1/W"]

    def layers(self):
        array = lambda name: {"Array": {"val": [float(v) for v in self.p[name].ravel()]}}
        return [{"Affine": {"name": self.name + "1", "nout": UNITS, "init": array("1/W"), "batch_norm": True,
                            "activation": {"Rectlin": {"slope": 0.2}}}},
                {"Affine": {"name": self.name + "2", "nout": len(self.p["2/W"]), "init": array("2/W"),
                            "bias": array("2_bias/b"), "activation": self.last}}]


class Game:
    def __init__(self, rule, optimizer, noise_type):
        draw = np.random.RandomState(4)
        self.wasserstein, self.rule, self.noise_type = rule["func"] == "wasserstein", rule, noise_type
        self.made, self.judge = (Half("g", draw, NOISE, PIXELS, "Tanh"),
                                 Half("d", draw, PIXELS, 1, "Identity" if self.wasserstein else "Logistic"))
        self.rules = Rule(optimizer), Rule(optimizer)

    def noise(self, step, count):
        u, v = (uniforms(SEED, "gan/" + name, step, (count, NOISE)) for name in ("noise", "angle"))
        return 2 * u - 1 if self.noise_type == "uniform" else np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)

    def judge_step(self, x, step, moves):
        n = len(x)
        made, _ = self.made.forward(self.noise(step, n), False)
        d_made, kept_made = self.judge.forward(made, True)
        d_real, kept_real = self.judge.forward(x, True)
        if self.wasserstein:
            cost, g_made, g_real = (d_real - d_made).mean(), -np.ones((n, 1)), np.ones((n, 1))
        else:
            cost = (-np.log(d_real) - np.log(1 - d_made)).mean()
            g_made, g_real = 1 / (1 - d_made), -1 / d_real
        a, b = self.judge.backward(g_made / n, kept_made)[0], self.judge.backward(g_real / n, kept_real)[0]
        self.judge.p = self.rules[0].update(self.judge.p, {k: a[k] + b[k] for k in a}, self.rules[0].base_rate(), moves, 0)
        if clamp := self.rule.get("wgan_param_clamp"):
            self.judge.p = {name: np.clip(w, -clamp, clamp) for name, w in self.judge.p.items()}
        return cost

    def made_step(self, count, step, moves):
        made, kept = self.made.forward(self.noise(step, count), True)
        d, kept_d = self.judge.forward(made, False)
        func = self.rule["func"]
        cost = (d if self.wasserstein else np.log(1 - d) if func == "original" else -np.log(d)).mean()
        g = np.ones_like(d) if self.wasserstein else -1 / (1 - d) if func == "original" else -1 / d
        self.slopes, _ = self.made.backward(self.judge.backward(g / count, kept_d)[1], kept)
        self.made.p = self.rules[1].update(self.made.p, self.slopes, self.rules[1].base_rate(), moves, 0)
        return cost


class Adversarial(support.Case):
    def close(self, got, expected, name, most=1e-9):
        self.assertLess(np.abs(got - expected).max() / max(1e-3, np.abs(expected).max()), most, name)

    def train(self, rule, optimizer, noise_type, epochs=5, **more):
        game = Game(rule, optimizer, noise_type)
        layers = [{"GenerativeAdversarial": {"name": "gan", "noise": [NOISE], "noise_type": noise_type,
                                             "generator": game.made.layers(), "discriminator": game.judge.layers()}}]
        self.write("s.yaml", json.dumps({"dataset": {"NPZ": {"path": "d.npz", "y_train": "", "y_test": ""}}, "layers": layers, "rule": {"Adversarial": rule},
                                         "optimizer": optimizer, "batch_size": BATCH, "epochs": epochs, "shuffle": False,
                                         "datatype": "f64", **more}))
        self.neon("-r", str(SEED), "-eval", "1", "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
        return game, {name: np.frombuffer(content).reshape(shape) for name, (kind, shape, content) in
                      support.tensors(self.path("m.safetensors"))[0].items() if kind == "F64"}

    def setUp(self):
        super().setUp()
        draw = np.random.RandomState(2)
        self.x, self.x_test = (np.tanh(draw.randn(n, 1, 3, 3) * 0.3 + 0.4).astype(np.float32) for n in (28, 6))
        np.savez(self.path("d.npz"), x_train=self.x, x_test=self.x_test)

    def test_20_steps_are_those_of_the_formulas(self):
        adam = {"Adam": {"learning_rate": 0.01, "beta_1": 0.5}}
        for rule, optimizer, noise in (({"func": "modified"}, adam, "normal"), ({"func": "original"}, adam, "uniform"),
                                       ({"func": "modified", "k": 2}, {"GradientDescentMomentum": {"learning_rate": 0.1}}, "normal"),
                                       ({"func": "wasserstein", "k": 3, "wgan_param_clamp": 0.3}, {"RMSProp": {"learning_rate": 0.02}},
                                        "normal")):
            with self.subTest(rule=rule):
                game, found = self.train(rule, optimizer, noise)
                rows, k, judged, made, moves = self.x.reshape(len(self.x), -1).astype(float), rule.get("k", 1), [], {}, 0
                for step in range(STEPS):
                    first = step % 4 * BATCH  # the fourth batch has 4 samples
                    x = rows[first:first + BATCH]
                    judged.append(game.judge_step(x, step, step + 1))
                    if (step + 1) % k == 0:
                        moves += 1
                        made[step] = game.made_step(len(x), step, moves)
                with h5py.File(self.path("r.h5")) as file:
                    self.close(file["cost/train"][:], np.array(judged), "the discriminator's curve", 1e-6)  # kept in f32
                    curve = file["cost/generator"][:]
                    self.assertEqual([int(i) for i in np.flatnonzero(~np.isnan(curve))], sorted(made))
                    self.close(curve[sorted(made)], np.array([made[i] for i in sorted(made)]), "the generator's curve", 1e-6)
                    scores = game.judge.forward(self.x_test.reshape(len(self.x_test), -1).astype(float), False, True)[0]
                    self.close(file["metrics/DataScore"][-1], scores.mean(), "DataScore", 1e-6)
                for half in game.made, game.judge:
                    for name, values in half.p.items():
                        self.close(found[half.name + name], values, half.name + name)
                    self.close(found[half.name + "1_bnorm/gmean"], half.mean, "running mean")
                    self.close(found[half.name + "1_bnorm/gvar"], half.variance, "running variance")

    def test_a_stopped_run_goes_on_to_the_same_bits(self):
        rule, optimizer = {"func": "wasserstein", "wgan_train_sched": True, "wgan_param_clamp": 0.1}, {"Adam": {}}
        _, whole = self.train(rule, optimizer, "normal", 30)
        with h5py.File(self.path("r.h5")) as file:  # 120 steps: the generator waits for 100
            self.assertEqual(list(np.flatnonzero(~np.isnan(file["cost/generator"][:]))), [99])
        self.neon("-r", str(SEED), "-eval", "1", "-e", "24", "-s", "h.safetensors", "s.yaml")
        self.neon("resume", "h.safetensors", "-e", "30")
        rest = support.tensors(self.path("h.safetensors"))[0]
        for name, values in whole.items():
            self.assertEqual(values.tobytes(), rest[name][2], name)
        self.assertLessEqual(max(abs(whole["d1/W"]).max(), abs(whole["d2/W"]).max()), 0.1)

    def test_gradients_of_the_generator_are_of_its_last_move(self):
        """Watched steps 4, 9, 14 and 19, and moves in every fourth step; also where a checkpoint stands between the two."""
        rule, optimizer = {"func": "modified", "k": 4}, {"GradientDescentMomentum": {"learning_rate": 0.1}}
        hist = {"Hist": {"every": 5, "tensors": ["dW", "W"], "ranges": True}}
        game, _ = self.train(rule, optimizer, "normal", callbacks=[hist, {"GradientNorm": {"every": 5}}])
        rows, moves, slopes, norms = self.x.reshape(len(self.x), -1).astype(float), 0, {"g1": [], "g2": []}, []
        for step in range(STEPS):
            first = step % 4 * BATCH
            x = rows[first:first + BATCH]
            game.judge_step(x, step, step + 1)
            if step % 4 == 3:
                moves += 1
                game.made_step(len(x), step, moves)
            if step % 5 == 4:
                for name, columns in slopes.items():
                    columns.append(game.slopes[name[1:] + "/W"])
                norms.append(np.sqrt(sum((g ** 2).sum() for g in game.slopes.values())))
        edges = np.array([-np.inf] + [-48.0 + i for i in range(1, 65)])

        def check():
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(sorted(file["hist"]), ["d1_W", "d1_dW", "d2_W", "d2_dW", "g1_W", "g1_dW", "g2_W", "g2_dW"])
                for name, columns in slopes.items():
                    counts = [np.histogram(np.rint(np.log2(np.abs(x))), edges)[0] for x in columns]
                    np.testing.assert_array_equal(file[f"hist/{name}_dW"][:].T, counts, name)
                    ends = np.array([[x.min(), x.max(), (x < 0).mean(), (x == 0).mean()] for x in columns])
                    np.testing.assert_allclose(file[f"range/{name}_dW"][:].T, ends, rtol=1e-9, atol=1e-12)
                np.testing.assert_allclose(file["gradient/generator_norm"][:], norms, rtol=1e-6)  # kept in f32
        check()
        self.neon("-r", str(SEED), "-eval", "1", "-e", "2", "-s", "h.safetensors", "-o", "r.h5", "s.yaml")
        self.neon("resume", "h.safetensors", "-e", "5")  # the move in step 7 is the checkpoint's
        check()

    def test_a_sheet_has_what_the_generator_makes(self):
        game, found = self.train({"func": "modified"}, {"Adam": {}}, "normal", 1)
        self.assertEqual(self.neon("sample", "m.safetensors", "made.png", "--count", "5", "-r", str(SEED)).out,
                         f"wrote made.png: 5 images of (1, 3, 3), seed {SEED}\n")
        for half in game.made, game.judge:
            half.p = {name: found[half.name + name] for name in half.p}
            half.mean, half.variance = found[half.name + "1_bnorm/gmean"], found[half.name + "1_bnorm/gvar"]
        images, _ = game.made.forward(game.noise(0, 5), False, True)
        images = images.reshape(5, 3, 3)
        sheet = support.png_pixels(self.read("made.png"))
        self.assertEqual(sheet.shape, (3 + 4, 5 * 5 + 2))  # a gap of 2 around each
        expected = np.rint(255 * (images - images.min()) / (images.max() - images.min()))
        for i in range(5):
            off = np.abs(sheet[2:5, 2 + 5 * i:5 + 5 * i].astype(float) - expected[i]).max()
            self.assertLessEqual(off, 1)
        self.neon("sample", "m.safetensors", "made.png", "-r", "8")  # a preview may be replaced
        self.refused(2, "sample", "m.safetensors", says="its net makes samples; give a PNG file for them")
        self.refused(2, "sample", "m.safetensors", "made.jpg", says="give a name that ends with .png")
        self.write("mine.png", self.read("made.png")[:-60])
        self.refused(3, "sample", "m.safetensors", "mine.png", says="exists and is no preview")
        for option in ["--length", "3"], ["--prompt", "a"], ["--top_k", "2"], ["--temperature", "0"]:
            self.refused(2, "sample", "m.safetensors", "a.png", *option, says="the net makes images; --prompt")

    def test_a_sheet_is_drawn_after_epochs(self):
        self.train({"func": "modified"}, {"Adam": {}}, "normal", 2)
        for more in [], ["--set", "ema=0.9"]:
            self.neon("-r", str(SEED), "-s", "m.safetensors", "s.yaml", "--set", "callbacks=[GANPlot: {num_samples: 4, every: 2}]", *more)
            self.neon("sample", "m.safetensors", "same.png", "--count", "4", "-r", str(SEED))
            self.assertEqual(self.read("made.png"), self.read("same.png"))
        self.write("mine.png", self.read("made.png")[:-60])
        told = self.neon("s.yaml", "--set", "callbacks=[GANPlot: {filename: mine.png}]").err
        self.assertIn("warning: mine.png exists and is no preview", told)
        self.refused(2, "s.yaml", "--set", "callbacks=[GANPlot: {filename: a/b.png}]", says="without a folder")
        self.spec(callbacks="[GANPlot]", name="iris.yaml")
        self.refused(2, "check", "iris.yaml", says="GANPlot draws images of 1 or 3 channels that a generator makes")

    def test_what_does_not_fit_is_refused(self):
        head = "dataset: Iris\noptimizer: {SGD: {learning_rate: 0.1}}\nrule: Adversarial\nbatch_size: 32\n"
        gan = "layers: [GAN: {noise: [2], generator: [Affine: {nout: %d, init: Kaiming}], discriminator: [Affine: {nout: %d, init: Kaiming}]}]\n"
        for name, spec, says in (("a", head + "layers: [Affine: {nout: 3, init: Kaiming}]\n", "Adversarial trains a net of one layer, "
                                  "GenerativeAdversarial; the last layer is Affine_0 (Affine)"),
                                 ("b", head + gan % (5, 1), "the generator makes samples (5), the data set has (4)"),
                                 ("c", head + gan % (4, 2), "the discriminator gives 2 numbers for a sample"),
                                 ("g", head + gan % (4, 1), "the cost modified takes a discriminator whose output is a probability; "
                                  "give its last layer activation: Logistic, or the rule func: wasserstein"),
                                 ("d", head + gan % (4, 1) + "datatype: f16\n", "Adversarial trains in f32 or f64"),
                                 ("e", head + gan % (4, 1) + "accumulate: 2\n", "a rule with two has turns of its own"),
                                 ("f", head + gan.replace("[2]", "[2, 3]") % (4, 1), "noise has 2 numbers")):
            self.spec(spec, name=name + ".yaml")
            self.refused(2, "check", name + ".yaml", says=says)
        # Probabilities of parts of a sample, and their mean.
        parts = "discriminator: [Affine: {nout: 8, init: Kaiming, activation: %s}, Reshape: [1, 2, 4], Pooling: {fshape: all, op: avg}]}]\n"
        parted = head + gan[:gan.index("discriminator")] % 4 + parts
        self.spec(parted % "Logistic", name="p.yaml")
        self.neon("check", "p.yaml")
        self.spec(parted % "Tanh", name="q.yaml")
        self.refused(2, "check", "q.yaml", says="whose output is a probability")


if __name__ == "__main__":
    support.main()
