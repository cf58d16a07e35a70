"""Windows over the steps of sequences, and layers by step, with and without padding. See make_golden.py."""
import torch
import torch.nn.functional as F

from golden_file import draw

INIT = "GlorotUniform"


def by_sample(lengths, formula):
    """The formula on each sequence alone, cut to its length; zeros behind the steps of shorter results. None: all of x."""
    if lengths is None:
        return formula

    def run(x, **p):
        return torch.nn.utils.rnn.pad_sequence([formula(one[None, :n], **p)[0] for one, n in zip(x, lengths)], True)

    return run


def convolved(x, p, stride=1, padding=0, dilation=1, groups=1, causal=False):
    """x (N,T,F) · W (K,R,F/groups); a sequence shorter than the filter is filled up with zeros behind it."""
    w = p["L/W"].permute(0, 2, 1)
    extent = dilation * (w.shape[2] - 1) + 1
    before, after = (extent - 1, 0) if causal else (padding, padding)
    x = F.pad(x.transpose(1, 2), (before, max(after, extent - x.shape[1] - before)))
    return F.conv1d(x, w, None, stride, 0, dilation, groups).transpose(1, 2)


def convolutions(case):
    x, init = draw("steps", (3, 7, 4)), {"init": INIT}
    for lengths in None, [7, 1, 4]:
        for options in ({}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2, "padding": 1},
                        {"causal": True}, {"causal": True, "dilation": 2, "stride": 2}):
            formula = lambda x, o=options, **p: convolved(x, p, **o)
            case({"Convolution": {"fshape": [3, 6], **options, **init}}, x,
                 by_sample(lengths, formula), sequence=True, lengths=lengths,
                 **{"L/W": draw("W", (6, 3, 4 // options.get("groups", 1)), 0.5)})
        whole = lambda x, **p: torch.tanh(convolved(x, p, padding=2) + p["L_bias/b"])
        case({"Conv": {"fshape": 5, "nofm": 2, "padding": 2, "bias": INIT, "activation": "Tanh", **init}}, x,
             by_sample(lengths, whole), sequence=True, lengths=lengths,
             **{"L/W": draw("W", (2, 5, 4), 0.5), "L_bias/b": draw("b", 2)})


def unwound(x, p, stride=1, padding=0, dilation=1, groups=1):
    """x (N,T,F) · W (F,R,K/groups), backwards."""
    return F.conv_transpose1d(x.transpose(1, 2), p["L/W"].permute(0, 2, 1), None, stride, padding, 0, groups, dilation).transpose(1, 2)


def deconvolutions(case):
    x, init = draw("steps", (3, 7, 4)), {"init": INIT}
    for lengths in None, [7, 1, 4]:
        for options in {}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2, "stride": 3}:
            formula = lambda x, o=options, **p: unwound(x, p, **o)
            case({"Deconvolution": {"fshape": [3, 6], **options, **init}}, x,
                 by_sample(lengths, formula), sequence=True, lengths=lengths,
                 **{"L/W": draw("W", (4, 3, 6 // options.get("groups", 1)), 0.5)})
        whole = lambda x, **p: torch.tanh(unwound(x, p, stride=2) + p["L_bias/b"])
        case({"Deconv": {"fshape": 2, "nofm": 3, "stride": 2, "bias": INIT, "activation": "Tanh", **init}}, x,
             by_sample(lengths, whole), sequence=True, lengths=lengths,
             **{"L/W": draw("W", (4, 2, 3), 0.5), "L_bias/b": draw("b", 3)})


def pooled(x, op, size, stride, padding):
    """A window sees the elements that are there."""
    x = x.transpose(1, 2)
    short = max(size - x.shape[2] - 2 * padding, 0)
    if op == "max":
        y = F.max_pool1d(F.pad(x, (padding, padding + short), value=-torch.inf), size, stride)
    else:
        window = lambda x: F.conv1d(F.pad(x, (padding, padding + short)).flatten(0, 1)[:, None],
                                    torch.ones(1, 1, size, dtype=x.dtype), None, stride)
        counts = window(torch.ones_like(x))
        total = window(x if op == "avg" else x * x)
        y = (total / counts if op == "avg" else total.sqrt()).reshape(*x.shape[:2], -1)
    return y.transpose(1, 2)


def poolings(case):
    x = draw("steps", (3, 7, 4))
    for lengths in None, [7, 1, 4]:
        for op in "max", "avg", "l2":
            for size, options in (2, {}), (3, {"strides": 2, "padding": 1}), (3, {"strides": 1}):
                stride, padding = options.get("strides", size), options.get("padding", 0)
                formula = lambda x, o=(op, size, stride, padding): pooled(x, *o)
                case({"Pooling": {"fshape": size, "op": op, **options}}, x,
                     by_sample(lengths, formula), sequence=True, lengths=lengths)
            formula = lambda x, op=op: pooled(x, op, x.shape[1], 1, 0)
            row = by_sample(lengths, formula)
            case({"Pooling": {"fshape": "all", "op": op}}, x, lambda x, row=row: row(x)[:, 0], sequence=True,
                 lengths=lengths)


def steps(case):
    """Batch norm over the steps that count, and other layers by step. Its rule is golden_nets.BatchNorm."""
    from golden_nets import BatchNorm
    x, w = draw("steps", (3, 7, 4)), draw("W", (3, 4))
    counted = lambda lengths: torch.arange(7)[None, :] < torch.tensor(lengths or [7, 7, 7])[:, None]

    def normalized(method, x, lengths, p, name):
        mask = counted(lengths)
        y = torch.zeros_like(x)
        y[mask] = method(x[mask], p[f"{name}/gamma"], p[f"{name}/beta"])
        return y

    def product(x, p):
        return x @ p["L/W"].T

    for lengths in None, [7, 1, 4]:
        kind = dict(sequence=True, lengths=lengths)
        for name, options, defaults in (("BatchNorm", {}, (0.9, 1e-3)), ("BatchNorm", dict(rho=0.5, eps=0.25), (0.5, 0.25)),
                                        ("BatchNormAutodiff", {}, (0.99, 1e-6))):
            bn = BatchNorm(*defaults)
            case({name: options}, x, lambda x, bn=bn, n=lengths, **p: normalized(bn.train, x, n, p, "L"),
                 lambda x, bn=bn, n=lengths, **p: normalized(bn.infer, x, n, p, "L"), bn, "L", **kind,
                 **{"L/gamma": draw("gamma", 4), "L/beta": draw("beta", 4)})
        bn = BatchNorm()
        part = lambda method, n=lengths: lambda x, **p: F.relu(normalized(method, product(x, p), n, p, "L_bnorm"))
        case({"Affine": {"nout": 3, "init": INIT, "batch_norm": True, "activation": "Rectlin"}}, x, part(bn.train),
             part(bn.infer), bn, "L_bnorm", **kind,
             **{"L/W": w, "L_bnorm/gamma": draw("gamma", 3), "L_bnorm/beta": draw("beta", 3)})
        mask = counted(lengths)[..., None]
        case({"Affine": {"nout": 3, "init": INIT, "bias": INIT, "activation": "Logistic"}}, x,
             lambda x, m=mask, **p: torch.sigmoid(product(x, p) + p["L_bias/b"]) * m, **kind,
             **{"L/W": w, "L_bias/b": draw("b", 3)})
        case({"Activation": {"Explin": {"alpha": 2}}}, x, lambda x, m=mask: F.elu(x, 2.0) * m, **kind)
        case({"Dropout": 0.75}, x, lambda x, m=mask: x * m, lambda x, m=mask: x * 0.75 * m, random=True, **kind)
        case({"Dropout": {"keep": 1}}, x, lambda x, m=mask: x * m, **kind)


def layers(case):
    convolutions(case)
    poolings(case)
    steps(case)
    deconvolutions(case)
