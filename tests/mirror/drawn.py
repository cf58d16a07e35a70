"""A small training drawn from a seed: its spec, its data, its first weights."""
import fnmatch
import random

import numpy as np

from net import HIDDEN, LAST, LEARNED

COSTS = ["CrossEntropyMulti"] * 3 + ["CrossEntropyBinary", "SumSquared", "MeanSquared", "SmoothL1Loss", "SquareHingeLoss", "Focal", "FocalBinary"]
SCHEDULES = [
    {"Schedule": {"step_config": 2, "change": 0.5}}, {"Schedule": {"step_config": [1, 3], "change": 0.3}},
    {"Schedule": {"step_config": [1, 3], "change": [0.02, 0.3]}}, {"StepSchedule": {"step_config": [0, 2], "change": [0.1, 0.05]}},
    {"PowerSchedule": {"step_config": 2, "change": 0.7}}, {"ExpSchedule": {"decay": 0.4}}, {"PolySchedule": {"power": 1.5}},
    {"PolySchedule": {"total_epochs": 9, "power": 2}}, {"ShiftSchedule": {"interval": 2, "shift_size": 1}}, {"Cosine": {}},
    {"Cosine": {"warmup": 1.3, "floor": 0.1}}, {"Warmup": {"warmup": 0.7}},
    {"Warmup": {"warmup": 1.5, "then": {"ExpSchedule": {"decay": 0.3}}}}, {"Warmup": {"warmup": 1, "then": {"Cosine": {}}}},
    {"OneCycle": {"rise": 0.4, "start": 0.1, "floor": 0.01}}, {"CosineRestarts": {"period": 1.4, "factor": 1.5, "floor": 0.1}}]


class Training:
    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), np.random.RandomState(seed)
        d = self.draw
        self.samples, self.tests = d.randint(5, 30), d.randint(1, 11)
        self.features, self.units, self.classes = d.randint(1, 6), d.randint(1, 8), d.randint(2, 4)
        self.hidden, self.kind = d.choice(HIDDEN + LEARNED), d.choice(COSTS)
        self.longest = 0.25 if self.hidden[0] == "Selu" else 1  # its slope of 1.75 lets long steps diverge
        usual = {"CrossEntropyMulti": "Softmax", "CrossEntropyBinary": "Logistic", "Focal": "Softmax", "FocalBinary": "Logistic"}.get(self.kind)
        self.last = usual or d.choice([name for name in LAST if name != "Softmax"])
        self.cost_params = self.draw_cost_params()
        self.draw_data()
        self.weights = {"first/W": self.uniform(0.6, self.units, self.features), "first_bias/b": self.uniform(0.3, self.units),
                        "second/W": self.uniform(0.6, self.classes, self.units), "second_bias/b": self.uniform(0.3, self.classes)}
        if self.hidden in LEARNED:
            self.weights[self.hidden[4]] = np.full(self.units, self.hidden[5])
        self.batch, self.epochs = d.randint(1, min(self.samples, 9)), d.randint(2, 6)
        self.steps = -(-self.samples // self.batch)  # of an epoch
        self.accumulate, self.ema = min(d.choice([1, 1, 1, 2, 3, 5]), self.steps * self.epochs), d.choice([0, 0, 0.5, 0.9])
        self.draw_optimizers()
        patterns = self.maybe(0.3, ["first"], ["first*", "second_bias"], ["*/W"], ["second/W", "first_bias"])
        self.freeze = patterns or []
        self.draw_class_weights()

    def draw_class_weights(self):
        """As the spec has them, and of each sample."""
        given, self.sample_weights = None, np.ones(self.samples)
        if self.labelled:
            given = self.maybe(0.3, "balanced", [self.draw.choice([0.25, 1, 3]) for _ in range(self.classes)], {"1": 2.5})
        if given:
            counts = np.bincount(self.y, minlength=self.classes)
            of_class = {"balanced": lambda c: self.samples / ((counts > 0).sum() * counts[c]),
                        list: lambda c: given[c], dict: lambda c: given.get(str(c), 1)}
            self.sample_weights = np.array([of_class[given if given == "balanced" else type(given)](c) for c in self.y])
        self.class_weights = given or []

    def is_frozen(self, array):
        layer = array.split("/")[0]
        return any(fnmatch.fnmatchcase(name, pattern) for name in (array, layer, layer.partition("_")[0])
                   for pattern in self.freeze)

    def layers_behind(self, array):
        """Trained layers after an array's."""
        trained = {name.split("/")[0].partition("_")[0] for name in self.weights if not self.is_frozen(name)}
        return int(array.startswith("first") and "second" in trained)

    def maybe(self, share, *values):
        return self.draw.choice(values) if self.draw.random() < share else None

    def uniform(self, most, *shape):
        return self.numbers.uniform(-most, most, shape)

    def draw_cost_params(self):
        known = {"CrossEntropyMulti": {"smoothing": (0.5, 0.1, 0.4), "usebits": (0.3, True), "scale": (0.3, 2.0, 0.5)},
                 "CrossEntropyBinary": {"scale": (0.3, 2.0, 0.5)}, "SmoothL1Loss": {"sigma": (0.5, 1.5)},
                 "Focal": {"gamma": (0.6, 0.5, 1, 3)}, "FocalBinary": {"gamma": (0.6, 0.5, 3), "alpha": (0.5, 0.6)},
                 "SquareHingeLoss": {"margin": (0.5, 0.6)}}.get(self.kind, {})
        drawn = {name: self.maybe(*among) for name, among in known.items()}
        return {name: value for name, value in drawn.items() if value is not None}

    def draw_data(self):
        """Samples are held in f32."""
        normal = lambda *shape: self.numbers.randn(*shape).astype(np.float32).astype(float)
        self.x, self.x_test = normal(self.samples, self.features), normal(self.tests, self.features)
        self.labelled = self.kind not in ("SumSquared", "MeanSquared", "SmoothL1Loss") or self.draw.random() < 0.3
        if self.labelled:
            labels = [self.numbers.randint(0, self.classes, n) for n in (self.samples, self.tests)]
            self.y, self.y_test = labels
            self.t, self.t_test = (np.eye(self.classes)[some] for some in labels)
        else:
            self.t, self.t_test = self.y, self.y_test = normal(self.samples, self.classes), normal(self.tests, self.classes)

    def draw_optimizer(self):
        kind = self.draw.choice(["GradientDescentMomentum"] * 3 + ["RMSProp", "Adagrad", "Adadelta", "Adam", "AdamW", "LAMB", "LARS",
                                                                     "ShiftAdaMax"])
        p = {"gradient_clip_norm": self.maybe(0.35, 0.02, 0.1, 0.5), "gradient_clip_value": self.maybe(0.35, 0.005, 0.02, 0.1),
             "param_clip_value": self.maybe(0.25, 0.1, 0.4), "layer_decay": self.maybe(0.25, 0.3, 0.8), "schedule": self.maybe(0.6, *SCHEDULES)}
        if kind == "GradientDescentMomentum":
            p.update(learning_rate=self.draw.choice([0.05, 0.2, 0.5]) * self.longest, momentum_coef=self.maybe(0.7, 0.5, 0.9),
                     nesterov=self.maybe(0.3, True), wdecay=self.maybe(0.4, 0.01, 0.1))
            if p["momentum_coef"] and self.draw.random() < 0.2:
                p.update(momentum_end=0.7, momentum_epochs=[0, 2])
        elif kind == "LARS":
            p.update(learning_rate=self.draw.choice([0.2, 1]), trust=self.draw.choice([0.005, 0.02]), momentum_coef=self.maybe(0.7, 0, 0.5))
        elif kind != "Adadelta":
            p["learning_rate"] = self.maybe(0.7, 0.01, 0.03, 0.1)
        if kind in ("Adam", "AdamW", "LAMB", "ShiftAdaMax"):
            p["beta_1"] = self.maybe(0.4, 0.0, 0.5)
        if kind == "RMSProp":
            p["momentum_coef"] = self.maybe(0.3, 0.5, 0.9)
            p["root_epsilon"] = False if p["learning_rate"] == 0.03 else None
            if p["momentum_coef"] and self.draw.random() < 0.3:
                p.update(momentum_end=0.7, momentum_epochs=[0, 2])
        if kind in ("RMSProp", "Adagrad", "Adam"):
            p["clip_step"] = self.maybe(0.4, True)
        if kind in ("Adam", "AdamW", "LAMB"):  # 0 would divide noise by its own size
            p["beta_2"] = self.maybe(0.4, 0.5, 0.9)
        if kind in ("AdamW", "LAMB", "LARS"):
            p["wdecay"] = self.maybe(0.5, 0, 0.3)
        if not p.get("momentum_coef"):
            p.pop("nesterov", None)
        return {kind: {name: value for name, value in p.items() if value is not None}}

    def draw_optimizers(self):
        """By the name or class of a layer, or for all."""
        self.optimizers = {"default": self.draw_optimizer()}
        if self.draw.random() < 0.35:
            names = ["Bias", "Linear", "first", "second", "second_bias"] + [self.hidden[0]] * (self.hidden in LEARNED)
            for name in self.draw.sample(names, self.draw.randint(1, 2)):
                self.optimizers[name] = self.draw_optimizer()

    def optimizer_of(self, array):
        layer = array.split("/")[0]
        kind = {"bias": "Bias", "act": self.hidden[0]}.get(layer.partition("_")[2], "Linear")
        for name in (layer, kind):
            if name in self.optimizers:
                return name
        return "default"

    def spec(self):
        from_array = lambda name: {"Array": {"val": [float(v) for v in self.weights[name].ravel()]}}
        affine = lambda name, nout, activation: {"Affine": {"name": name, "nout": nout, "init": from_array(name + "/W"),
                                                            "bias": from_array(name + "_bias/b"), "activation": activation}}
        several = len(self.optimizers) > 1
        return {"dataset": {"NPZ": {"path": "d.npz", **({"classes": self.classes} if self.labelled else {})}},
                "layers": [affine("first", self.units, self.hidden[0]), affine("second", self.classes, self.last)],
                "cost": {self.kind: self.cost_params}, **({} if self.labelled else {"metrics": []}),
                "freeze": self.freeze, "class_weights": self.class_weights, "optimizer": {"MultiOptimizer": self.optimizers} if several else self.optimizers["default"],
                "batch_size": self.batch, "epochs": self.epochs, "shuffle": False, "accumulate": self.accumulate,
                "ema": self.ema, "datatype": "f64"}
