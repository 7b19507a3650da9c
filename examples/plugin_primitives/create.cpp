// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// arange and prim_philox: each element depends on its position alone.
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/arange.h"
#include "tenon/sdk/ops/prim_philox.h"
#include "tenon/sdk/philox.h"

namespace {

using namespace tenon::sdk;

tn_status arange(Call&, Tensor out, Scalar start, Scalar, Scalar step, std::optional<DType>,
                 std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    for (int64_t i = 0; i < out.numel(); ++i) {
      const C v = start.to<C>() + step.to<C>() * static_cast<C>(i);
      if constexpr (is_half_v<T>)
        out.data<T>()[i] = T(static_cast<float>(v));
      else
        out.data<T>()[i] = static_cast<T>(v);
    }
  });
  return TN_OK;
}

tn_status prim_philox(Call&, Tensor out, Ints, std::optional<DType>, std::optional<Layout>,
                      std::optional<Device>, std::optional<bool>, Generator g) {
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<int32_t>()[i] =
        static_cast<int32_t>(philox_word(g.seed(), g.offset(), static_cast<uint64_t>(i)));
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(arange_start_step, arange, dtypes("number"));
TN_KERNEL(prim_philox, prim_philox, dtypes("int32"));
