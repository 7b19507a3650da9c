#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes archives of this folder, by the torch that runs it (README.md says which torch wrote which
file). What torch computes for them is in extra/expected.json: for each result its elements.

    make_versions.py NAME...    net, complex, packed, old_3, old_7, old_8, dialect"""
import io
import json
import os
import sys
import zipfile
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.modules["programs"] = sys.modules[__name__]
__name__ = "programs"


def counted(*sizes):
    n = torch.Size(sizes).numel()
    return (torch.arange(n, dtype=torch.float32) - n // 2).view(sizes) / 8


class Net(nn.Module):
    """Layers whose operators, or whose code in torch.nn.functional, changed over the versions."""

    scales: Dict[str, float]
    shift: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")
        self.norm = nn.BatchNorm2d(3)
        self.lstm = nn.LSTM(4, 2, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Linear(4, 4), nn.GELU())
        self.scales = {"half": 0.5}
        self.shift = None
        for i, p in enumerate(self.parameters()):
            p.data = counted(*p.shape) / (i + 1)

    def forward(self, x: Tensor, times: int = 2) -> Tuple[Tensor, Tensor, List[int]]:
        y = torch.relu(self.norm(self.conv(x)))
        y = nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)
        rows, (h, c) = self.lstm(y.flatten(0, 1)[:, :4, :4])
        sizes = [s // 2 for s in rows.shape]
        shift = self.shift
        if shift is not None:
            rows = rows + shift
        for i in range(times):
            rows = self.head(rows) / 2 + self.scales["half"]
        return rows, torch.full([2], 3.0) + h.sum() + torch.linspace(0, 1, 2), sizes


class Complex(nn.Module):
    """Complex numbers as attributes, constants, elements and arguments."""

    named: Dict[str, complex]

    def __init__(self):
        super().__init__()
        self.k = 2 + 3j
        self.all = [1j, 2.5 - 1j]
        self.named = {"a": -1j}

    def forward(self, x: float, z: complex) -> List[complex]:
        c = complex(x, 1.5)
        made: List[complex] = [c, z * c, c + 1, c - z, 2.5 - c, c / z, -c, self.k * c + (1 - 2j)]
        made += self.all
        made.append(self.named["a"] * abs(z))
        if c == z or c != c:
            made.append(1j)
        return made


class Packed(nn.Module):
    """Sequences of several lengths through all kinds of recurrent layers."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 2, 2, bidirectional=True)
        self.gru = nn.GRU(3, 2, bias=False)
        self.rnn = nn.RNN(3, 2, bidirectional=True, nonlinearity="relu")
        for i, p in enumerate(self.parameters()):
            p.data = counted(*p.shape) / (i + 1)

    def forward(self, x: Tensor, lengths: Tensor) -> List[Tensor]:
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        a, (h, c) = self.lstm(p)
        padded, n = nn.utils.rnn.pad_packed_sequence(a, total_length=6)
        b, hb = self.gru(p)
        d, hd = self.rnn(p)
        last = nn.utils.rnn.pad_packed_sequence(b, batch_first=True, padding_value=-1.0)[0]
        return [padded, n, h, c, last, hb, d.data, hd]


class Empty(nn.Module):
    def forward(self, x):
        return x


def leaves(value):
    if isinstance(value, Tensor):
        return [value.flatten().tolist()]
    if isinstance(value, dict):
        return [[len(value)]] + [leaf for v in value.values() for leaf in leaves(v)]
    if isinstance(value, (list, tuple)) and not all(isinstance(v, (int, float)) for v in value):
        return [leaf for v in value for leaf in leaves(v)]
    if isinstance(value, complex):
        return [[value.real, value.imag]]
    return [value if isinstance(value, (list, tuple)) else [value]]


def write(name, entries, inputs):
    """Deflated and without what only debuggers read, with the results of the archive."""
    def pack(file, more):
        with zipfile.ZipFile(file, "w") as new:
            for entry, content in {**entries, **more}.items():
                info = zipfile.ZipInfo("a/" + entry)
                stored = entry.startswith(("data/", "constants/"))
                info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                new.writestr(info, content)

    plain = io.BytesIO()
    pack(plain, {})
    plain.seek(0)
    with torch.no_grad():
        expected = leaves(torch.jit.load(plain)(*inputs))
    pack(os.path.join(HERE, name + ".pt"), {"extra/expected.json": json.dumps(expected)})


def entries_of(module):
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(module), file)
    with zipfile.ZipFile(file) as z:
        return {n[n.index("/") + 1:]: z.read(n) for n in z.namelist()
                if not n.endswith((".debug_pkl", "serialization_id"))}


def write_code(name, version, body, inputs, arguments):
    """An archive of old code, put together by hand."""
    entries = entries_of(Empty())
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    head = "op_version_set = 1\n" if version == 1 else ""
    entries["code/__torch__/programs.py"] = (
        f"{head}class Empty(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
        "  training : bool\n  _is_full_backward_hook : Optional[bool]\n"
        f"  def forward(self: __torch__.programs.Empty,\n    {arguments}) -> List[Tensor]:\n{lines}")
    entries["version"] = f"{version}\n"
    write(name, entries, inputs)


# By version: until 3 a division of integers gave integers, until 4 full() of an integer a tensor of
# the default dtype, until 7 linspace and until 8 logspace could go without the number of steps.
DIVISIONS = """
_0 = torch.div(n, 2)
_1 = torch.div(n, 2.)
_2 = torch.div(n, torch.add(torch.abs(n), 1, 1))
_3 = torch.div(x, 2)
_4 = torch.div_(torch.clone(x), 3)
_5 = torch.div_(torch.clone(x), torch.add(torch.abs(x), 1))
_6 = torch.div(n, n, rounding_mode="floor") if False else torch.div(n, 4, rounding_mode="floor")
_7 = torch.div(n, torch.add(torch.abs(n), 1, 1), out=torch.zeros_like(x))
_8 = torch.div(x, torch.rsub(x, 3), rounding_mode="trunc", out=torch.clone(x))
_9 = torch.mul(torch.ones([2]), torch.div(7, 2))
""".replace('torch.div(n, n, rounding_mode="floor") if False else ', "")
WHOLE_DIVISIONS = """
_10 = torch.div_(torch.clone(n), 2)
_11 = torch.div_(torch.clone(n), torch.add(torch.abs(n), 1, 1))
_12 = torch.div(n, 3, out=torch.clone(n)) if False else torch.div(n, torch.full_like(n, 3), out=torch.clone(n))
""".replace("torch.div(n, 3, out=torch.clone(n)) if False else ", "")
FULL = """
_20 = torch.full([2], 3)
_21 = torch.full([2], 3, dtype=4, layout=0, device=torch.device("cpu"), pin_memory=False)
_22 = torch.full([2], 2.5)
_23 = torch.full([2], 2, out=torch.clone(x))
"""
GELU = """
_24 = torch.gelu(x)
_25 = torch.gelu(x, out=torch.clone(x))
"""
LINSPACE = """
_30 = torch.linspace(0, 1, None)
_31 = torch.linspace(0, 1)
_32 = torch.linspace(1, 3., None, dtype=7, layout=0, device=torch.device("cpu"), pin_memory=False)
_33 = torch.linspace(0, 1, None, out=torch.clone(x))
_34 = torch.linspace(-1, 1, 7)
"""
LOGSPACE = """
_40 = torch.logspace(0, 1, None)
_41 = torch.logspace(0, 1)
_42 = torch.logspace(1, 3., None, 2., dtype=7, layout=0, device=torch.device("cpu"), pin_memory=False)
_43 = torch.logspace(0, 1, None, 3., out=torch.clone(x))
_44 = torch.logspace(-1, 1, 7, 4.)
"""


def old(name, version, *parts):
    body = "\n".join(part.strip() for part in parts)
    results = ", ".join(line.split(" = ")[0] for line in body.split("\n"))
    write_code(name, version, body + f"\nreturn [{results}]", (counted(3, 3), torch.arange(-4, 5).view(3, 3)),
               "x: Tensor,\n    n: Tensor")


# The forms of code that torch 1.5 wrote.
DIALECT = """
n = torch.len(torch.size(x))
out = annotate(List[Tensor], [])
d = annotate(Dict[str, int], {"a": 1})
torch._set_item(d, "b", n)
for i in range(n):
  if torch.gt(i, 0):
    y = torch.mul(x, i)
  else:
    y = torch.neg(x)
  _0 = torch.append(out, y)
_1 = torch.eq(torch.dim(x), 2)
if _1:
  _2 = torch.__isnot__(bias, None)
else:
  _2 = False
if _2:
  bias0 = ops.prim.unchecked_unwrap_optional(bias)
  ret = torch.addmm(bias0, x, torch.t(x), beta=1, alpha=1)
else:
  ops.prim.RaiseException("AssertionError: ")
  ret = uninitialized(Tensor)
t = (n, torch.format("{} of {}", n, "x"), 2.5)
a, b, c, = t
_3 = int(ops.prim.NumToTensor(torch.size(x, 0)))
_4 = int(torch.floor_divide(ops.prim.NumToTensor(torch.size(x, 1)), 2))
_5 = torch.slice(torch.slice(x, 0, 0, 9223372036854775807, 1), 1, 0, 2, 1)
_6 = torch.view(torch.contiguous(_5, memory_format=0), [-1, _4])
_7 = torch.to(_6, dtype=6, layout=0, device=torch.device("cpu"), pin_memory=False, non_blocking=False, copy=False, memory_format=None)
_8 = torch._convolution(torch.unsqueeze(torch.unsqueeze(x, 0), 0), torch.ones([1, 1, 2, 2], dtype=6, layout=0, device=torch.device("cpu"), pin_memory=False), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True)
_9 = torch.upsample_bilinear2d(_8, [5, 5], False, None, None)
_10 = torch.upsample_nearest2d(_8, [4, 4], None, None)
_11 = torch.avg_pool2d(_9, [2, 2], annotate(List[int], []), [0, 0], False, True, None)
_12 = torch.std(x, [1], True, False)
_13 = torch.softmax(torch.add(x, torch.rsub(x, 1, 1), alpha=2), 1, None)
_14 = torch._shape_as_tensor(x)
_15 = torch._cast_Long(torch.mul(x, 8), False)
_16 = torch.arange(_3, dtype=4, layout=0, device=torch.device("cpu"), pin_memory=False)
_17 = torch.index_select(x, 0, _16)
_18 = torch.tensor([torch.__getitem__(d, "b"), torch.floordiv(7, 2), torch.remainder(7, 3), torch.len(b)], dtype=None, device=None, requires_grad=False)
_19 = torch.norm(x, 2, [1], True)
_20 = torch.__iand__(torch.gt(x, 0), torch.lt(x, 1))
_21 = torch.rrelu(x, 0.125, 0.375, False, None)
_22 = torch._pad_circular(_8, [1, 1, 1, 0])
return [torch.stack(out, 0), ret, _7, _8, _9, _10, _11, _12, _13, _14, _15, _17, _18, _19, _20, _21, _22]
"""

MAKERS = {
    "net": lambda: write("torch_" + "_".join(torch.__version__.split(".")[:2]), entries_of(Net().eval()),
                         (counted(1, 2, 5, 4),)),
    "complex": lambda: write("complex", entries_of(Complex()), (1.25, 2 - 1j)),
    "packed": lambda: write("packed", entries_of(Packed()), (counted(5, 4, 3), torch.tensor([2, 5, 1, 2]))),
    "old_3": lambda: old("old_3", 3, DIVISIONS, WHOLE_DIVISIONS, FULL, GELU, LINSPACE, LOGSPACE),
    "old_7": lambda: old("old_7", 7, DIVISIONS, FULL, GELU, LINSPACE, LOGSPACE),
    "old_8": lambda: old("old_8", 8, DIVISIONS, LOGSPACE),
    "dialect": lambda: write_code("dialect", 1, DIALECT, (counted(3, 3), counted(3)),
                                  "x: Tensor,\n    bias: Optional[Tensor]=None"),
}
for maker in sys.argv[1:]:
    MAKERS[maker]()
