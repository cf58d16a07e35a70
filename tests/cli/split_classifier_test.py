#!/usr/bin/python3
"""parallel: {classifier: model}: ranks (-m N) keep their classes' outputs, and compute the cost that one process does."""
import ranks_test
import split_dense_test
import support

CLASSES = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 12}}
parallel: {dense: model, classifier: model}
layers:
  - Affine: {nout: 12, init: Kaiming, activation: Tanh}
  - Dropout: 0.8
  - Affine: {nout: 12, init: {Gaussian: {scale: 4}}, bias: {Constant: 0.1}, activation: Softmax}
cost: {CrossEntropyMulti: {smoothing: 0.1, usebits: true}}
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
epochs: 4
"""
STEPS = """\
dataset: {CopyTask: {length: 6, symbols: 12, ntrain: 45, ntest: 10}}
parallel: {dense: pairs, classifier: model, embedding: model}
layers:
  - Embedding: {nout: 5, init: Kaiming}
  - GRU: {output_size: 5, init: Kaiming}
  - Affine: {nout: 12, init: Kaiming, bias: {Constant: 0.1}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
buckets: 3
epochs: 4
"""


class SplitClassifier(support.Case):
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    exchanges = split_dense_test.SplitDense.exchanges

    def test_classes_of_samples(self):
        """Smoothed targets in bits; 12 classes are 6, 4 or 3 of each rank's."""
        self.check_ranks(self.spec(CLASSES))
        self.check_ranks(self.spec(CLASSES, cost="CrossEntropyMulti"))

    def test_classes_of_steps(self):
        """Steps without a label count nothing; lengths differ."""
        self.check_ranks(self.spec(STEPS))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(CLASSES, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 12}}"))

    def test_four_numbers_of_a_sample_are_exchanged(self):
        """Two ranks of 4 samples each: labels, and 4 numbers of 8 samples there and back, but no outputs."""
        found = self.exchanges(self.spec(CLASSES), 2)
        self.assertNotIn("all_to_all", [op for op, _, _ in found])
        self.assertEqual(sorted((op, shape) for op, shape, layer in found if layer == "cost"),
                         [("all_gather", "(4, 1)"), ("all_gather", "(4, 8)"), ("reduce_scatter", "(8, 8)")])

    def test_what_has_no_split_outputs_is_refused(self):
        for spec in (self.spec(CLASSES.replace("nout: 12, init: {", "nout: 13, init: {").replace("nout: 12}}", "nout: 13}}")),
                     self.spec(CLASSES, cost="SumSquared")):
            self.refused(2, "-b", "cpu", "-m", "2", spec, says="parallel: {classifier: model} is for a net that ends with "
                         "an Affine, split over devices, of activation Softmax, and for the cost CrossEntropyMulti")
        for keys in "classifier: model", "dense: model, scheme: b, classifier: model":
            spec = self.spec(CLASSES.replace("dense: model, classifier: model", keys))
            self.refused(2, "-b", "cpu", "-m", "2", spec, says="classifier: model is for dense layers that devices share; add")
        self.neon("-b", "cpu", self.spec(CLASSES, epochs=1))  # one device ignores the key


if __name__ == "__main__":
    support.main()
