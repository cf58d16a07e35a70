#!/usr/bin/python3
"""Messages that a first day with neon brings: each names what is wrong, and the command or the value that mends it."""
import os
import random

import support
from support import IRIS, Case, png

PHASES = """\
phases:
  - {name: first, epochs: 1}
  - {name: second, epochs: 2}
"""
TABLE = "dataset: {CSV: {path: t.csv, test: 0.25}}\n" + IRIS[IRIS.index("layers"):]
DIGITS = "dataset: {Digits: {ntrain: 64, ntest: 32}}\n" + IRIS[IRIS.index("layers"):].replace("nout: 3", "nout: 10")
TEXT = """\
dataset: {Text: {path: book.txt, steps: 6}}
layers:
  - LSTM: {output_size: 4, init: GlorotUniform}
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}
batch_size: 4
epochs: 1
"""


class Tables(Case):
    def write_table(self, classes="xyz", rows=60):
        draw = random.Random(1)
        lines = [f"{draw.random():.3f},{draw.random():.3f},{draw.random():.3f},{classes[i % len(classes)]}" for i in range(rows)]
        self.write("t.csv", "\n".join(["a,b,c,species", *lines, ""]))

    def test_costs_of_classes_refuse_values(self):
        self.write("v.csv", "x,price\n" + "".join(f"{i},{3 * i}.5\n" for i in range(40)))
        spec = "dataset: {CSV: {path: v.csv, task: regression}}\nlayers: [Affine: {nout: 1, init: Kaiming%s}]\ncost: %s\n" \
            "optimizer: {SGD: {learning_rate: 0.0001}}\nbatch_size: 8\nepochs: 1\n"
        self.refused(2, self.spec(spec % ("", "CrossEntropyMulti")), says="MeanSquared suits values")
        self.refused(2, "check", self.spec(spec % ("", "CrossEntropyMulti")),
                     says=["s.yaml:3:", "CrossEntropyMulti compares classes, and the targets are values: MeanSquared suits values"])
        self.refused(2, self.spec(spec % (", activation: Logistic", "CrossEntropyBinary")),
                     says=["s.yaml:3:", "CrossEntropyBinary compares outputs with targets between 0 and 1, and a target is ", "MeanSquared suits"])
        self.neon(self.spec(spec % ("", "MeanSquared")))
        self.write("v.csv", "x,bought\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
        self.neon(self.spec(spec.replace("{path: v.csv,", "{path: v.csv, standardize: false,") % (", activation: Logistic", "CrossEntropyBinary")))

    def test_the_usual_batch_is_at_most_the_training_set(self):
        usual = "\n".join(line for line in IRIS.splitlines() if "batch_size" not in line)
        spec = self.spec(usual)
        self.neon("-r", "1", "-e", "2", "-s", "m", spec)
        said = self.neon("-r", "1", "-e", "1", "-s", "m", spec).err
        self.assertIn("note: batch_size: 120, the whole training set, which is smaller than the default of 128", said)
        self.assertIn("batch 120", self.neon("check", spec).out)
        self.assertIn("batch_size: 120", self.neon("check", "--resolved", spec).out)
        self.neon("resume", "m", "-e", "2")
        resumed = self.read("m")
        self.neon("-r", "1", "-e", "2", "-s", "m2", spec)
        whole = self.neon("predict", "m2", "-", stdin=b"5.1,3.5,1.4,0.2\n").out
        self.assertEqual(self.neon("predict", "m", "-", stdin=b"5.1,3.5,1.4,0.2\n").out, whole)
        self.assertTrue(resumed)
        self.neon("-r", "1", "-b", "cpu", "-m", "2", "-e", "1", spec)
        # A chosen one stays an error with its place.
        self.refused(2, self.spec(usual + "\nbatch_size: 128\n"), says="batch_size: 128 is larger than the training set of 120")

    def test_data_that_is_gone_or_changed(self):
        self.write_table()
        self.neon("-r", "1", "-e", "1", "-s", "m", self.spec(TABLE))
        os.rename(self.path("t.csv"), self.path("moved.csv"))
        for verb in "eval", "resume":
            self.refused(3, verb, "m", says=["t.csv: no such file", "m reads its data there", "--set dataset.path=PLACE"])
        self.neon("eval", "m", "--set", "dataset.path=moved.csv")
        self.write_table(rows=52)
        said = self.refused(3, "resume", "m", "-e", "2", says=["t.csv: the data are not those that the run began with"])
        self.assertNotIn("going on", said.err)

    def test_tables_without_some_columns(self):
        self.write_table()
        self.neon("-r", "1", "-e", "1", "-s", "m", self.spec(TABLE))
        self.write("new.csv", "a,b,c\n1,2,3\n")
        self.refused(2, "eval", "m", "new.csv", says=["has no column 'species'", "neon predict m new.csv prints outputs without targets"])
        several = TABLE.replace("test: 0.25", "test: 0.25, targets: {species: classes}").replace("cost: CrossEntropyMulti", "outputs: {species: CrossEntropyMulti}")
        self.neon("-r", "1", "-e", "1", "-s", "n", self.spec(several))
        self.refused(2, "eval", "n", "new.csv", says=["targets: ", "has no column 'species'", "neon predict n new.csv prints outputs without targets"])
        self.write("two.csv", "b,colour\n1,2\n")
        self.refused(3, "predict", "m", "two.csv", says="two.csv: has no columns 'a', 'c'")

    def test_counts_have_their_nouns(self):
        said = self.neon("-r", "1", "-e", "1", self.spec()).out
        self.assertIn("trained 1 epoch in", said)
        self.assertIn("nothing was saved: -s FILE saves the net\nnext: ", said)
        self.assertNotIn("nothing was saved", self.neon("-r", "1", "-e", "2", "-s", "m", "s.yaml").out)
        one = IRIS.replace("  - Affine: {nout: 8, init: Kaiming, activation: Tanh}\n", "")
        self.assertRegex(self.neon("check", "-e", "1", self.spec(one)).out, r": 1 layer, .* 1 epoch\n")

    def test_files_under_names_of_other_kinds(self):
        said = self.neon("-e", "1", "-o", "x.html", self.spec()).err
        self.assertIn("warning: -o x.html: the metrics are written as HDF5 under this name; neon plot x.html -o report.html writes a page", said)
        self.assertNotIn("HDF5", self.neon("-e", "1", "-o", "x.h5", self.spec()).err)


class Phases(Case):
    def test_a_last_phase_that_has_not_trained(self):
        spec = self.spec("\n".join(line for line in IRIS.splitlines() if "epochs" not in line) + "\n" + PHASES)
        said = self.neon("-r", "1", "-e", "1", "-s", "m", spec).out
        self.assertRegex(said, r"(?m)^next: \S+ resume m -e 3$")
        untrained = "the last phase, second, has not trained yet: neon resume m -e 3 trains it"
        self.assertIn("warning: m: " + untrained, self.neon("eval", "m").err)
        self.assertIn(untrained, self.neon("predict", "m", "-", stdin=b"5.1,3.5,1.4,0.2\n").err)
        self.assertIn("warning: m: " + untrained, self.neon("export", "m", "--npz").err)
        self.assertIn("note: m: no evaluation: " + untrained, self.neon("plot", "m", "-o", "page.html").err)
        self.assertIn("the run has done its 1 epoch; " + untrained, self.neon("resume", "m").err)
        said = self.neon("resume", "m", "-e", "3")
        self.assertRegex(said.out, r"(?m)^next: \S+ eval m$")
        self.assertNotIn("has not trained", self.neon("eval", "m").err)
        self.assertNotIn("no evaluation", self.neon("plot", "m", "-o", "page.html").err)

    def test_the_folder_of_a_run_has_no_evaluation_of_a_net_that_has_not_trained(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        spec = self.spec("\n".join(line for line in IRIS.splitlines() if "epochs" not in line) + "\n" + PHASES)
        self.assertIn("note: no eval.json: the last phase, second, has not trained yet", self.neon("-r", "1", "-e", "1", spec).err)
        self.assertFalse(os.path.exists(self.path("runs/s-1/eval.json")))
        self.neon("resume", "runs/s-1", "-e", "3")
        self.assertTrue(os.path.exists(self.path("runs/s-1/eval.json")))

    def test_a_text_of_a_net_that_has_not_trained(self):
        self.write("book.txt", "to be or not to be " * 40)
        net = ("  - LSTM: {output_size: 4, init: GlorotUniform}\n  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}\n"
               "cost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 4\n")
        spec = self.write("b.yaml", "dataset: {Text: {path: book.txt, steps: 6}}\nlayers:\n" + net + PHASES)
        self.neon("-r", "1", "-e", "1", "-s", "b", spec)
        self.assertIn("warning: b: the last phase, second, has not trained yet", self.neon("sample", "b", "--length", "3").err)


class Images(Case):
    def test_tables_for_a_net_of_images(self):
        self.neon("-r", "1", "-e", "1", "-s", "m", self.spec(DIGITS))
        self.write("flowers.csv", "a,b,kind\n1,2,tulip\n3,4,rose\n")
        self.refused(3, "predict", "m", "flowers.csv", says="flowers.csv: the net takes images (1, 28, 28), 784 numbers a row; the table has 3 columns")
        said = self.refused(2, "eval", "m", "flowers.csv", says=["the net takes images (1, 28, 28), give a folder or .tar of images"])
        self.assertNotIn("path: flowers.csv", said.err)
        os.mkdir(self.path("photos"))
        self.refused(2, "eval", "m", "photos", says="--set 'dataset={ImageFolder: {path: photos, size: 28, channels: 1}}'")
        self.write("x.zipp", "?")
        self.refused(2, "predict", "m", "x.zipp", says=".bmp, .gif")

    def test_a_spec_for_photos_names_the_check(self):
        import numpy as np
        for kind in "ab":
            for i in range(4):
                self.write(f"photos/{kind}/{i}.png", png(np.full((8, 8, 3), 9 * i + ord(kind), np.uint8)))
        self.assertIn("neon data check SPEC reads every image; on_bad_sample: skip", self.neon("new", "photos", "photos").out)


class Verbs(Case):
    def test_the_help_of_a_verb_has_its_own_meanings(self):
        for verb, own in ("plot", "Write the page to this file"), ("predict", "Write the lines to this file"), ("export", "File or folder for the arrays"):
            said = " ".join(self.neon(verb, "--help").out.split())
            self.assertIn("--output_file FILE " + own, said)
            self.assertNotIn("HDF5 file for the metrics", said)
        self.assertIn("HDF5 file for the metrics", " ".join(self.neon("train", "--help").out.split()))
        self.assertIn("Draw from so many of the likeliest tokens", " ".join(self.neon("sample", "--help").out.split()))

    def test_the_help_of_no_verb(self):
        self.refused(2, "average", "--help", says="average: there is no such file or verb")
        self.refused(2, "evaluate", "--help", says="did you mean neon eval?")
        self.assertIn("Verbs:", self.neon("--help").out)
        self.assertIn("Verbs:", self.neon(self.spec(), "--help").out)

    def test_runs_that_exist_are_named(self):
        own = {"NEON_NO_RUN_FOLDER": ""}
        self.neon("-e", "1", "-s", "net.safetensors", self.spec(name="iris.yaml"), environment=own)
        for verb in "resume", "compare":
            self.refused(3, verb, *["runs/zzzzzzzz"] * (1 + (verb == "compare")), says="; the runs here are runs/iris-1")
        self.assertIn("net.safetensors has no curves to show; neon plot runs/iris-1 shows those of its run",
                      self.neon("plot", "net.safetensors", environment=own).err)

    def test_a_net_of_texts_is_sampled(self):
        self.write("book.txt", "the quick fox " * 40)
        self.neon("-r", "1", "-s", "m", self.spec(TEXT))
        self.refused(2, "predict", "m", "book.txt", says="neon sample m --prompt 'WORDS' prints how")
        self.refused(3, "sample", "m", "--prompt", "the €", says="'€', number 5 of its characters")

    def test_more_processes_than_processors(self):
        most = len(os.sched_getaffinity(0))
        said = self.neon("-r", "1", "-b", "cpu", "-m", str(most + 1), "-e", "1", "-z", "120", self.spec()).err
        self.assertEqual(said.count(f"note: -m {most + 1}: the processes take turns on {most} processor"), 1, said)
        self.assertNotIn("take turns", self.neon("-r", "1", "-b", "cpu", "-m", "2", "-e", "1", self.spec()).err if most > 1 else "")

    def test_doctor_says_how_to_get_a_gpu(self):
        said = self.neon("doctor", code=None).out
        if "no NVIDIA driver was found" in said:
            self.assertIn("pass the GPU into the container (docs/gpu.md)\n", said)
            self.assertEqual(said.count("install the driver"), 1, said)


if __name__ == "__main__":
    support.main()
