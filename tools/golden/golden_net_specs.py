"""The nets of make_golden_nets.py: name, layers as a spec has them, shape of a sample, how it is trained. Classes are
four."""

INIT = "Kaiming"
ZERO = {"Constant": 0}


def conv(size, maps, **more):
    return {"Conv": {"fshape": size, "nofm": maps, "init": INIT, "activation": "Rectlin", **more}}


def pool(size, strides, **more):
    return {"Pooling": {"fshape": size, "strides": strides, **more}}


def affine(outputs, activation="Rectlin", **more):
    return {"Affine": {"nout": outputs, "init": INIT, "activation": activation, **more}}


MEAN = {"Pooling": {"fshape": "all", "op": "avg"}}


def residual():
    """The blocks of He et al. 2015: the input added to two convolutions of it, or where sizes change a convolution."""
    def block(maps, strides=1, skip="SkipNode"):
        inner = [conv(3, maps, padding=1, strides=strides, batch_norm=True),
                 conv(3, maps, padding=1, batch_norm=True, activation="Identity")]
        return [{"MergeSum": [inner, [skip]]}, {"Activation": "Rectlin"}]

    projection = conv(1, 6, strides=2, batch_norm=True, activation="Identity")
    return [conv(3, 4, padding=1, batch_norm=True), *block(4), *block(6, 2, projection), MEAN, affine(4, "Softmax")]


def inception():
    """Szegedy et al. 2014: convolutions of three sizes and a pooling side by side."""
    def branches(a, b, c, d):
        return [[conv(1, a, bias=ZERO)], [conv(1, b[0], bias=ZERO), conv(3, b[1], padding=1, bias=ZERO)],
                [conv(1, c[0], bias=ZERO), conv(5, c[1], padding=2, bias=ZERO)],
                [pool(3, 1, padding=1), conv(1, d, bias=ZERO)]]

    return [conv(3, 4, padding=1, bias=ZERO), {"MergeConcat": branches(2, (3, 4), (2, 3), 2)},
            pool(3, 2, padding=1), {"MergeBroadcast": {"layers": branches(3, (2, 3), (2, 2), 3), "merge": "depth"}},
            MEAN, affine(4, "Softmax", bias=ZERO)]


def named():
    """A graph that no nesting of branches gives: later layers name the earlier ones that they take."""
    return [conv(3, 4, padding=1, name="a"), conv(3, 4, padding=1, name="b"),
            {"MergeSum": {"inputs": ["a", "b"], "name": "ab"}}, conv(1, 3, name="c"),
            {"MergeConcat": {"inputs": ["a", "c", "ab"]}}, MEAN, affine(5, name="left"),
            affine(6, "Tanh", inputs=["data"]),
            {"MergeBroadcast": {"layers": [[affine(3)], "SkipNode", affine(2, "Logistic")],
                                "inputs": ["left", "Affine_1", "c"]}},
            {"Sequential": [affine(7), affine(4, "Softmax")]}]


def stacked():
    """neon's mnist_merge: two nets of the same image, side by side."""
    half = [affine(6), affine(5)]
    return [{"MergeBroadcast": {"layers": [{"Sequential": {"layers": half}}, {"Sequential": {"layers": half}}],
                                "merge": "stack"}}, affine(4, "Softmax")]


def tree():
    """neon's mnist_branch: two branches from the trunk, each with a cost; their gradients enter the trunk scaled."""
    node = [{"BranchNode": {"name": f"b{i}"}} for i in range(2)]
    return [conv(3, 4, padding=1), {"Tree": {"layers": [
        [MEAN, affine(6), node[0], affine(5), affine(5), node[1], affine(4, "Softmax")],
        [node[0], affine(5), affine(4, "Softmax")],
        [node[1], affine(4, "Softmax")]], "alphas": [1, 0.25, 0.5]}}]


TREE_COST = {"Multicost": {"costs": ["CrossEntropyMulti", "CrossEntropyMulti", "CrossEntropyMulti"], "weights": [1, 0.5, 2]}}
GOOGLENET_COST = {"Multicost": {"costs": ["CrossEntropyMulti", "CrossEntropyMulti"], "weights": [1, 0.25]}}


def alexnet():
    """Krizhevsky 2014 at about a tenth of the width, with the response normalisation of 2012."""
    norm = {"LRN": {"depth": 5, "ascale": 0.5, "bpower": 0.75}}
    return [conv(11, 6, strides=4, padding=2, bias=ZERO), norm, pool(3, 2), conv(5, 12, padding=2, bias=ZERO), norm,
            pool(3, 2), conv(3, 16, padding=1, bias=ZERO), conv(3, 12, padding=1, bias=ZERO),
            conv(3, 12, padding=1, bias=ZERO), pool(3, 2), affine(24, bias=ZERO), affine(24, bias=ZERO),
            affine(4, "Softmax", bias=ZERO)]


def alexnet_normal():
    """The same with batch norm, as i1k-alexnet-fp16.yaml, but for its dense layers: they would leave nothing of a gradient
    by beta before them but rounding."""
    def of(size, maps, **more):
        return conv(size, maps, batch_norm=True, **more)

    return [of(11, 6, strides=4, padding=3), pool(3, 2), of(5, 12, padding=2), pool(3, 2), of(3, 16, padding=1),
            of(3, 12, padding=1), of(3, 12, padding=1), pool(3, 2), affine(24, bias=ZERO),
            affine(24, bias=ZERO), affine(4, "Softmax", bias={"Constant": -7})]


def overfeat():
    """The fast model of Sermanet et al. 2013, narrow: large filters and convolutions without padding; pooling leaves out
    the last row and column of the first maps."""
    return [conv(11, 6, strides=4, bias=ZERO), pool(2, 2), conv(5, 10, bias=ZERO), pool(2, 2),
            conv(3, 12, padding=1, bias=ZERO), conv(3, 20, padding=1, bias=ZERO), conv(3, 20, padding=1, bias=ZERO),
            pool(2, 2), affine(24, bias=ZERO), affine(32, bias=ZERO), affine(4, "Softmax", bias=ZERO)]


def vgg():
    """Model A of Simonyan and Zisserman 2014, narrow, with batch norm, and without its last pooling."""
    def of(maps):
        return conv(3, maps, padding=1, batch_norm=True)

    return [of(4), pool(2, 2), of(6), pool(2, 2), of(8), of(8), pool(2, 2), of(10), of(10), pool(2, 2), of(10), of(10),
            affine(16, bias=ZERO), affine(16, bias=ZERO), affine(4, "Softmax", bias=ZERO)]


def vgg_twice():
    """Model B, two convolutions before each pooling, with batch norm also after its last layer, as i1k-vgg-fp16.yaml;
    narrow, and without its last block. With fewer units, or longer steps, one of them near its bend decides."""
    pairs = [[conv(3, maps, padding=1, batch_norm=True)] * 2 + [pool(2, 2)] for maps in (4, 5, 6, 8)]
    return sum(pairs, []) + [affine(24, batch_norm=True), affine(24, batch_norm=True), affine(4, "Softmax", batch_norm=True)]


def cifar():
    """cifar10-resnet.yaml's layers: pooling before batch norm, residuals without projection, the largest of each map."""
    def stage(maps):
        inner = [conv(3, maps, padding=1, batch_norm=True),
                 conv(3, maps, padding=1, batch_norm=True, activation="Identity")]
        return [conv(3, maps, padding=1, activation="Identity"), pool(2, 2), "BatchNorm", {"Activation": "Rectlin"},
                {"MergeSum": [inner, ["SkipNode"]]}, {"Activation": "Rectlin"}]

    return [conv(3, 4, padding=1, bias=ZERO), *stage(6), *stage(8), {"Pooling": {"fshape": "all", "op": "max"}},
            affine(4, "Softmax", bias=ZERO)]


def vgg_plain():
    """Model A as it was published: convolutions with biases, and all five poolings; narrow."""
    def of(maps):
        return conv(3, maps, padding=1, bias=ZERO)

    return [of(4), pool(2, 2), of(5), pool(2, 2), of(6), of(6), pool(2, 2), of(8), of(8), pool(2, 2), of(8), of(8),
            pool(2, 2), affine(12, bias=ZERO), affine(12, bias=ZERO), affine(4, "Softmax", bias=ZERO)]


def autoencoder():
    """neon's: convolutions with pooling, which leaves out the last row and column, and deconvolutions back to the image;
    narrow, of images with two channels."""
    def back(size, maps, **more):
        return {"Deconv": {"fshape": size, "nofm": maps, "init": INIT, **more}}

    return [conv(4, 4), pool(2, 2), conv(4, 6), pool(2, 2), back(4, 4, activation="Rectlin"),
            back(3, 3, strides=2, activation="Rectlin"), back(2, 2, strides=2, padding=1)]


def googlenet():
    """Szegedy et al. 2014 from its stem to its first auxiliary classifier, narrow."""
    def block(a, b, c, d):
        return {"MergeConcat": [[conv(1, a, bias=ZERO)], [conv(1, b[0], bias=ZERO), conv(3, b[1], padding=1, bias=ZERO)],
                                [conv(1, c[0], bias=ZERO), conv(5, c[1], padding=2, bias=ZERO)],
                                [pool(3, 1, padding=1), conv(1, d, bias=ZERO)]]}

    norm = {"LRN": {"depth": 5, "ascale": 0.25, "bpower": 0.75}}
    node = {"BranchNode": {"name": "auxiliary"}}
    side = [node, {"Pooling": {"fshape": 2, "strides": 1, "op": "avg"}}, conv(1, 4, bias=ZERO), affine(6, bias=ZERO),
            affine(4, "Softmax", bias=ZERO)]
    trunk = [block(3, (2, 4), (2, 3), 2), node, block(4, (3, 5), (2, 2), 3), MEAN, affine(4, "Softmax", bias=ZERO)]
    return [conv(7, 6, strides=2, padding=3, bias=ZERO), pool(3, 2, padding=1), norm, conv(1, 4, bias=ZERO),
            conv(3, 6, padding=1, bias=ZERO), norm, pool(3, 2, padding=1), block(2, (2, 3), (1, 2), 2),
            {"Tree": {"layers": [trunk, side], "alphas": [1, 1]}}]


def resnet():
    """Bottlenecks of He et al. 2015, two stages of ResNet-50, narrow; strides are in the convolutions of 3x3."""
    def last(maps, **more):
        return conv(1, maps, batch_norm=True, activation="Identity", **more)

    def block(maps, strides, skip):
        inner = [conv(1, maps, batch_norm=True), conv(3, maps, strides=strides, padding=1, batch_norm=True), last(3 * maps)]
        return [{"MergeSum": [inner, [skip]]}, {"Activation": "Rectlin"}]

    return [conv(7, 4, strides=2, padding=3, batch_norm=True), pool(3, 2, padding=1), *block(2, 1, last(6)),
            *block(2, 1, "SkipNode"), *block(3, 2, last(9, strides=2)), *block(3, 1, "SkipNode"), MEAN,
            affine(4, "Softmax", bias=ZERO)]


def excited():
    """A residual block with squeeze and excitation (Hu et al. 2018): a number of each map, from the means of all maps,
    multiplies it; then maps multiplied by one number of each pixel, and a mean of branches."""
    squeeze = [MEAN, affine(3, bias=ZERO), affine(6, "Logistic", bias=ZERO)]
    inner = [conv(3, 6, padding=1, batch_norm=True), {"MergeProduct": [["SkipNode"], squeeze]}]
    pixels = conv(3, 1, padding=1, activation="Logistic", bias=ZERO)
    return [conv(3, 6, padding=1), {"MergeSum": [inner, ["SkipNode"]]}, {"MergeProduct": ["SkipNode", pixels]},
            {"MergeMean": ["SkipNode", conv(3, 6, padding=1), conv(1, 6)]}, MEAN, affine(4, "Softmax", bias=ZERO)]


def unet():
    """Ronneberger et al. 2015 at two sizes, narrow, without padding on the way down: the middle of the first maps is put
    beside the second ones, which are made larger."""
    return [conv(3, 4, name="fine"), pool(2, 2), conv(3, 5, padding=1), {"Upsample": {"mode": "linear", "name": "wide"}},
            {"CropToFit": {"inputs": ["fine", "wide"], "name": "middle"}}, {"MergeConcat": {"inputs": ["middle", "wide"]}},
            conv(3, 5, padding=1), "Upsample", {"Pooling": {"fshape": 2, "op": "avg"}}, MEAN, affine(4, "Softmax")]


def streams():
    """neon's MergeMultistream: parts of a sample, each with layers of its own, joined twice."""
    def part(name, begin, end):
        return {"Slice": {"inputs": ["data"], "begin_idx": begin, "end_idx": end, "name": name}}

    return [part("first", 0, 1), conv(3, 3, padding=1, name="other"), part("rest", 1, 3),
            {"MergeMultistream": {"inputs": ["other", "rest"], "merge": "depth", "name": "maps",
                                  "layers": [[conv(1, 2)], [conv(3, 3, padding=1), conv(1, 4)]]}},
            {"MergeMultistream": {"inputs": ["maps", "first"], "alphas": [1, 0.5],
                                  "layers": [[MEAN], [affine(5), affine(3, "Tanh")]]}}, affine(4, "Softmax")]


def nets():
    deep = dict(batch=2, steps=2, rate=1 / 64)
    return [("residual blocks", residual(), [3, 8, 6], {}), ("inception blocks", inception(), [3, 7, 8], {}),
            ("layers by name", named(), [2, 6, 5], {}), ("stacked halves", stacked(), [1, 5, 4], {}),
            ("a tree of three costs", tree(), [2, 5, 4], dict(cost=TREE_COST)),
            ("AlexNet", alexnet(), [3, 64, 64], deep), ("OverFeat", overfeat(), [3, 107, 107], deep),
            ("VGG-A with batch norm", vgg(), [3, 32, 32], dict(batch=4, steps=2, rate=1 / 64)),
            ("VGG-A", vgg_plain(), [3, 32, 32], deep),
            ("AlexNet with batch norm", alexnet_normal(), [3, 64, 64], dict(batch=8, steps=2, rate=1 / 64)),
            ("VGG-B with batch norm", vgg_twice(), [3, 32, 32], dict(batch=8, steps=2, rate=1 / 1024)),
            ("the residual net of CIFAR-10", cifar(), [3, 16, 16], dict(batch=4, steps=2, rate=1 / 64)),
            ("GoogLeNet", googlenet(), [3, 32, 32], dict(cost=GOOGLENET_COST, **deep)),
            ("ResNet-50", resnet(), [3, 32, 32], dict(batch=4, steps=2, rate=1 / 64)),
            ("squeeze and excitation", excited(), [3, 7, 6], {}), ("a U-Net", unet(), [3, 9, 13], {}),
            ("streams of parts", streams(), [3, 5, 4], {}),
            ("a convolutional autoencoder", autoencoder(), [2, 20, 16], dict(cost="SumSquared", rate=1 / 256))]
