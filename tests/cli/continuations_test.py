#!/usr/bin/python3
"""Which nets go on with a text, and with which prompts."""
import os

import support
from support import Case

SPEC = """\
dataset: {Text: {path: a.txt, steps: 6, validation: 0.2}}
layers:
  - LSTM: {output_size: 16, init: GlorotUniform}
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 4
epochs: 1
"""
TEXT = "abcacb" * 40 + "abc"


class Continuations(Case):
    def setUp(self):
        super().setUp()
        self.write("a.txt", TEXT)
        self.write("words.txt", "one two abc\n" * 40 + "rare")
        self.text = self.spec(SPEC, "text.yaml")

    def test_a_net_that_sees_the_token_to_foretell_is_told_so(self):
        spec = """\
dataset: {Text: {path: a.txt, steps: 12, streams: STREAMS}}
layers:
  - Embedding: {embedding_dim: 8, init: {Gaussian: {scale: 0.1}}}
  - MultiHeadAttention: {heads: 2, causal: CAUSAL, init: GlorotUniform}
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 2
"""
        for streams in "true", "false":
            for causal in "true", "false":
                path = self.spec(spec.replace("STREAMS", streams).replace("CAUSAL", causal), f"{streams}-{causal}.yaml")
                told = self.neon("check", path)
                warned = "layer MultiHeadAttention_0 sees the steps that follow" in told.out + told.err
                self.assertEqual(warned, causal == "false", told)

    def test_a_decoder_of_the_tokens_that_its_encoder_reads_is_told_so(self):
        """A Seq2Seq and branches whose steps follow one another see all steps, though each of their layers does not."""
        gru = "{Embedding: {embedding_dim: 4}}, {GRU: {output_size: 6}}"
        end = "Affine: {nout: classes, activation: Softmax}"
        nets = {"Seq2Seq_0": f"  - Seq2Seq: {{encoder: [{gru}], decoder: [{gru}, {{{end}}}], steps: 6}}\n",
                "MergeConcatSequence_0": f"  - Embedding: {{embedding_dim: 4}}\n  - MergeConcatSequence: [GRU: {{output_size: 6}}]\n  - {end}\n"}
        begin, rest = SPEC.split("layers:\n")
        rest = "cost: " + rest.split("cost: ")[1]
        for name, layers in nets.items():
            path = self.spec(f"{begin}layers:\n{layers}{rest}", "s.yaml")
            line, = [n for n, text in enumerate(self.read("s.yaml").decode().splitlines(), 1) if name[:-2] + ":" in text]
            place = f"s.yaml:{line}:5: layer {name} sees the steps that follow"
            self.assertIn(f"warning: {place}. The target of a step is the token of the next one", self.neon("check", path).err)
            self.neon(path, "-r", "1", "-e", "1", "-s", "m.safetensors")
            self.refused(2, "sample", "m.safetensors", says=[f":5: layer {name} sees the steps that follow, which a text that goes "
                         "on does not have; train a net of recurrent layers of one direction, or "])

    def test_metrics_of_probabilities_ask_for_softmax(self):
        for metric in "Perplexity", "BitsPerCharacter", "LogLoss", "LogLossMean", "Misclassification":
            for end, cost in (", activation: Softmax", "SumSquared"), ("", "SumSquared"), (", activation: Tanh", "SumSquared"):
                path = self.spec(SPEC.replace(", activation: Softmax", end).replace("cost: CrossEntropyMulti", f"cost: {cost}\nmetrics: [{metric}]"), "p.yaml")
                said = self.neon("check", path).err
                asked = metric in ("Perplexity", "BitsPerCharacter", "LogLoss") and "Softmax" not in end
                self.assertEqual(f"p.yaml:6:10: {metric} takes outputs as probabilities, and the net does not end with Softmax" in said, asked, said)

    def test_a_prompt_is_utf8_where_the_net_reads_characters(self):
        wrong = os.fsdecode(b"ab\xe4c")
        says = "option --prompt: byte 2 (228), in line 1, begins no UTF-8 character; "
        for unit, code in ("characters", 2), ("words", 0), ("bytes", 0):
            self.neon(self.text, "-r", "1", "-e", "1", "-s", "m.safetensors", "--set", f"dataset.Text.unit={unit}",
                      "--set", f"dataset.Text.min_count={1 if unit == 'bytes' else 2}", "--set", "dataset.Text.path=words.txt")
            said = self.neon("sample", "m.safetensors", "--prompt", wrong, "--length", "2", code=code).err
            self.assertEqual(says in said and "convert it, as with --prompt \"$(iconv " in said, unit != "bytes", said)

    def test_a_prompt_of_unknown_words_is_noted(self):
        self.write("rare.txt", "ab" * 200 + "z" + "ab" * 100)
        self.neon(self.text, "-r", "1", "-e", "1", "-s", "m.safetensors", "--set", "dataset.Text.path=rare.txt",
                  "--set", "dataset.Text.min_count=2")
        said = self.neon("sample", "m.safetensors", "--prompt", "aXbYa", "--length", "2", "-r", "1").err
        self.assertIn("note: option --prompt: 2 of its 5 characters do not occur in the training text; the net reads <unk> there", said)
        self.assertEqual(self.neon("sample", "m.safetensors", "--prompt", "ab", "--length", "2", "-r", "1").err, "")


if __name__ == "__main__":
    support.main()
