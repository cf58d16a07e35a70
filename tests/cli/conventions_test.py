#!/usr/bin/python3
"""The conventions that results depend on: what help says of each, beside what the program computes."""
import json

import numpy as np

import support
from support import tensors

RATE_0 = {"GradientDescentMomentum": {"learning_rate": 0}}
TYPES = {"F32": np.float32, "F64": np.float64}


class Conventions(support.Case):
    def says(self, name, words):
        page = " ".join(self.neon("help", name).out.split())
        self.assertIn(words, page)

    def train(self, layers, x, t, cost="SumSquared", optimizer=RATE_0, options=(), **more):
        """The checkpoint's arrays after training in f64, on all samples at once, one epoch unless `more` says otherwise."""
        np.savez(self.path("d.npz"), x_train=x, y_train=t, x_test=x, y_test=t)
        spec = {"dataset": {"NPZ": {"path": "d.npz"}}, "layers": layers, "cost": cost, "optimizer": optimizer, "epochs": 1,
                "batch_size": len(x), "datatype": "f64", **more}
        self.write("s.yaml", json.dumps(spec))
        self.neon("-r", "1", "-b", "cpu", "-s", "m.safetensors", *options, "s.yaml")
        return {name: np.frombuffer(content, TYPES[kind]).reshape(shape)
                for name, (kind, shape, content) in tensors(self.path("m.safetensors"))[0].items() if kind in TYPES}

    def predicted(self, x):
        np.save(self.path("x.npy"), x)
        lines = self.neon("predict", "m.safetensors", "x.npy", "--format", "json").out.splitlines()
        return np.array([json.loads(line)["outputs"] for line in lines])

    def array(self, values):
        return {"Array": {"val": [float(v) for v in np.ravel(values)]}}

    def close(self, got, expected, most=1e-6):
        np.testing.assert_allclose(got, expected, rtol=most, atol=most)

    def test_weights_without_init(self):
        for layer in "Affine", "Conv":
            self.says(layer, "Default: Kaiming before a rectifier")
        x, layer = np.ones((4, 3), np.float32), {"name": "a", "nout": 5, "activation": "Rectlin"}
        found = [self.train([{"Affine": layer | init}, {"Affine": {"nout": 1, "init": {"Constant": 1}}}], x, x[:, :1])["a/W"]
                 for init in ({}, {"init": "Kaiming"}, {"init": "GlorotUniform"})]
        np.testing.assert_array_equal(found[0], found[1])
        self.assertFalse(np.array_equal(found[0], found[2]))
        self.write("s.yaml", json.dumps({"dataset": {"NPZ": {"path": "d.npz"}}, "layers": [{"Affine": layer}, {"Affine": 1}],
                                         "cost": "SumSquared", "optimizer": "Adam", "batch_size": 4}))
        out = self.neon("check", "s.yaml").out
        self.assertIn("note    the spec gives no init to a: Kaiming\n", out)
        self.assertIn("note    the spec gives no init to Affine_1: GlorotUniform\n", out)
        self.assertIn("Kaiming", self.neon("check", "--resolved", "s.yaml").out)

    def test_matrices_of_a_local_layer_are_those_of_each_place(self):
        # 2 x 3 places of 2 x 2 windows over 2 channels: each has filters (3 maps, R S C = 8).
        x = np.ones((4, 2, 3, 4), np.float32)
        def filters(init):
            layers = [{"Local": {"name": "a", "fshape": [2, 2, 3], "init": init}}, {"Affine": {"nout": 1, "init": {"Constant": 1}}}]
            return self.train(layers, x, x[:, 0, 0, :1])["a/W"]
        found = filters({"Orthonormal": {"scale": 1}})
        self.assertEqual(found.shape, (6, 3, 8))
        self.close(found @ found.transpose(0, 2, 1), np.tile(np.eye(3), (6, 1, 1)))
        self.assertGreater(np.abs(found[0] - found[1]).max(), 0.01)
        # Rows of neon 0.9's matrix (C R S, K) beside the maps (K, R, S, C).
        rows = lambda w: w.reshape(6, 3, 2, 2, 2).transpose(0, 4, 2, 3, 1).reshape(6, 8, 3)
        found = rows(filters({"IdentityInit": {"scale": 0.5, "frozen": False, "matrix": True}}))
        np.testing.assert_array_equal(found, np.tile(0.5 * np.eye(8, 3), (6, 1, 1)))
        found = rows(filters({"SparseEigen": {"sparseness": 2}}))
        np.testing.assert_array_equal((found != 0).sum(axis=2), np.full((6, 8), 2))

    def test_all_layers_with_weights_have_a_default_init(self):
        self.write("book.txt", "the quick fox jumps over the lazy dog " * 20)
        table, glorot = {"init": {"Gaussian": {"scale": 0.02}}}, {"init": "GlorotUniform"}
        layers = [("Embedding", {"embedding_dim": 8}, table), ("LearnedPositions", {}, table),
                  ("BiLSTM", {"output_size": 4}, glorot), ("GRU", {"output_size": 8}, glorot),
                  ("MultiHeadAttention", {"heads": 2}, glorot), ("GatedMLP", {"hidden": 6}, glorot), ("Bias", {}, {"init": {"Constant": 0}})]
        weights = []
        for explicit in False, True:
            net = [{name: keys | (init if explicit else {})} for name, keys, init in layers]
            net.append({"Affine": {"nout": "classes", "activation": "Softmax"} | glorot})
            self.write("s.yaml", json.dumps({"dataset": {"Text": {"path": "book.txt", "steps": 6}}, "layers": net, "epochs": 1,
                                             "cost": "CrossEntropyMulti", "optimizer": RATE_0, "batch_size": 8}))
            out = self.neon("check", "s.yaml").out
            for note in ("Embedding_0, LearnedPositions_0: {Gaussian: {scale: 0.02}}", "Bias_0: {Constant: {val: 0}}",
                         "BiLSTM_0, GRU_0, MultiHeadAttention_0, GatedMLP_0: GlorotUniform"):
                self.assertEqual(f"note    the spec gives no init to {note}\n" in out, not explicit, out)
            self.neon("-r", "1", "-b", "cpu", "-s", "m.safetensors", "s.yaml")
            weights.append({name: content for name, (_, _, content) in tensors(self.path("m.safetensors"))[0].items()})
        self.assertEqual(weights[0], weights[1])
        for name in "DotAttention", "LSTM", "Recurrent":
            self.says(name, "Default: GlorotUniform.")
        self.says("RBM", "Default: {Gaussian: {scale: 0.01}}.")
        self.says("BinaryLinear", "Default: {Uniform: {low: -1, high: 1}}.")

    def test_dropout_scales_in_the_evaluation(self):
        self.says("Dropout", "in training the others are set to 0, in the evaluation all are multiplied by this")
        self.says("Dropout", "With --caffe, training divides the inputs that stay by it, and the evaluation changes nothing")
        x = np.arange(1, 13).reshape(4, 3).astype(np.float32)
        for options, factor in ([], 0.25), (["--caffe"], 1):
            self.train([{"Dropout": 0.25}, {"Linear": {"nout": 1, "init": {"Constant": 1}}}], x, x[:, :1], options=options)
            self.close(self.predicted(x)[:, 0], factor * x.sum(1))

    def test_running_statistics(self):
        self.says("BatchNorm", "The running mean begins at 0, the running variance at 1")
        self.says("BatchNorm", "whose variance is divided by the count n, not n - 1")
        x = np.array([[1, 2], [3, -2], [5, 9]], np.float32)
        found = self.train([{"BatchNorm": {"name": "n", "rho": 0.75}}, {"Linear": {"nout": 1, "init": {"Constant": 1}}}], x,
                           x[:, :1])
        self.close(found["n/gmean"], 0.25 * x.mean(0))
        self.close(found["n/gvar"], 0.75 + 0.25 * x.var(0))  # NumPy's variance is over n

    def test_decay_takes_biases_gamma_and_beta_too(self):
        for rule in "GradientDescentMomentum", "AdamW":
            self.says(rule, "Biases, gamma and beta decay, too; a MultiOptimizer can exempt them")
        x = np.zeros((3, 2), np.float32)  # gives every array but the last bias a gradient of 0, and that one here
        layers = [{"BatchNorm": {"name": "n"}}, {"Affine": {"name": "a", "nout": 1, "init": {"Constant": 2}, "bias": {"Constant": 4}}}]
        for optimizer in {"GradientDescentMomentum": {"learning_rate": 0.5, "wdecay": 0.25}}, \
                {"AdamW": {"learning_rate": 0.5, "wdecay": 0.25}}:
            found = self.train(layers, x, np.full((3, 1), 4, np.float32), optimizer=optimizer)
            self.close(found["n/gamma"], 1 - 0.5 * 0.25)
            self.close(found["a/W"], 2 * (1 - 0.5 * 0.25))
            self.close(found["a_bias/b"], 4 * (1 - 0.5 * 0.25))

    def test_smoothing_is_in_the_reported_cost(self):
        self.says("CrossEntropyMulti", "The reported costs, of the evaluation too, are those of the smoothed targets")
        logits, labels, smoothing = np.array([0.5, -1, 2]), np.array([0, 2, 2, 1], np.int32), 0.25
        layers = [{"Affine": {"nout": 3, "init": {"Constant": 0}, "bias": self.array(logits), "activation": "Softmax"}}]
        self.train(layers, np.ones((4, 2), np.float32), labels, cost={"CrossEntropyMulti": {"smoothing": smoothing}})
        log_p = logits - np.log(np.exp(logits).sum())
        targets = np.eye(3)[labels] * (1 - smoothing) + smoothing / 3
        cost = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)["cost"]
        self.close(cost, -(targets * log_p).sum(1).mean())

    def test_order_of_filters_and_features(self):
        self.says("Conv", "a checkpoint holds W (K,R,S,C): maps, height, width, channels of a group")
        self.says("Deconv", "A checkpoint holds W (C,R,S,K): channels of the input, height, width, maps")
        for layer in "Affine", "Linear":
            self.says(layer, "The features of images are in the order (H,W,C)")
        x = np.random.RandomState(1).randn(2, 3, 4, 5).astype(np.float32)
        w, v = np.random.RandomState(2).randn(2, 2, 3, 3), np.arange(1, 19.0)
        layers = [{"Conv": {"name": "c", "fshape": [2, 3], "nofm": 2, "init": self.array(w)}},
                  {"Affine": {"nout": 1, "init": self.array(v)}}]
        found = self.train(layers, x, x[:, :1, 0, 0])
        self.assertEqual(found["c/W"].shape, (2, 2, 3, 3))
        maps = np.array([[[[(x[n, :, i:i + 2, j:j + 3].transpose(1, 2, 0) * w[k]).sum() for k in range(2)] for j in range(3)]
                          for i in range(3)] for n in range(2)])  # (N,H,W,K)
        self.close(self.predicted(x)[:, 0], maps.reshape(2, -1) @ v, 1e-4)
        flat = np.arange(1, 61.0)
        self.train([{"Affine": {"nout": 1, "init": self.array(flat)}}], x, x[:, :1, 0, 0])
        self.close(self.predicted(x)[:, 0], x.transpose(0, 2, 3, 1).reshape(2, -1) @ flat, 1e-4)
        found = self.train([{"Deconv": {"name": "d", "fshape": [2, 4], "nofm": 7, "init": {"Constant": 0}}},
                            {"Affine": {"nout": 1, "init": {"Constant": 0}}}], x, x[:, :1, 0, 0])
        self.assertEqual(found["d/W"].shape, (3, 2, 4, 7))

    def test_size_of_a_deconvolution(self):
        for layer in "Deconv", "Deconvolution":
            self.says(layer, "an axis of n pixels or steps becomes (n - 1) stride - 2 padding + dilation (filter - 1) + 1")
        x = np.zeros((2, 1, 5, 4), np.float32)
        for size, stride, padding, dilation in (3, 2, 1, 1), (4, 3, 0, 2), (2, 1, 1, 3):
            self.train([{"Deconv": {"fshape": size, "nofm": 2, "strides": stride, "padding": padding, "dilation": dilation,
                                    "init": {"Constant": 0}}}, {"Affine": {"nout": 1, "init": {"Constant": 0}}}], x, x[:, :1, 0, 0])
            height, width = ((n - 1) * stride - 2 * padding + dilation * (size - 1) + 1 for n in (5, 4))
            self.assertIn(f"(2, {height}, {width})", self.neon("summary", "s.yaml").out)

    def test_mean_of_a_window_at_the_border(self):
        self.says("Pooling", "the mean of the pixels that are there, without padding (with --caffe, padding counts as zeros)")
        x = np.ones((2, 1, 4, 4), np.float32)
        layers = [{"Pooling": {"fshape": 3, "strides": 2, "padding": 1, "op": "avg"}}, {"Linear": {"nout": 9, "init": self.array(np.eye(9))}}]
        caffe = [4 / 9, 6 / 9, 2 / 6, 6 / 9, 1, 3 / 6, 2 / 6, 3 / 6, 1 / 4]
        self.train(layers, x, np.zeros((2, 9), np.float32), options=["--caffe"])
        self.close(self.predicted(x)[0], caffe)
        layers[1]["Linear"] = {"nout": 4, "init": self.array(np.eye(4))}
        self.train(layers, x, np.zeros((2, 4), np.float32))
        self.close(self.predicted(x)[0], np.ones(4))

    def test_fans(self):
        self.says("GlorotUniform", "For filters (K,R,S,C), fan_in is R S C and fan_out R S K")
        self.says("GlorotUniform", "for a Deconv's (C,R,S,K) fan_in is R S K and fan_out R S C, as in Keras and PyTorch")
        self.says("Kaiming", "fan_in is R S C of filters (K,R,S,C), R S K of a Deconv's, nin of a linear layer")
        x = np.zeros((2, 16, 4, 4), np.float32)
        # Keras's and PyTorch's fans for 16 channels, 64 maps and filters of 3x3
        fans = {"Conv": (144, 576), "Deconv": (576, 144)}
        bounds = {"GlorotUniform": lambda fan_in, fan_out: (6 / (fan_in + fan_out)) ** 0.5, "Xavier": lambda fan_in, _: (3 / fan_in) ** 0.5}
        for layer, fan in fans.items():
            for init in "GlorotUniform", "Xavier", "Kaiming":
                found = self.train([{layer: {"name": "c", "fshape": 3, "nofm": 64, "init": init}}, {"Affine": {"nout": 1, "init": {"Constant": 0}}}],
                                   x, x[:, :1, 0, 0])["c/W"]
                if init in bounds:
                    bound = bounds[init](*fan)
                    self.assertLessEqual(abs(found).max(), bound)
                    self.assertGreater(abs(found).max(), 0.995 * bound)
                else:  # 9216 numbers: their deviation is within 0.74 % in two cases of three
                    self.assertAlmostEqual(found.std() / (2 / fan[0]) ** 0.5, 1, delta=0.04)
        self.assertAlmostEqual(bounds["GlorotUniform"](*fans["Conv"]), 0.0913, places=4)

    def test_clipping(self):
        self.says("Adam", "a longer one is shortened to this length before the rule uses it. The length is measured before gradient_clip_value")
        self.says("Adam", "larger ones are set to it, with their sign, before gradient_clip_norm shortens the gradient")
        self.says("Adam", "Whether gradient_clip_norm shortens the step instead of the gradient, as neon 1.x did")
        layers = [{"Linear": {"name": "l", "nout": 1, "init": {"Constant": 0}}}]
        x, g = np.array([[3, -4, 1]], np.float32), np.array([3, -4, 1.0])  # the target -1 makes x the gradient
        norm = np.sqrt((g ** 2).sum())
        clipped, rate = np.clip(g, -2, 2), 0.5
        sgd = lambda clip: ("GradientDescentMomentum", -rate * clipped * clip, {})
        rms = lambda g, clip: -rate * clip * g / (np.sqrt(0.05 * g ** 2 + 1e-6) + 1e-6)
        for rule, change, more in sgd(1.5 / norm), ("RMSProp", rms(clipped * 1.5 / norm, 1), {}), \
                ("RMSProp", rms(clipped, 1.5 / norm), {"clip_step": True}):
            found = self.train(layers, x, np.full((1, 1), -1, np.float32), optimizer={
                rule: {"learning_rate": rate, "gradient_clip_norm": 1.5, "gradient_clip_value": 2, **more}})
            self.close(found["l/W"][0], change)

    def test_averages_begin_with_the_weights_and_forget_them(self):
        self.says("ema", "Update t keeps this share of a mean, or (1 + t) / (10 + t) where that is less")
        layers = [{"BatchNorm": {"name": "n"}}, {"Affine": {"name": "a", "nout": 1, "init": {"Constant": 2}}}]
        x = np.array([[1, 2], [3, -2], [5, 9]], np.float32)
        found = self.train(layers, x, x[:, :1], optimizer={"GradientDescentMomentum": {"learning_rate": 0.125}}, ema=0.99)
        for name, begin in ("a/W", 2), ("n/gamma", 1), ("n/gmean", 0), ("n/gvar", 1):
            self.close(found[name + "/ema"], (2 * begin + 9 * found[name]) / 11)

    def test_ties_go_to_the_lower_class(self):
        for metric in "Misclassification", "Accuracy":
            self.says(metric, "of equal outputs the first counts")
        self.says("TopKMisclassification", "equal outputs rank by class index, the lower first")
        labels = np.array([0, 1, 1, 2, 3, 3, 3], np.int32)
        layers = [{"Affine": {"nout": 4, "init": {"Constant": 0}, "activation": "Softmax"}}]
        self.train(layers, np.ones((7, 2), np.float32), labels, cost="CrossEntropyMulti",
                   metrics=["Misclassification", {"TopKMisclassification": {"k": 2}}])
        found = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)
        self.close(found["Top1Misclass"], 6 / 7)
        self.close(found["Top2Misclass"], 4 / 7)

    def test_cross_entropy_of_yes_and_no(self):
        self.says("CrossEntropyBinary", "-sum [t log y + (1 - t) log(1 - y)]")
        logits, t = np.array([0.5, -1]), np.array([[0, 1], [1, 1], [0.25, 0]], np.float32)
        layers = [{"Affine": {"nout": 2, "init": {"Constant": 0}, "bias": self.array(logits), "activation": "Logistic"}}]
        self.train(layers, np.ones((3, 2), np.float32), t, cost="CrossEntropyBinary")
        y = 1 / (1 + np.exp(-logits))
        cost = json.loads(self.neon("eval", "m.safetensors", "--format", "json").out)["cost"]
        self.close(cost, -(t * np.log(y) + (1 - t) * np.log(1 - y)).sum(1).mean())


if __name__ == "__main__":
    support.main()
