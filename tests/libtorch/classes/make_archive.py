# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes net.pt, whose module holds objects of classes of C++, with torch 2.15.

    c++ -shared -fPIC $(flags of torch.utils.cpp_extension) library.cpp -o libclasses.so
    python make_archive.py libclasses.so
"""
import pathlib
import sys
from typing import List, Tuple

import torch

torch.classes.load_library(sys.argv[1])
Affine = torch.classes.made_classes.Affine
Stack = torch.classes.made_classes.Stack


class Net(torch.nn.Module):
    affine: Affine
    stacks: List[Stack]

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.affine = Affine(2.0, torch.tensor([0.5, -0.5]))
        stack = Stack(["a", "b"])
        self.stack = stack
        self.stacks = [stack, Stack(["c"])]

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, List[str]]:
        made = torch.ops.made_classes.make_affine(3.0, self.weight)
        y = torch.ops.made_classes.apply_affine(self.affine, x)
        y = made.apply(y, 2) + self.affine.apply(x, with_bias=False)
        own = Stack(["x"])
        own.push("y")
        own.merge(self.stacks[1])
        two = Stack(["p", "q"])
        own.merge(two)
        words: List[str] = []
        for _ in range(own.size()):
            words.append(own.pop())
        y = y * made.scale
        return y, words

    @torch.jit.export
    def push(self, word: str) -> int:
        self.stack.push(word)
        return self.stacks[0].size()

    @torch.jit.export
    def get(self) -> Stack:
        return self.stack

    @torch.jit.export
    def ends(self, of: Stack) -> Tuple[str, str]:
        return of.ends()


folder = pathlib.Path(__file__).parent
script = torch.jit.script(Net())
print(script.code, script(torch.ones(2)), script.push("z"), script.ends(script.get()))
torch.jit.save(torch.jit.script(Net()), str(folder / "net.pt"))
