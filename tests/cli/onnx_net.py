"""Reads an ONNX file and computes what it says in NumPy, in double precision: a second reading of the format, by other
code than neon's."""
import math
import struct
from types import SimpleNamespace

import numpy as np

from protobuf import fields, varint

FLOAT, INT64, BOOL = 1, 7, 9


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers_of(values):
    """A repeated field of whole numbers, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(signed(number))
    return out


def grouped(content):
    out = {}
    for number, value in fields(content):
        out.setdefault(number, []).append(value)
    return out


def attribute(content):
    of = grouped(content)
    kind = of[20][0]
    value = {1: lambda: struct.unpack("<f", of[2][0])[0], 2: lambda: signed(of[3][0]), 3: lambda: of[4][0].decode(),
             7: lambda: numbers_of(of[8])}[kind]()
    return of[1][0].decode(), value


def node(content):
    of = grouped(content)
    return SimpleNamespace(inputs=[name.decode() for name in of.get(1, [])], outputs=[name.decode() for name in of[2]],
                           name=of[3][0].decode(), op=of[4][0].decode(), of=dict(map(attribute, of.get(5, []))))


def tensor(content):
    of = grouped(content)
    kind = {FLOAT: "<f4", INT64: "<i8"}[of[2][0]]
    return of[8][0].decode(), np.frombuffer(of[9][0], kind).reshape(numbers_of(of.get(1, [])))


def argument(content):
    """Name, element type and sizes; a size with a name is that name."""
    of = grouped(content)
    array = grouped(grouped(of[2][0])[1][0])
    sizes = []
    for size in grouped(array[2][0]).get(1, []):
        of_size = grouped(size)
        sizes.append(of_size[1][0] if 1 in of_size else of_size[2][0].decode())
    return of[1][0].decode(), array[1][0], sizes


def read(path):
    with open(path, "rb") as file:
        model = grouped(file.read())
    graph = grouped(model[7][0])
    metadata = {entry[1][0].decode(): entry[2][0].decode() for entry in map(grouped, model.get(14, []))}
    (inputs,), (outputs,) = graph[11], graph[12]
    return SimpleNamespace(version=model[1][0], producer=model[2][0].decode(), opset=grouped(model[8][0])[2][0], metadata=metadata,
                           nodes=[node(each) for each in graph[1]], arrays=dict(map(tensor, graph.get(5, []))),
                           input=argument(inputs), output=argument(outputs))


def windows(x, of, size, outside):
    """x (N,C,...) -> (N,C, places..., sizes...) over two axes or three, with padding of that value."""
    axes, pads, strides = len(size), of["pads"], of["strides"]
    apart = of.get("dilations", [1] * axes)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:])], constant_values=outside)
    places = [(x.shape[2 + a] - apart[a] * (size[a] - 1) - 1) // strides[a] + 1 for a in range(axes)]
    out = np.empty(x.shape[:2] + tuple(places) + tuple(size))
    for at in np.ndindex(*size):
        first = [at[a] * apart[a] for a in range(axes)]
        out[(..., *at)] = x[(..., *(slice(first[a], first[a] + strides[a] * places[a], strides[a]) for a in range(axes)))]
    return out


def convolution(of, x, w):
    groups, maps = of["group"], w.shape[0] // of["group"]
    seen, channels, inside = windows(x, of, w.shape[2:], 0), w.shape[1], list(range(x.ndim, 2 * x.ndim - 2))
    parts = [np.tensordot(seen[:, g * channels:(g + 1) * channels], w[g * maps:(g + 1) * maps], ([1, *inside], [1, *range(2, w.ndim)])) for g in range(groups)]
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)


def transposed_convolution(of, x, w):
    axes, pads, strides = w.ndim - 2, of["pads"], of["strides"]
    assert of["group"] == 1 and of["dilations"] == [1] * axes
    sizes = [(x.shape[2 + a] - 1) * strides[a] + w.shape[2 + a] + of["output_padding"][a] for a in range(axes)]
    out = np.zeros((x.shape[0], w.shape[1], *sizes))
    for at in np.ndindex(*x.shape[2:]):
        place = tuple(slice(at[a] * strides[a], at[a] * strides[a] + w.shape[2 + a]) for a in range(axes))
        out[(..., *place)] += np.tensordot(x[(..., *at)], w, 1)
    return out[(..., *(slice(pads[a], sizes[a] - pads[axes + a]) for a in range(axes)))]


def over_windows(fold, x):
    """x (N,C, places..., sizes...) -> (N,C, places...)"""
    return fold(x, axis=tuple(range(x.ndim // 2 + 1, x.ndim)))


def mean_pool(of, x):
    seen, there = windows(x, of, of["kernel_shape"], 0), windows(np.ones_like(x), of, of["kernel_shape"], 0)
    count = np.prod(of["kernel_shape"]) if of.get("count_include_pad") else over_windows(np.sum, there)
    return over_windows(np.sum, seen) / count


def softmax(of, x):
    e = np.exp(x - x.max(of["axis"], keepdims=True))
    return e / e.sum(of["axis"], keepdims=True)


def gemm(of, a, b):
    return (a.T if of.get("transA") else a) @ (b.T if of.get("transB") else b)


def cast(of, x):
    return x.astype({FLOAT: np.float64, INT64: np.int64, BOOL: bool}[of["to"]])


def sliced(of, x, first, end, axes, steps=(1,)):
    place = [slice(None)] * x.ndim
    place[axes[0]] = slice(first[0], None if end[0] < -x.shape[axes[0]] else end[0], steps[0])
    return x[tuple(place)]


def padded(of, x, pads, value):
    around, kind = list(zip(pads[:x.ndim], pads[x.ndim:])), of["mode"]
    return np.pad(x, around, kind) if kind != "constant" else np.pad(x, around, kind, constant_values=value)


OPERATORS = {
    "Add": lambda of, a, b: a + b, "Sub": lambda of, a, b: a - b, "Mul": lambda of, a, b: a * b, "Div": lambda of, a, b: a / b,
    "Neg": lambda of, x: -x, "Pow": lambda of, a, b: a ** b, "Exp": lambda of, x: np.exp(x), "Log": lambda of, x: np.log(x), "Sqrt": lambda of, x: np.sqrt(x),
    "Reciprocal": lambda of, x: 1 / x, "Abs": lambda of, x: np.abs(x), "Erf": lambda of, x: np.vectorize(math.erf)(x), "Tanh": lambda of, x: np.tanh(x),
    "Sigmoid": lambda of, x: 1 / (1 + np.exp(-x)), "Relu": lambda of, x: np.maximum(x, 0), "Softplus": lambda of, x: np.logaddexp(0, x),
    "Max": lambda of, a, b: np.maximum(a, b), "Min": lambda of, a, b: np.minimum(a, b), "Identity": lambda of, x: x,
    "LeakyRelu": lambda of, x: np.where(x < 0, of["alpha"] * x, x), "PRelu": lambda of, x, s: np.where(x < 0, s * x, x),
    "Elu": lambda of, x: np.where(x < 0, of["alpha"] * np.expm1(np.minimum(x, 0)), x),
    "HardSigmoid": lambda of, x: np.clip(of["alpha"] * x + of["beta"], 0, 1),
    "Equal": lambda of, a, b: a == b, "Less": lambda of, a, b: a < b, "Greater": lambda of, a, b: a > b, "Not": lambda of, x: ~x,
    "LessOrEqual": lambda of, a, b: a <= b, "GreaterOrEqual": lambda of, a, b: a >= b,
    "Where": lambda of, c, a, b: np.where(c, a, b), "Cast": cast, "Gemm": gemm, "MatMul": lambda of, a, b: a @ b,
    "Conv": convolution, "ConvTranspose": transposed_convolution, "AveragePool": mean_pool,
    "MaxPool": lambda of, x: over_windows(np.max, windows(x, of, of["kernel_shape"], -np.inf)),
    "ReduceSum": lambda of, x, axes: x.sum(tuple(axes), keepdims=True),
    "ArgMax": lambda of, x: np.expand_dims(x.argmax(of["axis"]), of["axis"]),
    "ReduceMax": lambda of, x: x.max(tuple(of["axes"]), keepdims=True),
    "Softmax": softmax, "LogSoftmax": lambda of, x: np.log(softmax(of, x)),
    "Reshape": lambda of, x, shape: x.reshape(shape), "Transpose": lambda of, x: x.transpose(of["perm"]),
    "Concat": lambda of, *parts: np.concatenate(parts, of["axis"]), "Slice": sliced,
    "Gather": lambda of, x, places: np.take(x, places, of["axis"]),
    "Expand": lambda of, x, shape: x * np.ones(shape, x.dtype),
    "Pad": padded, "Shape": lambda of, x: np.array(x.shape),
}


def outputs(model, x):
    arrays = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in model.arrays.items()}
    arrays[model.input[0]] = x
    for each in model.nodes:
        arrays[each.outputs[0]] = OPERATORS[each.op](each.of, *(arrays[name] for name in each.inputs))
    return arrays[model.output[0]]
