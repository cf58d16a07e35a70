#!/usr/bin/python3
"""Predictions for sequences of other lengths than those of training."""
import csv
import io
import re

import h5py
import numpy as np

import support
from support import Case


def rows_of(out):
    return list(csv.reader(io.StringIO(out)))[1:]


class SequenceLengths(Case):
    def longer(self, layers, of_steps=False, more=""):
        """A net trained with 5 steps, and sequences of 12."""
        rng = np.random.default_rng(1)
        x = rng.normal(size=(6, 12, 3)).astype("f4")
        labels = rng.integers(0, 2, (6, 5)) if of_steps else np.arange(6) % 2
        np.savez(self.path("a.npz"), x_train=x[:, :5], y_train=labels)
        np.save(self.path("short.npy"), x[:, :5]), np.save(self.path("long.npy"), x)
        self.neon(self.spec(f"dataset: {{NPZ: {{path: a.npz, sequences: true{more}}}}}\nlayers:\n" + layers +
                            "  - Affine: {name: a, nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\n"
                            "optimizer: {Adam: {learning_rate: 0.03}}\nbatch_size: 2\nepochs: 1\n", "a.yaml"), "-s", "a.safetensors",
                  "-r", "1", "--overwrite")
        return x

    def test_longer_sequences_are_taken_where_the_net_allows(self):
        x = self.longer("  - RecurrentMean\n")
        self.neon("export", "a.safetensors", "--npz", "-o", "w.npz")
        w = np.load(self.path("w.npz"))["a/W"]
        z = x.mean(1) @ w.T
        share = 1 / (1 + np.exp(-abs(z[:, 0] - z[:, 1])))
        for i, (_, label, given) in enumerate(rows_of(self.neon("predict", "a.safetensors", "long.npy").out)):
            self.assertEqual(int(label), z[i].argmax())
            self.assertAlmostEqual(float(given), share[i], delta=1e-6)
        # A step of these nets sees no later one.
        attention = "  - Affine: 4\n  - MultiHeadAttention: {heads: 2, causal: true, rotary: true}\n"
        for layers in "  - LSTM: 4\n", attention, "  - Conv: {fshape: 3, nofm: 4, causal: true}\n":
            self.longer(layers, of_steps=True)
            short, long = (rows_of(self.neon("predict", "a.safetensors", name).out) for name in ("short.npy", "long.npy"))
            for (_, few), (_, all_) in zip(short, long):
                self.assertEqual(len(all_.split()), 12)
                self.assertEqual(all_.split()[:5], few.split())
        self.assertEqual(len(rows_of(self.neon("predict", "a.safetensors", "short.npy", "long.npy").out)), 12)

    def test_steps_end_with_the_net_and_with_the_sequence(self):
        """Of L steps these nets give 2 floor(L / 2) and 2 floor((L + 1) / 2), but at least 2, where L is less than 8."""
        lengths = np.array([8, 7, 5, 3, 6, 2, 1, 4])
        rng = np.random.default_rng(3)
        x = rng.normal(size=(8, 8, 3)).astype("f4")
        labels, numbers = rng.integers(0, 2, (8, 8)), rng.normal(size=(8, 8, 1)).astype("f4")
        x[np.arange(8) >= lengths[:, None]] = np.nan
        np.save(self.path("x.npy"), x)
        fewer, more = "Pooling: {fshape: 2, op: avg}", "Conv: {name: c, fshape: 3, strides: 2, padding: 1, nofm: 3}"
        for layer, given in (fewer, np.maximum(lengths // 2 * 2, 1)), (more, lengths):
            for targets, numeric in (labels, False), (numbers, True):
                said = []
                for ends in lengths, given, np.full(8, 8) if numeric else lengths:
                    # Numbers of padding may be anything, and must not count.
                    y = np.where((np.arange(8) < ends[:, None]).reshape(targets.shape), targets, 1e6 if numeric else -1)
                    np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x, y_test=y)
                    end, cost, more_keys = ("1", "MeanSquared", ", regression: true") if numeric else ("2, activation: Softmax", "CrossEntropyMulti", "")
                    spec = self.write("s.yaml", f"""\
dataset: {{NPZ: {{path: d.npz, sequences: true{more_keys}}}}}
layers: [{layer}, Deconv: {{name: d, fshape: 2, strides: 2, nofm: 4}}, Affine: {{name: a, nout: {end}}}]
cost: {cost}
metrics: [{"MAE" if numeric else "Misclassification"}]
optimizer: {{Adam: {{learning_rate: 0.01}}}}
batch_size: 3
epochs: 1
""")
                    run = self.neon(spec, "-d", "f64", "-r", "1", "-s", "m.safetensors", "--overwrite")
                    warned = "warning: the net has no outputs for the last steps of 3 of 8 training sequences" in run.err
                    self.assertEqual(warned, layer == fewer, run.err)
                    for verb, name, part in ("check", spec, "training"), ("eval", "m.safetensors", "test"):
                        warned = f"steps of 3 of 8 {part} sequences (6 of 7 steps); these targets do not count" in self.neon(verb, name).err
                        self.assertEqual(warned, layer == fewer, verb)
                    rows = rows_of(self.neon("predict", "m.safetensors", "x.npy").out)
                    found = [sum(map(bool, row[1:])) if numeric else len(row[1].split()) for row in rows]
                    self.assertEqual(found, list(given))
                    said.append((rows, self.neon("eval", "m.safetensors", "--format", "json").out))
                self.assertEqual(said[0], said[1])
                if numeric: self.assertEqual(said[0], said[2])

    def test_one_output_of_several_ends_before_the_sequence(self):
        """A warning names this output, and no output is compared with the targets of the steps that it lacks."""
        lengths = np.array([8, 7, 5, 3, 6, 2, 1, 4])
        rng = np.random.default_rng(3)
        x, labels = rng.normal(size=(8, 8, 3)).astype("f4"), rng.integers(0, 2, (8, 8))
        x[np.arange(8) >= lengths[:, None]] = np.nan
        classes = "Affine: {nout: classes, activation: Softmax}"
        for kind, ends_in_eval in ("Tree", True), ("SingleOutputTree", False):
            said = []
            for ends in lengths, np.maximum(lengths // 2 * 2, 1):
                y = np.where(np.arange(8) < ends[:, None], labels, -1)
                np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x, y_test=y)
                spec = self.write("s.yaml", f"""\
dataset: {{NPZ: {{path: d.npz, sequences: true}}}}
layers:
  - {kind}:
      - [Affine: 4, BranchNode: {{name: b}}, {classes}]
      - [BranchNode: {{name: b}}, Pooling: {{fshape: 2, op: avg}}, Deconv: {{fshape: 2, strides: 2, nofm: 4}}, {classes}]
cost: {{Multicost: {{costs: [CrossEntropyMulti, CrossEntropyMulti]}}}}
optimizer: Adam
batch_size: 3
epochs: 1
""")
                runs = self.neon("check", spec), self.neon(spec, "-r", "1", "-s", "m.safetensors", "--overwrite"), self.neon("eval", "m.safetensors")
                for run, part in zip(runs, ("training", "training", "test")):
                    warning = (f"warning: output 2 of 2 has no values for the last steps of 3 of 8 {part} sequences (6 of 7 steps); "
                               "no output is compared with these targets; pad the layers that leave steps out\n")
                    self.assertEqual(warning in run.err, part == "training" or ends_in_eval, run.err)
                said.append((re.search("cost [0-9.]+ ", runs[1].err)[0], runs[2].out if ends_in_eval else ""))
            self.assertEqual(said[0], said[1])

    def test_a_net_of_one_length_says_why_it_takes_no_other(self):
        for layers, why in (("  - Affine: 3\n  - LearnedPositions: {name: p}\n  - RecurrentMean\n", "p/W has numbers for each of 5 steps"),
                            ("  - LearnedPositions: {steps: 9}\n  - RecurrentMean\n",
                             "LearnedPositions has 9 positions for sequences of 12 steps"),
                            ("  - Reshape: [15]\n", "15")):
            self.longer(layers)
            self.refused(3, "predict", "a.safetensors", "long.npy",
                         says="long.npy: its sequences have 12 steps, and the net was trained with 5; it takes no others: ")
            self.refused(3, "predict", "a.safetensors", "long.npy", says=[why, "; give the first 5 steps of longer ones\n"])

    def test_the_advice_to_cut_sequences_is_followed(self):
        """The data set Sequences has steps to set, and arrays have none."""
        self.write("w.csv", "who,x,kind\n" + "".join(f"{who},{k / 4},{who % 2}\n" for who in range(8) for k in range(4)))
        self.write("more.csv", "who,x\n" + "".join(f"{who},{k / 4}\n" for who in (1, 2) for k in range(9)))
        self.write("first.csv", "who,x\n" + "".join(f"{who},{k / 4}\n" for who in (1, 2) for k in range(4)))
        self.neon(self.spec("dataset: {Sequences: {path: w.csv, id: who, target: kind, test: 0}}\nlayers:\n  - Reshape: 4\n"
                            "  - Affine: {nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\noptimizer: Adam\n"
                            "batch_size: 4\nepochs: 1\n", "w.yaml"), "-r", "1", "-s", "w.safetensors")
        said = self.refused(3, "predict", "w.safetensors", "more.csv", says="its sequences have 9 steps, and the net was trained with 4")
        advice = said.err.strip().rsplit("; ", 1)[1]
        self.assertEqual(advice, "--set dataset.steps=4 cuts longer ones")
        cut = self.neon("predict", "w.safetensors", "more.csv", *advice.split()[:2])
        self.assertEqual(cut.out, self.neon("predict", "w.safetensors", "first.csv").out)
        self.assertIn("2 sequences are longer than 4 rows, and their ends are left out", cut.err)

    def test_predict_refuses_what_it_does_not_read_sequences_by(self):
        self.write("w.csv", "who,x,kind\n" + "".join(f"{who},{k / 4},{who % 2}\n" for who in range(8) for k in range(4)))
        end = "layers: [RecurrentLast, Affine: {nout: %s}]\ncost: %s\noptimizer: Adam\nbatch_size: 4\nepochs: 1\n"
        for dataset, layers, keys in (("Sequences: {path: w.csv, id: who, target: kind, test: 0}", end % ("classes, activation: Softmax", "CrossEntropyMulti"),
                                       ("delimiter=tab", "header=true", "id=x")),
                                      ("Windows: {path: w.csv, ignore: [who, kind], steps: 4, test: 0}", end % ("1", "MeanSquared"),
                                       ("steps=3", "horizon=2", "delimiter=tab", "label=kind", "targets=[x]"))):
            self.neon(self.spec(f"dataset: {{{dataset}}}\n" + layers, "w.yaml"), "-r", "1", "-s", "w.safetensors", "--overwrite")
            for key in keys:
                self.refused(2, "predict", "w.safetensors", "w.csv", "--set", "dataset." + key,
                             says=f"--set dataset.{key.split('=')[0]} changes nothing for neon predict")
            self.neon("predict", "w.safetensors", "w.csv", "--set", "dataset.decimal=point")

    def test_lines_of_numbers_for_steps_have_one_width(self):
        x = np.random.default_rng(1).normal(size=(6, 9, 3)).astype("f4")
        np.savez(self.path("a.npz"), x_train=x[:, :5], y_train=x[:, :5, :1])
        np.save(self.path("short.npy"), x[:, :5]), np.save(self.path("long.npy"), x)
        self.neon(self.spec("dataset: {NPZ: {path: a.npz, sequences: true}}\nlayers:\n  - GRU: 4\n  - Affine: 1\ncost: MeanSquared\n"
                            "optimizer: Adam\nbatch_size: 2\nepochs: 1\n", "a.yaml"), "-s", "a.safetensors")
        self.assertEqual({len(row) for row in rows_of(self.neon("predict", "a.safetensors", "long.npy").out)}, {10})
        self.refused(2, "predict", "a.safetensors", "short.npy", "long.npy",
                     says="long.npy: the net gives 9 numbers for each of its sequences, and 5 for those before")

    def test_rows_of_an_id_in_an_array(self):
        rng = np.random.default_rng(5)
        who = np.sort(rng.integers(0, 20, 90))
        rows = np.stack([who, who % 2 + rng.random(90) / 3, who % 2], 1)
        np.savetxt(self.path("w.csv"), rows, delimiter=",", fmt="%.17g")
        np.save(self.path("w.npy"), rows)
        with h5py.File(self.path("w.h5"), "w") as file:
            file["input"] = rows
        found = []
        for name in "w.csv", "w.npy", "w.h5":
            self.neon(self.spec(f"dataset: {{Sequences: {{path: {name}, id: '0', target: '2'}}}}\nlayers:\n  - GRU: 4\n  - RecurrentLast\n"
                                "  - Affine: {name: a, nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\n"
                                "optimizer: Adam\nbatch_size: 4\nepochs: 1\n", "s.yaml"), "-r", "1", "-s", "s.safetensors", "--overwrite")
            found += [self.neon("predict", "s.safetensors", other).out for other in ("w.csv", "w.npy", "w.h5")]
            found.append(self.neon("eval", "s.safetensors").out.replace(name, "w.csv"))
        self.assertEqual(found, found[:4] * 3)
        self.assertEqual(found[:3], found[:1] * 3)
        self.assertEqual(len(found[0].splitlines()), 1 + len(set(who)))

    def test_rows_of_an_id_and_hdf5_may_be_more(self):
        walk = lambda who, n: "".join(f"{who},{k / n},{who % 2}\n" for k in range(n))
        self.write("w.csv", "who,x,kind\n" + "".join(walk(k, 3 + k % 2) for k in range(8)))
        self.write("more.csv", "who,x\n" + "".join(f"{who},{k / 9}\n" for who in (1, 2) for k in range(9)))
        spec = ("dataset: {Sequences: {path: w.csv, id: who, target: kind, test: 0, standardize: false%s}}\nlayers:\n  - RecurrentSum\n"
                "  - Affine: {name: a, nout: classes, activation: Softmax}\ncost: CrossEntropyMulti\n"
                "optimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 4\nepochs: 1\n")
        for more, steps in ("", 9), (", steps: 4", 4):
            self.neon(self.spec(spec % more, "w.yaml"), "-r", "1", "-s", "w.safetensors", "--overwrite")
            self.neon("export", "w.safetensors", "--npz", "-o", "w.npz", "--overwrite")
            z = np.load(self.path("w.npz"))["a/W"][:, 0] * sum(k / 9 for k in range(steps))
            said = self.neon("predict", "w.safetensors", "more.csv")
            self.assertEqual("2 sequences are longer than 4 rows" in said.err, steps == 4)
            for name, kind, share in rows_of(said.out):
                self.assertAlmostEqual(float(share), 1 / (1 + np.exp(-abs(z[0] - z[1]))), delta=1e-6)
        x = self.longer("  - RecurrentMean\n")
        with h5py.File(self.path("long.h5"), "w") as file: file["input"] = x
        np.savez(self.path("long.npz"), x_test=x)
        for name in "long.h5", "long.npz":
            self.assertEqual(*(self.neon("predict", "a.safetensors", file).out for file in ("long.npy", name)))


if __name__ == "__main__":
    support.main()
