#!/usr/bin/python3
"""neon formats: one spec in each type of numbers; what each loses; the table and the histograms as HDF5."""
import json
import os
import re
import statistics
import time

import h5py
import numpy as np

import support
from support import IRIS, Case

# Weights of 1e-9 and of 1e6 all through: the learning rate moves them by less than a bit.
ENDS = """\
dataset: Iris
layers:
  - Affine: {nout: 8, init: {Constant: 1e-9}, activation: Tanh}
  - Affine: {nout: 3, init: {Constant: 1e6}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 1e-30}}
batch_size: 16
epochs: 1
"""


class Formats(Case):
    def table(self, out):
        """The cells of the first table, by format."""
        lines = out.splitlines()
        end = next(i for i, line in enumerate(lines) if line.startswith(("array", "no format")))
        rows = [re.split(r"  +", line) for line in lines[:end]]
        return {row[0]: dict(zip(rows[0], row)) for row in rows[1:]}

    def test_each_type_is_trained_with_the_same_seeds(self):
        spec = self.spec(epochs=3)
        said = self.neon("formats", spec, "-b", "cpu", "-r", "5", "--seeds", "2")
        table = self.table(said.out)
        self.assertEqual(list(table), ["f32", "f64", "bf16", "f16", "f16 -u 10", "f16 -u 8", "f16 -u 6", "fixed 16.12"])
        with h5py.File(self.path("s-formats/formats.h5")) as file:
            for name, options in ("f32", []), ("bf16", ["-d", "bf16"]), ("f16 -u 8", ["-d", "f16", "-u", "8"]), \
                    ("fixed 16.12", ["--fixed_point", "16.12"]):
                alone = [json.loads(self.neon("search", "--objective", spec, "-b", "cpu", "-r", seed, *options).out)
                         for seed in ("5", "6")]
                errors = [run["objective"] for run in alone]
                self.assertEqual(table[name]["Top1Misclass"], f"{statistics.mean(errors):.4g}")
                self.assertEqual(table[name]["deviation"], f"{statistics.stdev(errors):.2g}")
                group = file[name.replace(" -", "_").replace("d ", "d_").replace(" ", "")]
                np.testing.assert_array_equal(group["objective"][:], errors)
                np.testing.assert_array_equal(group["seed"][:], [5, 6])
                np.testing.assert_array_equal(group["skipped"][:], [run["skipped"] for run in alone])
            # Weights are counted at the end of each epoch and seed: 4 x 8 numbers, 3 epochs, 2 seeds.
            self.assertEqual(file["hist/Affine_0_W"][:].sum(), 4 * 8 * 3 * 2)
        self.assertIn("left out: tf32 (on a GPU only)", said.out)
        self.assertNotIn("not trained", said.out)

    def test_numbers_that_a_type_cannot_hold(self):
        spec = self.spec(ENDS)
        said = self.neon("formats", spec, "-b", "cpu", "--seeds", "1", "--fixed", "32.31")
        with h5py.File(self.path("s-formats/formats.h5")) as file:
            def shares(name):
                return [float(file[f"{name}/{kind}/{array}"][0]) for kind in ("overflow", "underflow")
                        for array in ("Affine_0_W", "Affine_1_W")]
            self.assertEqual(shares("f32"), [0, 0, 0, 0])
            self.assertEqual(shares("bf16"), [0, 0, 0, 0])
            self.assertEqual(shares("f16"), [0, 1, 1, 0])  # 1e6 above 65504; 1e-9 below 2^-25
            self.assertEqual(shares("fixed_32.31"), [0, 1, 0, 0])  # 1e6 above 1; 1e-9 above 2^-32
        self.assertEqual(self.table(said.out)["fixed 32.31"]["Top1Misclass"], "-")
        self.assertIn("not trained: fixed 32.31; neon emulates up to 24 bits", said.out)
        self.assertRegex(said.out, r"(?m)^Affine_1_W +f16 +100.00 % +0$")
        self.assertRegex(said.out, r"(?m)^Affine_0_W +f16 +0 +100.00 %$")

    def test_a_type_that_diverges_is_a_row(self):
        spec = self.spec(ENDS.replace("1e6", "1e36").replace("1e-9", "1"))
        said = self.neon("formats", spec, "-b", "cpu", "--seeds", "1", code=None)
        table = self.table(said.out)
        self.assertEqual(table["f16"]["Top1Misclass"], "failed")
        self.assertNotEqual(table["f64"]["Top1Misclass"], "failed")
        with h5py.File(self.path("s-formats/formats.h5")) as file:
            self.assertTrue(file["f16"].attrs["cause"])

    def test_a_fixed_point_net_holds_numbers_of_its_format(self):
        spec = self.spec(epochs=2)
        self.neon(spec, "-b", "cpu", "-r", "1", "--fixed_point", "12.8", "-s", "fixed.safetensors")
        with open(self.path("fixed.safetensors"), "rb") as file:
            arrays, _ = support.tensors(file.name)
        weights = [np.frombuffer(data, np.float32) for name, (kind, _, data) in arrays.items() if name.endswith(("/W", "/b"))]
        self.assertGreaterEqual(len(weights), 2)
        for numbers in weights:
            np.testing.assert_array_equal(numbers * 256, np.rint(numbers * 256))
            self.assertLessEqual(np.abs(numbers).max(), 8)
            self.assertGreater(np.abs(numbers).max(), 0)
        # The format stays with the net.
        self.refused(2, "resume", "fixed.safetensors", "-e", "3", "--fixed_point", "12.7", says="cannot change")
        self.neon("resume", "fixed.safetensors", "-e", "3", "-b", "cpu")
        self.refused(2, spec, "--fixed_point", "12", says="option --fixed_point: '12': expected BITS.FRACTION")
        self.refused(2, spec, "--fixed_point", "12.8", "-d", "f16", says="12.8 is emulated in f32, but the run is in f16")
        self.refused(2, spec, "--set", "fixed_point=30.8", says="2 to 24 bits")

    def test_one_run_prints_sizes(self):
        line = json.loads(self.neon("formats", self.spec(ENDS), "-b", "cpu", "--objective", "-r", "1").out)
        sizes = line["sizes"]
        self.assertEqual(sorted(sizes), ["Affine_0_W", "Affine_0_dW", "Affine_1_W", "Affine_1_dW"])
        # 1e-9 is 2^-29.9, in bin 150 - 30; 1e6 is 2^19.9, in bin 150 + 20.
        self.assertEqual(sizes["Affine_0_W"]["bins"][120], 32)
        self.assertEqual(sizes["Affine_1_W"]["bins"][170], 24)
        self.assertEqual((sizes["Affine_1_W"]["elements"], sizes["Affine_1_dW"]["gradient"]), (24, True))

    def test_a_spec_that_changes_on_the_way_ends_it(self):
        spec = self.spec()
        running = self.start("formats", spec, "-b", "cpu", "-r", "1", "-e", "200")
        while running.poll() is None and not os.path.exists(self.path("s-formats/logs")):
            time.sleep(0.005)
        self.spec(IRIS.replace("Tanh", "Rectlin"))
        _, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 2, err)
        self.assertIn("s.yaml has changed since neon formats began, and each run reads it; give the command again", err if isinstance(err, str) else err.decode())
        self.assertFalse(os.path.exists(self.path("s-formats/formats.h5")))

    def test_a_range_has_its_middle_in_every_type(self):
        ranged = IRIS.replace("learning_rate: 0.1", "learning_rate: {search: {log: [0.01, 1]}}")
        out = [self.neon("formats", self.spec(content, name=name), "-b", "cpu", "-r", "1", "--seeds", "1").out
               for content, name in ((IRIS, "a.yaml"), (ranged, "b.yaml"))]
        costs = [{name: row["Top1Misclass"] for name, row in self.table(text).items()} for text in out]
        self.assertIn("f32", costs[0])
        self.assertEqual(costs[0], costs[1])

    def test_refusals(self):
        spec = self.spec(fixed_point='"8.4"')
        self.refused(2, "formats", spec, "-b", "cpu", says="s.yaml: fixed_point: neon formats tries all types of numbers; leave the key out, and give --fixed 8.4")
        spec = self.spec()
        self.refused(2, "formats", spec, "-d", "f16", says="neon formats tries all types of numbers")
        for wrong in "16", "16.16", "1.0", "x.y", "16.12.3":
            self.refused(2, "formats", spec, "--fixed", wrong, says="expected BITS.FRACTION")
        # Before anything is trained:
        self.refused(2, "formats", spec, "--metric", "Top1Mis", says="did you mean Top1Misclass?")
        os.makedirs(self.path("s-formats"))
        with h5py.File(self.path("s-formats/formats.h5"), "w") as file:
            file["mine"] = [1, 2]
        self.refused(3, "formats", spec, says="is there and is not overwritten")
        self.assertFalse(os.path.exists(self.path("s-formats/logs")))
        self.neon("formats", spec, "-b", "cpu", "--seeds", "1", "--overwrite")


support.main()
