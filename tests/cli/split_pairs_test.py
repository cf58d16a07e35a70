#!/usr/bin/python3
"""parallel: {dense: pairs}: of two dense layers in a row ranks (-m N) share the rows of the first and the columns of the
second, and compute what one process does."""
import re

import ranks_test
import split_dense_test
import support

NUMBERS = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 3}}
parallel: {dense: pairs}
layers:
  - Affine: {nout: 12, init: Kaiming, bias: {Constant: 0.1}, activation: Tanh}
  - Dropout: 0.8
  - Affine: {nout: 7, init: Kaiming, bias: {Constant: 0.1}, activation: Rectlin}
  - Affine: {nout: 24, init: Kaiming, activation: Rectlin}
  - Affine: {nout: 3, init: Kaiming, bias: {Constant: 0.1}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
epochs: 4
"""
STEPS = """\
dataset: {CopyTask: {length: 6, symbols: 3, ntrain: 45, ntest: 10}}
parallel: {dense: pairs}
layers:
  - Embedding: {nout: 5, init: Kaiming}
  - GRU: {output_size: 5, init: Kaiming}
  - Affine: {nout: 12, init: Kaiming, bias: {Constant: 0.1}, activation: Tanh}
  - Dropout: 0.8
  - Affine: {nout: 5, init: Kaiming, bias: {Constant: 0.1}}
  - Affine: {nout: 24, init: Kaiming, activation: Tanh}
  - GRU: {output_size: 5, init: Kaiming}
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
buckets: 3
epochs: 4
"""


# Layers that keep steps, behind split ones.
KEPT = """\
dataset: {CopyTask: {length: 6, symbols: 3, ntrain: 45, ntest: 10}}
parallel: {dense: pairs}
layers:
  - Embedding: {nout: 5, init: Kaiming}
  - Affine: {nout: 12, init: Kaiming, activation: Tanh}
  - KEEPS
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
epochs: 2
"""


class SplitPairs(support.Case):
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    exchanges = split_dense_test.SplitDense.exchanges

    def test_dense_net(self):
        """7 and 3 features are no multiple of any number of ranks: the second of a pair has all of them."""
        self.check_ranks(self.spec(NUMBERS))

    def test_steps_of_sequences(self):
        """Dropout draws for steps; lengths differ; the third layer has no second, and 24 features go to a GRU."""
        self.check_ranks(self.spec(STEPS))

    def test_what_keeps_steps_behind_a_split_layer(self):
        """These take (N,T,F) and give as much: steps all the same, of sequences of one length or of several."""
        for keeps in "LayerNorm: {}", "RMSNorm: {}", "StochasticDepth: 0.7", "GaussianNoise: 0.5", "LearnedPositions: {init: Kaiming, steps: 13}", "SinusoidalPositions: {}":
            spec = KEPT.replace("KEEPS", keeps)
            self.check_ranks(self.spec(spec), ranks=(2, 3))
            self.check_ranks(self.spec(spec, buckets=3), ranks=(2,))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}"))

    def test_accumulated_gradients(self):
        self.check_ranks(self.spec(NUMBERS, accumulate=3), ranks=(2, 3))

    def test_lengths_of_weights_are_those_of_all_columns(self):
        for optimizer in "LAMB: {learning_rate: 0.01}", "LARS: {learning_rate: 1}":
            self.check_ranks(self.spec(NUMBERS, optimizer=f"{{{optimizer}}}"), ranks=(2, 3))

    def test_convolutions_before_it(self):
        self.check_ranks(self.spec(split_dense_test.IMAGES.replace("dense: model", "dense: pairs")))

    def test_beside_a_sharded_optimizer(self):
        """Filters are sharded by rows, and dense layers split."""
        images = split_dense_test.IMAGES.replace("dense: model", "dense: pairs, optimizer: sharded")
        self.check_ranks(self.spec(images), ranks=(2, 4))

    def test_one_sum_stands_behind_a_pair(self):
        """Two ranks of 4 samples each. No features are exchanged between the layers of a pair; the way back has the same
        bytes, but nobody asks for the gradient of the samples."""
        said = self.exchanges(self.spec(NUMBERS), 2)
        rows = [each for each in said if each[0] != "exchange"]
        self.assertEqual(rows, [("all_gather", "(4, 6)", "Affine_0"), ("reduce_scatter", "(8, 7)", "Affine_1"),
                                ("all_gather", "(4, 7)", "Affine_2"), ("reduce_scatter", "(8, 3)", "Affine_3"),
                                ("all_gather", "(4, 3)", "Affine_3"), ("reduce_scatter", "(8, 7)", "Affine_2"),
                                ("all_gather", "(4, 7)", "Affine_1")])

    def test_a_checkpoint_has_all_columns_and_goes_on_anywhere(self):
        spec = self.spec(NUMBERS)
        _, wanted = self.train(spec, 1, name="whole.safetensors")
        for first, then in (2, 1), (1, 3), (4, 2):
            self.train(spec, first, "-e", "2", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_says_what_is_split_and_refuses_where_nothing_is(self):
        done = self.neon("-b", "cpu", "-m", "3", self.spec(NUMBERS, epochs=1))
        numbers = 6 * 12 + 12 + 12 * 7 + 7 * 24 + 24 * 3
        self.assertIn("weights split over 3 devices: Affine_0, Affine_1, Affine_2, Affine_3; "
                      f"{numbers} of {numbers + 7 + 3} numbers", done.err)
        odd = self.spec(NUMBERS.replace("nout: 12", "nout: 9").replace("nout: 24", "nout: 9"))
        self.refused(2, "-b", "cpu", "-m", "5", odd, says="parallel: {dense: pairs} splits nothing here: no Affine or "
                     "Linear has an nout, no GatedMLP a `hidden` and no MultiHeadAttention")


if __name__ == "__main__":
    support.main()
