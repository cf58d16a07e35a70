#!/usr/bin/python3
"""Runs that are resumed: what they keep, what may be set anew, and where their files are."""
import json
import os
import re
import shutil
import signal

import h5py
import numpy as np

import support
from support import Case, parts, sealed, tensors


class Resume(Case):
    def test_a_run_that_goes_on_keeps_its_seed_and_says_no_more(self):
        seed = re.search(r", (seed \d+)\n", self.neon("-s", "m", self.spec()).out)[1]
        self.assertIn(f", {seed}\n", self.neon("resume", "--deterministic", "-e", "5", "m").out)
        self.neon("--deterministic", "-s", "m", "s.yaml")
        self.assertIn(", seed 0\n", self.neon("resume", "-e", "5", "m").out)

    def test_runs_of_an_older_arithmetic_say_what_differs(self):
        self.write("s.yaml", "dataset: {CopyTask: {length: 4, symbols: 4, ntrain: 40, ntest: 8}}\nlayers: [GRU: {output_size: 4}, "
                   "Dropout: 0.5, Affine: {nout: 4, activation: Softmax}]\ncost: CrossEntropyMulti\n"
                   "optimizer: {Adam: {layer_decay: 0.5}}\nbatch_size: 8\nepochs: 1\n")
        self.neon("-r", "1", "-s", "m.safetensors", "s.yaml")
        content = self.read("m.safetensors")
        text, header, _ = parts(content)
        words = "note: layer_decay now counts depth", "note: Dropout now numbers its draws"
        for rules in 9, 8:
            data = json.loads(header["__metadata__"]["neon.data"])
            header["__metadata__"]["neon.data"] = json.dumps({**data, "rules": rules})
            self.write("m.safetensors", sealed(header, content[8 + len(text):]))
            said = self.neon("resume", "-e", "2", "m.safetensors").err
            for word in words:
                self.assertEqual(word in said, rules == 8, said)

    def test_resume_of_a_run_that_is_done(self):
        self.neon("-e", "3", "-s", "m.safetensors", self.spec())
        before = tensors(self.path("m.safetensors"))[0]
        for epochs, says in ("2", "the run has done 3 epochs, more than 2; -e N trains on to epoch N\n"), \
                ("3", "the run has done its 3 epochs; -e N trains on to epoch N\n"):
            result = self.neon("resume", "m.safetensors", "-e", epochs)
            self.assertIn(says, result.err)
            self.assertIn("trained 3 epochs", result.out)
        self.assertEqual(tensors(self.path("m.safetensors"))[0], before)

    def curves(self, name):
        """All series of a metrics file but the times of begin and end, and how long the run was to be."""
        out = {}
        with h5py.File(self.path(name)) as file:
            file.visititems(lambda path, item: out.update({path: item[:]}) if isinstance(item, h5py.Dataset) else None)
            total = file["config"].attrs["total_epochs"]
        return {path: values for path, values in out.items() if not path.startswith("time/train/")}, total

    def test_a_resume_that_trains_nothing_keeps_the_curves(self):
        early = "[EarlyStop: {patience: 1, min_delta: 9}]"
        for name, epochs, others, callbacks in ("a", 7, ("2", "7", "1"), "[]"), ("b", 12, ("9", "2"), early):
            spec = self.spec(callbacks=callbacks, epochs=str(epochs))
            self.neon("-r", "1", "-s", name + ".safetensors", "-o", name + ".h5", spec)
            before, total = self.curves(name + ".h5")
            self.assertEqual((total, len(before["epoch/cost"])), (epochs, epochs))
            for other in others:
                self.neon("resume", name + ".safetensors", "-e", other)
                after, total = self.curves(name + ".h5")
                self.assertEqual((total, sorted(after)), (epochs, sorted(before)))
                for path, values in before.items():
                    np.testing.assert_array_equal(after[path], values, path)

    def test_a_resume_that_ends_amid_an_epoch_keeps_its_steps(self):
        """One that is to end before the epoch that was stopped."""
        spec = self.spec(epochs="2000", callbacks="[]", dataset="{Iris: {test: 30}}")
        child = self.began(self.start("-r", "1", "-s", "m.safetensors", "-o", "r.h5", spec))
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
        before, _ = self.curves("r.h5")
        self.neon("resume", "m.safetensors", "-e", "1")
        after, total = self.curves("r.h5")
        self.assertEqual(total, 2000)
        np.testing.assert_array_equal(after["cost/train"], before["cost/train"])

    def test_resume_of_a_run_that_was_stopped_early(self):
        spec = self.spec(callbacks="[EarlyStop: {patience: 1, min_delta: 9}]")  # the second evaluation is no better
        self.assertIn("trained 2 epochs", self.neon("-s", "m.safetensors", spec).out)
        done = self.neon("resume", "m.safetensors", "-e", "6")
        self.assertIn("the run was stopped early after epoch 2; with more patience", done.err)
        self.assertIn("trained 2 epochs", done.out)
        more = self.neon("resume", "m.safetensors", "--set", "callbacks=[EarlyStop: {patience: 2, min_delta: 9}]")
        self.assertIn("trained 3 epochs", more.out)
        self.assertNotIn("was stopped early", more.err)
        self.assertIn("trained 4 epochs", self.neon("resume", "m.safetensors", "--set", "callbacks=[]").out)

    def test_a_run_that_is_done_is_saved_under_another_name_only(self):
        self.neon("-e", "2", "-r", "1", "-s", "m.safetensors", self.spec())
        before = os.stat(self.path("m.safetensors")).st_mtime_ns
        done = self.neon("resume", "m.safetensors").out
        self.assertNotIn("wrote", done)
        self.assertIn("eval m.safetensors\n", done)
        self.assertEqual(os.stat(self.path("m.safetensors")).st_mtime_ns, before)
        self.assertIn("wrote other.safetensors\n", self.neon("resume", "m.safetensors", "-s", "other.safetensors").out)
        self.assertEqual(tensors(self.path("other.safetensors"))[0], tensors(self.path("m.safetensors"))[0])

    def test_curves_of_a_run_that_goes_on_are_kept(self):
        """Also where an evaluation takes so long that there was one at the end alone, and where a run ends between two.
        The costs are those that the runs print; others are NaN."""
        printed, spec = {}, self.spec(dataset="{Iris: {test: 75}}", epochs="2")
        for epochs, distance in ("2", 2), ("4", 2), ("7", 1), ("10", 1):
            run = self.neon("resume", "-e", epochs, "m") if printed else self.neon("-s", "m", "-o", "r.h5", spec)
            self.assertNotIn("is not kept", run.err)
            for epoch, cost in re.findall(r"^epoch +(\d+)/.* test cost ([\d.]+)$", run.err, re.M):
                printed[int(epoch)] = float(cost)
            with h5py.File(self.path("r.h5")) as file:
                stored = file["cost/loss"]
                self.assertEqual((stored.attrs["epoch_freq"], len(stored)), (distance, int(epochs) // distance))
                there = {distance * (i + 1): cost for i, cost in enumerate(stored[:]) if cost == cost}
                self.assertEqual(sorted(there), sorted(printed))
                for epoch, cost in there.items():
                    self.assertAlmostEqual(cost, printed[epoch], delta=1e-4)
                self.assertEqual(len(file["metrics/Top1Misclass"]), len(stored))
        self.assertEqual(sorted(printed), [2, 4, 6, 7, 8, 10])

    def test_the_same_file_of_options_again(self):
        self.write("a.cfg", "batch_size = 20\nrng_seed = 4\ndatatype = bf16\nrounding = 5\nsave_path = m\nepochs = 3\n")
        self.neon("-c", "a.cfg", "-e", "1", self.spec())
        self.assertIn("trained 3 epochs", self.neon("resume", "-c", "a.cfg", "m").out)
        self.refused(2, "resume", "-c", "a.cfg", "-r", "5", "m", says="--rng_seed cannot change")

    def test_what_makes_the_bits_is_not_set_anew_either(self):
        for options in [], ["-z", "16", "-d", "f16", "-r", "7"]:
            self.neon("-e", "1", "-s", "m.safetensors", *options, self.spec())
            same = ["batch_size=16", "datatype=f16", "rng_seed=7"] if options else ["batch_size=16", "datatype=f32"]
            for change in "batch_size=20", "batchsize=20", "datatype=bf16", "rng_seed=8":
                self.refused(2, "resume", "-e", "2", "m.safetensors", "--set", change,
                             says=change.split("=")[0].replace("hs", "h_s") + " cannot change when a run goes on")
            self.neon("resume", "-e", "2", "m.safetensors", *(word for one in same for word in ("--set", one)))

    def test_a_refusal_names_the_key_that_has_changed(self):
        self.write("t.txt", "a quick brown fox jumps over a lazy dog\n" * 20)
        spec = self.spec("dataset: {Text: {path: t.txt, steps: 8}}\nlayers: [LSTM: {output_size: 4}, Affine: {nout: classes, "
                         "activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: Adam\nbatch_size: 4\n", name="t.yaml")
        self.neon("-e", "1", "-s", "t.safetensors", spec)
        mend = "leave it as it was, or start another run from these weights with --model_file t.safetensors"
        for change, code, says in (
                ("streams=false", 2, "the order of the samples cannot change when a run goes on: dataset.Text.streams was true "
                                     f"and is false now; {mend}"),
                ("steps=6", 3, f"; dataset.Text.steps was 8 and is 6 now; {mend}"),
                ("validation=0.2", 3, f"; dataset.Text.validation was 0 and is 0.2 now; {mend}")):
            self.refused(code, "resume", "-e", "2", "t.safetensors", "--set", f"dataset.{change}", says=says)
        self.refused(2, "resume", "-e", "2", "t.safetensors", "--set", "layers[0].output_size=5", says=[
            "neon: layers[0].LSTM.output_size was 4 and is 5 now, and t.safetensors is a checkpoint of another net: ", mend])
        self.write("t.txt", "a quick brown fox jumps over a lazy dog\n" * 19)
        self.refused(3, "resume", "-e", "2", "t.safetensors", says="; put the former data back, or start another run")

    def test_a_type_set_anew_counts_where_weights_are_used(self):
        self.neon("-e", "2", "-d", "f16", "-s", "m.safetensors", self.spec(), "-u")
        said = {type: self.neon("eval", "m.safetensors", "--format", "json", "-d", type).out for type in ("f16", "bf16", "f64")}
        self.assertEqual(len(set(said.values())), 3)
        for type, out in said.items():
            self.assertEqual(self.neon("eval", "m.safetensors", "--format", "json", "--set", f"datatype={type}").out, out)
        self.write("s.csv", "5.1,3.5,1.4,0.2\n")
        self.neon("predict", "-d", "f64", "m.safetensors", "s.csv")

    def test_epochs_set_anew_when_a_run_goes_on(self):
        self.neon("-e", "2", "-s", "m.safetensors", self.spec())
        self.assertIn("trained 3 epochs", self.neon("resume", "--set", "epochs=3", "m.safetensors").out)
        self.refused(2, "resume", "--set", "epochs=4", "-e", "5", "m.safetensors", says="contradict each other")

    def test_a_run_that_ended_between_two_phases_goes_on_with_the_next(self):
        phases = "phases: [{name: head, epochs: 2, freeze: Affine_0}, {name: all, epochs: 2}]"
        spec = self.spec(support.IRIS.replace("epochs: 4", phases), rng_seed=3)
        self.neon(spec, "-s", "whole")
        for first in 1, 2, 3:
            self.neon(spec, "-s", "parts", "-e", str(first))
            self.neon("resume", "parts", "-e", "4")
            self.assertEqual(tensors(self.path("parts"))[0], tensors(self.path("whole"))[0], first)

    def test_a_rate_that_goes_by_the_epochs_of_the_run(self):
        spec = self.spec(epochs="2")
        cosine = ["--set", "optimizer.schedule=Cosine"]
        self.neon("-s", "m.safetensors", spec, *cosine)
        said = self.neon("resume", "m.safetensors", "-e", "4").err
        rate = float(re.search(r"learning_rate: ([0-9.e-]+)", self.read("s.yaml").decode())[1])
        told = re.search(r"note: the schedule depends on the run's length, now 4 epochs instead of 2; the learning rate is now ([0-9.e-]+) instead of 0\n", said)
        self.assertTrue(told, said)
        self.assertAlmostEqual(float(told[1]), rate / 2)  # half of half a cosine
        self.assertNotIn("the learning rate is now", self.neon("resume", "m.safetensors").err)
        self.neon("-s", "n.safetensors", spec)
        self.assertNotIn("the learning rate is now", self.neon("resume", "n.safetensors", "-e", "4").err)

    def test_files_of_a_run_that_goes_on_elsewhere_are_where_they_were(self):
        first, other = self.path("first"), self.path("other")
        os.mkdir(other)
        rows = "".join(f"{i % 7},{i % 5},{'abc'[i % 3]}\n" for i in range(60))
        self.write("first/data.csv", rows)  # where the run begins, and not where the spec is
        self.write("other/data.csv", "1,2,a\n1,3,b\n1,4,c\n" * 20)
        self.spec(name="specs/s.yaml", dataset="{CSV: {path: data.csv}}")
        self.neon("-r", "1", "-e", "2", "-s", "m.safetensors", "-o", "out/run.h5", "-l", "log.txt", "-w", ".", "../specs/s.yaml", cwd=first)

        def epochs(path):
            with h5py.File(self.path(path)) as file:
                self.assertEqual(file.attrs["status"], "complete")
                return [cost > 0 for cost in file["epoch/cost"]]

        done = self.neon("resume", "-e", "4", "../first/m.safetensors", cwd=other)
        self.assertEqual(os.listdir(other), ["data.csv"])
        self.assertIn(os.path.join(first, "out/run.h5"), done.out)
        self.assertEqual(epochs("first/out/run.h5"), [True] * 4)
        self.assertIn(b"trained 4 epochs", self.read("first/log.txt"))
        self.assertIn("data.csv", self.neon("eval", "../first/m.safetensors", cwd=other).out)
        # What is given anew is of the folder where it is given.
        self.neon("resume", "-e", "5", "../first/m.safetensors", "-o", "mine.h5", cwd=other)
        self.refused(2, "resume", "-e", "6", "m.safetensors", cwd=first, says=["other/mine.h5", "give -o FILE"])
        self.neon("resume", "-e", "6", "m.safetensors", "-o", os.path.join(other, "mine.h5"), cwd=first)
        self.assertEqual(epochs("other/mine.h5"), [False] * 4 + [True] * 2)
        self.assertEqual(sorted(os.listdir(first)), ["data.csv", "log.txt", "m.5-5.safetensors", "m.safetensors", "out"])

    def test_a_copy_of_a_run_does_not_write_into_the_curves_of_the_original(self):
        self.neon("-r", "1", "-e", "2", "-s", "first/m.safetensors", "-o", "first/m.h5", self.spec())
        shutil.copytree(self.path("first"), self.path("second"))
        curves = self.read("first/m.h5")
        for copy in "second/m.safetensors", "first/m.1-1.safetensors":
            self.refused(2, "resume", "-e", "3", copy, says=[copy + " is a copy or an older checkpoint", "first/m.h5", "-o"])
        self.assertEqual(self.read("first/m.h5"), curves)
        self.neon("resume", "-e", "3", "second/m.safetensors", "-o", "second/m.h5")
        self.assertEqual(self.read("first/m.h5"), curves)
        # Back to an older one of the same run; and a run that was moved.
        self.neon("resume", "-e", "3", "first/m.1-1.safetensors", "-s", "first/m.safetensors")
        os.rename(self.path("first/m.safetensors"), self.path("first/n.safetensors"))
        self.neon("resume", "-e", "4", "first/n.safetensors")
        with h5py.File(self.path("first/m.h5")) as file:
            self.assertEqual([cost > 0 for cost in file["epoch/cost"]], [True] * 4)

    def test_curves_that_lie_in_another_file_are_not_read(self):
        self.write("secret", np.arange(4, dtype="<f8").tobytes())
        self.neon("-r", "1", "-e", "2", "-s", "m.safetensors", "-o", "m.h5", self.spec())
        with h5py.File(self.path("m.h5"), "r+") as file:
            about, size = dict(file["epoch/cost"].attrs), file["epoch/cost"].size
            del file["epoch/cost"]
            curve = file.create_dataset("epoch/cost", (size,), "<f8", external=[(self.path("secret"), 0, 8 * size)])
            curve.attrs.update(about)
        done = self.neon("resume", "-e", "3", "m.safetensors")
        self.assertIn("epoch/cost keeps its numbers in another file", done.err)
        with h5py.File(self.path("m.h5")) as file:
            self.assertTrue(np.isnan(file["epoch/cost"][:2]).all(), file["epoch/cost"][:])

    def test_a_run_whose_folder_is_gone_says_so(self):
        self.neon("-e", "1", "-s", "m.safetensors", "-o", "out/run.h5", "-l", "logs/log.txt", self.spec())
        os.rename(self.path("out"), self.path("moved"))
        self.refused(2, "resume", "-e", "2", "m.safetensors", says=["metrics file is out/run.h5", "give it a place with -o"])
        resume = ["resume", "-e", "2", "m.safetensors", "-o", "moved/run.h5"]
        os.rename(self.path("logs"), self.path("away"))
        self.refused(2, "resume", "-e", "2", "m.safetensors", says="the run's metrics file is out/run.h5, the run's log file is "
                     "logs/log.txt, and their folders are not there any more; give them places with -o and -l\n")
        self.refused(2, *resume, says=["log file is logs/log.txt", "give it a place with -l"])
        self.neon(*resume, "-l", "new/log.txt")
        self.assertEqual(sorted(os.listdir(self.path("new"))), ["log.txt"])


if __name__ == "__main__":
    support.main()
