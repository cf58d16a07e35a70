#!/usr/bin/python3
"""A run goes from one device to the other, with everything that a checkpoint holds. Needs a GPU; where there is none all
is skipped, counted and said."""
import json
import os
import re
import struct
import subprocess
import sys
import unittest

import hist_test
import support

# What the driver and CUDA's libraries are found by.
OF_THE_MACHINE = {name: value for name, value in os.environ.items()
                  if name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES") or name.startswith("NCCL_")}

CONVOLUTION = """\
dataset: {UniformRandom: {ntrain: 256, ntest: 64, nin: [3, 12, 12], nout: 10}}
augment: [RandomCrop: {pad: 2}, Flip, Contrast]
layers:
  - Conv: {fshape: 3, padding: 1, nofm: 8, init: Kaiming, batch_norm: true, activation: Tanh}
  - Pooling: {fshape: 2, op: avg}
  - Dropout: {keep: 0.8}
  - Affine: {nout: 10, init: Kaiming, bias: {Constant: 0}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.002}}
batch_size: 32
epochs: 4
"""
# Boxes of 10 to 40 pixels a side, brought to 12: by means where they have more than twice as many, as those have that are
# evaluated.
SHRUNK = CONVOLUTION.replace("[3, 12, 12]", "[3, 40, 40]").replace("RandomCrop: {pad: 2}", "RandomScale: {size: 12}")
# Of the largest number of an array, after some hundred steps in f32, which err by 2^-24 each. A state that was lost, or
# another batch, moves weights by a rate times the steps left: some 1e-2 here.
TOLERANCE = 1e-4
TOLERANCE_OF_16_BITS = 1e-2  # which err by 2^-11 in each step; a state that was lost is off by its size


def why_not_used(doctor):
    """What `neon doctor` says against the GPU that runs take when none is named: the first. Others are not needed."""
    return next((line for line in doctor.splitlines() if re.match(r"GPU( 0)? {2,}.*not used", line)), "")


def why_no_gpu():
    said = subprocess.run([support.NEON, "doctor"], stdout=subprocess.PIPE, text=True, env={**support.ENVIRONMENT, **OF_THE_MACHINE})
    return why_not_used(said.stdout)


class Case(support.Case):
    def setUp(self):
        super().setUp()
        del self.environment["CUDA_VISIBLE_DEVICES"]
        self.environment.update(OF_THE_MACHINE)

    def train(self, spec, *devices, options=()):
        """Four epochs, all on one device or shared by several, the last takes what is left; the variables at the end."""
        name = "-".join(devices) + ".safetensors"
        share = 4 // len(devices)
        self.neon("-b", devices[0], "-r", "3", "-s", name, "-e", str(share), *options, spec)
        for place, device in enumerate(devices[1:], 2):
            self.neon("resume", name, "-b", device, "-e", str(share * place if place < len(devices) else 4))
        return support.tensors(self.path(name))[0]

    def assert_close(self, one, other, what, tolerance=TOLERANCE):
        self.assertEqual(one.keys(), other.keys())
        compared = 0
        for name, (dtype, shape, content) in one.items():
            if dtype != "F32":
                continue
            a, b = (struct.unpack(f"<{len(content) // 4}f", tensors[name][2]) for tensors in (one, other))
            size = max(map(abs, b)) or 1
            self.assertLess(max(abs(x - y) for x, y in zip(a, b)), tolerance * size, f"{name}, {what}")
            compared += 1
        self.assertGreaterEqual(compared, 4)  # weights, and a state each


class Devices(Case):
    def test_the_doctor_finds_that_the_gpu_computes_rightly(self):
        said = self.neon("doctor").out
        for what in "a small product and a softmax", r"a matrix product \([^)]*cublaslt", r"a convolution \([^)]*cudnn":
            self.assertRegex(said, rf"{what}.*: agrees with the CPU")

    def test_a_run_goes_on_on_the_other_device(self):
        for content in support.IRIS, CONVOLUTION:
            spec = self.spec(content)
            straight = self.train(spec, "cpu")
            for devices in ("gpu",), ("gpu", "cpu"), ("cpu", "gpu"), ("gpu", "cpu", "gpu"), ("cpu", "gpu", "cpu"):
                self.assert_close(self.train(spec, *devices), straight, devices)

    def test_images_that_become_smaller_are_the_same_on_both_devices(self):
        spec = self.spec(SHRUNK)
        self.assert_close(self.train(spec, "gpu"), self.train(spec, "cpu"), "images made smaller")

    def test_a_run_in_16_bits_goes_on_with_its_masters_and_its_loss_scale(self):
        # Steps overflow until the scale is small enough: a run that began with the first scale again would leave out more.
        spec = self.spec(CONVOLUTION.replace("Kaiming, bias: {Constant: 0}, activation: Softmax", "{Gaussian: {scale: 0.7}}")
                         .replace("CrossEntropyMulti", "SumSquared"))
        scaling = lambda name: {key: json.loads(support.tensors(self.path(name))[1]["neon.position"])[key]
                                for key in ("loss_scale", "skipped")}
        straight = self.train(spec, "cpu", options=["-d", "f16"])
        self.assertGreater(scaling("cpu.safetensors")["skipped"], 0)
        for devices in ("gpu",), ("gpu", "cpu"), ("cpu", "gpu"):
            self.assert_close(self.train(spec, *devices, options=["-d", "f16"]), straight, devices, TOLERANCE_OF_16_BITS)
            self.assertEqual(scaling("-".join(devices) + ".safetensors"), scaling("cpu.safetensors"), devices)

    def test_updates_rounded_by_chance_are_drawn_alike(self):
        spec = self.spec(CONVOLUTION)
        on_cpu, on_gpu = (self.train(spec, device, options=["-u", "10"]) for device in ("cpu", "gpu"))
        # Sums that differ in their last bit turn few draws, of a unit in the tenth bit each. Other draws, or none, are
        # 3e-3 of an array's largest number away after these steps.
        self.assert_close(on_gpu, on_cpu, "rounded by chance", 2e-3)
        weights = [content for name, (_, _, content) in on_gpu.items() if re.fullmatch(r"\w+/(W|b|beta|gamma)", name)]
        self.assertEqual(len(weights), 5)
        for content in weights:
            bits = struct.unpack(f"<{len(content) // 4}I", content)
            self.assertFalse(any(number & 0x1fff for number in bits), "more than ten bits of mantissa")

    def test_histograms_are_of_the_weights_and_gradients_that_the_gpu_has(self):
        hist_test.check_weights_and_gradients(self, "gpu")

    def test_a_run_that_stays_on_the_gpu_has_the_same_bits_interrupted_or_not(self):
        for content in support.IRIS, CONVOLUTION:
            spec = self.spec(content)
            straight = self.train(spec, "gpu")
            self.assertEqual(self.train(spec, "gpu", "gpu"), straight)
            os.remove(self.path("gpu.safetensors"))
            self.assertEqual(self.train(spec, "gpu"), straight)

    def test_samples_that_stay_on_the_host_give_the_bits_of_those_on_the_gpu(self):
        held = self.train(self.spec(CONVOLUTION), "gpu")
        share = "{UniformRandom: {memory_share: 1e-9, "
        told = self.neon("-b", "gpu", "-r", "3", "-s", "streamed.safetensors", "-e", "4",
                         self.spec(CONVOLUTION.replace("{UniformRandom: {", share), "streamed.yaml"))
        self.assertIn("they stay in the host's", told.err)
        self.assertEqual(support.tensors(self.path("streamed.safetensors"))[0], held)

    def test_the_examples_of_arrays_find_what_they_expect(self):
        """Each ends with 1 where its number of kernels or a result is not as it says."""
        for name in "gemm_f16", "variance", "batch_norm":
            done = subprocess.run([os.path.join(os.environ["ARRAY_EXAMPLES"], name), "gpu"], env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


# A text of which each word says the next, so that a net soon knows it by heart.
TEXT = "the quick brown fox jumps over the lazy dog and runs away\n" * 200
GOES_ON = """\
dataset: {Text: {path: words.txt, unit: words, steps: 8, validation: 0.1}}
layers: LAYERS
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 16
epochs: 3
"""
CLASSIFIER = "{Affine: {nout: classes, init: GlorotUniform, activation: Softmax}}]"
TEXT_NETS = {
    "lstm": "[{LSTM: {output_size: 32, init: GlorotUniform}}, " + CLASSIFIER,
    "attention": "[{Embedding: {nout: 32, init: {Gaussian: {scale: 0.1}}}}, {LearnedPositions: {init: {Gaussian: "
                 "{scale: 0.1}}}}, {MultiHeadAttention: {heads: 2, causal: true, init: GlorotUniform}}, " + CLASSIFIER,
    "rotary": "[{Embedding: {nout: 32, init: {Gaussian: {scale: 0.1}}}}, {MultiHeadAttention: {heads: 4, kv_heads: 2, "
              "rotary: true, causal: true, init: GlorotUniform}}, " + CLASSIFIER,
}


class Texts(Case):
    def test_sampled_texts_are_those_of_the_cpu(self):
        self.write("words.txt", TEXT)
        for name, layers in TEXT_NETS.items():
            self.write(name + ".yaml", GOES_ON.replace("LAYERS", layers))
            self.neon("-b", "cpu", "-r", "1", "-s", name + ".safetensors", name + ".yaml")
            for options in ([], ["--beam", "3"]):
                words = ["sample", name + ".safetensors", "--prompt", "the quick", "--length", "20", *options]
                if not options:
                    words += ["--temperature", "0"]
                on_cpu = self.neon(*words, "-b", "cpu").out
                self.assertIn("the quick brown fox jumps over the lazy dog", on_cpu, name)
                self.assertEqual(self.neon(*words, "-b", "gpu").out, on_cpu, name)


if __name__ == "__main__":
    problem = why_no_gpu()
    if not problem:
        support.main()
    count = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).countTestCases()
    print(f"{problem}\n0 passed, 0 failed, {count} skipped")
    sys.exit(77)
