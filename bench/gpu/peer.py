# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The rows of main.cpp with torch, where it is installed and finds a device.
import random
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print('no torch')
    sys.exit(0)
if not torch.cuda.is_available():
    print('no device')
    sys.exit(0)


def show(id, row, value, unit):
    print(f'{id}\t{row}\t{value:.4g}\t{unit}', flush=True)


def device_ms(times, run):
    run()
    took = []
    for _ in range(5):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(times):
            run()
        b.record()
        b.synchronize()
        took.append(a.elapsed_time(b) / times)
    return sorted(took)[2]


def host_us(times, run):
    for _ in range(100):
        run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(times):
        run()
    took = time.perf_counter() - begin
    torch.cuda.synchronize()
    return took / times * 1e6


def on(*sizes, dtype=torch.float32):
    return torch.rand(sizes, device='cuda').to(dtype)


if '--first' in sys.argv:
    begin = time.perf_counter()
    x = torch.ones(1, device='cuda')
    x.add(x)
    torch.cuda.synchronize()
    show('G10', 'first op of a process', (time.perf_counter() - begin) * 1e3, 'ms')
    sys.exit(0)

a, b = torch.ones(1, device='cuda'), torch.ones(1, device='cuda')
show('G1', 'add of 1 element, host', host_us(10000, lambda: a.add(b)), 'us')
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = a
    for _ in range(100):
        y = y.add(a)
graph.replay()
torch.cuda.synchronize()
begin = time.perf_counter()
for _ in range(200):
    graph.replay()
torch.cuda.synchronize()
show('G2', 'replay of 100 captured ops', (time.perf_counter() - begin) / 200 * 1e6, 'us')

gib = 1 << 30
a, b = torch.ones(gib // 12, device='cuda'), torch.ones(gib // 12, device='cuda')
out = torch.empty_like(a)
show('G3', 'add, 1 GiB moved', gib * 1e-6 / device_ms(20, lambda: torch.add(a, b, out=out)), 'GB/s')
show('G3', 'five ops in turn', device_ms(20, lambda: a.mul(b).add(a).sub(b).relu().mul(0.5)), 'ms')
for dtype, name in ((torch.float16, 'Half'), (torch.bfloat16, 'BFloat16')):
    c, d = a.to(dtype), b.to(dtype)
    to = torch.empty_like(c)
    show('G3', f'add of {name}, 0.5 GiB moved', gib * 0.5e-6 / device_ms(20, lambda: torch.add(c, d, out=to)), 'GB/s')


def five(x, y):
    return x.mul(y).add(x).sub(y).relu().mul(0.5)


try:
    fused = torch.compile(five)
    fused(a, b)
    show('G3', 'five ops compiled', device_ms(20, lambda: fused(a, b)), 'ms')
    x, y = torch.ones(2, device='cuda'), torch.ones(2, device='cuda')
    show('G1', 'five ops compiled, host', host_us(1000, lambda: fused(x, y)), 'us')
except Exception as e:
    print('torch.compile failed:', str(e).split('\n')[0])
x, w, z = on(8192, 8192), torch.ones(8192, device='cuda'), torch.zeros(8192, device='cuda')
once = 8192 * 8192 * 4e-6
show('G4', 'sum over rows, 8192^2', once / device_ms(20, lambda: x.sum(1)), 'GB/s')
show('G4', 'sum of all, 8192^2', once / device_ms(20, lambda: x.sum()), 'GB/s')
show('G4', 'softmax, 8192^2', 2 * once / device_ms(20, lambda: x.softmax(1)), 'GB/s')
show('G4', 'layer_norm, 8192^2', 2 * once / device_ms(20, lambda: F.layer_norm(x, (8192,), w, z)), 'GB/s')
table, index = on(100000, 256), (torch.arange(200000) * 7919 % 100000).cuda()
show('G9', '200,000 checked rows of 256', device_ms(20, lambda: table.index_select(0, index)), 'ms')

n = 1 << 20
at = torch.stack([torch.arange(16 * n, device='cuda') // 16, torch.randint(n, (16 * n,), device='cuda')])
sparse = torch.sparse_coo_tensor(at, on(16 * n), (n, n), check_invariants=False, is_coalesced=True)
x = on(n, 64)
show('G8', 'sparse 2^20 rows of 16 x 64', device_ms(5, lambda: torch.sparse.mm(sparse, x)), 'ms')
at = torch.stack([torch.randint(n, (4 * n,), device='cuda'), torch.randint(4, (4 * n,), device='cuda')])
sparse = torch.sparse_coo_tensor(at, on(4 * n), (n, 4), check_invariants=False)
show('G8', 'coalesce of 2^22', device_ms(5, sparse.coalesce), 'ms')
del at, sparse

for n in (10000, 1 << 20):
    params = [on(n).requires_grad_() for _ in range(50)]
    for p in params:
        p.grad = on(n)
    ms = device_ms(20, torch.optim.Adam(params, lr=1e-3, fused=True).step)
    if n < 1 << 20:
        show('G12', f'step of Adam, 50 x {n}', ms, 'ms')
    else:
        show('G12', f'step of Adam, 50 x {n}', 7e-6 * 4 * 50 * n / ms, 'GB/s')

for dtype in (torch.bfloat16, torch.float16, torch.float32):
    name = str(dtype).split('.')[1]
    for text, batch, m, k, n in (('8192^3', 1, 8192, 8192, 8192), ('64 x 1024^3', 64, 1024, 1024, 1024),
                                 ('8192^2 x 16', 1, 8192, 8192, 16)):
        a, b = on(batch, m, k, dtype=dtype), on(batch, k, n, dtype=dtype)
        ms = device_ms(5, (lambda: torch.mm(a[0], b[0])) if batch == 1 else (lambda: torch.bmm(a, b)))
        show('G5', f'matmul {name} {text}', 2e-9 * batch * m * k * n / ms, 'TFLOP/s')
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.allow_tf32 = False
for text, channels, side, kernel in (('64 x 56^2, 3x3', 64, 56, 3), ('256 x 14^2, 3x3', 256, 14, 3),
                                     ('512 x 7^2, 1x1', 512, 7, 1)):
    x = on(64, channels, side, side).requires_grad_()
    w = on(channels, channels, kernel, kernel).requires_grad_()
    grad = on(64, channels, side, side)

    def step():
        x.grad = w.grad = None
        F.conv2d(x, w, padding=kernel // 2).backward(grad)

    show('G6', f'conv forward and backward, {text}', device_ms(3, step), 'ms')

random.seed(7)
alive = [None] * 64
sizes = [(random.randrange(64), 1 + random.randrange(4 << 20)) for _ in range(120000)]
for at, n in sizes[:20000]:
    alive[at] = torch.empty(n, dtype=torch.uint8, device='cuda')
begin = time.perf_counter()
for at, n in sizes[20000:]:
    alive[at] = torch.empty(n, dtype=torch.uint8, device='cuda')
show('G7', 'empty and free, random sizes', (time.perf_counter() - begin) / 200000 * 1e6, 'us')
