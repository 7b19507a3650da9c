# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Makes the models of this folder and what torch computes for them: outputs, gradients of the sum of squares, and the
# output after one step of SGD.   python make.py FOLDER
import os
import sys

import onnx
import torch
from safetensors.torch import save_file
from torch import nn


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        return torch.log_softmax(self.fc(x.flatten(1)), 1)


class Block(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(20, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        for p in [*self.norm1.parameters(), *self.norm2.parameters()]:  # the exporter merges equal weights
            nn.init.uniform_(p)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, ids):
        x = self.embed(ids)
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(2, 3) * (w // self.heads) ** -0.5, -1) @ v
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, bidirectional=True)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


def make(out, name, model, x, dims, dynamo):
    model.eval()
    path = os.path.join(out, name + ".onnx")
    if dynamo:
        torch.onnx.export(model, (x,), path, dynamo=True, external_data=False, input_names=["x"], optimize=name != "cnn",
                          dynamic_shapes=({k: torch.export.Dim.DYNAMIC for k in dims},))
    else:
        torch.onnx.export(model, (x,), path, dynamo=False, input_names=["x"], do_constant_folding=False,
                          dynamic_axes={"x": {k: f"d{k}" for k in dims}})
    file = onnx.load(path)  # without what the exporter says of each node
    for node in file.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    del file.graph.value_info[:]
    onnx.save(file, path)
    y = model(x)
    y.square().sum().backward()
    data = {"x": x, "y": y.detach(), "grad_norm": sum(p.grad.norm() for p in model.parameters())}
    for n, p in model.named_parameters():
        data["grad." + n] = p.grad
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.01 * p.grad
        data["after"] = model(x)
    save_file({k: v.detach().contiguous() for k, v in data.items()}, os.path.join(out, name + ".safetensors"))


torch.manual_seed(1)
folder = sys.argv[1]
make(folder, "cnn", Cnn(), torch.randn(2, 3, 8, 8), [0], True)
make(folder, "block", Block(), torch.randint(0, 20, (2, 5)), [0, 1], True)
make(folder, "lstm", Recurrent(), torch.randn(5, 2, 4), [1], False)
