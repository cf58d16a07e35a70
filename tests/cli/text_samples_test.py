#!/usr/bin/python3
"""Texts for predict: rows of tables, files of archives; the character between the cells of a table."""
import os
import re
import tarfile
import zipfile

import support
from support import Case

SPEC = """dataset: {TextClasses: {path: %s, test: 0}}
layers:
  - Embedding: {embedding_dim: 3}
  - RecurrentMean
  - Affine: {nout: classes, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.1}}
batch_size: 4
epochs: 3
"""
TEXTS = ["good film, really", 'a "bad" film', "good one; yes", "bad one"]
ROWS = list(zip(TEXTS, "pnpn"))


def cells(rows, delimiter):
    quoted = [['"' + cell.replace('"', '""') + '"' if set(cell) & {'"', delimiter} else cell for cell in row] for row in rows]
    return "".join(delimiter.join(row) + "\n" for row in quoted)


class TextSamples(Case):
    def setUp(self):
        super().setUp()
        self.write("t.csv", cells([("text", "label"), *ROWS], ","))
        self.neon(self.spec(SPEC % "t.csv", "t.yaml"), "-r", "1", "-s", "t.safetensors")
        self.write("lines.txt", "\n".join(TEXTS) + "\n")

    def rows(self, *arguments, **options):
        return [line.split(",") for line in self.neon("predict", "t.safetensors", *arguments, **options).out.splitlines()[1:]]

    def test_results_name_the_file_of_their_samples(self):
        self.write("other.csv", cells([("text", "label"), *ROWS[:3]], ","))
        said = self.neon(self.spec((SPEC % "t.csv").replace("test: 0", "test: other.csv"), "o.yaml"), "-s", "o.safetensors").out
        self.assertRegex(said, r"(?m)^test: .*  \(other\.csv\)$")
        self.assertRegex(self.neon("eval", "o.safetensors").out, r"^test: .*  \(other\.csv, 3 samples\)\n")

    def test_rows_of_a_table_are_texts(self):
        expected = self.rows("lines.txt")
        self.assertEqual([row[0] for row in expected], ["0", "1", "2", "3"])
        tables = {
            "t.csv": (), "other.csv": [("id", "text"), *(("7", text) for text in TEXTS)],
            "label.csv": [("label", "text"), *((label, text) for text, label in ROWS)],
            "headless.csv": ROWS, "alone.csv": [("text",), *((text,) for text in TEXTS)]}
        for name, rows in tables.items():
            if rows: self.write(name, cells(rows, ","))
            self.assertEqual(self.rows(name), expected, name)
        self.write("t.tsv", cells([("text", "label"), *ROWS], "\t"))
        self.write("semicolons.csv", cells([("label", "text"), *((label, text) for text, label in ROWS)], ";"))
        for name in "t.tsv", "semicolons.csv":
            self.assertEqual(self.rows(name), expected, name)
        self.write("wide.csv", "review,stars,label\ngood,1,p\n")
        self.refused(2, "predict", "t.safetensors", "wide.csv",
                     says="text: name its column of wide.csv, which has review, stars, label")
        self.write("wide.csv", "review,stars,sort\ngood,1,p\n")
        self.assertIn('note: wide.csv: its first line names no column of texts; of 3 columns the texts are column 0, from ',
                      self.neon("predict", "t.safetensors", "wide.csv").err)
        self.write("named.csv", cells([("id", "review", "by"), *(("7", text, "me") for text in TEXTS)], ","))
        self.assertEqual(self.rows("named.csv", "--set", "dataset.TextClasses.text=review"), expected)

    def test_results_replace_no_text_of_a_folder(self):
        for label in "good", "bad":
            for i in range(8):
                self.write(f"texts/{label}/{i}.txt", f"{label} {i}")
        self.neon(self.spec(SPEC % "texts", "f.yaml"), "-s", "f.safetensors")
        self.write("mine.txt", "mine")
        for more in [], ["--overwrite"]:
            self.refused(2, "predict", "f.safetensors", "texts/good", "-o", "texts/good/1.txt", *more,
                         says="-o texts/good/1.txt lies in texts/good, whose texts neon reads, and would be lost; give another name")
        self.assertEqual(self.read("texts/good/1.txt"), b"good 1")
        self.neon("predict", "f.safetensors", "texts/good", "-o", "texts/new.csv")
        self.neon("predict", "f.safetensors", "texts/good", "-o", "mine.txt", "--overwrite")

    def test_words_that_are_no_utf8_are_told(self):
        said = "begins no UTF-8 character; 1 text is no UTF-8, and words are taken as they are: letters look otherwise in UTF-8\n"
        self.write("n.txt", b"good film\nfilm caf\xe9\n")
        self.write("n.csv", b"text,label\nfilm caf\xe9,p\ngood,n\n")
        self.assertIn("warning: n.txt:2: byte 8 (233), in line 1, " + said, self.neon("predict", "t.safetensors", "n.txt").err)
        self.assertIn("warning: n.csv:2:1: byte 8 (233), in line 1, " + said, self.neon("predict", "t.safetensors", "n.csv").err)
        self.assertIn(said, self.neon("eval", "t.safetensors", "n.csv").err)
        self.assertNotIn("UTF-8", self.neon("predict", "t.safetensors", "lines.txt").err)

    def test_a_vocabulary_has_a_word(self):
        for key in "min_count=100", "vocabulary_size=1":
            self.refused(3, "check", "t.yaml", "--set", "dataset." + key, says=[key.replace("=", ": "), " leave out all words of the training texts"])
        self.neon("check", "t.yaml", "--set", "dataset.vocabulary_size=2")

    def test_the_tokens_of_a_checkpoint_stay(self):
        self.write("m.txt", "a b\n")
        before = self.read("t.safetensors")
        for name, value in ("vocabulary_size", "9"), ("max_vocab_size", "9"), ("min_count", "2"), ("merges", "m.txt"), ("vocabulary", "m.txt"):
            for verb in ["eval"], ["resume", "-e", "4"]:
                self.refused(2, *verb, "t.safetensors", "--set", f"dataset.{name}={value}",
                             says=[f"--set dataset.{name.replace('max_vocab', 'vocabulary')}: the checkpoint has the tokens of the texts", "they stay so; leave it out"])
        self.assertEqual(self.read("t.safetensors"), before)
        self.neon("resume", "t.safetensors", "-e", "4", "--set", "dataset.min_count=1")

    def test_a_table_by_stdin_names_its_columns(self):
        expected = self.rows("lines.txt")
        for name in "t.csv", "other.csv", "semicolons.csv":
            if name == "other.csv": self.write(name, cells([("id", "text"), *(("7", text) for text in TEXTS)], ","))
            if name == "semicolons.csv": self.write(name, cells([("label", "text"), *((label, text) for text, label in ROWS)], ";"))
            self.assertEqual(self.rows("-", stdin=self.read(name)), expected, name)
        self.assertIn("note: stdin: its first line names the column of texts, so it is read as a table",
                      self.neon("predict", "t.safetensors", "-", stdin=self.read("t.csv")).err)
        self.refused(3, "predict", "t.safetensors", "-", stdin=b"text, good film\nbad one\n",
                     says="a first line without the name of the column of texts makes all lines texts")
        self.write("uneven.csv", "good film, really\nbad one\n")
        self.refused(3, "predict", "t.safetensors", "uneven.csv",
                     says="uneven.csv:2:1: this line has 1 cell, the first has 2; lines of texts come by stdin: give - for the file")
        self.write("table.txt", self.read("t.csv").decode())
        self.assertEqual(self.rows("table.txt"), expected)
        self.assertEqual(self.rows("-", stdin=self.read("lines.txt")), expected)

    def test_other_files_of_texts_are_what_they_hold(self):
        """After training with a table named .txt: lines are texts, and rows are known by their header or their classes."""
        for header in [("text", "label")], []:
            self.write("train.txt", cells([*header, *ROWS * 2], "\t"))
            spec = self.spec((SPEC % "train.txt").replace("test: 0", "test: 0, delimiter: tab"), "x.yaml")
            self.neon(spec, "-r", "1", "-s", "t.safetensors", "--overwrite")
            expected = self.rows("-", stdin=self.read("lines.txt"))
            said = self.neon("predict", "t.safetensors", "lines.txt")
            self.assertIn("note: lines.txt: its first line does not name the column of texts, so each line is a text\n", said.err)
            self.assertEqual([line.split(",") for line in said.out.splitlines()[1:]], expected)
            self.assertEqual(self.rows("train.txt")[:4], expected)
            self.assertEqual(len(self.rows("train.txt")), 8)
            self.write("named.txt", cells([("label", "text"), *((label, text) for text, label in ROWS)], "\t"))
            self.assertEqual(self.rows("named.txt"), expected)
            self.refused(None, "eval", "t.safetensors", "lines.txt", says="lines.txt")
            if not header:  # classes may be missing or unknown
                self.write("some.txt", cells([(text, label if i < 2 else ["", "q"][i - 2]) for i, (text, label) in enumerate(ROWS)], "\t"))
                self.assertEqual(self.rows("some.txt"), expected)

    def test_pairs_without_names_come_by_stdin(self):
        rows = [("red", "red", "same"), ("red", "blue", "other"), ("blue", "blue", "same"), ("blue", "red", "other")] * 8
        self.write("pairs.csv", cells(rows, ","))
        self.neon(self.spec((SPEC % "pairs.csv").replace("test: 0", "text: [0, 1], label: 2, test: 0"), "p.yaml"), "-r", "1", "-s", "p.safetensors")
        expected = self.neon("predict", "p.safetensors", "pairs.csv").out
        given = self.neon("predict", "p.safetensors", "-", stdin=self.read("pairs.csv"))
        self.assertEqual(given.out, expected)
        self.assertIn("of 3 columns the texts are column 0 and 1, from 'red' on", given.err)
        without = cells([row[:2] for row in rows], ",").encode()
        self.assertEqual(self.neon("predict", "p.safetensors", "-", stdin=without).out, expected)
        self.refused(None, "predict", "p.safetensors", "-", stdin=b"red\n", says="text: '1' is no column of stdin")

    def test_pairs_of_texts(self):
        """A class that neither text tells alone, but whether both are the same."""
        words = ["red", "green", "blue", "white"]
        pairs = [(a, b, "same" if a == b else "other") for a in words for b in words]
        pairs += [pair for pair in pairs if pair[2] == "same"] * 2
        self.write("pairs.csv", cells([("premise", "hypothesis", "label"), *pairs], ","))
        net = """dataset: {TextClasses: {path: pairs.csv, text: [premise, hypothesis], steps: 3, test: 0}}
layers:
  - Embedding: {embedding_dim: 8, init: {Gaussian: {scale: 0.5}}}
  - LSTM: {output_size: 16, init: GlorotUniform}
  - RecurrentLast
  - Affine: {nout: classes, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 8
epochs: 60
"""
        self.neon(self.spec(net, "p.yaml"), "-r", "1", "-s", "p.safetensors")
        answers = [line.split(",")[1] for line in self.neon("predict", "p.safetensors", "pairs.csv").out.splitlines()[1:]]
        self.assertEqual(answers, [label for _, _, label in pairs])
        # Columns go by name, and are in any order.
        other = cells([("hypothesis", "id", "premise"), ("red", "7", "red"), ("red", "8", "blue")], ",")
        self.write("other.csv", other)
        for data, stdin in ("other.csv", None), ("-", other.encode()):
            given = {"stdin": stdin} if stdin else {}
            said = self.neon("predict", "p.safetensors", data, **given)
            self.assertEqual([line.split(",")[1] for line in said.out.splitlines()[1:]], ["same", "other"])
        self.write("long.csv", cells([("premise", "hypothesis"), ("red red red", "red blue")], ","))
        said = self.neon("predict", "p.safetensors", "long.csv")
        self.assertIn("1 of 1 texts is longer than 3 words, and its end is left out", said.err)
        self.assertIn("0,same,", said.out)
        self.refused(2, "predict", "p.safetensors", "long.csv", "--set", "dataset.steps=2",
                     says="2 steps cannot hold 2 texts and the lines' ends between them; expected at least 3")
        for data, stdin in ("lines.txt", None), ("-", b"red\n"):
            self.refused(2, "predict", "p.safetensors", data, **({"stdin": stdin} if stdin else {}),
                         says="the net takes 2 texts a sample, premise, hypothesis; give a table with these columns")
        self.refused(2, "predict", "p.safetensors", "t.csv", says="text: 'premise' is no column of t.csv")

    def test_a_siamese_net_of_pairs(self):
        """Both texts go through the same weights; the net sees whether they are the same, and so does predict."""
        words = ["red", "green", "blue", "white"]
        pairs = [(f"{a} {b}", f"{c} {b}", "same" if a == c else "other") for a in words for c in words for b in words]
        pairs += [pair for pair in pairs if pair[2] == "same"] * 2
        self.write("pairs.csv", cells([("one", "two", "label"), *pairs], ","))
        net = """dataset: {TextClasses: {path: pairs.csv, text: [one, two], steps: 8, test: 0}}
layers:
  - TextPart: {name: first, inputs: data, part: 0}
  - TextPart: {name: second, inputs: data, part: 1}
  - MergeMultistream:
      inputs: [first, second]
      layers:
        - [Embedding: {name: e, embedding_dim: 8, init: {Gaussian: {scale: 0.5}}}, GRU: {name: g, output_size: 12}, RecurrentLast]
        - [Embedding: {share: e, embedding_dim: 8}, GRU: {share: g, output_size: 12}, RecurrentLast]
  - Affine: {nout: 24, activation: Rectlin}
  - Affine: {nout: classes, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 16
epochs: 40
"""
        self.neon(self.spec(net, "s.yaml"), "-r", "1", "-s", "s.safetensors")
        shapes = {name: shape for name, (_, shape, _) in support.tensors(self.path("s.safetensors"))[0].items()}
        self.assertEqual(sum(name.endswith("W_input") for name in shapes), 1, shapes)
        self.assertIn("first", self.neon("summary", "s.yaml").out)
        answers = [line.split(",")[1] for line in self.neon("predict", "s.safetensors", "pairs.csv").out.splitlines()[1:]]
        self.assertEqual(answers, [label for _, _, label in pairs])
        self.write("some.csv", cells([("one", "two"), *((a, b) for a, b, _ in pairs[3:6])], ","))  # other padding behind
        some = self.neon("predict", "s.safetensors", "some.csv").out.splitlines()[1:]
        self.assertEqual([line.split(",")[1] for line in some], answers[3:6])
        self.refused(2, "check", self.spec(net.replace("part: 1", "part: 2"), "s.yaml"), says="part is 2, but a sample has 2 texts")
        self.refused(2, "check", self.spec(net.replace("[one, two]", "one"), "s.yaml"), says="its input is (8) of one text")

    def test_files_of_an_archive_are_texts(self):
        expected = [row[1:] for row in self.rows("lines.txt")]
        names = [f"in/{i}.txt" for i in range(4)]
        with tarfile.open(self.path("t.tar.gz"), "w:gz") as tar, zipfile.ZipFile(self.path("t.zip"), "w") as zipped:
            for name, text in zip(names, TEXTS):
                self.write(name, text)
                tar.add(self.path(name), name)
                zipped.writestr(name, text)
        for archive in "t.tar.gz", "t.zip":
            self.assertEqual(self.rows(archive), [[name, *rest] for name, rest in zip(names, expected)], archive)
        self.assertEqual(self.rows("t.zip", "lines.txt")[0][0], "t.zip:in/0.txt")
        with open(self.path("t.tar.gz"), "rb") as archive:
            self.assertEqual([row[1:] for row in self.rows("-", stdin=archive.read())], expected)
        self.assertEqual(self.rows("-", stdin=self.read("t.zip")), [[name, *rest] for name, rest in zip(names, expected)])

    def test_cells_may_be_apart_by_other_characters(self):
        found = []
        for name, delimiter, given in ("a.csv", ";", ""), ("b.csv", "|", ', delimiter: "|"'), ("c.txt", "\t", ", delimiter: tab"):
            self.write(name, cells([("text", "label"), *ROWS], delimiter))
            spec = self.spec((SPEC % name).replace("test: 0", "test: 0" + given), "o.yaml")
            self.neon(spec, "-r", "1", "-s", "t.safetensors", "--overwrite")
            found.append(self.rows("lines.txt"))
            self.assertEqual(self.rows(name), found[-1])
        self.assertEqual(found, [found[0]] * 3)
        os.makedirs(self.path("f/p")), os.makedirs(self.path("f/n"))
        self.write("f/p/1.txt", "a"), self.write("f/n/1.txt", "b")
        self.refused(2, "check", self.spec((SPEC % "f").replace("test: 0", "test: 0, delimiter: tab"), "f.yaml"),
                     says="delimiter: tab is for a table, and f is a folder")

    def test_an_archive_is_read_as_its_folder(self):
        for part in "train", "test":
            for i in range(8):
                self.write(f"in/f/{part}/{'pn'[i % 2]}/{i % 3}/{i}.txt", TEXTS[i % 4] + f" {part} {i}")
        self.write("in/f/README", "a file beside the folders"), self.write("in/f/train/urls.txt", "x"), self.write("in/f/train/p/.h", "y")
        with tarfile.open(self.path("f.tar.gz"), "w:gz") as tar, zipfile.ZipFile(self.path("f.zip"), "w") as zipped:
            tar.add(self.path("in/f"), "f")
            for folder, _, names in os.walk(self.path("in/f")):
                for name in names: zipped.write(os.path.join(folder, name), os.path.relpath(os.path.join(folder, name), self.path("in")))
        found = []
        for path in "in/f", "f.tar.gz", "f.zip":
            spec = self.spec((SPEC % path).replace(", test: 0", ""), "f.yaml")
            self.assertIn(f"{path}: 8 training and 8 test samples (128), 2 classes", self.neon("check", spec).out)
            self.neon(spec, "-r", "1", "-s", "f.safetensors", "--overwrite")
            found.append(support.tensors(self.path("f.safetensors"))[0])
        self.assertEqual(found, [found[0]] * 3)
        self.assertIn("its 4 lines are a text each", self.neon("predict", "f.safetensors", "lines.txt").err)
        with tarfile.open(self.path("classes.tar"), "w") as tar: tar.add(self.path("in/f/train"), ".")
        said = self.neon("check", self.spec((SPEC % "classes.tar").replace(", test: 0", ", test: 0.25"), "c.yaml")).out
        self.assertIn("classes.tar: 6 training and 2 test samples (128), 2 classes", said)
        self.refused(2, "check", self.spec((SPEC % "f.zip").replace("test: 0", "text: a"), "f.yaml"), says="text: a is for a table, and f.zip is an archive")

    def test_eval_takes_a_folder_with_parts(self):
        for part in "train", "test":
            for i in range(4):
                self.write(f"f/{part}/{'pn'[i % 2]}/{i}.txt", TEXTS[i])
        self.neon(self.spec((SPEC % "f").replace(", test: 0", ""), "f.yaml"), "-r", "1", "-s", "f.safetensors")
        usual, given = (self.neon("eval", "f.safetensors", *more) for more in ([], ["f"]))
        self.assertEqual(*(re.search(r"cost [\d.]+", result.out)[0] for result in (usual, given)))
        self.assertIn("note: f has 4 training and 4 test samples", given.err)

    def test_rare_tokens_of_a_text_are_no_imbalance(self):
        self.write("book.txt", "aaaaaaaab" * 40)
        said = self.neon("check", self.spec(SPEC.replace("TextClasses: {path: %s, test: 0}", "Text: {path: book.txt, steps: 2}")
                                            .replace("  - RecurrentMean\n", ""), "b.yaml"))
        self.assertNotIn("class_weights", said.out + said.err)

    def test_a_text_that_is_no_utf8_is_named(self):
        self.write("f/a.txt", "abc\n"), self.write("f/b.txt", b"fg\n\xff")
        with zipfile.ZipFile(self.path("f.zip"), "w") as zipped:
            zipped.write(self.path("f/a.txt"), "a.txt"), zipped.write(self.path("f/b.txt"), "b.txt")
        text = SPEC.replace("TextClasses: {path: %s, test: 0}", "Text: {path: %s, steps: 2}")
        for path, place in ("f", "f/b.txt"), ("f.zip", "f.zip: b.txt"), ("f/b.txt", "f/b.txt"):
            self.refused(3, "check", self.spec(text % path, "f.yaml"), says=place + ": byte 3 (255), in line 2, begins no UTF-8 character")
        self.write("c/a/1.txt", "abc d"), self.write("c/b/2.txt", b"caf\xe9 d")
        classes = (SPEC % "c").replace("batch_size: 4", "batch_size: 2")
        self.refused(3, "check", self.spec(classes.replace("test: 0", "test: 0, unit: characters"), "c.yaml"),
                     says="c/b/2.txt: byte 3 (233), in line 1, begins no UTF-8 character")
        self.assertIn("c/b/2.txt: byte 3 (233), in line 1, begins no UTF-8 character; 1 text is no UTF-8",
                      self.neon("check", self.spec(classes, "c.yaml")).err)

    def test_a_long_table_takes_time_by_its_length(self):
        """A line's number is not counted from the start for each text: that would take minutes."""
        self.write("long.csv", "text,label\n" + "a b,p\nc,n\n" * 50000)
        self.assertIn("100000 training", self.neon("check", self.spec(SPEC % "long.csv", "l.yaml")).out)

    def test_words_that_are_no_utf8_stay_those_of_the_run(self):
        """A checkpoint has them byte by byte: the run goes on, and predict finds them in the vocabulary."""
        rows = [(f"un film {word}".encode("latin-1"), label) for word, label in (("d\xe9j\xe0", "p"), ("\xe9t\xe9", "n"), ("bien", "p"), ("mal", "n"))]
        self.write("l.csv", b"text,label\n" + b"".join(text + b"," + label.encode() + b"\n" for text, label in rows * 4))
        self.write("l.txt", b"\n".join(text for text, _ in rows) * 40)
        self.write("lines.txt", b"un film d\xe9j\xe0\n")
        text = SPEC.replace("TextClasses: {path: %s, test: 0}", "Text: {path: l.txt, unit: words, steps: 4}") \
            .replace("  - RecurrentMean\n", "  - LSTM: {output_size: 4}\n")
        warned = ": byte 9 (233), in line 1, begins no UTF-8 character; "
        for content, file in ((SPEC % "l.csv").replace("{path: l.csv", "{unit: words, path: l.csv"), "l.csv:2:1"), (text, "l.txt"):
            begun = self.neon(self.spec(content, "l.yaml"), "-r", "1", "-e", "2", "-s", "whole")
            self.assertRegex(begun.err, re.escape(f"warning: {file}{warned}") + ".*words are taken as they are: letters look otherwise in UTF-8\n")
            self.neon("l.yaml", "-r", "1", "-e", "1", "-s", "part")
            self.neon("resume", "part", "-e", "2")
            self.assertEqual(support.tensors(self.path("whole"))[0], support.tensors(self.path("part"))[0])
            if file != "l.txt":
                self.assertNotIn("not in the vocabulary", self.neon("predict", "part", "lines.txt").err)


if __name__ == "__main__":
    support.main()
