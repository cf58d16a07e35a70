#!/usr/bin/python3
"""Verbs that look at a spec: check, summary, program, bench, help."""
import os
import re
import subprocess

import h5py

import support
from support import MNIST, Case, tensors


class Inspection(Case):
    def test_version_and_help(self):
        self.assertRegex(self.neon("--version").out, r"^neon \d+\.\d+\.\d+\n$")
        for flag in "-h", "--help":
            usage = self.neon(flag).out
            for verb in "check", "summary", "program", "bench", "resume", "eval", "predict", "help":
                self.assertIn(f"neon {verb} ", usage)

    def test_help_names(self):
        overview = self.neon("help").out
        self.assertRegex(overview, r"(?m)^layer .*Affine")
        self.assertIn("nout: integer", self.neon("help", "Affine").out)
        self.assertIn("epochs: integer, in [1, 1e+09], default 10", self.neon("help", "spec").out)
        self.assertIn("Rectlin (activation)", self.neon("help", "ReLU").out, "aliases are known")
        self.assertIn("Rotation (augmentation)", self.neon("help", "Rotate").out, "as neon 1.x called it")
        self.refused(2, "help", "Afine", says=["'Afine'", "Affine"])
        self.assertIn("times: integer, in [0, 10000], required", self.neon("help", "Repeat").out)
        self.assertIn("define (spec): Holds anchors", self.neon("help", "define").out)
        for kind in "metrics", "metric":
            self.assertRegex(self.neon("help", kind).out, r"(?m)^  Accuracy +Share of samples, or of their pixels, whose highest .*\.$")
        self.refused(2, "check", self.spec(defin="{a: 1}"), says=["unknown key 'defin'; did you mean define?"])
        self.refused(2, "check", self.spec(), "--set", "layers=[Repeet: {times: 2}]", says=["unknown layer 'Repeet'", "Repeat"])
        self.assertIn("a single value sets keep", self.neon("help", "Dropout").out)
        self.refused(2, "help", "eval_freq", says=["'eval_freq'", "neon --help the options"])
        self.refused(2, "help", "keep", says=["it is a parameter of Dropout, StochasticDepth;"])

    def test_help_of_a_name_that_is_a_kind_too_shows_both(self):
        page = self.neon("help", "activation").out
        self.assertRegex(page, r"(?m)^Activation \(layer\): ")
        self.assertIn("  transform: activation, required", page)
        self.assertRegex(page, r"(?m)^activation: a kind of things that a spec names$")
        self.assertRegex(page, r"(?m)^  Rectlin +max\(x, 0\)")
        self.assertEqual(self.neon("help", "cost").out.count("  MeanSquared "), 1)  # of the key, not once more of the kind

    def test_a_value_by_itself_is_what_one_means(self):
        for name, parameter in {"Rectlinclip": "xcut", "Gaussian": "scale", "Uniform": "high", "Dropout": "keep"}.items():
            self.assertIn(f"a single value sets {parameter}", self.neon("help", name).out)
        layers = "[Activation: {Rectlinclip: 6}, Activation: {Rectlin: {slope: 0.1}}, Affine: {nout: 3, init: {Gaussian: 0.1}, activation: Softmax}]"
        out = self.neon("check", "--resolved", self.spec(), "--set", f"layers={layers}").out
        self.assertRegex(out, r"Activation:\n +transform:\n +Rectlinclip:\n +xcut: 6\n")
        self.assertRegex(out, r"Activation:\n +transform:\n +Rectlin:\n +slope: 0.1\n")
        self.assertRegex(out, r"Gaussian:\n +scale: 0.1\n")
        self.refused(2, "check", self.spec(), "--set", "layers=[Activation: {Rectlinn: {slope: 0.1}}]", says="unknown activation 'Rectlinn'; did you mean Rectlin")
        self.refused(2, "check", self.spec(), "--set", "layers=[Activation: {Rectlin: {slop: 0.1}}]", says="did you mean slope")

    def test_metrics_that_need_classes_are_named(self):
        self.write("a.csv", "".join(f"{i}.5,{i * i}.25\n" for i in range(40)))
        spec = self.spec("dataset: {CSV: {path: a.csv, task: regression, header: false}}\nlayers: [Linear: {nout: 1, init: Kaiming}]\n"
                         "cost: MeanSquared\noptimizer: Adam\nbatch_size: 8\nmetrics: [Accuracy, PrecisionRecall]\n")
        self.refused(2, "check", spec, says=["metrics: Accuracy: needs classes, the data set has none",
                                             "metrics: PrecisionRecall: needs classes, the data set has none"])

    def test_a_misspelt_key_hides_no_other_mistake(self):
        spec = self.spec(support.IRIS.replace("layers:", "layer:"), optimizer="Adm")
        self.refused(2, "check", spec, says=["unknown key 'layer'; did you mean layers?", "'Adm'", "'layers' is missing"])

    def test_names_of_other_frameworks_say_what_to_write(self):
        for name, mend in {"Flatten": "Affine takes images as they are", "Dense": "Affine: {nout: N}", "Add": "MergeSum",
                           "ReLU": "that is an activation; write `Activation: ReLU`"}.items():
            self.refused(2, "check", self.spec(), "--set", f"layers=[{name}]", says=[f"unknown layer '{name}'", mend])
        self.refused(2, "check", self.spec(), "--set", "cost=MSE", says=["unknown cost 'MSE'", "write `MeanSquared`"])

    def test_help_of_multi_optimizer_shows_what_works(self):
        page = self.neon("help", "MultiOptimizer").out
        example = page.splitlines()[0].split(": ", 1)[1].split(": ", 1)[1].rstrip(".")
        self.assertEqual(re.findall(r"(?m)^  (\w+): ", page), ["mapping"])
        for written in example, f"{{mapping: {example}}}", f"{{optimizer_mapping: {example}}}":
            out = self.neon("check", "--resolved", self.spec(optimizer=f"{{MultiOptimizer: {written}}}")).out
            self.assertRegex(out, r"(?m)^ *Affine_1:\n *RMSProp:\n *learning_rate: 0.01$")

    def test_every_name_has_its_page(self):
        names = [name for line in self.neon("help").out.splitlines()[1:] for name in line.split(None, 1)[1].split(", ")]
        self.assertGreater(len(names), 50)
        page = self.neon("help", *names).out
        for name in names:
            self.assertRegex(page, rf"(?m)^{name} \(\w+\): .+\.$")

    def test_check(self):
        out = self.neon("check", self.spec()).out
        # 4 x 8 and 8 x 3 weights, and as many velocities, of four bytes
        self.assertIn("2 layers, 56 parameters, f32, batch 16, 4 epochs", out)
        self.assertIn("weights and optimizer 448 B", out)
        self.assertIn("120 training and 30 test samples (4), 3 classes", out)
        self.assertIn("no layer has a bias", out)

    def test_check_refuses_what_training_refuses(self):
        early = self.spec(callbacks="[EarlyStop]", name="early.yaml")
        self.neon("-s", "other.safetensors", self.spec(), "--set", "layers[0].nout=9")
        self.write("text.h5", "no metrics")
        made = sorted(os.listdir(self.folder))
        for code, arguments, says in (
                (2, [early, "--set", "callbacks=[EarlyStop: {watch: Foo}]"], "EarlyStop watches 'Foo', which is not evaluated"),
                (2, [early, "--set", "callbacks=[EarlyStop, Hist, EarlyStop]"], "EarlyStop is given twice; leave one out"),
                (2, [early, "--set", "callbacks=[GradientNorm: {every: 4}, GradientNorm]"], "GradientNorm is given twice; leave one out"),
                (2, [early, "--set", "dataset.test=0"], "early.yaml:9:12: callbacks: EarlyStop needs an evaluation"),
                (2, ["s.yaml", "--set", "accumulate=100"], "the run ends after 32 steps, before the first 100"),
                (3, ["--model_file", "nothere", "s.yaml"], "nothere"),
                (2, ["--model_file", "other.safetensors", "s.yaml"], "a checkpoint of another net"),
                (1, ["-o", "/dev/null", "s.yaml"], "cannot write /dev/null: it is not a regular file"),
                (3, ["-o", "text.h5", "s.yaml"], "text.h5 is there and is not overwritten"),
                (1, ["-s", "/proc/x/y.safetensors", "s.yaml"], "cannot make the folder /proc/x"),
                (1, ["-s", "text.h5/y.safetensors", "s.yaml"], "text.h5")):
            trained, checked = (self.neon(*verb, *arguments, code=code).err.splitlines()[-1] for verb in ([], ["check"]))
            self.assertIn(says, checked)
            self.assertEqual(checked, trained)
        self.neon("check", "-s", "new/folder/m.safetensors", "-o", "new/run.h5", "--model_file", "other.safetensors", "s.yaml",
                  "--set", "layers[0].nout=9")
        self.assertEqual(sorted(os.listdir(self.folder)), made)

    def test_what_does_not_fit_the_data_is_told_with_its_place_in_the_spec(self):
        for changes, says in (({"metrics": "[TopK: {k: 7}]"}, "s.yaml:9:10: metrics: TopKMisclassification: k is 7, but there are only 3 outputs"),
                              ({"augment": "[Flip]"}, "s.yaml:9:10: augment: is for images"),
                              ({"normalize": "true"}, "s.yaml:9:12: normalize: is for images"),
                              ({"callbacks": "[EarlyStop: {watch: Foo}]"}, "s.yaml:9:12: callbacks: EarlyStop watches 'Foo'"),
                              ({"optimizer": "{MultiOptimizer: {default: Adam, Foo: Adam}}"}, "s.yaml:8:12: optimizer: no layer"),
                              ({"dataset": "{CSV: {path: a.csv, target: kind}}"}, "s.yaml:8:10: dataset: target: a.csv has no column"),
                              ({"dataset": "{CSV: {path: a.csv, test: 1.5}}"}, "s.yaml:8:16: dataset.CSV: test: 1.5 is neither a file nor a share")):
            self.write("a.csv", "a,b\n1,0\n2,1\n")
            spec = self.spec(**changes)
            for verb in [], ["check"], ["bench"]:
                self.refused(2, *verb, spec, says=f"neon: {says}")
        self.refused(2, "check", self.spec(), "--set", "metrics=[TopK: {k: 7}]", says="neon: --set: metrics: TopKMisclassification: k is 7")

    def test_a_spec_is_no_run_and_no_samples(self):
        self.neon("-e", "1", "-s", "m.safetensors", self.spec())
        for verb, expected in ((["plot"], "a run's folder, a checkpoint or a metrics file"), (["compare", "m.safetensors"], "a run's folder or a checkpoint"),
                               (["eval", "m.safetensors"], "samples"), (["predict", "m.safetensors"], "samples")):
            self.refused(2, *verb, "s.yaml", says=f"s.yaml: expected {expected}")
            self.refused(2, *verb, "s.yaml", says="found a spec's name; neon s.yaml trains it")

    def test_a_spec_is_no_checkpoint(self):
        for verb in ["eval"], ["resume"]:
            self.refused(2, *verb, self.spec(), says=["s.yaml: expected a checkpoint (.safetensors), found a spec's name", "neon s.yaml trains it"])

    def test_check_of_missing_data(self):
        result = self.neon("check", self.spec(MNIST), code=3)
        self.assertIn("data    not found: ", result.out)
        self.assertIn("get it with: ", result.out)
        self.assertIn("data 52.3 MiB\n", result.out, "70,000 images of 28 x 28 bytes")
        self.assertIn("10 classes", self.neon("check", self.spec(MNIST, dataset="{Digits: {ntrain: 100}}")).out)
        stand_in = self.neon("check", self.spec(MNIST, dataset="{MNIST: {fallback: Digits}}")).out
        self.assertIn("until then neon uses Digits in place of MNIST", stand_in)

    def test_commands_that_get_data_are_for_the_shell(self):
        """Run with a curl that only makes the file that it is told to, in a home folder whose name has a blank."""
        home = self.path("a b")
        self.write("bin/curl", "#!/bin/sh\nmkdir -p \"$(dirname \"$4\")\" && echo \"$5\" > \"$4\"\n")
        os.chmod(self.path("bin/curl"), 0o755)
        for dataset, made in ("MNIST", 4), ("CIFAR10", 1):
            environment = {"HOME": home, "NEON_CACHE_DIR": "", "PATH": self.path("bin") + ":" + os.environ["PATH"]}
            told = self.neon("check", self.spec(MNIST, dataset=dataset), code=3, environment=environment).out
            command = re.search("get it with: (.*)", told)[1]
            subprocess.run(command, shell=True, cwd=self.folder, env=environment, check=True)
            folder = os.path.join(home, ".cache/neon", dataset.lower())
            self.assertEqual(len(os.listdir(folder)), made)

    def test_check_where_data_gives_the_shapes(self):
        spec = self.spec(dataset="{CSV: {path: none.csv}}")
        self.assertIn("not found: none.csv", self.neon("check", spec, code=3).out)
        for verb in "summary", "program":
            self.refused(3, verb, spec, says=["the shapes depend on the data, which is missing", "none.csv"])

    def test_resolved_spec_is_a_spec_that_means_the_same(self):
        resolved = self.neon("check", "--resolved", self.spec()).out
        self.assertIn("nesterov: false", resolved)
        self.spec(resolved, name="resolved.yaml")
        self.assertEqual(self.neon("check", "--resolved", "resolved.yaml").out, resolved)
        for name in "s.yaml", "resolved.yaml":
            self.neon("-r", "1", "-s", name + ".safetensors", name)
        self.assertEqual(*(tensors(self.path(name + ".safetensors"))[0] for name in ("s.yaml", "resolved.yaml")))

    def test_resolved_is_what_is_run(self):
        given = ["-e", "3", "-z", "60", "-r", "5", "-d", "bf16"]
        resolved = self.neon("check", "--resolved", self.spec(), *given).out
        for line in "epochs: 3", "batch_size: 60", "rng_seed: 5", "datatype: bf16":
            self.assertIn("\n" + line + "\n", resolved)
        self.assertIn("\ndatatype: f32\nfixed_point: \"\"\nrng_seed: null\n", self.neon("check", "--resolved", "s.yaml").out)
        self.neon(*given, "-u", "6", "-s", "m.safetensors", "-o", "r.h5", "s.yaml")
        self.assertEqual(tensors(self.path("m.safetensors"))[1]["neon.spec"], resolved)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file.attrs["spec"], resolved)
            options = file.attrs["options"]
        for line in "rounding: 6", "backend: cpu", "caffe: false", "save_path: m.safetensors":
            self.assertIn("\n" + line + "\n", "\n" + options)
        # The stored spec alone makes the same run.
        self.write("stored.yaml", resolved)
        self.neon("-u", "6", "-s", "again.safetensors", "stored.yaml")
        self.assertEqual(tensors(self.path("again.safetensors"))[0], tensors(self.path("m.safetensors"))[0])
        self.neon("resume", "-e", "4", "m.safetensors")
        self.assertIn("\nepochs: 4\n", tensors(self.path("m.safetensors"))[1]["neon.spec"])

    def test_summary(self):
        lines = self.neon("summary", self.spec()).out.splitlines()
        self.assertEqual(lines[1].split()[:4], ["Affine_0", "Affine", "(8)", "32"])
        self.assertEqual(lines[1].split()[-1], "3", "the line of the spec")
        self.assertEqual(lines[2].split()[:4], ["Affine_1", "Affine", "(3)", "24"])
        self.assertIn("56 parameters", lines[3])

    def test_the_time_to_lower_layers_grows_with_their_number(self):
        """Four times the layers: 16 times the processor's time where each layer looked at all others. Other programs may
        disturb a try."""
        def spent(layers):
            self.write("deep.yaml", "dataset: Iris\nlayers:\n  - Repeat: {times: " + str(layers) + ", layers: [Affine: {nout: 4, "
                       "init: Kaiming, activation: Rectlin}]}\n  - Affine: {nout: 3, init: Kaiming, activation: Softmax}\n"
                       "cost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0.01}}\nbatch_size: 16\n")
            return self.processor_seconds("summary", "deep.yaml")
        self.assertTrue(any(spent(2000) < 10 * spent(500) for _ in range(3)))

    def test_summary_sets_branches_in(self):
        branches = "[{MergeSum: [[{Affine: {nout: 8, init: Kaiming}}, SkipNode], [{Affine: {nout: 8, init: Kaiming}}]]}, "
        out = self.neon("summary", self.spec(), "--set", "layers=" + branches +
                        "{Affine: {nout: 3, init: Kaiming, activation: Softmax}}]").out
        starts = [line[:18].rstrip() for line in out.splitlines()[1:6]]
        self.assertEqual(starts, ["MergeSum_0", "1: Affine_0", "   SkipNode_0", "2: Affine_1", "Affine_2"])

    def test_set_takes_the_names_of_the_summary(self):
        arguments = ["summary", self.spec(), "--set", "layers=[{FCLayer: {nout: 8, init: Kaiming}}, {MergeSum: "
                     "[[{Activation: Tanh}, {Affine: {nout: 5, init: Kaiming}}], [{Affine: {nout: 5, init: Kaiming}}]]}, "
                     "{Affine: {nout: 3, init: Kaiming, activation: Softmax}}]"]
        for name, nout in ("Affine_0", 8), ("Affine_3", 3):
            self.assertRegex(self.neon(*arguments).out, rf"(?m)^{name} +Affine +\({nout}\)")
            self.assertRegex(self.neon(*arguments, "--set", f"layers.{name}.name=here").out, rf"(?m)^here +Affine +\({nout}\)")
        both = self.neon(*arguments, "--set", "layers.Affine_1.nout=6", "--set", "layers.Affine_2.nout=6").out
        self.assertRegex(both, r"(?m)^ *2: Affine_2 +Affine +\(6\)")

    def test_program_lists_the_passes_and_what_each_changed(self):
        plain, out = self.neon("program", self.spec()).out, self.neon("program", "--passes", self.spec()).out
        before, _, rest = out.partition("passes\n")
        self.assertTrue(plain.startswith(before), "the program itself is the same")
        passes = dict(re.findall(r"(?m)^([a-z ]+): .*\.\n    (.*)$", rest))
        self.assertEqual(list(passes)[:2], ["dense blocks", "definitions"])
        self.assertEqual(list(passes)[-1], "memory")
        # Three kernels of products at least, all with what follows them; no GPU's passes.
        self.assertRegex(passes["attachments"], r"\+\d+ matmul")
        self.assertRegex(passes["fusion"], r"\+\d+ fused kernels, \+\d+ nodes in them")
        self.assertIn("not here; for tensor cores", passes["deep inputs"])
        self.refused(2, "check", "--passes", self.spec(), says=["--passes"])

    def test_program_shows_what_training_runs(self):
        out = self.neon("program", self.spec()).out
        self.assertIn("matmul", out)
        self.assertRegex(out, r"arena [\d.]+ \w+, all values [\d.]+ \w+")
        # Iris comes as it is: no factor of an image's.
        self.assertNotIn("0.00392", out)
        self.assertIn("variable Affine_1/W/velocity", out)

    def test_bench(self):
        out = self.neon("bench", "--iterations", "5", self.spec()).out
        for row in "forward ", "forward+backward", "whole step":
            self.assertRegex(out, rf"(?m)^{re.escape(row)} +[\d.]+ ms")
        self.assertIn("median of 5 steps, batch 16, f32", out)

    def test_bench_of_phases_times_the_last(self):
        phases = "[{name: wide, epochs: 1, reconstruct: true, cost: MeanSquared, layers: [Affine: {nout: 4, init: Kaiming}], " \
                 "optimizer: Adam}, {name: tuning, epochs: 3}]"
        content = re.sub("epochs: \\d+\n", "", support.IRIS)
        done = self.neon("bench", "-v", "--iterations", "5", self.spec(content, phases=phases, normalize="false"))
        self.assertIn("note: of 2 phases the last is timed, tuning", done.err)
        self.assertNotIn("epochs 1 to", done.err)  # those of a whole run
        self.assertRegex(done.out, r"cost of one batch +[\d.]+ -> [\d.]+")
        self.assertIn("Affine_1", done.out)  # the spec's second layer, which the first phase lacks

    def test_bench_of_three_phases_has_the_layers_of_the_last(self):
        one = "reconstruct: true, cost: MeanSquared, epochs: 1, optimizer: Adam"
        phases = f"[{{name: wide, {one}, layers: [Affine: {{nout: 4, init: Kaiming}}]}}, " \
                 f"{{name: narrow, {one}, layers: [Affine: {{nout: 5, init: Kaiming}}]}}, {{name: tuning, epochs: 1}}]"
        content = re.sub("epochs: \\d+\n", "", support.IRIS)
        said = self.neon("bench", "-v", "--iterations", "5", self.spec(content, phases=phases, normalize="false"))
        self.assertIn("note: of 3 phases the last is timed, tuning", said.err)
        self.assertIn("Affine_1", said.out)

    def test_bench_of_a_net_that_trains_by_a_rule(self):
        spec = self.write("rbm.yaml", "dataset: {Digits: {ntrain: 100, ntest: 10}}\nlayers:\n  - RBM: {name: r, nout: 8}\n"
                                      "rule: ContrastiveDivergence\noptimizer: Adam\nbatch_size: 50\nepochs: 1\n")
        out = self.neon("bench", "--iterations", "5", spec, "-b", "cpu").out
        self.assertRegex(out, r"whole step +[\d.]+ ms +\d+ samples/s\n")
        self.assertNotIn("forward", out)
        self.refused(2, "bench", "--inference", spec, says="--inference is for a net with a cost")

    def test_layers_that_a_rule_leaves_untrained_are_named(self):
        head = "dataset: {Digits: {ntrain: 60, ntest: 20}}\nrule: ContrastiveDivergence\noptimizer: Adam\nbatch_size: 20\n"
        first, second = "RBM: {name: a, nout: 8}", "RBM: {name: b, nout: 4}"
        two = self.write("two.yaml", head + f"layers: [{first}, {second}]\nepochs: 1\n")
        says = "warning: two.yaml:2:7: rule: it trains the last layer alone, and a keeps its initial weights"
        for verb in ["check"], []:
            self.assertIn(says, self.neon(*verb, two, "-b", "cpu", "-r", "1").err)
        one = self.write("one.yaml", head + f"layers: [{first}]\nepochs: 1\n")
        phases = self.write("phases.yaml", head + f"layers: [{first}, {second}]\nphases: [{{name: one, epochs: 1, layers: [{first}]}}, "
                                                  "{name: two, epochs: 1}]\n")
        for spec in one, phases:
            self.assertNotIn("initial weights;", self.neon("check", spec, "-b", "cpu", "-r", "1").err)

    def test_no_player_of_a_gan_is_frozen(self):
        for name in "dcgan", "wgan":
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "gan", f"mnist-{name}.yaml")
            self.assertNotIn("frozen", self.neon("check", path, "-b", "cpu", "--set", "dataset={Digits: {ntrain: 300}}").out)

    def test_bench_of_inference(self):
        done = self.neon("bench", "-v", "--inference", "--iterations", "5", self.spec())
        self.assertRegex(done.out, r"(?m)^median of 5 runs, batch 16, f32")
        self.assertRegex(done.out, r"(?m)^inference +[\d.]+ ms  \d+ samples/s$")
        self.assertRegex(done.out, r"(?m)  matmul -> f32 \(16, 3\)")
        self.assertNotIn("gradient", done.out)
        self.refused(2, "bench", "--inference", "-m", "2", self.spec(), says="--inference times one device; leave out -m")

    def test_bench_times_an_update_at_least(self):
        for steps in "3", "16":
            done = self.neon("bench", "--iterations", steps, "--set", "accumulate=16", self.spec())
            self.assertIn("median of 16 steps", done.out)
            self.assertEqual(done.err.count("note: 16 steps are timed, the length of one update (accumulate)\n"), steps == "3")
            first, last = re.search(r"(?m)^cost of one batch +([\d.]+) -> ([\d.]+)$", done.out).groups()
            self.assertNotEqual(first, last)

    def test_bench_of_what_cannot_train(self):
        for batch in "16", "50":  # the costs of the batches of an epoch differ
            result = self.refused(1, "bench", "--iterations", "5", "-z", batch, self.spec(), "--set", "optimizer.learning_rate=0",
                                  says="the cost of the same batch stayed at")
            first, last = re.search(r"(?m)^cost of one batch +([\d.]+) -> ([\d.]+)$", result.out).groups()
            self.assertEqual(first, last)


if __name__ == "__main__":
    support.main()
