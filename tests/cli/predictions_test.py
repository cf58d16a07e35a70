#!/usr/bin/python3
"""`predictions` of a spec: outputs and targets of whole sets in predictions.npz, as neon predict and neon eval have them."""
import json
import os

import numpy as np

import support
from support import Case

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "old")


class Predictions(Case):
    def setUp(self):
        super().setUp()
        del self.environment["NEON_NO_RUN_FOLDER"]

    def predicted(self, file="runs/s-1/predictions.npz"):
        with np.load(self.path(file)) as found:
            return dict(found)

    def test_classes_are_those_of_predict_and_eval(self):
        random = np.random.default_rng(3)
        x = random.normal(size=(50, 4)).astype("f4")
        labels = random.integers(0, 3, 50).astype("i4")
        np.savez(self.path("a.npz"), x_train=x[:40], y_train=labels[:40], x_test=x[40:], y_test=labels[40:])
        np.save(self.path("x.npy"), x[40:])
        self.spec(dataset="{NPZ: {path: a.npz, validation: 9}}", predictions="[test, train, validation]")
        run = self.neon("s.yaml", "-b", "cpu", "-r", "1")
        self.assertIn("wrote runs/s-1/predictions.npz: outputs and targets of 10 test, 31 training, 9 validation samples", run.err)
        for verb in [], ["check"]:
            self.refused(2, *verb, "s.yaml", "--set", "predictions=[test, train, test]", says="predictions: name the test set twice")
        found = self.predicted()
        self.assertEqual(sorted(found), sorted(f"{s}_{w}" for s in ("test", "train", "validation") for w in ("outputs", "targets", "samples")))
        np.testing.assert_array_equal(found["test_targets"], labels[40:])
        for name in "train", "validation":
            np.testing.assert_array_equal(found[name + "_targets"], labels[found[name + "_samples"]])
        self.assertEqual(sorted([*found["train_samples"], *found["validation_samples"]]), list(range(40)))
        lines = self.neon("predict", "runs/s-1", "x.npy", "--top_k", "3").out.splitlines()[1:]
        for row, line in enumerate(lines):
            cells = line.split(",")[1:]
            for name, output in zip(cells[::2], cells[1::2]):
                self.assertAlmostEqual(found["test_outputs"][row, int(name)], float(output), delta=1e-5)
        results = json.loads(self.neon("eval", "runs/s-1", "--format", "json").out)
        self.assertAlmostEqual((found["test_outputs"].argmax(1) != labels[40:]).mean(), results["Top1Misclass"], places=6)

    def test_numbers_are_in_their_own_units(self):
        random = np.random.default_rng(5)
        rows = ["a,b,y"] + [f"{a:.4f},{b:.4f},{500 + 40 * a - 7 * b:.4f}" for a, b in random.normal(size=(60, 2))]
        self.write("t.csv", "\n".join(rows) + "\n")
        self.write("s.yaml", "dataset: {CSV: {path: t.csv, task: regression, test: 0.2}}\nlayers: [Affine: {nout: 1, init: Kaiming}]\n"
                   "cost: MeanSquared\noptimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 8\nepochs: 30\npredictions: [test]\n")
        self.neon("s.yaml", "-b", "cpu", "-r", "1")
        found = self.predicted()
        truth = np.array([float(rows[1 + number].split(",")[2]) for number in found["test_samples"]])
        self.assertEqual(found["test_outputs"].shape, (12, 1))
        np.testing.assert_allclose(found["test_targets"][:, 0], truth, atol=1e-3)
        np.testing.assert_allclose(found["test_outputs"][:, 0], truth, atol=20)

    def test_each_step_has_its_row(self):
        """39 sequences of 5 steps fill no whole batch of 16."""
        random = np.random.default_rng(7)
        x = random.normal(size=(79, 5, 2)).astype("f4")
        labels = (x[..., 0] > 0).astype("i4")
        labels[42, 3:] = -1  # steps without a class
        np.savez(self.path("a.npz"), x_train=x[:40], y_train=labels[:40], x_test=x[40:], y_test=labels[40:])
        self.write("s.yaml", "dataset: {NPZ: {path: a.npz, sequences: true}}\nlayers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\n"
                   "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 16\nepochs: 9\npredictions: [test]\n")
        self.neon("s.yaml", "-b", "cpu", "-r", "1")
        found = self.predicted()
        self.assertEqual(found["test_outputs"].shape, (39, 5, 2))
        np.testing.assert_array_equal(found["test_targets"], labels[40:])
        known = labels[40:] >= 0
        self.assertLess((found["test_outputs"].argmax(2) != labels[40:])[known].mean(), 0.1)

    def test_merged_branches_end_with_the_first_that_ends(self):
        """The pooling makes floor(L / 2) of L steps, the convolution one more where L is odd."""
        x = np.random.default_rng(5).normal(size=(6, 8, 3)).astype("f4")
        lengths = [8, 7, 5, 3, 6, 1 + 1]
        for sample, length in zip(x, lengths):
            sample[length:] = np.nan
        even = x.copy()
        for sample, length in zip(even, lengths):
            sample[length - length % 2:] = np.nan
        np.savez(self.path("d.npz"), x_train=x, y_train=np.arange(6) % 2), np.save(self.path("x.npy"), x), np.save(self.path("even.npy"), even)
        pooling, convolution = "[Pooling: {fshape: 2, op: avg}]", "[Conv: {name: c, fshape: 3, strides: 2, padding: 1, nofm: 3, init: Kaiming}]"
        said = []
        for number, branches in enumerate(([pooling, convolution], [convolution, pooling])):
            for merge in "MergeSum", "MergeProduct":
                layers = f"[{merge}: [{', '.join(branches)}], RecurrentLast, Affine: {{name: a, nout: 2, init: Kaiming, activation: Softmax}}]"
                spec = self.write("s.yaml", f"dataset: {{NPZ: {{path: d.npz, sequences: true}}}}\nlayers: {layers}\n"
                                            "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.01}}\nbatch_size: 6\nepochs: 1\n")
                self.neon(spec, "-b", "cpu", "-r", "1", "-s", "m.safetensors", "--overwrite")
                said.append(self.neon("predict", "m.safetensors", "x.npy").out)
                self.assertEqual(said[-1], self.neon("predict", "m.safetensors", "even.npy").out)
        self.assertEqual(said[:2], said[2:])

    def test_autoencoder_has_its_samples_as_targets(self):
        x = np.random.default_rng(9).normal(size=(30, 6)).astype("f4")
        np.save(self.path("x.npy"), x[:20]), np.save(self.path("t.npy"), x[20:])
        self.write("s.yaml", "dataset: {NPY: {inputs: x.npy, test_inputs: t.npy}}\nlayers: [Affine: {nout: 6, init: Kaiming}]\ncost: MeanSquared\n"
                   "optimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 20\nepochs: 2\npredictions: [test]\n")
        self.neon("s.yaml", "-b", "cpu", "-r", "1")
        np.testing.assert_array_equal(self.predicted()["test_targets"], x[20:])

    def test_places_and_refusals(self):
        self.spec(predictions="[test]", name="s.yaml")
        said = self.neon("s.yaml", "-b", "cpu", "-r", "1", "--no_run_folder").err
        self.assertIn("warning: predictions: none are written, because the run saves nothing; -s FILE saves the net", said)
        for _ in range(2):  # a newer one replaces it
            self.neon("s.yaml", "-b", "cpu", "-r", "1", "--no_run_folder", "-s", "m.safetensors")
            self.assertEqual(self.predicted("m.predictions.npz")["test_outputs"].shape, (30, 3))
        self.write("m.predictions.npz", "mine")
        for verb in [], ["check"]:
            self.refused(3, *verb, "s.yaml", "--no_run_folder", "-s", "m.safetensors", says="m.predictions.npz exists and is no .npz of predictions")
        self.spec(predictions="[tset]")
        self.refused(2, "check", "s.yaml", says="'tset' is not one of train, validation, test; did you mean test?")
        self.spec(predictions="[validation]")
        self.assertIn("warning: predictions: the data set has no validation samples", self.neon("s.yaml", "-b", "cpu").err)

    def test_buckets_keep_the_order_of_the_set(self):
        """Batches by length give each sample the row that it has in batches of one length, in sets that fill no batch."""
        random = np.random.default_rng(11)
        lengths = random.permutation([9] + [*random.integers(1, 9, 52)])
        x = random.normal(size=(53, 9, 2))
        counts = np.arange(9) < lengths[:, None]
        x[~counts] = np.nan
        one, each = random.integers(0, 3, 53), np.where(counts, random.integers(0, 3, (53, 9)), -1)
        net = ("layers: [GRU: {output_size: 5, init: GlorotUniform}, END Affine: {nout: classes, init: GlorotUniform, activation: Softmax}]\n"
               "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 1.0e-30}}\nbatch_size: 7\nepochs: 1\npredictions: [test, train]\n")
        for y, end, rows_of in (one, "RecurrentLast,", lambda part: slice(None)), (each, "", lambda part: counts[part]):
            np.savez(self.path("a.npz"), x_train=x[:30], y_train=y[:30], x_test=x[30:], y_test=y[30:])
            self.write("s.yaml", "dataset: {NPZ: {path: a.npz, sequences: true}}\n" + net.replace("END", end))
            found = []
            for buckets in "0", "3", "[2, 6]":
                self.neon("s.yaml", "-b", "cpu", "-d", "f64", "-r", "1", "-s", "m.safetensors", "--no_run_folder", "--overwrite",
                          "--set", f"buckets={buckets}")
                found.append(self.predicted("m.predictions.npz"))
            for name, part in ("test", slice(30, 53)), ("train", slice(0, 30)):
                self.assertGreater(np.abs(np.diff(found[0][name + "_outputs"], axis=0)).max(), 1e-3)
                for arrays in found:
                    np.testing.assert_array_equal(arrays[name + "_targets"], y[part])
                    np.testing.assert_array_equal(arrays[name + "_samples"], np.arange(part.stop - part.start))
                    some = rows_of(part)
                    np.testing.assert_allclose(arrays[name + "_outputs"][some], found[0][name + "_outputs"][some], rtol=1e-12, err_msg=name)

    def test_rules_have_none(self):
        self.write("s.yaml", "dataset: {Digits: {ntrain: 64, ntest: 32}}\nlayers: [RBM: {nout: 4}]\nrule: ContrastiveDivergence\n"
                   "optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0}}\nepochs: 1\npredictions: [test]\n")
        for verb in (), ("check",):
            self.refused(2, *verb, "s.yaml", "-b", "cpu", says="predictions: are outputs beside targets, and a rule trains without these")

    def test_balanced_net_of_neon_0_9(self):
        """A slice of logistic units gives the class, and the cost is that of the outputs that are written."""
        self.write("b.yaml", """!obj:experiments.FitPredictErrorExperiment {
  w: &w !obj:params.AutoUniformValGen {bias_init: 0.0},
  dataset: !obj:datasets.Iris {},
  model: !obj:models.Balance {num_epochs: 2, batch_size: 30,
    layers: [!obj:layers.DataLayer {nout: 4}, &c !obj:layers.FCLayer {nout: 5, weight_init: *w, activation: !obj:transforms.Logistic {}},
             !obj:layers.FCLayer {nout: 4, weight_init: *w}, !obj:layers.CostLayer {ref_label: output, cost: !obj:transforms.SumSquaredDiffs {}}],
    classlayers: [*c, !obj:layers.SliceLayer {end_idx: 3}, !obj:layers.CostLayer {cost: !obj:transforms.CrossEntropy {}}],
    stylelayers: [*c, !obj:layers.CostLayer {cost: !obj:transforms.XCovariance {blkidx: 3}}]},
  predictions: ['test'] }
""")
        self.neon("b.yaml", "-b", "cpu", "-r", "0")
        found = self.predicted("runs/b-1/predictions.npz")
        self.assertEqual(found["test_outputs_sample"].shape, (30, 4))
        y, t = found["test_outputs_class"].astype(float), np.eye(3)[found["test_targets_class"]]
        results = json.loads(self.neon("eval", "runs/b-1", "--format", "json").out)
        self.assertAlmostEqual(-(t * np.log(y) + (1 - t) * np.log(1 - y)).sum(1).mean(), results["class.cost"], places=4)
        missed = ((found["test_outputs_sample"] - found["test_targets_sample"]) ** 2).sum(1).mean() / 2
        self.assertAlmostEqual(missed / results["sample.cost"], 1, places=4)

    def test_file_of_neon_0_9(self):
        old = os.path.join(FOLDER, "mlp-iris-small.yaml")
        self.neon(old, "-b", "cpu", "-r", "0", "-e", "2")
        found = self.predicted("runs/mlp-iris-small-1/predictions.npz")
        self.assertEqual((found["train_outputs"].shape, found["test_outputs"].shape), ((90, 3), (30, 3)))
        self.assertIn("\npredictions: [train, test]\n", self.neon("convert", old).out)


if __name__ == "__main__":
    support.main()
