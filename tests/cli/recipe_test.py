#!/usr/bin/python3
"""The recipe for nets that do not learn: lr-find, overfit, grad-check, the first cost, overfitting."""
import json
import os
import re

import numpy as np

import support
from support import IRIS


class Recipe(support.Case):
    def numbers(self, x, t, layers, cost="MeanSquared", optimizer=None, **more):
        np.savez(self.path("d.npz"), x_train=x, y_train=t, x_test=x[:8], y_test=t[:8])
        spec = {"dataset": {"NPZ": {"path": "d.npz"}}, "layers": layers, "cost": cost, "epochs": 4, "batch_size": len(x),
                "optimizer": optimizer or {"GradientDescentMomentum": {"learning_rate": 0.01}}, **more}
        return self.write("s.yaml", json.dumps(spec))

    def quadratic(self):
        """Least squares: gradient descent gets worse above the rate 2 / the largest eigenvalue of X'X/n."""
        draw = np.random.RandomState(1)
        x = (draw.randn(64, 3) * [3, 2, 2]).astype(np.float32)
        t = (x @ [[1.0], [-2], [3]] + draw.randn(64, 1)).astype(np.float32)
        return x, t, 2 / np.linalg.eigvalsh(x.T.astype(float) @ x / 64).max()

    def test_lr_find(self):
        x, t, limit = self.quadratic()
        spec = self.numbers(x, t, [{"Linear": {"nout": 1, "init": {"Constant": 0}}}], batch_size=16)
        out = self.neon("lr-find", "-r", "1", spec).out
        fastest = float(re.search(r"falls fastest at the rate (\S+)", out)[1])
        lowest = float(re.search(r"lowest \S+, at the rate (\S+)", out)[1])
        self.assertLess(limit / 100, fastest)
        self.assertLess(fastest, limit)
        # Batches of a quarter have other limits, and the running mean follows some steps later.
        self.assertTrue(limit / 10 < lowest < limit * 2, (lowest, limit))
        last = float(re.search(r"with learning rates from \S+ to (\S+);", out)[1])
        self.assertLess(last, 10 * limit)
        self.assertIn(f"next: learning_rate: {fastest:.2g}", out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["d.npz", "s.yaml"])
        self.refused(1, "lr-find", self.numbers(np.zeros_like(x), t, [{"Linear": {"nout": 1, "init": {"Constant": 0}}}]),
                     says="the cost falls at no learning rate")
        self.refused(2, "lr-find", self.spec(optimizer="{MultiOptimizer: {default: Adam, Bias: Adam}}"), says="is for one optimizer")

    def test_lr_find_of_small_batches_that_differ(self):
        """Whichever batches come first: the rates that it gives train, and the lowest rates are none of them."""
        draw = np.random.RandomState(2)
        x = draw.randn(240, 4)
        kinds = np.argmax(x @ draw.randn(4, 3) + 0.5 * draw.randn(240, 3), 1)
        self.write("t.csv", "a,b,c,d,kind\n" + "".join(",".join(f"{v:.4f}" for v in row) + f",{'uvw'[k]}\n" for row, k in zip(x, kinds)))
        spec = self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0}}\nlayers:\n  - Affine: {nout: 16, bias: {Constant: 0}, activation: Rectlin}\n"
                          "  - Affine: {nout: classes, bias: {Constant: 0}, activation: Softmax}\ncost: CrossEntropyMulti\noptimizer: Adam\n"
                          "batch_size: 4\nepochs: 5\n")
        for seed in "123456":
            advised = re.search(r"next: learning_rate: (\S+),", self.neon("lr-find", "-r", seed, "-b", "cpu", spec).out)[1]
            self.assertTrue(1e-4 < float(advised) < 0.2, advised)
            costs = re.findall(r"epoch \d/5  cost (\S+)", self.neon("-r", seed, "-b", "cpu", spec, "--set", f"optimizer.learning_rate={advised}").err)
            self.assertLess(float(costs[-1]), 0.8 * np.log(3), advised)

    def test_few_iterations_are_no_fault_of_the_net(self):
        x, t, limit = self.quadratic()
        spec = self.numbers(x, t, [{"Linear": {"nout": 1, "init": {"Constant": 0}}}], batch_size=16)
        self.refused(2, "lr-find", "--iterations", "49", "-r", "1", spec, says="option --iterations: 49 steps show no curve; give lr-find at least 50")
        for steps in "50", "60", "100":
            fastest = float(re.search(r"falls fastest at the rate (\S+)", self.neon("lr-find", "--iterations", steps, "-r", "1", spec).out)[1])
            self.assertTrue(limit / 100 < fastest < limit, fastest)
        self.refused(2, "lr-find", "--iterations", "5", "none.yaml", says="none.yaml: there is no such file")

    def test_nothing_is_said_of_metrics_that_nobody_computes(self):
        spec = self.spec(metrics="[Accuracy]", optimizer="{Adam: {learning_rate: 0.05}}")
        for verb in "lr-find", "overfit":
            self.assertNotIn("metrics", self.neon(verb, "-r", "1", spec).err)

    def test_values_of_ranges(self):
        """--value gives a range its value, as for training."""
        spec = self.spec(optimizer="{Adam: {learning_rate: {search: {log: [1.0e-4, 1.0e-1], name: rate}}}}")
        self.assertIn("-> ", self.neon("overfit", "-r", "1", "--value", "rate=0.05", spec).out)
        self.refused(1, "overfit", "-r", "1", "--value", "rate=0.0001", spec, says="the net has not learnt one batch")
        for verb in ["lr-find"], ["grad-check"], ["data", "stats"]:
            self.neon(*verb, "-r", "1", "--value", "rate=0.05", spec)
            self.assertIn("nosuch", self.neon(*verb, "--value", "nosuch=1", spec, code=2).err)

    def test_overfit_of_alternating_classes(self):
        """A batch has both, and samples that say nothing of their class are not learnt; one of a single class proves nothing."""
        self.write("same.csv", "x,kind\n" + "".join(f"{0.5 + i / 1e6},{'ud'[i % 2]}\n" for i in range(96)))
        spec = self.write("o.yaml", "dataset: {CSV: {path: same.csv, target: kind, test: 0, standardize: false}}\nlayers: [Affine: {nout: classes, init: "
                          "Kaiming, bias: {Constant: 0}, activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.02}}\n")
        for size in "8", "12", "32":
            self.refused(1, "overfit", "-r", "1", "-z", size, spec, says="the net has not learnt one batch")
        self.refused(1, "overfit", "-r", "1", "-z", "1", spec, says="have one target, so a net learns them without a look at them")

    def test_overfit(self):
        spec = self.spec(optimizer="{Adam: {learning_rate: 0.05}}")
        out = self.neon("overfit", "-r", "1", spec).out
        first, last, steps, constant = re.search(
            r"one batch of 16 samples: cost (\S+) -> (\S+) in (\d+) steps; the same answer for every sample: (\S+)", out).groups()
        self.assertEqual(steps, "200")
        # 16 of the 120 flowers, every seven and a half of three classes in a row: 6, 5, 5 or so.
        self.assertAlmostEqual(float(constant), np.log(3), delta=0.02)
        self.assertLess(float(last), 0.1 * float(constant))
        self.assertGreater(float(first), float(last))
        self.assertIn("the net learns one batch", out)
        result = self.neon("overfit", "--iterations", "3", "-r", "1", spec, code=1)
        self.assertIn("in 3 steps", result.out)
        self.assertIn("the net has not learnt one batch", result.err)
        still = self.spec(optimizer="{Adam: {learning_rate: 0}}")
        self.refused(1, "overfit", still, says="the net has not learnt one batch")
        self.refused(5, "overfit", self.spec(optimizer="{GradientDescentMomentum: {learning_rate: 1.0e+38}}"), says="diverged")

    def test_the_first_cost_is_of_the_samples_that_the_seed_draws(self):
        spec = self.write("s.yaml", "dataset: {Digits: {ntrain: 40, ntest: 10}}\nlayers: [Affine: {nout: 10, init: Kaiming, activation: Softmax}]\n"
                          "cost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 10\n")
        begins = lambda *more: re.search(r"cost    begins at ([\d.]+)", self.neon("check", "-r", "5", *more, spec).out)[1]
        self.assertEqual(begins(), begins("--set", "dataset.seed=5"))
        self.assertNotEqual(begins(), begins("--set", "dataset.seed=6"))

    def test_the_first_cost_is_that_of_a_run(self):
        """Of all samples in one batch. A frozen batch norm normalises by its running statistics, 0 and 1."""
        for more in {}, {"freeze": "[Affine_0]"}:
            content = IRIS.replace("init: Kaiming, activation: Tanh", "init: Kaiming, batch_norm: true, activation: Tanh")
            spec = self.spec(content, batch_size=120, epochs=1, **more)
            begins = re.search(r"cost    begins at ([\d.]+)", self.neon("check", "-r", "5", spec).out)[1]
            self.assertIn(f"epoch 1/1  cost {begins} ", self.neon("-r", "5", spec).err)

    def test_overfit_goes_through_the_whole_schedule_of_the_run(self):
        """Of 10 epochs all but the last two have the whole rate; a step of overfit is no epoch."""
        rate = "learning_rate: 0.05, schedule: {StepSchedule: {step_config: [%d], change: [1.0e-9]}}"
        for begin, code in (8, 0), (1, 1):
            adam = "{Adam: {" + rate % begin + "}}"
            for optimizer in adam, "{MultiOptimizer: {default: " + adam + ", Affine_1: " + adam + "}}":
                self.neon("overfit", "-r", "1", self.spec(optimizer=optimizer, epochs=10), code=code)

    def test_gradients_of_a_net_with_everything(self):
        layers = """
  - Conv: {fshape: 3, nofm: 4, padding: 1, init: Kaiming, batch_norm: true, activation: Tanh}
  - Pooling: {fshape: 2, op: avg}
  - Dropout: 0.7
  - Affine: {nout: 6, init: Kaiming, bias: {Constant: 0.1}, activation: Logistic}
  - Affine: {nout: 10, init: Kaiming, activation: Softmax}"""
        spec = self.write("s.yaml", "dataset: {Digits: {ntrain: 40, ntest: 10}}\nlayers:" + layers +
                          "\ncost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 10\nepochs: 1\n")
        out = self.neon("grad-check", "-r", "3", spec).out
        rows = re.findall(r"(?m)^(\S+) +(\S+) +(\d+) of (\d+) elements", out)
        self.assertGreaterEqual(len(rows), 5)
        for name, worst, checked, elements in rows:
            self.assertLess(float(worst), 1e-5, out)
            self.assertEqual(int(checked), min(8, int(elements)))
        self.assertIn("all gradients are those of the cost", out)

    def test_gradients_of_a_net_with_a_boltzmann_machine(self):
        """The biases of its visible units serve contrastive divergence alone: the cost does not depend on them."""
        layers = "\n  - RBM: {name: r, nout: 6}\n  - Affine: {name: a, nout: 10, init: Kaiming, activation: Softmax}"
        spec = self.write("s.yaml", "dataset: {Digits: {ntrain: 40, ntest: 10}}\nlayers:" + layers +
                          "\ncost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 10\nepochs: 1\n")
        out = self.neon("grad-check", "-r", "3", spec).out
        self.assertEqual(re.findall(r"(?m)^(\S+) +\S+ +\d+ of (\d+) elements$", out),
                         [("r/W", str(784 * 6)), ("r_bias/b", "6"), ("a/W", "60")])
        self.assertRegex(self.neon("check", "-r", "3", spec).out, r"(?m)^cost +begins at 2\.")

    def test_a_gradient_that_is_not_the_costs(self):
        """Sign is flat; the gradient that it passes on is not."""
        x, t, _ = self.quadratic()
        spec = self.numbers(x, t, [{"Affine": {"name": "first", "nout": 4, "init": {"Constant": 0.1}, "activation": "Sign"}},
                                   {"Affine": {"name": "second", "nout": 1, "init": {"Constant": 0.5}}}])
        result = self.neon("grad-check", "-r", "1", "-z", "64", spec, code=1)
        self.assertRegex(result.out, r"(?m)^first/W .* WRONG element \d+: the gradient is \S+, the cost changes by 0$")
        self.assertRegex(result.out, r"(?m)^second/W +\S+e-\d+ +4 of 4 elements$")
        self.assertIn("from the cost: a layer is not differentiable there", result.err)

    def test_a_kink_that_all_samples_are_at_is_no_wrong_gradient(self):
        """At weights of 0 relu's derivative is 0. The cost falls on both sides: samples above 0 on one, below on the other."""
        x = np.array([[2.0], [1.0], [-1.5], [-0.5]], "f4")
        np.savez(self.path("k.npz"), x_train=x, y_train=np.array([[1.0], [2.0], [-1.0], [-3.0]], "f4"))
        spec = self.write("k.yaml", "dataset: {NPZ: {path: k.npz, regression: true}}\nlayers:\n"
                          "- Affine: {nout: 1, init: {Constant: 0}, bias: {Constant: 0}, activation: Rectlin}\n"
                          "cost: SumSquared\noptimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\nbatch_size: 4\n")
        found = self.neon("grad-check", spec, "-r", "1").out
        self.assertIn("1 of 1 elements, 1 at a kink", found)
        self.assertIn("all gradients are those of the cost", found)

    def test_kinks_of_a_few_samples_are_no_wrong_gradients(self):
        """One of 2000 samples is at the kink of Rectlin or nearer than the step: slopes of both sides differ by 1e-4 or so."""
        draw = np.random.RandomState(4)
        x = draw.randn(2000, 2).astype(np.float32)
        t = draw.randn(2000, 1).astype(np.float32)
        for last, kinks, activation, wrong in (([1, -1], 8, "Rectlin", False), ([1, -1 + 2e-5], 0, "Rectlin", False),
                                               ([1, 1], 0, "Sign", True)):
            x[-1] = last
            spec = self.numbers(x, t, [{"Affine": {"name": "first", "nout": 4, "init": {"Constant": 0.1}, "activation": activation}},
                                       {"Affine": {"name": "second", "nout": 1, "init": {"Constant": 0.5}}}])
            result = self.neon("grad-check", "-r", "1", "-z", "2000", spec, code=int(wrong))
            found = re.search(r"(?m)^first/W +(\S+) +8 of 8 elements(?:, (\d+) at a kink)?(  WRONG)?", result.out)
            self.assertEqual((int(found[2] or 0), bool(found[3])), (kinks, wrong), result.out)
            self.assertIn("second/W", result.out)

    def test_the_first_cost(self):
        x, t, _ = self.quadratic()
        constant = t.var() / 2
        for weight, note in (0, False), (50, True):
            out = self.neon("check", self.numbers(x, t, [{"Linear": {"nout": 1, "init": {"Constant": weight}}}])).out
            begins, same = re.search(r"(?m)^cost    begins at (\S+); (\S+) for the same answer to every sample$", out).groups()
            expected = ((weight * x.sum(1, keepdims=True) - t) ** 2).mean() / 2
            self.assertAlmostEqual(float(begins) / expected, 1, delta=1e-3)
            self.assertAlmostEqual(float(same) / constant, 1, delta=1e-3)
            self.assertEqual("times that of the same answer" in out, note)
            if note:
                self.assertIn(f"note    the first cost is {expected / constant:.1f} times", out)

    def test_overfitting_is_noted_once(self):
        """Random labels: what is learnt of 24 samples is worth nothing for others."""
        draw = np.random.RandomState(5)
        x, t = draw.randn(24, 20).astype(np.float32), draw.randint(0, 2, 24).astype(np.int32)
        other, unlike = draw.randn(200, 20).astype(np.float32), draw.randint(0, 2, 200).astype(np.int32)
        np.savez(self.path("d.npz"), x_train=x, y_train=t, x_test=other, y_test=unlike)
        spec = self.write("s.yaml", json.dumps({
            "dataset": {"NPZ": {"path": "d.npz"}}, "cost": "CrossEntropyMulti", "epochs": 40, "batch_size": 24,
            "layers": [{"Affine": {"nout": 32, "init": "Kaiming", "activation": "Tanh"}}, {"Affine": {"nout": 2, "init": "Kaiming", "activation": "Softmax"}}],
            "optimizer": {"Adam": {"learning_rate": 0.02}}}))
        err = self.neon("-r", "1", "-eval", "1", spec).err
        notes = re.findall(r"note: overfitting since epoch (\d+): the test cost rises, from (\S+) to (\S+), while the training", err)
        self.assertEqual(len(notes), 1, err)
        costs = [float(cost) for cost in re.findall(r"test cost ([\d.]+)", err)]
        lowest = min(range(len(costs)), key=costs.__getitem__)
        epoch, least, now = notes[0]
        self.assertEqual((int(epoch), float(least)), (lowest + 2, costs[lowest]))
        self.assertGreater(float(now), 1.05 * float(least))
        # A net that goes on getting better has no such note.
        self.assertNotIn("overfitting", self.neon("-r", "1", self.spec(IRIS, name="iris.yaml")).err)


if __name__ == "__main__":
    support.main()
