#!/usr/bin/python3
"""Makes the golden files of histograms, transforms, optimizers, initialisers, layers and models under tests/*/golden.

    /usr/bin/python3 tools/golden/make_golden.py        (Debian's python3-torchvision and python3-numpy)

Values come from PyTorch in f64 wherever it has the same rule; where neon's rule is its own, the formula is restated in
NumPy. All inputs are exact in f32, so the same values serve tests in f32. Each array is drawn by a key of its own: a new
row changes no other, and a second run gives the same files. Only the last bits of Orthonormal's rows are LAPACK's; leave
that file as it is when they alone change. The files of images come from make_golden_images.py.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden_attention_nets
import golden_beams
import golden_histograms
import golden_initializers
import golden_labels
import golden_nets
import golden_optimizers
import golden_seq2seq
import golden_sequence_nets
import golden_shared
import golden_torch_weights
import golden_transforms
from golden_file import write

if __name__ == "__main__":
    write("backends/golden/histograms.json", golden_histograms.histograms())
    write("transforms/golden/activations.json", golden_transforms.activations())
    write("transforms/golden/costs.json", golden_transforms.costs() + golden_labels.ctc())
    write("transforms/golden/metrics.json", golden_transforms.metrics() + golden_labels.metrics())
    write("optimizers/golden/rules.json", golden_optimizers.rules())
    write("optimizers/golden/schedules.json", golden_optimizers.schedules())
    write("layers/golden/initializers.json", golden_initializers.initializers())
    write("layers/golden/layers.json", golden_nets.layers())
    write("models/golden/beams.json", golden_beams.nets())
    write("models/golden/mlp.json", [golden_nets.mlp()])
    write("models/golden/seq2seq.json", golden_seq2seq.nets())
    write("models/golden/sequences.json", golden_sequence_nets.nets() + golden_attention_nets.nets())
    write("models/golden/shared.json", golden_shared.nets())
    write("cli/golden/torch_weights.json", golden_torch_weights.nets())
    write("train/golden/torch_orders.json", golden_torch_weights.orders())
