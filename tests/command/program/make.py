#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the program of this folder and what torch computes for it: a folder as `tenon run --cases` reads it."""
import io
import json
import os
import zipfile
from typing import Dict, List, Optional, Tuple

import numpy
import torch
from safetensors.torch import save_file
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4, bias=False)  # batch norm takes a bias away
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor, times: int, words: List[str]) -> Tuple[torch.Tensor, Dict[str, float], int]:
        if times < 0:
            raise ValueError("times is negative")
        y = self.drop(self.norm(self.linear(x)))
        for _ in range(times):
            y = y.tanh()
        lengths: Dict[str, float] = {}
        for word in words:
            lengths[word] = len(word) / 2
        return y, lengths, len(words)

    @torch.jit.export
    def label(self, x: Optional[torch.Tensor]) -> str:
        print("asked for a label")
        return "none" if x is None else "tensor"

    @torch.jit.export
    def spin(self, n: int) -> int:
        i = 0
        while i < n:
            i += 1
        return i


def describe(v, tensors):
    if isinstance(v, torch.Tensor):
        return {"tensor": len(tensors)}, tensors.append(v)
    for kind, dtype in ((bool, torch.bool), (int, torch.int64), (float, torch.float64)):
        if isinstance(v, kind):
            return {kind.__name__: len(tensors)}, tensors.append(torch.tensor(v, dtype=dtype))
    if isinstance(v, str): return {"str": v}, None
    if v is None: return {"none": True}, None
    if isinstance(v, dict):
        values = {k: describe(v[k], tensors)[0] for k in sorted(v)}
        return {"dict": [[k, values[k]] for k in v]}, None
    return {type(v).__name__: [describe(e, tensors)[0] for e in v]}, None


def save(model, path):
    """Without the places in Python's sources, which differ from machine to machine."""
    whole = io.BytesIO()
    torch.jit.save(model, whole)
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as out:
        for item in archive.infolist():
            if not item.filename.endswith(".debug_pkl"):
                out.writestr(zipfile.ZipInfo("script" + item.filename[item.filename.index("/"):]), archive.read(item))


def gradients(model, args, mode):
    x = args[0].clone().requires_grad_()
    model.zero_grad()
    loss = model(x, *args[1:])[0].mean()
    loss.backward()
    found = {f"{mode}.{n}": p.grad.clone() for n, p in model.named_parameters()}
    return {**found, f"{mode}i.0": x.grad, f"{mode}.loss": loss.detach()}


torch.manual_seed(0)
model = torch.jit.script(Small().eval())
save(model, os.path.join(HERE, "script.pt"))
plain = (torch.randn(5, 3), 2, ["one", "three"])
stored, cases = {}, []
for i, (method, args) in enumerate([("forward", plain), ("forward", (torch.randn(1, 3), -1, [])), ("label", (None,)),
                                    ("label", (torch.ones(2),)), ("spin", (1000,))]):
    prefix = f"c{i}." if i else ""
    case = {"prefix": prefix, "method": method}
    given = []
    case["in"] = [describe(a, given)[0] for a in args]
    stored.update({f"{prefix}in.{k}": t for k, t in enumerate(given)})
    try:
        with torch.no_grad(): result = getattr(model, method)(*args)
        found = []
        case["out"] = describe(result, found)[0]
        stored.update({f"{prefix}out.{k}": t for k, t in enumerate(found)})
    except torch.jit.Error:
        case["raises"] = {"message": "ValueError: times is negative", "says": "times is negative"}
    cases.append(case)
save_file(stored, os.path.join(HERE, "cases.safetensors"))
with open(os.path.join(HERE, "about.json"), "w") as f:
    json.dump({"name": "small", "cases": cases, "noise": {"out.0": 1e-7}}, f, indent=1)

save_file({"in.0": torch.tensor(1000)}, os.path.join(HERE, "spin.safetensors"))
numpy.save(os.path.join(HERE, "spin.npy"), numpy.int64(1000))
numpy.savez(os.path.join(HERE, "spin.npz"), numpy.int64(1000))

# A call of a module runs its hooks.
hooked = torch.jit.load(os.path.join(HERE, "../../jit/data/hooks.pt"))
x = torch.arange(6.0).view(2, 3)
save_file({"in.0": x, "out.0": hooked(x).detach()}, os.path.join(HERE, "../hooks/cases.safetensors"))
with open(os.path.join(HERE, "../hooks/about.json"), "w") as f:
    case = {"prefix": "", "method": "forward", "in": [{"tensor": 0}], "out": {"tensor": 0}}
    json.dump({"name": "hooks", "cases": [case], "noise": {}}, f, indent=1)

found = gradients(model, plain, "e")
model.train()
model.drop.eval()
found.update(gradients(model, plain, "g"))
save_file(found, os.path.join(HERE, "grads.safetensors"))


# Arguments in containers, by name and by place.
class Nested(torch.nn.Module):
    def forward(self, batch: Dict[str, torch.Tensor], parts: List[Tuple[torch.Tensor, int]], scale: float = 2.0,
                mask: Optional[torch.Tensor] = None) -> int:
        y = batch["x"] * parts[0][1] + batch["y"] * parts[1][0]
        if mask is not None:
            y = y * mask
        return int((y * scale).sum())


save(torch.jit.script(Nested()), os.path.join(HERE, "../nested/script.pt"))
one = torch.ones(2)
save_file({"batch.x": one * 1, "batch.y": one * 2, "in.1.0.0": one, "in.1.0.1": torch.tensor(3), "in.1.1.0": one * 4,
           "in.1.1.1": torch.tensor(5), "mask": torch.tensor([1.0, 0.0])},
          os.path.join(HERE, "../nested/in.safetensors"))
