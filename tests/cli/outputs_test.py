#!/usr/bin/python3
"""Several targets, each with an output, a cost, a weight and metrics of its own: training, eval, predict, messages."""
import json

import h5py
import numpy as np

import support
from support import Case, tensors

TRAIN, TEST = 40, 15
SPEC = """\
dataset: {CSV: {path: t.csv, test: e.csv, standardize: false, targets: {price: number, grade: classes}}}
layers:
  - Affine: {name: price, nout: 1, inputs: data, init: Kaiming, bias: {Constant: 0}}
  - Affine: {name: grade, nout: 3, inputs: data, init: Kaiming, bias: {Constant: 0}, activation: Softmax}
outputs:
  price: {cost: MeanSquared, weight: 0.7, metrics: [MAE, RMSE]}
  grade: {cost: CrossEntropyMulti, weight: 2}
optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0}}
datatype: f64
shuffle: false
batch_size: 40
epochs: 5
"""


def rows(count, seed):
    """Features (n,3), prices (n), grades (n) of classes high, low and mid."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)).astype(np.float32)
    price = (x @ [1, -2, 0.5] + 3 + rng.normal(0, 0.1, count)).astype(np.float32)
    return x, price, np.where(x[:, 0] > 0.4, 0, np.where(x[:, 1] > 0, 1, 2))


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class Net:
    """The two heads in double."""
    def __init__(self, arrays):
        self.w = {name: array.copy() for name, array in arrays.items()}

    def outputs(self, x):
        price = x @ self.w["price/W"].T + self.w["price_bias/b"]
        return price[:, 0], softmax(x @ self.w["grade/W"].T + self.w["grade_bias/b"])

    def costs(self, x, price, grade, of_classes=np.ones(3)):
        y, p = self.outputs(x)
        return 0.5 * np.mean((y - price) ** 2), -np.mean(of_classes[grade] * np.log(p[np.arange(len(x)), grade]))

    def step(self, x, price, grade, rate, weights=(0.7, 2), of_classes=np.ones(3)):
        y, p = self.outputs(x)
        dy = weights[0] * (y - price)[:, None] / len(x)
        dz = weights[1] * of_classes[grade][:, None] * (p - np.eye(3)[grade]) / len(x)
        for head, d in ("price", dy), ("grade", dz):
            self.w[head + "/W"] -= rate * d.T @ x
            self.w[head + "_bias/b"] -= rate * d.sum(0)


class Outputs(Case):
    def write_tables(self, names=("high", "low", "mid"), order="abcpg"):
        for name, count, seed in ("t.csv", TRAIN, 1), ("e.csv", TEST, 2):
            x, price, grade = rows(count, seed)
            cells = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "p": price, "g": [names[k] for k in grade]}
            heads = {"p": "price", "g": "grade"}
            lines = [",".join(heads.get(k, k) for k in order)]
            lines += [",".join(v if isinstance(v, str) else repr(float(v)) for v in (cells[k][i] for k in order))
                      for i in range(count)]
            self.write(name, "\n".join(lines) + "\n")

    def weights(self, path):
        """The arrays of the net in double, without a layer axis of 1 in biases."""
        out = {}
        for name, (kind, shape, content) in tensors(self.path(path))[0].items():
            if kind == "F64" and name.split("_")[0].split("/")[0] in ("price", "grade") and name[-2:] in ("/W", "/b"):
                out[name] = np.frombuffer(content, np.float64).reshape(shape if name.endswith("W") else -1)
        return out

    def initial(self, spec):
        """The weights before the first step: those of a run whose steps are too small to change a bit."""
        self.neon("-r", "1", "-e", "1", "-s", "i", spec, "--set", "optimizer.learning_rate=1e-300")
        return self.weights("i")

    def test_five_steps_are_those_of_numpy(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC)
        net = Net(self.initial(spec))
        self.neon("-r", "1", "-s", "m", spec)
        x, price, grade = rows(TRAIN, 1)
        x, price = x.astype(float), price.astype(float)
        for _ in range(5):
            net.step(x, price, grade, 0.1)
        found = self.weights("m")
        self.assertEqual(set(found), set(net.w))
        for name, array in net.w.items():
            self.assertLess(np.abs(found[name] - array).max(), 1e-9, name)
        # The evaluation, by output and as the weighted sum.
        results = json.loads(self.neon("eval", "m", "--format", "json", "-d", "f64").out)
        x, price, grade = rows(TEST, 2)
        x, price = x.astype(float), price.astype(float)
        of_price, of_grade = net.costs(x, price, grade)
        y, p = net.outputs(x)
        wanted = {"cost": 0.7 * of_price + 2 * of_grade, "price.cost": of_price, "grade.cost": of_grade,
                  "price.MAE": np.mean(np.abs(y - price)), "price.RMSE": np.sqrt(np.mean((y - price) ** 2)),
                  "grade.Top1Misclass": np.mean(p.argmax(1) != grade)}
        self.assertEqual(set(results), set(wanted))
        for name, value in wanted.items():
            self.assertLess(abs(results[name] - value), 1e-6, name)

    def test_metrics_file_has_the_cost_of_each_output(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC)
        net = Net(self.initial(spec))
        self.neon("-r", "1", "--eval_freq", "1", "-o", "run.h5", spec)
        x, price, grade = rows(TRAIN, 1)
        more, prices, grades = rows(TEST, 2)
        wanted = []
        for _ in range(5):
            net.step(x.astype(float), price.astype(float), grade, 0.1)
            wanted.append(net.costs(more.astype(float), prices.astype(float), grades))
        wanted = np.array(wanted)
        with h5py.File(self.path("run.h5")) as file:
            found = np.stack([file["metrics/price.cost"][:], file["metrics/grade.cost"][:]], 1)
            total = file["cost/loss"][:]
        self.assertEqual(found.shape, wanted.shape)
        self.assertLess(np.abs(found - wanted).max(), 1e-5)
        self.assertLess(np.abs(found @ [0.7, 2] - total).max(), 1e-5)

    def check_weighted(self, given, weights):
        """Five epochs of one step each with weights of the grades, beside NumPy's: weights, and costs of the epochs."""
        spec = self.write("s.yaml", SPEC.replace("weight: 2}", f"weight: 2, class_weights: {given}}}"))
        net = Net(self.initial(spec))
        x, price, grade = (np.asarray(a, float if i < 2 else int) for i, a in enumerate(rows(TRAIN, 1)))
        check = support.re.search(r"cost    begins at ([\d.]+); ([\d.]+) for the same", self.neon("-r", "1", "check", spec).out)
        shares = weights * np.bincount(grade) / TRAIN
        constant = 0.7 * 0.5 * np.var(price) - 2 * np.sum(shares * np.log(shares / shares.sum()))
        self.assertAlmostEqual(float(check[1]), np.dot([0.7, 2], net.costs(x, price, grade, weights)), delta=1e-3)
        self.assertAlmostEqual(float(check[2]), constant, delta=1e-3)
        wanted = []
        for _ in range(5):
            wanted.append(net.costs(x, price, grade, weights))
            net.step(x, price, grade, 0.1, of_classes=weights)
        said = self.neon("-r", "1", "-s", "m", "-o", "run.h5", spec).err
        self.assertIn(f"epoch 5/5  cost {np.dot([0.7, 2], wanted[4]):.4f} (price {wanted[4][0]:.4f}, grade {wanted[4][1]:.4f})  ", said)
        for name, array in self.weights("m").items():
            self.assertLess(np.abs(net.w[name] - array).max(), 1e-9, name)
        with h5py.File(self.path("run.h5")) as file:
            found = np.stack([file["epoch/price.cost"][:], file["epoch/grade.cost"][:]], 1)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)

    def test_costs_of_training_and_weights_of_classes(self):
        self.write_tables()
        counts = np.bincount(rows(TRAIN, 1)[2])
        self.check_weighted("[]", np.ones(3))
        self.check_weighted("balanced", TRAIN / (3 * counts))
        self.check_weighted("[1, 0.25, 4]", np.array([1, 0.25, 4]))
        self.check_weighted("{mid: 3}", np.array([1, 1, 3]))

    def test_costs_of_training_by_rank_and_in_two_parts(self):
        """Whoever computes them, and whenever: the means of epochs of shorter batches are the same."""
        self.write_tables()
        spec = self.write("s.yaml", SPEC.replace("batch_size: 40", "batch_size: 9").replace("weight: 2}", "weight: 2, class_weights: balanced}"))
        self.neon("-r", "1", "-s", "m", "-o", "one.h5", spec)
        self.neon("-r", "1", "-m", "2", "-o", "two.h5", spec)
        self.neon("-r", "1", "-e", "2", "-s", "part", "-o", "parts.h5", spec)
        self.neon("resume", "-e", "5", "part")
        files = [h5py.File(self.path(name + ".h5")) for name in ("one", "two", "parts")]
        one, two, parts = ([file[f"epoch/{name}.cost"][:] for name in ("price", "grade")] for file in files)
        np.testing.assert_allclose(two, one, rtol=1e-9)
        np.testing.assert_array_equal(parts, one)
        np.testing.assert_allclose(np.dot([0.7, 2], one), files[0]["epoch/cost"][:], rtol=1e-9)

    def test_check_and_grad_check(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC)
        net = Net(self.initial(spec))
        out = self.neon("-r", "1", "check", spec).out
        self.assertIn("targets price (number), grade (3 classes); shares are drawn by the classes of 'grade'\n", out)
        x, price, grade = rows(TRAIN, 1)
        begin = net.costs(x.astype(float), price.astype(float), grade)
        # The same answer to every sample: the mean price, and the shares of the grades.
        shares = np.bincount(grade) / TRAIN
        constant = 0.7 * 0.5 * np.var(price.astype(float)) - 2 * np.sum(shares * np.log(shares))
        found = support.re.search(r"cost    begins at ([\d.]+); ([\d.]+) for the same answer", out)
        self.assertAlmostEqual(float(found[1]), 0.7 * begin[0] + 2 * begin[1], delta=1e-3)
        self.assertAlmostEqual(float(found[2]), constant, delta=1e-3)
        self.assertIn("price/W", self.neon("-r", "1", "grad-check", spec).out)

    def test_predictions_have_columns_by_target(self):
        self.write_tables()
        self.neon("-r", "1", "-s", "m", self.write("s.yaml", SPEC))
        net = Net(self.weights("m"))
        x = rows(TEST, 2)[0].astype(float)
        y, p = net.outputs(x)
        names = ["high", "low", "mid"]
        lines = self.neon("predict", "m", "e.csv").out.splitlines()
        self.assertEqual(lines[0], "sample,price,grade,grade.output")
        for i, line in enumerate(lines[1:]):
            sample, price, grade, output = line.split(",")
            self.assertEqual((sample, grade), (str(i), names[p[i].argmax()]))
            self.assertAlmostEqual(float(price), y[i], delta=1e-6)
            self.assertAlmostEqual(float(output), p[i].max(), delta=1e-6)
        first = json.loads(self.neon("predict", "m", "e.csv", "--format", "json", "--top_k", "3").out.splitlines()[0])
        self.assertEqual(list(first), ["sample", "price", "grade"])
        self.assertEqual([one["class"] for one in first["grade"]["top"]], [names[k] for k in (-p[0]).argsort()])
        self.assertEqual(self.neon("predict", "m", "e.csv", "--top_k", "2").out.splitlines()[0],
                         "sample,price,grade.class1,grade.output1,grade.class2,grade.output2")
        # Another table with its columns in another order.
        before = self.neon("predict", "m", "e.csv").out
        self.write_tables(order="gcpba")
        self.assertEqual(self.neon("predict", "m", "e.csv").out, before)

    def test_eval_reports_each_target_and_other_tables(self):
        self.write_tables()
        self.neon("-r", "1", "-s", "m", self.write("s.yaml", SPEC))
        net = Net(self.weights("m"))
        out = self.neon("eval", "m").out
        self.assertRegex(out, r"(?m)^price:\noutput .*\nprice ")
        self.assertRegex(out, r"(?m)^grade:\nclass .*\nhigh .*\nlow .*\nmid ")
        # A table of two of the classes, whose numbers are those of the training.
        x, price, grade = rows(TEST, 2)
        kept = grade > 0
        lines = self.read("e.csv").decode().splitlines()
        self.write("some.csv", "\n".join([lines[0]] + [line for line, keep in zip(lines[1:], kept) if keep]) + "\n")
        results = json.loads(self.neon("eval", "m", "some.csv", "--format", "json", "--report").out)
        y, p = net.outputs(x.astype(float)[kept])
        self.assertAlmostEqual(results["grade.Top1Misclass"], np.mean(p.argmax(1) != grade[kept]), delta=1e-9)
        self.assertAlmostEqual(results["report"]["price"]["outputs"][0]["MAE"], np.mean(np.abs(y - price[kept])), delta=1e-6)
        self.assertEqual([one["support"] for one in results["report"]["grade"]["classes"]],
                         [int(np.sum(grade[kept] == k)) for k in range(3)])
        self.write("odd.csv", lines[0] + "\n" + lines[1].rsplit(",", 1)[0] + ",hihg\n")
        self.refused(3, "eval", "m", "odd.csv", says=["odd.csv:2:", "the target 'grade': class 'hihg' is not one of the training file's; did you mean high?"])

    def test_standardised_targets_come_back_in_their_units(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC.replace("standardize: false, ", "").replace("epochs: 5", "epochs: 400")
                          .replace("batch_size: 40", "batch_size: 10"))
        self.neon("-r", "1", "-s", "m", spec)
        price = rows(TEST, 2)[1]
        found = [float(line.split(",")[1]) for line in self.neon("predict", "m", "e.csv").out.splitlines()[1:]]
        mae = np.mean(np.abs(found - price))
        self.assertLess(mae, 0.3)  # of a deviation of 2
        self.assertAlmostEqual(json.loads(self.neon("eval", "m", "--format", "json").out)["price.MAE"], mae, delta=1e-4)

    def test_a_resumed_run_has_the_same_bits(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC.replace("shuffle: false", "shuffle: true").replace("batch_size: 40", "batch_size: 7"))
        self.neon("-r", "1", "-s", "whole", "-e", "4", spec)
        self.neon("-r", "1", "-s", "part", "-e", "2", spec)
        self.neon("resume", "-e", "4", "part")
        self.assertEqual(tensors(self.path("whole"))[0], tensors(self.path("part"))[0])

    def test_two_ranks_compute_what_one_does(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC.replace("batch_size: 40", "batch_size: 9"))
        for ranks in 1, 2:
            self.neon("-r", "1", "-m", str(ranks), "-s", f"m{ranks}", spec)
        one, two = self.weights("m1"), self.weights("m2")
        for name in one:
            self.assertLess(np.abs(one[name] - two[name]).max(), 1e-12, name)
        results = [json.loads(self.neon("eval", f"m{ranks}", "--format", "json").out) for ranks in (1, 2)]
        for name, value in results[0].items():
            self.assertAlmostEqual(results[1][name], value, delta=1e-9)

    def test_leaves_of_a_tree(self):
        """Branches are found by the targets' names, and the last layer is the default."""
        self.write_tables()
        net = """layers:
  - Tree:
    - [Affine: {name: trunk, nout: 6, init: Kaiming, activation: Tanh}, BranchNode: {name: b}, Affine: {nout: 1, init: Kaiming, name: price}]
    - [BranchNode: {name: b}, Affine: {name: grade, nout: 3, init: Kaiming, activation: Softmax}]
"""
        begin, end = SPEC.index("layers:"), SPEC.index("outputs:")
        spec = self.write("s.yaml", SPEC[:begin] + net + SPEC[end:])
        self.neon("-r", "1", "-s", "tree", spec)
        chain = """layers:
  - Affine: {name: trunk, nout: 6, init: Kaiming, activation: Tanh}
  - Affine: {name: grade, nout: 3, init: Kaiming, activation: Softmax}
  - Affine: {name: price, inputs: trunk, nout: 1, init: Kaiming}
"""
        self.neon("-r", "1", "-s", "chain", self.write("c.yaml", SPEC[:begin] + chain + SPEC[end:].replace("price: {", "price: {layer: price, ")))
        self.assertEqual(self.weights("tree").keys(), self.weights("chain").keys())
        for name, array in self.weights("tree").items():
            self.assertLess(np.abs(array - self.weights("chain")[name]).max(), 1e-12, name)

    def test_labels(self):
        """Any number of labels in a cell, against outputs of their own; the default metric is precision and recall by label."""
        rng = np.random.default_rng(7)
        x = rng.normal(size=(60, 2)).astype(np.float32)
        truth = np.stack([x[:, 0] > 0, x[:, 0] + x[:, 1] > 0.5], 1)
        cells = [";".join(name for name, there in zip(("red", "round"), row) if there) for row in truth[:, ::1]]
        self.write("t.csv", "a,b,tags\n" + "".join(f"{float(a)!r},{float(b)!r},{tags}\n" for (a, b), tags in zip(x, cells)))
        spec = self.write("s.yaml", """\
dataset: {CSV: {path: t.csv, test: t.csv, standardize: false, targets: {tags: labels}}}
layers: [Affine: {nout: 2, init: Kaiming, bias: {Constant: 0}, activation: Logistic, name: tags}]
outputs: {tags: {cost: CrossEntropyBinary}}
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 10
epochs: 3
""")
        self.neon("-r", "1", "-d", "f64", "-s", "m", spec)
        arrays = {name: np.frombuffer(content, np.float64).reshape(shape if name.endswith("W") else -1)
                  for name, (kind, shape, content) in tensors(self.path("m"))[0].items() if name in ("tags/W", "tags_bias/b")}
        p = 1 / (1 + np.exp(-(x.astype(float) @ arrays["tags/W"].T + arrays["tags_bias/b"])))
        found = p >= 0.5
        results = json.loads(self.neon("eval", "m", "--format", "json", "--report").out)
        wanted = {"tags.cost": -np.mean(np.sum(np.where(truth, np.log(p), np.log(1 - p)), 1))}
        for k, name in enumerate(("red", "round")):
            hits = np.sum(found[:, k] & truth[:, k])
            wanted["tags.Precision_" + name] = hits / found[:, k].sum()
            wanted["tags.Recall_" + name] = hits / truth[:, k].sum()
            of = results["report"]["tags"]["classes"][k]
            self.assertEqual((of["class"], of["support"]), (name, int(truth[:, k].sum())))
            self.assertAlmostEqual(of["precision"], wanted["tags.Precision_" + name], delta=1e-9)
        for name, value in wanted.items():
            self.assertAlmostEqual(results[name], value, delta=1e-6, msg=name)
        self.assertAlmostEqual(results["report"]["tags"]["accuracy"], np.mean((found == truth).all(1)), delta=1e-9)
        lines = self.neon("predict", "m", "t.csv").out.splitlines()
        self.assertEqual(lines[0], "sample,tags,tags.red,tags.round")
        for i, line in enumerate(lines[1:]):
            labels = line.split(",")[1]
            self.assertEqual(labels, ";".join(name for name, there in zip(("red", "round"), found[i]) if there))
        for cell, says in ("red;;round", "has an empty label"), ("red;red", "names 'red' twice"), ("red;ruond", "label 'ruond' is not one of the training file's; did you mean round?"):
            self.write("bad.csv", f"a,b,tags\n1,2,{cell}\n")
            self.refused(3, spec, "--set", "dataset.test=bad.csv", says=["bad.csv:2:5", says])
        self.neon("-r", "1", "-d", "f64", "-s", "n", spec, "--set", "outputs.tags.metrics=[MultiLabelStats: {threshold: 0.4}]")
        lower = json.loads(self.neon("eval", "n", "--format", "json").out)
        self.assertAlmostEqual(lower["tags.Recall_red"], np.sum((p >= 0.4)[:, 0] & truth[:, 0]) / truth[:, 0].sum(), delta=1e-6)
        self.refused(2, spec, "--set", "outputs={}", says="outputs: names no output")
        self.refused(2, spec, "--set", "outputs.tags.metrics=[MultiLabelStats, MultiLabelStats: {threshold: 0.4}]",
                     says="outputs.tags.metrics[1]: gives the same results, as item 0 does; leave one out")
        self.refused(2, spec, "--set", "outputs.tags.metrics=[{MultiLabelStats: {labels: [round, red]}}]",
                     says="names the labels round, red, and the outputs are red, round")

    def test_several_numbers_of_one_target(self):
        """target: [u, v] is regression to a vector."""
        rng = np.random.default_rng(3)
        x = rng.normal(size=(30, 2)).astype(np.float32)
        t = (x @ [[1, 3], [2, -1]] + [10, -5]).astype(np.float32)
        self.write("t.csv", "a,b,u,v\n" + "".join(",".join(repr(float(v)) for v in (*a, *b)) + "\n" for a, b in zip(x, t)))
        spec = self.write("s.yaml", """\
dataset: {CSV: {path: t.csv, test: 0, target: [u, v]}}
layers: [Affine: {nout: 2, init: Kaiming}]
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0.5, momentum_coef: 0}}
batch_size: 30
epochs: 60
""")
        self.neon("-r", "1", "-d", "f64", "-s", "m", spec)
        lines = self.neon("predict", "m", "t.csv").out.splitlines()
        self.assertEqual(lines[0], "sample,u,v")
        found = np.array([[float(v) for v in line.split(",")[1:]] for line in lines[1:]])
        self.assertLess(np.abs(found - t).max(), 1e-2)

    def test_mistakes(self):
        self.write_tables()
        spec = self.write("s.yaml", SPEC)
        for key, value, says in (
                ("outputs.price.layer", "prcie", "s.yaml:6:10: outputs.price: no layer is named 'prcie'; did you mean price?"),
                ("outputs.grade.layer", "price", "outputs.grade: takes the output of 'price', as price does"),
                ("outputs.price.cost", "CrossEntropyMulti", "outputs: price: the target is a number, and CrossEntropyMulti does not compare these; MeanSquared"),
                ("outputs.price.cost", "CrossEntropyBinary", "; 0 and 1 can be classes: targets: {price: classes} of a table"),
                ("outputs.grade.cost", "MeanSquared", "outputs: grade: the target is of classes, and MeanSquared does not compare these; CrossEntropyMulti"),
                ("outputs.grade.cost", "{CrossEntropyMulti: {scale: 2}}", "`scale` of one of several costs would be its weight"),
                ("outputs.price.metrics", "[Accuracy]", "outputs: price: Accuracy: needs classes, the data set has none"),
                ("outputs.grade.metrics", "[MeanAveragePrecision]", "compares detections with boxes of objects, and the data set has none"),
                ("dataset.targets", "{price: number, grade: classes, c: number}", "outputs: the target 'c' has no output; add c: {cost: ...}"),
                ("outputs", "{price: MeanSquared}", "outputs: no output takes the last layer, 'grade'"),
                ("outputs", "{price: MeanSquared, gade: {layer: grade, cost: CrossEntropyMulti}}", "outputs: the data set has no target 'gade'; did you mean grade?"),
                ("cost", "MeanSquared", "outputs and cost are both given"),
                ("metrics", "[Accuracy]", "outputs have metrics of their own"),
                ("class_weights", "balanced", "class_weights of the spec are for its one cost; give them to an output, as in outputs: {NAME: {"),
                ("outputs.price.class_weights", "balanced", "outputs: price: class_weights are for classes, and this target has numbers; leave them out"),
                ("outputs.grade.class_weights", "equal", "outputs.grade.class_weights"),
                ("dataset.targets", "{price: number, garde: classes}", "targets: t.csv has no column 'garde'; did you mean grade?"),
                ("dataset.targets", "{price: numbr, grade: classes}", "one of number, classes, labels"),
                ("dataset.target", "price", "target and targets are both given"),
                ("dataset.task", "classes", "task is for target; targets says the kind of each"),
                ("dataset.ignore", "[price]", "ignore: column 'price' is a target"),
                ("dataset.columns", "{grade: category}", "columns: grade is a target; `targets` says its kind")):
            for verb in [], ["check"]:
                self.refused(2, *verb, spec, "--set", f"{key}={value}", says=says)
        for weights, says in (("[1, 2]", "has 2 numbers, the data set has 3 classes: one for each"), ("[0, 0, 0]", "are all 0"),
                              ("{hig: 2}", "no class is named 'hig'; did you mean high?")):
            self.refused(2, spec, "--set", f"outputs.grade.class_weights={weights}", says=f"outputs: grade: class_weights: {says}")
        self.refused(3, spec, "--set", "dataset.targets={price: number, grade: number}",
                     says=["t.csv:2:", "the target 'grade': ", "targets: {grade: classes} takes texts"])
        alone = self.write("a.yaml", SPEC[:SPEC.index("layers:")] + "layers: [Affine: {nout: 2, init: Kaiming}]\ncost: MeanSquared\n" + SPEC[SPEC.index("optimizer:"):])
        self.refused(2, alone, says="cost: compares one target, and the data set has 2: price, grade; give each an output with a cost under outputs")
        self.refused(2, spec, "--set", "dataset={CSV: {path: t.csv, test: 0, target: price, ignore: [grade]}}",
                     says="outputs: names 'price', and the data set has one target without a name")
        self.refused(2, spec, "--set", "layers=[Affine: {nout: 2, inputs: data, init: Kaiming, name: price}, Affine: {nout: 3, inputs: data, init: Kaiming, name: grade, activation: Softmax}]",
                     says="outputs: price: layer price has 2 outputs, but the target is one number; give the layer that many")


if __name__ == "__main__":
    support.main()
