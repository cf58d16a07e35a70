"""Layers that a transformer is written from. See make_golden.py."""
import numpy as np
import torch
import torch.nn.functional as F

from golden_file import draw

INIT = "GlorotUniform"


def norms(case):
    """Sequences (N,T,F), images (N,C,H,W) and features (N,F); PyTorch's axes are those of neon's images."""
    x, sequence, maps = draw("x", (6, 4)), draw("sequence", (3, 5, 4)), draw("norm maps", (2, 6, 3, 2))
    high = (np.float32(5000) + draw("high", (3, 8)).astype(np.float32)).astype(np.float64)
    affine = lambda features: {"L/gamma": draw("gamma", features), "L/beta": draw("beta", features)}
    last = lambda x, p, eps=1e-5: F.layer_norm(x, x.shape[-1:], p["L/gamma"], p.get("L/beta"), eps)
    case({"LayerNorm": {}}, x, lambda x, **p: last(x, p), **affine(4))
    case({"LayerNorm": {"eps": 0.25, "bias": False}}, x, lambda x, **p: last(x, p, 0.25), **{"L/gamma": draw("gamma", 4)})
    # The same less 5000, which loses no bit: PyTorch's own sums of numbers that large do.
    case({"LayerNorm": {}}, high, lambda x, **p: last(x - 5000, p), **affine(8))
    case({"LayerNorm": {}}, sequence, lambda x, **p: last(x, p), sequence=True, **affine(4))
    case({"LayerNorm": {}}, maps, lambda x, **p: last(x.permute(0, 2, 3, 1), p).permute(0, 3, 1, 2), **affine(6))

    def rms(x, p, eps=1e-6):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * p["L/gamma"]

    gamma = {"L/gamma": draw("gamma", 4)}
    case({"RMSNorm": {}}, x, lambda x, **p: rms(x, p), **gamma)
    case({"RMSNorm": {"epsilon": 0.5}}, sequence, lambda x, **p: rms(x, p, 0.5), sequence=True, **gamma)
    group = lambda x, p, groups, eps=1e-5: F.group_norm(x, groups, p["L/gamma"], p.get("L/beta"), eps)
    for groups in (1, 2, 6):
        case({"GroupNorm": {"groups": groups}}, maps, lambda x, **p: group(x, p, groups), **affine(6))
    case({"GroupNorm": {"groups": 3, "eps": 0.25, "bias": False}}, maps, lambda x, **p: group(x, p, 3, 0.25),
         **{"L/gamma": draw("gamma", 6)})
    case({"GroupNorm": {"groups": 2}}, draw("wide x", (6, 8)), lambda x, **p: group(x, p, 2), **affine(8))
    turned = lambda norm: lambda x, **p: norm(x.transpose(1, 2), p).transpose(1, 2)
    case({"GroupNorm": {"groups": 2}}, sequence, turned(lambda x, p: group(x, p, 2)), sequence=True, **affine(4))
    instance = lambda x, p, eps=1e-5: F.instance_norm(x, None, None, p["L/gamma"], p.get("L/beta"), True, eps=eps)
    case({"InstanceNorm": {}}, maps, lambda x, **p: instance(x, p), **affine(6))
    case({"InstanceNorm": {"eps": 0.25, "bias": False}}, sequence, turned(lambda x, p: instance(x, p, 0.25)),
         sequence=True, **{"L/gamma": draw("gamma", 4)})


def rotated(x, base):
    """x (N,T,H,D): numbers i and i + D/2 as complex numbers, times e^(i angle)."""
    pairs = x.shape[3] // 2
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * base ** (-torch.arange(pairs, dtype=x.dtype) / pairs)
    turned = torch.complex(x[..., :pairs], x[..., pairs:]) * torch.polar(torch.ones_like(angle), angle)[:, None]
    return torch.cat([turned.real, turned.imag], 3)


def attention(x, p, heads, kv_heads=None, memory=None, causal=False, rotary=None):
    """Every head by itself, from a loop."""
    memory, kv_heads = x if memory is None else memory, kv_heads or heads
    product = lambda rows, part: rows @ p[f"L/W_{part}"].T + p.get(f"L/b_{part}", 0)
    of_heads = lambda rows, part, count: product(rows, part).unflatten(2, (count, -1))
    q, k, v = of_heads(x, "q", heads), of_heads(memory, "k", kv_heads), of_heads(memory, "v", kv_heads)
    if rotary:
        q, k = rotated(q, rotary), rotated(k, rotary)
    out = []
    for head in range(heads):
        shared = head * kv_heads // heads
        z = q[:, :, head] @ k[:, :, shared].transpose(1, 2) / q.shape[3] ** 0.5
        if causal:
            z = z.masked_fill(torch.ones(z.shape[1:], dtype=torch.bool).triu(1), -torch.inf)
        out.append(torch.softmax(z, 2) @ v[:, :, shared])
    return product(torch.cat(out, 2), "out")


def attention_weights(features, inner, nout, kv_inner=None, memory=None, bias=False):
    kv_inner, memory = kv_inner or inner, memory or features
    shapes = {"q": (inner, features), "k": (kv_inner, memory), "v": (kv_inner, memory), "out": (nout, inner)}
    out = {f"L/W_{part}": draw(f"W_{part}", shape, 0.5) for part, shape in shapes.items()}
    return {**out, **({f"L/b_{part}": draw(f"b_{part}", shape[0], 0.5) for part, shape in shapes.items()} if bias else {})}


def check_attention():
    """The formula above is PyTorch's layer."""
    p = {name: torch.tensor(value) for name, value in attention_weights(8, 8, 8, bias=True).items()}
    x = torch.tensor(draw("checked", (2, 5, 8)))
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
    layer.in_proj_weight.data = torch.cat([p[f"L/W_{part}"] for part in "qkv"])
    layer.in_proj_bias.data = torch.cat([p[f"L/b_{part}"] for part in "qkv"])
    layer.out_proj.weight.data, layer.out_proj.bias.data = p["L/W_out"], p["L/b_out"]
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    for causal in (False, True):
        torch.testing.assert_close(attention(x, p, 2, causal=causal), layer(x, x, x, attn_mask=mask if causal else None)[0])


def attentions(case):
    check_attention()
    x, memory, options = draw("sequence", (3, 5, 4)), draw("memory", (3, 6, 3)), dict(heads=2, init=INIT)

    def add(weights, case_options={}, **formula):
        case({"MultiHeadAttention": dict(options, **case_options)}, x, lambda x, **p: attention(x, p, 2, **formula),
             sequence=True, **weights)

    add(attention_weights(4, 4, 4))
    add(attention_weights(4, 4, 4), dict(causal=True), causal=True)
    # Without positions, the gradient of the biases of keys is 0: weights are the same with any.
    add(attention_weights(4, 8, 4, bias=True), dict(causal=True, bias=INIT, head_size=4, rotary=True), causal=True,
        rotary=10000)
    add(attention_weights(4, 6, 3, 3), dict(kv_heads=1, head_size=3, nout=3), kv_heads=1)
    add(attention_weights(4, 8, 4), dict(head_size=4, rotary=True), rotary=10000)
    add(attention_weights(4, 8, 4, 4), dict(head_size=4, kv_heads=1, rotary=True, rotary_base=10, causal=True), kv_heads=1,
        rotary=10, causal=True)
    case({"MultiHeadAttention": options}, x,
         lambda x, memory, **p: attention(x, p, 2, memory=memory), sequence=True, memory=memory,
         **attention_weights(4, 4, 4, memory=3))
    case({"MultiHeadAttention": dict(options, dropout=0.5)}, x, lambda x, **p: attention(x, p, 2), sequence=True,
         random=True, **attention_weights(4, 4, 4))


def dot_attentions(case):
    """Of Luong et al.: a mean of memory's steps beside the step itself."""
    x, memory = draw("sequence", (3, 5, 4)), draw("memory", (3, 6, 4))

    def attend(x, memory, p, activation=torch.tanh):
        query = x @ p["L/W_score"].T if "L/W_score" in p else x
        mean = torch.softmax(query @ memory.transpose(1, 2), 2) @ memory
        return activation(torch.cat([mean, x], 2) @ p["L/W_out"].T + p.get("L/b_out", 0))

    case({"DotAttention": {"init": INIT}}, x, lambda x, memory, **p: attend(x, memory, p), sequence=True, memory=memory,
         **{"L/W_out": draw("W_out", (4, 8), 0.5)})
    case({"DotAttention": {"init": INIT, "bias": INIT, "nout": 3, "score": "general", "activation": "Logistic"}}, x,
         lambda x, memory, **p: attend(x, memory, p, torch.sigmoid), sequence=True, memory=memory[..., :3],
         **{"L/W_score": draw("W_score", (3, 4), 0.5), "L/W_out": draw("W_out", (3, 7), 0.5), "L/b_out": draw("b_out", 3)})


def positions(case):
    x = draw("sequence", (3, 5, 4))
    for steps in (0, 5, 7):
        options = {"init": INIT, **({"steps": steps} if steps else {})}
        case({"LearnedPositions": options}, x, lambda x, **p: x + p["L/W"][:5], sequence=True,
             **{"L/W": draw("positions", (steps or 5, 4))})
    for base, data in ((10000, x), (100, draw("odd", (2, 9, 5)))):
        table = np.array([[(np.cos if j % 2 else np.sin)(t / base ** (j // 2 * 2 / data.shape[2]))
                           for j in range(data.shape[2])] for t in range(data.shape[1])])
        case({"SinusoidalPositions": {"base": base}}, data, lambda x: x + torch.tensor(table), sequence=True)


def gated(case):
    x, sequence = draw("x", (6, 4)), draw("sequence", (3, 5, 4))

    def weights(nout, bias=False):
        shapes = {"gate": (3, 4), "up": (3, 4), "down": (nout, 3)}
        out = {f"L/W_{part}": draw(f"W_{part}", shape) for part, shape in shapes.items()}
        return {**out, **({f"L/b_{part}": draw(f"b_{part}", shape[0]) for part, shape in shapes.items()} if bias else {})}

    def formula(x, p, activation=F.silu):
        product = lambda rows, part: rows @ p[f"L/W_{part}"].T + p.get(f"L/b_{part}", 0)
        return product(activation(product(x, "gate")) * product(x, "up"), "down")

    case({"GatedMLP": {"hidden": 3, "init": INIT}}, sequence, lambda x, **p: formula(x, p), sequence=True, **weights(4))
    case({"GatedMLP": {"hidden": 3, "nout": 2, "init": INIT, "bias": INIT, "activation": "Gelu"}}, x,
         lambda x, **p: formula(x, p, F.gelu), **weights(2, True))


def layers(case):
    """Adds the cases of all these layers."""
    norms(case)
    attentions(case)
    dot_attentions(case)
    positions(case)
    gated(case)
