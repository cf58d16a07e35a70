#!/usr/bin/python3
"""Runs whose numbers are no longer finite: they end with exit code 5 and keep the last good checkpoint."""
import json
import os
import signal

import h5py

import support
from support import IRIS, Case, tensors


# Tanh would hold the numbers in check for ever.
# No rectifiers: with a huge rate they may all die, and a dead net has a finite cost.
GROWING = IRIS.replace("Tanh", "Identity")


class Divergence(Case):
    def test_names_tensor_and_layer_and_keeps_the_checkpoint(self):
        spec = self.spec(GROWING, epochs="3")
        self.neon("-r", "1", "-s", "m.safetensors", spec)
        before = self.read("m.safetensors")
        result = self.refused(5, "resume", "-e", "9", "m.safetensors", "-o", "r.h5", "--set", "optimizer.learning_rate=1e30",
                              says=["diverged in epoch 4", "Affine_", "it went on from is as it was: m.safetensors", "learning rate"])
        self.assertNotIn("\nepoch 9", result.err)
        self.assertEqual(self.read("m.safetensors"), before, "the last good checkpoint stays")
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["status"], "killed")
        self.neon("eval", "m.safetensors")

    def test_in_the_last_step(self):
        # One batch an epoch: the only update that could see the damage is another epoch's.
        spec = self.spec(GROWING, batch_size="120")
        for dtype, rate, epochs in ("f32", "3e38", "1"), ("f32", "3e38", "2"), ("bf16", "3e38", "1"):
            self.refused(5, "-r", "2", "-d", dtype, "-e", epochs, "-s", "bad.safetensors", spec,
                         "--set", f"optimizer.learning_rate={rate}",
                         says=["diverged in epoch 1, step 1: after its update Affine_", "had saved no checkpoint yet"])
            self.assertFalse(os.path.exists(self.path("bad.safetensors")))
        self.neon("-r", "2", "-e", "1", "-s", "m.safetensors", spec)
        before = self.read("m.safetensors")
        self.refused(5, "resume", "-e", "2", "m.safetensors", "--set", "optimizer.learning_rate=3e38", says="epoch 2, step 1: after")
        self.assertEqual(self.read("m.safetensors"), before)
        self.refused(5, "-r", "2", "-e", "1", spec, "--set", "optimizer.learning_rate=3e38", says="-s FILE")

    def too_large_for_f16(self, **changes):
        """A spec whose test samples alone are so; its weights stay where they are, so that every evaluation is alike."""
        rows = [f"{i % 3},{i % 2},{i % 5 % 2}\n" for i in range(40)]
        self.write("train.csv", "".join(rows))
        self.write("test.csv", "".join(row if i else "60000,60000,0\n" for i, row in enumerate(rows)))
        return self.spec(IRIS.replace("Tanh", "Identity").replace("nout: 3", "nout: 2").replace("Kaiming", "{Constant: 3}"),
                         dataset="{CSV: {path: train.csv, test: test.csv, standardize: false}}",
                         optimizer="{GradientDescentMomentum: {learning_rate: 1.0e-30}}", **changes)

    def test_an_evaluation_that_is_not_finite(self):
        spec = self.too_large_for_f16(epochs="2")
        result = self.refused(5, "-d", "f16", "-eval", "1", "-s", "m.safetensors", spec,
                              says=["test cost not a number", "not saved after epoch 1", "end of epoch 2: its weights are finite", "-d bf16"])
        self.assertNotIn("nan", result.err)
        self.neon("-d", "f32", "-s", "m.safetensors", spec)
        self.assertIn("test cost not a number", self.neon("eval", "-d", "f16", "m.safetensors", code=5).out)

    def test_a_net_that_is_not_evaluated_takes_no_good_ones_place(self):
        spec = self.too_large_for_f16(epochs="5")
        result = self.refused(5, "-d", "f16", "-eval", "2", "-s", "m.safetensors", spec,
                              says=["not saved after epoch 2, since its evaluation is not finite",
                                    "not saved after epoch 3, since the last evaluation, after epoch 2, was not finite",
                                    "the last checkpoint is m.safetensors, whose net was not evaluated"])
        self.assertEqual(json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])["epoch"], 1)
        result = self.refused(5, "-d", "f16", "-eval", "5", "-s", "end.safetensors", spec,
                              says="the last checkpoint is end.safetensors, whose net was not evaluated")
        self.assertNotIn("good", result.err)

    def test_a_signal_saves_no_net_whose_evaluation_is_not_finite(self):
        spec = self.too_large_for_f16(epochs="1000000")
        for every, files in ("2", {"m.safetensors"}), ("1", set()):
            child = self.start("-d", "f16", "-eval", every, "-s", "m.safetensors", "-r", "1", spec)
            for line in child.stderr:
                if "not saved after epoch 3" in line:
                    break
            child.send_signal(signal.SIGTERM)
            out, err = child.communicate(timeout=30)
            self.assertEqual(child.returncode, 143, err)
            self.assertRegex(err, "(?s)not saved (in|after) epoch .*, since (its|the last) evaluation.*\\Z")
            saved = {name for name in os.listdir(self.folder) if name.endswith(".safetensors")}
            self.assertEqual(saved, files)
            if saved:
                self.assertEqual(json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])["epoch"], 1)
                self.assertIn("wrote m.safetensors", out)
                self.assertIn("resume m.safetensors", out)
                os.remove(self.path("m.safetensors"))
            else:
                self.assertNotIn("wrote m.safetensors", out)
                self.assertNotIn("resume m.safetensors", out)

    def test_from_the_start(self):
        for dtype in "f32", "f64", "bf16":
            rate = "1e300" if dtype == "f64" else "1e30"
            self.refused(5, "-r", "1", "-d", dtype, self.spec(GROWING), "--set", f"optimizer.learning_rate={rate}",
                         says=["diverged", "Affine_", "-s FILE"])

    def test_names_the_last_checkpoint(self):
        # One good epoch, then a rate that no net stands.
        spec = self.spec(GROWING, optimizer="{GradientDescentMomentum: {learning_rate: 0.01, schedule: {Schedule: "
                         "{step_config: [2], change: [1.0e+30]}}}}", epochs="6")
        result = self.refused(5, "-s", "m.safetensors", spec, says=["diverged in epoch 3", "checkpoint is m.safetensors"])
        self.assertIn("epoch 2/6", result.err)
        self.neon("eval", "m.safetensors")


if __name__ == "__main__":
    support.main()
