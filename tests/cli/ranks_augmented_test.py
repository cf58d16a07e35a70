#!/usr/bin/python3
"""Several ranks on CPUs change each image as one rank does, whatever their shares of a batch."""
import ranks_test
import support
from support import Case

SHAPES = """\
dataset: {ToyImages: {ntrain: 43, ntest: 11}}
augment: []
layers: [Affine: {nout: 2, init: Kaiming, activation: Softmax}]
cost: CrossEntropyMulti
optimizer: {Adam: {learning_rate: 0.01}}
batch_size: 10
epochs: 2
"""
BOXES = "[Conv: {name: a, fshape: 3, nofm: 6, strides: 4, padding: 1, init: Kaiming, activation: Rectlin}, " \
    "MultiBox: {inputs: [a], init: Kaiming, sizes: [0.2, 0.6], aspect_ratios: [[2, 3]]}]"


class AugmentedRanks(Case):
    BACKEND = "cpu"
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks

    def test_a_rank_of_one_sample(self):
        """Of a last batch of 3 samples one rank has two, one has one. Both draw and round in f32, and go on in f64."""
        for augment in ("RandomScale: {area: [0.4, 1]}", "RandomScale: {size: 12}, Flip", "Rotation: 20", "Shear: {down: 0.3}",
                        "Brightness: [0.6, 1.4]", "Contrast", "ContrastNormalize", "Saturation", "ColorNoise", "Cutout: 8", "RandomErasing",
                        "RandAugment: {count: 3, magnitude: 11}", "RandomCrop: {pad: 3}"):
            self.check_ranks(self.spec(SHAPES, augment=f"[{augment}]"), ranks=(2,))

    def test_boxes_move_alike(self):
        for augment in "RandomScale: {area: [0.4, 1]}", "Rotation: 20", "RandomCrop: {pad: 3}, Flip":
            self.check_ranks(self.spec(SHAPES, augment=f"[{augment}]", layers=BOXES, cost="MBox",
                                       dataset="{ToyBoxes: {ntrain: 43, ntest: 11}}"), ranks=(2, 3))


if __name__ == "__main__":
    support.main()
