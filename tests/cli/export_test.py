#!/usr/bin/python3
"""neon export: the arrays of a checkpoint for NumPy and as tables; neon compare: runs beside each other."""
import csv
import os
import re
import shutil
import subprocess
import unicodedata

import numpy as np

import support
from support import IRIS, tensors

TYPES = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I32": np.int32}


class Export(support.Case):
    def arrays(self, name, optimizer="velocity"):
        """The weights of a checkpoint, without the optimizer's state."""
        return {key: np.frombuffer(content, TYPES[kind]).reshape(shape)
                for key, (kind, shape, content) in tensors(self.path(name))[0].items() if not key.endswith("/" + optimizer)}

    def same(self, found, expected):
        self.assertEqual(sorted(found), sorted(expected))
        for name, array in expected.items():
            self.assertEqual((found[name].dtype, found[name].shape), (array.dtype, array.shape), name)
            np.testing.assert_array_equal(found[name], array)

    def test_npz(self):
        for kind in "f32", "f64":
            self.neon("-d", kind, "-e", "1", "-s", "m.safetensors", "-H", "0", self.spec())
            self.assertIn("wrote w.npz: 2 arrays, 56 numbers", self.neon("export", "m.safetensors", "--npz", "-o", "w.npz", "--overwrite").out)
            with np.load(self.path("w.npz")) as file:
                self.same(dict(file), self.arrays("m.safetensors"))
        test = subprocess.run(["/usr/bin/python3", "-m", "zipfile", "-t", self.path("w.npz")], capture_output=True, text=True, check=True)
        self.assertNotIn("corrupt", test.stdout)

    def test_running_statistics_and_means(self):
        affines = IRIS[IRIS.index("  - Affine"):IRIS.index("cost")]
        layers = "[{Affine: {nout: 5, init: Kaiming, batch_norm: true}}, {Affine: {nout: 3, init: Kaiming, activation: Softmax}}]"
        self.neon("-e", "1", "-s", "m.safetensors", self.spec(IRIS.replace(affines, ""), layers=layers, ema="0.5", optimizer="{GradientDescentMomentum: {learning_rate: 0.1}}"))
        self.neon("export", "m.safetensors", "--npz", "-o", "w.npz")
        stored = self.arrays("m.safetensors")
        means = {name: stored.get(name + "/ema", array) for name, array in stored.items() if not name.endswith("/ema")}
        with np.load(self.path("w.npz")) as file:
            self.same(dict(file), means)

    def test_csv(self):
        self.neon("-e", "1", "-s", "m.safetensors", self.spec())
        self.neon("export", "m.safetensors", "--csv", "-o", "tables")
        expected, found = self.arrays("m.safetensors"), {}
        with open(self.path("tables/index.csv"), newline="") as file:
            for row in csv.DictReader(file):
                self.assertEqual(row["type"], "f32")
                shape = [int(number) for number in re.findall(r"\d+", row["shape"])]
                found[row["name"]] = np.loadtxt(self.path("tables/" + row["file"]), delimiter=",", dtype=np.float32).reshape(shape)
        self.same(found, expected)
        self.assertEqual(sorted(os.listdir(self.path("tables"))), ["Affine_0.W.csv", "Affine_1.W.csv", "index.csv"])

    def test_names_with_signs_of_csv(self):
        layers = IRIS.replace("Affine: {nout: 8", "Affine: {name: 'a, \"b\"', nout: 8")
        self.neon("-e", "1", "-s", "m.safetensors", self.spec(layers))
        self.neon("export", "m.safetensors", "--csv", "-o", "tables")
        with open(self.path("tables/index.csv"), newline="") as file:
            self.assertEqual([row["name"] for row in csv.DictReader(file)], ["Affine_1/W", 'a, "b"/W'])

    def test_folders_are_made(self):
        self.neon("-e", "1", "-s", "m.safetensors", self.spec())
        for form in "npz", "csv":
            self.neon("export", "m.safetensors", "--" + form, "-o", f"a/{form}/w.{form}")
        with np.load(self.path("a/npz/w.npz")) as file:
            self.same(dict(file), self.arrays("m.safetensors"))
        self.write("x.csv", "1,2,3,4\n")
        lines = self.neon("predict", "m.safetensors", "x.csv").out
        self.neon("predict", "m.safetensors", "x.csv", "-o", "b/c/p.csv")
        self.assertEqual(self.read("b/c/p.csv").decode(), lines)

    def test_what_is_refused(self):
        self.neon("-e", "1", "-s", "m.safetensors", self.spec())
        self.refused(2, "export", "m.safetensors", says="takes one of --npz, --csv and --onnx FILE, and none is given")
        self.refused(2, "export", "m.safetensors", "--npz", "--csv", says="and 2 are given; leave out all but one")
        self.write("m.npz", "mine")
        self.refused(3, "export", "m.safetensors", "--npz", says="m.npz exists; give another name, remove it, or give --overwrite")
        self.assertEqual(self.read("m.npz"), b"mine")
        self.neon("export", "m.safetensors", "--csv")
        self.assertTrue(os.path.isdir(self.path("m.csv")))


class Compare(support.Case):
    def setUp(self):
        super().setUp()
        del self.environment["NEON_NO_RUN_FOLDER"]

    def parts(self, *runs):
        """Of each part the rows: the name and the values."""
        out, part = {}, None
        for line in self.neon("compare", *runs).out.splitlines()[1:]:
            if not line.startswith(" "):
                part = out.setdefault(line, {})
            else:
                name, *values = re.split(r"  +", line.strip())
                part[name] = values
        return out

    def test_other_layers_of_one_place_share_a_line(self):
        self.neon("-r", "1", "-e", "1", self.spec())
        with open(self.path("s.yaml")) as file:
            content = file.read()
        for name, layer in ("t", "BatchNorm"), ("u", "Dropout: 0.75"):
            self.write(f"{name}.yaml", content.replace("layers:\n", f"layers:\n  - {layer}\n"))
            self.neon("-r", "1", "-e", "1", f"{name}.yaml")
        said = self.neon("compare", "runs/s-1", "runs/t-1", "runs/u-1").out
        rows = [line for line in said.splitlines() if re.match(r"  layers\[0\] ", line)]
        self.assertEqual([re.split("  +", row.strip()) for row in rows], [["layers[0]", "-", "BatchNorm", "Dropout: 0.75"]], said)

    def test_a_layer_of_one_run_alone_is_one_line(self):
        self.neon("-r", "1", "-e", "1", self.spec())
        with open(self.path("s.yaml")) as file:
            content = file.read()
        self.write("t.yaml", content.replace("layers:\n", "layers:\n  - BatchNorm\n  - Dropout: 0.75\n"))
        self.neon("-r", "1", "-e", "1", "--set", "layers[2].nout=9", "--set", "optimizer=Adam", "t.yaml")
        self.assertEqual(self.parts("runs/s-1", "runs/t-1")["spec"],
                         {"layers[0]": ["-", "BatchNorm"], "layers[1]": ["-", "Dropout: 0.75"],
                          "layers[0|2].Affine.nout": ["8", "9"],
                          "optimizer": ["GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}", "Adam"]})

    def test_two_runs(self):
        self.neon("-r", "1", "-e", "5", self.spec(metrics="[Misclassification, Accuracy]"))
        self.neon("-r", "1", "-e", "7", "--set", "optimizer.learning_rate=0.05", "--set", "layers[0].nout=9", "s.yaml")
        found = self.parts("runs/s-1", "runs/s-2/last.safetensors")
        results = found["results"]
        self.assertEqual(results["epochs"], ["5", "7"])
        for column, better in ("test_cost", min), ("test_Top1Misclass", min), ("test_Accuracy", max):
            for k, run in enumerate(["s-1", "s-2"]):
                with open(self.path(f"runs/{run}/results.csv"), newline="") as file:
                    rows = [(float(row[column]), row["epoch"]) for row in csv.DictReader(file)]
                value = better(value for value, _ in rows)
                epoch = next(epoch for one, epoch in rows if one == value)
                self.assertEqual(results["best " + column][k], f"{value:.6g} (epoch {epoch})")
        self.assertEqual({name: values for name, values in found["spec"].items()},
                         {"optimizer.GradientDescentMomentum.learning_rate": ["0.1", "0.05"], "layers[0].Affine.nout": ["8", "9"],
                          "epochs": ["5", "7"]})
        self.assertEqual(found["environment"], {"option epochs": ["5", "7"]})
        self.assertIn("data: no difference", found)

    def test_numbers_that_are_none_are_not_the_best(self):
        self.neon("-r", "1", "-e", "3", self.spec(metrics="[Misclassification, Accuracy]"))
        self.neon("-r", "1", "-e", "3", "s.yaml")
        head = "epoch,step,train_cost,learning_rate,seconds,test_cost,test_Top1Misclass,test_Accuracy\n"
        self.assertTrue(self.read("runs/s-1/results.csv").decode().startswith(head))
        self.write("runs/s-1/results.csv", head + "1,8,1,0.1,1,nan,nan,nan\n2,16,1,0.1,1,0.75,inf,-inf\n3,24,1,0.1,1,0.5,nan,0.25\n")
        found = self.parts("runs/s-1", "runs/s-2")["results"]
        self.assertEqual([found["best test_" + name][0] for name in ("cost", "Top1Misclass", "Accuracy")],
                         ["0.5 (epoch 3)", "nan", "0.25 (epoch 3)"])

    def test_other_data_and_three_runs(self):
        for seed, spec in enumerate(["dataset: Iris", "dataset: {Iris: {test: 20}}", "dataset: Iris"], 1):
            self.neon("-r", "1", "-e", "1", self.spec(dataset=spec.removeprefix("dataset: "), name=f"{seed}.yaml"))
        shutil.copy(self.path("runs/3-1/last.safetensors"), self.path("c.safetensors"))
        found = self.parts("runs/1-1", "runs/2-1", "c.safetensors")
        self.assertEqual(found["spec"], {"dataset.Iris.test": ["null", "20", "null"]})
        first, second, third = found["data"]["data"]
        self.assertTrue("120 training" in first and "130 training" in second and first == third)
        self.assertIn("environment: no difference", found)

    def test_what_is_refused(self):
        self.refused(2, "compare", "a", says=["nothing to compare", "usage: neon compare RUN RUN..."])
        os.makedirs(self.path("empty"))
        self.refused(3, "compare", "empty", "empty", says="empty: no last.safetensors in this folder")
        self.refused(3, "compare", "none", "none", says="none")

    def test_columns_are_as_wide_as_a_terminal_shows_letters(self):
        """Letters of East Asia take two places, a mark above a letter none."""
        names = ["\u540d\u524d", "\u00e9t\u00e9", "e\u0301te\u0301", "plain"]
        self.write("t.csv", "x,kind\n" + "".join(f"{i % 4},{names[i % 4]}\n" for i in range(80)))
        self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0.25, targets: {kind: labels}}}\nlayers: [Affine: {nout: 4, activation: Logistic}]\n"
                   "outputs: {kind: CrossEntropyBinary}\noptimizer: {Adam: {learning_rate: 0.01}}\nbatch_size: 20\nepochs: 1\n")
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        for seed in "1", "2":
            self.neon("-r", seed, "s.yaml")

        def width(words):
            return sum(0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)

        compared = [line for line in self.neon("compare", "runs/s-1", "runs/s-2").out.splitlines() if "best test_kind.Recall_" in line]
        self.assertEqual(len(compared), 4)
        self.assertEqual(len({width(re.match(r"  best test_kind\.Recall_\S+ +", line)[0]) for line in compared}), 1)
        table = self.neon("eval", "runs/s-1").out.splitlines()
        rows = [line for line in table if line.split() and line.split()[0] in names]
        self.assertEqual(len(rows), 4)
        self.assertEqual({width(line) for line in rows}, {width(next(line for line in table if line.startswith("class ")))})


if __name__ == "__main__":
    support.main()
