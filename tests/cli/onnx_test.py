#!/usr/bin/python3
"""neon export --onnx: the file's form, and its outputs by NumPy beside those that neon predicts."""
import json
import os
import re

import numpy as np

import onnx_net
import support
from support import IRIS, MNIST, write_mnist

try:
    import onnx
except ImportError:
    onnx = None

RESULT = re.compile(r"n\.onnx: opset 13, (\d+) nodes?, ([\d,]+) parameters; max \|difference\| (\S+) on (\d+) samples\n")
WRONG_DISK = os.environ.get("WRONG_DISK") or os.path.join(os.path.dirname(os.path.realpath(support.NEON)), "../tests/cli/wrong_disk.so")
HEAD = "Affine: {nout: 10, init: Kaiming, bias: {Constant: 0.1}, activation: Softmax}"


class Onnx(support.Case):
    def check(self):
        if onnx:
            onnx.checker.check_model(onnx.load(self.path("n.onnx")), full_check=True)

    def export(self, most=1e-4):
        """The model, the parameters and the samples of the printed line; the printed difference is less than `most`."""
        out = self.neon("export", "m.safetensors", "--onnx", "n.onnx").out
        self.assertRegex(out, RESULT)
        model = onnx_net.read(self.path("n.onnx"))
        self.check()
        nodes, parameters, difference, samples = RESULT.match(out).groups()
        self.assertEqual(int(nodes), len(model.nodes))
        self.assertLess(float(difference), most)
        return model, int(parameters.replace(",", "")), int(samples)

    def predicted(self, file, classes):
        rows = []
        for line in self.neon("predict", "m.safetensors", file, "--format", "json", "--top_k", str(len(classes))).out.splitlines():
            found = {one["class"]: one["output"] for one in json.loads(line)["top"]}
            rows.append([found[name] for name in classes])
        return np.array(rows)

    def images(self, layers, dataset="MNIST", **changes):
        """The model of a net of those layers, and the ops in it, whose outputs are those that neon predicts."""
        write_mnist(self)
        content = MNIST.replace("dataset: MNIST", f"dataset: {dataset}")
        content = re.sub(r"  - Affine.*\n", "".join(f"  - {layer}\n" for layer in [*layers, HEAD]), content)
        self.neon("-r", "3", "-e", "1", "-w", self.path("mnist"), "-s", "m.safetensors", self.spec(content, **changes))
        model, parameters, samples = self.export()
        self.assertEqual(samples, 64)
        with open(self.path("mnist/t10k-images-idx3-ubyte"), "rb") as file:
            x = np.frombuffer(file.read()[16:], np.uint8).reshape(-1, 1, 28, 28).astype(np.float64)
        expected = self.predicted("mnist/t10k-images-idx3-ubyte", [str(k) for k in range(10)])
        self.assertEqual((model.input, model.output), (("input", 1, ["N", 1, 28, 28]), ("output", 1, ["N", 10])))
        np.testing.assert_allclose(onnx_net.outputs(model, x), expected, rtol=2e-4, atol=2e-6)
        return model, parameters

    def arrays(self, x, t, layers, most=1e-4, **more):
        """The model of a net for these arrays, whose outputs are those that neon predicts for x."""
        np.savez(self.path("d.npz"), x_train=x, y_train=t, x_test=x, y_test=t)
        np.save(self.path("x.npy"), x)
        spec = {"dataset": {"NPZ": {"path": "d.npz"}}, "layers": layers, "cost": "MeanSquared", "epochs": 1,
                "optimizer": {"GradientDescentMomentum": {"learning_rate": 1e-7}}, "batch_size": 8, **more}  # for bytes as they are
        self.write("s.yaml", json.dumps(spec))
        self.neon("-r", "2", "-s", "m.safetensors", "s.yaml")
        model, _, _ = self.export(most)
        lines = self.neon("predict", "m.safetensors", "x.npy", "--format", "json").out.splitlines()
        expected = np.array([json.loads(line)["outputs"] for line in lines])
        found = onnx_net.outputs(model, x.astype(np.int64 if "Gather" in self.ops(model) else np.float64))
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=5e-6)
        return model

    def colours(self):
        rng = np.random.default_rng(5)
        return rng.integers(0, 256, (16, 3, 8, 10), dtype=np.uint8), rng.random((16, 2), np.float32)

    CONV = {"Conv": {"fshape": 3, "padding": 1, "nofm": 4, "init": "Kaiming", "activation": "Rectlin"}}
    NUMBERS = {"Affine": {"nout": 2, "init": "Kaiming", "bias": {"Constant": 0.1}}}

    def test_colours_are_normalized(self):
        x, t = self.colours()
        model = self.arrays(x, t, [self.CONV, self.NUMBERS], normalize=True)
        self.assertEqual(model.input, ("input", 1, ["N", 3, 8, 10]))

    def test_the_middle_of_images_and_their_views(self):
        x, t = self.colours()
        for augment, op in (([{"CenterCrop": {"size": [6, 7]}}], "Slice"), ([{"RandomCrop": {"size": 5, "average": 1}}, {"Flip": {"average": True}}], "Concat"),
                            ([{"RandomCrop": {"pad": 2, "average": 1, "border": "reflect"}}], "Pad"),
                            ([{"RandomCrop": {"pad": 2, "average": 2}}], "Pad"), ([{"RandomCrop": {"pad": 2, "average": 2, "border": "edge"}}], "Pad")):
            model = self.arrays(x, t, [self.CONV, {"Pooling": {"fshape": "all", "op": "avg"}}, self.NUMBERS], augment=augment)
            self.assertIn(op, self.ops(model), augment)
            os.remove(self.path("n.onnx"))

    def test_recurrent_nets_step_by_step(self):
        rng = np.random.default_rng(6)
        x, t = rng.standard_normal((16, 5, 3)).astype(np.float32), rng.random((16, 2), np.float32)
        for layer in "LSTM", "GRU", "Recurrent":
            layers = [{layer: {"output_size": 4, "init": "GlorotUniform"}}, "RecurrentLast", self.NUMBERS]
            model = self.arrays(x, t, layers, dataset={"NPZ": {"path": "d.npz", "sequences": True}})
            self.assertEqual(model.input, ("input", 1, ["N", 5, 3]))
            os.remove(self.path("n.onnx"))

    def test_tokens_and_attention(self):
        layers = [{"Embedding": {"embedding_dim": 6, "init": "Kaiming"}},
                  {"MultiHeadAttention": {"heads": 2, "init": "GlorotUniform"}}, "LayerNorm",
                  {"Affine": {"nout": 5, "init": "Kaiming", "activation": "Gelu"}}, "RecurrentMean",
                  {"Affine": {"nout": 3, "init": "Kaiming", "activation": "Softmax"}}]
        self.write("s.yaml", json.dumps({
            "dataset": {"UniformRandom": {"ntrain": 32, "ntest": 0, "nin": 7, "tokens": 11, "nout": 3}}, "layers": layers,
            "cost": "CrossEntropyMulti", "batch_size": 8, "epochs": 1, "optimizer": {"GradientDescentMomentum": {"learning_rate": 0.1}}}))
        self.neon("-r", "2", "-s", "m.safetensors", "s.yaml")
        model, _, _ = self.export()
        self.assertEqual((model.input, model.output), (("input", 7, ["N", 7]), ("output", 1, ["N", 3])))
        x = np.random.default_rng(8).integers(0, 11, (9, 7))
        np.save(self.path("x.npy"), x.astype(np.int32))
        np.testing.assert_allclose(onnx_net.outputs(model, x), self.predicted("x.npy", ["0", "1", "2"]), rtol=1e-4, atol=1e-6)

    def test_texts_of_different_lengths(self):
        """neon compares outputs for texts of all lengths, padded by -1; here they are no others with more padding."""
        for part in "train", "test":
            for i in range(8):
                self.write(f"t/{part}/{('bad', 'good')[i % 2]}/{i}.txt", f"{('poor', 'fine')[i % 2]} word x{i} " * (1 + i % 3))
        for steps in 12, 20:
            self.write("s.yaml", json.dumps({
                "dataset": {"TextClasses": {"path": "t", "steps": steps}}, "cost": "CrossEntropyMulti", "batch_size": 4, "epochs": 1,
                "layers": [{"Embedding": {"embedding_dim": 5, "init": {"Uniform": {"low": -0.5, "high": 0.5}}}},
                           {"BiLSTM": {"output_size": 3, "init": "GlorotUniform"}}, "RecurrentMean",
                           {"Affine": {"nout": "classes", "init": "GlorotUniform", "activation": "Softmax"}}],
                "optimizer": {"GradientDescentMomentum": {"learning_rate": 0.1}}}))
            self.neon("-r", "2", "-s", "m.safetensors", "s.yaml")
            model, _, _ = self.export()
            os.remove(self.path("n.onnx"))
            steps = model.input[2][1]
            x = np.random.default_rng(9).integers(0, 5, (4, steps))
            padded, other = np.where(np.arange(steps) < 3, x, -1), np.where(np.arange(steps) < 4, x, -1)
            alone = [onnx_net.outputs(model, padded[k:k + 1]) for k in range(4)]
            np.testing.assert_allclose(onnx_net.outputs(model, padded), np.concatenate(alone), rtol=1e-12)
            self.assertGreater(np.abs(onnx_net.outputs(model, padded) - onnx_net.outputs(model, other)).max(), 1e-6)

    def test_groups_and_strides(self):
        x, t = self.colours()
        layers = [{"Conv": {"fshape": [3, 2], "nofm": 4, "init": "Kaiming", "activation": "Tanh"}},
                  {"Conv": {"fshape": 3, "groups": 2, "strides": [2, 1], "dilation": [1, 2], "padding": [1, 2], "nofm": 6, "init": "Kaiming"}},
                  {"Pooling": {"fshape": [2, 3], "op": "max", "strides": 1}}, self.NUMBERS]
        self.assertEqual(self.ops(self.arrays(x, t, layers)).count("Conv"), 2)

    def test_volumes(self):
        rng = np.random.default_rng(4)
        x, t = rng.standard_normal((16, 2, 5, 6, 7)).astype(np.float32), rng.random((16, 2), np.float32)
        conv = {"Conv": {"fshape": [2, 3, 3, 4], "strides": [2, 1, 2], "padding": [0, 1, 1], "init": "Kaiming", "batch_norm": True, "activation": "Tanh"}}
        for layer, op in ({"Pooling": {"fshape": 2, "op": "max"}}, "MaxPool"), ({"Pooling": {"fshape": [2, 1, 2], "op": "avg", "padding": [0, 0, 1]}}, "AveragePool"), \
                ({"Deconv": {"fshape": [2, 3, 2, 3], "strides": [2, 1, 2], "init": "Kaiming"}}, "ConvTranspose"):
            model = self.arrays(x, t, [conv, layer, self.NUMBERS])
            self.assertEqual(model.input, ("input", 1, ["N", 2, 5, 6, 7]))
            self.assertIn(op, self.ops(model))
            os.remove(self.path("n.onnx"))

    def test_windows_over_feature_maps(self):
        x, t = self.colours()
        conv = {"Conv": {"fshape": 3, "nofm": 6, "init": "Kaiming"}}
        for layer, op in ({"LRN": {"depth": 3}}, "AveragePool"), ({"Pooling": {"fshape": {"J": 2}}}, "MaxPool"):
            self.assertIn(op, self.ops(self.arrays(x, t, [conv, layer, self.NUMBERS], 2e-3)))  # outputs of some hundreds
            os.remove(self.path("n.onnx"))
        self.write("s.yaml", self.read("s.yaml").replace(b'"J": 2', b'"J": 2, "R": 2'))
        self.neon("-r", "2", "-s", "m.safetensors", "s.yaml")
        self.refused(2, "export", "m.safetensors", "--onnx", "n.onnx", says="Pooling_0: op pool_max pools rows and feature maps at once")

    def test_numbers_in_their_own_units(self):
        rng = np.random.default_rng(7)
        rows = rng.standard_normal((40, 2))
        self.write("h.csv", "a,b,price\n" + "".join(f"{a:.4f},{b:.4f},{5000 + 300 * (a - b):.2f}\n" for a, b in rows))
        self.write("s.yaml", json.dumps({
            "dataset": {"CSV": {"path": "h.csv", "targets": {"price": "number"}}}, "batch_size": 8, "epochs": 2,
            "layers": [{"Affine": {"name": "price", "nout": 1, "init": "Kaiming"}}], "outputs": {"price": {"cost": "MeanSquared"}},
            "optimizer": {"GradientDescentMomentum": {"learning_rate": 0.1}}}))
        self.neon("-r", "2", "-s", "m.safetensors", "s.yaml")
        model, _, _ = self.export(most=2e-3)  # f32 has numbers near 5000 every 5e-4
        x = np.array([[0.5, -1], [1.5, 2]])
        self.write("x.csv", "a,b\n0.5,-1\n1.5,2\n")
        expected = [json.loads(line)["price"]["outputs"][0] for line in self.neon("predict", "m.safetensors", "x.csv", "--format", "json").out.splitlines()]
        np.testing.assert_allclose(onnx_net.outputs(model, x)[:, 0], expected, rtol=1e-5)
        self.assertGreater(min(expected), 3000)

    def ops(self, model):
        return [node.op for node in model.nodes]

    def test_a_row_of_features(self):
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", self.spec())
        model, parameters, samples = self.export()
        self.assertEqual((parameters, samples), (4 * 8 + 8 * 3, 64))
        self.assertEqual((model.version, model.opset, model.producer), (8, 13, "neon"))
        self.assertEqual((model.input, model.output), (("input", 1, ["N", 4]), ("output", 1, ["N", 3])))
        classes = json.loads(model.metadata["class_names"])
        self.assertEqual(len(classes), 3)
        x = np.array([[5.1, 3.5, 1.4, 0.2], [6.2, 2.9, 4.3, 1.3], [7.7, 3, 6.1, 2.3]], np.float32)
        self.write("x.csv", "".join(",".join(map(str, row)) + "\n" for row in x))
        np.testing.assert_allclose(onnx_net.outputs(model, x.astype(np.float64)), self.predicted("x.csv", classes), rtol=1e-5, atol=1e-7)

    def test_weights_keep_their_names(self):
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", self.spec())
        model, _, _ = self.export()
        for name in "Affine_0/W", "Affine_1/W":
            kind, shape, content = support.tensors(self.path("m.safetensors"))[0][name]
            np.testing.assert_array_equal(model.arrays[name], np.frombuffer(content, np.float32).reshape(shape))

    def test_an_mlp(self):
        model, parameters = self.images(["Affine: {nout: 20, init: Kaiming, bias: {Constant: 0.2}, activation: Rectlin}"])
        self.assertEqual(parameters, 784 * 20 + 20 + 20 * 10 + 10)
        self.assertNotIn("Transpose", self.ops(model))

    def test_a_convnet_with_batch_norm(self):
        model, parameters = self.images(["Conv: {fshape: [5, 5, 4], init: Kaiming, batch_norm: true, activation: Rectlin}", "Pooling: {fshape: 2}",
                                         "Conv: {fshape: [3, 3, 6], strides: 2, padding: 1, init: Kaiming, bias: {Constant: 0.1}, activation: Tanh}",
                                         "Pooling: {fshape: 3, strides: 2, padding: 1, op: avg}"])
        self.assertEqual(parameters, 25 * 4 + 2 * 4 + 9 * 4 * 6 + 6 + 6 * 3 * 3 * 10 + 10)
        ops = self.ops(model)
        self.assertEqual([ops.count(op) for op in ("Conv", "MaxPool", "AveragePool", "Gemm", "Softmax")], [2, 1, 1, 1, 1])
        self.assertEqual(ops.count("Transpose"), 1)  # of the features of the last images

    def test_merges_and_activations(self):
        branch = "{fshape: 3, padding: 1, nofm: 4, init: Kaiming, batch_norm: true, activation: %s}"
        names = ["Rectlin", "{Rectlin: {slope: 0.1}}", "{Explin: {alpha: 0.5}}", "PReLU", "SoftPlus", "Swish", "Mish", "Gelu"]
        layers = ["Conv: " + branch % "Logistic",
                  "MergeSum: [[Conv: " + branch % names[2] + ", Conv: " + branch % names[1] + "], [SkipNode]]",
                  "MergeBroadcast: {layers: [[Conv: " + branch % names[4] + "], [Conv: " + branch % "Tanh" + "], [SkipNode]], merge: depth}",
                  "Pooling: {fshape: all, op: avg}"]
        model, _ = self.images(layers)
        self.assertIn("Concat", self.ops(model))
        self.assertNotIn("Transpose", self.ops(model))

    def test_a_deconvolution(self):
        self.images(["Conv: {fshape: 3, nofm: 3, strides: 3, init: Kaiming, activation: Rectlin}",
                     "Deconv: {fshape: 4, nofm: 2, strides: 2, padding: 1, init: Kaiming, activation: Rectlin}"])

    def test_normalized_images(self):
        self.images(["Affine: {nout: 5, init: Kaiming, activation: Tanh}"], normalize="true")

    def test_16_bits_become_f32(self):
        self.neon("-r", "1", "-e", "1", "-d", "bf16", "-s", "m.safetensors", self.spec())
        said = self.neon("export", "m.safetensors", "--onnx", "n.onnx")
        self.assertIn("note: the net was trained in bf16, and the file's numbers are f32", said.err)
        self.assertEqual(onnx_net.read(self.path("n.onnx")).arrays["Affine_0/W"].dtype, np.float32)

    def test_what_is_refused(self):
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", self.spec())
        self.refused(2, "export", "m.safetensors", "--onnx", "n.onnx", "--npz", says="takes one of --npz, --csv and --onnx FILE, and 2 are given; leave out all but one")
        self.refused(2, "export", "m.safetensors", "--onnx", "n.onnx", "-o", "x", says="leave -o out")
        self.write("mine.onnx", "mine")
        self.refused(3, "export", "m.safetensors", "--onnx", "mine.onnx", says="mine.onnx exists")
        self.assertEqual(self.read("mine.onnx"), b"mine")
        self.refused(2, "export", "m.safetensors", "--onnx", "m.safetensors", "--overwrite", says="is a file that neon reads")

    def test_an_op_without_a_translation(self):
        layers = IRIS.replace("layers:\n", "layers:\n  - BatchNorm: {binary: true}\n")
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", self.spec(layers))
        self.refused(2, "export", "m.safetensors", "--onnx", "n.onnx", says=["BatchNorm", "op shift has no counterpart in ONNX, opset 13"])
        self.assertEqual([name for name in os.listdir(self.folder) if "onnx" in name], [])

    def test_a_file_of_another_net_is_refused(self):
        """A disk that keeps other bytes than neon writes: an activation, a weight, an axis or a number of the form."""
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", self.spec())
        weight = np.frombuffer(support.tensors(self.path("m.safetensors"))[0]["Affine_1/W"][2], np.float32)[:3]
        other = weight * np.float32([1, 1.001, 1])
        differs = ["n.onnx was not written: its outputs differ from neon's by ", ", and rounding to f32 explains "]
        cannot = ["n.onnx was not written: neon cannot compute what it says: "]
        for wrong, by, says in (b"Tanh", b"Relu", differs), (weight.tobytes(), other.tobytes(), differs), \
                (b"Softmax", b"Softmin", cannot + ["Softmin"]), (b"transB", b"transA", cannot):
            environment = {**self.environment, "LD_PRELOAD": WRONG_DISK, "WRONG_FROM": wrong.hex(), "WRONG_TO": by.hex()}
            self.refused(1, "export", "m.safetensors", "--onnx", "n.onnx", environment=environment,
                         says=[*says, "; this is a fault in neon itself, please report it with the checkpoint\n"])
            self.assertEqual([name for name in os.listdir(self.folder) if "onnx" in name], [])
        self.export()

    def test_the_form_by_another_program(self):
        """All files here are looked at by onnx.checker, where it can be imported (Debian: python3-onnx)."""
        if not onnx:
            print("skipped: python3-onnx is not installed, so no file's form is looked at by onnx.checker")
            self.skipTest("python3-onnx is not installed")
        self.neon("-r", "1", "-e", "1", "-s", "m.safetensors", self.spec())
        self.export()


support.main()
