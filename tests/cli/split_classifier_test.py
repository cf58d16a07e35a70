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


IMAGES = """\
dataset: {Digits: {ntrain: 44, ntest: 13}}
augment: [Flip: {}]
parallel: {dense: model, classifier: model}
layers: [Affine: {nout: 12, activation: Tanh}, Affine: {nout: 10, activation: Softmax}]
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
epochs: 1
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

    def test_targets_that_are_no_labels_are_refused(self):
        """Mixed labels, numbers, and samples have no place among the classes; one device compares all of these."""
        label = "parallel: {classifier: model} takes the output at the one label of each sample, and "
        self.neon("-b", "cpu", "-m", "2", self.spec(IMAGES))
        for mix in "Mixup", "CutMix":
            spec = self.spec(IMAGES, augment=f"[Flip: {{}}, {mix}]")
            self.neon("-b", "cpu", spec)
            self.refused(2, "-b", "cpu", "-m", "2", spec,
                         says=label + "augment mixes labels by Mixup or CutMix; leave classifier out")
        rows = "".join(f"{k},{k + 1},{(k + 1) / 2 ** 9},{1 - (k + 1) / 2 ** 9}\n" for k in range(20))
        self.write("numbers.csv", "a,b,c,d\n" + rows)
        numbers = IMAGES.replace("nout: 10", "nout: 2").replace("augment: [Flip: {}]\n", "")
        spec = self.spec(numbers, dataset="{CSV: {path: numbers.csv, target: [c, d], task: regression, standardize: false}}")
        self.neon("-b", "cpu", spec)
        self.refused(2, "-b", "cpu", "-m", "2", spec, says=label + "targets are numbers; leave classifier out")
        itself = numbers.replace("nout: 2", "nout: 6")
        spec = self.spec(itself, dataset="{UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 12, autoencoder: true}}")
        self.neon("-b", "cpu", spec)
        self.refused(2, "-b", "cpu", "-m", "2", spec,
                     says=label + "targets are the samples themselves; leave classifier out")

    def test_fixed_point_is_refused(self):
        """One of exponentials is 1, so that their sum may saturate."""
        self.refused(2, "-b", "cpu", "-m", "2", "--fixed_point", "16.12", self.spec(CLASSES),
                     says="parallel: {classifier: model} adds up exponentials, which fixed_point would saturate; leave "
                     "classifier out")

    def test_costs_of_another_kind_and_branches_are_refused(self):
        """As on one device; branches would go untrained."""
        last = "Affine: {nout: 12, activation: Softmax}"
        tree = CLASSES[:CLASSES.index("layers:")] + CLASSES[CLASSES.index("optimizer:"):]
        node = "BranchNode: {name: node}"
        branches = f"[{{Affine: {{nout: 12, activation: Tanh}}}}, {{SingleOutputTree: [[{{{node}}}, {{{last}}}], [{{{node}}}, {{{last}}}]]}}]"
        spec = self.spec(tree, layers=branches, cost="{Multicost: {costs: [CrossEntropyMulti, CrossEntropyMulti]}}", epochs=1)
        self.neon("-b", "cpu", spec)
        self.refused(2, "-b", "cpu", "-m", "2", spec, says="parallel: {classifier: model} is for one output, which `cost` "
                     "compares; leave classifier out")
        spec = self.spec(tree, layers=branches, cost="CrossEntropyMulti")
        self.refused(2, "-b", "cpu", spec, says="")
        self.refused(2, "-b", "cpu", "-m", "2", spec, says="is for one output")
        spec = self.spec(CLASSES, cost="CTC")
        for ranks in "12":
            self.refused(2, "-b", "cpu", "-m", ranks, spec, says="cost: CTC compares the steps of a sequence")

    def test_four_numbers_of_a_sample_are_exchanged(self):
        """Two ranks of 4 samples each: labels, and 4 numbers of 8 samples there and back, but no outputs."""
        found = self.exchanges(self.spec(CLASSES), 2)
        self.assertNotIn("all_to_all", [op for op, _, _ in found])
        self.assertEqual(sorted((op, shape) for op, shape, layer in found if layer == "cost"),
                         [("all_gather", "(4, 1)"), ("all_gather", "(4, 8)"), ("reduce_scatter", "(8, 8)")])

    def test_what_has_no_split_outputs_is_refused(self):
        for spec, words in (self.spec(CLASSES.replace("nout: 12, init: {", "nout: 13, init: {").replace("nout: 12}}", "nout: 13}}")),
                            "a last Affine that devices split, and its 13 outputs are no multiple of 2 devices; leave classifier"), \
                (self.spec(CLASSES, cost="SumSquared", name="squares.yaml"), "a net that ends with an Affine, split over devices, "
                 "of activation Softmax, and for the cost CrossEntropyMulti"):
            self.refused(2, "-b", "cpu", "-m", "2", spec, says="parallel: {classifier: model} is for " + words)
        for keys in "classifier: model", "dense: model, scheme: b, classifier: model":
            spec = self.spec(CLASSES.replace("dense: model, classifier: model", keys))
            self.refused(2, "-b", "cpu", "-m", "2", spec, says="classifier: model is for dense layers that devices share; add")
        self.neon("-b", "cpu", self.spec(CLASSES, epochs=1))  # one device ignores the key


if __name__ == "__main__":
    support.main()
