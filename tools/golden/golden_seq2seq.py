"""Encoders and decoders, each sample by itself and step by step: the first gradients, steps of training, and the labels that
they predict before it. See make_golden.py."""
import numpy as np
import torch
import torch.nn.functional as F

from golden_file import draw, stream
from golden_shared import trained

TOKENS, CLASSES = 5, 6  # the last class ends a target; the decoder's start token is number CLASSES
INIT = {"init": "Gaussian"}


def strings():
    """Tokens (8,4) and labels (8,5), those in another order and an end; -1 behind both."""
    x, t = -np.ones((8, 4)), -np.ones((8, 5))
    draws = stream("strings")
    for i in range(8):
        count = int(draws.integers(1, 5))
        x[i, :count] = draws.integers(0, TOKENS, count)
        t[i, :count + 1] = [*x[i, :count][::-1], CLASSES - 1]
    return x, t


def cell(p, name, x, h, c, gates):
    z = p[f"{name}/W_input"] @ x + p[f"{name}/b"]
    if gates == 1:
        return torch.tanh(z + p[f"{name}/W_recur"] @ h), c
    i, f, o, g = (z + p[f"{name}/W_recur"] @ h).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def states(p, name, rows, gates, h=None, c=None, reverse=False):
    """All states of a layer of cells, and the last h and c."""
    units = p[f"{name}/W_recur"].shape[1]
    h = torch.zeros(units, dtype=torch.double) if h is None else h
    c = torch.zeros(units, dtype=torch.double) if c is None else c
    out = [None] * len(rows)
    for t in range(len(rows))[::-1] if reverse else range(len(rows)):
        out[t] = h, c = cell(p, name, rows[t], h, c, gates)
    return [h for h, _ in out], h, c


class Pair:
    """The decoder's scores after a list of labels, for the tokens of one sample."""

    def __init__(self, encode, decode):
        self.encode, self.decode = encode, decode

    def scores(self, p, tokens, labels):
        memory, begin = self.encode(p, [p["Embedding_0/W"][k] for k in tokens])
        rows = self.decode(p, [p["Embedding_1/W"][k] for k in [CLASSES, *labels]], begin, memory)
        return [p["Affine_0/W"] @ row + p["Affine_0_bias/b"] for row in rows]

    def predicted(self, p, tokens, steps):
        """The likeliest label after those before, again and again, up to the one that ends a target."""
        labels = []
        with torch.no_grad():
            for _ in range(steps):
                labels.append(int(self.scores(p, tokens, labels)[-1].argmax()))
        return labels[:labels.index(CLASSES - 1)] if CLASSES - 1 in labels else labels


def lstm_pair():
    def encode(p, rows):
        _, h, c = states(p, "LSTM_0", rows, 4)
        return None, (h, c)

    return Pair(encode, lambda p, rows, begin, memory: states(p, "LSTM_1", rows, 4, *begin)[0])


def attending_pair():
    """Both directions of the encoder begin the decoder's cells, side by side; scores are x W s."""

    def encode(p, rows):
        ahead, back = states(p, "BiLSTM_0_forward", rows, 4), states(p, "BiLSTM_0_backward", rows, 4, reverse=True)
        memory = torch.stack([torch.cat(pair) for pair in zip(ahead[0], back[0])])
        return memory, (torch.cat([ahead[1], back[1]]), torch.cat([ahead[2], back[2]]))

    def decode(p, rows, begin, memory):
        out = []
        for h in states(p, "LSTM_0", rows, 4, *begin)[0]:
            weights = torch.softmax(memory @ (p["DotAttention_0/W_score"] @ h), 0)
            out.append(torch.tanh(p["DotAttention_0/W_out"] @ torch.cat([weights @ memory, h])))
        return out

    return Pair(encode, decode)


def connected_pair():
    """The decoder's first cells begin with the encoder's second, and its second ones at 0."""

    def encode(p, rows):
        rows, _, _ = states(p, "Recurrent_0", rows, 1)
        return None, states(p, "Recurrent_1", rows, 1)[1]

    def decode(p, rows, begin, memory):
        return states(p, "Recurrent_3", states(p, "Recurrent_2", rows, 1, begin)[0], 1)[0]

    return Pair(encode, decode)


def cells(name, gates, units, features):
    return {f"{name}/W_input": draw(f"{name}/W_input", (gates * units, features), 0.7),
            f"{name}/W_recur": draw(f"{name}/W_recur", (gates * units, units), 0.7),
            f"{name}/b": draw(f"{name}/b", gates * units, 0.5)}


def start_of(parameters, width):
    return {"Embedding_0/W": draw("Embedding_0/W", (TOKENS, 3)), "Embedding_1/W": draw("Embedding_1/W", (CLASSES + 1, 3)),
            **parameters, "Affine_0/W": draw("Affine_0/W", (CLASSES, width), 0.7),
            "Affine_0_bias/b": draw("Affine_0_bias/b", CLASSES, 0.5)}


def layer_of(encoder, decoder, **options):
    embedding = {"Embedding": {"embedding_dim": 3, **INIT}}
    end = {"Affine": {"nout": "classes", "bias": "Gaussian", "activation": "Softmax", **INIT}}
    return {"Seq2Seq": {"encoder": [embedding, *encoder], "decoder": [embedding, *decoder, end], **options}}


def known(row):
    return [int(v) for v in row if v >= 0]


def case(title, pair, encoder, decoder, parameters, width, **options):
    x, t = strings()
    start = start_of(parameters, width)

    def cost(rows, p):
        """The mean over all labels of the batch."""
        each = [F.cross_entropy(torch.stack(pair.scores(p, known(x[i]), known(t[i])[:-1])), torch.tensor(known(t[i])),
                                reduction="none") for i in rows]
        return torch.cat(each).mean()

    first = {name: torch.tensor(value) for name, value in start.items()}
    predicted = -np.ones((4, 5))
    for row, tokens in zip(predicted, x):
        labels = pair.predicted(first, known(tokens), 5)
        row[:len(labels)] = labels
    rate = 0.25
    return dict(title=title, layers=[layer_of(encoder, decoder, **options)], cost="CrossEntropyMulti", data=x, labels=t, tokens=TOKENS, classes=CLASSES,
                end_class=CLASSES - 1, predicted=predicted,
                optimizer={"GradientDescentMomentum": {"learning_rate": rate, "momentum_coef": 0.5}},
                **trained(start, {name: rate for name in start}, 4, 8, cost))


def biased(kind, units):
    return {kind: {"output_size": units, "bias": "Gaussian", **INIT}}


def examples():
    """For each pair: a title, the pair, the layers of its encoder and of its decoder, parameters, the last layer's inputs,
    and options."""
    return [(("an LSTM decoder begins with an LSTM encoder's states", lstm_pair(), [biased("LSTM", 4)],
              [biased("LSTM", 4)], {**cells("LSTM_0", 4, 4, 3), **cells("LSTM_1", 4, 4, 3)}, 4), {}),
            (("attention to an encoder of both directions", attending_pair(), [biased("BiLSTM", 2)],
              [biased("LSTM", 4), {"DotAttention": {"nout": 5, "score": "general", **INIT}}],
              {**cells("BiLSTM_0_forward", 4, 2, 3), **cells("BiLSTM_0_backward", 4, 2, 3), **cells("LSTM_0", 4, 4, 3),
               "DotAttention_0/W_score": draw("W_score", (4, 4)), "DotAttention_0/W_out": draw("W_out", (5, 8), 0.7)}, 5), {}),
            (("cells of a decoder are connected by number", connected_pair(),
              [biased("Recurrent", 3), biased("Recurrent", 4)], [biased("Recurrent", 4), biased("Recurrent", 2)],
              {**cells("Recurrent_0", 1, 3, 3), **cells("Recurrent_1", 1, 4, 3), **cells("Recurrent_2", 1, 4, 3),
               **cells("Recurrent_3", 1, 2, 4)}, 2), {"connections": [1, -1]})]


def nets():
    return [case(*parts, **options) for parts, options in examples()]
