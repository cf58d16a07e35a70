#!/usr/bin/python3
"""The folder of a run: what is in it, what is best and last, which run is the newest, when there is no folder."""
import csv
import json
import os
import shutil
import signal
import time

import h5py
import numpy as np

import support
from support import IRIS, tensors

ALL = ["best.safetensors", "eval.json", "last.safetensors", "report.html", "results.csv", "run.h5", "run.log", "spec.yaml"]


class RunFolder(support.Case):
    def setUp(self):
        super().setUp()
        del self.environment["NEON_NO_RUN_FOLDER"]

    def names(self, folder=""):
        return sorted(os.listdir(self.path(folder)))

    def results(self, run):
        with open(self.path(run + "/results.csv"), newline="") as file:
            return [{name: float(value) if value else None for name, value in row.items()} for row in csv.DictReader(file)]

    def position(self, name):
        return json.loads(tensors(self.path(name))[1]["neon.position"])

    def values(self, name):
        return {name: (kind, shape, content) for name, (kind, shape, content) in tensors(self.path(name))[0].items()}

    def slow(self, **changes):
        """A spec that trains until somebody stops it."""
        return self.spec(epochs=1000000, **changes)

    def stop(self, child, folder, signals=1):
        """Stops a run that has begun to train, in its folder; returns what it said."""
        end = time.monotonic() + 30
        while not (os.path.exists(self.path(folder + "/results.csv")) and len(self.results(folder)) > 2):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 143, err)
        return out

    def test_a_run_leaves_a_folder(self):
        result = self.neon("-r", "1", self.spec())
        self.assertEqual(self.names(), ["runs", "s.yaml"])
        self.assertEqual(self.names("runs"), ["s-1"])
        self.assertEqual(self.names("runs/s-1"), ALL)
        self.assertIn("writes runs/s-1\n", result.err)
        best, last, following = result.out.splitlines()[-3:]
        rows = self.results("runs/s-1")
        lowest, _, epoch = min((row["test_Top1Misclass"], row["test_cost"], row["epoch"]) for row in rows)
        self.assertEqual(best, f"best: runs/s-1/best.safetensors, epoch {epoch:.0f}, Top1Misclass {100 * lowest:.2f} %")
        self.assertEqual(last, "last: runs/s-1/last.safetensors, epoch 4")
        self.assertTrue(following.endswith("eval runs/s-1/best.safetensors"), following)
        # The same bits as of a run whose files are named.
        self.neon("-r", "1", "--no_run_folder", "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
        self.assertEqual(self.values("runs/s-1/last.safetensors"), self.values("m.safetensors"))
        with h5py.File(self.path("r.h5")) as named, h5py.File(self.path("runs/s-1/run.h5")) as own:
            self.assertEqual(list(named["cost/train"][:]), list(own["cost/train"][:]))
            self.assertEqual([row["train_cost"] for row in rows], list(named["epoch/cost"][:]))
            self.assertEqual([row["learning_rate"] for row in rows], list(named["epoch/learning_rate"][:]))
            for row, cost in zip(rows, named["cost/loss"][:], strict=True):
                self.assertAlmostEqual(row["test_cost"], cost, places=6)

    def test_the_best_of_a_run_of_phases_is_of_the_last(self):
        """An autoencoder comes before, whose cost is a small number of another kind."""
        phases = ("[{name: first, epochs: 2, reconstruct: true, cost: MeanSquared, layers: [Affine: {nout: 4, init: {Constant: 0}}], optimizer: "
                  "{GradientDescentMomentum: {learning_rate: 0.01}}}, {name: last, epochs: 3}]")
        content = "\n".join(line for line in IRIS.splitlines() if not line.startswith("epochs:")) + "\n"
        self.neon("-r", "1", self.spec(content, phases=phases, normalize="false"))
        rows = self.results("runs/s-1")
        best = min(rows[2:], key=lambda row: row["test_cost"])
        said = self.neon("compare", "runs/s-1", "runs/s-1").out
        self.assertRegex(said, rf"best test_cost +{best['test_cost']:.6g} \(epoch {best['epoch']:.0f}\)")
        self.neon("-r", "1", "-e", "2", "s.yaml")
        self.assertNotIn("best test_cost", self.neon("compare", "runs/s-2", "runs/s-2").out)

    def test_results_of_training_samples_stay_when_a_run_goes_on(self):
        spec = self.spec(train_metrics="20")
        self.neon("-r", "1", "-e", "2", spec)
        before = self.results("runs/s-1")
        self.neon("resume", "runs/s-1", "-e", "4")
        after = self.results("runs/s-1")
        self.assertEqual(after[:2], before)
        with h5py.File(self.path("runs/s-1/run.h5")) as file:
            for column, series in ("train_cost", "epoch/cost"), ("train_eval_cost", "metrics/train_cost"), \
                    ("train_Top1Misclass", "metrics/train_Top1Misclass"), ("test_cost", "cost/loss"):
                for row, value in zip(after, file[series][:], strict=True):
                    self.assertAlmostEqual(row[column], value, delta=1e-6, msg=column)

    def test_samples_in_a_second_count_no_sample_of_a_short_batch_twice(self):
        told = self.neon("-r", "1", self.spec(batch_size=119, epochs=3)).err  # of 120 samples
        for row in self.results("runs/s-1"):
            rate = support.re.search(rf"epoch {row['epoch']:.0f}/3 .*?  ([\d.]+)([kM]?) samples/s", told)
            rate = float(rate[1]) * {"": 1, "k": 1e3, "M": 1e6}[rate[2]]  # of two digits at least
            self.assertAlmostEqual(rate * row["seconds"] / 120, 1, delta=0.06)

    def test_a_folder_stands_for_its_checkpoint(self):
        self.neon("-r", "1", self.spec())
        self.write("x.csv", "5.1,3.5,1.4,0.2\n")
        for words in ["eval"], ["predict", "x.csv"], ["export", "--npz", "-o", "w.npz", "--overwrite"]:
            said = [self.neon(words[0], run, *words[1:]).out for run in ("runs/s-1", "runs/s-1/best.safetensors")]
            self.assertEqual(said[0], said[1])
        self.neon("resume", "runs/s-1/", "-e", "5")
        self.assertEqual(self.position("runs/s-1/last.safetensors")["epoch"], 5)
        self.neon("--model_file", "runs/s-1", "-e", "1", "s.yaml")
        os.mkdir(self.path("empty"))
        for words in ["eval"], ["predict", "x.csv"], ["export", "--npz"], ["sample"]:
            self.refused(3, words[0], "empty", *words[1:], says="empty: no best.safetensors or last.safetensors in this folder")
        self.refused(2, "runs/s-1", says="expected a spec, this is a run's folder; its spec is runs/s-1/spec.yaml, and neon resume runs/s-1 goes on")
        self.refused(2, "check", "empty", says="empty: expected a spec, this is a folder; neon new photos empty prints")
        for data, says in ("t.csv", "neon new table t.csv prints"), ("t.tsv.gz", "neon new table t.tsv.gz prints"), ("p.JPG", "neon new photos FOLDER prints"):
            self.write(data, "a,b\n1,2\n")
            for verb in "check", "search", "formats":
                self.refused(2, verb, data, says=[data + ": expected a spec, found ", says])
        self.refused(3, "resume", "empty", says="empty: no last.safetensors in this folder; expected a run's folder")

    def test_a_run_goes_on_with_other_metrics(self):
        """What was the best by one result says nothing of another; numbers stand under their names."""
        self.neon("-r", "1", "-e", "2", self.spec(metrics="[Accuracy]"))
        before = self.results("runs/s-1")
        result = self.neon("resume", "runs/s-1/last.safetensors", "-e", "4", "--set", "metrics=[Misclassification]")
        self.assertIn("note: the best net was that by Accuracy; from now on Top1Misclass tells", result.err)
        rows = self.results("runs/s-1")
        self.assertEqual([row["epoch"] for row in rows], [1, 2, 3, 4])
        self.assertEqual([row["test_cost"] for row in rows[:2]], [row["test_cost"] for row in before])
        self.assertEqual([row["test_Top1Misclass"] is None for row in rows], [True, True, False, False])
        position = self.position("runs/s-1/best.safetensors")
        self.assertEqual(position["best_of"], "Top1Misclass")
        best = min(rows[2:], key=lambda row: (row["test_Top1Misclass"], row["test_cost"]))
        self.assertEqual((float(position["best"]), position["best_epoch"]), (best["test_Top1Misclass"], best["epoch"]))

    def test_the_evaluation_at_the_end(self):
        self.neon("-r", "1", "-e", "6", self.spec())
        found = json.loads(self.read("runs/s-1/eval.json"))
        told = json.loads(self.neon("eval", "runs/s-1/best.safetensors", "--format", "json", "--report").out)
        report = told.pop("report")
        self.assertEqual((found["checkpoint"], found["set"], found["samples"]), ("best.safetensors", "test", 30))
        self.assertEqual((found["results"], found["report"]), (told, report))
        self.assertEqual(len(found["worst"]), 30)
        wrong = [row for row in found["worst"] if row["class"] != row["predicted"]]
        self.assertEqual(len(wrong), round(30 * told["Top1Misclass"]))
        self.assertEqual(found["worst"][:1], wrong[:1] or found["worst"][:1])
        self.neon("-e", "1", self.spec(IRIS.replace("nout: 3", "nout: 10"), dataset="{Digits: {ntrain: 200, ntest: 50}}", name="d.yaml"))
        self.assertIn("worst.png", self.names("runs/d-1"))

    def test_the_spec_in_the_folder_trains_the_same(self):
        self.neon("-r", "1", "-e", "2", "--set", "layers[0].nout=5", self.spec())
        self.neon("runs/s-1/spec.yaml")  # which has the seed, the epochs and the layer
        self.assertEqual(self.values("runs/s-1/last.safetensors"), self.values("runs/spec-1/last.safetensors"))

    def test_the_best_is_the_net_of_its_epoch(self):
        for metrics, column, better in ("[Misclassification]", "test_Top1Misclass", min), ("[Accuracy]", "test_Accuracy", max):
            spec = self.spec(metrics=metrics, epochs=12, callbacks="[{EarlyStop: {patience: 100}}]", name=f"{column[5:8]}.yaml")
            run = f"runs/{column[5:8]}-1"
            self.neon("-r", "2", spec)
            self.neon("-r", "2", "-H", "100", "--no_run_folder", "-s", "all/m.safetensors", spec)
            rows = self.results(run)
            value = better(row[column] for row in rows)
            epoch = int(next(row["epoch"] for row in rows if row[column] == value))
            at = self.position(run + "/best.safetensors")
            self.assertEqual((at["epoch"], at["best_epoch"], float(at["best"])), (epoch, epoch, value))
            (name,) = [name for name in self.names("all") if name.startswith(f"m.{epoch}-")] or ["m.safetensors"]
            self.assertEqual(self.values(run + "/best.safetensors"), self.values("all/" + name))
            shutil.rmtree(self.path("all"))

    def test_each_run_has_a_folder_of_its_own(self):
        spec = self.spec()
        os.makedirs(self.path("runs/s-7"))
        for name in "s-x", "s-", "ss-9", "s-1-30":
            os.makedirs(self.path("runs/" + name))
        self.neon("-e", "1", spec)
        self.assertEqual(self.names("runs/s-8"), ALL)
        children = [self.start("-e", "1", spec) for _ in range(8)]
        for child in children:
            _, err = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 0, err)
        for number in range(9, 17):
            self.assertEqual(self.names(f"runs/s-{number}"), ALL)

    def test_the_name_of_a_run(self):
        self.spec(name="nets/a b.c.yaml")
        self.neon("-e", "1", "nets/a b.c.yaml")
        self.neon("-e", "1", "/dev/stdin", stdin=IRIS.encode())
        long = self.spec(name="\u00e4" * 120 + ".yaml")
        self.neon("-e", "1", long)
        self.assertEqual(self.names("runs"), ["a b.c-1", "run-1", "\u00e4" * 50 + "-1"])

    def test_named_files_are_linked(self):
        result = self.neon("-r", "1", "-s", "out/m.safetensors", "-o", "r.h5", "-l", "r.log", self.spec())
        self.assertEqual(self.names("runs/s-1"), ALL)
        for name, target in ("last.safetensors", "../../out/m.safetensors"), ("run.h5", "../../r.h5"), ("run.log", "../../r.log"):
            self.assertEqual(os.readlink(self.path("runs/s-1/" + name)), target)
            self.assertTrue(os.path.exists(self.path("runs/s-1/" + name)))
        for line in "wrote out/m.safetensors\n", "wrote r.h5\n", "best: runs/s-1/best.safetensors", "last: out/m.safetensors, epoch 4\n":
            self.assertIn(line, result.out)
        self.neon("resume", "-e", "5", "-o", "r.h5", "-l", "r.log", "out/m.safetensors")
        self.assertEqual(self.position("runs/s-1/last.safetensors")["epoch"], 5)
        self.assertEqual([row["epoch"] for row in self.results("runs/s-1")], [1, 2, 3, 4, 5])

    def test_files_of_the_folder_go_on_beside_a_named_checkpoint(self):
        self.neon("-r", "1", "-s", "out/m.safetensors", self.spec())
        self.neon("resume", "-e", "5", "out/m.safetensors")
        with h5py.File(self.path("runs/s-1/run.h5")) as file:
            self.assertEqual(len(file["epoch/cost"]), 5)
        # The checkpoint alone, on a machine where nobody knows its writer, may not write there.
        result = self.neon("resume", "-e", "6", "out/m.safetensors", environment={"NEON_CACHE_DIR": self.path("cache")})
        self.assertIn("note: goes on without the run folder runs/s-1", result.err)
        self.assertEqual(len(self.results("runs/s-1")), 5)
        shutil.rmtree(self.path("runs"))
        self.neon("resume", "-e", "7", "out/m.safetensors")
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_no_folder(self):
        spec = self.spec()
        self.neon("--no_run_folder", spec)
        self.neon(spec, environment={"NEON_NO_RUN_FOLDER": "1"})
        self.assertEqual(self.names(), ["s.yaml"])
        self.neon("-s", "m.safetensors", "-H", "0", "--no_run_folder", spec)
        self.assertEqual(self.names(), ["m.safetensors", "s.yaml"])

    def test_a_run_that_went_on_without_its_folder_takes_it_again(self):
        self.neon("-r", "1", "-e", "2", self.spec())
        best = self.read("runs/s-1/best.safetensors")
        err = self.neon("resume", "runs/s-1", "-e", "4", "--no_run_folder").err
        self.assertIn("note: goes on without the run folder runs/s-1, where only last.safetensors changes\n", err)
        self.assertEqual([row["epoch"] for row in self.results("runs/s-1")], [1, 2])
        self.assertEqual(self.read("runs/s-1/best.safetensors"), best)
        result = self.neon("resume", "runs/s-1", "-e", "6")
        self.assertIn("note: writes to the run folder runs/s-1 again; its files lack the epochs that ran without it\n", result.err)
        self.assertIn("last: runs/s-1/last.safetensors, epoch 6\n", result.out)
        self.assertEqual([row["epoch"] for row in self.results("runs/s-1")], [1, 2, 5, 6])
        with h5py.File(self.path("runs/s-1/run.h5")) as file:
            self.assertEqual(list(np.isnan(file["epoch/cost"][:])), [False, False, True, True, False, False])
        self.neon("-r", "1", "-e", "6", "--no_run_folder", "-s", "m.safetensors", "s.yaml")
        self.assertEqual(self.values("runs/s-1/last.safetensors"), self.values("m.safetensors"))
        self.assertEqual(self.neon("resume", "runs/s-1", "-e", "7").err.count("writes to the run folder"), 0)

    def test_a_folder_of_another_run_is_not_taken(self):
        self.neon("-r", "1", "-e", "1", self.spec())
        os.mkdir(self.path("mine"))
        self.write("mine/spec.yaml", self.read("s.yaml"))
        self.write("mine/results.csv", "name,a,b,c,d,e\nx,2,2,2,2,2\n")
        self.write("mine/best.safetensors", self.read("runs/s-1/best.safetensors"))
        self.neon("-r", "2", "-e", "1", "--no_run_folder", "-s", "mine/last.safetensors", "s.yaml")
        before = {name: self.read("mine/" + name) for name in ("spec.yaml", "results.csv", "best.safetensors")}
        result = self.neon("resume", "mine/last.safetensors", "-e", "2")
        self.assertNotIn("run folder", result.err)
        self.assertEqual({name: self.read("mine/" + name) for name in before}, before)
        self.assertNotIn("run.h5", os.listdir(self.path("mine")))

    def test_a_run_that_cannot_begin_leaves_nothing(self):
        self.neon(self.spec(layers="[{Affine: {nout: 5, init: Kaiming}}]"), code=2)
        self.neon(self.spec(dataset="{CSV: {path: none.csv}}"), code=3)
        self.assertEqual(self.names(), ["s.yaml"])

    def test_a_folder_that_cannot_be_made_is_a_warning(self):
        self.write("runs", "a file")
        result = self.neon("-e", "1", self.spec())
        warnings = [line for line in result.err.splitlines() if line.startswith("warning: ")]
        self.assertEqual(warnings, ["warning: no run folder: a folder for the run cannot be made in runs: Not a directory; "
                                    "nothing of this run is saved. -s FILE saves it"])
        self.assertIn("test: ", result.out)
        self.assertEqual(self.names(), ["runs", "s.yaml"])
        result = self.neon("-e", "1", "-s", "m.safetensors", "s.yaml")
        self.assertIn("the run writes only the files that options name", result.err)
        self.assertEqual(self.names(), ["m.safetensors", "runs", "s.yaml"])

    def test_resume_and_eval_take_the_newest(self):
        for verb in "resume", "eval":
            self.refused(2, verb, says=["nothing to work on: no run in runs/ has a checkpoint", f"usage: neon {verb} [CHECKPOINT"])
        self.spec(name="b.yaml"), self.spec(name="a.yaml")
        self.neon("-r", "1", "-e", "1", "b.yaml")
        self.neon("-r", "2", "-e", "1", "a.yaml")
        os.makedirs(self.path("runs/a-9"))  # no checkpoint
        self.assertIn("takes runs/a-1/best.safetensors, of the newest run", self.neon("eval").err)
        self.neon("resume", "-e", "2", "runs/b-1/last.safetensors")
        result = self.neon("resume", "-e", "3")
        self.assertIn("takes runs/b-1/last.safetensors, of the newest run", result.err)
        self.assertEqual([row["epoch"] for row in self.results("runs/b-1")], [1, 2, 3])
        self.neon("-r", "1", "-e", "3", "--no_run_folder", "-s", "m.safetensors", "b.yaml")
        self.assertEqual(self.values("runs/b-1/last.safetensors"), self.values("m.safetensors"))
        self.assertEqual(self.names("runs"), ["a-1", "a-9", "b-1"])

    def test_a_run_that_writes_over_files_of_another_leaves_that_ones_folder_as_it_is(self):
        spec, files = self.spec(), ["-s", "m.safetensors", "-o", "m.h5", "-l", "m.log"]
        self.neon("-r", "1", "-e", "2", *files, spec)
        names = ["last.safetensors", "run.h5", "run.log"]
        first = {name: self.read("runs/s-1/" + name) for name in names}
        # A run that cannot begin changes nothing.
        self.neon("-r", "1", "-e", "0", *files, spec, code=2)
        self.assertTrue(all(os.path.islink(self.path("runs/s-1/" + name)) for name in names))
        err = self.neon("-r", "2", "-e", "3", *files, spec).err
        self.assertIn("note: runs/s-1/last.safetensors is a file of its own now, as this run writes over the one it led to\n", err)
        self.assertEqual({name: self.read("runs/s-1/" + name) for name in names}, first)
        self.assertEqual(self.read("runs/s-2/last.safetensors"), self.read("m.safetensors"))
        second = {name: self.read("runs/s-2/" + name) for name in names}
        self.assertNotEqual(second["last.safetensors"], first["last.safetensors"])
        # The first goes on in its own folder, and the second stays as it is.
        self.neon("resume", "runs/s-1", "-e", "4")
        self.assertEqual({name: self.read("runs/s-2/" + name) for name in names}, second)
        self.assertEqual(self.position("runs/s-1/last.safetensors")["epoch"], 4)
        with h5py.File(self.path("runs/s-1/run.h5")) as file:
            self.assertEqual(len(file["cost/train"]), 32)
        # Nor does a run without a folder take the files of the newest.
        self.neon("-r", "3", "-e", "1", "--no_run_folder", *files, spec)
        self.assertEqual({name: self.read("runs/s-2/" + name) for name in names}, second)

    def test_a_stopped_run_goes_on(self):
        out = self.stop(self.start("-r", "1", self.slow()), "runs/s-1")
        self.assertIn("last: runs/s-1/last.safetensors", out)
        self.assertTrue(out.splitlines()[-1].endswith("resume runs/s-1/last.safetensors"))
        at = self.position("runs/s-1/last.safetensors")
        epochs = at["epoch"] + 3
        self.neon("resume", "-e", str(epochs))
        self.neon("-r", "1", "-e", str(epochs), "--no_run_folder", "-s", "m.safetensors", "s.yaml")
        self.assertEqual(self.values("runs/s-1/last.safetensors"), self.values("m.safetensors"))
        rows = self.results("runs/s-1")
        self.assertEqual([row["epoch"] for row in rows], list(range(1, epochs + 1)))
        self.assertEqual(self.position("runs/s-1/best.safetensors")["epoch"],
                         min(rows, key=lambda row: (row["test_Top1Misclass"], row["test_cost"]))["epoch"])

    def test_a_folder_may_be_moved(self):
        self.neon("-r", "1", self.spec())
        shutil.copytree(self.path("runs/s-1"), self.path("elsewhere/copy"))
        os.makedirs(self.path("other"))
        self.neon("resume", "-e", "6", "../elsewhere/copy/last.safetensors", cwd=self.path("other"))
        self.neon("resume", "-e", "7", "last.safetensors", cwd=self.path("elsewhere/copy"))
        self.assertEqual([row["epoch"] for row in self.results("elsewhere/copy")], [1, 2, 3, 4, 5, 6, 7])
        self.assertEqual(self.names("elsewhere/copy"), sorted([*ALL, "last.6-2.safetensors"]))
        with h5py.File(self.path("elsewhere/copy/run.h5")) as file:
            self.assertEqual(file.attrs["status"], "complete")
            self.assertEqual(len(file["epoch/cost"]), 7)
        self.assertEqual(self.position("runs/s-1/last.safetensors")["epoch"], 4)
        self.assertEqual(len(self.results("runs/s-1")), 4)
        self.assertEqual(self.names("other"), [])

    def test_the_best_begins_another_run(self):
        self.neon("-r", "1", self.spec())
        before = {name: self.read("runs/s-1/" + name) for name in ALL}
        at = self.position("runs/s-1/best.safetensors")["epoch"]
        self.neon("resume", "-e", "6", "runs/s-1/best.safetensors")
        self.assertEqual({name: self.read("runs/s-1/" + name) for name in ALL}, before)
        self.assertEqual(self.names("runs/s-2"), ALL)
        self.assertEqual([row["epoch"] for row in self.results("runs/s-2")], list(range(at + 1, 7)))
        self.assertEqual(self.position("runs/s-2/last.safetensors")["epoch"], 6)

    def test_a_copy_of_the_last_leaves_the_folder_alone(self):
        self.neon("-r", "1", self.spec())
        before = {name: self.read("runs/s-1/" + name) for name in ALL}
        shutil.copy(self.path("runs/s-1/last.safetensors"), self.path("mine.safetensors"))
        result = self.neon("resume", "-e", "6", "mine.safetensors")
        self.assertIn("note: goes on without the run folder runs/s-1, whose last checkpoint is not mine.safetensors\n", result.err)
        self.assertEqual({name: self.read("runs/s-1/" + name) for name in ALL}, before)

    def test_a_run_that_diverges_keeps_its_best(self):
        result = self.neon("-r", "1", self.spec(
            epochs=5, optimizer="{GradientDescentMomentum: {learning_rate: 0.1, schedule: {Schedule: {step_config: [3], change: 1.0e+30}}}}"), code=5)
        self.assertIn("; the last good checkpoint is runs/s-1/best.safetensors", result.err)
        rows = self.results("runs/s-1")
        lowest = min(row["test_Top1Misclass"] for row in rows[:3])
        self.assertEqual(self.position("runs/s-1/best.safetensors")["epoch"],
                         next(row["epoch"] for row in rows if row["test_Top1Misclass"] == lowest))
        self.neon("eval")

    def test_ranks_share_a_folder(self):
        result = self.neon("-b", "cpu", "-m", "2", "-r", "1", self.spec())
        self.assertEqual(self.names(), ["runs", "s.yaml"])
        self.assertEqual(self.names("runs"), ["s-1"])
        self.assertEqual(self.names("runs/s-1"), ALL)
        self.assertIn("best: runs/s-1/best.safetensors", result.out)
        self.assertEqual(len(self.results("runs/s-1")), 4)

    def test_large_metrics_are_left_out(self):
        out = self.stop(self.start("-r", "1", self.spec(epochs=100000000)), "runs/s-1")
        self.assertIn("last: ", out)
        self.assertNotIn("run.h5", self.names("runs/s-1"))
        with open(self.path("runs/s-1/run.log")) as file:
            self.assertIn("note: no run.h5: the costs of 100000000 epochs would take 3.0 GiB; -o FILE writes them", file.read())


if __name__ == "__main__":
    support.main()
