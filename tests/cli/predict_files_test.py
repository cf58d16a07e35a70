#!/usr/bin/python3
"""predict reads what training reads: folders, archives, arrays, pipes; bad images; as much memory for many as for few."""
import gzip
import io
import os
import re
import tarfile

import h5py
import numpy as np

import support
from support import Case, tensors

SPEC = """\
dataset: {ImageFolder: {path: images}}
layers:
  - Affine: {name: a, nout: 2, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.01}}
batch_size: 4
epochs: 1
"""


class Files(Case):
    def picture(self, i, size=(4, 5)):
        """Image number i, of numbers that no other has."""
        return np.random.default_rng(i).integers(0, 256, (*size, 3)).astype(np.uint8)

    def trained(self, **changes):
        for i in range(8):
            self.write(f"images/{'ab'[i % 2]}/{i}.png", support.png(self.picture(i)))
        self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(SPEC, **changes))

    def outputs(self, pictures):
        """By NumPy: of each picture (H, W, 3) the highest output, as a net on pixels from 0 to 1."""
        stored = tensors(self.path("m"))[0]["a/W"]
        w = np.frombuffer(stored[2]).reshape(2, -1)
        z = np.array([p.astype(float).reshape(-1) / 255 for p in pictures]) @ w.T
        e = np.exp(z - z.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True)).max(1)

    def check(self, result, names, pictures):
        rows = [line.split(",") for line in result.out.splitlines()]
        self.assertEqual([row[0] for row in rows], ["sample", *names])
        np.testing.assert_allclose([float(row[2]) for row in rows[1:]], self.outputs(pictures), atol=1e-12)

    def test_a_folder_is_walked_as_training_walks_it(self):
        self.trained()
        files = {"1.png": 1, "sub/2.PNG": 2, "sub/deep/3.Png": 3, "other/4.png": 4}
        for name, i in files.items():
            self.write("p/" + name, support.png(self.picture(i)))
        for name in ".hidden.png", "._1.png", "sub/._2.PNG", ".ipynb_checkpoints/1-checkpoint.png", "notes.txt":
            self.write("p/" + name, b"no image")
        self.write("elsewhere/5.png", support.png(self.picture(5)))
        os.symlink("../elsewhere", self.path("p/z"))
        result = self.neon("predict", "m", "p")
        self.check(result, [f"p/{name}" for name in ("1.png", "other/4.png", "sub/2.PNG", "sub/deep/3.Png", "z/5.png")],
                   map(self.picture, (1, 4, 2, 3, 5)))
        warned = "p: 5 files that are no images, or hidden, are left out; the first: '._1.png'"
        self.assertIn(warned, result.err)
        os.mkdir(self.path("q"))
        os.rename(self.path("p"), self.path("q/one"))
        self.write("q/two/1.png", support.png(self.picture(1)))
        checked = self.neon("data", "check", "q")
        self.assertIn("q: 5 images of 2 classes, 0 bad", checked.out)
        self.assertIn("q: 5 files that are no images, or hidden, are left out", checked.err)
        os.mkdir(self.path("empty"))
        self.write("text/a.txt", "a")
        self.refused(3, "predict", "m", "text", says="text: holds no .jpg, .jpeg, .png, .bmp, .gif, .tif, .tiff or .webp, but 1 other files")
        # Files that are fields of a sample, as WebDataset has them.
        for name, i in ("k.png", 1), ("k.mask.png", 2):
            self.write("w/" + name, support.png(self.picture(i)))
        self.write("w/k.cls", "1")
        self.check(self.neon("predict", "m", "w"), ["w/k.png"], [self.picture(1)])

    def test_several_operands(self):
        self.trained()
        for i in range(4):
            self.write(f"{i}.png", support.png(self.picture(i)))
        np.save(self.path("x.npy"), np.stack([self.picture(i).transpose(2, 0, 1) for i in (6, 7)]))
        with tarfile.open(self.path("t.tar"), "w") as tar:
            tar.add(self.path("1.png"), "in/1.png")
        self.check(self.neon("predict", "m", "3.png", "1.png", "3.png"), ["3.png", "1.png", "3.png"], map(self.picture, (3, 1, 3)))
        self.check(self.neon("predict", "m", "0.png", "x.npy", "t.tar", "../" + os.path.basename(self.folder) + "/2.png"),
                   ["0.png", "x.npy:0", "x.npy:1", "t.tar:in/1.png", "../" + os.path.basename(self.folder) + "/2.png"],
                   map(self.picture, (0, 6, 7, 1, 2)))
        self.refused(3, "predict", "m", "0.png", "nowhere.png", says="nowhere.png: No such file")
        self.refused(3, "predict", "m", "nowhere.npy", says="nowhere.npy: there is no such file")
        self.refused(2, "predict", "m", "-", "-", says="stdin, which is read once only")
        self.refused(2, "predict", "m", says="usage: neon predict CHECKPOINT FILE...")
        self.refused(2, "predict", "m", "m", says="m: samples are read from .csv, .npy, .npz, IDX")

    def test_bad_images_end_the_run_or_are_left_out_in_order(self):
        self.trained()
        good = [i for i in range(600) if i not in (0, 255, 256, 300, 599)]
        for i in range(600):
            self.write(f"p/{i:03}.png", support.png(self.picture(i)) if i in good else b"no image")
        for i, content in (255, support.png(self.picture(1, (7, 5)))), (300, support.png(self.picture(1))[:60]):
            self.write(f"p/{i:03}.png", content)
        self.refused(3, "predict", "m", "p", says=["p/000.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image", "on_bad_sample=skip leaves such files out"])
        names = [f"p/{i:03}.png" for i in good]
        for arguments in (["--set", "dataset.on_bad_sample=skip", "m", "p"],):
            result = self.neon("predict", *arguments)
            self.check(result, names, map(self.picture, good))
            self.assertIn("p: 5 of 600 images are left out; the first: p/000.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image", result.err)
        self.trained(dataset="{ImageFolder: {path: images, on_bad_sample: skip}}")
        self.check(self.neon("predict", "m", "p"), names, map(self.picture, good))
        for packed in "w", "w:gz":
            with tarfile.open(self.path("p.tar"), packed) as tar:
                tar.add(self.path("p"), "p")
            self.assertEqual(len(self.neon("predict", "m", "p.tar").out.splitlines()), 596)
        self.refused(3, "predict", "m", "p/000.png", says="none of the 1 images can be read")

    def arrays(self):
        x = np.stack([self.picture(i).transpose(2, 0, 1) for i in range(5)])
        with open(self.path("x.NPY"), "wb") as file:
            np.save(file, x)
        np.savez_compressed(self.path("x.npz"), x_train=x[:2], y_train=np.arange(2), x_test=x, y_test=np.arange(5))
        np.savez(self.path("one.npz"), anything=x)
        with h5py.File(self.path("x.h5"), "w") as file:
            file.create_dataset("input", data=x.reshape(5, -1), compression="gzip")
            file["input"].attrs["lshape"] = 3, 4, 5
            file["output"] = np.arange(5)
        self.write("x.idx3-UBYTE", support.idx([5, 60], x.tobytes()))
        self.write("x.CSV", "".join(",".join(map(str, row)) + "\n" for row in x.reshape(5, -1).tolist()))
        with tarfile.open(self.path("x.tar"), "w") as tar:
            for i in range(5):
                member = tarfile.TarInfo(f"{i}.png")
                content = support.png(self.picture(i))
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        return "x.NPY", "x.npz", "one.npz", "x.h5", "x.idx3-UBYTE", "x.CSV", "x.tar"

    def test_every_format_as_a_file_and_on_stdin(self):
        self.trained()
        for name in self.arrays():
            names = [f"{i}.png" if name == "x.tar" else str(i) for i in range(5)]
            self.check(self.neon("predict", "m", name), names, map(self.picture, range(5)))
            for content in self.read(name), gzip.compress(self.read(name)):
                self.check(self.neon("predict", "m", "-", stdin=content), names, map(self.picture, range(5)))
        self.check(self.neon("predict", "m", "-", stdin=support.png(self.picture(3))), ["stdin"], [self.picture(3)])
        self.assertIn("note: x.npz: the samples are those of 'x_test'; it has x_train, y_train, x_test, y_test",
                      self.neon("predict", "m", "x.npz").err)
        np.savez(self.path("two.npz"), a=np.zeros((2, 60)), b=np.zeros((2, 60)))
        for arguments, options in (["two.npz"], {}), (["-"], {"stdin": self.read("two.npz")}):
            self.refused(3, "predict", "m", *arguments, says="has no array 'x_test' or 'x_train', but a, b", **options)
        self.refused(3, "predict", "m", "-", stdin=self.read("x.h5")[:300], says="stdin: truncated or corrupt HDF5 file")

    def test_a_mean_of_an_hdf5_file_is_subtracted_as_in_training(self):
        x, mean = np.random.default_rng(1).normal(3, 1, (12, 6)), np.arange(6.0)
        with h5py.File(self.path("d.h5"), "w") as file:
            file["input"], file["output"], file["mean"] = x, np.arange(12) % 2, mean
        self.neon("-r", "1", "-d", "f64", "-s", "m", self.spec(SPEC, dataset="{HDF5: {train: d.h5}}"))
        np.save(self.path("x.npy"), x)
        self.assertEqual(self.neon("predict", "m", "d.h5").out, self.neon("predict", "m", "x.npy").out)

    def test_sequences_of_an_hdf5_file_have_padding(self):
        rng = np.random.default_rng(2)
        x = rng.normal(0, 1, (12, 5, 2)).astype("f4")
        for i in range(12):
            x[i, 2 + i % 4:] = np.nan
        with h5py.File(self.path("d.h5"), "w") as file:
            file["input"], file["output"] = x, np.arange(12) % 2
        layers = "[LSTM: {output_size: 3, init: GlorotUniform}, RecurrentLast, Affine: {nout: 2, init: Kaiming, activation: Softmax}]"
        spec = self.write("q.yaml", "dataset: {HDF5: {train: d.h5, sequences: true}}\nlayers: " + layers + SPEC[SPEC.index("\ncost:"):])
        self.neon("-r", "1", "-s", "m", spec)
        np.save(self.path("x.npy"), x)
        self.assertEqual(self.neon("predict", "m", "d.h5").out, self.neon("predict", "m", "x.npy").out)

    def test_a_row_has_all_numbers_of_a_sequence(self):
        x = np.random.default_rng(3).normal(0, 1, (5, 8, 4)).astype("f4")
        np.savez(self.path("d.npz"), x_train=x, y_train=np.arange(5) % 2)
        layers = "[GRU: {output_size: 3, init: GlorotUniform}, RecurrentLast, Affine: {nout: 2, init: Kaiming, activation: Softmax}]"
        spec = self.write("q.yaml", "dataset: {NPZ: {path: d.npz, sequences: true}}\nlayers: " + layers + SPEC[SPEC.index("\ncost:"):])
        self.neon("-r", "1", "-s", "m", spec)
        np.save(self.path("x.npy"), x)
        rows = x.reshape(5, -1)
        for name, count in (("all", 5), ("one", 1)):
            np.savetxt(self.path(f"{name}.csv"), rows[:count], delimiter=",", fmt="%.9g")
        expected = self.neon("predict", "m", "x.npy").out.splitlines()
        self.assertEqual(self.neon("predict", "m", "all.csv").out.splitlines(), expected)
        self.assertEqual(self.neon("predict", "m", "one.csv").out.splitlines(), expected[:-4])

    def test_memory_does_not_grow_with_the_number_of_images(self):
        self.trained()
        content = support.png(self.picture(1))
        for i in range(3000):
            self.write(f"many/{i:04}.png", content)
            if i < 300:
                self.write(f"few/{i:04}.png", content)
        peaks = {folder: self.peak("predict", "m", folder) for folder in ("few", "many")}
        self.assertLess(peaks["many"], peaks["few"] + 16_000_000)

    def test_what_unpacks_to_more_than_it_may_is_refused(self):
        self.trained()
        zeros = gzip.compress(bytes(1 << 26), 9)  # members follow one another
        self.write("bomb.jpg", gzip.compress(support.png(self.picture(1))))
        self.refused(3, "predict", "m", "bomb.jpg", says="bomb.jpg: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image; it looks like a gzip file")
        bomb = gzip.compress(support.png(self.picture(1))) + 5 * zeros
        self.refused(3, "predict", "m", "-", stdin=bomb, says="stdin: holds more than the 256 MiB that such a file may have")
        self.write("bomb.csv.gz", gzip.compress(b"1,2\n") + 5 * zeros)
        self.refused(3, "predict", "m", "bomb.csv.gz", says=["bomb.csv.gz: unpacks to more than 256 MiB", "gunzip"])
        spec = self.spec(SPEC, dataset="{CSV: {path: bomb.csv.gz}}")
        self.refused(3, spec, says="unpacks to more than 256 MiB")


if __name__ == "__main__":
    support.main()
