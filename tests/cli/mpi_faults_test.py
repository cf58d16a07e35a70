#!/usr/bin/python3
"""A rank of mpirun that fails, dies or hangs ends all, and a signal saves once."""
import os
import shutil
import signal
import subprocess
import time

import numpy as np

import ranks_faults_test
import stalled_output_test
import support
from mpi_case import DIVERGES, MpiCase, main, ranks_in
from ranks_test import NUMBERS


STOP_AT_OPEN = os.environ.get("STOP_AT_OPEN", "")


class MpiFaults(MpiCase):
    def test_faults_that_all_ranks_have_are_told_once(self):
        spec = self.spec(NUMBERS, cost="Nonsense")
        said = self.fails(2, "-b", "cpu", spec, says="Nonsense", ranks=3)
        self.assertIn(self.refused(2, "-b", "cpu", spec, says="Nonsense").err, said.err)
        self.fails(5, "-b", "cpu", "-d", "f64", self.spec(NUMBERS, optimizer=DIVERGES, ema=0), says="the run diverged")
        self.fails(2, "-b", "cpu", "/dev/stdin", says="one of them is a pipe", stdin=NUMBERS.encode())
        self.fails(2, "-b", "cpu", "--nonsense", spec, says="--nonsense")

    def test_the_rank_whose_result_was_the_first_that_is_not_finite(self):
        spec = ranks_faults_test.Faults.table(self, 22)
        self.fails(5, "-b", "cpu", "-r", "3", spec, says=f"step 3: on rank 2 of 3 ({os.uname().nodename}, CPU), infinity in ",
                   ranks=3)

    def test_a_failed_write_is_that_of_rank_0(self):
        self.fails(1, "-b", "cpu", "-s", "/dev/full/m.safetensors", self.spec(NUMBERS), says="/dev/full")

    def each(self, *commands):
        """mpirun's command for ranks of different commands."""
        out = ["mpirun", "--oversubscribe"]
        for words in commands:
            out += [*([":"] if out[-1] != "--oversubscribe" else []), "-np", "1", support.NEON, *words]
        return out

    def test_ranks_that_differ_are_refused_before_the_first_step(self):
        one, two = self.spec(NUMBERS), self.spec(NUMBERS, name="two.yaml", batch_size=10)
        for name, seed in ("a", 1), ("b", 2):
            rng = np.random.default_rng(seed)
            os.mkdir(self.path(name))
            np.savez(self.path(name + "/d.npz"), x_train=rng.standard_normal((40, 3)).astype("f4"),
                     y_train=rng.integers(0, 3, 40))
        npz = self.spec(NUMBERS, name="npz.yaml", dataset="{NPZ: {path: d.npz}}")
        for epochs in "12":
            self.neon("-b", "cpu", "-r", "3", "-e", epochs, "-s", epochs + ".safetensors", one)
        run = ["-b", "cpu", "-r", "3", one]
        cases = {"spec and options": (["-b", "cpu", "-r", "3", one], ["-b", "cpu", "-r", "3", two]),
                 "spec and options of epochs": ([*run, "-e", "2"], run),
                 "spec and options of precision": ([*run, "-u", "10"], run),
                 "spec and options of pooling": ([*run, "--caffe"], run),
                 "spec and options of evaluations": ([*run, "--eval_freq", "1"], [*run, "--eval_freq", "3"]),
                 "spec and options of who saves": ([*run, "-s", "y.safetensors"], run),
                 "spec and options of who saves, too": (run, [*run, "-s", "y.safetensors"]),
                 "spec and options of when": ([*run, "-s", "y.safetensors", "--serialize", "2"], [*run, "-s", "y.safetensors"]),
                 "spec and options of weights": ([*run, "--model_file", "1.safetensors"], run),
                 "weights to begin with": ([*run, "--model_file", "1.safetensors"], [*run, "--model_file", "2.safetensors"]),
                 "place to begin at": (["resume", "-b", "cpu", "-e", "4", "1.safetensors"],
                                       ["resume", "-b", "cpu", "-e", "4", "2.safetensors"]),
                 "data": (["-b", "cpu", "-r", "3", "-w", "a", npz], ["-b", "cpu", "-r", "3", "-w", "b", npz])}
        differs = {"spec and options": "batch_size: 10, and rank 0 has batch_size: 8;",
                   "spec and options of epochs": "epochs: 4, and rank 0 has epochs: 2;",
                   "spec and options of who saves": "save_path: nowhere, and rank 0 has save_path: file;",
                   "weights to begin with": ", and rank 0 has Affine_"}
        for what, commands in cases.items():
            done = subprocess.run(self.each(*commands), cwd=self.folder, env=self.environment, capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, 2, f"{what}: {done.stderr}")
            (line,) = [line for line in done.stderr.splitlines() if line.startswith("neon: ")]
            self.assertIn(f"the ranks of a run must have the same {what.split(' of ')[0]}, but rank 1 of 2 has ", line)
            self.assertIn(differs.get(what, "; start all of them with the same"), line)
            self.assertNotIn("epoch 1/", done.stderr)

    def test_a_fault_of_one_rank_ends_all(self):
        """Before the first step, and later: of a file of its own."""
        spec = self.spec(NUMBERS)
        done = subprocess.run(self.each(["-b", "cpu", spec], ["-b", "cpu", "missing.yaml"]), cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("neon: ")]
        self.assertIn(f"neon: rank 1 of 2 ({os.uname().nodename}, CPU): missing.yaml: there is no such file", line)
        # The second is a program without its modules, as on a host where neon has been built without MPI.
        alone = shutil.copy(support.NEON, self.path("neon"))
        self.assertRegex(self.neon("doctor", code=None).out, r"(?m)^MPI +/.*/libneon_mpi\.so$")
        done = subprocess.run([alone, "doctor"], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertRegex(done.stdout, r"(?m)^MPI +none, for mpirun and srun: ")
        for first, then, words in (support.NEON, alone, f"rank 1 of 2 ({os.uname().nodename}): "), (alone, alone, ""):
            done = subprocess.run(["mpirun", "--oversubscribe", "-np", "1", first, "-b", "cpu", spec, ":", "-np", "1", then, "-b",
                                   "cpu", spec], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            (line,) = [line for line in done.stderr.splitlines() if line.startswith("neon: ")]
            self.assertTrue(line.startswith(f"neon: {words}mpirun has started several ranks, and this build of neon has no MPI"))

    def test_a_rank_that_is_killed_ends_all(self):
        for rank in 0, 1, 2:
            child = self.started(3, "-s", "k.safetensors")
            ids = ranks_in(self.folder)
            self.assertEqual(len(ids), 3)
            end = time.monotonic() + 10
            while not os.path.exists(self.path("k.safetensors")) and time.monotonic() < end:
                time.sleep(0.01)
            os.kill(ids[rank], signal.SIGKILL)
            code, _, err = self.ended(child)
            self.assertEqual(code, 128 + signal.SIGKILL, err)
            self.assertRegex(err, f"mpirun noticed that process rank {rank} with PID .* exited on signal 9")
            self.assertNotIn("neon: ", err)
            self.check_gone(ids)
            self.neon("eval", "-b", "cpu", "k.safetensors")
            os.remove(self.path("k.safetensors"))

    def test_a_rank_that_hangs_ends_all(self):
        self.environment["NEON_ALONE_SECONDS"] = "1"  # rank 0 may be stopped as it saves
        for rank in 0, 1:
            child = self.started(2, "-s", "h.safetensors")
            ids = ranks_in(self.folder)
            self.wait_for_saves("h.safetensors")
            os.kill(ids[rank], signal.SIGSTOP)
            code, _, err = self.ended(child, seconds=16)
            self.assertEqual(code, 1, err)
            (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
            self.assertRegex(line, rf"^neon: rank {rank} of 2 \({os.uname().nodename}, CPU\) has not answered for \d+ seconds; "
                                   r"the last good checkpoint is h.safetensors$")
            os.remove(self.path("h.safetensors"))
            self.check_gone(ids)

    def test_multicast_is_off_unless_the_caller_asks_for_it(self):
        for caller, wanted in ({}, b"0"), ({"NCCL_NVLS_ENABLE": "1"}, b"1"):
            self.environment.update(caller)
            child = self.started(2)
            ranks_faults_test.Faults.check_multicast(self, ranks_in(self.folder), wanted)
            child.terminate()
            self.ended(child)

    def started_with_samples(self):
        """Two ranks that take some tenths of a second to read their samples; they wait for each other for 2 seconds."""
        np.savez(self.path("d.npz"), x_train=np.zeros((1000, 10000), np.float32), y_train=np.arange(1000) % 3)
        spec = self.spec(NUMBERS, dataset="{NPZ: {path: d.npz}}")
        child = subprocess.Popen([*self.mpirun(2), support.NEON, "-b", "cpu", "-r", "3", spec], cwd=self.folder,
                                 env={**self.environment, "NEON_START_SECONDS": "2"}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        while len(ids := ranks_in(self.folder)) < 2:
            time.sleep(0.001)
        return child, ids

    def wait_until_stopped(self, process):
        end = time.monotonic() + 30
        while True:
            with open(f"/proc/{process}/stat") as file:
                if file.read().rsplit(") ", 1)[1][0] == "T": return
            self.assertLess(time.monotonic(), end, f"process {process} has not stopped")
            time.sleep(0.01)

    def check_hung(self, child, ids, words):
        code, _, err = self.ended(child, seconds=16)
        self.assertEqual(code, 1, err)
        (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
        self.assertRegex(line, words)
        self.check_gone(ids)

    def test_a_rank_that_hangs_before_ranks_have_met_ends_all(self):
        """MPI has no word of it, and another rank has waited in vain."""
        for rank in 0, 1:
            child, ids = self.started_with_samples()
            os.kill(ids[rank], signal.SIGSTOP)
            self.check_hung(child, ids, rf"^neon: rank {1 - rank} of 2 \({os.uname().nodename}\) has waited for [25] seconds")

    def test_a_rank_that_hangs_while_it_reads_samples_ends_all(self):
        for name in "ab":  # each rank reads a file of its own
            os.mkdir(self.path(name))
            np.savez(self.path(name + "/d.npz"), x_train=np.zeros((40, 3), np.float32), y_train=np.arange(40) % 3)
        spec = self.spec(NUMBERS, dataset="{NPZ: {path: d.npz}}")
        environment = {**self.environment, "NEON_START_SECONDS": "2", "LD_PRELOAD": STOP_AT_OPEN, "STOP_AT": "b/d.npz"}
        child = subprocess.Popen(self.each(*(["-b", "cpu", "-r", "3", "-w", name, spec] for name in "ab")), cwd=self.folder,
                                 env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)
        self.addCleanup(child.kill)
        while len(ids := ranks_in(self.folder)) < 2:
            time.sleep(0.001)
        self.wait_until_stopped(ids[1])
        self.check_hung(child, ids, rf"^neon: rank 1 of 2 \({os.uname().nodename}, CPU\) has not answered for \d seconds")

    def test_work_alone_has_a_limit(self):
        child = ranks_faults_test.Faults.stopped_alone(self, *self.mpirun(2), support.NEON)
        os.kill(ranks_in(self.folder)[0], signal.SIGSTOP)
        code, _, err = self.ended(child, seconds=16)
        self.assertEqual(code, 1, err)
        self.assertRegex(err, r"neon: rank 0 of 2 \(.*, CPU\) has not answered for \d+ seconds")

    def test_a_disk_that_keeps_the_files_of_a_run_waiting_has_the_time_of_work_alone(self):
        """Others wait 8 seconds for a rank, and 2 for one that works alone, as NEON_ALONE_SECONDS says."""
        del self.environment["NEON_NO_RUN_FOLDER"]
        environment = {"NEON_ALONE_SECONDS": "2", "LD_PRELOAD": STOP_AT_OPEN, "STOP_AT": "results.csv"}
        code, _, err = self.ended(self.start("-b", "cpu", "-r", "3", "-m", "2", self.spec(NUMBERS), environment=environment))
        self.assertEqual(code, 1, err)
        self.assertRegex(err, r"neon: rank 0 of 2 \(.*, CPU\) has not answered for 2 seconds")

    def test_a_rank_that_hangs_is_named_whoever_finds_it(self):
        """Rank 0, which speaks for all, has waited for long before and has more patience than rank 1."""
        child = self.started(3)
        ids = ranks_in(self.folder)
        os.kill(ids[1], signal.SIGSTOP)
        time.sleep(3)
        os.kill(ids[1], signal.SIGCONT)
        time.sleep(0.5)
        os.kill(ids[2], signal.SIGSTOP)
        code, _, err = self.ended(child, seconds=16)
        self.assertEqual(code, 1, err)
        (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
        self.assertRegex(line, r"^neon: rank 2 of 3 \(.*, CPU\) has not answered for \d+ seconds")
        self.check_gone(ids)

    def test_a_signal_saves_once(self):
        for number in signal.SIGTERM, signal.SIGINT:
            child = self.started(2, "-s", "m.safetensors", "-d", "f64")
            child.send_signal(number)
            _, out, err = self.ended(child)
            self.assertIn("stopped by", out, err)
            self.assertEqual(out.count("wrote m.safetensors"), 1)
            self.assertIn(f"next: mpirun -np 2 {support.NEON} resume -b cpu m.safetensors\n", out)
            self.assertNotIn("neon: ", err)
            self.neon("eval", "-b", "cpu", "m.safetensors")

    def test_a_signal_while_mpirun_reads_nothing(self):
        """mpirun reads nothing before it hands a signal on, for as long as odls_base_sigkill_timeout says."""
        command = [*self.mpirun(2), support.NEON, "-b", "cpu", "-r", "3", "-s", "m.safetensors", "--serialize", "1000000",
                   self.spec(stalled_output_test.BRIEF)]
        with open(self.path("err"), "wb") as err:
            child = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=err, text=True)
        self.addCleanup(child.kill)
        while b"epoch 9" not in self.read("err"):
            time.sleep(0.05)
        child.send_signal(signal.SIGSTOP)
        ids = ranks_in(self.folder)
        before, written = -1, 0
        while written != before:  # until rank 0 waits for mpirun
            time.sleep(0.3)
            before, written = written, int(self.read(f"/proc/{ids[0]}/io").split()[3])
        for each in ids:
            os.kill(each, signal.SIGTERM)
        end = time.monotonic() + 5
        while not os.path.exists(self.path("m.safetensors")) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(os.path.exists(self.path("m.safetensors")))
        child.send_signal(signal.SIGCONT)
        _, out, _ = self.ended(child)
        self.assertIn("stopped by SIGTERM", out)
        self.neon("eval", "-b", "cpu", "m.safetensors")


if __name__ == "__main__":
    main(MpiFaults)
