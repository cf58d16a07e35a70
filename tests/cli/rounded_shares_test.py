#!/usr/bin/python3
"""-u where ranks (-m N) share weights: an element of a weight is rounded by the draw that it has on one device."""
import numpy as np

import ranks_test
import sharded_test
import split_heads_test
import split_pairs_test
import split_table_test
import support


class RoundedShares(support.Case):
    def train(self, spec, ranks, *options):
        self.neon("-b", "cpu", "-r", "3", "-m", str(ranks), "-s", "w.safetensors", *options, spec)
        return support.tensors(self.path("w.safetensors"))[0]

    def test_sharded_weights_have_the_bits_of_replicated_ones(self):
        sharded = sharded_test.NUMBERS.replace("{Adam: {gradient_clip_norm: 0.9}}", "Adam")
        for options in ("-u", "8"), ("-u", "-d", "f16"), ("-u", "-d", "bf16"):
            for ranks in 2, 3:
                got = self.train(self.spec(sharded), ranks, *options)
                wanted = self.train(self.spec(sharded, parallel="{optimizer: replicated}"), ranks, *options)
                self.assertEqual(got, wanted)

    def test_split_weights_are_rounded_as_on_one_device(self):
        """Sums over ranks differ by 2^-24 or so, roundings by 2^-8: of 500 numbers or more, updated ten times, hardly one
        comes to another side. With other draws half of them would."""
        nets = {"pairs": split_pairs_test.NUMBERS.replace("{Adam: {gradient_clip_norm: 0.9}}", "Adam"),
                "rows": split_pairs_test.NUMBERS.replace("{Adam: {gradient_clip_norm: 0.9}}", "Adam").replace("dense: pairs", "dense: model"),
                "heads": split_heads_test.BLOCK.replace("ATTENTION", "causal: true"), "table": split_table_test.TOKENS}
        for name, net in nets.items():
            spec = self.spec(net, epochs=1)
            self.train(spec, 1, "-u", "8")
            wanted = ranks_test.arrays(self.path("w.safetensors"))
            self.train(spec, 2, "-u", "8")
            got = ranks_test.arrays(self.path("w.safetensors"))
            for array in wanted:
                if not array.rpartition("/")[2].startswith("W"):
                    continue
                same = np.mean(got[array] == wanted[array])
                self.assertGreater(same, 0.9, f"{name}: {array}")


if __name__ == "__main__":
    support.main()
