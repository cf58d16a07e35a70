"""A net of two layers with biases in NumPy, in f64: values, costs and gradients by their formulas.

Samples are rows: x (N,D), weights (H,D) and (K,H), biases (H) and (K), targets (N,K).
"""
import math

import numpy as np

erf = np.vectorize(math.erf)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def normal_density(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def softplus(x):
    return np.log1p(np.exp(-abs(x))) + np.maximum(x, 0)


def gelu_inner(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)


def gelu_inner_slope(x):
    return math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x ** 2)


SELU_SCALE, SELU_DEPTH = 1.0507009873554805, 1.6732632423543772  # Klambauer et al. 2017, appendix 1

# Of the hidden layer: as a spec has it, y = f(x), and dy/dx.
HIDDEN = [
    ("Identity", lambda x: x, np.ones_like),
    ("Tanh", np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    ("Rectlin", lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    ({"Rectlin": {"slope": 0.1}}, lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.where(x > 0, 1, 0.1)),
    ({"Rectlinclip": {"slope": 0, "xcut": 0.4}}, lambda x: np.clip(x, 0, 0.4), lambda x: 1.0 * ((x > 0) & (x < 0.4))),
    ({"Explin": {"alpha": 0.7}}, lambda x: np.where(x > 0, x, 0.7 * np.expm1(np.minimum(x, 0))),
     lambda x: np.where(x > 0, 1, 0.7 * np.exp(np.minimum(x, 0)))),
    ("Logistic", logistic, lambda x: logistic(x) * (1 - logistic(x))),
    ("SoftPlus", softplus, logistic),
    ("Gelu", lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
     lambda x: (1 + erf(x / math.sqrt(2))) / 2 + x * normal_density(x)),
    ("Swish", lambda x: x * logistic(x), lambda x: logistic(x) * (1 + x * (1 - logistic(x)))),
    ({"Gelu": {"tanh": True}}, lambda x: x / 2 * (1 + np.tanh(gelu_inner(x))),
     lambda x: (1 + np.tanh(gelu_inner(x))) / 2 + x / 2 * (1 - np.tanh(gelu_inner(x)) ** 2) * gelu_inner_slope(x)),
    ("Mish", lambda x: x * np.tanh(softplus(x)),
     lambda x: np.tanh(softplus(x)) + x * (1 - np.tanh(softplus(x)) ** 2) * logistic(x)),
    ("Selu", lambda x: SELU_SCALE * np.where(x > 0, x, SELU_DEPTH * np.expm1(np.minimum(x, 0))),
     lambda x: SELU_SCALE * np.where(x > 0, 1, SELU_DEPTH * np.exp(np.minimum(x, 0)))),
    ("HardLogistic", lambda x: np.clip(x / 6 + 0.5, 0, 1), lambda x: (abs(x) < 3) / 6),
    ("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
     lambda x: np.clip(x / 6 + 0.5, 0, 1) + x * (abs(x) < 3) / 6),
]
# Of the hidden layer with learned numbers a: as a spec has it, y = f(x, a), dy/dx, dy/da, and the name and begin of a.
LEARNED = [
    ("PReLU", lambda x, a: np.where(x > 0, x, a * x), lambda x, a: np.where(x > 0, 1, a), lambda x, a: np.minimum(x, 0),
     "first_act/slope", 0.25),
]
# Of the last layer: y = f(x), and dy/dx by y, for costs that are not taken together with it.
LAST = {"Softmax": (softmax, None), "Logistic": (logistic, lambda y: y * (1 - y)),
        "Identity": (lambda x: x, np.ones_like), "Tanh": (np.tanh, lambda y: 1 - y * y)}


def cost(kind, p, last, y, t):
    """Of each sample, and its derivative by what the last activation takes. p: the cost's parameters."""
    classes = t.shape[1]
    if kind == "CrossEntropyMulti":
        t = t * (1 - p.get("smoothing", 0)) + p.get("smoothing", 0) / classes
        unit = 1 / math.log(2) if p.get("usebits") else 1
        return -unit * (t * np.log(y)).sum(1), unit * p.get("scale", 1) * (y - t)
    if kind == "Focal":
        left, gamma = 1 - y, p.get("gamma", 2)
        slope = t * (gamma * left ** (gamma - 1) * np.log(y) - left ** gamma / y)
        return -(t * left ** gamma * np.log(y)).sum(1), y * (slope - (y * slope).sum(1, keepdims=True))
    if kind == "FocalBinary":
        gamma, alpha = p.get("gamma", 2), p.get("alpha", 0.25)
        yes, no = alpha * t, (1 - alpha) * (1 - t)
        slope = (yes * (gamma * (1 - y) ** (gamma - 1) * np.log(y) - (1 - y) ** gamma / y) -
                 no * (gamma * y ** (gamma - 1) * np.log(1 - y) - y ** gamma / (1 - y)))
        return -(yes * (1 - y) ** gamma * np.log(y) + no * y ** gamma * np.log(1 - y)).sum(1), slope * y * (1 - y)
    if kind == "CrossEntropyBinary":
        return -(t * np.log(y) + (1 - t) * np.log(1 - y)).sum(1), p.get("scale", 1) * (y - t)
    slope = LAST[last][1](y)
    if kind == "SumSquared":
        return ((y - t) ** 2).sum(1) / 2, (y - t) * slope
    if kind == "MeanSquared":
        return ((y - t) ** 2).mean(1) / 2, (y - t) / classes * slope
    if kind == "SmoothL1Loss":
        square, off = p.get("sigma", 1) ** 2, y - t
        near = abs(off) < 1 / square
        return (np.where(near, square * off ** 2 / 2, abs(off) - 0.5 / square).sum(1),
                np.where(near, square * off, np.sign(off)) * slope)
    sign = 2 * t - 1  # SquareHingeLoss
    short = np.maximum(0, p.get("margin", 1) - sign * y)
    return (short ** 2).mean(1), -2 * sign * short / classes * slope


def learned(weights, hidden):
    return [weights[hidden[4]]] if len(hidden) > 3 else []


def forward(weights, hidden, last, x):
    """The hidden layer's sums and values, and the net's outputs."""
    sums = x @ weights["first/W"].T + weights["first_bias/b"]
    values = hidden[1](sums, *learned(weights, hidden))
    return sums, values, LAST[last][0](values @ weights["second/W"].T + weights["second_bias/b"])


def step(weights, hidden, last, cost_kind, cost_params, x, t, sample_weights):
    """Weighted costs of a batch's samples, and gradients of their sum."""
    sums, values, y = forward(weights, hidden, last, x)
    costs, g = cost(cost_kind, cost_params, last, y, t)
    costs, g = costs * sample_weights, g * sample_weights[:, None]
    slopes, arriving = learned(weights, hidden), g @ weights["second/W"]
    back = arriving * hidden[2](sums, *slopes)
    gradients = {"second/W": g.T @ values, "second_bias/b": g.sum(0), "first/W": back.T @ x, "first_bias/b": back.sum(0)}
    if slopes:
        gradients[hidden[4]] = (arriving * hidden[3](sums, *slopes)).sum(0)
    return costs, gradients
