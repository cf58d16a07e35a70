#!/usr/bin/python3
"""Padded steps change nothing: of flattened sequences, norms and means over all steps, the last piece of a text."""
import csv
import io
import json
import re

import numpy as np

import support
from support import Case

SCALE = 1  # of bytes that are no images
HEAD = """  - Affine: {name: a, nout: classes, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 4
epochs: 1
"""


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Padding(Case):
    def weights(self):
        self.neon("export", "n.safetensors", "--npz", "-o", "w.npz", "--overwrite")
        return np.load(self.path("w.npz"))

    def train(self, spec, *more):
        self.neon(self.spec(spec, "n.yaml"), "-r", "1", "-d", "f64", "-s", "n.safetensors", "--overwrite", *more)

    def sequences(self, steps):
        """Eight sequences of 2 to 5 steps in arrays of so many, with NaN behind them."""
        rng = np.random.default_rng(3)
        x = np.full((8, steps, 3), np.nan, np.float32)
        for i in range(8):
            x[i, :2 + i % 4] = rng.standard_normal((2 + i % 4, 3))
        np.savez(self.path("x.npz"), x_train=x, y_train=np.arange(8) % 3)
        np.save(self.path("x.npy"), x)
        return x

    def predicted(self, net="n.safetensors"):
        return [row[1:] for row in csv.reader(io.StringIO(self.neon("predict", net, "x.npy").out))][1:]

    def test_flattened_padding_is_zero(self):
        x = self.sequences(5)
        first = "  - Affine: {name: i, nout: 2, bias: {Constant: 0.7}}\n"
        stack = "  - MergeBroadcast: {merge: stack, layers: [[Affine: {name: i, nout: 2, bias: {Constant: 0.7}}]]}\n"
        for layers in first + "  - Reshape: [10]\n", first + "  - Reshape: [2, 5, 1]\n", stack:
            self.train("dataset: {NPZ: {path: x.npz, sequences: true}}\nlayers:\n" + layers + HEAD)
            w = self.weights()
            steps = np.nan_to_num(x) @ w["i/W"].T + w["i_bias/b"]
            steps[np.isnan(x[..., 0])] = 0
            y = softmax(steps.reshape(8, 10) @ w["a/W"].T)
            for (label, share), row in zip(self.predicted(), y):
                self.assertEqual(int(label), row.argmax())
                self.assertAlmostEqual(float(share), row.max(), delta=1e-6)

    def test_norms_over_steps_leave_padding_out(self):
        for groups, layer in (2, "GroupNorm: {name: g, groups: 2, eps: 0.1}"), (4, "InstanceNorm: {name: g, eps: 0.1}"):
            for steps in 5, 9:
                x = self.sequences(steps)
                self.train("dataset: {NPZ: {path: x.npz, sequences: true}}\nlayers:\n"
                           "  - Affine: {name: i, nout: 4, bias: {Constant: 0.7}}\n"
                           f"  - {layer}\n  - RecurrentSum\n" + HEAD)
                w = self.weights()
                for i, (label, share) in enumerate(self.predicted()):
                    own = x[i][:2 + i % 4] @ w["i/W"].T + w["i_bias/b"]
                    parts = own.reshape(len(own), groups, -1)
                    mean, variance = parts.mean((0, 2), keepdims=True), parts.var((0, 2), keepdims=True)
                    normal = ((parts - mean) / np.sqrt(variance + 0.1)).reshape(own.shape)
                    y = softmax((normal * w["g/gamma"] + w["g/beta"]).sum(0) @ w["a/W"].T)
                    self.assertEqual(int(label), y.argmax(), layer)
                    self.assertAlmostEqual(float(share), y.max(), delta=1e-6)

    def test_an_autoencoder_of_sequences_leaves_padding_out(self):
        for steps in 5, 9:
            x = self.sequences(steps)
            np.savez(self.path("x.npz"), x_train=x, x_test=x)
            self.train("dataset: {NPZ: {path: x.npz, sequences: true, autoencoder: true}}\nlayers:\n"
                       "  - Affine: {name: i, nout: 2, bias: {Constant: 0.7}}\n" +
                       HEAD.replace("nout: classes, activation: Softmax", "nout: 3").replace("CrossEntropyMulti", "MeanSquared"))
            w, own = self.weights(), x[~np.isnan(x).any(-1)].astype(float)
            cost = ((own - (own @ w["i/W"].T + w["i_bias/b"]) @ w["a/W"].T) ** 2).mean() / 2
            found = json.loads(self.neon("eval", "n.safetensors", "--format", "json").out)
            self.assertAlmostEqual(found["cost"], cost, delta=1e-6)
            self.neon("predict", "n.safetensors", "x.npy")

    def test_a_mask_of_each_step(self):
        """The mask stands behind the numbers of its step; steps of padding do not count at all."""
        rng = np.random.default_rng(5)
        x = self.sequences(5)
        bytes_ = rng.integers(0, 9, (8, 5, 3)).astype(np.uint8)
        t, mask = rng.normal(size=(8, 5, 2)).astype("f4"), rng.integers(0, 2, (8, 5, 2)).astype("f4")
        for inputs in x, bytes_:
            np.savez(self.path("x.npz"), x_train=inputs, y_train=np.concatenate([t, mask], 2), x_test=inputs,
                     y_test=np.concatenate([t, mask], 2))
            head = HEAD.replace("nout: classes, activation: Softmax", "nout: 2").replace("CrossEntropyMulti", "{GeneralizedCostMask: MeanSquared}")
            self.train("dataset: {NPZ: {path: x.npz, sequences: true}}\nlayers:\n" + head.replace("0.01", "0"))
            steps = np.nan_to_num(inputs.astype(float)) / (1 if inputs is x else SCALE)
            y = steps @ self.weights()["a/W"].T
            counts = ~np.isnan(inputs.astype(float)[..., 0])
            cost = (((y - t) * mask) ** 2).mean(-1)[counts].mean() / 2
            found = json.loads(self.neon("eval", "n.safetensors", "--format", "json").out)
            self.assertAlmostEqual(found["cost"], cost, delta=1e-6)
        self.refused(2, "check", self.spec("dataset: {NPZ: {path: x.npz, sequences: true}}\nlayers:\n" + head.replace("nout: 2", "nout: 3"), "n.yaml"),
                     says="15 outputs")

    def test_more_padding_changes_no_bit_of_a_mean_over_all_steps(self):
        for op in "avg", "l2", "max":
            found = []
            for steps in 5, 6, 13:
                self.sequences(steps)
                self.neon(self.spec("dataset: {NPZ: {path: x.npz, sequences: true}}\nlayers:\n"
                                    f"  - GRU: 4\n  - Pooling: {{fshape: all, op: {op}}}\n"
                                    + HEAD.replace("0.01", "1.0e-30"), "n.yaml"), "-r", "1", "-s", "n.safetensors", "--overwrite")
                found.append(self.predicted())
            self.assertEqual(found[1:], found[:1] * 2, op)

    def test_more_padding_changes_no_bit_of_accumulated_gradients(self):
        lengths, found = [2 + i % 4 for i in range(28)], []
        for steps in 5, 6, 13:
            rng = np.random.default_rng(4)
            x, y = np.full((28, steps, 3), np.nan, np.float32), np.full((28, steps), -1)
            for i, n in enumerate(lengths):
                x[i, :n], y[i, :n] = rng.standard_normal((n, 3)), rng.integers(0, 3, n)
            np.savez(self.path("x.npz"), x_train=x, y_train=y)
            self.train("dataset: {NPZ: {path: x.npz, sequences: true, classes: 3}}\nlayers:\n  - GRU: {name: g, output_size: 4}\n"
                       + HEAD + "accumulate: 3\n")
            found.append({name: array.tobytes() for name, array in self.weights().items()})
        self.assertEqual(found[1:], found[:1] * 2)

    def test_memory_of_a_step_grows_with_the_steps_alone(self):
        """Cells keep states of all steps; attention never holds a number for each pair of them."""
        self.write("a.txt", "abcacb" * 2000)
        for layer in "LSTM: 32", "GRU: 32", "Recurrent: 32", "MultiHeadAttention: {heads: 4, causal: true}":
            spec = self.spec("dataset: {Text: {path: a.txt, steps: 128}}\nlayers:\n  - Embedding: 32\n  - " + layer + "\n" + HEAD, "n.yaml")
            found = []
            for steps in 128, 1024:
                said = self.neon("summary", spec, "--set", f"dataset.Text.steps={steps}").out
                size, unit = re.search(r"a step's arena ([\d.]+) (KiB|MiB)", said).groups()
                found.append(float(size) * {"KiB": 1, "MiB": 1024}[unit])
            self.assertLess(found[1], 8.5 * found[0], layer)

    def test_the_filler_of_the_last_piece_of_a_text_is_seen_by_no_step(self):
        text = "abcabbcacbacbbcaabcb"  # 19 targets: pieces of 6, 6, 6 and 1
        self.write("a.txt", text)
        tokens = np.array(["abc".index(c) for c in text])
        spec = "dataset: {Text: {path: a.txt, test_path: a.txt, steps: 6}}\nlayers:\n  - OneHot\n" \
               "  - Conv: {name: c, fshape: 3, padding: 1, nofm: 4, bias: {Constant: 0.5}, init: GlorotUniform}\n" \
               "  - Pooling: {fshape: 3, strides: 1, padding: 1, op: avg}\n"
        self.train(spec + HEAD.replace("batch_size: 4", "batch_size: 2"))
        w, costs = self.weights(), []
        for at in range(0, 19, 6):
            x, t = np.eye(3)[tokens[at:at + 6][:19 - at]], tokens[at + 1:at + 7]
            padded = np.concatenate([np.zeros((1, 3)), x, np.zeros((1, 3))])
            maps = np.stack([np.einsum("tc,ktc->k", padded[i:i + 3], w["c/W"].reshape(4, 3, 3)) for i in range(len(x))])
            maps = maps + w["c_bias/b"]
            means = np.stack([maps[max(i - 1, 0):i + 2].mean(0) for i in range(len(x))])
            costs.extend(-np.log(softmax(means @ w["a/W"].T)[np.arange(len(x)), t]))
        found = json.loads(self.neon("eval", "n.safetensors", "--format", "json").out)
        self.assertEqual(len(costs), 19)
        self.assertAlmostEqual(found["cost"], np.mean(costs), delta=1e-9)


if __name__ == "__main__":
    support.main()
