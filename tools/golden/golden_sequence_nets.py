"""Nets of sequences: the first gradients, ten steps of training. See make_golden.py.

Cells, their stacks, both directions, lengths and states are PyTorch's own LSTM and RNN over packed sequences. A GRU of
neon multiplies the state by r before the product, so its steps are written out. Samples and initial weights are drawn by
a formula that the tests know too, which keeps the file small.
"""
import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from golden_recurrent import gru
from golden_shared import momentum, trained
from make_golden_nets import drawn

STEPS, FEATURES, UNITS, CLASSES, SAMPLES, BATCH = 5, 3, 4, 4, 7, 3
LENGTHS = [5, 2, 4, 1, 3, 5, 2]
RATE, TRAINED = 0.25, 10
INIT = {"init": "Gaussian"}
GATES = {"Recurrent": 1, "LSTM": 4, "GRU": 3}
ORDER = {"Recurrent": (0,), "LSTM": (0, 1, 3, 2)}  # of the gates in PyTorch's weights


def flat_weights(kind, p, layers):
    """Of each layer and direction W_ih, W_hh, b_ih and b_hh, as PyTorch's functions take them."""
    out = []
    for name in sum(layers, []):
        units = p[f"{name}/W_recur"].shape[1]
        turned = [torch.cat([p[f"{name}/{part}"].split(units)[k] for k in ORDER[kind]]) for part in ("W_input", "W_recur", "b")]
        out += [*turned, torch.zeros_like(turned[2])]
    return out


def torch_cells(kind, p, layers, x, lengths, begin):
    """PyTorch's cells over packed steps: all states of the last layer (N,T,H), and the last states of each layer."""
    both, units = len(layers[0]) == 2, p[f"{layers[0][0]}/W_recur"].shape[1]
    packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    zeros = torch.zeros(len(layers) * (1 + both), len(x), units, dtype=x.dtype)
    h, c = ([s[:, packed.sorted_indices] for s in begin or (zeros, zeros)] + [None])[:2]
    options = True, len(layers), 0.0, True, both
    function, state = (torch._VF.lstm, (h, c)) if kind == "LSTM" else (torch._VF.rnn_tanh, h)
    y, *ends = function(packed.data, packed.batch_sizes, state, flat_weights(kind, p, layers), *options)
    out = PackedSequence(y, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    return (pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])[0],
            [end[:, packed.unsorted_indices] for end in ends])


def gru_cells(p, layers, x, lengths, begin):
    """The same of neon's GRU, each sample by itself over its own steps."""
    ends = []
    for names in layers:
        sides = []
        for name, reverse in zip(names, (False, True)):
            first = [None] * len(x) if begin is None else begin[0][len(ends)][:, None]
            rows = [gru(x[i:i + 1, :n], p, name, reverse, h=first[i])[0] for i, n in enumerate(lengths)]
            sides.append(torch.stack([F.pad(each, (0, 0, 0, x.shape[1] - len(each))) for each in rows]))
            ends.append(torch.stack([each[0 if reverse else -1] for each in rows]))
        x = torch.cat(sides, 2)
    return x, [torch.stack(ends)]


def cells(kind, p, layers, x, lengths, begin=None):
    return gru_cells(p, layers, x, lengths, begin) if kind == "GRU" else torch_cells(kind, p, layers, x, lengths, begin)


def cell_shapes(kind, layers, features=FEATURES, units=UNITS):
    shapes = {}
    for names in layers:
        for name in names:
            shapes |= {f"{name}/W_input": (GATES[kind] * units, features), f"{name}/W_recur": (GATES[kind] * units, units),
                       f"{name}/b": (GATES[kind] * units,)}
        features = units * len(names)
    return shapes


def end_shapes(features=UNITS, number=0):
    return {f"Affine_{number}/W": (CLASSES, features), f"Affine_{number}_bias/b": (CLASSES,)}


def end(activation="Softmax"):
    return {"Affine": {"nout": "classes", "bias": "Gaussian", "activation": activation, **INIT}}


def affine(p, x, number=0):
    return x @ p[f"Affine_{number}/W"].T + p[f"Affine_{number}_bias/b"]


def start_of(shapes):
    """Initial weights as the file says them: 1 for what scales, otherwise drawn with a seed of their own."""
    return {name: dict(shape=list(shape), fill=1) if name.endswith("/gamma") else
            dict(shape=list(shape), drawn=seed, scale=0.75) for seed, (name, shape) in enumerate(shapes.items(), 1)}


def values(array):
    return drawn(array["drawn"], array["shape"], array["scale"]) if "drawn" in array else np.ones(array["shape"])


def step_labels(count, lengths):
    """A class for each step, -1 behind a sample's last."""
    return np.array([[(3 * i + 2 * t + i * t) % CLASSES if t < lengths[i] else -1.0 for t in range(STEPS)] for i in range(count)])


def of_steps(scores, labels, lengths):
    """The mean cross-entropy of all steps that have a label."""
    return F.cross_entropy(scores.flatten(0, 1), torch.tensor(labels).long().flatten(), ignore_index=-1)


def case(title, layers, shapes, scores, lengths=None, labels=None, loss=of_steps, cost="CrossEntropyMulti", pieces=1):
    """`scores` of the weights, a batch of inputs and their lengths; with `pieces` above 1 also of the state before, None
    where streams begin, and it then gives the state behind its last step, too."""
    count = SAMPLES if pieces == 1 else pieces * BATCH
    data, start = dict(shape=[count, STEPS, FEATURES], drawn=0, scale=1.0), start_of(shapes)
    inputs, known = torch.tensor(values(data)), lengths or [STEPS] * count
    labels = step_labels(count, known) if labels is None else labels
    state, step = None, 0

    def mean(rows, p):
        nonlocal state, step
        if pieces > 1:
            rows = [s * pieces + step % pieces for s in range(BATCH)]
            state = state if step % pieces else None
        counts = [known[i] for i in rows]
        y = scores(p, inputs[rows], counts, *([state] if pieces > 1 else []))
        if pieces > 1:
            y, state = y[0], [s.detach() for s in y[1]]
        step += 1
        return loss(y, labels[rows], counts)

    result = trained({name: values(a) for name, a in start.items()}, {name: RATE for name in start}, BATCH, count, mean, TRAINED)
    return dict(title=title, layers=layers, cost=cost, optimizer=momentum(RATE), pieces=pieces, data=data, labels=labels,
                classes=CLASSES, **({"lengths": lengths} if lengths else {}), **{**result, "parameters": start})


def of_cells(title, kind, net, layers, units=UNITS, **more):
    """A net of cells and a softmax; `layers` are the names of the cells of each layer, by direction."""
    spec = [{name: {"output_size": units, "bias": "Gaussian", **options, **INIT}} for name, options in net]

    def scores(p, x, lengths, *state):
        y, ends = cells(kind, p, layers, x, lengths, *state)
        return (affine(p, y), ends) if state else affine(p, y)

    shapes = cell_shapes(kind, layers, units=units) | end_shapes(units * len(layers[0]))
    return case(title, [*spec, end()], shapes, scores, **more)


def both(*names):
    return [[name + "_forward", name + "_backward"] for name in names]


def cell_nets():
    out = []
    for kind in "LSTM", "GRU", "Recurrent":
        one, two = [(kind, {})], [(kind, {}), (kind, {})]
        out += [of_cells(f"{kind}", kind, one, [[f"{kind}_0"]]),
                of_cells(f"{kind}, two layers, sequences of different lengths", kind, two, [[f"{kind}_0"], [f"{kind}_1"]],
                         lengths=LENGTHS),
                of_cells(f"{kind}, states carried over three pieces", kind, one, [[f"{kind}_0"]], pieces=3)]
    for name, kind in ("BiLSTM", "LSTM"), ("BiGRU", "GRU"), ("BiRNN", "Recurrent"):
        out.append(of_cells(f"{name}, two layers, sequences of different lengths", kind, [(name, {})] * 2,
                            both(f"{name}_0", f"{name}_1"), units=2, lengths=LENGTHS))
    out.append(of_cells("DeepBiLSTM", "LSTM", [("DeepBiLSTM", {"depth": 2})], both("DeepBiLSTM_0_1", "DeepBiLSTM_0_2"), units=2))
    out.append(of_cells("LSTM, two layers, states carried over two pieces", "LSTM", [("LSTM", {})] * 2, [["LSTM_0"], ["LSTM_1"]],
                        pieces=2))
    return out


def last_states():
    """One class for a sample, from the states of its own last step."""
    labels = np.arange(SAMPLES)[:, None] % CLASSES * 1.0

    def scores(p, x, lengths):
        y = cells("GRU", p, [["GRU_0"]], x, lengths)[0]
        return affine(p, torch.stack([rows[n - 1] for rows, n in zip(y, lengths)]))

    loss = lambda y, labels, lengths: F.cross_entropy(y, torch.tensor(labels[:, 0]).long())
    spec = [{"GRU": {"output_size": UNITS, "bias": "Gaussian", **INIT}}, "RecurrentLast", end()]
    return case("GRU and the class of a whole sequence", spec, cell_shapes("GRU", [["GRU_0"]]) | end_shapes(), scores,
                lengths=LENGTHS, labels=labels, loss=loss)


def over_steps():
    """The sum, the mean and the greatest of the states of a sample's own steps, side by side."""
    def scores(p, x, lengths):
        y = cells("LSTM", p, [["LSTM_0"]], x, lengths)[0]
        rows = [each[:n] for each, n in zip(y, lengths)]
        return affine(p, torch.stack([torch.cat([r.sum(0), r.mean(0), r.max(0).values]) for r in rows]))

    labels = np.arange(SAMPLES)[:, None] % CLASSES * 1.0
    loss = lambda y, labels, lengths: F.cross_entropy(y, torch.tensor(labels[:, 0]).long())
    spec = [{"LSTM": {"output_size": UNITS, "bias": "Gaussian", **INIT}},
            {"MergeConcat": ["RecurrentSum", "RecurrentMean", "RecurrentMax"]}, end()]
    return case("LSTM, sums and means of sequences of different lengths", spec,
                cell_shapes("LSTM", [["LSTM_0"]]) | end_shapes(3 * UNITS), scores, lengths=LENGTHS, labels=labels, loss=loss)


def ctc():
    """Labels of their own number, by scores of steps; class 0 is the blank."""
    sequences = [[1, 2, 3], [2], [3, 3], [1], [2, 1], [1, 3, 1], []]
    labels = np.array([row + [-1] * (3 - len(row)) for row in sequences], dtype=float)
    layers = both("BiLSTM_0")

    def scores(p, x, lengths):
        return affine(p, cells("LSTM", p, layers, x, lengths)[0])

    def loss(y, labels, lengths):
        counts = (labels >= 0).sum(1)
        each = F.ctc_loss(torch.log_softmax(y, 2).transpose(0, 1), torch.tensor(np.maximum(labels, 0)).long(),
                          torch.tensor(lengths), torch.tensor(counts), reduction="none")
        return each.mean()

    spec = [{"BiLSTM": {"output_size": 2, "bias": "Gaussian", **INIT}}, end("Identity")]
    return case("BiLSTM and CTC, sequences of different lengths", spec, cell_shapes("LSTM", layers, units=2) | end_shapes(),
                scores, lengths=LENGTHS, labels=labels, loss=loss, cost="CTC")


def nets():
    return cell_nets() + [last_states(), over_steps(), ctc()]
