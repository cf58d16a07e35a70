#!/usr/bin/python3
"""Nets that find objects: the example learns, eval agrees with the mean average precision of what predict prints, boxes
move with their images, and data or nets that do not fit are refused."""
import csv
import io
import json
import os
import re

import numpy as np

from support import IRIS, Case, main, png, tensors

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "detection")
# Threads of one training would wait for each other beside other tests.
ALONE = {"OMP_NUM_THREADS": "1"}
EXAMPLE, REGIONS = os.path.join(FOLDER, "shapes-ssd.yaml"), os.path.join(FOLDER, "shapes-rcnn.yaml")


def overlap(a, b):
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if across <= 0 or down <= 0:
        return 0
    area = lambda box: (box[2] - box[0]) * (box[3] - box[1])
    return across * down / (area(a) + area(b) - across * down)


def precision(found, objects, least=0.5):
    """Mean average precision of found {image: [(class, score, box)]} for objects {image: [(class, box)]}."""
    out = []
    for label in sorted({one[0] for boxes in objects.values() for one in boxes}):
        total = sum(one[0] == label for boxes in objects.values() for one in boxes)
        ranked = sorted(((score, image, box) for image, boxes in found.items() for name, score, box in boxes if name == label),
                        key=lambda one: -one[0])
        taken, right, curve = set(), 0, []
        for place, (_, image, box) in enumerate(ranked, 1):
            overlaps = [overlap(box, other) if name == label else 0 for name, other in objects[image]]
            best = int(np.argmax(overlaps)) if overlaps else -1
            if best >= 0 and overlaps[best] >= least and (image, best) not in taken:
                taken.add((image, best))
                right += 1
            curve.append((right / total, right / place))
        area = before = 0
        for i, (recall, _) in enumerate(curve):
            area += (recall - before) * max(p for _, p in curve[i:])
            before = recall
        out.append(area)
    return float(np.mean(out))


class Detection(Case):
    def test_the_example_finds_shapes(self):
        out = self.neon("-r", "1", "-e", "3", "-s", "m", EXAMPLE, environment=ALONE).out
        self.assertGreater(float(re.search(r"test: MeanAveragePrecision ([\d.]+) %", out)[1]), 85, out)
        told = json.loads(self.neon("eval", "m", "--format", "json").out)
        stats = self.neon("data", "stats", EXAMPLE).out
        self.assertIn("boxes of each class:", stats)
        self.assertGreater(told["MeanAveragePrecision"], 0.85)

    def test_regions_are_found_and_named(self):
        out = self.neon("-r", "1", "-e", "3", REGIONS, environment=ALONE).out
        self.assertGreater(float(re.search(r"test: MeanAveragePrecision ([\d.]+) %", out)[1]), 80, out)

    def test_eval_counts_what_predict_prints(self):
        """Photos of other shapes than the net's samples, a table of pixels, and NumPy's average precision."""
        rng, lines, objects = np.random.default_rng(5), {"train": [], "test": []}, {}
        for part, count in ("train", 120), ("test", 30):
            for i in range(count):
                height, width = rng.integers(40, 90, 2)
                image = rng.integers(0, 80, (height, width, 3)).astype("u1")
                boxes = []
                for name, colour in ("red", (250, 20, 20)), ("blue", (20, 20, 250)):
                    if rng.uniform() < 0.3:
                        continue
                    h, w = (rng.uniform(0.3, 0.5, 2) * [height, width]).astype(int)
                    top = rng.integers(0, height - h)
                    left = rng.integers(0, width // 2 - w + 1) + (width // 2 if name == "blue" else 0)
                    image[top:top + h, left:left + w] = colour
                    boxes.append((name, [left / width, top / height, (left + w) / width, (top + h) / height]))
                    lines[part].append(f"{part}{i}.png,{name},{left},{top},{left + w},{top + h}")
                if not boxes:
                    lines[part].append(f"{part}{i}.png,,,,,")
                self.write(f"p/{part}{i}.png", png(image))
                if part == "test":
                    objects[f"p/test{i}.png"] = boxes
            self.write(f"p/{part}.csv", "\n".join(["image,class,x1,y1,x2,y2", *lines[part]]) + "\n")
        with open(EXAMPLE) as file:
            text = re.sub(r"(?m)^dataset:.*$", "dataset: {BoxImages: {path: p/train.csv, test_path: p/test.csv, size: [32, 48]}}", file.read())
        self.neon("-r", "1", "-s", "m", "-e", "25", "-z", "16", self.spec(text))
        told = json.loads(self.neon("eval", "m", "--format", "json").out)["MeanAveragePrecision"]
        self.assertGreater(told, 0.6)
        streamed = "dataset.BoxImages.stream=true"
        self.assertIn("streamed", self.neon("check", "s.yaml", "--set", streamed).out)
        few = ("-r", "1", "-e", "2", "-z", "16", "--set", "normalize=true", "s.yaml")
        for name, more in ("held", ()), ("read", ("--set", streamed)):
            self.neon("-s", name, *few, *more)
        self.assertEqual(tensors(self.path("held"))[0], tensors(self.path("read"))[0])
        out = self.neon("predict", "m", *objects, "--format", "json").out
        self.assertEqual(out.count("\n"), 30)
        found = {}
        for line in map(json.loads, out.splitlines()):
            found[line["sample"]] = [(box["class"], box["score"], box["box"]) for box in line["boxes"]]
        self.assertEqual(set(found), set(objects))
        self.assertAlmostEqual(precision(found, objects), told, delta=1e-4)

    def test_predict_prints_boxes(self):
        self.neon("-r", "1", "-s", "m", "-e", "2", "--set", "dataset.ToyBoxes.ntrain=128", EXAMPLE)
        np.save(self.path("x.npy"), np.random.default_rng(1).integers(0, 96, (3, 3, 48, 64)).astype("u1"))
        rows = list(csv.DictReader(io.StringIO(self.neon("predict", "m", "x.npy").out)))
        lines = [json.loads(line) for line in self.neon("predict", "m", "x.npy", "--format", "json").out.splitlines()]
        self.assertEqual(len(lines), 3)
        for line in lines:
            of_image = [row for row in rows if row["sample"] == line["sample"] and row["class"]]
            self.assertEqual(len(of_image), len(line["boxes"]))
            scores = [box["score"] for box in line["boxes"]]
            self.assertEqual(scores, sorted(scores, reverse=True))
            for row, box in zip(of_image, line["boxes"]):
                self.assertIn(box["class"], ["disc", "block", "triangle"])
                self.assertEqual(row["class"], box["class"])
                x1, y1, x2, y2 = box["box"]
                self.assertTrue(0 <= x1 <= x2 <= 1 and 0 <= y1 <= y2 <= 1, box)
                np.testing.assert_allclose([float(row[key]) for key in ("score", "x1", "y1", "x2", "y2")],
                                           [box["score"], *box["box"]], rtol=1e-5)

    def test_a_run_in_two_parts_is_the_whole_run(self):
        few = ("--set", "dataset.ToyBoxes.ntrain=64", "--set", "dataset.ToyBoxes.ntest=20", "--set",
               "augment=[Flip, RandomScale: {area: [0.6, 1]}]")
        for example in EXAMPLE, REGIONS:
            self.neon("-r", "1", "-s", "whole", "-e", "2", *few, example)
            self.neon("-r", "1", "-s", "parts", "-e", "1", *few, example)
            self.neon("resume", "parts", "-e", "2")
            one, other = (json.loads(self.neon("eval", path, "--format", "json").out) for path in ("whole", "parts"))
            self.assertEqual(one, other)

    def test_ranks_find_the_same(self):
        few = ("--set", "dataset.ToyBoxes.ntrain=64", "--set", "dataset.ToyBoxes.ntest=21", "-e", "1", "-d", "f64", "-r", "1",
               "--set", "parallel={batch_norm: all}")
        for example in EXAMPLE, REGIONS:
            results = lambda *more: re.search(r"(?m)^test: .*", self.neon(*more, *few, example).out)[0]
            self.assertEqual(results("-m", "2"), results())

    def test_what_does_not_fit_is_refused(self):
        with open(EXAMPLE) as file:
            text = file.read()
        self.refused(2, self.spec(text), "--set", "cost=CrossEntropyMulti", says="the targets are boxes of objects; cost: MBox is for these")
        self.refused(2, "s.yaml", "--set", "metrics=[Accuracy]", says="MeanAveragePrecision compares these")
        self.refused(2, "s.yaml", "--set", "augment=[Mixup]", says="boxes of objects have no mixture")
        self.refused(2, "s.yaml", "--set", "augment=[Flip: {average: true}]", says="boxes of objects, leave it out")
        self.refused(2, "s.yaml", "--set", "class_weights=balanced", says="class_weights: is for classes, and the data set has boxes of objects")
        self.refused(2, "s.yaml", "--set", "sampling=balanced", says="a class for each box")
        cut = re.sub(r"  - MultiBox.*\n", "  - Affine: {nout: 3, activation: Softmax}\n", text)
        self.refused(2, self.spec(cut), says="but the targets are boxes of objects of 3 classes: end with MultiBox")
        self.refused(2, self.spec(IRIS), "--set", "cost=MBox", says="and the data set has none")
        self.refused(2, "s.yaml", "--set", "metrics=[mAP]", says="the data set has none; leave it out")


if __name__ == "__main__":
    main()
