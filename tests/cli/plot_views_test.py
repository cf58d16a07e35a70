#!/usr/bin/python3
"""neon plot beside curves: the evaluation, pictures and graph of a run's folder and of a checkpoint; metrics files of neon
1.x; neon summary --svg."""
import base64
import json
import os
import re
import xml.etree.ElementTree as xml

import h5py
import numpy as np

import plot_test
import support
from support import png, png_pixels, tensors

HOSTILE = "<img src=x onerror=document.title='run'>"
SPEC = """\
dataset: {ImageFolder: {path: photos, test: 0.25}}
layers:
  - Conv: {name: stem, fshape: 3, nofm: 4, padding: 1, init: Kaiming, activation: Rectlin}
  - MergeSum:
      - [Conv: {fshape: 3, nofm: 4, padding: 1, init: Kaiming, activation: Rectlin}, Conv: {fshape: 1, nofm: 4, init: Kaiming}]
      - [SkipNode]
  - Affine: {name: head, nout: classes, init: GlorotUniform, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 8
epochs: 2
"""
SIDE = 12


def write_photos(case, classes=("cat", HOSTILE), count=24):
    """Photos of two classes, dark and bright ones with noise."""
    rng = np.random.default_rng(5)
    for k, name in enumerate(classes):
        for i in range(count):
            case.write(f"photos/{name}/{i}.png", png(np.uint8(rng.integers(0, 120, (SIDE, SIDE, 3)) + 100 * k)))


def train(case):
    """A run's folder, runs/s-1."""
    write_photos(case)
    case.environment.pop("NEON_NO_RUN_FOLDER", None)
    case.neon("-r", "1", case.spec(SPEC))


def page_data(case, name):
    page = case.read(name).decode()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]), page


def cells(sheet):
    """The pictures of a page's sheet."""
    pixels = png_pixels(base64.b64decode(sheet["png"]))
    height, width, gap = sheet["height"], sheet["width"], sheet["gap"]
    for i in range(sheet["count"]):
        top, left = gap + i // sheet["columns"] * (height + gap), gap + i % sheet["columns"] * (width + gap)
        yield pixels[top:top + height, left:left + width]


def dense(sparse):
    out = np.zeros((len(sparse), len(sparse)), int)
    for k, row in enumerate(sparse):
        for column, count in row:
            out[k, column] = count
    return out


def write_old(path, epochs=3, done=2, steps=4):
    """A metrics file as neon 1.9 writes it by h5py: chunked or compressed here and there, zeros where it did not come."""
    rng = np.random.default_rng(3)
    with h5py.File(path, "w") as file:
        config = file.create_group("config")
        config.attrs["total_epochs"], config.attrs["total_minibatches"] = epochs, epochs * steps
        marks = file.create_group("time_markers")
        marks.attrs["epochs_complete"], marks.attrs["minibatches_complete"] = done, done * steps
        ends = np.zeros(epochs, "f4")
        ends[:done] = np.arange(1, done + 1) * steps
        marks.create_dataset("minibatch", data=ends)
        cost = np.zeros(epochs * steps, "f4")
        cost[:done * steps] = rng.random(done * steps)
        file.create_dataset("cost/train", data=cost, chunks=(5,)).attrs["time_markers"] = np.bytes_("minibatch")
        loss = np.zeros(epochs, "f4")
        loss[:done] = rng.random(done)
        for name in "cost/loss", "metrics/Top1Misclass":
            data = file.create_dataset(name, data=loss)
            data.attrs["time_markers"], data.attrs["epoch_freq"] = "epoch_freq", np.int64(1)
        file.create_dataset("time/loss", data=loss)
        for name, at in ("start_time", 1e9), ("end_time", 1e9 + 60):
            file.create_dataset("time/train/" + name, data=np.float64([at])).attrs["units"] = "seconds"
        hist = file.create_group("hist")
        hist.attrs["bins"], hist.attrs["offset"], hist.attrs["time_markers"], hist.attrs["time_steps"] = 64, -48, "epoch", epochs
        counts = np.zeros((64, epochs), "i4")
        counts[40, :done], counts[41, :done] = 7, 3
        hist.create_dataset("Linear_0_W", data=counts)
        vis = rng.integers(0, 256, (2, 5, 6, 3), dtype="u1")
        images = rng.integers(0, 256, (5, 6, 3, 2), dtype="u1")
        layer = file.create_group("deconv/max_act/0001")
        layer.create_dataset("vis", data=vis)
        layer.create_dataset("batch_img", data=np.uint16([[3, 17], [3, 2]]))
        batch = file.create_group("deconv/img/batch_3")
        batch.attrs["17"], batch.attrs["2"] = 0, 1
        batch.create_dataset("HWC_uint8", data=images, compression="gzip")
    return cost, loss, counts, vis, images


class Views(support.Case):
    def test_a_folder(self):
        train(self)
        self.neon("plot", "runs/s-1", "-o", "r.html")
        run = page_data(self, "r.html")[0]["runs"][0]
        stored = json.loads(self.read("runs/s-1/eval.json"))
        evaluation = run["evaluation"]
        self.assertEqual((evaluation["samples"], evaluation["note"]), (12, ""))
        self.assertEqual(evaluation["results"], stored["results"])
        (report,) = [each["report"] for each in evaluation["reports"]]
        confusion = dense(report["confusion"])
        np.testing.assert_array_equal(confusion, stored["report"]["confusion"])
        self.assertEqual(confusion.sum(), 12)
        self.assertEqual([each["class"] for each in report["classes"]], [HOSTILE, "cat"])
        sheets = {sheet["title"]: sheet for sheet in run["sheets"]}
        self.assertEqual(list(sheets), ["Predictions", "Worst samples", "Filters of stem"])
        for title, key, file in ("Worst samples", "worst", "worst.png"), ("Predictions", "predictions", "predictions.png"):
            self.assertEqual([lines[0] for lines in sheets[title]["captions"]], [each["class"] for each in stored[key]])
            pixels = png_pixels(self.read("runs/s-1/" + file))
            for i, picture in enumerate(cells(sheets[title])):
                top, left = 2 + i // 8 * (SIDE + 2), 2 + i % 8 * (SIDE + 2)
                np.testing.assert_array_equal(picture, pixels[top:top + SIDE, left:left + SIDE])
        self.assertTrue(all(each["output"] >= 0.5 for each in stored["predictions"]))  # the larger of two shares
        numbers = [each["sample"] for each in stored["predictions"]]
        photos = sorted(f"photos/{name}/{i}.png" for name in ("cat", HOSTILE) for i in range(24))
        self.assertEqual((numbers, len(set(numbers))), (sorted(numbers), 12))
        self.assertEqual([each["file"] for each in stored["predictions"]], [photos[number] for number in numbers])
        # Written at the run's end, too.
        self.assertEqual(page_data(self, "runs/s-1/report.html")[0]["runs"][0]["evaluation"], evaluation)

    def test_filters_are_those_of_the_checkpoint(self):
        train(self)
        self.neon("plot", "runs/s-1", "-o", "r.html")
        sheet = next(each for each in page_data(self, "r.html")[0]["runs"][0]["sheets"] if each["title"] == "Filters of stem")
        stored = tensors(self.path("runs/s-1/best.safetensors"))[0]["stem/W"]
        w = np.frombuffer(stored[2], "f4").reshape(4, 3, 3, 3)
        for filter_, picture in zip(w, cells(sheet), strict=True):
            np.testing.assert_allclose(picture, 127.5 + 127.5 * filter_ / np.abs(filter_).max(), atol=0.51)

    def test_the_graph(self):
        train(self)
        self.neon("plot", "runs/s-1", "-o", "r.html")
        net = page_data(self, "r.html")[0]["runs"][0]["net"]
        boxes = [(box["title"], box["name"], *box["notes"][-2:]) for box in net["boxes"]]
        self.assertEqual(boxes, [
            ("samples", "", f"(3, {SIDE}, {SIDE})"),
            ("Conv", "stem", f"(4, {SIDE}, {SIDE})", "108 parameters"),
            ("Conv", "", f"(4, {SIDE}, {SIDE})", "144 parameters"),
            ("Conv", "", f"(4, {SIDE}, {SIDE})", "16 parameters"),
            ("MergeSum", "", f"(4, {SIDE}, {SIDE})"),
            ("Affine", "head", "(2)", f"{4 * SIDE * SIDE * 2:,} parameters".replace(",", " "))])
        self.assertEqual(len(net["lines"]), 6)  # one around the branch
        for a in net["boxes"]:
            for b in net["boxes"]:
                apart = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"] or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
                self.assertTrue(a is b or apart)

    def test_png(self):
        train(self)
        falling = np.linspace(3, 1, 200, dtype="f4")
        plot_test.write_run(self.path("a.h5"), {"cost/train": (falling, "minibatch")}, steps=200)
        plot_test.write_run(self.path("b.h5"), {"cost/train": (falling[::-1].copy(), "minibatch")}, steps=200)
        self.assertIn("pictures: 3 pictures\n", self.neon("plot", "a.h5", "b.h5", "--png", "pictures").err)
        pixels = png_pixels(self.read("pictures/cost-train.png")).astype(int)[36:36 + 340, 78:900 - 24]
        first, second = (np.abs(pixels - ink).sum(-1) < 30 for ink in ([50, 87, 214], [217, 72, 15]))
        for drawn, begins_above in (first, True), (second, False):  # one falls, one rises, both from edge to edge
            columns = np.flatnonzero(drawn.any(0))
            self.assertLess(columns[0], 10)
            self.assertGreater(columns[-1], pixels.shape[1] - 10)
            rows = [np.flatnonzero(drawn[:, x]).mean() for x in columns]
            middle = np.interp(pixels.shape[1] / 2, columns, rows)
            self.assertAlmostEqual(middle, 170, delta=5)
            self.assertEqual(rows[0] < 10 and rows[-1] > 330, begins_above)
        self.neon("plot", "runs/s-1", "--png", "all")
        self.assertLessEqual({"cost-train.png", "cost-loss.png", "confusion.png", "Worst-samples.png", "Predictions.png", "Filters-of-stem.png", "net.png"},
                             set(os.listdir(self.path("all"))))
        worst, sheet = png_pixels(self.read("all/Worst-samples.png")), png_pixels(self.read("runs/s-1/worst.png"))
        np.testing.assert_array_equal(worst[36:36 + 7 * SIDE:7, 12:12 + 7 * SIDE:7], sheet[2:2 + SIDE, 2:2 + SIDE])
        self.neon("plot", "runs/s-1", "--png", "all")  # replaces its own
        self.write("all/net.png", self.read("photos/cat/0.png"))
        self.refused(3, "plot", "runs/s-1", "--png", "all", says="all/net.png exists and is no preview")

    def test_svg(self):
        write_photos(self)
        self.neon("summary", self.spec(SPEC), "--svg", "sub/net.svg")
        root = xml.fromstring(self.read("sub/net.svg"))
        space = "{http://www.w3.org/2000/svg}"
        words = ["".join(each.itertext()) for each in root.iter(space + "text")]
        self.assertIn("Affinehead", words)
        self.assertIn("3x3, 4 maps, Rectlin", words)
        self.assertEqual(len([path for path in root.iter(space + "path")]), 6)
        self.neon("summary", "s.yaml", "--svg", "sub/net.svg")  # replaces its own
        self.write("mine.svg", "<svg/>")
        self.refused(3, "summary", "s.yaml", "--svg", "mine.svg", says=["mine.svg exists and is no drawing of neon summary", "--overwrite"])

    def test_a_checkpoint(self):
        train(self)
        os.rename(self.path("runs/s-1/last.safetensors"), self.path("m.safetensors"))
        os.mkdir(self.path("tmp"))
        err = self.neon("plot", "m.safetensors", "-o", "r.html", environment={"TMPDIR": self.path("tmp")}).err
        self.assertNotIn("warning", err)
        self.assertEqual(os.listdir(self.path("tmp")), [])
        run = page_data(self, "r.html")[0]["runs"][0]
        self.assertEqual((run["name"], run["status"], run["curves"]), ("m", "checkpoint", []))
        self.assertIn(["spec", "optimizer.Adam.learning_rate", "0.01"], run["facts"])
        told = json.loads(self.neon("eval", "m.safetensors", "--format", "json", "--report").out)
        np.testing.assert_array_equal(dense(run["evaluation"]["reports"][0]["report"]["confusion"]), told["report"]["confusion"])
        self.assertEqual([sheet["title"] for sheet in run["sheets"]],
                         ["Predictions", "Worst samples", "Filters of stem", *(f"Guided backpropagation: {layer}" for layer in ("Conv_1", "Conv_2", "stem"))])
        # Beside the metrics file of its run it has curves; without its data a page without an evaluation.
        os.rename(self.path("m.safetensors"), self.path("runs/s-1/last.safetensors"))
        os.rename(self.path("photos"), self.path("elsewhere"))
        err = self.neon("plot", "runs/s-1/last.safetensors", "-o", "r.html").err
        self.assertIn("runs/s-1/last.safetensors: no evaluation: ", err)
        run = page_data(self, "r.html")[0]["runs"][0]
        self.assertIn("cost/train", [curve["name"] for curve in run["curves"]])
        self.assertIsNone(run["evaluation"])
        self.assertEqual(len(run["net"]["boxes"]), 6)

    def test_pages_of_values_and_of_guided_sheets(self):
        rng = np.random.default_rng(4)
        x, t = rng.random((40, 1, 9, 9), np.float32), rng.random((40, 2), np.float32)
        np.savez(self.path("d.npz"), x_train=x[:30], y_train=t[:30], x_test=x[30:], y_test=t[30:])
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        net = SPEC.replace("{name: head, nout: classes, init: GlorotUniform, activation: Softmax}", "{nout: 2, init: GlorotUniform}")
        self.neon("-r", "1", self.spec(net, dataset="{NPZ: {path: d.npz}}", cost="MeanSquared", callbacks="[GuidedBackprop: {max_fm: 3, dataset_pct: 100}]"))
        run = page_data(self, "runs/s-1/report.html")[0]["runs"][0]
        (report,) = [each["report"] for each in run["evaluation"]["reports"]]
        self.assertEqual(len(report["outputs"]), 2)
        worst = next(sheet for sheet in run["sheets"] if sheet["title"] == "Worst samples")
        stored = json.loads(self.read("runs/s-1/eval.json"))["worst"][0]
        np.testing.assert_allclose(stored["target"], t[30 + stored["sample"]], rtol=1e-6)
        self.assertEqual(worst["captions"][0][1], f"target {stored['target'][0]:.4g}")
        guided = next(sheet for sheet in run["sheets"] if sheet["title"] == "Guided backpropagation: stem")
        self.assertEqual((guided["count"], guided["width"], guided["height"]), (6, 9, 9))
        pictures = list(cells(guided))
        # Beside each map's picture stands one of the test images, stretched from black to white.
        images = [np.round(255 * (image - image.min()) / (image.max() - image.min())) for image in x[30:, 0]]
        for picture in pictures[1::2]:
            self.assertLessEqual(min(np.abs(image[..., None] - picture).max() for image in images), 1)

    def test_files_of_neon_1(self):
        cost, loss, counts, vis, images = write_old(self.path("old.h5"))
        self.neon("plot", "old.h5", "-o", "r.html")
        run = page_data(self, "r.html")[0]["runs"][0]
        self.assertEqual(run["status"], "killed")
        curves = {curve["name"]: curve for curve in run["curves"]}
        self.assertEqual(set(curves), {"cost/train", "cost/loss", "metrics/Top1Misclass", "time/loss"})
        for name, values, steps in ("cost/train", cost[:8], range(1, 9)), ("cost/loss", loss[:2], (4, 8)), ("time/loss", loss[:2], (4, 8)):
            np.testing.assert_array_equal(np.frombuffer(base64.b64decode(curves[name]["values"]), "f4"), values)
            np.testing.assert_array_equal(np.frombuffer(base64.b64decode(curves[name]["steps"]), "u4"), steps)
        (histogram,) = run["histograms"]
        self.assertEqual((histogram["name"], histogram["offset"], histogram["points"]), ("Linear_0_W", -48, 2))
        np.testing.assert_array_equal(np.frombuffer(base64.b64decode(histogram["counts"]), "f4"), counts[:, :2].T.ravel())
        (sheet,) = run["sheets"]
        pictures = list(cells(sheet))
        for k in range(2):
            np.testing.assert_array_equal(pictures[2 * k], vis[k])
            np.testing.assert_array_equal(pictures[2 * k + 1], images[..., k])
        self.assertIn("cost/train", self.neon("plot", "old.h5").out)
        # A run does not replace it.
        self.spec()
        self.refused(3, "s.yaml", "-o", "old.h5", says="old.h5")

    def test_a_file_of_neon_1_reads_no_other_file(self):
        write_old(self.path("old.h5"))
        np.arange(12, dtype="f4").tofile(self.path("secret"))
        with h5py.File(self.path("old.h5"), "r+") as file:
            del file["cost/train"]
            space = h5py.h5s.create_simple((12,))
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_external(self.path("secret").encode(), 0, 48)
            data = h5py.h5d.create(file["cost"].id, b"train", h5py.h5t.IEEE_F32LE, space, made)
            h5py.Dataset(data).attrs["time_markers"] = "minibatch"
            file["metrics/linked"] = h5py.ExternalLink("elsewhere.h5", "/x")
        self.neon("plot", "old.h5", "-o", "r.html")
        names = [curve["name"] for curve in page_data(self, "r.html")[0]["runs"][0]["curves"]]
        self.assertEqual(names, ["cost/loss", "metrics/Top1Misclass", "time/loss"])

    def test_damaged_files_of_a_folder(self):
        train(self)
        whole = json.loads(self.read("runs/s-1/eval.json"))
        for change, says in [
            (lambda out: out["report"]["classes"][0].pop("class"), "at report.classes[0]: 'class' is missing"),
            (lambda out: out["report"]["confusion"].pop(), "at report.confusion: a row for each of 2 classes is expected"),
            (lambda out: out["report"]["confusion"][0].__setitem__(0, "x"), "at report.confusion[0][0]: a whole number is expected"),
            (lambda out: out.__setitem__("results", []), "at results: an object is expected"),
        ]:
            broken = json.loads(json.dumps(whole))
            change(broken)
            self.write("runs/s-1/eval.json", json.dumps(broken))
            err = self.neon("plot", "runs/s-1", "-o", "r.html").err
            self.assertIn("warning: runs/s-1/eval.json: " + says, err)
            self.assertNotIn("warning: warning", err)
            self.assertIsNone(page_data(self, "r.html")[0]["runs"][0]["evaluation"])
        broken = json.loads(json.dumps(whole))
        broken["worst"][0]["class"] = 3
        self.write("runs/s-1/eval.json", json.dumps(broken))
        self.assertIn("warning: runs/s-1/eval.json: at worst[0].class: a text is expected", self.neon("plot", "runs/s-1", "-o", "r.html").err)
        self.assertEqual(page_data(self, "r.html")[0]["runs"][0]["evaluation"]["samples"], whole["samples"])
        self.write("runs/s-1/eval.json", "{")
        self.assertIn("it is no JSON object", self.neon("plot", "runs/s-1", "-o", "r.html").err)
        self.write("runs/s-1/eval.json", json.dumps(whole))
        self.write("runs/s-1/worst.png", png(np.zeros((5, 5, 3), np.uint8)))
        self.write("runs/s-1/best.safetensors", "x")
        err = self.neon("plot", "runs/s-1", "-o", "r.html").err
        self.assertIn("best.safetensors", err)
        self.assertIsNotNone(page_data(self, "r.html")[0]["runs"][0]["evaluation"])

    def test_samples_without_pictures_stand_in_tables(self):
        lines = ["a,b,price,kind,marks"] + [f"{i % 7},{i % 5}.5,{3 * (i % 7)}.25,{'xyz'[i % 3]},{';'.join('uv'[:i % 3])}" for i in range(40)]
        self.write("t.csv", "\n".join(lines) + "\n")
        layers = "".join(f"  - Affine: {{name: {name}, inputs: data, nout: {nout}{more}}}\n" for name, nout, more in
                         (("price", 1, ""), ("kind", 3, ", activation: Softmax"), ("marks", 2, ", activation: Logistic")))
        self.write("s.yaml", "dataset: {CSV: {path: t.csv, test: 0.25, targets: {price: number, kind: classes, marks: labels}}}\n"
                   f"layers:\n{layers}outputs: {{price: MeanSquared, kind: CrossEntropyMulti, marks: CrossEntropyBinary}}\n"
                   "optimizer: {Adam: {learning_rate: 0.01}}\nbatch_size: 10\nepochs: 1\n")
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        self.neon("-r", "1", "s.yaml")
        predictions, worst = page_data(self, "runs/s-1/report.html")[0]["runs"][0]["evaluation"]["tables"]
        self.assertEqual((predictions["title"], worst["title"]), ("Predictions", "Worst samples"))
        self.assertEqual(worst["heads"], ["sample", "cost", "kind: class", "kind: predicted", "kind: output", "marks: labels",
                                          "marks: predicted", "price: target", "price: output"])
        stored = json.loads(self.read("runs/s-1/eval.json"))["worst"]
        self.assertEqual(len(worst["rows"]), len(stored))
        for row, one in zip(worst["rows"], stored):
            source = lines[1 + one["sample"]].split(",")
            self.assertEqual(row[0], str(one["sample"]))
            self.assertEqual(row[1], f"{one['cost']:.4g}")
            self.assertEqual((row[2], row[5], row[7]), (source[3], source[4].replace(";", ", ") or "none", f"{float(source[2]):.4g}"))
            self.assertEqual((row[3], row[8]), (one["targets"]["kind"]["predicted"], f"{one['targets']['price']['output'][0]:.4g}"))
        broken = {"worst": stored[:1] + [{"sample": 1}]}
        self.write("runs/s-1/eval.json", json.dumps(json.loads(self.read("runs/s-1/eval.json")) | broken))
        self.assertIn("warning: runs/s-1/eval.json: at worst[1]: it has other keys than the first sample; neon writes",
                      self.neon("plot", "runs/s-1", "-o", "r.html").err)
        evaluation = page_data(self, "r.html")[0]["runs"][0]["evaluation"]
        self.assertEqual([table["rows"] for table in evaluation["tables"]], [predictions["rows"], worst["rows"][:1]])
        broken = {"worst": [3, *stored[:2], {}], "predictions": "none"}
        self.write("runs/s-1/eval.json", json.dumps(json.loads(self.read("runs/s-1/eval.json")) | broken))
        err = self.neon("plot", "runs/s-1", "-o", "r.html").err
        self.assertRegex(err, r"(?m)^warning: runs/s-1/eval.json: at worst\[0\]: .*; 2 samples of 'worst' are damaged$")
        self.assertIn("warning: runs/s-1/eval.json: at predictions: a list is expected", err)
        evaluation = page_data(self, "r.html")[0]["runs"][0]["evaluation"]
        self.assertEqual([table["rows"] for table in evaluation["tables"]], [worst["rows"][:2]])

    def test_an_evaluation_older_than_the_checkpoint(self):
        train(self)
        os.utime(self.path("runs/s-1/eval.json"), (1e9, 1e9))
        self.neon("plot", "runs/s-1", "-o", "r.html")
        self.assertEqual(page_data(self, "r.html")[0]["runs"][0]["evaluation"]["note"], "The checkpoint is newer than this evaluation.")


if __name__ == "__main__":
    support.main()
