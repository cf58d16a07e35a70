#!/usr/bin/python3
"""Every verb and option of the command line does what it says."""
import gzip
import json
import os
import re
import struct
import subprocess
import unittest
import zlib

import h5py
import numpy as np

import support
from support import IRIS, MNIST, NEON, Case, tensors, write_mnist


def sizes(x, bins=64, offset=-48):
    """Counts by size as neon's own tests had them."""
    edges = np.array([-np.inf] + [offset + i for i in range(1, bins + 1)], dtype=np.float32)
    with np.errstate(divide="ignore"):
        return np.histogram(np.rint(np.log2(np.abs(x))), edges)[0]


class Train(Case):
    def test_prints_result_and_next_command(self):
        result = self.neon(self.spec())
        self.assertRegex(result.out, r"(?m)^test: .*Top1Misclass [\d.]+ %  test cost [\d.]+  \(150 samples built in\)$")
        self.assertRegex(result.out, r"(?m)^trained 4 epochs in .*, seed \d+$")
        self.assertIn(f"next: {NEON} s.yaml -s model.safetensors -o run.h5\n", result.out)
        self.assertEqual(result.err.count("\n"), 4, "a line an epoch, without a terminal")

    def test_next_command_works(self):
        result = self.neon(self.spec())
        follow = re.search(r"next: (.*)", result.out)[1].split()
        self.assertEqual(follow[0], NEON)
        again = self.neon(*follow[1:])
        self.assertIn("wrote model.safetensors\nwrote run.h5\n", again.out)
        self.assertIn(f"next: {NEON} eval model.safetensors\n", again.out)

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
            self.assertIn("seed 0 (that of --deterministic; -r N takes another)\n", result.out)
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
        self.assertNotIn("warning", self.neon("--serialize", "3", "-s", "m.safetensors", "s.yaml").err)
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

    def test_rounded_weights_have_no_masters(self):
        for datatype, stored in ("f16", "F16"), ("bf16", "BF16"), ("f32", "F32"):
            self.neon("-r", "1", "-u", "-d", datatype, "-s", datatype, self.spec())
            found, _ = tensors(self.path(datatype))
            self.assertEqual(found["Affine_0/W"][0], stored)
            self.assertEqual(found["Affine_0/W/velocity"][0], "F32")
            self.assertIn("Top1Misclass", self.neon("eval", datatype).out)
        # f32 keeps 10 bits of its 23.
        self.assertTrue(all(int(x) & 0x1fff == 0 for x in struct.unpack("<32I", found["Affine_0/W"][2])))

    def test_histograms_are_of_weights_and_gradients(self):
        # One batch an epoch, and a rate of 1/8: the first velocity is exactly -1/8 of the gradient.
        spec = self.spec(batch_size="120", optimizer="{GradientDescentMomentum: {learning_rate: 0.125, momentum_coef: 0.5}}",
                         callbacks="[Hist]")
        for options in (), ("-d", "bf16"), ("-u", "12"):
            common = ["-r", "3", *options, spec]
            self.neon("-e", "1", "-s", "one", *common)
            self.neon("-e", "3", "-o", "run.h5", *common)
            stored = tensors(self.path("one"))[0]
            with h5py.File(self.path("run.h5")) as file:
                group = file["hist"]
                self.assertEqual(dict(group.attrs), {"bins": 64, "offset": -48, "time_markers": "epoch", "time_steps": 3})
                self.assertEqual(sorted(group), ["Affine_0_W", "Affine_0_dW", "Affine_1_W", "Affine_1_dW"])
                for layer in "Affine_0", "Affine_1":
                    weights, velocity = (np.frombuffer(stored[f"{layer}/{name}"][2], np.float32) for name in ("W", "W/velocity"))
                    self.assertEqual(group[f"{layer}_W"].shape, (64, 3))
                    self.assertEqual(group[f"{layer}_W"].dtype, np.int32)
                    self.assertEqual(group[f"{layer}_W"].attrs["x"], "epoch")
                    np.testing.assert_array_equal(group[f"{layer}_W"][:, 1], sizes(weights))
                    np.testing.assert_array_equal(group[f"{layer}_dW"][:, 0], sizes(8 * velocity))
                    self.assertTrue((group[f"{layer}_dW"][:].sum(axis=0) == weights.size).all())

    def test_histograms_every_few_steps_in_few_bins(self):
        self.neon("-r", "1", "-o", "run.h5", self.spec(callbacks="[Hist: {every: 7, tensors: W, bins: 8, offset: -6}]"))
        with h5py.File(self.path("run.h5")) as file:
            self.assertEqual(sorted(file["hist"]), ["Affine_0_W", "Affine_1_W"])
            data = file["hist/Affine_0_W"]
            # 4 epochs of 8 steps.
            self.assertEqual((data.shape, data.attrs["minibatch_freq"], file["hist"].attrs["time_markers"]), ((8, 4), 7, "minibatch"))
            self.assertTrue((data[:].sum(axis=0) == 32).all())
        self.assertIn("give one with -o FILE", self.neon(self.spec(callbacks="[Hist]")).err)

    def test_histograms_that_cannot_be(self):
        self.refused(2, self.spec(callbacks="[Hist: {tensors: [dw]}]"), says=["Hist: no layer has 'dw'; did you mean dW", "known: W, dW)"])
        self.refused(2, self.spec(callbacks="[Hist: {every: 1000}]"), says="every 1000 steps, but the run has 32")
        self.refused(2, self.spec(callbacks="[Hist, Hist]"), says="Hist is given twice")
        self.refused(2, self.spec(callbacks="[Hist: {bins: 0}]"), says=["bins", "[1, 1024]"])

    def test_histograms_warn_of_numbers_that_f16_does_not_hold(self):
        small = IRIS.replace("nout: 8, init: Kaiming", "nout: 8, init: {Constant: 1.0e-5}")
        large = IRIS.replace("nout: 8, init: Kaiming", "nout: 8, init: {Constant: 60000}")
        run = ["-r", "1", "-e", "2", "--set", "optimizer.learning_rate=0"]
        spec = self.spec(small, callbacks="[Hist: {tensors: W}]")
        said = self.neon(*run, "-d", "f16", spec).err
        self.assertEqual(said.count("warning: 100.0 % of the weights Affine_0_W are below f16's normal numbers"), 1, said)
        self.assertNotIn("warning", self.neon(*run, spec).err)
        spec = self.spec(large, callbacks="[Hist: {tensors: W}]")
        self.assertIn("warning: 100.0 % of the weights Affine_0_W are close to the largest f16", self.neon(*run, "-d", "f16", spec).err)
        self.assertNotIn("warning", self.neon(*run, "-d", "bf16", spec).err)

    def test_histograms_warn_of_what_f16_has_lost(self):
        vanishing = IRIS.replace("nout: 3, init: Kaiming", "nout: 3, init: {Gaussian: {scale: 1.0e-9}}")
        run = ["-r", "1", "-d", "f16", "-e", "2", "--set", "optimizer.learning_rate=0"]
        for bins in "Hist: {every: 1}", "Hist: {bins: 20, offset: -10}":
            spec = self.spec(vanishing, callbacks=f"[{bins}]")
            for rounding in [], ["-u", "10"]:
                said = self.neon(*run, *rounding, spec).err
                self.assertEqual(said.count("warning: 100.0 % of the weights Affine_1_W are below f16's normal numbers and "
                                            "lose bits, 24 are 0;"), 1, said)
                # What is multiplied by them goes back to the first layer.
                self.assertEqual(said.count("warning: all gradients Affine_0_dW are 0"), 1, said)
        self.assertNotIn("warning", self.neon("-r", "1", spec).err)
        # An array of zeros is meant where masters are kept.
        said = self.neon(*run, self.spec(IRIS.replace("nout: 3, init: Kaiming", "nout: 3, init: {Constant: 0}"), callbacks="[Hist: {tensors: W}]"))
        self.assertNotIn("warning", said.err)

    def test_histograms_warn_of_gradients_that_overflow(self):
        # Samples of this size, times the scale and what is off by about a half, are beyond f16.
        self.write("d.csv", "".join(f"{i % 3}00,{i % 5}00,{i % 2}\n" for i in range(1, 65)))
        spec = self.spec(IRIS.replace("nout: 3", "nout: 2").replace("Tanh", "Identity"), dataset="{CSV: {path: d.csv}}",
                         callbacks="[Hist: {every: 1}]")
        run = ["-r", "1", "--set", "optimizer.learning_rate=0", spec]
        said = self.neon("-d", "f16", *run).err
        self.assertRegex(said, r"warning: [\d.]+ % of the gradients Affine_\d_dW overflow f16 at a loss scale of 65536;")
        self.assertNotIn("overflow", self.neon("-d", "bf16", *run).err)

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
        self.neon("-i", "1", "-b", "cpu", "-s", "m.safetensors", spec)
        self.neon("-i", "1", "-g", "cpu", spec)
        # The checkpoint keeps the number of the GPU, which asks for nothing where the run goes on.
        self.neon("resume", "m.safetensors", "-e", "2")
        self.write("x.csv", "5.1,3.5,1.4,0.2\n")
        for verb in ["eval", "m.safetensors"], ["resume", "m.safetensors"], ["predict", "m.safetensors", "x.csv"]:
            self.refused(6, *verb, "-i", "0", says="the GPU cannot be used")

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
                self.assertEqual(ours, [f"note: OMP_NUM_THREADS is '{value}', no number of threads (1 or more): {used}"])
                self.assertLessEqual(done.err.count("libgomp"), 1, done.err)
        self.assertNotIn("OMP_NUM_THREADS", self.neon("-e", "1", self.spec(), environment={"OMP_NUM_THREADS": "1"}).err)

    def test_verb_after_options(self):
        self.assertIn("spec    s.yaml", self.neon("-z", "8", "check", self.spec()).out)

    def test_log_file(self):
        self.neon("-l", "my.log", self.spec(epochs="2"))
        lines = self.read("my.log").decode().splitlines()
        self.assertEqual(len([line for line in lines if re.search(r"epoch \d/2  cost", line)]), 2, lines)
        self.neon("--no_progress_bar", "-l", self.spec(epochs="1"))
        self.assertIn("epoch 1/1", self.read("neon_log.txt").decode())
        self.refused(1, "-l", "/proc/none/log", self.spec(), says="the log file cannot be opened")

    def test_log_file_says_what_was_run_and_what_came_out(self):
        done = self.neon("-l", "my.log", "-r", "7", "-d", "bf16", "-s", "m.safetensors", self.spec(epochs="2"))
        said = [line.split("] ", 3)[3] for line in self.read("my.log").decode().splitlines()]
        self.assertRegex(said[0], r"^neon [\d.]+, seed 7$")
        self.assertIn("datatype: bf16", said[1])
        self.assertIn("nout: 8", said[2])
        self.assertEqual(said[3], "runs on 1 threads")
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

    def terminal(self, **environment):
        """What neon writes to a terminal that is its stderr."""
        import pty
        main, other = pty.openpty()
        slow = self.spec(dataset="{UniformRandom: {ntrain: 20000, ntest: 10, nin: 20, nout: 3}}", epochs="6", batch_size="1")
        child = subprocess.Popen([NEON, slow], cwd=self.folder, env={**self.environment, "TERM": "xterm", **environment},
                                 stdout=subprocess.PIPE, stderr=other, stdin=subprocess.DEVNULL)
        os.close(other)
        out = b""
        try:
            while chunk := os.read(main, 65536):
                out += chunk
        except OSError:
            pass  # Linux's way to say that the other side is closed
        os.close(main)
        child.communicate()
        self.assertEqual(child.returncode, 0)
        return out

    def test_terminal_line_renews_itself(self):
        out = self.terminal()
        self.assertIn(b"\r\x1b[K", out)
        self.assertIn(b"\x1b[2m", out)
        self.assertIn(b"samples/s", out)

    def test_no_color(self):
        self.assertNotIn(b"\x1b[2m", self.terminal(NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.terminal(TERM="dumb"))

    def test_full_disk_under_stdout_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for arguments in ["help"], ["--version"], ["check", self.spec()]:
                done = subprocess.run([NEON, *arguments], cwd=self.folder, env=self.environment, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, arguments)
                self.assertIn("No space left on device", done.stderr)


class Inspection(Case):
    def test_version_and_help(self):
        self.assertRegex(self.neon("--version").out, r"^neon \d+\.\d+\.\d+\n$")
        for flag in "-h", "--help":
            usage = self.neon(flag).out
            for verb in "check", "summary", "program", "bench", "resume", "eval", "predict", "help":
                self.assertIn(f"neon {verb} ", usage)

    def test_help_names(self):
        overview = self.neon("help").out
        self.assertRegex(overview, r"(?m)^layer .*Affine")
        self.assertIn("nout: integer", self.neon("help", "Affine").out)
        self.assertIn("epochs: integer, in [1, 1e+09], default 10", self.neon("help", "spec").out)
        self.assertIn("Rectlin (activation)", self.neon("help", "ReLU").out, "aliases are known")
        self.refused(2, "help", "Afine", says=["'Afine'", "Affine"])
        self.assertIn("times: integer, in [0, 10000], required", self.neon("help", "Repeat").out)
        self.assertIn("define (spec): A place for anchors", self.neon("help", "define").out)
        self.assertRegex(self.neon("help", "metrics").out, r"(?m)^  of: Accuracy, ")
        self.refused(2, "check", self.spec(defin="{a: 1}"), says=["unknown key 'defin'; did you mean define?"])
        self.refused(2, "check", self.spec(), "--set", "layers=[Repeet: {times: 2}]", says=["unknown layer 'Repeet'", "Repeat"])

    def test_help_of_multi_optimizer_shows_what_works(self):
        page = self.neon("help", "MultiOptimizer").out
        example = page.splitlines()[0].split(": ", 1)[1].split(": ", 1)[1].rstrip(".")
        self.assertEqual(re.findall(r"(?m)^  (\w+): ", page), ["mapping"])
        for written in example, f"{{mapping: {example}}}", f"{{optimizer_mapping: {example}}}":
            out = self.neon("check", "--resolved", self.spec(optimizer=f"{{MultiOptimizer: {written}}}")).out
            self.assertRegex(out, r"(?m)^ *Affine_1:\n *RMSProp:\n *learning_rate: 0.01$")

    def test_every_name_has_its_page(self):
        names = [name for line in self.neon("help").out.splitlines()[1:] for name in line.split(None, 1)[1].split(", ")]
        self.assertGreater(len(names), 50)
        page = self.neon("help", *names).out
        for name in names:
            self.assertRegex(page, rf"(?m)^{name} \(\w+\): .+\.$")

    def test_check(self):
        out = self.neon("check", self.spec()).out
        # 4 x 8 and 8 x 3 weights, and as many velocities, of four bytes
        self.assertIn("2 layers, 56 parameters, f32, batch 16, 4 epochs", out)
        self.assertIn("weights and optimizer 448 B", out)
        self.assertIn("120 training and 30 test samples (4), 3 classes", out)
        self.assertIn("no layer has a bias", out)

    def test_check_of_missing_data(self):
        result = self.neon("check", self.spec(MNIST), code=3)
        self.assertIn("data    not found: ", result.out)
        self.assertIn("get it with: ", result.out)
        self.assertIn("data 52.3 MiB\n", result.out, "70,000 images of 28 x 28 bytes")
        self.assertIn("10 classes", self.neon("check", self.spec(MNIST, dataset="{Digits: {ntrain: 100}}")).out)
        stand_in = self.neon("check", self.spec(MNIST, dataset="{MNIST: {fallback: Digits}}")).out
        self.assertIn("until then it is Digits in place of MNIST", stand_in)

    def test_check_where_data_gives_the_shapes(self):
        spec = self.spec(dataset="{CSV: {path: none.csv}}")
        self.assertIn("not found: none.csv", self.neon("check", spec, code=3).out)
        for verb in "summary", "program":
            self.refused(3, verb, spec, says=["the data is not there", "none.csv"])

    def test_resolved_spec_is_a_spec_that_means_the_same(self):
        resolved = self.neon("check", "--resolved", self.spec()).out
        self.assertIn("nesterov: false", resolved)
        self.spec(resolved, name="resolved.yaml")
        self.assertEqual(self.neon("check", "--resolved", "resolved.yaml").out, resolved)
        for name in "s.yaml", "resolved.yaml":
            self.neon("-r", "1", "-s", name + ".safetensors", name)
        self.assertEqual(*(tensors(self.path(name + ".safetensors"))[0] for name in ("s.yaml", "resolved.yaml")))

    def test_resolved_is_what_is_run(self):
        given = ["-e", "3", "-z", "60", "-r", "5", "-d", "bf16"]
        resolved = self.neon("check", "--resolved", self.spec(), *given).out
        for line in "epochs: 3", "batch_size: 60", "rng_seed: 5", "datatype: bf16":
            self.assertIn("\n" + line + "\n", resolved)
        self.assertIn("\ndatatype: f32\nrng_seed: null\n", self.neon("check", "--resolved", "s.yaml").out)
        self.neon(*given, "-u", "6", "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
        self.assertEqual(tensors(self.path("m.safetensors"))[1]["neon.spec"], resolved)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["spec"], resolved)
            options = file.attrs["options"]
        for line in "rounding: 6", "backend: cpu", "caffe: false", "save_path: m.safetensors":
            self.assertIn("\n" + line + "\n", "\n" + options)
        # The stored spec alone makes the same run.
        self.write("stored.yaml", resolved)
        self.neon("-u", "6", "-s", "again.safetensors", "stored.yaml")
        self.assertEqual(tensors(self.path("again.safetensors"))[0], tensors(self.path("m.safetensors"))[0])
        self.neon("resume", "-e", "4", "m.safetensors")
        self.assertIn("\nepochs: 4\n", tensors(self.path("m.safetensors"))[1]["neon.spec"])

    def test_summary(self):
        lines = self.neon("summary", self.spec()).out.splitlines()
        self.assertEqual(lines[1].split()[:4], ["Affine_0", "Affine", "(8)", "32"])
        self.assertEqual(lines[1].split()[-1], "3", "the line of the spec")
        self.assertEqual(lines[2].split()[:4], ["Affine_1", "Affine", "(3)", "24"])
        self.assertIn("56 parameters", lines[3])

    def test_summary_sets_branches_in(self):
        branches = "[{MergeSum: [[{Affine: {nout: 8, init: Kaiming}}, SkipNode], [{Affine: {nout: 8, init: Kaiming}}]]}, "
        out = self.neon("summary", self.spec(), "--set", "layers=" + branches +
                        "{Affine: {nout: 3, init: Kaiming, activation: Softmax}}]").out
        starts = [line[:18].rstrip() for line in out.splitlines()[1:6]]
        self.assertEqual(starts, ["MergeSum_0", "1: Affine_0", "   SkipNode_0", "2: Affine_1", "Affine_2"])

    def test_set_takes_the_names_of_the_summary(self):
        arguments = ["summary", self.spec(), "--set", "layers=[{FCLayer: {nout: 8, init: Kaiming}}, {MergeSum: "
                     "[[{Activation: Tanh}, {Affine: {nout: 5, init: Kaiming}}], [{Affine: {nout: 5, init: Kaiming}}]]}, "
                     "{Affine: {nout: 3, init: Kaiming, activation: Softmax}}]"]
        for name, nout in ("Affine_0", 8), ("Affine_3", 3):
            self.assertRegex(self.neon(*arguments).out, rf"(?m)^{name} +Affine +\({nout}\)")
            self.assertRegex(self.neon(*arguments, "--set", f"layers.{name}.name=here").out, rf"(?m)^here +Affine +\({nout}\)")
        both = self.neon(*arguments, "--set", "layers.Affine_1.nout=6", "--set", "layers.Affine_2.nout=6").out
        self.assertRegex(both, r"(?m)^ *2: Affine_2 +Affine +\(6\)")

    def test_program_shows_what_training_runs(self):
        out = self.neon("program", self.spec()).out
        self.assertIn("matmul", out)
        self.assertRegex(out, r"arena [\d.]+ \w+, all values [\d.]+ \w+")
        # Iris comes as it is: no factor of an image's.
        self.assertNotIn("0.00392", out)
        self.assertIn("variable Affine_1/W/velocity", out)

    def test_bench(self):
        out = self.neon("bench", "--iterations", "5", self.spec()).out
        for row in "forward ", "forward+backward", "whole step":
            self.assertRegex(out, rf"(?m)^{re.escape(row)} +[\d.]+ ms")
        self.assertIn("median of 5 steps, batch 16, f32", out)

    def test_bench_times_an_update_at_least(self):
        for steps in "3", "16":
            done = self.neon("bench", "--iterations", steps, "--set", "accumulate=16", self.spec())
            self.assertIn("median of 16 steps", done.out)
            self.assertEqual(done.err.count("note: 16 steps are timed, as many as an update takes (accumulate)\n"), steps == "3")
            first, last = re.search(r"(?m)^cost of one batch +([\d.]+) -> ([\d.]+)$", done.out).groups()
            self.assertNotEqual(first, last)

    def test_bench_of_what_cannot_train(self):
        for batch in "16", "50":  # the costs of the batches of an epoch differ
            result = self.refused(1, "bench", "--iterations", "5", "-z", batch, self.spec(), "--set", "optimizer.learning_rate=0",
                                  says="the cost of the same batch did not move")
            first, last = re.search(r"(?m)^cost of one batch +([\d.]+) -> ([\d.]+)$", result.out).groups()
            self.assertEqual(first, last)


class Evaluation(Case):
    def trained(self, **changes):
        self.spec(**changes)
        return self.neon("-r", "4", "-s", "m.safetensors", "s.yaml")

    def test_eval_gives_the_numbers_of_the_training(self):
        for dtype in "f32", "f64", "bf16", "f16":
            trained = self.trained(datatype=dtype)
            numbers = re.search(r"test: (.*?)  \(", trained.out)[1]
            self.assertIn(f"test: {numbers}  (", self.neon("eval", "m.safetensors").out)

    def test_eval_of_running_means(self):
        numbers = re.search(r"test: (.*?)  \(", self.trained(ema="0.9").out)[1]
        self.assertIn(f"test: {numbers}  (", self.neon("eval", "m.safetensors").out)

    def test_what_training_adds_does_not_hinder_the_use_of_its_weights(self):
        self.write("x.csv", "5,3,1,0.2\n6,3,5,2\n")
        plain = self.spec(name="plain.yaml", epochs="1")
        for changes in {"accumulate": "2"}, {"accumulate": "2", "ema": "0.9"}, {"accumulate": "3", "datatype": "f16"}:
            numbers = re.search(r"test: (.*?)  \(", self.trained(**changes).out)[1]
            self.assertIn(f"test: {numbers}  (", self.neon("eval", "m.safetensors").out)
            self.assertEqual(len(self.neon("predict", "m.safetensors", "x.csv").out.splitlines()), 3)
            self.neon("--model_file", "m.safetensors", plain)
            self.neon("-s", "p.safetensors", plain)
            self.neon("--model_file", "p.safetensors", "s.yaml")

    def test_eval_json(self):
        numbers = re.search(r"Top1Misclass ([\d.]+) %  test cost ([\d.]+)", self.trained().out)
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        self.assertAlmostEqual(100 * found["Top1Misclass"], float(numbers[1]), delta=0.005)
        self.assertAlmostEqual(found["cost"], float(numbers[2]), delta=5e-5)

    def test_eval_csv(self):
        self.trained()
        names, numbers = self.neon("eval", "m.safetensors", "--format", "csv").out.splitlines()
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        self.assertEqual({name: float(n) for name, n in zip(names.split(","), numbers.split(","))}, found)

    def test_only_shares_are_in_percent(self):
        self.trained(metrics="[MSE, SSE, LogLoss, Misclassification, PrecisionRecall]")
        said = self.neon("eval", "m.safetensors").out
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        for name in "MSE", "SSE", "LogLoss":
            told = re.search(rf" {name} ([\d.e+-]+)  ", said.replace("test:", " "))[1]
            self.assertAlmostEqual(float(told), found[name], delta=1e-3 * found[name])
        for name in "Top1Misclass", "Precision", "Recall":
            self.assertAlmostEqual(float(re.search(rf" {name} ([\d.]+) %", said)[1]), 100 * found[name], delta=0.005)

    def test_eval_from_another_folder(self):
        rows = "".join(f"{i % 7},{i % 5},{'ab'[i % 7 > 3]}\n" for i in range(60))
        self.write("project/data.csv", rows)
        self.spec(name="project/s.yaml", dataset="{CSV: {path: data.csv}}", epochs="1").replace("nout: 3", "nout: 2")
        self.neon("--set", "layers[1].nout=2", "-s", "m", "project/s.yaml")
        self.neon("eval", "../m", cwd=os.path.join(self.folder, "project"))
        os.mkdir(self.path("other"))
        self.neon("eval", "../m", cwd=self.path("other"))
        self.neon("resume", "-e", "2", "../m", cwd=self.path("other"))

    def outputs_by_hand(self, inputs):
        """The net of IRIS in NumPy, in f64."""
        stored, _ = tensors(self.path("m.safetensors"))
        first, second = (np.frombuffer(stored[f"Affine_{i}/W"][2], "f4").reshape(stored[f"Affine_{i}/W"][1]).astype(float)
                         for i in range(2))
        z = np.tanh(inputs @ first.T) @ second.T
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def check_predictions(self, out, inputs):
        rows = [line.split(",") for line in out.splitlines()]
        self.assertEqual(rows[0], ["sample", "class", "output"])
        wanted = self.outputs_by_hand(inputs)
        names = ["setosa", "versicolor", "virginica"]
        self.assertEqual([row[0] for row in rows[1:]], [str(i) for i in range(len(inputs))])
        for row, y in zip(rows[1:], wanted):
            self.assertIn(names[y.argmax()], row[1])
            self.assertAlmostEqual(float(row[2]), y.max(), delta=2e-6)

    def test_predict_csv_npy_idx_and_stdin(self):
        self.trained()
        inputs = np.array([[5.1, 3.5, 1.4, 0.2], [6.5, 3.0, 5.2, 2.0], [5.5, 2.4, 3.7, 1.0]])
        table = "a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in inputs)
        self.write("x.csv", table)
        self.write("x.idx", support.idx([3, 4], inputs.astype(">f4").tobytes(), kind=0x0D))
        np.save(self.path("x.npy"), inputs)
        for name in "x.csv", "x.npy", "x.idx":
            self.check_predictions(self.neon("predict", "m.safetensors", name).out, inputs.astype("f4"))
            for content in self.read(name), gzip.compress(self.read(name)):
                self.check_predictions(self.neon("predict", "m.safetensors", "-", stdin=content).out, inputs.astype("f4"))
        self.refused(3, "predict", "m.safetensors", "-", stdin=gzip.compress(self.read("x.npy"))[:-20], says=("stdin: truncated",))
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"PK\3\4\0\0", says=("stdin: is neither text (CSV), NPY, IDX",))

    def write_table(self):
        """60 rows of columns of unlike size, of which `kind` follows from `a` alone; a net trained on a, b, c."""
        rng = np.random.default_rng(3)
        rows = rng.uniform(0, 1, (60, 3)) * [1, 10, 100]
        lines = [f"r{i},{a:.4f},{b:.4f},{c:.4f},{'no' if a < 0.5 else 'yes'}\n" for i, (a, b, c) in enumerate(rows)]
        self.write("t.csv", "id,a,b,c,kind\n" + "".join(lines))
        self.neon("-r", "1", "-s", "t", self.spec(dataset="{CSV: {path: t.csv, ignore: id}}"), "--set", "layers[1].nout=2")
        return rows

    def test_predict_takes_columns_by_name(self):
        rows = self.write_table()
        def predicted(names, columns):
            lines = "".join(",".join(f"{row[k]:.4f}" for k in columns) + "\n" for row in rows)
            return self.neon("predict", "t", "-", stdin=(names + "\n" + lines).encode())
        wanted = predicted("a,b,c", (0, 1, 2))
        self.assertEqual(predicted("c,a,b", (2, 0, 1)).out, wanted.out)
        self.assertNotEqual(predicted("a,c,b", (0, 1, 2)).out, wanted.out)
        self.assertEqual(self.neon("predict", "t", "t.csv").out, wanted.out, "target and id are left out")
        more = predicted("a,b,c,d", (0, 1, 2, 0))
        self.assertEqual((more.out, more.err), (wanted.out, "warning: stdin: left out, since the net was trained without: 'd'\n"))
        self.refused(3, "predict", "t", "-", stdin=b"a,c,bb\n1,2,3\n",
                     says=("stdin: has no column 'b'; did you mean", "(the net takes a, b, c)"))
        nameless = b"1,0.1,0.2,0.3,yes\n"
        self.refused(3, "predict", "t", "-", stdin=nameless, says=(
            "stdin: has 5 columns, as the table that the net was trained with; the net takes 3 of them: leave id, kind out, or "
            "begin with the line of the columns' names",))
        self.assertEqual(len(self.neon("predict", "t", "-", stdin=b"0.1,0.2,0.3\n").out.splitlines()), 2)

    def test_predict_reads_what_separates_cells_from_the_training_set(self):
        self.write("t.csv", "a;b;kind\n" + "".join(f"{i};{i % 3};{'xy'[i % 2]}\n" for i in range(40)))
        self.neon("-s", "t", self.spec(dataset='{CSV: {path: t.csv, delimiter: ";"}}'), "--set", "layers[1].nout=2")
        self.assertEqual(len(self.neon("predict", "t", "t.csv").out.splitlines()), 41)

    def test_predict_of_tables_with_other_separators(self):
        """What the first line shows counts, with names and without."""
        rng = np.random.default_rng(4)
        rows = [[f"{x:.4f}" for x in row] + ["yes" if row[0] > 0.5 else "no"] for row in rng.uniform(0, 1, (30, 3))]
        def lines(separator, head=True, first=0, end=4):
            cells = [["a", "b", "c", "kind"]] * head + rows
            return "".join(separator.join(row[first:end]) + "\n" for row in cells)
        for separator, delimiter in (",", "','"), ("\t", "tab"), (";", "';'"):
            for head in True, False:
                self.write("t.txt", lines(separator, head))
                self.neon("-r", "1", "-e", "1", "-s", "t", self.spec(dataset=f"{{CSV: {{path: t.txt, delimiter: {delimiter}}}}}"),
                          "--set", "layers[1].nout=2")
                self.write("own.csv", lines(separator, head, end=3))
                wanted = self.neon("predict", "t", "own.csv").out
                self.assertEqual(len(wanted.splitlines()), 31)
                for name, other in ("x.csv", ","), ("x.tsv", "\t"), ("tabs.csv", "\t"):
                    self.write(name, lines(other, head, end=3))
                    self.assertEqual(self.neon("predict", "t", name).out, wanted, (separator, head, name))
        self.write("t.txt", lines("\t"))
        self.neon("-e", "1", "-s", "t", self.spec(dataset="{CSV: {path: t.txt, delimiter: tab}}"), "--set", "layers[1].nout=2")
        for name, separator, words in ("x.csv", ",", "commas"), ("x.tsv", "\t", "tabs"):
            self.write(name, lines(separator, first=1))
            self.refused(3, "predict", "t", name, says=(f"{name}: has no column 'a'", f"; read with {words} between cells"))

    def test_predict_more_samples_than_a_batch(self):
        self.trained()
        inputs = np.random.default_rng(1).uniform(0.1, 7, (600, 4)).astype("f4")
        np.save(self.path("x.npy"), inputs)
        self.check_predictions(self.neon("predict", "m.safetensors", "x.npy").out, inputs)

    def test_predict_json_and_top_k(self):
        self.trained()
        self.write("x.csv", "5.1,3.5,1.4,0.2\n")
        line = json.loads(self.neon("predict", "m.safetensors", "x.csv", "--format", "json", "--top_k", "2").out)
        self.assertEqual(len(line["top"]), 2)
        self.assertGreater(line["top"][0]["output"], line["top"][1]["output"])
        head, row = self.neon("predict", "m.safetensors", "x.csv", "--top_k", "3").out.splitlines()
        self.assertEqual(head, "sample,class1,output1,class2,output2,class3,output3")
        self.assertAlmostEqual(sum(map(float, row.split(",")[2::2])), 1, delta=1e-5)

    def test_classes_of_pixels(self):
        rng = np.random.default_rng(5)
        images = rng.uniform(-1, 1, (64, 2, 4, 3)).astype("f4")
        truth = images[:, :1] > images[:, 1:]
        np.savez(self.path("p.npz"), x_train=images, y_train=np.concatenate([truth, ~truth], 1).astype("f4"))
        spec = self.write("p.yaml", "dataset: {NPZ: {path: p.npz, regression: true}}\nlayers:\n"
                          "  - Conv: {fshape: 1, nofm: 2, init: Kaiming, activation: {PixelwiseSoftmax: {c: 2}}}\n"
                          "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 16\nepochs: 30\n")
        self.neon("-r", "1", "-d", "f64", "-s", "m", spec)
        weights = np.frombuffer(tensors(self.path("m"))[0]["Conv_0/W"][2]).reshape(2, 2)
        z = np.einsum("kc,nchw->nkhw", weights, images.astype(float))
        wanted = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        np.save(self.path("x.npy"), images)
        rows = self.neon("predict", "m", "x.npy").out.splitlines()[1:]
        got = np.array([[float(x) for x in row.split(",")[1:]] for row in rows]).reshape(wanted.shape)
        np.testing.assert_allclose(got, wanted, atol=1e-6)
        self.assertGreater(((got[:, :1] > 0.5) == truth).mean(), 0.97, "the pixels' classes were learnt")

    def test_predict_regression(self):
        rows = "".join(f"{i / 40},{i % 9 / 9},{i / 20 - i % 9 / 9}\n" for i in range(40))
        self.write("r.csv", rows)
        self.write("r.yaml", "dataset: {CSV: {path: r.csv, task: regression}}\nlayers: [Affine: {nout: 1, init: Kaiming}]\n"
                   "cost: SumSquared\noptimizer: {SGD: {learning_rate: 0.5}}\nbatch_size: 8\nepochs: 40\n")
        self.assertIn("targets (1)", self.neon("check", "r.yaml").out)
        self.neon("-r", "1", "-s", "m", "r.yaml")
        (_, weights, raw), = [item for name, item in tensors(self.path("m"))[0].items() if name == "Affine_0/W"]
        w = struct.unpack("<2f", raw)
        head, row = self.neon("predict", "m", "-", stdin=b"0.25,0.5\n").out.splitlines()
        self.assertEqual(head, "sample,output0")
        self.assertAlmostEqual(float(row.split(",")[1]), 0.25 * w[0] + 0.5 * w[1], delta=1e-6)
        self.assertAlmostEqual(w[0], 2, delta=0.2, msg="the spec was learnt")

    def write_colours(self):
        """80 + 20 images of two classes, told apart by their colour; returns those to train with."""
        rng, training = np.random.default_rng(4), []
        for part, count in ("train", 40), ("test", 10):
            for kind, channel in ("blue", 2), ("red", 0):
                for i in range(count):
                    image = rng.integers(0, 120, (9, 12, 3), dtype=np.uint8)
                    image[:, :, channel] += 60
                    self.write(f"colours/{part}/{kind}/{i}.png", support.png(image))
                    if part == "train":
                        training.append(image)
        return np.array(training)

    def test_data_pack_check_and_stats(self):
        training = self.write_colours()
        self.assertIn("colours: 100 images of 2 classes, 0 bad\n", self.neon("data", "check", "colours").out)
        self.write("colours/train/red/bad.png", b"no image")
        self.assertIn("bad.png: expected a JPEG or PNG image", self.neon("data", "check", "colours", code=3).out)
        self.assertIn("bad.png: expected", self.neon("data", "pack", "colours", "no", code=3).err)
        self.assertIn("give --pixels too", self.neon("data", "pack", "colours", "no", "--size", "4", code=2).err)
        packed = self.neon("data", "pack", "colours", "shards", "--skip_bad")
        self.assertIn("1 images are left out", packed.err)
        self.assertIn("wrote shards: 80 training and 20 test samples of 2 classes in 2 shards\n", packed.out)
        spec = self.write("p.yaml", packed.out[packed.out.index("dataset:"):] +
                          "layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\ncost: CrossEntropyMulti\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.01}}\nbatch_size: 8\nepochs: 4\n")
        self.assertIn("Top1Misclass 0.00 %", self.neon("-r", "1", spec).out)
        stats = self.neon("data", "stats", spec).out
        self.assertRegex(stats, r"(?m)^class 1 +train 40 +test 10 +red$")
        mean, std = ([float(x) for x in re.search(name + r": \[([^]]*)", stats)[1].split(",")] for name in ("mean", "std"))
        np.testing.assert_allclose(mean, training.mean(axis=(0, 1, 2)) / 255, rtol=1e-5)
        np.testing.assert_allclose(std, training.std(axis=(0, 1, 2)) / 255, rtol=1e-5)
        self.assertIn("shards: 100 samples, 0 bad", self.neon("data", "check", "shards").out)
        shard = bytearray(self.read("shards/test-0000.shard"))
        shard[40] ^= 1
        self.write("shards/test-0000.shard", bytes(shard))
        self.assertIn("its SHA-256 is", self.neon("data", "check", "shards", code=3).out)
        self.assertIn("its checksum is wrong", self.neon(spec, code=3).err)
        shard = bytearray(self.read("shards/train-0000.shard"))
        table, = struct.unpack("<Q", shard[-32:-24])
        shard[table + 16:table + 20] = struct.pack("<i", 7)
        shard[-16:-12] = struct.pack("<I", zlib.crc32(shard[table:-32]))
        self.write("shards/train-0000.shard", bytes(shard))
        self.assertIn("has the label 7, there are 2 classes",
                      self.neon("data", "stats", spec, "--set", "dataset.stream=true", code=3).err)

    def test_data_preview(self):
        training = self.write_colours()
        spec = self.spec(dataset="{ImageFolder: {path: colours}}", augment="[RandomCrop: {size: 8}]")
        self.neon("data", "preview", spec, "sheet.png")
        sheet = support.png_pixels(self.read("sheet.png"))
        self.assertEqual(sheet.shape, (8 * 10 + 2, 8 * 10 + 2, 3))
        self.assertTrue((sheet[:2] == 128).all())
        corners = {image[y:y + 8, x:x + 8].tobytes() for image in training for y in range(2) for x in range(5)}
        tiles = {sheet[2 + 10 * i:10 + 10 * i, 2 + 10 * j:10 + 10 * j].tobytes() for i in range(8) for j in range(8)}
        self.assertEqual(len(tiles), 64)
        self.assertLessEqual(tiles, corners)

    def test_data_list_and_misuse(self):
        listed = self.neon("data", "list").out
        self.assertRegex(listed, r"(?m)^Iris +here +150 samples built in$")
        self.assertRegex(listed, r"(?m)^CIFAR10 +absent +neon data fetch CIFAR10$")
        self.assertIn("is here already: 150 samples built in: 120 training", self.neon("data", "fetch", "Iris").out)
        self.assertIn("cannot be downloaded", self.neon("data", "fetch", "CIFAR10", code=3).err)
        self.assertIn("neon data what? One of list, fetch", self.neon("data", code=2).err)
        self.assertIn("did you mean pack?", self.neon("data", "pak", code=2).err)
        self.assertIn("an operand is missing; usage: neon data pack PATH FOLDER", self.neon("data", "pack", "x", code=2).err)
        self.assertIn("option --pixels does nothing with neon check", self.neon("check", "--pixels", self.spec(), code=2).err)

    def test_folders_of_images(self):
        self.write_colours()
        spec = self.write("c.yaml", "dataset: {ImageFolder: {path: colours, size: 8}}\naugment: [RandomCrop: {size: 6}, Flip]\n"
                          "normalize: true\nlayers:\n  - Conv: {fshape: [3, 3, 4], init: Kaiming, activation: Rectlin}\n"
                          "  - Affine: {nout: 2, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.9}}\n"
                          "batch_size: 8\nepochs: 8\n")
        self.assertIn("80 training and 20 test samples (3, 8, 8), 2 classes", self.neon("check", spec).out)
        self.assertIn("input (3, 6, 6)", self.neon("summary", spec).out)
        self.assertNotRegex(self.neon("program", spec).out, r"(?m)^ *\d+  transpose ")
        self.assertIn("Top1Misclass 0.00 %", self.neon("-r", "1", "-s", "m", spec).out)
        data = json.loads(tensors(self.path("m"))[1]["neon.data"])
        self.assertTrue(data["channels_last"])
        # 8 x 8 of 9 x 12: means are a little different in the middle.
        self.assertAlmostEqual(float(data["means"][0]), (59.5 + 30) / 255, delta=0.02)
        evaluated = self.neon("eval", "m", "--format", "json").out
        self.assertEqual(json.loads(evaluated)["Top1Misclass"], 0)
        # Means are those of the training, not of the images that stand beside those tested now.
        for part in "train", "test":
            for kind in "red", "blue":
                for i in range(10):
                    image = self.read(f"colours/{part}/{kind}/{i}.png")
                    black = support.png(np.full((9, 12, 3), i, np.uint8))
                    self.write(f"dark/{part}/{kind}/{i}.png", image if part == "test" else black)
        self.assertEqual(self.neon("eval", "m", "--format", "json", "--set", "dataset.path=dark").out, evaluated)
        for kind in "red", "blue":
            rows = self.neon("predict", "m", f"colours/test/{kind}").out.splitlines()[1:]
            self.assertEqual([row.split(",")[1] for row in rows], [kind] * 10)
        self.write("colours/train/red/39.png", b"")
        self.assertIn("39.png: expected a JPEG or PNG image; it looks like an empty file", self.neon(spec, code=3).err)

    def test_arrays_of_images_in_either_order_of_axes(self):
        images = np.random.default_rng(3).integers(0, 255, (24, 3, 6, 5), np.uint8)
        last = images.transpose(0, 2, 3, 1)
        orders = {"first.npy": images, "last.npy": last, "rows.npy": images.reshape(24, -1),
                  "last_rows.npy": last.reshape(24, -1)}
        for name, array in orders.items():
            np.save(self.path(name), np.ascontiguousarray(array))
        np.save(self.path("labels.npy"), images[:, 0, 0, 0] // 100)
        given = {"first.npy": "", "last.npy": ", channels_last: true", "rows.npy": ", lshape: [3, 6, 5]",
                 "last_rows.npy": ", lshape: [3, 6, 5], channels_last: true"}
        rest = ("layers: [Conv: {fshape: 3, nofm: 4, init: Kaiming}, Affine: {nout: 3, init: Kaiming, activation: "
                "Softmax}]\ncost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\n"
                "batch_size: 8\nepochs: 2\n")
        told, predicted = set(), set()
        for name, more in given.items():
            spec = self.write("s.yaml", f"dataset: {{NPY: {{inputs: {name}, targets: labels.npy, scale: 0.004{more}}}}}\n" + rest)
            self.assertIn("samples (3, 6, 5), 3 classes", self.neon("check", spec).out)
            self.assertNotRegex(self.neon("program", spec).out, r"(?m)^ *\d+  transpose ")
            self.neon("-r", "1", "-s", "m", spec)
            told.add(tensors(self.path("m"))[0]["Conv_0/W"][2])
            rows = "last_rows.npy" if "channels_last" in more else "rows.npy"
            for other in "first.npy", "last.npy", rows:
                predicted.add(self.neon("predict", "m", other).out)
        self.assertEqual((len(told), len(predicted)), (1, 1))
        np.save(self.path("wide.npy"), images.reshape(24, 3, 5, 6))
        self.assertIn("wide.npy: its samples are (3, 5, 6), the net takes (3, 6, 5), or with channels last (6, 5, 3)",
                      self.neon("predict", "m", "wide.npy", code=3).err)

    def test_predict_images_whose_axes_do_not_tell_their_order(self):
        rest = ("layers: [Conv: {fshape: 1, nofm: 4, init: Kaiming}, Affine: {nout: 3, init: Kaiming, activation: "
                "Softmax}]\ncost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\n"
                "batch_size: 8\nepochs: 2\n")
        for shape in (4, 4, 4), (5, 5, 1):
            images = np.random.default_rng(3).integers(0, 255, (24, *shape), np.uint8)
            np.save(self.path("labels.npy"), images[:, 0, 0, 0] // 100)
            np.save(self.path("first.npy"), images)
            np.save(self.path("last.npy"), np.ascontiguousarray(images.transpose(0, 2, 3, 1)))
            predicted = {}
            for name, more in ("first.npy", ""), ("last.npy", ", channels_last: true"):
                spec = self.write("s.yaml", f"dataset: {{NPY: {{inputs: {name}, targets: labels.npy, scale: 0.004{more}}}}}\n" + rest)
                self.neon("-r", "1", "-s", "m", spec)
                predicted[name] = self.neon("predict", "m", name).out
            self.assertEqual(predicted["first.npy"], predicted["last.npy"])
        self.assertEqual(self.neon("predict", "m", "first.npy").out, predicted["last.npy"])
        np.save(self.path("flat.npy"), images.reshape(24, 5, 5))
        self.assertIn("flat.npy: its samples are (5, 5), which may be channels first or last; give them as (5, 5, 1) or (5, 1, 5)",
                      self.neon("predict", "m", "flat.npy", code=3).err)

    def test_predict_outputs_that_are_images(self):
        images = np.random.default_rng(3).integers(0, 255, (6, 3, 4, 5), np.uint8)
        np.save(self.path("x.npy"), images)
        np.save(self.path("y.npy"), (images[:, :2] / 255).astype("f4"))
        spec = self.write("s.yaml", "dataset: {NPY: {inputs: x.npy, targets: y.npy, scale: 0.004}}\nlayers: [Conv: {fshape: "
                          "1, nofm: 2, init: Kaiming}]\ncost: SumSquared\noptimizer: {GradientDescentMomentum: "
                          "{learning_rate: 0.01}}\nbatch_size: 3\nepochs: 2\n")
        self.neon("-r", "1", "-s", "m", spec)
        dtype, shape, raw = tensors(self.path("m"))[0]["Conv_0/W"]
        weights = np.frombuffer(raw, "f4").reshape(2, 3)
        expected = np.einsum("kc,nchw->nkhw", weights, images * np.float32(0.004)).reshape(6, -1)
        rows = self.neon("predict", "m", "x.npy").out.splitlines()[1:]
        np.testing.assert_allclose([[float(cell) for cell in row.split(",")[1:]] for row in rows], expected, atol=1e-5)

    def test_predict_images_scaled_as_in_training(self):
        write_mnist(self)
        self.neon("-w", self.folder, "-r", "1", "-s", "m", self.spec(MNIST, epochs="5"))
        names = self.neon("predict", "m", "mnist/t10k-images-idx3-ubyte").out.splitlines()[1:]
        self.assertEqual([line.split(",")[1] for line in names], [str(i * 7 % 10) for i in range(20)])


if __name__ == "__main__":
    support.main()
