#!/usr/bin/python3
"""parallel: {embedding: model}: ranks (-m N) share the rows of embeddings' tables, and compute what one process does."""
import re

import numpy as np

import ranks_test
import split_dense_test
import support

TOKENS = """\
dataset: {CopyTask: {length: 6, symbols: 9, ntrain: 45, ntest: 10}}
parallel: {embedding: model}
layers:
  - Embedding: {nout: 5, init: Kaiming, pad_idx: 0}
  - GRU: {output_size: 5, init: Kaiming}
  - Dropout: 0.8
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
buckets: 3
epochs: 4
"""
TEXT = ranks_test.TEXT.replace("layers:\n", "parallel: {embedding: model}\nlayers:\n  - Embedding: {nout: 7, init: Kaiming}\n")


class SplitTable(support.Case):
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    exchanges = split_dense_test.SplitDense.exchanges

    def text(self):
        rng = np.random.default_rng(5)
        for name, count in ("text.txt", 700), ("test.txt", 300):
            self.write(name, "abcdefgh i" + "".join(rng.choice(list("abcdefgh i"), count)))
        return self.spec(TEXT)

    def test_sequences_of_different_lengths(self):
        """One of the tokens has a row of zeros; the last batch has 5 samples of 8, so that some of 4 ranks have two."""
        self.check_ranks(self.spec(TOKENS))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(TOKENS, dataset="{CopyTask: {length: 6, symbols: 9, ntrain: 33, ntest: 3}}"))

    def test_text_in_streams(self):
        """10 tokens are no multiple of 3 or 4: ranks have 3 and 4, or 2 and 3 rows."""
        self.check_ranks(self.text())

    def test_beside_split_dense_layers_and_a_sharded_optimizer(self):
        for more in "dense: pairs", "dense: pairs, scheme: b", "optimizer: sharded":
            spec = TOKENS.replace("embedding: model", f"embedding: model, {more}")
            hidden = "  - Affine: {nout: 12, init: Kaiming, activation: Tanh}\n  - Affine: {nout: 5, init: Kaiming}\n"
            self.check_ranks(self.spec(spec.replace("  - Dropout", hidden + "  - Dropout")), ranks=(2, 3))

    def test_tokens_go_to_all_and_features_come_back(self):
        """Two ranks of 4 samples of 14 steps. The table's gradient has the features of all tokens, and is not summed."""
        spec = self.spec(TOKENS.replace("buckets: 3\n", ""))
        found = self.exchanges(spec, 2)
        table = [(op, shape) for op, shape, layer in found if layer == "Embedding_0"]
        steps = int(table[0][1].strip("()").split(",")[0])
        self.assertEqual(table, [("all_gather", f"({steps}, 1)"), ("reduce_scatter", f"({2 * steps}, 5)"),
                                 ("all_gather", f"({steps}, 5)")])
        self.assertEqual(steps % 4, 0)
        shape = self.train(spec, 1, "-e", "1")[1]["Embedding_0/W"].shape
        said = self.neon("program", "-b", "cpu", "-d", "f64", "-m", "2", spec).out
        sums = [line for line in said.splitlines() if re.match(r" *\d+  exchange  ", line)]
        self.assertTrue(sums)
        for rows in shape[0], shape[0] // 2, shape[0] - shape[0] // 2:
            self.assertNotIn(f"({rows}, 5)", "".join(sums))
        # Tokens in f64 once, features there and back, with their bytes.
        listed = re.findall(r"(?m)^exchange of kernel \d+: 1 array, ([\d.]+ (?:B|KiB)), ", said)
        tokens, features = f"{2 * steps * 8} B", f"{2 * steps * 8 * 5 / 1024:.1f} KiB"
        self.assertEqual((listed[:2], listed.count(features)), ([tokens, features], 2))

    def test_a_checkpoint_has_all_rows_and_goes_on_anywhere(self):
        spec = self.spec(TOKENS)
        _, wanted = self.train(spec, 1, name="whole.safetensors")
        for first, then in (2, 1), (1, 3), (4, 2):
            self.train(spec, first, "-e", "2", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_fixed_point_leaves_tokens_as_they_are(self):
        """Numbers of 16.12 end at 8, of 24.12 at 2048, and tokens at 41: the weights, which are near 1, have the same bits."""
        spec = self.spec(TOKENS.replace("symbols: 9", "symbols: 40"), epochs=1, ema=0,
                         optimizer="{GradientDescentMomentum: {learning_rate: 0.5, momentum_coef: 0}}")
        for ranks in 1, 2, 3:
            found = []
            for name in "16.12", "24.12":
                self.neon("-b", "cpu", "-r", "3", "--fixed_point", name, "-m", str(ranks), "-s", name, spec)
                found.append(ranks_test.arrays(self.path(name)))
            self.assertGreater(len(found[0]["Embedding_0/W"]), 40)
            for name, array in found[1].items():
                np.testing.assert_array_equal(found[0][name], array, f"{name}, {ranks}")

    def test_says_what_is_split_and_refuses_where_nothing_is(self):
        done = self.neon("-b", "cpu", "-m", "3", self.spec(TOKENS, epochs=1))
        self.assertIn("weights split over 3 devices: Embedding_0; ", done.err)
        for verb in "check", "program":
            told = self.neon(verb, "-b", "cpu", "-m", "3", self.spec(TOKENS))
            self.assertIn("weights split over 3 devices: Embedding_0; ", told.err, verb)
        none = self.spec(split_dense_test.NUMBERS.replace("dense: model", "embedding: model"))
        for verb in [], ["check"], ["program"]:
            self.refused(2, *verb, "-b", "cpu", "-m", "2", none, says="parallel: {embedding: model} splits nothing here: no "
                         "Embedding of its own table, without `vectors`, has a row for each of 2 devices; leave embedding out (--set parallel.embedding=data)")


if __name__ == "__main__":
    support.main()
