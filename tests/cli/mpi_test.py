#!/usr/bin/python3
"""Ranks that mpirun starts compute what one process does, and the same bits as ranks of -m N."""
import os
import re
import shutil
import subprocess

import h5py
import numpy as np

import ranks_test
import sharded_test
import split_dense_test
import support
from mpi_case import DIVERGES, MpiCase, main
from ranks_test import IMAGES, NUMBERS, arrays


class Mpi(MpiCase):
    def check_ranks(self, spec, *options, ranks=(2, 3)):
        def results(done):
            """With all digits that are printed."""
            return re.findall(r"^(?:test|validation|training): .*", done.out, re.M)
        one, wanted = ranks_test.Ranks.train(self, spec, 1, *options)
        self.assertTrue(results(one))
        for count in ranks:
            done, got = self.train(spec, count, *options)
            ranks_test.Ranks.check_equal(self, got, wanted)
            self.assertEqual(results(done), results(one))
            self.check_same_bits(got, ranks_test.Ranks.train(self, spec, count, *options)[1])
        return wanted

    def test_dense_net(self):
        """Dropout and random slopes draw as one process does; the last batch has 6 samples of 8."""
        self.check_ranks(self.spec(NUMBERS), ranks=(2, 3, 4))

    def test_a_metric_of_all_samples_together(self):
        self.check_ranks(self.spec(NUMBERS.replace("nout: 3", "nout: 2"), metrics="[AUC]"), ranks=(3,))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}"), ranks=(3,))

    def test_accumulated_gradients(self):
        self.check_ranks(self.spec(NUMBERS, accumulate=3), ranks=(2,))

    def test_convolutions_with_batch_norm_over_all_ranks(self):
        self.check_ranks(self.spec(IMAGES))

    def test_carried_states(self):
        self.check_ranks(ranks_test.Ranks.text(self))

    def test_streamed_samples(self):
        support.write_colours(self)
        self.neon("data", "pack", "colours", "packed")
        self.check_ranks(self.spec(IMAGES.replace("nout: 10", "nout: 2"), metrics="[Misclassification]", epochs=2,
                                   dataset="{Shards: {path: packed, stream: true}}"), ranks=(2,))

    def test_split_dense_layers(self):
        """Ranks have different numbers of samples, 38 in batches of 8, and different rows of weights."""
        self.check_ranks(self.spec(split_dense_test.NUMBERS))
        self.check_ranks(self.spec(split_dense_test.IMAGES), ranks=(2,))

    def test_sharded_optimizer(self):
        self.check_ranks(self.spec(sharded_test.NUMBERS))

    def test_sixteen_bits(self):
        """The same bits as ranks that share memory, and again."""
        for dtype in "f16", "bf16":
            spec = self.spec(NUMBERS, ema=0)
            found = [self.train(spec, 3, "-d", dtype)[1] for _ in range(2)]
            found.append(ranks_test.Ranks.train(self, spec, 3, "-d", dtype)[1])
            self.check_same_bits(found[1], found[0])
            self.check_same_bits(found[2], found[0])

    def test_a_run_goes_on_with_another_number_of_ranks(self):
        spec = self.spec(NUMBERS)
        _, wanted = ranks_test.Ranks.train(self, spec, 1)
        for before, after in (3, 2), (1, 3), (2, 1):
            self.train(spec, before, "-e", "1", name="part.safetensors")
            self.neon("resume", "-b", "cpu", "-e", "4", "part.safetensors", under=self.mpirun(after))
            ranks_test.Ranks.check_equal(self, arrays(self.path("part.safetensors")), wanted)

    def test_ranks_of_unlike_processors(self):
        """All compute by the least of their instruction sets."""
        if "x86-64-v2" in self.neon("doctor", code=None).out:
            self.skipTest("this processor has one of them")
        spec = self.spec(NUMBERS)
        words = "-b", "cpu", "-r", "3", "-s"
        rank = lambda level, name: ["-np", "1", "env", "NEON_SIMD=" + level, support.NEON, *words, name, spec]
        for first, then in ("v2", "v2"), ("v3", "v2"), ("v2", "v3"), ("v3", "v3"):
            done = subprocess.run(["mpirun", "--oversubscribe", *rank(first, first + then), ":", *rank(then, first + then)],
                                  cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
        wanted = arrays(self.path("v2v2"))
        self.check_same_bits(arrays(self.path("v3v2")), wanted)
        self.check_same_bits(arrays(self.path("v2v3")), wanted)
        other = arrays(self.path("v3v3"))
        self.assertTrue(any(other[name].tobytes() != wanted[name].tobytes() for name in wanted))

    def said(self, done):
        """Its epochs and warnings without speeds; on a busy machine Open MPI and the progress of steps say more."""
        return [re.sub(r"\S+ samples/s", "", line) for line in done.err.splitlines()
                if line.startswith("warning: ") or "test cost" in line]

    def test_rank_0_alone_writes_and_prints(self):
        spec = self.spec(NUMBERS)
        one = self.neon("-b", "cpu", "-r", "3", "-o", "1.h5", "-l", "1.log", spec)
        two = self.neon("-b", "cpu", "-r", "3", "-o", "2.h5", "-l", "2.log", spec, under=self.mpirun(2))
        self.assertEqual(len(two.out.splitlines()), len(one.out.splitlines()))
        self.assertEqual(self.said(two), self.said(one))
        self.assertGreaterEqual(len(self.said(two)), 4)
        with h5py.File(self.path("1.h5")) as first, h5py.File(self.path("2.h5")) as second:
            for name in "cost/train", "cost/loss":
                np.testing.assert_allclose(second[name][:], first[name][:], rtol=1e-5)

    def test_a_run_folder(self):
        self.neon("-b", "cpu", "-r", "3", self.spec(NUMBERS), under=self.mpirun(2), environment={"NEON_NO_RUN_FOLDER": ""})
        (folder,) = os.listdir(self.path("runs"))
        self.assertIn("last.safetensors", os.listdir(self.path("runs/" + folder)))

    def test_bench(self):
        done = self.neon("bench", "-b", "cpu", "--iterations", "3", self.spec(NUMBERS), under=self.mpirun(2))
        self.assertIn("2 ranks of", done.out)

    # Faults.

    def test_the_number_of_ranks(self):
        spec = self.spec(NUMBERS)
        self.fails(2, "-b", "cpu", "-m", "3", spec, says="-m 3 asks for 3 ranks, and mpirun has started 2; leave -m 3 out")
        self.fails(2, "-b", "cpu", "-m", "1", spec, says="-m 1 asks for 1 rank, and mpirun has started 2")
        self.neon("-b", "cpu", "-m", "2", spec, under=self.mpirun(2))
        alone = self.neon("-b", "cpu", "-r", "3", spec, under=self.mpirun(1))
        self.assertIn("trained 4 epochs", alone.out)

    def test_verbs_of_one_process(self):
        for verb in "check", "predict", "search":
            self.fails(2, verb, self.spec(NUMBERS), *(["x.csv"] if verb == "predict" else []),
                       says=[f"neon {verb} runs as one process, and mpirun has started 2"])

    def test_a_build_without_mpi(self):
        """The program is a copy without the module beside it."""
        shutil.copy(support.NEON, self.path("neon"))
        done = subprocess.run([*self.mpirun(3), self.path("neon"), "-b", "cpu", self.spec(NUMBERS)], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("neon: ")]
        self.assertIn("mpirun has started several ranks, and this build of neon has no MPI (libneon_mpi.so)", line)


if __name__ == "__main__":
    main(Mpi)
