#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes exported_effects.pt2 and exported_outs.pt2, by torch: a decomposed program with a token of side effects, a
complex constant and random slopes, and one with out=; extra_files has what torch computes."""
import json
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Effects(torch.nn.Module):
    def forward(self, x):
        spectrum = torch.fft.rfft(x) * (1 + 2j)
        inverse = torch.linalg.inv(x @ x.mT + x.new_ones(2))
        slopes = torch.nn.functional.rrelu(x)
        return torch.view_as_real(spectrum), inverse, slopes, torch.view_as_real(torch.fft.ihfft2(x))


class Outs(torch.nn.Module):
    def forward(self, x):
        values, at = torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.max(x, 1, out=(values, at))
        return values, at


x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
for name, module in (("effects", Effects()), ("outs", Outs())):
    program = torch.export.export(module, (x,))
    if name == "effects": program = program.run_decompositions()
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of the machine that wrote the file
    results = [r.tolist() for r in program.module()(x)]
    torch.export.save(program, os.path.join(HERE, f"exported_{name}.pt2"), extra_files={"expected.json": json.dumps([results])})
    print([n.target for n in program.graph.nodes if n.op == "call_function"], results)
