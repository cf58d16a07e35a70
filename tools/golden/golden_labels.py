"""Costs and metrics of sequences of labels: torch.nn.CTCLoss, and naive loops. See make_golden.py."""
import math
from collections import Counter

import numpy as np
import torch

from golden_file import draw, stream


def padded(sequences, width):
    """Rows of labels, -1 behind each."""
    out = np.full((len(sequences), width), -1.0)
    for row, labels in zip(out, sequences):
        row[:len(labels)] = labels
    return out


def ctc():
    """Cases of each sample's loss (torch's reduction="none") and its gradient by the scores (N,T,K)."""
    cases = []

    def case(options, scores, sequences, lengths=None):
        n, steps, classes = scores.shape
        blank, zero = options.get("blank", 0), options.get("infeasible") == "zero"
        g, x = draw(options, (n, 1)), torch.tensor(scores, requires_grad=True)
        loss = torch.nn.CTCLoss(blank=blank, reduction="none", zero_infinity=zero)
        flat = torch.tensor([label for labels in sequences for label in labels], dtype=torch.long)
        each = loss(torch.log_softmax(x, 2).transpose(0, 1), flat, torch.tensor(lengths or [steps] * n),
                    torch.tensor([len(labels) for labels in sequences]))[:, None]
        each.backward(torch.tensor(g))
        more = {"lengths": np.array(lengths, dtype=float)} if lengths else {}
        cases.append(dict(cost={"CTC": options}, activation="Identity", x=scores, **more,
                          labels=padded(sequences, max(map(len, sequences))), g=g, y=each.detach().numpy(),
                          dx=x.grad.numpy()))

    scores = draw("scores", (4, 9, 5), 2)
    sequences = [[1, 2, 3], [4, 4, 4, 1], [2], [3, 1, 3, 1]]
    case({}, scores, sequences)
    case({}, scores, sequences, [9, 8, 3, 5])
    case({"blank": 3}, scores, [[0, 1, 2, 4], [1, 1], [4, 0], [2, 2, 2]], [9, 4, 6, 8])
    # Three equal labels take five steps, four different ones four.
    case({"infeasible": "zero"}, scores, [[1, 1, 1], [1, 2, 3, 4], [2, 2], [1]], [4, 3, 3, 1])
    case({}, draw("long scores", (2, 60, 12), 3), [list(stream("long").integers(1, 12, 14)), [5, 5, 6, 5, 5, 5]], [60, 51])
    return cases


def distance(a, b):
    """Levenshtein's, by the definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))


def bleu(pairs, most=4, brevity=True):
    """Papineni et al. 2002, over a corpus of one reference each: geometric mean of the clipped precisions."""
    logs = 0.0
    for n in range(1, most + 1):
        grams = lambda s: Counter(tuple(s[i:i + n]) for i in range(len(s) - n + 1))
        matches = sum(sum((grams(a) & grams(b)).values()) for a, b in pairs)
        total = sum(max(len(a) - n + 1, 0) for a, b in pairs)
        if matches == 0:
            return 0.0
        logs += math.log(matches / total) / most
    predicted, told = sum(len(a) for a, b in pairs), sum(len(b) for a, b in pairs)
    return math.exp(logs) * (math.exp(1 - told / predicted) if brevity and predicted < told else 1.0)


def metrics():
    """Sequences that a net predicts, (2,N,T), beside labels (2,N,L); of the second batch two samples count."""
    draws = stream("sequences")
    labels = [list(draws.integers(0, 6, n)) for n in (7, 5, 6, 1, 4, 5)]
    predicted = [labels[0][:], labels[1][:4] + [0], [3] + labels[2][1:] + [2], [1, 2], [], labels[5][1:]]
    predicted[0][3] = 5
    # Single labels that are repeated count at most as often as the target has them.
    predicted[2][4] = predicted[2][3] = predicted[2][2]
    weight = np.array([[1, 1, 1], [1, 1, 0]]).astype(float)[..., None]
    pairs = [pair for pair, counts in zip(zip(predicted, labels), weight.ravel()) if counts]
    rows = lambda s, width: padded(s, width).reshape(2, 3, width)
    x = rows(predicted, 8)
    x[0, 0] = [-1, *x[0, 0, :3], -1, *x[0, 0, 3:6]]  # labels that are none may stand anywhere
    predicted[0] = [int(v) for v in x[0, 0] if v >= 0]
    pairs[0] = (predicted[0], labels[0])
    same = [(a, a) for a, b in pairs]
    cases = []

    def case(metric, results, x=x, t=rows(labels, 7)):
        cases.append(dict(metric=metric, predicted=x, labels=t, weight=weight, results=results))

    rate = sum(distance(a, b) for a, b in pairs) / sum(len(b) for a, b in pairs)
    case("EditDistance", [rate])
    case("EditDistance", [0.0], x, x)
    case("ExactMatch", [sum(a == b for a, b in pairs) / len(pairs)])
    case("ExactMatch", [1.0], x, x)
    case("BLEU", [bleu(pairs)])
    case({"BLEU": {"most": 2}}, [bleu(pairs, 2)])
    case({"BLEU": {"most": 2, "brevity_penalty": False}}, [bleu(pairs, 2, False)])
    case({"BLEU": {"most": 3}}, [bleu(same, 3)], x, x)
    case("BLEU", [0.0], rows([[5], [5], [5], [5], [5], [5]], 2), rows([[1, 1, 1, 1, 1]] * 6, 5))
    short = [b[:3] for b in labels]
    case("BLEU", [0.0], rows([b + [1] for b in short], 6), rows(short, 3))
    case({"BLEU": {"most": 3}}, [bleu([(b + [1], b) for b in short][:5], 3)], rows([b + [1] for b in short], 6), rows(short, 3))
    longer = [b + [0, 1, 0, 1] for b in labels]
    case("BLEU", [bleu(list(zip(longer, labels))[:5])], rows(longer, 11))
    return cases
