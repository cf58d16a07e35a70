#!/usr/bin/python3
"""Wrong command lines: each ends with exit code 2 and a message that says what is wrong and how to mend it."""
import os
import re

import support
from support import Case


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

    def test_options_of_older_neons_that_are_not_here(self):
        for option, told in ("-n", "the Nervana Engine is not taken over"), ("--nrv", "the Nervana Engine is not taken over"), \
                ("-f", "--fixed_point BITS.FRACTION emulates"), ("--flexpoint", "--fixed_point BITS.FRACTION emulates"), \
                ("-t", "a debugger of Python"), ("--integration", "neon 0.9's own tests"), ("--log_token", "Nervana's cloud"):
            self.refused(2, option, self.spec(), says=f"neon: unknown option '{option}'; ")
            self.refused(2, option, self.spec(), says=told)
        for option, told in ("-d", "takes a type, as f16, and s.yaml is a spec; -d of neon 0.9, a debugger of Python"), \
                ("-c", "takes a file of options, and s.yaml is a spec; -c of neon 0.9, for Nervana's cloud"):
            self.refused(2, option, self.spec(), says=[told, "has no counterpart: leave it out"])
        self.write("o.yaml", "epochs: 2\n")  # a file of options may have this name
        self.assertIn("trained 2 epochs", self.neon("-c", "o.yaml", "-s", "m.safetensors", self.spec()).out)
        self.neon("eval", "m.safetensors", "-c", "o.yaml")
        self.neon("resume", "-c", "o.yaml", "m.safetensors")
        self.write("plain", self.read("s.yaml"))
        self.assertIn("trained 2 epochs", self.neon("-c", "o.yaml", "plain").out)
        for given in (["-g", "nervanagpu4", "-i", "2", "3", "4", "5", self.spec()], [self.spec(), "-i", "2", "3", "4", "5"]):
            self.refused(2, *given, says="neon: option -i takes one number, the first GPU's: -i 2 -m 4 trains on 4 GPUs\n")

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
        self.refused(2, "--profiling_method=time", self.spec(), says="neon bench SPEC times the training step")
        self.refused(2, "--profile", self.spec(), says="it is for neon bench")

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
        for layer in "Affine: {nout: ~}", "Conv: {fshape: }", "DataTransform: {transform: ~}":
            self.refused(2, "check", self.spec(), "--set", f"layers=[{layer}]", says="no value is given: ")

    def test_output_that_is_an_input(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        self.neon("-r", "1", "-e", "1", self.spec())
        self.write("x.csv", "1,2,3,4\n5,6,7,8\n")
        os.link(self.path("x.csv"), self.path("also.csv"))
        best, last, metrics = "runs/s-1/best.safetensors", "runs/s-1/last.safetensors", "runs/s-1/run.h5"
        for option, lost, *words in (("-o", "x.csv", "predict", best, "x.csv", "-o", "x.csv"),
                                     ("-o", "also.csv", "predict", best, "x.csv", "-o", "also.csv"),
                                     ("-o", best, "predict", "runs/s-1", "x.csv", "-o", best),
                                     ("-o", metrics, "plot", metrics, "-o", metrics),
                                     ("-o", metrics, "plot", "runs/s-1", "-o", metrics),
                                     ("-o", last, "export", last, "--npz", "-o", last),
                                     ("--svg", "s.yaml", "summary", "s.yaml", "--svg", "s.yaml"),
                                     ("--profile", "s.yaml", "bench", "s.yaml", "--profile", "s.yaml")):
            before = self.read(lost)
            for more in [], ["--overwrite"]:
                self.refused(2, *words, *more, says=[f"neon: {option} {lost} is a file that neon reads, and would be lost; give another name\n"])
            self.assertEqual(self.read(lost), before)
        self.neon("predict", best, "x.csv", "-o", "y.csv")
        self.neon("predict", best, "x.csv", "-o", "y.csv", "--overwrite")
        self.neon("plot", "runs/s-1", "-o", "runs/s-1/report.html")

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
                (["-o", "r.h5"], ["eval", "m.safetensors"]), (["-z", "8"], ["predict", "m.safetensors", "x.csv"]), (["-r", "8"], ["predict", "m.safetensors", "x.csv"]), (["-i", "7"], ["doctor"]), (["-b", "cpu"], ["help", "Affine"]), \
                (["-o", "r.h5"], ["summary", spec]), (["-s", "n"], ["program", spec]), (["-l", "n"], ["bench", spec]), \
                (["-H", "2"], ["bench", spec]), (["--eval_freq", "2"], ["summary", spec]), (["--serialize", "2"], ["bench", spec]):
            self.refused(2, *verb, *option, says=["option ", option[0], f"does nothing with neon {verb[0]}"])
        for option, verb, of in (["--count", "3"], ["data", "stats", spec], "data preview"), \
                (["--size", "8"], ["data", "check", spec], "data pack"), (["--pixels"], ["data", "list"], "data pack"), \
                (["--skip_bad"], ["data", "preview", spec, "x.png"], "data pack"), (["--count", "3"], ["check", spec], "data preview"), \
                (["--top_k", "3"], ["data", "list"], "predict"), (["--format", "csv"], ["bench", spec], "predict and eval"):
            called = " ".join(verb[:2] if verb[0] == "data" else verb[:1])
            self.refused(2, *verb, *option, says=f"option {option[0]} does nothing with neon {called}; it is for neon {of}")
        self.write("epochs.cfg", "epochs = 2\n")
        self.neon("eval", "-c", "epochs.cfg", "m.safetensors")  # a file of options is for every verb
        for verb in ["plot"], ["compare"], ["doctor"], ["export"], ["help"], ["data", "fetch"]:
            self.refused(2, *verb, "--set", "epochs=3", says=f"option --set does nothing with neon {' '.join(verb)}: the verb reads no spec")
            self.assertNotIn("--set", self.neon(*verb, "--help").out)
        self.assertIn("--set KEY=VALUE", self.neon("eval", "--help").out)
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
        self.assertIn("trained 1 epoch in", self.neon("-c", "a.cfg", "--set", "epochs=1", spec).out)
        self.write("b.cfg", "set = epochs=2\n")
        self.assertIn("trained 1 epoch in", self.neon("-c", "b.cfg", "-e", "1", spec).out)
        self.write("c.cfg", "set = epochs=2\nepochs = 3\n")
        self.refused(2, "-c", "c.cfg", spec, says="neon: c.cfg: option -e,--epochs '3' and --set epochs=2 contradict each other")

    def test_values_of_a_file_of_options_name_the_file(self):
        spec = self.spec()
        self.write("a.cfg", "set = optimizer.momentum_coef=0.5\n")
        says = ["momentum_coef, which a.cfg: --set gives, and the lines of the file come before the command line; put this one into the file"]
        self.refused(2, "check", "-c", "a.cfg", spec, "--set", "optimizer=RMSProp", says=["neon: --set optimizer=RMSProp: it replaces", *says])
        self.write("b.cfg", "set = optimizer.momentum_coef=0.5\nset = optimizer=RMSProp\n")
        self.refused(2, "check", "-c", "b.cfg", spec,
                     says=["neon: b.cfg: --set optimizer=RMSProp: it replaces", "which b.cfg: --set gives; put this one first"])
        self.refused(2, "check", spec, "--set", "optimizer.momentum_coef=0.5", "--set", "optimizer=RMSProp",
                     says="which another --set before it gives; put this one first")
        self.write("c.cfg", "set = epochs=many\n")
        self.refused(2, "check", "-c", "c.cfg", spec, says="neon: c.cfg: --set: epochs: expected an integer")
        self.assertIn("0.5  (a.cfg: --set", self.neon("check", "-c", "a.cfg", spec, "--explain", "optimizer.momentum_coef").out)

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
        self.neon("-e", "1", "-s", "net", self.spec())
        for verb in [], ["check"], ["bench"]:
            self.refused(2, *verb, "net", says="net: expected a spec, found a checkpoint; neon resume net goes on with it")

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

    def test_several_devices(self):
        self.refused(2, "eval", "-m", "4", self.spec(), says="-m,--max_devices does nothing with neon eval, which computes on one device; these take several: neon ")
        self.refused(2, "eval", "--gpus", "4", self.spec(), says="--gpus does nothing with neon eval, which computes on one device")
        self.refused(2, "eval", "-g", "nervanagpu4", self.spec(), says="-g nervanagpu4 does nothing with neon eval, which computes on one device")
        self.refused(2, "-b", "cpu", "-m", "1", "-m", "257", self.spec(), says="at most 256 ranks")
        for wrong in ["many"], ["0"], ["many", "-m", "1"]:
            self.refused(2, "-m", *wrong, self.spec(), says="option -m,--max_devices")
        for wrong in "0", "many", "2.5", "-1":
            self.refused(2, f"--gpus={wrong}", self.spec(), says="expected a number of GPUs from 1 on, or all")
        self.refused(2, "-m", "2", "--gpus", "3", self.spec(), says="-m 2 and --gpus 3 ask for 2 and 3 devices; leave one out")
        self.refused(2, "-g", "nervanagpu4", "-m", "2", self.spec(), says="-m 2 and -g nervanagpu4 ask for 2 and 4 devices")
        self.refused(2, "-b", "cpu", "--gpus", "2", self.spec(), says="-b cpu and --gpus 2 contradict each other")
        self.refused(6, "--gpus", "all", self.spec(), says=["--gpus all: no GPU can be used", "; -b cpu -m N takes"])
        self.refused(2, "-b", "cpu", "--gpus", "all", self.spec(), says="-b cpu and --gpus all contradict each other")

    def test_set(self):
        spec = self.spec()
        self.refused(2, "--set", "layers[7].nout=3", spec, says=["layers[7]", "2"])
        self.refused(2, "--set", "layers[0].nuot=3", spec, says=["nuot", "nout"])
        self.refused(2, "--set", "epochs", spec, says="epochs")
        self.refused(2, "--set", "epochs=[", spec, says="--set")
        self.refused(2, "--set", "epoch=3", spec, says="neon: --set: unknown key 'epoch'")
        for optimizer in "Adam", "{Adam: {learning_rate: 0.1}}":
            self.refused(2, "--set", "optimizer.type=Adma", self.spec(optimizer=optimizer), says="neon: --set: optimizer: unknown optimizer 'Adma'")


if __name__ == "__main__":
    support.main()
