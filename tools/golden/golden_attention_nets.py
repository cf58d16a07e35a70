"""Nets of attention: the first gradients, ten steps of training. See make_golden.py and golden_sequence_nets.py.

Attention is PyTorch's own function, but for rotary positions, which golden_transformer.py writes out.
"""
import numpy as np
import torch
import torch.nn.functional as F

import golden_transformer
from golden_seq2seq import CLASSES as ENDINGS
from golden_seq2seq import TOKENS, known, strings
from golden_sequence_nets import (BATCH, CLASSES, FEATURES, INIT, LENGTHS, RATE, SAMPLES, STEPS, TRAINED, affine, case,
                                  cell_shapes, cells, both, end, end_shapes, of_steps, start_of, step_labels, values)
from golden_shared import momentum, trained

TEXT = {"Embedding": {"embedding_dim": 4, **INIT}}


def attend(p, name, x, memory=None, heads=2, kv_heads=None, causal=False, lengths=None):
    """PyTorch's attention; heads of keys and values that several heads of queries share are put beside each other."""
    memory, kv_heads = x if memory is None else memory, kv_heads or heads
    spread = lambda w: w.unflatten(0, (kv_heads, -1)).repeat_interleave(heads // kv_heads, 0).flatten(0, 1)
    w = {part: p[f"{name}/W_{part}"] for part in ("q", "k", "v", "out")}
    steps = memory.shape[1]
    behind = None if lengths is None else torch.arange(steps) >= torch.tensor(lengths)[:, None]
    later = torch.ones(x.shape[1], steps, dtype=torch.bool).triu(1) if causal else None
    turned = [rows.transpose(0, 1) for rows in (x, memory, memory)]
    y, _ = F.multi_head_attention_forward(
        *turned, x.shape[2], heads, None, None, None, None, False, 0.0, w["out"], None, key_padding_mask=behind,
        attn_mask=later, use_separate_proj_weight=True, q_proj_weight=w["q"], k_proj_weight=spread(w["k"]),
        v_proj_weight=spread(w["v"]))
    return y.transpose(0, 1)


def attention_shapes(name, features=4, keys=None, memory=None):
    keys, memory = keys or features, memory or features
    return {f"{name}/W_q": (features, features), f"{name}/W_k": (keys, memory), f"{name}/W_v": (keys, memory),
            f"{name}/W_out": (features, features)}


def norm_shapes(name, features=4):
    return {f"{name}/gamma": (features,), f"{name}/beta": (features,)}


def norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[name + "/gamma"], p[name + "/beta"])


def attention(**options):
    return {"MultiHeadAttention": {"heads": 2, **options, **INIT}}


def dense(nout, activation="Identity", **options):
    return {"Affine": {"nout": nout, "bias": "Gaussian", "activation": activation, **options, **INIT}}


def dense_shapes(number, nout, features):
    return {f"Affine_{number}/W": (nout, features), f"Affine_{number}_bias/b": (nout,)}


def of_tokens(title, layers, shapes, scores, lengths=None):
    """A net of tokens, whose labels are of the steps."""
    counts, start = lengths or [STEPS] * SAMPLES, start_of(shapes)
    tokens = np.array([[(5 * i + 3 * t + i * t) % TOKENS if t < counts[i] else -1.0 for t in range(STEPS)]
                       for i in range(SAMPLES)])
    labels = step_labels(SAMPLES, counts)

    def mean(rows, p):
        of_rows = [counts[i] for i in rows]
        return of_steps(scores(p, torch.tensor(np.maximum(tokens[rows], 0)).long(), of_rows), labels[rows], of_rows)

    result = trained({name: values(a) for name, a in start.items()}, {name: RATE for name in start}, BATCH, SAMPLES, mean,
                     TRAINED)
    return dict(title=title, layers=layers, cost="CrossEntropyMulti", optimizer=momentum(RATE), data=tokens, tokens=TOKENS,
                labels=labels, classes=CLASSES, **{**result, "parameters": start})


def causal_transformer(lengths=None):
    """A block of GPT-2's kind, which normalises before attention and before its two dense layers."""
    layers = [TEXT, {"LearnedPositions": INIT},
              {"MergeSum": ["SkipNode", ["LayerNorm", attention(causal=True)]]},
              {"MergeSum": ["SkipNode", ["LayerNorm", dense(6, "Gelu"), dense(4)]]}, "LayerNorm", end()]
    shapes = {"Embedding_0/W": (TOKENS, 4), "LearnedPositions_0/W": (STEPS, 4), **norm_shapes("LayerNorm_0"),
              **attention_shapes("MultiHeadAttention_0"), **norm_shapes("LayerNorm_1"), **dense_shapes(0, 6, 4),
              **dense_shapes(1, 4, 6), **norm_shapes("LayerNorm_2"), **end_shapes(4, 2)}

    def scores(p, x, lengths):
        x = F.embedding(x, p["Embedding_0/W"]) + p["LearnedPositions_0/W"]
        x = x + attend(p, "MultiHeadAttention_0", norm(p, "LayerNorm_0", x), causal=True, lengths=lengths)
        x = x + affine(p, F.gelu(affine(p, norm(p, "LayerNorm_1", x), 0)), 1)
        return affine(p, norm(p, "LayerNorm_2", x), 2)

    title = "a block of a transformer, causal" + (", sequences of different lengths" if lengths else "")
    return of_tokens(title, layers, shapes, scores, lengths)


def grouped_queries(causal):
    """Four heads of queries, two of keys and values."""
    options = dict(heads=4, kv_heads=2, causal=True) if causal else dict(heads=4, kv_heads=2)
    layers = [dense(8, "Tanh"), {"MergeSum": ["SkipNode", [attention(**options)]]}, "LayerNorm", end()]
    shapes = {**dense_shapes(0, 8, FEATURES), **attention_shapes("MultiHeadAttention_0", 8, 4), **norm_shapes("LayerNorm_0", 8),
              **end_shapes(8, 1)}

    def scores(p, x, lengths):
        x = torch.tanh(affine(p, x, 0))
        x = x + attend(p, "MultiHeadAttention_0", x, lengths=lengths, **options)
        return affine(p, norm(p, "LayerNorm_0", x), 1)

    return case("attention of grouped queries, " + ("causal" if causal else "sequences of different lengths"), layers,
                shapes, scores, lengths=None if causal else LENGTHS)


def rotary_transformer():
    """A block of LLaMA's kind: RMS norm, rotary positions, grouped queries, a gated dense layer."""
    options = dict(heads=2, kv_heads=1, causal=True, rotary=True, head_size=4)
    layers = [dense(8, "Tanh"), {"MergeSum": ["SkipNode", ["RMSNorm", attention(**options, bias="Gaussian")]]},
              {"MergeSum": ["SkipNode", ["RMSNorm", {"GatedMLP": {"hidden": 5, **INIT}}]]}, "RMSNorm", end()]
    shapes = {**dense_shapes(0, 8, FEATURES), "RMSNorm_0/gamma": (8,), **attention_shapes("MultiHeadAttention_0", 8, 4),
              **{f"MultiHeadAttention_0/b_{part}": (count,) for part, count in zip(("q", "k", "v", "out"), (8, 4, 4, 8))},
              "RMSNorm_1/gamma": (8,), "GatedMLP_0/W_gate": (5, 8), "GatedMLP_0/W_up": (5, 8), "GatedMLP_0/W_down": (8, 5),
              "RMSNorm_2/gamma": (8,), **end_shapes(8, 1)}

    def rms(p, name, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * p[name + "/gamma"]

    def scores(p, x, lengths):
        x = torch.tanh(affine(p, x, 0))
        own = {"L/" + name.split("/")[1]: w for name, w in p.items() if name.startswith("MultiHeadAttention_0/")}
        x = x + golden_transformer.attention(rms(p, "RMSNorm_0", x), own, 2, 1, causal=True, rotary=10000)
        y = rms(p, "RMSNorm_1", x)
        gate = F.silu(y @ p["GatedMLP_0/W_gate"].T) * (y @ p["GatedMLP_0/W_up"].T)
        return affine(p, rms(p, "RMSNorm_2", x + gate @ p["GatedMLP_0/W_down"].T), 1)

    return case("a block with rotary positions, causal", layers, shapes, scores)


def cross_attention():
    """Steps of one branch attend to those of another, up to the sample's last."""
    layers = [{"BiGRU": {"name": "memory", "output_size": 3, "bias": "Gaussian", **INIT}},
              dense(4, "Tanh", name="own", inputs=["data"]), attention(inputs=["own", "memory"]), end()]
    sides = both("memory")
    shapes = {**cell_shapes("GRU", sides, units=3), "own/W": (4, FEATURES), "own_bias/b": (4,),
              **attention_shapes("MultiHeadAttention_0", 4, 4, 6), **end_shapes(4, 1)}

    def scores(p, x, lengths):
        memory, own = cells("GRU", p, sides, x, lengths)[0], torch.tanh(x @ p["own/W"].T + p["own_bias/b"])
        return affine(p, attend(p, "MultiHeadAttention_0", own, memory, lengths=lengths), 1)

    return case("attention to another branch, sequences of different lengths", layers, shapes, scores, lengths=LENGTHS)


def dot_attention():
    """Luong's: a mean of the other branch's steps beside the step itself."""
    layers = [{"BiLSTM": {"name": "memory", "output_size": 2, "bias": "Gaussian", **INIT}},
              {"GRU": {"name": "own", "inputs": ["data"], "output_size": 3, "bias": "Gaussian", **INIT}},
              {"DotAttention": {"inputs": ["own", "memory"], "score": "general", "nout": 5, "bias": "Gaussian", **INIT}}, end()]
    sides = both("memory")
    shapes = {**cell_shapes("LSTM", sides, units=2), **cell_shapes("GRU", [["own"]], units=3),
              "DotAttention_0/W_score": (4, 3), "DotAttention_0/W_out": (5, 7), "DotAttention_0/b_out": (5,), **end_shapes(5)}

    def scores(p, x, lengths):
        memory, own = cells("LSTM", p, sides, x, lengths)[0], cells("GRU", p, [["own"]], x, lengths)[0]
        behind = torch.arange(STEPS) >= torch.tensor(lengths)[:, None, None]
        agree = (own @ p["DotAttention_0/W_score"].T @ memory.transpose(1, 2)).masked_fill(behind, -torch.inf)
        mean = torch.softmax(agree, 2) @ memory
        return affine(p, torch.tanh(torch.cat([mean, own], 2) @ p["DotAttention_0/W_out"].T + p["DotAttention_0/b_out"]))

    return case("dot attention to another branch, sequences of different lengths", layers, shapes, scores, lengths=LENGTHS)


def of_strings(title, encoder, decoder, shapes, scores):
    """Seq2Seq: `scores` of the decoder for one sample, by its tokens and the start token before the labels."""
    x, t = strings()
    start = start_of({**shapes, "Affine_0/W": (ENDINGS, 4), "Affine_0_bias/b": (ENDINGS,)})

    def mean(rows, p):
        y = [affine(p, scores(p, torch.tensor([known(x[i])]), torch.tensor([[ENDINGS, *known(t[i])[:-1]]])))[0] for i in rows]
        return F.cross_entropy(torch.cat(y), torch.tensor(sum([known(t[i]) for i in rows], [])))

    result = trained({name: values(a) for name, a in start.items()}, {name: RATE for name in start}, 4, 8, mean, TRAINED)
    layers = [{"Seq2Seq": {"encoder": [TEXT, *encoder], "decoder": [TEXT, *decoder, end()]}}]
    return dict(title=title, layers=layers, cost="CrossEntropyMulti", optimizer=momentum(RATE), data=x, labels=t,
                tokens=TOKENS, classes=ENDINGS, end_class=ENDINGS - 1, **{**result, "parameters": start})


def encoder_and_decoder():
    """A transformer of both: the decoder attends to its own steps so far and to all of the encoder's."""
    encoder = [{"MergeSum": ["SkipNode", [attention()]]}, {"LayerNorm": {"name": "read"}}]
    decoder = [{"LearnedPositions": INIT},
               {"MergeSum": {"layers": ["SkipNode", [attention(causal=True)]], "name": "own"}},
               {"MergeSum": ["SkipNode", [attention(inputs=["own", "read"])]]}, "LayerNorm"]
    shapes = {"Embedding_0/W": (TOKENS, 4), **attention_shapes("MultiHeadAttention_0"), **norm_shapes("read"),
              "Embedding_1/W": (ENDINGS + 1, 4), "LearnedPositions_0/W": (5, 4), **attention_shapes("MultiHeadAttention_1"),
              **attention_shapes("MultiHeadAttention_2"), **norm_shapes("LayerNorm_1")}

    def scores(p, tokens, labels):
        rows = F.embedding(tokens, p["Embedding_0/W"])
        memory = norm(p, "read", rows + attend(p, "MultiHeadAttention_0", rows))
        y = F.embedding(labels, p["Embedding_1/W"]) + p["LearnedPositions_0/W"][:labels.shape[1]]
        y = y + attend(p, "MultiHeadAttention_1", y, causal=True)
        return norm(p, "LayerNorm_1", y + attend(p, "MultiHeadAttention_2", y, memory))

    return of_strings("a transformer that encodes and decodes", encoder, decoder, shapes, scores)


def cells_that_decode(kind):
    """Two layers of cells begin with the last states of two others."""
    spec = [{kind: {"output_size": 4, "bias": "Gaussian", **INIT}}] * 2
    encoder, decoder = [[f"{kind}_0"], [f"{kind}_1"]], [[f"{kind}_2"], [f"{kind}_3"]]
    shapes = {"Embedding_0/W": (TOKENS, 4), **cell_shapes(kind, encoder, 4), "Embedding_1/W": (ENDINGS + 1, 4),
              **cell_shapes(kind, decoder, 4)}

    def scores(p, tokens, labels):
        ends = cells(kind, p, encoder, F.embedding(tokens, p["Embedding_0/W"]), [tokens.shape[1]])[1]
        return cells(kind, p, decoder, F.embedding(labels, p["Embedding_1/W"]), [labels.shape[1]], ends)[0]

    return of_strings(f"{kind}, two layers that encode and two that decode", spec, spec, shapes, scores)


def nets():
    return [causal_transformer(), causal_transformer(LENGTHS), grouped_queries(False), grouped_queries(True),
            rotary_transformer(), cross_attention(), dot_attention(), encoder_and_decoder(),
            cells_that_decode("GRU"), cells_that_decode("LSTM")]
