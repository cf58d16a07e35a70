#!/usr/bin/python3
"""A fault of a run of several ranks ends it with one line, which names the rank where one alone has the fault, and what is
left of the run."""
import os
import re
import signal
import subprocess
import time

import numpy as np

import support
from ranks_test import IMAGES, LONG, NUMBERS, children
from support import Case

TABLE = """\
dataset: {NPZ: {path: d.npz, regression: true}}
layers: [Affine: {name: first, nout: 5, init: {Constant: 1}}, Affine: {nout: 1, init: {Constant: 0.5}}]
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0}}
shuffle: false
batch_size: 8
epochs: 1
"""
LATE = "{GradientDescentMomentum: {learning_rate: 0.05, schedule: {StepSchedule: {step_config: [2], change: [1.0e+300]}}}}"


class Faults(Case):
    def check_faults(self, ranks, *arguments, code, says, **options):
        """The one line of a run that fails; the test of mpirun starts ranks in another way."""
        result = self.neon("-b", "cpu", "-r", "3", "-m", str(ranks), *arguments, code=code, **options)
        (line,) = [line for line in result.err.splitlines() if line.startswith("neon: ")]
        self.assertIn(says, line)
        return line

    def rank(self, rank, ranks):
        return f"rank {rank} of {ranks} ({os.uname().nodename}, CPU)"

    def table(self, bad_row):
        """The row is finite, sums of its two numbers are not."""
        x = np.ones((32, 2), np.float32)
        x[bad_row] = 3e38
        np.savez(self.path("d.npz"), x_train=x, y_train=np.ones((32, 1), np.float32))
        return self.spec(TABLE)

    def test_the_rank_whose_result_was_the_first_that_is_not_finite(self):
        """Two ranks have 4 rows each of 8, three have 2, 3 and 3; the next results of all are sums over ranks."""
        for ranks, row, rank in (2, 17, 0), (2, 22, 1), (3, 19, 1), (3, 22, 2):
            line = self.check_faults(ranks, self.table(row), code=5, says=f"step 3: on {self.rank(rank, ranks)}, infinity in ")
            self.assertRegex(line, r"in the result f32 \([234], 5\) of \w+ of layer first; no checkpoint was being saved")

    def test_a_result_that_all_ranks_have(self):
        self.table(0)
        spec = self.spec(TABLE, layers="[Linear: {name: first, nout: 1, init: {Constant: 3.0e+38}}]")
        line = self.check_faults(2, spec, code=5, says="step 1: infinity in the result f32 ")
        self.assertIn(" of layer first; ", line)

    def test_checkpoints_that_a_run_which_diverged_has_left(self):
        """Rank 0 alone knows of them."""
        spec = self.spec(NUMBERS, optimizer=LATE, ema=0)
        for options, left in ((), "the last good checkpoint is runs/s-1/best.safetensors"), \
                (("--no_run_folder", "-s", "m.safetensors"), "the last good checkpoint is m.safetensors"):
            line = self.check_faults(3, "-d", "f64", *options, spec, code=5, says=left, environment={"NEON_NO_RUN_FOLDER": ""})
            self.assertIn("neon: the run diverged in epoch ", line)
            self.assertEqual(line.count("checkpoint"), 1)

    def test_a_sample_that_one_rank_cannot_read(self):
        support.write_colours(self)
        self.write("colours/train/red/7.png", "no image")
        spec = self.spec(IMAGES.replace("nout: 10", "nout: 2"), metrics="[Misclassification]", shuffle="false", batch_size=80,
                         dataset="{ImageFolder: {path: colours, stream: true}}")
        line = self.check_faults(2, "-s", "m.safetensors", spec, code=3, says="7.png")
        self.assertRegex(line, r"^neon: rank [01] of 2 \(")
        self.assertEqual(line.count("had saved no checkpoint yet"), 1)

    def test_options_of_files_that_rank_0_alone_writes(self):
        """The message is that of one process."""
        line = self.check_faults(2, "-o", "x", "-l", "x", self.spec(NUMBERS), code=2, says="-o x and -l x are the same file")
        self.assertTrue(line.startswith("neon: -o x and"), line)

    def test_a_rank_that_aborts(self):
        """Its line has no note that the rank would have printed, as that on sharded weights."""
        spec = self.spec(LONG, parallel="{optimizer: sharded}")
        for rank in 0, 1:
            child = self.began(self.start("-b", "cpu", "-r", "3", "-m", "2", spec))
            os.kill(children(child.pid)[rank], signal.SIGABRT)
            code, _, err = self.ended(child)
            self.assertEqual(code, 1)
            (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
            self.assertEqual(line, f"neon: {self.rank(rank, 2)} was ended by SIGABRT; no checkpoint was being saved (-s FILE)")

    def check_multicast(self, processes, wanted):
        """In the environment of each rank, which NCCL reads."""
        for process in processes:
            with open(f"/proc/{process}/environ", "rb") as file:
                said = re.findall(rb"(?:^|\0)NCCL_NVLS_ENABLE=([^\0]*)", file.read())
            self.assertEqual(said, [wanted])

    def test_multicast_is_off_unless_the_caller_asks_for_it(self):
        for caller, wanted in ({}, b"0"), ({"NCCL_NVLS_ENABLE": "1"}, b"1"):
            child = self.began(self.start("-b", "cpu", "-m", "2", self.spec(LONG), environment=caller))
            self.check_multicast(children(child.pid), wanted)
            child.terminate()
            self.ended(child)

    def stopped_alone(self, *command):
        """A run of two ranks, of which rank 0 was stopped amid the drawing of feature maps, which it does alone."""
        layers = "\n".join(["layers:", *["  - Conv: {fshape: [5, 5, 24], init: Kaiming, activation: Rectlin}"] * 2,
                            "  - Pooling: 4", "  - Affine: {nout: 10, init: Kaiming, activation: Softmax}"])
        spec = self.write("s.yaml", f"dataset: {{Digits: {{ntrain: 64, ntest: 200}}}}\n{layers}\ncost: CrossEntropyMulti\n"
                          "optimizer: Adam\nbatch_size: 64\nepochs: 1\n"
                          "callbacks: [GuidedBackprop: {dataset_pct: 100, max_fm: 16}]\n")
        child = subprocess.Popen([*command, "-b", "cpu", "-r", "3", "-s", "m", spec], cwd=self.folder,
                                 env={**self.environment, "NEON_ALONE_SECONDS": "2"}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        end = time.monotonic() + 60
        while not os.path.exists(self.path("guided_Conv_0.png")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)
        return child

    def test_work_alone_has_a_limit(self):
        child = self.stopped_alone(support.NEON, "-m", "2")
        os.kill(children(child.pid)[0], signal.SIGSTOP)
        code, _, err = self.ended(child, seconds=6)
        self.assertEqual(code, 1, err)
        self.assertIn(f"neon: {self.rank(0, 2)} has not answered for 2 seconds", err)

    def test_a_rank_that_cannot_be_ended(self):
        """Rank 0 saves to a disk that answers nothing, and whoever started it does not wait with it."""
        def as_root(*command):
            return subprocess.run(command, cwd=self.folder, capture_output=True, check=False).returncode == 0
        os.mkdir(self.path("disk"))
        with open(self.path("disk.img"), "wb") as file:
            file.truncate(16 << 20)
        if os.geteuid() or not as_root("/sbin/mkfs.ext4", "-q", "disk.img") or not as_root("mount", "-o", "loop", "disk.img", "disk"):
            self.skipTest("a file cannot be mounted as a disk here")
        self.addCleanup(as_root, "umount", "--lazy", "disk")  # the killed rank ends some time after the thaw
        spec = self.spec(LONG, epochs=2000)
        self.assertTrue(as_root("/sbin/fsfreeze", "-f", "disk"))
        self.addCleanup(as_root, "/sbin/fsfreeze", "-u", "disk")
        with open(self.path("said"), "wb") as said:
            child = subprocess.Popen([support.NEON, "-b", "cpu", "-r", "3", "-m", "2", "-s", "disk/m", spec], cwd=self.folder,
                                     env={**self.environment, "NEON_ALONE_SECONDS": "1"}, stdin=subprocess.DEVNULL,
                                     stdout=said, stderr=said)
        self.addCleanup(child.kill)
        self.assertEqual(child.wait(timeout=15), 1)
        self.assertRegex(self.read("said").decode(), rf"neon: {re.escape(self.rank(0, 2))} has not answered for 1 second(?s:.*)"
                         r"warning: rank 0, process \d+, was killed and has not ended: it waits for a disk or a device")


if __name__ == "__main__":
    support.main()
