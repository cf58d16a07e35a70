#!/usr/bin/python3
"""Wrong specs: the message has file, line, column, what was expected, and the nearest name."""
import re

import support
from support import IRIS, MNIST, Case, write_mnist


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

    def test_check_refuses_what_a_run_refuses(self):
        spec = self.spec()
        for given, says in ((["reset_period=2"], "reset_period: is for samples that are pieces of streams"),
                            (["train_metrics=3", "dataset.test=0"], "train_metrics: is part of an evaluation, but the data set has no test samples")):
            options = [word for one in given for word in ("--set", one)]
            for verb in [], ["check"]:
                self.refused(2, *verb, spec, *options, says=says)

    def test_paths_of_set_through_keys_that_the_spec_leaves_out(self):
        spec = self.spec()
        resolved = lambda given: self.neon("check", "--resolved", spec, "--set", given).out
        self.assertEqual(resolved("layers[0].batch_norm.rho=0.5"), resolved("layers[0].batch_norm={rho: 0.5}"))
        self.assertEqual(resolved("parallel.batch_norm=all"), resolved("parallel={batch_norm: all}"))
        for given, says in (("layers[0].batch_norm.roh=0.5", "layers[0].Affine.batch_norm: unknown key 'roh'; did you mean rho?"),
                            ("layers[0].bach_norm.rho=0.5", "there is no 'bach_norm' in layers[0].Affine; did you mean batch_norm?"),
                            ("optimizer.schedule.decay=1", "has no 'schedule' yet; give its class first, as in --set optimizer.schedule={NAME: {...}} (neon help schedule"),
                            ("layers[0].bias.value=1", "layers[0].Affine has no 'bias' yet; give its class first")):
            self.refused(2, "check", spec, "--set", given, says=says)

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
            # A file may have the name of a key.
            self.refused(2, *verb, self.spec(IRIS.replace("nout: 3", "nout: 4"), name="cost"), says="neon: cost:4:5: the last")
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
            ("dataset: {CIFAR10: {contrast_normalize: true}}\n" + spec(conv).split("\n", 1)[1],
             ["c.yaml:1:21", "unknown key 'contrast_normalize'; write augment: [ContrastNormalize] beside dataset"]),
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
            note = f"note: accumulate: of the 32 steps of the run the last {'2 are' if left == 2 else 'is'} left over, being fewer than"
            for verb in [], ["check"]:
                said = self.neon(*verb, spec)
                self.assertEqual((said.out + said.err).count(note), left > 0)
        self.neon("-e", "5", spec)
        # A phase begins with sums of 0, so that steps left over are the phase's.
        phases = IRIS.replace("epochs: 4", "phases: [{name: one, epochs: 1}, {name: two, epochs: 3}]")
        self.refused(2, self.spec(phases, accumulate="9"), says=["accumulate", "the phase one ends after 8 steps", "nothing would be learnt"])
        for verb in [], ["check"]:
            said = self.neon(*verb, self.spec(phases, accumulate="3"))
            self.assertIn("note: accumulate: of the 8 steps of the phase one the last 2 are left over", said.out + said.err)
            self.assertNotIn("phase two the last", said.out + said.err)

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
                                   "did you mean Digits?\n"),
                ("{name: Digits, seed: 3}", "a dataset is written Digits, or Digits: {parameters}, without 'name'\n"),
                ("{type: iris}", "without 'type'; unknown dataset 'iris'; did you mean Iris?"),
                ("mnist", "unknown dataset 'mnist'; did you mean MNIST?\n")):
            self.refused(2, self.spec(dataset=dataset), says="neon: s.yaml:")
            self.refused(2, self.spec(dataset=dataset), says=says)


if __name__ == "__main__":
    support.main()
