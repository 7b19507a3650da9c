#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes autocast.pt and exported_autocast.pt2, by torch; expected.json in them has the dtype and the elements of each
result."""
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


class Region(torch.nn.Module):
    """What is computed in float32, what in the widest dtype, and a composite whose parts are cast."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            spectrum = torch.fft.rfft(y).abs()
            inverse = torch.linalg.inv(y.mT @ y + torch.eye(3))
            pooled = torch.nn.functional.avg_pool3d(y[None, None, None], (1, 2, 1))
            pairs = torch.einsum("bi,bj->ij", y, x)
            joined = torch.cat([y, x])
            with torch.no_grad(), torch.autocast("cpu", enabled=False):
                off = self.linear(x) + 1
            again = self.linear(x) @ x.mT
        return y, spectrum, inverse, pooled, pairs, joined, off, again, self.linear(x)


def expect(results):
    return json.dumps([{"dtype": str(r.dtype)[6:], "elements": r.double().flatten().tolist()} for r in results])


torch.manual_seed(0)
x = torch.arange(6.0).view(2, 3) / 7
net = torch.jit.script(Mixed())
torch.jit.save(net, os.path.join(HERE, "autocast.pt"), _extra_files={"expected.json": expect(net(x))})
program = torch.export.export(Region(), (x,))
for module in program.graph_module.modules():
    for node in module.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of the machine that wrote the file
torch.export.save(program, os.path.join(HERE, "exported_autocast.pt2"), extra_files={"expected.json": expect(program.module()(x))})
