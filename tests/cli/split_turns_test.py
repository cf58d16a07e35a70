#!/usr/bin/python3
"""parallel: {scheme: b} and c: the samples of dense layers that ranks (-m N) share come in turns; all is as with one
process."""
import split_dense_test
import split_pairs_test
import ranks_test
import support

TURNS = "b", "c"


def with_scheme(spec, scheme):
    for dense in "dense: model", "dense: pairs":
        spec = spec.replace(dense, f"{dense}, scheme: {scheme}")
    assert "scheme" in spec
    return spec


class SplitTurns(support.Case):
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    exchanges = split_dense_test.SplitDense.exchanges

    def check_turns(self, text, **changes):
        for scheme in TURNS:
            self.check_ranks(self.spec(with_scheme(text, scheme), **changes))

    def test_dense_net(self):
        """Dropout draws for samples of any turn; with 3 and 4 ranks they are too few for the turns of c."""
        self.check_turns(split_dense_test.NUMBERS)

    def test_turns_of_many_samples(self):
        """Ranks have 12, 8 or 6 of 24 samples, which are not the same in each turn; or other numbers than each other."""
        for batch in 24, 26:
            self.check_turns(split_dense_test.NUMBERS, batch_size=batch,
                             dataset="{UniformRandom: {ntrain: 107, ntest: 29, nin: 6, nout: 3}}")

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_turns(split_dense_test.NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}")

    def test_convolutions_before_it(self):
        """Sums of batch norm over all ranks stand before and between the exchanges of turns."""
        self.check_turns(split_dense_test.IMAGES)

    def test_pairs(self):
        self.check_turns(split_pairs_test.NUMBERS, batch_size=17)

    def test_pairs_of_steps_of_sequences(self):
        self.check_turns(split_pairs_test.STEPS, batch_size=16)

    def test_each_turn_sends_its_samples(self):
        """Two ranks of 4 samples each. In b rank 0 sends its 4 first, and then nothing; in c 2 each time. Features go back
        to their samples at once, or turn by turn."""
        for scheme, sent, moved in (("b", ["(4, 6)", "(0, 6)"], ["(2, 4, 5)", "(8, 5)"]),
                                    ("c", ["(2, 6)", "(2, 6)"], ["(2, 2, 5)", "(2, 2, 5)", "(4, 5)", "(4, 5)"])):
            found = self.exchanges(self.spec(with_scheme(split_dense_test.NUMBERS, scheme)), 2)
            first = [shape for op, shape, layer in found if op == "all_gather" and layer == "Affine_0"]
            self.assertEqual(first, sent)
            gathered = [(op, shape, layer) for op, shape, layer in found if op == "all_gather"]
            self.assertEqual(len(gathered), 2 * 3)  # of three split layers
            self.assertEqual(sorted(shape for op, shape, _ in found if op == "all_to_all"), sorted(moved))

    def test_schemes_of_nothing_are_refused(self):
        spec = split_dense_test.NUMBERS.replace("dense: model", "scheme: c")
        self.refused(2, "-b", "cpu", "-m", "2", self.spec(spec), says="scheme: c is for dense layers that devices share; "
                     "add dense: model, or dense: pairs")
        self.refused(2, "-b", "cpu", "-m", "2", self.spec(with_scheme(split_dense_test.NUMBERS, "d")), says="scheme")


if __name__ == "__main__":
    support.main()
