#!/usr/bin/python3
"""Words of other frameworks and slips of the pen: each message names what to write here, and nothing that misleads."""
import os
import pathlib
import unittest

import support
from support import IRIS, Case

LAYER = "  - Affine: {nout: 8, init: Kaiming, activation: Tanh}\n"
COST, OPTIMIZER = "cost: CrossEntropyMulti\n", "optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0.9}}\n"
# What stands in place of the layer, and what the message has.
LAYERS = [
    ("my_package.Affine: 8", "unknown layer 'my_package.Affine', a class of a Python package; neon's own is Affine"),
    ("BiLSTMM: 8", "unknown layer 'BiLSTMM'; did you mean BiLSTM"),
    ("LSTM: 8", "LSTM takes sequences (T,F), T steps of F features each; its input is (4)"),
    ("LSTM: {output_size: 8, init: Kaiming}", "LSTM takes sequences (T,F), T steps of F features each; its input is (4)"),
    ("SimpleRNN: 8", "write `Recurrent`"),
    ("Conv2D: {filters: 8}", "write `Conv: {fshape: 3, nofm: N}`"),
    ("Conv: {filters: 8, fshape: 3, init: Kaiming}", "unknown key 'filters'; write nofm (known: "),
    ("Conv: {nofm: 8, kernel_size: 3, init: Kaiming}", "unknown key 'kernel_size'; write fshape (known: "),
    ("Conv: {nofm: 8, fshape: 3, init: Kaiming, padding: same}",
     "padding: expected an integer, found 'same'; write the number of zeros at each edge: padding: 1 keeps the size"),
    ("Affine: {units: 8, init: Kaiming}", "unknown key 'units'; write nout (known: "),
    ("Affine: {in_features: 4, out_features: 8}", "unknown key 'in_features'; leave it out: the layer before gives the number of inputs"),
    ("LSTM: {input_size: 4, hidden_size: 8}", "unknown key 'input_size'; leave it out: the layer before gives the number of inputs"),
    ("LSTM: {hidden_size: 8}", "unknown key 'hidden_size'; write output_size (known: "),
    ("GRU: {units: 8}", "unknown key 'units'; write output_size (known: "),
    ("Conv: {output_size: 8, fshape: 3}", "unknown key 'output_size'; BiBNRNN, "),
    ("LSTM: {output_size: 8, bidirectional: true}", "unknown key 'bidirectional'; the layers BiLSTM, BiGRU and BiRNN read both directions"),
    ("LSTM: {output_size: 8, num_layers: 2}", "unknown key 'num_layers'; the list has a layer for each, one below the other"),
    ("DeepBiLSTM: {output_size: 8, num_layers: 2}", "unknown key 'num_layers'; write depth (known: "),
    ("LSTM: {output_size: 8, return_sequences: false}", "; leave it out: the layer gives all steps, and RecurrentLast behind it the last one"),
    ("GRU: {output_size: 8, stateful: true}", "; leave it out: samples of a text carry states on, and reset_cells: true does without"),
    ("LSTM: {output_size: 8, dropout: 0.3}", "; the layer Dropout does it, behind this one: Dropout: 0.7 for a rate of 0.3"),
    ("Affine: {nout: 8, dropout: 0.3}", "; the layer Dropout does it, behind this one: Dropout: 0.7 for a rate of 0.3"),
    ("LSTM: {output_size: 8, recurrent_dropout: 0.3}", "; the layer Dropout does it, behind this one: Dropout: 0.7 for a rate of 0.3"),
    ("BiLSTM: {output_size: 8, merge_mode: concat}", "; leave it out: both directions stand side by side, and the layer BiSum adds them up"),
    ("Bidirectional: {layer: LSTM}", "unknown layer 'Bidirectional'; write `BiLSTM`, `BiGRU` or `BiRNN`"),
    ("TimeDistributed: {layer: Affine}", "write the layer in it: Affine and others take each step by itself"),
    ("Masking: 0", "unknown layer 'Masking'; leave it out: the data set says where sequences end"),
    ("GlobalMaxPooling1D", "write `RecurrentMax`"),
    ("GlobalAveragePooling1D", "write `RecurrentMean`"),
    ("MaxPooling1D: 2", "write `Pooling: {fshape: 2}`"),
    ("AveragePooling1D: 2", "write `Pooling: {fshape: 2, op: avg}`"),
    ("Conv1D: {filters: 8}", "write `Conv: {fshape: 3, nofm: N}`"),
    ("TransformerEncoder: 2", "write its `LayerNorm`, `MultiHeadAttention` and `Affine`"),
    ("MultiHeadAttention: {num_heads: 2}", "unknown key 'num_heads'; write heads (known: "),
    ("Embedding: {num_embeddings: 9, embedding_dim: 2}", "unknown key 'num_embeddings'; write vocab_size (known: "),
    ("Affine: {nout: 8, init: Kaiming, bias: true}", "unknown initializer 'true'; write `{Constant: 0}` for a bias"),
    ("Affine: {nout: 8, init: Kaiming, bias: false}", "leave the key out for no bias"),
    ("Affine: {nout: 8, init: Kaiming, use_bias: true}", "; write bias: {Constant: 0} for a bias"),
    ("Dropout: {rate: 0.3}", "unknown key 'rate'; write keep, the share of inputs that stays: keep: 0.7 for a rate of 0.3"),
    ("Rectlinn", "did you mean the activation Rectlin?"),
    ("Adamm", "did you mean the optimizer Adam?"),
    ("Affine: {nout: 8, init: Kaiming, activation: relu6}", "write `Rectlinclip: {xcut: 6}`"),
    ("Affine: {nout: 8, activation: GLU}", "unknown activation 'GLU'; write the layer `GatedMLP: {hidden: N, activation: Logistic}`"),
    ("Affine: {nout: 8, activation: LogSoftmax}", "write `Softmax`: CrossEntropyMulti takes its logarithm"),
    ("GlobalAveragePooling", "write `Pooling: {fshape: all, op: avg}`"),
    ("DepthwiseConv2D: 3", "write `Conv` with as many `groups` as its input has feature maps"),
]
TOP = [
    (COST, "cost: Huber\n", "unknown cost 'Huber'; write `SmoothL1Loss`"),
    (COST, "cost: BCE\n", "write `CrossEntropyBinary`, after `activation: Logistic`"),
    (OPTIMIZER, "optimizer: Momentum\n", "write `GradientDescentMomentum: {learning_rate: 0.01, momentum_coef: 0.9}`"),
    (OPTIMIZER, "optimizer: {Adam: {schedule: CosineAnnealing}}\n", "unknown schedule 'CosineAnnealing'; write `Cosine`"),
    (OPTIMIZER, "optimizer: {Adam: {schedule: {ExponentialLR: {gamma: 0.9}}}}\n", "write `Schedule: {step_config: 1, change: FACTOR}`"),
    ("dataset: Iris\n", "dataset: {Parquet: {path: x.parquet}}\n", "export it as CSV, and write `CSV: {path: FILE, target: COLUMN}`"),
    (COST, "cost: categorical_crossentropy\n", "write `CrossEntropyMulti`, after `activation: Softmax`"),
    (COST, "cost: binary_crossentropy\n", "write `CrossEntropyBinary`, after `activation: Logistic`"),
    (COST, "loss: MeanSquared\n", "unknown key 'loss'; write cost (known: "),
    (COST, COST + "lr: 0.1\n", "unknown key 'lr'; the optimizer has it: optimizer: {Adam: {learning_rate: 0.001}}"),
    (COST, COST + "validation: 0.1\n", "unknown key 'validation'; the data set has it: dataset: {CSV: {path: FILE, validation: 0.1}}"),
    (COST, COST + "folds: 5\n", "the data set has it: dataset: {CSV: {path: FILE, folds: 5, fold: 1}}"),
    (COST, COST + "subset_pct: 10\n", "the data set has it: dataset: {CSV: {path: FILE, subset_pct: 10}}"),
    (OPTIMIZER, "optimizer: {Adam: {lr: 0.1}}\n", "unknown key 'lr'; write learning_rate (known: "),
    (OPTIMIZER, "optimizer: {Adam: {learning_rate: 0.1, schedule: {StepSchedule: {step_size: 3, gamma: 0.1}}}}\n",
     "unknown key 'step_size'; write step_config (known: "),
    (OPTIMIZER, "optimizer: {Adam: {wdecay: 0.1}}\n", "unknown key 'wdecay'; AdamW, GradientDescentMomentum, LAMB, LARS and 1 more have wdecay"),
    (OPTIMIZER, "optimizer: {Adam: {weight_decay: 0.1}}\n", "AdamW, GradientDescentMomentum, LAMB, LARS and 1 more have wdecay"),
]

NAMED_HERE = ["Convolution_bias", "BatchNormTuneCallback"]  # aliases, which the vocabulary explains
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Suggestions(Case):
    def test_words_of_other_frameworks(self):
        for layer, says in LAYERS:
            with self.subTest(layer):
                self.assertIn(LAYER, IRIS)
                self.refused(2, "check", self.spec(IRIS.replace(LAYER, f"  - {layer}\n")), says=says)
        for old, new, says in TOP:
            with self.subTest(new):
                self.assertIn(old, IRIS)
                self.refused(2, "check", self.spec(IRIS.replace(old, new)), says=says)

    def test_names_of_older_neons_that_have_no_class_here(self):
        """All that the vocabulary replaces or leaves out, as NAME = ..., or NAME ! ..."""
        places = {"layer": (LAYER, "  - {}: {{}}\n"), "cost": (COST, "cost: {}\n"), "dataset": ("dataset: Iris\n", "dataset: {}\n"),
                  "metric": (COST, COST + "metrics: [{}]\n"), "callback": (COST, COST + "callbacks: [{}]\n")}
        kind, met = "", 0
        for line in (ROOT / "tools/vocabulary_names.txt").read_text().splitlines():
            kind = line.split("[")[1].rstrip("]") if line.startswith("## ") else kind
            name, *rest = line.split(maxsplit=1) or [""]
            if kind not in places or not rest or rest[0][0] not in "=!" or name in NAMED_HERE:
                continue
            old, new = places[kind]
            said = self.refused(2, "check", self.spec(IRIS.replace(old, new.format(name))), says=f"unknown {kind} '{name}'; ").err
            self.assertRegex(said, f"'{name}'; (write |give |leave it out: |neon )")
            met += 1
        self.assertGreater(met, 40)
        for split in "train", "valid", "test":
            self.refused(2, "check", self.spec(IRIS.replace("Iris", f"{{name: ptb-{split}}}")), says="write `PTB`, which has all three splits")

    def test_help_of_words_of_other_frameworks(self):
        for word, says in ("lr", "neon's key is learning_rate, a parameter of Adagrad, Adam, AdamW"), ("loss", "neon's key is cost; neon help"), \
                ("kernel_size", "neon's key is fshape, a parameter of "), ("Conv2D", "write `Conv: {fshape: 3, nofm: N}`"), \
                ("categorical_crossentropy", "write `CrossEntropyMulti`, after `activation: Softmax`"), \
                ("wdecay", "it is a parameter of AdamW, "), ("Rectlinn", "did you mean Rectlin"):
            said = self.refused(2, "help", word, says=[f"nothing is named '{word}'; ", says]).err
            self.assertEqual("did you mean" in said, word == "Rectlinn", said)

    def test_a_key_that_another_word_meant_is_not_missing(self):
        spec = self.spec(IRIS.replace(OPTIMIZER, "optimizer: {SGD: {lr: 0.1}}\n").replace("nout: 8", "units: 8"))
        self.assertNotIn("is missing", self.refused(2, "check", spec, says=["write learning_rate", "write nout"]).err)
        spec = self.spec(IRIS.replace("nout: 8, ", "in_features: 8, "))
        self.refused(2, "check", spec, says=["unknown key 'in_features'; leave it out", "'nout' is missing"])

    def test_each_thing_is_named_once(self):
        spec = self.spec(IRIS.replace("activation: Tanh", "activation: relux"))
        said = self.refused(2, "check", spec, says="did you mean").err
        self.assertEqual(said.split("did you mean ")[1].split("?")[0].lower().count("relu"), 1, said)

    def test_options(self):
        spec = self.spec()
        said = self.refused(2, "--live", spec, says="option --live does nothing with neon train; it is for neon plot").err
        self.assertNotIn("--size", said)
        self.assertNotIn("did you mean", self.refused(2, "--wing", spec, says="unknown option '--wing'").err)
        self.refused(2, "--epoch", "3", spec, says="did you mean --epochs?")
        for option, says in (("--cuda", "-b gpu runs on the GPU"), ("--amp", "-d f16 or -d bf16 trains in 16 bits"),
                             ("--pretrained", "--model_file FILE starts from the weights of a file"),
                             ("--num_workers", "OMP_NUM_THREADS in the environment sets the number of threads")):
            self.refused(2, option, spec, says=f"unknown option '{option}'; {says}")
        said = self.refused(2, "-g", "nervanagpus", spec, says="did you mean nervanagpu?").err
        self.assertNotIn(" or ", said)

    def test_files(self):
        import h5py
        self.neon(self.spec(), "-e", "1", "-s", "model.safetensors")
        os.makedirs(self.path("photos/train/a"))
        for verb in "resume", "eval":
            self.refused(3, verb, "modle.safetensors", says="modle.safetensors: there is no such checkpoint; did you mean model.safetensors?")
            self.refused(3, verb, "phots/m.safetensors", says="there is no folder phots; did you mean photos?")
        os.makedirs(self.path("sets/train/a"))  # HOME is the test's folder
        for path, says in ("~/sets/tran", "; did you mean train?"), ("~/sats/train", f"; there is no folder {self.path('sats')}; did you mean sets?"):
            self.refused(3, self.spec(), "--set", "dataset={ImageFolder: {path: %s}}" % path, says=says)
        h5py.File(self.path("run.h5"), "w").close()
        self.write("p.jpg", b"\xff\xd8\xff\xe0" + bytes(100))
        self.write("notes.txt", "some text in a file")
        for name, kind in ("run.h5", "an HDF5 file"), ("p.jpg", "a JPEG image"), ("notes.txt", "text"):
            self.refused(3, "eval", name, says=f"neon: {name}: expected a checkpoint (.safetensors); the file looks like {kind}\n")
        self.refused(3, "predict", "model.safetensors", "nots.txt.gz", says="nots.txt.gz")
        self.refused(3, "data", "check", "phots", says="did you mean photos?")
        self.refused(3, self.spec("dataset: {ImageFolder: {path: phots, size: 4}}\n" + IRIS[IRIS.index("layers"):]),
                     says="did you mean photos?")
        self.refused(2, "s.yml", says="s.yml: there is no such file; did you mean s.yaml?")


if __name__ == "__main__":
    support.main()
