"""Layers (outputs, gradients, running statistics) and a small net (loss, gradients, ten steps). See make_golden.py."""
import numpy as np
import torch
import torch.nn.functional as F

import golden_recurrent
import golden_resized
import golden_sequences
import golden_transformer
from golden_file import draw, stream


class BatchNorm:
    """neon's: the running variance is the batch's own (PyTorch's is the unbiased one); it starts from 1."""

    def __init__(self, rho=0.9, eps=1e-3):
        self.rho, self.eps, self.mean, self.variance = rho, eps, 0.0, 1.0

    def train(self, x, gamma, beta):
        axes = [0] + list(range(2, x.dim()))
        self.mean = self.rho * self.mean + (1 - self.rho) * x.detach().mean(axes)
        self.variance = self.rho * self.variance + (1 - self.rho) * x.detach().var(axes, unbiased=False)
        return F.batch_norm(x, None, None, gamma, beta, training=True, eps=self.eps)

    def infer(self, x, gamma, beta):
        return F.batch_norm(x, self.mean, self.variance, gamma, beta, training=False, eps=self.eps)


class ShiftBatchNorm(BatchNorm):
    """Courbariaux et al. 2016, algorithm 3: products with the nearest powers of two, which pass gradients straight."""

    def shift(self, a, b):
        power = torch.sign(b) * 2.0 ** torch.round(torch.log2(b.abs()))
        return a * (power.detach() + (b - b.detach()))

    def scaled(self, distance, variance, gamma, beta):
        wide = lambda v: v.reshape([1, -1] + [1] * (distance.dim() - 2))
        return self.shift(self.shift(distance, wide((variance + self.eps) ** -0.5)), wide(gamma)) + wide(beta)

    def train(self, x, gamma, beta):
        axes = [0] + list(range(2, x.dim()))
        mean = x.mean(axes, keepdim=True)
        variance = self.shift(x - mean, x - mean).mean(axes)
        self.mean = self.rho * self.mean + (1 - self.rho) * mean.detach().flatten()
        self.variance = self.rho * self.variance + (1 - self.rho) * variance.detach()
        return self.scaled(x - mean, variance, gamma, beta)

    def infer(self, x, gamma, beta):
        return self.scaled(x - self.mean.reshape([1, -1] + [1] * (x.dim() - 2)), self.variance, gamma, beta)


def other_products(case, x, w, b):
    """A layer of a transposed matrix, and an RBM, whose visible biases have no part in its outputs."""
    case({"Linear": {"nout": 3, "init": "GlorotUniform", "transpose": True}}, x, lambda x, **p: x @ p["L/W"],
         **{"L/W": w.T.copy()})
    case({"RBM": {"nout": 3, "init": "GlorotUniform"}}, x,
         lambda x, **p: torch.sigmoid(x @ p["L/W"].T + p["L_bias/b"]) + 0 * p["L_visible/b"].sum(),
         **{"L/W": w, "L_bias/b": b, "L_visible/b": draw("visible", 4)})


def binary(case):
    """Signs, whose gradient passes within [-1, 1]; some inputs and weights lie beyond."""
    def sign(v):
        passed = torch.where(v.abs() <= 1, v, v.detach())
        return passed + (torch.where(v >= 0, 1.0, -1.0) - passed).detach()

    x, w, b = draw("binary x", (6, 4)), draw("binary W", (3, 4)), draw("b", 3)
    assert (abs(x) > 1).any() and (abs(w) > 1).any() and (abs(x) < 1).any() and (abs(w) < 1).any()
    init = "GlorotUniform"
    case({"BinaryLinear": {"nout": 3, "init": init}}, x, lambda x, **p: sign(x) @ sign(p["L/W"]).T, **{"L/W": w})
    case({"BinaryLinear": {"nout": 3, "init": init, "binary_input": False}}, x, lambda x, **p: x @ sign(p["L/W"]).T, **{"L/W": w})
    case({"BinaryAffine": {"nout": 3, "init": init, "bias": init, "activation": "Tanh"}}, x,
         lambda x, **p: torch.tanh(sign(x) @ sign(p["L/W"]).T + p["L_bias/b"]), **{"L/W": w, "L_bias/b": b})
    images, filters = draw("binary images", (2, 3, 4, 5)), draw("binary filters", (2, 3, 3, 3))
    case({"BinaryConv": {"fshape": [3, 3, 2], "padding": 1, "init": init}}, images,
         lambda x, **p: F.conv2d(sign(x), sign(p["L/W"]).permute(0, 3, 1, 2), padding=1), **{"L/W": filters})
    bn = BatchNorm()
    part = lambda method: lambda x, **p: method(sign(x) @ sign(p["L/W"]).T, p["L_bnorm/gamma"], p["L_bnorm/beta"])
    case({"BinaryAffine": {"nout": 3, "init": init, "batch_norm": True}}, x, part(bn.train), part(bn.infer), bn, "L_bnorm",
         **{"L/W": w, "L_bnorm/gamma": draw("gamma", 3), "L_bnorm/beta": draw("beta", 3)})


def batch_norms(case, arrays, gamma, beta):
    """Each kind of batch norm by itself."""
    for name, options, bn_class, defaults in (
            ("BatchNorm", {}, BatchNorm, (0.9, 1e-3)), ("BatchNorm", dict(rho=0.5, eps=0.25), BatchNorm, (0.5, 0.25)),
            ("BatchNormAutodiff", {}, BatchNorm, (0.99, 1e-6)), ("ShiftBatchNorm", {}, ShiftBatchNorm, (0.99, 1e-6)),
            ("BatchNorm", dict(binary=True), ShiftBatchNorm, (0.9, 1e-3))):
        for data in arrays:
            bn = bn_class(*defaults)
            case({name: options}, data, lambda x, **p: bn.train(x, p["L/gamma"], p["L/beta"]),
                 lambda x, **p: bn.infer(x, p["L/gamma"], p["L/beta"]), bn, "L",
                 **{"L/gamma": gamma, "L/beta": beta})


def layers():
    x, maps, cases = draw("x", (6, 4)), draw("maps", (3, 4, 1, 2)), []

    def case(layer, x, train, infer=None, bn=None, states=None, random=False, sequence=False, tokens=0, memory=None,
             lengths=None, **parameters):
        """Two training passes over the same x, so that running statistics move twice; then inference, which alone is
        meant of a layer that draws. Sequences are (N,T,F), tokens (N,T); results for steps beyond lengths are 0."""
        p = {name: torch.tensor(value, requires_grad=True) for name, value in parameters.items()}
        tx = torch.tensor(x, requires_grad=True)
        more = {} if memory is None else {"memory": torch.tensor(memory, requires_grad=True)}
        y = train(tx, **more, **p)
        kind = {"sequence": True} if sequence else {"tokens": tokens} if tokens else {}
        kind |= {"lengths": np.array(lengths, dtype=float)} if lengths else {}
        g = draw(layer, tuple(y.shape))
        if y.requires_grad:
            y.backward(torch.tensor(g))
        result = dict(layer=layer, random=random, **kind, x=x, g=g, parameters=parameters, y=y.detach().numpy(),
                      **({} if tokens else {"dx": tx.grad.numpy()}),
                      **({} if memory is None else {"memory": memory, "dmemory": more["memory"].grad.numpy()}),
                      gradients={name: t.grad.numpy() for name, t in p.items()}, states={})
        if bn:
            train(tx, **p)
            for name, one in (bn if isinstance(bn, dict) else {states: bn}).items():
                result["states"] |= {name + "/gmean": one.mean.numpy(), name + "/gvar": one.variance.numpy()}
        result["inference"] = (infer or train)(tx, **more, **p).detach().numpy()
        cases.append(result)

    w, b, init = draw("W", (3, 4)), draw("b", 3), "GlorotUniform"
    case({"Linear": {"nout": 3, "init": init}}, x, lambda x, **p: x @ p["L/W"].T, **{"L/W": w})
    case({"Linear": {"nout": 2, "init": init}}, maps, lambda x, **p: x.flatten(1) @ p["L/W"].T,
         **{"L/W": draw("W", (2, 8))})
    case({"Bias": {"init": init}}, x, lambda x, **p: x + p["L/b"], **{"L/b": draw("b", 4)})
    case({"Bias": {"init": init}}, maps, lambda x, **p: x + p["L/b"][:, None, None], **{"L/b": draw("b", 4)})
    case({"Activation": "Tanh"}, maps, torch.tanh)
    case({"Activation": {"transform": {"Explin": {"alpha": 2}}}}, x, lambda x: F.elu(x, 2.0))
    case({"Affine": {"nout": 3, "init": init}}, x, lambda x, **p: x @ p["L/W"].T, **{"L/W": w})
    case({"Affine": {"nout": 3, "init": init, "bias": init, "activation": "Logistic"}}, x,
         lambda x, **p: torch.sigmoid(x @ p["L/W"].T + p["L_bias/b"]), **{"L/W": w, "L_bias/b": b})
    other_products(case, x, w, b), binary(case)
    gamma, beta = draw("gamma", 4), draw("beta", 4)
    batch_norms(case, (x, maps), gamma, beta)
    bn = BatchNorm()
    part = lambda method: lambda x, **p: F.relu(method(x @ p["L/W"].T, p["L_bnorm/gamma"], p["L_bnorm/beta"]))
    case({"Affine": {"nout": 3, "init": init, "batch_norm": True, "activation": "Rectlin"}}, x, part(bn.train),
         part(bn.infer), bn, "L_bnorm", **{"L/W": w, "L_bnorm/gamma": draw("gamma", 3), "L_bnorm/beta": draw("beta", 3)})
    # Dropout draws while training (tested apart); a keep of 1 does not, and inference never does.
    case({"Dropout": {"keep": 1}}, x, lambda x: x.clone())
    case({"Dropout": 0.75}, x, lambda x: x.clone(), lambda x: x * 0.75, random=True)
    # tests/cli/xcovariance_test.py has the penalty that it adds to the cost.
    case({"XCovariance": 1}, x, lambda x: x.clone())
    case({"Reshape": [2, -1]}, x, lambda x: x.reshape(6, 2, 2))
    case({"Reshape": [0, 2, 1]}, maps, lambda x: x.reshape(3, 4, 2, 1))
    case({"DataTransform": {"transform": "Tanh"}}, x, lambda x: torch.tanh(x.detach()) + 0 * x)
    for module in golden_recurrent, golden_transformer, golden_sequences, golden_resized:
        module.layers(case)
    return cases


def mlp():
    """Affine, batch norm, bias and softmax in one net; ten steps of gradient descent with momentum."""
    data, labels = draw("data", (48, 5)), stream("labels").integers(0, 4, 48)
    start = {"fc1/W": draw("fc1/W", (8, 5), 0.5), "fc1_bias/b": draw("fc1_bias/b", 8, 0.25), "fc2/W": draw("fc2/W", (6, 8), 0.5),
             "fc2_bnorm/gamma": np.ones(6), "fc2_bnorm/beta": np.zeros(6), "out/W": draw("out/W", (4, 6), 0.5),
             "out_bias/b": draw("out_bias/b", 4, 0.25)}
    p = {name: torch.tensor(value, requires_grad=True) for name, value in start.items()}

    def cost(rows):
        h = torch.tanh(torch.tensor(data[rows]) @ p["fc1/W"].T + p["fc1_bias/b"])
        h = F.batch_norm(h @ p["fc2/W"].T, None, None, p["fc2_bnorm/gamma"], p["fc2_bnorm/beta"], True, eps=1e-3)
        return F.cross_entropy(F.relu(h) @ p["out/W"].T + p["out_bias/b"], torch.tensor(labels[rows]))

    optimizer = torch.optim.SGD(list(p.values()), lr=0.125, momentum=0.5, weight_decay=0.0625)
    costs, gradients = [], None
    for step in range(10):
        optimizer.zero_grad()
        loss = cost([(16 * step + i) % 48 for i in range(16)])
        loss.backward()
        if step == 0:
            gradients = {name: t.grad.numpy().copy() for name, t in p.items()}
        costs.append(loss.item())
        optimizer.step()
    spec = [{"Affine": {"name": "fc1", "nout": 8, "init": "Gaussian", "bias": "Gaussian", "activation": "Tanh"}},
            {"Affine": {"name": "fc2", "nout": 6, "init": "Gaussian", "batch_norm": True, "activation": "Rectlin"}},
            {"Affine": {"name": "out", "nout": 4, "init": "Gaussian", "bias": "Gaussian", "activation": "Softmax"}}]
    optimizer = {"GradientDescentMomentum": {"learning_rate": 0.125, "momentum_coef": 0.5, "wdecay": 0.0625}}
    return dict(layers=spec, cost="CrossEntropyMulti", optimizer=optimizer, batch=16, data=data,
                labels=labels.astype(float), parameters=start, gradients=gradients, costs=costs,
                after={name: t.detach().numpy() for name, t in p.items()})
