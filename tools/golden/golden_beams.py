"""Sequences of labels that a decoder predicts: the best of all there are, and those of a beam, kept in lists of Python. See
make_golden.py."""
import itertools

import numpy as np
import torch

from golden_seq2seq import CLASSES, TOKENS, examples, known, layer_of, start_of, strings

END, STEPS, ALL = CLASSES - 1, 3, 40  # 40 beams hold every beginning of two labels


class Sample:
    """The log-probabilities of the label after others, for the tokens of one sample."""

    def __init__(self, pair, p, tokens):
        self.pair, self.p, self.tokens, self.found = pair, p, tokens, {}

    def logs(self, labels):
        if labels not in self.found:
            with torch.no_grad():
                self.found[labels] = torch.log_softmax(self.pair.scores(self.p, self.tokens, labels)[-1], 0).tolist()
        return self.found[labels]

    def score(self, labels, penalty):
        """(log p) / L^penalty of L labels."""
        return sum(self.logs(labels[:i])[k] for i, k in enumerate(labels)) / len(labels) ** penalty


def sequences():
    """All that end with END, and all of STEPS labels without it."""
    others = [k for k in range(CLASSES) if k != END]
    yield from ((*labels, END) for count in range(STEPS) for labels in itertools.product(others, repeat=count))
    yield from itertools.product(others, repeat=STEPS)


def best_of_all(sample, penalty):
    return max(sequences(), key=lambda labels: sample.score(labels, penalty))


def best_of_beam(sample, beams, penalty):
    kept = [()]
    for _ in range(STEPS):
        longer = []
        for labels in kept:
            longer += [labels] if labels[-1:] == (END,) else [(*labels, k) for k in range(CLASSES)]
        kept = sorted(longer, key=lambda labels: -sample.score(labels, penalty))[:beams]
    return kept[0]


def case(title, pair, encoder, decoder, parameters, width, **options):
    x, _ = strings()
    start = start_of(parameters, width)
    # Labels depend more on those before, and sequences end later.
    start["Embedding_1/W"] *= 2
    start["Affine_0/W"] *= 4
    start["Affine_0_bias/b"][END] = -1
    p = {name: torch.tensor(value) for name, value in start.items()}
    samples = [Sample(pair, p, known(tokens)) for tokens in x[:4]]
    searches = []
    for beams, penalty in [(1, 0), (2, 0), (3, 0), (2, 1), (3, 0.5), (ALL, 0), (ALL, 0.5), (ALL, 1)]:
        predicted = -np.ones((4, STEPS))
        for row, sample in zip(predicted, samples):
            best = best_of_all(sample, penalty) if beams == ALL else best_of_beam(sample, beams, penalty)
            row[:len(best)] = best
            row[row == END] = -1
        layer = layer_of(encoder, decoder, steps=STEPS, beams=beams, length_penalty=penalty, **options)
        searches.append(dict(layers=[layer], predicted=predicted))
    return dict(title=title, layers=searches[0]["layers"], cost="CrossEntropyMulti", optimizer="Adam", data=x, labels=-np.ones((8, 5)),
                tokens=TOKENS, classes=CLASSES, end_class=END, parameters=start, batch=4, searches=searches)


def nets():
    return [case(*parts, **options) for parts, options in examples()]
