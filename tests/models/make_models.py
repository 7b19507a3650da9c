#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes expected.json: what the nets of models.h give in torch, in double precision.

Before that, the nets of torchvision and those of this file are compared at their published widths: with the parameters
of one, both give the same outputs.
"""
import json
import os

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
PRIME = 10007


def relu():
    return nn.ReLU(inplace=True)


class AlexNet(nn.Module):
    def __init__(self, width=64, hidden=4096, classes=1000, dropout=0.5):
        super().__init__()
        w = width
        self.features = nn.Sequential(
            nn.Conv2d(3, w, 11, 4, 2), relu(), nn.MaxPool2d(3, 2), nn.Conv2d(w, 3 * w, 5, 1, 2), relu(),
            nn.MaxPool2d(3, 2), nn.Conv2d(3 * w, 6 * w, 3, 1, 1), relu(), nn.Conv2d(6 * w, 4 * w, 3, 1, 1), relu(),
            nn.Conv2d(4 * w, 4 * w, 3, 1, 1), relu(), nn.MaxPool2d(3, 2))
        self.avgpool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(4 * w * 36, hidden), relu(), nn.Dropout(dropout), nn.Linear(hidden, hidden),
            relu(), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class VGG(nn.Module):
    def __init__(self, convs, batch_norm, width=64, hidden=4096, classes=1000, dropout=0.5):
        super().__init__()
        layers, channels = [], 3
        for stage, count in enumerate(convs):
            for _ in range(count):
                out = width * min(2 ** stage, 8)
                layers.append(nn.Conv2d(channels, out, 3, 1, 1))
                if batch_norm:
                    layers.append(nn.BatchNorm2d(out))
                layers.append(relu())
                channels = out
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(channels * 49, hidden), relu(), nn.Dropout(dropout), nn.Linear(hidden, hidden), relu(),
            nn.Dropout(dropout), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class BasicBlock(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, width=64, classes=1000):
        super().__init__()
        w = width
        self.conv1 = nn.Conv2d(3, w, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(w)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(w, w, 1), BasicBlock(w, w, 1))
        self.layer2 = nn.Sequential(BasicBlock(w, 2 * w, 2), BasicBlock(2 * w, 2 * w, 1))
        self.layer3 = nn.Sequential(BasicBlock(2 * w, 4 * w, 2), BasicBlock(4 * w, 4 * w, 1))
        self.layer4 = nn.Sequential(BasicBlock(4 * w, 8 * w, 2), BasicBlock(8 * w, 8 * w, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8 * w, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


class DenseLayer(nn.Module):
    def __init__(self, channels, growth):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False)

    def forward(self, x):
        return self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))


class DenseBlock(nn.Module):
    def __init__(self, layers, channels, growth):
        super().__init__()
        for i in range(layers):
            self.add_module("denselayer%d" % (i + 1), DenseLayer(channels + i * growth, growth))

    def forward(self, x):
        for layer in self.children():
            x = torch.cat([x, layer(x)], 1)
        return x


class DenseNet121(nn.Module):
    def __init__(self, growth=32, classes=1000):
        super().__init__()
        channels = 2 * growth
        self.features = nn.Sequential()
        add = self.features.add_module
        add("conv0", nn.Conv2d(3, channels, 7, 2, 3, bias=False))
        add("norm0", nn.BatchNorm2d(channels))
        add("relu0", relu())
        add("pool0", nn.MaxPool2d(3, 2, 1))
        for i, layers in enumerate([6, 12, 24, 16], 1):
            add("denseblock%d" % i, DenseBlock(layers, channels, growth))
            channels += layers * growth
            if i < 4:
                transition = nn.Sequential()
                transition.add_module("norm", nn.BatchNorm2d(channels))
                transition.add_module("relu", relu())
                transition.add_module("conv", nn.Conv2d(channels, channels // 2, 1, bias=False))
                transition.add_module("pool", nn.AvgPool2d(2, 2))
                add("transition%d" % i, transition)
                channels //= 2
        add("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(F.relu(self.features(x)), 1).flatten(1))


class ConvNorm(nn.Module):
    def __init__(self, channels, out, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(out, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Inception(nn.Module):
    def __init__(self, channels, one, three_in, three, five_in, five, pool):
        super().__init__()
        self.branch1 = ConvNorm(channels, one, 1)
        self.branch2 = nn.Sequential(ConvNorm(channels, three_in, 1), ConvNorm(three_in, three, 3, 1, 1))
        self.branch3 = nn.Sequential(ConvNorm(channels, five_in, 1), ConvNorm(five_in, five, 3, 1, 1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), ConvNorm(channels, pool, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


INCEPTIONS = {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64), "4a": (192, 96, 208, 16, 48, 64),
              "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
              "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
              "5b": (384, 192, 384, 48, 128, 128)}


class GoogLeNet(nn.Module):
    def __init__(self, width=64, classes=1000, dropout=0.2):
        super().__init__()
        self.conv1 = ConvNorm(3, width, 7, 2, 3)
        self.conv2 = ConvNorm(width, width, 1)
        self.conv3 = ConvNorm(width, 3 * width, 3, 1, 1)
        channels = 3 * width
        for name, published in INCEPTIONS.items():
            one, three_in, three, five_in, five, pool = (n * width // 64 for n in published)
            self.add_module("inception" + name, Inception(channels, one, three_in, three, five_in, five, pool))
            channels = one + three + five + pool
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 3, 2, ceil_mode=True)
        x = F.max_pool2d(self.conv3(self.conv2(x)), 3, 2, ceil_mode=True)
        x = F.max_pool2d(self.inception3b(self.inception3a(x)), 3, 2, ceil_mode=True)
        x = self.inception4e(self.inception4d(self.inception4c(self.inception4b(self.inception4a(x)))))
        x = F.max_pool2d(x, 2, 2, ceil_mode=True)
        x = self.inception5b(self.inception5a(x))
        return self.fc(self.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1)))


class LanguageModel(nn.Module):
    def __init__(self, words, embedding, hidden, layers):
        super().__init__()
        self.encoder = nn.Embedding(words, embedding)
        self.rnn = nn.LSTM(embedding, hidden, layers)
        self.decoder = nn.Linear(hidden, words)

    def forward(self, tokens):
        return F.log_softmax(self.decoder(self.rnn(self.encoder(tokens))[0]), -1)


class Generator(nn.Module):
    def __init__(self, noise=100, width=64, channels=3):
        super().__init__()
        self.main = nn.Sequential()
        size = noise
        for i, out in enumerate([8 * width, 4 * width, 2 * width, width]):
            self.main.append(nn.ConvTranspose2d(size, out, 4, 2 if i else 1, 1 if i else 0, bias=False))
            self.main.extend([nn.BatchNorm2d(out), relu()])
            size = out
        self.main.extend([nn.ConvTranspose2d(size, channels, 4, 2, 1, bias=False), nn.Tanh()])

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, width=64, channels=3):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(channels, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True))
        for size in [width, 2 * width, 4 * width]:
            self.main.append(nn.Conv2d(size, 2 * size, 4, 2, 1, bias=False))
            self.main.extend([nn.BatchNorm2d(2 * size), nn.LeakyReLU(0.2, inplace=True)])
        self.main.extend([nn.Conv2d(8 * width, 1, 4, 1, 0, bias=False), nn.Sigmoid()])

    def forward(self, x):
        return self.main(x).view(-1)


class SuperResolution(nn.Module):
    def __init__(self, factor, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 5, 1, 2)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1)
        self.conv3 = nn.Conv2d(width, width // 2, 3, 1, 1)
        self.conv4 = nn.Conv2d(width // 2, factor * factor, 3, 1, 1)
        self.pixel_shuffle = nn.PixelShuffle(factor)

    def forward(self, x):
        x = F.relu(self.conv3(F.relu(self.conv2(F.relu(self.conv1(x))))))
        return self.pixel_shuffle(self.conv4(x))


def residues(sizes, seed):
    """Integers that look random; models.cpp has the same formula."""
    r = torch.arange(int(torch.Size(sizes).numel())) % PRIME
    return ((31 * r * r + (17 + seed) * r + 7 * seed) % PRIME).view(sizes)


def uniform(sizes, seed):
    return residues(sizes, seed).double() * (2.0 / PRIME) - 1.0


def fill(net):
    with torch.no_grad():
        for seed, (name, p) in enumerate(net.double().named_parameters()):
            u = uniform(p.shape, seed)
            if p.dim() > 1:
                p.copy_(u * (6.0 / (p.numel() // p.size(0))) ** 0.5)
            else:
                p.copy_(u * 0.25 + (1.0 if name.endswith("weight") else 0.0))
        for seed, (name, b) in enumerate(net.named_buffers()):
            if b.dim() == 1:
                b.copy_(uniform(b.shape, seed) * 0.25 + (1.0 if name.endswith("var") else 0.0))
    return net


def digest(net):
    """The FNV-1a hash of the names and sizes of all parameters and buffers."""
    h = 0xCBF29CE484222325
    for name, t in list(net.named_parameters()) + list(net.named_buffers()):
        for byte in ("%s%s;" % (name, list(t.shape))).replace(" ", "").encode():
            h = (h ^ byte) * 0x100000001B3 % 2 ** 64
    return "%016x" % h


def squares(tensors):
    return sum(float((t.double() ** 2).sum()) for t in tensors)


def outcome(net, x):
    y = net(x)
    flat = y.flatten()
    (flat * torch.arange(flat.numel(), dtype=torch.double).cos()).sum().backward()
    flat = flat.detach()
    return {"sizes": list(y.shape), "first": flat[:16].tolist(), "sum": float(flat.sum()), "squares": squares([flat]),
            "gradients": squares(p.grad for p in net.parameters()), "buffers": squares(net.buffers())}


def record(net, x, train):
    fill(net).eval()
    result = {"digest": digest(net), "parameters": sum(p.numel() for p in net.parameters()), "eval": outcome(net, x)}
    if train:
        net.zero_grad()
        net.train()
        result["train"] = outcome(net, x)
    return result


def compare_with_torchvision():
    torch.manual_seed(0)
    tv = torchvision.models
    pairs = [(AlexNet(), tv.alexnet(weights=None)), (VGG([1, 1, 2, 2, 2], False), tv.vgg11(weights=None)),
             (VGG([2, 2, 3, 3, 3], True), tv.vgg16_bn(weights=None)), (ResNet18(), tv.resnet18(weights=None)),
             (DenseNet121(), tv.densenet121(weights=None)),
             (GoogLeNet(), tv.googlenet(weights=None, aux_logits=False, init_weights=False))]
    x = torch.randn(1, 3, 224, 224)
    for mine, theirs in pairs:
        assert [n for n, _ in mine.named_parameters()] == [n for n, _ in theirs.named_parameters()]
        mine.load_state_dict(theirs.state_dict())
        torch.testing.assert_close(mine.eval()(x), theirs.eval()(x))
        print(type(mine).__name__, sum(p.numel() for p in mine.parameters()), digest(mine))


def main():
    compare_with_torchvision()
    image = uniform((2, 3, 64, 64), 1)
    expected = {
        "AlexNet": record(AlexNet(4, 48, 10), uniform((2, 3, 96, 96), 1), False),
        "VGG11": record(VGG([1, 1, 2, 2, 2], False, 4, 48, 10), image, False),
        "VGG16WithBatchNorm": record(VGG([2, 2, 3, 3, 3], True, 4, 48, 10, 0.0), image, True),
        "ResNet18": record(ResNet18(8, 10), image, True),
        "DenseNet121": record(DenseNet121(4, 10), image, True),
        "GoogLeNet": record(GoogLeNet(8, 10, 0.0), image, True),
        "LanguageModel": record(LanguageModel(50, 12, 16, 2), residues((9, 3), 1) % 50, False),
        "DCGANGenerator": record(Generator(20, 8), uniform((2, 20, 1, 1), 1), True),
        "DCGANDiscriminator": record(Discriminator(8), image, True),
        "SuperResolution": record(SuperResolution(3, 16), uniform((2, 1, 24, 20), 1), False),
    }
    with open(os.path.join(HERE, "expected.json"), "w") as f:
        json.dump(expected, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
