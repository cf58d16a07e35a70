"""Update rules and schedules in NumPy, as the reference has them."""
import numpy as np

DEFAULT_RATES = {"RMSProp": 2e-3, "Adagrad": 0.01, "Adam": 1e-3, "AdamW": 1e-3, "LAMB": 1e-3, "ShiftAdaMax": 0.002}


def rate_at(schedule, base, epoch, step, steps, epochs):
    """step: of the run; steps: of an epoch; epochs: of the run."""
    if not schedule:
        return base
    (kind, p), = schedule.items()
    now = step / steps
    if kind in ("Schedule", "StepSchedule"):
        at, change = p["step_config"], p["change"]
        if isinstance(at, int):
            return base * change ** (epoch // at)
        if not isinstance(change, list):
            return base * change ** sum(epoch >= a for a in at)
        return ([base] + [rate for a, rate in zip(at, change) if epoch >= a])[-1]
    if kind == "PowerSchedule":
        return base * p["change"] ** (epoch // p["step_config"])
    if kind == "ExpSchedule":
        return base / (1 + p["decay"] * epoch)
    if kind == "PolySchedule":
        return base * (1 - epoch / p.get("total_epochs", epochs)) ** p["power"]
    if kind == "ShiftSchedule":
        return base * 2.0 ** (-p["shift_size"] * (epoch // p["interval"]))
    if kind == "OneCycle":
        peak, last = p["rise"] * steps * epochs - 1, steps * epochs - 1
        rises, done = step <= peak, step / peak if 0 < peak >= step else (step - peak) / (last - peak)
        start, end = (p["start"], 1) if rises else (1, p["floor"])
        return base * (end + (start - end) * (1 + np.cos(np.pi * done)) / 2)
    if kind == "CosineRestarts":
        begin, length = 0.0, p["period"]
        while now >= begin + length:
            begin, length = begin + length, length * p["factor"]
        return base * (p["floor"] + (1 - p["floor"]) * (1 + np.cos(np.pi * (now - begin) / length)) / 2)
    rising = p.get("warmup", 0)
    if now < rising:
        return base * min(1, (step + 1) / (rising * steps))
    if kind == "Warmup":
        return rate_at(p.get("then"), base, epoch, step, steps, epochs)
    floor, done = p.get("floor", 0), min(1, (now - rising) / (epochs - rising))  # Cosine
    return base * (floor + (1 - floor) * (1 + np.cos(np.pi * done)) / 2)


def share_kept(ema, count):
    """Of a running mean, by update number `count`, from 1."""
    return min(ema, (1 + count) / (10 + count))


def ratio(a, b):
    """Of two lengths; 1 where one of them is 0."""
    return a / b if a > 0 and b > 0 else 1


def shifted(a, b):
    """a times the power of two nearest to b."""
    return a * np.sign(b) * 2.0 ** np.rint(np.log2(abs(b)))


class Rule:
    """An optimizer of a spec; state: by array, then by name."""

    def __init__(self, spec):
        (self.kind, self.p), = spec.items()
        self.state = {}

    def base_rate(self):
        return self.p.get("learning_rate", DEFAULT_RATES.get(self.kind, 1))

    def update(self, weights, gradients, rate, count, epoch, layers_behind=lambda array: 0):
        """The weights after update number `count`, from 1; gradients are means."""
        most, clip, limit = (self.p.get(key) for key in ("gradient_clip_norm", "gradient_clip_value", "param_clip_value"))
        norm = np.sqrt(sum((g ** 2).sum() for g in gradients.values()))
        scale = most / max(norm, most) if most else 1
        out = {}
        for name, w in weights.items():
            g = np.clip(gradients[name], -clip, clip) if clip else gradients[name]
            own_rate = rate * self.p.get("layer_decay", 1) ** layers_behind(name)
            g, short = (g, scale * own_rate) if self.p.get("clip_step") else (scale * g, own_rate)
            w = getattr(self, self.kind)(w, g, short, self.state.setdefault(name, {}), count, epoch)
            out[name] = np.clip(w, -limit, limit) if limit else w
        return out

    def GradientDescentMomentum(self, w, g, rate, s, count, epoch):
        g, momentum = g + self.p.get("wdecay", 0) * w, self.p.get("momentum_coef", 0)
        if "momentum_end" in self.p:
            momentum = np.interp(epoch, self.p["momentum_epochs"], [momentum, self.p["momentum_end"]])
        elif not momentum:
            return w - rate * g
        s["velocity"] = momentum * s.get("velocity", 0) - rate * g
        return w + (momentum * s["velocity"] - rate * g if self.p.get("nesterov") else s["velocity"])

    def RMSProp(self, w, g, rate, s, count, epoch):
        decay = self.p.get("decay_rate", 0.95)
        s["square"] = decay * s.get("square", 0) + (1 - decay) * g * g
        inside = 1e-6 if self.p.get("root_epsilon", True) else 0
        step, momentum = rate * g / (np.sqrt(s["square"] + inside) + 1e-6), self.p.get("momentum_coef", 0)
        if "momentum_end" in self.p:
            momentum = np.interp(epoch, self.p["momentum_epochs"], [momentum, self.p["momentum_end"]])
        elif not momentum:
            return w - step
        s["velocity"] = momentum * s.get("velocity", 0) - step
        return w + s["velocity"]

    def Adagrad(self, w, g, rate, s, count, epoch):
        s["square"] = s.get("square", 0) + g * g
        return w - rate * g / np.sqrt(s["square"] + 1e-6)

    def Adadelta(self, w, g, rate, s, count, epoch):
        before = s.get("step_square", 0)
        s["square"] = 0.95 * s.get("square", 0) + 0.05 * g * g
        step = np.sqrt((before + 1e-6) / (s["square"] + 1e-6)) * g
        s["step_square"] = 0.95 * before + 0.05 * step * step
        return w - rate * step

    def moments(self, g, s):
        a, b = self.p.get("beta_1", 0.9), self.p.get("beta_2", 0.999)
        s["mean"] = a * s.get("mean", 0) + (1 - a) * g
        s["square"] = b * s.get("square", 0) + (1 - b) * g * g
        return a, b

    def Adam(self, w, g, rate, s, count, epoch):
        a, b = self.moments(g, s)
        return w - rate * np.sqrt(1 - b ** count) / (1 - a ** count) * s["mean"] / (np.sqrt(s["square"]) + 1e-8)

    def AdamW(self, w, g, rate, s, count, epoch):
        a, b = self.moments(g, s)
        step = s["mean"] / (1 - a ** count) / (np.sqrt(s["square"] / (1 - b ** count)) + 1e-8)
        return w * (1 - rate * self.p.get("wdecay", 0.01)) - rate * step

    def LAMB(self, w, g, rate, s, count, epoch):
        a, b = self.moments(g, s)
        r = s["mean"] / (1 - a ** count) / (np.sqrt(s["square"] / (1 - b ** count)) + 1e-6) + self.p.get("wdecay", 0.01) * w
        return w - rate * ratio(np.linalg.norm(w), np.linalg.norm(r)) * r

    def LARS(self, w, g, rate, s, count, epoch):
        decay, weights = self.p.get("wdecay", 0), np.linalg.norm(w)
        own = ratio(self.p["trust"] * weights, np.linalg.norm(g) + decay * weights)
        s["velocity"] = self.p.get("momentum_coef", 0.9) * s.get("velocity", 0) + rate * own * (g + decay * w)
        return w - s["velocity"]

    def ShiftAdaMax(self, w, g, rate, s, count, epoch):
        a = self.p.get("beta_1", 0.9)
        s["mean"] = a * s.get("mean", 0) + (1 - a) * g
        s["maximum"] = np.maximum(0.999 * s.get("maximum", 0), abs(g))
        step = shifted(shifted(s["mean"], 1 / (s["maximum"] + 1e-8)), rate / (1 - a ** (epoch + 1)))
        return np.clip(w - step, -1, 1)
