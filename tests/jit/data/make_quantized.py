#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes quantized_static.pt and quantized_dynamic.pt, by torch: a network of quantized layers and operators, and layers
that quantize what they get. Results are FBGEMM's."""
import io
import json
import os
import warnings
import zipfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.quantization import get_default_qconfig_mapping, quantize_dynamic
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

from make_exported import counted

HERE = os.path.dirname(os.path.abspath(__file__))
warnings.filterwarnings("ignore")


class Static(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.depthwise = nn.Conv2d(4, 4, 3, groups=4)
        self.wider = nn.ConvTranspose2d(4, 2, 2, 2)
        self.line = nn.Conv1d(2, 2, 3)
        self.solid = nn.Conv3d(2, 2, (1, 2, 2))
        self.linear = nn.Linear(4, 3)
        self.norm = nn.LayerNorm(3)

    def forward(self, x):
        y = F.relu(self.conv(x))
        y = F.max_pool2d(self.depthwise(y), 2)
        z = torch.cat([self.wider(y), self.wider(y) * 2 + 0.25], 1)
        z = F.hardswish(z) * torch.sigmoid(z)
        line = self.line(z[:, :2].flatten(2))
        solid = self.solid(z.reshape(1, 2, 2, 4, 4))
        features = F.adaptive_avg_pool2d(F.interpolate(y, scale_factor=2.0), 1).flatten(1)
        return self.norm(self.linear(features)), line, solid, F.leaky_relu(z + z, 0.1)


class Dynamic(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.lstm = nn.LSTM(3, 2, 2, bidirectional=True)
        self.gru = nn.GRU(4, 3, batch_first=True)
        self.cell = nn.GRUCell(3, 2)

    def forward(self, x):
        y, (h, c) = self.lstm(self.linear(x))
        z, last = self.gru(y)
        return y, h, c, z, self.cell(last[0])


class Net(nn.Module):
    """Beside layers: tensors as attributes, and what a program can ask of them."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers
        scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, -2])
        self.register_buffer("rows", torch.quantize_per_channel(counted(3, 4), scales, zeros, 0, torch.qint8))

    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.25, 3, torch.quint8)
        same = torch.ops.quantized.add(q, q, 0.5, 7).reshape(-1)
        facts = torch.tensor([q.q_scale(), float(q.q_zero_point()), float(q.is_quantized), float(q.dtype == 13)])
        return self.layers(x), same.int_repr(), facts, self.rows.dequantize(), self.rows.q_per_channel_scales()


def write(name, layers, x):
    net = torch.jit.script(Net(layers))
    results = [leaf.double().flatten().tolist() for leaf in torch.utils._pytree.tree_leaves(net(x))]
    file = io.BytesIO()
    torch.jit.save(net, file, _extra_files={"expected.json": json.dumps([results])})
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(f"{HERE}/{name}.pt", "w") as new:
        for entry in old.namelist():  # without what only serves debugging
            if not entry.endswith(".debug_pkl"):
                new.writestr(zipfile.ZipInfo(entry.replace(old.namelist()[0].split("/")[0], name, 1)), old.read(entry))


torch.manual_seed(0)
torch.backends.quantized.engine = "fbgemm"
x = counted(1, 2, 6, 6) / 4
static = prepare_fx(Static().eval(), get_default_qconfig_mapping("fbgemm"), (x,))
static(x)
write("quantized_static", convert_fx(static), x)
write("quantized_dynamic", quantize_dynamic(Dynamic().eval()), counted(3, 2, 4) / 4)
