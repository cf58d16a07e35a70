#!/usr/bin/python3
"""GPUs, drivers and libraries that are there or not, with stand-ins for all of them: no kernel computes anything."""
import os
import re
import shutil
import subprocess
import sys

import numpy as np

import devices_test
import support
from gpu_support import CONVOLUTION, CUDA, CUDNN, DIVERGED, FAKES, MLP, SMALL, Case


class Devices(Case):
    def test_the_tests_of_devices_look_at_the_first_gpu_alone(self):
        self.gpu()
        said = self.neon("doctor", code=None).out
        line = re.search(r"(?m)^GPU 0 .*", said).group()
        self.assertEqual(devices_test.why_not_used(said), "")
        other, old = line.replace("GPU 0 ", "GPU 1 "), "; not used: too old"
        self.assertEqual(devices_test.why_not_used(said.replace(line, f"{line}\n{other}{old}")), "")
        self.assertEqual(devices_test.why_not_used(said.replace(line, f"{line}{old}\n{other}")), line + old)

    def test_without_any_they_are_skipped(self):
        self.gpu("libcuda.so")
        self.assertRegex(devices_test.why_not_used(self.neon("doctor").out), "GPU +not used: ")


class GoingOn(Case):
    def notes_of(self, *arguments, **environment):
        environment = {"FAKE_CUDA_FILL": "1", **environment}
        return self.notes(self.neon("resume", "m", *arguments, environment=environment))

    def test_another_device_is_told(self):
        self.gpu()
        self.neon("-e", "1", "-r", "1", "-s", "m", self.spec(MLP), environment={"FAKE_CUDA_FILL": "1"})
        last_bits = ": results may differ in the last bits"
        self.assertEqual(self.notes_of("-e", "2"), [])
        self.assertEqual(self.notes_of("-e", "3", "-b", "cpu"),
                         ["note: the run was on GPU Fake GPU, now it is on the CPU" + last_bits])
        self.assertEqual(self.notes_of("-e", "4", "-b", "cpu"), [])
        self.assertEqual(self.notes_of("-e", "5", "-b", "gpu"),
                         ["note: the run was on the CPU, now it is on GPU Fake GPU" + last_bits])
        self.in_position("m", device="Another GPU")
        self.assertEqual(self.notes_of("-e", "6"), ["note: the run was on GPU Another GPU, now it is on GPU Fake GPU" + last_bits])
        [note] = self.notes_of("-e", "7", FAKE_CUDA_VERSION="13020")
        self.assertRegex(note, rf"the run had CUDA {CUDA}\.\d+ with a driver for CUDA 13\.0, now CUDA {CUDA}\.\d+ with a "
                               rf"driver for CUDA 13\.2{last_bits}$")

    def test_a_checkpoint_that_does_not_say_where_it_ran_is_no_other_device(self):
        self.gpu()
        self.neon("-b", "cpu", "-e", "1", "-r", "1", "-s", "m", self.spec(MLP))
        self.in_position("m", device=None, cuda=None)
        self.assertEqual(self.notes_of("-e", "2", "-b", "gpu"), [])


class Libraries(Case):
    def test_without_nvrtc_the_cpu_is_taken_and_a_note_says_why(self):
        self.gpu("libnvrtc.so")
        for verb in [], ["program"], ["bench", "--iterations", "1"]:
            done = self.neon(*verb, self.spec(SMALL, epochs="1"))
            self.assertEqual(len(self.notes(done)), 1, str(done))
            for words in "note: the GPU is not used", f"libnvrtc.so.{CUDA} cannot be opened", "cuda-nvrtc":
                self.assertIn(words, self.notes(done)[0])

    def test_what_is_asked_for_and_cannot_be_is_an_error(self):
        self.gpu("libnvrtc.so")
        self.refused(6, "-b", "gpu", self.spec(SMALL), says=[f"libnvrtc.so.{CUDA} cannot be opened", "install", "-b cpu"])
        self.refused(6, self.spec(SMALL, backend="gpu"), says=[f"libnvrtc.so.{CUDA} cannot be opened"])

    def test_a_net_that_needs_no_cublas_runs_without(self):
        self.gpu("libcublasLt.so")
        self.assertEqual(self.notes(self.neon(self.spec(SMALL), code=DIVERGED)), [])
        self.assertIn("libcublas", self.notes(self.neon(self.spec(MLP)))[0])
        self.refused(6, "-b", "gpu", self.spec(MLP), says=[f"libcublasLt.so.{CUDA} cannot be opened", "(libcublas)"])

    def test_cudnn_does_not_come_with_cuda(self):
        self.gpu()
        self.assertIn("libcudnn", self.notes(self.neon(self.spec(CONVOLUTION)))[0])
        self.refused(6, "-b", "gpu", self.spec(CONVOLUTION),
                     says=[f"libcudnn.so.{CUDNN} cannot be opened", f"libcudnn{CUDNN}-cuda-{CUDA}", "does not come with CUDA"])


class Unusable(Case):
    def unused(self, *says, **environment):
        done = self.neon(self.spec(SMALL, epochs="1"), environment=environment)
        self.assertEqual(len(self.notes(done)), 1, str(done))
        for words in ("note: the GPU is not used: ", *says):
            self.assertIn(words, self.notes(done)[0])
        self.assertEqual(self.notes(self.neon("-b", "cpu", "s.yaml", environment=environment)), [])
        self.refused(6, "-b", "gpu", "s.yaml", environment=environment, says=["cannot be used", *says])

    def test_a_driver_that_is_too_old(self):
        self.gpu()
        self.unused("the NVIDIA driver is too old: it is for CUDA 11.8", FAKE_CUDA_VERSION="11080")

    def test_a_driver_that_lacks_functions(self):
        self.gpu(driver="fake_old_cuda")
        self.unused("the NVIDIA driver is too old: it is for CUDA 11.8")

    def test_a_driver_that_is_none(self):
        self.gpu(driver="fake_nvrtc")
        self.unused("libcuda.so.1 that was found is no NVIDIA driver")

    def test_a_driver_that_does_not_start(self):
        self.gpu()
        self.unused("the NVIDIA driver does not start: something is wrong", FAKE_CUDA_INIT="999")

    def test_a_gpu_that_is_too_old(self):
        self.gpu()
        self.unused("Fake GPU", "compute capability 3.5 is older than", FAKE_CUDA_ARCH="35")

    def test_the_first_that_can_be_used_is(self):
        """Where -i does not choose, whoever asks for a GPU or nobody; where none can be, each is told."""
        self.gpu()
        three = {"FAKE_CUDA_COUNT": "3", "FAKE_CUDA_ARCH": "35,30,90", "FAKE_CUDA_FILL": "1"}
        note = "note: GPU 2 (Fake GPU) is used; GPU 0 (Fake GPU) cannot be: compute capability 3.5 is older than"
        for options in [], ["-b", "gpu"], ["--set", "backend=gpu"]:
            for verb in [], ["program"]:
                done = self.neon(*verb, *options, self.spec(SMALL), environment=three)
                self.assertEqual(len(self.notes(done)), 1, str(done))
                self.assertIn(note, done.err)
        self.assertEqual(self.notes(self.neon("-i", "2", "s.yaml", environment=three)), [])
        self.refused(6, "-i", "0", "s.yaml", environment=three, says="GPU 0: Fake GPU cannot be used: compute capability 3.5")
        none = {"FAKE_CUDA_COUNT": "2", "FAKE_CUDA_ARCH": "35,30"}
        [note] = self.notes(self.neon("-e", "1", "s.yaml", environment=none))
        for words in "the GPU is not used: GPU 0, Fake GPU: compute capability 3.5 is", "; GPU 1, Fake GPU: compute capability 3.0 is":
            self.assertIn(words, note)
        self.refused(6, "-b", "gpu", "s.yaml", environment=none, says="GPU 0: Fake GPU cannot be used: compute capability 3.5")

    def test_a_gpu_that_is_not_there(self):
        """Asked for by its number, so that it is no matter of using another, or none."""
        self.gpu()
        self.neon("-b", "cpu", "-e", "1", "-s", "m.safetensors", self.spec(SMALL))
        for arguments in (["s.yaml"], ["-b", "gpu", "s.yaml"], ["bench", "s.yaml"], ["program", "s.yaml"],
                          ["eval", "m.safetensors"], ["resume", "m.safetensors", "-e", "2"]):
            self.refused(6, *arguments, "-i", "3", environment={"FAKE_CUDA_COUNT": "3"},
                         says="there is no GPU 3; there is 0: Fake GPU, 1: Fake GPU, 2: Fake GPU")

    def test_no_gpu_is_nothing_to_speak_of(self):
        self.gpu()
        done = self.neon(self.spec(SMALL, epochs="1"), environment={"FAKE_CUDA_INIT": "100"})
        self.assertEqual(self.notes(done), [])


class OneOfEach(Case):
    """What registers itself stands in tables of the program, or of libneon.so. The module, which is opened beside them,
    takes what it needs from there; with functions of theirs it would have tables of its own, and fill them again."""

    def defined(self, file, kinds):
        listed = subprocess.run(["nm", "-C", "--defined-only", os.path.join(FAKES, "../../..", file)], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        return {name for _, kind, name in (line.split(" ", 2) for line in listed.splitlines())
                if kind in kinds and "neon::" in name}

    def test_the_module_has_no_tables_of_its_own(self):
        tables = {"neon::categories()", "neon::add_op(neon::Op)", "neon::find_op(std::basic_string_view<char, "
                  "std::char_traits<char> >)"}
        own = self.defined("backends/cuda/libneon_cuda.so", "TDBR")
        self.assertIn("neon::cuda::Engine::Engine(int)", own)
        for other in support.NEON, "neon/array/libneon.so":
            there = self.defined(other, "TDBR")
            self.assertLessEqual(tables, there)
            self.assertEqual(own & there, set())

    def test_nor_such_as_templates_bring(self):
        table = "neon::Registry<neon::Layer>::get()::registry"
        every = {kind for kind in "tTdDbBrRuVvWw"}
        self.assertIn(table, self.defined(support.NEON, every))
        for name in self.defined("backends/cuda/libneon_cuda.so", every):
            self.assertNotIn("neon::Registry<", name)
            self.assertNotIn("neon::Registration<", name)
            self.assertNotIn("neon::OpRegistration", name)


class Arrays(Case):
    def test_an_example_ends_with_a_line_not_with_a_crash(self):
        """Nor with advice for the command line, which it has not."""
        self.gpu("libcuda.so")
        done = subprocess.run([os.environ["EXAMPLE"], "gpu"], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("the GPU cannot be used", done.stderr)
        self.assertNotIn("-b cpu", done.stderr)

    def test_a_program_that_lies_elsewhere_finds_the_module_of_its_library(self):
        self.gpu("libcuda.so")
        program = shutil.copy(os.environ["EXAMPLE"], self.path("program"))
        libraries = os.path.join(FAKES, "../../../neon/array") + ":" + self.environment["LD_LIBRARY_PATH"]
        done = subprocess.run([program, "gpu"], env={**self.environment, "LD_LIBRARY_PATH": libraries},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("libcuda.so.1", done.stderr)

    def test_an_extension_that_is_opened_for_itself_uses_the_gpu(self):
        self.gpu()
        extension = os.path.join(FAKES, "libextension.so")
        done = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({extension!r}).use_gpu()"],
                              env=self.environment, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "used\n")

    def test_what_the_driver_gives_is_given_back(self):
        self.gpu()
        done = subprocess.run([os.environ["LIVES"]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**self.environment, "FAKE_CUDA_COUNT": "2", "FAKE_CUDA_MIB": "24",
                                   "NEON_CACHE_DIR": "/dev/null"})
        self.assertEqual(done.returncode, 0, done.stdout)


class Doctor(Case):
    def test_no_module_is_opened_because_of_the_folder_one_is_in(self):
        self.gpu()
        os.makedirs(self.path("neon"))
        open(self.path("neon/libneon_cuda.so"), "w").close()
        folder, name = os.path.split(support.NEON)
        done = subprocess.run([name, "doctor"], env={**self.environment, "PATH": folder}, cwd=self.path(""),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn("Fake GPU", done.stdout)

    def test_libraries_are_named_with_version_and_place(self):
        self.gpu()
        done = self.neon("doctor", code=6)  # kernels that do nothing give wrong numbers
        for found in (rf"(?m)^neon +\S+, built with CUDA {CUDA}\.", rf"(?m)^NVRTC +13\.7, \S+/gpu/libnvrtc\.so\.{CUDA}$",
                      rf"(?m)^cuBLASLt +13\.2\.4, \S+/gpu/libcublasLt\.so\.{CUDA}$",
                      rf"(?m)^cuDNN +libcudnn\.so\.{CUDNN} cannot be opened", r"(?m)^driver +([\d.]+, )?for CUDA 13\.0$",
                      r"(?m)^GPU 0 +Fake GPU, compute capability 9\.0, 64\.0 GiB$",
                      r"a small product and a softmax \([a-z, ]+\): 512 of 512 values are wrong; value 0 is 0, the CPU's 0\.\d+: "
                      r"this GPU computes wrongly", r"a matrix product \(cublaslt\): \d+ of 131072 values are wrong",
                      rf"a convolution: convolution on the GPU needs libcudnn\.so\.{CUDNN}"):
            self.assertRegex(done.out, found)

    def test_links_between_gpus_and_why_several_are_not_used(self):
        """Of four GPUs neighbours have NVLink. NCCL is no stand-in: where it cannot be opened, several are not used."""
        self.gpu()
        one = self.neon("doctor", code=6).out
        self.assertNotRegex(one, "(?m)^(links|several GPUs) ")
        done = self.neon("doctor", code=6, environment={"FAKE_CUDA_COUNT": "4"}).out
        self.assertRegex(done, "(?m)^links +GPUs 0-1, 2-3: direct access with atomics, as over NVLink$")
        self.assertRegex(done, "(?m)^links +GPUs 0-2, 0-3, 1-2, 1-3: direct access without atomics, as over PCIe$")
        self.assertRegex(done, r"(?m)^several GPUs +(not used: |up to 4, by -m N or --gpus all; neon bench -m 4 SPEC)")
        apart = self.neon("doctor", code=6, environment={"FAKE_CUDA_COUNT": "3", "FAKE_CUDA_APART": "2"}).out
        self.assertRegex(apart, "(?m)^links +GPUs 0-2, 1-2: no direct access; NCCL copies through the host's memory$")

    def test_every_value_is_looked_at(self):
        """The self-test's numbers by their formula, what they make in f64, and that with one thing wrong."""
        self.gpu()

        def numbers(shape, step):
            walk = np.arange(1, np.prod(shape) + 1, dtype=np.uint64) * step % 2**32
            return ((walk >> 8) / 2**23 - 1).reshape(shape)

        def product(left, right):
            return numbers(left, 2654435769) @ numbers(right, 1367130551)

        def wrong_in(y, at, value):
            out = y.copy()
            out[at] = value
            return out

        small = np.exp(product((32, 48), (48, 16)))
        for what, y in (("a small product and a softmax", small / small.sum(1, keepdims=True)),
                        ("a matrix product", product((512, 768), (768, 256)))):
            def said(given):
                self.write("y", np.ascontiguousarray(given, np.float32).tobytes())
                done = self.neon("doctor", code=6, environment={"FAKE_CUDA_GIVES": self.path("y")})
                return re.search(rf"{what} \(.*\): (.*)", done.out)[1]

            self.assertEqual(said(y), "agrees with the CPU")
            scale = np.abs(y).mean()
            for broken in -y, y[::-1], y[:, ::-1], y * 1.01, y + 0.01 * scale, np.full_like(y, np.nan), np.roll(y, 1, 0):
                self.assertRegex(said(broken), "^[0-9]+ of [0-9]+ values are wrong; .*this GPU computes wrongly")
            last = tuple(n - 1 for n in y.shape)
            for value in -y[last], 1.01 * y[last] + 0.01 * scale, np.nan, np.inf:
                self.assertIn(f"1 of {y.size} values are wrong; value {y.size - 1} is ", said(wrong_in(y, last, value)))

    def test_a_cache_that_cannot_be_used(self):
        self.write("file", "")
        for folder, why in (("/dev/null", "it is no folder"), (self.path("file"), "it is no folder"),
                            ("/dev/null/a/b", "Not a directory"), ("/proc/neon", "/proc: ")):
            done = self.neon("doctor", code=None, environment={"NEON_CACHE_DIR": folder})
            [line] = [line for line in done.out.splitlines() if line.startswith("cache ")]
            if folder == "/proc/neon" and os.geteuid() == 0:  # who may do everything finds out when it is made
                continue
            self.assertIn(f"{folder}: cannot be used: {why}", line)
        for folder in self.path("new/folder"), self.path(""):
            done = self.neon("doctor", code=None, environment={"NEON_CACHE_DIR": folder})
            self.assertRegex(done.out, rf"(?m)^cache +{folder}$")

    def test_libraries_are_found_without_a_driver(self):
        self.gpu("libcuda.so")
        done = self.neon("doctor")
        self.assertRegex(done.out, r"(?m)^NVRTC +13\.7")
        self.assertRegex(done.out, r"(?m)^cuBLASLt +13\.2\.4")
        self.assertRegex(done.out, r"(?m)^GPU +not used: ")


if __name__ == "__main__":
    support.main()
