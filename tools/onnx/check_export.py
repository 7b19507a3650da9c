# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""check_export.py TENON FOLDER [--program] [NAME..]: writes functions and models of torch as ONNX through `tenon convert`,
checks the files with the onnx package, and compares what ONNX Runtime computes with torch: 1e-4 of the largest value. With
--program as exported programs, which torch.export.load reads and torch runs. Functions are scripted where the name ends in
.script, else traced."""
import inspect
import os
import subprocess
import sys
import warnings
from typing import List, NamedTuple, Optional

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

warnings.filterwarnings("ignore")
torch.manual_seed(7)
torch.backends.mha.set_fastpath_enabled(False)  # its operators are not of the public ones


def r(*sizes):
    return torch.randn(*sizes)


def positive(*sizes):
    return torch.rand(*sizes) + 0.1


def ints(high, *sizes):
    return torch.randint(0, high, sizes)


PROGRAM = "--program" in sys.argv
# What exported programs cannot express, and what the refusal says.
REFUSED = {"parts.script": "depends on a size that varies", "list.script": "appends tensors whose sizes vary to a list", "lists.script": "writes to a tensor or a list",
           "carried.script": "a branch by sizes that vary"}
CASES = {}


def case(name, f, *inputs, dynamic=(), runs=(), opset=17):
    CASES[name] = (f, inputs, dynamic, runs, opset)


X = r(2, 3, 4)
for name in ("abs neg sqrt exp log sin cos tan asin acos atan sinh cosh asinh atanh tanh sigmoid relu floor ceil round erf "
             "reciprocal sign rsqrt square exp2 expm1 log1p log2 log10 trunc frac isnan isfinite logical_not").split():
    limited = name in ("asin", "acos", "atanh", "log1p")
    x = (torch.rand(3, 4) * 1.8 - 0.9) if limited else positive(3, 4) if name in ("log", "sqrt", "rsqrt", "log2", "log10") else r(3, 4)
    case(name, lambda x, f=getattr(torch, name): f(x), x)
case("acosh", lambda x: torch.acosh(x), positive(3) + 1)
for name in "add sub mul div maximum minimum atan2 fmod remainder floor_divide eq ne lt le gt ge".split():
    case(name, lambda x, y, f=getattr(torch, name): f(x, y), r(3, 4), positive(4))
case("add_numbers", lambda x: 3 - (x * 2 + 1) / 4, X)
case("integers", lambda x, y: (x // y, x % y, x + 2 * y, x / y), ints(20, 5) - 10, ints(4, 5) + 1)
case("pow", lambda x: x.pow(2) + x.pow(0.5), positive(4))
case("promotion", lambda x, y: x + y, ints(5, 3), r(3))
case("clamp", lambda x: (x.clamp(-1, 0.5), x.clamp(min=0), torch.clamp_max(x, 1)), X)
case("where", lambda x, y: (torch.where(x > 0, x, y), x.masked_fill(x > 0, -1.0)), X, r(4))
case("addcmul", lambda x, y, z: (torch.addcmul(x, y, z, value=0.5), torch.addcdiv(x, y, z), torch.lerp(x, y, 0.3)), X, r(4), positive(4))
case("casts", lambda x: (x.to(torch.float64), x.int(), x.bool(), x.half().float()), X)
case("logic", lambda x, y: ((x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0)), X, r(4))

case("cat", lambda x, y: (torch.cat([x, y], 1), torch.stack([x, y], -1)), r(2, 3), r(2, 3))
case("views", lambda x: (x.view(6, 4), x.reshape(-1, 2), x.flatten(1), x.flatten(0, 1), x.t() if x.dim() == 2 else x.transpose(0, 2), x.permute(2, 0, 1)), X)
case("flatten_middle", lambda x: x.flatten(1, 2), r(2, 3, 4, 5))
case("unflatten", lambda x: x.unflatten(1, (2, 3)), r(2, 6, 4))
case("squeeze", lambda x: (x.squeeze(), x.squeeze(1), x.unsqueeze(0), x.unsqueeze(-1)), r(2, 1, 3))
case("expand", lambda x, y: (x.expand(2, 3, 4), x.expand_as(y), x.repeat(2, 1, 3), x.expand(-1, 3, -1)), r(2, 1, 4), r(2, 3, 4))
case("slices", lambda x: (x[1], x[:, 1:], x[..., ::2], x[:, -1], x.narrow(2, 1, 2), x.select(1, 2)), X)
case("split", lambda x: (torch.split(x, 2, 2), torch.chunk(x, 3, 1), x.unbind(0), x.split([1, 3], 2)), X)
case("pads", lambda x: (F.pad(x, (1, 2, 0, 1)), F.pad(x, (1, 1), value=3.0), F.pad(x, (1, 2), mode="reflect"), F.pad(x, (1, 1), mode="replicate")), X)
case("flip", lambda x: (x.flip(0, 2), x.roll(1, 1), x.roll((1, -1), (0, 2))), X)
case("triangles", lambda x: (x.tril(), x.triu(1)), r(4, 4))
case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), r(1, 8, 3, 3))
case("movedim", lambda x: x.movedim(0, 2), X)

for name in "sum mean prod amax amin argmax argmin logsumexp".split():
    f = getattr(torch, name)
    case(name, lambda x, f=f: (f(x, 1), f(x, -1, keepdim=True)), X)
case("sum_all", lambda x: (x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.argmax()), X)
case("max_at", lambda x: (x.max(1), x.min(2, keepdim=True)), X)
case("truth", lambda x: ((x > 0).any(1), (x > 0).all(), (x > -9).all(2)), X)
case("variance", lambda x: (x.var(1), x.std(2, unbiased=False), x.var(), x.std((0, 1))), X)
case("norms", lambda x: (x.norm(), torch.linalg.vector_norm(x, 1, 1), F.normalize(x, dim=1), torch.linalg.vector_norm(x, 3, 2)), X)
case("cumsum", lambda x: x.cumsum(1), X)
case("topk", lambda x: (x.topk(2, 1), x.sort(2), x.argsort(1, descending=True)), X)
case("reduce18", lambda x: (x.mean(1), x.amax((0, 2)), x.logsumexp(1)), X, opset=18)
case("opset13", lambda x: (x.mean(1), F.layer_norm(x, (4,)), x.softmax(1)), X, opset=13)

case("matmul", lambda x, y: (x @ y, torch.bmm(x, y), x[0].mm(y[0])), r(2, 3, 4), r(2, 4, 5))
case("addmm", lambda s, x, y: (torch.addmm(s, x, y, beta=0.5, alpha=2), torch.baddbmm(s.unsqueeze(0), x.unsqueeze(0), y.unsqueeze(0))), r(3, 5), r(3, 4), r(4, 5))
case("linear", lambda x, w, b: (F.linear(x, w, b), F.linear(x[0], w), F.linear(x, w)), r(2, 3, 4), r(5, 4), r(5))
case("einsum", lambda x, y: torch.einsum("bij,bjk->bik", x, y), r(2, 3, 4), r(2, 4, 5))
case("conv", lambda x, w, b: (F.conv2d(x, w, b, padding=1), F.conv2d(x, w, stride=2, dilation=2), F.conv2d(x, w, padding="same")), r(2, 3, 9, 9), r(4, 3, 3, 3), r(4))
case("conv1d", lambda x, w: (F.conv1d(x, w, stride=2), F.conv1d(x[0], w)), r(2, 4, 9), r(6, 4, 3))
case("conv3d", lambda x, w: F.conv3d(x, w), r(1, 2, 5, 5, 5), r(3, 2, 2, 2, 2))
case("conv_groups", lambda x, w: F.conv2d(x, w, groups=2), r(1, 4, 5, 5), r(6, 2, 3, 3))
case("conv_transpose", lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1), r(1, 3, 5, 5), r(3, 4, 3, 3), r(4))
case("pools", lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.max_pool2d(x, 2, ceil_mode=True)), r(2, 3, 9, 9))
case("pools1d", lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, 2)), r(2, 3, 8))
case("adaptive", lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 3), F.adaptive_max_pool2d(x, 1)), r(2, 3, 6, 6))
case("resize", lambda x: (F.interpolate(x, scale_factor=2.0), F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
                          F.interpolate(x, size=(7, 5), mode="bilinear", align_corners=True), F.interpolate(x, size=(7, 5))), r(1, 2, 4, 4))
case("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), r(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 2 - 1)
case("embedding", lambda i, w: F.embedding(i, w), ints(6, 2, 3), r(6, 4))
case("softmax", lambda x: (x.softmax(1), x.log_softmax(-1), x.softmax(0)), X)
case("attention", lambda q, k, v: (F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True)), r(1, 2, 5, 8), r(1, 2, 5, 8), r(1, 2, 5, 8))
case("attention_mask", lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m > -1), r(1, 2, 5, 8), r(5, 5))
for name in ("leaky_relu elu celu selu softplus softsign silu mish gelu hardsigmoid hardtanh relu6 logsigmoid hardshrink "
             "softshrink hardswish tanhshrink").split():
    case(name, lambda x, f=getattr(F, name): f(x), X * 3)
case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), X)
case("threshold", lambda x: F.threshold(x, 0.0, 0.0), X)
case("glu", lambda x: F.glu(x, 2), X)
case("prelu", lambda x, w: F.prelu(x, w), r(2, 3, 4, 4), positive(3))
case("norm_layers", lambda x, w: (F.layer_norm(x, (4, 4), None, None), F.group_norm(x, 3), F.instance_norm(x), F.layer_norm(x, (4,), w, w)), r(2, 6, 4, 4), r(4))
case("rms_norm", lambda x, w: (F.rms_norm(x, (4,), w), F.rms_norm(x, (3, 4), None, 1e-3), *torch.ops.aten._fused_rms_norm(x, (4,), w, 1e-5)), r(2, 3, 4), r(4))

case("index", lambda x, i: (x[i], x[:, i], x.index_select(1, i), x[i, i], x[:, i, i]), r(4, 4, 4), ints(4, 3))
case("masks", lambda x: (x[x > 0], torch.masked_select(x, x > 0), torch.nonzero(x > 0)), r(3, 4))
case("gather", lambda x, i: (x.gather(1, i), x.scatter(1, i, 5.0), x.scatter(1, i, x), torch.take_along_dim(x, i, 1)), r(3, 4), ints(4, 3, 2))
case("scatter_add", lambda x, i, s: x.scatter_add(0, i, s), r(4, 3), ints(4, 2, 3), r(2, 3))
case("index_put", lambda x, i, v: (x.index_put((i,), v), x.index_put((i,), v, accumulate=True)), r(5, 3), torch.tensor([0, 3]), r(2, 3))
case("one_hot", lambda i: F.one_hot(i, 5), ints(5, 4))


def writes(x):
    y = x.clone()
    y.mul_(2)
    y += 1
    return y.relu_()


case("writes", writes, r(3, 4))
case("creation", lambda x: (torch.zeros_like(x), torch.ones(2, 3), x.new_full((2,), 4.0), torch.arange(5) * 2, torch.full_like(x, 2)), r(2, 3))
case("dynamic_shapes", lambda x: (x.view(x.size(0), -1), x.reshape(x.shape[0] * x.shape[1], x.shape[2]), torch.zeros(x.shape[0], 3), torch.arange(x.shape[1]), x.mean(1)),
     r(2, 3, 4), dynamic=("x:0=b", "x:1=t"), runs=((r(5, 7, 4),),))




# Sizes beside a dynamic one, windows of any size, and writes to memory that has several names.
def mask_of_sizes(x):
    mask = torch.zeros(x.shape[2], x.shape[3])
    mask[:2, 1:] = 3
    mask[2:, :-2] += 1
    return x + mask, F.adaptive_avg_pool2d(x, (2, 3)), x.var((2, 3)), x.roll((1, -1), (2, 3))


def writes_to_views(x):
    y, table = x * 2, torch.zeros(4, 6)
    rows, t, row = y[:, 1:], y.transpose(2, 3), table[0]
    y[:, 0] = x.sum(1)
    t[:, :2, 1:] -= 3
    table[0] = x.sum((0, 1, 2))
    table[:, -1:] /= 4
    return y, rows, t, table + row


B1, B3 = r(1, 3, 4, 6), r(3, 3, 4, 6)
for name, f in {
    "mask_of_sizes": mask_of_sizes, "writes_to_views": writes_to_views,
    "resize_of_batches": lambda x: (F.interpolate(x, size=(8, 9), mode="bilinear"), F.interpolate(x, size=(8, 9)), F.interpolate(x, scale_factor=2.0)),
}.items():
    for opset in (17, 18):
        case(f"{name}_{opset}", f, r(2, 3, 4, 6), dynamic=("x:0=b",), runs=((B1,), (B3,)), opset=opset)
case("windows", lambda x: (x.unfold(2, 3, 2), x.unfold(3, 2, 3).unfold(2, 2, 1), F.unfold(x, (3, 2), (1, 2), (1, 0), (2, 1)), F.unfold(x, 2)),
     r(2, 3, 7, 8), dynamic=("x:0=b", "x:2=h", "x:3=w"), runs=((r(1, 3, 9, 11),), (r(3, 3, 6, 5),)))
case("as_strided", lambda x: torch.as_strided((x * 2).t(), (3, 2, 5), (2, 1, 3)), r(4, 5))


def loop_script(x: torch.Tensor, h: torch.Tensor):
    for i in range(x.size(0)):
        h = torch.tanh(x[i] + h * 0.5)
    return h


def branch_script(x: torch.Tensor):
    if bool(x.sum() > 0):
        y = x * 2
    else:
        y = x - 1
    return y


def while_script(x: torch.Tensor):
    n = 0
    while bool(x.sum() < 100.0):
        x = x * 2
        n += 1
    return x, torch.tensor(n)


def nested_script(x: torch.Tensor):
    total = torch.zeros([x.size(1)])
    for i in range(x.size(0)):
        row = x[i]
        if bool(row.sum() > 0):
            total = total + row
        else:
            total = total - row
    return total


def list_script(x: torch.Tensor, h: torch.Tensor):
    outputs: List[torch.Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(x[i] + h * 0.5)
        outputs.append(h)
    return torch.stack(outputs), h


def lists_script(x: torch.Tensor):
    small: List[torch.Tensor] = []
    large = [x[0], x[0] + 1]
    positions: List[int] = [7]
    for i in range(x.size(0)):
        if bool(x[i].sum() < 0):
            small.append(x[i])
            positions.append(i)
        else:
            large.insert(1, x[i] - large[-1])
        for k in range(i):
            large.append(x[k] * 2)
        large[0] = large[0] + len(small)
    last = large.pop()
    small.append(last)
    return torch.cat(small), torch.stack(large, 1), torch.tensor(positions[-1])


def carried_script(x: torch.Tensor):
    states = [x[0]]
    i = 0
    while i < x.size(0) and len(states) < 6:
        states = states + [torch.stack(states).mean(0) + x[i]]
        i += 1
    return torch.cat(states)


case("list.script", list_script, r(3, 4), r(4), dynamic=("x:0=time",), runs=((r(17, 4), r(4)), (r(1, 4), r(4))))
case("lists.script", lists_script, r(4, 3), dynamic=("x:0=time",), runs=((r(9, 3),), (r(1, 3),)))
case("carried.script", carried_script, r(4, 3), dynamic=("x:0=time",), runs=((r(9, 3),), (r(2, 3),)))
case("carried_fixed.script", carried_script, r(4, 3), runs=((r(4, 3),),))
case("loop.script", loop_script, r(3, 4), r(4), dynamic=("x:0=time",), runs=((r(17, 4), r(4)), (r(1, 4), r(4))))
case("branch.script", branch_script, positive(3), runs=((-positive(3),),))
case("while.script", while_script, positive(3), runs=((positive(3) * 9,),))
case("nested.script", nested_script, r(4, 3), dynamic=("x:0=rows",), runs=((r(9, 3),),))


# Numbers and bools that data decides, in branches and loops.
def decided_script(x):
    n = 2
    scale = 0.5
    if bool(x.sum() > 0) and not bool(x.max() > 5):
        n = x.size(0)
        scale = 3.0
    for i in range(x.size(0)):
        scale = scale * 0.5 + i
    done = False
    while not done:
        x = x + 1
        done = bool(x.sum() > 20)
    return x * scale + torch.ones([n]).sum(), torch.zeros([n, 2])


case("decided.script", decided_script, r(3).abs(), dynamic=("x:0=n",), runs=((torch.full((4,), -1.0),), (torch.full((2,), 9.0),)))


# Writes to tensors of outside, and early returns, by the bodies of functions of x.
SCRIPTS = {
    "branch_writes": '''
    y = x * 2
    v = y[:, 1:]
    if bool(x.sum() > 0):
        v[0] = 9
        v += 1
        y[-1] += v[0, 0] * 2
    else:
        y.zero_()
    return y, v''',
    "nested_writes": '''
    y = torch.zeros(x.size(0), 3)
    for i in range(x.size(0)):
        for j in range(3):
            if bool(x[i, j] > 0):
                y[i, j] = x[i, j] * 2
            else:
                y[i] += 1
    y[0] = 5
    return y''',
    "sums": '''
    s = torch.zeros(3)
    t = s
    for i in range(x.size(0)):
        for j in range(2):
            s += x[i] * j
    s /= 2
    return s, t''',
    "swaps": '''
    a = torch.zeros(3)
    b = torch.ones(3)
    for i in range(x.size(0)):
        a += x[i]
        a, b = b, a
    return a, b''',
    "while_writes": '''
    y = x.clone()
    n = 0
    while n < x.size(0) and bool(y.sum() < 50):
        y[n, 1:] += 10
        y.mul_(1.5)
        n += 1
    return y, torch.tensor(n)''',
    "writes_of_input": '''
    v = x[0]
    if bool(x.sum() > 0):
        v[0] = 1
    for i in range(x.size(0)):
        x[i] *= i
    return x * 2''',
    "decoding": '''
    out = torch.zeros(5, dtype=torch.long)
    last = 0
    for t in range(5):
        last = int(x[last % x.size(0)].argmax()) + t
        out[t] = last
    return out''',
    "early": '''
    if bool(x.sum() > 1):
        return x * 2, 1
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0.3):
            return x[i:] + 1, i
    return x, -1''',
    "early_nested": '''
    for i in range(x.size(0)):
        for j in range(3):
            if bool(x[i, j] > 0.7):
                return x[i] * j
    return x[0] - 1''',
    "early_while": '''
    n = 0
    while True:
        x = x * 2
        n += 1
        if bool(x.abs().sum() > 100):
            return x, n
        if n > 4:
            break
    return x + 1, n''',
}
for name, body in SCRIPTS.items():
    scope = {"torch": torch}
    exec(f"def {name}(x: torch.Tensor):{body}\n", scope)
    scope[name].text = f"def {name}(x: torch.Tensor):{body}\n"
    x = r(4, 3)
    case(name + ".script", scope[name], x, dynamic=("x:0=rows",), runs=((-x,), (x.abs(),), (-x.abs(),), (r(7, 3),), (r(1, 3),)))
    if name not in ("decoding", "while_writes"):
        REFUSED[name + ".script"] = "cannot write"


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = getattr(nn, kind)(6, 5, **options)

    def forward(self, x):
        out, state = self.rnn(x)
        return (out, *state) if isinstance(state, tuple) else (out, state)


for kind in "LSTM GRU RNN".split():
    case(kind, Recurrent(kind, num_layers=2), r(4, 3, 6), dynamic=("x:0=time", "x:1=batch"), runs=((r(9, 1, 6),),))
    case(kind + "_both", Recurrent(kind, bidirectional=True, batch_first=True), r(3, 4, 6))
for name, options in {"": {}, "_layers": dict(bidirectional=True, num_layers=2), "_plain": dict(bias=False)}.items():
    case("LSTM_projected" + name, Recurrent("LSTM", proj_size=3, **options), r(4, 3, 6), dynamic=("x:0=time", "x:1=batch"), runs=((r(9, 1, 6),),))


class Packed(nn.Module):
    def __init__(self, kind, batch_first=False, enforce_sorted=False, padding: float = 0.0, total: Optional[int] = None, **options):
        super().__init__()
        self.rnn = getattr(nn, kind)(6, 5, batch_first=batch_first, **options)
        self.batch_first, self.enforce_sorted, self.padding, self.total = batch_first, enforce_sorted, padding, total

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, self.batch_first, self.enforce_sorted)
        out, state = self.rnn(packed)
        y, n = pad_packed_sequence(out, self.batch_first, self.padding, self.total)
        return y, n, state


class PackedStates(Packed):
    def forward(self, x, lengths, h, c):
        out, state = self.rnn(pack_padded_sequence(x, lengths, self.batch_first, self.enforce_sorted), (h, c))
        return out.data, out.batch_sizes, state


class PackedElements(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.first, self.second = nn.Linear(6, 7), nn.GRU(7, 5, bidirectional=True), nn.LSTM(10, 4)

    def forward(self, x, lengths):
        p = pack_padded_sequence(x, lengths, enforce_sorted=False)
        y, h = self.first(PackedSequence(torch.relu(self.linear(p.data)), p.batch_sizes, p.sorted_indices, p.unsorted_indices))
        y, state = self.second(y)
        out, n = pad_packed_sequence(y)
        return y.data, out, n, h, state


LENGTHS = torch.tensor([2, 4, 1]), torch.tensor([5, 1, 6, 6])
for suffix in ("", ".script"):
    for kind in "LSTM GRU RNN".split():
        for name, options in {"": {}, "_layers": dict(bidirectional=True, num_layers=2, dropout=0.5), "_plain": dict(bias=False),
                              "_longer": dict(padding=-2.0, total=7), "_sorted": dict(enforce_sorted=True), "_first": dict(batch_first=True)}.items():
            axes = ("x:0=b", "x:1=t", "lengths:0=b") if name == "_first" else ("x:0=t", "x:1=b", "lengths:0=b")
            given = [(t, n.sort(descending=True).values if name == "_sorted" else n) for t, n in zip((r(4, 3, 6), r(6, 4, 6)), LENGTHS)]
            if name == "_first":
                given = [(t.transpose(0, 1).contiguous(), n) for t, n in given]
            case(f"{kind}_packed{name}{suffix}", Packed(kind, **options), *given[0], dynamic=axes, runs=(given[1],))
    case("RNN_packed_relu" + suffix, Packed("RNN", nonlinearity="relu"), r(4, 3, 6), LENGTHS[0], opset=13)
    case("LSTM_packed_projected" + suffix, Packed("LSTM", proj_size=3, bidirectional=True), r(4, 3, 6), LENGTHS[0], opset=22)
    case("LSTM_packed_states" + suffix, PackedStates("LSTM", num_layers=2), r(4, 3, 6), LENGTHS[0], r(2, 3, 5), r(2, 3, 5))
    case("packed_elements" + suffix, PackedElements(), r(4, 3, 6), LENGTHS[0], dynamic=("x:0=t", "x:1=b", "lengths:0=b"), runs=((r(6, 4, 6), LENGTHS[1]),))


# Operators without a rule of their own: by what they are made of or decompose into.
M, P, LABELS = r(4, 6), torch.rand(4, 6) * 0.8 + 0.1, ints(6, 4)
for name, f in {
    "cross_entropy": lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, label_smoothing=0.1, reduction="sum")),
    "nll_loss": lambda x, t: (F.nll_loss(x.log_softmax(1), t), F.nll_loss(x.log_softmax(1), t, reduction="none")),
    "repeat_interleave": lambda x, t: (x.repeat_interleave(2, 1), x.repeat_interleave(3)),
    "embedding_bag": lambda x, t: (F.embedding_bag(t.view(2, 2), x.t(), mode="sum"), F.embedding_bag(t.view(2, 2), x.t(), mode="mean")),
    "diagonals": lambda x, t: (x.diagonal(), x[:, :4].trace(), torch.diag(x[0]), torch.diag_embed(x)),
    "products": lambda x, t: (torch.outer(x[0], x[1]), torch.kron(x[:2], x[2:]), torch.tensordot(x, x, ([1], [1])), torch.addr(x, x[:, 0], x[0])),
    "distances": lambda x, t: (torch.cdist(x, x[:2]), F.cosine_similarity(x, x.flip(0)), F.pairwise_distance(x, x.flip(0)), torch.dist(x, x.flip(0))),
    "counts": lambda x, t: (torch.count_nonzero(x > 0, 1), torch.isclose(x, x + 1e-9), torch.nansum(x, 1)),
    "order": lambda x, t: (x.median(1).values, x.kthvalue(2, 1).values, x.msort()),
    "index_writes": lambda x, t: (x.index_add(0, t[:2] % 4, x[:2]), x.index_fill(1, t[:2], 2.0), x.index_copy(0, torch.tensor([1, 0]), x[:2])),
    "scatter_reduce": lambda x, t: x.scatter_reduce(1, t.unsqueeze(1), x[:, :1], "amax"),
    "statistics": lambda x, t: (torch.cov(x), torch.corrcoef(x), x.std(1, correction=2), torch.var_mean(x, 1)),
    "rotations": lambda x, t: (torch.rot90(x), x.fliplr(), x.flipud(), x.unfold(1, 3, 2)),
    "blocks": lambda x, t: (torch.block_diag(x, x), torch.cartesian_prod(x[0], x[1]), torch.meshgrid(x[0], x[1], indexing="ij"), torch.combinations(x[0])),
    "searches": lambda x, t: (torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), torch.isin(t, torch.tensor([1, 2]))),
}.items():
    case("parts_" + name, f, M, LABELS, opset=18)
for name, f in {
    "mse_loss": lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.3)),
    "binary_cross_entropy": lambda x, y: (F.binary_cross_entropy(y, y.flip(0)), F.binary_cross_entropy_with_logits(x, y), F.soft_margin_loss(x, y.sign())),
    "kl_div": lambda x, y: (F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), F.poisson_nll_loss(x, y), F.gaussian_nll_loss(x, y, y)),
    "margins": lambda x, y: (F.margin_ranking_loss(x, y, torch.ones(4, 6)), F.hinge_embedding_loss(x, y.sign()), F.triplet_margin_loss(x, y, x + y)),
    "logs": lambda x, y: (torch.logaddexp(x, y), torch.logaddexp2(x, y), torch.logit(y), torch.logcumsumexp(y, 1)),
    "functions": lambda x, y: (torch.hypot(x, y), torch.xlogy(x, y), torch.erfc(x), torch.sinc(x), torch.special.entr(y), torch.rad2deg(x)),
    "choices": lambda x, y: (torch.fmax(x, y), torch.fmin(x, y), torch.heaviside(x, y), torch.nan_to_num(x / 0), torch.div(x, y, rounding_mode="trunc")),
    "shrinks": lambda x, y: (F.rrelu(x), F.softmin(x, 1), F.logsigmoid(x), torch.renorm(x, 2, 0, 1.0)),
}.items():
    case("parts_" + name, f, M, P, opset=18)
case("parts_images", lambda x: (F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2), F.local_response_norm(x, 2), F.unfold(x, 2), F.lp_pool2d(x, 2, 2)), r(1, 4, 6, 6), opset=18)
case("parts_fold", lambda x: F.fold(x, (4, 5), (2, 2)), r(1, 8, 12), opset=18)
case("parts_adaptive", lambda x: (F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, (4, 3))), r(1, 2, 7, 8), opset=18)
case("parts_affine_grid", lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False), r(2, 2, 3), opset=18)
case("parts_cells", lambda x, h, w, v: (torch.gru_cell(x, h, w[:9], v[:9]), torch.rnn_tanh_cell(x, h, w[:3], v[:3]), torch.lstm_cell(x, [h, h], w, v)),
     r(2, 4), r(2, 3), r(12, 4), r(12, 3), opset=18)
R = torch.view_as_real
case("fourier", lambda x: (R(torch.fft.fft(x, dim=1)), R(torch.fft.rfft(x, n=9, norm="ortho")), torch.fft.irfft(torch.fft.rfft(x), n=5),
                           R(torch.fft.ifft2(x)), torch.fft.irfft2(torch.fft.rfft2(x)), torch.fft.fft(x).abs()), r(3, 8, 6), dynamic=("x:0=b",), runs=((r(5, 8, 6),),))
case("fourier20", lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1), dim=1), r(3, 8, 6), opset=20)
case("stft", lambda x: (torch.stft(x, 16, window=torch.hann_window(16), return_complex=True).abs(), R(torch.stft(x, 16, 5, 10, center=False, normalized=True, return_complex=True))),
     r(2, 64), dynamic=("x:0=b",), runs=((r(3, 64),),))
case("istft", lambda x: (torch.istft(torch.stft(x, 16, window=torch.hann_window(16), return_complex=True), 16, window=torch.hann_window(16)),
                         torch.istft(torch.stft(x, 16, onesided=False, normalized=True, return_complex=True), 16, onesided=False, normalized=True, length=50)),
     r(2, 64), dynamic=("x:0=b",), runs=((r(3, 64),),))
case("complex", lambda x, y: (R(torch.view_as_complex(x) * torch.polar(y, y)), torch.complex(y, y + 1).angle(), R(torch.complex(y, y) / (y + 2j))), r(3, 4, 2), r(3, 4))
case("sizes_by_data", lambda x: (x[torch.where(x > 0)[0]], torch.bincount((x + 2).abs().long(), x, 6), torch.bincount((x + 2).abs().long()), F.one_hot((x + 2).abs().long()),
                                 torch.repeat_interleave(torch.stack([x, x]), (x + 2).abs().long(), 1), torch.repeat_interleave(torch.stack([x, -x], 1), 3, 0), torch.repeat_interleave(x, 2)),
     r(6), runs=((r(6),), (r(6),)))
case("parts_of_any_size", lambda x: [t * 2 for t in (*torch.chunk(x, 3, 1), *torch.tensor_split(x, 2, 1), *torch.tensor_split(x, (2, 3), 1))],
     r(2, 7, 3), dynamic=("x:1=n",), runs=((r(2, 9, 3),), (r(2, 8, 3),)))


def parts_script(x: torch.Tensor):
    total = torch.zeros([2, 3])
    for part in torch.split(x, 2, 1):
        total = total * 0.5 + part.sum(1)
    return total, torch.cat(torch.chunk(x, 2, 1), 2)


case("parts.script", parts_script, r(2, 6, 3), dynamic=("x:1=n",), runs=((r(2, 8, 3),), (r(2, 4, 3),)))
case("opset19", lambda x: (F.avg_pool2d(x, 3, 1), F.interpolate(x, scale_factor=2.0), x.mean(1)), r(1, 2, 6, 6), opset=19)
case("opset20", lambda x, g: (F.grid_sample(x, g, align_corners=False), F.gelu(x), torch.isinf(x), x.amax(1)), r(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 2 - 1, opset=20)
case("opset21", lambda x: (F.pad(x, (1, 1)), F.group_norm(x, 2), x.reshape(-1), x.unsqueeze(0)), r(2, 4, 3), opset=21)
case("opset22", lambda x: (F.max_pool2d(x, 2), F.conv2d(x, torch.ones(3, 2, 2, 2)), x.round(), F.hardswish(x)), r(1, 2, 6, 6), opset=22)


for name, f in {
    "cumulative": lambda x: (x.cumprod(0), x.cumprod(1), *x.cummax(0), *x.cummin(-1)),
    "diagonals_of_any_size": lambda x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1, 0, 2), x.as_strided((x.shape[0], 3), (12, 2), 1)),
    "tensordot": lambda x: (torch.tensordot(x, x, ([1, 2], [1, 2])), torch.tensordot(x, x, ([0], [0]))),
}.items():
    case(name, f, r(5, 3, 4), dynamic=("x:0=n",), runs=((r(7, 3, 4),), (r(2, 3, 4),)))
case("cumulative13", lambda x: (x.cumprod(1), *x.cummax(0)), r(3, 4), opset=13)
case("gcd", lambda x, y: (torch.gcd(x, y), torch.lcm(x, y)), ints(90, 9) - 30, ints(40, 9))
case("unique_consecutive", lambda x: (*torch.unique_consecutive(x, return_inverse=True, return_counts=True), torch.unique_consecutive(x.unsqueeze(1) + torch.zeros(1, 2).long(), dim=0)),
     torch.tensor([1, 1, 1, 1, 2, 1]), dynamic=("x:0=n",), runs=((torch.tensor([4, 4]),), (ints(2, 10),)))
case("polynomials", lambda x, y: (torch.special.i0(x), torch.special.i0e(x), torch.special.i1(x), torch.special.i1e(x), torch.erfinv(y)), r(60) * 10, torch.rand(60) * 1.98 - 0.99)
case("power_of_number", lambda x: (2 ** x, x ** 2, torch.pow(3, x.to(torch.uint8)), x ** x), ints(5, 6))


class Outputs(NamedTuple):
    logits: torch.Tensor
    auxiliary: Optional[torch.Tensor]


class WithAuxiliary(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        y = self.linear(x)
        return Outputs(y, y * 2 if self.training else None)


case("named_tuple.script", WithAuxiliary(), r(2, 4), dynamic=("x:0=n",), runs=((r(5, 4),),))


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.rnn, self.out = nn.Embedding(30, 16), nn.LSTM(16, 16, 2), nn.Linear(16, 30)

    def forward(self, x):
        return self.out(self.rnn(self.embedding(x))[0])


class Upscaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 8, 5, padding=2), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        return F.pixel_shuffle(self.b(torch.relu(self.a(x))), 2)


def generator():
    return nn.Sequential(nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh())


case("language_model", LanguageModel(), ints(30, 5, 2))
case("super_resolution", Upscaler(), r(1, 1, 9, 9), dynamic=("x:0=n",), runs=((r(3, 1, 9, 9),),))
case("dcgan", generator(), r(2, 8, 1, 1))
case("transformer", nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), r(2, 5, 16))


def torchvision_models():
    import torchvision.models as tv
    for name, size in dict(alexnet=64, vgg11=32, resnet18=64, densenet121=32, squeezenet1_0=64, mobilenet_v3_small=64,
                           inception_v3=96, efficientnet_b0=64, vit_b_16=224, convnext_tiny=64, shufflenet_v2_x0_5=64).items():
        options = {"init_weights": False} if name == "inception_v3" else {}
        case("tv:" + name, lambda name=name, options=options: getattr(tv, name)(weights=None, **options), r(1, 3, size, size),
             dynamic=("x:0=batch",), runs=((r(3, 3, size, size),),))


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [t for v in value if v is not None for t in flat(v)]
    return [value]


def make_program(name, f, inputs):
    if name.endswith(".script") and isinstance(f, nn.Module):
        return f.eval(), torch.jit.script(f)
    if name.endswith(".script"):
        unit = type("Script_" + f.__name__, (torch.jit.ScriptModule,), {})()
        source = "\n".join("    " + line for line in (getattr(f, "text", None) or inspect.getsource(f)).splitlines())
        unit.define(source.replace("    def " + f.__name__ + "(", "def forward(self, ", 1).replace("\n    ", "\n") + "\n")
        return f, unit
    module = f if isinstance(f, nn.Module) else Function(f)
    module.eval()
    with torch.no_grad():
        return module, torch.jit.trace(module, inputs, check_trace=False)


def convert(tenon, stem, extension, *options):
    command = [tenon, "convert", stem + ".pt", stem + extension, "--inputs", stem + ".safetensors", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return (done.stdout + done.stderr).strip() if done.returncode != 0 else ""


# Inputs have the program's names.
def dynamic_options(program, dynamic):
    names = [a.name for a in program.forward.schema.arguments][1:]
    options = []
    for axis in dynamic:
        head, rest = axis.split(":", 1)
        options += ["--dynamic", {"x": names[0]}.get(head, head) + ":" + rest]
    return options


# The model as a function of tensors, or what is wrong with it.
def session_of(tenon, stem, program, dynamic, opset):
    problem = convert(tenon, stem, ".onnx", "--opset", str(opset), *dynamic_options(program, dynamic))
    if problem:
        return problem
    onnx.checker.check_model(stem + ".onnx", full_check=True)
    session = onnxruntime.InferenceSession(stem + ".onnx", providers=["CPUExecutionProvider"])
    return lambda *given: session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), given)})


def program_of(tenon, stem, program, dynamic):
    problem = convert(tenon, stem, ".pt2", *dynamic_options(program, dynamic))
    if problem:
        return problem
    module = torch.export.load(stem + ".pt2").module()
    return lambda *given: [t.detach().numpy() if isinstance(t, torch.Tensor) else np.array(t) for t in flat(module(*given))]


def run_case(tenon, folder, name):
    f, inputs, dynamic, runs, opset = CASES[name]
    if name.startswith("tv:"):
        f = f()
    stem = os.path.join(folder, name.replace(":", "_"))
    function, program = make_program(name, f, inputs)
    program.save(stem + ".pt")
    save_file({f"in.{i}": x.contiguous() for i, x in enumerate(inputs)}, stem + ".safetensors")
    if PROGRAM:
        run = program_of(tenon, stem, program, dynamic)
    else:
        run = session_of(tenon, stem, program, dynamic, opset)
    if isinstance(run, str):
        return run
    for given in (inputs, *runs):
        with torch.no_grad():
            expected = flat(function(*[x.clone() for x in given]))
        got = run(*[x.clone() for x in given])
        if len(got) != len(expected):
            return f"{len(got)} results instead of {len(expected)}"
        for k, (a, b) in enumerate(zip(got, expected)):
            b = b.detach().numpy() if isinstance(b, torch.Tensor) else np.array(b)
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"result {k}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
            a, b = a.astype(np.float64), b.astype(np.float64)
            off = np.where(np.isnan(a) & np.isnan(b), 0, np.abs(a - b)).max() if a.size else 0
            if not off <= 1e-4 * max(1, np.abs(b).max() if b.size else 1):
                return f"result {k} is off by {off}"
    return ""


def main():
    tenon, folder, *wanted = [a for a in sys.argv[1:] if a != "--program"]
    os.makedirs(folder, exist_ok=True)
    torchvision_models()
    names = [n for n in CASES if not wanted or any(w in n for w in wanted)]
    failed = 0
    for at, name in enumerate(names):
        print(f"\r{at + 1}/{len(names)} {name:30}", end="", file=sys.stderr, flush=True)
        try:
            problem = run_case(tenon, folder, name)
            if PROGRAM and name in REFUSED:
                problem = "" if REFUSED[name] in problem else f"expected a refusal, {REFUSED[name]}: {problem}"
        except Exception as e:  # of torch, of the checker or of the runtime
            problem = f"{type(e).__name__}: {e}"
        if problem:
            failed += 1
            print(f"\r{name}: {problem[:600]}")
    print(file=sys.stderr)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
