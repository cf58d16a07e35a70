#!/usr/bin/python3
"""parallel: {optimizer: sharded}: ranks (-m N) keep shares of weights and of the optimizer's state, and compute what one
process does."""
import re

import h5py
import numpy as np

import ranks_test
import split_dense_test
import support

NUMBERS = ranks_test.NUMBERS.replace("layers:", "parallel: {optimizer: sharded}\nlayers:").replace(
    "RReLU", "RReLU, bias: {Constant: 0.1}")
IMAGES = ranks_test.IMAGES.replace("batch_norm: all", "batch_norm: all, optimizer: sharded")
TIED = """\
dataset: {Text: {path: text.txt, steps: 8, test_path: test.txt}}
parallel: {optimizer: sharded}
layers:
  - Embedding: {name: words, nout: 7, init: Kaiming}
  - GRU: {output_size: 7, init: Kaiming}
  - Affine: {name: first, nout: 7, init: Kaiming, activation: Tanh}
  - Affine: {share: first, nout: 7, activation: Tanh}
  - Linear: {share: words, nout: classes}
  - Activation: Softmax
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.5}}
batch_size: 6
epochs: 2
"""


class Sharded(support.Case):
    train, text, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.text, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks

    def program(self, spec, ranks, *options):
        return self.neon("program", "-b", "cpu", "-m", str(ranks), *options, spec).out

    def test_dense_net(self):
        """The last layer has 3 rows: with 2 ranks shares of 1 and 2, with 4 all have all of them."""
        self.check_ranks(self.spec(NUMBERS))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}"))

    def test_convolutions_with_batch_norm(self):
        self.check_ranks(self.spec(IMAGES))

    def test_accumulated_gradients(self):
        """Updates after 3 of 5 steps of an epoch, so that checkpoints at its end have sums that are not used yet."""
        spec = self.spec(NUMBERS, accumulate=3)
        wanted = self.check_ranks(spec)
        for first, then in (2, 1), (1, 3), (4, 2):
            self.train(spec, first, "-e", "1", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_lengths_of_weights_are_those_of_all_rows(self):
        for optimizer in "LAMB: {learning_rate: 0.01}", "LARS: {learning_rate: 1}":
            self.check_ranks(self.spec(NUMBERS, optimizer=f"{{{optimizer}}}"), ranks=(2, 3))

    def test_layers_that_share_weights_and_cells(self):
        """A gradient of two layers; gates of a cell, whose rows are drawn by gate."""
        self.text()
        self.check_ranks(self.spec(TIED), ranks=(2, 3))

    def test_vectors_of_words_are_in_the_rows_of_their_words(self):
        words = ["sun", "moon", "star", "sea", "land", "wind", "rain"]
        rng = np.random.default_rng(4)
        for name, count in ("text.txt", 300), ("test.txt", 100):
            self.write(name, " ".join([*words, *rng.choice(words, count)]))
        self.write("vectors.txt", f"{len(words)} 7\n" + "".join(
            f"{word} " + " ".join(str(n) for n in rng.integers(-3, 4, 7)) + "\n" for word in words))
        spec = self.spec(TIED.replace("path: text.txt", "path: text.txt, unit: words").replace(
            "name: words, nout: 7", "name: words, nout: 7, vectors: vectors.txt"))
        self.check_ranks(spec)

    def test_beside_split_dense_layers(self):
        spec = split_dense_test.NUMBERS.replace("dense: model", "dense: model, optimizer: sharded")
        self.check_ranks(self.spec(spec), ranks=(2, 3))

    def test_sums_are_those_of_whole_gradients(self):
        """Ranks add up in their order whoever needs the sum: without lengths of gradients, bits are the same."""
        spec = self.spec(NUMBERS, optimizer="Adam")
        for ranks in 2, 3:
            wanted = self.train(spec, ranks, "--set", "parallel.optimizer=replicated", name="whole.safetensors")[1]
            got = self.train(spec, ranks, name="shares.safetensors")[1]
            for name, array in wanted.items():
                self.assertEqual(array.tobytes(), got[name].tobytes(), name)

    def test_the_same_bits_again(self):
        spec = self.spec(IMAGES)
        first, again = (self.train(spec, 3, name=name)[1] for name in ("a.safetensors", "b.safetensors"))
        for name, array in first.items():
            self.assertEqual(array.tobytes(), again[name].tobytes(), name)

    def test_a_checkpoint_has_all_rows_and_goes_on_anywhere(self):
        spec = self.spec(NUMBERS)
        _, wanted = self.train(spec, 1)
        for first, then in (2, 1), (1, 3), (4, 2):
            self.train(spec, first, "-e", "2", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_arrays_that_callbacks_keep(self):
        """EarlyStop keeps the best weights, and puts them back at the end; also by the rows of `dense: model`."""
        for numbers in NUMBERS, split_dense_test.NUMBERS:
            spec = self.spec(numbers, callbacks="[EarlyStop: {patience: 1}]", epochs=8)
            wanted = self.check_ranks(spec, ranks=(2, 3))
            kept = [name for name in wanted if name.startswith("callback/0/") and name.endswith("/W")]
            self.assertGreater(len(kept), 2)
            self.train(spec, 2, "-e", "1", name="part.safetensors")
            self.neon("resume", "-m", "3", "-e", "8", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_feature_maps_are_drawn_with_all_rows(self):
        spec = self.spec(IMAGES, callbacks="[GuidedBackprop: {dataset_pct: 100}]", epochs=1)
        drawn = []
        for ranks in "1", "2":
            done = self.neon("-b", "cpu", "-d", "f64", "-r", "3", "-m", ranks, spec, environment={"NEON_NO_RUN_FOLDER": ""})
            drawn.append([support.png_pixels(self.read(name)).astype(int)
                          for name in re.findall(r"wrote (\S*guided_\S*\.png)", done.out + done.err)])
        self.assertEqual(len(drawn[0]), 2)
        for one, two in zip(*drawn, strict=True):
            self.assertLessEqual(np.max(np.abs(one - two)), 1)

    def test_histograms_count_all_rows(self):
        spec = self.spec(NUMBERS, callbacks="[Hist: {every: 5, tensors: [W, dW]}]")
        found = []
        for ranks in 1, 3:
            self.neon("-b", "cpu", "-d", "f64", "-r", "3", "-m", str(ranks), "-o", f"{ranks}.h5", spec)
            with h5py.File(self.path(f"{ranks}.h5")) as file:
                found.append({name: file["hist"][name][()] for name in file["hist"]})
        self.assertGreater(len(found[0]), 4)
        for name, counts in found[0].items():
            np.testing.assert_array_equal(counts, found[1][name], name)

    def test_sixteen_bits(self):
        """Masters are shared; 16-bit weights are gathered, and 16-bit gradients added up. All ranks skip the same steps."""
        spec = self.spec(NUMBERS, ema=0)
        wanted = self.train(spec, 1, "-d", "bf16")[1]
        self.check_equal(self.train(spec, 2, "-d", "bf16")[1], wanted, limit=0.05)
        self.assertRegex(self.neon("-b", "cpu", "-d", "f16", "-r", "3", "-m", "2", spec).out, "(?m)^test")

    def test_exchanges_are_of_rows(self):
        """One exchange gathers the rows of all three layers, before anything else; one adds up the rows of gradients."""
        said = self.program(self.spec(NUMBERS), 2, "-d", "f64")
        found = re.findall(r"(?m)^ *\d+  (all_gather|reduce_scatter|exchange)  \((.*)\) -> \((.*?)\)  ?(?:#|$|\[|\{)?", said)
        shapes = {op: re.findall(r"f64 \(([\d, ]*)\)", given) for op, given, _ in found}
        self.assertEqual(shapes["all_gather"], ["4, 6", "4, 8", "1, 8"])
        self.assertEqual(sorted(shapes["reduce_scatter"]), ["3, 8", "8, 6", "8, 8"])
        self.assertEqual(sorted(shapes["exchange"]), ["1", "1, 1", "8"])  # what is not finite, the cost, the bias
        self.assertLess(said.index("all_gather"), said.index("matmul"))

    def test_memory_of_a_device(self):
        """Two states of Adam, the weights and their means in f64: 8 * 4 bytes a number, of the rows of rank 0 and the bias."""
        spec = self.spec(NUMBERS)
        for ranks, weights in (2, 4 * 6 + 4 * 8 + 1 * 8), (3, 2 * 6 + 2 * 8 + 1 * 8):
            kept = f"weights and optimizer {(weights + 8) * 4 * 8 / 1024:.1f} KiB, step "
            self.assertIn("memory of rank 0: " + kept, self.program(spec, ranks, "-d", "f64"))
            said = self.neon("check", "-b", "cpu", "-d", "f64", "-m", str(ranks), spec).out
            self.assertRegex(said, "(?m)^memory  about .* on each device: " + kept)

    def test_says_what_is_sharded_and_refuses_where_nothing_is(self):
        done = self.neon("-b", "cpu", "-m", "3", self.spec(NUMBERS, epochs=1))
        self.assertIn("weights and optimizer state sharded over 3 devices: 136 of 144 numbers", done.err)
        self.refused(2, "-b", "cpu", "-m", "9", self.spec(NUMBERS, batch_size=9), says=["shards nothing here",
                     "leave optimizer out (--set parallel.optimizer=replicated)"])
        self.neon("-b", "cpu", self.spec(NUMBERS, epochs=1))  # one device ignores the key

    def test_a_run_that_diverges_says_where(self):
        spec = self.spec(NUMBERS, optimizer="{GradientDescentMomentum: {learning_rate: 1.0e+300}}", ema=0)
        for ranks in "1", "2":
            self.refused(5, "-b", "cpu", "-d", "f64", "-m", ranks, spec, says="the run diverged")


if __name__ == "__main__":
    support.main()
