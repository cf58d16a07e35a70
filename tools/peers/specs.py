"""The nets that tools/bench times, and what their steps have in common with those of the specs."""
from typing import NamedTuple


class Net(NamedTuple):
    spec: str
    sample: tuple  # channels, rows, columns; channels, images, rows, columns; steps, features; or the steps of tokens
    classes: int
    batch: int
    rate: float
    decay: float
    optimizer: str = "SGD"  # with a momentum of 0.9; or AdamW
    tokens: int = 0  # 0: samples are numbers
    each_step: bool = False  # steps have labels, instead of samples
    each_pixel: bool = False  # pixels have labels, instead of samples
    of: str = ""  # the net whose outputs alone are timed


def imagenet(name, side, batch):
    return Net(f"examples/bench/{name}.yaml", (3, side, side), 1000, batch, 0.001, 0.0005)


def sequences(name, sample, classes, batch, **more):
    return Net(f"examples/bench/{name}.yaml", sample, classes, batch, 0.001, 0.01, "AdamW", **more)


NETS = {
    "mlp": Net("examples/mlp/mnist-small.yaml", (1, 28, 28), 10, 128, 0.1, 0),
    "lenet": Net("examples/bench/lenet.yaml", (1, 28, 28), 10, 128, 0.01, 0),
    "cifar": Net("examples/bench/cifar.yaml", (3, 32, 32), 10, 128, 0.01, 0),
    "alexnet": imagenet("alexnet", 224, 128),
    "overfeat": imagenet("overfeat", 231, 128),
    "vgg-a": imagenet("vgg-a", 224, 64),
    "googlenet": imagenet("googlenet", 224, 128),
    "c3d": Net("examples/bench/c3d.yaml", (3, 16, 112, 112), 101, 16, 0.001, 0.0005),
    "resnet50": imagenet("resnet50", 224, 256),
    "resnet18": imagenet("resnet18", 224, 256),
    "vgg16-bn": imagenet("vgg16-bn", 224, 64),
    "mobilenet-v2": imagenet("mobilenet-v2", 224, 128),
    "densenet121": imagenet("densenet121", 224, 64),
    "conv-5-7-11": Net("examples/bench/conv-5-7-11.yaml", (3, 256, 256), 10, 256, 0.001, 0.0005),
    "resnext50-32x4d": imagenet("resnext50-32x4d", 224, 128),
    "convnext-tiny": imagenet("convnext-tiny", 224, 64),
    "efficientnet-b0": imagenet("efficientnet-b0", 224, 128),
    "shufflenet-v2": imagenet("shufflenet-v2", 224, 128),
    "mobilenet-v3-large": imagenet("mobilenet-v3-large", 224, 128),
    "unet": Net("examples/bench/unet.yaml", (3, 256, 256), 2, 8, 0.001, 0.0005, each_pixel=True),
    "lstm-rows": sequences("lstm-rows", (1, 28, 28), 10, 128),
    "lstm-512": sequences("lstm-512", (50, 512), 512, 64, each_step=True),
    "gru-512": sequences("gru-512", (50, 512), 512, 64, each_step=True),
    "lstm-chars": sequences("lstm-chars", (100,), 65, 128, tokens=65, each_step=True),
    "bilstm-words": sequences("bilstm-words", (128,), 2, 128, tokens=20000),
    "gpt-chars": sequences("gpt-chars", (256,), 65, 64, tokens=65, each_step=True),
    "gpt2": sequences("gpt2", (1024,), 50304, 16, tokens=50304, each_step=True),
}
for name in ("resnet18", "resnet50", "mobilenet-v2"):
    NETS.update({f"{name}-outputs-{batch}": NETS[name]._replace(batch=batch, of=name) for batch in (1, 32, 256)})
GROUPS = {
    "normed": ["resnet50", "resnet18", "vgg16-bn", "mobilenet-v2", "densenet121", "conv-5-7-11"],
    "modern": ["resnext50-32x4d", "convnext-tiny", "efficientnet-b0", "shufflenet-v2", "mobilenet-v3-large", "unet"],
    "sequences": ["lstm-rows", "lstm-512", "gru-512", "lstm-chars", "bilstm-words", "gpt-chars", "gpt2"],
    "outputs": [name for name, net in NETS.items() if net.of],
}


def named(text):
    """The nets of names, and of names of groups, between commas."""
    return [net for name in text.split(",") for net in GROUPS.get(name, [name])]
