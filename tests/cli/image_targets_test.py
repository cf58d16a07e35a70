#!/usr/bin/python3
"""Several targets of images in a list: numbers, classes and labels in columns, beside formulas, and messages."""
import json

import numpy as np

import support
from support import Case, png

SHAPE = (5, 6, 3)
WEIGHT = 0.01
SPEC = """\
dataset: {ImageList: {path: list.csv, test_list: test.csv, targets: {age: number, breed: classes, tags: labels}}}
layers:
  - Affine: {name: age, nout: 1, inputs: data, init: {Constant: 0.01}}
  - Affine: {name: breed, nout: 3, inputs: data, init: {Constant: 0.01}, activation: Softmax}
  - Affine: {name: tags, nout: 2, inputs: data, init: {Constant: 0.01}, activation: Logistic}
outputs:
  age: {cost: MeanSquared, metrics: [MAE]}
  breed: {cost: CrossEntropyMulti, weight: 0.5}
  tags: {cost: CrossEntropyBinary, metrics: []}
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 10
epochs: 1
"""
BREEDS, TAGS = ["beagle", "corgi", "pug"], ["old", "round"]


class ImageTargets(Case):
    def write_lists(self, separator=",", end="csv", header=True):
        """30 and 10 images; the age follows from red, the breed is the brightest channel, tags follow from two pixels."""
        rng = np.random.default_rng(3)
        parts = {}
        for name, count in ("list", 30), ("test", 10):
            images, lines = [], [separator.join(["file", "age", "note", "breed", "tags"])] * header
            for i in range(count):
                image = rng.integers(0, 100, SHAPE, dtype=np.uint8)
                image[:, :, i % 3] += 80
                images.append(image)
                self.write(f"{name}-{i}.png", png(image))
            x = np.array(images) / 255
            age, breed = 2 + 20 * x[:, :, :, 0].mean((1, 2)), np.arange(count) % 3
            tags = np.stack([x[:, 0, 0, 1] > 0.3, x[:, 0, 1, 1] > 0.3], 1)
            for i in range(count):
                labels = ";".join(tag for tag, there in zip(TAGS, tags[i]) if there)
                lines.append(separator.join([f"{name}-{i}.png", repr(float(age[i])), "x", BREEDS[breed[i]], labels]))
            self.write(f"{name}.{end}", "\n".join(lines) + "\n")
            parts[name] = x, age, breed, tags
        return parts

    def test_a_net_that_has_not_learnt(self):
        """Its outputs follow from the sum of the pixels; numbers are those of the list, in its units."""
        parts = self.write_lists()
        said = self.neon("-r", "1", "-s", "m", "--set", "optimizer.Adam.learning_rate=0", self.write("s.yaml", SPEC)).err
        self.assertIn("note: list.csv: left out, since targets does not name them: note\n", said)
        self.assertIn("targets age (number), breed (3 classes), tags (2 labels); shares are drawn by the classes of 'breed'\n", self.neon("check", "s.yaml").out)
        x, age, breed, tags = parts["test"]
        mean, deviation = parts["list"][1].mean(), parts["list"][1].std()
        z = WEIGHT * x.sum((1, 2, 3))
        p = 1 / (1 + np.exp(-z))[:, None]
        wanted = {"age.MAE": np.mean(np.abs(z * deviation + mean - age)),
                  "age.cost": 0.5 * np.mean((z - (age - mean) / deviation) ** 2), "breed.cost": np.log(3),
                  "tags.cost": -np.mean(np.sum(np.where(tags, np.log(p), np.log(1 - p)), 1))}
        wanted["cost"] = wanted["age.cost"] + 0.5 * wanted["breed.cost"] + wanted["tags.cost"]
        results = json.loads(self.neon("eval", "m", "--format", "json").out)
        for name, value in wanted.items():
            self.assertAlmostEqual(results[name], value, delta=1e-4 * abs(value), msg=name)
        again = json.loads(self.neon("eval", "m", "test.csv", "--format", "json").out)
        self.assertEqual(again, results)

    def test_decimal_commas_are_those_of_tables(self):
        self.write_lists()
        eval_ = ["eval", "m", "--format", "json"]
        self.neon("-r", "1", "-s", "m", self.write("s.yaml", SPEC))
        results = json.loads(self.neon(*eval_).out)
        test, commas = self.read("test.csv").decode(), {}
        for name in "list", "test":
            rows = [line.split(",") for line in self.read(f"{name}.csv").decode().splitlines()]
            commas[name] = "".join(";".join([*row[:1], row[1].replace(".", ","), *row[2:4], f'"{row[4]}"']) + "\n" for row in rows)
            self.write(f"{name}.csv", commas[name])
        self.neon("-r", "1", "-s", "m", "--overwrite", "s.yaml")
        self.assertEqual(json.loads(self.neon(*eval_).out), results)
        self.assertEqual(json.loads(self.neon(*eval_[:2], "test.csv", *eval_[2:]).out), results)
        self.write("test.csv", test)  # with points alone, and commas between cells
        self.assertEqual(json.loads(self.neon(*eval_[:2], "test.csv", *eval_[2:]).out), results)
        lines = commas["test"].splitlines()
        age = lines[2].split(";")[1]
        cases = [(age.replace(",", "."), f"the target 'age': '{age.replace(',', '.')}' has a point, and decimals of this table have commas"),
                 ("red", "the target 'age': expected a number, found 'red'")]
        for cell, says in cases:
            self.write("test.csv", "\n".join([*lines[:2], lines[2].replace(age, cell), *lines[3:]]) + "\n")
            self.refused(3, "check", "s.yaml", says=["test.csv:3:", says])
        self.write("test.csv", commas["test"])
        self.write("list.csv", commas["list"].replace(";x;", ";1.5;", 1))
        self.refused(3, "check", "s.yaml", says=["list.csv:2:", "this table has decimal points: write the number so"])
        ages = [line.split(";")[1] for line in commas["list"].splitlines()[1:]]
        grouped = commas["list"]
        for i, other in enumerate(ages):
            grouped = grouped.replace(other, "3,518" if i == 4 else str(300 + i))
        self.write("list.csv", grouped)
        self.refused(3, "check", "s.yaml", says=["list.csv:6:", "the target 'age': '3,518' may be 3518, as its other numbers are whole and below 1000",
                                                 "and decimals in every row, as 366,0"])

    def test_points_may_be_those_of_thousands(self):
        self.write_lists()
        lines = self.read("list.csv").decode().splitlines()
        cells = [line.split(",") for line in lines[1:]]
        def write(ages):
            self.write("list.csv", "\n".join([lines[0], *(",".join([c[0], age, *c[2:]]) for c, age in zip(cells, ages))]) + "\n")
        ages = ["3.518" if i == 4 else str(300 + i) for i in range(30)]
        write([age + ".0" * (age != "3.518") for age in ages])
        self.neon("-r", "1", "-s", "m", self.write("s.yaml", SPEC))
        result = self.neon("eval", "m").out
        write(ages)
        self.refused(3, "check", "s.yaml", says=["list.csv:6:", "the target 'age': '3.518' may be 3518, as its other numbers are whole and below 1000",
                                                 "and decimals in every row, as 366.0"])
        self.assertEqual(self.neon("eval", "m").out, result)

    def test_the_units_of_a_checkpoint_stay(self):
        self.write_lists()
        self.neon("-r", "1", "-s", "m", self.write("s.yaml", SPEC))
        for verb in ["eval", "m"], ["resume", "-e", "2", "m"]:
            self.refused(2, *verb, "--set", "dataset.standardize=false", says="--set dataset.standardize: the checkpoint has the units of the targets")

    def test_the_worst_samples_are_those_of_the_highest_cost(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        parts = self.write_lists()
        self.neon("-r", "1", "--set", "optimizer.Adam.learning_rate=0", self.write("s.yaml", SPEC))
        x, age, breed, tags = parts["test"]
        mean, deviation = parts["list"][1].mean(), parts["list"][1].std()
        z = WEIGHT * x.sum((1, 2, 3))
        p = 1 / (1 + np.exp(-z))[:, None]
        costs = (0.5 * (z - (age - mean) / deviation) ** 2 + 0.5 * np.log(3) - np.sum(np.where(tags, np.log(p), np.log(1 - p)), 1))
        found = json.loads(self.read("runs/s-1/eval.json"))
        self.assertEqual([one["sample"] for one in found["worst"]], list(np.argsort(-costs)))
        self.assertEqual([one["sample"] for one in found["predictions"]], list(range(10)))
        for one in found["worst"]:
            i = one["sample"]
            self.assertEqual(one["file"], f"test-{i}.png")
            self.assertAlmostEqual(one["cost"], costs[i], delta=1e-4)
            of = one["targets"]
            self.assertAlmostEqual(of["age"]["target"][0], age[i], delta=1e-4)
            self.assertAlmostEqual(of["age"]["output"][0], z[i] * deviation + mean, delta=1e-4)
            self.assertEqual((of["breed"]["class"], of["breed"]["predicted"]), (BREEDS[breed[i]], BREEDS[0]))
            self.assertEqual(of["tags"]["labels"], [tag for tag, there in zip(TAGS, tags[i]) if there])
            self.assertEqual(of["tags"]["predicted"], TAGS)  # z is above 0
        sheet = support.png_pixels(self.read("runs/s-1/worst.png"))
        for place, one in enumerate(found["worst"]):
            top, left = 2 + place // 8 * (SHAPE[0] + 2), 2 + place % 8 * (SHAPE[1] + 2)
            np.testing.assert_array_equal(sheet[top:top + SHAPE[0], left:left + SHAPE[1]], np.rint(255 * x[one["sample"]]))
        said = self.neon("eval", "runs/s-1", "--sheet", "w.png", "--count", "3").err
        for i in np.argsort(-costs)[:3]:
            self.assertIn(f"  test-{i}.png: cost {costs[i]:.4g}\n", said)
        page = self.read("runs/s-1/report.html").decode()
        self.assertIn("Worst samples", page)
        self.assertIn("breed: pug, taken for beagle", page)

    def test_it_learns_and_predicts(self):
        parts = self.write_lists("\t", "tsv")
        spec = self.write("s.yaml", SPEC.replace(".csv", ".tsv").replace("init: {Constant: 0.01}", "init: Kaiming"))
        self.neon("-r", "1", "-e", "60", "-s", "m", spec)
        results = json.loads(self.neon("eval", "m", "--format", "json").out)
        self.assertEqual(results["breed.Top1Misclass"], 0)
        _, age, breed, _ = parts["test"]
        self.assertLess(results["age.MAE"], 0.3 * age.std())
        lines = self.neon("predict", "m", *(f"test-{i}.png" for i in range(10)), "--format", "csv").out.splitlines()
        rows = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
        self.assertEqual([row["breed"] for row in rows], [BREEDS[k] for k in breed])
        found = np.array([float(row["age"]) for row in rows])
        self.assertAlmostEqual(np.mean(np.abs(found - age)), results["age.MAE"], delta=1e-4)

    def test_columns_by_index_and_shares_of_a_list(self):
        self.write_lists(header=False)
        dataset = "dataset: {ImageList: {path: list.csv, test: 0.2, targets: {1: number, 3: classes, 4: labels}}}\n"
        rest = SPEC[SPEC.index("layers:"):]
        for number, name in ("1", "age"), ("3", "breed"), ("4", "tags"):
            rest = rest.replace(f"  {name}: {{", f"  {number}: {{layer: {name}, ")
        spec = self.write("s.yaml", dataset + rest)
        self.assertIn("24 training and 6 test samples", self.neon("check", spec).out)
        self.neon("-r", "1", spec)
        self.neon("-r", "1", spec, "--set", "dataset.folds=3", "--set", "dataset.fold=2", "--set", "dataset.test=0")

    def test_mistakes(self):
        self.write_lists()
        spec = self.write("s.yaml", SPEC)
        lines = self.read("list.csv").decode().splitlines()
        for key, value, says in (
                ("dataset.targets", "{aeg: number}", "targets: list.csv has no column 'aeg'; did you mean age?"),
                ("dataset.targets", "{0: number}", "s.yaml:1:10: dataset: targets: the first column of list.csv names the files\n"),
                ("dataset.targets", "{age: numbers}", "one of number, classes, labels"),
                ("dataset.header", "false", "targets has names, and header: false says that columns have none"),
                ("dataset.classes", "3", "classes is for lists of one class"),
                ("dataset.stream", "true", "a list with several targets is held in memory; leave stream out; a smaller size takes less")):
            self.refused(2, spec, "--set", f"{key}={value}", says=says)
        for row, says in ((lines[5].replace(",corgi", ",corgi,x"), "bad.csv:6:1: expected 5 cells as in the first line, found 6"),
                          (lines[5].replace(lines[5].split(",")[1], ""), "the target 'age': "),
                          (lines[5].replace(lines[5].split(",")[1], "red"), "targets: {age: classes} takes texts"),
                          (lines[5].replace("list-4", "no"), "bad.csv:6:1: there is no file 'no.png'")):
            self.write("bad.csv", "\n".join(lines[:5] + [row] + lines[6:]) + "\n")
            self.refused(3, spec, "--set", "dataset.path=bad.csv", says=["bad.csv:6:", says])
        self.write("bad.csv", self.read("test.csv").decode().replace("corgi", "korgi"))
        self.refused(3, spec, "--set", "dataset.test_list=bad.csv", says=["bad.csv:3:", "class 'korgi' is not one of the training file's; did you mean corgi?"])
        self.write("bad.csv", self.read("test.csv").decode().replace("note", "remark"))
        self.refused(3, spec, "--set", "dataset.test_list=bad.csv", "--set", "dataset.targets={1: number, 3: classes, 4: labels}",
                     says="bad.csv: its columns are not those of list.csv (the names differ)")
        self.write("bad.csv", self.read("test.csv").decode().replace("age", "years"))
        self.refused(2, spec, "--set", "dataset.test_list=bad.csv", says="bad.csv has no column 'age'")
        rows = [line.split(",") for line in self.read("test.csv").decode().splitlines()]
        self.write("moved.csv", "".join(",".join([row[0], row[4], row[3], row[1]]) + "\n" for row in rows))
        costs = [json.loads(self.neon("eval", "m", "--set", f"dataset.test_list={name}", "--format", "json").out) for name in ("test.csv", "moved.csv")
                 if self.neon("-r", "1", "-s", "m", "--overwrite", spec)]
        self.assertEqual(*costs)
        for name, targets, code, says in (
                ("age", "{age: number}", 3, "twice.csv:1:10: two columns are named 'age'"),
                ("1", "{1: number}", 2, "targets: 1 is the name of column 2 of twice.csv and the index of column 'age'; "
                                        "rename one of them")):
            self.write("twice.csv", "\n".join([lines[0].replace("note", name)] + lines[1:]) + "\n")
            self.refused(code, spec, "--set", "dataset.path=twice.csv", "--set", f"dataset.targets={targets}", says=says)
        plain = self.write("p.yaml", "dataset: {ImageList: {path: list.csv}}\n" + SPEC[SPEC.index("layers:"):])
        self.refused(3, plain, says="expected a file and its class, found 5 cells; targets names columns to predict")
        self.refused(2, "data", "pack", spec, "shards", says="shards hold one class for each image, and this set has 3 targets; train from the list itself")
        self.refused(3, "data", "pack", "list.csv", "shards", says="found 5 cells; shards hold one class for each image: give a list of two columns")
        self.refused(3, "data", "check", "list.csv", says="found 5 cells; give a spec in place of the list, with dataset: {ImageList: {path: list.csv, targets: {")


if __name__ == "__main__":
    support.main()
