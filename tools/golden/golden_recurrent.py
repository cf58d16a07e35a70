"""Layers of sequences: PyTorch's own cells where it has neon's, steps written out where not. See make_golden.py."""
import numpy as np
import torch
import torch.nn.functional as F

from golden_file import draw

INIT = "GlorotUniform"


def weights(gates, units, features, key="", name="L"):
    """Of inputs (G H,F), of states (G H,H), and biases (G H)."""
    return {f"{name}/W_input": draw(f"W_input{key}", (gates * units, features), 0.5),
            f"{name}/b": draw(f"b{key}", gates * units, 0.5),
            f"{name}/W_recur": draw(f"W_recur{key}", (gates * units, units), 0.5)}


def torch_states(cell, x, p, order, name="L", reverse=False):
    """The states of a cell of PyTorch, whose gates lie in another order."""
    units = p[f"{name}/W_recur"].shape[1]
    turned = lambda w: torch.cat([w.split(units)[k] for k in order])
    net = cell(x.shape[2], units, batch_first=True, bias=False).double()
    values = [turned(p[f"{name}/W_input"]), turned(p[f"{name}/W_recur"]), turned(p[f"{name}/b"])]
    flat = [values[0], values[1], values[2], torch.zeros_like(values[2])]
    zeros = torch.zeros(1, x.shape[0], units, dtype=x.dtype)
    x = x.flip(1) if reverse else x
    if isinstance(net, torch.nn.LSTM):
        y = torch._VF.lstm(x, (zeros, zeros), flat, True, 1, 0.0, True, False, True)[0]
    else:
        y = torch._VF.rnn_tanh(x, zeros, flat, True, 1, 0.0, True, False, True)[0]
    return y.flip(1) if reverse else y


def lstm(x, p, **options):
    return torch_states(torch.nn.LSTM, x, p, (0, 1, 3, 2), **options)


def rnn(x, p, **options):
    return torch_states(torch.nn.RNN, x, p, (0,), **options)


def gru(x, p, name="L", reverse=False, activation=torch.tanh, gate=torch.sigmoid, h=None):
    """neon's: the reset gate comes before the product, and z takes the new state."""
    w, u, b = p[f"{name}/W_input"], p[f"{name}/W_recur"], p[f"{name}/b"]
    units, out = u.shape[1], [None] * x.shape[1]
    h = torch.zeros(x.shape[0], units, dtype=x.dtype) if h is None else h
    for t in range(x.shape[1])[::-1] if reverse else range(x.shape[1]):
        inputs = x[:, t] @ w.T + b
        r, z = gate(inputs[:, :2 * units] + h @ u[:2 * units].T).split(units, 1)
        n = activation(inputs[:, 2 * units:] + (r * h) @ u[2 * units:].T)
        out[t] = h = (1 - z) * h + z * n
    return torch.stack(out, 1)


def check_gru():
    """Where the new state's weights of h are a diagonal, r may come before or after them, and the formula above is
    PyTorch's layer with the other sign of z."""
    p = {name: torch.tensor(value) for name, value in weights(3, 3, 4, "checked").items()}
    x, units = torch.tensor(draw("checked", (2, 5, 4))), 3
    p["L/W_recur"][2 * units:] *= torch.eye(units)
    sign = torch.tensor([1.0, -1.0, 1.0]).double().repeat_interleave(units)
    layer = torch.nn.GRU(4, units, batch_first=True).double()
    layer.weight_ih_l0.data, layer.weight_hh_l0.data = p["L/W_input"] * sign[:, None], p["L/W_recur"] * sign[:, None]
    layer.bias_ih_l0.data, layer.bias_hh_l0.data = p["L/b"] * sign, torch.zeros(3 * units).double()
    for reverse in (False, True):
        y = layer(x.flip(1) if reverse else x)[0]
        torch.testing.assert_close(gru(x, p, reverse=reverse), y.flip(1) if reverse else y)


def lstm_of(activation, gate):
    """With other functions than PyTorch's."""

    def states(x, p):
        w, u, b = p["L/W_input"], p["L/W_recur"], p["L/b"]
        units, out = u.shape[1], []
        h = c = torch.zeros(x.shape[0], units, dtype=x.dtype)
        for t in range(x.shape[1]):
            i, f, o, g = (x[:, t] @ w.T + h @ u.T + b).split(units, 1)
            c = gate(f) * c + gate(i) * activation(g)
            h = gate(o) * activation(c)
            out.append(h)
        return torch.stack(out, 1)

    return states


def layers(case):
    """Adds the cases of all layers of sequences."""
    check_gru()
    x, units = draw("sequence", (3, 5, 4)), {"output_size": 3, "init": INIT}
    biased = dict(units, bias=INIT)
    sequence = dict(sequence=True)
    case({"Recurrent": biased}, x, lambda x, **p: rnn(x, p), **sequence, **weights(1, 3, 4))
    case({"Recurrent": dict(biased, activation="Logistic")}, x,
         lambda x, **p: recurrent_of(x, p, torch.sigmoid), **sequence, **weights(1, 3, 4))
    clip = lambda y: y.clamp(0, 0.5)
    case({"Recurrent": dict(biased, activation={"Rectlinclip": {"xcut": 0.5}})}, x,
         lambda x, **p: recurrent_of(x, p, clip), **sequence, **weights(1, 3, 4))
    case({"LSTM": biased}, x, lambda x, **p: lstm(x, p), **sequence, **weights(4, 3, 4))
    case({"LSTM": dict(biased, activation="Logistic", gate_activation="Tanh")}, x,
         lambda x, **p: lstm_of(torch.sigmoid, torch.tanh)(x, p), **sequence, **weights(4, 3, 4))
    case({"LSTM": dict(biased, activation={"Explin": {"alpha": 2}})}, x,
         lambda x, **p: lstm_of(lambda y: torch.nn.functional.elu(y, 2.0), torch.sigmoid)(x, p), **sequence,
         **weights(4, 3, 4))
    case({"GRU": biased}, x, lambda x, **p: gru(x, p), **sequence, **weights(3, 3, 4))
    case({"GRU": dict(biased, activation={"Explin": {"alpha": 2}})}, x,
         lambda x, **p: gru(x, p, activation=lambda y: torch.nn.functional.elu(y, 2.0)), **sequence, **weights(3, 3, 4))
    case({"RecurrentSum": {}}, x, lambda x: x.sum(1), **sequence)
    case({"RecurrentMean": {}}, x, lambda x: x.mean(1), **sequence)
    case({"RecurrentMax": {}}, x, lambda x: x.max(1).values, **sequence)
    case({"RecurrentLast": {}}, x, lambda x: x[:, -1], **sequence)
    maps = draw("maps", (3, 4, 5, 2))
    case({"AsSequence": {}}, maps, lambda x: x.permute(0, 3, 2, 1).flatten(2))
    case({"AsSequence": {"along": "height"}}, maps, lambda x: x.permute(0, 2, 3, 1).flatten(2))
    case({"AsSequence": {"steps": 2}}, draw("x", (6, 4)), lambda x: x.reshape(6, 2, 2))
    by_step(case, x)
    of_tokens(case)
    bidirectional(case, x)


def by_step(case, x):
    """Layers of single samples, on each step of a sequence."""
    w, b = draw("W", (2, 4)), draw("b", 2)
    case({"Linear": {"nout": 2, "init": INIT}}, x, lambda x, **p: x @ p["L/W"].T, sequence=True, **{"L/W": w})
    case({"Affine": {"nout": 2, "init": INIT, "bias": INIT, "activation": "Softmax"}}, x,
         lambda x, **p: torch.softmax(x @ p["L/W"].T + p["L_bias/b"], 2), sequence=True, **{"L/W": w, "L_bias/b": b})
    case({"Bias": {"init": INIT}}, x, lambda x, **p: x + p["L/b"], sequence=True, **{"L/b": draw("b", 4)})
    case({"Activation": "Softmax"}, x, lambda x: torch.softmax(x, 2), sequence=True)


def in_both(states, x, p, name="L", other=None):
    """States from the first step on beside those from the last step back, which may read something else."""
    back = x if other is None else other
    return [states(x, p, name=name + "_forward"), states(back, p, name=name + "_backward", reverse=True)]


def both_weights(gates, units, features, name="L"):
    return {**weights(gates, units, features, "forward" + name, name + "_forward"),
            **weights(gates, units, features, "backward" + name, name + "_backward")}


def bidirectional(case, x):
    """Layers of both directions, of two units; stacks of two of them."""
    biased = {"output_size": 2, "init": INIT, "bias": INIT}
    for name, states, gates in ("BiRNN", rnn, 1), ("BiLSTM", lstm, 4), ("BiGRU", gru, 3):
        case({name: biased}, x, lambda x, **p: torch.cat(in_both(states, x, p), 2), sequence=True,
             **both_weights(gates, 2, 4))
        case({name: dict(biased, split_inputs=True)}, x,
             lambda x, **p: torch.cat(in_both(states, x[..., :2], p, other=x[..., 2:]), 2), sequence=True,
             **both_weights(gates, 2, 2))
    for name, states, gates in ("DeepBiRNN", rnn, 1), ("DeepBiLSTM", lstm, 4):
        case({name: dict(biased, depth=2)}, x,
             lambda x, **p: torch.cat(in_both(states, torch.cat(in_both(states, x, p, "L_1"), 2), p, "L_2"), 2),
             sequence=True, **both_weights(gates, 2, 4, "L_1"), **both_weights(gates, 2, 4, "L_2"))
        case({name: dict(biased, bi_sum=True)}, x, lambda x, **p: sum(in_both(states, x, p)), sequence=True,
             **both_weights(gates, 2, 4))
    normalized_products(case, x)
    case({"BiSum": {}}, x, lambda x: x[..., :2] + x[..., 2:], sequence=True)


def normalized_products(case, x):
    """BiBNRNN: batch norm over batch and steps of the products with the inputs. Its rule is golden_nets.BatchNorm."""
    from golden_nets import BatchNorm
    norms = {f"L_{way}_bnorm": BatchNorm() for way in ("forward", "backward")}

    def states(method, x, p, name, reverse=False):
        norm = f"{name}_bnorm"
        products = (x @ p[f"{name}/W_input"].T).flatten(0, 1)
        z = getattr(norms[norm], method)(products, p[f"{norm}/gamma"], p[f"{norm}/beta"]).reshape(*x.shape[:2], -1)
        u, out = p[f"{name}/W_recur"], [None] * x.shape[1]
        h = torch.zeros(x.shape[0], u.shape[1], dtype=x.dtype)
        for t in range(x.shape[1])[::-1] if reverse else range(x.shape[1]):
            out[t] = h = torch.tanh(z[:, t] + h @ u.T)
        return torch.stack(out, 1)

    def net(method):
        return lambda x, **p: torch.cat([states(method, x, p, "L_forward"),
                                         states(method, x, p, "L_backward", reverse=True)], 2)

    parameters = {}
    for way in ("forward", "backward"):
        name = f"L_{way}"
        parameters |= {f"{name}/W_input": draw(f"W_input{way}", (2, 4), 0.5),
                       f"{name}_bnorm/gamma": draw(f"gamma{way}", 2), f"{name}_bnorm/beta": draw(f"beta{way}", 2),
                       f"{name}/W_recur": draw(f"W_recur{way}", (2, 2), 0.5)}
    case({"BiBNRNN": {"output_size": 2, "init": INIT}}, x, net("train"), net("infer"), norms, sequence=True, **parameters)


def of_tokens(case):
    """Layers that look tokens up. Token 3 of 6 comes three times, token 5 never."""
    x, count = np.array([[3, 0, 3, 1], [2, 3, 4, 0]], dtype=float), 6
    one_hot = lambda x: F.one_hot(x.detach().long(), count).double()
    table, init = draw("table", (count, 3)), {"embedding_dim": 3, "init": INIT}
    case({"OneHot": {}}, x, one_hot, tokens=count)
    case({"Embedding": init}, x, lambda x, **p: F.embedding(x.detach().long(), p["L/W"]), tokens=count, **{"L/W": table})
    case({"Embedding": dict(init, vocab_size=7, pad_idx=3)}, x,
         lambda x, **p: F.embedding(x.detach().long(), p["L/W"], padding_idx=3) * (x.detach() != 3)[..., None],
         tokens=count, **{"L/W": draw("table", (7, 3))})
    biased = {"output_size": 3, "init": INIT, "bias": INIT}
    for name, states, gates in ("Recurrent", rnn, 1), ("LSTM", lstm, 4), ("GRU", gru, 3):
        case({name: biased}, x, lambda x, **p: states(one_hot(x), p), tokens=count, **weights(gates, 3, count, "tokens"))


def recurrent_of(x, p, activation):
    """The simple cell with a function that PyTorch's has not."""
    h, out = torch.zeros(x.shape[0], p["L/W_recur"].shape[1], dtype=x.dtype), []
    for t in range(x.shape[1]):
        h = activation(x[:, t] @ p["L/W_input"].T + h @ p["L/W_recur"].T + p["L/b"])
        out.append(h)
    return torch.stack(out, 1)
