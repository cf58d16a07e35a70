#!/usr/bin/python3
"""Memory of a GPU, its cold start, and which algorithms a run takes, with stand-ins for CUDA."""
import re
import time

import numpy as np

import support
from gpu_support import DIVERGED, MLP, SMALL, UNTESTED, Case


class Memory(Case):
    def run_in(self, mebibytes, *arguments, code, share=1):
        # Without a cache, so that algorithms are timed in every run.
        return self.neon(*arguments, "--set", f"dataset.UniformRandom.memory_share={share}",
                         self.spec(MLP.replace("2048", "16384")), code=code,
                         environment={"FAKE_CUDA_MIB": str(mebibytes), "NEON_CACHE_DIR": "/dev/null"})

    def test_the_batch_that_is_said_to_fit_does(self):
        self.gpu()
        for options in [], ["-r", "1"], ["-r", "1", "-z", "15000"]:
            failed = self.run_in(128, *options, code=4)
            self.assertIn("no room on the GPU", failed.err)
            fits = re.search(r"would fit \(-z (\d+)\)", failed.err)[1]
            self.run_in(128, *options, "-z", fits, code=DIVERGED)

    def test_what_is_planned_is_what_is_taken(self):
        """Data, weights, workspace, both programs of the training and the evaluation's, algorithms that are timed."""
        self.gpu()
        for options in [["-z", "1280"], ["-z", "8192"], ["-r", "1", "-z", "16384"], ["-r", "1", "-z", "3000"]]:
            failed = self.run_in(60, *options, code=4)
            planned = float(re.search(r"samples plan ([\d.]+) MiB", failed.err)[1])
            self.run_in(int(planned) + 2, *options, code=DIVERGED)
            self.run_in(int(planned) - 2, *options, code=4)

    def test_values_that_cannot_fit_are_told_of_before_kernels_are_compiled(self):
        self.gpu()
        failed = self.neon("-z", "16384", self.spec(MLP.replace("2048", "16384")), code=4, environment={
            "FAKE_CUDA_MIB": "60", "FAKE_NVRTC_MS": "1500", "NEON_CACHE_DIR": "/dev/null"})
        self.assertRegex(failed.err, r"no room on the GPU for the values of a step of [\d.]+ MiB: [\d.]+ MiB of 60.0 MiB "
                                     r"are free.*would fit \(-z \d+\)")
        self.assertNotIn(ColdStart.WAITS, failed.err)

    def test_programs_share_what_their_values_take(self):
        self.gpu()
        alone, both = (float(re.search(r"samples plan ([\d.]+) MiB", self.run_in(60, "-r", "1", "-z", batch, code=4).err)[1])
                       for batch in ("8192", "8193"))  # the last batch is of 8192, or of 8191
        self.assertLess(abs(both - alone), 3, "the values of 8191 samples are 25 MiB and more")

    def test_verbs_that_do_not_train_say_what_fits_too(self):
        """What is said to fit does, and a MiB less than is planned does not."""
        self.gpu()
        wide = MLP.replace("2048", "16384").replace("512", "16384")
        self.neon("-b", "cpu", "-e", "1", "-z", "1024", "-s", "m", self.spec(wide))
        self.write("x.csv", "\n".join([",".join(["1"] * 784)] * 4096))
        for command, option, room in ((["eval", "m", "-z", "16384"], "-z", 66), (["program", "s.yaml"], "-z", 20),
                                      (["predict", "-b", "gpu", "m", "x.csv"], "", 2)):
            def run(mebibytes, *more, code=0):
                return self.neon(*command, *more, code=code, environment={"FAKE_CUDA_MIB": str(mebibytes), "FAKE_CUDA_FILL": "1",
                                                                         "NEON_CACHE_DIR": "/dev/null"})
            failed = run(room, code=4)
            planned, free = re.search(r"samples plan ([\d.]+) MiB for .* in all, of ([\d.]+) MiB that are free", failed.err).groups()
            self.assertEqual(float(free), room)
            fits = int(re.search(r"about (\d+) samples would fit", failed.err)[1])
            run(int(float(planned)) + 2)
            run(int(float(planned)) - 2, code=4)
            if option:
                self.assertIn(f"({option} {fits})", failed.err)
                run(room, option, str(fits))
                self.assertGreater(fits, 100)
            else:
                self.write("x.csv", "\n".join([",".join(["1"] * 784)] * fits))
                run(room)

    STAYS = "note: the samples would take more than memory_share of the GPU's memory; they stay in the host's memory"

    def test_a_gpu_that_is_too_small_for_the_data(self):
        """The samples take 50.6 MiB, as does a batch of them all; of smaller ones a quarter is there at a time."""
        self.gpu()
        for share in 0.5, 1:
            failed = self.run_in(50, "-r", "1", code=4, share=share)
            fits = re.search(r"would fit \(-z (\d+)\)", failed.err)[1]
            self.assertGreater(int(fits), 128)
            done = self.run_in(50, "-r", "1", "-z", fits, code=DIVERGED, share=share)
            self.assertEqual(done.err.count(self.STAYS), 1, str(done))
        failed = self.run_in(20, "-r", "1", "-z", "1280", code=4, share=0.5)
        planned = float(re.search(r"samples plan ([\d.]+) MiB", failed.err)[1])
        self.run_in(int(planned) + 2, "-r", "1", "-z", "1280", code=DIVERGED, share=0.5)
        self.run_in(int(planned) - 2, "-r", "1", "-z", "1280", code=4, share=0.5)

    def test_a_gpu_that_has_no_room_at_all(self):
        self.gpu()
        self.assertIn("not even a batch of 1 fits", self.run_in(1, code=4).err)

    def test_samples_are_on_the_gpu_where_they_take_no_more_than_their_share(self):
        self.gpu()
        for mebibytes, share, stays in (128, 0.5, False), (128, 0.3, True), (100, 0.5, True), (100, 0.6, False):
            done = self.run_in(mebibytes, "-r", "1", "-z", "128", code=DIVERGED, share=share)
            self.assertEqual(self.STAYS in done.err, stays, (mebibytes, share, str(done)))
            checked = self.neon("check", "-z", "128", "--set", f"dataset.UniformRandom.memory_share={share}", "s.yaml",
                                environment={"FAKE_CUDA_MIB": str(mebibytes)}).out
            self.assertEqual("the set stays in the host's memory" in checked, stays, checked)
            # 16 batches to train with and 4 to evaluate, or all, of 784 numbers of 4 bytes.
            self.assertIn(f"data {(2560 if stays else 16896) * 784 * 4 / 2**20:.1f} MiB", checked)

    def test_batches_of_samples_that_stay_on_the_host_are_sent_in_order(self):
        """Types of inputs and targets that sets have, in an evaluation; the samples are 1.1 MiB, the GPU's memory is 2."""
        self.gpu()

        def sum_of(array):
            total = 0
            for byte in array.tobytes():
                total = (total * 31 + byte) % 2**64
            return str(total)

        draws = np.random.default_rng(3)
        labels, numbers = draws.integers(0, 10, 3010).astype(np.int32), draws.random((3010, 10), np.float32)
        for inputs in draws.random((3010, 100), np.float32), draws.integers(0, 256, (3010, 400)).astype(np.uint8):
            for targets, cost in (labels, "CrossEntropyMulti"), (numbers, "SumSquared"), (None, "SumSquared"):
                named = {"inputs": inputs} if targets is None else {"inputs": inputs, "targets": targets}
                for name, array in named.items():
                    np.save(self.path(f"{name}.npy"), array[:50])
                    np.save(self.path(f"test_{name}.npy"), array)
                files = ", ".join(f"{which}{name}: {which}{name}.npy" for which in ("", "test_") for name in named)
                nout = inputs.shape[1] if targets is None else 10
                net = MLP.replace("nout: 100", "nout: 16").replace("nout: 10,", f"nout: {nout},")
                self.neon("-b", "cpu", "-r", "1", "-s", "m.safetensors", self.spec(
                    net if targets is labels else net.replace("Softmax", "Logistic"), cost=cost, batch_size="24",
                    dataset=f"{{NPY: {{{files}}}}}"))
                for name, array in named.items():
                    done = self.neon("eval", "-b", "gpu", "m.safetensors",
                                     environment={"FAKE_CUDA_MIB": "2", "FAKE_CUDA_TELLS": str(array[:24].nbytes)})
                    sent = re.findall(r"sent: .* sum (\d+)", done.err)
                    if array is labels:
                        sent = sent[::2]  # which samples count takes as much, and follows
                    filled = np.concatenate([array, *[array[-1:]] * 14])  # 3,024 are 126 batches
                    self.assertEqual(sent, [sum_of(filled[24 * batch:][:24]) for batch in range(126)])


class ColdStart(Case):
    WAITS = "compiling and choosing kernels for the GPU"

    def test_a_cold_cache_says_what_it_waits_for(self):
        self.gpu()
        slow = {"FAKE_NVRTC_MS": "150", "OMP_NUM_THREADS": "1"}  # one thread compiles all kernels
        done = self.neon(self.spec(SMALL), code=DIVERGED, environment=slow)
        self.assertEqual(done.err.count(self.WAITS), 1, str(done))
        self.assertIn(f"they are kept in {self.environment['NEON_CACHE_DIR']}", done.err)
        self.assertNotIn(self.WAITS, self.neon("s.yaml", code=DIVERGED, environment=slow).err)
        nowhere = {**slow, "NEON_CACHE_DIR": "/dev/null"}
        for _ in range(2):
            self.assertIn(f"{self.WAITS}, anew each time", self.neon("s.yaml", code=DIVERGED, environment=nowhere).err)

    def test_all_programs_of_a_run_say_it_once(self):
        """Without a cache each program compiles: of the training, of evaluations, and of the evaluation for the folder."""
        self.gpu()
        del self.environment["NEON_NO_RUN_FOLDER"]
        done = self.neon(self.spec(SMALL), "-e", "1", environment={"FAKE_NVRTC_MS": "600", "OMP_NUM_THREADS": "1", "FAKE_CUDA_FILL": "1",
                                                                   "NEON_CACHE_DIR": "/dev/null"})
        self.assertEqual(done.err.count(self.WAITS), 1, str(done))

    def test_a_quick_one_says_nothing(self):
        self.gpu()
        self.assertNotIn(self.WAITS, self.neon(self.spec(SMALL), code=DIVERGED).err)


class Determinism(Case):
    def asked(self, *arguments, code=None):
        done = self.neon(*arguments, code=code, environment={"FAKE_CUBLASLT_TELLS": "1", "NEON_CACHE_DIR": "/dev/null",
                                                             "FAKE_CUDA_FILL": "1"})
        counts = set(re.findall(r"algorithms asked for: (\d+)", done.err))
        self.assertTrue(counts, str(done))
        return counts

    def test_a_step_of_fewer_samples_takes_the_first_algorithm(self):
        self.gpu()
        self.assertNotIn("1", self.asked(self.spec(UNTESTED)))
        self.assertIn("1", self.asked(self.spec(UNTESTED, batch_size="1536")))

    def test_an_evaluation_takes_the_first_algorithm(self):
        self.gpu()
        self.assertIn("1", self.asked(self.spec(MLP)))

    def test_a_seed_takes_the_first_algorithm_whoever_gives_it(self):
        self.gpu()
        for verb in [], ["program"], ["bench", "--iterations", "1"]:
            self.assertNotEqual(self.asked(*verb, self.spec(MLP)), {"1"})
            self.assertEqual(self.asked(*verb, "-r", "5", self.spec(MLP)), {"1"})
            self.assertEqual(self.asked(*verb, self.spec(MLP, rng_seed="5")), {"1"})
            self.assertEqual(self.asked(*verb, "--deterministic", self.spec(MLP)), {"1"})

    def test_a_run_that_goes_on_chooses_as_it_did(self):
        """The clock, where it chose; else the first. A checkpoint of an older neon does not say, and was never timed."""
        self.gpu()
        for options in [], ["-r", "5"], ["--deterministic"]:
            asked = self.asked(*options, "-s", "m", self.spec(MLP), code=0)
            self.assertEqual(asked == {"1"}, bool(options))
            for epochs in "2", "3":
                self.assertEqual(self.asked("resume", "-e", epochs, "m", code=0), asked)
        self.asked("-e", "1", "-s", "m", self.spec(MLP), code=0)
        self.in_position("m", timed=None)
        self.assertEqual(self.asked("resume", "-e", "2", "m", code=0), {"1"})
        self.asked("-e", "1", "-s", "m", self.spec(MLP), code=0)
        done = self.neon("resume", "-e", "2", "--deterministic", "m", environment={"FAKE_CUDA_FILL": "1"})
        self.assertIn("note: the run's algorithms were chosen by the clock, now they are not", done.err)


if __name__ == "__main__":
    support.main()
