#!/usr/bin/python3
"""Images that are higher than wide or wider than high, from photos to predictions: sizes of both sides in data sets, packed
folders, crops, scales, checkpoints and predict."""
import json
import re

import numpy as np

from support import Case, main, png, tensors

SPEC = """\
dataset: {ImageFolder: {path: p, size: [24, 40], test: 0.25}}
augment: [RandomScale: {size: [22, 38], area: [0.6, 1]}, RandomCrop: {size: [20, 32]}, Flip]
layers:
  - Conv: {name: a, fshape: {R: 3, S: 5, K: 6}, strides: {str_h: 1, str_w: 2}, padding: {pad_h: 1, pad_w: 2}, activation: Rectlin}
  - Pooling: {fshape: [2, 4], strides: [2, 1], op: avg}
  - Affine: {name: b, nout: 2, activation: Softmax}
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 8
epochs: 2
"""


class Oblong(Case):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(3)
        for i in range(32):
            height, width = rng.integers(30, 70, 2)
            image = rng.integers(0, 60, (height, width, 3))
            image[..., 0 if i % 2 else 2] += 150
            self.write(f"p/{'red' if i % 2 else 'blue'}/{i}.png", png(image.astype("u1")))

    def test_photos_crops_and_predictions(self):
        out = self.neon("summary", self.spec(SPEC)).out
        self.assertIn("input (3, 20, 32)", out)
        self.assertRegex(out, r"a +Conv +\(6, 20, 16\)")
        self.assertRegex(out, r"Pooling_0 +Pooling +\(6, 10, 13\)")
        self.neon("-r", "1", "-s", "m", "s.yaml")
        self.assertEqual(json.loads(tensors(self.path("m"))[1]["neon.data"])["image_size"], [24, 40])
        self.neon("resume", "m", "-e", "4")
        self.assertGreater(json.loads(self.neon("eval", "m", "--format", "json").out).get("Top1Misclass", 1), -1)
        # Photos of any size are brought to the samples' size, as the data set does, and cut in the middle.
        wrong = 0
        for line in map(json.loads, self.neon("predict", "m", "p/red/1.png", "p/blue/2.png", "p/red/3.png", "--format", "json").out.splitlines()):
            wrong += line["top"][0]["class"] not in line["sample"]
        self.assertEqual(wrong, 0)

    def test_packed_pixels_have_the_size(self):
        out = self.neon("data", "pack", self.spec(SPEC), "shards", "--pixels").out
        self.assertIn("dataset: {Shards: {path: shards, size: [24, 40]}}", out)
        self.neon("data", "check", "shards")
        packed = self.spec(re.sub(r"(?m)^dataset.*$", "dataset: {Shards: {path: shards, size: [24, 40]}}", SPEC), "packed.yaml")
        self.neon("-r", "1", "-s", "m", packed)
        self.refused(2, packed, "--set", "dataset.Shards.size=[40, 24]",
                     says="holds pixels (3, 24, 40), not of size [40, 24]; leave size out, or pack the data again")
        # Files keep their sizes, and are brought to the one that the spec has.
        self.neon("data", "pack", "s.yaml", "files")
        files = self.spec(re.sub(r"(?m)^dataset.*$", "dataset: {Shards: {path: files, size: [24, 40]}}", SPEC), "files.yaml")
        self.neon("-r", "1", "-s", "n", files)
        for name in "a/W", "b/W":
            self.assertEqual(tensors(self.path("m"))[0][name], tensors(self.path("n"))[0][name], "the same samples")

    def test_what_is_no_size_is_refused(self):
        self.refused(2, self.spec(SPEC), "--set", "dataset.ImageFolder.size=[1, 2, 3]", says="expected a number of pixels, or [height, width]")
        self.refused(2, "s.yaml", "--set", "dataset.ImageFolder.size=[0, 2]", says="expected a number of pixels, or [height, width]")
        self.refused(2, "s.yaml", "--set", "augment=[RandomCrop: {size: [25, 10]}]", says="cannot cut 25 x 10 pixels from images of 24 x 40")


if __name__ == "__main__":
    main()
