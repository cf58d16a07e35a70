#!/usr/bin/python3
"""Makes tests/models/golden/nets.json: nets of images with branches, in PyTorch.

    /usr/bin/python3 tools/golden/make_golden_nets.py        (Debian's python3-torch and python3-numpy)

A net is described by the layers of its spec, which Net below carries out in f64; so names, shapes and order of the
parameters are stated here once more. Samples and initial weights are drawn by a formula that the tests know too, or the
file would be many times as large; of large gradients it has every so manieth number. Beside them stands how far
operands of TF32 bring them away, |TF32 - exact| / |exact| as vectors: batch norm over a few samples makes much of it.
Of operands cut and rounded to the nearest the larger one, as a GPU's kernels do either.
"""
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from golden_file import write
from golden_net_specs import nets
from tf32 import Product, cut, nearest

MOST = 300  # numbers of one array that are written


def drawn(seed, shape, scale):
    """Numbers of [-scale, scale) of 16 bits: element i is the hash of i and the seed."""
    x = (np.arange(math.prod(shape), dtype=np.uint64) * 0x9E3779B1 + seed * 0x27D4EB2F) & 0xFFFFFFFF
    for shift, factor in ((15, 0x85EBCA77), (13, 0xC2B2AE3D), (16, 1)):
        x = ((x ^ (x >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return ((x >> np.uint64(16)).astype(np.float64) / 32768 - 1).reshape(shape) * scale


def parts(item):
    """The class and the parameters of a layer; what is not a map goes to the first parameter."""
    if isinstance(item, str):
        return item, {}
    (kind, given), = item.items()
    return kind, given if isinstance(given, dict) else {FIRST[kind]: given}


FIRST = {"MergeSum": "layers", "MergeMean": "layers", "MergeProduct": "layers", "Upsample": "scale", "MergeConcat": "layers", "MergeBroadcast": "layers", "MergeMultistream": "layers", "Sequential": "layers",
         "Activation": "transform", "Pooling": "fshape", "Tree": "layers"}
ACTIVATIONS = {"Rectlin": F.relu, "Tanh": torch.tanh, "Logistic": torch.sigmoid, "Identity": lambda x: x,
               "Softmax": lambda x: x}  # the cost takes logits


def pair(value, default):
    value = default if value is None else value
    return list(value) if isinstance(value, list) else [value, value]


class Merges:
    """Of a net: layers that are made of branches."""

    def scaled(self, x, factor):
        return x.detach() * (1 - factor) + x * factor

    def branches(self, given, inputs):
        alphas = given.get("alphas", [1] * 9)
        layers = [b if isinstance(b, list) else [b] for b in given.get("layers", [])]
        inputs = inputs * len(layers) if len(inputs) == 1 and layers else inputs
        return [self.chain(b, (self.scaled(x[0], a), x[1])) for b, x, a in zip(layers, inputs, alphas)] if layers else inputs

    def MergeSum(self, name, given, inputs):
        return sum(y for y, _ in self.branches(given, inputs)), False

    def MergeMean(self, name, given, inputs):
        ends = self.branches(given, inputs)
        return sum(y for y, _ in ends) / len(ends), False

    def MergeProduct(self, name, given, inputs):
        ends = [y for y, _ in self.branches(given, inputs)]
        most = max(y.dim() for y in ends)
        product = 1
        for y in ends:
            product = product * (y.reshape(*y.shape, *[1] * (most - 2)) if y.dim() == 2 else y)
        return product, False

    def MergeConcat(self, name, given, inputs):
        return torch.cat([y for y, _ in self.branches(given, inputs)], 1), False

    def MergeBroadcast(self, name, given, inputs):
        ends = self.branches(given, inputs)
        if given.get("merge", "stack") == "depth":
            return torch.cat([y for y, _ in ends], 1), False
        return torch.cat([self.rows(end) for end in ends], 1), False

    MergeMultistream = MergeBroadcast


class Net(Merges):
    def __init__(self, layers, rounded):
        self.layers, self.initial, self.p, self.rounded, self.infers = layers, {}, {}, rounded, False

    def logits(self, data):
        self.counts, self.outputs, self.more = {}, {"data": (data, True)}, []
        return [self.chain(self.layers, (data, True))[0]] + self.more

    # A value is (array, whether it lies as the data set gave it); arrays of images are (N, C, H, W) either way.
    def chain(self, layers, x):
        for item in layers:
            kind, given = parts(item)
            number = self.counts.get(kind, 0)
            self.counts[kind] = number + 1
            name = given.get("name", f"{kind}_{number}")
            inputs = [self.outputs[i] for i in given["inputs"]] if "inputs" in given else [x]
            x = getattr(self, kind)(name, given, inputs)
            self.outputs[name] = x
        return x

    def parameter(self, name, shape, fan=None, one=False):
        if name not in self.p:
            seed = len(self.p) + 1
            scale = 2.0 ** round(math.log2(math.sqrt(6 / fan))) if fan else 0.25
            value = np.ones(shape) if one else drawn(seed, shape, scale)
            self.initial[name] = dict(shape=shape, fill=1) if one else dict(shape=shape, drawn=seed, scale=scale)
            self.p[name] = torch.tensor(value, requires_grad=True)
        return self.p[name]

    def product(self, of, a, b):
        return Product.apply(of, self.rounded, a, b) if self.rounded else of(a, b)

    def normal(self, name, x):
        maps = x.shape[1]
        gamma, beta = self.parameter(name + "/gamma", [maps], one=True), self.parameter(name + "/beta", [maps])
        if self.infers:  # with the statistics that training begins from
            return F.batch_norm(x, torch.zeros(maps).to(x), torch.ones(maps).to(x), gamma, beta, False, eps=1e-3)
        return F.batch_norm(x, None, None, gamma, beta, True, eps=1e-3)

    def BatchNorm(self, name, given, inputs):
        return self.normal(name, inputs[0][0]), inputs[0][1]

    def finish(self, name, given, x):
        around = [1, -1] + [1] * (x.dim() - 2)
        if given.get("batch_norm"):
            x = self.normal(name + "_bnorm", x)
        if "bias" in given:
            x = x + self.parameter(name + "_bias/b", [x.shape[1]]).reshape(around)
        return ACTIVATIONS[given.get("activation", "Identity")](x)

    def Conv(self, name, given, inputs):
        x, groups = inputs[0][0], given.get("groups", 1)
        size = pair(given["fshape"], None)
        shape = [given["nofm"], *size, x.shape[1] // groups]
        w = self.parameter(name + "/W", shape, math.prod(shape[1:]))
        stride, padding = pair(given.get("strides"), 1), pair(given.get("padding"), 0)
        y = self.product(lambda x, w: F.conv2d(x, w, None, stride, padding, groups=groups), x, w.permute(0, 3, 1, 2))
        return self.finish(name, given, y), False

    def Deconv(self, name, given, inputs):
        x, size = inputs[0][0], pair(given["fshape"], None)
        w = self.parameter(name + "/W", [x.shape[1], *size, given["nofm"]], math.prod(size) * x.shape[1])
        stride, padding = pair(given.get("strides"), 1), pair(given.get("padding"), 0)
        y = self.product(lambda x, w: F.conv_transpose2d(x, w, None, stride, padding), x, w.permute(0, 3, 1, 2))
        return self.finish(name, given, y), False

    def Affine(self, name, given, inputs):
        x = self.rows(inputs[0])
        w = self.parameter(name + "/W", [given["nout"], x.shape[1]], x.shape[1])
        return self.finish(name, given, self.product(torch.matmul, x, w.T)), False

    def rows(self, value):
        x, as_given = value
        if x.dim() == 4 and not as_given:
            x = x.permute(0, 2, 3, 1)
        return x.flatten(1)

    def Pooling(self, name, given, inputs):
        x = inputs[0][0]
        size = x.shape[2:] if given["fshape"] == "all" else pair(given["fshape"], None)
        stride, padding = pair(given.get("strides"), list(size)), pair(given.get("padding"), 0)
        if given.get("op", "max") == "max":
            return F.max_pool2d(x, size, stride, padding), False
        return F.avg_pool2d(x, size, stride, padding, count_include_pad=False), False

    def LRN(self, name, given, inputs):
        return F.local_response_norm(inputs[0][0], given["depth"], given["ascale"], given["bpower"], 1.0), False

    def Activation(self, name, given, inputs):
        return ACTIVATIONS[given["transform"]](inputs[0][0]), inputs[0][1]

    def Slice(self, name, given, inputs):
        return inputs[0][0][:, given.get("begin_idx", 0):given["end_idx"]], False

    def SkipNode(self, name, given, inputs):
        return inputs[0]

    def BranchNode(self, name, given, inputs):
        return inputs[0]

    def Tree(self, name, given, inputs):
        trunk, *others = given["layers"]
        first, *alphas = given["alphas"]
        y = self.chain(trunk, (self.scaled(inputs[0][0], first), inputs[0][1]))
        for (node, *rest), alpha in zip(others, alphas):
            x, as_given = self.outputs[node["BranchNode"]["name"]]
            self.more.append(self.chain(rest, (self.scaled(x, alpha), as_given))[0])
        return y

    def Sequential(self, name, given, inputs):
        return self.chain(given["layers"], inputs[0])

    def Upsample(self, name, given, inputs):
        mode = {"linear": "bilinear"}.get(given.get("mode"), "nearest")
        return F.interpolate(inputs[0][0], scale_factor=given.get("scale", 2), mode=mode), False

    def CropToFit(self, name, given, inputs):
        (x, _), (other, _) = inputs
        for axis in 2, 3:
            x = x.narrow(axis, (x.shape[axis] - other.shape[axis]) // 2, other.shape[axis])
        return x, False


def sampled(array):
    """The array, or when it is large every so manieth number of it."""
    every = -(-array.size // MOST)
    if every == 1:
        return array
    return dict(shape=list(array.shape), every=every, values=[float(v) for v in array.ravel()[::every]])


def cost_of(cost, logits, labels, data):
    """CrossEntropyMulti, or Multicost of several outputs with that each; SumSquared of an autoencoder, which is to give
    its data back."""
    if cost == "SumSquared":
        return 0.5 * (logits[0] - data).square().sum() / len(data)
    if cost == "CrossEntropyMulti":
        return F.cross_entropy(logits[0], labels)
    return sum(w * F.cross_entropy(x, labels) for w, x in zip(cost["Multicost"]["weights"], logits))


def inference(net, x, cost):
    """The first output, (N, ...), with the weights as they are."""
    net.infers = True
    with torch.no_grad():
        y = net.logits(x)[0]
    net.infers = False
    return (y if cost == "SumSquared" else F.softmax(y, 1)).flatten(1).numpy()


def trained(layers, data, labels, cost, batch, steps, rate, momentum, rounded=None):
    """The net, what it makes of the first batch, and of some steps of gradient descent with momentum the first gradients,
    the costs and the weights."""
    net, velocity, costs = Net(layers, rounded), {}, []
    for step in range(steps):
        rows = [(batch * step + i) % len(labels) for i in range(batch)]
        x = torch.tensor(data[rows])
        if step == 0:
            outputs = inference(net, x, cost)
        mean = cost_of(cost, net.logits(x), torch.tensor(labels[rows]), x)
        mean.backward()
        if step == 0:
            start = {name: p.detach().numpy().copy() for name, p in net.p.items()}
            gradients = {name: p.grad.numpy().copy() for name, p in net.p.items()}
        costs.append(mean.item())
        with torch.no_grad():
            for name, p in net.p.items():
                velocity[name] = momentum * velocity.get(name, 0) - rate * p.grad
                p += velocity[name]
                p.grad = None
    ways = {name: p.detach().numpy() - start[name] for name, p in net.p.items()}
    return net, outputs, gradients, costs, ways


def apart(rounded, exact):
    """How far the farthest of `rounded` is from `exact`, of what is written of each array."""
    out = {}
    for name, x in exact.items():
        every = -(-x.size // MOST)
        off = max(np.linalg.norm((arrays[name] - x).ravel()[::every]) for arrays in rounded)
        out[name] = float(f"{off / np.linalg.norm(x.ravel()[::every]):.3g}") if off else 0.0
    return out


def case(title, layers, shape, cost="CrossEntropyMulti", batch=4, steps=3, rate=0.0625, momentum=0.5):
    """A net's first outputs and gradients, and costs and weights of some steps; and how far TF32 is from them."""
    count = 2 * batch + 3
    data, labels = drawn(0, [count, *shape], 1.0), np.arange(count) % 4
    told = (layers, data, labels, cost, batch, steps, rate, momentum)
    net, outputs, gradients, costs, ways = trained(*told)
    _, _, tf32_gradients, _, tf32_ways = zip(*(trained(*told, rounded) for rounded in (cut, nearest)))
    optimizer = {"GradientDescentMomentum": {"learning_rate": rate, "momentum_coef": momentum}}
    targets = {} if cost == "SumSquared" else dict(labels=labels.astype(float))
    return dict(title=title, layers=layers, cost=cost, optimizer=optimizer, batch=batch,
                data=dict(shape=[count, *shape], drawn=0, scale=1.0), **targets, parameters=net.initial, outputs=outputs,
                gradients={name: sampled(g) for name, g in gradients.items()}, costs=costs,
                after={name: sampled(p.detach().numpy()) for name, p in net.p.items()},
                tf32=dict(gradients=apart(tf32_gradients, gradients), ways=apart(tf32_ways, ways)))


if __name__ == "__main__":
    write("models/golden/nets.json", [case(title, layers, shape, **more) for title, layers, shape, more in nets()])
