#!/usr/bin/python3
"""Holds tests/mirror to what is registered: the trainings of the suite's seeds draw every layer, activation, cost,
optimizer and schedule, or LEFT_OUT says why not.

    complete_test.py      NEON is the program
"""
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import convnet_test
import mirror_test
import support

# kind -> the part of a spec that names it
KINDS = {"layer": "layers", "activation": "layers", "cost": "cost", "optimizer": "optimizer", "schedule": "optimizer"}
LEFT_OUT = {
    "random by itself, so no formula gives its values": ["Dropout", "RReLU", "StochasticDepth"],
    "another name or form of one that is drawn": ["BatchNormAutodiff", "Convolution", "Deconvolution", "GeneralizedCost",
                                                  "Linear", "RectLeaky", "Repeat", "Sequential"],
    "a test of its own carries its training out again": ["GaussianNoise", "GenerativeAdversarial", "RBM", "XCovariance"],
    "a step, which the last bit of its input turns": ["BinaryAffine", "BinaryConv", "BinaryLinear", "Lion", "ShiftBatchNorm", "Sign"],
    "golden cases or loops alone test it": ["ChannelShuffle", "CropToFit", "CTC", "DataTransform", "Embedding",
                                            "GeneralizedCostMask", "MBox", "MergeConcatSequence", "MergeMultistream",
                                            "MultiBox", "Normalizer", "OneHot", "PixelwiseSoftmax", "Proposals",
                                            "RegionBoxes", "RoiPooling", "Seq2Seq", "TextPart", "Upsample"],
    "golden cases test it, and those of its ops": ["DotAttention", "GatedMLP", "GroupNorm", "InstanceNorm", "LayerNorm", "LearnedPositions",
                                                   "MultiHeadAttention", "RMSNorm", "SinusoidalPositions"],
    "golden cases test it, and the ops of its cells": ["AsSequence", "BiBNRNN", "BiGRU", "BiLSTM", "BiRNN", "BiSum",
                                                       "DeepBiLSTM", "DeepBiRNN", "GRU", "LSTM", "Recurrent",
                                                       "RecurrentLast", "RecurrentMax", "RecurrentMean", "RecurrentSum"],
}


def registered():
    """Names by kind, as `neon help` lists them."""
    listed = subprocess.run([os.environ["NEON"], "help"], capture_output=True, text=True, check=True).stdout
    return {kind: set(re.search(rf"^{kind} +(.*)$", listed, re.MULTILINE)[1].split(", ")) for kind in KINDS}


def names_in(spec):
    """Every key and text of a spec."""
    if isinstance(spec, dict):
        return set(spec).union(*map(names_in, spec.values()))
    if isinstance(spec, list):
        return set().union(*map(names_in, spec))
    return {spec} if isinstance(spec, str) else set()


class Complete(support.Case):
    def test_everything_registered_is_drawn_or_left_out(self):
        trainings = [made.Training(seed) for made, count in ((mirror_test, 80), (convnet_test, 40))
                     for seed in range(1, count + 1)]
        specs = [training.spec() for training in trainings]
        left_out = {name for names in LEFT_OUT.values() for name in names}
        for kind, names in registered().items():
            with self.subTest(kind=kind):
                drawn = set().union(*(names_in(spec[KINDS[kind]]) for spec in specs))
                self.assertGreater(len(names), 5)
                missing, drawn_after_all = sorted(names - drawn - left_out), sorted(names & drawn & left_out)
                self.assertFalse(missing, f"no training draws the {kind} {missing}: add a row in tests/mirror, see 'Adding things' in "
                                          "CONTRIBUTING.md, or a reason in LEFT_OUT of complete_test.py")
                self.assertFalse(drawn_after_all, "these are drawn, so take them from LEFT_OUT of complete_test.py")
        everything = set().union(*registered().values())
        self.assertFalse(sorted(left_out - everything), "nothing of this name is registered")


if __name__ == "__main__":
    support.main()
