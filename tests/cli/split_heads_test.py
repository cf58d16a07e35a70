#!/usr/bin/python3
"""parallel: {dense: pairs} in layers that are pairs by themselves: ranks (-m N) share the heads of attention and the
hidden units of gated layers, and compute what one process does."""
import ranks_test
import split_dense_test
import support

GATED = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 3}}
parallel: {dense: pairs}
layers:
  - GatedMLP: {hidden: 12, nout: 5, init: Kaiming, bias: {Constant: 0.1}}
  - GatedMLP: {hidden: 24, init: Kaiming, activation: Tanh}
  - Affine: {nout: 3, init: Kaiming, bias: {Constant: 0.1}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
epochs: 4
"""
# A block of a transformer, of sequences of different lengths: of 5 numbers a step, which no number of ranks divides.
BLOCK = """\
dataset: {CopyTask: {length: 6, symbols: 3, ntrain: 45, ntest: 10}}
parallel: {dense: pairs}
layers:
  - Embedding: {nout: 5, init: Kaiming}
  - MultiHeadAttention: {heads: 12, head_size: 2, init: Kaiming, ATTENTION}
  - RMSNorm
  - GatedMLP: {hidden: 24, init: Kaiming}
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
epochs: 4
"""
TWO = """\
dataset: {CopyTask: {length: 6, symbols: 3, ntrain: 45, ntest: 10}}
parallel: {dense: pairs}
layers:
  - Embedding: {name: words, nout: 5, init: Kaiming}
  - GRU: {name: read, output_size: 7, init: Kaiming}
  - MultiHeadAttention: {inputs: [words, read], heads: 12, kv_heads: 12, head_size: 3, nout: 6, init: Kaiming}
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
epochs: 3
"""


class SplitHeads(support.Case):
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    exchanges = split_dense_test.SplitDense.exchanges

    def block(self, attention="causal: true", **changes):
        return self.spec(BLOCK.replace("ATTENTION", attention), **changes)

    def test_gated_layers_of_samples(self):
        self.check_ranks(self.spec(GATED))

    def test_heads_and_gated_layers_of_steps(self):
        """Rotary positions, biases, one head of keys for two of queries; 45 samples leave 5 for the last batch."""
        self.check_ranks(self.block())
        self.check_ranks(self.block("causal: true, rotary: true, kv_heads: 6, bias: {Constant: 0.1}"), ranks=(2, 3))

    def test_sequences_of_different_lengths(self):
        """Keys behind the end of a sequence count nowhere, whichever rank has its samples."""
        self.check_ranks(self.block("causal: false"), ranks=(2, 3))
        self.check_ranks(self.block("causal: false", buckets=3), ranks=(2, 4))

    def test_queries_of_one_sequence_and_keys_of_another(self):
        self.check_ranks(self.spec(TWO))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        data = "{CopyTask: {length: 6, symbols: 3, ntrain: 33, ntest: 3}}"
        self.check_ranks(self.block("causal: false", dataset=data))

    def test_samples_that_come_in_turns(self):
        for scheme in "b", "c":
            spec = self.block("causal: false", parallel=f"{{dense: pairs, scheme: {scheme}}}")
            self.check_ranks(spec, ranks=(2, 3))
            self.check_ranks(self.spec(GATED, parallel=f"{{dense: pairs, scheme: {scheme}}}"), ranks=(2, 3))

    def test_accumulated_gradients_and_sharded_optimizer(self):
        self.check_ranks(self.block(accumulate=3), ranks=(2, 3))
        self.check_ranks(self.block(parallel="{dense: pairs, optimizer: sharded}"), ranks=(2,))
        self.check_ranks(self.block(parallel="{dense: pairs, optimizer: sharded, classifier: model}"), ranks=(3,))

    def test_lengths_of_weights_are_those_of_all_ranks(self):
        for optimizer in "LAMB: {learning_rate: 0.01}", "LARS: {learning_rate: 1}":
            self.check_ranks(self.block(optimizer=f"{{{optimizer}}}"), ranks=(2, 3))

    def test_a_checkpoint_has_all_heads_and_goes_on_anywhere(self):
        spec = self.block()
        _, wanted = self.train(spec, 1, name="whole.safetensors")
        for first, then in (2, 1), (1, 3), (4, 2):
            self.train(spec, first, "-e", "2", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_samples_are_gathered_once_and_one_sum_stands_behind_a_layer(self):
        """Two ranks of 4 samples each, of 13 steps; forward and back. Products of q, k and v share what is gathered, and
        so do gate and up; nobody asks for the gradient of the samples of a first layer."""
        said = [each for each in self.exchanges(self.block(), 2) if each[0] != "exchange"]
        attention, gated = "MultiHeadAttention_0", "GatedMLP_0"
        self.assertEqual([each for each in said if each[2] in (attention, gated)],
                         [("all_gather", "(52, 5)", attention), ("reduce_scatter", "(104, 5)", attention),
                          ("all_gather", "(52, 5)", gated), ("reduce_scatter", "(104, 5)", gated),
                          ("all_gather", "(52, 5)", gated), ("reduce_scatter", "(104, 5)", gated),
                          ("all_gather", "(52, 5)", attention), ("reduce_scatter", "(104, 5)", attention)])
        said = [each for each in self.exchanges(self.spec(GATED), 2) if each[0] != "exchange"]
        self.assertEqual(said[:2], [("all_gather", "(4, 6)", gated), ("reduce_scatter", "(8, 5)", gated)])
        self.assertEqual(said[-1], ("all_gather", "(4, 5)", gated))

    def test_says_what_is_split_and_what_stays_whole(self):
        """Heads that ranks cannot share evenly, heads of keys among them, and those whose weights are dropped."""
        done = self.neon("-b", "cpu", "-m", "3", self.block(epochs=1))
        self.assertIn("weights split over 3 devices: MultiHeadAttention_0, GatedMLP_0", done.err)
        for attention in "kv_heads: 4", "dropout: 0.2":
            spec = self.block(attention, epochs=2)
            done = self.neon("-b", "cpu", "-m", "3", spec)
            self.assertIn("weights split over 3 devices: GatedMLP_0, Affine_0; "
                          f"{3 * 24 * 5 + 5 * 3} of ", done.err)
            self.check_ranks(spec, ranks=(2, 3))
        self.refused(2, "-b", "cpu", "-m", "5", self.block(), says="parallel: {dense: pairs} splits nothing here: no "
                     "Affine or Linear has an nout, no GatedMLP a `hidden` and no MultiHeadAttention without dropout "
                     "`heads` and `kv_heads` that are multiples of 5; leave dense out (--set parallel.dense=data)")


if __name__ == "__main__":
    support.main()
