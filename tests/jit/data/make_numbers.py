#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes exported_numbers.pt2 and exported_levels.pt2, by torch: scalars among tensors of integers, with and without
dimensions, also in a branch; rounding to levels that are trained, with the gradients, and products of float8 with
scales by their newer name. extra_files has what torch computes."""
import json
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Numbers(torch.nn.Module):
    def forward(self, x):
        i = torch.arange(4) + (x > 0).long()
        point = i[3].int()
        there = torch.cond(x.sum() > 0, lambda i: 1.5 - i, lambda i: 2.5 - i, (i,))
        return (1.0 - i, 7.5 // (i + 1), torch.where(i > 1, 1.5, i), torch.where(i > 1, 1.5, -2.5), 2 - point, 1.0 - point,
                (1 / 3) - x.double(), there)


class Levels(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([0.25]))
        self.zero = torch.nn.Parameter(torch.tensor([1.0]))
        self.scales = torch.nn.Parameter(torch.tensor([0.25, 0.5]))
        self.zeros = torch.nn.Parameter(torch.tensor([0.0, 2.0]))

    def forward(self, x):
        one = torch._fake_quantize_learnable_per_tensor_affine(x, self.scale, self.zero, -4, 3, 0.5)
        each = torch._fake_quantize_learnable_per_channel_affine(x, self.scales, self.zeros, 0, -4, 3, 2.0)
        f8 = torch.float8_e4m3fn
        kind = torch.nn.functional.ScalingType.TensorWise
        a, b = torch.ones(16, 16).to(f8), torch.eye(16).to(f8)
        y = torch.nn.functional.scaled_mm(a, b.t(), torch.tensor(0.5), kind, torch.tensor(3.0), kind, output_dtype=torch.float32)
        given = torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.25), torch.tensor(1, dtype=torch.int32), -4, 3)
        return one, each, y[0, :4], given


x = torch.tensor([[0.5, -1.0, 2.0, 0.3], [1.5, 0.2, -0.75, -9.0]])
for name, module, given in (("numbers", Numbers(), x[0]), ("levels", Levels(), x)):
    program = torch.export.export(module, (given,))
    if name == "numbers": program = program.run_decompositions()
    for graph_module in (m for m in program.graph_module.modules() if hasattr(m, "graph")):  # those of branches, too
        for node in graph_module.graph.nodes:
            node.meta.pop("stack_trace", None)  # paths of the machine that wrote the file
    results = module(given)
    expected = [[r.tolist() for r in results]]
    if name == "levels":
        (results[0].square().sum() + (results[1] * torch.arange(8.0).reshape(2, 4)).sum()).backward()
        expected.append([p.grad.tolist() for p in module.parameters()])
    torch.export.save(program, os.path.join(HERE, f"exported_{name}.pt2"), extra_files={"expected.json": json.dumps(expected)})
    print([n.target for n in program.graph.nodes if n.op == "call_function"], expected)
