#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a program of operators that Tenon composes of others (jit/run/host/*.cpp), and what torch and torchvision compute
for it, in double: a folder as `tenon run --cases` reads it. forward has those with gradients, methods the others."""
import json
import math
import os
import sys
from typing import Dict, List, Tuple

import torch
import torchvision  # noqa: F401, its operators
from safetensors.torch import save_file
from torch import Tensor, nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from saving import save_small  # noqa: E402


def param(*sizes):
    return nn.Parameter(torch.randn(*sizes, dtype=torch.float64))


@torch.jit.script
class Item:
    def __init__(self, n: int):
        self.n = n

    def __lt__(self, other: "Item") -> bool:
        return self.n < other.n


class Plus(nn.Module):
    def forward(self, x):
        return x + 0.5  # a trace keeps the number as a tensor


class Operators(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = param(2, 4, 6, 7)
        self.weight = param(6, 2, 3, 3)
        self.bias = param(6)
        self.offset = param(2, 36, 3, 7)
        self.mask = param(2, 18, 3, 7)
        self.matrix = param(4, 5)
        self.vector = param(3)
        self.line = param(7)
        self.tall = nn.Parameter(torch.rand(4, 5, dtype=torch.float64) + 0.3)
        self.logits = param(6, 3, 5)
        self.volume = param(1, 2, 4, 5, 6)
        self.traced = torch.jit.trace(Plus(), torch.tensor([3]))

    def regions(self, rois: Tensor) -> List[Tensor]:
        x = self.image
        out = [torch.ops.torchvision.roi_align(x, rois, 0.5, 2, 3, -1, True), torch.ops.torchvision.roi_align(x, rois, 0.7, 2, 2, 2, False),
               torch.ops.torchvision.ps_roi_align(x, rois, 0.5, 2, 2, -1)[0], torch.ops.torchvision.roi_pool(x, rois, 0.5, 2, 3)[0],
               torch.ops.torchvision.ps_roi_pool(x.detach(), rois, 0.5, 2, 2)[0]]  # its gradient is not that of its values
        none = torch.zeros(2, 1, dtype=torch.float64)
        out.append(torch.ops.torchvision.deform_conv2d(x, self.weight, self.offset, self.mask, self.bias, 2, 1, 1, 1, 1, 1, 2, 2, True))
        out.append(torch.ops.torchvision.deform_conv2d(x, self.weight, torch.zeros_like(self.offset[:, :18]), none, self.bias, 2, 1, 1, 1, 1, 1, 2, 1, False))
        return out

    def pools(self, samples: Tensor) -> List[Tensor]:
        x = self.image
        small, where = torch.ops.aten.max_pool2d_with_indices(x, [2, 2])
        fraction, places = torch.ops.aten.fractional_max_pool2d(x, [2, 3], [3, 4], samples)
        volume, inside = torch.ops.aten.max_pool3d_with_indices(self.volume, [2, 2, 2])
        cubes = torch.ops.aten.fractional_max_pool3d(self.volume, [2, 2, 2], [2, 3, 3], samples[:1, :2].repeat(1, 1, 2)[:, :, :3])[0]
        return [torch.ops.aten.max_unpool2d(small, where, [6, 7]), fraction, places.to(torch.float64), torch.ops.aten.max_unpool3d(volume, inside, [4, 5, 6], [2, 2, 2], [0, 0, 0]), cubes]

    def products(self) -> List[Tensor]:
        a, v = self.matrix, self.vector
        out = [torch.kron(a, v), torch.vander(v.detach()), torch.vander(v.detach(), N=4, increasing=True), torch._weight_norm(a, v[:1], -1), torch._weight_norm(a, self.bias[:4, None], 0)]
        out.append(torch._trilinear(a, a, a, [1], [0], [1], [2]))
        out.append(torch.ops.aten._convolution_mode(self.image, self.weight[:, :, :2], None, [1, 1], "same", [1, 2], 2))
        out.append(torch.norm_except_dim(a, 2, 1))
        lengths = torch.tensor([1, 0, 2, 1])
        for reduce in ["sum", "mean", "max", "min", "prod"]:
            out.append(torch.segment_reduce(a, reduce, lengths=lengths, unsafe=True, initial=0.5))
        out.append(torch.masked_fill(torch.segment_reduce(a, "max", lengths=lengths, unsafe=True), lengths[:, None] == 0, 0.0))
        return out

    def slopes(self) -> List[Tensor]:
        at = torch.tensor([0.0, 0.5, 2.0, 2.5, 4.0], dtype=torch.float64)
        out = torch.gradient(self.image[0, 0], spacing=0.5) + torch.gradient(self.matrix, spacing=[at], dim=[1], edge_order=2)
        return out + torch.gradient(self.line, edge_order=2) + torch.gradient(self.matrix[:, :2], dim=[1])

    def special(self) -> List[Tensor]:
        x, p = self.matrix, self.tall
        return [torch.special.entr(p), torch.special.ndtr(x), torch.special.ndtri(p / 2), torch.special.xlog1py(x, p), torch.special.xlog1py(x, 2.0), torch.special.xlog1py(2.0, p),
                torch.special.gammaln(p), torch.special.psi(p), torch.special.digamma(p), torch.special.erfc(x), torch.special.erfinv(p / 2), torch.special.exp2(x), torch.special.i0(x).detach(),
                torch.special.logit(p / 2), torch.special.logsumexp(x, 1), torch.special.multigammaln(p + 2, 3), torch.special.polygamma(1, p), torch.special.sinc(x), torch.special.softmax(x, 1),
                torch.special.log_softmax(x, 1), torch.special.xlogy(x, p), torch.special.gammainc(p.detach(), p), torch.special.gammaincc(p.detach(), p), torch.special.round(x), torch.angle(x),
                torch.special.log_ndtr(x), torch.special.erfcx(x), torch.special.i0e(x), torch.special.i1(x), torch.special.i1e(x), torch.special.modified_bessel_i1(x),
                torch.special.modified_bessel_k0(p), torch.special.modified_bessel_k1(p), torch.special.scaled_modified_bessel_k0(p), torch.special.scaled_modified_bessel_k1(p),
                torch.special.bessel_j0(x), torch.special.bessel_j1(x), torch.special.bessel_y0(p), torch.special.bessel_y1(p), torch.special.spherical_bessel_j0(x), torch.special.airy_ai(x),
                torch.special.zeta(p.detach() + 1.5, p), torch.special.zeta(2.5, p), torch.special.zeta(p.detach() + 1.5, 0.5), torch.special.chebyshev_polynomial_t(x, 3),
                torch.special.hermite_polynomial_he(0.5, torch.arange(5)), torch.special.legendre_polynomial_p(x, torch.arange(5)), torch.special.expit(x)]

    def ctc(self, targets: Tensor) -> List[Tensor]:
        p = self.logits.log_softmax(2)
        long, some = torch.tensor([6, 5, 4]), torch.tensor([3, 2, 0])
        out = [torch.ctc_loss(p, targets, long, some), torch.ctc_loss(p, targets, [6, 5, 4], [3, 2, 0], 0, 0), torch.ctc_loss(p, targets, [6, 6, 2], [3, 1, 3], 4, 2, True)]
        out.append(torch.ctc_loss(p, targets.flatten()[:5], long, some, 0, 2))
        return out

    def quantized(self) -> List[Tensor]:
        x = self.matrix.to(torch.float32)
        scales, zeros = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 1, 2, 3], dtype=torch.int32)
        out = [torch.fake_quantize_per_tensor_affine(x, 0.13, 2, -8, 7), torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -4, 3),
               torch.fake_quantize_per_tensor_affine(x, scales[1], zeros[1], 0, 15)]
        return [t.to(torch.float64) for t in out]

    def in_place(self) -> List[Tensor]:
        a = torch.rrelu(self.matrix)
        b = self.matrix * 1.0
        b = torch.rrelu_(b) * 1.0
        torch.feature_dropout_(b, 0.5, False)
        torch.alpha_dropout_(b, 0.5, False)
        torch.feature_alpha_dropout_(b, 0.5, False)
        b.fill_diagonal_(2.0)
        c = torch.cat([self.line, self.line, self.line])[:20].view(10, 2) * 1.0
        c.fill_diagonal_(3.0, wrap=True)
        d = torch.as_strided_scatter(self.matrix.detach(), self.vector, [3], [2], 1)
        e = torch.unsafe_chunk(self.matrix * 1.0, 2, 0) + torch.unsafe_split_with_sizes(self.matrix * 1.0, [1, 3], 0)
        for part in e:  # each is needed by its own gradient
            part.sigmoid_()
        return e + [a, b, c, d, torch.concatenate([a, b]), torch.moveaxis(self.image, [0, 1], [2, 0]), torch.row_stack([a, b]), torch.adjoint(a)]

    def derivative(self, x: Tensor) -> List[Tensor]:
        y = x.detach().clone().requires_grad_(True)
        energy = (y.pow(3) * self.line).sum()
        slope = torch.autograd.grad([energy], [y], create_graph=True)[0]
        assert slope is not None
        curve = torch.autograd.grad([slope.sum()], [y], create_graph=True)[0]
        assert curve is not None
        return [slope, curve]

    def forward(self, rois: Tensor, samples: Tensor, targets: Tensor, x: Tensor) -> Tensor:
        parts = self.regions(rois) + self.pools(samples) + self.products() + self.slopes() + self.special() + self.ctc(targets) + self.quantized() + self.in_place()
        if torch.is_grad_enabled():
            parts = parts + self.derivative(x)
        total = torch.zeros(1, dtype=torch.float64)
        for part in parts:
            weight = torch.cos(torch.arange(part.numel(), dtype=torch.float64)).view(part.shape)
            total = total + (part * weight).sum()
        return total

    @torch.jit.export
    def values(self, rois: Tensor, samples: Tensor, targets: Tensor) -> Tuple[List[Tensor], List[Tensor], List[Tensor], List[Tensor], List[Tensor]]:
        return self.regions(rois), self.pools(samples) + self.products(), self.slopes() + self.special(), self.ctc(targets), self.quantized() + self.in_place()

    @torch.jit.export
    def others(self, x: Tensor, table: Tensor, index: Tensor) -> Tuple[List[int], List[int], List[bool], List[Tensor]]:
        windows = [torch.blackman_window(7), torch.blackman_window(6, periodic=False), torch.kaiser_window(6), torch.kaiser_window(6, False), torch.kaiser_window(5, True, 3.0), torch.hamming_window(5, True, 0.6), torch.hamming_window(5, False, 0.6, 0.3)]
        torch.ops.aten.embedding_renorm_(table, index, 1.0, 2.0)
        half = x.to(torch.float16)
        shaped = torch.atleast_2d([x, x[0]]) + torch.atleast_1d([x[0, 0]]) + torch.atleast_3d([x])
        shaped = shaped + [table, torch.isin(index, 2), torch.isin(2, index), torch._unique(index)[0], torch.ops.aten._masked_softmax(x, x > 0.5, 1), torch._shape_as_tensor(x), x.resize_as_(x)]
        h, one, zero = table.to(torch.bfloat16), torch.ones(3) * 1.3, torch.zeros(3) + 0.1  # parameters of more precision
        shaped = shaped + [torch.batch_norm(h, one, zero, zero, one, False, 0.1, 1e-5, False), torch.layer_norm(h, [3], one, zero), torch.group_norm(h, 1, one, zero)]
        dtypes = [torch.result_type(x, index), torch.result_type(half, 2.5), torch.promote_types(torch.int32, torch.float16), torch.result_type(index, 1.5)]
        shaped.append(self.traced(index))
        items = [Item(3), Item(1)]
        items.sort()
        casts = [torch.can_cast(torch.float32, torch.int32), torch.can_cast(torch.int32, torch.float32), torch.can_cast(torch.int32, torch.uint8), torch.can_cast(torch.uint8, torch.int32), torch.can_cast(torch.int32, torch.bool), torch.is_same_size(x, x)]
        return torch.broadcast_shapes([2, 1, 3], [4, 1]) + [len(list("abc")), items[0].n, int(math.modf(2.5)[0] * 10), math.frexp(6.0)[1], int(math.ldexp(3.0, 2)), len("%s|%d" % ("ab", 3))], dtypes, casts, windows + shaped

    @torch.jit.export
    def places(self, rois: Tensor) -> List[Tensor]:
        x = self.image
        return [torch.ops.torchvision.roi_pool(x, rois, 0.5, 2, 3)[1], torch.ops.torchvision.ps_roi_align(x, rois, 0.5, 2, 2, -1)[1], torch.ops.torchvision.ps_roi_pool(x, rois, 0.5, 2, 2)[1]]

    @torch.jit.export
    def with_losses(self, x: Tensor) -> Tuple[Dict[str, Tensor], List[Tensor]]:
        return {}, [x + 1]


def describe(value, tensors):
    if isinstance(value, (list, tuple)): return {"list" if isinstance(value, list) else "tuple": [describe(v, tensors) for v in value]}
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "tensor"
    tensors.append(value if kind == "tensor" else torch.tensor(value))
    return {kind: len(tensors) - 1}


torch.manual_seed(0)
model = torch.jit.script(Operators().eval())
save_small(model, os.path.join(HERE, "script.pt"))
rois = torch.tensor([[0, 1.3, 0.7, 9.1, 8.4], [1, 0, 0, 13, 11], [1, 4, 3, 4.2, 3.1], [0, -3, 2, 20, 30]], dtype=torch.float64)
samples, targets = torch.rand(2, 4, 2, dtype=torch.float64), torch.tensor([[1, 2, 2], [3, 1, 2], [2, 3, 1]])
x = torch.randn(3, 7, dtype=torch.float64)
tensors, cases = {}, []
for prefix, method, given in (("", "forward", (rois, samples, targets, x)), ("v.", "values", (rois, samples, targets)), ("o.", "others", (x, torch.randn(5, 3), torch.tensor([2, 0, 2]))), ("p.", "places", (rois,)), ("l.", "with_losses", (x,))):
    with torch.no_grad(): found = getattr(torch.jit.load(io.BytesIO(whole.getvalue())), method)(*[t.clone() for t in given])
    if method == "values": found = tuple(map(tuple, found))  # as functions of Python give tuples
    if method == "with_losses": found = found[1]  # as a class of Python gives what a scripted one has beside its losses
    held_in, held_out = [], []
    cases.append({"prefix": prefix, "method": method, "in": [describe(t, held_in) for t in given], "out": describe(found, held_out)})
    tensors.update({f"{prefix}in.{i}": t.contiguous().clone() for i, t in enumerate(held_in)})
    tensors.update({f"{prefix}out.{i}": t.contiguous().clone() for i, t in enumerate(held_out)})
save_file(tensors, os.path.join(HERE, "cases.safetensors"))
model.zero_grad(set_to_none=True)
loss = model(rois, samples, targets, x).mean()
loss.backward()
save_file({**{f"e.{n}": p.grad for n, p in model.named_parameters()}, "e.loss": loss.detach()}, os.path.join(HERE, "grads.safetensors"))
with open(os.path.join(HERE, "about.json"), "w") as f:
    json.dump({"name": "operators", "cases": cases, "noise": {"v.out.99": math.nan}}, f, indent=1)
