#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the exported programs of this folder, by torch. Inputs are counted numbers; what torch
computes for them is in extra/expected.json.

    make_exported.py [NAME]    NAME: write exported_NAME.pt2 alone, by an older torch in its layout"""
import copy
import io
import json
import os
import sys
import zipfile
from typing import NamedTuple

import torch
from torch._higher_order_ops import cond, while_loop

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(0)


def counted(*sizes):
    n = torch.Size(sizes).numel()
    return (torch.arange(n, dtype=torch.float32) - n // 2).view(sizes) / 8


def small(name, module, args, kwargs=None, dynamic=None, cases=(), functional=False, strict=False):
    """Saves `module` without what only serves debugging: places in files."""
    def export():
        made = torch.export.export(copy.deepcopy(module), args, kwargs or {}, dynamic_shapes=dynamic,
                                   strict=strict)
        return made.run_decompositions({}) if functional else made

    run = export().module()
    expected = []
    for case_args, case_kwargs in cases or [(args, kwargs or {})]:
        with torch.no_grad():
            expected.append(run(*case_args, **case_kwargs))
    save(name, export(), expected)


def save(name, program, expected):
    """`expected`: the results of each case."""
    lists = [[leaf.flatten().tolist() if isinstance(leaf, torch.Tensor) else [leaf]
              for leaf in torch.utils._pytree.tree_leaves(results) if leaf is not None]
             for results in expected]
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"expected.json": json.dumps(lists)})
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(f"{HERE}/{name}.pt2", "w") as new:
        # Until torch 2.7 entries stood in no folder of the archive.
        folder = "" if "serialized_exported_program.json" in old.namelist() else "model/"
        for entry in old.namelist():
            content = old.read(entry)
            if entry.endswith(("models/model.json", "serialized_exported_program.json")):
                program = json.loads(content)
                strip(program["graph_module"]["graph"])
                content = json.dumps(program, separators=(",", ":")).encode()
            kind = zipfile.ZIP_DEFLATED if entry.endswith(".json") else zipfile.ZIP_STORED
            info = zipfile.ZipInfo(folder + entry.split("/", 1)[1] if folder else entry)
            new.writestr(info, content, kind)


def strip(graph):
    for node in graph["nodes"]:
        node["metadata"] = {}
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                strip(argument["arg"]["as_graph"]["graph"])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3, padding=1)
        self.bn = torch.nn.BatchNorm2d(3)
        self.head = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 4))

    def forward(self, image):
        return self.head(torch.relu(self.bn(self.conv(image))))


class Control(torch.nn.Module):
    """A loop, a branch, and parts with a mode of their own."""

    def forward(self, batch, start, *, scale):
        def step(i, x):
            return i + 1, x * 1.5 + batch["bias"]

        i, x = while_loop(lambda i, x: i < 4, step, (start, batch["data"][0]))
        y = cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
        with torch.no_grad():
            still = torch.sin(y)
            with torch.enable_grad():
                moving = y + still
        return {"y": y, "parts": [i, (x * scale, None)], "still": still, "moving": moving}


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)
        self.out = torch.nn.Linear(3, 5, bias=False)
        self.out.weight = self.table.weight
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("shift", torch.tensor([1.0, 2.0, 3.0]), persistent=False)

    def forward(self, ids):
        self.calls += 1
        return self.out(self.table(ids) + self.shift + torch.tensor([0.5, 0.25, 0.125]))


class Attention(State):
    """What State has, an attention whose result torch views, and numbers as inputs."""

    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(3, 3, batch_first=True)
        self.constant = torch.tensor([0.5, 0.25, 0.125])
        for p in self.parameters():
            p.data = counted(*p.shape)

    def forward(self, ids, times: int):
        self.calls += times
        x = self.table(ids) * times + self.shift
        y = self.attention(x, x, x, need_weights=False)[0]
        return {"y": self.out(y + self.constant), "sizes": [ids.shape[0] * 2, self.calls + 1]}


class Branches(torch.nn.Module):
    """Goes by sizes; torch keeps which way as guards."""

    def forward(self, x, batch, *more):
        y = x * 2 if x.shape[0] % 2 == 0 else x * 3
        z = batch["parts"][0]
        if z.shape[0] // 2 - 1 < y.shape[1] * 2 or z.shape[1] > 9:
            z = z + 1
        return y.sum() + z.sum(), more[1] if more[0].shape[0] != more[1].shape[0] else more[0]


class Turns(NamedTuple):
    last: torch.Tensor
    each: torch.Tensor


class Earlier(torch.nn.Module):
    """What torch 2.6 wrote otherwise: scans, infinities, named tuples, and of shared weights one name."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)
        self.out = torch.nn.Linear(3, 5, bias=False)
        self.table.weight.data = counted(5, 3)
        self.out.weight = self.table.weight

    def forward(self, ids, start, rows):
        from torch._higher_order_ops.scan import scan

        last, steps = scan(lambda c, x: (c * 0.5 + x, c + x), start, rows, dim=1, reverse=True)
        chances = rows.masked_fill(rows > 0.5, float("-inf")).clamp(max=float("inf")).softmax(1)
        return self.out(self.table(ids)), Turns(last, steps), chances


def older(name):
    if name == "2_6":
        torch.utils._pytree._register_namedtuple(Turns, serialized_type_name="models.Turns")
        return small("exported_2_6", Earlier(), (torch.tensor([4, 1]), counted(3), counted(3, 4)))
    ids = lambda n: (torch.arange(2 * n) % 5).view(n, 2)
    cases = [((ids(3), 2), {}), ((ids(4), 2), {})]
    small("exported_" + name, Attention().eval(), *cases[:1][0],
          dynamic=({0: torch.export.Dim("n", max=6)}, None), cases=cases)


if __name__ == "__main__" and len(sys.argv) > 1:
    older(sys.argv[1])
elif __name__ == "__main__":
    net = Net().eval()
    net.bn.running_mean.copy_(counted(3))
    small("exported_net", net, (counted(3, 2, 4, 4),), dynamic=({0: torch.export.Dim("n", max=6)},),
          cases=[((counted(3, 2, 4, 4),), {}), ((counted(5, 2, 4, 4),), {})])
    batch = lambda sign: {"data": (counted(3) + sign,), "bias": counted(3) * sign}
    small("exported_control", Control(), (batch(1), torch.tensor(0)), {"scale": 3.0},
          cases=[((batch(1), torch.tensor(0)), {"scale": 3.0}),
                 ((batch(-2), torch.tensor(2)), {"scale": 3.0})])
    auto = torch.export.Dim.AUTO
    rows = {0: auto, 1: auto}
    inputs = lambda n, m: (counted(n, 3), {"parts": [counted(m, 4)]}, counted(5), counted(n))
    small("exported_guards", Branches(), inputs(4, 5),
          dynamic=(rows, {"parts": [rows]}, ({0: auto}, {0: auto})),
          cases=[(inputs(4, 5), {}), (inputs(6, 11), {})])
    small("exported_state", State(), (torch.tensor([0, 2, 4]),),
          cases=[((torch.tensor([0, 2, 4]),), {})] * 2, functional=True)
