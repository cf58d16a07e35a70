#!/usr/bin/python3
"""Classes of different sizes: weights of classes, balanced sampling, and the line of `neon check` about them."""
import re

import numpy as np

import support
from support import IRIS, Case, png, tensors

NET = """\
dataset: {ImageFolder: {path: photos, test: 0.2}}
augment: [RandomCrop: {pad: 1}, Flip]
layers:
  - Affine: {nout: 4, init: Kaiming, activation: Tanh}
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 8
epochs: 2
"""


class Imbalance(Case):
    def photos(self, **classes):
        rng = np.random.default_rng(1)
        for name, count in classes.items():
            for i in range(count):
                self.write(f"photos/{name}/{i}.png", png(rng.integers(0, 255, (6, 6, 3), np.uint8)))

    def test_check_shows_uneven_classes(self):
        self.photos(cat=50, dog=5, owl=20)
        spec = self.write("s.yaml", NET)
        self.assertIn("note    'cat' has 40 training samples, 'dog' 4: 10 times as many; `class_weights: balanced`",
                      self.neon("check", spec).out)
        self.photos(dog=15)
        self.assertNotIn("times as many", self.neon("check", spec).out)

    def test_the_weight_of_one_class_may_be_set_alone(self):
        rng = np.random.default_rng(3)
        self.write("t.csv", "a,k,p\n" + "".join(f"{v:.4f},{'xyz'[i % 3]},{v:.4f}\n" for i, v in enumerate(rng.normal(size=60))))
        end = "optimizer: Adam\nbatch_size: 12\nepochs: 1\n"
        one = self.write("one.yaml", "dataset: {CSV: {path: t.csv, target: k, ignore: [p]}}\nlayers: [Affine: {nout: 3, activation: Softmax}]\n"
                         "cost: CrossEntropyMulti\n" + end)
        two = self.write("two.yaml", "dataset: {CSV: {path: t.csv, targets: {k: classes, p: number}}}\nlayers:\n"
                         "  - Affine: {name: k, nout: 3, inputs: data, activation: Softmax}\n  - Affine: {name: p, nout: 1, inputs: data}\n"
                         "outputs: {k: {cost: CrossEntropyMulti}, p: MeanSquared}\n" + end)
        for spec, key in (one, "class_weights"), (two, "outputs.k.class_weights"):
            begins = lambda *more: re.search(r"cost +begins at (\S+);", self.neon("check", "-r", "1", spec, *more).out)[1]
            weighted = begins("--set", key + "={y: 3}")
            self.assertNotEqual(weighted, begins())
            self.assertEqual(begins("--set", key + ".y=3"), weighted)

    def test_drawn_data_may_lack_classes(self):
        spec = self.write("d.yaml", "dataset: {UniformRandom: {ntrain: 64, nin: 10, nout: 100}}\nlayers: [Affine: {nout: 100, activation: Softmax}]\n"
                          "cost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 32\nepochs: 1\n")
        self.assertNotIn("no training sample", self.neon("bench", "--iterations", "1", spec).err)

    def test_every_kind_of_data_shows_uneven_classes(self):
        kinds = np.array([0] * 60 + [1] * 6)
        x = np.random.default_rng(1).normal(size=(66, 2)).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=x, y_train=kinds, x_test=x, y_test=kinds, k_train=kinds, k_test=kinds, p_train=x[:, 0], p_test=x[:, 0])
        rows = "".join(f"{a:.5f},{b:.5f},{'pq'[k]},{a + b:.5f}\n" for (a, b), k in zip(x, kinds))
        self.write("t.csv", "a,b,kind,price\n" + rows)
        self.photos(cat=60, dog=6)
        self.neon("data", "pack", "photos", "shards")
        zeros = "init: {Constant: 0}, "
        head = "layers: [Affine: {INITnout: 2, activation: Softmax}]\ncost: CrossEntropyMulti\n".replace("INIT", zeros)
        several = ("layers:\n  - Affine: {name: kind, INITnout: 2, inputs: data, activation: Softmax}\n  - Affine: {name: price, INITnout: 1, inputs: data}\n"
                   "outputs: {kind: {cost: CrossEntropyMulti}, price: {cost: MeanSquared, weight: 1.0e-6}}\n").replace("INIT", zeros)
        both = "; `class_weights: balanced` or `sampling: balanced` lets small classes count as much"
        one = "; `class_weights: balanced` of the output or `sampling: balanced` lets small classes count as much"
        for data, net, note, key in (
                ("CSV: {path: t.csv, test: 0, target: kind}", head, "note    'p' has 60 training samples, 'q' 6: 10 times as many" + both, "class_weights"),
                ("NPZ: {path: d.npz}", head, "note    class 0 has 60 training samples, class 1 6: 10 times as many" + both, "class_weights"),
                ("NPZ: {path: d.npz, subset_pct: 50}", head, "note    class 0 has 30 training samples, class 1 3: 10 times as many" + both, "class_weights"),
                ("Shards: {path: shards}", head, "note    'cat' has 48 training samples, 'dog' 5: 10 times as many" + both, "class_weights"),
                ("CSV: {path: t.csv, test: 0, targets: {kind: classes, price: number}}", several,
                 "note    'kind': 'p' has 60 training samples, 'q' 6: 10 times as many" + one, "outputs.kind.class_weights"),
                ("NPZ: {path: d.npz, targets: {kind: k, price: p}}", several,
                 "note    'kind': class 0 has 60 training samples, class 1 6: 10 times as many" + one, "outputs.kind.class_weights")):
            spec = self.write("s.yaml", f"dataset: {{{data}}}\n{net}optimizer: Adam\nbatch_size: 33\nepochs: 1\n")
            out = self.neon("check", "-r", "1", spec).out
            self.assertEqual([line for line in out.splitlines() if "as many" in line or "smaller initial" in line], [note])
            self.assertIn(note, self.neon("data", "stats", "-r", "1", spec).out)
            for more in f"{key}=balanced", "sampling=balanced":
                self.assertNotIn("times as many", self.neon("check", "-r", "1", spec, "--set", more).out)
        out = self.neon("data", "stats", spec).out
        self.assertIn("samples of each class of 'kind':\nclass 0    train 60      test 60", out)
        # A cost far above any answer without a look at samples is one of the weights.
        large = self.write("l.yaml", "dataset: {NPZ: {path: d.npz}}\nlayers: [Affine: {nout: 2, init: {Gaussian: {scale: 60}}, activation: Softmax}]\n"
                           "cost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 33\nepochs: 1\n")
        self.assertIn("smaller initial weights", self.neon("check", "-r", "1", large).out)

    def test_the_first_cost_of_rare_classes_is_no_fault_of_the_weights(self):
        """1 of 200: all classes alike cost log 2, the shares 0.03."""
        kinds = np.array([0] * 199 + [1])
        x = np.random.default_rng(1).normal(size=(200, 2)).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=x, y_train=kinds, x_test=x[-2:], y_test=kinds[-2:], k_train=kinds, k_test=kinds, p_train=x[:, 0], p_test=x[:, 0])
        ends = "optimizer: Adam\nbatch_size: 40\nepochs: 1\n"
        for spec in ("dataset: {NPZ: {path: d.npz}}\nlayers: [Affine: {nout: 2, init: {Constant: 0}, activation: Softmax}]\ncost: CrossEntropyMulti\n",
                     "dataset: {NPZ: {path: d.npz, regression: true}}\nlayers: [Affine: {nout: 1, init: {Constant: 0}, activation: Logistic}]\ncost: CrossEntropyBinary\n",
                     "dataset: {NPZ: {path: d.npz, x_test: '', targets: {kind: k}}}\nlayers: [Affine: {name: kind, nout: 2, init: {Constant: 0}, activation: Softmax}]\n"
                     "outputs: {kind: CrossEntropyMulti}\n"):
            out = self.neon("check", "-r", "1", self.write("s.yaml", spec + ends)).out
            first, constant = (float(n) for n in support.re.search(r"begins at ([\d.]+); ([\d.]+) for", out).groups())
            self.assertAlmostEqual(first, np.log(2), delta=1e-3)
            self.assertLess(constant, 0.04)
            self.assertNotIn("smaller initial weights", out)

    def test_balanced_sampling_is_the_same_streamed_and_resumed(self):
        self.photos(cat=40, dog=6)
        spec = self.write("s.yaml", NET + "sampling: balanced\n")
        found = []
        for more in ["--set", "dataset.stream=false"], ["--set", "dataset.stream=true"], ["-e", "1"]:
            self.neon("-r", "1", "-s", "m.safetensors", spec, *more)
            found.append(tensors(self.path("m.safetensors"))[0]["Affine_0/W"])
        self.assertEqual(found[0], found[1])
        self.neon("resume", "-e", "2", "m.safetensors")
        self.assertEqual(found[0], tensors(self.path("m.safetensors"))[0]["Affine_0/W"])
        self.neon("-r", "1", "-s", "m.safetensors", spec, "--set", "sampling=all")
        self.assertNotEqual(found[0], tensors(self.path("m.safetensors"))[0]["Affine_0/W"])

    def test_weights_hold_in_all_phases_and_follow_the_spec_of_a_resumed_run(self):
        rng = np.random.default_rng(5)
        self.write("t.csv", "a,b,price,grade\n" + "".join(f"{a},{b},{a - b},{'xyz'[i % 3]}\n" for i, (a, b) in enumerate(rng.normal(size=(40, 2)))))
        spec = """\
dataset: {CSV: {path: t.csv, test: 0, targets: {price: number, grade: classes}}}
layers:
  - Affine: {name: price, nout: 1, inputs: data, init: Kaiming}
  - Affine: {name: grade, nout: 3, inputs: data, init: Kaiming, activation: Softmax}
outputs: {price: MeanSquared, grade: {cost: CrossEntropyMulti, class_weights: [1, 0.25, 4]}}
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
shuffle: false
batch_size: 40
"""
        weights = lambda name: {key: value for key, value in tensors(self.path(name))[0].items() if key.endswith("/W")}
        self.neon("-r", "1", "-s", "one", self.write("s.yaml", spec + "epochs: 5\n"))
        self.neon("-r", "1", "-s", "two", self.write("p.yaml", spec + "phases: [{name: a, epochs: 2}, {name: b, epochs: 3}]\n"))
        self.assertEqual(weights("one"), weights("two"))
        other = "--set", "outputs.grade.class_weights=[3, 1, 2]"
        self.neon("-r", "1", "-s", "part", "-e", "2", "s.yaml")
        self.neon("-r", "1", "-s", "anew", "-e", "3", "--model_file", "part", "s.yaml", *other)
        self.neon("resume", "part", "-e", "5", *other)
        self.assertEqual(weights("part"), weights("anew"))
        self.assertNotEqual(weights("part"), weights("one"))

    def test_balanced_sampling_of_several_targets(self):
        """A net that sees nothing of a sample learns the shares of the classes that it is shown."""
        kinds = np.array([0] * 54 + [1] * 6)
        x = np.zeros((60, 2), np.float32)
        np.savez(self.path("d.npz"), x_train=x, x_test=x[:3], k_train=kinds, k_test=kinds[-3:], p_train=kinds * 1.5, p_test=kinds[-3:] * 1.5)
        spec = self.write("s.yaml", """\
dataset: {NPZ: {path: d.npz, targets: {kind: k, price: p}}}
layers:
  - Affine: {name: kind, nout: 2, inputs: data, init: {Constant: 0}, bias: {Constant: 0}, activation: Softmax}
  - Affine: {name: price, nout: 1, inputs: data, init: {Constant: 0}, bias: {Constant: 0}}
outputs: {kind: CrossEntropyMulti, price: MeanSquared}
optimizer: {GradientDescentMomentum: {learning_rate: 0.2, momentum_coef: 0}}
batch_size: 60
epochs: 80
""")
        np.save(self.path("x.npy"), x[:1])
        for more, kind, price in ([], 0.1, 0.15), (["--set", "sampling=balanced"], 0.5, 0.75), \
                (["--set", "sampling=balanced", "--set", "dataset.memory_share=1e-9"], 0.5, 0.75):
            self.neon("-r", "1", "-b", "cpu", "-s", "m", *more, spec)
            said = self.neon("predict", "m", "x.npy", "--format", "json").out
            numbers = [float(n) for n in support.re.findall(r"-?\d+\.\d+(?:e-?\d+)?", said)]
            self.assertTrue(any(abs(n - kind) < 0.02 or abs(n - (1 - kind)) < 0.02 for n in numbers), said)
            self.assertTrue(any(abs(n - price) < 0.05 for n in numbers), said)
        # Without one target of classes there is nothing to draw by, and weights are those of an output.
        rows = "".join(f"{i},{i % 7 * 1.5},{'ab'[i % 2]},{'pq'[i % 3 > 0]}\n" for i in range(30))
        self.write("t.csv", "x,price,kind,form\n" + rows)
        layers = {"kind": "nout: 2, activation: Softmax", "form": "nout: 2, activation: Softmax", "price": "nout: 1", "x": "nout: 1"}
        for targets, outputs, key, says in (
                ("kind: classes, form: classes", "kind: CrossEntropyMulti, form: CrossEntropyMulti", "sampling=balanced",
                 "sampling: balanced draws samples by the classes of one target, and 2 targets have classes: 'kind', 'form'"),
                ("price: number, x: number", "price: MeanSquared, x: MeanSquared", "sampling=balanced",
                 "none of the targets has one class for each sample: price (number), x (number)")):
            heads = "".join(f"  - Affine: {{name: {name}, inputs: data, {layers[name]}}}\n" for name in layers if name + ":" in targets)
            self.write("t.yaml", f"dataset: {{CSV: {{path: t.csv, test: 0, targets: {{{targets}}}}}}}\nlayers:\n{heads}outputs: {{{outputs}}}\noptimizer: Adam\n")
            for verb in [], ["check"]:
                self.refused(2, *verb, "t.yaml", "--set", key, says=says)

    def test_weights_that_cannot_be(self):
        for weights, says in ("[0, 0, 0]", "are all 0"), ("{setosa: 0, versicolor: 0, virginica: 0}", "are all 0"), \
                ("[1.0e+300, 1, 1]", "class_weights[0]"), ("[1, 2]", "has 2 numbers, the data set has 3 classes"):
            self.refused(2, self.spec(class_weights=weights), says=says)

    def test_small_classes_are_found(self):
        """Of two overlapping classes, 1 of 21 samples in the small one: a net that minimises the mean cost calls all large."""
        rng = np.random.default_rng(3)
        draw = lambda many, few: (np.concatenate([rng.normal(0, 1, (many, 2)), rng.normal(1.5, 1, (few, 2))]).astype(np.float32),
                                  np.array([0] * many + [1] * few))
        (x, y), (x_test, y_test) = draw(1000, 50), draw(0, 500)
        np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x_test, y_test=y_test)
        spec = self.write("s.yaml", """\
dataset: {NPZ: {path: d.npz, classes: 2}}
layers: [Affine: {nout: 2, init: Kaiming, bias: {Constant: 0}, activation: Softmax}]
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 50
epochs: 20
""")
        wrong = lambda *more: float(support.re.search(r"Top1Misclass ([\d.]+)", self.neon("-r", "1", spec, *more).out)[1])
        self.assertGreater(wrong(), 50)
        # The balanced border lies halfway between the means: P(N(0, 1) > 1.5 / sqrt 2) = 14.4 % of a class lie beyond it.
        for more in "class_weights=balanced", "sampling=balanced", "class_weights={1: 20}", "class_weights=[0.05, 1]":
            self.assertLess(abs(wrong("--set", more) - 14.4), 6, more)

    def test_mistakes(self):
        for key, says in (("class_weights: [1, 2]", "s.yaml:9:16: class_weights: has 2 numbers, the data set has 3 classes: one for each"),
                          ("class_weights: {setosa: 2, virginca: 1}", "class_weights: no class is named 'virginca'; did you mean virginica?"),
                          ("class_weights: [1, -2, 1]", "-2"), ("class_weights: [0, 0, 0]", "are all 0"), ("class_weights: equal", "balanced, [number, ...] or {class: number}"),
                          ("sampling: equal", "balanced"), ("sampling: balanced\nshuffle: false", "balanced sampling draws an order")):
            for verb in [], ["check"]:
                self.refused(2, *verb, self.spec(IRIS + key + "\n"), says=says)
        # Photos, which check does not read.
        support.write_colours(self)
        photos = self.write("p.yaml", IRIS.replace("Iris", "{ImageFolder: {path: colours}}").replace("nout: 3", "nout: 2"))
        for weights, says in ("[1, 2, 3]", "has 3 numbers, the data set has 2 classes"), ("{rde: 2}", "no class is named 'rde'; did you mean red?"):
            for verb in [], ["check"]:
                self.refused(2, *verb, photos, "--set", "class_weights=" + weights, says="class_weights: " + says)
        self.assertIn("2 classes", self.neon("check", photos, "--set", "class_weights={red: 2}").out)
        numbers = self.spec(IRIS.replace("Iris", "{Iris: {autoencoder: true}}").replace("nout: 3", "nout: 4").replace("CrossEntropyMulti", "MeanSquared"))
        for verb in [], ["check"]:
            self.refused(2, *verb, numbers, "--set", "class_weights=balanced", says="class_weights: is for classes, and the data set has none")
            self.refused(2, *verb, numbers, "--set", "sampling=balanced", says="sampling: balanced draws samples by their class, and the data set has no classes")

    def test_weights_of_one_change_nothing(self):
        for weights in "[]", "[1, 1, 1]", "{setosa: 1}":
            self.neon("-r", "1", "-s", f"m{len(weights)}", self.spec(), "--set", "class_weights=" + weights)
            self.assertEqual(tensors(self.path(f"m{len(weights)}"))[0]["Affine_0/W"], tensors(self.path("m2"))[0]["Affine_0/W"])
        self.neon("resume", "-e", "5", "m9")

    def test_the_first_cost_is_weighted(self):
        line = lambda weights: support.re.search(r"begins at ([\d.]+); ([\d.]+) for", self.neon("check", "-r", "1", self.spec(), "--set", "class_weights=" + weights).out)
        one, two, only = (line(weights) for weights in ("[]", "[2, 2, 2]", "[0, 0, 1]"))
        for place in 1, 2:
            self.assertLess(abs(float(two[place]) / float(one[place]) - 2), 0.01)
        self.assertEqual(float(only[2]), 0)  # the same answer is right for all samples that count

    def test_classes_of_padding_take_no_weight(self):
        """CIFAR-10 with 16 outputs has 10 classes to weigh."""
        folder = "data/cifar10/cifar-10-batches-bin/"
        self.write(folder + "batches.meta.txt", "".join(f"kind {c}\n" for c in range(10)))
        rng = np.random.default_rng(1)
        for name in [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]:
            self.write(folder + name + ".bin", b"".join(bytes([c]) + rng.bytes(3072) for c in range(10)))
        spec = self.spec("dataset: {CIFAR10: {pad_classes: true}}\nlayers: [Affine: {nout: 16, init: Kaiming, activation: Softmax}]\n"
                         "cost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0.01}}\nbatch_size: 10\nepochs: 1\n", "c.yaml")
        asked = lambda weights: ["--data_dir", "data", "-r", "1", "--set", f"class_weights={weights}", spec]
        ten = list(range(1, 11))
        self.neon("-s", "m", *asked(ten))
        weights = np.frombuffer(support.tensors(self.path("m"))[0]["class_weights"][2], "f4")
        self.assertEqual(weights[:10].tolist(), ten)
        self.refused(2, *asked([1] * 16), says="class_weights: has 16 numbers, the data set has 10 classes: one for each; "
                     "those of padding, 6, take none")
        self.refused(2, *asked("{padding 12: 2}"), says="no class is named 'padding 12'")


if __name__ == "__main__":
    support.main()
