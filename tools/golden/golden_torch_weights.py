"""Small nets of PyTorch with the names of torchvision's modules: their state_dict(), and what they make of inputs in an
evaluation. See make_golden.py."""
import torch
import torchvision
from torch import nn
from torchvision.models.densenet import DenseNet
from torchvision.models.googlenet import BasicConv2d, Inception
from torchvision.models.mobilenetv2 import InvertedResidual
from torchvision.ops import Conv2dNormActivation

from golden_file import draw


class Block(nn.Module):
    """torchvision's BasicBlock."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + (self.downsample(x) if self.downsample else x)).relu()


class ResNet(nn.Module):
    """torchvision's ResNet of two stages of four and six feature maps."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 6, 2))
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        x = self.layer2(self.layer1(self.bn1(self.conv1(x)).relu()))
        return self.fc(x.mean((2, 3)))


class AlexNet(nn.Module):
    """torchvision's AlexNet in small, of pixels that are no square, and with groups: the first dense layer has its columns
    in the order (C,H,W)."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(4, 6, (3, 1), groups=2), nn.ReLU())
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(36, 5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class VGG(nn.Module):
    """torchvision's VGG with batch norm in small: convolutions have biases before their batch norms."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(24, 5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Upscaled(nn.Module):
    """A transposed convolution, a norm of features, a dense layer of pixels in the order that flatten() gives."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 2, (2, 3), stride=2)
        self.first = nn.Linear(2 * 8 * 13, 4)
        self.norm = nn.LayerNorm(4)
        self.last = nn.Linear(4, 3, bias=False)

    def forward(self, x):
        return self.last(self.norm(self.first(self.up(x).flatten(1))))


class MobileNet(nn.Module):
    """torchvision's MobileNetV2 of two blocks, the second of which adds its input."""

    def __init__(self):
        super().__init__()
        first = Conv2dNormActivation(3, 4, stride=2, norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU6)
        last = Conv2dNormActivation(4, 6, kernel_size=1, norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU6)
        self.features = nn.Sequential(first, InvertedResidual(4, 4, 1, 1), InvertedResidual(4, 4, 1, 2), last)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(6, 3))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class GoogLeNet(nn.Module):
    """torchvision's GoogLeNet of one block of four branches; its batch norm has an eps of 0.001."""

    def __init__(self):
        super().__init__()
        self.conv1 = BasicConv2d(3, 4, kernel_size=3, padding=1)
        self.conv2 = BasicConv2d(4, 4, kernel_size=1)
        self.conv3 = BasicConv2d(4, 5, kernel_size=3, padding=1)
        self.inception3a = Inception(5, 2, 2, 3, 1, 2, 2)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(9, 3)

    def forward(self, x):
        x = self.inception3a(self.conv3(self.conv2(self.conv1(x))))
        return self.fc(self.dropout(x.mean((2, 3))))


def filled(net):
    """The net in f64 with drawn numbers; variances are small, so that what is added to them matters."""
    with torch.no_grad():
        for name, tensor in net.double().state_dict().items():
            if name.endswith("running_var"):
                tensor.copy_(torch.tensor(draw(name, tensor.shape) ** 2 / 64 + 1 / 1024))
            elif tensor.is_floating_point():
                scale = 0.5 if tensor.dim() < 2 else tensor[0].numel() ** -0.5
                tensor.copy_(torch.tensor(draw(name, tensor.shape, scale)))
                tensor.copy_(tensor.float())
            else:
                tensor.fill_(7)
    for name, tensor in net.state_dict().items():
        if name.endswith("running_var"):
            tensor.copy_(tensor.float())
    return net.eval()


def case(title, net, inputs):
    net = filled(net)
    with torch.no_grad():
        outputs = net(torch.tensor(inputs)).numpy()
    state = {name: tensor.numpy().astype(float) for name, tensor in net.state_dict().items()}
    return dict(title=title, state=state, inputs=inputs, outputs=outputs)


def nets():
    inputs = draw("torch images", (4, 3, 4, 6))
    return [case("resnet", ResNet(), inputs), case("alexnet", AlexNet(), draw("torch images", (4, 3, 8, 6))),
            case("vgg", VGG(), inputs), case("upscaled", Upscaled(), inputs),
            case("mobilenet", MobileNet(), inputs), case("googlenet", GoogLeNet(), inputs),
            case("densenet", DenseNet(3, (1, 2), 5, 2, num_classes=3), draw("torch images", (4, 3, 16, 12)))]


def orders():
    """The modules of torchvision's nets in their order, which is not that of their names."""
    out = []
    for name in "resnet18", "resnet50", "densenet121", "googlenet", "alexnet", "vgg11_bn", "mobilenet_v2", "squeezenet1_1":
        more = {"init_weights": False} if name == "googlenet" else {}
        names = getattr(torchvision.models, name)(weights=None, **more).state_dict()
        modules = list(dict.fromkeys(each.rpartition(".")[0] for each in names))
        modules.sort(key=lambda module: module.startswith("aux"))  # a spec has GoogLeNet's further classifiers last
        out.append(dict(title=name, modules=modules))
    return out
