#!/usr/bin/python3
"""Batches by length: the costs of their samples are those at full length, and what cannot be sorted is refused."""
import json
import random
import re

import h5py
import numpy as np

import support
from support import Case

NET = """\
layers:
  - GRU: {output_size: 6, init: GlorotUniform}
  - RecurrentLast
  - Affine: {nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 8
epochs: 3
"""
REVERSAL = """\
dataset: {Reversal: {length: 7, symbols: 3, ragged: true, ntrain: 30, ntest: 0}}
layers:
  - Seq2Seq:
      encoder:
        - Embedding: {embedding_dim: 4, init: Kaiming}
        - GRU: {output_size: 6, init: Kaiming}
      decoder:
        - Embedding: {embedding_dim: 4, init: Kaiming}
        - GRU: {output_size: 6, init: Kaiming}
        - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
metrics: []
optimizer: {GradientDescentMomentum: {learning_rate: 1.0e-30}}
epochs: 1
"""
WALKS = "dataset: {Sequences: {path: walks.csv, id: who, target: kind, test: 0}}\n" + NET


class Buckets(Case):
    BACKEND = "cpu"

    def walks(self, count=101, longest=40):
        rng = random.Random(3)
        rows = ["who,x,kind"]
        for i in range(count):
            for _ in range(longest if i == 0 else 1 + int(min(rng.random(), rng.random()) * longest)):
                rows.append(f"{i},{rng.gauss(0.3 if i % 2 else -0.3, 1):.4f},{'ud'[i % 2]}")
        self.write("walks.csv", "\n".join(rows) + "\n")

    def test_samples_cost_what_they_cost_at_full_length(self):
        """Without learning, the mean over an epoch is that of an evaluation of the same samples, and so is each epoch."""
        self.walks()
        spec = self.write("s.yaml", WALKS.replace("0.02", "1.0e-30").replace("test: 0", "test: walks.csv") + "buckets: 4\n")
        orders = []
        for options in [], ["--set", "buckets=[3, 9, 27]"], ["--set", "buckets=1"]:
            self.neon("-d", "f64", "-r", "2", "--eval_freq", "1", "-o", "run.h5", spec, *options)
            with h5py.File(self.path("run.h5")) as file:
                steps = file["cost/train"][:].reshape(3, 13)
                evaluated = file["cost/loss"][:]
            for costs, whole in zip(steps, evaluated):
                self.assertAlmostEqual((sum(costs[:12]) * 8 + costs[12] * 5) / 101, whole, delta=1e-6 * whole)
            self.assertNotEqual(list(steps[0]), list(steps[1]))
            orders.append(steps.tolist())
        self.assertNotEqual(orders[0], orders[1])

    def test_an_order_that_is_not_drawn(self):
        """Samples go by bucket, and in their order: as without buckets from a file that is sorted so."""
        self.walks()
        rows = self.read("walks.csv").decode().splitlines()
        walks = {}
        for row in rows[1:]:
            walks.setdefault(row.split(",")[0], []).append(row)
        self.assertEqual(len(walks), 101)
        bucket = lambda walk: sum(len(walk) > end for end in (3, 9, 27))
        in_order = sorted(walks.values(), key=bucket)
        self.assertNotEqual(in_order, list(walks.values()))
        self.write("sorted.csv", "\n".join([rows[0], *(row for walk in in_order for row in walk)]) + "\n")
        spec = self.write("s.yaml", WALKS + "shuffle: false\n")
        found = []
        for name, *options in ("one", "--set", "buckets=[3, 9, 27]"), ("two", "--set", "dataset.Sequences.path=sorted.csv"):
            self.neon("-d", "f64", "-r", "2", "-s", name, *options, spec)
            found.append({name: np.frombuffer(data) for name, (kind, _, data) in support.tensors(self.path(name))[0].items()
                          if kind == "F64"})
        self.assertEqual(set(found[0]), set(found[1]))
        for name, array in found[0].items():
            np.testing.assert_allclose(array, found[1][name], rtol=1e-10, atol=1e-13, err_msg=name)
        # The same order in every epoch, on several devices and after a resume.
        self.neon("-b", "cpu", "-d", "f64", "-r", "2", "-m", "2", "-e", "1", "-s", "part", "--set", "buckets=[3, 9, 27]", spec)
        self.neon("resume", "-e", "3", "part")
        part = support.tensors(self.path("part"))[0]
        for name, array in found[0].items():
            np.testing.assert_allclose(np.frombuffer(part[name][2]), array, rtol=1e-10, atol=1e-13, err_msg=name)

    def test_targets_have_the_length_of_their_bucket(self):
        """Of sequences that are sorted already, by steps and by labels: batches are the same ones without buckets. A step has
        two frames a label, and the first batches have one or two labels of six."""
        rng = np.random.default_rng(4)
        lengths = np.sort(rng.integers(1, 5, 38))
        x, y = np.full((38, 9, 3), np.nan, np.float32), np.full((38, 6), -1, np.int64)
        for frames, labels, length in zip(x, y, lengths):
            frames[:2 * length] = rng.standard_normal((2 * length, 3))
            labels[:length] = rng.integers(1, 4, length)
        np.savez(self.path("d.npz"), x_train=x, y_train=y)
        head = "dataset: {NPZ: {path: d.npz, sequences: true, label_sequences: true}}\nlayers:\n"
        end = "metrics: []\noptimizer: {Adam: {learning_rate: 0.02}}\nbatch_size: 4\nepochs: 2\nshuffle: false\n"
        net = "  - GRU: {output_size: 6, init: Kaiming}\n  - Affine: {nout: classes, init: Kaiming}\ncost: CTC\n"
        spec, found = self.write("s.yaml", head + net + end), []
        for buckets in "0", "3":
            done = self.neon("-d", "f64", "-r", "2", "-s", "m", "--set", f"buckets={buckets}", spec)
            found.append({name: np.frombuffer(data) for name, (kind, _, data) in support.tensors(self.path("m"))[0].items()
                          if kind == "F64"})
        self.assertRegex(done.err, r"batches of up to \d, \d or 8 steps, and \d, \d or 4 labels: ")
        for name, array in found[0].items():
            np.testing.assert_allclose(found[1][name], array, rtol=1e-9, atol=1e-12, err_msg=name)

    def test_autoencoders_compare_the_steps_of_their_bucket(self):
        """Costs, metrics and weights of sequences that are sorted already are those without buckets; so are evaluations."""
        rng = np.random.default_rng(5)
        lengths, x = np.sort(rng.integers(1, 10, 38)), np.full((38, 9, 2), np.nan, np.float32)
        for steps, length in zip(x, lengths):
            steps[:length] = rng.standard_normal((length, 2))
        np.savez(self.path("d.npz"), x_train=x, x_test=x[::-1][:21])
        spec = self.write("s.yaml", """\
dataset: {NPZ: {path: d.npz, sequences: true, autoencoder: true}}
layers:
  - GRU: {output_size: 5, init: Kaiming}
  - Affine: {nout: 2, init: Kaiming}
cost: MeanSquared
metrics: [RMSE]
optimizer: {Adam: {learning_rate: 0.02}}
batch_size: 4
epochs: 2
shuffle: false
""")
        found, results = [], []
        for buckets in "0", "[2, 5]":
            done = self.neon("-d", "f64", "-r", "2", "-s", "m", "--set", f"buckets={buckets}", spec)
            found.append({name: np.frombuffer(data) for name, (kind, _, data) in support.tensors(self.path("m"))[0].items()
                          if kind == "F64"})
            results.append(json.loads(self.neon("eval", "m", "--format", "json").out))
        self.assertIn("batches of up to 2, 5 or 9 steps: ", done.err)
        for name, array in found[0].items():
            np.testing.assert_allclose(found[1][name], array, rtol=1e-9, atol=1e-12, err_msg=name)
        for name, value in results[0].items():
            if isinstance(value, float): self.assertAlmostEqual(results[1][name], value, delta=1e-9 * abs(value), msg=name)

    def test_decoders_have_the_steps_of_their_bucket(self):
        """A batch of one sample costs what it costs where the decoder goes on through all steps; ranks cut alike."""
        spec, costs = self.write("s.yaml", REVERSAL), []
        for buckets, ranks, batch in ("0", "1", "1"), ("3", "1", "1"), ("3", "1", "6"), ("3", "2", "6"):
            done = self.neon("-b", "cpu", "-d", "f64", "-r", "2", "-m", ranks, "-z", batch, "-o", "run.h5", "--set",
                             f"buckets={buckets}", spec)
            with h5py.File(self.path("run.h5")) as file:
                costs.append(np.sort(file["cost/train"][:]))
        self.assertRegex(done.err, r"batches of up to \d, \d or 7 steps, and \d, \d or 8 labels: ")
        self.assertEqual(len(costs[0]), 30)
        np.testing.assert_allclose(costs[1], costs[0], rtol=1e-12)
        self.assertEqual(len(costs[3]), 5)
        np.testing.assert_allclose(costs[3], costs[2], rtol=1e-12)

    def test_an_evaluation_by_length_is_that_at_full_length(self):
        """Costs, metrics that add up and those of all samples at once, with a last batch that is not full and without one."""
        self.walks()
        more = WALKS.replace("test: 0", "test: walks.csv").replace("batch_size", "metrics: [Misclassification, AUC]\nbatch_size")
        short = "layers:\n  - Conv: {fshape: 4, nofm: 4, init: Kaiming}\n"
        for kind, text in ("recurrent", more), ("filters", more.replace("layers:\n", short)):
            spec = self.write("s.yaml", text)
            self.neon("-d", "f64", "-r", "2", "-s", "m.safetensors", spec)
            results = lambda *options: json.loads(self.neon("eval", "m.safetensors", "--format", "json", *options).out)
            for batch in "7", "8", "101", "512":
                whole = results("-z", batch)
                self.assertIn("AUC_POS_1", whole)
                # A filter of 4 steps does not fit into 3.
                for buckets in "4", "[3, 9, 27]", "1", "[3]":
                    with self.subTest(kind=kind, batch=batch, buckets=buckets):
                        others = results("-z", batch, "--set", f"buckets={buckets}")
                        self.assertEqual(list(others), list(whole))
                        for name, number in whole.items():
                            if isinstance(number, float):
                                self.assertAlmostEqual(others[name], number, delta=1e-13 * abs(number), msg=name)
                            else:
                                self.assertEqual(others[name], number, name)

    def test_ranks_evaluate_by_length_together(self):
        """The samples of a metric that takes them all at once come from several ranks, in the order of the set."""
        self.walks()
        more = WALKS.replace("test: 0", "test: walks.csv").replace("batch_size", "metrics: AUC\nbatch_size").replace("0.02", "1.0e-30")
        spec, seen = self.write("s.yaml", more), set()
        for ranks in "1", "2", "3":
            for buckets in "0", "4":
                out = self.neon("-d", "f64", "-r", "2", "-e", "1", "-m", ranks, "--set", f"buckets={buckets}", spec).out
                seen.add(re.search(r"(?m)^test: AUC_POS_1 [\d.]+ %  test cost [\d.]+", out)[0])
        self.assertEqual(len(seen), 1, seen)

    def test_sequences_that_are_all_too_short_for_a_net_are_evaluated_as_long_ones(self):
        self.walks()
        self.write("short.csv", "who,x,kind\na,0.5,u\na,0.25,u\nb,-1,d\nc,1,u\nc,2,u\nc,3,u\n")
        text = WALKS.replace("test: 0", "test: short.csv").replace("layers:\n", "layers:\n  - Conv: {fshape: 4, nofm: 4, init: Kaiming}\n")
        self.neon("-r", "2", "-s", "m.safetensors", self.write("s.yaml", text))
        whole = self.neon("eval", "m.safetensors").out
        self.assertIn("3 samples", whole)
        for buckets in "2", "[1, 2]":
            self.assertEqual(self.neon("eval", "m.safetensors", "--set", f"buckets={buckets}").out, whole)

    def test_predictions_by_length_are_those_at_full_length(self):
        self.walks(count=300)
        steps = "  - GRU: {output_size: 6, init: GlorotUniform}\n  - Affine: {nout: OUT, init: GlorotUniform}\n"
        rows = [line.split(",") for line in self.read("walks.csv").decode().splitlines()]
        self.write("steps.csv", "\n".join(",".join(row[:2] + [row[1] if i else "y"]) for i, row in enumerate(rows)) + "\n")
        one = "layers:\n" + steps.replace("OUT", "1") + "cost: MeanSquared\noptimizer: Adam\nbatch_size: 8\nepochs: 1\n"
        numbers = "dataset: {Sequences: {path: steps.csv, id: who, target: y, task: regression, test: 0, each_step: true}}\n" + one
        labels = WALKS.replace("test: 0", "test: 0, each_step: true").replace("  - RecurrentLast\n", "")
        for name, text, data in (("classes", WALKS, "walks.csv"), ("numbers", numbers, "steps.csv"), ("labels", labels, "walks.csv"),
                                 ("filters", WALKS.replace("layers:\n", "layers:\n  - Conv: {fshape: 4, nofm: 4, init: Kaiming}\n"), "walks.csv")):
            self.neon("-r", "2", "-s", "m.safetensors", self.write("s.yaml", text))
            whole = self.neon("predict", "m.safetensors", data).out
            self.assertEqual(whole.startswith("sample,classes\n"), name == "labels")
            self.assertGreater(len(whole.splitlines()), 300)
            for buckets in "4", "[3, 9, 27]", "40":
                with self.subTest(name=name, buckets=buckets):
                    self.assertEqual(self.neon("predict", "m.safetensors", data, "--set", f"buckets={buckets}").out, whole)

    def test_samples_keep_their_places_in_an_evaluation_by_length(self):
        self.walks()
        spec = self.write("s.yaml", WALKS.replace("0.02", "1.0e-30").replace("test: 0", "test: walks.csv"))
        worst = []
        for buckets in 0, 4:
            self.neon("-d", "f64", "-r", "2", spec, "--set", f"buckets={buckets}", "-e", "1", environment={"NEON_NO_RUN_FOLDER": ""})
            worst.append(json.loads(self.read(f"runs/s-{len(worst) + 1}/eval.json"))["worst"])
        self.assertGreater(len(worst[0]), 20)
        self.assertEqual(worst[0], worst[1])

    def test_a_run_tells_lengths_and_padding(self):
        self.walks()
        spec = self.write("s.yaml", WALKS + "buckets: [5, 10, 20]\n")
        line = r"batches of up to 5, 10, 20 or 40 steps: \d+ % of the steps are padding, (\d+) % without buckets\n"
        told = re.search(line, self.neon("-r", "1", spec).err)
        self.assertEqual(re.search("buckets " + line, self.neon("check", "-r", "1", spec).out)[0], "buckets " + told[0])
        with open(self.path("walks.csv"), encoding="ascii") as file:
            rows = len(file.readlines()) - 1
        self.assertEqual(int(told[1]), round(100 * (1 - rows / (101 * 40))))

    def test_bench_says_which_batches_it_times(self):
        self.walks()
        spec = self.write("s.yaml", WALKS + "buckets: 3\n")
        self.assertIn("a whole step is the median over batches of all buckets", self.neon("bench", spec).err)
        self.assertNotIn("buckets", self.neon("bench", spec, "--set", "buckets=0").err)

    def test_what_cannot_be_is_refused(self):
        self.walks()
        spec = self.write("s.yaml", WALKS + "buckets: 4\n")
        for value, says in ("-1", "buckets: -1 is not in [0, 64]"), ("[9, 3]", "buckets[1]: the length 3 stands behind 9"), \
                ("[9, 99]", "buckets: has the length 99, and the longest sequences have 40 steps"), ("few", "found 'few'"), \
                ("{a: 1}", "expected a number of buckets or [length, ...]"), ("65", "not in [0, 64]"), ("[0]", "buckets[0]: 0 is not in"):
            for verb in [], ["check"]:
                self.refused(2, *verb, spec, "--set", f"buckets={value}", says=says)
        images = self.write("i.yaml", "dataset: {Digits: {ntrain: 20, ntest: 4}}\nlayers: [Affine: {nout: classes, init: Kaiming, "
                            "activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: Adam\nbuckets: 2\nbatch_size: 5\n")
        for verb in [], ["check"]:
            self.refused(2, *verb, images, says="buckets: sorts sequences of different lengths, and the samples (1, 28, 28) are no sequences")
        short = self.write("c.yaml", WALKS.replace("layers:\n", "layers:\n  - Conv: {fshape: 5, nofm: 4, init: Kaiming}\n"))
        self.refused(2, short, "--set", "buckets=[3, 9]", says=["a filter of 5 steps does not fit", "(`buckets` has batches of 3 steps"])
        # Weights for each step of the longest sequence.
        steps = self.write("p.yaml", WALKS.replace("  - RecurrentLast\n", "  - LearnedPositions: {init: {Gaussian: {scale: 0.02}}}\n  - RecurrentLast\n") + "buckets: 4\n")
        for verb in [], ["check"]:
            self.refused(2, *verb, steps, says="for sequences of")
        self.neon(steps, "--set", "layers[1].LearnedPositions.steps=40", "-e", "1")

    def test_a_run_keeps_its_buckets(self):
        self.walks()
        spec = self.write("s.yaml", WALKS + "buckets: 4\n")
        self.neon("-r", "1", "-s", "m.safetensors", spec, "-e", "1")
        self.refused(2, "resume", "-e", "2", "m.safetensors", "--set", "buckets=3", says="buckets cannot change when a run goes on")
        self.neon("resume", "-e", "2", "m.safetensors")


if __name__ == "__main__":
    support.main()
