#!/usr/bin/python3
"""Sequences that are predicted, from the command line: encoders and decoders, and CTC. They train, stop and resume, are
evaluated, and predict prints labels."""
import json

import numpy as np

import support
from support import Case, tensors

REVERSAL = """\
dataset: {Reversal: {length: 4, symbols: 5, ntrain: 2000, ntest: 100}}
layers:
  - Seq2Seq:
      encoder:
        - Embedding: {embedding_dim: 16, init: {Gaussian: {scale: 0.1}}}
        - LSTM: {output_size: 32, init: GlorotUniform}
      decoder:
        - Embedding: {embedding_dim: 16, init: {Gaussian: {scale: 0.1}}}
        - LSTM: {output_size: 32, init: GlorotUniform}
        - DotAttention: {init: GlorotUniform}
        - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
metrics: [EditDistance, ExactMatch, BLEU, Accuracy]
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 32
epochs: 4
"""
SPOKEN = """\
dataset: {SpokenDigits: {digits: 2, features: 6, noise: 0.2, ntrain: 400, ntest: 50}}
layers:
  - GRU: {output_size: 32, init: GlorotUniform}
  - Affine: {nout: classes, init: GlorotUniform}
cost: CTC
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 16
epochs: 12
"""


class Sequences(Case):
    def test_an_encoder_and_a_decoder_learn_to_turn_strings_round(self):
        spec = self.spec(REVERSAL)
        out = self.neon(spec, "-r", "1", "-s", "m.safetensors").out
        self.assertRegex(out, r"test: Accuracy [\d.]+ %  BLEU (9\d|100).\d+ %  EditDistance [01].\d+ %  ExactMatch (9[5-9]|100).\d+ %  test cost 0")
        strings = np.full((3, 4), -1, np.int32)
        strings[0], strings[1, :2], strings[2, 0] = [0, 1, 2, 3], [4, 1], 2
        np.save(self.path("strings.npy"), strings)
        self.assertEqual(self.neon("predict", "m.safetensors", "strings.npy").out, "sample,classes\n0,d c b a\n1,b e\n2,c\n")
        lines = self.neon("predict", "m.safetensors", "strings.npy", "--format", "json").out.splitlines()
        self.assertEqual(json.loads(lines[1]), {"sample": "1", "classes": ["b", "e"]})
        self.assertIn("of each step its class is printed", self.neon("predict", "m.safetensors", "strings.npy", "--top_k", "2", code=2).err)

    def test_a_stopped_run_goes_on_to_the_same_bits(self):
        for text in REVERSAL, SPOKEN:
            spec = self.spec(text)
            self.neon(spec, "-r", "3", "-e", "3", "-s", "whole.safetensors")
            self.neon(spec, "-r", "3", "-e", "1", "-s", "part.safetensors")
            self.neon("resume", "-e", "3", "part.safetensors")
            self.assertEqual(tensors(self.path("whole.safetensors"))[0], tensors(self.path("part.safetensors"))[0])

    def test_labels_are_found_in_frames(self):
        spec = self.spec(SPOKEN)
        out = self.neon(spec, "-r", "1", "-s", "m.safetensors").out
        self.assertRegex(out, r"(?m)^test: EditDistance [0-4]\.\d+ %  test cost 0\.\d+ ", "the default metric")
        self.assertNotIn("warning", out)
        self.assertIn("EditDistance", self.neon("eval", "m.safetensors").out)
        # A filter for every eighth frame leaves too few steps for some recordings.
        few = self.spec(SPOKEN.replace("  - GRU: {", "  - Conv: {fshape: 8, strides: 12, nofm: 8, init: Kaiming}\n  - GRU: {"), "few.yaml")
        self.assertIn("infinity in the cost: the labels of a sample do not fit into its steps; fewer strides",
                      self.neon(few, "-r", "1", "-e", "1", code=5).err)
        self.neon(few, "-r", "1", "-e", "1", "--set", "cost={CTC: {infeasible: zero}}")
        wrong = self.neon(spec, "--set", "layers[1].activation=Softmax", "-e", "1", code=2).err
        self.assertIn("CTC takes scores and makes a softmax of them itself; leave activation: Softmax of the last layer out", wrong)


if __name__ == "__main__":
    support.main()
