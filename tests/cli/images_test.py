#!/usr/bin/python3
"""Images as people have them: training on folders and arrays, and predicting them."""
import json
import os
import shutil
import struct
import tarfile

import h5py
import numpy as np

import support
from support import IRIS, MNIST, Case, tensors, write_mnist, write_colours


class Images(Case):
    def test_memory_of_16_bits_is_no_more_than_of_32(self):
        spec = self.write("deep.yaml", """\
dataset: {UniformRandom: {nin: [20, 64, 64], nout: 3, ntrain: 8, ntest: 0}}
layers:
  - Repeat: {times: 12, layers: [Conv: {fshape: 3, nofm: 20, padding: 1, init: Kaiming, activation: Rectlin}]}
  - Affine: {nout: 3, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.01}}
batch_size: 8
""")
        peaks = {dtype: self.peak("-b", "cpu", "-e", "1", "-d", dtype, spec) for dtype in ("f32", "f16")}
        self.assertLess(peaks["f16"], 1.1 * peaks["f32"])

    def test_classes_are_matched_by_name(self):
        write_colours(self)
        net = "layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\ncost: CrossEntropyMulti\n" \
              "optimizer: {SGD: {learning_rate: 0.01}}\nbatch_size: 8\nepochs: 1\n"
        for stream in "false", "true":
            spec = self.write("s.yaml", f"dataset: {{ImageFolder: {{path: colours, stream: {stream}}}}}\n" + net)
            self.neon("-s", "m.safetensors", spec)
            self.assertNotIn("note: the test set", self.neon("eval", "m.safetensors").err)
            for part in "train", "test":
                os.rename(self.path(f"colours/{part}/blue"), self.path(f"colours/{part}/zblue"))
            for arguments in ["eval", "m.safetensors"], ["resume", "-e", "2", "m.safetensors"]:
                self.refused(3, *arguments, says=["its classes are not those of", "unknown to the net: 'zblue'; missing here: 'blue'"])
            for part in "train", "test":
                os.rename(self.path(f"colours/{part}/zblue"), self.path(f"colours/{part}/blue"))
            # Other test samples of the same classes are noted.
            self.write("colours/test/red/100.png", self.read("colours/test/red/1.png"))
            self.assertIn("note: the test set is not the run's: then 20 test samples", self.neon("eval", "m.safetensors").err)
            os.remove(self.path("colours/test/red/100.png"))

    def test_the_numbers_of_the_pixels_stay(self):
        write_colours(self)
        net = ("layers: [Affine: {nout: 2, activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.01}}\n"
               "batch_size: 16\nepochs: 1\n")
        self.neon("-r", "1", "-s", "m.safetensors", self.write("s.yaml", "dataset: {ImageFolder: {path: colours}}\n" + net))
        for key, value in ("dataset.normalize", "false"), ("normalize", "true"), ("normalize", "{mean: [0, 0, 0], std: [1, 1, 1]}"):
            for verb in ["eval", "m.safetensors"], ["resume", "-e", "2", "m.safetensors"], ["predict", "m.safetensors", "colours/test"]:
                self.refused(2, *verb, "--set", f"{key}={value}", says=[f"--set {key}: the checkpoint has the numbers of the pixels as the net was trained with them", "they stay so"])
        result = self.neon("eval", "m.safetensors").out
        for value in "true", "yes", "True":  # of one meaning
            same = ["--set", f"dataset.normalize={value}", "--set", "normalize=no"]
            self.assertEqual(self.neon("eval", "m.safetensors", *same).out, result)
            self.neon("predict", "m.safetensors", "colours/test", *same)
        # Another data set is read as its own parameters say.
        images = np.random.default_rng(1).integers(0, 256, (16, 3, 5, 5)).astype(np.float32)
        np.savez(self.path("d.npz"), x_train=images, y_train=np.arange(16) % 2)
        self.neon("-s", "n.safetensors", self.write("n.yaml", "dataset: {NPZ: {path: d.npz}}\n" + net))
        self.neon("eval", "n.safetensors", "--set", "dataset={ImageFolder: {path: colours, size: 5, normalize: false}}")
        for name, value in ("size", "6"), ("channels", "1"), ("test", "0.5"), ("folds", "3"):
            self.refused(2, "predict", "m.safetensors", "colours/test", "--set", f"dataset.{name}={value}",
                         says=f"--set dataset.{name} changes nothing for neon predict, which takes samples as the net was trained with them; leave it out")
        self.neon("predict", "m.safetensors", "colours/test", "--set", "dataset.on_bad_sample=skip")

    def test_augmentations_of_training_alone_change_no_evaluation(self):
        write_colours(self)
        self.neon("-r", "1", "-s", "m", self.write("s.yaml", "dataset: {ImageFolder: {path: colours, size: 6}}\n"
                  "augment: [RandomCrop: {size: 5, pad: 1}, Flip, RandAugment]\n"
                  "layers: [Affine: {nout: 2, activation: Softmax}]\ncost: CrossEntropyMulti\noptimizer: {SGD: {learning_rate: 0.1}}\n"
                  "batch_size: 16\nepochs: 1\n"))
        crop = "{RandomCrop: {size: 5, pad: 1}}"
        for verb in ["eval", "m"], ["predict", "m", "colours/test"]:
            for key, value in (("augment[0].pad", "2"), ("augment[0].border", "edge"), ("augment[1].probability", "0.2"),
                               ("augment[2].count", "1"), ("augment", f"[{crop}]"), ("augment", f"[{crop}, Flip, Cutout: {{size: 2}}]")):
                self.refused(2, *verb, "--set", f"{key}={value}",
                             says=f"--set {key} changes nothing for neon {verb[0]}; training alone draws images so; leave it out")
            former = self.neon(*verb).out
            self.assertEqual(self.neon(*verb, "--set", "augment[0].pad=1").out, former)
            for change in "augment[0].average=1", "augment[1].average=true", f"augment=[{crop}, ContrastNormalize]":
                self.assertNotEqual(self.neon(*verb, "--set", change).out, former, change)
            # The border counts for places that reach beyond the image.
            self.neon(*verb, "--set", "augment[0].average=1", "--set", "augment[0].border=edge")

    def test_evaluations_are_as_many_as_their_time_allows(self):
        """Every epoch, where that takes less than a tenth of the time; an image of two views takes two."""
        write_colours(self)  # 20 to 80
        for flip, evaluated in ("Flip", 3), ("{Flip: {average: true}}", 1):
            spec = self.spec(IRIS.replace("nout: 3", "nout: 2"), dataset="{ImageFolder: {path: colours, size: 8}}",
                             augment=f"[RandomCrop: {{size: 6}}, {flip}]")
            self.neon("-e", "3", "-o", "run.h5", spec)
            with h5py.File(self.path("run.h5")) as file:
                self.assertEqual(file["cost/loss"].shape, (evaluated,), flip)

    def test_folders_of_images(self):
        write_colours(self)
        spec = self.write("c.yaml", "dataset: {ImageFolder: {path: colours, size: 8}}\naugment: [RandomCrop: {size: 6}, Flip]\n"
                          "normalize: true\nlayers:\n  - Conv: {fshape: [3, 3, 4], init: Kaiming, activation: Rectlin}\n"
                          "  - Affine: {nout: 2, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.05, momentum_coef: 0.9}}\n"
                          "batch_size: 8\nepochs: 8\n")
        self.assertIn("80 training and 20 test samples (3, 8, 8), 2 classes", self.neon("check", spec).out)
        self.assertIn("input (3, 6, 6)", self.neon("summary", spec).out)
        self.assertNotRegex(self.neon("program", spec).out, r"(?m)^ *\d+  transpose ")
        self.assertIn("Top1Misclass 0.00 %", self.neon("-r", "1", "-s", "m", spec).out)
        data = json.loads(tensors(self.path("m"))[1]["neon.data"])
        self.assertTrue(data["channels_last"])
        # 8 x 8 of 9 x 12: means are a little different in the middle.
        self.assertAlmostEqual(float(data["means"][0]), (59.5 + 30) / 255, delta=0.02)
        evaluated = self.neon("eval", "m", "--format", "json").out
        self.assertEqual(json.loads(evaluated)["Top1Misclass"], 0)
        # Means are those of the training, not of the images that stand beside those tested now.
        for part in "train", "test":
            for kind in "red", "blue":
                for i in range(10):
                    image = self.read(f"colours/{part}/{kind}/{i}.png")
                    black = support.png(np.full((9, 12, 3), i, np.uint8))
                    self.write(f"dark/{part}/{kind}/{i}.png", image if part == "test" else black)
        self.assertEqual(self.neon("eval", "m", "--format", "json", "--set", "dataset.path=dark").out, evaluated)
        for kind in "red", "blue":
            rows = self.neon("predict", "m", f"colours/test/{kind}").out.splitlines()[1:]
            self.assertEqual([row.split(",")[1] for row in rows], [kind] * 10)
        rows = [row.split(",")[:2] for row in self.neon("predict", "m", "colours/test").out.splitlines()[1:]]
        self.assertEqual(rows, [[f"colours/test/{kind}/{i}.png", kind] for kind in ("blue", "red") for i in range(10)])
        names = [f"{kind}/{i}.png" for i in range(3) for kind in ("red", "blue")]
        for archive, mode in ("a.tar", "w"), ("a.tgz", "w:gz"):  # in an order of its own, beside a file that is no image
            with tarfile.open(self.path(archive), mode) as file:
                file.add(self.path("c.yaml"), "c.yaml")
                for name in names:
                    file.add(self.path(f"colours/test/{name}"), name)
            rows = self.neon("predict", "m", archive).out.splitlines()[1:]
            self.assertEqual([row.split(",")[:2] for row in rows], [[name, name.split("/")[0]] for name in names])
        self.refused(3, "predict", "m", "nothere", says="nothere: there is no such file")
        self.write("colours/train/red/39.png", b"")
        self.assertIn("39.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image; it looks like an empty file", self.neon(spec, code=3).err)

    def test_a_folder_without_test_images(self):
        write_colours(self)
        os.rename(self.path("colours/train"), self.path("photos"))
        rest = ("layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]\ncost: CrossEntropyMulti\n"
                "optimizer: {GradientDescentMomentum: {learning_rate: 0.05}}\nbatch_size: 8\nepochs: 2\n")
        spec = self.write("p.yaml", "dataset: {ImageFolder: {path: photos}}\n" + rest)
        note = "note: photos: has no test images, so 16 of its 80 are kept for the test, the same in every run; " \
               "test: none trains with all\n"
        check = self.neon("check", spec)
        self.assertEqual(check.err.count(note), 1)
        self.assertIn("64 training and 16 test samples", check.out)
        self.assertEqual(self.neon("-r", "1", "-s", "m", spec).err.count(note), 1)
        self.assertIn("(photos, 16 samples)", self.neon("eval", "m").out)
        everything = self.neon("eval", "m", "photos")
        self.assertIn("80 samples", everything.out)
        self.assertNotIn("note: photos", everything.err)
        self.neon("data", "pack", "photos", "shards")
        self.assertIn("64 training and 16 test samples", self.neon("check", "--set", "dataset={Shards: {path: shards}}", spec).out)
        everything = self.neon("check", "--set", "dataset.test=none", spec)
        self.assertNotIn("note: photos", everything.err)
        self.assertIn("80 training", everything.out)
        self.refused(2, "check", "--set", "dataset.test=most", spec, says="test: 'most' is neither auto, nor none, nor a share")

    def test_bmp_files_are_images_wherever_images_are_read(self):
        training = write_colours(self)
        def bmp(image):  # of 24 bits, rows from below
            height, width, _ = image.shape
            rows = np.zeros((height, (3 * width + 3) // 4 * 4), np.uint8)
            rows[:, :3 * width] = image[::-1, :, ::-1].reshape(height, -1)
            return struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + rows.size, 0, 54, 40, width, height, 1, 24, 0, rows.size, 0,
                               0, 0, 0) + rows.tobytes()
        for i, image in enumerate(training):
            self.write(f"photos/{'blue' if i < 40 else 'red'}/{i}.bmp", bmp(image))
        spec = self.write("b.yaml", "dataset: {ImageFolder: {path: colours}}\nlayers:\n"
                          "  - Affine: {nout: 2, init: Kaiming, activation: Softmax}\ncost: CrossEntropyMulti\n"
                          "optimizer: {GradientDescentMomentum: {learning_rate: 0.05}}\nbatch_size: 8\nepochs: 2\n")
        self.neon("-r", "1", "-s", "m", spec)
        names = [f"photos/blue/{i}.bmp" for i in range(3)]
        rows = self.neon("predict", "m", *names, "--format", "csv").out.splitlines()[1:]
        pngs = self.neon("predict", "m", *[f"colours/train/blue/{i}.png" for i in range(3)], "--format", "csv").out
        self.assertEqual([row.split(",")[1:] for row in rows], [row.split(",")[1:] for row in pngs.splitlines()[1:]])
        piped = self.neon("predict", "m", "-", "--format", "csv", stdin=self.read(names[0])).out.splitlines()[1]
        self.assertEqual(piped.split(",")[1:], rows[0].split(",")[1:])
        self.neon("data", "pack", "photos", "shards")
        self.assertIn("80 samples, 0 bad", self.neon("data", "check", "shards").out)
        self.assertIn("80 images of 2 classes, 0 bad", self.neon("data", "check", "photos").out)

    def test_arrays_of_images_in_either_order_of_axes(self):
        images = np.random.default_rng(3).integers(0, 255, (24, 3, 6, 5), np.uint8)
        last = images.transpose(0, 2, 3, 1)
        orders = {"first.npy": images, "last.npy": last, "rows.npy": images.reshape(24, -1),
                  "last_rows.npy": last.reshape(24, -1)}
        for name, array in orders.items():
            np.save(self.path(name), np.ascontiguousarray(array))
        np.save(self.path("labels.npy"), images[:, 0, 0, 0] // 100)
        given = {"first.npy": "", "last.npy": ", channels_last: true", "rows.npy": ", lshape: [3, 6, 5]",
                 "last_rows.npy": ", lshape: [3, 6, 5], channels_last: true"}
        rest = ("layers: [Conv: {fshape: 3, nofm: 4, init: Kaiming}, Affine: {nout: 3, init: Kaiming, activation: "
                "Softmax}]\ncost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\n"
                "batch_size: 8\nepochs: 2\n")
        told, predicted = set(), set()
        for name, more in given.items():
            spec = self.write("s.yaml", f"dataset: {{NPY: {{inputs: {name}, targets: labels.npy, scale: 0.004{more}}}}}\n" + rest)
            self.assertIn("samples (3, 6, 5), 3 classes", self.neon("check", spec).out)
            self.assertNotRegex(self.neon("program", spec).out, r"(?m)^ *\d+  transpose ")
            self.neon("-r", "1", "-s", "m", spec)
            told.add(tensors(self.path("m"))[0]["Conv_0/W"][2])
            rows = "last_rows.npy" if "channels_last" in more else "rows.npy"
            for other in "first.npy", "last.npy", rows:
                predicted.add(self.neon("predict", "m", other).out)
        self.assertEqual((len(told), len(predicted)), (1, 1))
        np.save(self.path("wide.npy"), images.reshape(24, 3, 5, 6))
        self.assertIn("wide.npy: its samples are (3, 5, 6), the net takes (3, 6, 5), or with channels last (6, 5, 3)",
                      self.neon("predict", "m", "wide.npy", code=3).err)

    def test_predict_images_whose_axes_do_not_tell_their_order(self):
        rest = ("layers: [Conv: {fshape: 1, nofm: 4, init: Kaiming}, Affine: {nout: 3, init: Kaiming, activation: "
                "Softmax}]\ncost: CrossEntropyMulti\noptimizer: {GradientDescentMomentum: {learning_rate: 0.1}}\n"
                "batch_size: 8\nepochs: 2\n")
        for shape in (4, 4, 4), (5, 5, 1):
            images = np.random.default_rng(3).integers(0, 255, (24, *shape), np.uint8)
            np.save(self.path("labels.npy"), images[:, 0, 0, 0] // 100)
            np.save(self.path("first.npy"), images)
            np.save(self.path("last.npy"), np.ascontiguousarray(images.transpose(0, 2, 3, 1)))
            predicted = {}
            for name, more in ("first.npy", ""), ("last.npy", ", channels_last: true"):
                spec = self.write("s.yaml", f"dataset: {{NPY: {{inputs: {name}, targets: labels.npy, scale: 0.004{more}}}}}\n" + rest)
                self.neon("-r", "1", "-s", "m", spec)
                predicted[name] = self.neon("predict", "m", name).out
            self.assertEqual(predicted["first.npy"], predicted["last.npy"])
        self.assertEqual(self.neon("predict", "m", "first.npy").out, predicted["last.npy"])
        np.save(self.path("flat.npy"), images.reshape(24, 5, 5))
        self.assertIn("flat.npy: its samples are (5, 5), which may be channels first or last; give them as (5, 5, 1) or (5, 1, 5)",
                      self.neon("predict", "m", "flat.npy", code=3).err)

    def test_predict_outputs_that_are_images(self):
        images = np.random.default_rng(3).integers(0, 255, (6, 3, 4, 5), np.uint8)
        np.save(self.path("x.npy"), images)
        np.save(self.path("y.npy"), (images[:, :2] / 255).astype("f4"))
        spec = self.write("s.yaml", "dataset: {NPY: {inputs: x.npy, targets: y.npy, scale: 0.004}}\nlayers: [Conv: {fshape: "
                          "1, nofm: 2, init: Kaiming}]\ncost: SumSquared\noptimizer: {GradientDescentMomentum: "
                          "{learning_rate: 0.01}}\nbatch_size: 3\nepochs: 2\n")
        self.neon("-r", "1", "-s", "m", spec)
        dtype, shape, raw = tensors(self.path("m"))[0]["Conv_0/W"]
        weights = np.frombuffer(raw, "f4").reshape(2, 3)
        expected = np.einsum("kc,nchw->nkhw", weights, images * np.float32(0.004)).reshape(6, -1)
        rows = self.neon("predict", "m", "x.npy").out.splitlines()[1:]
        np.testing.assert_allclose([[float(cell) for cell in row.split(",")[1:]] for row in rows], expected, atol=1e-5)

    def test_predict_images_scaled_as_in_training(self):
        write_mnist(self)
        self.neon("-w", self.folder, "-r", "1", "-s", "m", self.spec(MNIST, epochs="5"))
        names = self.neon("predict", "m", "mnist/t10k-images-idx3-ubyte").out.splitlines()[1:]
        self.assertEqual([line.split(",")[1] for line in names], [str(i * 7 % 10) for i in range(20)])


if __name__ == "__main__":
    support.main()
