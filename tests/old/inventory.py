"""Files of the structure of neon 0.9's own, and facts about the nets that they describe.

Shapes and numbers of parameters are computed by hand from the layers: weights of C R S K for a convolution and of
nin nout for a full layer, biases only where the initializer has bias_init and no batch norm follows, two numbers for
each unit or map of batch norm. `shapes` are the outputs of all layers in order.
"""
NOISE = "dataset={UniformRandom: {nin: %s, nout: %d, ntrain: %d, ntest: %d, bytes: true}}"


def images(channels, side, classes, samples):
    return NOISE % ([channels, side, side], classes, samples, samples)


CIFAR = [images(3, 32, 10, 256)]
I1K = [images(3, 256, 1000, 128)]
HOUSES = {"Housing/housing.data": "".join(" %d.25%s" % (i % 97, "\n" * (i % 14 == 13)) for i in range(40 * 14))}
NOVEL = ["dataset.fallback=/usr/share/common-licenses/GPL-3"]


def alexnet(maps, full, batch_norm, dropout=True):
    """Shapes and parameters: 224 -> 55 -> 27 -> 27 -> 13 -> 13 -> 6."""
    sides, sizes = (55, 27, 13, 13, 13), (11, 5, 3, 3, 3)
    shapes, count, before = [], 0, 3
    for i, (k, side, size) in enumerate(zip(maps, sides, sizes)):
        shapes.append((k, side, side))
        count += before * size * size * k + (2 * k if batch_norm else k)
        if i in (0, 1, 4):
            shapes.append((k, (side - 3) // 2 + 1, (side - 3) // 2 + 1))
        before = k
    before *= 36
    for _ in range(2):
        shapes += [(full,)] + [(full,)] * dropout
        count += before * full + (2 * full if batch_norm else full)
        before = full
    return shapes + [(1000,)], count + before * 1000 + 1000


def vgg():
    maps = [64, 64, 128, 128, 256, 256, 512, 512, 512, 512]
    shapes, count, before, side = [], 0, 3, 224
    for i, k in enumerate(maps):
        shapes.append((k, side, side))
        count += before * 9 * k + 2 * k
        if i % 2:
            side //= 2
            shapes.append((k, side, side))
        before = k
    before *= 49
    for _ in range(2):
        shapes += [(4096,)] * 2
        count += before * 4096 + 2 * 4096
        before = 4096
    return shapes + [(1000,)], count + before * 1000 + 2 * 1000


class Old:
    """`data`: --set options that take a stand-in for data that nobody has at hand; `train`: options of a short run;
    `large`: the run takes too long for a test, or gigabytes, so that tools/old_specs does it; `files`: what the data
    folder has; `published`: a result that the original's sources state, or that a run of the original gave; `measured`:
    options of the run to compare with it."""

    def __init__(self, name, original, shapes, parameters, data=(), train=(), large=False, published="", files=None, measured=None):
        self.name, self.original, self.shapes, self.parameters = name, original, shapes, parameters
        self.data, self.train, self.large, self.published, self.files = list(data), train, large, published, files or {}
        self.measured = measured


SMALL_NET = [(16, 24, 24), (16, 12, 12), (32, 8, 8), (32, 4, 4), (500,), (10,)]
TOY = [(16, 28, 28), (16, 14, 14), (32, 10, 10), (32, 5, 5), (100,), (2,)]
TOY_PARAMETERS = 75 * 16 + 2 * 16 + 400 * 32 + 800 * 100 + 100 * 2
CODER = [784, 1000, 500, 250, 30, 250, 500, 1000, 784]
OWT = (64, 192, 384, 256, 256)
FIRST = ["-e", "1"]
PART = [*FIRST, "--set", "dataset.subset_pct=5"]  # of 60,000 digits
FEW = ["-e", "1", "-z", "8", "--set", "dataset.ntrain=16", "--set", "dataset.ntest=8"]
TWO = ["-e", "1", "-z", "2", "--set", "dataset.ntrain=2", "--set", "dataset.ntest=2"]

INVENTORY = [
    Old("annotated-example", "examples/ANNOTATED_EXAMPLE.yaml", [(2,), (3,)], 4 * 2 + 2 + 2 * 3 + 3,
        published="33.33 % wrong (seed 0)", measured=[]),
    Old("autoencoder-mnist-9layer", "examples/autoencoder/mnist-9layer.yaml", [(n,) for n in CODER[1:]],
        sum(a * b for a, b in zip(CODER, CODER[1:])), train=PART),
    Old("convnet-cifar10-small", "examples/convnet/cifar10-small.yaml",
        [(16, 28, 28), (16, 14, 14), (32, 10, 10), (32, 5, 5), (500,), (10,)],
        75 * 16 + 16 + 400 * 32 + 32 + 800 * 500 + 500 * 10, CIFAR, FIRST),
    Old("convnet-i1k-alexnet-fp16", "examples/convnet/i1k-alexnet-fp16.yaml", *alexnet(OWT, 4096, True), I1K, TWO, large=True),
    Old("convnet-i1k-alexnet-fp32", "examples/convnet/i1k-alexnet-fp32.yaml", *alexnet(OWT, 4096, True), I1K, TWO, large=True),
    Old("convnet-i1k-alexnet_micro", "examples/convnet/i1k-alexnet_micro.yaml", *alexnet(OWT, 4096, False), I1K, TWO),
    Old("convnet-i1k-vgg-fp16", "examples/convnet/i1k-vgg-fp16.yaml", *vgg(), I1K, TWO, large=True),
    Old("convnet-mnist-small", "examples/convnet/mnist-small.yaml", SMALL_NET,
        25 * 16 + 400 * 32 + 512 * 500 + 500 * 10, train=PART),
    Old("convnet-ndsb", "examples/convnet/ndsb.yaml",
        [(128, 30, 30), (128, 15, 15), (256, 13, 13), (256, 6, 6), (512, 5, 5), (512, 2, 2), (1024,), (1024,), (512,),
         (512,), (121,)],
        25 * 128 + 1152 * 256 + 1024 * 512 + 2048 * 1024 + 1024 * 512 + 512 * 121, [images(1, 128, 121, 128)], FEW),
    Old("convnet-synthetic-sanity_check", "examples/convnet/synthetic-sanity_check.yaml",
        [(16, 30, 30), (16, 15, 15), (100,), (100,), (2,)],
        27 * 16 + 3600 * 100 + 100 + 100 * 100 + 100 + 100 * 2,
        published="53.91 % wrong: 69 of 128 (seed 0)", measured=[]),
    Old("mlp-cifar10-branch", "examples/mlp/cifar10-branch.yaml", [(200,), (40,), (10,), (50,), (10,)],
        3072 * 200 + 200 * 40 + 200 * 10 + 50 * 10, CIFAR, FIRST),
    Old("mlp-cifar10-small", "examples/mlp/cifar10-small.yaml", [(200,), (10,)], 3072 * 200 + 200 * 10, CIFAR, FIRST),
    Old("mlp-housing-small", "examples/mlp/housing-small.yaml", [(3,), (1,)], 13 * 3 + 3 * 1, files=HOUSES),
    Old("mlp-iris-hyperopt-small", "examples/mlp/iris-hyperopt-small.yaml", [(2,), (3,)], 4 * 2 + 2 + 2 * 3 + 3),
    Old("mlp-iris-small", "examples/mlp/iris-small.yaml", [(2,), (3,)], 4 * 2 + 2 + 2 * 3 + 3,
        published="0, 6.67 and 26.67 % wrong (seeds 0 to 2)", measured=[]),
    Old("mlp-mnist-small", "examples/mlp/mnist-small.yaml", [(100,), (10,)], 784 * 100 + 100 * 10, train=PART),
    Old("mlp-mnist-tuned", "examples/mlp/mnist-tuned.yaml", [(2000,), (10,)], 784 * 2000 + 2000 + 2000 * 10 + 10,
        train=PART),
    Old("recurrent-mobydick-lstm-small", "examples/recurrent/mobydick-lstm-small.yaml", [(5, 64), (5, 96)],
        4 * (96 * 64 + 64 * 64 + 64) + 64 * 96, NOVEL, FIRST),
    Old("recurrent-mobydick-rnn-small", "examples/recurrent/mobydick-rnn-small.yaml", [(5, 64), (5, 96)],
        96 * 64 + 64 * 64 + 64 + 64 * 96, NOVEL, FIRST),
    Old("test-i1k_alexnet_nano", "tests/tests_yamls/i1k_alexnet_nano.yaml",
        *alexnet((16, 48, 96, 64, 64), 2048, False), I1K, FEW),
]
for each in ("base", "2", "4", "every"):
    INVENTORY.append(Old("test-i1k_serialize_check_" + each, "tests/tests_yamls/i1k_serialize_check_*.yml",
                         *alexnet(OWT, 4096, False, dropout=False), I1K, TWO, large=True))
for each in ("base", "first", "second", "list", "every"):
    INVENTORY.append(Old("test-toy_serialize_check_" + each, "tests/tests_yamls/toy_serialize_check_*.yml", TOY,
                         TOY_PARAMETERS))
    if each == "base":
        INVENTORY[-1].published, INVENTORY[-1].measured = "26.56 % wrong after 3 epochs (seed 0)", ["-e", "3"]

# A result without a YAML file: where it comes from, what it needs, and the result.
WITHOUT_FILE = [
    ("examples/mlp/mnist-notebook.ipynb", "a notebook, 784-200-200-200-10",
     "8.54 % wrong after 1 epoch, 2.57 % after 10 (seed 0)", "not run: it needs MNIST's files"),
]

# YAML files of 1.0 to 2.6.
LATER = [
    Old("1x/mnist_mlp-1.0", "1.0: examples/mnist_mlp.yaml", [(100,), (10,)], 784 * 100 + 100 * 10, train=PART),
    Old("1x/mnist_mlp-2.6", "1.2 to 2.6: examples/mnist_mlp.yaml", [(100,), (100,), (10,), (10,)],
        784 * 100 + 100 * 10, train=PART),
    Old("1x/multi_optimizer", "1.0 to 2.6: examples/multi_optimizer.yaml", [(100,)] * 3 + [(10,)] * 3,
        784 * 100 + 100 + 100 * 10 + 10, train=PART),
    Old("1x/alexnet-1.1", "1.1: examples/alexnet.yaml", *alexnet(OWT, 4096, False), [images(3, 224, 1000, 128)], TWO),
    Old("1x/alexnet-2.6", "1.2 to 2.6: examples/imagenet/alexnet.yaml", *alexnet(OWT, 4096, False), [images(3, 224, 1000, 128)], TWO),
]
