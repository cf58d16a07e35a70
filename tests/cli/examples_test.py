#!/usr/bin/python3
"""Every example: its spec is right, its net has the number of parameters that its paper or a sum over its layers gives.
Noise of the same shape stands in for the data, whose presence is not asked for."""
import glob
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np

import support

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


def conv(size, before, maps, extra=0):
    return size * size * before * maps + extra * maps


def chain(first, *layers):
    """Parameters of layers (filter size, maps): 1 for an affine layer, its inputs known; biases everywhere."""
    total, before = 0, first
    for layer in layers:
        size, maps, before = layer if len(layer) == 3 else (*layer, before)
        total, before = total + conv(size, before, maps, 1), maps
    return total


def volumes(*maps):
    """Convolutions of 3x3x3 from each number of maps to the next, with biases."""
    return sum((27 * before + 1) * after for before, after in zip(maps, maps[1:]))


IMAGE, CIFAR, MNIST = ([3, 224, 224], 1000), ([3, 32, 32], 10), ([1, 28, 28], 10)
MNIST_ITSELF = ([1, 28, 28], 0)  # a sample is its own target
OVERFEAT = chain(3, (11, 96), (5, 256), (3, 512), (3, 1024), (3, 1024), (1, 3072, 1024 * 36), (1, 4096), (1, 1000))
# torchvision's alexnet, vgg11 and resnet50; Caffe's bvlc_googlenet, without and with its auxiliary classifiers.
ALEXNET, VGG_A, RESNET, GOOGLENET, GOOGLENET_TRAINED = 61100840, 132863336, 25557032, 6998552, 13378280
# torchvision's resnet18, vgg16_bn, mobilenet_v2 and densenet121.
RESNET_18, VGG_D_NORMED, MOBILENET, DENSENET = 11689512, 138365992, 3504872, 7978856
# torchvision's resnext50_32x4d, efficientnet_b0, shufflenet_v2_x1_0, mobilenet_v3_large, and convnext_tiny without the
# layer scale of its 18 blocks.
RESNEXT, EFFICIENTNET, SHUFFLENET, MOBILENET_3 = 25028904, 5288548, 2278604, 5483032
CONVNEXT = 28589128 - (3 * 96 + 3 * 192 + 9 * 384 + 3 * 768)
# Batch norm's two numbers for a bias, but for those of the last layer.
ALEXNET_NORMED = ALEXNET + 64 + 192 + 384 + 256 + 256 + 4096 + 4096
VGG_B = 133047848  # torchvision's vgg13
VGG_B_NORMED = VGG_B + 2 * (64 + 128 + 256 + 512 + 512) + 4096 + 4096 + 1000


def three_stages(*maps):
    """A convolution with bias, then three stages of a convolution and two more around which the stage's input is led."""
    stages = sum(conv(3, before, after, 2) + 2 * conv(3, after, after, 2) for before, after in zip(maps, maps[1:]))
    return conv(3, 3, maps[0], 1) + stages + maps[-1] * 10 + 10


FAST, RESNET_SMALL = three_stages(64, 128, 384, 512), three_stages(64, 96, 256, 512)
ALEXNET_LRN = chain(3, (11, 96), (5, 256), (3, 384), (3, 384), (3, 256), (1, 4096, 256 * 36), (1, 4096), (1, 1000))
ALL_CNN = (conv(3, 3, 96, 2) + 2 * conv(3, 96, 96, 2) + conv(3, 96, 192, 2) + 3 * conv(3, 192, 192, 2) +
           conv(1, 192, 192, 2) + conv(1, 192, 10, 2))


def bottlenecks(before, maps):
    """Nine of them before their activation, the first of other maps: 2016's ResNet without its first layer."""
    inner = conv(3, maps, maps, 2) + conv(1, maps, 4 * maps)
    first = conv(1, before, maps, 2) + inner + conv(1, before, 4 * maps)
    return first + 8 * (2 * 4 * maps + conv(1, 4 * maps, maps, 2) + inner) + 2 * 4 * maps


def unet(*maps):
    """Two convolutions with batch norm for each size on the way down, and, behind one of 2x2 up to it, on the way up."""
    down = sum(conv(3, before, after, 2) + conv(3, after, after, 2) for before, after in zip((3, *maps), maps))
    up = sum(conv(2, 2 * size, size, 1) + conv(3, 2 * size, size, 2) + conv(3, size, size, 2) for size in maps[:-1])
    return down + up + conv(1, maps[0], 2, 1)


MSRA = conv(3, 3, 16, 2) + bottlenecks(16, 16) + bottlenecks(64, 32) + bottlenecks(128, 64) + 2560 + 10
EXPECTED = {
    "autoencoder/conv": (MNIST_ITSELF, 16 * 8 + 2 * 16 * 8 * 32 + 9 * 8 * 8 + 4 * 8),
    "autoencoder/mnist-9layer": (MNIST_ITSELF, 2 * (784 * 1000 + 1000 * 500 + 500 * 250 + 250 * 30)),
    "autoencoder/mnist-denoising": (MNIST_ITSELF, 784 * 500 + 500 + 784),
    "bench/alexnet": (IMAGE, ALEXNET), "bench/overfeat": (([3, 231, 231], 1000), OVERFEAT),
    "bench/vgg-a": (IMAGE, VGG_A),
    "bench/googlenet": (IMAGE, GOOGLENET), "bench/resnet50": (IMAGE, RESNET),
    "bench/resnet18": (IMAGE, RESNET_18), "bench/vgg16-bn": (IMAGE, VGG_D_NORMED),
    "bench/mobilenet-v2": (IMAGE, MOBILENET), "bench/densenet121": (IMAGE, DENSENET),
    "bench/conv-5-7-11": (([3, 256, 256], 10), conv(5, 3, 32, 3) + conv(7, 32, 64, 3) + conv(11, 64, 128, 3) + 1290),
    "bench/resnext50-32x4d": (IMAGE, RESNEXT), "bench/convnext-tiny": (IMAGE, CONVNEXT),
    "bench/efficientnet-b0": (IMAGE, EFFICIENTNET), "bench/shufflenet-v2": (IMAGE, SHUFFLENET),
    "bench/mobilenet-v3-large": (IMAGE, MOBILENET_3), "bench/unet": (([3, 256, 256], 2), unet(64, 128, 256, 512, 1024)),
    "bench/c3d": (([3, 16, 112, 112], 101), volumes(3, 64, 128, 256, 256, 512, 512) + (512 * 2 * 7 * 7 + 1) * 2048 + 2049 * 101),
    "bench/cifar": (CIFAR, chain(3, (5, 32), (5, 32), (5, 64), (1, 500, 64 * 16), (1, 10))),
    "bench/lenet": (MNIST, chain(1, (5, 16), (5, 32), (1, 500, 32 * 16), (1, 10))),
    "convnet/cifar10-allcnn": (CIFAR, ALL_CNN),
    "convnet/cifar10-small": (CIFAR, conv(5, 3, 16, 1) + conv(5, 16, 32, 1) + 32 * 25 * 500 + 5000),
    "convnet/cifar10-conv": (CIFAR, conv(5, 3, 16, 2) + conv(5, 16, 32, 2) + 32 * 25 * 500 + 1000 + 5000),
    "convnet/cifar10-msra": (CIFAR, MSRA),
    "convnet/finetune": (CIFAR, conv(5, 3, 16, 2) + conv(5, 16, 32, 2) + 32 * 25 * 500 + 1000 + 5000),
    "convnet/cifar10-fast": (CIFAR, FAST),
    "convnet/cifar10-resnet": (CIFAR, RESNET_SMALL), "convnet/googlenet": (IMAGE, GOOGLENET_TRAINED),
    "convnet/i1k-alexnet-fp16": (IMAGE, ALEXNET_NORMED), "convnet/i1k-alexnet-fp32": (IMAGE, ALEXNET_NORMED),
    "convnet/i1k-alexnet-lrn": (IMAGE, ALEXNET_LRN),
    "convnet/i1k-vgg-fp16": (IMAGE, VGG_B_NORMED),
    "convnet/mnist-small": (MNIST, conv(5, 1, 16, 2) + conv(5, 16, 32, 2) + 512 * 500 + 1000 + 5000),
    "convnet/resnet50": (IMAGE, RESNET),
    "convnet/shapes-se-resnet": (([3, 32, 32], 5), conv(3, 3, 32, 2) + 2 * conv(3, 32, 32, 2) + 32 * 8 + 8 + 8 * 32 + 32 +
                                 conv(3, 32, 64, 2) + 64 * 5 + 5),
    "convnet/digits-unet": (MNIST_ITSELF, conv(3, 1, 16, 2) + conv(3, 16, 32, 2) + conv(3, 32, 64, 2) +
                            conv(3, 96, 32, 2) + conv(3, 48, 16, 2) + 17),
    "convnet/synthetic": (([3, 32, 32], 2), conv(3, 3, 16) + 16 * 15 * 15 * 100 + 100 + 100 * 100 + 100 + 100 * 2),
    "mlp/cifar10-branch": (CIFAR, 3072 * 200 + 200 * 50 + 500), "mlp/cifar10-small": (CIFAR, 3072 * 200 + 2000),
    "mlp/fashion-small": (MNIST, 784 * 100 + 100 + 1010), "mlp/mnist-small": (MNIST, 784 * 100 + 1000),
    "mlp/mnist-branch": (MNIST, 784 * 100 + 3200 + 512 + 160 + 1600 + 160 + 256 + 160),
    "mlp/mnist-merge": (MNIST, 2 * (784 * 100 + 10000) + 2000),
    "mlp/fashion-binary": (MNIST, 784 * 1024 + 1024 * 1024 + 1024 * 10 + 2 * (1024 + 1024 + 10)),
    "autoencoder/mnist-balanced": (MNIST, 785 * 500 + 501 * 500 + 501 * (10 + 8) + 19 * 500 + 501 * 784),
    "mlp/fashion-tuned": (MNIST, 784 * 1000 + 1000 + 1001000 + 10010),
    "gan/mnist-dcgan": (MNIST, 9 * 2 * 32 + 64 + 16 * 32 * 16 + 32 + 16 * 16 + 16 * 16 + 16 * 16 * 32 + 64 + 49 * 32),
    "gan/mnist-wgan": (MNIST, 128 * 3136 + 2 * 3136 + 16 * 64 * 32 + 64 + 16 * 32 + 16 * 32 + 16 * 32 * 64 + 128 + 49 * 64),
    "rbm/mnist-rbm": (MNIST, 784 * 500 + 500 + 784),
    "rbm/mnist-dbn": (MNIST, 784 * 500 + 500 + 784 + 500 * 250 + 250 + 500 + 2510),
    "recurrent/mnist-rows": (MNIST, 4 * 128 * (28 + 128 + 1) + 1290)}


def lstm(features, units):
    return 4 * units * (features + units + 1)


def gru(features, units):
    return 3 * units * (features + units + 1)


# The words of what stands in for reviews.
REVIEW = "so bad a film that nobody likes it".split()

def gpt(tokens, steps, features, blocks, biases=True):
    """Rows of tokens are those of the classifier, too; a block has attention, two products and two norms."""
    block = 12 * features ** 2 + (9 * features if biases else 0) + 4 * features
    return (tokens + steps) * features + blocks * block + 2 * features


# Those of sequences have data of their own, drawn or a text that Debian has. Parameters by the number of tokens.
TIMED_SEQUENCES = {
    "bench/lstm-rows": lstm(28, 128) + 1290, "bench/lstm-512": 2 * lstm(512, 512) + 513 * 512,
    "bench/gru-512": 2 * gru(512, 512) + 513 * 512,
    "bench/lstm-chars": 65 * 128 + lstm(128, 512) + lstm(512, 512) + 513 * 65,
    "bench/bilstm-words": 20000 * 128 + 2 * lstm(128, 128) + 257 * 2,
    "bench/gpt-chars": gpt(65, 256, 384, 6), "bench/gpt2": gpt(50304, 1024, 768, 12),
}
SEQUENCES = {
    "recurrent/copy": lambda _: lstm(10, 128) + 129 * 8,
    "recurrent/lissajous": lambda _: lstm(2, 32) + 33 * 2,
    "recurrent/reversal-seq2seq": lambda _: 32 * (26 + 28) + 2 * gru(32, 64) + 128 * 64 + 65 * 27,
    "recurrent/spoken-digits-ctc": lambda _: 2 * lstm(12, 32) + 65 * 11,
    "text/babi-attention": lambda _: 32 * 18 + (7 * 32 + 1) * 64 + 64 * 64 + 4 * 64 ** 2 + 65 * 6,
    "text/imdb-lstm": lambda _: 128 * (len(REVIEW) + 1) + 2 * lstm(128, 128) + 257 * 2,
    "text/shakespeare-gpt": lambda count: gpt(count, 256, 384, 6, biases=False),
    "text/ptb-words": lambda count: 200 * count + 2 * lstm(200, 200) + 201 * count,
    "text/shakespeare-lstm": lambda count: lstm(count, 512) + lstm(512, 512) + 513 * count,
}

RECONSTRUCTED = {"autoencoder/mnist-balanced"}  # samples are targets beside their classes
OF_PIXELS = {"bench/unet"}  # each pixel has a label


def noise(name, samples):
    (shape, classes), _ = EXPECTED[name]
    both = ", reconstruct: true" if name in RECONSTRUCTED else ", each_pixel: true" if name in OF_PIXELS else ""
    return f"dataset={{UniformRandom: {{nin: {shape}, nout: {classes}, ntrain: {samples}, ntest: 8, bytes: true{both}}}}}"


# Their tables are drawn by a script beside each.
TABLES = {"mlp/houses": 5 * 32 + 32 + 33 + 33 * 3}

# Nets that find objects, on boxes that neon draws: convolutions with batch norm, two of MultiBox, and those of
# proposals.
DETECTION = {"detection/shapes-ssd": conv(3, 3, 16, 2) + conv(3, 16, 32, 2) + conv(3, 32, 32, 2) + conv(3, 32, 48, 2) +
             conv(3, 48, 48, 2) + 2 * conv(3, 48, 4 * 8, 1),
             # The last two are layers of each region.
             "detection/shapes-rcnn": conv(3, 3, 16, 2) + conv(3, 16, 32, 2) + conv(3, 32, 48, 2) + conv(3, 48, 48, 2) +
             conv(1, 48, 6, 1) + conv(1, 48, 24, 1) + conv(4, 48, 64, 1) + conv(1, 64, 3 + 1 + 4, 1)}

# For want of their data, or of the hours.
UNMEASURED = {*TIMED_SEQUENCES, "text/imdb-lstm", "text/ptb-words", "convnet/cifar10-allcnn",
              "convnet/cifar10-msra", "convnet/finetune", "convnet/i1k-alexnet-lrn", "mlp/mnist-branch", "mlp/mnist-merge",
              "mlp/mnist-small", "autoencoder/mnist-balanced", "autoencoder/mnist-denoising", "gan/mnist-dcgan", "gan/mnist-wgan", "rbm/mnist-dbn",
              "rbm/mnist-rbm"}


# Files of tokens are the user's own; those of the example are as large as its net.
GPT2 = ["--set", "dataset.Tokens.merges=''", "--set", "dataset.Tokens.vocabulary=''", "--set", "dataset.Tokens.tokens=300",
        "--set", "accumulate=1"]


class Examples(support.Case):
    def test_parameters(self):
        paths = glob.glob(os.path.join(EXAMPLES, "*", "*.yaml"))
        names = {os.path.relpath(path, EXAMPLES)[:-len(".yaml")] for path in paths} - {"text/gpt2"}
        self.assertEqual(names, {*EXPECTED, *SEQUENCES, *TIMED_SEQUENCES, *TABLES, *DETECTION}, "an example without its number here, or the other way round")
        for name in sorted(EXPECTED):
            path = os.path.join(EXAMPLES, name + ".yaml")
            checked = self.neon("check", path, "--set", noise(name, 1024)).out
            self.assertIn("data    drawn bytes: 1024 training and 8 test samples", checked, name)
            out = self.neon("summary", path, "--set", noise(name, 1024)).out
            # The last phase's, where there are several.
            self.assertEqual(int(re.findall(r"(?m)^(\d+) parameters", out)[-1]), EXPECTED[name][1], name)
            if name.startswith("bench/"):
                self.assertEqual(self.neon("summary", path).out, out, "the spec's own noise has this shape")

    def reviews(self):
        for part, count in ("train", 60), ("test", 2):
            for name in "neg", "pos":
                for i in range(count):
                    self.write(f"aclImdb/{part}/{name}/{i}.txt", " ".join(REVIEW[i % 3:] + REVIEW[:2 + i % 5]))

    def test_parameters_of_sequences(self):
        self.reviews()
        for name, parameters in SEQUENCES.items():
            path = os.path.join(EXAMPLES, name + ".yaml")
            classes = len(re.findall(r"(?m)^class ", self.neon("data", "stats", path).out))
            out = self.neon("summary", path).out
            self.assertEqual(int(re.search(r"(?m)^(\d+) parameters", out)[1]), parameters(classes), name)
        for name, parameters in {**TIMED_SEQUENCES, **DETECTION}.items():
            out = self.neon("summary", os.path.join(EXAMPLES, name + ".yaml")).out
            self.assertEqual(int(re.search(r"(?m)^(\d+) parameters", out)[1]), parameters, name)

    def test_each_says_what_to_expect(self):
        for name in [*EXPECTED, *SEQUENCES, *TIMED_SEQUENCES, *TABLES, *DETECTION]:
            with open(os.path.join(EXAMPLES, name + ".yaml")) as file:
                head = " ".join(line[1:].strip() for line in file if line.startswith("#"))
            told = r"Expect |\d % of|took [\d.]+ ms|the cost of the test images was [\d.]+"
            self.assertRegex(head, "not been measured" if name in UNMEASURED else told, name)

    def test_small_ones_train(self):
        for name in ("autoencoder/conv", "autoencoder/mnist-denoising", "autoencoder/mnist-9layer", "convnet/cifar10-small", "convnet/cifar10-conv",
                     "convnet/cifar10-allcnn", "convnet/cifar10-fast", "convnet/cifar10-msra", "convnet/cifar10-resnet",
                     "convnet/finetune", "convnet/mnist-small", "convnet/synthetic", "convnet/shapes-se-resnet", "convnet/digits-unet",
                     "mlp/cifar10-branch",
                     "mlp/mnist-branch", "mlp/mnist-merge", "rbm/mnist-rbm", "rbm/mnist-dbn",
                     "gan/mnist-dcgan", "gan/mnist-wgan", "autoencoder/mnist-balanced", "mlp/fashion-binary"):
            self.neon(os.path.join(EXAMPLES, name + ".yaml"), "--set", noise(name, 32), "-z", "16", "-e", "1")

    def test_tables_are_drawn_and_learnt(self):
        """The noise of the price is off by 15 sqrt(2 / pi) = 12.0 in the mean; two of three drawn styles are wrong."""
        for name, parameters in TABLES.items():
            folder, spec = os.path.split(os.path.join(EXAMPLES, name + ".yaml"))
            subprocess.run([sys.executable, os.path.join(folder, f"draw_{spec[:-len('.yaml')]}.py")], cwd=self.folder, check=True)
            path = os.path.join(folder, spec)
            self.assertEqual(int(re.search(r"(?m)^(\d+) parameters", self.neon("summary", path).out)[1]), parameters)
            self.neon("-r", "1", "-s", "m", path)
            found = json.loads(self.neon("eval", "m", "--format", "json").out)
            self.assertLess(abs(found["price.MAE"] - 12.0), 2)
            self.assertLess(abs(found["style.Top1Misclass"] - 0.1 * 2 / 3), 0.05)

    def test_photos_begin_with_a_net_of_other_classes(self):
        rng = np.random.default_rng(2)
        for part, count in ("train", 20), ("test", 2):
            for kind in "cat", "dog", "owl":
                for i in range(count):
                    self.write(f"photos/{part}/{kind}/{i}.png", support.png(rng.integers(0, 255, (40, 50, 3), np.uint8)))
        base, tuned = (os.path.join(EXAMPLES, "convnet", name + ".yaml") for name in ("cifar10-conv", "finetune"))
        self.neon(base, "--set", noise("convnet/cifar10-conv", 32), "-z", "16", "-e", "1", "-s", "base.safetensors")
        told = self.neon(tuned, "--model_file", "base.safetensors", "-e", "1", "-z", "16", "-s", "tuned.safetensors").err
        self.assertIn("base.safetensors: 15 of 16 tensors taken; new: Affine_1/W (3, 500) in place of (10, 500)\n", told)
        before, after = (support.tensors(self.path(name + ".safetensors"))[0] for name in ("base", "tuned"))
        changed = {name for name in before if "velocity" not in name and before[name] != after[name]}
        self.assertEqual({name.partition("/")[0] for name in changed}, {"Affine_0", "Affine_0_bnorm", "Affine_1"})

    def test_sequences_train(self):
        self.reviews()
        for name in SEQUENCES:
            out = self.neon(os.path.join(EXAMPLES, name + ".yaml"), "-r", "1", "-e", "1", "--set", "dataset.subset_pct=2",
                            "-z", "2", "-s", "m.safetensors").out
            self.assertRegex(out, r"(?m)^(test|validation): .*cost [\d.]+ ", name)
            if name.startswith("text/") and name not in ("text/babi-attention", "text/imdb-lstm"):
                self.assertGreater(len(self.neon("sample", "m.safetensors", "--length", "20").out), 10)

    def test_gpt2_learns_tokens_that_follow_one_another(self):
        tokens = np.tile(np.arange(300, dtype="<u2"), 15)
        for name, part in (("train_0", tokens), ("val_0", tokens[:3000])):
            self.write(name + ".bin", part.tobytes())
        spec = os.path.join(EXAMPLES, "text/gpt2.yaml")
        summary = self.neon("summary", spec, *GPT2, "-z", "4").out
        self.assertEqual(int(re.search(r"(?m)^(\d+) parameters", summary)[1]), gpt(300, 1024, 768, 12))
        out = self.neon(spec, *GPT2, "--set", "dataset.Tokens.steps=16", "--set", "layers[2].Repeat.times=1",
                        "-z", "8", "-r", "1").out
        cost = float(re.search(r"validation cost ([\d.]+)", out)[1])
        self.assertLess(cost, 0.5 * np.log(300))

    def test_those_of_imagenet_learn_a_few_small_images(self):
        # 1000 classes, of which two have images; the smallest sizes that pass through all layers, and rates for so few.
        rng = np.random.default_rng(1)
        for part, count in ("train", 8), ("val", 2):
            for i in range(count):
                self.write(f"i1k/{part}/{i}.png", support.png(rng.integers(0, 255, (90, 100, 3), np.uint8)))
                self.write(f"i1k/{part}/{i}.cls", str(999 * (i % 2)))
        for name, size, crop, rate, epochs in (
                ("i1k-alexnet-fp32", 67, "RandomCrop", "default.learning_rate=0.001", 4),
                ("i1k-alexnet-fp16", 67, "RandomCrop", "default.learning_rate=0.001", 4),
                ("i1k-alexnet-lrn", 67, "RandomCrop", None, 4),
                ("i1k-vgg-fp16", 32, "RandomCrop", "learning_rate=0.01", 12),  # of dropout the costs of a step vary by 0.5
                ("googlenet", 80, "RandomScale", None, 4), ("resnet50", 64, "RandomScale", "learning_rate=0.001", 4)):
            changes = [f"dataset.size={size + 8}", f"augment[0].{crop}.size={size}"] + ([f"optimizer.{rate}"] if rate else [])
            told = self.neon(os.path.join(EXAMPLES, "convnet", name + ".yaml"), "-z", "8", "-e", str(epochs), "-r", "1", "-o", name + ".h5",
                             *(word for change in changes for word in ("--set", change)))
            self.assertRegex(told.out, r"test: .*Top5Misclass [\d.]+ %  test cost [\d.]+  \(i1k\)", name)
            with h5py.File(self.path(name + ".h5")) as file:
                costs = file["cost/train"][:]
            self.assertEqual(len(costs), epochs)
            self.assertTrue(np.isfinite(costs).all(), (name, costs))
            first, last = costs[:epochs // 4].mean(), costs[-epochs // 4:].mean()
            self.assertLess(last, first - 0.3, name)


if __name__ == "__main__":
    support.main()
