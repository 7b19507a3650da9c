#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes exported_functional.pt2, by torch: a program whose buffer, input and number by data went through
run_decompositions. extra_files has what torch computes."""
import copy
import json
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, n):
        rows = n.item()
        torch._check(rows >= 0)
        torch._check(rows <= x.shape[0])
        self.total.add_(x.sum(0))
        return x * self.total, torch.zeros(rows) + 1


x = (torch.arange(6, dtype=torch.float32) - 3).view(2, 3) / 8
program = torch.export.export(Counts(), (x, torch.tensor(2))).run_decompositions()
for node in program.graph.nodes:
    node.meta.pop("stack_trace", None)  # paths of the machine that wrote the file
results = [r.flatten().tolist() for r in copy.deepcopy(program).module()(x, torch.tensor(2))]
torch.export.save(program, os.path.join(HERE, "exported_functional.pt2"),
                  extra_files={"expected.json": json.dumps([results])})
