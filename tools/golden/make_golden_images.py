#!/usr/bin/python3
"""Makes the golden files of crops, and of layers and nets of images, under tests/*/golden.

    /usr/bin/python3 tools/golden/make_golden_images.py        (Debian's python3-numpy)

The formulas are those of tape.py, in f64, each gradient held to central differences before it is written. Arrays of
images are (N, C, H, W) in the files, as data sets give them; filters are (K, R, S, C / groups).
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden_crops
import tape
from golden_file import stream, write
from tape import Var


def draw(key, shape, scale=1.0):
    """Numbers of few digits, exact in f32. The same key and shape give the same numbers."""
    return np.round(scale * stream(key, shape).standard_normal(shape) * 64) / 64


def distinct(key, shape):
    """The same, no two of them equal: a maximum is at one place."""
    count = int(np.prod(shape))
    return ((stream(key, shape).permutation(count) - count // 2) / 32 + 1 / 64).reshape(shape)


class Layers:
    """Cases of layers: outputs, gradients, running statistics after two passes over the same x, inference."""

    def __init__(self):
        self.cases = []

    def add(self, layer, x, train, parameters=None, states=None, infer=None):
        """train(x, **parameters) -> y, both channels last; states: names of mean and variance that train also gives."""
        arrays = {name: Var(value) for name, value in (parameters or {}).items()}
        given = Var(x)
        statistics = []

        def run():
            y = train(tape.moveaxis(given, 1, -1), **arrays)
            if states:
                y, *statistics[:] = y
            return tape.moveaxis(y, -1, 1)

        y = run()
        g = draw(layer, y.value.shape)
        tape.check(run, [given, *arrays.values()], g)
        y.backward(g)
        result = dict(layer=layer, random=False, x=x, g=g, parameters=parameters or {}, y=y.value, dx=given.grad,
                      gradients={name: a.grad for name, a in arrays.items()}, states={}, inference=y.value)
        if states:
            mean = variance = None
            for _ in range(2):
                mean = 0.1 * statistics[0] if mean is None else 0.9 * mean + 0.1 * statistics[0]
                variance = 0.9 + 0.1 * statistics[1] if variance is None else 0.9 * variance + 0.1 * statistics[1]
            result["states"] = {states + "/gmean": mean, states + "/gvar": variance}
            result["inference"] = np.moveaxis(infer(np.moveaxis(x, 1, -1), mean, variance), -1, 1)
        self.cases.append(result)


def layer_cases():
    layers = Layers()
    init, conv = "GlorotUniform", tape.convolution
    x = draw("x", (2, 3, 4, 3))
    layers.add({"Convolution": {"fshape": [3, 2, 5], "strides": [2, 1], "padding": [1, 0], "init": init}}, x,
               lambda x, **p: conv(x, p["L/W"], (2, 1), (1, 0)), {"L/W": draw("L/W", (5, 3, 2, 3))})
    layers.add({"Convolution": {"fshape": 2, "nofm": 4, "padding": 2, "dilation": [3, 2], "init": init}}, x,
               lambda x, **p: conv(x, p["L/W"], (1, 1), (2, 2), (3, 2)), {"L/W": draw("L/W", (4, 2, 2, 3))})
    layers.add({"Convolution": {"fshape": {"R": 2, "S": 3, "K": 4}, "strides": {"str_w": 2}, "groups": 2, "init": init}},
               draw("x", (2, 6, 3, 4)), lambda x, **p: conv(x, p["L/W"], (1, 2), (0, 0), groups=2),
               {"L/W": draw("L/W", (4, 2, 3, 3))})
    layers.add({"Convolution": {"fshape": [2, 2, 3, 3], "strides": [1, 2, 1], "padding": {"pad_d": 1}, "init": init}},
               draw("x", (1, 2, 3, 4, 3)), lambda x, **p: conv(x, p["L/W"], (1, 2, 1), (1, 0, 0)),
               {"L/W": draw("L/W", (3, 2, 2, 3, 2))})
    layers.add({"Deconvolution": {"fshape": [3, 2, 4], "strides": 2, "padding": [1, 0], "init": init}}, x,
               lambda x, **p: tape.deconvolution(x, p["L/W"], (2, 2), (1, 0)), {"L/W": draw("L/W", (3, 3, 2, 4))})
    layers.add({"Deconvolution": {"fshape": [2, 1, 2, 2], "strides": [1, 2, 3], "init": init}}, draw("x", (2, 2, 2, 3, 2)),
               lambda x, **p: tape.deconvolution(x, p["L/W"], (1, 2, 3), (0, 0, 0)), {"L/W": draw("L/W", (2, 2, 1, 2, 2))})
    layers.add({"Conv": {"fshape": [3, 3, 4], "padding": 1, "init": init, "bias": init, "activation": "Rectlin"}}, x,
               lambda x, **p: tape.relu(conv(x, p["L/W"], (1, 1), (1, 1)) + p["L_bias/b"]),
               {"L/W": draw("L/W", (4, 3, 3, 3)), "L_bias/b": draw("L_bias/b", 4)})

    def conv_bn(x, **p):
        y, mean, variance = tape.batch_norm(conv(x, p["L/W"], (1, 1), (0, 0)), p["L_bnorm/gamma"], p["L_bnorm/beta"], 1e-3)
        return tape.tanh(y), mean, variance

    p = {"L/W": draw("L/W", (4, 2, 2, 3)), "L_bnorm/gamma": draw("L_bnorm/gamma", 4), "L_bnorm/beta": draw("L_bnorm/beta", 4)}
    layers.add({"Conv": {"fshape": [2, 2, 4], "init": init, "batch_norm": True, "activation": "Tanh"}}, x, conv_bn, p,
               "L_bnorm",
               lambda x, mean, variance: np.tanh((conv(Var(x), Var(p["L/W"]), (1, 1), (0, 0)).value - mean) /
                                                 np.sqrt(variance + 1e-3) * p["L_bnorm/gamma"] + p["L_bnorm/beta"]))
    layers.add({"Deconv": {"fshape": [2, 2, 3], "strides": 2, "init": init, "bias": init, "activation": "Logistic"}}, x,
               lambda x, **p: tape.logistic(tape.deconvolution(x, p["L/W"], (2, 2), (0, 0)) + p["L_bias/b"]),
               {"L/W": draw("L/W", (3, 2, 2, 3)), "L_bias/b": draw("L_bias/b", 3)})
    pooling_cases(layers)
    normalization_cases(layers)
    map_cases(layers)
    layers.add("SkipNode", draw("x", (2, 3, 2, 2)), lambda x: tape.reshape(x, x.value.shape))
    return layers.cases


def map_cases(layers):
    init = "GlorotUniform"
    x = draw("x", (2, 3, 5, 4))
    # W is (places, K, numbers of a window).
    w = draw("W", (12, 2, 3 * 2 * 3))
    layers.add({"Local": {"fshape": [3, 2, 2], "init": init}}, x,
               lambda x, **p: tape.local(x, tape.reshape(p["L/W"], (9, 2, 3, 2, 3)), (1, 1), (0, 0)),
               {"L/W": w[:9]})
    for shared in (True, False):
        b = draw("b", 2 if shared else 24)
        layers.add({"Local": {"fshape": [3, 2], "nofm": 2, "strides": [2, 1], "padding": [1, 0] if shared else [2, 0],
                              "init": init, "bias": init, "shared_bias": shared, "activation": "Tanh"}}, x,
                   lambda x, **p: tape.tanh(tape.local(x, tape.reshape(p["L/W"], (-1, 2, 3, 2, 3)), (2, 1),
                                                       (1, 0) if shared else (2, 0)) +
                                            (p["L_bias/b"] if shared else tape.reshape(p["L_bias/b"], (4, 3, 2)))),
                   {"L/W": w[:9] if shared else w, "L_bias/b": b})
    x = distinct("x", (2, 6, 2, 3))
    layers.add({"Maxout": 3}, x, lambda x: tape.largest(x, 3))
    layers.add({"Slice": 4}, x, lambda x: tape.first(x, 4))
    layers.add({"Slice": {"begin_idx": 1, "end_idx": 5}}, x, lambda x: tape.first(x, 5, 1))
    for groups in (2, 3):
        layers.add({"ChannelShuffle": groups}, x, lambda x: tape.shuffled(x, groups))
    layers.add({"CrossMapPooling": {"nofm": 4, "init": init, "activation": "Rectlin"}}, x,
               lambda x, **p: tape.relu(tape.convolution(x, p["L/W"], (1, 1), (0, 0))), {"L/W": draw("L/W", (4, 1, 1, 6))})


def normalization_cases(layers):
    x = draw("x", (2, 7, 3, 2))

    def over_maps(depth, ascale, bpower):
        def run(x):
            total = tape.pool_sum(tape.times(x, x), (1, 1, depth), (1, 1, 1), (0, 0, depth // 2))
            return tape.times(x, tape.power(total, ascale / depth, -bpower))
        return run

    layers.add({"LRN": {"depth": 5, "ascale": 0.5, "bpower": 0.75}}, x, over_maps(5, 0.5, 0.75))
    layers.add({"LRN": {"depth": 1}}, x, over_maps(1, 1, 1))
    layers.add({"LRN": {"depth": 3, "alpha": 0.5}}, x, lambda x: tape.times(over_maps(3, 1, 1)(x), tape.Var(0.5)))
    layers.add({"CrossMapResponseNorm": {"ksize": 4, "alpha": 2, "beta": 0.5}}, x,
               lambda x: tape.times(x, tape.power(tape.around(tape.times(x, x), 2, 1), 2 / 4, -0.5)))
    layers.add({"CrossMapResponseNorm": {"ksize": 3, "alpha": 2, "beta": 0.5}}, x, over_maps(3, 2, 0.5))

    def contrast(x):
        window = (3, 3), (1, 1), (1, 1)
        centred = tape.minus(x, tape.pool_avg(x, *window))
        return tape.times(x, tape.power(tape.pool_sum(tape.times(centred, centred), *window), 2 / 9, -0.75))

    layers.add({"LocalContrastNorm": {"ksize": 3, "alpha": 2, "beta": 0.75}}, draw("x", (2, 3, 4, 5)), contrast)


def pooling_cases(layers):
    x = distinct("x", (2, 3, 4, 5))
    volume = distinct("x", (1, 2, 4, 3, 4))
    for op, function in (("max", tape.pool_max), ("avg", tape.pool_avg), ("l2", tape.pool_l2)):
        def add(parameters, data, *windows):
            layers.add({"Pooling": {"op": op, **parameters}}, data, lambda x: function(x, *windows))
        add({"fshape": 2}, x, (2, 2), (2, 2), (0, 0))
        add({"fshape": [3, 2], "strides": [2, 1], "padding": [1, 0]}, x, (3, 2), (2, 1), (1, 0))
        add({"fshape": "all"}, x, (4, 5), (1, 1), (0, 0))
        add({"fshape": {"T": 2, "R": 3, "S": 2}, "strides": {"str_d": 2, "str_w": 3}}, volume, (2, 3, 2), (2, 1, 3), (0, 0, 0))
        add({"fshape": {"R": 2, "S": 1, "J": 2}, "strides": {"str_h": 2, "str_c": 1}}, x, (2, 1, 2), (2, 1, 1), (0, 0, 0))
        # As in neon, an axis of which nothing is said goes on by its window.
        add({"fshape": 2, "strides": {"str_h": 1}}, x, (2, 2), (1, 2), (0, 0))
        add({"fshape": {"R": 2, "S": 2, "J": 2}, "strides": {"str_w": 1}}, x, (2, 2, 2), (2, 1, 2), (0, 0, 0))
        add({"fshape": {"R": 2, "S": 2, "J": 2}, "strides": [1, 2]}, x, (2, 2, 2), (1, 2, 2), (0, 0, 0))
        add({"fshape": [2, 1, 2], "strides": {"str_d": 1}}, volume, (2, 1, 2), (1, 1, 2), (0, 0, 0))
        add({"fshape": [2, 1, 2], "strides": {"str_w": 1}}, volume, (2, 1, 2), (2, 1, 1), (0, 0, 0))


def trained(layers, data, labels, start, logits, steps=3, batch=8, rate=0.125, momentum=0.5):
    """A net's first gradients, costs and weights after some steps of gradient descent with momentum."""
    p = {name: Var(value) for name, value in start.items()}
    velocity = {name: np.zeros_like(value) for name, value in start.items()}
    costs, gradients = [], None
    for step in range(steps):
        rows = [(batch * step + i) % len(data) for i in range(batch)]
        cost = tape.cross_entropy(logits(Var(np.moveaxis(data[rows], 1, -1)), p), labels[rows])
        if step == 0:
            tape.check(lambda: tape.cross_entropy(logits(Var(np.moveaxis(data[rows], 1, -1)), p), labels[rows]),
                       list(p.values()), 1.0)
        cost.backward(1.0)
        if step == 0:
            gradients = {name: v.grad for name, v in p.items()}
        costs.append(float(cost.value))
        for name, v in p.items():
            velocity[name] = momentum * velocity[name] - rate * v.grad
            p[name] = Var(v.value + velocity[name])
    optimizer = {"GradientDescentMomentum": {"learning_rate": rate, "momentum_coef": momentum}}
    return dict(layers=layers, cost="CrossEntropyMulti", optimizer=optimizer, batch=batch, data=data,
                labels=labels.astype(float), parameters=start, gradients=gradients, costs=costs,
                after={name: v.value for name, v in p.items()})


def lenet():
    """Two convolutions with pooling, two affine layers, as LeCun et al. 1998 had them, smaller."""
    data, labels = draw("data", (20, 1, 12, 12)), stream("labels").integers(0, 4, 20)
    start = {"c1/W": draw("c1/W", (4, 3, 3, 1), 0.5), "c2/W": draw("c2/W", (6, 2, 2, 4), 0.5), "c2_bias/b": draw("c2_bias/b", 6, 0.25),
             "a1/W": draw("a1/W", (8, 24), 0.5), "a2/W": draw("a2/W", (4, 8), 0.5), "a2_bias/b": draw("a2_bias/b", 4, 0.25)}

    def logits(x, p):
        x = tape.pool_max(tape.relu(tape.convolution(x, p["c1/W"], (1, 1), (0, 0))), (2, 2), (2, 2), (0, 0))
        x = tape.relu(tape.convolution(x, p["c2/W"], (1, 1), (0, 0)) + p["c2_bias/b"])
        x = tape.pool_max(x, (2, 2), (2, 2), (0, 0))
        x = tape.relu(tape.linear(tape.reshape(x, (x.value.shape[0], -1)), p["a1/W"]))
        return tape.linear(x, p["a2/W"]) + p["a2_bias/b"]

    init = "Gaussian"
    layers = [{"Conv": {"name": "c1", "fshape": [3, 3, 4], "init": init, "activation": "Rectlin"}},
              {"Pooling": {"fshape": 2}},
              {"Conv": {"name": "c2", "fshape": [2, 2, 6], "init": init, "bias": init, "activation": "Rectlin"}},
              {"Pooling": {"fshape": 2}},
              {"Affine": {"name": "a1", "nout": 8, "init": init, "activation": "Rectlin"}},
              {"Affine": {"name": "a2", "nout": 4, "init": init, "bias": init, "activation": "Softmax"}}]
    return trained(layers, data, labels, start, logits)


def batch_norm_net():
    """Colour images, strides in place of pooling, batch norm, a mean over each map."""
    data, labels = draw("data", (20, 3, 7, 6)), stream("labels").integers(0, 4, 20)
    start = {"c1/W": draw("c1/W", (6, 3, 3, 3), 0.5), "c1_bnorm/gamma": np.ones(6), "c1_bnorm/beta": np.zeros(6),
             "c2/W": draw("c2/W", (4, 2, 2, 3), 0.5), "c2_bnorm/gamma": np.ones(4), "c2_bnorm/beta": np.zeros(4)}

    def logits(x, p):
        x = tape.convolution(x, p["c1/W"], (2, 1), (1, 1))
        x = tape.relu(tape.batch_norm(x, p["c1_bnorm/gamma"], p["c1_bnorm/beta"], 1e-3)[0])
        x = tape.convolution(x, p["c2/W"], (1, 1), (0, 0), groups=2)
        x = tape.tanh(tape.batch_norm(x, p["c2_bnorm/gamma"], p["c2_bnorm/beta"], 1e-3)[0])
        x = tape.pool_avg(x, x.value.shape[1:-1], (1, 1), (0, 0))
        return tape.reshape(x, (x.value.shape[0], 4))

    init = "Gaussian"
    layers = [{"Conv": {"name": "c1", "fshape": [3, 3, 6], "strides": [2, 1], "padding": 1, "init": init,
                        "batch_norm": True, "activation": "Rectlin"}},
              {"Conv": {"name": "c2", "fshape": 2, "nofm": 4, "groups": 2, "init": init, "batch_norm": True,
                        "activation": "Tanh"}},
              {"Pooling": {"fshape": "all", "op": "avg"}}, {"Activation": "Softmax"}]
    return trained(layers, data, labels, start, logits)


if __name__ == "__main__":
    write("backends/golden/crops.json", golden_crops.crops())
    write("layers/golden/images.json", layer_cases())
    write("models/golden/images.json", [lenet(), batch_norm_net()])
