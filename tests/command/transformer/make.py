#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a program with torch's layers of transformers, whose fast paths are operators of their own, and with views in
place; and what torch computes for it: a folder as `tenon run --cases` reads it."""
import json
import os
import sys
from typing import Tuple

import torch
from safetensors.torch import save_file
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from saving import save_small  # noqa: E402


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)
        self.gelu = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, activation="gelu", norm_first=True)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, padding: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        y = self.relu(x, src_mask=mask) + self.gelu(x, src_key_padding_mask=padding)
        attended, weights = self.attention(y, x, x)
        assert weights is not None
        z = attended.clone()
        z.unsqueeze_(0).transpose_(1, 2)
        z.squeeze_(0)
        z[0].t_()
        return z + torch.cdist(z, z + 1).sum(-1, keepdim=True), weights


torch.manual_seed(0)
model = torch.jit.script(Layers().eval())
save_small(model, os.path.join(HERE, "script.pt"))
given = (torch.randn(2, 3, 4), torch.triu(torch.ones(3, 3), 1).bool(), torch.tensor([[False, False, True], [False] * 3]))
with torch.no_grad(): found = model(*given)
save_file({**{f"in.{i}": t for i, t in enumerate(given)}, **{f"out.{i}": t.clone() for i, t in enumerate(found)}},
          os.path.join(HERE, "cases.safetensors"))
case = {"prefix": "", "method": "forward", "in": [{"tensor": i} for i in range(3)], "out": {"tuple": [{"tensor": 0}, {"tensor": 1}]}}
with open(os.path.join(HERE, "about.json"), "w") as f:
    json.dump({"name": "transformer", "cases": [case], "noise": {}}, f, indent=1)
