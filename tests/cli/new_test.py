#!/usr/bin/python3
"""neon new: a spec for the user's own data, which checks and trains at once."""
import os
import random
import re
import tarfile
import zipfile

import support
from support import png, write_colours


class New(support.Case):
    def trained(self, *words, epochs=2):
        """The spec, and the last line of results of a training by it."""
        spec = self.neon("new", *words).out
        self.assertTrue(spec.startswith("# neon new "), spec)
        self.write("new.yaml", spec)
        self.neon("check", "new.yaml")
        out = self.neon("-r", "1", "-e", str(epochs), "-z", "8", "new.yaml").out
        return spec, out

    def test_photos(self):
        write_colours(self)
        spec, out = self.trained("photos", "colours", epochs=6)
        self.assertIn("colours: 100 images of 2 classes: blue, red", spec)
        self.assertIn("size: 9 ", spec)  # the images are 12 x 9
        self.assertNotIn("test: auto", spec)
        # The classes differ by their colour alone.
        self.assertLess(float(re.search(r"Top1Misclass (\S+) %", out)[1]), 30)

    def test_photos_without_a_test_folder(self):
        import numpy as np
        draw = np.random.default_rng(1)
        for kind in "cat", "d o'g":
            for i in range(10):
                self.write(f"my photos/{kind}/{i}.png", png(draw.integers(0, 255, (80, 70, 3), dtype=np.uint8)))
        spec, out = self.trained("photos", "my photos", epochs=1)
        self.assertIn('path: "my photos"\n', spec)
        self.assertIn("test: auto ", spec)
        self.assertIn("size: 64 ", spec)
        self.assertIn("test: Top1Misclass", out)

    def test_a_table_of_classes(self):
        draw = random.Random(2)
        rows = [(f"{draw.gauss(k % 3, 0.1):.3f}", "red" if k % 2 else "blue", ["a", "b", "c"][k % 3]) for k in range(90)]
        self.write("t.csv", "x,colour,kind\n" + "".join(",".join(row) + "\n" for row in rows))
        spec, out = self.trained("table", "t.csv", epochs=20)
        self.assertIn("t.csv: 90 rows; ", spec)
        self.assertIn("classes: a, b, c", spec)
        self.assertIn("target: kind ", spec)
        self.assertLess(float(re.search(r"Top1Misclass (\S+) %", out)[1]), 40)  # by chance 67 %
        spec, _ = self.trained("table", "t.csv", "colour")
        self.assertIn("target: colour ", spec)
        self.assertIn("classes: blue, red", spec)

    def test_a_table_of_values(self):
        draw = random.Random(3)
        self.write("1.csv", "a,b,y\n" + "".join(f"{a:.3f},{b:.3f},{3 * a - b + 100.5:.3f}\n" for a, b in
                                                ((draw.random(), draw.random()) for _ in range(200))))
        spec, out = self.trained("table", "1.csv", epochs=30)
        self.assertIn("the target is a value", spec)
        self.assertIn("cost: MeanSquared", spec)
        self.assertGreater(float(re.search(r"R2 (\S+)", out)[1]), 0.9)

    def test_a_text(self):
        self.write("book.txt", "the sea and the ship and the storm. " * 200)
        spec, out = self.trained("text", "book.txt", epochs=4)
        self.assertIn("book.txt: 7200 characters, 14 different ones", spec)
        # log2 14 = 3.81 bits where nothing is foretold.
        self.assertLess(float(re.search(r"BitsPerCharacter (\S+)", out)[1]), 3)

    def test_texts_with_classes(self):
        words = {"good": ["fine", "great"], "bad": ["poor", "dull"]}
        rows = [(kind, f"a {words[kind][i % 2]} film number {i}") for i in range(30) for kind in words]
        for k, (kind, line) in enumerate(rows):
            self.write(f"parts/{'test' if k % 6 < 2 else 'train'}/{kind}/{k}.txt", line)
            self.write(f"alone/{kind}/{k}.txt", line)
        self.write("reviews.csv", "text,label\n" + "".join(f"{line},{kind}\n" for kind, line in rows))
        self.write("alone/.DS_Store", "of the file manager")
        with tarfile.open(self.path("parts.tar.gz"), "w:gz") as tar: tar.add(self.path("parts"), "in/parts")
        with zipfile.ZipFile(self.path("alone.zip"), "w") as zipped:
            for kind in words:
                for name in os.listdir(self.path(f"alone/{kind}")): zipped.write(self.path(f"alone/{kind}/{name}"), f"{kind}/{name}")
        for path in "parts", "alone", "reviews.csv", "parts.tar.gz", "alone.zip":
            spec, out = self.trained("text", path, epochs=4)
            self.assertIn(f"# {path}: 60 texts of 2 classes: bad, good\n", spec)
            self.assertIn("  TextClasses:\n", spec)
            self.assertLess(float(re.search(r"Top1Misclass (\S+)", out)[1]), 20)
        self.write("book/one.txt", "the sea and the ship. " * 40), self.write("book/more/two.txt", "the storm. " * 40)
        with tarfile.open(self.path("book.tar"), "w") as tar: tar.add(self.path("book"), "book")
        for path in "book", "book.tar":
            self.assertIn("  Text:\n", self.neon("new", "text", path).out)

    def test_a_table_of_pairs_has_its_columns_found(self):
        rows = "".join(f"the sky of day {i} is {'blue' if i % 3 else 'grey'},it {'does not rain' if i % 2 else 'rains'} on day {i},{i},"
                       f"{('agrees', 'differs', 'other')[i % 3]}\n" for i in range(60))
        self.write("pairs.csv", "premise,hypothesis,row,verdict\n" + rows)
        spec, _ = self.trained("text", "pairs.csv", epochs=1)
        self.assertIn("# pairs.csv: 60 texts of 3 classes: agrees, differs, other\n", spec)
        self.assertIn("    text: [premise, hypothesis]    # the columns", spec)
        self.assertIn("    label: verdict    # the column", spec)
        said = self.neon("new", "text", "pairs.csv", "--set", "dataset.label=verdict", "--set", "dataset.text=hypothesis").out
        self.assertIn("pairs.csv: 60 texts of 3 classes", said)
        self.assertNotIn("premise", said)
        self.write("plain.csv", rows.replace(",agrees", ",a").replace("on day", "on this day"))  # the first line may be a sample
        said = self.neon("new", "text", "plain.csv", code=None)
        self.assertNotIn("the columns whose texts", said.out)

    def test_tiny_photos(self):
        import numpy as np
        draw = np.random.default_rng(5)
        for side, poolings in (1, 0), (2, 1), (3, 1), (4, 2):
            for kind in "ab":
                for i in range(5):
                    self.write(f"of{side}/{kind}/{i}.png", png(draw.integers(0, 255, (side, side, 3), dtype=np.uint8)))
            spec, _ = self.trained("photos", f"of{side}", epochs=1)
            self.assertEqual(spec.count("Pooling: 2\n"), poolings)

    def test_whole_numbers_need_a_word(self):
        draw = random.Random(6)
        rows = [(draw.random(), draw.random()) for _ in range(60)]
        self.write("count.csv", "a,b,n\n" + "".join(f"{a:.3f},{b:.3f},{int(100 * a) + 7}\n" for a, b in rows))
        self.refused(2, "new", "table", "count.csv",
                     says="; retry with --set dataset.task=classes or --set dataset.task=regression")
        spec, out = self.trained("table", "count.csv", "--set", "dataset.task=regression")
        self.assertIn("# neon new table count.csv --set dataset.task=regression\n", spec)
        self.assertIn("    task: regression\n", spec)
        self.assertIn("the target is a value", spec)
        self.assertIn("RMSE", out)

    def test_an_unclear_first_line_needs_a_word(self):
        draw = random.Random(7)
        self.write("head.csv", "1,2,3\n" + "".join(f"{draw.random():.3f},{draw.random():.3f},{draw.random():.3f}\n" for _ in range(60)))
        self.refused(2, "new", "table", "head.csv", says="--set dataset.header=true or --set dataset.header=false")
        spec, _ = self.trained("table", "head.csv", "--set", "dataset.header=true", "--set", "dataset.test=0.5")
        self.assertIn(": 60 rows; ", spec)
        self.assertIn('    target: "3" ', spec)  # a name, not a number
        self.assertIn("    test: 0.5\n", spec)
        self.assertNotIn("test: 0.2", spec)
        self.assertIn(": 61 rows; ", self.trained("table", "head.csv", "--set", "dataset.header=false")[0])

    def test_bytes_of_a_text(self):
        self.write("latin.txt", b"the s\xe9a and the sh\xeep. " * 200)
        self.refused(3, "new", "text", "latin.txt", says="retry with --set dataset.unit=bytes")
        spec, out = self.trained("text", "latin.txt", "--set", "dataset.unit=bytes", epochs=1)
        self.assertIn("latin.txt: 4400 bytes, 256 different ones", spec)
        self.assertIn("    unit: bytes\n", spec)
        self.assertIn("# bytes that the net learns from at a time", spec)

    def test_names_that_yaml_reads_as_other_types(self):
        import yaml
        for name in "null", "true", "~", "1e3", "no", "2001-12-14", "0x1F", "12:30", "a: b":
            self.write("t.csv", f'x,"{name}"\n' + "".join(f"{k / 7:.3f},{'pq'[k % 2]}\n" for k in range(40)))
            spec = self.neon("new", "table", "t.csv").out
            self.assertEqual(yaml.safe_load(spec)["dataset"]["CSV"]["target"], name)
        self.trained("table", "t.csv")

    def test_a_table_of_one_row(self):
        self.write("one.csv", "a,b\n1,2.5\n")
        says = "one.csv: 1 row is too few to test with 0.2 of them; add rows, give a second file as test, or test: 0 to train with all"
        self.refused(3, "new", "table", "one.csv", says=says + "; retry with --set dataset.test=0")
        out = self.neon("new", "table", "one.csv", "--set", "dataset.test=0").out
        self.assertIn("# one.csv: 1 row; columns become 1 number; the target is a value\n", out)

    def test_what_is_refused(self):
        self.write("some.csv", "a,b\n1.5,2.5\n")
        self.refused(2, "new", "table", "some.csv", "--set", "epochs=3", says=["--set epochs=3", "--set dataset.KEY=VALUE"])
        self.refused(2, "new", "table", "some.csv", "--set", "dataset.tset=0.3", says="did you mean test?")
        self.refused(3, "new", "table", "som.csv", says="som.csv: no such file or folder; did you mean some.csv?")
        self.refused(2, "new", "photos", says=["nothing to look at", "usage: neon new photos FOLDER"])
        self.refused(2, "new", "photos", "a", "b", says="'b' is one operand too many after 'a'")
        self.refused(2, "new", "fotos", "a", says="did you mean photos?")
        write_colours(self)
        for verb in "table", "text":
            self.refused(2, "new", verb, "colours", says=["colours: holds images, such as 'colours/", "; neon new photos colours prints a spec for them"])
        self.refused(2, "new", "photos", "some.csv", says="some.csv: is a table, not a folder; neon new table some.csv prints a spec for it")
        self.refused(3, "new", "photos", "nowhere", says="nowhere: no such file or folder")
        self.refused(3, "new", "table", "none.csv", says="none.csv")
        reviews = "".join(f"{i},some words and the number {i},{'ab'[i % 2]}\n" for i in range(60))
        self.write("reviews.csv", "id,review,kind\n" + reviews)
        self.refused(3, "new", "table", "reviews.csv", says="for texts that each have a class: neon new text reviews.csv")
        self.refused(2, "new", "table", "/dev/stdin", says="is a pipe, which a spec cannot read again")
        self.write("t.csv", "a,b\n1.5,2.5\n2.5,3.5\n")
        self.refused(2, "new", "table", "t.csv", "c", says="'c'")
        self.write("empty.csv", "a,b,note\n1.5,2.5,\n2.5,3.5,x\n")
        named = "neon new table empty.csv COLUMN"
        self.refused(3, "new", "table", "empty.csv", says=["empty.csv:2:9: the target is empty", "the target is the last column", named])
        self.assertNotIn(named, self.refused(3, "new", "table", "empty.csv", "note", says="the target is empty").err)
        self.write("short.txt", "abc")
        self.refused(3, "new", "text", "short.txt", says="too short")


if __name__ == "__main__":
    support.main()
