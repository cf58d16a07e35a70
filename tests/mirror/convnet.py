"""Nets of images by their specs in NumPy, in f64, with the gradients of tape.py.

Images are (N, space, C) here; volumes of a data set are (N, C, space), `first`, until a layer of images takes them.
Weights are drawn as layers ask for them, and stand in the layers' `init` and `bias` from then on.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/golden"))
import tape
from net import HIDDEN
from tape import Var

ACTIVATIONS = {str(spec): (f, slope) for spec, f, slope in HIDDEN}
AXES = {"T": 0, "d": 0, "R": 1, "h": 1, "S": 2, "w": 2, "J": 3, "c": 3, "K": 4}


def marked_first(x):
    x.first = True
    return x


def is_first(x):
    return getattr(x, "first", False)


def last(x):
    return tape.moveaxis(x, 1, -1) if is_first(x) and x.value.ndim > 2 else x


def first(x):
    return x if is_first(x) or x.value.ndim < 3 else marked_first(tape.moveaxis(x, -1, 1))


def rows(x):
    return tape.reshape(x, (x.value.shape[0], -1))


def scaled_gradient(x, factor):
    out = Var(x.value, (x,), lambda g: (factor * g,))
    return marked_first(out) if is_first(x) else out


def beside(parts):
    ends = np.cumsum([x.value.shape[-1] for x in parts])[:-1]
    return Var(np.concatenate([x.value for x in parts], -1), parts, lambda g: np.split(g, ends, -1))


def numbers(given, axes, otherwise):
    """Of every axis of space; `otherwise` is one number, or a list of them."""
    fill = otherwise if isinstance(otherwise, list) else [otherwise] * axes
    if given is None:
        return fill
    if isinstance(given, dict):
        named = {AXES[name[-1]]: n for name, n in given.items()}
        return [named.get(3 - axes + i, fill[i]) for i in range(axes)]
    return given[:axes] if isinstance(given, list) else [given] * axes


def of_channels(given, otherwise):
    return {AXES[name[-1]]: n for name, n in given.items()}.get(3, otherwise) if isinstance(given, dict) else otherwise


def maps_of(p):
    if "nofm" in p:
        return p["nofm"]
    return p["fshape"]["K"] if isinstance(p["fshape"], dict) else p["fshape"][-1]


def steps(p, axes):
    return (numbers(p.get("strides"), axes, 1), numbers(p.get("padding"), axes, 0), numbers(p.get("dilation"), axes, 1))


def filling(length, window, stride, pad):
    """Padding after an axis such that Caffe's number of windows fits."""
    count = -(-(length + 2 * pad - window) // stride) + 1
    if (count - 1) * stride >= length + pad:
        count -= 1
    return max(pad, (count - 1) * stride + window - length - pad)


class Net:
    def __init__(self, rng, caffe=False):
        self.rng, self.caffe = rng, caffe
        self.weights, self.states = {}, {}
        self.least_variance = np.inf  # that batch norm has met
        self.begin(True)

    def begin(self, training):
        self.training, self.vars, self.passed, self.more = training, {}, {}, []

    def samples(self, data):
        """Images are held with their channels last, volumes as they come."""
        x = marked_first(Var(data))
        return x if data.ndim == 5 else last(x)

    def begin_again(self):
        """States are what the drawing of the net left of them."""
        for name, state in self.states.items():
            state[:] = name.endswith("gvar")

    def forward(self, layers, data, training, means=None):
        """The outputs: that of the last layer, then those of a Tree's branches, all (N, features). means: in place of the
        net's own weights and states."""
        self.begin(training)
        self.means = means or {}
        self.vars = {name: Var(w) for name, w in self.means.items() if name in self.weights}
        x = self.samples(data)
        self.passed["data"] = x
        x = self.run(layers, x)
        return [rows(first(y)) for y in (x, *self.more)]

    def run(self, layers, x):
        for layer in layers:
            (kind, p), = layer.items()
            if p.get("inputs"):
                inputs = [self.passed[name] for name in p["inputs"]]
            else:
                inputs = [x]
            if kind in ("MergeSum", "MergeMean", "MergeProduct", "MergeConcat", "MergeBroadcast", "Tree", "SingleOutputTree"):
                x = getattr(self, kind)(p, inputs)
            else:
                x = getattr(self, kind)(p, inputs[0])
            if "name" in p:
                self.passed.setdefault(p["name"], x)
        return x

    def weight(self, p, key, name, shape, scale):
        if name not in self.weights:
            self.weights[name] = self.rng.uniform(-scale, scale, shape).astype(np.float32).astype(float)
        if key:
            p[key] = {"Array": {"val": self.weights[name].ravel().tolist()}}
        return self.vars.setdefault(name, Var(self.weights[name]))

    def filters(self, p, name, shape, fan):
        return self.weight(p, "init", name + "/W", shape, (3 / fan) ** 0.5)

    def finish(self, p, x):
        name = p["name"]
        if p.get("batch_norm"):
            x = self.normal(x, name + "_bnorm", 0.9, 1e-3)
        if "bias" in p:
            x = x + self.weight(p, "bias", name + "_bias/b", x.value.shape[-1:], 0.3)
        return self.activated(p.get("activation", "Identity"), x, name)

    def activated(self, activation, x, name=""):
        if name.startswith("out"):  # the cost takes it together with its own
            return x
        f, slope = ACTIVATIONS[str(activation)]
        return tape.elementwise(x, f(x.value), slope(x.value))

    def normal(self, x, name, rho, eps):
        features = x.value.shape[-1]
        for part, fill in (("gamma", 1), ("beta", 0)):
            self.weights.setdefault(f"{name}/{part}", np.full(features, fill, float))
        gamma, beta = (self.weight({}, "", f"{name}/{part}", features, 0) for part in ("gamma", "beta"))
        mean = self.states.setdefault(name + "/gmean", np.zeros(features))
        variance = self.states.setdefault(name + "/gvar", np.ones(features))
        if not self.training:
            mean, variance = (self.means.get(f"{name}/{part}", own) for part, own in (("gmean", mean), ("gvar", variance)))
            return Var((x.value - mean) / np.sqrt(variance + eps) * gamma.value + beta.value)
        y, batch_mean, batch_variance = tape.batch_norm(x, gamma, beta, eps)
        self.least_variance = min(self.least_variance, batch_variance.min())
        self.states[name + "/gmean"] = rho * mean + (1 - rho) * batch_mean
        self.states[name + "/gvar"] = rho * variance + (1 - rho) * batch_variance
        return y

    # Layers, as the specs call them.

    def Convolution(self, p, x):
        x = last(x)
        axes, channels, groups = x.value.ndim - 2, x.value.shape[-1], p.get("groups", 1)
        size = numbers(p["fshape"], axes, 1)
        shape = (maps_of(p), *size, channels // groups)
        return tape.convolution(x, self.filters(p, p["name"], shape, np.prod(shape[1:])), *steps(p, axes), groups)

    def Conv(self, p, x):
        return self.finish(p, self.Convolution(p, x))

    def CrossMapPooling(self, p, x):
        x = last(x)
        axes, channels = x.value.ndim - 2, x.value.shape[-1]
        w = self.filters(p, p["name"], (p["nofm"], *[1] * axes, channels), channels)
        return self.activated(p["activation"], tape.convolution(x, w, [1] * axes, [0] * axes))

    def Deconv(self, p, x):
        x = last(x)
        axes, channels = x.value.ndim - 2, x.value.shape[-1]
        shape = (channels, *numbers(p["fshape"], axes, 1), maps_of(p))
        w = self.filters(p, p["name"], shape, np.prod(shape[:-1]))
        return self.finish(p, tape.deconvolution(x, w, *steps(p, axes)))

    def Local(self, p, x):
        x = last(x)
        axes, channels = x.value.ndim - 2, x.value.shape[-1]
        size, (strides, padding, dilation) = numbers(p["fshape"], axes, 1), steps(p, axes)
        outs = [(n + 2 * b - d * (f - 1) - 1) // s + 1
                for n, f, s, b, d in zip(x.value.shape[1:-1], size, strides, padding, dilation)]
        places, maps, seen = np.prod(outs), maps_of(p), np.prod(size) * channels
        w = tape.reshape(self.filters(p, p["name"], (places, maps, seen), seen), (places, maps, *size, channels))
        y = tape.local(x, w, strides, padding, dilation)
        if "bias" in p:
            shape = (maps,) if p.get("shared_bias", True) else (places * maps,)
            b = self.weight(p, "bias", p["name"] + "_bias/b", shape, 0.3)
            y = y + (b if p.get("shared_bias", True) else tape.reshape(b, y.value.shape[1:]))
        return self.activated(p.get("activation", "Identity"), y)

    def Affine(self, p, x):
        x = rows(x)
        features = x.value.shape[1]
        return self.finish(p, tape.linear(x, self.filters(p, p["name"], (p["nout"], features), features)))

    def Bias(self, p, x):
        x = last(x)
        return x + self.weight(p, "init", p["name"] + "/b", x.value.shape[-1:], 0.3)

    def BatchNorm(self, p, x):
        return self.normal(last(x), p["name"], p.get("rho", 0.9), p.get("eps", 1e-3))

    def Activation(self, p, x):
        return self.activated(p["transform"], last(x), p.get("name", ""))

    def Pooling(self, p, x):
        x = last(x)
        axes, shape = x.value.ndim - 2, x.value.shape[1:]
        window = list(shape[:-1]) + [1]
        if p["fshape"] != "all":
            window = numbers(p["fshape"], axes, 1) + [of_channels(p["fshape"], 1)]
        strides = numbers(p.get("strides"), axes, window[:-1]) + [of_channels(p.get("strides"), window[-1])]
        padding = [(b, b) for b in numbers(p.get("padding"), axes, 0) + [of_channels(p.get("padding"), 0)]]
        if self.caffe:
            padding = [(b, filling(n, f, s, b)) for n, f, s, (b, _) in zip(shape, window, strides, padding)]
        op = {"max": tape.pool_max, "l2": tape.pool_l2}.get(p.get("op", "max"))
        op = op or (tape.pool_caffe_avg if self.caffe else tape.pool_avg)
        return op(x, window, strides, padding)

    def over_maps(self, x, before, after, factor, power):
        return tape.times(x, tape.power(tape.around(tape.times(x, x), before, after), factor, -power))

    def LRN(self, p, x):
        depth = p["depth"]
        y = self.over_maps(last(x), depth // 2, depth // 2, p["ascale"] / depth, p["bpower"])
        return tape.times(y, Var(p.get("alpha", 1)))

    def CrossMapResponseNorm(self, p, x):
        n = p["ksize"]
        return self.over_maps(last(x), n // 2, n - 1 - n // 2, p["alpha"] / n, p["beta"])

    def LocalContrastNorm(self, p, x):
        x = last(x)
        axes, n = x.value.ndim - 2, p["ksize"]
        window = [n] * axes, [1] * axes, [(n // 2, n - 1 - n // 2)] * axes
        centred = tape.minus(x, tape.pool_avg(x, *window))
        around = tape.pool_sum(tape.times(centred, centred), *window)
        return tape.times(x, tape.power(around, p["alpha"] / n ** axes, -p["beta"]))

    def Maxout(self, p, x):
        return tape.largest(last(x), p["pieces"])

    def ChannelShuffle(self, p, x):
        return tape.shuffled(last(x), p["groups"])

    def Slice(self, p, x):
        return tape.first(last(x), p["end_idx"], p.get("begin_idx", 0))

    def Reshape(self, p, x):
        x = first(x)
        return marked_first(tape.reshape(x, (x.value.shape[0], *p["reshape"])))

    def SkipNode(self, p, x):
        return x

    BranchNode = SkipNode

    def branches(self, p, inputs):
        outputs = []
        for i, branch in enumerate(p.get("layers", [])):
            x = inputs[i] if len(inputs) > 1 else inputs[0]
            (kind, of_first), = branch[0].items()
            if kind == "BranchNode":
                x = self.passed.get(of_first["name"], x)
            outputs.append(self.run(branch, scaled_gradient(x, p["alphas"][i]) if "alphas" in p else x))
        return outputs or inputs

    def MergeSum(self, p, inputs):
        total, *others = map(last, self.branches(p, inputs))
        for x in others:
            total = total + x
        return total

    def MergeMean(self, p, inputs):
        outputs = self.branches(p, inputs)
        return tape.times(self.MergeSum({}, outputs), Var(1 / len(outputs)))

    def MergeProduct(self, p, inputs):
        product, *others = map(last, self.branches(p, inputs))
        for x in others:
            product = tape.times(product, x)
        return product

    def MergeConcat(self, p, inputs):
        return beside([last(x) for x in self.branches(p, inputs)])

    def MergeBroadcast(self, p, inputs):
        return beside([last(x) if p["merge"] == "depth" else rows(x) for x in self.branches(p, inputs)])

    def Tree(self, p, inputs):
        out, *more = self.branches(p, inputs)
        self.more += more
        return out

    def SingleOutputTree(self, p, inputs):
        out, *more = self.branches(p, inputs)
        self.more += more if self.training else []
        return out
