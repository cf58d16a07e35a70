"""Update rules over 20 steps and schedules. See make_golden.py.

A rule is run on a layer with one input 2, weights W (6, 1) and biases b (6), and a cost whose gradient by b is the row
given for the step: so that by W is twice as large.
"""
import math

import numpy as np
import torch

from golden_file import draw

STEPS, STEPS_PER_EPOCH, SAVED = 20, 5, (1, 2, 10, 20)


def shift(a, b):
    return a * np.sign(b) * 2.0 ** np.round(np.log2(np.abs(b)))


# neon's rules: state, parameter p, clipped gradient g, rate, step t from 1, epoch from 0.
def moving(epoch, coef, end, epochs):
    if not epochs:
        return coef
    if epochs[0] == epochs[1]:
        return end if epoch >= epochs[1] else coef
    return np.interp(epoch, epochs, [coef, end])


def momentum(s, p, g, rate, t, epoch, momentum_coef=0, wdecay=0, nesterov=False, momentum_end=0, momentum_epochs=None):
    momentum_coef = moving(epoch, momentum_coef, momentum_end, momentum_epochs)
    g = g + wdecay * p
    s["v"] = momentum_coef * s.get("v", 0) - rate * g
    return p + (momentum_coef * s["v"] - rate * g if nesterov else s["v"])


def rmsprop(s, p, g, rate, t, epoch, decay_rate=0.95, epsilon=1e-6, root_epsilon=True, momentum_coef=0, momentum_end=0,
            momentum_epochs=None):
    momentum_coef = moving(epoch, momentum_coef, momentum_end, momentum_epochs)
    s["s"] = decay_rate * s.get("s", 0) + (1 - decay_rate) * g**2
    s["v"] = momentum_coef * s.get("v", 0) - rate * g / (np.sqrt(s["s"] + epsilon * root_epsilon) + epsilon)
    return p + s["v"]


def adagrad(s, p, g, rate, t, epoch, epsilon=1e-6):
    s["s"] = s.get("s", 0) + g**2
    return p - rate * g / np.sqrt(s["s"] + epsilon)


def adadelta(s, p, g, rate, t, epoch, decay=0.95, epsilon=1e-6):
    s["s"] = decay * s.get("s", 0) + (1 - decay) * g**2
    d = np.sqrt((s.get("d", 0) + epsilon) / (s["s"] + epsilon)) * g
    s["d"] = decay * s.get("d", 0) + (1 - decay) * d**2
    return p - rate * d


def adam(s, p, g, rate, t, epoch, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    s["m"] = beta_1 * s.get("m", 0) + (1 - beta_1) * g
    s["v"] = beta_2 * s.get("v", 0) + (1 - beta_2) * g**2
    rate = rate * math.sqrt(1 - beta_2**t) / (1 - beta_1**t)
    return p - rate * s["m"] / (np.sqrt(s["v"]) + epsilon)


def shift_ada_max(s, p, g, rate, t, epoch, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    s["m"] = beta_1 * s.get("m", 0) + (1 - beta_1) * g
    s["v"] = np.maximum(beta_2 * s.get("v", 0), np.abs(g))
    step = shift(shift(s["m"], 1 / (s["v"] + epsilon)), rate / (1 - beta_1 ** (epoch + 1)))
    return np.clip(p - step, -1, 1)


def lion(s, p, g, rate, t, epoch, beta_1=0.9, beta_2=0.99, wdecay=0):
    direction = np.sign(beta_1 * s.get("m", 0) + (1 - beta_1) * g)
    s["m"] = beta_2 * s.get("m", 0) + (1 - beta_2) * g
    return p - rate * (direction + wdecay * p)


def ratio(a, b):
    return a / b if a > 0 and b > 0 else 1


def lars(s, p, g, rate, t, epoch, momentum_coef=0.9, trust=0.001, wdecay=0):
    own = ratio(trust * np.linalg.norm(p), np.linalg.norm(g) + wdecay * np.linalg.norm(p))
    s["v"] = momentum_coef * s.get("v", 0) + rate * own * (g + wdecay * p)
    return p - s["v"]


def lamb(s, p, g, rate, t, epoch, beta_1=0.9, beta_2=0.999, epsilon=1e-6, wdecay=0.01):
    s["m"] = beta_1 * s.get("m", 0) + (1 - beta_1) * g
    s["v"] = beta_2 * s.get("v", 0) + (1 - beta_2) * g**2
    r = s["m"] / (1 - beta_1**t) / (np.sqrt(s["v"] / (1 - beta_2**t)) + epsilon) + wdecay * p
    return p - rate * ratio(np.linalg.norm(p), np.linalg.norm(r)) * r


def restated(rule, start, gradients, rates, clip_norm=0, clip_value=0, clip_param=0, clip_step=False, **options):
    """Both parameters under one optimizer; the norm is measured over both, before clipping by value. It shortens the
    gradient, or with clip_step the step, which all rules that have it multiply by the rate."""
    weights, states, saved = dict(start), {name: {} for name in start}, {}
    for t in range(1, STEPS + 1):
        g = gradients(t)
        norm = math.sqrt(sum((v**2).sum() for v in g.values()))
        c = clip_norm / max(norm, clip_norm) if clip_norm else 1
        for name in weights:
            clipped = np.clip(g[name], -clip_value, clip_value) if clip_value else g[name]
            epoch = (t - 1) // STEPS_PER_EPOCH
            g_now, rate = (clipped, c * rates[t - 1]) if clip_step else (c * clipped, rates[t - 1])
            new = rule(states[name], weights[name], g_now, rate, t, epoch, **options)
            weights[name] = np.clip(new, -clip_param, clip_param) if clip_param else new
        saved[str(t)] = dict(weights)
    return {str(t): saved[str(t)] for t in SAVED}


def by_torch(make, start, gradients):
    weights = {name: torch.tensor(value, requires_grad=True) for name, value in start.items()}
    optimizer, saved = make(list(weights.values())), {}
    for t in range(1, STEPS + 1):
        for name, g in gradients(t).items():
            weights[name].grad = torch.tensor(g)
        optimizer.step()
        saved[str(t)] = {name: w.detach().numpy().copy() for name, w in weights.items()}
    return {str(t): saved[str(t)] for t in SAVED}


def rules():
    rows = draw("gradients", (STEPS, 6))
    rows[7] *= 8  # one that clipping catches
    rows[3, 2] = 0
    start = dict(W=draw("W", (6, 1), 0.5), b=draw("b", 6, 0.5))
    gradients = lambda t: dict(W=2 * rows[t - 1].reshape(6, 1), b=rows[t - 1])
    cases = [dict(gradients=rows, W=start["W"], b=start["b"], steps_per_epoch=STEPS_PER_EPOCH)]
    flat = lambda rate: [rate] * STEPS

    def case(optimizer, saved):
        cases.append(dict(optimizer=optimizer, saved=saved))

    def neon(name, rule, clipping={}, rates=None, schedule=None, **options):
        config = dict(options)
        if schedule:
            config["schedule"] = schedule
        names = dict(clip_norm="gradient_clip_norm", clip_value="gradient_clip_value", clip_param="param_clip_value")
        config.update({names[key]: value for key, value in clipping.items()})
        rate = config.get("learning_rate")
        options.pop("learning_rate", None)
        case({name: config}, restated(rule, start, gradients, rates or flat(rate), **clipping, **options))

    def sgd(config, **options):
        case({"GradientDescentMomentum": config},
             by_torch(lambda w: torch.optim.SGD(w, lr=config["learning_rate"], **options), start, gradients))

    sgd(dict(learning_rate=0.125))
    sgd(dict(learning_rate=0.125, wdecay=0.25), weight_decay=0.25)
    sgd(dict(learning_rate=0.0625, momentum_coef=0.875), momentum=0.875)
    sgd(dict(learning_rate=0.0625, momentum_coef=0.875, wdecay=0.125), momentum=0.875, weight_decay=0.125)
    sgd(dict(learning_rate=0.0625, momentum_coef=0.5, nesterov=True, wdecay=0.125), momentum=0.5, nesterov=True,
        weight_decay=0.125)
    gdm = "GradientDescentMomentum"
    base = dict(learning_rate=0.125, momentum_coef=0.75, wdecay=0.0625)
    neon(gdm, momentum, dict(clip_norm=4), **base)
    neon(gdm, momentum, dict(clip_value=0.5), **base)
    neon(gdm, momentum, dict(clip_norm=4, clip_value=0.75, clip_param=0.625), **base)
    neon(gdm, momentum, momentum_end=0.25, momentum_epochs=[1, 3], **base)
    neon(gdm, momentum, learning_rate=0.125, momentum_end=0.75, momentum_epochs=[0, 2])
    neon(gdm, momentum, learning_rate=0.125, momentum_coef=0.25, momentum_end=0.75, momentum_epochs=[1, 1])
    neon(gdm, momentum, dict(clip_param=0.5), learning_rate=0.125)  # neon forgot the clip in this case
    # The rate changes inside the velocity, as neon had it.
    neon(gdm, momentum, rates=[0.125 * 0.5 ** ((t // STEPS_PER_EPOCH) >= 2) for t in range(STEPS)],
         schedule={"Schedule": {"step_config": [2], "change": 0.5}}, **base)
    neon("RMSProp", rmsprop, rates=flat(2e-3))
    neon("RMSProp", rmsprop, learning_rate=0.03125, decay_rate=0.5, epsilon=0.125)
    neon("RMSProp", rmsprop, dict(clip_norm=3, clip_value=1, clip_param=0.75), learning_rate=0.0625)
    neon("RMSProp", rmsprop, dict(clip_norm=3, clip_value=1), learning_rate=0.0625, clip_step=True)
    neon("RMSProp", rmsprop, learning_rate=0.03125, momentum_coef=0.75)
    neon("RMSProp", rmsprop, learning_rate=0.03125, momentum_coef=0.25, momentum_end=0.75, momentum_epochs=[1, 3])
    neon("RMSProp", rmsprop, learning_rate=0.03125, momentum_end=0.5, momentum_epochs=[2, 2])
    neon("RMSProp", rmsprop, dict(clip_norm=3), learning_rate=0.03125, momentum_coef=0.5, decay_rate=0.5, epsilon=0.125)
    neon("RMSProp", rmsprop, learning_rate=0.03125, momentum_coef=0.5, decay_rate=0.5, epsilon=0.125, root_epsilon=False)
    neon("Adagrad", adagrad, rates=flat(0.01))
    neon("Adagrad", adagrad, dict(clip_norm=3), learning_rate=0.125, epsilon=0.0625)
    neon("Adagrad", adagrad, dict(clip_norm=3), learning_rate=0.125, epsilon=0.0625, clip_step=True)
    case("Adadelta", by_torch(lambda w: torch.optim.Adadelta(w, lr=1, rho=0.95, eps=1e-6), start, gradients))
    case({"Adadelta": {"decay": 0.75, "epsilon": 0.125}},
         by_torch(lambda w: torch.optim.Adadelta(w, lr=1, rho=0.75, eps=0.125), start, gradients))
    neon("Adadelta", adadelta, dict(clip_norm=3, clip_value=1), rates=flat(1.0))
    neon("Adadelta", adadelta, rates=[0.5 ** (t // STEPS_PER_EPOCH >= 1) for t in range(STEPS)],
         schedule={"Schedule": {"step_config": [1], "change": 0.5}})
    neon("Adam", adam, rates=flat(0.001))
    neon("Adam", adam, learning_rate=0.0625, beta_1=0.5, beta_2=0.75, epsilon=0.125)
    neon("Adam", adam, learning_rate=0.0625, beta_1=0, beta_2=0, epsilon=0.125)
    neon("Adam", adam, dict(clip_norm=3, clip_value=1), learning_rate=0.0625)
    neon("Adam", adam, dict(clip_norm=3, clip_value=1), learning_rate=0.0625, clip_step=True)
    for config in (dict(), dict(learning_rate=0.0625, beta_1=0.75, beta_2=0.875, epsilon=0.125, wdecay=0.5)):
        c = dict(learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-8, wdecay=0.01)
        c.update(config)
        case({"AdamW": config},
             by_torch(lambda w: torch.optim.AdamW(w, lr=c["learning_rate"], betas=(c["beta_1"], c["beta_2"]),
                                                  eps=c["epsilon"], weight_decay=c["wdecay"]), start, gradients))
    # Clipping the gradient first, as one does with PyTorch.
    scaled = lambda t: {k: v * min(1, 3 / math.sqrt(sum((u**2).sum() for u in gradients(t).values())))
                        for k, v in gradients(t).items()}
    case({"AdamW": {"gradient_clip_norm": 3}},
         by_torch(lambda w: torch.optim.AdamW(w, lr=0.001, weight_decay=0.01), start, scaled))
    neon("Lion", lion, rates=flat(1e-4))
    neon("Lion", lion, dict(clip_norm=3), learning_rate=0.0625, beta_1=0.75, beta_2=0.5, wdecay=0.25)
    neon("LARS", lars, learning_rate=8)
    neon("LARS", lars, dict(clip_norm=3), learning_rate=0.5, momentum_coef=0, trust=0.25, wdecay=0.125)
    neon("LAMB", lamb, rates=flat(0.001))
    neon("LAMB", lamb, dict(clip_value=1), learning_rate=0.0625, beta_1=0.5, beta_2=0.75, epsilon=0.125, wdecay=0.25)
    neon("ShiftAdaMax", shift_ada_max, rates=flat(0.002))
    neon("ShiftAdaMax", shift_ada_max, dict(clip_norm=3), learning_rate=0.25, beta_1=0.5, beta_2=0.75, epsilon=0.125)
    neon("ShiftAdaMax", shift_ada_max, learning_rate=1, beta_1=0.5, beta_2=0.75)  # to both ends of [-1, 1]
    ends = np.concatenate([w[name].ravel() for w in cases[-1]["saved"].values() for name in start])
    assert ends.min() == -1 and ends.max() == 1
    multi_options = dict(learning_rate=0.0625, beta_1=0.5, beta_2=0.75, epsilon=0.125)
    both = [restated(momentum, {"W": start["W"]}, lambda t: {"W": gradients(t)["W"]}, flat(0.125), clip_norm=2),
            restated(adam, {"b": start["b"]}, lambda t: {"b": gradients(t)["b"]}, flat(0.0625), beta_1=0.5, beta_2=0.75,
                     epsilon=0.125)]
    case({"MultiOptimizer": {"default": {gdm: {"learning_rate": 0.125, "gradient_clip_norm": 2}},
                             "Bias": {"Adam": multi_options}}},
         {str(t): {**both[0][str(t)], **both[1][str(t)]} for t in SAVED})
    return cases


def cycles(case):
    """PyTorch's cycles. Its cosine restarts count epochs, which may have parts."""
    weight = torch.zeros(1, requires_grad=True)
    for parameters, options in ({}, {}), ({"rise": 0.45, "start": 0.1, "floor": 0.02},
                                          {"pct_start": 0.45, "div_factor": 10, "final_div_factor": 5}):
        optimizer = torch.optim.SGD([weight], lr=0.5)
        cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=80, cycle_momentum=False, **options)
        rates = []
        for _ in range(80):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if len(rates) < 80:
                cycle.step()
        case({"OneCycle": parameters} if parameters else "OneCycle", 0.5, rates, steps_per_epoch=4)
    for parameters, options in ({"period": 3, "factor": 2, "floor": 0.1}, {"T_0": 3, "T_mult": 2, "eta_min": 0.05}), \
            ({"period": 5}, {"T_0": 5}):
        optimizer = torch.optim.SGD([weight], lr=0.5)
        restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, **options)
        rates = []
        for s in range(80):
            restarts.step(s / 4)
            rates.append(optimizer.param_groups[0]["lr"])
        case({"CosineRestarts": parameters}, 0.5, rates, steps_per_epoch=4)
    # Cycles that end between two steps, each longer by a half.
    starts = [0, 1.5, 3.75, 7.125, 12.1875, 19.78125, 31.171875]
    rates = []
    for s in range(80):
        k = max(k for k, start in enumerate(starts) if start <= s / 4)
        rates.append(0.25 * (1 + math.cos(math.pi * (s / 4 - starts[k]) / (starts[k + 1] - starts[k]))))
    case({"CosineRestarts": {"period": 1.5, "factor": 1.5}}, 0.5, rates, steps_per_epoch=4)


def schedules():
    cases = []

    def case(schedule, base, rates, steps_per_epoch=1, epochs=20):
        cases.append(dict(schedule=schedule, base=base, steps_per_epoch=steps_per_epoch, epochs=epochs, rates=rates))

    # Values that neon's own tests state.
    case({"StepSchedule": {"step_config": [1, 4, 5], "change": [0.1, 0.3, 0.4]}}, 1.0,
         [1, .1, .1, .1, .3, .4, .4, .4, .4])
    case({"PowerSchedule": {"step_config": 2, "change": 0.5}}, 1.0, [1, 1, .5, .5, .25, .25, .125, .125])
    case({"Schedule": {"step_config": [2, 3], "change": 0.1}}, 0.1, [.1, .1, .01, .001, .001])
    case({"ExpSchedule": {"decay": 0.01}}, 0.1, [0.1 / (1 + 0.01 * e) for e in range(20)])
    case({"ShiftSchedule": {"interval": 1}}, 0.1, [0.1 / 2**e for e in range(20)])
    # The other forms, over 20 epochs.
    case("Schedule", 0.5, [0.5] * 20)
    case({"Schedule": {"step_config": 3, "change": 0.5}}, 1.0, [0.5 ** (e // 3) for e in range(20)])
    case({"Schedule": {"step_config": [2, 7], "change": [0.25, 0.03]}}, 1.0, [1] * 2 + [0.25] * 5 + [0.03] * 13)
    case({"Schedule": {"step_config": [1], "change": [0.01]}}, 0.1, [0.1] + [0.01] * 19)
    case({"Schedule": {"step_config": 4, "change": 0.25}}, 0.5, [0.5 * 0.25 ** (e // 4) for e in range(20)])
    case({"PowerSchedule": {"step_config": 6, "change": 0.5}}, 0.25, [0.25 * 0.5 ** (e // 6) for e in range(20)])
    case({"ShiftSchedule": {"interval": 4, "shift_size": 2}}, 1.0, [4.0 ** -(e // 4) for e in range(20)])
    case({"PolySchedule": {"total_epochs": 16, "power": 2}}, 0.5, [0.5 * max(0, 1 - e / 16) ** 2 for e in range(20)])
    case("PolySchedule", 0.5, [0.5 * (1 - e / 20) for e in range(20)])
    # Step by step, four steps an epoch.
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80, eta_min=0.05)
    rates = []
    for _ in range(80):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        cosine.step()
    case({"Cosine": {"floor": 0.1}}, 0.5, rates, steps_per_epoch=4)
    warm = [0.5 * (s + 1) / 8 for s in range(8)]
    case({"Cosine": {"warmup": 2}}, 0.5,
         warm + [0.25 * (1 + math.cos(math.pi * (s - 8) / 72)) for s in range(8, 80)], steps_per_epoch=4)
    case({"Warmup": {"warmup": 2}}, 0.5, warm + [0.5] * 72, steps_per_epoch=4)
    # The line ends at the rate, also between two steps.
    for warmup in (0.125, 0.625):
        case({"Warmup": {"warmup": warmup}}, 0.5,
             [0.5 * min(1, (s + 1) / (4 * warmup)) for s in range(12)], steps_per_epoch=4)
    case({"Cosine": {"warmup": 0.625}}, 0.5,
         [0.5 * (s + 1) / 2.5 for s in range(2)] + [0.5] +
         [0.25 * (1 + math.cos(math.pi * (s - 2.5) / 77.5)) for s in range(3, 80)], steps_per_epoch=4)
    cycles(case)
    # A warm-up as long as the run, and what is asked after its end.
    case({"Cosine": {"warmup": 20}}, 0.5, [0.5 * (s + 1) / 80 for s in range(80)] + [0.5], steps_per_epoch=4)
    case({"Warmup": {"warmup": 2, "then": {"Schedule": {"step_config": [4], "change": 0.1}}}}, 0.5,
         warm + [0.5] * 8 + [0.05] * 64, steps_per_epoch=4)
    return cases
