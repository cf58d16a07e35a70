#!/usr/bin/python3
"""Sheets of the worst samples and of predicted ones, and predictions in a file."""
import json
import os
import re

import numpy as np

import support
from support import png_pixels, write_colours

SPEC = """\
dataset: {ImageFolder: {path: colours, normalize: false}}
layers:
  - Affine: {nout: 2, init: Kaiming, bias: {Constant: 0}, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.00001}}
batch_size: 16
epochs: 2
"""


class Sheet(support.Case):
    def tiles(self, name, count, height=9, width=12):
        """The images of a sheet: eight in a row, two pixels apart."""
        sheet = png_pixels(self.read(name))
        return [sheet[2 + k // 8 * (height + 2):][:height, 2 + k % 8 * (width + 2):][:, :width] for k in range(count)]

    def setUp(self):
        super().setUp()
        self.training = write_colours(self)
        self.neon("-r", "1", "-s", "m.safetensors", self.spec(SPEC))
        self.outputs = {}
        for kind in "blue", "red":
            for line in self.neon("predict", "m.safetensors", f"colours/test/{kind}", "--format", "json", "--top_k", "2").out.splitlines():
                row = json.loads(line)
                name = re.search(r"(\d+)\.png", row["sample"])[1]
                self.outputs[kind, name] = {top["class"]: top["output"] for top in row["top"]}

    def image(self, kind, name):
        return png_pixels(self.read(f"colours/test/{kind}/{name}.png"))

    def test_the_worst_samples(self):
        err = self.neon("eval", "m.safetensors", "--sheet", "worst.png", "--count", "7").err
        self.assertIn("wrote worst.png: the 7 worst samples, row by row", err)
        rows = re.findall(r"(?m)^  colours/test/(\w+/\d+)\.png: (\w+), predicted (\w+), output of (\w+) (\S+)$", err)
        worst = sorted(self.outputs, key=lambda key: self.outputs[key][key[0]])[:7]
        self.assertEqual(len(rows), 7)
        for (path, truth, said, of, output), (kind, name), tile in zip(rows, worst, self.tiles("worst.png", 7), strict=True):
            tops = self.outputs[kind, name]
            self.assertEqual(path, f"{kind}/{name}")
            self.assertEqual((truth, of, said), (kind, kind, max(tops, key=tops.get)))
            self.assertAlmostEqual(float(output), tops[kind], delta=1e-4)
            np.testing.assert_array_equal(tile, self.image(kind, name))

    def test_the_worst_samples_of_drawn_parts_are_named(self):
        """A bad image is left out, and the test images, folds and lists are parts: each name is that of the image shown."""
        listed = [f"train/{kind}/{i}.png,{kind}" for kind in ("red", "blue") for i in range(20)]
        self.write("colours/train/blue/0.png", "no image")
        self.write("colours/l.csv", "\n".join(["file,class", *listed[:30]]) + "\n")
        self.write("colours/t.csv", "\n".join(["file,class", *listed[30:]]) + "\n")
        for dataset in ("ImageFolder: {path: colours/train, test: 0.3", "ImageFolder: {path: colours/train, test: none, folds: 3, fold: 2",
                        "ImageFolder: {path: colours/train, test: none, validation: 20", "ImageList: {path: colours/l.csv, test: 0.3",
                        "ImageList: {path: colours/l.csv, test_list: colours/t.csv"):
            spec = self.spec(re.sub("dataset.*", f"dataset: {{{dataset}, normalize: false, on_bad_sample: skip}}}}", SPEC), "d.yaml")
            self.neon("-r", "2", "-s", "d.safetensors", "--overwrite", spec)
            err = self.neon("eval", "d.safetensors", "--sheet", "worst.png", "--count", "6", "--overwrite").err
            paths = re.findall(r"(?m)^  (colours/train/\w+/\d+\.png): ", err)
            self.assertEqual(len(set(paths)), 6, dataset)
            for path, tile in zip(paths, self.tiles("worst.png", 6), strict=True):
                np.testing.assert_array_equal(tile, png_pixels(self.read(path)), str((dataset, path)))

    def test_samples_of_shards_have_the_names_of_their_files(self):
        """Held and streamed, and of parts that are drawn; folders of an older neon have no names."""
        self.neon("data", "pack", "colours", "packed")
        index = json.loads(self.read("packed/index.json"))
        self.assertEqual(index["names"], {"train": "train.names.json", "test": "test.names.json"})
        self.assertEqual(sorted(json.loads(self.read("packed/test.names.json"))), sorted(f"test/{kind}/{i}.png" for kind in ("red", "blue") for i in range(10)))
        for more, part in ("", "test"), (", stream: true", "test"), (", validation: 0.3", "test"), (", folds: 3, fold: 1", "train"):
            dataset = f"dataset: {{Shards: {{path: packed, normalize: false{more}}}}}"
            if "folds" in more:
                index["parts"]["test"] = []
                self.write("packed/index.json", json.dumps(index))
            self.neon("-r", "2", "-s", "d.safetensors", "--overwrite", self.spec(re.sub("dataset.*", dataset, SPEC), "d.yaml"))
            err = self.neon("eval", "d.safetensors", "--sheet", "worst.png", "--count", "6").err
            paths = re.findall(rf"(?m)^  ({part}/\w+/\d+\.png): ", err)
            self.assertEqual(len(set(paths)), 6, err)
            for path, tile in zip(paths, self.tiles("worst.png", 6), strict=True):
                np.testing.assert_array_equal(tile, png_pixels(self.read("colours/" + path)), str((more, path)))
        del index["names"]
        self.write("packed/index.json", json.dumps(index))
        self.assertRegex(self.neon("eval", "d.safetensors", "--sheet", "worst.png").err, r"(?m)^  sample \d+: ")
        index["names"] = {"train": "../train.names.json"}
        self.write("packed/index.json", json.dumps(index))
        self.refused(3, "eval", "d.safetensors", says="names the file '../train.names.json' of names")
        index["names"] = {"train": "short.json"}
        self.write("packed/index.json", json.dumps(index)), self.write("packed/short.json", '["a.png"]')
        for fault in "packed/short.json has no list of 80 names; neon data pack makes the folder anew", "packed/short.json: No such file":
            said = self.neon("eval", "d.safetensors", "--sheet", "worst.png", "--overwrite").err
            self.assertRegex(said, rf"(?m)^  sample \d+ \({fault}")
            if os.path.exists(self.path("packed/short.json")):
                os.remove(self.path("packed/short.json"))

    def test_the_worst_samples_of_a_run(self):
        del self.environment["NEON_NO_RUN_FOLDER"]
        self.write("colours/l.csv", "file,class\n" + "".join(f"train/{kind}/{i}.png,{kind}\n" for i in range(40) for kind in ("red", "blue")))
        self.write("colours/train/red/1.png", "no image")
        lines = self.read("colours/l.csv").decode().splitlines()[1:]
        spec = self.spec(SPEC.replace("ImageFolder: {path: colours", "ImageList: {path: colours/l.csv, test: 0.3, on_bad_sample: skip"), "d.yaml")
        self.neon("-r", "2", spec)
        found = json.loads(self.read("runs/d-1/eval.json"))
        self.assertGreater(len(found["worst"]), 20)
        for one in found["worst"] + found["predictions"]:
            name, kind = lines[one["sample"]].split(",")
            self.assertEqual((one["file"], one["class"]), (f"colours/{name}", kind))

    def test_the_worst_of_streamed_samples(self):
        self.neon("eval", "m.safetensors", "--sheet", "held.png")
        self.neon("eval", "m.safetensors", "--set", "dataset.stream=true", "--sheet", "streamed.png")
        self.assertEqual(png_pixels(self.read("held.png")).tolist(), png_pixels(self.read("streamed.png")).tolist())

    def test_reconstructions_of_normalised_images(self):
        """A net whose outputs are 0 gives the mean of each channel of the training images."""
        spec = self.spec("dataset: {ImageFolder: {path: colours, autoencoder: true}}\nnormalize: true\nlayers:\n"
                         "  - Conv: {fshape: 1, nofm: 3, init: {Constant: 0}, bias: {Constant: 0}}\ncost: MeanSquared\n"
                         "optimizer: {SGD: {learning_rate: 0}}\nbatch_size: 16\nepochs: 1\n", "a.yaml")
        self.neon("-r", "1", "-s", "a.safetensors", spec)
        for stream in [], ["--set", "dataset.stream=true"]:
            err = self.neon("eval", "a.safetensors", "--sheet", "worst.png", "--count", "4", *stream).err
            self.assertIn("wrote worst.png: the 4 worst samples, row by row, and beside each its reconstruction\n", err)
            paths = re.findall(r"(?m)^  (colours/test/\w+/\d+\.png): cost", err)
            tiles = self.tiles("worst.png", 8)
            for path, image, made in zip(paths, tiles[::2], tiles[1::2], strict=True):
                np.testing.assert_array_equal(image, png_pixels(self.read(path)))
                np.testing.assert_allclose(made, np.broadcast_to(self.training.mean((0, 1, 2)), made.shape), atol=0.51)

    def test_predicted_images_of_normalised_samples_are_in_their_own_numbers(self):
        """Targets of the samples' shape are no reconstructions: the net gives minus the normalised pixel."""
        x = np.random.default_rng(4).gamma(1.0, 1.0, (12, 1, 4, 5)).astype(np.float32)
        np.savez(self.path("v.npz"), x_train=x, y_train=-x, x_test=x, y_test=-x)
        self.write("v.yaml", "dataset: {NPZ: {path: v.npz, regression: true}}\nnormalize: true\nlayers: [Conv: {fshape: 1, nofm: 1, init: {Constant: -1}}]\n"
                   "cost: MeanSquared\noptimizer: {SGD: {learning_rate: 0}}\nbatch_size: 6\nepochs: 1\n")
        np.save(self.path("x.npy"), x[:3])
        for more, drawn in ([], -x[:3]), (["--set", "dataset.autoencoder=true"], None):
            self.neon("-r", "1", "-s", "v.safetensors", "--overwrite", "v.yaml", *more)
            self.neon("predict", "v.safetensors", "x.npy", "--sheet", "first.png", "--overwrite")
            tiles = self.tiles("first.png", 3, 4, 12)
            z = -(x[:3] - x.mean(dtype=np.float64)) / x.std(dtype=np.float64)
            low, high = x[:3].min(), x[:3].max()
            if drawn is None: expected = np.clip((z * x.std() + x.mean() - low) / (high - low), 0, 1)
            else: expected = (z - z.min()) / (z.max() - z.min())
            for tile, image in zip(tiles, expected):
                np.testing.assert_allclose(tile[:, 7:, 0] if tile.ndim == 3 else tile[:, 7:], 255 * image[0], atol=0.51)

    def test_the_worst_of_values(self):
        """Columns count alike whatever their units, as in the cost; a line has the target and the output."""
        rng = np.random.default_rng(3)
        x, far, near = rng.random((60, 2)), 1e6 * rng.random(60), 1e-3 * rng.random(60)
        self.write("t.csv", "u,v,far,near\n" + "".join(f"{a:.6f},{b:.6f},{c:.3f},{d:.9f}\n" for (a, b), c, d in zip(x, far, near)))
        self.write("t.yaml", "dataset: {CSV: {path: t.csv, target: [far, near], test: 0.5}}\nlayers: [Affine: {nout: 2, init: {Constant: 0}}]\n"
                   "cost: MeanSquared\noptimizer: {SGD: {learning_rate: 0}}\nbatch_size: 30\nepochs: 1\n")
        self.environment.pop("NEON_NO_RUN_FOLDER", None)
        self.neon("-r", "1", "t.yaml")
        worst = json.loads(self.read("runs/t-1/eval.json"))["worst"]
        tested = [one["sample"] for one in worst]
        self.assertEqual(len(set(tested)), 30)
        badness = 0
        for values in far, near:  # outputs are the means of the training rows
            trained = np.delete(values, tested)
            badness = badness + np.abs(values - trained.mean()) / trained.std()
        self.assertEqual(tested, sorted(sorted(tested), key=lambda row: -badness[row]))
        y = rng.random((20, 2)).astype(np.float32)
        np.savez(self.path("v.npz"), x_train=rng.random((20, 1, 4, 5)).astype(np.float32), y_train=y, x_test=rng.random((20, 1, 4, 5)).astype(np.float32), y_test=y)
        self.write("v.yaml", self.read("t.yaml").decode().replace("CSV: {path: t.csv, target: [far, near], test: 0.5}", "NPZ: {path: v.npz}").replace("size: 30", "size: 20"))
        self.neon("-r", "1", "-s", "v.safetensors", "v.yaml")
        err = self.neon("eval", "v.safetensors", "--sheet", "v.png", "--count", "3").err
        rows = sorted(range(20), key=lambda row: -y[row].sum())[:3]
        self.assertEqual(re.findall(r"(?m)^  (sample .*)$", err), [f"sample {row}: target {y[row, 0]:.4g}, {y[row, 1]:.4g}; output 0, 0" for row in rows])

    def test_predicted_samples(self):
        lines = self.neon("predict", "m.safetensors", "colours/test/blue", "colours/test/red/3.png").out
        result = self.neon("predict", "m.safetensors", "colours/test/blue", "colours/test/red/3.png", "-o", "p.csv", "--sheet", "s.png")
        self.assertEqual(result.out, "")
        self.assertEqual(self.read("p.csv").decode(), lines)
        self.assertIn("wrote s.png: the first 11 samples, row by row", result.err)
        tiles = self.tiles("s.png", 11)
        np.testing.assert_array_equal(tiles[10], self.image("red", "3"))
        for tile, line in zip(tiles, lines.splitlines()[1:]):
            name = re.search(r"(blue|red)/(\d+)\.png", line)
            np.testing.assert_array_equal(tile, self.image(name[1], name[2]))

    def test_a_sheet_of_images_and_rows_of_numbers(self):
        images = [self.image("red", str(k)) for k in range(1, 5)]
        rows = [",".join(str(v) for v in image.transpose(2, 0, 1).reshape(-1)) for image in images]
        for k, row in enumerate(rows):
            self.write(f"{k}.csv", row + "\n")
        self.neon("predict", "m.safetensors", "colours/test/blue/1.png", *(f"{k}.csv" for k in range(4)), "--sheet", "s.png")
        for tile, image in zip(self.tiles("s.png", 5), [self.image("blue", "1"), *images]):
            np.testing.assert_array_equal(tile, image)

    def test_sheets_in_folders_to_be_made(self):
        self.neon("eval", "m.safetensors", "--sheet", "a/b/worst.png")
        self.neon("predict", "m.safetensors", "colours/test/blue", "--sheet", "c/first.png")
        self.tiles("a/b/worst.png", 20)
        self.tiles("c/first.png", 10)

    def test_a_sheet_is_refused_before_the_work(self):
        self.write("mine.png", "mine")
        os.rename(self.path("colours"), self.path("away"))
        self.refused(3, "eval", "m.safetensors", "--sheet", "mine.png", says="mine.png exists and is no preview")
        self.refused(2, "eval", "m.safetensors", "--sheet", "a.jpg", says="give a name that ends with .png")

    def test_results_are_printed_where_the_worst_cannot_be_found(self):
        self.write("colours/test/red/bad.png", "no image")
        skip = ["--set", "dataset.on_bad_sample=skip", "--set", "dataset.stream=true"]
        result = self.refused(2, "eval", "m.safetensors", *skip, "--sheet", "a.png", says="bad samples were left out")
        self.assertIn("20 samples)", result.out)
        self.assertIn("precision", result.out)

    def test_options_that_belong_together(self):
        count = "option --count: it says how many images --sheet PNG shows; add --sheet, or leave it out"
        self.refused(2, "eval", "m.safetensors", "--count", "3", says=count)
        self.refused(2, "predict", "m.safetensors", "colours/test/blue", "--count", "3", says=count)

    def test_what_is_refused(self):
        self.write("p.csv", "mine")
        self.refused(3, "predict", "m.safetensors", "colours/test/blue", "-o", "p.csv", says="p.csv exists; give another name, remove it, or give --overwrite")
        self.refused(3, "eval", "m.safetensors", "--sheet", "colours/test/blue/1.png", says="exists and is no preview")
        photo = self.read("colours/test/blue/1.png")
        for words in ["eval", "m.safetensors"], ["eval", "m.safetensors", "colours/test"], ["predict", "m.safetensors", "colours/test/blue"]:
            self.refused(2, *words, "--sheet", "colours/test/blue/1.png", "--overwrite", says=["colours/test/blue/1.png lies in ", "and would be lost; give another name"])
        self.refused(2, "data", "preview", "s.yaml", "colours/test/blue/1.png", "--overwrite", says="neon: colours/test/blue/1.png lies in ")
        self.refused(2, "eval", "m.safetensors", "colours/test/blue/1.png", "--sheet", "colours/test/blue/1.png", "--overwrite", says="is a file that ")
        self.assertEqual(self.read("colours/test/blue/1.png"), photo)
        self.write("run/best.safetensors", self.read("m.safetensors"))
        self.write("run/worst.png", photo)  # a run's folder has no images to read
        self.neon("eval", "run", "--sheet", "run/worst.png", "--overwrite")
        self.refused(2, "eval", "m.safetensors", "--sheet", "a.jpg", says="give a name that ends with .png")
        self.assertEqual(self.read("p.csv"), b"mine")
        self.neon("-e", "1", "-s", "iris.safetensors", self.spec(name="iris.yaml"))
        self.refused(2, "eval", "iris.safetensors", "--sheet", "a.png", says="option --sheet shows images")


if __name__ == "__main__":
    support.main()
