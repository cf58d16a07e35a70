#!/usr/bin/python3
"""Parameters of layers that have no effect beside the others: check and each run note them once, and nothing is refused."""
import numpy as np

import support
from support import Case

SPEC = """dataset: {NPZ: {path: x.npz, sequences: true}}
layers:
  - %s
  - RecurrentLast
  - Affine: {nout: classes, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 4
epochs: 2
"""
PAIRS = """dataset: {Reversal: {ntrain: 20, ntest: 4, length: 3}}
layers:
  - Seq2Seq:
      length_penalty: 1
      encoder: [Embedding: 3, GRU: 3]
      decoder: [Embedding: 3, GRU: 3, Affine: {nout: classes, activation: Softmax}]
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 4
epochs: 2
"""


class IdleKeys(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(0)
        np.savez(self.path("x.npz"), x_train=rng.normal(size=(8, 5, 4)).astype("f4"), y_train=np.arange(8) % 2)

    def noted(self, spec, note):
        spec = self.spec(spec, "s.yaml")
        for verb in ["check"], ["-s", "m.safetensors", "--overwrite"]:
            said = self.neon(*verb, spec)
            self.assertEqual((said.out + said.err).count(note), 1, str(said))
        self.neon("resume", "-e", "3", "m.safetensors")

    def test_notes(self):
        for layer, note in (
                ("BiBNRNN: {output_size: 3, bias: {Constant: 1}}",
                 "note: layer BiBNRNN_0: bias has no effect: batch norm has a shift of its own, which begins at 0"),
                ("DeepBiLSTM: {output_size: 3, batch_norm: true, bias: {Constant: 1}}", "note: layer DeepBiLSTM_0: bias has no effect"),
                ("MultiHeadAttention: {heads: 2, rotary_base: 100}",
                 "note: layer MultiHeadAttention_0: rotary_base: 100 has no effect without rotary: true")):
            self.noted(SPEC % layer, note)
        self.noted(PAIRS, "note: layer Seq2Seq_0: length_penalty: 1 has no effect without beams: 2 or more")

    def test_no_note_of_what_has_an_effect(self):
        for layer in ("BiBNRNN: {output_size: 3}", "DeepBiLSTM: {output_size: 3, bias: {Constant: 1}}",
                      "MultiHeadAttention: {heads: 2, rotary: true, rotary_base: 100}", "MultiHeadAttention: {heads: 2, rotary_base: 10000}"):
            said = self.neon("check", self.spec(SPEC % layer, "s.yaml"))
            self.assertNotIn("has no effect", said.out + said.err)
        said = self.neon("check", self.spec(PAIRS.replace("length_penalty: 1", "length_penalty: 1\n      beams: 2"), "s.yaml"))
        self.assertNotIn("has no effect", said.out + said.err)


if __name__ == "__main__":
    support.main()
