"""Nets whose layers share weights: the first gradients, and steps of a MultiOptimizer. See make_golden.py."""
import torch
import torch.nn.functional as F

from golden_file import draw, stream

MOMENTUM, STEPS = 0.5, 8


def trained(start, rates, batch, count, cost, steps=STEPS):
    """Costs, first gradients, weights after some steps, with a rate for each array."""
    p = {name: torch.tensor(value, requires_grad=True) for name, value in start.items()}
    optimizer = torch.optim.SGD([{"params": [p[name]], "lr": rates[name]} for name in p], lr=1, momentum=MOMENTUM)
    costs, gradients = [], None
    for step in range(steps):
        optimizer.zero_grad()
        loss = cost([(batch * step + i) % count for i in range(batch)], p)
        loss.backward()
        gradients = gradients or {name: t.grad.numpy().copy() for name, t in p.items()}
        costs.append(loss.item())
        optimizer.step()
    return dict(parameters=start, batch=batch, gradients=gradients, costs=costs,
                after={name: t.detach().numpy() for name, t in p.items()})


def momentum(rate):
    return {"GradientDescentMomentum": {"learning_rate": rate, "momentum_coef": MOMENTUM}}


def two_affine():
    """The second layer is the first once more, and a third has its product but a bias of its own."""
    data, labels = draw("data", (20, 6)), stream("labels").integers(0, 4, 20)
    start = {"first/W": draw("first/W", (6, 6), 0.5), "first_bias/b": draw("first_bias/b", 6, 0.25),
             "third_bias/b": draw("third_bias/b", 6, 0.25), "out/W": draw("out/W", (4, 6), 0.5)}
    rates = {"first/W": 0.0625, "first_bias/b": 0.25, "third_bias/b": 0.25, "out/W": 0.125}

    def cost(rows, p):
        layer = lambda x, bias: torch.tanh(x @ p["first/W"].T + p[bias])
        x = layer(layer(torch.tensor(data[rows]), "first_bias/b"), "first_bias/b")
        hidden = torch.tanh(x @ p["first/W"].T) + p["third_bias/b"]
        return F.cross_entropy(hidden @ p["out/W"].T, torch.tensor(labels[rows]))

    affine = {"nout": 6, "bias": "Gaussian", "activation": "Tanh"}
    layers = [{"Affine": {"name": "first", "init": "Gaussian", **affine}}, {"Affine": {"share": "first", **affine}},
              {"Linear": {"nout": 6, "share": "first"}}, {"Activation": "Tanh"},
              {"Bias": {"name": "third_bias", "init": "Gaussian"}},
              {"Affine": {"name": "out", "nout": 4, "init": "Gaussian", "activation": "Softmax"}}]
    optimizer = {"MultiOptimizer": {"default": momentum(0.125), "Bias": momentum(0.25), "first": momentum(0.0625)}}
    return dict(title="two Affine and a Linear share weights", layers=layers, cost="CrossEntropyMulti", optimizer=optimizer,
                data=data, labels=labels.astype(float), classes=4, **trained(start, rates, 5, 20, cost))


def tied_embedding():
    """The classifier of the next token has the embedding's table for weights (Press and Wolf 2017)."""
    count, tokens = 7, stream("tokens").integers(0, 7, (12, 6))
    start = {"table/W": draw("table/W", (count, 4), 0.5), "Affine_0/W": draw("Affine_0/W", (4, 4), 0.5),
             "Affine_1_bias/b": draw("Affine_1_bias/b", count, 0.25)}
    rates = {"table/W": 0.25, "Affine_0/W": 0.125, "Affine_1_bias/b": 0.125}

    def cost(rows, p):
        x = torch.tensor(tokens[rows])
        hidden = torch.tanh(F.embedding(x[:, :-1], p["table/W"]) @ p["Affine_0/W"].T)
        scores = hidden @ p["table/W"].T + p["Affine_1_bias/b"]
        return F.cross_entropy(scores.flatten(0, 1), x[:, 1:].flatten())

    layers = [{"Embedding": {"name": "table", "embedding_dim": 4, "init": "Gaussian"}},
              {"Affine": {"nout": 4, "init": "Gaussian", "activation": "Tanh"}},
              {"Affine": {"nout": "classes", "share": "table", "bias": "Gaussian", "activation": "Softmax"}}]
    optimizer = {"MultiOptimizer": {"default": momentum(0.125), "Embedding": momentum(0.25)}}
    return dict(title="an embedding tied to its classifier", layers=layers, cost="CrossEntropyMulti", optimizer=optimizer,
                data=tokens[:, :-1].astype(float), labels=tokens[:, 1:].astype(float), classes=count, tokens=count,
                **trained(start, rates, 4, 12, cost))


def tied_autoencoder():
    """A decoder with its encoder's weights, transposed, and biases of its own; then a classifier."""
    data, labels = draw("data", (20, 6)), stream("labels").integers(0, 4, 20)
    start = {"enc/W": draw("enc/W", (3, 6), 0.5), "enc_bias/b": draw("enc_bias/b", 3, 0.25),
             "Affine_1_bias/b": draw("Affine_1_bias/b", 6, 0.25), "out/W": draw("out/W", (4, 6), 0.5)}
    rates = {"enc/W": 0.0625, "enc_bias/b": 0.25, "Affine_1_bias/b": 0.25, "out/W": 0.125}

    def cost(rows, p):
        code = torch.tanh(torch.tensor(data[rows]) @ p["enc/W"].T + p["enc_bias/b"])
        hidden = torch.tanh(code @ p["enc/W"] + p["Affine_1_bias/b"])
        return F.cross_entropy(hidden @ p["out/W"].T, torch.tensor(labels[rows]))

    layers = [{"Affine": {"name": "enc", "nout": 3, "init": "Gaussian", "bias": "Gaussian", "activation": "Tanh"}},
              {"Affine": {"nout": 6, "share": "enc", "transpose": True, "bias": "Gaussian", "activation": "Tanh"}},
              {"Affine": {"name": "out", "nout": 4, "init": "Gaussian", "activation": "Softmax"}}]
    optimizer = {"MultiOptimizer": {"default": momentum(0.125), "Bias": momentum(0.25), "enc": momentum(0.0625)}}
    return dict(title="a decoder tied to its encoder", layers=layers, cost="CrossEntropyMulti", optimizer=optimizer,
                data=data, labels=labels.astype(float), classes=4, **trained(start, rates, 5, 20, cost))


def nets():
    return [two_affine(), tied_embedding(), tied_autoencoder()]
