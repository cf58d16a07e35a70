#!/usr/bin/python3
"""Targets that are images: they move as their samples do, and may hold a class for each pixel. By NumPy's formulas."""
import json

import h5py
import numpy as np

import support
from support import Case, png_pixels, tensors

SPEC = """\
dataset: {NPZ: {path: d.npz}}
layers:
  - Conv: {name: c, fshape: 1, nofm: 1, init: {Constant: 0.5}, bias: {Constant: 0}}
cost: MeanSquared
optimizer: {GradientDescentMomentum: {learning_rate: 1, momentum_coef: 0.9}}
batch_size: 16
epochs: 150
metrics: []
"""
CLASSES = """\
dataset: {NPZ: {path: d.npz}}
layers:
  - Conv: {name: c, fshape: 1, nofm: 3, init: Gaussian, bias: {Constant: 0}, activation: {PixelwiseSoftmax: {c: 3}}}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.5, momentum_coef: 0}}
batch_size: 10
epochs: 1
metrics: [Misclassification, MeanIoU]
"""


def softmax(z):
    """Of (n, K, H, W) by pixel."""
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def voc_colours(classes, count):
    """The colour map of the Pascal VOC devkit."""
    colours = np.zeros((count, 3), np.uint8)
    for k in range(count):
        c = k
        for j in range(8):
            for channel in range(3):
                colours[k, channel] |= (c >> channel & 1) << (7 - j)
            c >>= 3
    return colours[classes]


class Sheets(Case):
    def cells(self, name, count, height, widths):
        """Pictures side by side of each sample; samples are eight in a row, all two pixels apart."""
        sheet, along = png_pixels(self.read(name)), sum(widths) + 2 * len(widths)
        out = []
        for k in range(count):
            top, left = 2 + k // 8 * (height + 2), 2 + k % 8 * along
            lefts = [left + sum(widths[:i]) + 2 * i for i in range(len(widths))]
            out.append([sheet[top:top + height, at:at + width] for at, width in zip(lefts, widths, strict=True)])
        return out

    def grey(self, x, low, high):
        return np.repeat(np.rint(255 * (x - low) / (high - low)).astype(np.uint8)[:, :, None], 3, 2)

    def test_classes_of_pixels_stand_beside_the_sample(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        rng = np.random.default_rng(4)
        y = rng.integers(0, 3, (20, 5, 7))
        x = (rng.integers(0, 40, (20, 3, 5, 7)) + 200 * (y[:, None] == np.arange(3)[:, None, None])).astype(np.uint8)
        np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
        np.save(self.path("x.npy"), x[:10])
        self.neon(self.write("s.yaml", CLASSES), "-r", "1", "--set", "optimizer.learning_rate=0")
        said = self.neon("eval", "runs/s-1", "--sheet", "worst.png").err
        self.assertIn("wrote worst.png: the 10 worst samples, row by row, and beside each its target and the net's output\n", said)
        order = [int(row.split(":")[0].split()[-1]) for row in said.splitlines() if row.startswith("  sample ")]
        out = self.neon("predict", "runs/s-1", "x.npy", "--sheet", "first.png")
        predicted = np.array([row.split(",")[1:] for row in out.out.splitlines()[1:]], int).reshape(10, 5, 7)
        self.assertGreater(len(np.unique(predicted)), 1)
        self.assertIn("the first 10 samples, row by row, and beside each the classes of its pixels\n", out.err)
        shown = json.loads(self.read("runs/s-1/eval.json"))
        self.assertEqual((shown["cell"], shown["beside"]), ([5, 25], "its target and the net's output"))
        for name, samples in ("worst.png", order), ("runs/s-1/worst.png", [one["sample"] for one in shown["worst"]]), \
                ("runs/s-1/predictions.png", [one["sample"] for one in shown["predictions"]]):
            self.assertEqual(sorted(samples), list(range(10)))
            for i, (image, truth, guess) in zip(samples, self.cells(name, 10, 5, [7, 7, 7]), strict=True):
                np.testing.assert_array_equal(image, x[i].transpose(1, 2, 0))
                np.testing.assert_array_equal(truth, voc_colours(y[i], 3))
                np.testing.assert_array_equal(guess, voc_colours(predicted[i], 3))
        for i, (image, guess) in enumerate(self.cells("first.png", 10, 5, [7, 7])):
            np.testing.assert_array_equal(image, x[i].transpose(1, 2, 0))
            np.testing.assert_array_equal(guess, voc_colours(predicted[i], 3))
        self.neon("plot", "runs/s-1", "-o", "page.html")
        self.assertIn(b"Beside each sample: its target and the net", self.read("page.html"))

    def test_reconstructions_and_images_stand_beside_the_sample(self):
        """A colour image in colours, in the range of the samples; by the weights of the net."""
        x = np.random.default_rng(5).integers(0, 256, (12, 3, 4, 5), dtype=np.uint8)
        np.savez(self.path("d.npz"), x_train=x, x_test=x[:9], y_train=np.zeros(12, int), y_test=np.zeros(9, int))
        np.save(self.path("x.npy"), x[:9])
        net = SPEC.replace("nofm: 1, init: {Constant: 0.5}, bias: {Constant: 0}", "nofm: 3, init: {Constant: 0.25}, bias: {Constant: 9}")
        self.neon(self.write("s.yaml", net.replace("{path: d.npz}", "{path: d.npz, autoencoder: true}")), "-r", "1", "-e", "1", "-z", "4", "-s", "m",
                  "--set", "optimizer.learning_rate=0")
        wanted = np.clip(np.rint(0.25 * x.sum(1, keepdims=True) + 9), 0, 255).repeat(3, 1)
        said = self.neon("eval", "m", "--sheet", "worst.png").err
        self.assertIn("row by row, and beside each its reconstruction\n", said)
        order = [int(row.split(":")[0].split()[-1]) for row in said.splitlines() if row.startswith("  sample ")]
        self.neon("predict", "m", "x.npy", "--sheet", "first.png")
        for name, samples in ("worst.png", order), ("first.png", range(9)):
            for i, (image, made) in zip(samples, self.cells(name, 9, 4, [5, 5]), strict=True):
                np.testing.assert_array_equal(image, x[i].transpose(1, 2, 0))
                np.testing.assert_allclose(made.astype(int), wanted[i].transpose(1, 2, 0), atol=1)
        x = np.random.default_rng(7).uniform(0, 1, (12, 3, 4, 5)).astype("f4")
        y = np.random.default_rng(6).uniform(-1, 1, (12, 1, 4, 5)).astype("f4")
        np.savez(self.path("d.npz"), x_train=x, x_test=x[:9], y_train=y, y_test=y[:9])
        self.neon(self.write("s.yaml", SPEC), "-r", "1", "-e", "1", "-z", "4", "-s", "m", "--overwrite", "--set", "optimizer.learning_rate=0")
        said = self.neon("eval", "m", "--sheet", "worst.png").err
        order = [int(row.split(":")[0].split()[-1]) for row in said.splitlines() if row.startswith("  sample ")]
        low, high = y[order].min(), y[order].max()
        made = 0.5 * x.sum(1)
        for i, (image, truth, guess) in zip(order, self.cells("worst.png", 9, 4, [5, 5, 5]), strict=True):
            wanted = 255 * (x[i] - x[:9].min()) / (x[:9].max() - x[:9].min())
            np.testing.assert_allclose(image.astype(int), wanted.transpose(1, 2, 0), atol=1)
            np.testing.assert_allclose(truth.astype(int), self.grey(y[i, 0], low, high), atol=1)
            np.testing.assert_allclose(guess.astype(int), self.grey(np.clip(made[i], low, high), low, high), atol=1)
        np.save(self.path("x.npy"), x[:9])
        said = self.neon("predict", "m", "x.npy", "--sheet", "first.png", "--overwrite").err
        self.assertIn("the first 9 samples, row by row, and beside each the net's output\n", said)
        for i, (image, guess) in enumerate(self.cells("first.png", 9, 4, [5, 5])):
            np.testing.assert_allclose(guess.astype(int), self.grey(made[i], made[:9].min(), made[:9].max()), atol=1)


class Targets(Case):
    def images(self, n=32, size=(8, 6), channels=1, seed=1):
        return np.random.default_rng(seed).uniform(0, 1, (n, channels, *size)).astype("f4")

    def save(self, x, y, x_test=None, y_test=None):
        arrays = dict(x_train=x, y_train=y)
        np.savez(self.path("d.npz"), **arrays, **(dict(x_test=x_test, y_test=y_test) if x_test is not None else {}))

    def cost(self, *arguments):
        self.neon("-r", "1", "-d", "f64", "-s", "m", *arguments)
        return json.loads(self.neon("eval", "m", "--format", "json").out)["cost"]

    def weights(self):
        stored = tensors(self.path("m"))[0]
        get = lambda name: np.frombuffer(stored[name][2], {"F64": "f8", "F32": "f4"}[stored[name][0]])
        return get("c/W"), get("c_bias/b")

    def test_what_moves_pixels_moves_targets(self):
        """y = 1 - x is learnt exactly, wherever the pixels go; beyond the border both are 0 but with edge and reflect."""
        x = self.images(channels=1)
        for y in 1 - x, (1 - x)[:, 0]:
            self.save(x, y, x, y)
            for augment in "[]", "[Flip]", "[{RandomCrop: {size: 5}}]", "[{RandomCrop: {pad: 2, border: edge}}, Flip]", \
                    "[Flip, {RandomCrop: {pad: 2, border: reflect}}]", "[{RandomScale: {area: [0.3, 1]}}, Flip]", \
                    "[{RandomScale: {size: 3, area: [0.5, 1]}}]", "[Flip, {RandomScale: {size: 5}}, Flip, {RandomCrop: {size: 4}}]":
                self.assertLess(self.cost(self.spec(SPEC, augment=augment)), 1e-9, augment)

    def test_colours_stay_as_they_are_in_targets(self):
        """With y = x and pixels of one factor f a sample, the best weight is E[f] / E[f^2]."""
        x = self.images(n=400)
        self.save(x, x)
        self.neon("-r", "1", "-d", "f64", "-s", "m",
                  self.spec(SPEC, augment="[{Brightness: {range: [0.5, 1.5]}}]", batch_size="400", epochs="150"))
        w, b = self.weights()
        # Of y = x against w f x + b, f uniform in [0.5, 1.5]: normal equations by the moments of x and f.
        m1, m2, f1, f2 = x.mean(), (x.astype("f8") ** 2).mean(), 1, 1 + 1 / 12
        solved = np.linalg.solve([[f2 * m2, f1 * m1], [f1 * m1, 1]], [f1 * m2, m1])
        np.testing.assert_allclose([w[0], b[0]], solved, atol=0.03)
        self.assertLess(w[0], 0.98)

    def middle(self, x, size):
        top, left = (x.shape[-2] - size) // 2, (x.shape[-1] - size) // 2
        return x[..., top:top + size, left:left + size]

    def scaled(self, x, size, nearest):
        """The largest square in the middle, sampled at the middles of size x size parts."""
        height, width = x.shape[-2:]
        side = min(height, width)
        rows, columns = ((length - side) / 2 + (np.arange(size) + 0.5) * side / size for length in (height, width))
        if nearest:
            return x[..., np.floor(rows).astype(int), :][..., np.floor(columns).astype(int)]
        x = np.apply_along_axis(lambda line: np.interp(rows - 0.5, np.arange(height), line), -2, x.astype("f8"))
        return np.apply_along_axis(lambda line: np.interp(columns - 0.5, np.arange(width), line), -1, x)

    def test_an_evaluation_takes_the_middle_of_both(self):
        rng = np.random.default_rng(2)
        x, t = self.images(size=(9, 8)), rng.uniform(0, 1, (32, 1, 9, 8)).astype("f4")
        whole = rng.integers(0, 9, (32, 1, 9, 8)).astype("i4")
        for y, integers in (t, False), (whole, True):
            self.save(x, y, x, y)
            for augment, moved in (("[{RandomCrop: {size: 4}}]", lambda a, nearest: self.middle(a, 4)),
                                   ("[{RandomScale: {size: 5}}]", lambda a, nearest: self.scaled(a, 5, nearest))):
                spec = self.spec(SPEC, augment=augment, epochs="1", optimizer="{SGD: {learning_rate: 0}}",
                                 dataset="{NPZ: {path: d.npz, regression: true}}")
                wanted = 0.5 * ((0.5 * moved(x, False) - moved(y, integers)) ** 2).mean()
                self.assertAlmostEqual(self.cost(spec), wanted, delta=1e-6 * wanted)

    def test_targets_that_cannot_move_alike_are_refused(self):
        x = self.images(size=(8, 8))
        self.save(x, x[:, :, :4, :4])
        spec = self.spec(SPEC.replace("  - Conv", "  - Pooling: {fshape: 2}\n  - Conv"), augment="[Flip]")
        self.refused(2, spec, says="augment: moves pixels of samples (1, 8, 8), and targets (1, 4, 4) are not of their size")
        self.neon("-e", "1", spec, "--set", "augment=[Brightness]")
        with h5py.File(self.path("d.h5"), "w") as file:
            file["input"], file["output"] = x.reshape(32, -1), x.reshape(32, -1)
            file["input"].attrs["lshape"] = 1, 8, 8
        rows = self.spec(SPEC, dataset="{HDF5: {train: d.h5}}", augment="[Flip]")
        self.refused(2, rows, says="targets in rows of 64 numbers; give targets as images (n, C, H, W)")
        with h5py.File(self.path("d.h5"), "a") as file:
            del file["output"]
            file["output"] = (1 - x).reshape(32, 1, 8, 8)
        self.assertLess(float(json.loads(self.neon("-r", "1", "-s", "m", rows, "--set", "dataset.test=d.h5").out and
                                         self.neon("eval", "m", "--format", "json").out)["cost"]), 1e-6)

    def test_cutout_covers_the_target_where_that_is_asked_for(self):
        """With all of y covered where x is, y = 1 - x is 0 there and 1 - 0 without."""
        x = self.images()
        self.save(x, x, x, x)
        for target, least, most in (False, 0.003, 1), (True, 0, 1e-9):
            spec = self.spec(SPEC, augment=f"[{{Cutout: {{size: 5, target: {str(target).lower()}}}}}]")
            cost = self.cost(spec)
            self.assertGreaterEqual(cost, 0)
            if target:
                self.assertLess(cost, most)
            else:
                w, b = self.weights()
                self.assertGreater(abs(b[0]), least, "what is covered pulls the bias up")


class Classes(Case):
    def data(self, n=40, shape=(4, 6, 5), dtype="i4", seed=3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (n, *shape)).astype("f4")
        return x, x[:, :3].argmax(1).astype(dtype)

    def save(self, x, y, x_test, y_test):
        np.savez(self.path("d.npz"), x_train=x, y_train=y, x_test=x_test, y_test=y_test)

    def logits(self, x, name="m"):
        stored = tensors(self.path(name))[0]
        w = np.frombuffer(stored["c/W"][2]).reshape(3, x.shape[1])
        return np.einsum("kc,nchw->nkhw", w, x.astype("f8")) + np.frombuffer(stored["c_bias/b"][2])[:, None, None]

    def test_cost_and_metrics_are_those_of_pixels(self):
        for dtype, sides in ("i4", 3), ("u1", 3), ("i8", 4), ("u1", 4):
            (x, y), (x_test, y_test) = self.data(dtype=dtype), self.data(17, dtype=dtype, seed=4)
            self.save(x, y if sides == 3 else y[:, None], x_test, y_test if sides == 3 else y_test[:, None])
            self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(CLASSES))
            got = json.loads(self.neon("eval", "m", "--format", "json").out)
            p = softmax(self.logits(x_test))
            true, found = y_test, p.argmax(1)
            cost = -np.log(np.take_along_axis(p, true[:, None].astype(int), 1)).mean()
            ious = [((true == k) & (found == k)).sum() / ((true == k) | (found == k)).sum() for k in range(3)]
            self.assertAlmostEqual(got["cost"], cost, delta=1e-9)
            self.assertAlmostEqual(got["Top1Misclass"], (true != found).mean(), delta=1e-9)
            self.assertAlmostEqual(got["MeanIoU"], np.mean(ious), delta=1e-9)

    def test_the_worst_reconstructions(self):
        """A sheet of an autoencoder's samples, whose costs are mean squares by NumPy."""
        x, x_test = (np.random.default_rng(seed).uniform(0, 1, (n, 1, 8, 6)).astype("f4") for n, seed in ((20, 1), (7, 2)))
        np.savez(self.path("d.npz"), x_train=x, x_test=x_test)
        self.neon("-r", "1", "-s", "m", self.spec(SPEC, dataset="{NPZ: {path: d.npz, autoencoder: true}}", epochs="1",
                                                  optimizer="{GradientDescentMomentum: {learning_rate: 0}}"))
        costs = np.square(0.5 * x_test.astype("f8")).mean((1, 2, 3)) / 2
        lines = self.neon("eval", "m", "--sheet", "s.png", "--count", "5").err.splitlines()
        order = np.argsort(-costs)[:5]
        self.assertEqual(lines, ["wrote s.png: the 5 worst samples, row by row, and beside each its reconstruction", *(f"  sample {i}: cost {costs[i]:.4g}" for i in order)])
        sheet = support.png_pixels(self.read("s.png"))
        shown = x_test[order]
        for place, image in enumerate(np.rint(255 * (shown - shown.min()) / (shown.max() - shown.min()))):
            np.testing.assert_array_equal(sheet[2:10, 2 + 16 * place:8 + 16 * place, 0], image[0])

    def test_a_report_counts_pixels(self):
        """By NumPy's counts, in batches of 10 of which the last has 7; a class that no pixel has counts in no mean."""
        (x, y), (x_test, y_test) = self.data(), self.data(17, seed=4)
        self.save(x, y, x_test, np.where(y_test == 2, 1, y_test))
        truth = np.where(y_test == 2, 1, y_test).ravel()
        self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(CLASSES, dataset="{NPZ: {path: d.npz, classes: 3}}"))
        found = self.logits(x_test).argmax(1).ravel()
        counts = np.array([[((truth == k) & (found == j)).sum() for j in range(3)] for k in range(3)])
        hits, predicted, support = counts.diagonal(), counts.sum(0), counts.sum(1)
        share = lambda a, b: np.divide(a, b, out=np.zeros(3), where=b > 0)
        precision, recall, iou = share(hits, predicted), share(hits, support), share(hits, predicted + support - hits)
        wanted = dict(precision=precision, recall=recall, f1=share(2 * precision * recall, precision + recall), iou=iou,
                      support=support)
        report = json.loads(self.neon("eval", "m", "--format", "json", "--report").out)["report"]
        self.assertEqual(report["confusion"], counts.tolist())
        self.assertEqual(report["support_of"], "pixels")
        self.assertAlmostEqual(report["accuracy"], (truth == found).mean(), places=12)
        for key, values in wanted.items():
            np.testing.assert_allclose([of[key] for of in report["classes"]], values, atol=1e-12, err_msg=key)
        there = support + predicted > 0
        self.assertAlmostEqual(report["mean"]["iou"], iou[there].mean(), places=12)
        self.assertAlmostEqual(report["weighted_mean"]["iou"], (iou * support).sum() / support.sum(), places=12)
        table = self.neon("eval", "m", "--format", "csv", "--report").out.splitlines()
        self.assertEqual(table[0], "class,precision,recall,f1,support,iou")
        np.testing.assert_allclose([[float(cell) for cell in line.split(",")[1:]] for line in table[1:]],
                                   np.array([wanted[key] for key in ("precision", "recall", "f1", "support", "iou")]).T, rtol=1e-5)
        text = self.neon("eval", "m").out
        self.assertRegex(text, r"(?m)^class +precision +recall +f1 +iou +pixels$")
        self.assertRegex(text, rf"(?m)^0 .* {support[0]}$")
        self.assertRegex(text, rf"(?m)^1  +{counts[1][0]} +{counts[1][1]} +{counts[1][2]} *$")
        self.neon("-r", "1", "s.yaml", environment={"NEON_NO_RUN_FOLDER": ""})
        stored = json.loads(self.read("runs/s-1/eval.json"))
        self.assertEqual(np.sum(stored["report"]["confusion"]), 17 * 30)
        right = np.take_along_axis(softmax(self.logits(x_test)), truth.reshape(17, 1, 6, 5).astype(int), 1)
        costs = -np.log(right).mean((1, 2, 3))  # of the run in f64, whose seed is the same
        self.assertEqual([one["sample"] for one in stored["worst"]], list(np.argsort(-costs)))
        np.testing.assert_allclose([one["cost"] for one in stored["worst"]], -np.sort(-costs), rtol=1e-4)
        self.assertIn('"iou"', self.read("runs/s-1/report.html").decode())

    def test_a_step_follows_the_mean_over_pixels(self):
        x, y = self.data(10)
        self.save(x, y, x, y)
        spec = self.spec(CLASSES, epochs="1")
        self.neon("-r", "1", "-d", "f64", "-s", "before", spec, "--set", "optimizer.GradientDescentMomentum.learning_rate=0")
        self.neon("-r", "1", "-d", "f64", "-s", "m", spec)
        error = softmax(self.logits(x, "before")) - (y[:, None] == np.arange(3)[:, None, None])
        gradient = np.einsum("nkhw,nchw->kc", error, x.astype("f8")) / y.size
        before, after = (np.frombuffer(tensors(self.path(name))[0]["c/W"][2]).reshape(3, 4) for name in ("before", "m"))
        np.testing.assert_allclose(after, before - 0.5 * gradient, atol=1e-12)

    def test_labels_move_with_their_pixels(self):
        """The class is a function of the pixel, black being of class 0: it is learnt wherever pixels go. A bias for black
        costs some of the close ones; labels that stayed would leave two thirds wrong."""
        x, y = self.data(64, shape=(3, 7, 7))
        x, y = np.abs(x), y
        y = x.argmax(1)
        for augment in "[Flip]", "[{RandomCrop: {pad: 2}}, Flip]", "[{RandomCrop: {size: 5}}]":
            self.save(x, y, x, y)
            spec = self.spec(CLASSES, epochs="40", augment=augment, optimizer="{Adam: {learning_rate: 0.2}}")
            self.neon("-r", "1", "-s", "m", spec)
            self.assertLess(json.loads(self.neon("eval", "m", "--format", "json").out)["Top1Misclass"], 0.1, augment)
        # Scaled labels are labels still: the mean of 0 and 2 would be 1.
        y = np.where(np.random.default_rng(1).random((64, 7, 7)) < 0.5, 0, 2)
        self.save(x, y, x, y)
        spec = self.spec(CLASSES, dataset="{NPZ: {path: d.npz, classes: 3}}", epochs="60", augment="[{RandomScale: {size: 5}}]",
                         optimizer="{Adam: {learning_rate: 0.2}}")
        self.neon("-r", "1", "-s", "m", spec)
        np.save(self.path("x.npy"), x[:4])
        rows = self.neon("predict", "m", "x.npy", "--format", "json").out.splitlines()
        self.assertNotIn("1", {name for row in rows for name in json.loads(row)["classes"]})

    def test_predict_prints_the_class_of_each_pixel(self):
        x, y = self.data()
        self.save(x, y, x, y)
        self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(CLASSES, epochs="5"))
        np.save(self.path("x.npy"), x)
        out = self.neon("predict", "m", "x.npy").out.splitlines()
        self.assertEqual(out[0], ",".join(["sample"] + [f"pixel{i}" for i in range(30)]))
        got = np.array([[int(cell) for cell in row.split(",")[1:]] for row in out[1:]])
        self.assertTrue((got == self.logits(x).argmax(1).reshape(40, 30)).all())
        self.refused(2, "predict", "m", "x.npy", "--top_k", "2", says="of each pixel its class is printed")
        stats = self.neon("data", "stats", "s.yaml").out
        for k in range(3):
            self.assertRegex(stats, rf"(?m)^class {k} +train {(y == k).sum()} +test {(y == k).sum()} ")

    def test_other_nets_are_refused_with_the_layer_that_suits(self):
        x, y = self.data()
        self.save(x, y, x, y)
        layer = "Conv: {fshape: 1, nofm: 3, activation: {PixelwiseSoftmax: {c: 3}}}"
        for change, says in (("fshape: 1, nofm: 3", "fshape: 3, nofm: 3"), ["the last layer gives (3, 4, 3)", layer]), \
                (("nofm: 3", "nofm: 6"), ["gives (6, 6, 5)", "has one of 3 classes", layer]), \
                (("{PixelwiseSoftmax: {c: 3}}", "Softmax"), ["Softmax makes one distribution over all 90 numbers", "PixelwiseSoftmax: {c: 3}"]):
            self.refused(2, "check", self.spec(CLASSES.replace(*change)), says=says)
        # As numbers they are no classes.
        numbers = self.spec(SPEC, dataset="{NPZ: {path: d.npz, regression: true}}")
        self.neon("check", numbers)
        y[0, 0, 0] = -1
        self.save(x, y, x, y)
        self.refused(3, self.spec(CLASSES), says="label 0 is -1: with 3 classes labels are whole numbers from 0 to 2")

    def test_branches_with_targets_of_their_own_are_an_error(self):
        x = np.random.default_rng(1).uniform(0, 1, (20, 3)).astype("f4")
        np.savez(self.path("d.npz"), x_train=x, y_train=x[:, :2])
        branches = "[BranchNode: {name: b}, Affine: {nout: 2, init: Kaiming}]"
        spec = "dataset: {NPZ: {path: d.npz}}\nlayers: [{TREE: [%s, %s]}]\ncost: {Multicost: [MeanSquared, MeanSquared]}\n" \
            "optimizer: {SGD: {learning_rate: 0.1}}\nbatch_size: 10\nepochs: 1\nmetrics: []\n" % (branches, branches)
        self.refused(2, "check", self.spec(spec.replace("TREE", "Tree")),
                     says=["Tree has 2 outputs, and each would be compared with all 2 numbers of a target", "give each an output and a cost under outputs"])
        self.neon(self.spec(spec.replace("TREE", "SingleOutputTree")))
        np.savez(self.path("d.npz"), x_train=x, y_train=x[:, :1])
        self.neon(self.spec(spec.replace("TREE", "Tree").replace("nout: 2", "nout: 1")))


if __name__ == "__main__":
    support.main()
