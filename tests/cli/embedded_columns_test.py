"""Columns of many categories: a net begins with a row of a trained table for each."""
import json
import re

import numpy as np

import onnx_net
import support
from support import Case, tensors

NET = """layers: [Affine: {name: last, nout: 1, init: {Constant: 0.5}, bias: {Constant: 0}}]
cost: MeanSquared
optimizer: {SGD: {learning_rate: 0.2}}
batch_size: 600
"""


class EmbeddedColumns(Case):
    def write_table(self, name="t.csv", cities=150, rows=600, seed=1):
        """The price is the city's own, and a number more."""
        rng = np.random.default_rng(seed)
        self.city, self.a = rng.integers(0, cities, rows), rng.normal(size=rows).round(3)
        self.effect = np.random.default_rng(99).normal(size=cities)
        self.price = (3 * self.effect[self.city] + self.a + 0.1 * rng.normal(size=rows)).round(4)
        self.write(name, "city,a,price\n" + "".join(f"c{c:04},{a},{y}\n" for c, a, y in zip(self.city, self.a, self.price)))

    def train(self, *more, name="m", columns="{city: {embed: 3}}", epochs=1, test=0, net=NET):
        self.write("t.yaml", f"dataset: {{CSV: {{path: t.csv, target: price, test: {test}, columns: {columns}}}}}\n{net}epochs: {epochs}\n")
        return self.neon("-r", "1", "-s", f"{name}.safetensors", "--overwrite", *more, "t.yaml")

    def arrays(self, name="m", kind="f4"):
        found, _ = tensors(self.path(name + ".safetensors"))
        shapes = {"columns/city/W": None, "last/W": None, "last_bias/b": None}
        return [np.frombuffer(found[one][2], kind).reshape(found[one][1]).astype(float) for one in shapes]

    def codes(self):
        """The number of the row of each city that two rows have, in the order of names, from 1; 0 for others."""
        names, counts = np.unique(self.city, return_counts=True)
        known = names[counts > 1]
        return np.where(np.isin(self.city, known), 1 + np.searchsorted(known, self.city), 0), 1 + len(known)

    @staticmethod
    def standard(cells):
        """As neon reads and keeps them: in f32."""
        cells = cells.astype("f4").astype(float)
        return ((cells - cells.mean()) / cells.std()).astype("f4").astype(float)

    def predicted(self, table, *more, name="m"):
        out = self.neon("predict", f"{name}.safetensors", table, "--format", "csv", *more).out.split()[1:]
        return np.array([float(line.split(",")[1]) for line in out])

    def test_lookups_and_gradients_are_numpys(self):
        """After an epoch, and after 20 more, which are 20 steps of all rows."""
        self.write_table()
        self.train("-d", "f64")
        table, w, b = self.arrays(kind="f8")
        codes, rows = self.codes()
        self.assertEqual(table.shape, (rows, 3))
        x, t = self.standard(self.a), self.standard(self.price)
        y = table[codes] @ w[0, :3] + x * w[0, 3] + b
        np.testing.assert_allclose(self.predicted("t.csv"), y * self.price.std() + self.price.mean(), rtol=2e-5, atol=2e-5)
        for _ in range(20):
            seen = np.concatenate([table[codes], x[:, None]], 1)
            g = (seen @ w[0] + b - t) / len(t)
            to_table = np.zeros_like(table)
            np.add.at(to_table, codes, g[:, None] * w[0, :3])
            table, w, b = table - 0.2 * to_table, w - 0.2 * (g @ seen)[None], b - 0.2 * g.sum()
        self.neon("resume", "m.safetensors", "-e", "21")
        for found, expected in zip(self.arrays(kind="f8"), (table, w, b), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def test_check_and_summary_show_the_table(self):
        self.write_table()
        codes, rows = self.codes()
        result = self.train(columns="{}")
        width = round(1.6 * rows ** 0.56)
        words = f"'city': category, {rows - 1} values, embedded in {width} numbers; rare, missing and unknown ones share a row of the table"
        out = self.neon("check", "t.yaml").out
        self.assertIn(f"columns 2 as {width + 1} numbers\n        {words}\n", out)
        self.assertRegex(self.neon("summary", "t.yaml").out, rf"(?m)^columns +Embedding +\({width + 1}\) +{rows * width} .*iB *$")
        self.assertNotIn("columns: {Gaussian", out)
        self.assertIn(f"it is embedded in {width} numbers (embed_above)", result.err)
        seen = re.search(r"columns 2 as (\d+) numbers", self.neon("check", "t.yaml", "--set", "dataset.test=0.2", "--set", "batch_size=100").out)[1]
        self.assertIn(f"columns become {seen} numbers", self.neon("new", "table", "t.csv").out)
        for kind, words in ("one_hot", "100 categories (c"), ("{embed: 5}", "embedded in 5 numbers"):
            self.assertIn(words, self.neon("check", "t.yaml", "--set", f"dataset.columns.city={kind}").out)
        self.assertIn("embed_above", self.neon("check", "t.yaml", "--explain", "dataset.embed_above").out)

    def test_a_net_learns_what_each_of_500_cities_costs(self):
        self.write_table(cities=500, rows=4000)
        net = NET.replace("SGD: {learning_rate: 0.2}", "Adam: {learning_rate: 0.02}").replace("600", "100") + "metrics: [R2]\n"
        found = {}
        for columns in "{}", "{city: one_hot}", "{city: ignore}":
            self.train(columns=columns, test=0.2, net=net, epochs=10)
            found[columns] = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)["R2"]
        self.assertGreater(found["{}"], 0.95)
        self.assertLess(found["{city: one_hot}"], 0.6)
        self.assertLess(found["{city: ignore}"], 0.3)

    def test_unknown_and_missing_cells_have_the_first_row(self):
        self.write_table()
        self.train("-d", "f64")
        table, w, b = self.arrays(kind="f8")
        names, counts = np.unique(self.city, return_counts=True)
        known = list(names[counts > 1])
        self.write("n.csv", f"other,a,city\n1,0.5,nowhere\n2,0.5,\n3,0.5,c{known[7]:04}\n")
        result = self.neon("predict", "m.safetensors", "n.csv", "--format", "csv")
        self.assertIn("note: n.csv: column 'city': 'nowhere' is rare or unknown in training, and shares a row of the table", result.err)
        self.assertIn("in 1 row the table's row of rare and unknown values stands for it", result.err)
        for cells, says in (("nowhere", "nowhere"), "'nowhere', in 2 rows, is rare"), (("nowhere", "else"), "'nowhere' and others, in 2 rows, are rare"):
            self.assertIn(says, self.neon("predict", "m.safetensors", "-", stdin=f"a,city\n1,{cells[0]}\n1,{cells[1]}\n".encode()).err)
        y = np.array([float(line.split(",")[1]) for line in result.out.split()[1:]])
        x = (0.5 - self.a.mean()) / self.a.std()
        seen = table[[0, 0, 8]]
        expected = (seen @ w[0, :3] + x * w[0, 3] + b) * self.price.std() + self.price.mean()
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"a\n1\n", says="has no column 'city'")

    def test_without_rare_and_missing_cells_the_first_row_is_of_zeros(self):
        self.write("t.csv", "city,a,price\n" + "".join(f"c{k % 150:04},{k % 7},{k % 150}.5\n" for k in range(600)))
        self.train("-d", "f64", epochs=3)
        table, w, b = self.arrays(kind="f8")
        self.assertEqual(table.shape, (151, 3))
        np.testing.assert_array_equal(table[0], 0)
        self.assertTrue(np.all(table[1:] != 0))
        city, x = np.arange(600) % 150, (3 - np.arange(600) % 7).mean() / (np.arange(600) % 7).std()
        expected = (x * w[0, 3] + b[0]) * city.std() + city.mean() + 0.5
        np.testing.assert_allclose(self.predicted_of("city,a\nnowhere,3\n"), [expected], rtol=1e-5)

    def predicted_of(self, table):
        self.write("n.csv", table)
        return self.predicted("n.csv")

    def test_a_note_on_rare_cells_stands_once(self):
        """Rows of all parts of the table are counted together, in a run that goes on, too."""
        self.write_table()
        self.train("--set", "dataset.validation=0.2", test=0.2, net=NET.replace("600", "100"))
        notes = re.findall(r"'city': 'c\d+' and others, in (\d+) rows, are rare or unknown", self.neon("resume", "m.safetensors", "-e", "2").err)
        table = json.loads(tensors(self.path("m.safetensors"))[1]["neon.data"])["table"]
        categories = next(one for one in table["codes"] if one["embedded"])["categories"]
        self.assertEqual(notes, [str(sum(f"c{c:04}" not in categories for c in self.city))])

    def test_no_layer_has_the_name_of_the_tables(self):
        self.write_table()
        net = NET.replace("name: last", "name: columns")
        self.write("t.yaml", f"dataset: {{CSV: {{path: t.csv, target: price, test: 0, columns: {{city: embed}}}}}}\n{net}")
        says = "t.yaml:2:10: layers[0]: a layer is named 'columns', the name of the tables of embedded columns; give it another name"
        for verb in ["check"], ["-s", "m.safetensors"]:
            self.refused(2, *verb, "t.yaml", says=says)
        self.neon("check", "t.yaml", "--set", "dataset.columns.city=one_hot")

    def test_16_bits_know_more_rows_than_they_have_whole_numbers(self):
        """Whole numbers above 256 in bf16, or 2048 in f16, are not all there; row 2500 is found all the same."""
        self.write_table(cities=2600, rows=2600)
        self.write("t.csv", "city,a,price\n" + "".join(f"c{i % 2600:04},{i % 2},{i % 7}.5\n" for i in range(5200)))
        for kind, error in ("f16", 2e-4), ("bf16", 1e-3):
            self.train("-d", kind)
            table, w, b = self.arrays()
            self.assertEqual(len(table), 2601)
            self.write("n.csv", "city,a\n" + "".join(f"c{i:04},0.5\n" for i in range(2490, 2560)))
            sums = table[2491:2561] @ w[0, :3]
            y = self.predicted("n.csv") / np.std(np.arange(5200) % 7)
            y, sums = y - y.mean(), sums - sums.mean()
            self.assertGreater(np.abs(np.diff(sums)).mean(), 5 * error)
            np.testing.assert_allclose(y, sums, atol=error)

    def test_two_ranks_compute_what_one_does(self):
        self.write_table()
        for ranks in "1", "2":
            self.train("-b", "cpu", "-d", "f64", "-m", ranks, name="m" + ranks, epochs=3, columns="{}")
        for one, two in zip(self.arrays("m1", "f8"), self.arrays("m2", "f8"), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)

    def test_folds_learn_their_own_rows(self):
        self.write_table()
        self.write("t.yaml", "dataset: {CSV: {path: t.csv, target: price, columns: {city: embed}, folds: 3, fold: 1}}\n" + NET.replace("600", "100") + "epochs: 1\n")
        self.neon("-r", "1", "-s", "m.safetensors", "t.yaml")
        rows = len(self.arrays()[0])
        self.assertLess(rows, self.codes()[1])

    def test_an_onnx_file_looks_rows_up(self):
        self.write_table()
        self.train("-e", "2", columns="{}")
        self.neon("export", "m.safetensors", "--onnx", "n.onnx")
        model = onnx_net.read(self.path("n.onnx"))
        codes, _ = self.codes()
        x = np.stack([codes, (self.a - self.a.mean()) / self.a.std()], 1)
        names, counts = np.unique(self.city, return_counts=True)
        self.assertEqual(json.loads(model.metadata["categories"]), [[f"c{name:04}" for name in names[counts > 1]], []])
        np.testing.assert_allclose(onnx_net.outputs(model, x)[:, 0], self.predicted("t.csv"), rtol=1e-4, atol=1e-4)

    def test_another_order_of_columns_changes_nothing(self):
        """Neither of an evaluation nor of a resumed run, whose checkpoint reads the first table as before."""
        self.write_table()
        lines = self.read("t.csv").decode().splitlines()
        rows = [[*line.split(","), f"s{i % 50}"] for i, line in enumerate(lines[1:])]
        self.write("t.csv", "a/b,x,price,c%\n" + "".join(",".join(row) + "\n" for row in rows))
        self.write("o.csv", "c%,price,more,x,a/b\n" + "".join(f"{row[3]},{row[2]},1,{row[1]},{row[0]}\n" for row in rows))
        self.train(columns="{c%: {embed: 2}}")
        names = {name: shape for name, (_, shape, _) in tensors(self.path("m.safetensors"))[0].items() if name.startswith("columns/")}
        self.assertEqual(names["columns/c%25/W"], [51, 2])
        self.assertIn("columns/a%2Fb/W", names)
        first = self.predicted("t.csv")
        np.testing.assert_array_equal(self.predicted("o.csv"), first)
        measured = self.neon("eval", "m.safetensors", "t.csv", "--format", "json").out
        self.assertEqual(self.neon("eval", "m.safetensors", "o.csv", "--format", "json").out, measured)
        self.train("-e", "2", name="m2", columns="{c%: {embed: 2}}")
        self.write("t.csv", self.read("o.csv"))
        self.neon("resume", "m.safetensors", "-e", "2")
        self.assertEqual(*[{k: v for k, v in tensors(self.path(name))[0].items() if k.endswith("W")} for name in ("m.safetensors", "m2.safetensors")])
        np.testing.assert_array_equal(self.predicted("o.csv"), self.predicted("o.csv", name="m2"))

    def test_rows_of_other_categories_are_warned_of(self):
        self.write_table()
        self.train()
        self.write("t.csv", self.read("t.csv").replace(b"\nc", b"\nd"))
        said = self.train("--model_file", "m.safetensors", name="o").err
        self.assertIn("all 3 tensors taken", said)
        self.assertRegex(said, r"warning: input 1 of the net of m.safetensors was 'city' = 'c\d+', and is 'city' = 'd\d+' here")

    def test_what_takes_all_numbers_for_its_own_is_refused(self):
        self.write_table()
        one_hot = "column 'city' of the table is embedded; give it the kind one_hot, under columns of the data set"
        rbm = "layers: [RBM: {nout: 4, visible: gaussian}]\nrule: ContrastiveDivergence\noptimizer: {SGD: {learning_rate: 0.1}}\nepochs: 1\n"
        self.write("r.yaml", "dataset: {CSV: {path: t.csv, target: price}}\n" + rbm)
        self.refused(2, "r.yaml", says=["rule", one_hot])
        self.neon("-r", "1", "r.yaml", "--set", "dataset.columns={city: one_hot}")
        self.train()
        self.refused(2, "t.yaml", "--fixed_point", "16.12", says=["fixed_point", one_hot])

    def test_wrong_kinds_are_refused(self):
        self.write_table()
        self.train()
        for value, words in ("embd", "did you mean embed"), ("{embed: 0}", "0 is not in [1, 65536]"), \
                ("{embed: x}", "expected an integer"), ("{one_hot: 3}", "expected a kind, such as category, or {embed: WIDTH}"):
            self.refused(2, "check", "t.yaml", "--set", f"dataset.columns.city={value}", says=[words, "city"])
        for name, value in ("columns.city", "one_hot"), ("embed_above", "3"), ("most_embedded", "5"):
            self.refused(2, "eval", "m.safetensors", "--set", f"dataset.{name}={value}", says="they stay so")


if __name__ == "__main__":
    support.main()
