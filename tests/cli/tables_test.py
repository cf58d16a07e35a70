"""Tables of categories, dates and missing values: check prints what becomes of them, a net learns from them, and predict
and eval read other tables by the names of their columns."""
import datetime
import json

import numpy as np

import support
from support import Case, tensors

NET = """layers:
  - Affine: {nout: 2, init: {Constant: 0}, bias: {Constant: 0}, activation: Softmax}
cost: CrossEntropyMulti
metrics: [Accuracy]
optimizer: {Adam: {learning_rate: 0.1}}
batch_size: 20
epochs: 15
"""


class Tables(Case):
    def write_table(self, rows=200):
        """y is yes where the color is red or the size above 50; ids, names and an empty column say nothing."""
        rng = np.random.default_rng(5)
        lines = ["id,name,color,size,when,empty,y"]
        for i in range(rows):
            color, size = rng.choice(["red", "green", "blue"]), rng.uniform(0, 100)
            shown = "" if i % 10 == 3 else f"{size:.3f}"
            lines.append(f"{i},\"No {i}, say\",{'?' if i % 25 == 0 else color},{shown},2024-{1 + i % 12:02}-{1 + i % 28:02},,"
                         f"{'yes' if color == 'red' or size > 50 else 'no'}")
        self.write("t.csv", "\n".join(lines) + "\n")
        self.write("t.yaml", "dataset: {CSV: {path: t.csv}}\n" + NET)

    def test_check_prints_what_becomes_of_columns(self):
        self.write_table()
        result = self.neon("check", "t.yaml")
        self.assertIn("columns 3 as 11 numbers; left out or predicted: id, name, empty, y\n", result.out)
        self.write("u.csv", ",a,b\n" + "".join(f"{i},{i % 7}.5,{i % 2}\n" for i in range(30)))
        self.write("u.yaml", "dataset: {CSV: {path: u.csv}}\n" + NET)
        self.assertIn("columns 1 as 1 number; left out or predicted: '', b\n", self.neon("check", "u.yaml").out)
        self.assertRegex(result.out, r"(?m)^ +'color': 3 categories \(blue, green, red\); one number more for missing values$")
        self.assertRegex(result.out, r"(?m)^ +'size': number, mean [\d.]+, deviation [\d.]+; missing values become [\d.]+, with one number more$")
        self.assertRegex(result.out, r"(?m)^ +'when': date, around 2024-\d\d-\d\d, deviation [\d.]+ days$")
        for column in "id", "name", "empty":
            self.assertIn(f"note: t.csv: column '{column}' is left out: ", result.err)

    def test_a_net_learns_and_other_tables_are_read_by_name(self):
        self.write_table()
        self.neon("-r", "1", "-s", "m", "t.yaml")
        lines = self.read("t.csv").decode().splitlines()
        wanted = [line.rsplit(",", 1)[1] for line in lines[1:]]
        out = self.neon("predict", "m", "t.csv").out
        found = [line.split(",")[1] for line in out.splitlines()[1:]]
        self.assertGreater(np.mean([a == b for a, b in zip(found, wanted)]), 0.85)
        # Other columns in another order, and separated by semicolons, give the same.
        cells = [line.replace('"', "").replace(", say", "").split(",") for line in lines]
        self.write("o.csv", "".join(";".join([row[4], "new", row[3], row[2]]) + "\n" for row in cells).replace("new", "other", 1))
        other = self.neon("predict", "m", "o.csv")
        self.assertEqual(other.out, out)
        self.assertIn("left out, since the net was trained without: 'other'", other.err)

    def test_another_encoding_is_refused(self):
        """Its categories would be unknown ones."""
        self.write_table()
        self.neon("-r", "1", "-s", "m", "t.yaml")
        self.write("l.csv", "color,size,when,y\nred,1,2024-01-01,yes\ngr\xfcn,1,2024-01-01,no\n".encode("latin-1"))
        for verb in "predict", "eval":
            self.refused(3, verb, "m", "l.csv", says="l.csv:3:1: column 'color': 'gr\\xfcn' is not UTF-8; save the file as UTF-8")
        self.write("b.csv", "color,size,when\nred,1,soon\n")
        self.refused(3, "predict", "m", "b.csv", says="b.csv:2:7: column 'when': expected a date, as in training, found 'soon'")

    def test_an_image_is_no_row_of_a_table(self):
        self.write_table()
        self.neon("-r", "1", "-s", "m", "-e", "1", "t.yaml")
        says = "a.png: is an image, and the net takes rows of a table with the columns color, size, when"
        for path in "a.png", "images/a.png":
            self.write(path, support.png(np.zeros((4, 3, 3), np.uint8)))
        self.write("broken/a.png", b"no image")
        for path in "a.png", "images", "broken", "broken/a.png":
            self.assertNotIn("on_bad_sample", self.refused(3, "predict", "m", path, says=says).err)

    def test_the_checkpoint_has_the_numbers_by_which_rows_are_coded(self):
        """The output of a net without hidden layers, computed from its weights and the columns in the file."""
        self.write_table()
        self.neon("-r", "1", "-s", "m", "t.yaml", "--set", "dataset.CSV.ignore=[when]", "--set", "dataset.CSV.test=0")
        found, _ = tensors(self.path("m"))
        weights = np.frombuffer(found["Affine_0/W"][2], "f4").reshape(2, 6).astype(float)
        bias = np.frombuffer(found["Affine_0_bias/b"][2], "f4").astype(float)
        rows = [line.rsplit(",", 6) for line in self.read("t.csv").decode().splitlines()[1:]]
        sizes = np.array([float(row[-4]) if row[-4] else np.nan for row in rows])
        mean, deviation = np.nanmean(sizes), np.nanstd(sizes)
        def output(color, size):
            x = np.array([color == "blue", color == "green", color == "red", color == "", 0 if size is None else (size - mean) / deviation,
                          size is None], float)
            e = np.exp(weights @ x + bias)
            return e / e.sum()
        self.write("n.csv", "size,color\n60,red\n,blue\n10,\n20,pink\n")
        result = self.neon("predict", "m", "n.csv", "--top_k", "2", "--format", "csv")
        self.assertIn("note: n.csv: column 'color': 'pink' is no category that the net was trained with", result.err)
        cases = ("red", 60), ("blue", None), ("", 10), ("pink", 20)
        for line, (color, size) in zip(result.out.splitlines()[1:], cases, strict=True):
            _, name, first, _, second = line.split(",")
            y = output(color, size)
            self.assertEqual(name, ["no", "yes"][int(y.argmax())])
            np.testing.assert_allclose([float(first), float(second)], sorted(y)[::-1], rtol=2e-5)

    def test_eval_codes_a_changed_table_as_the_run_did(self):
        self.write_table()
        lines = self.read("t.csv").decode().splitlines()
        self.write("train.csv", "\n".join(lines[:121]) + "\n")
        self.write("test.csv", "\n".join(lines[:1] + lines[121:]) + "\n")
        self.write("t.yaml", "dataset: {CSV: {path: train.csv, test: test.csv}}\n" + NET)
        said = self.neon("-r", "1", "-s", "m", "t.yaml").out
        before = self.neon("eval", "m").out
        self.assertIn(before.split("  (")[0], said)
        # Half of the training rows have other means and fewer categories; the checkpoint's count.
        self.write("train.csv", "\n".join(line for line in lines[:121] if "red" not in line) + "\n")
        self.assertEqual(self.neon("eval", "m").out, before)

    def test_columns_that_the_spec_ignores_may_be_missing_later(self):
        rows = ["u,v,y", *(f"{i % 9}.5,{i % 7}.5,{'no' if i % 9 < 4 else 'yes'}" for i in range(63))]
        self.write("t.csv", "\n".join(rows) + "\n")
        self.write("i.csv", "".join(f"{k or 'id'},{row}\n" for k, row in enumerate(rows)))
        for ignored in "ignore: [id]", "ignore: [0]", "columns: {id: ignore}", "columns: {0: ignore}":
            self.write("i.yaml", f"dataset: {{CSV: {{path: i.csv, {ignored}}}}}\n{NET}")
            self.neon("-r", "1", "-e", "1", "-s", "m", "i.yaml")
            whole = self.neon("eval", "m", "i.csv").out
            self.assertIn("i.csv, 63 samples", whole)
            self.assertEqual(self.neon("eval", "m", "t.csv").out, whole.replace("i.csv", "t.csv"), ignored)
            self.assertEqual(self.neon("predict", "m", "t.csv").out, self.neon("predict", "m", "i.csv").out)
        # A net that is yet to be trained needs the columns that its spec names.
        self.write("i.yaml", f"dataset: {{CSV: {{path: t.csv, ignore: [id]}}}}\n{NET}")
        self.refused(2, "i.yaml", says="ignore: t.csv has no column 'id'")

    def test_the_columns_of_a_checkpoint_stay(self):
        self.write_table()
        self.write("t.yaml", "dataset: {CSV: {path: t.csv, most_categories: 50}}\n" + NET)
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", "t.yaml")
        before = self.read("m.safetensors")
        for name, value in (("ignore", "[size]"), ("columns", "{size: as_is}"), ("columns.size", "as_is"), ("standardize", "false"), ("impute", "false"),
                            ("most_categories", "2")):
            for verb in ["eval"], ["resume", "-e", "2"]:
                self.refused(2, *verb, "m.safetensors", "--set", f"dataset.{name}={value}",
                             says=[f"--set dataset.{name.split('.')[0]}", "they stay so", "leave it out"])
        self.assertEqual(self.read("m.safetensors"), before)
        self.neon("eval", "m.safetensors", "--set", "dataset.most_categories=50")

    def test_the_columns_of_a_series_stay(self):
        self.write("w.csv", "a,b\n" + "".join(f"{i % 7},{i % 5}.5\n" for i in range(80)))
        self.write("w.yaml", "dataset: {Windows: {path: w.csv, steps: 4, targets: [a]}}\n"
                             "layers: [LSTM: {output_size: 2}, RecurrentLast, Affine: {nout: 1}]\n"
                             "cost: MeanSquared\noptimizer: {Adam: {learning_rate: 0.01}}\nepochs: 1\n")
        self.neon("-r", "1", "-s", "w.safetensors", "w.yaml")
        for name, value in ("ignore", "[b]"), ("columns", "[a]"), ("standardize", "false"):
            self.refused(2, "eval", "w.safetensors", "--set", f"dataset.{name}={value}",
                         says=[f"--set dataset.{name}", "they stay so"])

    def test_training_rows_to_test_with_are_warned_of(self):
        self.write("r.csv", "x,y,kind\n" + "".join(f"{i},{i % 7 / 2},{'ab'[i % 2]}\n" for i in range(20)))
        self.write("other.csv", "x,y,kind\n" + "".join(f"{i},{i % 7 / 2},{'ab'[i % 2]}\n" for i in range(40, 50)))
        self.write("texts.csv", "text,label\n" + "".join(f"w{i},{'ab'[i % 2]}\n" for i in range(20)))
        self.write("book.txt", "to be or not to be " * 20)
        spec = "dataset: {SET}\nlayers: [LAYERS, Affine: {nout: classes, activation: Softmax}]\ncost: CrossEntropyMulti\n" \
            "optimizer: Adam\nbatch_size: 4\nepochs: 1\n"
        words = "names the file of the training samples: its results are those of samples that the net has learnt from"
        steps = "Embedding: {embedding_dim: 2}, RecurrentMean"
        for name, data, layers in (
                ("r.csv: test", "CSV: {path: r.csv, test: ./r.csv}", "Affine: {nout: 2}"),
                ("r.csv: test", "Sequences: {path: r.csv, id: x, target: kind, test: r.csv}", "GRU: {output_size: 2}, RecurrentLast"),
                ("texts.csv: test", "TextClasses: {path: texts.csv, unit: words, steps: 2, test: texts.csv}", steps),
                ("book.txt: validation_path", "Text: {path: book.txt, steps: 3, validation_path: book.txt}", "GRU: {output_size: 2}")):
            said = self.neon("check", self.spec(spec.replace("SET", data).replace("LAYERS", layers))).err
            self.assertEqual(said.count(f"{name} {words}"), 1, said)
        said = self.neon("check", self.spec(spec.replace("SET", "CSV: {path: r.csv, test: other.csv}").replace("LAYERS", "Affine: {nout: 2}"))).err
        self.assertNotIn(words, said)

    def test_targets_in_their_own_units(self):
        rows = "".join(f"{i};{1000 + 50 * i},5\n" for i in range(40))
        self.write("r.csv", "x;price\n" + rows)
        self.write("r.yaml", "dataset: {CSV: {path: r.csv, test: 0.25}}\nlayers: [Affine: {nout: 1, init: {Constant: 0}, bias: {Constant: 0}}]\n"
                   "cost: MeanSquared\nmetrics: [MAE, RMSE, R2, MSE, SSE]\noptimizer: {SGD: {learning_rate: 0.5}}\nbatch_size: 10\nepochs: 40\n")
        self.neon("-r", "1", "-e", "2", "-s", "m", "r.yaml")
        # Metrics of the whole file against its own numbers.
        self.write("r2.yaml", self.read("r.yaml").decode().replace("test: 0.25", "test: r.csv"))
        self.neon("-r", "1", "-e", "2", "-s", "m2", "r2.yaml")
        measured = json.loads(self.neon("eval", "m2", "--format", "json").out)
        y = np.array([float(line.split(",")[1]) for line in self.neon("predict", "m2", "r.csv").out.splitlines()[1:]])
        t = 1000.5 + 50 * np.arange(40)
        for name, wanted in ("MAE", np.abs(y - t).mean()), ("RMSE", np.sqrt(((y - t) ** 2).mean())), \
                ("MSE", ((y - t) ** 2).mean()), ("SSE", ((y - t) ** 2).sum()), \
                ("R2", 1 - ((y - t) ** 2).sum() / ((t - t.mean()) ** 2).sum()):
            self.assertAlmostEqual(measured[name] / wanted, 1, delta=1e-4, msg=name)
        self.neon("-r", "1", "-s", "m", "r.yaml")
        head, row = self.neon("predict", "m", "-", stdin=b"x\n10\n").out.splitlines()
        self.assertEqual(head, "sample,price")
        self.assertAlmostEqual(float(row.split(",")[1]), 1500.5, delta=0.5)
        np.save(self.path("x.npy"), np.array([[10.0]], "f4"))
        self.assertEqual(self.neon("predict", "m", "x.npy").out.splitlines()[1], row)

    def test_one_output_tells_0_from_1(self):
        """A column of 0 and 1 as numbers stays as it is, and AUC compares its two kinds."""
        rng = np.random.default_rng(3)
        x = rng.normal(50, 9, (200, 2))
        ones = (x[:, 0] - x[:, 1] + rng.normal(0, 6, 200) > -18).astype(int)  # nine of ten
        self.write("r.csv", "a,b,y\n" + "".join(f"{a:.3f},{b:.3f},{y}\n" for (a, b), y in zip(x, ones)))
        spec = "dataset: {CSV: {path: r.csv, task: regression, test: 0}}\nlayers: [Affine: {nout: 1, activation: Logistic}]\n" \
            "cost: CrossEntropyBinary\nmetrics: [AUC]\noptimizer: {Adam: {learning_rate: 0.05}}\nbatch_size: 20\nepochs: 3\n"
        self.neon("-r", "1", "-s", "m", self.spec(spec))
        rows = self.neon("predict", "m", "r.csv", "--format", "csv").out.split()[1:]
        scores = np.array([float(row.split(",")[-1]) for row in rows])
        pairs = np.sign(scores[ones == 1][:, None] - scores[ones == 0])
        told = json.loads(self.neon("eval", "m", "r.csv", "--format", "json").out)
        self.assertAlmostEqual(told["AUC_POS_1"], (pairs.mean() + 1) / 2, delta=1e-4)
        cost = -np.log(np.where(ones == 1, scores, 1 - scores)).mean()
        self.assertAlmostEqual(told["cost"], cost, delta=1e-4)
        self.refused(2, self.spec(spec.replace("task: regression, ", "")), says="regression: true of arrays")
        values = spec.replace("CrossEntropyBinary", "MeanSquared").replace("activation: Logistic", "bias: {Constant: 0}")
        self.refused(2, self.spec(values), "--set", "dataset.target=b",
                     says="metrics: AUC takes two kinds of samples apart, as 0 and 1, and this target has more values")
        several = "targets: {a: number, y: number}"
        outputs = "outputs: {a: {cost: MeanSquared, layer: one}, y: {cost: MeanSquared, metrics: [AUC]}}"
        two = values.replace("task: regression", several).replace("cost: MeanSquared\nmetrics: [AUC]", outputs) \
            .replace("layers: [", "layers: [Affine: {nout: 1, name: one}, Affine: {inputs: data, name: y, nout: 1}, ").replace(", Affine: {nout: 1, bias: {Constant: 0}}", "")
        self.neon("-r", "1", self.spec(two))
        self.refused(2, self.spec(two.replace("layer: one", "layer: one, metrics: [AUC]")), says="outputs: a: AUC takes two kinds")

    def test_years_of_two_digits(self):
        """A table with such years gives the net of the table with Python's reading of them: %y has 69 mean 1969, 68 mean 2068."""
        rng = np.random.default_rng(8)
        days = [datetime.date(1969, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 36524, 120)]
        days[:2] = datetime.date(1969, 12, 31), datetime.date(2068, 1, 20)
        net = NET.replace("nout: 2", "nout: classes")

        def trained(form, kind=""):
            cells = [day.strftime(form) for day in days]
            self.assertEqual([datetime.datetime.strptime(cell, form).date() for cell in cells], days)
            self.write("d.csv", "when,y\n" + "".join(f"{cell},{'yes' if day.month > 6 else 'no'}\n" for cell, day in zip(cells, days)))
            self.write("d.yaml", f"dataset: {{CSV: {{path: d.csv{kind}}}}}\n" + net)
            self.neon("-r", "1", "-s", "d", "--overwrite", "d.yaml")
            return tensors(self.path("d"))[0]

        wanted = trained("%Y-%m-%d")
        self.assertIn("columns 1 as 5 numbers", self.neon("check", "d.yaml").out)
        for form, kind in ("%m/%d/%y", ""), ("%d.%m.%y", ""), ("%y-%m-%d", ""), ("%d-%m-%y", ", columns: {when: day_first}"):
            found = trained(form, kind)
            self.assertEqual(found, wanted, form)
        for cell, which in (("23-01-{:02}", "the year or the day may stand first; say which under columns: year_first or day_first"),
                            ("{}/1/23", "the day or the month may stand first; say which under columns: day_first or month_first")):
            self.write("d.csv", "when,y\n" + "".join(f"{cell.format(1 + i % 12)},{'yes' if i % 3 else 'no'}\n" for i in range(40)))
            self.refused(3, "check", "d.yaml", "--set", "dataset.columns={}", says=which)
        self.neon("check", "d.yaml", "--set", "dataset.columns={when: month_first}")

    def test_truth_is_no_number_to_regress_to(self):
        self.write("t.csv", "id,a,y\n" + "".join(f"s{i // 2},{i},{'true' if i % 3 else 'false'}\n" for i in range(40)))
        mend = "expected a number, found 'false'; write 1 and 0, or say task: classes"
        for data in "CSV: {path: t.csv, ignore: [id], task: regression}", "Sequences: {path: t.csv, id: id, target: y, each_step: true, task: regression}":
            spec = self.write("s.yaml", f"dataset: {{{data}}}\n" + NET)
            self.refused(3, "check", spec, says=mend)

    def test_an_array_cannot_stand_for_a_table_of_categories(self):
        self.write_table()
        self.neon("-r", "1", "-e", "1", "-s", "m", "t.yaml")
        np.save(self.path("x.npy"), np.zeros((2, 11), "f4"))
        self.refused(3, "predict", "m", "x.npy", says="it takes a table (CSV), and no array")


if __name__ == "__main__":
    support.main()
