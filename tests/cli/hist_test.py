#!/usr/bin/python3
"""The Hist callback: what it counts, when, and what it warns of."""
import h5py
import numpy as np

import support
from support import IRIS, Case, tensors

WARNING_OF_NUMBERS = r"warning: (?!after epoch)"  # not that a rate of 0 teaches nothing


def sizes(x, bins=64, offset=-48):
    """Counts by size as neon's own tests had them."""
    edges = np.array([-np.inf] + [offset + i for i in range(1, bins + 1)], dtype=np.float32)
    with np.errstate(divide="ignore"):
        return np.histogram(np.rint(np.log2(np.abs(x))), edges)[0]


def check_weights_and_gradients(case, device):
    """Of a run on a device: the histograms in its file against the arrays of its checkpoint."""
    # One batch an epoch, and a rate of 1/8: the first velocity is exactly -1/8 of the gradient.
    spec = case.spec(batch_size="120", optimizer="{GradientDescentMomentum: {learning_rate: 0.125, momentum_coef: 0.5}}",
                     callbacks="[Hist]")
    for options in (), ("-d", "bf16"), ("-u", "12"):
        common = ["-b", device, "-r", "3", *options, spec]
        case.neon("-e", "1", "-s", "one", *common)
        case.neon("-e", "3", "-o", "run.h5", *common)
        stored = tensors(case.path("one"))[0]
        with h5py.File(case.path("run.h5")) as file:
            group = file["hist"]
            case.assertEqual(dict(group.attrs), {"bins": 64, "offset": -48, "time_markers": "epoch", "time_steps": 3})
            case.assertEqual(sorted(group), ["Affine_0_W", "Affine_0_dW", "Affine_1_W", "Affine_1_dW"])
            for layer in "Affine_0", "Affine_1":
                weights, velocity = (np.frombuffer(stored[f"{layer}/{name}"][2], np.float32) for name in ("W", "W/velocity"))
                case.assertEqual(group[f"{layer}_W"].shape, (64, 3))
                case.assertEqual(group[f"{layer}_W"].dtype, np.int32)
                case.assertEqual(group[f"{layer}_W"].attrs["x"], "epoch")
                np.testing.assert_array_equal(group[f"{layer}_W"][:, 1], sizes(weights))
                np.testing.assert_array_equal(group[f"{layer}_dW"][:, 0], sizes(8 * velocity))
                case.assertTrue((group[f"{layer}_dW"][:].sum(axis=0) == weights.size).all())


class Hist(Case):
    def test_histograms_are_of_weights_and_gradients(self):
        check_weights_and_gradients(self, "cpu")

    def test_histograms_every_few_steps_in_few_bins(self):
        self.neon("-r", "1", "-o", "run.h5", self.spec(callbacks="[Hist: {every: 7, tensors: W, bins: 8, offset: -6}]"))
        with h5py.File(self.path("run.h5")) as file:
            self.assertEqual(sorted(file["hist"]), ["Affine_0_W", "Affine_1_W"])
            data = file["hist/Affine_0_W"]
            # 4 epochs of 8 steps.
            self.assertEqual((data.shape, data.attrs["minibatch_freq"], file["hist"].attrs["time_markers"]), ((8, 4), 7, "minibatch"))
            self.assertTrue((data[:].sum(axis=0) == 32).all())
        self.assertIn("give one with -o FILE", self.neon(self.spec(callbacks="[Hist]")).err)
        self.refused(2, self.spec(callbacks="[Hist: {tensors: []}]"), says="Hist: tensors names no array")

    def test_histograms_that_cannot_be(self):
        self.refused(2, self.spec(callbacks="[Hist: {tensors: [dw]}]"), says=["Hist: no layer has 'dw'; did you mean dW", "known: W, dW)"])
        self.refused(2, self.spec(callbacks="[Hist: {every: 1000}]"), says="every 1000 steps, but the run has 32")
        self.refused(2, self.spec(callbacks="[Hist, Hist]"), says="Hist is given twice")
        self.refused(2, self.spec(callbacks="[Hist: {bins: 0}]"), says=["bins", "[1, 1024]"])

    def test_histograms_warn_of_numbers_that_f16_does_not_hold(self):
        small = IRIS.replace("nout: 8, init: Kaiming", "nout: 8, init: {Constant: 1.0e-5}")
        large = IRIS.replace("nout: 8, init: Kaiming", "nout: 8, init: {Constant: 60000}")
        run = ["-r", "1", "-e", "2", "--set", "optimizer.learning_rate=0"]
        spec = self.spec(small, callbacks="[Hist: {tensors: W}]")
        said = self.neon(*run, "-d", "f16", spec).err
        self.assertEqual(said.count("warning: 100.0 % of the weights Affine_0_W are below f16's normal numbers"), 1, said)
        self.assertNotRegex(self.neon(*run, spec).err, WARNING_OF_NUMBERS)
        spec = self.spec(large, callbacks="[Hist: {tensors: W}]")
        self.assertIn("warning: 100.0 % of the weights Affine_0_W are close to the largest f16", self.neon(*run, "-d", "f16", spec).err)
        self.assertNotRegex(self.neon(*run, "-d", "bf16", spec).err, WARNING_OF_NUMBERS)

    def test_histograms_warn_of_what_f16_has_lost(self):
        vanishing = IRIS.replace("nout: 3, init: Kaiming", "nout: 3, init: {Gaussian: {scale: 1.0e-9}}")
        run = ["-r", "1", "-d", "f16", "-e", "2", "--set", "optimizer.learning_rate=0"]
        for bins in "Hist: {every: 1}", "Hist: {bins: 20, offset: -10}":
            spec = self.spec(vanishing, callbacks=f"[{bins}]")
            for rounding in [], ["-u", "10"]:
                said = self.neon(*run, *rounding, spec).err
                self.assertEqual(said.count("warning: 100.0 % of the weights Affine_1_W are below f16's normal numbers and "
                                            "lose bits, 24 are 0;"), 1, said)
                # What is multiplied by them goes back to the first layer.
                self.assertEqual(said.count("warning: all gradients Affine_0_dW are 0"), 1, said)
        self.assertNotRegex(self.neon("-r", "1", spec).err, WARNING_OF_NUMBERS)
        # An array of zeros is meant where masters are kept.
        said = self.neon(*run, self.spec(IRIS.replace("nout: 3, init: Kaiming", "nout: 3, init: {Constant: 0}"), callbacks="[Hist: {tensors: W}]"))
        self.assertNotRegex(said.err, WARNING_OF_NUMBERS)

    def test_histograms_warn_of_gradients_that_overflow(self):
        # Samples of this size, times the scale and what is off by about a half, are beyond f16.
        self.write("d.csv", "".join(f"{i % 3}00,{i % 5}00,{i % 2}\n" for i in range(1, 65)))
        spec = self.spec(IRIS.replace("nout: 3", "nout: 2").replace("Tanh", "Identity"), dataset="{CSV: {path: d.csv, standardize: false}}",
                         callbacks="[Hist: {every: 1}]")
        run = ["-r", "1", "--set", "optimizer.learning_rate=0", spec]
        said = self.neon("-d", "f16", *run).err
        self.assertRegex(said, r"warning: [\d.]+ % of the gradients Affine_\d_dW overflow f16 at a loss scale of 65536;")
        self.assertNotIn("overflow", self.neon("-d", "bf16", *run).err)


if __name__ == "__main__":
    support.main()
