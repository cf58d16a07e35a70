#!/usr/bin/python3
"""Several ranks on CPUs (-m N) compute what one does: the same weights, results, files; runs go on with other numbers
of ranks; a rank that dies or hangs ends all."""
import glob
import json
import os
import re
import signal
import time

import h5py
import numpy as np

import support
from support import Case, tensors

LIMIT = 1e-12  # of weights near 1 in f64, after 20 steps and more
NUMBERS = """\
dataset: {UniformRandom: {ntrain: 38, ntest: 11, nin: 6, nout: 3}}
layers:
  - Affine: {nout: 8, init: Kaiming, activation: Tanh}
  - Dropout: 0.8
  - Affine: {nout: 8, init: Kaiming, activation: RReLU}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {gradient_clip_norm: 0.9}}
ema: 0.9
batch_size: 8
epochs: 4
"""
IMAGES = """\
dataset: {Digits: {ntrain: 44, ntest: 13}}
augment: [RandomCrop: {pad: 2}, Flip: {}, Brightness: [0.6, 1.4]]
layers:
  - Conv: {fshape: [3, 3, 6], init: Kaiming, batch_norm: true, activation: Rectlin}
  - Pooling: {fshape: 2, strides: 2}
  - Conv: {fshape: [3, 3, 8], init: Kaiming, batch_norm: true, activation: Rectlin}
  - Affine: {nout: 10, init: Kaiming, batch_norm: true, activation: Softmax}
cost: CrossEntropyMulti
metrics: [Misclassification, TopKMisclassification: 3]
optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.9}}
parallel: {batch_norm: all}
batch_size: 8
epochs: 4
"""
TEXT = """\
dataset: {Text: {path: text.txt, steps: 8, test_path: test.txt}}
layers:
  - LSTM: {nout: 12, init: Kaiming}
  - Affine: {nout: 10, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: RMSProp
batch_size: 6
epochs: 2
"""
COPIES = """\
dataset: {CopyTask: {length: 6, symbols: 3, ntrain: 45, ntest: 10}}
layers:
  - Embedding: {nout: 4, init: Kaiming}
  - GRU: {output_size: 5, init: Kaiming}
  - Dropout: 0.8
  - Affine: {nout: classes, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 8
buckets: 3
epochs: 4
"""
LONG = """\
dataset: {UniformRandom: {ntrain: 800, ntest: 40, nin: 10, nout: 3}}
layers: [Affine: {nout: 8, init: Kaiming, activation: Tanh}, Affine: {nout: 3, init: Kaiming, activation: Softmax}]
cost: CrossEntropyMulti
optimizer: Adam
batch_size: 4
epochs: 1000000
"""


def arrays(path):
    """Name to array of a checkpoint."""
    kinds = {"F64": "f8", "F32": "f4", "F16": "f2", "I32": "i4", "I64": "i8"}
    return {name: np.frombuffer(data, kinds[kind]).reshape(shape)
            for name, (kind, shape, data) in tensors(path)[0].items()}


def children(process):
    """The ids of the ranks of a running command, rank 0 first."""
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


class Ranks(Case):
    BACKEND = "cpu"

    def train(self, spec, ranks, *options, name=None):
        """The results on stdout, and the arrays of the checkpoint."""
        name = name or f"m{ranks}.safetensors"
        done = self.neon("-b", "cpu", "-d", "f64", "-r", "3", "-m", str(ranks), "-s", name, *options, spec)
        return done, arrays(self.path(name))

    def check_equal(self, got, wanted, limit=LIMIT):
        self.assertEqual(set(got), set(wanted))
        for name, array in wanted.items():
            self.assertEqual(got[name].shape, array.shape, name)
            error = np.max(np.abs(got[name] - array) / (1 + np.abs(array)), initial=0)
            self.assertLess(error, limit, f"{name}: {error}")

    def check_ranks(self, spec, *options, ranks=(2, 3, 4)):
        def results(done):
            """With all digits that are printed."""
            return re.findall(r"^(?:test|validation|training): .*", done.out, re.M)
        one, wanted = self.train(spec, 1, *options)
        for count in ranks:
            done, got = self.train(spec, count, *options)
            self.check_equal(got, wanted)
            self.assertEqual(results(done), results(one))
        return wanted

    def text(self):
        rng = np.random.default_rng(5)
        for name, count in ("text.txt", 700), ("test.txt", 300):
            self.write(name, "abcdefgh i" + "".join(rng.choice(list("abcdefgh i"), count)))
        return self.spec(TEXT)

    def test_dense_net(self):
        """Dropout and random slopes draw as one rank does; the last batch has 6 samples of 8."""
        self.check_ranks(self.spec(NUMBERS))

    def test_a_metric_of_all_samples_together(self):
        """Ranks have the outputs of different samples, 11 in batches of 8."""
        self.check_ranks(self.spec(NUMBERS.replace("nout: 3", "nout: 2"), metrics="[AUC]"))

    def test_last_batch_of_fewer_samples_than_ranks(self):
        self.check_ranks(self.spec(NUMBERS, dataset="{UniformRandom: {ntrain: 33, ntest: 3, nin: 6, nout: 3}}"))

    def test_accumulated_gradients(self):
        """Updates after 3 of 5 steps of an epoch: sums are each rank's own until then."""
        spec = self.spec(NUMBERS, accumulate=3)
        wanted = self.check_ranks(spec)
        for first, then in (2, 1), (1, 3), (2, 2):
            self.train(spec, first, "-e", "1", name="part.safetensors")
            self.neon("resume", "-b", "cpu", "-m", str(then), "-e", "4", "part.safetensors")
            self.check_equal(arrays(self.path("part.safetensors")), wanted)
        # The same number of ranks goes on with the same bits, though nothing was saved between.
        _, undisturbed = self.train(spec, 2)
        for name, array in arrays(self.path("part.safetensors")).items():
            self.assertEqual(array.tobytes(), undisturbed[name].tobytes(), name)

    def test_accumulated_gradients_beside_histograms(self):
        """These show the gradients of a whole batch, which all ranks add up in each step then."""
        self.check_ranks(self.spec(NUMBERS, accumulate=3, callbacks="[Hist: {every: 5, tensors: [W, dW]}]"), ranks=(2,))

    def test_convolutions_with_batch_norm_over_all_ranks(self):
        """Augmented; the last batch has 4 samples, one for each of four ranks."""
        self.check_ranks(self.spec(IMAGES))

    def test_mixed_samples(self):
        """A sample and its partner are of one rank, whatever its share; of the last batch, 9 samples, one has none."""
        for mix in "Mixup", "CutMix":
            spec = self.spec(IMAGES, augment=f"[{mix}, Flip]", batch_size=10, metrics="[Misclassification]",
                             dataset="{Digits: {ntrain: 49, ntest: 13}}")
            self.check_ranks(spec)

    def test_classes_of_different_sizes(self):
        for key in "class_weights: balanced", "sampling: balanced", "class_weights: {3: 0.25, 7: 4}":
            name, value = key.split(": ", 1)
            self.check_ranks(self.spec(IMAGES, **{name: value}), ranks=(2, 3))

    def test_batches_by_length(self):
        """All ranks pad a batch to the same length."""
        self.check_ranks(self.spec(COPIES), ranks=(2, 3))

    def test_accumulated_gradients_of_sequences(self):
        """Steps count by their targets, of all ranks; an update needs the sums of three, also from one epoch to the next."""
        spec = self.spec(COPIES, accumulate=3)
        wanted = self.check_ranks(spec, ranks=(2, 3))
        self.train(spec, 2, "-e", "1", name="part.safetensors")
        self.neon("resume", "-b", "cpu", "-m", "3", "-e", "4", "part.safetensors")
        self.check_equal(arrays(self.path("part.safetensors")), wanted)

    def test_streamed_samples(self):
        """Threads read the share of each rank from shards."""
        support.write_colours(self)
        self.neon("data", "pack", "colours", "packed")
        spec = self.spec(IMAGES.replace("nout: 10", "nout: 2"), metrics="[Misclassification]", epochs=2,
                         dataset="{Shards: {path: packed, stream: true}}")
        wanted = self.check_ranks(spec)
        _, held = self.train(spec, 2, "--set", "dataset.Shards.stream=false", name="held.safetensors")
        self.check_equal(held, wanted)

    def test_streamed_samples_that_are_mixed(self):
        """Of a batch of 10 in pairs two ranks have 4 and 6, three have 2, 4 and 4; of one of 11 three have 2, 4 and 5."""
        support.write_colours(self)
        for mix, batch, ranks in ("Mixup", 10, (2, 3)), ("CutMix", 23, (3,)):  # 80 = 3 * 23 + 11
            self.check_ranks(self.spec(IMAGES.replace("nout: 10", "nout: 2"), metrics="[Misclassification]", epochs=2,
                                       augment=f"[{mix}]", batch_size=batch,
                                       dataset="{ImageFolder: {path: colours, stream: true}}"), ranks=ranks)

    def test_samples_that_cannot_be_read(self):
        """Of a last batch of 4 samples every rank of 3 and more than 4 has the last one, which is bad; or one of the middle."""
        support.write_colours(self)
        spec = self.spec(IMAGES.replace("nout: 10", "nout: 2"), metrics="[Misclassification]", epochs=2,
                         dataset="{ImageFolder: {path: colours, stream: true, on_bad_sample: skip}}")
        for bad in "test/red/9.png", "test/blue/4.png", "train/red/7.png":
            self.write("colours/" + bad, "no image")
            self.check_ranks(spec, ranks=(2, 3, 6))
            said = [re.findall("(?m)^warning: .* left out.*$", self.train(spec, ranks)[0].err) for ranks in (1, 2, 6)]
            self.assertTrue(said[0])
            self.assertEqual(said[1:], [said[0]] * 2)

    def test_carried_states(self):
        """Each rank has its streams; a checkpoint has all of them, also within an epoch."""
        self.check_ranks(self.text())

    def test_batch_norm_of_each_rank(self):
        """Against NumPy: y = w gamma (x - mean of the rank's share) / deviation, gradients by hand, plain descent."""
        rng = np.random.default_rng(3)
        x, t = rng.standard_normal((12, 3)).astype("f4"), rng.standard_normal((12, 2)).astype("f4")
        np.savez(self.path("a.npz"), x_train=x, y_train=t)
        spec = self.write("s.yaml", "dataset: {NPZ: {path: a.npz, regression: true}}\nlayers:\n  - BatchNorm: {eps: 0.01}\n"
                          "  - Affine: {nout: 2, init: {Constant: 0.5}, bias: {Constant: 0}}\ncost: SumSquared\nshuffle: false\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0}}\n"
                          "batch_size: 12\nepochs: 20\n")
        for ranks in 1, 2, 3:
            gamma, beta, w, b = np.ones(3), np.zeros(3), np.full((2, 3), 0.5), np.zeros(2)
            mean, variance = np.zeros(3), np.ones(3)
            for _ in range(20):
                gradients = [np.zeros_like(p) for p in (gamma, beta, w, b)]
                means, variances = np.zeros(3), np.zeros(3)
                for rows in np.split(np.arange(12), ranks):
                    part = x[rows].astype("f8")
                    means += part.mean(axis=0) / ranks
                    variances += part.var(axis=0) / ranks
                    near = (part - part.mean(axis=0)) / np.sqrt(part.var(axis=0) + 0.01)
                    hidden = near * gamma + beta
                    g = (hidden @ w.T + b - t[rows]) / 12  # of the mean over 12 samples of half the squared distance
                    back = g @ w
                    for total, own in zip(gradients, ((back * near).sum(axis=0), back.sum(axis=0), g.T @ hidden, g.sum(axis=0))):
                        total += own
                for p, g in zip((gamma, beta, w, b), gradients):
                    p -= 0.05 * g
                mean, variance = 0.9 * mean + 0.1 * means, 0.9 * variance + 0.1 * variances
            _, got = self.train(spec, ranks)
            wanted = {"gamma": gamma, "beta": beta, "W": w, "gmean": mean, "gvar": variance}
            for name, array in wanted.items():
                (key,) = [key for key in got if key.endswith("/" + name)]
                self.assertLess(np.max(np.abs(got[key] - array)), LIMIT, f"{ranks} ranks: {name}")

    def test_batch_norm_of_all_ranks_with_large_means(self):
        """In f32, a mean near 30000 is rounded by up to 0.002, a tenth of the deviation: without a second reading, the
        variance would be too large, and all normalised numbers off in one direction."""
        rng = np.random.default_rng(3)
        x = (np.array([3e4, 1.7e4, 5e3]) + rng.standard_normal((512, 3)) * [0.02, 0.02, 0.01]).astype("f4")
        np.savez(self.path("a.npz"), x_train=x, y_train=rng.standard_normal((512, 2)).astype("f4"))
        spec = self.write("s.yaml", "dataset: {NPZ: {path: a.npz, regression: true}}\nlayers:\n"
                          "  - BatchNorm: {eps: 1.0e-10, rho: 0}\n  - Affine: {nout: 2, init: Kaiming}\n"
                          "cost: MeanSquared\nshuffle: false\nbatch_size: 512\nepochs: 1\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.1, momentum_coef: 0}}\n"
                          "parallel: {batch_norm: all}\n")
        wanted = self.train(spec, 1)[1]
        for ranks in 2, 3:
            got = self.train(spec, ranks, "-d", "f32")[1]
            for name, array in wanted.items():
                np.testing.assert_allclose(got[name], array, rtol=2e-5, atol=2e-6, err_msg=f"{ranks} ranks: {name}")

    def test_the_same_bits_again(self):
        spec = self.spec(IMAGES)
        first, again = (self.train(spec, 3, name=name)[1] for name in ("a.safetensors", "b.safetensors"))
        for name, array in first.items():
            self.assertEqual(array.tobytes(), again[name].tobytes(), name)

    def test_sixteen_bits(self):
        """Every rank skips the same steps; weights agree as far as bf16 tells."""
        spec = self.spec(NUMBERS, ema=0)
        wanted = self.train(spec, 1, "-d", "bf16")[1]
        self.check_equal(self.train(spec, 2, "-d", "bf16")[1], wanted, limit=0.05)

    def test_a_run_goes_on_with_another_number_of_ranks(self):
        for spec in self.spec(NUMBERS, name="numbers.yaml"), self.text():
            _, wanted = self.train(spec, 1)
            for before, after in (3, 1), (1, 2), (2, 4):
                self.train(spec, before, "-e", "1", name="part.safetensors")
                self.neon("resume", "-b", "cpu", "-m", str(after), "-e", "4" if spec != "s.yaml" else "2", "part.safetensors")
                self.check_equal(arrays(self.path("part.safetensors")), wanted)

    def test_metrics_file(self):
        spec = self.spec(NUMBERS)
        for ranks in 1, 2:
            self.train(spec, ranks, "-o", f"{ranks}.h5", "-l", f"{ranks}.log")
        with h5py.File(self.path("1.h5")) as one, h5py.File(self.path("2.h5")) as two:
            names = []
            one.visit(names.append)
            others = []
            two.visit(others.append)
            self.assertEqual(names, others)
            for name in "cost/train", "cost/loss":
                np.testing.assert_allclose(two[name][:], one[name][:], rtol=1e-12)
        self.assertEqual(glob.glob(self.path("*.part")), [])

    # Faults.

    def started(self, spec, ranks, *options):
        return self.began(self.start("-b", self.BACKEND, "-r", "3", "-m", str(ranks), *options, spec))

    def test_a_rank_that_is_killed_ends_all(self):
        """The line has no note that the rank has written before, as the one on sharded weights."""
        spec = self.spec(LONG, parallel="{optimizer: sharded}")
        for rank in 0, 1, 2:
            child = self.started(spec, 3, "-s", "k.safetensors")
            ids = children(child.pid)
            self.wait_for_saves("k.safetensors")
            os.kill(ids[rank], signal.SIGKILL)
            code, _, err = self.ended(child)
            self.assertEqual(code, 1)
            (line,) = [line for line in err.splitlines() if line.startswith("neon: ")]
            self.assertEqual(line, f"neon: rank {rank} of 3 ({os.uname().nodename}, CPU) was killed (SIGKILL), by "
                             "somebody or for want of memory; the last good checkpoint is k.safetensors")
            for each in ids:
                self.assertFalse(os.path.exists(f"/proc/{each}"))
            self.neon("eval", "-b", "cpu", "k.safetensors")
            os.remove(self.path("k.safetensors"))

    def test_a_rank_that_hangs_ends_all(self):
        child = self.started(self.spec(LONG), 2)
        os.kill(children(child.pid)[1], signal.SIGSTOP)
        code, _, err = self.ended(child, seconds=12)
        self.assertEqual(code, 1)
        self.assertIn("neon: rank 1 of 2", err)
        self.assertIn("has not answered for 8 seconds", err)

    def test_rank_0_may_take_its_time_for_what_it_does_alone(self):
        """It is stopped amid the drawing of feature maps, for longer than the others wait for one that answers nothing."""
        layers = "\n".join(["layers:", *["  - Conv: {fshape: [5, 5, 24], init: Kaiming, activation: Rectlin}"] * 2,
                            "  - Pooling: 4", "  - Affine: {nout: 10, init: Kaiming, activation: Softmax}"])
        child = self.start("-b", "cpu", "-r", "3", "-m", "2", "-s", "m", self.write("s.yaml", (
            f"dataset: {{Digits: {{ntrain: 64, ntest: 200}}}}\n{layers}\ncost: CrossEntropyMulti\noptimizer: Adam\n"
            "batch_size: 64\nepochs: 1\ncallbacks: [GuidedBackprop: {dataset_pct: 100, max_fm: 16}]\n")))
        end = time.monotonic() + 120
        while not os.path.exists(self.path("guided_Conv_0.png")) and time.monotonic() < end:
            time.sleep(0.005)
        rank = children(child.pid)[0]
        os.kill(rank, signal.SIGSTOP)
        self.assertFalse(os.path.exists(self.path("guided_Conv_1.png")))
        end = time.monotonic() + 15
        while child.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        os.kill(rank, signal.SIGCONT)
        code, out, err = self.ended(child, seconds=120)
        self.assertEqual(code, 0, err)
        self.assertIn("trained 1 epoch in", out)

    def test_ranks_end_with_whoever_started_them(self):
        child = self.started(self.spec(LONG), 2)
        ids = children(child.pid)
        child.kill()
        child.communicate(timeout=10)
        end = time.monotonic() + 5
        while any(os.path.exists(f"/proc/{each}") for each in ids) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse([each for each in ids if os.path.exists(f"/proc/{each}")])

    def test_a_signal_saves_once(self):
        spec = self.spec(LONG)
        for number in signal.SIGTERM, signal.SIGINT:
            child = self.started(spec, 3, "-s", "m.safetensors", "-d", "f64")
            child.send_signal(number)
            code, out, err = self.ended(child)
            self.assertEqual(code, 128 + number, err)
            self.assertIn("stopped by", out)
            self.assertEqual(out.count("wrote m.safetensors"), 1)
            self.assertNotIn("neon: ", err)
            self.neon("resume", "-b", "cpu", "-m", "2", "m.safetensors", "-e", "2", code=None)

    def test_a_signal_waits_for_the_update(self):
        """No rank alone has the gradients that were added up until then."""
        spec = self.spec(LONG, accumulate=7)
        child = self.started(spec, 2, "-s", "m.safetensors", "-d", "f64")
        child.send_signal(signal.SIGTERM)
        code, _, err = self.ended(child)
        self.assertEqual(code, 128 + signal.SIGTERM, err)
        position = json.loads(tensors(self.path("m.safetensors"))[1]["neon.position"])
        self.assertTrue(position["step"] % 7 == 0 or position["step_in_epoch"] == 0, position)

    def test_faults_that_all_ranks_have_are_told_once(self):
        spec = self.spec(NUMBERS, cost="Nonsense")
        self.assertEqual(self.refused(2, "-b", "cpu", "-m", "2", spec, says="Nonsense").err,
                         self.refused(2, "-b", "cpu", "-m", "1", spec, says="Nonsense").err)
        diverges = self.spec(NUMBERS, optimizer="{GradientDescentMomentum: {learning_rate: 1.0e+300}}", ema=0)
        self.refused(5, "-b", "cpu", "-d", "f64", "-m", "2", diverges, says="the run diverged")
        self.refused(2, "-b", "cpu", "-m", "2", "/dev/stdin", says="one of them is a pipe", stdin=NUMBERS.encode())

    def test_a_failed_write_is_that_of_rank_0(self):
        self.refused(1, "-b", "cpu", "-m", "2", "-s", "/dev/full/m.safetensors", self.spec(NUMBERS), says="/dev/full")


if __name__ == "__main__":
    support.main()
