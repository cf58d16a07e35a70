"""cifar10-resnet and cifar10-fast of examples/convnet in PyTorch: what error the same recipe reaches there.

The archive is the one that neon's ImageFolder reads: train/CLASS/IMAGE and test/CLASS/IMAGE. Prints a line per epoch.
"""
import argparse
import io
import math
import tarfile
import time

import numpy
import torch
from PIL import Image
from torch import nn
from torch.nn import functional

parser = argparse.ArgumentParser()
parser.add_argument("archive")
parser.add_argument("--net", choices=["resnet", "fast"], default="resnet")
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--rate", type=float, default=0.2)
parser.add_argument("--decay", type=float, default=5e-4)
parser.add_argument("--warmup", type=float, default=3)
parser.add_argument("--cutout", type=int, default=0)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

torch.manual_seed(args.seed)
device = torch.device("cuda")


def read(archive):
    sets = {"train": [], "test": []}
    with tarfile.open(archive) as tar:
        for member in tar:
            if not member.isfile():
                continue
            part, label = member.name.split("/")[-3:-1]
            image = Image.open(io.BytesIO(tar.extractfile(member).read())).convert("RGB")
            sets[part].append((numpy.asarray(image), label))
    classes = sorted({label for _, label in sets["train"]})
    for part in ("train", "test"):
        x = torch.from_numpy(numpy.stack([image for image, _ in sets[part]])).permute(0, 3, 1, 2)
        y = torch.tensor([classes.index(label) for _, label in sets[part]])
        yield x.to(device).float() / 255, y.to(device)


class Conv(nn.Module):
    def __init__(self, channels, maps, size=3, stride=1, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(channels, maps, size, stride, size // 2, bias=False)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        self.norm = nn.BatchNorm2d(maps, eps=1e-3)
        self.relu = relu

    def forward(self, x):
        y = self.norm(self.conv(x))
        return functional.relu(y) if self.relu else y


class Residual(nn.Module):
    def __init__(self, body, short=None, relu=True):
        super().__init__()
        self.body, self.short, self.relu = nn.Sequential(*body), short, relu

    def forward(self, x):
        y = self.body(x) + (self.short(x) if self.short else x)
        return functional.relu(y) if self.relu else y


def classifier(features):
    layer = nn.Linear(features, 10)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)
    return layer


def resnet():
    layers, channels = [Conv(3, 16)], 16
    for maps in (16, 32, 64):
        for unit in range(3):
            stride = 2 if maps > channels else 1
            short = Conv(channels, maps, 1, stride, relu=False) if stride == 2 else None
            layers.append(Residual([Conv(channels, maps, 3, stride), Conv(maps, maps, relu=False)], short))
            channels = maps
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), classifier(64))


def fast():
    unit = lambda maps: Residual([Conv(maps, maps), Conv(maps, maps)], relu=False)
    pool = lambda: nn.MaxPool2d(2)
    return nn.Sequential(Conv(3, 64), Conv(64, 128), pool(), unit(128), Conv(128, 256), pool(), Conv(256, 512), pool(),
                         unit(512), nn.AdaptiveMaxPool2d(1), nn.Flatten(), classifier(512))


def augmented(x):
    n = len(x)
    padded = functional.pad(x, (4, 4, 4, 4))
    top, left = torch.randint(0, 9, (2, n, 1), device=device)
    rows = top + torch.arange(32, device=device)
    columns = left + torch.arange(32, device=device)
    columns = torch.where(torch.rand(n, 1, device=device) < 0.5, columns.flip(1), columns)
    x = padded[torch.arange(n, device=device)[:, None, None, None], torch.arange(3, device=device)[:, None, None],
               rows[:, None, :, None], columns[:, None, None, :]]
    if args.cutout:
        place = torch.arange(32, device=device)
        first = torch.randint(0, 32, (2, n, 1), device=device) - args.cutout // 2
        inside = [(place >= start) & (place < start + args.cutout) for start in first]
        x = x * ~(inside[0][:, None, :, None] & inside[1][:, None, None, :])
    return x


(x, y), (x_test, y_test) = read(args.archive)
mean, deviation = x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)
x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
net = {"resnet": resnet, "fast": fast}[args.net]().to(device, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(net.parameters(), lr=args.rate, momentum=0.9, weight_decay=args.decay, nesterov=True)
steps = math.ceil(len(x) / args.batch)
warm, total = args.warmup * steps, args.epochs * steps
rate = lambda t: (t + 1) / warm if t < warm else (1 + math.cos(math.pi * (t - warm) / (total - warm))) / 2
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
began = time.perf_counter()
for epoch in range(args.epochs):
    net.train()
    sum_of_costs = torch.zeros((), device=device)
    for batch in torch.randperm(len(x), device=device).split(args.batch):
        with torch.autocast("cuda", torch.bfloat16):
            cost = functional.cross_entropy(net(augmented(x[batch]).contiguous(memory_format=torch.channels_last)),
                                            y[batch])
        optimizer.zero_grad(set_to_none=True)
        cost.backward()
        optimizer.step()
        schedule.step()
        sum_of_costs += cost.detach()
    net.eval()
    with torch.no_grad():
        wrong = sum((net(x_test[at:at + 1000]).argmax(1) != y_test[at:at + 1000]).sum().item()
                    for at in range(0, len(x_test), 1000))
    print(f"epoch {epoch + 1} cost {sum_of_costs.item() / steps:.4f} test error {100 * wrong / len(x_test):.2f} % "
          f"{time.perf_counter() - began:.1f} s", flush=True)
