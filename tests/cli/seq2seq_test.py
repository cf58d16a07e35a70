#!/usr/bin/python3
"""Sequences that are predicted, from the command line: encoders and decoders, and CTC. They train, stop and resume, are
evaluated, and predict prints labels."""
import json
import re

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
        self.write("strings.txt", "abcd\neb\nc\n")
        letters = self.neon("predict", "m.safetensors", "strings.txt").out
        self.assertEqual(letters, "sample,classes\n0,d c b a\n1,b e\n2,c\n")
        self.assertEqual(self.neon("predict", "m.safetensors", "-", stdin=b"abcd\neb\nc\n").out, letters)
        self.write("strings.csv", "0,1,2,3\n")
        self.assertEqual(self.neon("predict", "m.safetensors", "strings.csv").out, "sample,classes\n0,d c b a\n")
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"abz\n", says="stdin:1: 'z', number 3 of its characters, is not in the vocabulary of")
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"ab\n\n", says="stdin:2: the text is empty")
        beams = self.neon("predict", "m.safetensors", "strings.npy", "--set", "layers[0].beams=4", "--set", "layers[0].length_penalty=1")
        self.assertEqual(beams.out, "sample,classes\n0,d c b a\n1,b e\n2,c\n")
        self.assertEqual(self.neon("predict", "m.safetensors", "strings.npy", "--set", "buckets=[1, 2]").out, beams.out)
        self.assertIn("EditDistance", self.neon("eval", "m.safetensors", "--set", "layers[0].beams=2").out)
        self.assertIn("layers[0].Seq2Seq.beams: 0 is not in [1, 1024]", self.neon("eval", "m.safetensors", "--set", "layers[0].beams=0", code=2).err)
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
        self.assertIn("note    the cost of the first batch is not finite: a run would end at once: infinity in the cost: the labels of a sample",
                      self.neon("check", few, "-r", "1").out)
        for verb in ["check"], ["-e", "1"]:
            self.refused(2, *verb, few, "--set", "cost={CTC: {blank: 20}}", says="--set: cost: CTC: blank is 20, but the ")
        wrong = self.neon(spec, "--set", "layers[1].activation=Softmax", "-e", "1", code=2).err
        self.assertIn("CTC takes scores and makes a softmax of them itself; leave activation: Softmax of the last layer out", wrong)

    def test_labels_that_do_not_fit_into_the_steps_are_counted(self):
        """In all sets, by their lengths: a label takes a step, and one more behind an equal one. The net leaves 1 + (T - 3) // 2."""
        rng = np.random.default_rng(2)
        def arrays(labels):
            x, lengths = rng.standard_normal((len(labels), 11, 2)).astype(np.float32), rng.integers(5, 12, len(labels))
            x[np.arange(11) >= lengths[:, None]] = np.nan
            y = np.full((len(labels), 6), -1, np.int32)
            for row, own in zip(y, labels):
                row[:len(own)] = own
            fits = [sum(1 + (k > 0 and own[k] == own[k - 1]) for k in range(len(own))) <= 1 + (steps - 3) // 2
                    for own, steps in zip(labels, lengths)]
            return x, y, fits.count(False), fits.index(False)
        drawn = [list(rng.integers(1, 4, rng.integers(1, 6))) for _ in range(60)]
        (x, y, many, first), (x_test, y_test, of_test, _) = arrays(drawn[:40]), arrays(drawn[40:])
        np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x_test, y_test=y_test)
        spec = self.spec("dataset: {NPZ: {path: d.npz, sequences: true, label_sequences: true}}\nlayers:\n"
                         "  - Conv: {fshape: 3, strides: 2, nofm: 4, init: Kaiming}\n  - Affine: {nout: 4, init: Kaiming}\n"
                         "cost: {CTC: {infeasible: zero}}\noptimizer: {SGD: {learning_rate: 0.001}}\nbatch_size: 8\nepochs: 1\n", "c.yaml")
        for verb in ["check"], ["-s", "m"], ["-b", "cpu", "-m", "2"]:
            err = self.neon(*verb, spec).err
            for count, of, name in (many, 40, "training"), (of_test, 20, "test"):
                said = re.findall(rf"(?m)^warning: the labels of {count} of {of} {name} sequences do not fit into the steps .*; "
                                  "infeasible: zero counts their cost as 0$", err)
                self.assertEqual(len(said), 1, err)
            self.assertIn(f" of sample {first} take", err)
        self.assertIn(f"the labels of {of_test} of 20 test sequences", self.neon("eval", "m").err)
        infinite = self.neon("check", spec, "--set", "cost=CTC").err
        self.assertIn("; their cost is infinite, which ends a run. cost: {CTC: {infeasible: zero}} leaves them out", infinite)
        y[:, 1:] = -1
        np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x_test, y_test=y_test)
        end = self.neon(spec, "--set", "cost=CTC", code=5).err
        self.assertIn("its test cost is infinite (labels that do not fit into their steps make it so; cost: {CTC: ", end)

    def test_a_check_reads_targets_as_a_run_does(self):
        x, y = np.ones((8, 5, 2), np.float32), np.zeros((8, 2), np.int32)
        np.savez(self.path("d.npz"), x_train=x, y_train=y)
        spec = self.spec(SPOKEN.replace("SpokenDigits: {digits: 2, features: 6, noise: 0.2, ntrain: 400, ntest: 50}",
                                        "NPZ: {path: d.npz, sequences: true, label_sequences: true}"), "blank.yaml", batch_size=8)
        np.savez(self.path("e.npz"), x_train=x[:, 0], y_train=np.full((8, 1), 3, np.float32))
        shares = self.spec("dataset: {NPZ: {path: e.npz, regression: true}}\nlayers: [Affine: {nout: 1, activation: Logistic}]\n"
                           "cost: CrossEntropyBinary\noptimizer: Adam\nbatch_size: 4\n", "e.yaml")
        for verb in [], ["check"]:
            self.refused(3, *verb, spec, says="training sample 0 has the label 0, which is the blank of the cost")
            self.refused(2, *verb, shares, says="compares outputs with targets between 0 and 1, and a target is 3")

    def test_a_class_of_its_own_ends_the_labels_of_arrays(self):
        """Labels of different lengths, with the class that ends them or without it: neon puts it there, and a decoder learns it."""
        rng = np.random.default_rng(0)
        x, y = np.full((1200, 4, 5), np.nan, np.float32), np.full((1200, 5), -1)
        for frames, labels in zip(x, y):
            symbols = rng.integers(0, 5, rng.integers(1, 5))
            frames[:len(symbols)], labels[:len(symbols)] = np.eye(5)[symbols], symbols[::-1]
        ended = y.copy()
        ended[np.arange(1200), (y >= 0).sum(1)] = 5

        def save(targets, **changes):
            np.savez(self.path("d.npz"), **{"x_train": x[:1100], "y_train": targets[:1100], "x_test": x[1100:], "y_test": targets[1100:], **changes})

        decoder = REVERSAL.split("layers:")[1].replace("        - Embedding: {embedding_dim: 16, init: {Gaussian: {scale: 0.1}}}\n", "", 1)
        spec = self.spec("dataset: {NPZ: {path: d.npz, sequences: true, label_sequences: true, end_class: 5}}\nlayers:" +
                         decoder.replace("epochs: 4", "epochs: 8"))
        save(y[:, :4])
        out = self.neon(spec, "-r", "1", "-s", "m.safetensors").out
        self.assertRegex(out, r"test: Accuracy [\d.]+ %  BLEU (9\d|100).\d+ %  EditDistance [01].\d+ %  ExactMatch (9[5-9]|100).\d+ %")
        np.save(self.path("x.npy"), x[:3])
        known = [" ".join(str(label) for label in row if label >= 0) for row in y[:3]]
        self.assertEqual(self.neon("predict", "m.safetensors", "x.npy").out, "sample,classes\n" + "".join(f"{i},{labels}\n" for i, labels in enumerate(known)))
        self.neon("check", spec)
        save(ended)
        self.neon(spec, "-r", "1", "-s", "ended.safetensors")
        self.assertEqual(tensors(self.path("ended.safetensors"))[0], tensors(self.path("m.safetensors"))[0])
        without, early = ended.copy(), ended.copy()
        without[7][without[7] == 5], early[8] = -1, [5, 1, 5, -1, -1]
        for wrong, says in ((without, "row 7 does not end with the class 5, as others do; end_class: 5 stands behind the labels of all targets"),
                            (early, "row 8, label 0 is the class 5, which ends others; end_class: 5 stands")):
            save(wrong)
            self.assertIn(says, self.neon(spec, "-e", "1", code=3).err)
        save(y[:, :4], y_test=ended[1100:, :4])
        self.assertIn("d.npz: y_test: row", self.neon(spec, "-e", "1", code=3).err)
        save(y[:, :4])
        for change, says in (("end_class=99999999999", "end_class: 99999999999 is not in [0, 16777215]"),
                             ("classes=5", "end_class: 5 is not among the classes 0 to 4; give classes: 6"),
                             ("label_sequences=false", "end_class: ends sequences of labels; give label_sequences: true")):
            self.assertIn(says, self.neon(spec, "-e", "1", "--set", f"dataset.NPZ.{change}", code=2).err)
        without_end = self.spec("dataset: {NPZ: {path: d.npz, sequences: true, label_sequences: true}}\nlayers:" + decoder, "w.yaml")
        self.assertIn("cost: CTC is for these, and for a Seq2Seq the data set has end_class", self.neon(without_end, "-e", "1", code=2).err)
        classes = self.spec(SPOKEN.replace("SpokenDigits: {digits: 2, features: 6, noise: 0.2, ntrain: 400, ntest: 50}",
                                           "NPZ: {path: d.npz, sequences: true}").replace("nout: classes", "nout: 3"), "n.yaml")
        self.refused(2, "check", classes, says=["cost: CTC compares the steps of a sequence with a sequence of labels", "label_sequences: true takes"])

    def test_arrays_hold_tokens(self):
        """A net of tokens trains as one of the vectors that are 1 at the token: a cell looks up columns of its weights."""
        rng = np.random.default_rng(1)
        tokens, labels = np.full((90, 4), -1), np.full((90, 4), -1)
        for row, target in zip(tokens, labels):
            count = rng.integers(1, 5)
            row[:count] = rng.integers(0, 5, count)
            target[:count] = row[:count][::-1]
        vectors = np.where(tokens[:, :, None] < 0, np.nan, np.eye(5)[tokens]).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=tokens, y_train=labels)
        np.savez(self.path("v.npz"), x_train=vectors, y_train=labels)
        layers = REVERSAL.split("layers:")[1].replace("        - Embedding: {embedding_dim: 16, init: {Gaussian: {scale: 0.1}}}\n", "", 1)
        end = "label_sequences: true, end_class: 5}}\nlayers:" + layers
        spec = self.spec("dataset: {NPZ: {path: d.npz, tokens: 5, " + end)
        of_vectors = self.spec("dataset: {NPZ: {path: v.npz, sequences: true, " + end, "v.yaml")
        for path, name in (spec, "m.safetensors"), (of_vectors, "v.safetensors"):
            self.neon(path, "-r", "1", "-e", "2", "-d", "f64", "-s", name)
        of_tokens, wanted = (tensors(self.path(name))[0] for name in ("m.safetensors", "v.safetensors"))
        self.assertEqual(of_tokens.keys(), wanted.keys())
        for name, (_, _, data) in of_tokens.items():
            np.testing.assert_allclose(np.frombuffer(data), np.frombuffer(wanted[name][2]), rtol=1e-8, atol=1e-10, err_msg=name)
        np.save(self.path("x.npy"), tokens)
        np.save(self.path("y.npy"), vectors)
        self.assertEqual(self.neon("predict", "m.safetensors", "x.npy").out, self.neon("predict", "v.safetensors", "y.npy").out)
        self.neon("check", spec)
        for change, says in (("tokens=4", "is 4; expected tokens, whole numbers from -1 to 3"),
                             ("path=v.npz", "tokens: is for samples (T) of T whole numbers, a sample of"),
                             ("scale=2", "tokens: are no quantities; leave scale and shift out"),
                             ("tokens=0", "label_sequences: is for samples that are sequences; give sequences: true, too")):
            self.assertIn(says, self.neon(spec, "--set", f"dataset.NPZ.{change}", code=None).err)
        numbers = self.neon(spec, "--set", "dataset.NPZ.tokens=0", "--set", "dataset.NPZ.sequences=true", code=2).err
        self.assertIn("a sample of d.npz: x_train is (4); give tokens: N, if these are whole numbers below N, or leave it out", numbers)
        tokens[3] = [1, -1, 2, -1]
        np.savez(self.path("d.npz"), x_train=tokens, y_train=labels)
        self.assertIn("number 2 of sample 3 is 2, and -1 stands before it; expected tokens, and -1 behind", self.neon(spec, code=3).err)

    def recordings(self, count):
        """Frames that are 1 at the label, a frame or two a label and a silent one behind it; and the labels."""
        rng = np.random.default_rng(count)
        x, y = np.full((count, 9, 3), np.nan, np.float32), np.full((count, 3), -1, np.int64)
        for frames, labels in zip(x, y):
            at = 0
            for i, label in enumerate(rng.integers(1, 4, rng.integers(1, 4))):
                long = rng.integers(1, 3)
                frames[at:at + long + 1] = 0
                frames[at:at + long, label - 1] = 1
                labels[i], at = label, at + long + 1
        return x, y

    def test_arrays_hold_sequences_and_sequences_of_labels(self):
        (x, y), (x_test, y_test) = self.recordings(300), self.recordings(20)
        arrays = dict(x_train=x, y_train=y, x_test=x_test, y_test=y_test)
        np.savez(self.path("d.npz"), **arrays)
        spec = self.spec("dataset: {NPZ: {path: d.npz, sequences: true, label_sequences: true}}\n" +
                         SPOKEN.split("\n", 1)[1].replace("output_size: 32", "output_size: 16"))
        self.assertRegex(self.neon(spec, "-r", "1", "-s", "m.safetensors").out, r"(?m)^test: EditDistance [0-2]\.\d+ %")
        np.save(self.path("x.npy"), x_test[:2])
        known = [" ".join(str(label) for label in row if label > 0) for row in y_test[:2]]
        self.assertEqual(self.neon("predict", "m.safetensors", "x.npy").out, f"sample,classes\n0,{known[0]}\n1,{known[1]}\n")
        np.save(self.path("x.npy"), x_test)
        predicted = [self.neon("predict", "m.safetensors", "x.npy", "--set", f"buckets={buckets}").out for buckets in (0, 3)]
        self.assertEqual(predicted[0], predicted[1])
        for name, place, value, says in (
                ("x_train", (1, 0, 0), np.nan, "x_train: row 1, step 0 has NaN; expected finite numbers, and NaN in all"),
                ("x_train", (2, 8, 1), 1, "x_train: row 2, step 8 has NaN; expected finite numbers"),
                ("x_test", (0, 0, 0), np.inf, "x_test: row 0, step 0 has infinity; expected finite numbers"),
                ("y_test", (3, 0), -2, "y_test: row 3, label 0 is -2: with 4 classes labels are whole numbers from 0 to 3"),
                ("y_test", (3, 0), 4, "y_test: row 3, label 0 is 4: with 4 classes"), ("y_train", (0, 0), 1.5, "is 1.5: with 4")):
            wrong = {**arrays, name: arrays[name].astype(np.float64)}
            wrong[name][place] = value
            np.savez(self.path("d.npz"), **wrong)
            self.assertIn(says, self.neon(spec, "-e", "1", code=3).err)
        wrong = {**arrays, "y_train": y.copy()}
        wrong["y_train"][0] = [-1, 2, -1]
        np.savez(self.path("d.npz"), **wrong)
        self.assertIn("row 0, label 1 is 2: with 4 classes labels are whole numbers from 0 to 3, and -1 behind the last one of a row",
                      self.neon(spec, "-e", "1", code=3).err)
        wrong["y_train"][0], wrong["y_test"] = y[0], y_test.copy()
        wrong["y_test"][4, 0] = 0
        np.savez(self.path("d.npz"), **wrong)
        self.assertIn("d.npz: test sample 4 has the label 0, which is the blank of the cost; number labels from 1, or give",
                      self.neon(spec, "-e", "1", code=3).err)
        np.savez(self.path("d.npz"), **arrays)
        for change, says in (("sequences=false", "label_sequences: is for samples that are sequences; give sequences: true, too"),
                             ("lshape=[27]", "sequences: is for samples (T,F) of T steps, a sample of")):
            self.assertIn(says, self.neon(spec, "-e", "1", "--set", f"dataset.NPZ.{change}", code=2).err)


if __name__ == "__main__":
    support.main()
