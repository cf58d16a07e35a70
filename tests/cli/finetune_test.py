#!/usr/bin/python3
"""Fine-tuning: runs that begin with the weights of another net, and runs that leave some of their weights as they are."""
import os
import shutil

import numpy as np

import support
from support import IRIS, Case, tensors, write_colours

NET = """\
dataset: {ImageFolder: {path: colours}}
layers:
  - Affine: {name: body, nout: 6, init: Kaiming, batch_norm: true, activation: Tanh}
  - Affine: {name: head, nout: 2, init: Kaiming, bias: {Constant: 0}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 8
epochs: 1
"""
BODY = ["body/W", "body_bnorm/gamma", "body_bnorm/beta", "body_bnorm/gmean", "body_bnorm/gvar"]


def values(path):
    return {name: np.frombuffer(content, np.float32).reshape(shape) for name, (_, shape, content) in tensors(path)[0].items()}


class Weights(Case):
    def taken(self, *arguments, base="m.safetensors"):
        """The line about the weights, of a training and of a check."""
        lines = [[line for line in self.neon(*verb, "--model_file", base, *arguments).err.splitlines() if "tensors taken" in line]
                 for verb in ([], ["check"])]
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(len(lines[0]), 1)
        return lines[0][0]

    def test_what_fits_is_taken(self):
        self.neon("-r", "1", "-s", "m.safetensors", self.spec())
        before = values(self.path("m.safetensors"))
        for change, said in (([], "all 2 tensors taken"), (["layers[1].bias={Constant: 0}"], "2 of 3 tensors taken; new: Affine_1_bias/b"),
                             (["layers[1].name=top"], "1 of 2 tensors taken; new: top/W; not used: Affine_1/W")):
            spec = self.spec(name="o.yaml", optimizer="{SGD: {learning_rate: 0}}")
            arguments = [word for text in change for word in ("--set", text)]
            self.assertEqual(self.taken("-r", "2", "-s", "o.safetensors", spec, *arguments), "m.safetensors: " + said)
            after = values(self.path("o.safetensors"))
            np.testing.assert_array_equal(after["Affine_0/W"], before["Affine_0/W"])
        err = self.neon("-v", "--model_file", "m.safetensors", spec, "--set", "layers[1].name=top").err
        for line in "taken: Affine_0/W", "new: top/W", "not used: Affine_1/W":
            self.assertIn(line + "\n", err)

    def test_another_shape_is_new(self):
        self.neon("-s", "m.safetensors", self.spec())
        wider = self.spec(IRIS.replace("nout: 3,", "nout: 3, bias: {Constant: 0},").replace("nout: 8", "nout: 9"), name="w.yaml")
        self.refused(2, "--model_file", "m.safetensors", wider, says=[
            "m.safetensors is a checkpoint of another net", "Affine_0/W is f32 (8, 4) in the file, f32 (9, 4) in the net",
            "Affine_1_bias/b (3) is in the net only"])
        self.neon("-s", "w.safetensors", wider)
        self.assertEqual(self.taken(wider, "--set", "layers[0].nout=7", base="w.safetensors"), "w.safetensors: 1 of 3 tensors taken; "
                         "new: Affine_0/W (7, 4) in place of (9, 4), Affine_1/W (3, 7) in place of (3, 9)")
        renamed = self.spec(IRIS.replace("{nout: 8", "{name: afine, nout: 8").replace("{nout: 3", "{name: top, nout: 3"), name="r.yaml")
        self.refused(2, "--model_file", "m.safetensors", renamed, says="afine/W (8, 4) is in the net only; did you mean Affine_0/W or Affine_1/W?")

    def test_inputs_of_another_meaning_are_told(self):
        rows = [(i % 7, -i % 5, ("red", "blue")[i % 2], "pq"[i % 3 == 0], "st"[i % 4 == 0]) for i in range(40)]
        def table(name, order, head="x y colour k l", colours=("red", "blue"), classes="pq"):
            changed = [(x, y, colours[c == "blue"], classes["pq".index(k)], l) for x, y, c, k, l in rows]
            self.write(name, "\n".join(",".join(str(row[i]) for i in order) for row in [head.split(), *changed]) + "\n")
        net = ("dataset: {CSV: {path: a.csv, test: 0, target: k, ignore: [l]}}\nlayers: [Affine: {nout: classes, activation: Softmax}]\n"
               "cost: CrossEntropyMulti\noptimizer: Adam\nepochs: 1\nbatch_size: 8\n")
        for name, order, more in (("a.csv", range(5), {}), ("swapped.csv", (1, 0, 2, 3, 4), {}), ("moved.csv", (3, 0, 1, 4, 2), {}),
                                  ("named.csv", range(5), {"head": "x z colour k l"}), ("colours.csv", range(5), {"colours": ("red", "amber")})):
            table(name, order, **more)
        self.neon("-r", "1", "-b", "cpu", "-s", "m.safetensors", self.write("s.yaml", net))
        for name, told in (("a.csv", ""), ("moved.csv", ""), ("swapped.csv", "input 0 of the net of m.safetensors was 'x', and is 'y' here"),
                           ("named.csv", "input 1 of the net of m.safetensors was 'y', and is 'z' here"),
                           ("colours.csv", "input 2 of the net of m.safetensors was 'colour' = 'blue', and is 'colour' = 'amber' here")):
            for verb in [], ["check"]:
                err = self.neon(*verb, "-b", "cpu", "--model_file", "m.safetensors", "s.yaml", "--set", f"dataset.CSV.path={name}").err
                self.assertEqual(err.count("warning: "), 1 if told else 0, err)
                self.assertIn("warning: " + told if told else "", err)
        self.assertNotIn("weights meet other", self.neon("-b", "cpu", "--model_file", "m.safetensors", "s.yaml", "--set", "layers=[{Affine: "
                         "{name: new, nout: 4}}, {Affine: {name: Affine_0, nout: classes, activation: Softmax}}]",
                         "--set", "dataset.CSV.path=swapped.csv", code=None).err)
        several = ("dataset: {CSV: {path: a.csv, test: 0, targets: {k: classes, l: classes}}}\nlayers:\n" + "".join(
            f"  - Affine: {{name: {name}, inputs: data, nout: 2, activation: Softmax}}\n" for name in "kl") +
            "outputs: {k: CrossEntropyMulti, l: CrossEntropyMulti}\noptimizer: Adam\nepochs: 1\nbatch_size: 8\n")
        self.neon("-r", "1", "-b", "cpu", "-s", "t.safetensors", self.write("t.yaml", several))
        table("classes.csv", range(5), classes="uv")
        self.assertEqual(self.taken("-b", "cpu", "t.yaml", "--set", "dataset.CSV.path=classes.csv", base="t.safetensors"),
                         "t.safetensors: 1 of 2 tensors taken; new: k/W of other classes")
        # Outputs whose layers have other names, and an output that ends in an activation.
        heads = (several.replace("name: k,", "name: headk,").replace("nout: 2, activation: Softmax}", "nout: 2}", 1)
                 .replace("outputs: {k: CrossEntropyMulti", "  - Activation: {name: endk, inputs: headk, transform: Softmax}\n"
                          "outputs: {k: {cost: CrossEntropyMulti, layer: endk}"))
        self.neon("-r", "1", "-b", "cpu", "-s", "h.safetensors", self.write("h.yaml", heads))
        self.assertEqual(self.taken("-b", "cpu", "h.yaml", "--set", "dataset.CSV.path=classes.csv", base="h.safetensors"),
                         "h.safetensors: 1 of 2 tensors taken; new: headk/W of other classes")
        apart = several.replace("Affine: {name: k, inputs: data, nout: 2, activation: Softmax}", "Linear: {inputs: data, name: weights, nout: 2}\n"
                                "  - Bias: {name: shift}\n  - Activation: {name: k, transform: Softmax}")
        self.neon("-r", "1", "-b", "cpu", "-s", "b.safetensors", self.write("b.yaml", apart))
        self.assertEqual(self.taken("-b", "cpu", "b.yaml", "--set", "dataset.CSV.path=classes.csv", base="b.safetensors"),
                         "b.safetensors: 1 of 3 tensors taken; new: weights/W of other classes, shift/b of other classes")

    def test_check_prints_the_first_cost_of_the_weights_taken(self):
        """Beside the formula, in a batch of all samples; a check without weights has drawn ones."""
        rng = np.random.default_rng(1)
        x = rng.normal(size=(40, 2)).astype(np.float32)
        labels = (x[:, 0] > 0.2).astype(int)
        self.write("t.csv", "a,b,kind\n" + "".join(f"{a:.9g},{b:.9g},{'pq'[k]}\n" for (a, b), k in zip(x, labels)))
        spec = self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0, standardize: false}}\nlayers: [Affine: {nout: classes, init: Kaiming, "
                          "activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 40\nepochs: 30\n")
        self.neon("-r", "1", "-b", "cpu", "-s", "m.safetensors", spec)
        z = x.astype(float) @ values(self.path("m.safetensors"))["Affine_0/W"].astype(float).T
        cost = np.mean(np.log(np.exp(z).sum(1)) - z[np.arange(40), labels])
        first = lambda *more: float(support.re.search(r"begins at ([\d.]+);", self.neon("check", "-r", "2", "-b", "cpu", *more, spec).out)[1])
        self.assertAlmostEqual(first("--model_file", "m.safetensors"), cost, delta=6e-5)
        self.assertGreater(abs(first() - cost), 0.1)
        # Advice for drawn weights is not for these.
        self.write("t.csv", "a,b,kind\n" + "".join(f"{-9 * a:.9g},{b:.9g},{'pq'[k]}\n" for (a, b), k in zip(x, labels)))
        out = self.neon("check", "-b", "cpu", "--model_file", "m.safetensors", spec).out
        self.assertIn("the weights may have been trained with other inputs or targets", out)

    def test_verbs_without_weights_refuse_a_file_of_them(self):
        self.spec()
        for verb in ["summary"], ["program"], ["schedule"], ["grad-check"]:
            self.refused(2, *verb, "s.yaml", "--model_file", "m.safetensors", says=f"option --model_file does nothing with neon {verb[0]}")
        for verb in ["overfit"], ["lr-find"], ["bench"], ["check"], ["formats"], []:
            self.assertIn("m.safetensors: there is no such checkpoint", self.neon(*verb, "s.yaml", "--model_file", "m.safetensors", code=None).err)

    def test_a_damaged_checkpoint_is_a_warning(self):
        self.neon("-e", "2", "-s", "m.safetensors", self.spec())
        self.write("m.safetensors", self.read("m.safetensors")[:-7])
        for verb in [], ["check"]:
            said = self.neon(*verb, "--model_file", "m.safetensors", "s.yaml").err
            self.assertIn("warning: using the older checkpoint m.1-1.safetensors\n", said)
            self.assertNotIn("warning: warning", said)

    def test_pixels_of_another_range_are_told(self):
        write_colours(self)
        spec = self.write("s.yaml", NET)
        self.neon("-r", "1", "-b", "cpu", "-s", "m.safetensors", spec)
        for value, told in ("true", False), ("false", True):
            err = self.neon("-b", "cpu", "--model_file", "m.safetensors", spec, "--set", f"dataset.ImageFolder.normalize={value}").err
            self.assertEqual("pixels of the net of m.safetensors were from 0 to 1, and are from 0 to 255 here" in err, told, err)

    def test_rows_of_the_head_are_classes(self):
        write_colours(self)
        spec = self.write("s.yaml", NET)
        self.neon("-r", "1", "-s", "m.safetensors", spec)
        still = ["-r", "2", "-s", "o.safetensors", spec, "--set", "optimizer.learning_rate=0", "--set", "dataset.ImageFolder.path=others"]
        names = lambda *kinds: [os.makedirs(self.path("others"))] + [
            shutil.copytree(self.path(f"colours/{part}/{old}"), self.path(f"others/{part}/{new}"))
            for part in ("train", "test") for old, new in kinds]
        before = values(self.path("m.safetensors"))
        # As many classes with other names, fewer known names than classes, another number of classes
        names(("blue", "cyan"), ("red", "rose"))
        self.assertEqual(self.taken(*still), "m.safetensors: 5 of 7 tensors taken; new: head/W of other classes, head_bias/b of other classes")
        after = values(self.path("o.safetensors"))
        np.testing.assert_array_equal(before["body/W"], after["body/W"])
        self.assertGreater(np.abs(before["head/W"] - after["head/W"]).min(), 0)
        # The head may be two layers.
        apart = self.write("apart.yaml", NET.replace("  - Affine: {name: head, nout: 2, init: Kaiming, bias: {Constant: 0}, activation: Softmax}",
                                                     "  - Linear: {name: head, nout: 2}\n  - Bias: {name: shift}\n  - Activation: Softmax"))
        self.neon("-r", "1", "-s", "apart.safetensors", apart)
        self.assertEqual(self.taken("-b", "cpu", apart, "--set", "dataset.ImageFolder.path=others", base="apart.safetensors"),
                         "apart.safetensors: 5 of 7 tensors taken; new: head/W of other classes, shift/b of other classes")
        shutil.rmtree(self.path("others"))
        names(("blue", "blue"), ("red", "rose"))
        self.assertIn("5 of 7 tensors taken", self.taken(*still))
        shutil.rmtree(self.path("others"))
        names(("blue", "blue"), ("red", "red"), ("red", "rose"))
        self.assertIn("new: head/W (3, 6) in place of (2, 6), head_bias/b (3) in place of (2)", self.taken(*still, "--set", "layers[1].nout=3"))
        # The same names keep their rows.
        shutil.rmtree(self.path("others"))
        names(("blue", "blue"), ("red", "red"))
        self.assertEqual(self.taken(*still), "m.safetensors: all 7 tensors taken")
        np.testing.assert_array_equal(before["head/W"], values(self.path("o.safetensors"))["head/W"])


class Frozen(Case):
    def test_frozen_weights_of_a_checkpoint_stay(self):
        write_colours(self)
        spec = self.write("s.yaml", NET)
        self.neon("-r", "1", "-s", "m.safetensors", spec)
        tuned = self.write("t.yaml", NET + "freeze: body\n")
        for more in [], ["-d", "f16"], ["--set", "ema=0.9"], ["--set", "accumulate=2"]:
            done = self.neon("-r", "2", "-s", "t.safetensors", *more, "--model_file", "m.safetensors", tuned)
            self.assertNotIn("keep the values that were drawn", done.err)
            before, after = (tensors(self.path(name))[0] for name in ("m.safetensors", "t.safetensors"))
            for name in BODY:
                self.assertEqual(before[name], after[name], more)
            self.assertNotEqual(before["head/W"], after["head/W"], more)
            self.assertEqual([name for name in after if name.startswith("body") and name not in BODY], [])
        self.neon("resume", "-e", "2", "t.safetensors")
        self.assertEqual(tensors(self.path("t.safetensors"))[0]["body/W"], before["body/W"])
        self.assertIn("note: frozen layers keep the values that were drawn; --model_file FILE takes trained ones",
                      self.neon(tuned).err)
        other = self.write("o.yaml", NET.replace("name: head", "name: top") + "freeze: [body, top_bias]\n")
        self.assertIn("warning: frozen and not in m.safetensors: top_bias/b; drawn values stay there",
                      self.neon("--model_file", "m.safetensors", other).err)

    def test_summary_and_check_show_what_is_frozen(self):
        spec = self.spec(IRIS + "freeze: [Affine_0]\n")
        self.assertIn("56 parameters, 32 of them frozen, f32", self.neon("check", spec).out)
        out = self.neon("summary", spec).out
        self.assertRegex(out, r"(?m)^Affine_0 .* 3  frozen$")
        self.assertRegex(out, r"(?m)^Affine_1 .* 4$")
        self.assertIn("56 parameters, 32 of them frozen", out)
        part = self.spec(IRIS.replace("nout: 3,", "nout: 3, bias: {Constant: 0},") + "freeze: '*bias'\n", name="p.yaml")
        self.assertRegex(self.neon("summary", part).out, r"(?m)^Affine_1 .* 4  frozen in part$")

    def test_names_of_nothing_are_refused(self):
        for verb in [], ["check"], ["summary"]:
            self.refused(2, *verb, self.spec(IRIS + "freeze: [Afine_0]\n"),
                         says="s.yaml:9:9: freeze: no layer with parameters and no tensor is named 'Afine_0'; did you mean Affine_0?")
        self.refused(2, self.spec(IRIS + "freeze: 'Aff*'\n"), says="freeze: Aff* holds all parameters, so nothing is left to train")


if __name__ == "__main__":
    support.main()
