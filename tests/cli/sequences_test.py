#!/usr/bin/python3
"""Predictions of nets of texts and of sequences of numbers: lines, windows, ids; forecasts in the units of the data."""
import csv
import io
import json
import math
import struct

import numpy as np

import support
from support import Case

TEXTS = """\
dataset: {TextClasses: {path: reviews.csv, unit: UNIT, steps: 8, test: 0}}
layers:
  - Embedding: {nout: 8, init: GlorotUniform}
  - LSTM: {output_size: 8, init: GlorotUniform}
  - RecurrentLast
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.03}}
batch_size: 4
epochs: 30
"""
SERIES = """\
dataset: {Windows: {path: load.csv, ignore: [day], targets: [load], steps: 4, horizon: 2, test: 0.2}}
layers:
  - GRU: {output_size: 16, init: GlorotUniform}
  - RecurrentLast
  - Affine: {nout: 2, init: GlorotUniform, bias: {Constant: 0}}
cost: MeanSquared
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 16
epochs: 150
"""
WALKS = """\
dataset: {Sequences: {path: walks.csv, id: who, target: kind, test: 0}}
layers:
  - GRU: {output_size: 8, init: GlorotUniform}
  - RecurrentLast
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.03}}
batch_size: 4
epochs: 40
"""


def rows_of(out):
    return list(csv.reader(io.StringIO(out)))[1:]


def npy(shape, numbers):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (117 - len(head)) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(numbers)}f", *numbers)


class Sequences(Case):
    def check_one_class(self, net, unlabelled, label, labelled):
        """neon eval takes samples of one of both classes; its cost is that of the predictions."""
        shares = [(float(p) if name == label else 1 - float(p)) for _, name, p in rows_of(self.neon("predict", net, unlabelled).out)]
        cost = -sum(map(math.log, shares)) / len(shares)
        self.assertIn(f"data cost {cost:.4f}", self.neon("eval", net, labelled).out)

    def test_a_later_yes_or_no_stays_0_and_1(self):
        rows = "".join(f"{(i * 7919) % 97 / 97:.4f},{int((i * 7919 - 7919) % 97 > 80)}\n" for i in range(200))
        self.write("alarm.csv", "x,y\n" + rows)
        spec = SERIES.replace("load.csv, ignore: [day], targets: [load]", "alarm.csv, columns: [x], targets: [y]") \
            .replace("horizon: 2", "horizon: 1").replace("nout: 2", "nout: 1, activation: Logistic").replace("MeanSquared", "CrossEntropyBinary\nmetrics: [AUC]")
        self.assertIn("AUC_POS_1", self.neon("-r", "1", "-e", "2", self.spec(spec)).out)
        self.write("alarm.csv", "who,x,y\n" + "".join(f"w{i},{i / 9},{i % 2}\nw{i},0.5,0.{i}\n" for i in range(1, 9)))
        steps = "dataset: {Sequences: {path: alarm.csv, id: who, target: y, each_step: true, standardize: false, test: 0}}\n" \
            "layers: [GRU: {output_size: 4}, Affine: {nout: 1}]\ncost: MeanSquared\nmetrics: [AUC]\noptimizer: Adam\nbatch_size: 4\n"
        self.refused(2, self.spec(steps), says="AUC takes two kinds of samples apart, as 0 and 1, and this target has more values")

    def test_texts_have_their_classes(self):
        self.write("reviews.csv", "".join(f"a {word} film {i},{label}\n" for i in range(6)
                                          for word, label in (("fine", "good"), ("poor", "bad"), ("great", "good"), ("dull", "bad"))))
        lines = "a fine film\nfilm poor\na great film of too many words to read them all\r\ndull\n"
        self.write("new.txt", lines)
        for unit in "words", "bpe, vocabulary_size: 270":
            self.neon(self.spec(TEXTS.replace("UNIT", unit), "t.yaml"), "-r", "1", "-s", "t.safetensors")
            result = self.neon("predict", "t.safetensors", "new.txt")
            self.assertEqual([row[:2] for row in rows_of(result.out)][:2], [["0", "good"], ["1", "bad"]])
            self.assertEqual(rows_of(result.out)[3][1], "bad")
            unknown = r"warning: new.txt: 8 of 17 words are not in the vocabulary; they count as <unk>\n" if unit == "words" else ""
            self.assertRegex(result.err, r"^warning: new.txt: (1 of 4 texts is longer than 8 (words|bpe), and its end is|"
                                         rf"2 of 4 texts are longer than 8 (words|bpe), and their ends are) left out\n{unknown}$")
            piped = self.neon("predict", "t.safetensors", "-", stdin=lines.encode())
            self.assertEqual(piped.out, result.out)
            marked = self.neon("predict", "t.safetensors", "-", stdin=b"\xef\xbb\xbf" + lines.encode())  # a byte order mark
            self.assertEqual(marked.out, result.out)
            self.write("lines.txt", "a fine film\na great film\n")
            self.write("good.csv", "text,label\na fine film,good\na great film,good\n")
            self.check_one_class("t.safetensors", "lines.txt", "good", "good.csv")
        # Texts of two files, of any name.
        self.write("one", "a fine film")
        out = self.neon("predict", "t.safetensors", "one", "new.txt").out
        self.assertEqual([row[0] for row in rows_of(out)], ["one:0", "new.txt:0", "new.txt:1", "new.txt:2", "new.txt:3"])
        self.assertIn("the texts are column 0", self.neon("predict", "t.safetensors", "reviews.csv").err)
        self.refused(3, "predict", "t.safetensors", "-", stdin=b"fine\n\n", says="stdin:2: the text is empty")
        self.refused(3, "predict", "t.safetensors", "-", stdin=b"", says="stdin")

    def test_numbers_of_padding_are_compared_with_nothing(self):
        rng = np.random.default_rng(4)
        x, y = rng.standard_normal((12, 5, 2)).astype(np.float32), rng.standard_normal((12, 5)).astype(np.float32)
        padding = np.arange(5) >= rng.integers(1, 6, (12, 1))
        x[padding] = np.nan
        content = ("dataset: {NPZ: {path: d.npz, sequences: true}}\nlayers:\n  - GRU: {output_size: 4, init: GlorotUniform}\n"
                         "  - Affine: {nout: 1, init: GlorotUniform}\ncost: MeanSquared\nmetrics: [MAE]\n"
                         "optimizer: {Adam: {learning_rate: 0.02}}\nbatch_size: 5\nepochs: 2\n")
        spec = self.spec(content, "n.yaml")
        trained, told = {}, {}
        for name, fill, shape in ("0", 0, (12, 5)), ("100", 100, (12, 5)), ("one number each", 7, (12, 5, 1)):
            targets = np.where(padding, np.float32(fill), y).reshape(shape)
            np.savez(self.path("d.npz"), x_train=x, y_train=targets, x_test=x, y_test=targets)
            out = self.neon(spec, "-r", "1", "-s", "n.safetensors").out
            trained[name], _ = support.tensors(self.path("n.safetensors"))
            told[name] = [line.split("  (")[0] for line in out.splitlines() if line.startswith("test: MAE")]
            self.assertEqual(trained[name], trained["0"])
            self.assertEqual(told[name], told["0"])
        self.assertEqual(len(told["0"]), 1, out)
        self.refused(2, "check", self.spec(content.replace("  - Affine: {nout: 1", "  - RecurrentLast\n  - Affine: {nout: 5"), "l.yaml"),
                     says="each step of the targets (5, 1) has 1 number, and sequences have different lengths: keep the 5 steps")
        machine = content[:content.index("layers:")] + ("layers: [RBM: {nout: 3, init: Kaiming, visible: gaussian}]\nrule: ContrastiveDivergence\noptimizer: "
                                                        "{GradientDescentMomentum: {learning_rate: 0.1}}\nbatch_size: 4\n")
        for verb in [], ["check"]:
            self.refused(2, *verb, self.write("rbm.yaml", machine), says=["rule: trains with every number of a sample", "(sequences: false)"])
        self.refused(2, "check", self.spec(content.replace("nout: 1", "nout: 3").replace("sequences: true", "sequences: true, autoencoder: true"),
                                           "a.yaml"),
                     says="each step of the targets (5, 2) has 2 numbers")

    def test_stories_are_read_as_in_training(self):
        """Points stand by themselves, and the end of a long story stays, where the question is."""
        spec = TEXTS.replace("TextClasses: {path: reviews.csv, unit: UNIT, steps: 8, test: 0}", "BABI: {fallback: drawn, steps: 12}")
        self.neon(self.spec(spec, "b.yaml"), "-r", "1", "-e", "2", "-s", "b.safetensors")
        end = "Mary moved to the office. John moved to the kitchen. Where is Mary?"
        apart = "mary moved to the office . john moved to the kitchen . where is mary ?"
        self.write("q.txt", f"Mary moved to the garden. {end}\n{' '.join(apart.split()[-12:])}\n")
        result = self.neon("predict", "b.safetensors", "q.txt")
        one, other = rows_of(result.out)
        self.assertEqual(one[1:], other[1:])
        self.assertEqual(result.err, "warning: q.txt: 1 of 2 texts is longer than 12 words, and its beginning is left out\n")
        err = self.neon("predict", "b.safetensors", "-", stdin=b"Where is Ringo?\n").err
        self.assertIn("stdin: 1 of 4 words is not in the vocabulary; it counts as <unk>", err)

    def test_tokens_have_their_padding_behind_them(self):
        self.write("reviews.csv", "".join(f"a {word} film,{label}\n" for word, label in (("fine", "good"), ("poor", "bad")) * 4))
        self.neon(self.spec(TEXTS.replace("UNIT", "words"), "t.yaml"), "-r", "1", "-e", "1", "-s", "t.safetensors")
        row = lambda *tokens: list(tokens) + [-1] * (8 - len(tokens))
        self.write("t.npy", npy((2, 8), row(1, 2, 3) + row(2)))
        self.assertEqual(len(rows_of(self.neon("predict", "t.safetensors", "t.npy").out)), 2)
        self.write("t.npy", npy((2, 8), row(1, 2, 3) + row(1, -1, 2)))
        self.refused(3, "predict", "t.safetensors", "t.npy", says="number 2 of sample 1 is 2, and -1 stands before it; expected tokens, "
                                                                  "and -1 behind the last one alone")
        self.write("t.npy", npy((1, 8), row()))
        self.refused(3, "predict", "t.safetensors", "t.npy", says="number 0 of sample 0 is -1: the sample has no token")

    def test_a_net_that_goes_on_with_texts_has_no_class_for_them(self):
        self.write("a.txt", "abcacb" * 20)
        spec = self.spec("dataset: {Text: {path: a.txt, steps: 6}}\nlayers:\n  - LSTM: {output_size: 4, init: GlorotUniform}\n"
                         "  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}\ncost: CrossEntropyMulti\n"
                         "optimizer: {Adam: {learning_rate: 0.02}}\nbatch_size: 4\nepochs: 1\n", "l.yaml")
        self.neon(spec, "-s", "l.safetensors")
        self.refused(2, "predict", "l.safetensors", "a.txt", says="the net goes on with texts")

    def test_forecasts_in_the_units_of_the_data(self):
        at = lambda i: 500 + [0, 40, 90, 60, -30][i % 5]
        load = [at(i) for i in range(60)]
        self.write("load.csv", "day,load\n" + "".join(f"d{i},{x}\n" for i, x in enumerate(load)))
        self.neon(self.spec(SERIES, "w.yaml"), "-r", "1", "-s", "w.safetensors")
        rows = rows_of(self.neon("predict", "w.safetensors", "load.csv").out)
        # A line for each window, up to the one that ends with the last row.
        self.assertEqual([row[0] for row in rows], [str(i) for i in range(4, 61)])
        for i, first, second in rows:
            self.assertAlmostEqual(float(first), at(int(i)), delta=10)
            self.assertAlmostEqual(float(second), at(int(i) + 1), delta=10)
        # Other columns, in another order; an array of one column; windows that are samples already.
        self.write("other.csv", "load,more\n" + "".join(f"{x},1\n" for x in load))
        self.write("load.npy", npy((60, 1), load))
        self.write("samples.npy", npy((2, 4, 1), load[:4] + load[13:17]))
        self.assertEqual(rows_of(self.neon("predict", "w.safetensors", "other.csv").out), rows)
        self.assertEqual(rows_of(self.neon("predict", "w.safetensors", "load.npy").out), rows)
        self.assertEqual(rows_of(self.neon("predict", "w.safetensors", "-", stdin=self.read("load.csv")).out), rows)
        self.assertEqual([row[1:] for row in rows_of(self.neon("predict", "w.safetensors", "samples.npy").out)],
                         [rows[0][1:], rows[13][1:]])
        self.write("short.csv", "load\n1\n2\n3\n")
        self.refused(3, "predict", "w.safetensors", "short.csv", says="short.csv: has 3 rows, the net takes 4 that follow one another")
        self.write("names.csv", "loads\n1\n2\n3\n4\n")
        self.refused(2, "predict", "w.safetensors", "names.csv", says="has no column 'load'; did you mean loads?")

    def test_an_array_of_one_column_has_windows(self):
        """.npy (n) and HDF5 (n), as the training takes them."""
        import h5py
        x = np.sin(np.arange(40) / 3).astype("f4")
        np.save(self.path("x.npy"), x), np.save(self.path("column.npy"), x[:, None])
        with h5py.File(self.path("x.h5"), "w") as file:
            file["load"], file["column"] = x, x[:, None]
        spec = SERIES.replace("load.csv, ignore: [day], targets: [load]", "FILE").replace("epochs: 150", "epochs: 1")
        for name, more in ("x.npy", ""), ("x.h5", ", array: load"), ("x.h5", ", array: column"):
            self.neon(self.spec(spec.replace("FILE", name + more), "w.yaml"), "-r", "1", "-s", "w.safetensors", "--overwrite")
            rows = rows_of(self.neon("predict", "w.safetensors", name).out)
            self.assertEqual([row[0] for row in rows], [str(i) for i in range(4, 41)])
            self.assertEqual(rows, rows_of(self.neon("predict", "w.safetensors", "column.npy").out))

    def test_arrays_of_fewer_steps_are_padded(self):
        x = np.random.default_rng(1).normal(size=(6, 5, 3)).astype("f4")
        np.savez(self.path("a.npz"), x_train=x, y_train=np.arange(6) % 2)
        self.neon(self.spec("dataset: {NPZ: {path: a.npz, sequences: true}}\nlayers:\n  - GRU: 4\n  - RecurrentLast\n"
                            "  - Affine: {nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\n"
                            "optimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 2\nepochs: 1\n", "a.yaml"), "-s", "a.safetensors")
        padded = x.copy()
        padded[:, 3:] = np.nan
        np.save(self.path("padded.npy"), padded), np.save(self.path("short.npy"), x[:, :3])
        self.assertEqual(*(self.neon("predict", "a.safetensors", name).out for name in ("padded.npy", "short.npy")))

    def test_a_folder_has_a_text_in_each_file(self):
        for part in "train", "test":
            for i in range(4):
                self.write(f"f/{part}/{'ab'[i % 2]}/{i}.txt", f"word{i % 2} and\nmore {i}\n")
        self.neon(self.spec(TEXTS.replace("reviews.csv, unit: UNIT, steps: 8, test: 0", "f").replace("epochs: 30", "epochs: 2"), "t.yaml"),
                  "-r", "1", "-s", "t.safetensors")
        rows = rows_of(self.neon("predict", "t.safetensors", "f/test/a").out)
        self.assertEqual([row[0] for row in rows], ["f/test/a/0.txt", "f/test/a/2.txt"])
        lines = self.neon("predict", "t.safetensors", "f/test/a/0.txt")
        self.assertEqual(len(rows_of(lines.out)), 2)
        self.assertIn("its 2 lines are a text each; the net was trained with a text in each file", lines.err)
        both = {name: float(p) if kind == "a" else 1 - float(p) for name, kind, p in rows_of(self.neon("predict", "t.safetensors", "f/test").out)}
        shares = [p if "/a/" in name else 1 - p for name, p in both.items()]
        self.assertEqual(len(shares), 4)
        self.assertIn(f"test cost {-sum(map(math.log, shares)) / 4:.4f}", self.neon("eval", "t.safetensors").out)

    def test_arrays_of_as_many_numbers_in_another_shape_are_refused(self):
        """Their steps and features, or the axes of images and volumes, would be others."""
        rng = np.random.default_rng(0)
        for sample, others in (((5, 3), ((3, 5), (15, 1), (1, 15))), ((4, 1), ((1, 4),)), ((4, 6), ((6, 4), (3, 8))),
                               ((2, 4, 3), ((4, 2, 3), (6, 4)))):
            x = rng.normal(size=(6, *sample)).astype("f4")
            np.savez(self.path("a.npz"), x_train=x, y_train=np.arange(6) % 2)
            are_steps = sample in ((5, 3), (4, 1))
            self.neon(self.spec(f"dataset: {{NPZ: {{path: a.npz, sequences: {str(are_steps).lower()}}}}}\nlayers:\n"
                                + "  - RecurrentLast\n" * are_steps + "  - Affine: {nout: classes, activation: Softmax}\n"
                                "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 2\nepochs: 1\n", "a.yaml"),
                      "-r", "1", "-s", "a.safetensors", "--overwrite")
            np.save(self.path("right.npy"), x)
            np.save(self.path("flat.npy"), x.reshape(6, -1))
            right = self.neon("predict", "a.safetensors", "right.npy").out
            if not are_steps: self.assertEqual(self.neon("predict", "a.safetensors", "flat.npy").out, right)
            for other in others:
                np.save(self.path("other.npy"), x.reshape(6, *other))
                self.refused(3, "predict", "a.safetensors", "other.npy", says="other.npy: its samples are (" + ", ".join(map(str, other)))

    def test_the_rows_of_an_id_have_a_class(self):
        table = "who,x,kind\n" + "".join(f"{who}{i},{x},{kind}\n" for t in range(4) for i in range(8)
                                         for who, x, kind in (("a", t + i, "up"), ("b", i - t, "down")) if t < 2 + i % 3)
        self.write("walks.csv", table)
        self.neon(self.spec(WALKS, "s.yaml"), "-r", "1", "-s", "s.safetensors")
        self.write("new.csv", "x,who\n2,z\n6,y\n3,z\n5,y\n4,y\n4,z\n")
        self.assertEqual([row[:2] for row in rows_of(self.neon("predict", "s.safetensors", "new.csv").out)],
                         [["z", "up"], ["y", "down"]])
        self.write("down.csv", "who,x,kind\nv,6,down\nv,5,down\nw,3,down\nw,2,down\n")
        self.check_one_class("s.safetensors", "down.csv", "down", "down.csv")

    def test_columns_go_by_their_names_in_any_order(self):
        """A table whose columns stand in another order gives the same forecasts, costs and resumed weights."""
        rows = [(f"{i // 5}", (i * i) % 7, 30 + i % 4, i % 3 + (i * i) % 7 / 5) for i in range(60)]
        def write(name, order):
            self.write(name, "\n".join(",".join(str((("who", "x", "z", "y"), *rows)[r][k]) for k in order) for r in range(61)) + "\n")
        windows = SERIES.replace("targets: [load], ", "TARGETS").replace("[day]", "[who, y]").replace("epochs: 150", "epochs: 2")
        walks = "dataset: {Sequences: {path: load.csv, id: who, target: y, task: regression, each_step: true}}\nlayers:\n" \
                "  - GRU: {output_size: 4, init: GlorotUniform}\n  - Affine: {nout: 1, init: GlorotUniform}\n" \
                "cost: MeanSquared\noptimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 4\nepochs: 2\n"
        for spec in windows.replace("TARGETS", "targets: [z], "), windows.replace("TARGETS", "").replace("nout: 2", "nout: 4"), walks:
            write("load.csv", (0, 1, 2, 3))
            self.neon(self.spec(spec, "w.yaml"), "-r", "1", "-s", "w.safetensors", "--overwrite")
            predicted, found = (self.neon(verb, "w.safetensors", *more).out for verb, *more in (("predict", "load.csv"), ("eval",)))
            for place, order in ("load.csv", (2, 3, 1, 0)), ("other.csv", (3, 2, 0, 1)):
                write(place, order)
                self.assertEqual(self.neon("predict", "w.safetensors", place).out, predicted)
                self.assertEqual(self.neon("eval", "w.safetensors", "--set", f"dataset.path={place}").out.replace("other.", "load."), found)

    def test_another_file_is_brought_to_the_numbers_of_the_training(self):
        """neon eval of a file in other units finds what neon predict does, not what the file's own means would give."""
        walk = lambda i, t: (t if i % 2 else -t) + (3 * i + t) % 5 / 4
        for name, unit in ("flows", 1), ("others", 5):
            self.write(name + ".csv", "who,x,flow\n" + "".join(f"{i},{unit * walk(i, t)},{i % 2 + i % 3 / 2}\n"
                                                               for i in range(20) for t in range(2 + i % 4)))
        spec = self.spec("dataset: {Sequences: {path: flows.csv, id: who, target: flow, task: regression, test: 0}}\nlayers:\n"
                         "  - GRU: {output_size: 8, init: GlorotUniform}\n  - RecurrentLast\n  - Affine: {nout: 1, init: GlorotUniform}\n"
                         "cost: MeanSquared\nmetrics: [RMSE]\noptimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 4\nepochs: 20\n", "f.yaml")
        self.neon(spec, "-r", "1", "-s", "f.safetensors")
        errors = []
        for name in "flows", "others":
            predicted = [float(row[1]) for row in rows_of(self.neon("predict", "f.safetensors", name + ".csv").out)]
            errors.append((sum((p - i % 2 - i % 3 / 2) ** 2 for i, p in enumerate(predicted)) / 20) ** 0.5)
            self.assertIn(f"RMSE {errors[-1]:.4g}", self.neon("eval", "f.safetensors", name + ".csv").out)
        self.assertGreater(abs(errors[1] / errors[0] - 1), 0.1, "the files differ for the net")

    def test_windows_have_classes(self):
        """Predictions are named by the row whose class they are, and are those of an evaluation."""
        kinds = ["sit", "run", "walk"]
        at = lambda t: kinds[t // 5 * 7 % 3]
        self.write("moves.csv", "t,x,move\n" + "".join(f"{t},{kinds.index(at(t)) + t % 4 / 10},{at(t)}\n" for t in range(200)))
        net = """dataset: {Windows: {path: moves.csv, ignore: [t], label: move, steps: 3, horizon: 0, test: 0.25}}
layers:
  - GRU: {output_size: 8}
  - RecurrentLast
  - Affine: {nout: classes, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.03}}
batch_size: 16
epochs: 20
"""
        # The last of classes of each step are those of a sample, with nothing left out of them.
        last = net.replace("  - RecurrentLast\n", "").replace("Softmax}\n", "Softmax}\n  - RecurrentLast\n")
        self.neon("check", self.spec(last, "last.yaml"))
        self.neon(self.spec(net, "m.yaml"), "-r", "1", "-s", "m.safetensors")
        self.write("other.csv", "x\n2\n2.1\n2.2\n0.3\n0\n0.1\n1.2\n1.3\n1\n")
        rows = rows_of(self.neon("predict", "m.safetensors", "other.csv").out)
        self.assertEqual([row[0] for row in rows], [str(row) for row in range(2, 9)])
        self.assertEqual([row[1] for row in rows], ["walk", "sit", "sit", "sit", "run", "run", "run"])
        rows = rows_of(self.neon("predict", "m.safetensors", "moves.csv").out)
        wrong = sum(row[1] != at(int(row[0])) for row in rows)
        self.assertEqual(len(rows), 198)
        self.assertIn(f"Top1Misclass {100 * wrong / 198:.2f} %", self.neon("eval", "m.safetensors", "moves.csv").out)
        self.assertLess(wrong, 5)

    def test_each_step_of_a_window_has_numbers(self):
        """The report has a line for each column, over the samples and their steps; predictions name column and step."""
        at = lambda t: (t * t % 17 / 4, 100 + 10 * (t % 5))
        self.write("load.csv", "day,load,heat\n" + "".join(f"{t},{at(t)[0]},{at(t)[1]}\n" for t in range(60)))
        self.neon(self.spec("dataset: {Windows: {path: load.csv, ignore: [day], steps: 4, horizon: 2, each_step: true, test: 0.3}}\n"
                            "layers:\n  - GRU: {output_size: 4}\n  - Affine: {nout: 2}\ncost: MeanSquared\nmetrics: [MAE]\n"
                            "optimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 6\nepochs: 2\n", "w.yaml"), "-r", "1", "-s", "w")
        self.write("plus.csv", "day,load +9,heat +x\n" + "".join(f"{t},{at(t)[0]},{at(t)[1]}\n" for t in range(60)))
        head, *rows = self.neon("predict", "w", "load.csv").out.splitlines()
        words = "sees the steps that follow. The target of a step is a later row of a column that the net sees and can copy"
        for layer, more, warned in (("GRU", [], False), ("BiLSTM", [], True),
                                    ("BiLSTM", ["--set", "dataset.Windows.each_step=false", "--set", "layers=[BiLSTM: {output_size: 2}, "
                                                "RecurrentLast, Affine: {nout: 4}]"], False),
                                    ("BiLSTM", ["--set", "dataset.Windows.horizon=3"], True),
                                    ("BiLSTM", ["--set", "dataset.Windows.horizon=4"], False),  # behind the window
                                    ("BiLSTM", ["--set", "dataset.Windows.horizon=6"], False),
                                    ("BiLSTM", ["--set", "dataset.Windows.horizon=1", "--set", "dataset.Windows.steps=1"], False),
                                    ("BiLSTM", ["--set", "dataset.Windows.autoencoder=true"], False),  # targets are the rows themselves
                                    ("BiLSTM", ["--set", "dataset.Windows.path=plus.csv", "--set", "dataset.Windows.horizon=1"], True),
                                    ("BiLSTM", ["--set", "dataset.Windows.path=plus.csv"], True),
                                    ("BiLSTM", ["--set", "dataset.Windows.path=plus.csv", "--set", "dataset.Windows.horizon=4"], False)):
            said = self.neon("check", "w.yaml", *more, "--set", f"layers[0]={{{layer}: {{output_size: 4}}}}").err
            self.assertEqual(words in said, warned, said)
        np.save(self.path("load.npy"), np.array([at(t) for t in range(60)], np.float32))  # columns without names
        for more, warned in ([], True), (["--set", "dataset.Windows.horizon=4"], False), \
                (["--set", "dataset.Windows.columns=[0]", "--set", "dataset.Windows.targets=[1]", "--set", "layers[1].nout=1"], False):
            said = self.neon("check", "w.yaml", "--set", "layers[0]={BiLSTM: {output_size: 4}}", "--set", "dataset.Windows.path=load.npy",
                             "--set", "dataset.Windows.ignore=[]", *more).err
            self.assertEqual(words in said, warned, said)
        names = ["load +2", "heat +2"]
        self.assertEqual(head, ",".join(["sample"] + [f"{name} step {t}" for t in range(4) for name in names]))
        # The test part is rows 42 to 59; a sample's number in a prediction is the row behind it.
        samples = [[float(cell) for cell in row.split(",")[1:]] for row in rows if 46 <= int(row.split(",")[0]) <= 58]
        gaps = [[(y[2 * t + k] - at(42 + first + t + 2)[k], first) for first, y in enumerate(samples) for t in range(4)] for k in range(2)]
        report = json.loads(self.neon("eval", "w", "--format", "json", "--report").out)["report"]["outputs"]
        self.assertEqual([of["output"] for of in report], names)
        for of, own in zip(report, gaps):
            self.assertAlmostEqual(of["MAE"], sum(abs(gap) for gap, _ in own) / len(own), delta=1e-4 * of["MAE"])
            # The row of the sample's first target, two rows behind its first one.
            self.assertEqual(of["largest_at"], 42 + max(own, key=lambda each: abs(each[0]))[1] + 2)

    def test_each_row_of_an_id_has_a_number(self):
        """The error that a run reports is that of its predictions for the rows that there are."""
        at = lambda i, t: (7 * i + 3 * t) % 11 / 4
        rows = [(i, at(i, t), 10 + at(i, t) + at(i, max(t - 1, 0))) for i in range(20) for t in range(1 + i % 5)]
        self.write("flows.csv", "who,x,flow\n" + "".join(f"{i},{x},{y}\n" for i, x, y in rows))
        spec = self.spec("dataset: {Sequences: {path: flows.csv, id: who, target: flow, task: regression, each_step: true, test: flows.csv}}\n"
                         "layers:\n  - GRU: {output_size: 8, init: GlorotUniform}\n  - Affine: {nout: 1, init: GlorotUniform}\n"
                         "cost: MeanSquared\nmetrics: [RMSE]\noptimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 6\nepochs: 2\n", "f.yaml")
        for more in [], ["--set", "buckets=3"]:
            said = self.neon(spec, "-r", "1", "-s", "f.safetensors", *more).out
            found = rows_of(self.neon("predict", "f.safetensors", "flows.csv").out)
            self.assertEqual([row[0] for row in found], [str(i) for i in range(20)])
            self.assertEqual([[cell != "" for cell in row[1:]] for row in found], [[t <= i % 5 for t in range(5)] for i in range(20)])
            predicted = [float(cell) for row in found for cell in row[1:] if cell]
            error = (sum((y - p) ** 2 for (_, _, y), p in zip(rows, predicted)) / len(rows)) ** 0.5
            self.assertIn(f"RMSE {error:.4g}", said)
            self.assertIn(f"RMSE {error:.4g}", self.neon("eval", "f.safetensors").out)
        lines = self.neon("predict", "f.safetensors", "flows.csv", "--format", "json").out.splitlines()
        self.assertEqual([len(json.loads(line)["outputs"]) for line in lines], [1 + i % 5 for i in range(20)])


if __name__ == "__main__":
    support.main()
