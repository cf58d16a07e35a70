#!/usr/bin/python3
"""Training from the command line: every option does what it says, and what a run prints."""
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time

import h5py
import numpy as np

import support
from support import MNIST, NEON, Case, tensors, write_mnist


class Train(Case):
    def test_prints_result_and_next_command(self):
        result = self.neon(self.spec())
        self.assertRegex(result.out, r"(?m)^test: .*Top1Misclass [\d.]+ %  test cost [\d.]+  \(150 samples built in\)$")
        self.assertRegex(result.out, r"(?m)^trained 4 epochs in .*, seed \d+$")
        self.assertIn(f"next: {NEON} s.yaml -s model.safetensors -o run.h5\n", result.out)
        self.assertEqual(result.err.count("\n"), 4, "a line an epoch, without a terminal")

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

    def test_options(self):
        result = self.neon("-e", "2", "-z", "8", "-r", "5", "-s", "m.safetensors", "-o", "r.h5", "-d", "f64",
                           "-eval", "2", "-H", "0", "--serialize", "1", "--no_progress_bar", "-b", "cpu", self.spec())
        self.assertEqual(result.err, "")
        self.assertIn("seed 5\n", result.out)
        stored, metadata = tensors(self.path("m.safetensors"))
        self.assertEqual({kind for kind, _, _ in stored.values()}, {"F64"})
        position = json.loads(metadata["neon.position"])
        self.assertEqual((position["epoch"], position["seed"]), (2, 5))
        with h5py.File(self.path("r.h5")) as file:
            samples = 150 - 30
            self.assertEqual(file["cost/train"].shape, (2 * samples // 8,))
            self.assertEqual(file["cost/loss"].shape, (1,))
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.safetensors", "r.h5", "s.yaml"])

    def test_long_options(self):
        self.neon("--epochs=1", "--batch_size", "8", "--rng_seed=3", "--save_path", "a.safetensors", "--output_file=b.h5",
                  "--datatype", "bf16", "--eval_freq", "1", "--history=2", "--backend=cpu", "--caffe", "--deterministic",
                  "--verbose", self.spec())
        self.assertTrue(os.path.exists(self.path("a.safetensors")) and os.path.exists(self.path("b.h5")))

    def test_eval_freq_by_its_older_names(self):
        for option in ["-eval", "2"], ["-val", "2"], ["-val=2"], ["--validation_freq", "2"], ["--evaluation_freq=2"], ["-c", "a.cfg"]:
            self.write("a.cfg", "evaluation_freq = 2\n")
            lines = self.neon("-e", "4", *option, self.spec()).err.splitlines()
            epochs = [line for line in lines if line.startswith("epoch ")]
            self.assertEqual(["test cost" in line for line in epochs], [False, True] * 2, option)

    def test_one_evaluation_of_a_large_test_set_is_told(self):
        note = "evaluated after the last epoch only: an evaluation passes 40 samples, an epoch 100; --eval_freq 1"
        for size, arguments, told in (40, [], True), (40, ["--eval_freq", "1"], False), (40, ["-e", "1"], False), (20, [], False):
            digits = self.spec(dataset=f"{{Digits: {{ntrain: 100, ntest: {size}}}}}", name="digits.yaml")
            run = self.neon("-r", "1", "-e", "3", *arguments, digits, "--set", "layers[1].nout=10")
            self.assertEqual(note in run.err + run.out, told, (size, arguments))
            self.assertEqual(run.err.count("test cost"), 1 if told or "-e" in arguments else 3, (size, arguments))

    def test_the_next_command_is_one_for_the_shell(self):
        os.mkdir(self.path("a b"))
        self.spec(name="a b/it's.yaml")
        for arguments in ["a b/it's.yaml"], ["-s", "a b/m&n.safetensors", "a b/it's.yaml"], ["resume", "a b/m&n.safetensors"]:
            command = re.search(r"next: (.*)", self.neon(*arguments).out)[1]
            subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, check=True)

    def test_names_that_begin_as_options_do(self):
        self.spec(name="-s.yaml")
        for arguments in ["--", "-s.yaml"], ["-s=-m", "--", "-s.yaml"], ["resume", "--", "-m"]:
            command = re.search(r"next: (.*)", self.neon(*arguments).out)[1]
            subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, check=True)

    def test_values_after_a_sign_of_equality(self):
        out = self.neon("-s=m", "-e=2", "-H=1", "-z=30", "-d=bf16", "-u=4", "-l=log", "-r=5", self.spec()).out
        self.assertIn("trained 2 epochs", out)
        self.assertIn("seed 5\n", out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["log", "m", "m.1-1", "s.yaml"])

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

    def test_a_run_that_goes_on_keeps_its_seed_and_says_no_more(self):
        seed = re.search(r", (seed \d+)\n", self.neon("-s", "m", self.spec()).out)[1]
        self.assertIn(f", {seed}\n", self.neon("resume", "--deterministic", "-e", "5", "m").out)
        self.neon("--deterministic", "-s", "m", "s.yaml")
        self.assertIn(", seed 0\n", self.neon("resume", "-e", "5", "m").out)

    def test_history_and_serialize(self):
        self.neon("-s", "m.safetensors", "-H", "2", "-e", "6", "--serialize", "2", self.spec())
        names = sorted(name for name in os.listdir(self.folder) if name.startswith("m."))
        self.assertEqual(len(names), 3, names)
        epochs = sorted(json.loads(tensors(self.path(name))[1]["neon.position"])["epoch"] for name in names)
        self.assertEqual(epochs, [2, 4, 6])

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

    def test_config_file(self):
        self.write("neon.cfg", "# options\nepochs = 3\nrng_seed: 9\nno_progress_bar\n")
        self.assertIn("trained 3 epochs", self.neon("-c", "neon.cfg", self.spec()).out)
        result = self.neon("-e", "1", "--config=neon.cfg", self.spec())
        self.assertIn("trained 1 epochs", result.out, "the command line overrules")
        self.assertIn("seed 9", result.out)

    def test_data_dir(self):
        write_mnist(self, "elsewhere/mnist")
        result = self.neon("-w", "elsewhere", self.spec(MNIST))
        self.assertIn("(elsewhere/mnist)", result.out)
        self.assertIn("(elsewhere/mnist)", self.neon(self.spec(MNIST), environment={"NEON_DATA_DIR": "elsewhere"}).out)

    def test_set(self):
        spec = self.spec()
        self.neon("--set", "layers[0].nout=5", "--set", "epochs=1", "-s", "m", spec)
        self.assertEqual(tensors(self.path("m"))[0]["Affine_0/W"][1], [5, 4])

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

    def test_rounding_does_not_swallow_the_spec(self):
        self.neon("-u", self.spec())
        self.neon("-u", "7", self.spec())
        self.neon("--rounding", self.spec(epochs="1"), "-d", "bf16")
        self.neon("-e", "1", "--rounding=3", self.spec())

    def test_steps_of_16_bits_that_overflow_are_left_out_at_half_the_loss_scale(self):
        """With x = 2^k, y = 0 and a weight of 1 the gradients are 2^k, of the output, and 2^2k, of the weight; and the
        cost 2^(2k-1). They are stored times the scale, 2^16 at first, which the greatest number must hold: below 2^16 in
        f16, 2^128 in bf16."""
        for datatype, k, skipped in ("f16", 1, 3), ("f16", 0, 1), ("bf16", 56, 1), ("bf16", 55, 0):
            self.write("d.csv", f"{2 ** k},0.0\n" * 2)
            spec = self.spec("""dataset: {CSV: {path: d.csv, task: regression, test: 0, header: false}}
layers: [Linear: {nout: 1, init: {Constant: 1}}]
cost: SumSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0}}
batch_size: 1
epochs: 2
""")
            done = self.neon("-b", "cpu", "-d", datatype, "-o", "o.h5", "-s", "m", spec)
            said = f"skipped {skipped} step{'s' if skipped > 1 else ''} that overflowed"
            self.assertEqual(said in done.out + done.err, skipped > 0, str(done))
            self.assertNotIn("skipped 0", done.out + done.err)
            told = [str(number) for number in (min(skipped, 2), skipped) if number]  # by the lines of the epochs
            self.assertEqual(re.findall(r"(?m)^epoch \d/2 .*  skipped (\d+)", done.err), told)
            self.assertEqual(float(json.loads(tensors(self.path("m"))[1]["neon.position"])["loss_scale"]), 65536 / 2 ** skipped)
            # An epoch is two steps, and a step that is left out halves the scale.
            with h5py.File(self.path("o.h5")) as file:
                self.assertEqual(list(file["epoch/skipped_steps"]), [min(skipped, 2), skipped])
                self.assertEqual(list(file["epoch/loss_scale"]), [65536 / 2 ** min(skipped, 2), 65536 / 2 ** skipped])

    def test_adam_counts_updates_and_no_skipped_steps(self):
        """A gradient that hardly changes moves Adam by the whole rate at each update (Kingma and Ba 2015, section 2.1), from
        the first on, if t counts updates. With x = 2 and a weight of 1, f16 skips the first 3 steps; of updates of 2 steps
        it skips the first 2."""
        self.write("d.csv", "2,0.0\n" * 2)
        rate = 2 ** -10
        for rule in f"Adam: {{learning_rate: {rate}}}", f"AdamW: {{learning_rate: {rate}, wdecay: 0}}":
            for accumulate, updates in (1, 3), (2, 1):
                spec = self.spec(f"""dataset: {{CSV: {{path: d.csv, task: regression, test: 0, header: false}}}}
layers: [Linear: {{nout: 1, init: {{Constant: 1}}}}]
cost: SumSquared
optimizer: {{{rule}}}
batch_size: 1
epochs: 2
accumulate: {accumulate}
""")
                self.neon("-b", "cpu", "-r", "1", "-d", "f16", "-e", "3", "-s", "m", spec)
                for stop in "", "2":  # the first epoch ends among the skipped steps, the second as an update does
                    if stop:
                        self.neon("-b", "cpu", "-r", "1", "-d", "f16", "-e", stop, "-s", "m", spec)
                        self.neon("resume", "m", "-e", "3")
                    found, metadata = tensors(self.path("m"))
                    with self.subTest(rule=rule, accumulate=accumulate, stop=stop):
                        self.assertEqual(json.loads(metadata["neon.position"])["updates"], updates)
                        (weight,) = struct.unpack("<f", found["Linear_0/W"][2])
                        self.assertAlmostEqual((1 - weight) / rate, updates, delta=0.01 * updates)

    def test_rounded_weights_have_no_masters(self):
        for datatype, stored in ("f16", "F16"), ("bf16", "BF16"), ("f32", "F32"):
            self.neon("-r", "1", "-u", "-d", datatype, "-s", datatype, self.spec())
            found, _ = tensors(self.path(datatype))
            self.assertEqual(found["Affine_0/W"][0], stored)
            self.assertEqual(found["Affine_0/W/velocity"][0], "F32")
            self.assertIn("Top1Misclass", self.neon("eval", datatype).out)
        # f32 keeps 10 bits of its 23.
        self.assertTrue(all(int(x) & 0x1fff == 0 for x in struct.unpack("<32I", found["Affine_0/W"][2])))

    def test_rounding_that_a_type_has_not(self):
        self.refused(2, "-u", "8", "-d", "bf16", self.spec(), says=["-u 8", "1 to 7", "-u alone for 7"])
        self.refused(2, "-u", "16", self.spec(), says=["-u 16", "1 to 15"])
        self.refused(2, "-u", "11", "-d", "f16", "check", self.spec(), says=["-u 11", "1 to 10"])
        self.refused(2, "-u", "-d", "f64", self.spec(), says="-u rounds updates of f32, f16 and bf16")
        self.neon("-u", "-d", "f16", "-e", "1", "-s", "a", self.spec())
        self.refused(2, "resume", "a", "-u", "3", says="--rounding cannot change")

    def test_model_file_of_another_type_is_rounded(self):
        self.neon("-r", "1", "-s", "a", self.spec())
        done = self.neon("-d", "f16", "-u", "-e", "1", "--model_file", "a", "-s", "b",
                         "--set", "optimizer.learning_rate=0", self.spec())
        self.assertIn("note: the weights of a are f32, here they are rounded to f16", done.err)
        before, after = tensors(self.path("a"))[0]["Affine_0/W"], tensors(self.path("b"))[0]["Affine_0/W"]
        rounded = struct.pack("<32e", *struct.unpack("<32f", before[2]))
        self.assertEqual(rounded, after[2])

    def test_no_gpu(self):
        self.refused(6, "-b", "gpu", self.spec(), says=["the GPU cannot be used", "-b cpu"])
        self.refused(6, "-g", "cudanet", self.spec(), says="the GPU cannot be used")
        self.refused(6, self.spec(backend="gpu"), says="the GPU cannot be used")
        self.neon("-b", "cpu", self.spec(backend="gpu", epochs="1"))

    def test_a_gpu_that_is_named_is_asked_for(self):
        spec = self.spec(backend="cpu", epochs="1")
        for index in "0", "3":
            for verb in [], ["check"], ["bench"]:
                self.refused(6, *verb, "-i", index, spec, says=["the GPU cannot be used", "-b cpu"])
        self.write("gpu.cfg", "device_id = 1\n")
        self.refused(6, "-c", "gpu.cfg", spec, says="the GPU cannot be used")
        self.neon("-c", "gpu.cfg", "-b", "cpu", "-s", "m.safetensors", spec)
        # The checkpoint keeps the number of the GPU, which asks for nothing where the run goes on.
        self.neon("resume", "m.safetensors", "-e", "2")
        self.write("x.csv", "5.1,3.5,1.4,0.2\n")
        for verb in ["eval", "m.safetensors"], ["resume", "m.safetensors"], ["predict", "m.safetensors", "x.csv"]:
            self.refused(6, *verb, "-i", "0", says="the GPU cannot be used")

    def test_the_command_line_overrules_the_device_of_a_file(self):
        spec = self.spec(epochs="1")
        for says in "backend = cpu", "gpu: cpu":
            self.write("cpu.cfg", says + "\n")
            self.neon("-c", "cpu.cfg", spec)
            for asked in ["-g", "gpu"], ["--gpu=cudanet"], ["-i", "1"], ["-b", "gpu"]:
                self.refused(6, "-c", "cpu.cfg", *asked, spec, says="the GPU cannot be used")
                self.refused(6, *asked, "-c", "cpu.cfg", spec, says="the GPU cannot be used")
        for says in "backend = gpu", "gpu = cudanet", "device_id = 1", "backend = gpu\ndevice_id = 1":
            self.write("gpu.cfg", says + "\n")
            self.refused(6, "-c", "gpu.cfg", spec, says="the GPU cannot be used")
            for asked in ["-g", "cpu"], ["-b", "cpu"], ["-bcpu"]:
                self.neon("-c", "gpu.cfg", *asked, spec)

    def test_backends_by_the_names_of_neon_1(self):
        spec = self.spec(backend="gpu", epochs="1")
        for option in "-b", "-g":
            self.neon(option, "mkl", spec)
            self.refused(6, option, "mgpu", spec, says="the GPU cannot be used")
        self.neon("-b", "cpu", "-g", "mkl", spec)
        self.write("old.cfg", "backend = mkl\n")
        self.neon("-c", "old.cfg", "-s", "m.safetensors", spec)
        self.neon("eval", "-b", "mkl", "m.safetensors")

    def test_of_options_given_twice_the_last_counts(self):
        spec = self.spec(backend="gpu", epochs="1")
        self.write("one.cfg", "max_devices = 1\ngpu = gpu\n")
        self.neon("-c", "one.cfg", "-m", "1", "-g", "cpu", spec)
        self.neon("-m", "1", "-m", "1", "-g", "gpu", "-g", "cpu", spec)
        self.refused(6, "-g", "cpu", "-g", "gpu", spec, says="the GPU cannot be used")
        self.neon("-m", "2", "-m", "1", "-b", "cpu", spec)

    def test_config_file_takes_quotes_off(self):
        self.write("q.cfg", "save_path = 'q q#1.safetensors' # the net\noutput_file: \"r;1.h5\"\nepochs='1' ; quoted\n")
        self.assertIn("trained 1 epochs", self.neon("-c", "q.cfg", self.spec()).out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["q q#1.safetensors", "q.cfg", "r;1.h5", "s.yaml"])

    def test_config_file_may_turn_rounding_on_and_off(self):
        stored = {}
        for name, options in ("False", ["-c"]), ("false", ["-c"]), ("True", ["-c"]), ("'true'", ["-c"]), ("10", ["-c"]), \
                ("3", ["-c"]), ("off", None):
            self.write("r.cfg", f"rounding = {name}\n")
            self.neon("-r", "1", "-e", "1", "-b", "cpu", "-d", "f16", "-s", "m", *(options + ["r.cfg"] if options else []), self.spec())
            stored[name] = tensors(self.path("m"))[0]["Affine_0/W"]
        self.assertEqual(stored["False"], stored["off"])
        self.assertEqual(stored["false"], stored["off"])
        self.assertEqual(stored["True"], stored["10"])
        self.assertEqual(stored["'true'"], stored["10"])
        self.assertNotEqual(stored["3"], stored["10"])
        self.assertNotEqual(stored["10"], stored["off"])

    def test_resume_of_a_run_that_is_done(self):
        self.neon("-e", "3", "-s", "m.safetensors", self.spec())
        before = tensors(self.path("m.safetensors"))[0]
        for epochs, says in ("2", "the run has done 3 epochs, more than 2; -e N trains on to epoch N\n"), \
                ("3", "the run has done its 3 epochs; -e N trains on to epoch N\n"):
            result = self.neon("resume", "m.safetensors", "-e", epochs)
            self.assertIn(says, result.err)
            self.assertIn("trained 3 epochs", result.out)
        self.assertEqual(tensors(self.path("m.safetensors"))[0], before)

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
        """Also where an evaluation takes so long that there was one at the end alone."""
        self.neon("-s", "m", "-o", "r.h5", self.spec(dataset="{Iris: {test: 75}}", epochs="2"))
        with h5py.File(self.path("r.h5")) as file:
            before = file["cost/loss"][:]
        self.assertEqual(before.shape, (1,))
        for epochs in "4", "7":
            self.assertNotIn("is not kept", self.neon("resume", "-e", epochs, "m").err)
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(file["cost/loss"].attrs["epoch_freq"], 2)
                self.assertEqual(file["cost/loss"][0], before[0])
                self.assertEqual(len(file["cost/loss"]), int(epochs) // 2)
                self.assertFalse(any(file["cost/loss"][:] != file["cost/loss"][:]), "all were evaluated")

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

    def test_a_rate_that_goes_by_the_epochs_of_the_run(self):
        spec = self.spec(epochs="2")
        cosine = ["--set", "optimizer.schedule=Cosine"]
        self.neon("-s", "m.safetensors", spec, *cosine)
        said = self.neon("resume", "m.safetensors", "-e", "4").err
        rate = float(re.search(r"learning_rate: ([0-9.e-]+)", self.read("s.yaml").decode())[1])
        told = re.search(r"note: the schedule depends on the run's length, now 4 epochs instead of 2; the learning rate is now ([0-9.e-]+) instead of 0\n", said)
        self.assertTrue(told, said)
        self.assertAlmostEqual(float(told[1]), rate / 2)  # half of half a cosine
        self.assertNotIn("learning rate", self.neon("resume", "m.safetensors").err)
        self.neon("-s", "n.safetensors", spec)
        self.assertNotIn("learning rate", self.neon("resume", "n.safetensors", "-e", "4").err)

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

    def test_home_is_read_where_no_shell_does(self):
        self.write("a.cfg", "save_path = ~/kept/m.safetensors\nlog = '~/kept/log.txt'\n")
        self.neon("-c", "a.cfg", "-e", "1", "--output_file=~/kept/run.h5", self.spec(), environment={"HOME": self.path("home")})
        self.assertEqual(sorted(os.listdir(self.path("home/kept"))), ["log.txt", "m.safetensors", "run.h5"])
        self.assertFalse(os.path.exists(self.path("~")))

    def test_threads_that_are_bound_are_as_many(self):
        """Bound, the first thread may use one processor, which says nothing of the others."""
        def threads(**environment):
            return re.search(r"(?m)^threads .*", self.neon("doctor", environment={"OMP_NUM_THREADS": "1000", **environment}).out)[0]
        self.assertEqual(threads(OMP_PROC_BIND="true"), threads())
        self.assertEqual(threads(GOMP_CPU_AFFINITY=str(min(os.sched_getaffinity(0)))), "threads          1")

    def test_number_of_threads_that_is_none(self):
        all_of_them = self.neon("doctor", environment={"OMP_NUM_THREADS": "1000000000"})
        found = re.search(r"^threads +(\d+)$", all_of_them.out, re.M)[1]
        used = f"neon uses {found} thread" + "s" * (found != "1")
        self.assertEqual(all_of_them.err, f"note: OMP_NUM_THREADS is '1000000000', more than this process has processors: {used}\n")
        for value in "abc", "-3", "0", "1e9", "":
            for verb in ["-e", "1"], ["check"], ["bench", "--iterations", "2"]:
                done = self.neon(*verb, self.spec(), environment={"OMP_NUM_THREADS": value})
                ours = [line for line in done.err.splitlines() if "OMP_NUM_THREADS is" in line]
                self.assertEqual(ours, [f"note: OMP_NUM_THREADS is '{value}', not a number of threads (1 or more): {used}"])
                self.assertLessEqual(done.err.count("libgomp"), 1, done.err)
        self.assertNotIn("OMP_NUM_THREADS", self.neon("-e", "1", self.spec(), environment={"OMP_NUM_THREADS": "1"}).err)

    def test_spec_and_options_come_by_pipes(self):
        spec, options = self.spec(epochs="7"), b"epochs = 2\nsave_path = m\n"
        self.write("options", options)
        for words in "-c <(cat options) <(cat s.yaml)", "-c /dev/stdin s.yaml < <(cat options)", "-coptions /dev/stdin < <(cat s.yaml)", \
                "--config=<(cat options) s.yaml":
            with self.subTest(words):
                done = subprocess.run(["bash", "-c", f"{shlex.quote(NEON)} {words}"], cwd=self.folder, env=self.environment,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("trained 2 epochs", done.stdout)
                self.assertIn(f"spec_dir: {self.folder}\n", tensors(self.path("m"))[1]["neon.options"])
                os.remove(self.path("m"))
        self.assertEqual(self.neon("-c", "/dev/stdin", spec, stdin=b"epoch = 2\n", code=None).code, 2)
        # What cannot be read again is not offered again.
        self.assertNotIn("next:", self.neon("-e", "1", "/dev/stdin", stdin=self.read(spec)).out)

    def test_verb_after_options(self):
        self.assertIn("spec    s.yaml", self.neon("-z", "8", "check", self.spec()).out)

    def test_log_file(self):
        self.neon("-l", "my.log", self.spec(epochs="2"))
        lines = self.read("my.log").decode().splitlines()
        self.assertEqual(len([line for line in lines if re.search(r"epoch \d/2  cost", line)]), 2, lines)
        self.neon("--no_progress_bar", "-l", self.spec(epochs="1"))
        self.assertIn("epoch 1/1", self.read("neon_log.txt").decode())
        self.refused(1, "-l", "/proc/none/log", self.spec(), says="the log file cannot be opened")

    def test_metrics_without_test_samples_are_said_not_to_be_computed(self):
        note = "note: metrics are not computed, as the data set has no test samples"
        drawn = "dataset: {UniformRandom: {nin: [5], nout: 3, ntrain: 64, ntest: %d}}\n" \
                "layers: [Affine: {nout: 3, init: {Constant: 0}, activation: Softmax}]\n" \
                "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 16\n"
        self.write("none.yaml", drawn % 0 + "metrics: [Misclassification]\n")
        for arguments in ["check", "none.yaml"], ["-e", "1", "-s", "m.safetensors", "none.yaml"]:
            self.assertEqual(self.neon(*arguments).err.count(note), 1)
        self.assertNotIn(note, self.neon("resume", "m.safetensors", "-e", "2").err)
        self.write("default.yaml", drawn % 0)
        self.write("some.yaml", drawn % 16 + "metrics: [Misclassification]\n")
        for spec in "default.yaml", "some.yaml":
            self.assertNotIn(note, self.neon("check", spec).err + self.neon("-e", "1", spec).err)

    def test_files_that_are_something_else_are_not_written_into(self):
        spec, rows = self.spec(), "1,2,a\n1,3,b\n"
        self.neon("-e", "1", "-s", "m.safetensors", "-l", "log", spec)
        self.write("rows.csv", rows)
        self.write("short", "x")
        self.write("numbers.json", "[1234, 5678]\n")
        for name in "m.safetensors", "rows.csv", "short", "numbers.json", "s.yaml":
            content = self.read(name)
            self.refused(3, f"--log={name}", self.spec(name="other.yaml"), says=[f"-l {name} is there and is no log"])
            self.assertEqual(self.read(name), content)
        self.refused(3, "-s", "rows.csv", spec, says=["-s rows.csv exists and is no checkpoint"])
        self.refused(3, "resume", "-e", "2", "m.safetensors", "-s", "rows.csv", says=["-s rows.csv exists and is no checkpoint"])
        self.assertEqual(self.read("rows.csv").decode(), rows)
        # A log goes on, an empty file becomes one, and a checkpoint may have any name.
        self.write("empty", "")
        for log in "log", "empty":
            self.neon("-e", "1", "-s", "m", "-l", log, spec)
        self.assertEqual(self.read("log").decode().count("trained 1 epochs"), 2)
        self.neon("-e", "1", "-s", "m", spec)

    def test_log_file_says_what_was_run_and_what_came_out(self):
        done = self.neon("-l", "my.log", "-r", "7", "-d", "bf16", "-s", "m.safetensors", self.spec(epochs="2"))
        said = [line.split("] ", 3)[3] for line in self.read("my.log").decode().splitlines()]
        self.assertEqual(said[0], "log my.log")
        self.assertRegex(said[1], r"^neon [\d.]+, seed 7$")
        self.assertIn("datatype: bf16", said[2])
        self.assertIn("nout: 8", said[3])
        self.assertEqual(said[4], "runs on 1 threads")
        self.assertEqual(said[-len(done.out.splitlines()):], done.out.splitlines())
        self.neon("-l", "bad.log", "-r", "7", self.spec(), "--set", "optimizer.learning_rate=1e38", code=5)
        self.assertIn("the run diverged", self.read("bad.log").decode().splitlines()[-1])

    def test_the_threads_that_are_said_are_those_that_were_chosen(self):
        """Without a seed that is after the first steps, and for so small a net usually one."""
        small = self.spec(dataset="{UniformRandom: {ntrain: 4096, ntest: 16, nin: 4, nout: 3}}", epochs="1")
        for _ in range(3):
            said = self.neon("-vv", "-l", "my.log", "-s", "m", small, environment={"OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}).err
            threads = json.loads(tensors(self.path("m"))[1]["neon.position"])["threads"]
            self.assertRegex(said, rf"(?m)^plan: .*, {threads} threads; values of")
            logged = self.read("my.log").decode()
            self.assertEqual(re.findall(r"\d+ threads", logged), [f"{threads} threads"] * 2, logged)
            os.remove(self.path("my.log"))

    def test_verbosity(self):
        self.neon(self.spec())
        said = [len(self.neon("-r", "1", *flag, "s.yaml").err.splitlines()) for flag in ([], ["-vv"], ["-vvv"])]
        self.assertEqual(said[1], said[0] + 1)
        plan = self.neon("-vv", "s.yaml").err
        kernels = re.search(r"(?m)^plan: \d+ ops in (\d+) kernels \(.*fused.*\), 1 threads; values of .* share .*, weights", plan)
        step = self.neon("program", "s.yaml").out
        self.assertEqual(int(kernels[1]), int(re.search(r"(?m)^(\d+) kernels: ", step)[1]))
        shown = self.neon("-vvv", "s.yaml").err
        self.assertIn(step[:step.index("leaves")], shown)


class Output(Case):
    def test_results_and_messages_are_apart(self):
        result = self.neon(self.spec())
        self.assertNotIn("epoch 1/4", result.out)
        self.assertIn("epoch 1/4", result.err)

    def terminal(self, enough, columns=100, **environment):
        """What neon writes to a terminal whose window has `columns` once a line was seen. The run is stopped, in its first
        epoch, when `enough` holds for what came: how fast a machine is does not matter."""
        main, other = pty.openpty()
        resize = lambda columns: fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 20, columns, 0, 0))
        resize(100)
        long = self.spec(dataset="{UniformRandom: {ntrain: 4000000, ntest: 10, nin: 2, nout: 3}}", epochs="1000", batch_size="1")
        child = subprocess.Popen([NEON, "-vv", long], cwd=self.folder, env={**self.environment, "TERM": "xterm", **environment},
                                 stdout=other, stderr=other, stdin=subprocess.DEVNULL)
        os.close(other)
        out, chunk, stopped = b"", b"", False
        deadline = time.monotonic() + 60
        try:
            while not select.select([main], [], [], 0.1)[0] or (chunk := os.read(main, 65536)):
                out, chunk = out + chunk, b""
                if b"  step " in out:
                    resize(columns)
                if not stopped and enough(out):
                    child.send_signal(signal.SIGINT)
                    stopped = True
                if time.monotonic() > deadline:
                    child.kill()
        except OSError:
            pass  # Linux's way to say that the other side is closed
        os.close(main)
        self.assertEqual(child.wait(), 130, out)
        return out

    def test_terminal_line_renews_itself(self):
        out = self.terminal(lambda out: out.count(b"  step ") == 3)
        steps = re.findall(rb"\x1b\[2mepoch 1/1000  step (\d+)/4000000  cost [^\x1b]*samples/s[^\x1b]*\x1b\[0m\r\x1b\[K", out)
        self.assertGreaterEqual(len(steps), 3, out)
        self.assertEqual(sorted(set(map(int, steps))), list(map(int, steps)))

    def test_terminal_line_fits_a_window_that_became_narrow(self):
        widths = lambda out: [len(line) for line in re.findall(rb"\x1b\[2m(.*?)\x1b\[0m", out)]
        seen = widths(self.terminal(lambda out: widths(out)[-3:] == [29] * 3 or len(widths(out)) > 50, columns=30))
        wide = [width for width in seen if width > 40]
        self.assertGreaterEqual(len(wide), 1)
        self.assertEqual(seen, wide + [29] * (len(seen) - len(wide)))
        self.assertGreaterEqual(len(seen), len(wide) + 3)

    def test_results_begin_a_line(self):
        out = self.terminal(lambda out: b"  step " in out)
        self.assertRegex(out, rb"\r\x1b\[Kstopped by Ctrl-C in epoch 1, step")

    def test_no_color(self):
        out = self.terminal(lambda out: out.count(b"  step ") == 2, NO_COLOR="1")
        self.assertIn(b"\r\x1b[Kepoch 1/1000  step ", out)
        self.assertNotIn(b"\x1b[2m", out)

    def test_a_terminal_that_cannot_go_back_is_shown_no_line(self):
        planned = []

        def half_a_second_of_training(out):
            planned.extend([time.monotonic()] if b"plan:" in out else [])
            return planned and time.monotonic() - planned[0] > 0.5

        self.assertNotIn(b"\x1b", self.terminal(half_a_second_of_training, TERM="dumb"))

    def test_full_disk_under_stdout_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for arguments in ["help"], ["--version"], ["check", self.spec()]:
                done = subprocess.run([NEON, *arguments], cwd=self.folder, env=self.environment, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, arguments)
                self.assertIn("No space left on device", done.stderr)


if __name__ == "__main__":
    support.main()
