#!/usr/bin/python3
"""Ctrl-C, SIGTERM and SIGKILL to the running program, and what `resume` makes of it."""
import csv
import json
import os
import re
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

import support
from support import NEON, Case, parts, sealed, tensors

# Unless the caller's settings say otherwise.
TWO_THREADS = {"OMP_NUM_THREADS": "2"} if support.OPENMP == {"OMP_NUM_THREADS": "1"} else {}
# Some tenths of a second an epoch, and nothing but steps.
LONG = """\
dataset: {UniformRandom: {ntrain: 8000, ntest: 40, nin: 10, nout: 3}}
layers:
  - Affine: {nout: 8, init: Kaiming, batch_norm: true, activation: Tanh}
  - Dropout: 0.9
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
callbacks: [EarlyStop: {patience: 99}]
ema: 0.99
batch_size: 2
epochs: 5
"""


class Signals(Case):
    def setUp(self):
        super().setUp()
        self.environment = {**self.environment, **TWO_THREADS}
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the tests may ignore it, as nohup does
        self.spec(LONG)
        self.options = ["-r", "3", "-s", "m.safetensors", "-o", "r.h5", "s.yaml"]

    def wait_for(self, child, words, seconds=30):
        """Reads the child's stderr until a line has these words."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            line = child.stderr.readline()
            if words in line:
                return
            self.assertTrue(line, f"ended before it said '{words}'")
        self.fail(f"never said '{words}'")

    def stopped(self, number, *arguments, after=0.05):
        """A run that got the signal within its second epoch; its stdout."""
        child = self.start(*arguments)
        self.wait_for(child, "epoch 1/")
        time.sleep(after)
        child.send_signal(number)
        out, _ = child.communicate(timeout=30)
        return child.returncode, out

    def straight(self):
        os.mkdir(self.path("straight"))
        self.neon("-r", "3", "-s", "straight/m.safetensors", "-o", "straight/r.h5", "s.yaml")

    def assert_as_straight(self):
        (ours, about), (theirs, about_theirs) = (tensors(self.path(name + "m.safetensors")) for name in ("", "straight/"))
        self.assertEqual(ours, theirs)
        self.assertEqual(about["neon.callbacks"], about_theirs["neon.callbacks"])
        with h5py.File(self.path("r.h5")) as a, h5py.File(self.path("straight/r.h5")) as b:
            self.assertEqual(a.attrs["status"], "complete")
            for name in "cost/train", "cost/loss", "metrics/Top1Misclass", "epoch/cost", "epoch/learning_rate":
                self.assertFalse(np.isnan(a[name][:]).any(), name)
                np.testing.assert_array_equal(a[name][:], b[name][:], name)

    def test_the_second_signal_leaves_at_once(self):
        # Steps of half a second, which the first signal waits for: the second must not.
        self.write("slow.yaml", "dataset: {UniformRandom: {ntrain: 4096, ntest: 8, nin: 1024, nout: 3}}\nlayers:\n  - Repeat: "
                   "{times: 2, layers: [Affine: {nout: 2048, init: Kaiming}]}\n  - Affine: {nout: 3, init: Kaiming, "
                   "activation: Softmax}\ncost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.000001}}\n"
                   "batch_size: 4096\nepochs: 9\n")
        for delay in 0.1, 0, 0.2, 0.3, 0.05:  # until the first comes within a step, not between two
            child = self.start("-r", "1", "slow.yaml")
            self.wait_for(child, "epoch 1/", 60)
            time.sleep(delay)
            child.send_signal(signal.SIGINT)
            time.sleep(0.15)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 130)
            if "stopped by Ctrl-C" not in out:
                return
        self.fail("one signal alone finishes its step and says so, and so did two")

    def test_seconds_of_an_epoch_go_on_after_a_stop(self):
        self.spec(LONG, dataset="{UniformRandom: {ntrain: 40000, ntest: 40, nin: 10, nout: 3}}", epochs="2", callbacks="[]")
        del self.environment["NEON_NO_RUN_FOLDER"]
        began = time.monotonic()
        self.stopped(signal.SIGINT, "-r", "3", "s.yaml", after=0.2)
        took = time.monotonic() - began
        content = self.read("runs/s-1/last.safetensors")
        text, header, _ = parts(content)
        position = json.loads(header["__metadata__"]["neon.position"])
        self.assertEqual(position["epoch"], 1)
        self.assertGreater(float(position["epoch_seconds"]), 0.15)
        self.assertLess(float(position["epoch_seconds"]), took)
        for seconds in "1000", None:  # None: a checkpoint of an older neon
            position.pop("epoch_seconds", None)
            if seconds:
                position["epoch_seconds"] = seconds
            header["__metadata__"]["neon.position"] = json.dumps(position)
            self.write("runs/s-1/last.safetensors", sealed(header, content[8 + len(text):]))
            self.neon("resume", "runs/s-1")
            with h5py.File(self.path("runs/s-1/run.h5")) as file:
                series = file["time/epoch"][:]
            with open(self.path("runs/s-1/results.csv")) as file:
                rows = [float(row["seconds"]) for row in csv.DictReader(file)]
            np.testing.assert_allclose(rows, series)
            least = float(seconds or 0)
            self.assertTrue(least < series[1] < least + 60, series)
            self.assertLess(series[0], took)

    def check_stop_and_resume(self, number, code):
        returned, out = self.stopped(number, *self.options)
        self.assertEqual(returned, code)
        self.assertRegex(out, rf"stopped by {'Ctrl-C' if number == signal.SIGINT else number.name} in epoch \d+, step \d+")
        self.assertIn(f"next: {NEON} resume m.safetensors\n", out)
        position = json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])
        self.assertLess(position["epoch"], 5)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["status"], "killed")
            cost = file["cost/train"][:]
            self.assertEqual(np.count_nonzero(~np.isnan(cost)), position["step"])
        follow = re.search(r"next: (.*)", out)[1].split()
        result = self.neon(*follow[1:])
        self.assertIn(f"going on after epoch {position['epoch']}, step {position['step_in_epoch']}", result.err)
        self.straight()
        self.assert_as_straight()

    def test_interrupt(self):
        self.check_stop_and_resume(signal.SIGINT, 130)

    def test_terminate(self):
        self.check_stop_and_resume(signal.SIGTERM, 143)

    def test_hang_up(self):
        self.check_stop_and_resume(signal.SIGHUP, 129)

    def test_a_stop_does_not_wait_for_an_evaluation(self):
        """Millions of batches to evaluate after the four of an epoch."""
        self.spec(LONG.replace("ntrain: 8000, ntest: 40, nin: 10", "ntrain: 8, ntest: 2000000, nin: 2").replace("ema: 0.99\n", "").replace("99}]", "99}, Hist]"))
        wanted = "in epoch 1, step 4"
        for delay in 0.5, 1, 2, 4, 8:  # until it comes while the run evaluates
            child = self.start("-e", "2", "--eval_freq", "1", *self.options)
            time.sleep(delay)
            child.send_signal(signal.SIGTERM)
            out, _ = child.communicate(timeout=60)
            self.assertIn(child.returncode, (143, -signal.SIGTERM), out)
            if wanted in out:
                break
        self.assertIn("stopped by SIGTERM " + wanted, out)
        position = json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])
        self.assertEqual((position["epoch"], position["step"]), (0, 4))
        # The epoch's last step is not made again, and its histograms stay.
        child = self.start("resume", "m.safetensors")
        self.wait_for(child, "going on")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file["hist/Affine_0_W"][:].sum(axis=0).tolist(), [16, 0])

    def test_a_reader_that_goes_away_ends_nothing(self):
        for end in "2>&1 | head -1", "2> >(head -1 > /dev/null) > out":
            subprocess.run(["bash", "-c", f"{NEON} -r 3 -e 3 -s m.safetensors s.yaml {end}"], cwd=self.folder, env=self.environment,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
            position = json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])
            self.assertEqual(position["epoch"], 3)
            os.remove(self.path("m.safetensors"))
        self.assertIn(b"trained 3 epochs", self.read("out"))

    def test_several_stops(self):
        self.stopped(signal.SIGTERM, *self.options)
        for number in signal.SIGINT, signal.SIGTERM:
            child = self.start("resume", "m.safetensors")
            self.wait_for(child, "going on")
            time.sleep(0.15)
            child.send_signal(number)
            child.communicate(timeout=30)
            self.assertIn(child.returncode, (0, 128 + number, -number))
        self.neon("resume", "m.safetensors")
        self.straight()
        self.assert_as_straight()

    def test_kill(self):
        """What a SIGKILL loses is trained again, to the same bits."""
        returned, _ = self.stopped(signal.SIGKILL, *self.options)
        self.assertEqual(returned, -signal.SIGKILL)
        self.neon("resume", "m.safetensors")
        self.straight()
        self.assert_as_straight()

    def test_before_the_first_step(self):
        """From the first file on, a signal leaves none behind that is not finished."""
        for kind in "m.safetensors.part", "r.h5":
            child = self.start("-e", "2000", *self.options)  # curves for so many take a while to lay out
            while not os.path.exists(self.path(kind)):
                self.assertIsNone(child.poll())
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=30)
            self.assertEqual(child.returncode, 143)
            self.assertEqual(sorted(os.listdir(self.folder)), ["m.safetensors", "r.h5", "s.yaml"])
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(file.attrs["status"], "killed")
            os.remove(self.path("m.safetensors")), os.remove(self.path("r.h5"))

    def test_a_signal_that_comes_twice_is_one(self):
        """timeout(1) signals the program, and at once the whole group."""
        child = self.start(*self.options)
        self.wait_for(child, "epoch 1/")
        for _ in range(2):
            child.send_signal(signal.SIGTERM)
            time.sleep(0.01)  # or two would be one to the kernel
        child.communicate(timeout=30)
        self.assertEqual(child.returncode, 143)
        self.assertTrue(os.path.exists(self.path("m.safetensors")))
        self.straight()
        self.neon("resume", "m.safetensors")
        self.assert_as_straight()

    def test_without_checkpoint(self):
        returned, out = self.stopped(signal.SIGTERM, "s.yaml")
        self.assertEqual(returned, 143)
        self.assertNotIn("resume", out)
        self.assertEqual(os.listdir(self.folder), ["s.yaml"])

    def test_ignored_interrupts_stay_ignored(self):
        # As a shell without job control starts what it puts in the background.
        child = subprocess.Popen(["sh", "-c", 'trap "" INT; exec "$@"', "sh", NEON, "-e", "2", "s.yaml"], cwd=self.folder,
                                 env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.wait_for(child, "epoch 1/")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)
        self.assertEqual(child.returncode, 0)

    def test_nothing_left_to_do(self):
        self.neon("-e", "1", *self.options)
        before = self.read("m.safetensors")
        result = self.neon("resume", "m.safetensors")
        self.assertIn("has done its 1 epoch; -e N trains on", result.err)
        self.assertEqual(self.read("m.safetensors"), before)
        self.assertEqual(len([name for name in os.listdir(self.folder) if name.endswith(".safetensors")]), 1)


if __name__ == "__main__":
    support.main()
