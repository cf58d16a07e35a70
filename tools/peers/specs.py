"""The nets that tools/bench times, and what their steps have in common with those of the specs."""
from typing import NamedTuple


class Net(NamedTuple):
    spec: str
    sample: tuple  # channels, rows, columns
    classes: int
    batch: int
    rate: float  # of SGD with a momentum of 0.9
    decay: float


def imagenet(name, side, batch):
    return Net(f"examples/bench/{name}.yaml", (3, side, side), 1000, batch, 0.001, 0.0005)


NETS = {
    "mlp": Net("examples/mlp/mnist-small.yaml", (1, 28, 28), 10, 128, 0.1, 0),
    "lenet": Net("examples/bench/lenet.yaml", (1, 28, 28), 10, 128, 0.01, 0),
    "cifar": Net("examples/bench/cifar.yaml", (3, 32, 32), 10, 128, 0.01, 0),
    "alexnet": imagenet("alexnet", 224, 128),
    "overfeat": imagenet("overfeat", 231, 128),
    "vgg-a": imagenet("vgg-a", 224, 64),
    "googlenet": imagenet("googlenet", 224, 128),
    "resnet50": imagenet("resnet50", 224, 256),
}
