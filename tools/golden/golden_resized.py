"""Layers of images without weights that change sizes or leave out samples, and filters of several groups. See
make_golden.py."""
import torch
import torch.nn.functional as F

from golden_file import draw

INIT = "GlorotUniform"


def upsampled(case):
    maps, volume = draw("maps", (2, 3, 4, 5)), draw("volume", (2, 2, 3, 2, 2))
    one = lambda scale, mode: lambda x: F.interpolate(x, scale_factor=scale, mode=mode, align_corners=None if mode == "nearest" else False)
    case("Upsample", maps, one(2, "nearest"))
    case({"Upsample": {"scale": [3, 1]}}, maps, one((3, 1), "nearest"))
    case({"Upsample": 2}, volume, one(2, "nearest"))
    for scale in (2, 3, (2, 5), (1, 4)):
        case({"Upsample": {"scale": list(scale) if isinstance(scale, tuple) else scale, "mode": "bilinear"}}, maps,
             one(scale, "bilinear"))
    case({"Upsample": {"scale": {"h": 3}, "mode": "linear"}}, maps, one((3, 1), "bilinear"))
    case({"Upsample": {"scale": [2, 3, 4], "mode": "trilinear"}}, volume, one((2, 3, 4), "trilinear"))
    case({"Upsample": {"scale": 4, "mode": "linear"}}, draw("one pixel", (2, 3, 1, 1)), one(4, "bilinear"))


def cut(case):
    def middle(x, memory):
        for axis in range(2, x.dim()):
            size = memory.shape[axis]
            x = x.narrow(axis, (x.shape[axis] - size) // 2, size)
        return x + 0 * memory.sum()

    case("CropToFit", draw("large", (2, 3, 7, 6)), middle, memory=draw("small", (2, 2, 4, 4)))
    case("CropToFit", draw("large", (2, 1, 4, 3, 6)), middle, memory=draw("small", (2, 2, 3, 3, 1)))


def filtered(case):
    x = draw("x", (2, 4, 3, 5))
    case({"Deconvolution": {"fshape": [3, 2, 6], "strides": 2, "padding": [1, 0], "groups": 2, "init": INIT}}, x,
         lambda x, **p: F.conv_transpose2d(x, p["L/W"].permute(0, 3, 1, 2), None, 2, (1, 0), groups=2),
         **{"L/W": draw("W", (4, 3, 2, 3))})
    case({"Deconv": {"fshape": 2, "nofm": 4, "groups": 4, "bias": INIT, "init": INIT, "activation": "Tanh"}}, x,
         lambda x, **p: torch.tanh(F.conv_transpose2d(x, p["L/W"].permute(0, 3, 1, 2), p["L_bias/b"], groups=4)),
         **{"L/W": draw("W", (4, 2, 2, 1)), "L_bias/b": draw("b", 4)})
    # The biases lie as the outputs do in memory, channels last.
    placed = lambda b, y: b.reshape(1, *y.shape[2:], y.shape[1]).movedim(-1, 1)
    for kind, shape, function, places in (("Conv", (2, 3, 3, 4), F.conv2d, (1, 3)), ("Deconv", (4, 3, 3, 2), F.conv_transpose2d, (5, 7))):
        def value(x, function=function, **p):
            y = function(x, p["L/W"].permute(0, 3, 1, 2))
            return F.relu(y + placed(p["L_bias/b"], y))

        case({kind: {"fshape": 3, "nofm": 2, "bias": INIT, "shared_bias": False, "init": INIT, "activation": "Rectlin"}}, x,
             value, **{"L/W": draw("W", shape), "L_bias/b": draw("b", 2 * places[0] * places[1])})


def layers(case):
    upsampled(case), cut(case), filtered(case)
    x = draw("x of depth", (3, 4, 2, 2))
    case({"StochasticDepth": {"keep": 1}}, x, lambda x: x.clone())
    case("StochasticDepth", x, lambda x: x.clone(), lambda x: x * 0.8, random=True)
    case({"GaussianNoise": {"deviation": 0}}, x, lambda x: x.clone())
    case({"GaussianNoise": {"sigma": 0.5}}, x, lambda x: x.clone(), random=True)
    case({"DropPath": 0.5}, draw("rows of depth", (3, 4)), lambda x: x.clone(), lambda x: x * 0.5, random=True)
