// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_reduce, prim_scan, gather, prim_scatter and prim_argsort: operators along a dimension.
#include <algorithm>

#include "launch.h"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/gather.h"
#include "tenon/sdk/ops/prim_argsort.h"
#include "tenon/sdk/ops/prim_reduce.h"
#include "tenon/sdk/ops/prim_scan.h"
#include "tenon/sdk/ops/prim_scatter.h"

namespace tenon::opencl {
namespace {

using namespace sdk;

// A work-group reduces a line of at least kLongLine elements, if there are at most kFewLines.
constexpr int64_t kLongLine = 512, kFewLines = 4096;

Grid grid_of(const View& shape, std::initializer_list<const View*> operands) {
  Grid g;
  if (!make_grid(g, shape, operands)) throw Declined{};
  return g;
}

tn_status prim_reduce(Call& call, Tensor out, Tensor self, int64_t d, int64_t code) {
  if (code > TN_REDUCE_ALL) return TN_DECLINED;
  return run_or_decline([&] {
    const int dim = wrap_dim(d, self.ndim());
    const View y(out), x(self), lines = x.without(dim);
    const Grid g = grid_of(y, {&y, &lines});
    const int64_t n = x.length(dim);
    const bool group =
        n >= kLongLine && g.n <= kFewLines && code != TN_REDUCE_ARGMAX && code != TN_REDUCE_ARGMIN;
    Launch launch(call, out.device().index, "reduce", group ? "reduce_group" : "reduce");
    launch.code(code)
        .type('X', x.dtype)
        .type('Y', y.dtype)
        .arg(g)
        .arg(y)
        .arg(x)
        .arg(n)
        .arg(x.step(dim));
    group ? launch.run_groups(g.n) : launch.run_items(g.n);
  });
}

tn_status prim_scan(Call& call, Tensor out, Tensor self, int64_t d, int64_t code) {
  if (code > TN_REDUCE_MIN) return TN_DECLINED;
  return run_or_decline([&] {
    const int dim = wrap_dim(d, self.ndim());
    const View y(out), x(self), to = y.without(dim), from = x.without(dim);
    const Grid g = grid_of(from, {&to, &from});
    Launch(call, out.device().index, "reduce", "scan")
        .code(code)
        .type('X', x.dtype)
        .type('Y', y.dtype)
        .arg(g)
        .arg(y)
        .arg(x)
        .arg(x.length(dim))
        .arg(x.step(dim))
        .arg(y.step(dim))
        .run_items(g.n);
  });
}

tn_status gather(Call& call, Tensor out, Tensor self, int64_t d, Tensor index, bool) {
  return run_or_decline([&] {
    const int dim = wrap_dim(d, self.ndim());
    const View y(out), x(self), i(index), lines = x.broadcast_along(dim, 1);
    const Grid g = grid_of(y, {&y, &i, &lines});
    if (g.n == 0) return;
    Launch(call, out.device().index, "index", "gather")
        .type('X', bits_of(x.dtype))
        .type('I', i.dtype)
        .arg(g)
        .arg(y)
        .arg(i)
        .arg(x)
        .arg(x.length(dim))
        .arg(x.step(dim))
        .report()
        .run_items(g.n);
  });
}

void launch_scatter(Call& call, int device, const View& y, int dim, const View& index,
                    const View& source, int64_t code) {
  const View to = y.broadcast_along(dim, 1), lines = index.without(dim), from = source.without(dim);
  const Grid g = grid_of(lines, {&to, &lines, &from});
  if (g.n == 0 || index.length(dim) == 0) return;
  Launch(call, device, "index", "scatter")
      .code(code)
      .type('X', y.dtype)
      .type('I', index.dtype)
      .arg(g)
      .arg(y)
      .arg(index)
      .arg(source)
      .arg(index.length(dim))
      .arg(y.length(dim))
      .arg(y.step(dim))
      .arg(index.step(dim))
      .arg(source.step(dim))
      .report()
      .run_items(g.n);
}

tn_status prim_scatter(Call& call, Tensor out, Tensor self, int64_t d, Tensor index, Tensor src,
                       int64_t code) {
  if (code > TN_SCATTER_MIN) return TN_DECLINED;
  return run_or_decline([&] {
    const int dim = wrap_dim(d, self.ndim()), device = out.device().index;
    const View y(out), x(self), i(index), s(src);
    if (code != TN_SCATTER_ADD || !is_floating(y.dtype) || y.dtype.bits != 16) {
      copy_view(call, device, y, x);
      return launch_scatter(call, device, y, dim, i, s, code);
    }
    // Sums of 16-bit floats accumulate in float32 and are rounded once.
    Scratch sums(gpu(device), 4 * static_cast<uint64_t>(out.numel())),
        terms(gpu(device), 4 * static_cast<uint64_t>(src.numel()));
    const View a = View::row_major(sums.memory, kFloat32, out.sizes()),
               b = View::row_major(terms.memory, kFloat32, src.sizes());
    copy_view(call, device, a, x);
    copy_view(call, device, b, s);
    launch_scatter(call, device, a, dim, i, b, code);
    copy_view(call, device, y, a);
  });
}

// A merge sort: passes over runs of 1, 2, 4, ... alternate between two buffers, and the last one
// writes the result.
tn_status prim_argsort(Call& call, Tensor out, Tensor self, bool descending) {
  return run_or_decline([&] {
    const int dim = std::max(0, self.ndim() - 1), device = out.device().index;
    const View y(out), x(self), lines = x.without(dim), to = y.without(dim);
    const int64_t n = x.length(dim);
    const Grid g = grid_of(lines, {&to, &lines});
    if (g.n * n == 0) return;
    Scratch other(gpu(device), 8 * static_cast<uint64_t>(g.n * n));
    int passes = 1;
    while (int64_t{1} << passes < n) ++passes;
    for (int pass = 0; pass < passes; ++pass) {
      const int64_t width = int64_t{1} << pass;
      const bool last = (passes - 1 - pass) % 2 == 0;
      Launch(call, device, "sort", "merge")
          .define("DESCENDING", descending ? "1" : "0")
          .type('X', x.dtype)
          .arg(g)
          .arg(x)
          .arg(x.step(dim))
          .arg(n)
          .arg(width)
          .arg(last ? other.memory : y.memory)
          .arg(last ? uint64_t{0} : y.base)
          .arg(last ? y.memory : other.memory)
          .arg(last ? y.base : uint64_t{0})
          .run_items(g.n * ((n + 2 * width - 1) / (2 * width)));
    }
  });
}

}  // namespace

TN_KERNEL(prim_reduce, prim_reduce, any_strides());
TN_KERNEL(prim_scan, prim_scan, any_strides());
TN_KERNEL(gather, gather, any_strides().mixed_dtypes());
TN_KERNEL(prim_scatter, prim_scatter, any_strides().mixed_dtypes());
TN_KERNEL(prim_argsort, prim_argsort, dtypes("all"));

}  // namespace tenon::opencl
