#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes mobile.pt, by a torch with XNNPACK: a network after torch.utils.mobile_optimizer. What torch computes for it is
in extra/expected.json."""
import io
import json
import os
import zipfile

import torch
from torch import nn
from torch.utils.mobile_optimizer import optimize_for_mobile

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1, stride=2, groups=2)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2, output_padding=1, bias=False)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        x = torch.nn.functional.hardtanh(self.conv(x), -0.25, 0.5)
        return torch.relu(self.head(self.up(x)))


torch.manual_seed(0)
x = (torch.arange(32, dtype=torch.float32) - 16).view(1, 2, 4, 4) / 8
network = optimize_for_mobile(torch.jit.script(Net().eval()))
archive = io.BytesIO()
torch.jit.save(network, archive, _extra_files={"expected.json": json.dumps([[network(x).flatten().tolist()]])})
with zipfile.ZipFile(archive) as source, zipfile.ZipFile(os.path.join(HERE, "mobile.pt"), "w") as out:
    for name in source.namelist():
        if not name.endswith((".debug_pkl", "serialization_id")):  # the former have paths of the machine
            out.writestr(zipfile.ZipInfo(name), source.read(name))
