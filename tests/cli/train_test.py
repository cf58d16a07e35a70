#!/usr/bin/python3
"""Training from the command line: results, evaluations, seeds, checkpoints and the next command."""
import json
import os
import re
import shlex
import subprocess

import h5py
import numpy as np

import support
from support import NEON, Case, tensors


class Train(Case):
    def test_prints_result_and_next_command(self):
        result = self.neon(self.spec())
        self.assertRegex(result.out, r"(?m)^test: .*Top1Misclass [\d.]+ %  test cost [\d.]+  \(150 samples built in\)$")
        self.assertRegex(result.out, r"(?m)^trained 4 epochs in .*, seed \d+$")
        self.assertIn(f"next: {NEON} s.yaml -s model.safetensors -o run.h5\n", result.out)
        # A line an epoch, without a terminal; and a note where OpenMP asks for more threads than there are processors.
        self.assertRegex(result.err, r"\A(note: OMP_NUM_THREADS .*\n)?(epoch \d/4 .*\n((warning: .* the net has not learnt|note: overfitting since).*\n)?){4}\Z")

    def test_validation_samples_are_evaluated_while_training_goes_on(self):
        # The test samples' labels are the other way round, so that each epoch is better on the validation samples than
        # the one before, and worse on the test samples.
        for name, turned in ("train.csv", 0), ("test.csv", 1):
            rows = [(1 + i % 7 if i % 2 else -1 - i % 7, (i + turned) % 2) for i in range(60)]
            self.write(name, "x,label\n" + "".join(f"{x},{label}\n" for x, label in rows))
        spec = self.spec(dataset="{CSV: {path: train.csv, test: test.csv, validation: 20}}",
                         metrics="[Misclassification]", callbacks="[EarlyStop: {patience: 2}]", epochs="5", rng_seed="3")
        net = [spec, "--set", "layers[1].nout=2"]
        self.assertIn("40 training, 20 validation (evaluated during training) and 60 test samples", self.neon("check", *net).out)
        result = self.neon("-o", "r.h5", "-s", "m.safetensors", *net)
        self.assertIn("restored the weights of epoch 5, the best by cost", result.err)
        self.assertEqual(len(re.findall(r"(?m)^epoch .* validation cost \d", result.err)), 5)
        self.assertNotIn("test cost", result.err)
        of_validation, = re.findall(r"(?m)^validation: Top1Misclass 0.00 %  validation cost ([\d.e-]+)  \(", result.out)
        of_test, = re.findall(r"(?m)^(test: Top1Misclass 100.00 %  test cost [\d.]+)  \(", result.out)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["evaluated"], "validation")
            self.assertAlmostEqual(file["cost/loss"][-1] / float(of_validation), 1, delta=0.06, msg="as few digits as there are")
        self.assertIn(of_test, self.neon("eval", "m.safetensors").out)
        self.assertRegex(self.neon("resume", "-e", "6", "m.safetensors").out, r"(?m)^validation: .*\n^test: Top1Misclass 100.00 %")

    def test_training_samples_are_evaluated_where_the_spec_asks(self):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(50, 4)).astype("f4"), rng.integers(0, 3, 50)
        np.savez(self.path("same.npz"), x_train=x, y_train=y, x_test=x, y_test=y)
        self.spec(dataset="{NPZ: {path: same.npz, classes: 3}}", metrics="[Misclassification, AUC: {average: macro}]", train_metrics="60")
        out = self.neon("s.yaml", "-r", "1", "-eval", "1", "-o", "r.h5").out
        self.assertRegex(out, r"test: .*train_AUC_MACRO [\d.]+ %  train_Top1Misclass [\d.]+ %  train_cost [\d.]+")
        with h5py.File(self.path("r.h5")) as file:
            for name in "Top1Misclass", "AUC_MACRO":
                np.testing.assert_array_equal(file["metrics/train_" + name][:], file["metrics/" + name][:])
            np.testing.assert_array_equal(file["metrics/train_cost"][:], file["cost/loss"][:])
        # 10 of 50 sorted samples are 2 of class 0, 3 of class 1 and 5 of class 2, which is what this net answers.
        y = np.repeat([0, 1, 2], [10, 15, 25])
        np.savez(self.path("sorted.npz"), x_train=0 * x, y_train=y, x_test=0 * x, y_test=y)
        out = self.neon("s.yaml", "-r", "1", "--set", "dataset={NPZ: {path: sorted.npz}}", "--set", "train_metrics=10", "--set",
                        "layers=[{Affine: {nout: 3, bias: {Array: [0, 0, 9]}, activation: Softmax}}]", "--set",
                        "metrics=[Misclassification]", "--set", "optimizer={GradientDescentMomentum: {learning_rate: 0}}").out
        self.assertIn("train_Top1Misclass 50.00 %", out)
        np.savez(self.path("zeros.npz"), x_train=x, y_train=0 * y, x_test=x, y_test=y)
        self.refused(3, "s.yaml", "--set", "dataset={NPZ: {path: zeros.npz}}", says="every label is 0: there is only one class; say classes: 2")
        np.savez(self.path("unused.npz"), x_train=x, y_train=0 * y, x_test=x, y_test=0 * y)
        self.assertNotIn("every label", self.neon("check", "s.yaml", "--set", "dataset={NPZ: {path: unused.npz, autoencoder: true}}", code=None).err)
        np.savez(self.path("none.npz"), x_train=x, y_train=y)
        self.refused(2, "s.yaml", "--set", "dataset={NPZ: {path: none.npz, classes: 3}}", "--set", "metrics=[]",
                     says="train_metrics: is part of an evaluation, but the data set has no test samples")

    def test_validation_samples_are_enough_to_evaluate(self):
        spec = self.spec(dataset="{Iris: {test: 0, validation: 30}}", callbacks="[EarlyStop]")
        out = self.neon("-s", "m.safetensors", spec).out
        found, = re.findall(r"(?m)^(validation: .*validation cost [\d.]+)  \(", out)
        self.assertNotIn("test", out)
        self.assertIn(found + "  (150 samples built in, 30 samples)", self.neon("eval", "m.safetensors").out)
        self.assertIn("120 training, 30 validation", self.neon("check", spec).out)

    def test_samples_to_test_with_may_be_stored_in_another_type(self):
        rng = np.random.default_rng(5)
        x, y = rng.integers(0, 4, (60, 7)), rng.integers(0, 3, 60)
        said = set()
        for train in "u1", "f4":
            for test in "u1", "f4", "f8", "i2":
                np.savez(self.path("d.npz"), x_train=x[:40].astype(train), y_train=y[:40], x_test=x[40:].astype(test), y_test=y[40:])
                out = self.neon("-r", "1", "-s", "m.safetensors", self.spec(dataset="{NPZ: {path: d.npz}}")).out
                said |= {re.search("test: .*", out)[0]}
                self.assertIn(re.search(r"test: .*test cost [\d.]+", out)[0], self.neon("eval", "m.safetensors").out)
        self.assertEqual(len(said), 1, said)

    def test_next_command_works(self):
        result = self.neon(self.spec())
        follow = re.search(r"next: (.*)", result.out)[1].split()
        self.assertEqual(follow[0], NEON)
        again = self.neon(*follow[1:])
        self.assertIn("wrote model.safetensors\nwrote run.h5\n", again.out)
        self.assertIn(f"next: {NEON} eval model.safetensors\n", again.out)
        untested = self.neon("-s", "m.safetensors", self.spec(dataset="{Iris: {test: 0}}")).out  # eval would find nothing
        self.assertRegex(untested, r"(?m)^training: cost \d\.\d{4} in the last epoch  \(150 samples built in")
        follow = re.search(r"next: (.*)", untested)[1].split()
        self.assertIn("trained 8 epochs", self.neon(*follow[1:]).out)

    def test_next_command_is_of_the_same_run(self):
        options = ["-e", "2", "-r", "3", "-o", "mine.h5", "--set", "optimizer.learning_rate=0.02", "--set", "batch_size=25", "-u"]
        out = self.neon(self.spec(), *options).out
        follow = shlex.split(re.search(r"next: (.*)", out)[1])
        self.assertEqual(follow, [NEON, "s.yaml", *options, "-s", "model.safetensors"])
        again = self.neon(*follow[1:]).out
        for pattern in r"test: .*", r"trained 2 epochs in .*, seed 3\n", r"wrote mine.h5":
            self.assertRegex(again, pattern)
        self.assertEqual(re.search("test: .*", out)[0], re.search("test: .*", again)[0])

    def test_next_command_names_files_of_its_own(self):
        self.neon("-e", "1", "-s", "first.safetensors", self.spec())
        weights = self.read("first.safetensors")
        for options in ["--model_file", "model.safetensors"], ["-l", "run.h5"], ["-o", "model.safetensors"], ["-w", "--"], ["-l", "run.h5", "-o", "model.safetensors"]:
            if "--model_file" in options:
                self.write("model.safetensors", weights)
            next = re.search(r"next: (.*)", self.neon("-e", "1", *options, self.spec()).out)[1]
            self.assertIn("wrote model", self.neon(*shlex.split(next)[1:]).out)
            for name in os.listdir(self.folder):
                os.remove(self.path(name))

    def test_next_command_is_a_line(self):
        os.rename(self.path(self.spec()), self.path("s\n\x1b[31m.yaml"))
        out = self.neon("-e", "1", "--set", "batch_size=8\n", "s\n\x1b[31m.yaml").out
        self.assertNotIn("\x1b", out)
        command = re.search(r"next: (.*) -s", out)[1]
        self.assertTrue(out.endswith("\n") and command in out.splitlines()[-1], out)
        subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, check=True)

    def test_one_evaluation_of_a_large_test_set_is_told(self):
        note = "evaluated after the last epoch only: an evaluation passes 40 samples, an epoch 100; --eval_freq 1"
        for size, arguments, told in (40, [], True), (40, ["--eval_freq", "1"], False), (40, ["-e", "1"], False), (20, [], False):
            digits = self.spec(dataset=f"{{Digits: {{ntrain: 100, ntest: {size}}}}}", name="digits.yaml")
            run = self.neon("-r", "1", "-e", "3", *arguments, digits, "--set", "layers[1].nout=10")
            self.assertEqual(note in run.err + run.out, told, (size, arguments))
            self.assertEqual(run.err.count("test cost"), 1 if told or "-e" in arguments else 3, (size, arguments))

    def test_same_seed_same_bits(self):
        spec = self.spec()
        for name in "ab":
            self.neon("-r", "7", "-s", name, spec)
        self.assertEqual(tensors(self.path("a"))[0], tensors(self.path("b"))[0])
        self.neon("-r", "8", "-s", "c", spec)
        self.assertNotEqual(tensors(self.path("a"))[0], tensors(self.path("c"))[0])

    def test_deterministic_without_a_seed(self):
        spec = self.spec()
        for name in "ab":
            result = self.neon("--deterministic", "-s", name, spec)
            self.assertIn("seed 0 (from --deterministic; -r N sets another)\n", result.out)
        self.neon("-r", "0", "-s", "c", spec)
        weights = [tensors(self.path(name))[0] for name in "abc"]
        self.assertTrue(weights[0] == weights[1] == weights[2])
        self.assertTrue(self.neon("--deterministic", "-r", "7", spec).out.count("seed 7\n"))
        self.assertTrue(self.neon("--deterministic", self.spec(rng_seed="8")).out.count("seed 8\n"))

    def test_history_and_serialize(self):
        self.neon("-s", "m.safetensors", "-H", "2", "-e", "6", "--serialize", "2", self.spec())
        names = sorted(name for name in os.listdir(self.folder) if name.startswith("m."))
        self.assertEqual(len(names), 3, names)
        epochs = sorted(json.loads(tensors(self.path(name))[1]["neon.position"])["epoch"] for name in names)
        self.assertEqual(epochs, [2, 4, 6])

    def test_epochs_after_which_to_save(self):
        for asked, epochs in ("2", [2, 4, 5]), ("2,", [2, 5]), ("2,3", [2, 3, 5]):
            with self.subTest(asked):
                name = "m" + str(len(asked)) + ".safetensors"
                self.neon("-s", name, "-H", "9", "-e", "5", "--serialize", asked, self.spec())
                saved = sorted(each for each in os.listdir(self.folder) if each.startswith(name[:3]))
                found = sorted(json.loads(tensors(self.path(each))[1]["neon.position"])["epoch"] for each in saved)
                self.assertEqual(found, epochs)

    def test_checkpoints_that_are_asked_for_without_a_name(self):
        for option, asked in ("--serialize", "3"), ("-H", "1"):
            result = self.neon(option, asked, "-e", "6", self.spec())
            self.assertEqual(result.err.count("warning: --"), 1)
            self.assertIn("without -s: checkpoints go to neon_model.safetensors\n", result.err)
            self.assertIn("wrote neon_model.safetensors\n", result.out)
            self.assertIn("Top1Misclass", self.neon("eval", "neon_model.safetensors").out)
        self.assertNotIn("warning: --", self.neon("--serialize", "3", "-s", "m.safetensors", "s.yaml").err)
        self.refused(2, "-H", "1", "-o", "neon_model.safetensors", "s.yaml", says="are the same file")

    def test_time_is_counted_without_checkpoints(self):
        # Enough work that it cannot round to nothing.
        slow = self.spec(dataset="{UniformRandom: {ntrain: 20000, ntest: 10, nin: 20, nout: 3}}", batch_size="1")
        seconds = re.search(r"in ([\d.]+) s", self.neon("--serialize", "3", slow).out)[1]
        self.assertGreater(float(seconds), 0)

    def test_model_file(self):
        spec = self.spec()
        self.neon("-r", "1", "-s", "a", spec)
        # A rate of 0 leaves the weights as they were loaded.
        self.neon("-r", "2", "-e", "1", "--model_file", "a", "-s", "b", "--set", "optimizer.learning_rate=0", spec)
        before, after = tensors(self.path("a"))[0], tensors(self.path("b"))[0]
        for name in "Affine_0/W", "Affine_1/W":
            self.assertEqual(before[name], after[name])
        for trained, used, told in ([], ["--caffe"], "trained without --caffe, this run is with it"), \
                (["--caffe"], [], "trained with --caffe, this run is without it"), ([], [], ""), (["--caffe"], ["--caffe"], ""):
            self.neon("-r", "1", "-e", "1", *trained, "-s", "c", spec)
            err = self.neon("-r", "1", "-e", "1", *used, "--model_file", "c", spec).err
            self.assertIn(told, err)
            self.assertEqual("--caffe" in err, bool(told), err)

    def test_model_file_begins_with_the_net_that_eval_would_test(self):
        spec, still = self.spec(), ["--set", "optimizer.learning_rate=0"]
        self.neon("-r", "1", "-s", "a", "--set", "ema=0.9", spec)
        before = tensors(self.path("a"))[0]
        self.assertNotEqual(before["Affine_0/W"], before["Affine_0/W/ema"])
        for more in [], ["--set", "ema=0.5"]:
            self.neon("-e", "1", "--model_file", "a", "-s", "b", *still, *more, spec)
            self.assertEqual(tensors(self.path("b"))[0]["Affine_0/W"], before["Affine_0/W/ema"])

    def test_model_file_is_where_running_means_begin(self):
        spec = self.spec(ema="0.5")
        self.neon("-r", "1", "-s", "a", self.spec(name="plain.yaml"))
        self.neon("-r", "2", "-e", "1", "--model_file", "a", "-s", "b", "--set", "optimizer.learning_rate=0", spec)
        before, after = tensors(self.path("a"))[0], tensors(self.path("b"))[0]
        self.assertEqual(before["Affine_0/W"], after["Affine_0/W/ema"])


if __name__ == "__main__":
    support.main()
