#!/usr/bin/python3
"""Kernels that fail: neon names the kernel, keeps what was written before, and ends with exit code 6."""
import os
import re

import h5py
import numpy as np

import support
from gpu_support import MLP, SMALL, UNTESTED, Case


class Faults(Case):
    FAULT = "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS 700)"

    def kernels(self, spec):
        """Number, op and layer of each, as `neon program` shows them."""
        listed = re.findall(r"(?m)^ ?(\d+)  (\w+).*?(?:# (\S+))?$", self.neon("program", "-b", "gpu", spec).out)
        self.assertGreater(len(listed), 5)
        return listed

    def test_the_kernel_that_fails_is_looked_for_and_named(self):
        """Every kernel of the step."""
        self.gpu()
        spec = self.spec(SMALL)
        for number, op, layer in self.kernels(spec):
            self.refused(6, spec, environment={"FAKE_CUDA_FAULT": str(int(number) + 1)},
                         says=[self.FAULT + ", in a kernel of the training step",
                               "looking for it: the first 64 steps again", f"looking for it: kernel {number} of the training "
                               f"step, {op}", f"in layer {layer}: {self.FAULT}"])

    def test_a_kernel_that_fails_late_is_found_too(self):
        """Beyond the 64 steps that are gone through at the least."""
        self.gpu()
        spec = self.spec(SMALL)
        each = len(self.kernels(spec))
        done = self.refused(6, "-r", "1", "-e", "1000", "--eval_freq", "1000", spec, says=["looking for it: kernel 2 of the training step", self.FAULT],
                            environment={"FAKE_CUDA_FILL": "1", "FAKE_CUDA_FAULT": str(100 * each + 3)})
        self.assertGreaterEqual(int(re.search(r"the first (\d+) steps again", done.err).group(1)), 100, done.err)

    def test_the_search_has_the_weights_and_the_algorithms_that_the_run_had(self):
        """Also those of a seed that was drawn, which must not count as given."""
        self.gpu()
        weights = 4 * 3 * 8  # bytes of the last layer's
        met = set()
        for options, seed in ([], r"\d+"), ([], r"\d+"), (["-r", "5"], "5"):
            done = self.refused(6, *options, self.spec(SMALL), says=self.FAULT,
                                environment={"FAKE_CUDA_FAULT": "3", "FAKE_CUDA_TELLS": str(weights)})
            before, after = re.split(rf"looking for it: the first 64 steps again, with seed {seed}, one kernel", done.err)
            sums = re.findall(r"sent: .* sum (\d+)", before)
            self.assertNotEqual(set(sums), {"0"})
            self.assertEqual(re.findall(r"sent: .* sum (\d+)", after), sums)
            met.add(tuple(sums))
        self.assertEqual(len(met), 3, "other seeds, other weights")
        self.neon(self.spec(UNTESTED), code=None)  # times algorithms, which are remembered
        for options in [], ["-r", "5"]:
            done = self.refused(6, *options, "s.yaml", says="looking for it: kernel 2 of",
                                environment={"FAKE_CUDA_FAULT": "3", "FAKE_CUBLASLT_TELLS": "1"})
            before, after = (re.findall(r"algorithms asked for: (\d+)", part) for part in done.err.split("a kernel has failed"))
            self.assertEqual(after, before)
            self.assertEqual("1" in before, bool(options))
        self.refused(6, "-b", "cpu", "s.yaml", says="NEON_GPU_FAULT_SEED is 'x', no seed",
                     environment={"NEON_GPU_FAULT": "a fault", "NEON_GPU_FAULT_SEED": "x"})

    def test_kernels_of_libraries_are_named_too(self):
        self.gpu()
        spec = self.spec(MLP)
        products = [kernel for kernel in self.kernels(spec) if kernel[1] == "matmul"]
        self.assertGreater(len(products), 3)
        for number, op, layer in products:
            self.refused(6, "-r", "1", spec, environment={"FAKE_CUDA_FAULT": str(int(number) + 1)},
                         says=[f"looking for it: kernel {number} of the training step, matmul", f"in layer {layer}: {self.FAULT}"])

    def test_a_fault_of_a_streamed_run_is_looked_for_too(self):
        self.gpu()
        for split in "train", "test":
            for label in "a", "b":
                for i in range(12):
                    image = np.full((8, 8, 3), 20 * i + (label == "b"), np.uint8)
                    self.write(f"images/{split}/{label}/{i}.png", support.png(image))
        spec = self.spec(SMALL.replace("Iris", "{ImageFolder: {path: images, stream: true}}").replace("nout: 3", "nout: 2"),
                         batch_size="2")
        for kernel in 1, 4:
            self.refused(6, spec, environment={"FAKE_CUDA_FAULT": str(kernel)},
                         says=[self.FAULT, f"looking for it: kernel {kernel - 1} of the training step"])

    def test_an_algorithm_that_fails_while_it_is_timed_is_named(self):
        self.gpu()
        done = self.refused(6, "-b", "gpu", self.spec(MLP), environment={"FAKE_CUDA_FAULT": "1"},
                            says=["choosing an algorithm for kernel 1 of the training step, matmul", "in layer Affine_0",
                                  self.FAULT])
        self.assertNotIn("looking", done.err)

    def test_kernels_that_are_waited_for_are_named_at_once(self):
        self.gpu()
        spec = self.spec(SMALL)
        for number, op, layer in self.kernels(spec)[:3]:
            done = self.refused(6, "-b", "gpu", spec, says=[f"neon: kernel {number} of the training step, {op}", self.FAULT],
                                environment={"FAKE_CUDA_FAULT": str(int(number) + 1), "NEON_GPU_WAIT": "1"})
            self.assertNotIn("looking", done.err)

    def test_what_was_written_before_the_fault_stays_as_it_is(self):
        self.gpu()
        done = self.refused(6, "-s", "m.safetensors", "-o", "run.h5", "-l", "log", self.spec(SMALL),
                            says=[self.FAULT, "it had saved no checkpoint yet", "kernel 2 of"],
                            environment={"FAKE_CUDA_FAULT": "3"})
        with h5py.File(self.path("run.h5"), "r") as run:
            self.assertEqual(run.attrs["status"], "killed")
        self.assertFalse(os.path.exists(self.path("m.safetensors")), str(done))
        self.neon("-b", "cpu", "-s", "m.safetensors", "-e", "1", "s.yaml")
        before = self.read("m.safetensors")
        self.refused(6, "resume", "m.safetensors", "-e", "2",
                     says=[self.FAULT, "looking for it: 64 steps from where m.safetensors stands, one kernel", "kernel 2 of"],
                     environment={"FAKE_CUDA_FAULT": "3"})
        self.assertEqual(self.read("m.safetensors"), before)

    def test_other_verbs_look_for_the_kernel_by_doing_the_same_again(self):
        self.gpu()
        spec = self.spec(SMALL)
        self.neon("-b", "cpu", "-r", "1", "-s", "m", spec)
        self.write("few.csv", "5.1,3.5,1.4,0.2\n")
        for verb in ["bench", spec], ["eval", "m"], ["predict", "m", "few.csv"]:
            done = self.neon(*verb, "-b", "gpu", code=6, environment={"FAKE_CUDA_FAULT": "3"})
            self.assertIn("a kernel has failed; looking for it: the same again, one kernel after the other", done.err)
            self.assertRegex(done.err, rf"neon: .*{re.escape(self.FAULT)}, in a kernel of .*; looking for it: kernel 2 of [^:]*"
                                       rf"in layer \w+: {re.escape(self.FAULT)}")

    def test_what_came_by_stdin_is_not_there_again(self):
        self.gpu()
        self.neon("-b", "cpu", "-r", "1", "-s", "m", self.spec(SMALL))
        done = self.neon("predict", "m", "-", "-b", "gpu", code=6, stdin=b"5.1,3.5,1.4,0.2\n",
                         environment={"FAKE_CUDA_FAULT": "3"})
        self.assertIn("NEON_GPU_WAIT=1 in the environment", done.err)
        self.assertNotIn("looking", done.err)


if __name__ == "__main__":
    support.main()
