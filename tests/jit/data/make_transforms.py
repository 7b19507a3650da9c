#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes exported_vmap.pt2, exported_joint.pt2, exported_quantized.pt2, exported_experts.pt2, exported_unsigned.pt2,
exported_float8.pt2, exported_classes.pt2, exported_stacked.pt2 and exported_hints.pt2, by torch: vmap and
associative_scan as they were called, a program with its backward, quantized operators, products of groups, wide
unsigned integers, weights in floats of 8 bits, results in classes of others, loops whose turns are stacked beside
primitives of torch, a region with hints beside results in other dtypes."""
import collections
import dataclasses
import json

import torch
import torch.nn.functional as F
import torch.ao.quantization.fx._decomposed  # defines the operators
from torch._higher_order_ops import associative_scan, invoke_quant_packed, while_loop_stack_output
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.out_dtype import out_dtype
from torch.export.experimental import _export_forward_backward
from torch.nn import LinearCrossEntropyOptions

from make_exported import counted, save, small


class Vmap(torch.nn.Module):
    """Levels in levels, a scan whose last step has an empty batch, results of which not all depend on the batch."""

    def forward(self, x, index):
        outer = torch.vmap(torch.vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None), out_dims=1)
        picked = torch.vmap(lambda row, i: row[i] + torch.cat([row, row.flip(0)]).cumsum(0)[-1], in_dims=(1, 0))
        products = associative_scan(lambda a, b: a @ b, torch.stack([x, x + 1, x - 1, x, x * 2]), dim=0,
                                    combine_mode="generic")
        chunked = F.linear_cross_entropy(x, x[:2], index[:3] % 2, reduction="sum",
                                         options=LinearCrossEntropyOptions(batch_chunk_size=2))
        return outer(x[0], index.to(x.dtype)), picked(x, index), products, chunked


class Stacked(torch.nn.Module):
    """A loop of three turns, and one of none."""

    def forward(self, n, x):
        body = lambda n, x: (n - 1, x.cos())
        turns = while_loop_stack_output(lambda n, x: n > 0, body, (n, x), ())
        none = while_loop_stack_output(lambda n, x: n > 9, body, (n, x), ())
        sine = invoke_quant_packed(lambda x: (x.sin(),), x)[0]
        bytes, rows = (x * 100).abs().to(torch.uint8), (x.T * 50).to(torch.int8)
        p = torch.ops.prims
        wide = p.convert_element_type(p.view_of(x), torch.float64)
        rows_of = p.broadcast_in_dim(p.split_dim(p.collapse(x, 0, 1), 0, 3), [3, 2, 3], [0, 2])
        steps = p.iota(3, start=2, step=-2, dtype=torch.int64, device="cpu", requires_grad=False)
        sums = p.add(p.neg(rows_of), p.broadcast_in_dim(steps.float(), [3, 2, 3], [0]))
        moved = p.transpose(p.squeeze(sums, []), [2, 0, 1])
        return *turns, *none, sine, torch._int_mm(bytes, rows), wide, moved, p.sum(moved, [0, 2]), p.amax(moved, [1])


class Hints(torch.nn.Module):
    """A region with hints for a compiler, products of bytes in another dtype, quotients of either kind."""

    def forward(self, x, q):
        hinted = hints_wrapper(lambda a, b: torch.relu(a @ b), (x, x.t()), {}, hints={"tile": 4, "name": "a"})
        wide = out_dtype(torch.ops.aten.mm.default, torch.int32, q, q)
        real = out_dtype(torch.ops.aten.mul.Tensor, torch.int32, q, x)
        return hinted, wide, real, torch.ops.prims.div(wide, q.to(torch.int32)), torch.ops.prims.div(x, x + 2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(counted(5, 4))
        self.head = torch.nn.Linear(4, 5)
        self.head.weight.data = counted(5, 4) / 2
        self.head.bias.data = counted(5)

    def forward(self, ids):
        x = self.table[ids].unsqueeze(1)
        y = F.scaled_dot_product_attention(x, x * 0.5, x, is_causal=True)
        return F.cross_entropy(self.head(y).flatten(0, 2), ids.flatten())


class Quantized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.tensor([[-128, 3, 127], [5, -6, 7]], dtype=torch.int8))
        self.register_buffer("scales", torch.tensor([0.1, 0.25]))
        self.register_buffer("zeros", torch.tensor([3, -2]))

    def forward(self, x):
        q = torch.ops.quantized_decomposed
        kind = (-128, 127, torch.int8)
        scale, zero = q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
        single = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.05, 3, *kind), 0.05, 3, *kind)
        chosen = q.dequantize_per_tensor.tensor(q.quantize_per_tensor.tensor(x, scale, zero, *kind), scale, zero, *kind)
        weight = q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *kind)
        channels = q.quantize_per_channel(x, self.scales, self.zeros, 0, *kind)
        scales, zeros = q.choose_qparams_per_token_asymmetric(x, torch.int8)
        tokens = q.dequantize_per_token(q.quantize_per_token(x, scales, zeros, *kind), scales, zeros, *kind, torch.float32)
        groups = q.dequantize_per_channel_group(self.weight, self.scales[:, None], None, *kind, 3, torch.float32)
        symmetric = q.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8)
        return single @ weight.t(), chosen, scale, zero, channels, tokens, groups, *symmetric


class Experts(torch.nn.Module):
    """Products of groups: rows by expert, and inner elements."""

    def forward(self, x, ends):
        rows, weights = x.to(torch.bfloat16), counted(2, 16, 8).to(torch.bfloat16)
        return torch._grouped_mm(rows, weights, offs=ends), torch._grouped_mm(rows.t(), weights[0, :8], offs=ends)


class Unsigned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for bits in (16, 32, 64):
            self.register_buffer(f"u{bits}", torch.tensor([1, 2 ** min(bits, 63) - 1]).to(getattr(torch, f"uint{bits}")))

    def forward(self, x):
        return [x * u.to(torch.float64) for u in (self.u16, self.u32, self.u64)]


class Float8(torch.nn.Module):
    """A layer whose weights are floats of 8 bits with a scale for each row, and results of such dtypes."""

    def __init__(self):
        super().__init__()
        weight = counted(4, 3)
        scale = weight.abs().amax(1, keepdim=True) / 448
        self.register_buffer("weight", (weight / scale).to(torch.float8_e4m3fn))
        self.register_buffer("scale", scale)

    def forward(self, x, ids):
        small = x.to(torch.float8_e5m2)
        return x @ (self.weight.to(torch.float32) * self.scale).t(), small.float(), ids.to(torch.int64) + 1, \
            torch.zeros(2, dtype=torch.uint16).to(torch.float32), torch.cat([small, small]).view(torch.uint8)


class Output(collections.OrderedDict):
    """As the outputs of transformers: its context lists the keys."""


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor
    none: int = None


torch.export.register_dataclass(Pair, serialized_type_name="models.Pair")
torch.utils._pytree.register_pytree_node(
    Output, lambda d: (list(d.values()), list(d)), lambda values, keys: Output(zip(keys, values)),
    serialized_type_name="models.Output", to_dumpable_context=json.dumps, from_dumpable_context=json.loads)


class Classes(torch.nn.Module):
    def forward(self, pair):
        return Output(last=pair.left + pair.right, pair=Pair(pair.left * 2, pair.right))


x = counted(3, 3)
small("exported_vmap", Vmap().eval(), (x, torch.tensor([2, 0, 1])), strict=True)
small("exported_quantized", Quantized().eval(), (counted(2, 3),))
small("exported_experts", Experts().eval(), (counted(8, 16), torch.tensor([3, 8], dtype=torch.int32)))
small("exported_float8", Float8().eval(), (counted(2, 3) * 1.1, torch.tensor([65534, 7]).to(torch.uint16)))
small("exported_unsigned", Unsigned().eval(), (torch.tensor([2.0, 0.5], dtype=torch.float64),))
net, ids = Net(), torch.tensor([[0, 3, 1], [4, 2, 2]])
loss = net(ids)
loss.backward()
save("exported_joint", _export_forward_backward(torch.export.export(net, (ids,))),
     [(loss.detach(), *(p.grad for p in net.parameters()))])
small("exported_classes", Classes().eval(), (Pair(x, x * 2),))
small("exported_stacked", Stacked(), (torch.tensor(3), x))
small("exported_hints", Hints(), (x, torch.tensor([[127, -128, 3], [-7, 100, 2], [5, -3, 120]], dtype=torch.int8)))
