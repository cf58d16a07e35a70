#!/usr/bin/python3
"""Several ranks on CPUs (-m N): the same weights as of one rank, faults, signals, resumed runs."""
import os
import re
import signal
import time

import numpy as np

import support
from support import Case, tensors

LIMIT = 1e-12  # of weights near 1 in f64, after 20 steps and more
NUMBERS = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 3}}
layers:
  - Affine: {nout: 8, init: Kaiming, activation: Tanh}
  - Dropout: 0.8
  - Affine: {nout: 8, init: Kaiming, activation: {RReLU: {}}}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
epochs: 4
"""


def arrays(path):
    """Name to array of a checkpoint."""
    kinds = {"F64": "f8", "F32": "f4", "I32": "i4", "I64": "i8"}
    return {name: np.frombuffer(data, kinds[kind]).reshape(shape)
            for name, (kind, shape, data) in tensors(path)[0].items()}


class Ranks(Case):
    def train(self, spec, ranks, *options, name=None):
        """The results on stdout, and the arrays of the checkpoint."""
        name = name or f"m{ranks}.safetensors"
        done = self.neon("-b", "cpu", "-d", "f64", "-r", "3", "-m", str(ranks), "-s", name, *options, spec)
        return done, arrays(self.path(name))

    def check_equal(self, got, wanted, limit=LIMIT):
        self.assertEqual(set(got), set(wanted))
        for name, array in wanted.items():
            self.assertEqual(got[name].shape, array.shape, name)
            error = np.max(np.abs(got[name] - array) / (1 + np.abs(array)), initial=0)
            self.assertLess(error, limit, f"{name}: {error}")

    def check_ranks(self, spec, *options, ranks=(2, 3, 4)):
        one, wanted = self.train(spec, 1, *options)
        for count in ranks:
            done, got = self.train(spec, count, *options)
            self.check_equal(got, wanted)
            # The same results, to all digits that are printed.
            self.assertEqual(re.findall(r"^(?:test|validation|training): .*", done.out, re.M),
                             re.findall(r"^(?:test|validation|training): .*", one.out, re.M))

    def test_dense_net(self):
        """Dropout and random slopes draw as one rank does; the last batch has 6 samples of 8."""
        self.check_ranks(self.spec(NUMBERS))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}"))


support.main()
