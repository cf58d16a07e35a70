#!/usr/bin/python3
"""TrainMulticost: the cost of each output and step in the metrics file, beside NumPy's."""
import h5py
import numpy as np

from support import IRIS, Case, main, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz}}
layers:
  - Tree:
    - [{BranchNode: {name: n}}, {Affine: {name: p, nout: 3, init: {Gaussian: {scale: 1}}, activation: Softmax}}]
    - [{BranchNode: {name: n}}, {Affine: {name: q, nout: 3, init: {Gaussian: {scale: 1}}, activation: Softmax}}]
cost: {Multicost: {costs: [CrossEntropyMulti, CrossEntropyMulti], weights: [1, 0.25]}}
optimizer: {GradientDescentMomentum: {learning_rate: 0}}
batch_size: 8
epochs: 2
shuffle: false
metrics: []
callbacks: [TrainMulticost]
"""

OUTPUTS = """\
dataset: {NPZ: {path: d.npz, reconstruct: true}}
layers:
  - Affine: {name: r, nout: 4, init: {Gaussian: {scale: 1}}}
  - Affine: {name: p, nout: 3, init: {Gaussian: {scale: 1}}, activation: Softmax}
outputs: {sample: {cost: MeanSquared, layer: r}, class: {cost: CrossEntropyMulti, weight: 0.5, layer: p}}
optimizer: {GradientDescentMomentum: {learning_rate: 0}}
batch_size: 8
epochs: 2
shuffle: false
callbacks: [TrainMulticost]
"""


class Parts(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(7)
        self.x, self.y = rng.normal(size=(21, 4)).astype("f4"), (np.arange(21) % 3).astype("i4")
        np.savez(self.path("d.npz"), x_train=self.x, y_train=self.y)

    def test_costs_of_outputs_times_their_weights(self):
        self.neon("-r", "1", "-d", "f64", "-s", "m", "-o", "o.h5", self.spec(SPEC))
        stored, wanted = tensors(self.path("m"))[0], []
        for at in 0, 8, 16:
            x, y, row = self.x[at:at + 8].astype("f8"), self.y[at:at + 8], []
            for name, weight in ("p/W", 1), ("q/W", 0.25):
                z = np.exp(x @ np.frombuffer(stored[name][2]).reshape(3, 4).T)
                row.append(-weight * np.log(z[np.arange(len(y)), y] / z.sum(1)).mean())
            wanted.append(row)
        with h5py.File(self.path("o.h5")) as file:
            got = file["multicost/train_allbranches"]
            self.assertEqual((got.dtype, got.attrs["time_markers"]), (np.float64, "minibatch"))
            np.testing.assert_allclose(got[:], wanted * 2, rtol=1e-9)
            np.testing.assert_allclose(got[:].sum(1), file["cost/train"][:], rtol=1e-6)

    def test_ranks_write_the_costs_of_the_whole_batch(self):
        """Of a Tree, and of outputs with a target each. Of 21 samples the last batch has 5."""
        rate = "optimizer.GradientDescentMomentum.learning_rate=0.5"
        for text in SPEC, OUTPUTS:
            self.spec(text)
            for ranks in "1", "2", "3":
                self.neon("-b", "cpu", "-m", ranks, "-r", "1", "-d", "f64", "-o", f"{ranks}.h5", "--set", rate, "s.yaml")
            with h5py.File(self.path("1.h5")) as one:
                wanted = one["multicost/train_allbranches"][:]
                np.testing.assert_allclose(wanted.sum(1), one["cost/train"][:], rtol=1e-6)
            for ranks in "2", "3":
                with h5py.File(self.path(f"{ranks}.h5")) as shared:
                    np.testing.assert_allclose(shared["multicost/train_allbranches"][:], wanted, rtol=1e-12)

    def test_training_is_as_without(self):
        rate = "optimizer.GradientDescentMomentum.learning_rate=0.5"
        self.neon("-r", "1", "-s", "with", "-o", "o.h5", "--set", rate, self.spec(SPEC))
        self.neon("-r", "1", "-s", "without", "--set", rate, "--set", "callbacks=[]", "s.yaml")
        for name in "p/W", "q/W":
            self.assertEqual(tensors(self.path("with"))[0][name], tensors(self.path("without"))[0][name])
        with h5py.File(self.path("o.h5")) as file:
            np.testing.assert_allclose(file["multicost/train_allbranches"][:].sum(1), file["cost/train"][:], rtol=1e-5)

    def test_a_run_in_two_parts_has_the_whole_curve(self):
        rate = "optimizer.GradientDescentMomentum.learning_rate=0.5"
        self.neon("-r", "1", "-s", "whole", "-o", "whole.h5", "--set", rate, self.spec(SPEC))
        self.neon("-r", "1", "-s", "parts", "-o", "parts.h5", "-e", "1", "--set", rate, "s.yaml")
        self.neon("resume", "parts", "-e", "2")
        with h5py.File(self.path("whole.h5")) as whole, h5py.File(self.path("parts.h5")) as parts:
            rows = parts["multicost/train_allbranches"][:]
            self.assertEqual(rows.shape, (6, 2))
            np.testing.assert_array_equal(rows, whole["multicost/train_allbranches"][:])

    def test_what_does_not_fit_is_refused(self):
        self.refused(2, self.spec(IRIS, callbacks="[TrainMulticost]"), says="TrainMulticost: the net has one output, whose cost is cost/train")


if __name__ == "__main__":
    main()
