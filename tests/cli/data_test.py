#!/usr/bin/python3
"""neon data: images are checked, packed into shards, counted, previewed and listed."""
import io
import json
import os
import re
import shutil
import struct
import tarfile
import zlib

import h5py
import numpy as np

import support
from support import IRIS, Case, write_colours


class DataVerb(Case):
    def test_data_pack_check_and_stats(self):
        training = write_colours(self)
        self.assertIn("colours: 100 images of 2 classes, 0 bad\n", self.neon("data", "check", "colours").out)
        self.write("colours/train/red/bad.png", b"no image")
        self.assertIn("bad.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image", self.neon("data", "check", "colours", code=3).out)
        self.assertIn("bad.png: expected", self.neon("data", "pack", "colours", "shards", code=3).err)
        self.assertIn("give --pixels too", self.neon("data", "pack", "colours", "no", "--size", "4", code=2).err)
        packed = self.neon("data", "pack", "colours", "shards", "--skip_bad")
        self.assertIn("1 image is left out", packed.err)
        self.assertIn("wrote shards: 80 training and 20 test samples of 2 classes in 2 shards\n", packed.out)
        spec = self.write("p.yaml", packed.out[packed.out.index("dataset:"):] +
                          "layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\ncost: CrossEntropyMulti\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.01}}\nbatch_size: 8\nepochs: 4\n")
        self.assertIn("Top1Misclass 0.00 %", self.neon("-r", "1", spec).out)
        stats = self.neon("data", "stats", spec).out
        self.assertRegex(stats, r"(?m)^class 1 +train 40 +test 10 +red$")
        mean, std = ([float(x) for x in re.search(name + r": \[([^]]*)", stats)[1].split(",")] for name in ("mean", "std"))
        np.testing.assert_allclose(mean, training.mean(axis=(0, 1, 2)) / 255, rtol=1e-5)
        np.testing.assert_allclose(std, training.std(axis=(0, 1, 2)) / 255, rtol=1e-5)
        self.assertIn("shards: 100 samples, 0 bad", self.neon("data", "check", "shards").out)
        for path, name in ("colours", "ImageFolder"), ("shards", "Shards"):
            told = f"{path}: expected a spec; write one with dataset: {{{name}: {{path: {path}}}}}"
            self.refused(2, "data", "stats", path, says=told)
            self.refused(2, "data", "preview", path, "x.png", says=told)
        lost = self.refused(3, "data", "check", "nowhere", cwd=self.path("shards"), says="nowhere: no such folder or archive")
        self.assertNotIn("SHA", lost.out)
        shard = bytearray(self.read("shards/test-0000.shard"))
        shard[40] ^= 1
        self.write("shards/test-0000.shard", bytes(shard))
        checked = self.neon("data", "check", "shards", code=3).out
        self.assertIn("its SHA-256 is", checked)
        self.assertIn("sample 0: its checksum is wrong: the file was damaged; pack the data again\n", checked)
        self.assertTrue(checked.endswith("shards: 100 samples, 1 bad; 1 files changed since they were packed\n"), checked)
        self.assertIn("its checksum is wrong", self.neon(spec, code=3).err)
        for stream, says in ("false", "1 of 20 samples is left out; the first: "), ("true", "1 of 20 test images was left out"):
            left = self.neon("-r", "1", spec, "--set", "dataset.on_bad_sample=skip", "--set", "dataset.stream=" + stream)
            self.assertIn(says, left.err)
            self.assertIn("Top1Misclass 0.00 %", left.out)
        shard = bytearray(self.read("shards/train-0000.shard"))
        table, = struct.unpack("<Q", shard[-32:-24])
        shard[table + 16:table + 20] = struct.pack("<i", 7)
        shard[-16:-12] = struct.pack("<I", zlib.crc32(shard[table:-32]))
        self.write("shards/train-0000.shard", bytes(shard))
        self.assertIn("has the label 7, there are 2 classes",
                      self.neon("data", "stats", spec, "--set", "dataset.stream=true", code=3).err)
        mend = "; neon data pack makes the folder anew from the images\n"
        os.remove(self.path("shards/test-0000.shard"))
        lost = "shards/test-0000.shard: no such file, but index.json names this shard; put it back" + mend
        for asked in ("data", "check", "shards"), ("data", "stats", spec), (spec,):
            self.refused(3, *asked, says=lost)
        self.write("shards/index.json", self.read("shards/index.json")[:100])
        damaged = "shards/index.json: no index of shards, or a damaged one: it ends too early, in line "
        for asked in ("data", "check", "shards"), ("data", "stats", spec), (spec,):
            self.assertNotIn("exception", self.refused(3, *asked, says=[damaged, mend]).err)

    def test_check_tells_of_images_of_other_sizes(self):
        write_colours(self)
        self.write("colours/train/red/7.png", support.png(np.zeros((10, 11, 3), np.uint8)))
        checked = self.neon("data", "check", "colours")
        self.assertIn("colours: 100 images of 2 classes, 0 bad\n", checked.out)
        self.assertIn("colours: 1 images differ in size from the first; a spec brings all to one size with size: ", checked.err)
        spec = self.spec(dataset="{ImageFolder: {path: colours}}", name="own.yaml")
        self.assertIn("warning: colours: 1 of the first 100 images are not of the first one's 12 x 9 pixels; add to the data set: "
                      "size: 9, or size: auto, by the training images\n", self.neon("check", "--set", "layers[1].nout=2", spec, code=3).err)
        line = "colours/train/red/7.png: 11 x 10 pixels, the first image has 12 x 9; give size: N"
        checked = self.neon("data", "check", spec, code=3).out
        self.assertIn(line, checked)
        self.assertIn("own.yaml: 100 images of 2 classes, 1 bad\n", checked)
        self.assertIn(line, self.neon(spec, code=3).err)
        sized = self.neon("data", "check", spec, "--set", "dataset.size=8")
        self.assertIn("own.yaml: 100 images of 2 classes, 0 bad\n", sized.out)
        self.assertNotIn("other sizes", sized.err)
        self.refused(2, "data", "list", "--set", "x=1", says="option --set does nothing with neon data list: the verb reads no spec")
        self.refused(2, "data", "fetch", "ImageFolder", says="ImageFolder reads your own files and has nothing to download")

    def test_check_finds_copies_in_shards(self):
        write_colours(self)
        for i in 3, 5:
            self.write(f"colours/test/blue/{i}.png", self.read(f"colours/train/blue/{i}.png"))
        self.write("colours/test/red/1.png", self.read("colours/train/blue/1.png"))
        self.neon("data", "pack", "colours", "shards")
        said = self.neon("data", "check", "shards")
        self.assertIn("shards: 100 samples, 0 bad\n", said.out)
        place = r"'shards/t\w+-0000.shard: sample \d+'"
        self.assertRegex(said.err, f"warning: shards: 3 test or validation samples have the same bytes as training samples; the first: {place} is {place}; ")
        self.assertRegex(said.err, f"warning: shards: 1 sample has the same bytes as a sample of another class; the first: {place} is {place}; ")

    def test_lists_are_checked_and_packed(self):
        write_colours(self)
        rows = {part: "".join(f"{part}/{kind}/{i}.png,{label}\n" for i in range(10) for label, kind in enumerate(["blue", "red"]))
                for part in ("train", "test")}
        self.write("colours/train.csv", "file,class\n" + rows["train"])
        self.write("colours/test.tsv", rows["test"].replace(",", "\t"))
        self.assertIn("colours/train.csv: 20 images of 2 classes, 0 bad\n", self.neon("data", "check", "colours/train.csv").out)
        self.assertIn("colours/test.tsv: 20 images of 2", self.neon("data", "check", "colours/test.tsv").out)
        self.assertIn("wrote a: 20 training and 0 test samples of 2 classes in 1 shards\n",
                      self.neon("data", "pack", "colours/train.csv", "a").out)
        self.assertIn('dataset: {Shards: {path: "b, of {mine}"', self.neon("data", "pack", "colours/train.csv", "b, of {mine}").out)
        listed = "{ImageList: {path: colours/train.csv, test_list: colours/test.tsv}}"
        spec = self.spec(dataset=listed, name="l.yaml")
        self.assertIn("l.yaml: 40 images of 2 classes, 0 bad\n", self.neon("data", "check", spec).out)
        self.assertIn("wrote b: 20 training and 20 test samples", self.neon("data", "pack", spec, "b").out)
        # The same net learns the same from both, but for the order of the samples; sums over all tell none apart.
        stats = [re.sub(r"^.*?: ", "", self.neon("data", "stats", spec, *more).out)
                 for more in ([], ["--set", "dataset={Shards: {path: b}}"])]
        counted = [re.findall(r"(?m)^class (\d) +train (\d+) +test (\d+)", text) for text in stats]
        self.assertEqual(counted, [[("0", "10", "10"), ("1", "10", "10")]] * 2)
        means = [[float(x) for x in re.findall(r"\d\.\d+", text)] for text in stats]
        np.testing.assert_allclose(*means, rtol=1e-5)
        self.assertIn("wrote c: 16 training and 4 test samples", self.neon(
            "data", "pack", spec, "c", "--set", "dataset={ImageList: {path: colours/train.csv, test: 0.2}}").out)
        self.write("colours/train/red/3.png", b"no image")
        self.assertIn("colours/train/red/3.png: expected a JPEG, PNG", self.neon("data", "check", "colours/train.csv", code=3).out)
        self.refused(2, "data", "pack", self.spec(name="iris.yaml"), "d", says="expected a data set of image files")
        self.refused(2, "data", "pack", "colours", "d", "--set", "x=1", says="--set changes a spec, but colours is no spec")
        self.refused(3, "data", "check", "none.csv", says="none.csv: no such file; looked for")

    def test_what_a_spec_says_of_its_images_is_packed_and_checked(self):
        training = write_colours(self)
        path = "path: colours, channels: 1, on_bad_sample: skip"
        spec = self.spec(dataset=f"{{ImageFolder: {{{path}, size: 6, normalize: false}}}}", name="c.yaml")
        self.write("colours/train/red/bad.png", b"no image")
        checked = self.neon("data", "check", spec).out
        self.assertIn("bad.png: expected a JPEG, PNG", checked)
        self.assertTrue(checked.endswith("c.yaml: 101 images of 2 classes, 1 bad, which on_bad_sample: skip leaves out\n"), checked)
        self.neon("data", "check", spec, "--set", "dataset.on_bad_sample=error", code=3)
        pixels = self.neon("data", "pack", spec, "pixels", "--pixels")
        self.assertIn("1 image is left out", pixels.err)
        self.assertIn("dataset: {Shards: {path: pixels, size: 6, channels: 1, normalize: false}}\n", pixels.out)
        self.assertEqual(json.loads(self.read("pixels/index.json"))["sample"], [1, 6, 6])
        files = self.neon("data", "pack", spec, "files")
        self.assertIn("dataset: {Shards: {path: files, size: 6, channels: 1, normalize: false}}\n", files.out)
        # Grey is BT.601's, as of JPEGs; files are measured as they are, on the net's scale.
        mean = float(re.search(r"mean: \[([^]]*)", files.out)[1])
        self.assertAlmostEqual(mean, (training @ [0.299, 0.587, 0.114]).mean(), delta=0.5)
        # What was told to write gives the samples of the spec, but for their order.
        given = [re.sub(r"^.*?: samples", "samples", self.neon("data", "stats", spec, *more).out) for more in (
            [], *(["--set", told.out[told.out.index("dataset:"):].splitlines()[0].replace(": ", "=", 1)] for told in (pixels, files)))]
        self.assertIn("samples (1, 6, 6) of u8", given[0])
        self.assertEqual(given[0], given[1])
        self.assertEqual(given[0], given[2])
        self.neon("-e", "1", "-s", "m.safetensors", spec, "--set", pixels.out[pixels.out.index("dataset:"):].splitlines()[0].replace(": ", "=", 1),
                  "--set", "layers[1].nout=2")
        self.neon("predict", "m.safetensors", "colours/test")
        self.neon("data", "pack", spec, "whole", "--pixels", "--size", "0")
        self.assertEqual(json.loads(self.read("whole/index.json"))["sample"], [1, 9, 12])

    def test_of_images_of_various_sizes_it_is_said_that_shards_need_one(self):
        write_colours(self)
        self.write("colours/train/red/tall.png", support.png(np.zeros((20, 5, 3), np.uint8)))
        told = self.neon("data", "pack", "colours", "shards").out
        line = re.search(r"(?m)^dataset: (.*)  # N: the side to scale all images to$", told)[1]
        self.assertEqual(line, "{Shards: {path: shards, size: N}}")
        stats = self.neon("data", "stats", self.spec(dataset=line.replace("N", "6"), name="v.yaml")).out
        self.assertIn("samples (3, 6, 6) of u8", stats)
        spec = self.spec(dataset="{ImageFolder: {path: colours, size: 6}}", name="s.yaml")
        self.assertIn("dataset: {Shards: {path: again, size: 6}}\n", self.neon("data", "pack", spec, "again").out)

    def test_what_a_spec_says_of_the_choice_of_samples_is_not_packed(self):
        write_colours(self)
        spec = self.spec(dataset="{ImageFolder: {path: colours, subset_pct: 50, validation: 8}}", name="c.yaml")
        packed, checked = self.neon("data", "pack", spec, "shards"), self.neon("data", "check", spec)
        self.assertEqual(packed.err, "warning: c.yaml: subset_pct: 50, validation: 8 changes nothing here: all images are packed; "
                         "the line `dataset` below selects from the shards\n")
        self.assertIn("wrote shards: 80 training and 20 test samples", packed.out)
        self.assertIn("dataset: {Shards: {path: shards, subset_pct: 50, validation: 8}}\n", packed.out)
        self.assertEqual(checked.err, "warning: c.yaml: subset_pct: 50, validation: 8 changes nothing here: all images are checked\n")
        self.assertIn("100 images of 2 classes, 0 bad\n", checked.out)

    def test_an_autoencoder_of_one_class_is_packed_as_such(self):
        write_colours(self)
        for part in "train", "test":
            shutil.rmtree(os.path.join(self.folder, "colours", part, "red"))
        spec = self.spec(dataset="{ImageFolder: {path: colours, autoencoder: true}}", name="a.yaml")
        packed = self.neon("data", "pack", spec, "shards")
        self.assertEqual(packed.err, "")
        self.assertIn("dataset: {Shards: {path: shards, autoencoder: true}}\n", packed.out)
        self.assertEqual(self.neon("data", "check", spec).err, "")

    def test_names_of_files_and_classes_do_not_reach_the_terminal_raw(self):
        for kind in "\x1b[31mred", "blue":
            for i in range(4):
                self.write(f"named/train/{kind}/{i}.png", support.png(np.full((4, 4, 3), 60 * i, np.uint8)))
        self.write("named/train/blue/bad\x1b[2J\nname.png", b"no image")
        spec = self.write("n.yaml", "dataset: {ImageFolder: {path: named, size: 4, test: 0.25, on_bad_sample: skip}}\n"
                          "layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\n"
                          "cost: CrossEntropyMulti\noptimizer: {Adam: {learning_rate: 0.1}}\nbatch_size: 2\n")
        checked, told = self.neon("data", "check", "named", code=3), self.neon("data", "stats", spec)
        self.assertIn(r"bad\x1b[2J\nname.png", checked.out)
        self.assertIn(r"bad\x1b[2J\nname.png", told.err)
        self.assertIn(" \\x1b[31mred\n", told.out)
        for result in checked, told:
            self.assertNotIn("\x1b", result.out + result.err)

    def test_errors_quote_names_of_files_in_one_line(self):
        good, bad = support.png(np.zeros((4, 4, 3), np.uint8)), "a\x1b[2J\nneon: all is well.png"
        with tarfile.open(self.path("a.tar"), "w") as archive:
            for name, content in ("x/1.png", good), ("y/2.png", good), ("y/" + bad, b"no image"):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        self.write("list.csv", f'pics/1.png,x\npics/2.png,y\n"pics/{bad}",y\n')
        self.write("lost.csv", f'pics/1.png,x\npics/2.png,y\n"pics/lost{bad}",y\n')
        for name, content in ("1.png", good), ("2.png", good), (bad, b"no image"):
            self.write("pics/" + name, content)
        rest = IRIS[IRIS.index("layers"):].replace("nout: 3", "nout: 2").replace("batch_size: 16", "batch_size: 1")
        for dataset in "ImageFolder: {path: a.tar, test: none", "ImageList: {path: list.csv", "ImageList: {path: lost.csv":
            for stream in "false", "true":
                spec = self.write("s.yaml", f"dataset: {{{dataset}, stream: {stream}}}}}\n" + rest)
                told = self.refused(3, "-l", "log.txt", "--no_progress_bar", spec, says=r"a\x1b[2J\nneon: all is well.png").err
                self.assertEqual(len(told.splitlines()), 1, told)
                for text in told, self.read("log.txt").decode() if os.path.exists(self.path("log.txt")) else "":
                    self.assertNotIn("\x1b", text)
                    self.assertFalse([line for line in text.splitlines() if line.startswith("neon: all")])
        packed = self.refused(3, "data", "pack", "a.tar", "out", says=r"a\x1b[2J\nneon: all is well.png: expected a JPEG").err.split("trains with all\n")[-1]
        self.assertEqual(len(packed.splitlines()), 1, packed)

    def test_preview_of_balanced_samples_of_several_targets(self):
        """One of ten images is white; balanced sampling draws it about as often as the others together."""
        rows = ["file,age,kind"]
        for i in range(40):
            self.write(f"im/{i}.png", support.png(np.full((8, 8, 3), 250 if i % 10 == 0 else 10, np.uint8)))
            rows.append(f"{i}.png,{i % 7}.5,{'rare' if i % 10 == 0 else 'often'}")
        self.write("im/list.csv", "\n".join(rows) + "\n")
        spec = self.write("s.yaml", "dataset: {ImageList: {path: im/list.csv, size: 8, test: 0, targets: {age: number, kind: classes}}}\n"
                          "layers:\n  - Affine: {name: age, inputs: data, nout: 1, init: Kaiming}\n"
                          "  - Affine: {name: kind, inputs: data, nout: 2, init: Kaiming, activation: Softmax}\n"
                          "outputs: {age: MeanSquared, kind: CrossEntropyMulti}\n"
                          "optimizer: Adam\nsampling: balanced\nbatch_size: 40\nepochs: 1\n")
        self.neon("data", "preview", spec, "sheet.png", "--count", "40")
        white = sum(tile.mean() > 200 for tile in self.tiles("sheet.png", 8, 40))
        self.assertTrue(12 <= white <= 28, white)

    def test_data_preview(self):
        training = write_colours(self)
        spec = self.spec(dataset="{ImageFolder: {path: colours}}", augment="[RandomCrop: {size: 8}]")
        told = self.neon("data", "preview", spec, "sheet.png", "--count", "64").out
        self.assertEqual(told, "wrote sheet.png: the first 64 images of training with seed 0, in batches of 16\n")
        sheet = support.png_pixels(self.read("sheet.png"))
        self.assertEqual(sheet.shape, (8 * 10 + 2, 8 * 10 + 2, 3))
        self.assertTrue((sheet[:2] == 128).all())
        corners = {image[y:y + 8, x:x + 8].tobytes() for image in training for y in range(2) for x in range(5)}
        tiles = {tile.tobytes() for tile in self.tiles("sheet.png", 8, 64)}
        self.assertEqual(len(tiles), 64)
        self.assertLessEqual(tiles, corners)
        self.neon("data", "preview", spec, "first.png")
        self.neon("data", "preview", spec, "first.png")  # its own may be replaced
        image = self.read("colours/train/red/1.png")
        self.refused(3, "data", "preview", spec, "colours/train/red/1.png", says=["exists and is no preview", "--overwrite"])
        self.assertEqual(self.read("colours/train/red/1.png"), image)
        self.write("mine.png", image)
        self.neon("data", "preview", spec, "mine.png", "--overwrite")
        self.assertEqual(self.read("mine.png"), self.read("first.png"))
        self.assertEqual(support.png_pixels(self.read("first.png")).shape, (2 * 10 + 2, 8 * 10 + 2, 3))
        self.refused(2, "data", "preview", spec, "sheet.jpg", says="'sheet.jpg': the preview is a PNG file; give a name that ends with .png")
        self.assertIn("the whole batches of an epoch have 80 images", self.neon("data", "preview", spec, "x.png", "--count", "81", code=2).err)
        self.assertIn("-z 90 is larger than the training set", self.neon("data", "preview", spec, "x.png", "-z", "90", code=2).err)
        wide = self.neon("data", "preview", "--set", "batch_size=90", spec, "x.png", code=2).err
        self.assertIn("--set: batch_size: 90 is larger than the training set", wide)

    def tiles(self, name, side, count):
        sheet, pitch = support.png_pixels(self.read(name)), side + 2
        return [sheet[2 + pitch * (i // 8):, 2 + pitch * (i % 8):][:side, :side] for i in range(count)]

    def test_preview_shows_what_training_sees(self):
        # The cost tells what the net saw: all weights are 1 and stay so, and the target is 0.
        np.save(self.path("x.npy"), np.random.default_rng(7).integers(0, 255, (12, 3, 9, 12), np.uint8))
        np.save(self.path("y.npy"), np.zeros((12, 1), "f4"))
        spec = self.write("s.yaml", "dataset: {NPY: {inputs: x.npy, targets: y.npy, scale: 0.00390625}}\naugment: [RandomCrop: {size: 6}, "
                          "Flip]\nlayers: [Affine: {nout: 1, init: {Constant: 1}}]\ncost: SumSquared\noptimizer: "
                          "{GradientDescentMomentum: {learning_rate: 1.0e-30}}\nbatch_size: 3\nepochs: 1\n")
        for shuffle in "true", "false":
            order = "--set", f"shuffle={shuffle}"
            self.neon("data", "preview", spec, "sheet.png", "-r", "5", "--count", "12", *order)
            sums = np.array([tile.sum() / 256 for tile in self.tiles("sheet.png", 6, 12)])
            self.neon("-r", "5", "-o", "run.h5", spec, *order)
            with h5py.File(self.path("run.h5")) as file:
                costs = file["cost/train"][:]
            np.testing.assert_allclose(costs, (sums.reshape(4, 3) ** 2).mean(axis=1) / 2, rtol=1e-5, err_msg=shuffle)

    def test_preview_draws_as_many_samples_of_each_class_as_training_does(self):
        labels = np.array([0] * 20 + [1] * 4)
        images = np.repeat(np.array([50, 200], np.uint8)[labels], 3 * 36).reshape(24, 3, 6, 6)
        np.savez(self.path("d.npz"), x_train=images, y_train=labels)
        spec = self.spec(dataset="{NPZ: {path: d.npz, classes: 2}}", augment="[Flip]", sampling="balanced")
        self.neon("data", "preview", spec, "sheet.png", "--count", "24", "-z", "12")
        self.assertEqual(sorted(tile.mean() for tile in self.tiles("sheet.png", 6, 24)), [50] * 12 + [200] * 12)

    def test_data_list_and_misuse(self):
        listed = self.neon("data", "list").out
        self.assertRegex(listed, r"(?m)^Iris +here +150 samples built in$")
        self.assertRegex(listed, r"(?m)^CIFAR10 +absent +neon data fetch CIFAR10$")
        self.assertIn("is here already: 150 samples built in: 120 training", self.neon("data", "fetch", "Iris").out)
        told = self.neon("data", "fetch", "CIFAR10", "-w", "sets", code=3).err
        self.assertIn("sets/cifar10/cifar-10-binary.tar.gz: cannot be downloaded", told)
        self.assertRegex(self.neon("data", "list", "-w", "sets").out, r"(?m)^CIFAR10 +absent +neon data fetch CIFAR10 -w sets$")
        self.assertIn("neon data needs a second word: one of list, fetch", self.neon("data", code=2).err)
        self.assertIn("did you mean pack?", self.neon("data", "pak", code=2).err)
        self.assertIn("an operand is missing; usage: neon data pack PATH FOLDER", self.neon("data", "pack", "x", code=2).err)
        self.assertIn("option --pixels does nothing with neon check", self.neon("check", "--pixels", self.spec(), code=2).err)


if __name__ == "__main__":
    support.main()
