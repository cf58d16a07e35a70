#!/usr/bin/python3
"""Types of 16 bits, loss scales, and stochastic rounding of the weights."""
import json
import re
import struct

import h5py

import support
from support import Case, tensors


class Precision(Case):
    def test_rounding_does_not_swallow_the_spec(self):
        self.neon("-u", self.spec())
        self.neon("-u", "7", self.spec())
        self.neon("--rounding", self.spec(epochs="1"), "-d", "bf16")
        self.neon("-e", "1", "--rounding=3", self.spec())

    def test_steps_of_16_bits_that_overflow_are_left_out_at_half_the_loss_scale(self):
        """With x = 2^k, y = 0 and a weight of 1 the gradients are 2^k, of the output, and 2^2k, of the weight; and the
        cost 2^(2k-1). They are stored times the scale, 2^16 at first, which the greatest number must hold: below 2^16 in
        f16, 2^128 in bf16."""
        for datatype, k, skipped in ("f16", 1, 3), ("f16", 0, 1), ("bf16", 56, 1), ("bf16", 55, 0):
            self.write("d.csv", f"{2 ** k},0.0\n" * 2)
            spec = self.spec("""dataset: {CSV: {path: d.csv, task: regression, test: 0, header: false, standardize: false}}
layers: [Linear: {nout: 1, init: {Constant: 1}}]
cost: SumSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0}}
batch_size: 1
epochs: 2
""")
            done = self.neon("-b", "cpu", "-d", datatype, "-o", "o.h5", "-s", "m", spec)
            said = f"skipped {skipped} step{'s' if skipped > 1 else ''} that overflowed"
            self.assertEqual(said in done.out + done.err, skipped > 0, str(done))
            self.assertNotIn("skipped 0", done.out + done.err)
            told = [str(number) for number in (min(skipped, 2), skipped) if number]  # by the lines of the epochs
            self.assertEqual(re.findall(r"(?m)^epoch \d/2 .*  skipped (\d+)", done.err), told)
            self.assertEqual(float(json.loads(tensors(self.path("m"))[1]["neon.position"])["loss_scale"]), 65536 / 2 ** skipped)
            # An epoch is two steps, and a step that is left out halves the scale.
            with h5py.File(self.path("o.h5")) as file:
                self.assertEqual(list(file["epoch/skipped_steps"]), [min(skipped, 2), skipped])
                self.assertEqual(list(file["epoch/loss_scale"]), [65536 / 2 ** min(skipped, 2), 65536 / 2 ** skipped])

    def test_adam_counts_updates_and_no_skipped_steps(self):
        """A gradient that hardly changes moves Adam by the whole rate at each update (Kingma and Ba 2015, section 2.1), from
        the first on, if t counts updates. With x = 2 and a weight of 1, f16 skips the first 3 steps; of updates of 2 steps
        it skips the first 2."""
        self.write("d.csv", "2,0.0\n" * 2)
        rate = 2 ** -10
        for rule in f"Adam: {{learning_rate: {rate}}}", f"AdamW: {{learning_rate: {rate}, wdecay: 0}}":
            for accumulate, updates in (1, 3), (2, 1):
                spec = self.spec(f"""dataset: {{CSV: {{path: d.csv, task: regression, test: 0, header: false, standardize: false}}}}
layers: [Linear: {{nout: 1, init: {{Constant: 1}}}}]
cost: SumSquared
optimizer: {{{rule}}}
batch_size: 1
epochs: 2
accumulate: {accumulate}
""")
                self.neon("-b", "cpu", "-r", "1", "-d", "f16", "-e", "3", "-s", "m", spec)
                for stop in "", "2":  # the first epoch ends among the skipped steps, the second as an update does
                    if stop:
                        self.neon("-b", "cpu", "-r", "1", "-d", "f16", "-e", stop, "-s", "m", spec)
                        self.neon("resume", "m", "-e", "3")
                    found, metadata = tensors(self.path("m"))
                    with self.subTest(rule=rule, accumulate=accumulate, stop=stop):
                        self.assertEqual(json.loads(metadata["neon.position"])["updates"], updates)
                        (weight,) = struct.unpack("<f", found["Linear_0/W"][2])
                        self.assertAlmostEqual((1 - weight) / rate, updates, delta=0.01 * updates)

    def test_rounded_weights_have_no_masters(self):
        for datatype, stored in ("f16", "F16"), ("bf16", "BF16"), ("f32", "F32"):
            self.neon("-r", "1", "-u", "-d", datatype, "-s", datatype, self.spec())
            found, _ = tensors(self.path(datatype))
            self.assertEqual(found["Affine_0/W"][0], stored)
            self.assertEqual(found["Affine_0/W/velocity"][0], "F32")
            self.assertIn("Top1Misclass", self.neon("eval", datatype).out)
        # f32 keeps 10 bits of its 23.
        self.assertTrue(all(int(x) & 0x1fff == 0 for x in struct.unpack("<32I", found["Affine_0/W"][2])))

    def test_rounding_that_a_type_has_not(self):
        self.refused(2, "-u", "8", "-d", "bf16", self.spec(), says=["-u 8", "1 to 7", "-u alone for 7"])
        self.refused(2, "-u", "16", self.spec(), says=["-u 16", "1 to 15"])
        self.refused(2, "-u", "11", "-d", "f16", "check", self.spec(), says=["-u 11", "1 to 10"])
        self.refused(2, "-u", "-d", "f64", self.spec(), says="-u rounds updates of f32, f16 and bf16")
        self.neon("-u", "-d", "f16", "-e", "1", "-s", "a", self.spec())
        self.refused(2, "resume", "a", "-u", "3", says="--rounding cannot change")

    def test_model_file_of_another_type_is_rounded(self):
        self.neon("-r", "1", "-s", "a", self.spec())
        done = self.neon("-d", "f16", "-u", "-e", "1", "--model_file", "a", "-s", "b",
                         "--set", "optimizer.learning_rate=0", self.spec())
        self.assertIn("note: the weights of a are f32, here they are rounded to f16", done.err)
        before, after = tensors(self.path("a"))[0]["Affine_0/W"], tensors(self.path("b"))[0]["Affine_0/W"]
        rounded = struct.pack("<32e", *struct.unpack("<32f", before[2]))
        self.assertEqual(rounded, after[2])


if __name__ == "__main__":
    support.main()
