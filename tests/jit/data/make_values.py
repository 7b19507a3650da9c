#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes values.pt, by torch; extra/expected.json has the texts and the elements that its methods give."""
import cmath
import json
import os
import sys
from typing import Any, Dict, List

import torch
from torch import Tensor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.modules["programs"] = sys.modules[__name__]
__name__ = "programs"


class Values(torch.nn.Module):
    @torch.jit.export
    def numbers(self) -> List[str]:
        out: List[str] = []
        for f in [2.5, 5.0, -0.0, 0.1, 1e-7, 1e19, 123456789.123, float("inf"), float("nan")]:
            out.append("{} {} %f %s".format(f, [f]) % (f, f))
        return out

    @torch.jit.export
    def containers(self, x: Tensor) -> List[str]:
        return [str(["a"]), str({"a": 1.0}), str((1, "b")), str((1,)), str(complex(1, -2.5)), str(x), str((x > 0,)),
                str([None, None]), str([True]), str(x.dtype), str(torch.zeros(0)), str(torch.tensor(3))]

    @torch.jit.export
    def letters(self, s: str) -> List[str]:
        return [s.expandtabs(), s.expandtabs(3), str(s.isidentifier()), str(s.isprintable()), str(s.istitle()), s[1]]

    @torch.jit.export
    def pairs(self) -> List[str]:
        d = {"a": 1, "b": 2}
        key, value = d.popitem()
        e = {complex(1, 2): 3}
        return [key, str(value), str(d), str(e[complex(1, 2)]), str(complex(1, 2) in e)]

    @torch.jit.export
    def anything(self, x: Any, n: Any) -> str:
        if isinstance(x, Tensor) and isinstance(n, int):
            return str(x.numel() + n)
        return "neither"

    @torch.jit.export
    def complexes(self, x: Tensor) -> List[Tensor]:
        z = complex(1.5, 2)
        made = [torch.tensor(z), torch.tensor(cmath.infj), torch.as_tensor(z), torch.tensor(complex(x[0], 2)),
                torch.ones(2) * cmath.sqrt(z), torch.full([1], z * z)]
        return [torch.view_as_real(m) for m in made]

    @torch.jit.export
    def modes(self, x: Tensor) -> List[bool]:
        with torch.no_grad():
            y = x * 2
            with torch.no_grad():
                z = y + 1
        with torch.autograd.profiler.record_function("a range"):
            w = x + 1
        return [y.requires_grad, z.requires_grad, w.requires_grad, torch.is_grad_enabled()]

    @torch.jit.export
    def leaves_by_an_error(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return x.view(-1, 1000000)

    @torch.jit.export
    def seeded(self) -> List[bool]:
        g = torch.Generator()
        g.manual_seed(5)
        a = torch.rand(3, generator=g)
        g.manual_seed(5)
        b = torch.rand(3, generator=g)
        return [torch.equal(a, b), g.initial_seed() == 5]

    def forward(self, x: Tensor) -> Tensor:
        return x


net = torch.jit.script(Values())
path = os.path.join(HERE, "values.pt")
net.save(path)
net = torch.jit.load(path)
x = torch.tensor([0.5, -2.0], requires_grad=True)
results = {"numbers": net.numbers(), "containers": net.containers(x.detach()), "letters": net.letters("Ab\tC"),
           "pairs": net.pairs(), "anything": [net.anything(x, 3), net.anything(3, x)],
           "complexes": [[str(v) for v in t.flatten().tolist()] for t in net.complexes(x.detach())],
           "modes": net.modes(x), "seeded": net.seeded()}
torch.jit.save(net, path, _extra_files={"expected.json": json.dumps(results)})
print(json.dumps(results, indent=1))
