"""The convnets with batch norm that tools/bench times, in PyTorch: layer for layer those of specs.py."""
import torch
from torch import nn


IN_PLACE = (nn.ReLU, nn.ReLU6)  # others need their input for the gradient, so PyTorch would keep a copy


def normed(channels, maps, size, stride=1, groups=1, activation=nn.ReLU):
    layers = [nn.Conv2d(channels, maps, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(maps)]
    return [*layers, activation(inplace=activation in IN_PLACE)] if activation else layers


def classified(layers, features):
    """The layers, the mean of each feature map, and the classifier of ImageNet's classes."""
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 1000))


class Residual(nn.Module):
    """Layers around which the input is led; through a convolution of 1x1 where the shape changes."""

    def __init__(self, body, channels, maps, stride):
        super().__init__()
        self.body = nn.Sequential(*body)
        same = channels == maps and stride == 1
        self.short = nn.Identity() if same else nn.Sequential(*normed(channels, maps, 1, stride, activation=None))

    def forward(self, x):
        return nn.functional.relu(self.body(x) + self.short(x))


def basic(channels, maps, stride):
    body = [*normed(channels, maps, 3, stride), *normed(maps, maps, 3, activation=None)]
    return Residual(body, channels, maps, stride)


def bottleneck(channels, maps, stride, share=4, groups=1):
    """1x1, 3x3, 1x1, of which the last has all maps; the stride is in the 3x3 convolution."""
    inner = maps // share
    body = [*normed(channels, inner, 1), *normed(inner, inner, 3, stride, groups), *normed(inner, maps, 1, activation=None)]
    return Residual(body, channels, maps, stride)


def resnet(block, stages):
    layers, channels = [*normed(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, (maps, blocks) in enumerate(stages):
        for number in range(blocks):
            layers.append(block(channels, maps, 2 if stage > 0 and number == 0 else 1))
            channels = maps
    return classified(layers, channels)


def resnet18():
    return resnet(basic, ((64, 2), (128, 2), (256, 2), (512, 2)))


def resnet50():
    return resnet(bottleneck, ((256, 3), (512, 4), (1024, 6), (2048, 3)))


def vgg16_bn():
    layers, channels = [], 3
    for maps, convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, maps, 3, padding=1), nn.BatchNorm2d(maps), nn.ReLU(inplace=True)]
            channels = maps
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for features in (512 * 7 * 7, 4096):
        layers += [nn.Linear(features, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


class Inverted(nn.Module):
    """Six times the maps by 1x1, 3x3 of each map for itself, few maps by 1x1; with a sum where the shape stays."""

    def __init__(self, channels, maps, stride):
        super().__init__()
        inner = 6 * channels
        self.body = nn.Sequential(*normed(channels, inner, 1, activation=nn.ReLU6),
                                  *normed(inner, inner, 3, stride, groups=inner, activation=nn.ReLU6),
                                  *normed(inner, maps, 1, activation=None))
        self.same = channels == maps and stride == 1

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


def mobilenet_v2():
    layers = [*normed(3, 32, 3, 2, activation=nn.ReLU6), *normed(32, 32, 3, groups=32, activation=nn.ReLU6),
              *normed(32, 16, 1, activation=None)]
    channels = 16
    for maps, blocks, first_stride in ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        for number in range(blocks):
            layers.append(Inverted(channels, maps, first_stride if number == 0 else 1))
            channels = maps
    layers += [*normed(320, 1280, 1, activation=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, nn.Linear(1280, 1000))


def norm_first(channels, maps, size, **more):
    return [nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.Conv2d(channels, maps, size, bias=False, **more)]


class Dense(nn.Module):
    """The input, and 32 feature maps more."""

    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(*norm_first(channels, 128, 1), *norm_first(128, 32, 3, padding=1))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet121():
    layers, channels = [*normed(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for block, count in enumerate((6, 12, 24, 16)):
        if block > 0:  # between two blocks: half the maps, a quarter of the pixels
            layers += [*norm_first(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(count):
            layers.append(Dense(channels))
            channels += 32
    return classified([*layers, nn.BatchNorm2d(channels), nn.ReLU(inplace=True)], channels)


def conv_5_7_11():
    layers, channels = [], 3
    for size, maps in ((5, 32), (7, 64), (11, 128)):
        layers += [nn.Conv2d(channels, maps, size, 2, size // 2), nn.ReLU(inplace=True), nn.BatchNorm2d(maps)]
        channels = maps
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


MAKE = {"resnet50": resnet50, "resnet18": resnet18, "vgg16-bn": vgg16_bn, "mobilenet-v2": mobilenet_v2,
        "densenet121": densenet121, "conv-5-7-11": conv_5_7_11}
