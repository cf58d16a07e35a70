#!/usr/bin/python3
"""The place that each value of a spec comes from, and the largest batch that fits."""
import re

import support
from support import IRIS, Case

SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class Explain(Case):
    def explain(self, *arguments):
        return self.neon("check", self.spec(metrics="[Misclassification]"), "--explain", *arguments).out.rstrip("\n")

    def test_the_place_of_a_value(self):
        lines = IRIS.splitlines()
        place = {key: next(i for i, line in enumerate(lines, 1) if key in line) for key in ("batch_size", "nout: 3")}
        at = lambda key, after: f"s.yaml:{place[key]}:{lines[place[key] - 1].index(after) + 1}"
        nout = at("nout: 3", "3")
        self.assertEqual(self.explain("layers[1].nout"), f"layers[1].nout: 3  ({nout})")
        self.assertEqual(self.explain("layers.Affine_1.nout"), f"layers.Affine_1.nout: 3  ({nout})")
        self.assertEqual(self.explain("layers[1].nout", "--set", "layers[1].nout=3"), f"layers[1].nout: 3  (--set, in place of 3 at {nout})")
        batch = at("batch_size", "16")
        self.assertEqual(self.explain("batch_size"), f"batch_size: 16  ({batch})")
        self.assertEqual(self.explain("batch_size", "--set", "batch_size=8"), f"batch_size: 8  (--set, in place of 16 at {batch})")
        spec = self.spec(IRIS.replace("batch_size", "batchsize"), "alias.yaml")
        self.assertEqual(self.neon("check", spec, "--explain", "batch_size").out, f"batch_size: 16  ({batch.replace('s.yaml', 'alias.yaml').replace(':13', ':12')})\n")
        self.assertEqual(self.explain("batch_size", "-z", "8"), "batch_size: 8  (option -z,--batch_size)")
        self.assertEqual(self.explain("batch_size", "--set", "batchsize=8"), f"batch_size: 8  (--set, in place of 16 at {batch})")
        self.assertEqual(self.explain("backend", "-b", "cpu"), "backend: cpu  (option -b,--backend)")
        self.assertEqual(self.explain("backend", "-i", "0"), "backend: gpu  (an option that names GPUs)")
        self.write("options", "batch_size = 4\n")
        self.assertEqual(self.explain("batch_size", "-c", "options"), "batch_size: 4  (options: option -z,--batch_size)")
        self.assertEqual(self.explain("shuffle"), "shuffle: true  (default)")
        self.assertEqual(self.explain("dataset.test", "--set", "dataset.test=20"), "dataset.test: 20  (--set)")
        self.refused(2, "check", "s.yaml", "--explain", "", says="option --explain: its value is empty; give one, or leave the option out")
        self.refused(2, "check", "s.yaml", "--explain", "layers[1].nuot", says=["option --explain: there is no 'nuot' in layers[1].Affine; did you mean nout"])

    def test_values_without_the_names_of_their_parameters(self):
        """A lone value is the first parameter; copies of a Repeat have the places of the original."""
        spec = self.spec(IRIS.replace("layers:\n", "layers:\n  - Dropout: 0.5\n  - MergeSum:\n      - [SkipNode]\n      - [Affine: {nout: 4}]\n"
                                      "  - Repeat: {times: 2, layers: [Affine: {nout: 5}]}\n"), "lone.yaml")
        lines = self.read(spec).decode().splitlines()
        at = lambda line, after: f"lone.yaml:{line}:{lines[line - 1].index(after) + len(after) + 1}"
        for key, value, place in (("layers[0].keep", "0.5", at(3, "Dropout: ")), ("layers[1].layers[1][0].nout", "4", at(6, "nout: ")),
                                  ("layers[2].nout", "5", at(7, "nout: ")), ("layers[3].nout", "5", at(7, "nout: ")),
                                  ("layers[4].nout", "8", at(8, "nout: ")), ("layers[4].activation", "Tanh", at(8, "activation: ")),
                                  ("layers[4].init", "Kaiming", at(8, "init: ")), ("layers[0].name", "", "default")):
            said = self.neon("check", spec, "--explain", key).out
            self.assertTrue(said.startswith(key + ": ") and said.endswith(f"  ({place})\n") and value in said, (said, place))

    def test_all_keys(self):
        keys = self.explain("keys").splitlines()
        self.assertEqual(len(keys), len(set(keys)))
        for key in "batch_size", "dataset.folds", "layers[1].nout", "optimizer.learning_rate":
            self.assertIn(key, keys)
        every = self.explain("all").splitlines()
        self.assertEqual([line.split(": ")[0] for line in every], keys)
        for line in every:
            self.assertRegex(line, r": .*  \((default|s\.yaml:\d+:\d+)\)$")
        resolved = self.write("r.yaml", self.neon("check", "s.yaml", "--resolved").out)
        said = self.neon("check", resolved, "--explain", "all").out
        self.assertEqual(re.sub(r"(?m)  \(.*\)$", "", said).splitlines(), [re.sub(r"  \(.*\)$", "", line) for line in every])

    def test_the_largest_batch(self):
        """The memory that is said to be free holds this batch, and not one of twice its size."""
        spec = self.spec("dataset: {UniformRandom: {nin: [3, 64, 64], nout: 4, ntrain: 200000, ntest: 0, bytes: true}}\n"
                         "layers:\n  - Conv: {fshape: 3, padding: 1, nofm: 64, init: Kaiming, activation: Tanh}\n"
                         "  - Conv: {fshape: 3, padding: 1, nofm: 64, init: Kaiming, activation: Tanh}\n"
                         "  - Pooling: {fshape: all, op: avg}\n  - Affine: {nout: 4, init: Kaiming, activation: Softmax}\n"
                         "cost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 16\nepochs: 1\n", "b.yaml")
        said = self.neon("check", spec).out
        most, free, unit = re.search(r"(?m)^batch   up to about (\d+) samples fit into the ([\d.]+) (\w+) that are free$", said).groups()
        free = float(free) * SIZES[unit]
        needed = []
        for batch in int(most), 2 * int(most):
            size, unit = re.search(r"memory  about ([\d.]+) (\w+): ", self.neon("check", spec, "-z", str(batch)).out).groups()
            needed.append(float(size) * SIZES[unit])
        self.assertLess(needed[0], 1.02 * free)
        self.assertGreater(needed[0], 0.8 * free)
        self.assertGreater(needed[1], free)
        self.assertIn("batch   up to all 120 samples fit into the ", self.neon("check", self.spec()).out)


if __name__ == "__main__":
    support.main()
