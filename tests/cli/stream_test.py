#!/usr/bin/python3
"""Sets that are streamed, as people meet them: the same results, memory that stays bounded, what is said of them."""
import hashlib
import json
import re
import struct
import zlib

import numpy as np

import support
from support import Case, png, tensors

SIDE, IMAGES = 256, 1200
SET_BYTES = IMAGES * SIDE * SIDE * 3  # 236 MB

LARGE = """\
dataset: {Shards: {path: large, stream: true}}
layers:
  - Pooling: {fshape: 32, strides: 32, op: avg}
  - Affine: {nout: 2, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
batch_size: 8
epochs: 1
rng_seed: 1
"""

SMALL = """\
dataset: {ImageFolder: {path: colours, stream: true}}
augment: [RandomCrop: {size: 6}, Flip]
normalize: true
layers:
  - Conv: {fshape: [3, 3, 4], init: Kaiming, activation: Rectlin}
  - Affine: {nout: 2, init: Kaiming, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {GradientDescentMomentum: {learning_rate: 0.1}}
batch_size: 6
epochs: 3
rng_seed: 1
"""


def shard(images):
    """A shard, by the description at the head of shard.h, of pixels whose label is their number modulo 2."""
    contents, table, place = [], b"", 0
    for i, image in enumerate(images):
        content = image.tobytes()
        table += struct.pack("<QIIiI", place, len(content), zlib.crc32(content), i % 2, 0)
        contents.append(content)
        place += len(content)
    trailer = struct.pack("<QQII", place, len(contents), zlib.crc32(table), 1) + b"NEONSHRD"
    return b"".join(contents) + table + trailer


class Streams(Case):
    def large_set(self, folder, images):
        rng = np.random.default_rng(3)
        one = rng.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
        parts = {"train": [], "test": [], "validation": []}
        for part, count in ("train", images), ("test", 8):
            content = shard(np.roll(one, 7 * i) for i in range(count))
            self.write(f"{folder}/{part}-0000.shard", content)
            parts[part] = [{"file": f"{part}-0000.shard", "samples": count, "bytes": len(content),
                            "sha256": hashlib.sha256(content).hexdigest()}]
        self.write(f"{folder}/index.json", json.dumps(
            {"neon_shards": 1, "pixels": True, "sample": [3, SIDE, SIDE], "classes": ["even", "odd"],
             "means": [0.5] * 3, "deviations": [0.25] * 3, "parts": parts}))

    def colours(self):
        rng = np.random.default_rng(4)
        for i in range(32):
            image = rng.integers(0, 200, (8, 8, 3)).astype(np.uint8) + np.uint8(50 * (i % 2))
            self.write(f"colours/{'test' if i >= 26 else 'train'}/{'dark' if i % 2 else 'light'}/{i}.png", png(image))

    def test_memory_is_bounded(self):
        self.large_set("large", IMAGES)
        self.large_set("few", 16)
        self.spec(LARGE)
        base = self.peak("-b", "cpu", "s.yaml", "--set", "dataset.Shards.path=few", "--set", "dataset.Shards.stream=false")
        streamed = self.peak("-b", "cpu", "s.yaml")
        held = self.peak("-b", "cpu", "s.yaml", "--set", "dataset.Shards.stream=false")
        self.assertLess(streamed - base, SET_BYTES / 4)
        self.assertGreater(held - base, SET_BYTES * 0.9)  # else this would notice nothing
        said = self.neon("check", "s.yaml").out
        self.assertIn("the set is streamed", said)
        estimate = float(re.search(r"data ([0-9.]+) MiB", said).group(1)) * 2**20
        self.assertLess(estimate, SET_BYTES / 4)
        self.assertGreater(estimate, 8 * SIDE * SIDE * 3)

    def test_training_samples_are_evaluated_streamed_or_not(self):
        """All of them, and a share of each class."""
        self.colours()
        for count in "7", "1000":
            said = []
            for stream in "true", "false":
                self.spec(SMALL, train_metrics=count)
                out = self.neon("-b", "cpu", "-s", "m.safetensors", "s.yaml", "--set", f"dataset.ImageFolder.stream={stream}").out
                said.append(re.search(r"train_\S+ [\d.]+ %.*? train_cost \S+", out)[0])
            self.assertEqual(*said)
            if count == "1000":
                images = self.neon("eval", "-b", "cpu", "m.safetensors", "colours/train", "--format", "json").out
                self.assertAlmostEqual(float(said[0].split()[-1]), json.loads(images)["cost"], delta=1e-3)

    def test_every_verb_reads_a_stream(self):
        self.colours()
        self.spec(SMALL)
        held = ["--set", "dataset.ImageFolder.stream=false"]
        outputs = {}
        for name, more in ("streamed", []), ("held", held):
            trained = self.neon("-b", "cpu", "-s", f"{name}.safetensors", "s.yaml", *more).out
            waited = re.findall(r"(?m)^waited for data: (\d+) % of the time(; more threads, or neon data pack, may shorten that)?$", trained)
            self.assertEqual(len(waited), name == "streamed", trained)
            for share, advice in waited:
                self.assertLessEqual(int(share), 100)
                if share != "10":  # which is rounded
                    self.assertEqual(bool(advice), int(share) > 10)
            outputs[name] = [self.neon("eval", "-b", "cpu", f"{name}.safetensors", "--format", "json").out,
                             self.neon("predict", f"{name}.safetensors", "colours/test/dark").out,
                             self.neon("data", "stats", "s.yaml", *more).out]
            self.neon("data", "preview", "s.yaml", f"{name}.png", *more)
            self.neon("bench", "-b", "cpu", "s.yaml", *more)
        self.assertEqual(outputs["streamed"], outputs["held"])
        self.assertEqual(self.read("streamed.png"), self.read("held.png"))
        self.assertEqual(tensors(self.path("streamed.safetensors"))[0], tensors(self.path("held.safetensors"))[0])
        # Weights of either go on in the other way.
        for name, stream in ("streamed", "false"), ("held", "true"):
            self.neon("resume", "-b", "cpu", "-e", "5", f"{name}.safetensors", "--set", f"dataset.ImageFolder.stream={stream}")
        self.assertEqual(tensors(self.path("streamed.safetensors"))[0], tensors(self.path("held.safetensors"))[0])

    def test_what_is_wrong_is_told(self):
        self.colours()
        self.spec(SMALL)
        self.refused(2, "s.yaml", "--set", "dataset.ImageFolder.stream=perhaps", says=["stream", "auto, true, false"])
        self.write("colours/train/dark/5.png", "no image")
        # Measuring would read it first, before there is anything to keep.
        self.refused(3, "-b", "cpu", "-s", "m.safetensors", "s.yaml", says="train/dark/5.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image")
        error = self.refused(3, "-b", "cpu", "-s", "m.safetensors", "s.yaml", "--set", "normalize=false",
                             says=["train/dark/5.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image", "it had saved no checkpoint yet"])
        self.assertIn("dataset.on_bad_sample=skip", error.err)
        done = self.neon("-b", "cpu", "s.yaml", "--set", "dataset.ImageFolder.on_bad_sample=skip")
        stats = self.neon("data", "stats", "s.yaml", "--set", "dataset.ImageFolder.on_bad_sample=skip")
        self.assertIn("1 of 26 training images was left out", stats.err)
        self.assertIn("warning: ", done.err)
        self.assertIn("1 of 26 training images was left out, and another stood in for it; the first: ", done.err)

    def test_an_evaluation_says_how_many_samples_it_is_of(self):
        self.colours()
        self.write("s.yaml", SMALL)
        self.neon("-b", "cpu", "-s", "m.safetensors", "s.yaml")
        whole = self.neon("eval", "m.safetensors").out
        self.assertIn(" 6 samples)", whole)
        self.write("colours/test/dark/27.png", "no image")
        for stream in "true", "false":
            found = self.neon("eval", "m.safetensors", "--set", "dataset.ImageFolder.on_bad_sample=skip",
                              "--set", f"dataset.ImageFolder.stream={stream}")
            self.assertIn(" 5 samples)", found.out, stream)
            self.assertIn("27.png: expected a JPEG, PNG, BMP, GIF, TIFF or WebP image", found.err)

    def test_a_run_goes_on_streamed_or_not_as_it_was(self):
        self.colours()
        self.write("colours/train/dark/5.png", "no image")  # held there are 25 images, of a stream 26
        self.spec(SMALL)
        auto = [option for key, value in (("stream", "auto"), ("on_bad_sample", "skip"))
                for option in ("--set", f"dataset.ImageFolder.{key}={value}")]
        little, all_of_it = (["--set", f"dataset.ImageFolder.memory_share={share}"] for share in (1e-12, 1))
        for name, first, then in ("streamed", little, all_of_it), ("held", all_of_it, little):
            self.neon("-b", "cpu", "-s", f"{name}.safetensors", "s.yaml", *auto, *first)
            done = self.neon("resume", "-b", "cpu", "-e", "5", f"{name}.safetensors", *then)
            self.assertEqual(" stood in for it" in done.err, name == "streamed")


if __name__ == "__main__":
    support.main()
