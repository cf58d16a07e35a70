"""The nets without batch norm that tools/bench times, in PyTorch: layer for layer those of the specs in specs.py."""
import torch
from torch import nn


def conv(channels, maps, size, stride=1, padding=0):
    return [nn.Conv2d(channels, maps, size, stride, padding), nn.ReLU(inplace=True)]


def affine(features, outputs):
    return [nn.Linear(features, outputs), nn.ReLU(inplace=True)]


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 100, bias=False), nn.ReLU(inplace=True),
                         nn.Linear(100, 10, bias=False))


def lenet():
    return nn.Sequential(*conv(1, 16, 5), nn.MaxPool2d(2), *conv(16, 32, 5), nn.MaxPool2d(2), nn.Flatten(),
                         *affine(32 * 4 * 4, 500), nn.Linear(500, 10))


def cifar():
    return nn.Sequential(*conv(3, 32, 5, padding=2), nn.MaxPool2d(2), *conv(32, 32, 5, padding=2), nn.MaxPool2d(2),
                         *conv(32, 64, 5, padding=2), nn.MaxPool2d(2), nn.Flatten(), *affine(64 * 4 * 4, 500),
                         nn.Linear(500, 10))


def alexnet():
    return nn.Sequential(*conv(3, 64, 11, 4, 2), nn.MaxPool2d(3, 2), *conv(64, 192, 5, padding=2), nn.MaxPool2d(3, 2),
                         *conv(192, 384, 3, padding=1), *conv(384, 256, 3, padding=1), *conv(256, 256, 3, padding=1),
                         nn.MaxPool2d(3, 2), nn.Flatten(), *affine(256 * 6 * 6, 4096), *affine(4096, 4096),
                         nn.Linear(4096, 1000))


def overfeat():
    return nn.Sequential(*conv(3, 96, 11, 4), nn.MaxPool2d(2), *conv(96, 256, 5), nn.MaxPool2d(2),
                         *conv(256, 512, 3, padding=1), *conv(512, 1024, 3, padding=1),
                         *conv(1024, 1024, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(), *affine(1024 * 6 * 6, 3072),
                         *affine(3072, 4096), nn.Linear(4096, 1000))


def vgg_a():
    layers, channels = [], 3
    for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for maps in stage:
            layers += conv(channels, maps, 3, padding=1)
            channels = maps
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), *affine(512 * 7 * 7, 4096), *affine(4096, 4096), nn.Linear(4096, 1000))


class Inception(nn.Module):
    """Four branches over one input, joined along the channels."""

    def __init__(self, channels, one, three, five, pooled):
        super().__init__()
        self.branches = nn.ModuleList([
            nn.Sequential(*conv(channels, one, 1)),
            nn.Sequential(*conv(channels, three[0], 1), *conv(three[0], three[1], 3, padding=1)),
            nn.Sequential(*conv(channels, five[0], 1), *conv(five[0], five[1], 5, padding=2)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), *conv(channels, pooled, 1)),
        ])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def googlenet():
    def pool():
        return nn.MaxPool2d(3, 2, 1)

    return nn.Sequential(
        *conv(3, 64, 7, 2, 3), pool(), *conv(64, 64, 1), *conv(64, 192, 3, padding=1), pool(),
        Inception(192, 64, (96, 128), (16, 32), 32), Inception(256, 128, (128, 192), (32, 96), 64), pool(),
        Inception(480, 192, (96, 208), (16, 48), 64), Inception(512, 160, (112, 224), (24, 64), 64),
        Inception(512, 128, (128, 256), (24, 64), 64), Inception(512, 112, (144, 288), (32, 64), 64),
        Inception(528, 256, (160, 320), (32, 128), 128), pool(),
        Inception(832, 256, (160, 320), (32, 128), 128), Inception(832, 384, (192, 384), (48, 128), 128),
        nn.AvgPool2d(7, 1), nn.Flatten(), nn.Linear(1024, 1000))


def c3d():
    def conv3d(channels, maps):
        return [nn.Conv3d(channels, maps, 3, padding=1), nn.ReLU(inplace=True)]

    return nn.Sequential(*conv3d(3, 64), nn.MaxPool3d((1, 2, 2)), *conv3d(64, 128), nn.MaxPool3d(2),
                         *conv3d(128, 256), *conv3d(256, 256), nn.MaxPool3d(2),
                         *conv3d(256, 512), *conv3d(512, 512), nn.MaxPool3d(2), nn.Flatten(),
                         *affine(512 * 2 * 7 * 7, 2048), nn.Linear(2048, 101))


MAKE = {"mlp": mlp, "lenet": lenet, "cifar": cifar, "alexnet": alexnet, "overfeat": overfeat, "vgg-a": vgg_a,
        "googlenet": googlenet, "c3d": c3d}
