"""Convnets of 2015 to 2022 that tools/bench times beside those of normed.py: layer for layer those of specs.py."""
import functools

import torch
from torch import nn

from normed import bottleneck, classified, normed, resnet


class Sum(nn.Module):
    """The input, and layers of it."""

    def __init__(self, *body):
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x):
        return x + self.body(x)


class Excite(nn.Module):
    """The means of all maps give a factor for each."""

    def __init__(self, channels, squeezed, activation, gate):
        super().__init__()
        self.factors = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, squeezed, 1), activation(),
                                     nn.Conv2d(squeezed, channels, 1), gate())

    def forward(self, x):
        return x * self.factors(x)


def inverted(channels, inner, maps, size, stride, activation, excite=()):
    """More maps by 1x1, each filtered by itself and scaled, few maps by 1x1; with a sum where the shape stays."""
    body = [] if inner == channels else normed(channels, inner, 1, activation=activation)
    body = [*body, *normed(inner, inner, size, stride, groups=inner, activation=activation), *excite,
            *normed(inner, maps, 1, activation=None)]
    return [Sum(*body)] if channels == maps and stride == 1 else body


def resnext50():
    return resnet(functools.partial(bottleneck, share=2, groups=32), ((256, 3), (512, 4), (1024, 6), (2048, 3)))


def efficientnet_b0():
    layers, channels = normed(3, 32, 3, 2, activation=nn.SiLU), 32
    for factor, size, first_stride, maps, blocks in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2),
                                                     (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
                                                     (6, 3, 1, 320, 1)):
        for number in range(blocks):
            inner = factor * channels
            layers += inverted(channels, inner, maps, size, 1 if number else first_stride, nn.SiLU,
                               [Excite(inner, channels // 4, nn.SiLU, nn.Sigmoid)])
            channels = maps
    layers += [*normed(320, 1280, 1, activation=nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, nn.Linear(1280, 1000))


MOBILENET_V3 = (  # size, inner maps, maps, those that factors are made from, activation, stride
    (3, 16, 16, 0, nn.ReLU, 1), (3, 64, 24, 0, nn.ReLU, 2), (3, 72, 24, 0, nn.ReLU, 1), (5, 72, 40, 24, nn.ReLU, 2),
    (5, 120, 40, 32, nn.ReLU, 1), (5, 120, 40, 32, nn.ReLU, 1), (3, 240, 80, 0, nn.Hardswish, 2),
    (3, 200, 80, 0, nn.Hardswish, 1), (3, 184, 80, 0, nn.Hardswish, 1), (3, 184, 80, 0, nn.Hardswish, 1),
    (3, 480, 112, 120, nn.Hardswish, 1), (3, 672, 112, 168, nn.Hardswish, 1), (5, 672, 160, 168, nn.Hardswish, 2),
    (5, 960, 160, 240, nn.Hardswish, 1), (5, 960, 160, 240, nn.Hardswish, 1))


def mobilenet_v3():
    layers, channels = normed(3, 16, 3, 2, activation=nn.Hardswish), 16
    for size, inner, maps, squeezed, activation, stride in MOBILENET_V3:
        excite = [Excite(inner, squeezed, nn.ReLU, nn.Hardsigmoid)] if squeezed else []
        layers += inverted(channels, inner, maps, size, stride, activation, excite)
        channels = maps
    return nn.Sequential(*layers, *normed(160, 960, 1, activation=nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(960, 1280), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1280, 1000))


class Permute(nn.Module):
    def __init__(self, *axes):
        super().__init__()
        self.axes = axes

    def forward(self, x):
        return x.permute(*self.axes)


def pixel_norm(maps):
    """Each pixel's maps, normalized. Of channels_last both changes of the order copy nothing."""
    return [Permute(0, 2, 3, 1), nn.LayerNorm(maps, 1e-6), Permute(0, 3, 1, 2)]


def convnext_tiny():
    layers, channels = [nn.Conv2d(3, 96, 4, 4), *pixel_norm(96)], 96
    for maps, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if maps != channels:
            layers += [*pixel_norm(channels), nn.Conv2d(channels, maps, 2, 2)]
            channels = maps
        for _ in range(blocks):
            layers.append(Sum(nn.Conv2d(maps, maps, 7, 1, 3, groups=maps), Permute(0, 2, 3, 1),
                              nn.LayerNorm(maps, 1e-6), nn.Linear(maps, 4 * maps), nn.GELU(),
                              nn.Linear(4 * maps, maps), Permute(0, 3, 1, 2)))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(768, 1e-6), nn.Linear(768, 1000))


class Shuffle(nn.Module):
    """Two branches, each over half of the maps, or with a stride over all; the maps of both then alternate."""

    def __init__(self, channels, maps, stride):
        super().__init__()
        half, self.halves = maps // 2, stride == 1
        self.left = nn.Identity() if self.halves else nn.Sequential(
            *normed(channels, channels, 3, stride, groups=channels, activation=None), *normed(channels, half, 1))
        self.right = nn.Sequential(*normed(half if self.halves else channels, half, 1),
                                   *normed(half, half, 3, stride, groups=half, activation=None), *normed(half, half, 1))

    def forward(self, x):
        left, right = x.chunk(2, 1) if self.halves else (x, x)
        x = torch.cat([self.left(left), self.right(right)], 1)
        batch, maps, height, width = x.shape
        return x.view(batch, 2, maps // 2, height, width).transpose(1, 2).reshape(x.shape)


def shufflenet_v2():
    layers, channels = [*normed(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for maps, blocks in ((116, 4), (232, 8), (464, 4)):
        for number in range(blocks):
            layers.append(Shuffle(channels, maps, 1 if number else 2))
            channels = maps
    return classified([*layers, *normed(464, 1024, 1)], 1024)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = (64, 128, 256, 512, 1024)

        def double(channels, maps):
            return nn.Sequential(*normed(channels, maps, 3), *normed(maps, maps, 3))

        self.down = nn.ModuleList(double(before, after) for before, after in zip((3, *sizes), sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * maps, maps, 2, 2) for maps in sizes[-2::-1])
        self.joined = nn.ModuleList(double(2 * maps, maps) for maps in sizes[-2::-1])
        self.last = nn.Conv2d(64, 2, 1)

    def forward(self, x):
        kept = []
        for number, double in enumerate(self.down):
            x = double(nn.functional.max_pool2d(x, 2) if number else x)
            kept.append(x)
        for up, double, fine in zip(self.up, self.joined, kept[-2::-1]):
            x = double(torch.cat([fine, up(x)], 1))
        return self.last(x)


MAKE = {"resnext50-32x4d": resnext50, "convnext-tiny": convnext_tiny, "efficientnet-b0": efficientnet_b0,
        "shufflenet-v2": shufflenet_v2, "mobilenet-v3-large": mobilenet_v3, "unet": UNet}
