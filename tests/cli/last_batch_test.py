#!/usr/bin/python3
"""neon check makes the steps that a run makes, those of last batches and of ranks (-m N) too, and refuses what a run
refuses."""
import support

NUMBERS = """\
dataset: {UniformRandom: {ntrain: 26, ntest: 8, nin: 6, nout: 3}}
layers:
  - Affine: {nout: 12, init: Kaiming, batch_norm: true, activation: Tanh}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
epochs: 1
"""


class LastBatch(support.Case):
    def refused_by_both(self, spec, *options, says):
        """By the check as by the run, in the same words."""
        lines = [self.refused(2, *verb, "-b", "cpu", *options, spec, says=says) for verb in ((), ("check",))]
        told = [[line for line in each.err.splitlines() if line.startswith("neon: ")] for each in lines]
        self.assertEqual(told[0], told[1])

    def taken_by_both(self, spec, *options):
        for verb in (), ("check",):
            self.neon(*verb, "-b", "cpu", *options, spec)

    def test_a_rank_with_one_sample_of_the_last_batch(self):
        """Of 26 samples in batches of 8 the last has 2: one for each of two ranks, and some have none. Batches of 9
        leave 8."""
        spec = self.spec(NUMBERS)
        self.taken_by_both(spec)
        for ranks in 2, 3, 4:
            self.refused_by_both(spec, "-m", str(ranks), says=[
                f"batch_size: 8: of 26 training samples the last batch of an epoch has 2, and one of {ranks} devices has "
                "1 of these, of which batch norm in Affine_0", "give 9, whose last batch has 8, or parallel: "
                "{batch_norm: all}"])
            self.taken_by_both(spec, "-m", str(ranks), "-z", "9")
        self.taken_by_both(self.spec(NUMBERS, parallel="{batch_norm: all}"), "-m", "2")

    def test_a_last_batch_of_one_sample_for_all_ranks(self):
        """The size that is named must suit the ranks, too: 4 leaves 2 samples, one for each."""
        self.refused_by_both(self.spec(NUMBERS), "-z", "5", says="give 4, whose last batch has 2")
        self.refused_by_both(self.spec(NUMBERS), "-z", "5", "-m", "2", says="give 7, whose last batch has 5")
        self.taken_by_both(self.spec(NUMBERS), "-z", "7", "-m", "2")
        done = self.refused(2, "-b", "cpu", "-z", "5", "-m", "2", self.spec(NUMBERS, parallel="{batch_norm: all}"),
                            says="(in the last batch of an epoch, of 1 sample for 2 devices)")
        self.assertNotIn("or parallel", done.err)

    def test_what_a_layer_refuses_in_the_last_batch_alone(self):
        spec = self.spec(NUMBERS.replace(", batch_norm: true, activation: Tanh}", "}\n  - ShiftBatchNorm"))
        self.taken_by_both(spec, "-z", "13")
        self.refused_by_both(spec, "-z", "5", says="one value in the batch, so its variance is 0 and nothing would be "
                             "learnt; give a larger batch_size (-z); shapes so far: (6) -> Affine_0 (12) -> "
                             "ShiftBatchNorm_0 (in the last batch of an epoch, of 1 sample)")


if __name__ == "__main__":
    support.main()
