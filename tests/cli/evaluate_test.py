"""neon eval CHECKPOINT DATA: what a net gets right and wrong on other samples, against NumPy formulas over the outputs that
predict prints."""
import csv
import io
import json
import re
import subprocess

import numpy as np

import support
from support import Case, write_colours

NAMES = ["ash", "beech", "oak, old"]


def quoted(name):
    return f'"{name}"' if "," in name else name


def of_classes(truth, found, count):
    """Confusion, and precision, recall, F1 and support of each class; 0 where nothing is to be divided by."""
    confusion = np.zeros((count, count), int)
    np.add.at(confusion, (truth, found), 1)
    hits, predicted, support_ = np.diag(confusion), confusion.sum(0), confusion.sum(1)
    precision, recall = hits / np.maximum(predicted, 1), hits / np.maximum(support_, 1)
    f1 = 2 * hits / np.maximum(predicted + support_, 1)
    return confusion, np.stack([precision, recall, f1, support_])


def calibration(truth, found, output):
    """Expected calibration error over ten bins (k/10, (k+1)/10], and the bins that have samples."""
    error, bins = 0, []
    for k in range(10):
        inside = (output > k / 10) & (output <= (k + 1) / 10)
        if inside.any():
            mean, right = output[inside].mean(), (truth == found)[inside].mean()
            bins.append((k / 10, mean, right, inside.sum()))
            error += inside.mean() * abs(mean - right)
    return error, bins


class Evaluate(Case):
    def write_trees(self, name, rows, seed, kinds=3):
        """Three classes around centers, of which some samples lie nearer another's; the last named by text with a comma."""
        rng = np.random.default_rng(seed)
        truth = np.arange(rows) % kinds
        x = rng.normal(0, 1, (rows, 2)) + np.array([[0, 0], [1.5, 0], [0, 2]])[truth]
        self.write(name, "u,v,tree\n" + "".join(f"{a:.4f},{b:.4f},{quoted(NAMES[t])}\n" for (a, b), t in zip(x, truth)))
        return truth

    def train_trees(self, *options, activation="Softmax", cost="CrossEntropyMulti"):
        self.write_trees("t.csv", 150, 1)
        self.write("t.yaml", "dataset: {CSV: {path: t.csv, test: 0.2}}\nlayers:\n  - Affine: {nout: 3, init: {Constant: 0}, "
                   f"bias: {{Constant: 0}}, activation: {activation}}}\ncost: {cost}\nmetrics: [Accuracy]\n"
                   "optimizer: {SGD: {learning_rate: 0.2}}\nbatch_size: 16\nepochs: 4\n")
        self.neon("-r", "1", "-s", "m", *options, "t.yaml")

    def predicted(self, *samples):
        """The class of each sample, and its output."""
        rows = list(csv.reader(io.StringIO(self.neon("predict", "m", *samples, "--format", "csv").out)))[1:]
        return np.array([NAMES.index(row[1]) for row in rows]), np.array([float(row[2]) for row in rows])

    def report(self, *data):
        return json.loads(self.neon("eval", "m", *data, "--format", "json", "--report").out)

    def test_classes_of_another_table(self):
        self.train_trees()
        truth = self.write_trees("o.csv", 101, 2)
        found, output = self.predicted("o.csv")
        confusion, wanted = of_classes(truth, found, 3)
        self.assertTrue((confusion > 0).sum() > 5, confusion)  # mistakes of several kinds
        out = self.report("o.csv")
        report = out["report"]
        self.assertEqual(report["confusion"], confusion.tolist())
        self.assertEqual([of["class"] for of in report["classes"]], NAMES)
        got = np.array([[of[key] for of in report["classes"]] for key in ("precision", "recall", "f1", "support")])
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
        for key, weights in ("mean", None), ("weighted_mean", wanted[3]):
            for k, name in enumerate(("precision", "recall", "f1")):
                self.assertAlmostEqual(report[key][name], np.average(wanted[k], weights=weights), places=12)
            self.assertEqual(report[key]["support"], 101)
        self.assertAlmostEqual(report["accuracy"], (found == truth).mean(), places=12)
        self.assertAlmostEqual(out["Accuracy"], (found == truth).mean(), places=6)
        error, bins = calibration(truth, found, output)
        self.assertAlmostEqual(report["calibration"]["error"], error, places=5)
        self.assertEqual([of["samples"] for of in report["calibration"]["bins"]], [of[3] for of in bins])
        np.testing.assert_allclose([[of["low"], of["output"], of["right"]] for of in report["calibration"]["bins"]],
                                   [of[:3] for of in bins], atol=1e-5)

    def test_text_and_csv_say_the_same(self):
        self.train_trees()
        truth = self.write_trees("o.csv", 101, 2)
        found, output = self.predicted("o.csv")
        confusion, wanted = of_classes(truth, found, 3)
        rows = list(csv.reader(io.StringIO(self.neon("eval", "m", "o.csv", "--format", "csv", "--report").out)))
        self.assertEqual(rows[0], ["class", "precision", "recall", "f1", "support"])
        self.assertEqual([row[0] for row in rows[1:]], NAMES)
        np.testing.assert_allclose(np.array([row[1:] for row in rows[1:]], float).T, wanted, rtol=1e-5)
        text = self.neon("eval", "m", "o.csv").out
        self.assertRegex(text, r"^data: Accuracy [\d.]+ %  data cost [\d.]+  \(.*o\.csv, 101 samples\)\n")
        for k, name in enumerate(NAMES):
            precision, recall, f1, count = wanted[:, k]
            self.assertRegex(text, rf"(?m)^{re.escape(name)} +{precision:.4f} +{recall:.4f} +{f1:.4f} +{count:.0f}$")
            self.assertRegex(text, rf"(?m)^{re.escape(name)} +" + " +".join(map(str, confusion[k])) + " *$")
        # Each column of the confusion begins where its name does.
        lines = text.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("true class")) + 1
        for k, row in enumerate(lines[head + 1:head + 4]):
            self.assertEqual([row[lines[head].index(name):].split()[0] for name in NAMES], list(map(str, confusion[k])))
        self.assertIn(f"calibration   error {calibration(truth, found, output)[0]:.4f}\n", text)

    def test_a_table_of_some_classes(self):
        """Labels are matched by name, also where the first or all but one are missing."""
        self.train_trees()
        self.write("o.csv", "tree,v,u\n" + "".join(f'"oak, old",{v},0\n' for v in (3, 2.5, -1)))
        found, _ = self.predicted("o.csv")
        confusion, _ = of_classes(np.full(3, 2), found, 3)
        self.assertEqual(self.report("o.csv")["report"]["confusion"], confusion.tolist())
        self.write("o.csv", "v,tree,w\n1,beech,2\n")
        self.refused(3, "eval", "m", "o.csv", says=["it has no column 'u'"])
        self.write("o.csv", "u,v,tree\n1,1,elm\n0,1,beech\n")
        self.refused(3, "eval", "m", "o.csv", says=["unknown to the net: 'elm'"])

    def test_arrays_of_some_classes(self):
        """Labels are numbers; the first or the last may have no sample. A test set in the file is the one evaluated."""
        rng = np.random.default_rng(6)
        truth = np.arange(90) % 3
        x = (rng.normal(0, 1, (90, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[truth]).astype("f4")
        np.savez(self.path("a.npz"), x_train=x, y_train=truth, x_test=x[:31], y_test=truth[:31])
        self.write("a.yaml", "dataset: {NPZ: {path: a.npz}}\nlayers:\n  - Affine: {nout: 3, init: Kaiming, activation: Softmax}\n"
                   "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.2}}\nbatch_size: 16\nepochs: 2\n")
        self.neon("-r", "1", "-s", "m", "a.yaml")
        for kept in truth > 0, truth < 2, truth == 1:
            np.savez(self.path("b.npz"), x_train=x[kept], y_train=truth[kept])
            np.save(self.path("x.npy"), x[kept])
            found = np.array([int(row.split(",")[1]) for row in self.neon("predict", "m", "x.npy").out.splitlines()[1:]])
            self.assertEqual(self.report("b.npz")["report"]["confusion"], of_classes(truth[kept], found, 3)[0].tolist())
        result = self.neon("eval", "m", "a.npz")
        self.assertIn("note: a.npz has 90 training and 31 test samples; the test samples are evaluated\n", result.err)
        self.assertIn("31 samples)", result.out)

    def test_the_runs_own_test_set(self):
        self.train_trees()
        report = self.report()["report"]
        self.assertEqual(report["mean"]["support"], 30)
        self.assertEqual(np.sum(report["confusion"]), 30)
        # Without --report the forms are those of before.
        self.assertEqual(sorted(json.loads(self.neon("eval", "m", "--format", "json").out)), ["Accuracy", "cost"])
        self.assertEqual(self.neon("eval", "m", "--format", "csv").out.splitlines()[0], "Accuracy,cost")

    def test_outputs_that_are_no_shares_have_no_calibration(self):
        self.train_trees(activation="Identity", cost="MeanSquared")
        truth = self.write_trees("o.csv", 50, 3)
        report = self.report("o.csv")["report"]
        self.assertNotIn("calibration", report)
        self.assertEqual(np.sum(report["confusion"], 1).tolist(), np.bincount(truth).tolist())

    def test_residuals_in_the_units_of_the_data(self):
        rng = np.random.default_rng(4)
        x = rng.uniform(-1, 1, 60)
        t = 500 + 80 * x + rng.normal(0, 10, 60)
        self.write("r.csv", "x,price\n" + "".join(f"{a:.5f},{b:.3f}\n" for a, b in zip(x, t)))
        self.write("r.yaml", "dataset: {CSV: {path: r.csv, test: 0.25}}\nlayers: [Affine: {nout: 1, init: {Constant: 0}, "
                   "bias: {Constant: 0}}]\ncost: MeanSquared\nmetrics: [MAE]\noptimizer: {SGD: {learning_rate: 0.1}}\n"
                   "batch_size: 10\nepochs: 3\n")
        self.neon("-r", "1", "-s", "m", "r.yaml")
        self.write("o.csv", "".join(self.read("r.csv").decode().splitlines(True)[:24]))
        y = np.array([float(line.split(",")[1]) for line in self.neon("predict", "m", "o.csv").out.splitlines()[1:]])
        t = np.round(t[:23], 3)
        gap = y - t
        wanted = {"MAE": np.abs(gap).mean(), "RMSE": np.sqrt((gap ** 2).mean()), "bias": gap.mean(), "deviation": gap.std(),
                  "R2": 1 - (gap ** 2).sum() / ((t - t.mean()) ** 2).sum(), "largest": np.abs(gap).max(),
                  "largest_at": np.abs(gap).argmax()}
        out = self.report("o.csv")
        [of] = out["report"]["outputs"]
        for name, value in wanted.items():
            np.testing.assert_allclose(of[name], value, rtol=2e-4, atol=1e-3, err_msg=name)
        np.testing.assert_allclose(of["quantiles"], np.quantile(gap, [0.05, 0.25, 0.5, 0.75, 0.95]), rtol=1e-3, atol=2e-3)
        self.assertAlmostEqual(out["MAE"] / of["MAE"], 1, delta=1e-5)
        [row] = csv.DictReader(io.StringIO(self.neon("eval", "m", "o.csv", "--format", "csv", "--report").out))
        np.testing.assert_allclose([float(row[key]) for key in ("MAE", "bias", "q50")], [of["MAE"], of["bias"], of["quantiles"][2]], rtol=1e-4)
        text = self.neon("eval", "m", "o.csv").out
        self.assertIn(f" (sample {wanted['largest_at']})\n", text)
        self.assertRegex(text, r"(?m)^ +residuals: 5 % [-\d.]+, 25 % [-\d.]+, 50 % ")

    def test_the_largest_residual_of_windows_is_at_its_row(self):
        series = np.sin(np.arange(80))
        series[33] = 40
        self.write("w.csv", "v\n" + "".join(f"{v:.5f}\n" for v in series))
        self.write("w.yaml", "dataset: {Windows: {path: w.csv, steps: 4, stride: 1, test: 0, standardize: false}}\n"
                   "layers: [Reshape: 4, Affine: {nout: 1, init: {Constant: 0}}]\ncost: MeanSquared\n"
                   "optimizer: {SGD: {learning_rate: 0}}\nepochs: 1\nbatch_size: 8\n")
        self.neon("-r", "1", "-s", "w", "w.yaml")
        self.assertIn(" (sample 33)\n", self.neon("eval", "w", "w.csv", "--report").out)

    def test_a_metric_without_samples_of_both_kinds_says_so(self):
        rng = np.random.default_rng(2)
        x = rng.normal(size=60)
        self.write("b.csv", "a,y\n" + "".join(f"{v:.4f},{int(v > 0)}\n" for v in x))
        self.write("o.csv", "a,y\n" + "".join(f"{v:.4f},1\n" for v in x))
        self.write("b.yaml", "dataset: {CSV: {path: b.csv, test: 0}}\nlayers: [Affine: {nout: 2, activation: Softmax}]\n"
                   "cost: CrossEntropyMulti\nmetrics: [AUC]\noptimizer: Adam\nepochs: 1\nbatch_size: 8\n")
        self.neon("-r", "1", "-s", "b", "b.yaml")
        note = "note: AUC_POS_1 takes two kinds of samples apart, and these samples are all of one\n"
        self.assertNotIn(note, self.neon("eval", "b", "b.csv").err)
        self.assertIn(note, self.neon("eval", "b", "o.csv").err)

    def test_a_run_says_once_why_a_metric_has_no_value(self):
        """Test samples of one class; those to train with are of both."""
        for name, kinds in ("b", "01"), ("o", "1"):
            self.write(f"{name}.csv", "a,y\n" + "".join(f"{(i * 7 % 11 - 5) / 5},{kinds[i % len(kinds)]}\n" for i in range(40)))
        spec = self.write("b.yaml", "dataset: {CSV: {path: b.csv, test: o.csv}}\nlayers: [Affine: {nout: 2, activation: Softmax}]\n"
                          "cost: CrossEntropyMulti\nmetrics: [AUC, Accuracy]\noptimizer: Adam\nepochs: 3\nbatch_size: 8\ntrain_metrics: 20\n")
        note = "note: AUC_POS_1 takes two kinds of samples apart, and the test samples are all of one\n"
        said = self.neon("-r", "1", "--eval_freq", "1", spec)
        self.assertEqual(said.err.count(note), 1, said.err)
        lines = [line for line in said.err.splitlines() if line.startswith("epoch ")]
        self.assertEqual(len(lines), 3, said.err)
        for line in lines:
            self.assertNotIn("not a number", line)
            self.assertRegex(line, "train_AUC_POS_1 [0-9.]+ %")
        both = self.neon("-r", "1", "--eval_freq", "1", spec, "--set", "dataset.CSV.test=0.5")
        self.assertNotIn("two kinds", both.err)
        self.assertIn("  AUC_POS_1 ", both.err)

    def test_samples_of_a_page_are_in_the_units_of_the_data(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        rng = np.random.default_rng(7)
        x = rng.uniform(-1, 1, 40)
        t = np.round(500 + 80 * x + rng.normal(0, 10, 40), 3)
        self.write("r.csv", "x,price\n" + "".join(f"{a:.5f},{b}\n" for a, b in zip(x, t)))
        self.write("r.yaml", "dataset: {CSV: {path: r.csv, test: 0.5}}\nlayers: [Affine: {nout: 1, init: {Constant: 0}, "
                   "bias: {Constant: 0}}]\ncost: MeanSquared\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 10\nepochs: 3\n")
        self.neon("-r", "1", "r.yaml")
        predicted = [float(line.split(",")[1]) for line in self.neon("predict", "runs/r-1", "r.csv").out.splitlines()[1:]]
        shown = json.loads(self.read("runs/r-1/eval.json"))
        self.assertEqual(len(shown["predictions"]), 20)
        [of] = shown["report"]["outputs"] if "outputs" in shown["report"] else shown["report"]
        tested = [one["sample"] for one in shown["worst"]]
        self.assertEqual(of["largest_at"], max(tested, key=lambda row: abs(predicted[row] - t[row])))
        for one in shown["predictions"] + shown["worst"]:
            row = np.abs(t - one["target"][0]).argmin()
            self.assertEqual(one["sample"], row)
            self.assertAlmostEqual(t[row], one["target"][0], delta=1e-3)
            self.assertAlmostEqual(predicted[row], one["output"][0], delta=1e-2)

    def test_a_folder_of_images(self):
        write_colours(self)
        self.write("c.yaml", "dataset: {ImageFolder: {path: colours, size: 8}}\nnormalize: true\nlayers:\n"
                   "  - Affine: {nout: 2, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\nmetrics: [Accuracy]\n"
                   "optimizer: {GradientDescentMomentum: {learning_rate: 0.05}}\nbatch_size: 8\nepochs: 6\n")
        self.neon("-r", "1", "-s", "m", "c.yaml")
        report = self.report("colours/test")["report"]
        self.assertEqual([of["class"] for of in report["classes"]], ["blue", "red"])
        self.assertEqual(report["confusion"], [[10, 0], [0, 10]])
        # One class, whose photos the net must know by name and not by number, and one taken for the other.
        for i in range(3):
            self.write(f"new/red/{i}.png", self.read(f"colours/test/{'blue' if i == 2 else 'red'}/{i}.png"))
        self.assertEqual(self.report("new")["report"]["confusion"], [[0, 0], [1, 2]])
        # The same photos in a list.
        self.write("new/list.csv", "file,class\n" + "".join(f"red/{i}.png,red\n" for i in range(3)))
        self.assertEqual(self.report("new/list.csv")["report"]["confusion"], [[0, 0], [1, 2]])

    def test_photos_have_the_size_of_the_training_images(self):
        """size: auto is the median of the training images, whatever size those of another folder have."""
        for part, sides in (("p/train", (7, 9, 9, 20)), ("p/test", (31, 31)), ("new", (40, 44))):
            for i, side in enumerate(sides):
                for kind, colour in (("blue", (0, 0, 250)), ("red", (250, 0, 0))):
                    self.write(f"{part}/{kind}/{i}.png", support.png(np.full((side, side + i, 3), colour, np.uint8)))
        self.write("c.yaml", "dataset: {ImageFolder: {path: p, size: auto}}\nlayers:\n  - Affine: {nout: 2, activation: Softmax}\n"
                   "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.05}}\nbatch_size: 8\nepochs: 9\n")
        self.assertIn("brought to 9 x 9 pixels", self.neon("-r", "1", "-s", "m", "c.yaml").err)
        self.assertEqual(self.report("new")["report"]["confusion"], [[2, 0], [0, 2]])

    def test_images_of_another_kind_of_set(self):
        """A net of a folder, of a list and of shards gives each of the three the same numbers; an autoencoder's, too."""
        write_colours(self)
        self.write("colours/l.csv", "file,class\n" + "".join(f"test/{kind}/{i}.png,{kind}\n" for kind in ("blue", "red") for i in range(10)))
        net = ("normalize: true\nlayers:\n  - Affine: {nout: 2, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\n"
               "optimizer: {SGD: {learning_rate: 0.02}}\nbatch_size: 8\nepochs: 1\n")
        self.write("f.yaml", "dataset: {ImageFolder: {path: colours, size: 8}}\n" + net)
        self.neon("data", "pack", "f.yaml", "raw", "--set", "dataset={ImageFolder: {path: colours/test, test: none}}")
        self.neon("data", "pack", "f.yaml", "packed", "--pixels")
        self.write("l.yaml", "dataset: {ImageList: {path: colours/l.csv, size: 8}}\n" + net)
        self.write("p.yaml", "dataset: {Shards: {path: packed}}\n" + net)
        for spec in "f.yaml", "l.yaml", "p.yaml":
            self.neon("-r", "1", "-s", "m", "--overwrite", spec)
            costs = [self.report(data)["cost"] for data in ("colours/test", "colours/l.csv", "raw")]
            self.assertEqual(costs, costs[:1] * 3, spec)
        self.refused(2, "predict", "m", "packed", says=["packed: holds shards, and neon predict reads images",
                                                        "neon eval CHECKPOINT packed"])
        decoder = "layers:\n  - Affine: {nout: 192, init: Kaiming, activation: Logistic}\ncost: MeanSquared\noptimizer: Adam\nepochs: 1\n"
        self.write("a.yaml", "dataset: {ImageFolder: {path: colours, size: 8, autoencoder: true}}\n" + decoder)
        self.write("r.yaml", "dataset: {ImageFolder: {path: colours, size: 8, reconstruct: true}}\nlayers:\n"
                   "  - Affine: {name: sample, inputs: data, nout: 192, init: Kaiming}\n"
                   "  - Affine: {name: class, inputs: data, nout: 2, init: Kaiming, activation: Softmax}\n"
                   "outputs: {sample: MeanSquared, class: CrossEntropyMulti}\noptimizer: Adam\nepochs: 1\n")
        for spec in "a.yaml", "r.yaml":
            self.neon("-r", "1", "-s", "m", "--overwrite", spec)
            costs = [json.loads(self.neon("eval", "m", data, "--format", "json").out)["cost"]
                     for data in ("colours/test", "colours/l.csv", "raw")]
            self.assertEqual(costs, costs[:1] * 3, spec)
        self.write("colours/t.csv", "file,age,class\n" + "".join(f"test/{kind}/{i}.png,{i},{kind}\n" for kind in ("blue", "red") for i in range(10)))
        self.write("t.yaml", "dataset: {ImageList: {path: colours/t.csv, size: 8, targets: {age: number, class: classes}}}\nlayers:\n"
                   "  - Affine: {name: age, inputs: data, nout: 1, init: Kaiming}\n"
                   "  - Affine: {name: class, inputs: data, nout: 2, init: Kaiming, activation: Softmax}\n"
                   "outputs: {age: MeanSquared, class: CrossEntropyMulti}\noptimizer: Adam\nepochs: 1\n")
        self.neon("-r", "1", "-s", "m", "--overwrite", "t.yaml")
        for data in "colours/test", "raw":
            self.refused(2, "eval", "m", data, says=[f"{data}: the net was trained with the targets age, class", "give a list .csv"])

    def test_a_list_of_images(self):
        """A folder and its archive for a net that was trained with a list; pixels are 0 to 255 there, and a class is named null."""
        write_colours(self)
        lines = [f"colours/{part}/{kind}/{i}.png,{'null' if kind == 'red' else kind}\n" for part in ("train", "test")
                 for kind in ("blue", "red") for i in range(10)]
        self.write("l.csv", "file,class\n" + "".join(lines))
        self.write("c.yaml", "dataset: {ImageList: {path: l.csv, size: 8, normalize: false, test: 0.2, missing: []}}\nlayers:\n"
                   "  - Affine: {nout: 2, init: {Gaussian: {scale: 0.001}}, activation: Softmax}\ncost: CrossEntropyMulti\nmetrics: [Accuracy]\n"
                   "optimizer: {GradientDescentMomentum: {learning_rate: 0.0001}}\nbatch_size: 8\nepochs: 8\n")
        self.neon("-r", "1", "-s", "m", "c.yaml")
        for i in range(3):
            self.write(f"new/null/{i}.png", self.read(f"colours/test/{'blue' if i == 2 else 'red'}/{i}.png"))
        subprocess.run(["tar", "cf", "new.tar", "new"], cwd=self.path(""), check=True)
        for data in "new", "new.tar":
            found = self.report(data)
            self.assertEqual(found["report"]["confusion"], [[0, 0], [1, 2]])
            self.assertEqual([of["class"] for of in found["report"]["classes"]], ["blue", "null"])
        self.write("new/list.csv", "file,class\n" + "".join(f"null/{i}.png,null\n" for i in range(3)))
        self.assertEqual(self.report("new/list.csv")["report"]["confusion"], [[0, 0], [1, 2]])

    def test_a_generator_is_judged_by_the_noise_of_its_run(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(40, 4)).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=x, y_train=np.arange(40) % 2, x_test=x[:10], y_test=np.arange(10) % 2)
        spec = self.write("g.yaml", "dataset: {NPZ: {path: d.npz}}\nlayers:\n  - GenerativeAdversarial:\n      noise: 3\n"
                          "      generator: [Affine: {nout: 4, init: Kaiming}]\n      discriminator: [Affine: {nout: 1, init: Kaiming, "
                          "activation: Logistic}]\nrule: Adversarial\noptimizer: {Adam: {learning_rate: 0.01}}\nbatch_size: 8\nepochs: 2\n")
        for seed in "7", "8":
            trained = self.neon("-r", seed, "-s", "g", spec).out
            self.assertIn(re.search(r"test: (.*?)  \(", trained)[1], self.neon("eval", "g").out)
        # 10 steps: 5 batches in each of 2 epochs. The first 25 moves of the schedule come after 100 steps each.
        words = "warning: the generator keeps its first weights: it is updated after {} steps for the first time, and the run has 10;"
        for rule, first in ("{Adversarial: {k: 11}}", 11), ("{Adversarial: {func: wasserstein, wgan_train_sched: true}}", 100):
            self.assertIn(words.format(first), self.neon("check", "--set", f"rule={rule}", spec).err)
        self.assertNotIn("the generator", self.neon("check", "--set", "rule={Adversarial: {k: 10}}", spec).err)
        # Training alone has the step of a player.
        self.refused(2, "eval", "g", "--set", "rule.k=3", says="--set rule.k changes nothing for neon eval; its results are the same without this; leave it out")

    def test_classes_of_texts_and_of_steps(self):
        """Sequences of different lengths: what fills them up counts nowhere."""
        rng = np.random.default_rng(2)
        words, rows = ["ash", "beech", "fir"], ["text,label"]
        texts = [[words[i] for i in rng.integers(0, 3, rng.integers(1, 7))] for _ in range(50)]
        rows += [f"{' '.join(text)},{NAMES[max(text.count(word) for word in words) % 2]}" for text in texts]
        self.write("texts.csv", "\n".join(rows) + "\n")
        self.write("texts.txt", "".join(" ".join(text) + "\n" for text in texts))
        walks = [[rng.integers(0, 4) for _ in range(rng.integers(1, 9))] for _ in range(50)]
        self.write("walks.csv", "who,x,kind\n" + "".join(f"w{i},{x},{NAMES[x % 2]}\n" for i, walk in enumerate(walks) for x in walk))
        tail = "  - Affine: {nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 8\nepochs: 2\n"
        self.write("texts.yaml", "dataset: {TextClasses: {path: texts.csv, unit: words, test: texts.csv}}\nlayers:\n"
                   "  - Embedding: {embedding_dim: 4}\n  - RecurrentMean\n" + tail)
        self.write("walks.yaml", "dataset: {Sequences: {path: walks.csv, id: who, target: kind, each_step: true, test: walks.csv}}\n"
                   "layers:\n  - LSTM: {output_size: 4}\n" + tail)
        truths = {"texts": [row.split(",")[1] for row in rows[1:]],
                  "walks": [NAMES[x % 2] for walk in walks for x in walk]}
        for name, truth in truths.items():
            self.neon("-r", "1", "-s", "m", f"{name}.yaml")
            said = csv.DictReader(io.StringIO(self.neon("predict", "m", "texts.txt" if name == "texts" else "walks.csv").out))
            found = [kind for row in said for kind in row["classes" if name == "walks" else "class"].split(" ")]
            numbers = [np.array([NAMES.index(kind) for kind in kinds]) for kinds in (truth, found)]
            report = self.report()["report"]
            self.assertEqual(report["confusion"], of_classes(*numbers, 2)[0].tolist())
            self.assertEqual(report["mean"]["support"], len(truth))
            self.assertEqual(report.get("support_of"), "steps" if name == "walks" else None)

    def test_refusals(self):
        self.train_trees()
        self.refused(3, "eval", "m", "t.csw", says=["t.csw: there is no such file or folder", "t.csv"])
        self.neon("-e", "1", "-s", "iris", self.spec(name="iris.yaml"))
        self.refused(3, "eval", "iris", "t.csw", says=["t.csw: there is no such file or folder", "t.csv"])
        self.refused(2, "eval", "m", "t.csv", "t.csv", says=["one operand too many", "usage: neon eval [CHECKPOINT [DATA]]"])
        self.refused(2, "eval", "m", "", says="operand is empty")
        self.write("book.txt", "to be or not to be " * 40)
        self.write("b.yaml", "dataset: {Text: {path: book.txt, steps: 6, validation: 0.2}}\nlayers:\n"
                   "  - LSTM: {output_size: 4, init: GlorotUniform}\n  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}\n"
                   "cost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 4\nepochs: 1\n")
        self.neon("-r", "1", "-s", "b", "b.yaml")
        self.assertRegex(self.neon("eval", "b").out, r"^validation: [^\n]*\n$")
        self.refused(2, "eval", "b", "--format", "json", "--report", says="option --report: ")


if __name__ == "__main__":
    support.main()
