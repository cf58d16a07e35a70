"""Activations, costs and metrics: values and gradients. See make_golden.py."""
import numpy as np
import torch
import torch.nn.functional as F

from golden_file import draw, stream


def learned_slopes(x, maps):
    """PReLU's cases. PyTorch's axis of slopes is the second."""
    for shared, values in ((False, x), (True, x), (False, draw("volumes", (2, 2, 3, 2, 4), 2)), (True, maps)):
        slope = draw(("slopes", shared), (1 if shared else values.shape[-1],), 0.3)
        g = draw(("PReLU", shared), values.shape)
        t, a = torch.tensor(values, requires_grad=True), torch.tensor(slope, requires_grad=True)
        y = F.prelu(t.movedim(-1, 1), a).movedim(1, -1)
        y.backward(torch.tensor(g))
        yield dict(activation={"PReLU": {"shared": shared}}, x=values, g=g, learned=dict(slope=slope),
                   y=y.detach().numpy(), dx=t.grad.numpy(), gradients=dict(slope=a.grad.numpy()))


def activations():
    # Random numbers, the kinks, and where exponentials leave the range of f32.
    x = np.concatenate([draw("x of activations", 21, 2), [0, 1, -1, 2.5, 40, -40, 90, -90, 1e-6]]).reshape(3, 10)
    x = x.astype(np.float32).astype(np.float64)
    maps = draw("maps", (2, 3, 2, 2), 2)
    cases = []

    def case(activation, value, derivative=None, x=x):
        g = draw(activation, x.shape)
        t = torch.tensor(x, requires_grad=True)
        y = value(t)
        if derivative is None:
            y.backward(torch.tensor(g))
            dx = t.grad.numpy()
        else:
            dx = g * derivative(x, y.detach().numpy())
        cases.append(dict(activation=activation, x=x, g=g, y=y.detach().numpy(), dx=dx))

    case("Identity", lambda t: t.clone())
    case("Rectlin", F.relu)
    case({"Rectlin": {"slope": 0.125}}, lambda t: F.leaky_relu(t, 0.125))
    case("RectLeaky", lambda t: F.leaky_relu(t, 0.01))
    cases += learned_slopes(x, maps)
    # In an evaluation; what training draws differs in each framework.
    case("RReLU", lambda t: F.rrelu(t, training=False))
    case({"RReLU": {"lower": 0.25, "upper": 0.5}}, lambda t: F.rrelu(t, 0.25, 0.5, training=False))
    # neon: 1 for y > 0, slope otherwise, but 0 where y is not strictly below xcut
    for slope, xcut in ((0, 20), (0.25, 2.5)):
        case({"Rectlinclip": {"slope": slope, "xcut": xcut}},
             lambda t: torch.clamp(F.leaky_relu(t, slope), max=xcut),
             lambda x, y: np.where(y < xcut, np.where(y > 0, 1, slope), 0))
    case("Explin", F.elu)
    case({"Explin": {"alpha": 0.5}}, lambda t: F.elu(t, 0.5))
    case("Normalizer", lambda t: t / 128)
    case({"Normalizer": {"divisor": 3}}, lambda t: t / 3)
    case("Tanh", torch.tanh)
    case("Logistic", torch.sigmoid)
    case({"Logistic": {"shortcut": True}}, torch.sigmoid)
    case("Sign", lambda t: torch.where(t >= 0, 1.0, -1.0).double(), lambda x, y: (np.abs(x) <= 1) * 1.0)
    case("Softmax", lambda t: F.softmax(t, 1))
    # Over all features of a sample, also of feature maps.
    case("Softmax", lambda t: F.softmax(t.flatten(1), 1).reshape(t.shape), x=maps)
    case("SoftPlus", lambda t: torch.logaddexp(t, torch.zeros_like(t)))
    for name, function in (("Gelu", F.gelu), ({"Gelu": {"tanh": True}}, lambda t: F.gelu(t, approximate="tanh")), ("Mish", F.mish),
                           ("Swish", F.silu), ("Selu", F.selu), ("HardLogistic", lambda t: F.relu6(t + 3) / 6), ("HardSwish", F.hardswish)):
        case(name, function)
    # Of each pixel (N,H,W,C); with two channels to a class, the first ones of all classes exclude each other.
    pixels = draw("pixels", (2, 3, 2, 4), 2)
    case({"PixelwiseSoftmax": {"c": 4}}, lambda t: F.softmax(t, 3), x=pixels)
    case({"PixelwiseSoftmax": {"c": 2}}, lambda t: F.softmax(t.reshape(2, 3, 2, 2, 2), 3).reshape(t.shape), x=pixels)
    case({"PixelwiseSoftmax": {"c": 2}}, lambda t: F.softmax(t.reshape(3, 2, 5), 1).reshape(t.shape))
    return cases


def one_hot(labels, classes):
    return np.eye(classes)[np.asarray(labels)]


def focal_costs(case, logits, saturated, targets, multi):
    """Lin et al. 2017, formula 5; of one class, and of each yes or no."""
    hot, soft, yes_no = targets

    def focal(v, t, gamma):
        p = F.softmax(v, 1)
        return -(t * (1 - p) ** gamma * F.log_softmax(v, 1)).sum(1)

    def focal_binary(v, t, gamma, alpha):
        p, entropy = torch.sigmoid(v), F.binary_cross_entropy_with_logits(v, t, reduction="none")
        right, weight = t * p + (1 - t) * (1 - p), alpha * t + (1 - alpha) * (1 - t)
        return (weight * (1 - right) ** gamma * entropy).sum(1)

    case("Focal", logits, hot, lambda v, t: focal(v, t, 2), "Softmax")
    case("Focal", logits, soft, lambda v, t: focal(v, t, 2), "Softmax")
    for gamma in (0.5, 3):
        case({"Focal": {"gamma": gamma}}, logits, hot, lambda v, t: focal(v, t, gamma), "Softmax")
        case({"FocalBinary": {"gamma": gamma, "alpha": 0.75}}, logits, yes_no,
             lambda v, t: focal_binary(v, t, gamma, 0.75), "Logistic")
    case({"Focal": {"gamma": 0}}, saturated, hot, multi, "Softmax")
    for x in (logits, saturated):
        case("FocalBinary", x, yes_no, lambda v, t: focal_binary(v, t, 2, 0.25), "Logistic")


def squared_costs(case, y, t, yes_no):
    """Costs of values, and of margins."""
    case("SumSquared", y, t, lambda v, t: 0.5 * F.mse_loss(v, t, reduction="none").sum(1))
    case("MeanSquared", y, t, lambda v, t: 0.5 * F.mse_loss(v, t, reduction="none").mean(1))
    for sigma in (1, 2, 0.5):
        case({"SmoothL1Loss": {"sigma": sigma}}, 2 * y, t,
             lambda v, t: F.smooth_l1_loss(v, t, beta=1 / sigma**2, reduction="none").sum(1))
    for margin in (1, 0.5):
        case({"SquareHingeLoss": {"margin": margin}}, y, yes_no,
             lambda v, t: (torch.clamp(margin - (2 * t - 1) * v, min=0) ** 2).mean(1))
    case({"GeneralizedCost": {"costfunc": "MeanSquared"}}, y, t, lambda v, t: 0.5 * F.mse_loss(v, t, reduction="none").mean(1))


def costs():
    n, k = 5, 4
    logits = draw("logits", (n, k), 2)
    saturated = draw("saturated", (n, k), 40)
    hot = one_hot([3, 0, 1, 1, 2], k)
    soft = F.softmax(torch.tensor(draw("soft", (n, k))), 1).numpy().astype(np.float32).astype(np.float64)
    share = F.softmax(torch.tensor(draw("share", (n, k))), 1).numpy().astype(np.float32).astype(np.float64)
    yes_no = (stream("yes or no").random((n, k)) < 0.5) * 1.0
    y, t, cases = draw("y", (n, k)), draw("t", (n, k)), []

    def case(cost, x, target, value, activation="Identity"):
        g = draw(cost, (n, 1))
        tx, tt = torch.tensor(x, requires_grad=True), torch.tensor(target)
        each = value(tx, tt).reshape(n, 1)
        each.backward(torch.tensor(g))
        cases.append(dict(cost=cost, activation=activation, x=x, t=target, g=g, y=each.detach().numpy(),
                          dx=tx.grad.numpy()))

    safelog = lambda v: torch.log(torch.clamp(v, min=float(np.exp(-50.0))))
    multi = lambda v, t: F.cross_entropy(v, t, reduction="none")
    for x in (logits, saturated):
        case("CrossEntropyMulti", x, hot, multi, "Softmax")
    case("CrossEntropyMulti", logits, soft, multi, "Softmax")
    case("CrossEntropyMulti", share, soft, lambda v, t: -(t * torch.log(v)).sum(1))
    # At 0 the logarithm stops at -50 and passes no gradient on.
    zeros = np.where(one_hot([3, 2, 1, 0, 2], k) > 0, 0, share)
    case("CrossEntropyMulti", zeros, hot, lambda v, t: -(t * safelog(v)).sum(1))
    case({"CrossEntropyMulti": {"usebits": True}}, logits, hot, lambda v, t: multi(v, t) / np.log(2), "Softmax")
    case({"CrossEntropyMulti": {"scale": 3}}, logits, hot, multi, "Softmax")
    case({"CrossEntropyMulti": {"smoothing": 0.125}}, logits, hot,
         lambda v, t: F.cross_entropy(v, t.argmax(1), label_smoothing=0.125, reduction="none"), "Softmax")
    case({"CrossEntropyMulti": {"smoothing": 0.5}}, share, hot,
         lambda v, t: -((t * 0.5 + 0.5 / k) * torch.log(v)).sum(1))
    binary = lambda v, t: F.binary_cross_entropy_with_logits(v, t, reduction="none").sum(1)
    for x in (logits, saturated):
        case("CrossEntropyBinary", x, yes_no, binary, "Logistic")
    case({"CrossEntropyBinary": {"scale": 0.5}}, logits, soft, binary, "Logistic")
    case("CrossEntropyBinary", share, yes_no, lambda v, t: F.binary_cross_entropy(v, t, reduction="none").sum(1))
    case("CrossEntropyBinary", logits, soft,
         lambda v, t: F.binary_cross_entropy(F.softmax(v, 1), t, reduction="none").sum(1), "Softmax")
    focal_costs(case, logits, saturated, (hot, soft, yes_no), multi)
    squared_costs(case, y, t, yes_no)
    case({"Multicost": {"costs": ["CrossEntropyMulti"], "weights": [0.5]}}, logits, hot,
         lambda v, t: 0.5 * multi(v, t), "Softmax")
    # The mask stands behind the targets; of a masked sample nothing is left.
    part = (stream("mask").random((n, k)) < 0.5) * 1.0
    case({"GeneralizedCostMask": {"costfunc": "SumSquared", "weights": 2}}, y, np.concatenate([t, part], 1),
         lambda v, tm: F.mse_loss(v * tm[:, k:], tm[:, :k] * tm[:, k:], reduction="none").sum(1))
    rows = np.repeat([[1.0], [0], [1], [1], [0]], k, 1)
    case({"GeneralizedCostMask": {"costfunc": "CrossEntropyMulti"}}, logits, np.concatenate([hot, rows], 1),
         lambda v, tm: multi(v, tm[:, :k]) * tm[:, k], "Softmax")
    return cases


def within(y, label, k):
    """Whether `label` is among the first k of y; of equal scores the lower index is first."""
    return label in np.argsort(-y, kind="stable")[:k]


def metrics_of_values(case, y, t):
    """y, t (n,k): outputs and targets of the samples that count."""
    errors = (y - t) ** 2
    case("SSE", [errors.sum()])
    case({"MultiMetric": {"metric": "SSE", "index": 0}}, [errors.sum()])
    case("MSE", [errors.mean()])
    case("MAE", [np.abs(y - t).mean()])
    case("RMSE", [np.sqrt(errors.mean())])
    case("R2", [np.mean([1 - ((a - b) ** 2).sum() / ((b - b.mean()) ** 2).sum() for a, b in zip(y.T, t.T)])])


def metrics():
    k = 5
    scores = np.round(draw("scores", (2, 6, k)), 1)  # few digits: with ties
    scores = (scores / np.abs(scores).max() / 2 + 0.5).astype(np.float32).astype(np.float64)
    scores[0, 1, :3] = scores[0, 1, 0]
    scores[1, 2, :] = 0.25
    labels = stream("labels").integers(0, k - 1, (2, 6))  # the last class never occurs
    labels[0, 1], labels[1, 2] = 2, 3
    counts = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]).astype(float)  # a short last batch
    y = [scores[b, i] for b in range(2) for i in range(6) if counts[b, i]]
    label = [labels[b, i] for b in range(2) for i in range(6) if counts[b, i]]
    n = len(y)
    cases = []

    def case(metric, results, t=one_hot(labels, k)):
        cases.append(dict(metric=metric, y=scores, t=t, weight=counts[..., None],
                          results=[float(r) for r in results]))

    wrong = sum(v.argmax() != c for v, c in zip(y, label)) / n
    log_loss = sum(-np.log(v[c]) for v, c in zip(y, label)) / n
    top = lambda k: 1 - sum(within(v, c, k) for v, c in zip(y, label)) / n
    case("Misclassification", [wrong])
    case("Accuracy", [1 - wrong])
    case("LogLoss", [log_loss])
    case("Perplexity", [np.exp(log_loss)])
    case("BitsPerCharacter", [np.log2(np.e) * log_loss])
    case("TopKMisclassification", [log_loss, top(1), top(5)])
    case({"TopKMisclassification": {"k": 2}}, [log_loss, top(1), top(2)])
    hot = one_hot(label, k)
    for binarize, predicted in ((True, one_hot([v.argmax() for v in y], k)), (False, np.array(y))):
        found = (hot * predicted).sum(0)
        case({"PrecisionRecall": {"num_classes": k, "binarize": binarize}},
             [(found / (predicted.sum(0) + 1e-6)).mean(), (found / (hot.sum(0) + 1e-6)).mean()])
    t = draw("t of metrics", scores.shape)
    wanted = np.array([t[b, i] for b in range(2) for i in range(6) if counts[b, i]])
    metrics_of_values(lambda metric, results: case(metric, results, t), np.array(y), wanted)
    predicted, true = np.array([v.argmax() for v in y]), np.array(label)
    pairs = [((predicted == c) & (true == c), (predicted == c) | (true == c)) for c in range(k)]
    case("MeanIoU", [np.mean([both.sum() / either.sum() for both, either in pairs if either.any()])])
    case("MisclassSum", [wrong * n])
    case({"MisclassSum": {"k": 2}}, [top(2) * n])
    shares = [np.clip(v, 1e-15, 1 - 1e-15) / np.clip(v, 1e-15, 1 - 1e-15).sum() for v in y]
    clipped_loss = sum(-np.log(v[c]) for v, c in zip(shares, label))
    case("LogLossSum", [clipped_loss])
    case("LogLossMean", [clipped_loss / n])
    def auc(positive):
        pairs = [(a[positive], b[positive]) for a, c in zip(y, label) for b, d in zip(y, label) if c == positive != d]
        return np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs])
    for positive in 1, 3:
        case({"AUC": {"pos_label": positive}}, [auc(positive)])
    case({"AUC": {"average": "macro"}}, [np.mean([auc(c) for c in sorted(set(label)) if set(label) != {c}])])
    found, hits = np.array(y) >= 0.5, one_hot(label, k) > 0.5
    stats = [both.sum() / max(each.sum(), 1) for p, q in zip(found.T, hits.T) for both, each in ((p & q, p), (p & q, q))]
    case({"MultiLabelStats": {"labels": list("abcde")}}, stats)
    return cases
