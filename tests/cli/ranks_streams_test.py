#!/usr/bin/python3
"""Ranks keep streams and chains as one process does, also where a batch has fewer than ranks; and nets train by rules."""
import os

import numpy as np

import ranks_test
import support
from support import Case

# The last batch has 2 samples: with 3 and 5 ranks some have none.
MACHINE = """\
dataset: {UniformRandom: {ntrain: 18, ntest: 7, nin: 6, nout: 3}}
layers: [RBM: {name: rbm, nout: 5, init: {Gaussian: {scale: 0.1}}}]
rule: {ContrastiveDivergence: {k: 2, persistent: true, sample_visible: true}}
optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.5}}
accumulate: 2
batch_size: 4
epochs: 4
"""
PHASES = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 3}}
layers:
  - RBM: {name: rbm, nout: 5, init: {Gaussian: {scale: 0.1}}}
  - Dropout: 0.8
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
phases:
  - {name: one, epochs: 2, layers: [RBM: {name: rbm, nout: 5, init: {Gaussian: {scale: 0.1}}}], rule: ContrastiveDivergence}
  - {name: two, epochs: 2}
"""
# The critic moves 4 times for each of the generator's moves.
PLAYERS = """\
dataset: {Digits: {ntrain: 38, ntest: 11, sym_range: true}}
layers:
  - GenerativeAdversarial:
      noise: [4]
      generator:
        - Affine: {nout: 7, init: Kaiming, batch_norm: true, activation: Rectlin}
        - Affine: {nout: 784, init: Kaiming, activation: Tanh}
        - Reshape: [1, 28, 28]
      discriminator:
        - Affine: {nout: 5, init: Kaiming, batch_norm: true, activation: Rectlin}
        - Dropout: 0.8
        - Affine: {nout: 1, init: Kaiming}
rule: {Adversarial: {func: wasserstein, k: 4, wgan_param_clamp: 0.1}}
optimizer: {RMSProp: {learning_rate: 0.002}}
callbacks: [GradientNorm, GANPlot]
parallel: {batch_norm: all}
ema: 0.9
batch_size: 8
epochs: 4
"""


class RanksOfStreams(Case):
    BACKEND = "cpu"
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    text = ranks_test.Ranks.text

    def check_resumed(self, spec, wanted, *counts):
        for first, then in counts:
            self.train(spec, first, "-e", "1", name="part.safetensors")
            self.neon("resume", "-b", "cpu", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_carried_states_of_fewer_streams_than_ranks(self):
        """A rank without a stream adds nothing to an evaluation, and the others keep the streams of the batch."""
        self.text()
        for batch in 1, 3:
            self.check_ranks(self.spec(ranks_test.TEXT, batch_size=batch), ranks=(2, 4))

    def test_a_machine_and_its_chains(self):
        """A short batch goes on with the first chains, which other ranks have moved before."""
        spec = self.spec(MACHINE)
        self.check_resumed(spec, self.check_ranks(spec, ranks=(2, 3, 5)), (2, 1), (1, 3), (3, 2))

    def test_a_phase_that_trains_by_a_rule(self):
        spec = self.spec(PHASES)
        self.check_resumed(spec, self.check_ranks(spec, ranks=(3,)), (3, 2))

    def test_two_players(self):
        """Rank 0 alone draws the sheet of images."""
        spec, drawn = self.spec(PLAYERS), []
        for ranks in (), (2, 3):
            wanted = self.check_ranks(spec, ranks=ranks)
            drawn.append(support.png_pixels(self.read("made.png")).astype(int))
            os.remove(self.path("made.png"))
        self.assertLessEqual(np.max(np.abs(drawn[1] - drawn[0])), 1)
        self.check_resumed(spec, wanted, (2, 3))


if __name__ == "__main__":
    support.main()
