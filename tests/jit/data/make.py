#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the archives of this folder, by torch."""
import enum
import io
import os
import sys
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.modules["programs"] = sys.modules[__name__]
__name__ = "programs"


class Stats(NamedTuple):
    mean: torch.Tensor
    count: int


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.value = start

    def add(self, n: int) -> int:
        self.value += n
        return self.value


def helper(x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return x * scale


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
        self.register_buffer("steps", torch.tensor(3))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


class Attributes(torch.nn.Module):
    """Attributes of all kinds, shared memory and shared modules."""

    names: Dict[str, List[int]]
    maybe: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.first = Inner()
        self.second = self.first
        self.bias = torch.nn.Parameter(torch.tensor([0.5, -0.5]), requires_grad=False)
        whole = torch.arange(10.0)
        self.register_buffer("whole", whole)
        self.register_buffer("part", whole[2:8:2])
        self.names = {"a": [1, 2], "b": []}
        self.maybe = None
        self.pairs = [(1, "x"), (2, "y")]
        self.stats = Stats(torch.ones(2), 7)
        self.flag = True
        self.rate = 0.25

    def forward(self, x):
        y = self.second(self.first(x) @ torch.ones(2, 3)) + self.bias
        maybe = self.maybe
        if maybe is not None:
            y = y + maybe
        return y + self.rate * float(len(self.names))

    @torch.jit.export
    def total(self) -> torch.Tensor:
        return self.whole.sum() + self.part.sum()


class Classes(torch.nn.Module):
    """A class, an enum, a function, a loop and a constant tensor."""

    def __init__(self):
        super().__init__()
        self.color = Color.BLUE

    def forward(self, x, n: int):
        counter = Counter(n)
        i = 0
        while i < n:
            if counter.add(i) > 6:
                break
            i += 1
        y = helper(x) + helper(x, scale=0.5)
        if self.color == Color.BLUE:
            y = y + counter.value
        s = Stats(y.mean(), y.numel())
        return s.mean, s.count, [k * k for k in range(n)]


class State(torch.nn.Module):
    """Saves and restores its state by methods of its own."""

    def __init__(self):
        super().__init__()
        self.table = [1, 2, 3]
        self.ready = False

    def forward(self, x):
        return x * self.table[0] + (1 if self.ready else 0)

    @torch.jit.export
    def __getstate__(self):
        return (self.table, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[List[int], bool]):
        self.table = [v * 10 for v in state[0]]
        self.training = state[1]
        self.ready = True


class Hooks(torch.nn.Module):
    """Hooks of the module and of a submodule, which archives have as methods and as functions."""

    def __init__(self):
        super().__init__()

        def before(self, inputs: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
            return (inputs[0] + 1,)

        def after(self, inputs: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
            return output * 2

        self.inner = Inner()
        self.inner.register_forward_hook(after)
        self.register_forward_pre_hook(before)

    def forward(self, x):
        return self.inner(x)


def save(name, module):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer, _extra_files={"notes.txt": "of " + name})
    # Deflated and without what only debuggers read: small.
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(os.path.join(HERE, name), "w") as new:
        for item in old.infolist():
            if item.filename.endswith(".debug_pkl"):
                continue
            info = zipfile.ZipInfo(item.filename)
            stored = "/data/" in item.filename or "/constants/" in item.filename
            info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            new.writestr(info, old.read(item))


def save_old(name):
    """As torch 1.4 wrote them: version 1, imports, an operator that has changed since."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Inner()), buffer)
    code = """op_version_set = 1
import __torch__.other
class Inner(Module):
  __parameters__ = ["weight", ]
  weight : Tensor
  steps : Tensor
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.programs.Inner,
    x: Tensor) -> Tensor:
    _0 = torch.matmul(x, torch.t(self.weight))
    _1 = torch.div(self.steps, CONSTANTS.c0)
    return torch.add_(_0, _1, alpha=__torch__.other.twice(1, ))
"""
    other = """op_version_set = 1
def twice(n: int) -> int:
  return torch.mul(n, 2)
"""
    constants = io.BytesIO()
    one = torch.jit.script(Inner())
    one.steps = torch.tensor(2)
    torch.jit.save(one, constants)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(os.path.join(HERE, name), "w") as new:
        for n in old.namelist():
            short = n[n.index("/") + 1:]
            if short.startswith("data"):
                new.writestr("old/" + short, old.read(n))
        with zipfile.ZipFile(constants) as c:
            key = [n for n in c.namelist() if c.read(n) == b"\x02" + bytes(7)][0]
            new.writestr("old/constants/0", c.read(key))
        new.writestr("old/constants.pkl", (
            b"\x80\x02(ctorch._utils\n_rebuild_tensor_v2\nq\x00((X\x07\x00\x00\x00storageq\x01"
            b"ctorch\nLongStorage\nq\x02X\x01\x00\x00\x000q\x03X\x03\x00\x00\x00cpuq\x04K\x01tQ"
            b"K\x00)(t\x89ccollections\nOrderedDict\nq\x05)RtRt."))
        new.writestr("old/code/__torch__/programs.py", code)
        new.writestr("old/code/__torch__/other.py", other)
        new.writestr("old/version", "1\n")


def main():
    save("attributes.pt", Attributes())
    save("classes.pt", Classes())
    save("state.pt", State())
    save("hooks.pt", Hooks())
    save_old("old.pt")
    x = torch.arange(6.0).view(2, 3)
    calls = (("attributes.pt", (x,)), ("classes.pt", (x, 4)), ("classes.pt", (x, 9)),
             ("state.pt", (x,)), ("hooks.pt", (x,)), ("old.pt", (x,)))
    for name, args in calls:
        print(name, torch.jit.load(os.path.join(HERE, name))(*args))
    print(torch.jit.load(os.path.join(HERE, "attributes.pt")).total())


main()
