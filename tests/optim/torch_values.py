# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes torch_values.h: 1001 steps of torch's LBFGS and SparseAdam, in double.

  python tests/optim/torch_values.py > tests/optim/torch_values.h

LBFGS divides by differences of gradients, and on most functions a change of the start by 1e-13 is
1e-3 after a thousand steps. On `quartic` it stays 4e-13, and in `valley`, where every start is
followed for seven steps, 1e-9.

Python's line search has the evaluations that max_eval leaves, libtorch's and Tenon's has 25: with
MAX_EVAL they are the same.
"""
import subprocess
import sys

import torch

STEPS = 1001
MAX_EVAL = 1000
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def kept(step):
    return step % 50 == 1


def lbfgs_step(optimizer, x, loss_of):
    def closure():
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        return loss
    loss = optimizer.step(closure).item()
    state = optimizer.state[x]
    return [loss, *x.tolist(), state["func_evals"], state["n_iter"]]


def quartic(moved=0, **options):
    a = (torch.arange(48.) * 1.3).sin().reshape(12, 4)
    b = torch.arange(12.).cos()
    x = torch.nn.Parameter(torch.tensor([1.5, -1., 0.8, -2.]) + moved)
    optimizer = torch.optim.LBFGS([x], max_iter=1, history_size=3, max_eval=MAX_EVAL, **options)
    rows = {}
    for step in range(1, STEPS + 1):
        row = lbfgs_step(optimizer, x, lambda x: (a @ x - b).pow(4).sum())
        if kept(step):
            rows[step] = row
    return rows


def valley(moved=0):
    def rosenbrock(x):
        head, tail = x[:-1], x[1:]
        return ((tail - head * head).pow(2) * 100 + (1 - head).pow(2)).sum()
    rows = {}
    for step in range(1, STEPS + 1):
        if step % 7 == 1:
            x = torch.nn.Parameter((torch.arange(1., 4) * step).sin() * 2 + moved)
            optimizer = torch.optim.LBFGS([x], max_iter=4, history_size=3, max_eval=MAX_EVAL,
                                          line_search_fn="strong_wolfe")
        row = lbfgs_step(optimizer, x, rosenbrock)
        if kept(step):
            rows[step] = row
    return rows


def sparse_adam(moved=0):
    w = torch.nn.Parameter(torch.linspace(-1, 1, 12).reshape(6, 2) + moved)
    optimizer = torch.optim.SparseAdam([w], lr=0.05, betas=(0.8, 0.95), eps=1e-6)
    rows = {}
    for step in range(1, STEPS + 1):
        at = torch.tensor([step % 6, (2 * step + 1) % 6, step % 6])
        values = (w.detach().index_select(0, at) * 2 + step).sin()
        w.grad = torch.sparse_coo_tensor(at[None], values, (6, 2), check_invariants=True)
        optimizer.step()
        if kept(step):
            rows[step] = w.detach().flatten().tolist()
    return rows


def sensitivity(f):
    one, other = f(), f(moved=1e-13)
    return max(abs(a - b) for step in one for a, b in zip(one[step], other[step]))


def main():
    tables = {
        "kFixedLength": lambda **moved: quartic(lr=0.005, **moved),
        "kLineSearch": lambda **moved: quartic(lr=0.02, line_search_fn="strong_wolfe", **moved),
        "kValley": valley,
        "kSparseAdam": sparse_adam,
    }
    text = f"""// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Written by torch_values.py with torch {torch.__version__.split("+")[0]}.
#pragma once

#include <map>
#include <vector>

namespace tenon::test::torch_values {{

using Rows = std::map<int, std::vector<double>>;  // by the step after which they are

"""
    for name, f in tables.items():
        print(name, sensitivity(f), file=sys.stderr)
        rows = ",\n".join(f"{{{k}, {{{', '.join(repr(v) for v in row)}}}}}"
                          for k, row in f().items())
        text += f"inline const Rows {name} = {{\n{rows}}};\n\n"
    text += "}  // namespace tenon::test::torch_values\n"
    print(subprocess.run(["clang-format", "--assume-filename=tests/optim/torch_values.h"],
                         input=text, capture_output=True, check=True, text=True).stdout, end="")


if __name__ == "__main__":
    main()
