#!/usr/bin/python3
"""Arrays of sequences with a class for each step: the same training, evaluation and predictions as of a table."""
import csv
import io
import re

import h5py
import numpy as np

import support
from support import Case

LAYERS = """
layers:
  - GRU: {output_size: 6, init: Kaiming}
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
metrics: [Misclassification]
class_weights: balanced
optimizer: {Adam: {learning_rate: 0.03}}
batch_size: 5
epochs: 3
"""
STEPS, FEATURES = 7, 3


def drawn(samples, seed):
    """x (n,7,3) with NaN behind the 2 to 7 steps of a sequence, classes (n,7) with -1 there, the lengths."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((samples, STEPS, FEATURES)).astype(np.float32)
    y = np.digitize(x[..., 0] + 0.5 * x[..., 1], [-0.4, 0.5])
    lengths = np.concatenate([[STEPS, 2], rng.integers(2, STEPS + 1, samples - 2)])
    behind = np.arange(STEPS) >= lengths[:, None]
    x[behind], y[behind] = np.nan, -1
    return x, y, lengths


def rows_of(out):
    return [row[1:] for row in csv.reader(io.StringIO(out))][1:]


class StepClasses(Case):
    def setUp(self):
        super().setUp()
        self.x, self.y, self.lengths = drawn(23, 1)
        self.a, self.b, _ = drawn(9, 2)

    def table(self, name, x, y):
        rows = [f"{i},{','.join(repr(float(v)) for v in x[i, t])},{y[i, t]}\n"
                for i in range(len(x)) for t in range(STEPS) if y[i, t] >= 0]
        self.write(name, "who,a,b,c,kind\n" + "".join(rows))

    def arrays(self, **more):
        np.savez(self.path("d.npz"), **{"x_train": self.x, "y_train": self.y, "x_test": self.a, "y_test": self.b, **more})

    def spec_of(self, dataset, name, layers=LAYERS):
        return self.spec(f"dataset: {{{dataset}}}" + layers, name)

    def train(self, spec, *more):
        """The lines of results, and the arrays of the checkpoint."""
        out = self.neon(spec, "-b", "cpu", "-r", "1", "-s", "n.safetensors", "--overwrite", *more).out
        return re.findall("(?m)^(test: .*?)  \\(", out), support.tensors(self.path("n.safetensors"))[0]

    def test_arrays_train_as_a_table_does(self):
        self.table("train.csv", self.x, self.y)
        self.table("test.csv", self.a, self.b)
        wanted = self.train(self.spec_of("Sequences: {path: train.csv, id: who, target: kind, each_step: true, standardize: false, "
                                         "test: test.csv}", "t.yaml"))
        predicted = rows_of(self.neon("predict", "n.safetensors", "test.csv").out)
        evaluated = self.neon("eval", "n.safetensors", "--format", "json", "--report").out.replace("train.csv", "")
        self.assertEqual(len(wanted[0]), 1)
        self.arrays()
        for name, array in {"x": self.x, "y": self.y, "a": self.a, "b": self.b[..., None]}.items():  # (n,T,1), too
            np.save(self.path(name + ".npy"), array)
        np.save(self.path("y.npy"), self.y[..., None].astype(np.int16))
        for name, x, y in ("train", self.x, self.y), ("test", self.a, self.b):
            with h5py.File(self.path(name + ".h5"), "w") as file:
                file["input"], file["output"] = x, y
        for dataset in ("NPZ: {path: d.npz, sequences: true}", "HDF5: {train: train.h5, test: test.h5, sequences: true}",
                        "NPY: {inputs: x.npy, targets: y.npy, test_inputs: a.npy, test_targets: b.npy, sequences: true}"):
            spec = self.spec_of(dataset, "s.yaml")
            found = self.train(spec)
            self.assertEqual(found, wanted, dataset)
            said = self.neon("eval", "n.safetensors", "--format", "json", "--report").out
            self.assertEqual(re.sub(r"[a-z]+\.(npz|h5|npy)", "", said), evaluated)
            np.save(self.path("new.npy"), self.a)
            self.assertEqual(rows_of(self.neon("predict", "n.safetensors", "new.npy").out), predicted)
            self.assertIn("23 training and 9 test samples (7, 3), 3 classes", self.neon("check", spec).out)
            said = self.neon("data", "stats", spec).out
            self.assertIn("steps of each class:", said)
            for k in range(3):
                self.assertRegex(said, f"class {k} +train {(self.y == k).sum()} +test {(self.b == k).sum()} ")

    def test_another_file_is_evaluated(self):
        self.arrays()
        spec = self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml")
        result, _ = self.train(spec)
        np.savez(self.path("other.npz"), x_train=self.a, y_train=self.b)  # of these, two classes alone
        keep = (self.b < 2).all(1)
        self.assertGreater(keep.sum(), 1)
        rate = re.search(r"Top1Misclass ([\d.]+) %", result[0])[1]
        self.assertIn(f"Top1Misclass {rate} %", self.neon("eval", "n.safetensors", "other.npz").out)
        np.savez(self.path("other.npz"), x_train=self.a[keep], y_train=self.b[keep])
        self.assertIn("Top1Misclass", self.neon("eval", "n.safetensors", "other.npz").out)

    def test_sequences_of_one_step_are_rows(self):
        """Labels or numbers of any shape are those of the samples, and batch norm has the same numbers."""
        rng = np.random.default_rng(5)
        x, classes, numbers = rng.normal(3, 9, (12, 1, 3)).astype("f4"), np.arange(12) % 3, rng.normal(size=12).astype("f4")
        for targets, shapes, end in ((classes, [(12,), (12, 1)], ("classes, activation: Softmax", "CrossEntropyMulti")),
                                     (numbers, [(12,), (12, 1), (12, 1, 1)], ("1", "MeanSquared"))):
            layers = "\nlayers: [BatchNorm: {name: b}, Affine: {nout: %s}]\ncost: %s\noptimizer: Adam\nbatch_size: 4\nepochs: 2\n" % end
            self.arrays(x_train=x[:, 0], y_train=targets, x_test=x[:, 0], y_test=targets)
            wanted = self.train(self.spec_of("NPZ: {path: d.npz}", "s.yaml", layers), "-d", "f64")[0]
            for shape in shapes:
                y = targets.reshape(shape)
                self.arrays(x_train=x, y_train=y, x_test=x, y_test=y)
                self.assertEqual(self.train(self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml", layers), "-d", "f64")[0], wanted)

    def test_tokens_have_classes_too(self):
        """Each token's class follows from it, and a net learns this."""
        rng = np.random.default_rng(3)
        x = rng.integers(0, 6, (40, STEPS))
        x[np.arange(STEPS) >= rng.integers(2, STEPS + 1, 40)[:, None]] = -1
        np.savez(self.path("d.npz"), x_train=x, y_train=np.where(x < 0, -1, x % 3), x_test=x, y_test=np.where(x < 0, -1, x % 3))
        layers = LAYERS.replace("GRU: {output_size: 6, init: Kaiming}", "Embedding: {nout: 8, init: GlorotUniform}")
        spec = self.spec_of("NPZ: {path: d.npz, tokens: 6}", "s.yaml", layers.replace("epochs: 3", "epochs: 60"))
        self.assertIn("Top1Misclass 0.00 %", self.train(spec)[0][0])
        np.save(self.path("new.npy"), x)
        predicted = rows_of(self.neon("predict", "n.safetensors", "new.npy").out)
        self.assertEqual(predicted, [[" ".join(str(t % 3) for t in tokens if t >= 0)] for tokens in x])

    def test_values_are_those_of_regression(self):
        self.arrays()
        layers = LAYERS.replace("nout: classes", "nout: 1").replace(", activation: Softmax", "").replace("CrossEntropyMulti", "MeanSquared") \
            .replace("metrics: [Misclassification]\nclass_weights: balanced\n", "")
        self.train(self.spec_of("NPZ: {path: d.npz, sequences: true, regression: true}", "s.yaml", layers))
        # Numbers that are stored as floats are values without `regression`; `classes` makes labels of them.
        self.arrays(y_train=self.y.astype(np.float32), y_test=self.b.astype(np.float32))
        self.train(self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml", layers))
        floats = self.train(self.spec_of("NPZ: {path: d.npz, sequences: true, classes: 3}", "s.yaml"))
        self.arrays()
        self.assertEqual(floats, self.train(self.spec_of("NPZ: {path: d.npz, sequences: true, classes: 3}", "s.yaml")))

    def test_steps_without_a_label_count_in_no_cost_and_no_metric(self):
        """-1 at any step, as ignore_index of PyTorch: the mean is over the other steps."""
        labels = self.b.copy()
        labels[0, 3], labels[2, 0] = -1, -1
        labels[5, int(np.argmax(labels[5] < 0)) - 1 if labels[5].min() < 0 else -1] = -1
        self.assertGreaterEqual((self.b >= 0).sum() - (labels >= 0).sum(), 2)
        labels[labels.max(1) < 0, 0] = 0
        layers = "\nlayers:\n  - Affine: {name: a, nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\nmetrics: [Misclassification]\n" \
                 "optimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 5\nepochs: 2\n"
        self.arrays(y_test=labels)
        self.neon(self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml", layers), "-r", "1", "-s", "n.safetensors", "-d", "f64")
        self.neon("export", "n.safetensors", "--npz", "-o", "w.npz")
        z = self.a.astype(float) @ np.load(self.path("w.npz"))["a/W"].T
        counts = labels >= 0
        z, t = z[counts], labels[counts]
        cost = np.mean(np.log(np.exp(z).sum(1)) - z[np.arange(len(t)), t])
        wrong = 100 * np.mean(z.argmax(1) != t)
        out = self.neon("eval", "n.safetensors").out
        self.assertIn(f"test cost {cost:.4f}", out)
        self.assertIn(f"Top1Misclass {wrong:.2f} %", out)

    def test_sequences_to_test_with_may_have_fewer_steps(self):
        """They are padded to as many as those to train with have: the results are the same."""
        for dataset, more in ("sequences: true", {}), ("tokens: 4", {"x_train": np.where(np.isnan(self.x[..., 0]), -1, np.digitize(self.x[..., 0], [-1, 0, 1]))}):
            test = np.full_like(more.get("x_train", self.x)[:9], -1 if more else np.nan)
            test[:, :4] = more.get("x_train", self.x)[:9, :4]
            labels = np.where(np.arange(STEPS) < 4, self.y[:9], -1)
            layers = LAYERS.replace("layers:\n", "layers:\n  - Embedding: {nout: 3, init: Kaiming}\n") if more else LAYERS
            found = []
            for steps in STEPS, 4:
                self.arrays(**more, x_test=test[:, :steps], y_test=labels[:, :steps])
                spec = self.spec_of(f"NPZ: {{path: d.npz, {dataset}}}", "s.yaml", layers)
                self.neon("check", spec)
                found.append(self.train(spec))
            self.assertEqual(found[0], found[1])
        self.arrays(x_train=self.x[:, :4], y_train=self.y[:, :4])
        self.refused(3, self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml"),
                     says="x_test: its sequences have 7 steps, those to train with 4; pad the shorter ones with NaN to 7")

    def test_numbers_of_a_sample_are_not_of_steps_though_they_are_as_many(self):
        """Five numbers a sample stay so beside test arrays of five steps. They are those beside arrays padded to seven."""
        layers = LAYERS.replace("nout: classes", "nout: 5").replace(", activation: Softmax", "").replace("CrossEntropyMulti", "MeanSquared") \
            .replace("metrics: [Misclassification]\nclass_weights: balanced\n", "").replace("  - Affine", "  - RecurrentLast\n  - Affine")
        numbers = {f"y_{part}": np.arange(5 * len(x), dtype=np.float32).reshape(len(x), 5) / 100 for part, x in (("train", self.x), ("test", self.x[:9]))}
        test = np.full_like(self.x[:9], np.nan)
        test[:, :5] = self.x[:9, :5]
        found = []
        for steps in STEPS, 5:
            self.arrays(**numbers, x_test=test[:, :steps])
            found.append(self.train(self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml", layers)))
        self.assertEqual(found[0], found[1])

    def test_numbers_to_predict_may_be_nan_behind_a_sequence(self):
        layers = LAYERS.replace("nout: classes", "nout: 2").replace(", activation: Softmax", "").replace("CrossEntropyMulti", "MeanSquared") \
            .replace("metrics: [Misclassification]\nclass_weights: balanced\n", "")
        found = []
        for behind in np.nan, 0, 17:
            numbers = {f"y_{part}": np.where(np.isnan(x[..., :1]), behind, np.nan_to_num(x[..., :2]) ** 2).astype(np.float32)
                       for part, x in (("train", self.x), ("test", self.a))}
            self.arrays(**numbers)
            found.append(self.train(self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml", layers)))
        self.assertEqual(found[1:], found[:1] * 2)
        numbers["y_train"][1, 0, 1] = np.nan
        self.arrays(**numbers)
        self.refused(3, self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml", layers), says="y_train: row 1, element 1 is nan")

    def test_refused_labels(self):
        spec = self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml")
        long, none = self.y.copy(), self.y.copy()
        self.assertEqual(self.lengths[1], 2)
        long[1, 2], none[4] = 1, -1
        for labels, says in ((long, "y_train: row 1 has a label for step 2, and its sequence has 2 steps; expected -1 behind them"),
                             (none, "y_train: row 4 has no label; expected one for a step at least")):
            self.arrays(y_train=labels)
            self.refused(3, spec, says=says)
        self.arrays(y_test=np.where(self.b == 2, 3, self.b))
        self.refused(3, spec, says=["y_test: row ", "is 3: with 3 classes labels are whole numbers from 0 to 2"])
        self.arrays(y_train=np.where(self.y < 0, -1, 0))
        self.refused(3, spec, says="every label is 0: there is only one class")
        self.arrays(y_train=np.where(self.y < 0, -1, self.y + 1))
        self.refused(2, spec, says="its labels are 3 different whole numbers from 1 to 3, not 0 to 2: say classes: 4")
        self.arrays(y_train=self.y[:, :5], y_test=self.b[:, :5])
        for verb in [], ["check"]:
            self.refused(3, *verb, spec, "--set", "dataset.NPZ.classes=3",
                         says="labels have shape (23, 5), expected one number a sample, (n) or (n, 1), or one a step, (n, 7)")

    def test_rows_of_one_1_are_asked_about(self):
        x = np.nan_to_num(self.x)
        labels = np.eye(STEPS, dtype=int)[np.arange(23) % STEPS]
        self.arrays(x_train=x, y_train=labels, x_test=x, y_test=labels)
        said = "has shape (23, 7) and one 1 among zeros in each row: say classes: 7 where a row is one of 7 classes, classes: 2 where each " \
            "of the 7 steps has a class, or regression: true for values"
        spec = self.spec_of("NPZ: {path: d.npz, sequences: true}", "s.yaml")
        for verb in [], ["check"]:
            self.refused(2, *verb, spec, says=said)
        self.train(spec, "--set", "dataset.NPZ.classes=2")
        last = LAYERS.replace("  - Affine", "  - RecurrentLast\n  - Affine")
        spec = self.spec_of("NPZ: {path: d.npz, sequences: true, classes: 7}", "s.yaml", last)
        wanted = self.train(spec)
        self.arrays(x_train=x, y_train=labels.argmax(1), x_test=x, y_test=labels.argmax(1))
        self.assertEqual(self.train(spec), wanted)


if __name__ == "__main__":
    support.main()
