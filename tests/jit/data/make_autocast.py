#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes autocast.pt, by torch; extra/expected.json has the dtype and the elements of each result."""
import json
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.modules["programs"] = sys.modules[__name__]
__name__ = "programs"


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x):
        before = self.linear(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = self.linear(x)
            loss = torch.nn.functional.mse_loss(inside, torch.zeros_like(inside))
            with torch.autocast("cpu", enabled=False):
                off = self.linear(x) + 1
        return before, inside, loss, off


torch.manual_seed(0)
net = torch.jit.script(Mixed())
x = torch.arange(6.0).view(2, 3) / 7
results = net(x)
expected = [{"dtype": str(r.dtype)[6:], "elements": r.double().flatten().tolist()} for r in results]
torch.jit.save(net, os.path.join(HERE, "autocast.pt"), _extra_files={"expected.json": json.dumps(expected)})
print(expected)
