#!/usr/bin/python3
"""Several ranks on GPUs (-b gpu -m N, or mpirun) compute what one GPU does; runs go on with other numbers of GPUs; a rank
that dies or hangs ends all. Four GPUs are taken where they are, else two; where there are fewer all is skipped, counted
and said."""
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import devices_test
import mpi_case
import ranks_streams_test
import ranks_test
import sharded_test
import split_classifier_test
import split_dense_test
import split_heads_test
import split_pairs_test
import split_table_test
import split_turns_test
import support
from ranks_test import IMAGES, LONG, NUMBERS, arrays, children

LIMIT = 1e-5  # of weights near 1 in f32, whose sums of 20 steps are made in another order; a lost part moves them by 1e-2


@functools.cache
def doctor():
    """The number of GPUs that can be used, and whether NCCL can join them."""
    said = subprocess.run([support.NEON, "doctor"], stdout=subprocess.PIPE, text=True,
                          env={**support.ENVIRONMENT, **devices_test.OF_THE_MACHINE}).stdout
    gpus = [line for line in said.splitlines() if re.match(r"GPU( \d+)? {2,}", line) and "not used" not in line]
    return len(gpus), not re.search(r"NCCL.*cannot be opened", said)


def ranks():
    return 4 if doctor()[0] >= 4 else 2


def why_not():
    """Why two GPUs cannot be used, or ""."""
    gpus, joined = doctor()
    return "" if gpus >= 2 and joined else f"{gpus} GPUs that NCCL can join, two needed"


class Ranks(devices_test.Case):
    BACKEND = "gpu"

    def train(self, spec, ranks, *options, name=None):
        """The results on stdout, and the arrays of the checkpoint."""
        name = name or f"m{ranks}.safetensors"
        done = self.neon("-b", "gpu", "-r", "3", "-m", str(ranks), "-s", name, *options, spec)
        return done, arrays(self.path(name))

    def check_equal(self, got, wanted, limit=LIMIT):
        ranks_test.Ranks.check_equal(self, got, wanted, limit)

    def check_ranks(self, spec, *options, limit=LIMIT):
        wanted = self.train(spec, 1, *options)[1]
        got = self.train(spec, ranks(), *options)[1]
        self.check_equal(got, wanted, limit)
        return wanted

    def test_dense_net(self):
        """Dropout and random slopes draw as one GPU does; the last batch has 6 samples of 8."""
        self.check_ranks(self.spec(NUMBERS))

    def test_convolutions_with_batch_norm_over_all_ranks(self):
        self.check_ranks(self.spec(IMAGES))

    def test_carried_states(self):
        text = ranks_test.Ranks.text
        self.check_ranks(text(self))

    def test_accumulated_gradients(self):
        self.check_ranks(self.spec(NUMBERS, accumulate=3))

    def test_nets_that_train_by_a_rule(self):
        """A machine's numbers draw units on or off: few lie where the last bits decide."""
        for spec in ranks_streams_test.MACHINE, ranks_streams_test.PHASES, ranks_streams_test.PLAYERS:
            self.check_ranks(self.spec(spec), limit=1e-3)

    def test_streamed_samples(self):
        support.write_colours(self)
        self.neon("data", "pack", "colours", "packed")
        spec = self.spec(IMAGES.replace("nout: 10", "nout: 2"), metrics="[Misclassification]", epochs=2,
                         dataset="{Shards: {path: packed, stream: true}}")
        self.check_ranks(spec)

    def test_split_dense_layers(self):
        """Rows are moved by NCCL, also where GPUs have different numbers of samples: 33 samples are 4 batches and one
        sample, 35 end with one and two."""
        for samples in 38, 33, 35:
            self.check_ranks(self.spec(split_dense_test.NUMBERS,
                                       dataset="{UniformRandom: {ntrain: %d, ntest: 11, nin: 6, nout: 3}}" % samples))
        self.check_ranks(self.spec(split_dense_test.IMAGES))
        self.check_ranks(self.spec(split_dense_test.NUMBERS, ema=0), "-d", "f16", limit=0.02)

    def test_pairs_of_split_dense_layers(self):
        self.check_ranks(self.spec(split_pairs_test.NUMBERS))
        self.check_ranks(self.spec(split_pairs_test.STEPS))

    def test_pairs_of_heads_and_of_a_gated_mlp(self):
        block = split_heads_test.BLOCK.replace(", ATTENTION", ", causal: true")
        self.check_ranks(self.spec(block))
        self.check_ranks(self.spec(block), "-d", "bf16", limit=0.1)

    def test_updates_rounded_stochastically(self):
        """A part draws as it does in the whole array: few weights round to another side, by sums in another order."""
        for spec in self.spec(sharded_test.NUMBERS, ema=0), self.spec(split_dense_test.NUMBERS, ema=0):
            self.check_ranks(spec, "-d", "f16", "-u", limit=0.02)

    def test_split_tables(self):
        self.check_ranks(self.spec(split_table_test.TOKENS))
        self.check_ranks(split_table_test.SplitTable.text(self))

    def test_split_classifiers(self):
        self.check_ranks(self.spec(split_classifier_test.CLASSES))
        self.check_ranks(self.spec(split_classifier_test.STEPS))

    def test_turns_of_samples(self):
        """In b a GPU gives no rows in the turn of the other."""
        for scheme in split_turns_test.TURNS:
            for text in split_dense_test.NUMBERS, split_pairs_test.STEPS:
                self.check_ranks(self.spec(split_turns_test.with_scheme(text, scheme)))

    def test_sharded_optimizer(self):
        """NCCL gathers and adds up rows, also where GPUs have different numbers of them: 3 of the last layer."""
        self.check_ranks(self.spec(sharded_test.NUMBERS))
        self.check_ranks(self.spec(sharded_test.NUMBERS, accumulate=3))
        self.check_ranks(self.spec(sharded_test.IMAGES))
        ranks_test.Ranks.text(self)
        self.check_ranks(self.spec(sharded_test.TIED))
        self.check_ranks(self.spec(sharded_test.NUMBERS, ema=0), "-d", "f16", limit=0.02)

    def test_a_sharded_run_goes_on_with_another_number_of_gpus(self):
        spec = self.spec(sharded_test.NUMBERS)
        _, wanted = self.train(spec, 1)
        for before, after in (ranks(), 1), (1, ranks()):
            self.train(spec, before, "-e", "1", name="part.safetensors")
            self.neon("resume", "-b", "gpu", "-m", str(after), "-e", "4", "part.safetensors")
            self.check_equal(arrays(self.path("part.safetensors")), wanted)

    def test_sixteen_bits(self):
        """Weights agree as far as 16 bits tell, with gradients added up in either way."""
        for dtype, limit in ("f16", 0.02), ("bf16", 0.1):
            for gradients in "own", "f32":
                spec = self.spec(NUMBERS, ema=0, parallel="{gradients: %s}" % gradients)
                self.check_ranks(spec, "-d", dtype, limit=limit)

    def test_the_same_bits_again(self):
        spec = self.spec(IMAGES)
        first, again = (self.train(spec, ranks(), name=name)[1] for name in ("a.safetensors", "b.safetensors"))
        for name, array in first.items():
            self.assertEqual(array.tobytes(), again[name].tobytes(), name)

    def test_gpus_compute_what_as_many_processes_on_the_cpu_do(self):
        spec = self.spec(IMAGES, parallel="{batch_norm: own}")
        wanted = self.train(spec, ranks())[1]
        self.neon("-b", "cpu", "-r", "3", "-m", str(ranks()), "-s", "cpu.safetensors", spec)
        self.check_equal(arrays(self.path("cpu.safetensors")), wanted, limit=1e-4)

    def test_a_run_goes_on_with_another_number_of_gpus(self):
        spec = self.spec(NUMBERS)
        _, wanted = self.train(spec, 1)
        for before, after in (ranks(), 1), (1, ranks()):
            self.train(spec, before, "-e", "1", name="part.safetensors")
            self.neon("resume", "-b", "gpu", "-m", str(after), "-e", "4", "part.safetensors")
            self.check_equal(arrays(self.path("part.safetensors")), wanted)

    def test_more_ranks_than_gpus(self):
        self.refused(6, "-b", "gpu", "-m", "99", self.spec(NUMBERS), says="-m 99 takes as many GPUs, and there are")

    def started(self, *options):
        return ranks_test.Ranks.started(self, self.spec(LONG), ranks(), *options)

    def test_a_rank_that_is_killed_ends_all(self):
        for rank in 0, ranks() - 1:
            child = self.started()
            ids = children(child.pid)
            os.kill(ids[rank], signal.SIGKILL)
            code, _, err = self.ended(child, 10)
            self.assertEqual(code, 1)
            self.assertIn(f"neon: rank {rank} of {ranks()} ({os.uname().nodename}, GPU {rank}) was killed (SIGKILL)", err)
            for each in ids:
                self.assertFalse(os.path.exists(f"/proc/{each}"))

    def test_a_rank_that_hangs_ends_all(self):
        child = self.started()
        time.sleep(0.5)
        os.kill(children(child.pid)[1], signal.SIGSTOP)
        # 8 seconds of patience or more, 5 of grace for the rank that waits on its GPU, and the ends of the processes.
        code, _, err = self.ended(child, 20)
        self.assertEqual(code, 1)
        self.assertIn(f"neon: rank 1 of {ranks()}", err)
        self.assertIn("has not answered for", err)

    def test_the_doctor_measures_exchanges(self):
        """Its rates are those of its bytes and times: (n - 1)/n of the bytes, twice for sums."""
        said = self.neon("doctor").out
        self.assertRegex(said, r"(?m)^exchanges +sums over \d+ GPUs: 4\.0 KiB in \d+ us, 16\.0 MiB in [\d.]+ [um]s \(\d+ GB/s\), "
                               r"512 MiB in [\d.]+ [um]s \(\d+ GB/s\)$")
        n = int(re.search(r"sums over (\d+) GPUs", said).group(1))
        row = r"(?m)^(all-reduce|reduce-scatter|all-gather) +([\d.]+) (KiB|MiB) +([\d.]+) (us|ms) +([\d.]+) GB/s$"
        rows = re.findall(row, self.neon("doctor", "-v").out)
        self.assertEqual(len(rows), 3 * 6)
        for kind, size, unit, time_, of_time, rate in rows:
            sent = float(size) * {"KiB": 2**10, "MiB": 2**20}[unit] * (n - 1) / n * (2 if kind == "all-reduce" else 1)
            taken = float(time_) * {"us": 1e-6, "ms": 1e-3}[of_time]
            self.assertLess(abs(sent / taken / 1e9 / float(rate) - 1), 0.05, (kind, size, unit))

    def test_a_signal_saves_once(self):
        child = self.started("-s", "m.safetensors")
        child.send_signal(signal.SIGTERM)
        code, out, err = self.ended(child, 10)
        self.assertEqual(code, 128 + signal.SIGTERM, err)
        self.assertEqual(out.count("wrote m.safetensors"), 1)


@functools.cache
def has_mpi():
    said = subprocess.run([support.NEON, "doctor"], stdout=subprocess.PIPE, text=True,
                          env={**support.ENVIRONMENT, **devices_test.OF_THE_MACHINE}).stdout
    return bool(re.search(r"(?m)^MPI +/.*\.so$", said) and shutil.which("mpirun"))


class Mpi(devices_test.Case):
    """Ranks of mpirun: MPI carries NCCL's first word, and messages beside what GPUs exchange."""
    mpirun = mpi_case.MpiCase.mpirun
    check_gone = mpi_case.MpiCase.check_gone
    check_equal = Ranks.check_equal

    def setUp(self):
        if not has_mpi():
            self.skipTest("there is no mpirun, or this neon has no MPI")
        super().setUp()
        self.environment.update(mpi_case.AS_ROOT, TMPDIR=self.folder, NEON_ALONE_SECONDS="1")  # a rank may hang as it saves

    def train(self, spec, *options, under=None, name="mpi.safetensors"):
        done = self.neon("-b", "gpu", "-r", "3", "-s", name, *options, spec, under=under or self.mpirun(ranks()))
        return done, arrays(self.path(name))

    def test_ranks_compute_what_one_gpu_does(self):
        for spec in self.spec(NUMBERS), self.spec(IMAGES), self.spec(sharded_test.NUMBERS), self.spec(split_dense_test.NUMBERS):
            self.check_equal(self.train(spec)[1], Ranks.train(self, spec, 1)[1])

    def test_the_bits_of_ranks_that_neon_starts(self):
        spec = self.spec(IMAGES)
        mpi_case.MpiCase.check_same_bits(self, self.train(spec)[1], Ranks.train(self, spec, ranks())[1])

    def test_a_run_goes_on_without_mpirun(self):
        spec = self.spec(NUMBERS)
        self.train(spec, "-e", "1", name="part.safetensors")
        self.neon("resume", "-b", "gpu", "-e", "4", "part.safetensors")
        self.check_equal(arrays(self.path("part.safetensors")), Ranks.train(self, spec, 1)[1])

    def test_ranks_that_see_one_gpu_each(self):
        """As srun --gpus-per-task=1 starts them."""
        spec = self.spec(NUMBERS)
        sees_one = "sh", "-c", 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec "$@"', "sh"
        _, got = self.train(spec, under=(*self.mpirun(ranks()), *sees_one))
        self.check_equal(got, Ranks.train(self, spec, 1)[1])

    def test_more_ranks_than_gpus(self):
        done = self.neon("-b", "gpu", self.spec(NUMBERS), code=6, under=self.mpirun(doctor()[0] + 1))
        (line,) = [line for line in done.err.splitlines() if line.startswith("neon: ")]
        self.assertRegex(line, rf"{doctor()[0] + 1} ranks of a host take as many GPUs, and there are {doctor()[0]}; take fewer")

    def started(self):
        """A run that has saved, and the ids of its ranks."""
        command = [*self.mpirun(ranks()), support.NEON, "-b", "gpu", "-r", "3", "-s", "m.safetensors", self.spec(LONG)]
        child = self.began(subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        self.wait_for_saves("m.safetensors")
        return child, mpi_case.ranks_in(self.folder)

    def check_ended(self, child, ids, rank):
        code, _, err = self.ended(child, 20)
        self.assertEqual(code, 1, err)
        (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
        self.assertRegex(line, rf"^neon: rank {rank} of {ranks()} \({os.uname().nodename}, GPU {rank}\) has not answered for "
                               r"\d+ seconds; the last good checkpoint is m.safetensors$")
        self.check_gone(ids)
        os.remove(self.path("m.safetensors"))

    def test_a_rank_that_hangs_ends_all(self):
        """The others wait for their GPUs, which would never end."""
        for rank in 0, ranks() - 1:
            child, ids = self.started()
            os.kill(ids[rank], signal.SIGSTOP)
            self.check_ended(child, ids, rank)

    def test_a_rank_that_is_killed_ends_all(self):
        child, ids = self.started()
        os.kill(ids[1], signal.SIGKILL)
        code, _, err = self.ended(child)
        self.assertEqual(code, 128 + signal.SIGKILL, err)
        self.check_gone(ids)
        self.neon("eval", "-b", "cpu", "m.safetensors")

    def test_a_signal_saves_once(self):
        child, ids = self.started()
        child.send_signal(signal.SIGTERM)
        _, out, err = self.ended(child)
        self.assertEqual(out.count("wrote m.safetensors"), 1, err)
        self.check_gone(ids)


if __name__ == "__main__":
    problem = why_not()
    if not problem:
        support.main()
    count = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).countTestCases()
    print(f"{problem}\n0 passed, 0 failed, {count} skipped")
    sys.exit(77)
