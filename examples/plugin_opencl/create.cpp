// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// arange and prim_philox: each element depends on its position alone.
#include "launch.h"
#include "tenon/sdk/ops/arange.h"
#include "tenon/sdk/ops/prim_philox.h"

namespace tenon::opencl {
namespace {

using namespace sdk;

tn_status arange(Call& call, Tensor out, Scalar start, Scalar, Scalar step, std::optional<DType>,
                 std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  return run_or_decline([&] {
    const View y(out);
    Grid g;
    make_grid(g, y, {&y});
    Launch launch(call, out.device().index, "move", "arange");
    launch.type('Y', y.dtype).arg(g).arg(y);
    if (!is_floating(y.dtype))
      launch.arg(start.to<int64_t>()).arg(step.to<int64_t>());
    else if (launch.gpu().doubles)
      launch.arg(start.to<double>()).arg(step.to<double>());
    else
      launch.arg(start.to<float>()).arg(step.to<float>());
    launch.run_items(g.n);
  });
}

tn_status prim_philox(Call& call, Tensor out, Ints, std::optional<DType>, std::optional<Layout>,
                      std::optional<Device>, std::optional<bool>, Generator generator) {
  return run_or_decline([&] {
    const View y(out);
    Grid g;
    make_grid(g, y, {&y});
    Launch(call, out.device().index, "move", "philox")
        .arg(g)
        .arg(y)
        .arg(generator.seed())
        .arg(generator.offset())
        .run_items((g.n + 3) / 4);
  });
}

}  // namespace

TN_KERNEL(arange_start_step, arange, dtypes("number"));
TN_KERNEL(prim_philox, prim_philox, dtypes("int32"));

}  // namespace tenon::opencl
