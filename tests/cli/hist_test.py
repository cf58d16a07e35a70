#!/usr/bin/python3
"""The Hist callback: what it counts, when, and what it warns of; and GradientNorm."""
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
    def test_histograms_of_outputs(self):
        """Beside NumPy's, of batches of which the last is shorter; ranks together count what one counts. Of the last batch, of 5 samples, one
        of six ranks has none."""
        rng = np.random.default_rng(5)
        x, y = rng.normal(size=(21, 4)).astype("f4"), (np.arange(21) % 3).astype("i4")
        np.savez(self.path("d.npz"), x_train=x, y_train=y)
        spec = self.spec(dataset="{NPZ: {path: d.npz}}", batch_size="8", epochs="2", shuffle="false",
                         callbacks="[Hist: {every: 1, tensors: [y, dW]}]")
        run = ["-r", "1", "-d", "f64", "--set", "optimizer.learning_rate=0", spec]
        self.neon("-s", "m", "-o", "1.h5", *run)
        for ranks in "26":
            self.neon("-m", ranks, "-o", ranks + ".h5", *run)
        stored = tensors(self.path("m"))[0]
        w, v = (np.frombuffer(stored[f"Affine_{i}/W"][2]).reshape(shape) for i, shape in ((0, (8, 4)), (1, (3, 8))))
        hidden = np.tanh(x.astype(float) @ w.T)
        e = np.exp(hidden @ v.T)
        for name, wanted in ("Affine_0_y", hidden), ("Affine_1_y", e / e.sum(1, keepdims=True)):
            columns = [sizes(wanted[at:at + 8]) for at in (0, 8, 16)] * 2
            for ranks in 1, 2, 6:
                with h5py.File(self.path(f"{ranks}.h5")) as file:
                    self.assertEqual(sorted(file["hist"]), ["Affine_0_dW", "Affine_0_y", "Affine_1_dW", "Affine_1_y"])
                    np.testing.assert_array_equal(file["hist/" + name][:].T, columns, err_msg=f"{name}, {ranks} ranks")

    def check_ranges(self, file, name, wanted):
        """`wanted` is an array for each point."""
        found = file["range/" + name]
        expected = [[x.min(), x.max(), (x < 0).mean(), (x == 0).mean()] for x in wanted]
        np.testing.assert_allclose(found[:].T, expected, rtol=1e-6, atol=1e-7, err_msg=name)

    def test_ranges_of_weights_gradients_and_outputs(self):
        """Rectifiers make zeros; the last batch is shorter."""
        rng = np.random.default_rng(5)
        x, y = rng.normal(size=(21, 4)).astype("f4"), (np.arange(21) % 3).astype("i4")
        np.savez(self.path("d.npz"), x_train=x, y_train=y)
        spec = self.spec(IRIS.replace("Tanh", "Rectlin"), dataset="{NPZ: {path: d.npz}}", batch_size="8", epochs="2", shuffle="false",
                         callbacks="[Hist: {every: 1, tensors: [y, W, dW], ranges: true}]")
        for dtype in "f64", "f32":
            self.neon("-r", "1", "-d", dtype, "-s", "m", "-o", "r.h5", "--set", "optimizer.learning_rate=0", spec)
            stored = tensors(self.path("m"))[0]
            w, v = (np.frombuffer(stored[f"Affine_{i}/W"][2], "f8" if dtype == "f64" else "f4").reshape(shape).astype(float)
                    for i, shape in ((0, (8, 4)), (1, (3, 8))))
            points, hidden, shares, slopes = [slice(at, at + 8) for at in (0, 8, 16)] * 2, [], [], []
            for some in points:
                hidden.append(np.maximum(x[some].astype(float) @ w.T, 0))
                e = np.exp(hidden[-1] @ v.T)
                shares.append(e / e.sum(1, keepdims=True))
                slopes.append((shares[-1] - np.eye(3)[y[some]]).T @ hidden[-1] / len(e))
            with h5py.File(self.path("r.h5")) as file:
                self.check_ranges(file, "Affine_0_W", [w] * 6)
                self.check_ranges(file, "Affine_0_y", hidden)
                self.check_ranges(file, "Affine_1_y", shares)
                self.check_ranges(file, "Affine_1_dW", slopes)
                self.assertEqual(dict(file["range/Affine_0_W"].attrs)["minibatch_freq"], 1)
        self.refused(2, spec, "-b", "cpu", "-m", "2", says="Hist: ranges: true is for one device, and this run has 2; leave ranges out")

    def test_histograms_of_outputs_leave_padding_out(self):
        rng = np.random.default_rng(6)
        x, lengths = rng.normal(size=(6, 5, 2)).astype("f4"), [5, 1, 3, 5, 2, 4]
        for i, length in enumerate(lengths):
            x[i, length:] = np.nan
        np.savez(self.path("d.npz"), x_train=x, y_train=np.array([0, 1, 2, 0, 1, 2], "i4"))
        layers = IRIS.replace("Tanh}\n", "Tanh, bias: {Constant: 0.3}}\n  - RecurrentMean\n")
        spec = self.spec(layers, dataset="{NPZ: {path: d.npz, sequences: true}}", batch_size="6", epochs="1",
                         callbacks="[Hist: {tensors: y, ranges: true}]")
        self.neon("-r", "1", "-s", "m", "-o", "run.h5", "--set", "optimizer.learning_rate=0", spec)
        w = np.frombuffer(tensors(self.path("m"))[0]["Affine_0/W"][2], "f4").reshape(8, 2).astype(float)
        hidden = np.concatenate([np.tanh(x[i, :length] @ w.T + np.float32(0.3)) for i, length in enumerate(lengths)])
        with h5py.File(self.path("run.h5")) as file:
            np.testing.assert_array_equal(file["hist/Affine_0_y"][:, 0], sizes(hidden))
            self.check_ranges(file, "Affine_0_y", [hidden])
            self.assertEqual(file["hist/RecurrentMean_0_y"][:].sum(), 6 * 8)

    def test_outputs_of_branches_and_of_what_passes_on(self):
        """A merge has outputs of its own, and a layer that passes its input on has none; of f16, large outputs are counted."""
        layers = ("layers: [Affine: {nout: 4, init: {Constant: 20000}}, MergeSum: [[SkipNode], [Affine: {nout: 4, init: {Constant: 0}}]],"
                  " Affine: {nout: 3, init: {Constant: 0}, activation: Softmax}]\n")
        spec = self.spec(IRIS[:IRIS.index("layers:")] + layers + IRIS[IRIS.index("cost:"):], callbacks="[Hist: {tensors: y}]")
        said = self.neon("-r", "1", "-o", "run.h5", "--set", "optimizer.learning_rate=0", "-d", "bf16", spec).err
        self.assertNotIn("f16", said)
        with h5py.File(self.path("run.h5")) as file:
            self.assertEqual(sorted(file["hist"]), ["Affine_0_y", "Affine_1_y", "Affine_2_y", "MergeSum_0_y"])
        said = self.neon("-r", "1", "--set", "optimizer.learning_rate=0", "--set", "layers[0].init={Constant: 3000}", "-d", "f16", spec).err
        self.assertEqual(len(support.re.findall(r"warning: [\d.]+ % of the outputs Affine_0_y are close to the largest f16; -d bf16", said)), 1, said)
        self.refused(2, self.spec(callbacks="[Hist: {tensors: [Y]}]"), says="known: W, dW, y)")

    def test_the_norm_of_the_gradient(self):
        """A velocity after one step of rate 1/8 is -1/8 of the gradient; a clip comes after the norm."""
        optimizer = "{GradientDescentMomentum: {learning_rate: 0.125, momentum_coef: 0.5%s}}"
        for more, frozen in ("", "[]"), (", gradient_clip_norm: 0.01", "[]"), ("", "[Affine_0]"):
            spec = self.spec(batch_size="120", optimizer=optimizer % more, callbacks="[GradientNorm]", freeze=frozen)
            self.neon("-r", "3", "-e", "1", "-s", "one", "-o", "run.h5", spec)
            stored = tensors(self.path("one"))[0]
            velocity = np.concatenate([np.frombuffer(content, "f4") for name, (_, _, content) in stored.items() if name.endswith("/velocity")])
            self.assertEqual(velocity.size, 24 if frozen == "[Affine_0]" else 32 + 24)
            with h5py.File(self.path("run.h5")) as file:
                found = file["gradient/norm"]
                self.assertEqual((found.shape, found.attrs["time_markers"]), ((1,), "minibatch"))
                if more:
                    self.assertGreater(found[0], 0.1)
                    self.assertAlmostEqual(8 * np.linalg.norm(velocity), 0.01, delta=1e-6)
                else:
                    self.assertAlmostEqual(found[0] / (8 * np.linalg.norm(velocity)), 1, delta=1e-6)
        self.neon("-r", "3", "-o", "run.h5", self.spec(callbacks="[GradientNorm: {every: 5}]"))
        self.neon("-r", "3", "-m", "2", "-o", "two.h5", "s.yaml")
        with h5py.File(self.path("run.h5")) as one, h5py.File(self.path("two.h5")) as two:
            self.assertEqual((one["gradient/norm"].shape, one["gradient/norm"].attrs["minibatch_freq"]), ((6,), 5))
            np.testing.assert_allclose(two["gradient/norm"][:], one["gradient/norm"][:], rtol=1e-4)
        self.assertIn("note: GradientNorm writes its curve to the metrics file", self.neon("s.yaml").err)
        self.refused(2, self.spec(callbacks="[GradientNorm: {every: 33}]"), says="GradientNorm: every 33 steps, but the run has 32")

    def test_many_histograms_are_noted_with_their_size(self):
        # 4 arrays, 64 bins of 4 bytes: 1 KiB an epoch.
        spec, words = self.spec(callbacks="[Hist]"), "note: Hist takes {} of memory, and of the metrics file: {} histograms of each of 4 arrays"
        self.assertIn(words.format("293 MiB", 300000), self.neon("check", "-e", "300000", "-o", "many.h5", spec).err)
        self.assertNotIn("Hist takes", self.neon("check", "-e", "200000", "-o", "many.h5", spec).err)
        self.assertNotIn("Hist takes", self.neon("check", "-e", "300000", spec).err)

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
        self.assertIn("give one with -o FILE", self.neon("check", "s.yaml").err)
        del self.environment["NEON_NO_RUN_FOLDER"]
        self.assertNotIn("-o FILE", self.neon("check", "s.yaml").err)  # a run writes run.h5
        self.refused(2, self.spec(callbacks="[Hist: {tensors: []}]"), says="Hist: tensors names no array")

    def test_histograms_that_cannot_be(self):
        self.refused(2, self.spec(callbacks="[Hist: {tensors: [dw]}]"), says=["Hist: no layer has 'dw'; did you mean dW", "known: W, dW, y)"])
        self.refused(2, self.spec(callbacks="[Hist: {every: 1000}]"), says="every 1000 steps, but the run has 32")
        self.refused(2, self.spec(callbacks="[Hist, Hist]"), says="Hist is given twice")
        self.refused(2, self.spec(callbacks="[Hist: {bins: 0}]"), says=["bins", "[1, 1024]"])

    def test_histograms_warn_of_numbers_that_f16_does_not_hold(self):
        small = IRIS.replace("nout: 8, init: Kaiming", "nout: 8, init: {Constant: 1.0e-5}")
        large = IRIS.replace("nout: 8, init: Kaiming", "nout: 8, init: {Constant: 30000}")
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
