#!/usr/bin/python3
"""Files of neon 0.9 to 2.6 are checked, converted and trained as they are."""
import os
import pathlib
import re
import sys
import unittest

import support
from support import Case, tensors

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "old"))
from inventory import INVENTORY, LATER

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "old")


def sets(old):
    return [part for option in old.data for part in ("--set", option)]


class OldSpecs(Case):
    def old_path(self, old):
        return os.path.normpath(os.path.join(FOLDER, old.name + ".yaml"))

    def rows(self, page):
        """(shape, parameters) of each layer that `neon summary` prints, branches aside."""
        out = []
        for line in page.splitlines()[1:]:
            found = re.match(r" *(?:\d: )?\S+ +\S+ +\(([\d, ]+)\) +(\d+) ", line)
            if found:
                out.append(tuple(int(n) for n in found[1].split(",")))
        return out

    def test_every_file_of_the_inventory_is_here(self):
        files = sorted(name[:-5] for name in os.listdir(FOLDER) if name.endswith(".yaml"))
        self.assertEqual(files, sorted(old.name for old in INVENTORY))
        self.assertEqual(len(files), 29)

    def test_shapes_and_parameters(self):
        for old in INVENTORY + LATER:
            with self.subTest(old.name):
                page = self.neon("summary", self.old_path(old), "-b", "cpu", *sets(old)).out
                self.assertEqual(sorted(self.rows(page)), sorted(old.shapes))
                self.assertIn(f"\n{old.parameters} parameters,", page)

    def test_check_passes_without_the_data(self):
        for old in INVENTORY + LATER:
            with self.subTest(old.name):
                checked = self.neon("check", self.old_path(old), "-b", "cpu", code=None)
                self.assertIn(checked.code, (0, 3), str(checked))  # 3: the data is not here
                self.assertIn("spec ", checked.out)

    def test_converted_files_say_the_same(self):
        for old in INVENTORY + LATER:
            with self.subTest(old.name):
                converted = self.neon("convert", self.old_path(old)).out
                self.assertNotIn("!obj:", re.sub("#.*", "", converted))
                self.write("new.yaml", converted)
                resolved = [self.neon("check", "--resolved", path, "-b", "cpu").out
                            for path in (self.old_path(old), "new.yaml")]
                self.assertEqual(*resolved)

    def test_todays_keys_count_in_a_file_of_1x(self):
        keys = re.findall(r"(?m)^  (\w+): ", self.neon("help", "spec").out)
        self.assertIn("shuffle", keys)
        for key in keys:
            if key not in ("define", "layers"):
                self.write("s.yaml", f"layers:\n- {{type: Affine, config: {{nout: 3}}}}\n{key}: {{nothing: that_is_right}}\n")
                said = self.neon("convert", "s.yaml", code=None)
                self.assertNotIn("is no key of neon 1.x", said.out + said.err, key)

    def test_convert_refuses_what_check_refuses(self):
        good = (pathlib.Path(FOLDER) / "1x/mnist_mlp-2.6.yaml").read_text()
        for old, new, says in [
                ("type: Activation", "type: Activashun", "unknown layer 'Activashun'; did you mean Activation"),
                ("nout: 10,", "nout: 10, colour: red,", "unknown key 'colour'"),
                ("momentum_coef", "momentm_coef", "unknown key 'momentm_coef'; did you mean momentum_coef"),
                ("name: mnist", "name: mnst", "unknown dataset 'mnst'; did you mean MNIST"),
                ("CrossEntropyBinary", "CrossEntropyBinari", "did you mean CrossEntropyBinary")]:
            with self.subTest(new):
                self.assertIn(old, good)
                self.write("wrong.yaml", good.replace(old, new, 1))
                said = self.refused(2, "convert", "wrong.yaml", says=says)
                self.assertEqual(said.out, "")
                checked = self.refused(2, "check", "wrong.yaml", says=says).err
                self.assertEqual(said.err, re.sub(r"note: wrong.yaml is of neon .*\n", "", checked))

    def test_mnist_of_1x_is_drawn_where_it_is_not_here(self):
        for word in ("{name: mnist}", "mnist"):
            self.write("word.yaml", (pathlib.Path(FOLDER) / "1x/mnist_mlp-2.6.yaml").read_text().replace("{name: mnist}", word))
            converted = self.neon("convert", "word.yaml").out
            self.assertIn("dataset:\n  MNIST:\n    fallback: Digits\n", converted)
            self.assertIn("fallback: digits that neon draws stand in for MNIST", converted)

    def test_what_is_advised_exists(self):
        """Verbs and options in the texts of the translator and of the vocabulary are those of the program."""
        page = self.neon("--help").out
        verbs = set(re.findall(r"(?m)^  neon ([a-z][\w-]*)", page)) | {"draws", "multiplies", "reads", "reports", "trains"}
        texts = [(ROOT / "tools/vocabulary_names.txt").read_text()]
        for path in sorted((ROOT / "neon/spec").rglob("*.cpp")):
            joined = re.sub(r'"\s*\n\s*"', "", path.read_text())
            texts += re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)
        found = 0
        for text in texts:
            for verb in re.findall(r"\bneon ([a-z][\w-]+)", text):
                self.assertIn(verb, verbs, text)
            for option, operand in re.findall(r"(?<![\w-])(--?[a-z]\w+|-[a-su-z]) (FILE|N)\b", text):
                here = re.search(rf"(?m)^  (?:.*, )?{option}(?:, --\w+)* {operand}\b", page)
                self.assertTrue(here, f"{option} {operand} of: {text}")
                found += 1
        self.assertGreater(found, 5)

    def test_i1k_names_the_command_that_makes_its_folder(self):
        for name in "i1k_b.yaml", "i1ks":
            self.write(name, "dataset: Iris")  # files that no set of images can be in
        os.mkdir(self.path("i1k_small"))
        old = os.path.join(FOLDER, "1x/alexnet-2.6.yaml")
        run = self.refused(3, old, "-b", "cpu", says="i1k: no such folder (neon data pack IMAGES i1k); looked for i1k, ")
        self.assertIn("; did you mean i1k_small?", run.err)
        self.assertIn("get it with: neon data pack IMAGES i1k\n", self.neon("check", old, "-b", "cpu", code=3).out)

    def test_home_in_paths_of_the_file(self):
        """~ is the user's folder, as in 0.9; here that is the test's."""
        text = (pathlib.Path(FOLDER) / "mlp-iris-small.yaml").read_text()
        self.assertIn("batch_size: 30,", text)
        self.write("h.yaml", text.replace("batch_size: 30,", "batch_size: 30, serialized_path: '~/kept/h.prm', serialize_schedule: 1,", 1))
        os.mkdir(self.path("elsewhere"))
        self.neon("../h.yaml", "-b", "cpu", "-r", "0", "-e", "2", cwd=self.path("elsewhere"))
        self.assertTrue(os.path.exists(self.path("kept/h.safetensors")))
        self.assertEqual([name for name in os.listdir(self.path("elsewhere")) if name.startswith("~")], [])

    def test_rounding_of_older_neons(self):
        """-u 1 switched stochastic rounding on in 0.9; here it is a number of bits."""
        old = os.path.join(FOLDER, "mlp-iris-small.yaml")
        once = ["-b", "cpu", "-r", "0", "-e", "2"]
        weights = []
        for number, options in enumerate((["-u", "1"], ["-u"])):
            run = self.neon(old, *once, "-s", f"r{number}.safetensors", *options)
            self.assertEqual("note: -u 1 of neon 0.9 is -u here" in run.err, number == 0, run.err)
            found = tensors(self.path(f"r{number}.safetensors"))[0]
            weights.append({name: values for name, values in found.items() if name.endswith("/W")})
        self.assertEqual(len(weights[0]), 2)
        self.assertEqual(*weights)
        native = self.write("n.yaml", self.neon("convert", old).out)
        self.assertIn("warning: -u 1 keeps 1 bit of mantissa", self.neon(native, *once, "-u", "1").err)
        text = (pathlib.Path(FOLDER) / "1x/mnist_mlp-2.6.yaml").read_text()
        self.assertIn("momentum_coef:", text)
        self.write("x.yaml", text.replace("momentum_coef:", "stochastic_round: True, momentum_coef:", 1))
        self.assertIn("# Options that it named: neon SPEC -u\n", self.neon("convert", "x.yaml").out)

    def test_options_that_meant_other_things_in_0_9_are_noted(self):
        old, later = (os.path.join(FOLDER, name + ".yaml") for name in ("mlp-iris-small", "1x/mnist_mlp-2.6"))
        once = ["-b", "cpu", "-r", "0", "-e", "2"]
        for options, note in ((["-s", "a"], "note: -s saves checkpoints under this name; in neon 0.9 it profiled the run"),
                              (["-o=a.h5"], "note: -o writes the metrics to an HDF5 file of this name; in neon 0.9 it added a row"),
                              (["-l"], "note: -l writes a log; in neon 0.9 it served live inference")):
            said = self.neon(*options, old, *once).err
            self.assertIn(note, said)
            self.assertEqual(len(re.findall("note: -[a-z] ", said)), 1, said)
            self.assertNotIn("in neon 0.9", self.neon(*options, self.spec(name="n.yaml"), *once).err)
        self.assertNotIn("in neon 0.9", self.neon("--save_path=b", old, *once).err)
        self.assertNotIn("in neon 0.9", self.neon("-s", "c", "check", later, "-b", "cpu", code=None).err)

    def test_a_run_says_where_decisions_are_printed(self):
        for name, version in ("mlp-iris-small", "0.9"), ("1x/mnist_mlp-2.6", "1.2"):
            path = os.path.join(FOLDER, name + ".yaml")
            said = self.neon("check", path, "-b", "cpu", code=None).err
            self.assertRegex(said, rf"note: \S+ is of neon {version}; neon convert \S+ prints what it means here")

    def test_short_runs(self):
        for old in INVENTORY + LATER:
            if old.large:
                continue
            with self.subTest(old.name):
                for path, content in old.files.items():
                    self.write(path, content)
                run = self.neon(self.old_path(old), "-b", "cpu", "-w", self.folder, "-r", "0", *sets(old), *old.train)
                self.assertRegex(run.out, r"trained \d+ epochs?")


if __name__ == "__main__":
    support.main()
