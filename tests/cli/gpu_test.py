#!/usr/bin/python3
"""What neon says of a GPU, its driver and CUDA's libraries, with stand-ins for all of them (tests/backends/device): the
calls are the program's, but no kernel computes anything."""
import json
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np

import damage_test
import devices_test
import support

FAKES = os.environ["FAKE_GPU"]
CUDA, CUDNN = os.environ["CUDA_MAJOR"], os.environ["CUDNN_MAJOR"]

MLP = """\
dataset: {UniformRandom: {ntrain: 2048, ntest: 512, nin: [784], nout: 10}}
layers:
  - Affine: {nout: 100, init: {Gaussian: {scale: 0.05}}, activation: Rectlin}
  - Affine: {nout: 10, init: {Gaussian: {scale: 0.05}}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}
batch_size: 2048
epochs: 1
"""
UNTESTED = MLP.replace("ntest: 512", "ntest: 0")  # evaluations take the first algorithm
SMALL = support.IRIS  # whose products are kernels of neon's own
CONVOLUTION = MLP.replace("[784]", "[3, 8, 8]").replace(
    "layers:\n", "layers:\n  - Conv: {fshape: 3, padding: 1, nofm: 8, init: Kaiming, activation: Rectlin}\n")
DIVERGED = 5  # kernels that do nothing leave the flag "finite" at 0, so a run that begins ends like this


class Case(support.Case):
    def gpu(self, *missing, driver="fake_cuda"):
        """The environment of a machine with a GPU, of whose libraries some are missing."""
        folder = self.path("gpu")
        os.makedirs(folder, exist_ok=True)
        for library, fake in {"libcuda.so.1": driver, f"libnvrtc.so.{CUDA}": "fake_nvrtc",
                              f"libcublasLt.so.{CUDA}": "fake_cublaslt", f"libcudnn.so.{CUDNN}": None}.items():
            plain = library[:library.index(".so") + 3]
            if fake is None or plain in missing:
                for name in library, plain:  # what is found before the machine's own, and cannot be opened
                    open(os.path.join(folder, name), "w").close()
            else:
                os.symlink(os.path.join(FAKES, fake + ".so"), os.path.join(folder, library))
        self.environment["LD_LIBRARY_PATH"] = folder

    def in_position(self, checkpoint, **changes):
        """Changes where a checkpoint stands; None takes a key out, as older neons had it not."""
        content = self.read(checkpoint)
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        position = json.loads(header["__metadata__"]["neon.position"]) | changes
        header["__metadata__"]["neon.position"] = json.dumps({key: value for key, value in position.items() if value is not None})
        self.write(checkpoint, damage_test.sealed(header, content[end:]))

    def notes(self, result):
        return [line for line in result.err.splitlines() if line.startswith("note: ")]


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

    STAYS = "note: the samples would take more than memory_share of the GPU's memory: they stay in the host's"

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
        slow = {"FAKE_NVRTC_MS": "150"}
        done = self.neon(self.spec(SMALL), code=DIVERGED, environment=slow)
        self.assertEqual(done.err.count(self.WAITS), 1, str(done))
        self.assertIn(f"they are kept in {self.environment['NEON_CACHE_DIR']}", done.err)
        self.assertNotIn(self.WAITS, self.neon("s.yaml", code=DIVERGED, environment=slow).err)
        nowhere = {**slow, "NEON_CACHE_DIR": "/dev/null"}
        for _ in range(2):
            self.assertIn(f"{self.WAITS}, anew each time", self.neon("s.yaml", code=DIVERGED, environment=nowhere).err)

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
