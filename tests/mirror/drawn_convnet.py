"""A training of a net of images drawn from a seed: its spec, its data, its first weights."""
import random

import numpy as np

import convnet
from net import HIDDEN, LAST

COSTS = ["SumSquared", "MeanSquared", "SmoothL1Loss", "CrossEntropyBinary"]


class Training:
    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), np.random.RandomState(seed)
        d = self.draw
        self.caffe, self.named = d.random() < 0.25, 0
        self.net = convnet.Net(self.numbers, self.caffe)
        axes = d.choice([2, 2, 2, 3])
        self.sample = [d.randint(1, 4), *(d.randint(2, 9 if axes == 2 else 5) for _ in range(axes))]
        self.alone = True  # whether a batch of one will do
        data = self.net.samples(self.numbers.rand(2, *self.sample))
        self.net.passed["data"] = data
        self.layers, x = self.chain(data, d.randint(1, 5), 0)
        self.costs, self.weights = [], [1]
        self.draw_head(x)
        self.draw_data()
        self.epochs, self.batch = d.randint(1, 3), d.randint(1 if self.alone else 2, 5)
        self.samples = self.batch * d.randint(1, 2) + d.randint(0, self.batch - 1)
        if not self.alone and self.samples % self.batch == 1:
            self.samples -= 1
        self.x, self.y, self.t = (a[:self.samples] for a in (self.x, self.y, self.t))
        p = {"learning_rate": d.choice([0.02, 0.1]), "momentum_coef": d.choice([0, 0.5, 0.9]), "wdecay": d.choice([0, 0.01])}
        steps = -(-self.samples // self.batch) * self.epochs
        self.accumulate, self.ema = min(d.choice([1, 1, 1, 2, 3]), steps), d.choice([0, 0, 0, 0.5])
        if self.costs == ["SumSquared"]:
            p["learning_rate"] /= self.t.shape[1]
        self.optimizer = {"GradientDescentMomentum": p}

    def name(self):
        self.named += 1
        return f"l{self.named}"

    def activation(self):
        return self.draw.choice(HIDDEN)[0] if self.draw.random() < 0.4 else "Rectlin"

    # A layer, and what it makes of x.

    def chain(self, x, length, depth, same=False):
        """Layers one after the other; `same`: such that sizes in space stay as they are."""
        layers = []
        for _ in range(length):
            layer = self.layer(x, depth, same)
            if layer:
                (p,) = layer.values()
                p.setdefault("name", self.name())
                x = self.net.run([layer], x)
                layers.append(layer)
        if not layers:
            return [{"SkipNode": {}}], x
        return layers, x

    def layer(self, x, depth, same):
        if x.value.ndim == 2:
            return self.draw.choice([self.affine, self.normal])(x)
        kinds = [self.conv] * 4 + [self.pooling] * 3 + [self.normal, self.one_by_one]
        if not same:
            kinds += [self.deconv, self.local, self.reshaped] + ([self.affine] if depth else [])
        if depth < 2:
            kinds += [self.merged] * 3 + [self.merged_by_name]
        return self.draw.choice(kinds)(x, same=same, depth=depth)

    def spelled(self, values, letters, more=None):
        """Numbers of the axes in one of the ways in which a spec has them; more: a number for another axis, by its letter."""
        if more or self.draw.random() < 0.3:
            return {**{letter: n for letter, n in zip(letters[-len(values):], values)}, **(more or {})}
        return values[0] if len(set(values)) == 1 and self.draw.random() < 0.7 else list(values)

    def filter(self, x, same, widest=4, wider=(1, 1, 1, 2)):
        """Parameters of windows that fit."""
        d, size, strides, padding, dilation = self.draw, [], [], [], []
        for n in convnet.last(x).value.shape[1:-1]:
            p, s, dil = d.choice([0, 0, 1, 2]), d.choice([1, 1, 2, 3]), d.choice(wider)
            f = d.randint(1, max(1, min(widest, (n + 2 * p - 1) // dil + 1)))
            if same:
                f = d.choice([1, 3])
                p, s = dil * (f - 1) // 2, 1
            size.append(f), strides.append(s), padding.append(p), dilation.append(dil)
        return size, strides, padding, dilation

    def filters(self, x, same, maps):
        size, strides, padding, dilation = self.filter(x, same)
        p = {"name": self.name(), "fshape": self.spelled(size, "TRS"), "nofm": maps, "init": None}
        if self.draw.random() < 0.3:
            p["fshape"], _ = self.spelled(size, "TRS", {"K": maps}) if self.draw.random() < 0.5 else [*size, maps], p.pop("nofm")
        for key, values, usual, prefix in (("strides", strides, 1, "str_"), ("padding", padding, 0, "pad_"), ("dilation", dilation, 1, "dil_")):
            if set(values) != {usual} or self.draw.random() < 0.2:
                p[key] = self.spelled(values, [prefix + axis for axis in "dhw"])
        return p

    def finish(self, p):
        kind = self.draw.choice(["", "bias", "bias", "batch_norm"])
        if kind:
            p[kind] = True
            self.alone &= kind == "bias"
        if self.draw.random() < 0.8:
            p["activation"] = self.activation()
        return p

    def conv(self, x, same, depth):
        groups, channels = 1, convnet.last(x).value.shape[-1]
        if self.draw.random() < 0.3:
            groups = self.draw.choice([g for g in range(1, channels + 1) if channels % g == 0])
        p = self.finish(self.filters(x, same, groups * self.draw.randint(1, max(1, 8 // groups))))
        return {"Conv": {**p, "groups": groups} if groups > 1 else p}

    def deconv(self, x, same, depth):
        p = self.filters(x, True, self.draw.randint(1, 4))
        del p["name"]
        p = {"name": self.name(), **p, "strides": self.draw.randint(1, 2), "padding": 0}
        return {"Deconv": self.finish(p)} if np.prod(x.value.shape) < 1000 else None

    def local(self, x, same, depth):
        p = self.filters(x, False, self.draw.randint(1, 3))
        if self.draw.random() < 0.7:
            p.update(bias=True, shared_bias=self.draw.random() < 0.5)
        return {"Local": {**p, "activation": self.activation()}}

    def affine(self, x, **_):
        return {"Affine": self.finish({"name": self.name(), "nout": self.draw.randint(1, 6), "init": None})}

    def pooling(self, x, same, depth):
        if not same and self.draw.random() < 0.2:
            return {"Pooling": {"fshape": "all", "op": self.draw.choice(["max", "avg", "l2"])}}
        x = convnet.last(x)
        size, strides, padding, _ = self.filter(x, same, 3, [1])
        sizes = x.value.shape[1:-1]
        size = [min(f, n + 2 * b) for f, n, b in zip(size, sizes, padding)]
        padding = [min(b, f - 1) for f, b in zip(size, padding)]
        size = [f if same else min(f, n + 2 * b) for f, n, b in zip(size, sizes, padding)]
        maps, over = self.draw.randint(1, x.value.shape[-1]), self.draw.random() < 0.25
        p = {"fshape": self.spelled(size, "TRS", {"J": maps} if over else None),
             "op": self.draw.choice(["max", "max", "avg", "mean", "l2"])}
        if same or self.draw.random() < 0.7:
            more = {"str_c": self.draw.randint(1, maps)} if over and self.draw.random() < 0.5 else None
            p["strides"] = self.spelled(strides, ["str_d", "str_h", "str_w"], more)
        if any(padding) or over:
            more = {"pad_c": self.draw.randint(0, maps - 1)} if over else None
            p["padding"] = self.spelled(padding, ["pad_d", "pad_h", "pad_w"], more)
        return {"Pooling": p}

    def normal(self, x, **_):
        d = self.draw
        kind = d.choice(["BatchNorm", "Bias", "Activation"] + ["LRN", "CrossMapResponseNorm", "LocalContrastNorm"] * (x.value.ndim > 2))
        if kind == "BatchNorm":
            self.alone = False
            return {kind: {"name": self.name(), "rho": d.choice([0.5, 0.9]), "eps": d.choice([1e-3, 0.1])}}
        if kind == "Bias":
            return {kind: {"name": self.name(), "init": None}}
        if kind == "Activation":
            return {kind: {"transform": self.activation()}}
        power = {"alpha": d.choice([0.5, 2]), "beta": d.choice([0.5, 0.75, 1])}
        if kind == "LRN":
            return {kind: {"depth": d.choice([1, 3, 5]), "ascale": power["alpha"], "bpower": power["beta"], "alpha": d.choice([1, 0.5])}}
        return {kind: {"ksize": d.randint(1, 4 if kind == "CrossMapResponseNorm" else 3), **power}}

    def reshaped(self, x, **_):
        channels, *space = convnet.first(x).value.shape[1:]
        return {"Reshape": {"reshape": self.draw.choice([[channels, *space[::-1]], [channels * space[0], 1, *space[1:]],
                                                         [1, channels * space[0], int(np.prod(space[1:]))]])}}

    def one_by_one(self, x, **_):
        d, channels = self.draw, convnet.last(x).value.shape[-1]
        pieces = [n for n in range(2, channels + 1) if channels % n == 0]
        kinds = ["CrossMapPooling", "Slice"] + ["Maxout"] * bool(pieces)
        kind = d.choice(kinds)
        if kind == "CrossMapPooling":
            return {kind: {"name": self.name(), "nofm": d.randint(1, 6), "init": None, "activation": self.activation()}}
        if kind == "Maxout":
            return {kind: {"pieces": d.choice(pieces)}}
        begin = d.randint(0, channels - 1)
        return {kind: {"begin_idx": begin, "end_idx": d.randint(begin + 1, channels)}}

    def merged(self, x, same, depth):
        d = self.draw
        kind = d.choice(["MergeSum", "MergeMean", "MergeProduct", "MergeConcat", "MergeBroadcast"])
        count, stack = d.randint(1, 3), kind == "MergeBroadcast" and not same and d.random() < 0.5
        branches = [self.chain(x, d.randint(0, 2), depth + 1, same=not stack) for _ in range(count)]
        if kind in ("MergeSum", "MergeMean", "MergeProduct"):
            channels = d.choice([y.value.shape[-1] for _, y in branches if not convnet.is_first(y)] or [3])
            for branch, y in branches:
                if convnet.last(y).value.shape[-1] != channels:
                    branch.append({"Conv": self.finish({"name": self.name(), "fshape": 1, "nofm": channels, "init": None})})
        p = {"name": self.name(), "layers": [branch for branch, _ in branches]}
        if kind == "MergeBroadcast":
            p["merge"] = "stack" if stack else "depth"
        if d.random() < 0.25:
            p["alphas"] = [d.choice([0, 0.5, 1, 2]) for _ in branches]
        return {kind: p}

    def merged_by_name(self, x, same, depth):
        d, shape = self.draw, convnet.last(x).value.shape
        alike = [name for name, y in self.net.passed.items() if convnet.last(y).value.shape[:-1] == shape[:-1]]
        before = [name for name in alike if self.net.passed[name] is x][-1:]  # a layer whose outputs none takes is an error
        chosen = before + d.sample(alike, min(len(alike), d.randint(0, 2)))
        if not before:
            return None
        channels = {convnet.last(self.net.passed[name]).value.shape[-1] for name in chosen}
        if len(channels) == 1 and d.random() < 0.7:
            return {"MergeSum": {"name": self.name(), "inputs": chosen}}
        return {"MergeConcat": {"name": self.name(), "inputs": chosen}}

    # What the net ends in, and what it is compared with.

    def draw_head(self, x):
        d = self.draw
        self.labelled = d.random() < 0.6
        self.classes = d.randint(2, 4)
        if self.labelled:
            self.last = "Softmax"
            if d.random() < 0.35:
                return self.draw_tree(x)
            head = d.choice([self.affine_head, self.affine_head, self.map_head])(x)
            self.costs = ["CrossEntropyMulti"]
        else:
            self.costs = [d.choice(COSTS)]
            self.last = "Logistic" if self.costs[0] == "CrossEntropyBinary" else d.choice(["Identity", "Tanh", "Logistic"])
            head = self.value_head(x)
        self.end(head, x)

    def end(self, head, x):
        self.layers = [*self.layers, *head]
        self.out = convnet.first(self.net.run(head, x))

    def affine_head(self, x, name="out"):
        return [{"Affine": {"name": name, "nout": self.classes, "init": None, "bias": True, "activation": self.last}}]

    def map_head(self, x):
        if x.value.ndim == 2:
            return self.affine_head(x)
        return [{"Conv": {"name": self.name(), "fshape": 1, "nofm": self.classes, "init": None, "bias": True}},
                {"Pooling": {"fshape": "all", "op": "avg"}}, {"Activation": {"name": "out", "transform": self.last}}]

    def value_head(self, x):
        if x.value.ndim == 2 or self.draw.random() < 0.3:
            return self.affine_head(x)
        p = self.filters(x, True, self.draw.randint(1, 3))
        return [{"Conv": {**p, "name": "out", "activation": self.last}}]

    def draw_tree(self, x):
        d, node = self.draw, {"BranchNode": {"name": "node"}}
        trunk = [node]
        self.net.run([node], x)
        more, y = self.chain(x, d.randint(1, 2), 2)
        trunk += more + self.affine_head(y)
        branches = [trunk]
        for i in range(d.randint(1, 2)):
            more, y = self.chain(x, d.randint(0, 1), 2)
            branches.append([{"BranchNode": {"name": "node"}}, *more, *self.affine_head(y, f"out{i}")])
        p = {"layers": branches}
        if d.random() < 0.4:
            p["alphas"] = [d.choice([0.5, 1, 2]) for _ in branches]
        self.costs, self.weights = ["CrossEntropyMulti"] * len(branches), [d.choice([0.3, 1]) for _ in branches]
        self.end([{d.choice(["Tree", "Tree", "SingleOutputTree"]): p}], x)

    def draw_data(self):
        """Bytes, or f32 as samples are held in."""
        d, most, tests = self.draw, 14, self.draw.randint(1, 6)
        self.bytes = d.random() < 0.3
        draw = (lambda n: self.numbers.randint(0, 256, (n, *self.sample)).astype(np.uint8)) if self.bytes else \
            (lambda n: self.numbers.randn(n, *self.sample).astype(np.float32))
        self.scale, self.shift = (1 / 128, -1) if self.bytes else (1, 0)
        self.raw, self.raw_test = draw(most), draw(tests)
        self.x, self.x_test = (self.scale * raw.astype(float) + self.shift for raw in (self.raw, self.raw_test))
        if self.labelled:
            self.y, self.y_test = (self.numbers.randint(0, self.classes, n) for n in (most, tests))
            self.t, self.t_test = (np.eye(self.classes)[y] for y in (self.y, self.y_test))
        else:
            self.y, self.y_test = (self.numbers.rand(n, *self.out.value.shape[1:]).astype(np.float32) for n in (most, tests))
            self.t, self.t_test = (y.reshape(len(y), -1).astype(float) for y in (self.y, self.y_test))

    def arrays(self):
        return {"x_train": self.turned(self.raw[:self.samples]), "x_test": self.turned(self.raw_test),
                "y_train": self.y, "y_test": self.y_test}

    def turned(self, raw):
        return np.moveaxis(raw, 1, -1) if self.channels_last() else raw

    def channels_last(self):
        return self.bytes and len(self.sample) == 3

    def options(self):
        return ["--caffe"] if self.caffe else []

    def spec(self):
        data = {"path": "d.npz", "scale": self.scale, "shift": self.shift, "channels_last": self.channels_last()}
        costs = [{cost: {}} for cost in self.costs]
        return {"dataset": {"NPZ": {**data, **({"classes": self.classes} if self.labelled else {})}}, "layers": self.layers,
                "cost": costs[0] if len(costs) == 1 else {"Multicost": {"costs": costs, "weights": self.weights}},
                **({} if self.labelled else {"metrics": []}), "optimizer": self.optimizer,
                "batch_size": self.batch, "epochs": self.epochs, "shuffle": False,
                "accumulate": self.accumulate, "ema": self.ema}
