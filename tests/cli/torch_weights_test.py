#!/usr/bin/python3
"""--model_file with weights of PyTorch's modules: a net gives the outputs that PyTorch gives, and a file that does not
fit is refused."""
import json
import os
import re
import struct

import numpy as np

import support
from support import Case

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "torch_weights.json")) as file:
    GOLDEN = {case["title"]: case for case in json.load(file)}

HEAD = """\
dataset: {NPZ: {path: d.npz, regression: true}}
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 0}}
batch_size: 4
epochs: 1
"""
CONV = "init: Kaiming, padding: 1, fshape: 3"
RESNET = f"""\
freeze: ['conv*', 'bn*', 'layer*']
layers:
  - Conv: {{name: conv1, {CONV}, nofm: 4, batch_norm: true, bn_name: bn1, activation: Rectlin}}
  - MergeSum:
      - - Conv: {{name: layer1.0.conv1, {CONV}, nofm: 4}}
        - BatchNorm: {{name: layer1.0.bn1, eps: 0.00001}}
        - Activation: Rectlin
        - Conv: {{name: layer1.0.conv2, {CONV}, nofm: 4, batch_norm: true, bn_name: layer1.0.bn2}}
      - [SkipNode]
  - Activation: Rectlin
  - MergeSum:
      - - Conv: {{name: layer2.0.conv1, {CONV}, nofm: 6, strides: 2, batch_norm: true, bn_name: layer2.0.bn1, activation: Rectlin}}
        - Conv: {{name: layer2.0.conv2, {CONV}, nofm: 6, batch_norm: true, bn_name: layer2.0.bn2}}
      - [Conv: {{name: layer2.0.downsample.0, init: Kaiming, fshape: 1, nofm: 6, strides: 2, batch_norm: true, bn_name: layer2.0.downsample.1}}]
  - Activation: Rectlin
  - Pooling: {{fshape: all, op: avg}}
  - Affine: {{name: fc, nout: 3, init: Kaiming, bias: {{Constant: 0}}}}
"""
ZERO = "init: Kaiming, bias: {Constant: 0}"
ALEXNET = f"""\
layers:
  - Conv: {{name: features.0, {ZERO}, fshape: 3, padding: 1, nofm: 4, activation: Rectlin}}
  - Pooling: 2
  - Conv: {{name: features.3, {ZERO}, fshape: [3, 1], nofm: 6, groups: 2, activation: Rectlin}}
  - Dropout: 0.5
  - Affine: {{name: classifier.1, {ZERO}, nout: 5, activation: Rectlin}}
  - Dropout: 0.5
  - Affine: {{name: classifier.4, {ZERO}, nout: 3}}
"""
UPSCALED = f"""\
layers:
  - Deconv: {{name: up, {ZERO}, fshape: [2, 3], strides: 2, nofm: 2}}
  - Affine: {{name: first, {ZERO}, nout: 4}}
  - LayerNorm: {{name: norm}}
  - Affine: {{name: last, nout: 3, init: Kaiming}}
"""
VGG = f"""\
freeze: 'features*'
layers:
  - Conv: {{name: features.0, {CONV}, nofm: 4, batch_norm: true, bn_name: features.1, activation: Rectlin}}
  - Pooling: 2
  - Affine: {{name: classifier.0, {ZERO}, nout: 5, activation: Rectlin}}
  - Dropout: 0.5
  - Affine: {{name: classifier.3, {ZERO}, nout: 3}}
"""
SIX = "activation: {Rectlinclip: {xcut: 6}}"
ONE = "init: Kaiming, fshape: 1, batch_norm: true"
MOBILENET = f"""\
freeze: 'features*'
layers:
  - Conv: {{name: features.0.0, {CONV}, nofm: 4, strides: 2, batch_norm: true, bn_name: features.0.1, {SIX}}}
  - MergeSum:
      - - Conv: {{name: features.1.conv.0.0, {CONV}, nofm: 4, groups: 4, batch_norm: true, bn_name: features.1.conv.0.1, {SIX}}}
        - Conv: {{name: features.1.conv.1, {ONE}, nofm: 4, bn_name: features.1.conv.2}}
      - [SkipNode]
  - MergeSum:
      - - Conv: {{name: features.2.conv.0.0, {ONE}, nofm: 8, bn_name: features.2.conv.0.1, {SIX}}}
        - Conv: {{name: features.2.conv.1.0, {CONV}, nofm: 8, groups: 8, batch_norm: true, bn_name: features.2.conv.1.1, {SIX}}}
        - Conv: {{name: features.2.conv.2, {ONE}, nofm: 4, bn_name: features.2.conv.3}}
      - [SkipNode]
  - Conv: {{name: features.3.0, {ONE}, nofm: 6, bn_name: features.3.1, {SIX}}}
  - Pooling: {{fshape: all, op: avg}}
  - Dropout: 0.8
  - Affine: {{name: classifier.1, {ZERO}, nout: 3}}
"""
RECTLIN = "activation: Rectlin"
GOOGLENET = f"""\
freeze: ['conv*', 'inception*']
layers:
  - Conv: {{name: conv1.conv, {CONV}, nofm: 4, batch_norm: true, bn_name: conv1.bn, {RECTLIN}}}
  - Conv: {{name: conv2.conv, {ONE}, nofm: 4, bn_name: conv2.bn, {RECTLIN}}}
  - Conv: {{name: conv3.conv, {CONV}, nofm: 5, batch_norm: true, bn_name: conv3.bn, {RECTLIN}}}
  - MergeConcat:
      - - Conv: {{name: inception3a.branch1.conv, {ONE}, nofm: 2, bn_name: inception3a.branch1.bn, {RECTLIN}}}
      - - Conv: {{name: inception3a.branch2.0.conv, {ONE}, nofm: 2, bn_name: inception3a.branch2.0.bn, {RECTLIN}}}
        - Conv: {{name: inception3a.branch2.1.conv, {CONV}, nofm: 3, batch_norm: true, bn_name: inception3a.branch2.1.bn, {RECTLIN}}}
      - - Conv: {{name: inception3a.branch3.0.conv, {ONE}, nofm: 1, bn_name: inception3a.branch3.0.bn, {RECTLIN}}}
        - Conv: {{name: inception3a.branch3.1.conv, {CONV}, nofm: 2, batch_norm: true, bn_name: inception3a.branch3.1.bn, {RECTLIN}}}
      - - Pooling: {{fshape: 3, strides: 1, padding: 1}}
        - Conv: {{name: inception3a.branch4.1.conv, {ONE}, nofm: 2, bn_name: inception3a.branch4.1.bn, {RECTLIN}}}
  - Pooling: {{fshape: all, op: avg}}
  - Dropout: 0.8
  - Affine: {{name: fc, {ZERO}, nout: 3}}
"""


def dense_layer(name):
    return f"""\
  - MergeConcat:
      - [SkipNode]
      - - BatchNorm: {{name: {name}.norm1}}
        - Activation: Rectlin
        - Conv: {{name: {name}.conv1, {ONE}, nofm: 6, bn_name: {name}.norm2, {RECTLIN}}}
        - Conv: {{name: {name}.conv2, {CONV}, nofm: 3}}
"""


DENSENET = f"""\
freeze: 'features*'
layers:
  - Conv: {{name: features.conv0, init: Kaiming, fshape: 7, padding: 3, strides: 2, nofm: 5, batch_norm: true, bn_name: features.norm0, {RECTLIN}}}
  - Pooling: {{fshape: 3, strides: 2, padding: 1}}
{dense_layer("features.denseblock1.denselayer1")}\
  - BatchNorm: {{name: features.transition1.norm}}
  - Activation: Rectlin
  - Conv: {{name: features.transition1.conv, init: Kaiming, fshape: 1, nofm: 4}}
  - Pooling: {{fshape: 2, strides: 2, op: avg}}
{dense_layer("features.denseblock2.denselayer1")}\
{dense_layer("features.denseblock2.denselayer2")}\
  - BatchNorm: {{name: features.norm5}}
  - Activation: Rectlin
  - Pooling: {{fshape: all, op: avg}}
  - Affine: {{name: classifier, {ZERO}, nout: 3}}
"""
SPECS = {"resnet": RESNET, "alexnet": ALEXNET, "vgg": VGG, "upscaled": UPSCALED, "mobilenet": MOBILENET, "googlenet": GOOGLENET, "densenet": DENSENET}


def without_names(spec):
    """The same layers, by which neon goes in torchvision's order; those that are frozen have the names that neon gives."""
    spec = re.sub(r"\bname: [\w.]+(, )?", "", re.sub(r", bn_name: [\w.]+", "", spec))
    return re.sub("freeze: .*", "freeze: '[BC]*'", spec)


def array(golden):
    return np.array(golden["values"]).reshape(golden["shape"])


class Weights(Case):
    def state(self, title):
        return {name: array(value) if isinstance(value, dict) else np.array(value) for name, value in GOLDEN[title]["state"].items()}

    def write_state(self, state, name="t.safetensors"):
        """As the safetensors package writes a file: sorted names, and no metadata of neon's."""
        header, data = {"__metadata__": {"format": "pt"}}, b""
        for key in sorted(state):
            counter = key.endswith("num_batches_tracked")
            content = np.ascontiguousarray(state[key], "<i8" if counter else "<f4").tobytes()
            header[key] = {"dtype": "I64" if counter else "F32", "shape": list(np.shape(state[key])), "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        text = json.dumps(header).encode()
        return self.write(name, struct.pack("<Q", len(text)) + text + data)

    def begin(self, title, **changes):
        """Writes the data, the file and the spec of a golden net."""
        inputs = array(GOLDEN[title]["inputs"])
        np.savez(self.path("d.npz"), x_train=inputs, y_train=np.zeros((4, 3)), x_test=inputs, y_test=np.zeros((4, 3)))
        np.save(self.path("x.npy"), inputs)
        self.write_state(self.state(title))
        return self.spec(HEAD + SPECS[title], **changes)

    def said(self, *arguments, **more):
        err = self.neon(*arguments, "--model_file", "t.safetensors", **more).err
        return [line for line in err.splitlines() if "tensors taken" in line][0].removeprefix("t.safetensors: ")

    def check_outputs(self, title, accuracy=1e-6):
        out = self.neon("predict", "m.safetensors", "x.npy").out.splitlines()[1:]
        got = np.array([[float(x) for x in line.split(",")[1:]] for line in out])
        np.testing.assert_allclose(got, array(GOLDEN[title]["outputs"]), atol=accuracy, rtol=accuracy)

    def test_outputs_are_those_of_pytorch(self):
        for title in sorted(SPECS):
            spec = self.begin(title)
            for more in ([], ["--set", "augment=[Brightness: {range: [1, 1]}]"]) if title == "alexnet" else ([],):
                self.assertRegex(self.said("-d", "f64", "-s", "m.safetensors", spec, *more), "^all [0-9]+ tensors taken$")
                self.check_outputs(title)
                for datatype, accuracy in ("f32", 1e-4), ("bf16", 0.3):
                    arguments = ["-d", datatype, spec, *more]
                    self.assertEqual(self.said("check", *arguments), self.said("-s", "m.safetensors", *arguments))
                    if title in ("alexnet", "upscaled", "vgg") or datatype == "f32":  # bf16 is coarse behind many norms
                        self.check_outputs(title, accuracy)

    def test_layers_without_names_are_in_the_order_of_torchvision(self):
        for title in "resnet", "alexnet", "vgg", "mobilenet", "googlenet", "densenet":
            spec = self.write("o.yaml", without_names(self.read(self.begin(title)).decode()))
            self.assertNotIn("name:", self.read(spec).decode())
            self.assertRegex(self.said("-d", "f64", "-s", "m.safetensors", spec), "^all [0-9]+ tensors taken$")
            self.check_outputs(title)

    def test_some_layers_with_names_leave_the_order_to_the_others(self):
        for title, pairs in ("resnet", (("fc",), ("conv1",), ("layer2.0.conv2", "fc"))), ("vgg", (("classifier.3",),)):
            spec = self.read(self.begin(title)).decode()
            for names in pairs:
                kept = spec
                for name in names:
                    kept = kept.replace("name: " + name + ",", "NAME: " + name + ",")
                kept = without_names(kept).replace("NAME:", "name:")
                kept = re.sub("freeze: .*", "freeze: ['*_bnorm', BatchNorm_0]" if title == "resnet" else "freeze: Conv_0_bnorm", kept)
                self.assertEqual(len(re.findall(r"\bname:", kept)), len(names))
                for prefix in "", "module.":
                    self.write_state({prefix + name: value for name, value in self.state(title).items()})
                    self.assertRegex(self.said("-d", "f64", "-s", "m.safetensors", self.write("o.yaml", kept)), "^all [0-9]+ tensors taken$")
                    self.check_outputs(title)
        # A layer of another name begins anew where the others have the names of modules.
        spec = self.read(self.begin("resnet")).decode().replace("name: fc,", "name: head,")
        self.assertEqual(self.said(self.write("o.yaml", spec)), "30 of 32 tensors taken; new: head/W, head_bias/b; not used: fc.bias, fc.weight")
        # A head of that name and another width begins anew.
        state = self.state("resnet")
        self.begin("resnet")
        self.write_state({**state, "fc.weight": np.ones((7, 6)), "fc.bias": np.ones(7)})
        head = without_names(RESNET.replace("name: fc,", "NAME: fc,")).replace("NAME:", "name:")
        spec = self.write("o.yaml", HEAD + head)
        self.assertEqual(self.said(spec), "30 of 32 tensors taken; new: fc/W (3, 6) in place of (7, 6), fc_bias/b (3) in place of (7)")

    def test_layers_of_names_that_are_not_in_order_are_warned_of(self):
        self.begin("resnet")
        head = without_names(RESNET.replace("name: fc,", "NAME: fc,")).replace("NAME:", "name:").replace("freeze: '[BC]*'\n", "")
        # Another width of the stem: no order, and the head alone is found.
        spec = self.write("o.yaml", HEAD + head.replace("fshape: 3, nofm: 4, batch_norm", "fshape: [1, 3], nofm: 4, batch_norm", 1))
        self.assertIn("warning: only layers with the name of a module take weights: t.safetensors does not fit the net: conv1.weight is "
                      "(4, 3, 3, 3) in the file", self.neon("--model_file", "t.safetensors", spec).err)
        # Nothing is found where the head differs, too: the cause is the same.
        state = self.state("resnet")
        self.write_state({**state, "fc.weight": np.ones((7, 6)), "fc.bias": np.ones(7)})
        self.refused(2, "--model_file", "t.safetensors", spec, says="does not fit the net: conv1.weight is (4, 3, 3, 3) in the file")
        # A name that contradicts the order counts.
        self.begin("resnet")
        spec = self.write("o.yaml", HEAD + head.replace("{init: Kaiming, padding: 1, fshape: 3, nofm: 4}", "{name: layer1.0.conv2, init: Kaiming, "
                                                       "padding: 1, fshape: 3, nofm: 4}"))
        self.assertRegex(self.said(spec), "^3 of 32 tensors taken; new: Conv_0/W")
        self.assertIn("take weights: these names contradict the order of torchvision's ResNet", self.neon("check", "--model_file", "t.safetensors", spec).err)

    def test_names_behind_a_prefix(self):
        for title in "resnet", "alexnet":
            spec = self.begin(title)
            ordered = self.write("o.yaml", without_names(self.read(spec).decode()))
            for prefix in "module.", "model.", "module.model.", "_orig_mod.":
                self.write_state({prefix + name: value for name, value in self.state(title).items()})
                for each in spec, ordered:
                    self.assertRegex(self.said("-d", "f64", "-s", "m.safetensors", each), "^all [0-9]+ tensors taken$")
                    self.check_outputs(title)
                err = self.neon("check", spec, "--model_file", "t.safetensors").err
                self.assertIn(f"note: names in t.safetensors are taken without '{prefix}'\n", err)
        # Beside the net's there may be other modules, whose tensors are not used.
        state = {"model." + name: value for name, value in self.state("alexnet").items()}
        self.write_state({**state, "loss.weight": np.ones(3)})
        self.said("-d", "f64", "-s", "m.safetensors", spec)
        self.check_outputs("alexnet")

    def test_what_does_not_fit_the_order_is_refused(self):
        spec = self.write("o.yaml", without_names(self.read(self.begin("resnet")).decode()))
        self.refused(2, "--model_file", "t.safetensors", spec, "--set", "layers[0].batch_norm=false", "--set", "freeze=[Conv_1]", says=(
            "t.safetensors does not fit the net: bn1 of the file is a batch norm, and the net has none between Conv_0 and Conv_1; write "
            "`batch_norm: true`", "in the order of torchvision's ResNet"))
        self.refused(2, "--model_file", "t.safetensors", spec, "--set", "layers[0].fshape=5", "--set", "layers[0].padding=2",
                     says="conv1.weight is (4, 3, 3, 3) in the file, and Conv_0/W of the net would be (4, 3, 5, 5) there")
        plain = self.write("o.yaml", without_names(self.read(self.begin("alexnet")).decode()))
        self.refused(2, "--model_file", "t.safetensors", plain, "--set", "layers[0].batch_norm=true", "--set", "layers[0].bias=null", says=(
            "t.safetensors does not fit the net: Conv_0_bnorm of the net is a batch norm, and the file has none between features.0 "
            "and features.3; write `bias: {Constant: 0}` in its place, or take", "in the order of torchvision's AlexNet, VGG"))
        self.refused(2, "--model_file", "t.safetensors", plain, "--set", "layers[2].fshape=1",
                     says="features.3.weight is (6, 2, 3, 1) in the file, and Conv_1/W of the net would be (6, 2, 1, 1) there")
        # A head of other layers begins anew.
        text = without_names(self.read(self.begin("alexnet")).decode()).replace("nout: 5", "nout: 7")
        self.assertEqual(self.said(self.write("o.yaml", text)), "4 of 8 tensors taken; new: Affine_0/W, Affine_0_bias/b, Affine_1/W, Affine_1_bias/b; "
                         "not used: classifier.1.bias, classifier.1.weight, classifier.4.bias, classifier.4.weight")

    def test_another_head_begins_anew_and_all_is_said(self):
        spec = self.begin("resnet")
        state = self.state("resnet")
        state["fc.weight"], state["fc.bias"] = np.ones((10, 6)), np.ones(10)
        del state["layer1.0.bn1.bias"]
        self.write_state({**state, "layer3.0.conv1.weight": np.ones((2, 2, 3, 3)), "conv1.bias": np.ones(4)})
        self.assertEqual(self.said(spec), "29 of 32 tensors taken; new: layer1.0.bn1/beta, fc/W (3, 6) in place of (10, 6), "
                         "fc_bias/b (3) in place of (10); not used: layer3.0.conv1.weight")

    def test_a_batch_norm_that_is_a_layer_takes_the_bias_before_it(self):
        """Frozen, and trained with statistics that hardly move."""
        for norm, freeze in ("", "freeze: 'features*'"), (", rho: 0.999999999", ""):
            spec = self.begin("vgg")
            text = self.read(spec).decode().replace(", batch_norm: true, bn_name: features.1, activation: Rectlin}", "}\n"
                                                    "  - BatchNorm: {name: features.1" + norm + "}\n  - Activation: Rectlin")
            spec = self.write("n.yaml", text.replace("freeze: 'features*'", freeze))
            self.assertRegex(self.said("-d", "f64", "-s", "m.safetensors", spec), "^all [0-9]+ tensors taken$")
            self.check_outputs("vgg")

    def test_what_differs_from_pytorch_is_said(self):
        spec = self.begin("alexnet")
        text = self.read(spec).decode()
        said = self.neon("--model_file", "t.safetensors", self.write("n.yaml", text.replace(
            "  - Dropout: 0.5\n  - Affine: {name: classifier.4", "  - Dropout: 0.5\n  - Activation: Tanh\n  - Affine: {name: classifier.4"))).err
        self.assertIn("warning: a Dropout stands not right before Conv or Affine.", said)
        self.assertNotIn("warning: ", self.neon("--model_file", "t.safetensors", spec).err.replace("warning: OMP", ""))
        said = self.neon("--model_file", "t.safetensors", self.write("n.yaml", text.replace(
            "features.0, init: Kaiming, bias: {Constant: 0}", "features.0, init: Kaiming"))).err
        self.assertIn("warning: features.0 has no bias here, so its outputs are not PyTorch's: features.0.bias of t.safetensors is not used", said)

    def test_statistics_that_do_not_fit_or_are_missing(self):
        spec = self.begin("resnet")
        for part in "running_mean", "running_var", "weight":
            self.write_state({**self.state("resnet"), "bn1." + part: np.ones(3)})
            array = {"running_mean": "gmean", "running_var": "gvar", "weight": "gamma"}[part]
            self.refused(2, "--model_file", "t.safetensors", spec, says=f"bn1.{part} is (3) in the file, and conv1_bnorm/{array} of the net "
                         "would be (4) there")
            state = self.state("resnet")
            del state["bn1." + part]
            self.write_state(state)
            self.assertIn(f"warning: frozen and not in t.safetensors: conv1_bnorm/{array};", self.neon("--model_file", "t.safetensors", spec).err)

    def test_numbers_that_are_no_weights(self):
        spec = self.begin("alexnet")
        self.write("t.safetensors", self.read("t.safetensors").replace(b'"features.0.bias": {"dtype": "F32"', b'"features.0.bias": {"dtype": "I32"'))
        self.refused(3, "--model_file", "t.safetensors", spec, says="features.0.bias is of i32, expected f32, f16, bf16 or f64")

    def test_eps_is_said(self):
        spec = self.begin("resnet")
        said = "note: the running variances of t.safetensors are taken to be for an eps of 1e-05, as PyTorch's are; the net adds 0.001"
        self.assertIn(said, self.neon(spec, "--model_file", "t.safetensors").err)
        self.assertNotIn("variances", self.neon(self.begin("alexnet"), "--model_file", "t.safetensors").err)

    def test_what_does_not_fit_is_refused(self):
        spec = self.begin("resnet")
        for verb in [], ["check"]:
            self.refused(2, *verb, "--model_file", "t.safetensors", spec, "--set", "layers[0].fshape=5", "--set", "layers[0].padding=2",
                         says="t.safetensors does not fit the net: conv1.weight is (4, 3, 3, 3) in the file, and conv1/W of the net "
                         "would be (4, 3, 5, 5) there")
        self.refused(2, "--model_file", "t.safetensors", self.write("o.yaml", without_names(self.read(self.begin("upscaled")).decode())), says=(
            "no layer has the name of one; give layers the names of their modules, as in `name: first`",
            "The modules are first, last, norm, up. Without such names neon knows the order of torchvision's ResNet, DenseNet"))
        self.refused(2, "--model_file", "t.safetensors", self.begin("alexnet"), "--set", "layers[6].transpose=true",
                     says="classifier.4/W lies (nin, nout) by `transpose: true`, which PyTorch has not")
        self.write("net.pth", b"PK\3\4" + bytes(100))
        self.refused(3, "--model_file", "net.pth", self.begin("alexnet"), says=(
            "net.pth: expected a checkpoint (.safetensors); the file looks like a zip archive", "; in Python, `safetensors.torch.save_file("))
        # A file whose names are of neither kind has no weights; a damaged file is named as one.
        spec = self.begin("resnet")
        self.write_state({"a": np.ones(3)})
        self.refused(3, "--model_file", "t.safetensors", spec, says="a sound .safetensors file, but not a checkpoint")
        self.write("t.safetensors", self.read(self.write_state(self.state("resnet")))[:-1])
        self.refused(3, "--model_file", "t.safetensors", spec, says="the file was cut off")


if __name__ == "__main__":
    support.main()
