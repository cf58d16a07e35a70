#!/usr/bin/python3
"""eval and predict: what a checkpoint says of samples, however they come."""
import gzip
import json
import os
import re
import struct
import subprocess

import h5py
import numpy as np

import support
from support import IRIS, Case, tensors


class Evaluation(Case):
    def trained(self, **changes):
        self.spec(**changes)
        return self.neon("-r", "4", "-s", "m.safetensors", "s.yaml")

    def test_eval_gives_the_numbers_of_the_training(self):
        for dtype in "f32", "f64", "bf16", "f16":
            trained = self.trained(datatype=dtype)
            numbers = re.search(r"test: (.*?)  \(", trained.out)[1]
            self.assertIn(f"test: {numbers}  (", self.neon("eval", "m.safetensors").out)

    def test_eval_of_running_means(self):
        numbers = re.search(r"test: (.*?)  \(", self.trained(ema="0.9").out)[1]
        self.assertIn(f"test: {numbers}  (", self.neon("eval", "m.safetensors").out)
        self.write("x.csv", "5,3,1,0.2\n")
        for verb in ["eval", "m.safetensors"], ["predict", "m.safetensors", "x.csv"]:
            self.refused(2, *verb, "--set", "ema=0.5", says=f"--set ema changes nothing for neon {verb[0]}; 0 takes the weights in place of their running means")
            means, weights = self.neon(*verb).out, self.neon(*verb, "--set", "ema=0").out
            self.assertNotEqual(means, weights)

    def test_what_training_adds_does_not_hinder_the_use_of_its_weights(self):
        self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
        plain = self.spec(name="plain.yaml", epochs="1")
        for changes in {"accumulate": "2"}, {"accumulate": "2", "ema": "0.9"}, {"accumulate": "3", "datatype": "f16"}:
            numbers = re.search(r"test: (.*?)  \(", self.trained(**changes).out)[1]
            self.assertIn(f"test: {numbers}  (", self.neon("eval", "m.safetensors").out)
            self.assertEqual(len(self.neon("predict", "m.safetensors", "x.csv").out.splitlines()), 3)
            self.neon("--model_file", "m.safetensors", plain)
            self.neon("-s", "p.safetensors", plain)
            self.neon("--model_file", "p.safetensors", "s.yaml")

    def test_branches_that_count_while_training_only(self):
        layer = lambda nout, activation: f"Affine: {{nout: {nout}, init: Kaiming, activation: {activation}}}"
        node, out = "{BranchNode: {name: n}}", layer(3, "Softmax")
        layers = f"[{layer(5, 'Tanh')}, {{SingleOutputTree: [[{node}, {out}], [{node}, {layer(4, 'Tanh')}, {out}]]}}]"
        spec = "\n".join(line for line in IRIS.splitlines() if not line.startswith("  - "))
        self.write("s.yaml", spec.replace("layers:", f"layers: {layers}").replace(
            "cost: CrossEntropyMulti", "cost: {Multicost: [CrossEntropyMulti, CrossEntropyMulti]}"))
        for more in [], ["--set", "ema=0.5"], ["-d", "bf16"]:
            numbers = re.search(r"test: (.*?)  \(", self.neon("-r", "1", "-s", "m", *more, "s.yaml").out)[1]
            self.assertIn(f"test: {numbers}  (", self.neon("eval", "m").out)
            self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
            self.assertEqual(len(self.neon("predict", "m", "x.csv").out.splitlines()), 3)
            self.neon("--model_file", "m", "s.yaml")
            self.neon("resume", "m", "-e", "5")

    def test_weights_are_used_as_they_were_trained(self):
        self.write("x.csv", "5,3,1,0.2\n")
        dropping = IRIS.replace("  - Affine: {nout: 3", "  - Dropout: {keep: 0.5}\n  - Affine: {nout: 3")
        for given, other, says in ([], ["--caffe"], "without --caffe and stays so; leave --caffe out"), \
                ([], ["-c", "yes.conf"], "without --caffe and stays so; take `caffe = true` out of the file of options yes.conf"), \
                ([], ["-c", "no.conf", "--caffe"], "without --caffe and stays so; leave --caffe out"), \
                (["--caffe"], ["--caffe=false"], "with --caffe and stays so; leave --caffe=false out"), \
                (["--caffe"], ["-c", "no.conf"], "with --caffe and stays so; take `caffe = false` out of the file of options no.conf"):
            self.write("yes.conf", "caffe = true\n")
            self.write("no.conf", "caffe = false\n")
            trained = self.neon("-r", "4", "-s", "m", *given, self.spec(dropping))
            numbers = re.search(r"test: (.*?)  \(", trained.out)[1]
            for options in [], given:
                self.assertIn(f"test: {numbers}  (", self.neon("eval", *options, "m").out)
                self.neon("predict", *options, "m", "x.csv")
            self.refused(2, "eval", *other, "m", says=says)
            self.refused(2, "predict", *other, "m", "x.csv", says=says)

    def test_outputs_are_of_the_type_that_is_asked_for(self):
        self.trained()
        self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
        outputs = {}
        for dtype in "f32", "f64", "bf16":
            lines = self.neon("predict", "-d", dtype, "m.safetensors", "x.csv").out.splitlines()[1:]
            outputs[dtype] = [float(line.rsplit(",", 1)[1]) for line in lines]
        for single, double, half in zip(*outputs.values()):
            self.assertNotEqual(single, double)
            self.assertLess(abs(single - double), 1e-6)
            self.assertNotEqual(np.float32(half), np.float32(single))
            self.assertLess(abs(half - double), 0.05)

    def test_eval_json(self):
        numbers = re.search(r"Top1Misclass ([\d.]+) %  test cost ([\d.]+)", self.trained().out)
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        self.assertAlmostEqual(100 * found["Top1Misclass"], float(numbers[1]), delta=0.005)
        self.assertAlmostEqual(found["cost"], float(numbers[2]), delta=5e-5)

    def test_eval_csv(self):
        self.trained()
        names, numbers = self.neon("eval", "m.safetensors", "--format", "csv").out.splitlines()
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        self.assertEqual({name: float(n) for name, n in zip(names.split(","), numbers.split(","))}, found)

    def test_only_shares_are_in_percent(self):
        self.trained(metrics="[MSE, SSE, LogLoss, Misclassification, PrecisionRecall]")
        said = self.neon("eval", "m.safetensors").out
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        for name in "MSE", "SSE", "LogLoss":
            told = re.search(rf" {name} ([\d.e+-]+)  ", said.replace("test:", " "))[1]
            self.assertAlmostEqual(float(told), found[name], delta=1e-3 * found[name])
        for name in "Top1Misclass", "Precision", "Recall":
            self.assertAlmostEqual(float(re.search(rf" {name} ([\d.]+) %", said)[1]), 100 * found[name], delta=0.005)

    def test_samples_come_by_pipes(self):
        self.trained()
        self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
        np.save(self.path("x.npy"), np.array([[5, 3, 1, .2], [6, 3, 5, 2]], "f4"))
        expected = self.neon("predict", "m.safetensors", "x.csv").out
        for words in "<(cat x.csv)", "/dev/stdin < <(cat x.csv)", "/dev/stdin < x.csv", "<(cat x.npy)", "<(gzip < x.csv)", "- < x.npy":
            with self.subTest(words):
                done = subprocess.run(["bash", "-c", f"{support.NEON} predict m.safetensors {words}"], cwd=self.folder,
                                      env=self.environment, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)

    def test_eval_from_another_folder(self):
        rows = "".join(f"{i % 7},{i % 5},{'ab'[i % 7 > 3]}\n" for i in range(60))
        self.write("project/data.csv", rows)
        self.spec(name="project/s.yaml", dataset="{CSV: {path: data.csv}}", epochs="1").replace("nout: 3", "nout: 2")
        self.neon("--set", "layers[1].nout=2", "-s", "m", "project/s.yaml")
        self.neon("eval", "../m", cwd=os.path.join(self.folder, "project"))
        os.mkdir(self.path("other"))
        self.neon("eval", "../m", cwd=self.path("other"))
        self.neon("resume", "-e", "2", "../m", cwd=self.path("other"))

    def outputs_by_hand(self, inputs):
        """The net of IRIS in NumPy, in f64."""
        stored, _ = tensors(self.path("m.safetensors"))
        first, second = (np.frombuffer(stored[f"Affine_{i}/W"][2], "f4").reshape(stored[f"Affine_{i}/W"][1]).astype(float)
                         for i in range(2))
        z = np.tanh(inputs @ first.T) @ second.T
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def check_predictions(self, out, inputs):
        rows = [line.split(",") for line in out.splitlines()]
        self.assertEqual(rows[0], ["sample", "class", "output"])
        wanted = self.outputs_by_hand(inputs)
        names = ["setosa", "versicolor", "virginica"]
        self.assertEqual([row[0] for row in rows[1:]], [str(i) for i in range(len(inputs))])
        for row, y in zip(rows[1:], wanted):
            self.assertIn(names[y.argmax()], row[1])
            self.assertAlmostEqual(float(row[2]), y.max(), delta=2e-6)

    def test_weights_are_used_in_any_type(self):
        inputs = np.array([[5.1, 3.5, 1.4, 0.2], [6.5, 3.0, 5.2, 2.0], [5.5, 2.4, 3.7, 1.0]])
        self.write("x.csv", "".join(",".join(map(str, row)) + "\n" for row in inputs))
        # Half a unit in the last place of the type, through two products and the exponential.
        precision = {"f64": 2e-7, "f32": 2e-6, "f16": 0.02, "bf16": 0.1}
        for trained in {}, {"ema": "0.9"}:
            self.trained(**trained)
            cost = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)["cost"]
            for datatype, delta in precision.items():
                found = json.loads(self.neon("eval", "-d", datatype, "m.safetensors", "--format", "json").out)
                self.assertAlmostEqual(found["cost"], cost, delta=max(delta, 2e-6))
                rows = self.neon("predict", "-d", datatype, "m.safetensors", "x.csv").out.splitlines()[1:]
                if trained: continue
                for row, y in zip(rows, self.outputs_by_hand(inputs)):
                    self.assertAlmostEqual(float(row.split(",")[2]), y.max(), delta=delta)

    def test_predict_csv_npy_idx_and_stdin(self):
        self.trained()
        inputs = np.array([[5.1, 3.5, 1.4, 0.2], [6.5, 3.0, 5.2, 2.0], [5.5, 2.4, 3.7, 1.0]])
        table = "a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in inputs)
        self.write("x.csv", table)
        self.write("x.idx", support.idx([3, 4], inputs.astype(">f4").tobytes(), kind=0x0D))
        np.save(self.path("x.npy"), inputs)
        for name in "x.csv", "x.npy", "x.idx":
            self.check_predictions(self.neon("predict", "m.safetensors", name).out, inputs.astype("f4"))
            for content in self.read(name), gzip.compress(self.read(name)):
                self.check_predictions(self.neon("predict", "m.safetensors", "-", stdin=content).out, inputs.astype("f4"))
            self.write(name + ".gz", gzip.compress(self.read(name)))
            self.check_predictions(self.neon("predict", "m.safetensors", name + ".gz").out, inputs.astype("f4"))
        self.refused(3, "predict", "m.safetensors", "-", stdin=gzip.compress(self.read("x.npy"))[:-20], says=("stdin: truncated",))
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"PK\3\4\0\0", says=("stdin: truncated zip archive",))

    def write_table(self):
        """60 rows of columns of unlike size, of which `kind` follows from `a` alone; a net trained on a, b, c."""
        rng = np.random.default_rng(3)
        rows = rng.uniform(0, 1, (60, 3)) * [1, 10, 100]
        lines = [f"r{i},{a:.4f},{b:.4f},{c:.4f},{'no' if a < 0.5 else 'yes'}\n" for i, (a, b, c) in enumerate(rows)]
        self.write("t.csv", "id,a,b,c,kind\n" + "".join(lines))
        self.neon("-r", "1", "-s", "t", self.spec(dataset="{CSV: {path: t.csv, ignore: id, standardize: false}}"), "--set", "layers[1].nout=2")
        return rows

    def test_a_number_that_reads_two_ways_is_refused(self):
        """1.100 is 1100 where decimals have commas, and 1,100 is 1100 where they have points; predict and eval agree."""
        rows = [f"{i}@5;{2 * i + 1}" for i in range(40)]
        for decimal, mark, other, more in (("comma", ",", ".", ["--set", "dataset.decimal=comma"]), ("auto", ",", ".", []), ("auto", ".", ",", [])):
            self.write("t.csv", "x;y\n" + "".join(row.replace("@", mark) + "\n" for row in rows))
            self.neon("-r", "1", "-b", "cpu", "-s", "m", "--overwrite", *more, self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0, task: regression}}\n"
                      "layers: [Affine: {nout: 1}]\ncost: MeanSquared\nmetrics: [MAE]\noptimizer: Adam\nepochs: 1\nbatch_size: 8\n"))
            own = lambda *cells: self.write("n.csv", "x;y\n" + "".join(f"{cell};{k}\n" for k, cell in enumerate(cells)))
            for cells in (["100", f"1{other}100"], [f"-2{other}500", "3"], [f"1{mark}5", f"1{other}100"]):
                own(*cells)
                line = 2 + [other in cell for cell in cells].index(True)
                for verb in "predict", "eval":
                    self.refused(3, verb, "m", "n.csv", says=[f"n.csv:{line}:1: ", f"expected a number, found '{cells[line - 2]}'; this table has decimal "
                                                              + ("commas" if mark == "," else "points")])
            # Other decimals that are clear are read, unless the spec says which there are.
            own("2", f"1{other}5", f"0{other}125")
            read = []
            if decimal == "comma":
                read = ["--set", "dataset.decimal=point"]
                for verb in "predict", "eval":
                    self.neon(verb, "m", "n.csv", code=3)
            others = [self.neon(verb, "m", "n.csv", *read).out for verb in ("predict", "eval")]
            own("2", f"1{mark}5", f"0{mark}125")
            self.assertEqual(others, [self.neon(verb, "m", "n.csv").out for verb in ("predict", "eval")])
            own("2", f"1{mark}5", f"0{mark}25")
            self.assertNotEqual(others[0], self.neon("predict", "m", "n.csv").out)

    def test_predict_takes_columns_by_name(self):
        rows = self.write_table()
        def predicted(names, columns):
            lines = "".join(",".join(f"{row[k]:.4f}" for k in columns) + "\n" for row in rows)
            return self.neon("predict", "t", "-", stdin=(names + "\n" + lines).encode())
        wanted = predicted("a,b,c", (0, 1, 2))
        self.assertEqual(predicted("c,a,b", (2, 0, 1)).out, wanted.out)
        self.assertNotEqual(predicted("a,c,b", (0, 1, 2)).out, wanted.out)
        self.assertEqual(self.neon("predict", "t", "t.csv").out, wanted.out, "target and id are left out")
        more = predicted("a,b,c,d", (0, 1, 2, 0))
        self.assertEqual((more.out, more.err), (wanted.out, "warning: stdin: left out, since the net was trained without: 'd'\n"))
        self.refused(3, "predict", "t", "-", stdin=b"a,c,bb\n1,2,3\n",
                     says=("stdin: has no column 'b'; did you mean", "(the net takes a, b, c)"))
        nameless = b"1,0.1,0.2,0.3,yes\n"
        self.refused(3, "predict", "t", "-", stdin=nameless, says=(
            "stdin: has 5 columns, as the table that the net was trained with; the net takes 3 of them: leave id, kind out, or "
            "begin with the line of the columns' names",))
        self.assertEqual(len(self.neon("predict", "t", "-", stdin=b"0.1,0.2,0.3\n").out.splitlines()), 2)

    def test_predict_reads_what_separates_cells_from_the_training_set(self):
        self.write("t.csv", "a;b;kind\n" + "".join(f"{i};{i % 3};{'xy'[i % 2]}\n" for i in range(40)))
        self.neon("-s", "t", self.spec(dataset='{CSV: {path: t.csv, delimiter: ";"}}'), "--set", "layers[1].nout=2")
        self.assertEqual(len(self.neon("predict", "t", "t.csv").out.splitlines()), 41)

    def test_predict_reads_the_table_that_was_trained_on(self):
        """The same rule decides in training and predict whether the first line is a header; no sample is lost."""
        lines = "".join(f"img{i:03},{i / 10},{i % 3},{'cat' if i % 2 else 'dog'}\n" for i in range(20))
        for head in "", "name,x,y,kind\n":
            self.write("t.csv", head + lines)
            self.neon("-e", "1", "-s", "t", self.spec(dataset='{CSV: {path: t.csv, ignore: ["0"]}}'), "--set", "layers[1].nout=2")
            self.assertEqual(len(self.neon("predict", "t", "t.csv").out.splitlines()), 21)
            self.write("x.csv", "".join(",".join(line.split(",")[1:3]) + "\n" for line in lines.splitlines()))
            self.assertEqual(self.neon("predict", "t", "x.csv").out, self.neon("predict", "t", "t.csv").out)
            filled = self.neon("predict", "t", "-", stdin=b"NA,NA\n1,2\n")
            self.assertEqual(len(filled.out.splitlines()), 3)
            self.assertIn("no value was missing in training; in 1 row the mean, or no category, stands for it", filled.err)
            self.refused(3, "predict", "t", "-", stdin=b"1,x\n1,2\n", says=("stdin:1:3: expected a number, found 'x'",))

    def test_predict_of_tables_with_other_separators(self):
        """What the first line shows counts, with names and without."""
        rng = np.random.default_rng(4)
        rows = [[f"{x:.4f}" for x in row] + ["yes" if row[0] > 0.5 else "no"] for row in rng.uniform(0, 1, (30, 3))]
        def lines(separator, head=True, first=0, end=4):
            cells = [["a", "b", "c", "kind"]] * head + rows
            return "".join(separator.join(row[first:end]) + "\n" for row in cells)
        for separator, delimiter in (",", "','"), ("\t", "tab"), (";", "';'"):
            for head in True, False:
                self.write("t.txt", lines(separator, head))
                self.neon("-r", "1", "-e", "1", "-s", "t", self.spec(dataset=f"{{CSV: {{path: t.txt, delimiter: {delimiter}}}}}"),
                          "--set", "layers[1].nout=2")
                self.write("own.csv", lines(separator, head, end=3))
                wanted = self.neon("predict", "t", "own.csv").out
                self.assertEqual(len(wanted.splitlines()), 31)
                for name, other in ("x.csv", ","), ("x.tsv", "\t"), ("tabs.csv", "\t"):
                    self.write(name, lines(other, head, end=3))
                    self.assertEqual(self.neon("predict", "t", name).out, wanted, (separator, head, name))
        self.write("t.txt", lines("\t"))
        self.neon("-e", "1", "-s", "t", self.spec(dataset="{CSV: {path: t.txt, delimiter: tab}}"), "--set", "layers[1].nout=2")
        for name, separator, words in ("x.csv", ",", "commas"), ("x.tsv", "\t", "tabs"):
            self.write(name, lines(separator, first=1))
            self.refused(3, "predict", "t", name, says=(f"{name}: has no column 'a'", f"; read with {words} between cells"))

    def test_predict_more_samples_than_a_batch(self):
        self.trained()
        inputs = np.random.default_rng(1).uniform(0.1, 7, (600, 4)).astype("f4")
        np.save(self.path("x.npy"), inputs)
        self.check_predictions(self.neon("predict", "m.safetensors", "x.npy").out, inputs)

    def test_predict_json_and_top_k(self):
        self.trained()
        self.write("x.csv", "5.1,3.5,1.4,0.2\n")
        line = json.loads(self.neon("predict", "m.safetensors", "x.csv", "--format", "json", "--top_k", "2").out)
        self.assertEqual(len(line["top"]), 2)
        self.assertGreater(line["top"][0]["output"], line["top"][1]["output"])
        head, row = self.neon("predict", "m.safetensors", "x.csv", "--top_k", "3").out.splitlines()
        self.assertEqual(head, "sample,class1,output1,class2,output2,class3,output3")
        self.assertAlmostEqual(sum(map(float, row.split(",")[2::2])), 1, delta=1e-5)

    def test_classes_of_pixels(self):
        rng = np.random.default_rng(5)
        images = rng.uniform(-1, 1, (64, 2, 4, 3)).astype("f4")
        truth = images[:, :1] > images[:, 1:]
        np.savez(self.path("p.npz"), x_train=images, y_train=np.concatenate([truth, ~truth], 1).astype("f4"))
        spec = self.write("p.yaml", "dataset: {NPZ: {path: p.npz, regression: true}}\nlayers:\n"
                          "  - Conv: {fshape: 1, nofm: 2, init: Kaiming, activation: {PixelwiseSoftmax: {c: 2}}}\n"
                          "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 16\nepochs: 30\n")
        self.neon("-r", "1", "-d", "f64", "-s", "m", spec)
        weights = np.frombuffer(tensors(self.path("m"))[0]["Conv_0/W"][2]).reshape(2, 2)
        z = np.einsum("kc,nchw->nkhw", weights, images.astype(float))
        wanted = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        np.save(self.path("x.npy"), images)
        rows = self.neon("predict", "m", "x.npy").out.splitlines()[1:]
        got = np.array([[float(x) for x in row.split(",")[1:]] for row in rows]).reshape(wanted.shape)
        np.testing.assert_allclose(got, wanted, atol=1e-6)
        self.assertGreater(((got[:, :1] > 0.5) == truth).mean(), 0.97, "the pixels' classes were learnt")

    def test_costs_that_are_small_or_large(self):
        for scale, form in (1e-4, r"\d\.\d+e-\d+"), (1, r"\d+\.\d{4}"), (1e12, r"\d\.\d+e\+\d+"):
            self.write("x.csv", "".join(f"{i},{i * scale}\n" for i in range(12)))
            out = self.neon("-e", "1", self.spec("dataset: {CSV: {path: x.csv, task: regression, test: 0.25, standardize: false}}\nlayers: [Affine: {nout: 1, "
                            "init: {Constant: 0}}]\ncost: MeanSquared\noptimizer: {SGD: 0}\nbatch_size: 3\n"))
            for line in out.err, out.out:
                self.assertRegex(line, rf"cost {form}  ")

    def test_many_results_are_all_told(self):
        metrics = ", ".join(f"TopK: {{k: {k}}}" for k in (1, 2, 3)) + ", Accuracy, LogLoss, Misclassification, MSE, PrecisionRecall, SSE, " \
            "MultiMetric: {metric: Accuracy, index: 0}, MultiMetric: {metric: PrecisionRecall, index: 0}, MultiMetric: {metric: SSE, index: 0}"
        out = self.neon("-e", "1", self.spec(metrics=f"[{metrics}]"))
        told = re.search(r"(?m)^test: (.*)  \(", out.out)[1]
        self.assertGreater(len(told), 220)
        self.assertIn(f"  {told}\n", out.err)

    def test_samples_are_freed_of_the_mean_that_the_training_set_was_freed_of(self):
        rng = np.random.default_rng(3)
        for sample in (6,), (2, 2, 3):
            x, y = rng.normal(8, 2, (40, *sample)).astype(np.float32), rng.integers(0, 3, 40)
            for mean in np.arange(sample[0], dtype=np.float32) + 5, x.mean(0):
                less = x - (mean if mean.shape == sample else mean.reshape(-1, *[1] * (len(sample) - 1)))
                with h5py.File(self.path("x.h5"), "w") as file:
                    file["input"], file["output"], file["mean"] = x.reshape(40, -1), y.reshape(-1, 1), mean.ravel()
                    file["input"].attrs["lshape"], file["output"].attrs["nclass"] = sample, 3
                np.save(self.path("x.npy"), x)
                np.save(self.path("less.npy"), less)
                np.save(self.path("y.npy"), y)
                self.trained(dataset="{HDF5: {train: x.h5}}", metrics="[]")
                whole = self.neon("predict", "m.safetensors", "x.npy").out
                self.trained(dataset="{NPY: {inputs: less.npy, targets: y.npy}}", metrics="[]")
                self.assertEqual(self.neon("predict", "m.safetensors", "less.npy").out, whole)

    def test_predict_regression(self):
        rows = "".join(f"{i / 40},{i % 9 / 9},{i / 20 - i % 9 / 9}\n" for i in range(40))
        self.write("r.csv", rows)
        self.write("r.yaml", "dataset: {CSV: {path: r.csv, task: regression, standardize: false}}\nlayers: [Affine: {nout: 1, init: Kaiming}]\n"
                   "cost: SumSquared\noptimizer: {SGD: {learning_rate: 0.5}}\nbatch_size: 8\nepochs: 40\n")
        self.assertIn("targets (1)", self.neon("check", "r.yaml").out)
        self.neon("-r", "1", "-s", "m", "r.yaml")
        (_, weights, raw), = [item for name, item in tensors(self.path("m"))[0].items() if name == "Affine_0/W"]
        w = struct.unpack("<2f", raw)
        head, row = self.neon("predict", "m", "-", stdin=b"0.25,0.5\n").out.splitlines()
        self.assertEqual(head, "sample,output0")
        self.assertAlmostEqual(float(row.split(",")[1]), 0.25 * w[0] + 0.5 * w[1], delta=1e-6)
        self.assertAlmostEqual(w[0], 2, delta=0.2, msg="the spec was learnt")
        self.refused(2, "predict", "m", "-", "--top_k", "2", stdin=b"1,2\n", says="the net of m gives numbers, not classes")


if __name__ == "__main__":
    support.main()
