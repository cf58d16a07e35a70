#!/usr/bin/python3
"""Several targets in NPZ and HDF5 files: their kinds by their values, evaluated against NumPy, and messages."""
import json

import h5py
import numpy as np

import support
from support import Case, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz, targets: {price: p, kind: k, tags: g}}}
layers:
  - Affine: {name: price, nout: 2, inputs: data, init: Kaiming}
  - Affine: {name: kind, nout: 3, inputs: data, init: Kaiming, activation: Softmax}
  - Affine: {name: tags, nout: 2, inputs: data, init: Kaiming, activation: Logistic}
outputs:
  tags: {cost: CrossEntropyBinary, metrics: []}
  price: {cost: MeanSquared, weight: 3, metrics: [MAE]}
  kind: {cost: CrossEntropyMulti}
optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0}}
datatype: f64
batch_size: 8
epochs: 2
"""


class ArrayTargets(Case):
    def arrays(self, count, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(count, 4)).astype(np.float32)
        kind = np.arange(count) % 3
        return {"x": x, "p": (x[:, :2] * 2 + 1).astype(np.float32), "k": kind,
                "g": np.stack([x[:, 0] > 0, x[:, 1] > 0], 1)}

    def write_files(self):
        parts = {"train": self.arrays(24, 1), "test": self.arrays(10, 2)}
        np.savez(self.path("d.npz"), **{f"{name}_{part}": array for part, arrays in parts.items() for name, array in arrays.items()})
        for part, arrays in parts.items():
            with h5py.File(self.path(part + ".h5"), "w") as file:
                for name, array in arrays.items():
                    file["input" if name == "x" else name] = array
        self.hdf5 = SPEC.replace("NPZ: {path: d.npz", "HDF5: {train: train.h5, test: test.h5")

    def test_costs_are_those_of_numpy(self):
        self.write_files()
        spec = self.write("s.yaml", SPEC)
        self.assertIn("targets price (2 numbers), kind (3 classes), tags (2 labels); shares are drawn by the classes of 'kind'\n", self.neon("check", spec).out)
        self.neon("-r", "1", "-s", "m", spec)
        w = {name.split("/")[0]: np.frombuffer(content, np.float64).reshape(shape)
             for name, (kind, shape, content) in tensors(self.path("m"))[0].items() if name.endswith("/W")}
        test = self.arrays(10, 2)
        x = test["x"].astype(float)
        e = np.exp(x @ w["kind"].T)
        p, s = e / e.sum(1, keepdims=True), 1 / (1 + np.exp(-x @ w["tags"].T))
        gap = x @ w["price"].T - test["p"]
        wanted = {"price.cost": 0.5 * np.mean(gap ** 2), "price.MAE": np.mean(np.abs(gap)),
                  "kind.cost": -np.mean(np.log(p[np.arange(10), test["k"]])), "kind.Top1Misclass": np.mean(p.argmax(1) != test["k"]),
                  "tags.cost": -np.mean(np.sum(np.where(test["g"], np.log(s), np.log(1 - s)), 1))}
        wanted["cost"] = wanted["tags.cost"] + 3 * wanted["price.cost"] + wanted["kind.cost"]
        found = json.loads(self.neon("eval", "m", "--format", "json").out)
        self.assertEqual(set(found), set(wanted))
        for name, value in wanted.items():
            self.assertAlmostEqual(found[name], value, delta=1e-6, msg=name)
        # Columns of predictions come in the order of the outputs.
        np.save(self.path("x.npy"), test["x"])
        lines = self.neon("predict", "m", "x.npy").out.splitlines()
        self.assertEqual(lines[0], "sample,tags,tags.0,tags.1,price.0,price.1,kind,kind.output")
        self.assertEqual([line.split(",")[6] for line in lines[1:]], [str(k) for k in p.argmax(1)])
        # The same arrays in HDF5 train the same net.
        self.neon("-r", "1", "-s", "h", self.write("h.yaml", self.hdf5))
        for name, array in tensors(self.path("m"))[0].items():
            self.assertEqual(array, tensors(self.path("h"))[0][name], name)
        self.neon("resume", "-e", "3", "h")

    def test_one_hot_rows_are_classes_and_regression_takes_all_as_numbers(self):
        self.write_files()
        arrays = dict(np.load(self.path("d.npz")))
        for part in "train", "test":
            arrays["k_" + part] = np.eye(3)[arrays["k_" + part]]
        np.savez(self.path("d.npz"), **arrays)
        spec = self.write("s.yaml", SPEC)
        self.assertIn("kind (3 classes)", self.neon("check", spec).out)
        self.neon("-r", "1", "-s", "hot", spec)
        self.write_files()
        self.neon("-r", "1", "-s", "whole", spec)
        self.assertEqual(tensors(self.path("hot"))[0], tensors(self.path("whole"))[0])
        self.refused(2, "check", spec, "--set", "dataset.regression=true",
                     says="outputs: kind: layer kind has 3 outputs, but the target is one number; give the layer that many")

    def test_a_share_in_the_place_of_a_file(self):
        self.write_files()
        spec = self.write("s.yaml", self.hdf5.replace("test: test.h5", "test: 0.25"))
        mend = "a file is expected here, and no share: validation: 0.25 keeps that share of the training samples apart"
        self.refused(3, spec, says=["0.25: no such file", mend])
        said = self.neon("check", spec, code=3).out
        self.assertIn(mend, said)
        self.assertNotIn("until then neon uses", said)  # which is for sets that stand in

    def test_mistakes(self):
        self.write_files()
        spec = self.write("s.yaml", SPEC)
        self.refused(2, spec, "--set", "dataset.classes=3", says="classes: is the number of classes of one target")
        self.refused(2, spec, "--set", "dataset.y_train=p", says="targets and y_train or y_test are both given")
        self.refused(3, spec, "--set", "dataset.targets.kind=kk", says="kk_train")
        whole = dict(np.load(self.path("d.npz")))
        for changes, code, says in (
                ({"k_train": whole["k_train"] + 2}, 2, "d.npz: k_train: its labels are 3 different whole numbers from 2 to 4, not 0 to 2: number classes from 0"),
                ({"k_test": whole["k_test"] + 1}, 3, "d.npz: k_test: row 2 has 3, expected a class from 0 to 2"),
                ({"p_train": whole["p_train"][:20]}, 3, "d.npz: p_train: has shape (20, 2), but there are 24 samples"),
                ({"p_test": whole["p_test"][:, :1]}, 3, "d.npz: p_test: has shape (10, 1), and the target price has 2 numbers in the training samples"),
                ({"g_test": np.full((10, 2), 2)}, 3, "d.npz: g_test: row 0 has 2, expected 0 or 1 for each label"),
                ({"p_train": np.zeros((24, 2, 2))}, 3, "d.npz: p_train: has shape (24, 2, 2), expected (n) or (n, k)")):
            np.savez(self.path("d.npz"), **{**whole, **changes})
            self.refused(code, spec, says=says)


if __name__ == "__main__":
    support.main()
