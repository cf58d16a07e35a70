#!/usr/bin/python3
"""What people get wrong: each ends with the right exit code and a message that says what, where and how to mend it."""
import gzip
import json
import os
import re
import signal
import stat
import struct
import time
import unittest

import h5py

import support
from support import IRIS, MNIST, Case, idx, tensors, write_mnist


class Usage(Case):
    def test_nothing(self):
        self.refused(2, says=["nothing to work on", "neon [OPTIONS] SPEC"])

    def test_unknown_option(self):
        self.refused(2, "--epoch", "3", self.spec(), says=["unknown option '--epoch'", "--epochs"])
        self.refused(2, "--nosuchthing", self.spec(), says="neon --help")

    def test_option_without_value(self):
        self.refused(2, self.spec(), "-e", says="-e")

    def test_value_of_the_wrong_kind(self):
        for value in "many", "1.5", "", "1e400", "0x":
            self.refused(2, "-e", value, self.spec(), says=["option -e", "integer"])

    def test_value_that_a_later_one_replaces(self):
        for wrong in ["-e", "junk"], ["--epochs=1.5"], ["-e", "0"], ["-z", "x", "-z", "8"], ["-d", "f31", "-d", "f32"]:
            self.refused(2, *wrong, self.spec(), "-e", "1", says="option -")
        self.refused(2, "predict", "--top_k", "two", "--top_k", "2", "m", "x.csv", says=["option --top_k", "integer"])
        result = self.refused(2, "-e", "junk", "-e", "0", self.spec(), says="junk")
        self.assertIn("is not in", result.err, "all mistakes at once")
        self.write("wrong.cfg", "epochs = many\n")
        self.refused(2, "-c", "wrong.cfg", "-e", "1", self.spec(), says=["option -e", "many"])

    def test_options_run_together(self):
        for wrong, meant in ("-eval2", "-eval"), ("-epochs", "--epochs"), ("-serialize", "--serialize"), \
                ("-save_path", "--save_path"), ("-log=x", "--log"), ("-data_dir", "--data_dir"), ("-Hx", ""):
            self.refused(2, wrong, "4", "-e", "4", self.spec(), says=[f"unknown option '{wrong.split('=')[0]}'", meant])
        self.assertEqual(os.listdir(self.folder), ["s.yaml"])
        # A letter and its value may still stand together.
        self.neon("-e1", "-z8", "-r3", "-sm.safetensors", "-dbf16", "-vv", "-u6", self.spec())
        self.assertTrue(os.path.exists(self.path("m.safetensors")))

    def test_value_out_of_range(self):
        for option, value in ("-e", "0"), ("-z", "0"), ("-z", "-4"), ("-H", "-1"), ("--serialize", "0"), ("-eval", "0"):
            self.refused(2, option, value, self.spec(), says=value)
        for option, value in ("-e", "1000000001"), ("-H", "9223372036854775807"), ("-i", "4294967296"):
            self.refused(2, option, value, self.spec(), says=["option " + option, "is not in"])
        self.refused(2, self.spec(epochs="9000000000000000000"), says="epochs")
        self.refused(2, "-d", "f31", self.spec(), says=["f31", "f32"])
        self.refused(2, "-b", "cppu", self.spec(), says="option -b,--backend: 'cppu' is not one of cpu, gpu, mkl, mgpu; did you mean cpu?\n")
        self.refused(2, "-d", "f8", self.spec(), says="'f8' is not one of f32, f64, f16, bf16")
        self.refused(2, "-g", "gpuu", self.spec(), says="option -g,--gpu: 'gpuu' is not one of cpu, gpu, mkl, mgpu, cudanet, nervanagpu")

    def test_devices_that_contradict_each_other(self):
        spec = self.spec()
        for said, told in (["-b", "cpu", "-g", "gpu"], "-b cpu and -g gpu"), (["-b", "gpu", "-g", "cpu"], "-b gpu and -g cpu"), \
                (["-b", "cpu", "-i", "1"], "-b cpu and -i 1"), (["-i", "0", "-g", "cpu"], "-g cpu and -i 0"), \
                (["-b", "mkl", "-i", "1"], "-b mkl and -i 1"):
            self.refused(2, *said, spec, says=f"neon: {told} contradict each other: one asks for the CPU")
        self.write("both.cfg", "backend = cpu\ndevice_id = 1\n")
        self.refused(2, "-c", "both.cfg", spec, says="neon: both.cfg: -b cpu and -i 1 contradict each other")

    def test_option_without_its_value(self):
        self.refused(2, self.spec(), "-e", says="neon: option --epochs needs a value; ")
        self.write("a.cfg", "epochs\n")
        self.refused(2, "-c", "a.cfg", self.spec(), says="neon: a.cfg:1:1: option --epochs needs a value; ")
        for line in "--epochs = 3", "-e 3", "z: 60":
            self.write("a.cfg", line + "\n")
            self.refused(2, "-c", "a.cfg", self.spec(), says=["neon: a.cfg:1:1: '" + re.split(" =|:", line)[0] + "': write options",
                                                              "without dashes, as in epochs = 3"])

    def test_options_of_neon_1_that_are_gone_say_what_to_do(self):
        self.refused(2, "--manifest", "train:/a", self.spec(), says="dataset: {ImageList: {path: FILE}}")
        for option in "--profile", "--profiling_method=time":
            self.refused(2, option, self.spec(), says="neon bench SPEC times the training step")

    def test_empty_value(self):
        """As of a variable that a script has not set: not the same as no option."""
        for option in "-s", "-o", "-l", "-w", "-d", "-b", "--model_file":
            self.refused(2, option, "", self.spec(), says=["option " + option, "value is empty"])
        self.assertEqual(os.listdir(self.folder), ["s.yaml"])

    def test_keys_without_a_value(self):
        for key, what in ("dataset", "Data set to take samples from"), ("cost", "Cost that training minimises"), \
                ("optimizer", "Rule that updates the weights"):
            self.refused(2, self.spec(**{key: ""}), says=f"neon: s.yaml:8:1: {key}: no value is given: {what}")
            self.refused(2, "check", self.spec(), "--set", f"{key}=null", says=f"neon: --set: {key}: no value is given: {what}")
        for key in "metrics", "callbacks", "augment":
            self.refused(2, self.spec(**{key: "[~]"}), says=f"{key}[0]: expected {key.rstrip('s').replace('augment', 'augmentation')}, found nothing")
            self.neon("check", self.spec(**{key: ""}))
        for layer in "Affine: {nout: 3, init: ~}", "Bias: {init: }", "DataTransform: {transform: ~}":
            self.refused(2, "check", self.spec(), "--set", f"layers=[{layer}]", says="no value is given: ")

    def test_several_problems_at_once(self):
        result = self.refused(2, "-e", "0", "-z", "none", self.spec(), says=["-e", "-z"])
        self.assertEqual(result.out, "")

    def test_unknown_verb_and_spare_operands(self):
        self.refused(2, "sumary", self.spec(), says=["'sumary' is no verb", "summary"])
        self.refused(2, self.spec(), "other.yaml", says="one operand too many")
        self.refused(2, "predict", "m", says="usage: neon predict CHECKPOINT FILE")
        for verb in "check", "summary", "program", "bench", "resume", "eval":
            self.refused(2, verb, says=f"neon {verb} ")

    def test_option_of_another_verb(self):
        """What would do nothing is a mistake, too."""
        spec = self.spec()
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", spec)
        for option, verb in (["--top_k", "3"], ["train", spec]), (["--format", "json"], ["check", spec]), \
                (["--iterations", "9"], ["summary", spec]), (["--resolved"], ["train", spec]), \
                (["--resolved"], ["summary", spec]), (["--top_k", "2"], ["eval", "m.safetensors"]), \
                (["-e", "3"], ["eval", "m.safetensors"]), (["-s", "n"], ["eval", "m.safetensors"]), \
                (["-o", "r.h5"], ["predict", "m.safetensors", "x.csv"]), (["-z", "8"], ["predict", "m.safetensors", "x.csv"]), (["-r", "8"], ["predict", "m.safetensors", "x.csv"]), (["-i", "7"], ["doctor"]), (["-b", "cpu"], ["help", "Affine"]), \
                (["-o", "r.h5"], ["summary", spec]), (["-s", "n"], ["program", spec]), (["-l", "n"], ["bench", spec]), \
                (["-H", "2"], ["bench", spec]), (["--eval_freq", "2"], ["summary", spec]), (["--serialize", "2"], ["bench", spec]):
            self.refused(2, *verb, *option, says=["option ", option[0], f"does nothing with neon {verb[0]}"])
        for option, verb, of in (["--count", "3"], ["data", "stats", spec], "data preview"), \
                (["--size", "8"], ["data", "check", spec], "data pack"), (["--pixels"], ["data", "list"], "data pack"), \
                (["--skip_bad"], ["data", "preview", spec, "x.png"], "data pack"), (["--count", "3"], ["check", spec], "data preview"), \
                (["--top_k", "3"], ["data", "list"], "predict"), (["--format", "csv"], ["bench", spec], "predict and neon eval"):
            called = " ".join(verb[:2] if verb[0] == "data" else verb[:1])
            self.refused(2, *verb, *option, says=f"option {option[0]} does nothing with neon {called}; it is for neon {of}")
        self.write("epochs.cfg", "epochs = 2\n")
        self.neon("eval", "-c", "epochs.cfg", "m.safetensors")  # a file of options is for every verb
        self.refused(2, "eval", "-c", "epochs.cfg", "-e", "3", "m.safetensors", says="option -e,--epochs does nothing with neon eval")
        self.write("files.cfg", "save_path = n.safetensors\noutput_file = r.h5\n")
        self.neon("bench", "--iterations", "1", "-c", "files.cfg", spec)
        self.assertEqual([], [name for name in ("n.safetensors", "r.h5") if os.path.exists(self.path(name))])
        self.neon("check", "-s", "n.safetensors", "-o", "r.h5", "-e", "2", spec)  # looks at where they would be

    def test_what_an_option_and_set_give_both(self):
        spec = self.spec()
        for option, set, told in (["-e", "1"], "epochs=2", "option -e,--epochs '1'"), (["-z", "16"], "batchsize = 8", "option -z,--batch_size '16'"), \
                (["-r", "1"], "rng_seed=2", "option -r,--rng_seed '1'"), (["-d", "f64"], "datatype=f32", "option -d,--datatype 'f64'"), \
                (["-b", "cpu"], "backend=gpu", "option -b,--backend 'cpu'"), (["-i", "0"], "backend=cpu", "option -i,--device_id '0'"), \
                (["-g", "cpu"], "backend=gpu", "option -g,--gpu 'cpu'"):
            self.refused(2, *option, spec, "--set", set, says=f"neon: {told} and --set {set} contradict each other; leave one out")
        self.refused(2, "-e", "1", spec, "--set", '"epochs"=2', says="contradict each other")
        self.neon("-e", "1", "--set", "epochs=1", "-b", "cpu", "--set", "backend=cpu", spec)
        # What is typed counts above a file of options.
        self.write("a.cfg", "epochs = 2\n")
        self.assertIn("trained 1 epochs", self.neon("-c", "a.cfg", "--set", "epochs=1", spec).out)
        self.write("b.cfg", "set = epochs=2\n")
        self.assertIn("trained 1 epochs", self.neon("-c", "b.cfg", "-e", "1", spec).out)
        self.write("c.cfg", "set = epochs=2\nepochs = 3\n")
        self.refused(2, "-c", "c.cfg", spec, says="neon: c.cfg: option -e,--epochs '3' and --set epochs=2 contradict each other")

    def test_operands_that_are_none(self):
        self.refused(2, "check", "check", self.spec(), says="'s.yaml' is one operand too many after 'check'; usage: neon check SPEC")
        # No number of bits, so the spec.
        self.refused(2, "-u", "1.5", self.spec(), says=["rounding", "expected an integer, found '1.5'"])
        self.refused(2, "-u", "-3", self.spec(), says=["rounding", "-3"])
        self.refused(2, "-u", "abc", self.spec(), says="'abc' is no verb; neon --help lists the verbs")
        self.refused(2, "check", "", says="the operand is empty; usage: neon check SPEC")
        self.refused(2, "doctor", "gpu", says="'gpu' is one operand too many; usage: neon doctor")
        self.neon("-e", "1", "-s", "m.safetensors", self.spec())
        for verb in [], ["check"], ["bench"]:
            self.refused(2, *verb, "m.safetensors", says=["m.safetensors: expected a spec, found a checkpoint's name", "neon resume"])

    def test_config_file(self):
        self.refused(2, "-c", "none.cfg", self.spec(), says=["none.cfg", "no such file"])
        self.refused(2, "-c", ".", self.spec(), says=".: is a folder")
        self.write("bad.cfg", b"epochs = 2\n\xff\0 = 3\n")
        self.refused(2, "-c", "bad.cfg", self.spec(), says="bad.cfg:2:1: byte 0xff is not UTF-8")
        self.write("bad.cfg", "epochs = 2\nconfig = bad.cfg\n")
        self.refused(2, "-c", "bad.cfg", self.spec(), says="bad.cfg:2:1: a file of options cannot name another")
        self.write("bad.cfg", "epochs = 2\nbatchsize = 3\n")
        for option in ["-c", "bad.cfg"], ["-cbad.cfg"], ["--config=bad.cfg"]:
            self.refused(2, *option, self.spec(), says=["neon: bad.cfg:2:1: unknown option '--batchsize'", "--batch_size"])
        for value in "many", "0":
            self.write("bad.cfg", f"serialize\nepochs = {value}\n")
            self.refused(2, "-c", "bad.cfg", self.spec(), says="neon: bad.cfg: option -e,--epochs: ")
            self.refused(2, "-c", "bad.cfg", "-e", "2", self.spec(), says="neon: bad.cfg: option -e,--epochs: ")
        self.write("bad.cfg", "epochs = 2\n")
        self.refused(2, "-c", "bad.cfg", "-e", "many", self.spec(), says="neon: option -e,--epochs: ")

    def test_config_file_whose_values_are_none(self):
        for line, says in ("save_path = 'q", "the quote before 'q' is not closed"), \
                ("save_path = 'q' r", "'r' after the closing quote; expected the end of the line"), \
                ("save_path =", "save_path has no value"), ("save_path = '' # none", "save_path has no value"), \
                ("= q", ""), ("epochs", "option --epochs needs a value"), ("epochs 3", "unknown option '--epochs 3'"):
            self.write("bad.cfg", f"serialize\n{line}\n")
            self.refused(2, "-c", "bad.cfg", self.spec(), says="bad.cfg:2:1: " + says)
        self.assertEqual(sorted(os.listdir(self.folder)), ["bad.cfg", "s.yaml"])

    def test_two_config_files(self):
        self.write("a.cfg", "epochs = 1\n")
        self.write("b.cfg", "epochs = 2\n")
        self.refused(2, "-c", "a.cfg", "--config=b.cfg", self.spec(),
                     says="option -c,--config: 'a.cfg' and 'b.cfg' are two files of options")
        self.refused(2, "-c", "", self.spec(), says="option -c,--config: its value is empty")

    def test_several_gpus(self):
        self.refused(2, "-m", "4", self.spec(), says="one device")
        self.refused(2, "-m", "1", "-m", "4", self.spec(), says="one device")
        for wrong in ["many"], ["0"], ["many", "-m", "1"]:
            self.refused(2, "-m", *wrong, self.spec(), says="option -m,--max_devices")

    def test_set(self):
        spec = self.spec()
        self.refused(2, "--set", "layers[7].nout=3", spec, says=["layers[7]", "2"])
        self.refused(2, "--set", "layers[0].nuot=3", spec, says=["nuot", "nout"])
        self.refused(2, "--set", "epochs", spec, says="epochs")
        self.refused(2, "--set", "epochs=[", spec, says="--set")
        self.refused(2, "--set", "epoch=3", spec, says="neon: --set: unknown key 'epoch'")
        for optimizer in "Adam", "{Adam: {learning_rate: 0.1}}":
            self.refused(2, "--set", "optimizer.type=Adma", self.spec(optimizer=optimizer), says="neon: --set: optimizer: unknown optimizer 'Adma'")


class Specs(Case):
    def test_missing_spec(self):
        self.refused(2, "none.yaml", says=["none.yaml", "no such file"])
        self.refused(2, ".", says="folder")

    def test_unknown_key_with_place_and_nearest_name(self):
        text = IRIS.replace("nout: 8", "nuot: 8")
        self.refused(2, self.spec(text), says=["s.yaml:3:14", "nuot", "did you mean", "nout"])

    def test_unknown_names(self):
        self.refused(2, self.spec(IRIS.replace("- Affine: {nout: 8", "- Afine: {nout: 8")), says=["s.yaml:3:5", "Affine"])
        self.refused(2, self.spec(cost="CrossEntropy"), says=["CrossEntropy", "CrossEntropyMulti"])
        self.refused(2, self.spec(dataset="Irish"), says=["Irish", "Iris"])
        self.refused(2, self.spec(optimizer="Adma"), says=["Adma", "Adam"])
        self.refused(2, self.spec(backend="cuda"), says=["s.yaml:9:10", "'cuda' is not one of cpu, gpu"])
        self.refused(2, self.spec(epoch="3"), says=["'epoch'", "epochs"])

    def test_several_errors_at_once(self):
        text = IRIS.replace("nout: 8", "nout: 0").replace("Tanh", "Tanhh").replace("batch_size: 16", "batch_size: none")
        result = self.refused(2, self.spec(text), says=["s.yaml:3:", "at least 1", "Tanhh", "s.yaml:7:", "batch_size"])
        self.assertEqual(len([line for line in result.err.splitlines() if "s.yaml:" in line]), 3, result.err)

    def test_missing_parts(self):
        for key in "dataset", "layers", "cost", "optimizer":
            lines = [line for line in IRIS.splitlines() if not line.startswith((key, "  -" if key == "layers" else key))]
            self.refused(2, self.spec("\n".join(lines)), says=key)
        self.refused(2, self.spec(""), says="s.yaml")
        self.refused(2, self.spec(IRIS.split("layers")[0] + "layers: []\n" + IRIS[IRIS.index("cost"):]), says="layers")

    def test_zero_epochs(self):
        self.refused(2, self.spec(epochs="0"), says=["s.yaml", "epochs", "0 is not in [1, 1e+09]"])

    def test_batch_larger_than_the_set(self):
        for verb in [], ["check"], ["summary"], ["bench"]:
            self.refused(2, *verb, self.spec(batch_size="121"),
                         says=["s.yaml:8:13: batch_size: 121 is larger than the training set of 120 samples; give 120"])
            self.refused(2, *verb, self.spec(), "-z", "121", says="neon: -z 121 is larger than the training set of 120")
        self.neon(self.spec(batch_size="120"))

    def test_batch_norm_of_one_value(self):
        """Its variance is 0: weights would go nowhere, and the running variance to 0."""
        normalised = IRIS.replace("activation: Tanh", "batch_norm: true, activation: Tanh")
        spec = self.spec(normalised)
        for verb in [], ["check"], ["summary"], ["bench"]:
            self.refused(2, *verb, "-z", "1", spec,
                         says=["s.yaml:3:5", "batch norm of (1, 8)", "one value", "-z", "(4) -> Affine_0"])
            # 120 = 7 * 17 + 1
            self.refused(2, *verb, "-z", "17", spec,
                         says=["neon: -z 17: of 120 training samples the last batch", "in Affine_0", "one value",
                               "give 18, whose last batch has 12"])
            self.refused(2, *verb, self.spec(normalised, batch_size="17"), says="s.yaml:8:13: batch_size: 17: of 120")
        self.refused(2, "-z", "119", spec, says="give 120, which leaves none over")
        self.refused(2, "-z", "7", spec, says="give 8, which leaves none over")
        # Of 13 samples 2 and 4 leave 1 over, too.
        few = "--set", "dataset.validation=107"
        self.refused(2, "-z", "3", *few, spec, says="give 5, whose last batch has 3")
        self.neon("-e", "1", "-z", "5", *few, spec)
        self.neon("-e", "1", "-z", "18", spec)
        self.neon("-e", "1", "-z", "29", spec)  # 30 samples to test: one is normalised by the running statistics
        # A sample that is an image has many values of each of its maps.
        conv = "layers:\n  - Conv: {fshape: [3, 3, 2], init: Kaiming, batch_norm: true}"
        images = self.spec(MNIST.replace("layers:", conv), name="images.yaml")
        write_mnist(self)
        for batch in "1", "9":  # of 64 samples
            self.neon("-z", batch, "-e", "1", "--set", "optimizer.learning_rate=0.001", "-w", self.folder, images)

    def test_net_that_does_not_fit_cost_or_data(self):
        for verb in [], ["check"]:
            self.refused(2, *verb, self.spec(IRIS.replace("nout: 3", "nout: 4")),
                         says=["s.yaml:4:5", "4 outputs", "3 classes", "(4) -> Affine_0 (8) -> Affine_1 (4)"])
            self.refused(2, *verb, self.spec(cost="CrossEntropyMulti", metrics="[{TopKMisclassification: {k: 9}}]"),
                         says=["metrics", "9"])

    def test_convolutional_nets(self):
        def spec(*layers, more=""):
            return ("dataset: {UniformRandom: {nin: [3, 32, 32], nout: 10, bytes: true}}\nlayers:\n" +
                    "".join(f"  - {layer}\n" for layer in layers) + "  - Affine: {nout: 10, init: Kaiming, activation: "
                    "Softmax}\ncost: CrossEntropyMulti\noptimizer: Adam\n" + more)

        conv = "Conv: {fshape: 3, nofm: 8, init: Kaiming}"
        shapes = "shapes so far: (3, 32, 32) -> Conv_0 (8, 30, 30) -> "
        cases = [
            (spec("Conv: {fshape: 40, nofm: 8, init: Kaiming}"),
             ["c.yaml:3:5", "a filter 40 high does not fit in feature maps 32 high", "shapes so far: (3, 32, 32) -> Conv_0"]),
            (spec(conv, "Pooling: 8", "Pooling: 4"), ["c.yaml:5:5", "a window 4 high does not fit in feature maps 3 high",
                                                      shapes + "Pooling_0 (8, 3, 3) -> Pooling_1"]),
            (spec("Affine: {nout: 100, init: Kaiming}", conv), ["c.yaml:4:5", "put `Reshape: [1, 10, 10]` before it",
                                                                "(3, 32, 32) -> Affine_0 (100) -> Conv_0"]),
            (spec(conv, "Conv: {fshape: 3, nofm: 9, groups: 3, init: Kaiming}"),
             ["c.yaml:4:5", "8 channels and 9 feature maps do not go into 3 groups evenly", shapes + "Conv_1"]),
            (spec(conv, "MergeSum: [[Conv: {fshape: 1, nofm: 9, init: Kaiming}], [SkipNode]]"),
             ["c.yaml:4:5", "1 (9, 30, 30), 2 (8, 30, 30)", shapes + "MergeSum_0"]),
            (spec(conv, "Reshape: [10, 10]"), ["c.yaml:4:5", "reshape turns the 7200 numbers of (8, 30, 30) into 100", shapes]),
            (spec("Conv: {fshape: 3, nofm: 8, strides: 0, init: Kaiming}"), ["c.yaml:3:41", "strides: 0 is not at least 1"]),
            (spec(conv, more="normalize: {mean: [0.5]}\n"), ["mean has 1 number, the images have 3 channels"]),
            (spec(conv, more="augment: [RandomCrop: {size: 64}]\n"), ["c.yaml:7:10: augment: RandomCrop: cannot cut 64 x 64 pixels from images of 32 x 32"]),
            (spec(conv, more="augment: [RandomCrop: {size: 41, pad: 4}]\n"), ["cannot cut 41 x 41 pixels"]),
            (spec("Conv: {fshape: 30, nofm: 8, init: Kaiming}", more="augment: [RandomCrop: {size: 24}]\n"),
             ["a filter 30 high does not fit in feature maps 24 high", "(3, 24, 24) -> Conv_0"]),
            (spec(conv, "MaxPool: 2"), ["c.yaml:4:5", "unknown layer 'MaxPool'; write `Pooling: {fshape: 2}`"]),
            (spec(conv, "Rectlin"), ["c.yaml:4:5", "unknown layer 'Rectlin': that is an activation; write `Activation: Rectlin`"]),
            (spec(conv, "Flatten"), ["c.yaml:4:5", "unknown layer 'Flatten'; leave it out: Affine takes images as they are"]),
        ]
        for text, says in cases:
            self.refused(2, "check", self.write("c.yaml", text), says=says)

    def test_what_would_be_in_vain(self):
        metrics = "[Misclassification, TopKMisclassification: {k: 2}, Misclassification]"
        self.refused(2, self.spec(metrics=metrics), says=["s.yaml:9:", "metrics[2]: is listed twice; item 0 is the same"])
        metrics = "[Misclassification, PrecisionRecall, {PrecisionRecall: {binarize: false}}]"
        self.refused(2, self.spec(metrics=metrics), says=["s.yaml:9:", "metrics[2]: gives Precision and Recall, as item 1 does; leave one out"])
        spec = self.spec(accumulate="33")  # of 4 epochs of 8 steps
        self.refused(2, spec, says=["accumulate", "32 steps", "nothing would be learnt"])
        for steps, left in ("3", 2), ("31", 1), ("4", 0):
            spec = self.spec(accumulate=steps)
            note = f"note: accumulate: of the run's 32 steps the last {'2 are' if left == 2 else 'is'} left over, being fewer than"
            for verb in [], ["check"]:
                said = self.neon(*verb, spec)
                self.assertEqual((said.out + said.err).count(note), left > 0)
        self.neon("-e", "5", spec)

    def test_values_that_do_not_fit_their_parameter(self):
        spec = self.spec(IRIS.replace("init: Kaiming", "init: {Array: [1, 2, 3]}", 1))
        for verb in [], ["check"]:
            self.refused(2, *verb, spec, says=["s.yaml:3:5", "Array lists 3 values for a parameter (8, 4) of 32"])

    def test_callback_without_a_test_set(self):
        self.refused(2, self.spec(dataset="{UniformRandom: {ntrain: 64, ntest: 0, nin: 4, nout: 3}}", callbacks="[EarlyStop]"),
                     says="no test samples")

    def test_callback_that_watches_nothing(self):
        self.refused(2, self.spec(callbacks="[EarlyStop: {watch: Top1Misclas}]"), says=["Top1Misclas", "Top1Misclass"])

    def test_yaml_that_is_none(self):
        self.refused(2, self.spec("layers: [a, b\ncost: {"), says="s.yaml:")
        self.refused(2, self.spec("\0\xff\xfe"), says="s.yaml")
        self.refused(2, self.write("s.yaml", bytes(range(256))), says="s.yaml")

    def test_names_from_a_file_stay_on_their_line(self):
        for text in IRIS + '"epo\\nchs": 3\n', IRIS.replace("Tanh", '"Ta\\e[31m\\nnh"'), IRIS + "cost: " + "x" * 3_000_000:
            result = self.refused(2, self.spec(text), says="s.yaml:")
            self.assertEqual(len(result.err.splitlines()), 1, result.err[:1000])
            self.assertLess(len(result.err), 500)
            self.assertNotIn("\033", result.err)

    def test_yaml_that_is_too_large(self):
        self.refused(2, self.write("s.yaml", IRIS.encode() + b"# " + b"x" * (100 << 20)), says=["s.yaml", "100 MiB", "at most"])
        self.refused(2, self.write("s.yaml", b"layers: " + b"[" * 100_000), says=["s.yaml:1:", "deep"])
        self.refused(2, "/dev/zero", says=["/dev/zero", "more than 4.0 MiB", "YAML"])
        for times in "1000000000", "10000, layers: [{Repeat: {times: 10000, layers: [Affine: 3]}}]}},{Repeat: {times: 1":
            text = IRIS.split("layers")[0] + "layers: [{Repeat: {times: %s, layers: [Affine: 3]}}]\n" % times
            self.refused(2, self.spec(text + IRIS[IRIS.index("cost"):]), says=["s.yaml:2:", "at most 200000"])

    def test_yaml_bombs(self):
        """Ten to the twelfth values in some lines, and ones that hold themselves."""
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
        self.refused(2, self.spec("define: {%s}\n" % ", ".join(lines) + IRIS), says=["s.yaml:1:", "more than 200000 values"])
        lines = ["a0: &a0 {k: 1}"] + [f"a{i}: &a{i} {{<<: *a{i - 1}, b{i}: *a{i - 1}}}" for i in range(1, 60)]
        self.refused(2, self.spec("\n".join(lines) + "\n"), says=["s.yaml:", "more than 200000 values"])
        for text in "layers: &a [*a]\n", "define: &a {b: {<<: *a}}\n", "a: &a {b: &b {c: *a}}\n":
            self.refused(2, self.spec(text), says=["s.yaml:1:", "'*a' stands inside the value that it names"])

    def test_nets_too_large(self):
        for nout in "100000000000", "9000000000000000000":
            result = self.neon(self.spec(IRIS.replace("nout: 8", f"nout: {nout}")), code=None)
            self.assertIn(result.code, (2, 4), str(result))
            self.assertRegex(result.err, "memory|too large|too many|elements|at most")
        # More than this machine has, each array of which it would promise; and more than any may ask for.
        with open("/proc/meminfo") as file:
            total = 1024 * int(re.search(r"MemTotal: *(\d+)", file.read())[1])
        for nout in total // 40, 2000000000000:  # 7 weights a unit, and as many velocities, of four bytes
            spec = self.spec(IRIS.replace("nout: 8", f"nout: {nout}").replace("batch_size: 16", "batch_size: 1"))
            checked = self.neon("check", spec).out
            self.assertRegex(checked, rf"(?m)^note    only [\d.]+ [GT]iB are free here; the net's largest array is Affine_0/W(/\w+)?, f32 \({nout}, 4\): ")
            self.refused(4, spec, says="Affine_0/W")

    def test_data_sets_by_older_names(self):
        for dataset, says in (
                ("{name: digits}", "dataset: a dataset is written Name, or Name: {parameters}, without 'name'; unknown dataset 'digits'; "
                                   "did you mean Digits? (known"),
                ("{name: Digits, seed: 3}", "a dataset is written Digits, or Digits: {parameters}, without 'name'\n"),
                ("{type: iris}", "without 'type'; unknown dataset 'iris'; did you mean Iris?"),
                ("mnist", "unknown dataset 'mnist'; did you mean MNIST? (known")):
            self.refused(2, self.spec(dataset=dataset), says="neon: s.yaml:")
            self.refused(2, self.spec(dataset=dataset), says=says)


class DataFiles(Case):
    """MNIST's files, each time with something wrong."""

    def setUp(self):
        super().setUp()
        write_mnist(self)
        self.spec(MNIST)

    def check(self, name, content, *says, verbs=("train", "check")):
        self.write("mnist/" + name, content)
        for verb in verbs:
            self.refused(3, *([] if verb == "train" else [verb]), "-w", self.folder, "s.yaml", says=[name, *says])

    def images(self):
        return self.read("mnist/train-images-idx3-ubyte")

    def test_sound(self):
        self.neon("-w", self.folder, "s.yaml")

    def test_missing(self):
        os.remove(self.path("mnist/t10k-labels-idx1-ubyte"))
        result = self.refused(3, "-w", self.folder, "s.yaml", says=["MNIST", "t10k-labels", "to get it"])
        self.assertEqual(result.out, "")

    def test_truncated(self):
        self.check("train-images-idx3-ubyte", self.images()[:-1], "50175", "50176")
        self.check("train-images-idx3-ubyte", self.images()[:7], "truncated", "header of 16 bytes")
        self.check("train-images-idx3-ubyte", b"", "IDX")

    def test_longer_than_it_says(self):
        self.check("train-images-idx3-ubyte", self.images() + b"more", "after its last element")

    def test_wrong_magic(self):
        self.check("train-images-idx3-ubyte", b"\x01" + self.images()[1:], "not an IDX file")

    def test_html_saved_as_data(self):
        page = "<!DOCTYPE html><html><head><title>403 Forbidden</title></head></html>"
        for name in "train-images-idx3-ubyte", "train-labels-idx1-ubyte":
            sound = self.read("mnist/" + name)
            self.check(name, page, "HTML page")
            self.write("mnist/" + name, sound)
        self.check("t10k-labels-idx1-ubyte", page, "HTML")

    def test_truncated_gzip(self):
        os.remove(self.path("mnist/train-images-idx3-ubyte"))
        self.check("train-images-idx3-ubyte.gz", gzip.compress(self.images_of_noise())[:-9], verbs=["train"])

    def images_of_noise(self):
        return idx([64, 28, 28], os.urandom(64 * 784))

    def test_label_out_of_range(self):
        self.check("train-labels-idx1-ubyte", idx([64], bytes([3] * 9 + [10] + [1] * 54)), "label 9 is 10", "0 to 9",
                   verbs=["train"])

    def test_counts_differ(self):
        self.check("train-labels-idx1-ubyte", idx([63], bytes(63)), "64 images", "63 labels")

    def test_wrong_shape(self):
        self.check("train-images-idx3-ubyte", idx([64, 8, 8], bytes(4096)), "28 x 28")

    def test_sizes_that_no_file_has(self):
        self.check("train-images-idx3-ubyte", idx([2**32 - 1, 2**31, 2**31], b""))

    def test_unreadable(self):
        os.remove(self.path("mnist/train-images-idx3-ubyte"))
        os.mkdir(self.path("mnist/train-images-idx3-ubyte"))
        self.refused(3, "-w", self.folder, "s.yaml", says="mnist")


class Tables(Case):
    def refuse_table(self, content, *says, **options):
        self.write("t.csv", content)
        settings = ", ".join(f"{key}: {value}" for key, value in {"path": "t.csv", **options}.items())
        spec = self.spec(IRIS.replace("nout: 3", "nout: 2"), dataset="{CSV: {%s}}" % settings, batch_size="2")
        self.refused(3, spec, says=["t.csv", *says])

    def test_bad_cells(self):
        self.refuse_table("1,2,a\n3,x,b\n5,6,a\n", "t.csv:2", "'x'", header="false")
        self.refuse_table("1,2,a\n3,b\n5,6,a\n", "t.csv:2")
        self.refuse_table("1,2,a\n3,nan,b\n5,6,a\n", "t.csv:2")
        self.refuse_table("", "t.csv")
        self.refuse_table("a,b,c\n", "t.csv")
        self.refuse_table("\0\0\0", "t.csv")
        self.refuse_table("<html><body>404</body></html>", "t.csv")
        self.refuse_table(b"1,2,caf\xe9\n3,4,b\n5,6,b\n", "t.csv:1:5", "the target 'caf\\xe9' is not UTF-8", header="false")
        self.refuse_table('1,"2\nneon: done\033[31m",a\n3,4,b\n', "t.csv:1", "found '2\\nneon: done\\x1b[31m'", header="false")


    def test_memory_of_hostile_tables(self):
        """Twice the commas, quotes or empty lines take at most 2.5 times the memory; what neon itself takes is little."""
        measure = ["/usr/bin/python3", "-c", "import resource, subprocess, sys\ncode = subprocess.call(sys.argv[1:])\n"
                   "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\nsys.exit(code)"]
        spec = self.spec(IRIS, dataset="{CSV: {path: t.csv, header: false}}")
        for part in b",", b"\n", b'"', b"1", b"1,2,3\n":
            peaks = []
            for size in 15_000_000, 30_000_000:
                self.write("t.csv", b"x" + part * (size // len(part)))
                result = self.neon("check", spec, code=None, under=measure)
                self.assertIn(result.code, (2, 3), str(result))
                peaks.append(int(re.search(r"peak (\d+)", result.err)[1]))
            self.assertLess(peaks[1], 2.5 * peaks[0], part)
            self.assertLess(peaks[1], 500_000, part)

    def test_columns(self):
        """However many they are, and whatever they are called."""
        names = ['"a\nneon: all is well"'] + [f"c{i}" for i in range(5000)]
        self.write("t.csv", ",".join(names) + "\n" + ("1," * 5000 + "1\n") * 3)
        for verb in [], ["check"]:
            self.refused(2, *verb, self.spec(dataset='{CSV: {path: ""}}'), says="s.yaml:8:10: dataset: the name of a file is empty")
        result = self.refused(2, self.spec(IRIS, dataset="{CSV: {path: t.csv, target: nope}}"),
                              says=["t.csv has no column 'nope'", r"'a\nneon: all is well', 'c0'", "and 4981 more"])
        self.assertLess(len(result.err), 500)

    def test_what_is_no_file(self):
        os.mkfifo(self.path("pipe.csv"))
        for path in "pipe.csv", "/dev/zero":
            self.refused(3, self.spec(dataset="{CSV: {path: %s}}" % path), says=[path, "this is a pipe or a device"])


class Outputs(Case):
    def test_unwritable_checkpoint(self):
        self.write("file", "")
        self.refused(1, "-s", "file/m.safetensors", self.spec(), says=["cannot write in file", "not a folder"])
        os.mkdir(self.path("folder"))
        self.refused(1, "-s", "folder", self.spec(), says="folder")
        self.refused(1, "-s", "/proc/none/m.safetensors", self.spec(), says="/proc/none")

    def test_unwritable_metrics(self):
        self.refused(1, "-o", "/proc/none/run.h5", self.spec(), says="cannot make the folder /proc/none")
        self.write("notes.txt", "mine")
        result = self.refused(3, "-o", "notes.txt", self.spec(), says="notes.txt")
        self.assertNotIn("epoch 1", result.err, "said before the first step")
        self.assertEqual(self.read("notes.txt"), b"mine")

    def test_a_file_that_is_no_checkpoint_is_not_lost(self):
        self.write("m.safetensors", "my diary")
        self.neon("-s", "m.safetensors", self.spec())
        kept = [name for name in os.listdir(self.folder) if self.read_if_file(name) == b"my diary"]
        self.assertEqual(len(kept), 1, os.listdir(self.folder))

    def test_a_checkpoint_of_another_program_is_not_replaced(self):
        header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        self.write("theirs.safetensors", struct.pack("<Q", len(header)) + header + b"\0\0\x80?")
        self.write("diary", "my diary")
        before = {name: self.read(name) for name in ("theirs.safetensors", "diary")}
        for options in ["-s", "theirs.safetensors"], ["-s", "diary"], ["-o", "diary"], ["-l", "diary"], ["check", "-o", "diary"], \
                ["check", "-s", "theirs.safetensors"]:
            self.refused(3, *options, self.spec(), says=[options[-1], "--overwrite"])
            self.assertEqual({name: self.read(name) for name in before}, before)
        # Not before the run is sure to begin.
        self.refused(2, "--overwrite", "-o", "diary", "-z", "1000", self.spec(), says="larger than the training set")
        self.assertEqual(self.read("diary"), b"my diary")
        self.neon("--overwrite", "-e", "1", "-s", "theirs.safetensors", "-o", "diary", "-l", "log", self.spec())
        with h5py.File(self.path("diary")) as file:
            self.assertEqual(file.attrs["status"], "complete")
        self.neon("resume", "-e", "2", "theirs.safetensors")

    def test_names_of_unfinished_files_are_refused(self):
        for option in "-s", "-o":
            self.refused(2, option, "other.safetensors.part", self.spec(), says="names that end with .part are those of unfinished files")
        self.assertEqual(os.listdir(self.folder), ["s.yaml"])

    def read_if_file(self, name):
        return self.read(name) if stat.S_ISREG(os.stat(self.path(name)).st_mode) else None

    def test_one_name_for_two_files(self):
        """Nothing is written over anything else, however the name is spelt."""
        spec = self.spec()
        os.symlink("s.yaml", self.path("link.yaml"))
        for options in (["-s", "run", "-o", "run"], ["-s", "run", "-o", "./run"], ["-o", "run", "-l", "new/../run"],
                        ["-s", "run", "-o", "run.part"], ["-s", spec], ["-o", spec], ["--log=s.yaml"], ["-s", "link.yaml"],
                        ["--model_file", "run", "-o", "run"], ["-s", self.path("run"), "-o", "run"]):
            self.refused(2, *options, spec, says=["are the same file", "give each its own"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.yaml", "s.yaml"])
        self.neon("-s", "m.safetensors", spec)
        before = self.read("m.safetensors")
        self.refused(2, "resume", "m.safetensors", "-e", "9", "-o", "m.safetensors", says="are the same file")
        self.refused(2, "resume", "m.safetensors", "-e", "9", "-s", "n", "--log=m.safetensors", says="are the same file")
        self.assertEqual(self.read("m.safetensors"), before)
        self.neon("--model_file", "m.safetensors", "-s", "m.safetensors", spec)  # goes on in place, keeps the older one

    def test_data_under_the_name_of_the_metrics(self):
        with h5py.File(self.path("data.h5"), "w") as file:
            file["x"] = [1.0, 2.0]
        before = self.read("data.h5")
        self.refused(3, "-o", "data.h5", self.spec(), says=["data.h5 is there and is not overwritten", "give another name"])
        self.assertEqual(self.read("data.h5"), before)
        self.neon("-o", "run.h5", self.spec())
        self.neon("-o", "run.h5", self.spec())

    def test_full_disk_under_the_log(self):
        result = self.neon("-l", "/dev/full", "-e", "3", self.spec())
        self.assertEqual(result.err.count("No space left on device"), 1, str(result))
        self.assertIn("warning: cannot write the log file", result.err)
        self.assertIn("epoch 3/3", result.err)

    def test_limit_on_the_size_of_files(self):
        """As with a full disk: a checkpoint that cannot be is said at once, training goes on without its log."""
        limit = lambda most: ["prlimit", f"--fsize={most}"]
        spec = self.spec(IRIS.replace("nout: 8", "nout: 1000"))  # checkpoints of 70 KB, as large as their limit
        result = self.refused(1, "-s", "m.safetensors", spec, under=limit(50_000),
                              says=["checkpoints of ", "cannot be written in .", "File too large", "ulimit -f"])
        self.assertNotIn("epoch", result.err)
        self.neon("-s", "m.safetensors", "-e", "3", spec, under=limit(100_000))  # each alone fits
        self.neon("eval", "m.safetensors")
        result = self.refused(1, "-o", "r.h5", self.spec(), under=limit(2_000), says=["r.h5", "File too large"])
        self.assertNotIn("epoch", result.err)
        self.write("l.txt", "[2026-" + "x" * 3_994)
        result = self.neon("-l", "l.txt", "-e", "3", self.spec(), under=limit(4_000))
        self.assertEqual(result.err.count("File too large"), 1, str(result))
        self.assertIn("epoch 3/3", result.err)

    def test_closed_standard_streams(self):
        """No file gets the number of one, or all that is printed would be written into it."""
        for closed, code in ("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1):
            for name in os.listdir(self.folder):
                os.remove(self.path(name))
            result = self.neon("-s", "m.safetensors", "-o", "r.h5", "-l", "l.txt", self.spec(), code=code,
                               under=["sh", "-c", 'exec "$0" "$@" ' + closed])
            if closed == ">&-":
                self.assertIn("results cannot be written to standard output", result.err)
            self.neon("eval", "m.safetensors")
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(file.attrs["status"], "complete")
            for line in self.read("l.txt").decode().splitlines():
                self.assertRegex(line, r"^\[\d{4}-\d\d-\d\d .*\] \[neon\]", closed)

    def test_names_that_are_not_utf8(self):
        """A checkpoint holds them, in a format for UTF-8 alone; a run that could not be saved does not begin."""
        spec, odd = self.spec(), os.fsdecode(b"caf\xe9")
        os.mkdir(self.path(odd))
        os.link(self.path(spec), self.path(odd + "/s.yaml"))
        for options in ["-w", odd, spec], ["-o", odd + "/r.h5", spec], ["-l", odd + "/l.txt", spec], [odd + "/s.yaml"]:
            result = self.refused(2, "-s", "m.safetensors", *options, says=[r"caf\xe9", "is not UTF-8", "checkpoint"])
            self.assertNotIn("epoch", result.err)
        self.refused(2, odd + "/t.yaml", says=r"caf\xe9/t.yaml: there is no such file")
        self.refused(2, spec, "-s", odd + "/m.safetensors", says=["save_path 'caf\\xe9/m.safetensors' is not UTF-8"])
        self.neon("-w", odd, "-o", odd + "/r.h5", odd + "/s.yaml")

    def test_two_runs_at_once(self):
        """The second is refused before it has trained anything, from the first's first step to its last."""
        slow = self.spec(dataset="{UniformRandom: {ntrain: 20000, ntest: 0, nin: 4, nout: 3}}", batch_size="1",
                         epochs="1000", metrics="[]", name="slow.yaml")
        child = self.start("-s", "m.safetensors", "-o", "r.h5", slow)
        self.addCleanup(child.kill)
        for sign in "r.h5", "m.safetensors":
            while not os.path.exists(self.path(sign)):
                self.assertIsNone(child.poll(), "the first run ended")
                time.sleep(0.01)
            for options in ["-s", "m.safetensors"], ["-o", "r.h5"], ["-s", "m.safetensors", "-o", "r.h5"]:
                result = self.refused(1, *options, self.spec(), says=[options[1], "another process is writing it"])
                self.assertNotIn("epoch", result.err)
        self.refused(1, "resume", "m.safetensors", says="another process is writing it")
        self.assertNotIn("left over", self.neon("eval", "m.safetensors", code=3).err)
        child.send_signal(signal.SIGTERM)
        err = child.communicate(timeout=30)[1]
        self.assertEqual((child.returncode, "another process" in err, "replaced" in err), (143, False, False), err)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["status"], "killed")
        self.neon("resume", "-e", "1", "m.safetensors")

    def test_folders_are_made(self):
        self.neon("-s", "new/deep/m.safetensors", self.spec())
        self.assertTrue(os.path.exists(self.path("new/deep/m.safetensors")))


class Checkpoints(Case):
    def setUp(self):
        super().setUp()
        self.neon("-r", "1", "-s", "m.safetensors", self.spec())

    def test_missing(self):
        for verb in "resume", "eval":
            self.refused(3, verb, "none.safetensors", says="none.safetensors")
        self.refused(3, "predict", "none.safetensors", "x.csv", says="none.safetensors")

    def test_damaged(self):
        content = self.read("m.safetensors")
        os.mkdir(self.path("alone"))
        middle = len(content) - 20
        for damaged in content[:-1], content[:40], b"", content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]:
            self.write("alone/d.safetensors", damaged)
            for verb in "resume", "eval":
                self.refused(3, verb, "alone/d.safetensors", says="alone/d.safetensors")

    def test_another_net(self):
        other = self.spec(IRIS.replace("nout: 8", "nout: 9"), name="other.yaml")
        self.refused(2, "--model_file", "m.safetensors", other,
                     says=["another net", "Affine_0/W is f32 (8, 4) in the file, f32 (9, 4) in the net",
                           "Affine_1/W is f32 (3, 8)"])
        deeper = self.spec(IRIS.replace("  - Affine: {nout: 8,", "  - Affine: {nout: 4, init: Kaiming}\n  - Affine: {nout: 8,"),
                           name="deeper.yaml")
        self.refused(2, "--model_file", "m.safetensors", deeper, says="Affine_2/W (3, 8) is in the net only")
        shallow = self.spec("\n".join(line for line in IRIS.splitlines() if "nout: 8" not in line), name="shallow.yaml")
        self.refused(2, "--model_file", "m.safetensors", shallow, says="Affine_1/W (3, 8) is in the file only")

    def test_resume_with_another_net(self):
        self.refused(2, "resume", "m.safetensors", "--set", "layers[0].nout=5", says=["another net", "Affine_0/W/velocity"])

    def test_resume_with_another_optimizer(self):
        self.refused(2, "resume", "-e", "9", "m.safetensors", "--set", "optimizer=Adam", says=["another net", "velocity"])

    def test_resume_keeps_what_makes_the_bits(self):
        for option in ["-z", "8"], ["-d", "f64"], ["-r", "2"], ["--caffe"], ["--tf32"], ["--model_file", "x"]:
            self.refused(2, "resume", *option, "m.safetensors", says="cannot change when a run goes on")

    def test_tf32_where_it_means_nothing(self):
        """Chosen so it is a contradiction; where a file of options says it for every run, or no GPU is found, a note."""
        spec, words = self.spec(), "--tf32 does nothing "
        for options, where in ((["-b", "cpu"], "on the CPU"), (["-d", "f64"], "in f64"), (["-d", "f16"], "in f16"),
                               (["-d", "bf16"], "in bf16"), (["--set", "datatype=f16"], "in f16")):
            for verb in [], ["check"], ["bench", "--iterations", "1"]:
                self.refused(2, *verb, "--tf32", *options, spec, says=["option " + words + where, "f32 on a GPU"])
        self.refused(2, "--tf32", self.spec(backend="cpu", name="cpu.yaml"), says=words + "on the CPU")
        self.write("a.cfg", "tf32 = true\nepochs = 1\n")
        done = self.neon("-c", "a.cfg", "-b", "cpu", "-s", "fast.safetensors", spec)
        self.assertIn("note: " + words + "on the CPU", done.err)
        self.assertIn("note: " + words, self.neon("-e", "1", "--tf32", spec, environment={"CUDA_VISIBLE_DEVICES": ""}).err)
        self.assertNotIn("tf32", self.neon("-e", "1", "--tf32=false", "-b", "cpu", spec).err)
        # The same again, and its opposite.
        self.neon("resume", "-c", "a.cfg", "-e", "2", "fast.safetensors")
        self.refused(2, "resume", "--tf32=false", "fast.safetensors", says="--tf32 cannot change when a run goes on")

    def test_data_changed_since(self):
        write_mnist(self)
        self.neon("-r", "1", "-w", self.folder, "-s", "run.safetensors", "-o", "run.h5", self.spec(MNIST))
        before, curves = self.read("run.safetensors"), self.read("run.h5")
        for name, content in (("train-images-idx3-ubyte", lambda old: old[:-1] + bytes([old[-1] ^ 1])),
                              ("train-labels-idx1-ubyte", lambda old: old[:8] + bytes([9 - old[8]]) + old[9:]),
                              ("t10k-images-idx3-ubyte", lambda old: old[:20] + bytes([old[20] ^ 128]) + old[21:])):
            sound = self.read("mnist/" + name)
            self.write("mnist/" + name, content(sound))
            self.refused(3, "resume", "-e", "4", "run.safetensors",
                         says=["data are not those that the run began with: then 64 training samples", "--model_file"])
            self.write("mnist/" + name, sound)
        write_mnist(self, train=65)
        self.refused(3, "resume", "-e", "4", "run.safetensors", says=["then 64 training samples", "now 65 training samples"])
        self.neon("-r", "1", "-e", "1", "-w", self.folder, "--model_file", "run.safetensors", self.spec(MNIST))
        self.assertEqual((self.read("run.safetensors"), self.read("run.h5")), (before, curves))
        write_mnist(self)
        os.rename(self.path("mnist"), self.path("moved"))
        os.mkdir(self.path("other"))
        os.rename(self.path("moved"), self.path("other/mnist"))
        self.neon("resume", "-e", "4", "-w", self.path("other"), "run.safetensors")  # the same data elsewhere

    def test_no_training_samples(self):
        write_mnist(self, train=0)
        for verb in [], ["check"]:
            self.refused(3, *verb, "-w", self.folder, self.spec(MNIST), says="mnist: there are no training samples")

    def test_file_of_another_program(self):
        header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        self.write("w.safetensors", len(header).to_bytes(8, "little") + header + bytes(4))
        for verb in "resume", "eval":
            self.refused(3, verb, "w.safetensors", says="w.safetensors")

    def test_predict_samples_that_do_not_fit(self):
        for content, says in (("1,2,3\n", ["samples of 3 numbers", "takes 4"]), ("1,2,3,4\n1,2\n", ["x.csv:2"]),
                              ("1,2,3,4\n1,b,3,4\n", ["x.csv:2", "expected a number, found 'b'"]), ("", ["no samples"]),
                              ("1,2,3,inf\n", ["x.csv", "inf"]), ("1,nan,3,4\n", ["x.csv", "nan"])):
            self.write("x.csv", content)
            self.refused(3, "predict", "m.safetensors", "x.csv", says=says)
        self.refused(3, "predict", "m.safetensors", "none.csv", says="none.csv")
        self.refused(2, "predict", "m.safetensors", "s.yaml", says=["s.yaml", ".csv"])
        self.refused(2, "predict", "m.safetensors", "x.csv", "--format", "xml", says="csv")
        for top_k in "0", "99999999999999999999":
            self.refused(2, "predict", "m.safetensors", "x.csv", "--top_k", top_k, says=["option --top_k", top_k])
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"1,2,3\n", says="neon: stdin: samples of 3 numbers")
        self.refused(3, "predict", "m.safetensors", "-", stdin=b"1;2;3;4\n", says=["stdin: holds no samples", "first line"])


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
                         dataset="{CSV: {path: train.csv, test: test.csv}}",
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
