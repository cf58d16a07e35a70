#!/usr/bin/python3
"""parallel: {dense: model}: ranks (-m N) share the rows of dense layers' weights, and compute what one process does."""
import re

import h5py
import numpy as np

import ranks_test
import support

NUMBERS = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 3}}
parallel: {dense: model}
layers:
  - Affine: {nout: 12, init: Kaiming, activation: Tanh}
  - Dropout: 0.8
  - Affine: {nout: 24, init: Kaiming, bias: {Constant: 0.1}, activation: Rectlin}
  - Affine: {nout: 10, init: Kaiming, activation: RReLU}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
epochs: 4
"""
IMAGES = """\
dataset: {Digits: {ntrain: 44, ntest: 13}}
parallel: {dense: model, batch_norm: all}
augment: [RandomCrop: {pad: 2}, Flip: {}]
layers:
  - Conv: {fshape: [3, 3, 6], init: Kaiming, batch_norm: true, activation: Rectlin}
  - Pooling: {fshape: 2, strides: 2}
  - Affine: {nout: 24, init: Kaiming, batch_norm: true, activation: Rectlin}
  - Affine: {nout: 12, init: Kaiming, activation: Rectlin}
  - Affine: {nout: 10, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
metrics: [Misclassification]
optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.9, wdecay: 0.001}}
batch_size: 8
epochs: 4
"""


def with_layers(lines):
    """NUMBERS with other layers in place of its second Affine."""
    return NUMBERS.replace("  - Affine: {nout: 24, init: Kaiming, bias: {Constant: 0.1}, activation: Rectlin}\n", lines)


class SplitDense(support.Case):
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks

    def exchanges(self, spec, ranks, *options):
        """Op, shape of its operand and layer of each exchange in the program of rank 0."""
        said = self.neon("program", "-b", "cpu", "-d", "f64", "-m", str(ranks), *options, spec).out
        return re.findall(r"(?m)^ *\d+  (all_gather|reduce_scatter|all_to_all|exchange)  \(%\d+ f64 (\([\d, ]*\)).*# (\S+)$",
                          said)

    def test_dense_net(self):
        """10 features stay whole with 3 and 4 ranks, 3 with 2 and 4; the last batch has 6 samples of 8."""
        self.check_ranks(self.spec(NUMBERS))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}"))

    def test_binary_layers_find_what_dropout_left_out(self):
        """The mask is of features that ranks share; the binary layer takes whole samples."""
        for between in "", "  - Activation: Tanh\n":
            self.check_ranks(self.spec(with_layers(between + "  - BinaryAffine: {nout: 24, activation: Tanh}\n")))

    def test_dropout_behind_a_layer_that_takes_whole_samples(self):
        """The second mask is of whole samples, the first of features that ranks share."""
        for between in "SkipNode", "Activation: PReLU":
            twice = f"  - {between}\n  - Dropout: 0.8\n"
            self.check_ranks(self.spec(with_layers(twice)), ranks=(2, 4))
            self.check_ranks(self.spec(with_layers(twice + "  - BinaryAffine: {nout: 24, activation: Tanh}\n")), ranks=(2, 4))

    def test_accumulated_gradients(self):
        self.check_ranks(self.spec(NUMBERS, accumulate=3), ranks=(2, 3))

    def test_lengths_of_weights_are_those_of_all_rows(self):
        for optimizer in "LAMB: {learning_rate: 0.01}", "LARS: {learning_rate: 1}":
            self.check_ranks(self.spec(NUMBERS, optimizer=f"{{{optimizer}}}"), ranks=(2, 3))

    def test_convolutions_before_it(self):
        self.check_ranks(self.spec(IMAGES))

    def test_weights_that_layers_share_stay_whole(self):
        spec = self.spec(NUMBERS.replace("  - Affine: {nout: 10, init: Kaiming, activation: RReLU}\n",
                                         "  - Affine: {name: a, nout: 24, init: Kaiming, activation: Tanh}\n"
                                         "  - Affine: {share: a, nout: 24, activation: Tanh}\n"))
        self.check_ranks(spec, ranks=(2,))
        self.assertEqual([layer for op, _, layer in self.exchanges(spec, 2) if op == "all_gather"],
                         ["Affine_0", "Affine_1", "Affine_0", "Affine_1"][:2])

    def test_exchanges_are_those_of_samples_and_features(self):
        """Two ranks of 4 samples each. Features of all samples, each rank's half of 12 and 24, go from layer to layer through
        biases, activations and dropout; RReLU draws for samples. No gradient of a split layer is summed."""
        spec = self.spec(NUMBERS)
        found = self.exchanges(spec, 2)
        forward = [each for each in found if each[0] == "all_gather"]
        self.assertEqual(forward, [("all_gather", "(4, 6)", "Affine_0"), ("all_gather", "(6, 8)", "Affine_1"),
                                   ("all_gather", "(12, 8)", "Affine_2")])
        moved = [shape for op, shape, _ in found if op == "all_to_all"]
        self.assertEqual(sorted(moved), ["(2, 4, 5)", "(8, 5)"])
        # Nobody asks for the gradient of the samples.
        self.assertEqual(sorted(shape for op, shape, _ in found if op == "reduce_scatter"), ["(12, 8)", "(24, 8)"])
        summed = self.neon("program", "-b", "cpu", "-d", "f64", "-m", "2", spec).out
        arrays = re.search(r"(?m)^ *\d+  exchange  \((.*)\) -> \((.*)\)", summed)[1]
        shapes = re.findall(r"\(([\d, ]*)\)", arrays)
        self.assertEqual([shape for shape in shapes if set(shape) - set("1, ")], ["3, 10"])
        self.assertEqual(len(shapes), 3)  # the cost, too, and how many numbers are not finite

    def test_a_checkpoint_has_all_rows_and_goes_on_anywhere(self):
        spec = self.spec(NUMBERS)
        _, wanted = self.train(spec, 1, name="whole.safetensors")
        for first, then in (2, 1), (1, 3), (4, 2):
            self.train(spec, first, "-e", "2", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)
        # Weights alone, as --model_file takes them: without a step they are the file's.
        self.neon("-b", "cpu", "-d", "f64", "-m", "2", "--model_file", "whole.safetensors", "-s", "taken.safetensors",
                  "-e", "1", self.spec(NUMBERS, optimizer="{GradientDescentMomentum: {learning_rate: 0}}", ema=0))
        taken = ranks_test.arrays(self.path("taken.safetensors"))
        for name, array in taken.items():
            averaged = wanted.get(name + "/ema")
            if averaged is not None:
                np.testing.assert_allclose(array, averaged, rtol=1e-12, err_msg=name)

    def test_weights_as_large_as_a_part_are_not_taken(self):
        """A layer of 6 features in the file has 12 in the net, of which each of two ranks has 6."""
        small = NUMBERS.replace("nout: 12", "nout: 6")
        self.train(self.spec(small), 1, name="small.safetensors")
        spec = self.spec(NUMBERS)
        taken = [self.train(spec, ranks, "--model_file", "small.safetensors", name=f"{ranks}.safetensors")
                 for ranks in (1, 2)]
        for done, _ in taken:
            self.assertRegex(done.err, r"new: Affine_0/W")
        self.check_equal(taken[1][1], taken[0][1])

    def test_a_run_that_may_stop_early_goes_on_amid_an_update(self):
        """The callback keeps copies of the sums, of which each rank has a part."""
        spec = self.spec(NUMBERS, accumulate=3, callbacks="[EarlyStop: {patience: 5}]")
        _, wanted = self.train(spec, 1, name="whole.safetensors")
        for first, then in (2, 1), (1, 2), (2, 3):
            self.train(spec, first, "-e", "2", name="part.safetensors")
            self.neon("resume", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(ranks_test.arrays(self.path("part.safetensors")), wanted)

    def test_outputs_of_an_activation_of_elements(self):
        """A cost that asks for the activation of the outputs finds it behind the features of all ranks."""
        spec = self.spec(NUMBERS.replace("nout: 3, init: Kaiming, activation: Softmax",
                                         "nout: 12, init: Kaiming, activation: Logistic").replace("nout: 3}}", "nout: 12}}"),
                         cost="CrossEntropyBinary")
        self.check_ranks(spec, ranks=(2, 3))

    def test_activations_that_learn(self):
        spec = self.spec(NUMBERS.replace("activation: RReLU", "activation: PReLU"), epochs=2)
        self.check_ranks(spec, ranks=(2,))
        for dtype in "f32", "f16", "bf16":
            self.neon("-b", "cpu", "-d", dtype, "-r", "3", "-m", "2", spec)

    def test_activations_that_mix_features(self):
        self.check_ranks(self.spec(NUMBERS.replace("activation: RReLU", "activation: {PixelwiseSoftmax: 2}"), epochs=2), ranks=(2,))

    def test_ranks_whose_shares_make_other_kernels(self):
        """The last batch, 6 samples, gives four ranks 1, 2, 1 and 2: fused kernels differ, and exchanges would come in other
        orders if all did not take rank 0's."""
        layers = NUMBERS.replace("nout: 24, init: Kaiming, bias: {Constant: 0.1}, activation: Rectlin", "nout: 6, init: Kaiming, "
                                 "activation: Tanh").replace("  - Affine: {nout: 10, init: Kaiming, activation: RReLU}\n", "")
        for parallel, more in (("{dense: model, optimizer: sharded}", {}),
                               ("{dense: pairs}", {"callbacks": "[Hist: {every: 1, tensors: [W, dW, y]}]"})):
            self.check_ranks(self.spec(layers.replace("nout: 3,", "nout: 4,").replace("nout: 3}", "nout: 4}"), parallel=parallel,
                                       **more), ranks=(4,))

    def test_the_same_bits_again(self):
        spec = self.spec(NUMBERS)
        first, second = (self.train(spec, 3, name=f"{k}.safetensors")[1] for k in range(2))
        for name, array in first.items():
            self.assertEqual(array.tobytes(), second[name].tobytes(), name)

    def test_histograms_count_all_rows(self):
        spec = self.spec(NUMBERS, callbacks="[Hist: {every: 5, tensors: [W, dW]}]")
        found = []
        for ranks in 1, 2:
            self.neon("-b", "cpu", "-d", "f64", "-r", "3", "-m", str(ranks), "-o", f"{ranks}.h5", spec)
            with h5py.File(self.path(f"{ranks}.h5")) as file:
                found.append({name: file["hist"][name][()] for name in file["hist"]})
        self.assertGreater(len(found[0]), 4)
        for name, counts in found[0].items():
            np.testing.assert_array_equal(counts, found[1][name], name)

    def test_says_what_is_split_and_refuses_where_nothing_is(self):
        done = self.neon("-b", "cpu", "-m", "3", self.spec(NUMBERS, epochs=1))
        self.assertIn("weights split over 3 devices: Affine_0, Affine_1, Affine_3; "
                      f"{12 * 6 + 24 * 12 + 24 + 3 * 10} of {12 * 6 + 24 * 12 + 24 + 10 * 24 + 3 * 10} numbers", done.err)
        self.refused(2, "-b", "cpu", "-m", "5", self.spec(NUMBERS.replace("nout: 10", "nout: 9")), says="splits nothing here")
        self.neon("-b", "cpu", self.spec(NUMBERS, epochs=1))  # one device ignores the key

    def test_bench_times_the_step_of_all_ranks(self):
        spec = self.spec(NUMBERS.replace("  - Dropout: 0.8\n", "").replace("RReLU", "Tanh"))
        costs = [re.search(r"cost of one batch +([\d.]+) ->", self.neon("bench", "-b", "cpu", "-d", "f64", "-r", "3", "-m", m,
                                                                     "--iterations", "3", spec).out)[1] for m in "123"]
        self.assertEqual(costs, costs[:1] * 3)  # of the whole batch

    def test_sixteen_bits(self):
        """f16 skips steps whose gradients overflow on any rank, by one loss scale."""
        done = self.neon("-b", "cpu", "-d", "f16", "-r", "3", "-m", "2", self.spec(NUMBERS, epochs=3))
        self.assertRegex(done.out, "(?m)^test")


if __name__ == "__main__":
    support.main()
