// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Mantissas and exponents of two. Overwritten: both outputs.
#include <cmath>

#include "plugin_cpu/elements.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/frexp.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status frexp(Call&, Tensor mantissa, Tensor exponent, Tensor self) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = mantissa.data<T>();
    int32_t* power = exponent.data<int32_t>();
    parallel_for(self.numel(), kMoveGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int e = 0;
        to[i] = static_cast<T>(std::frexp(static_cast<compute_t<T>>(in[i]), &e));
        power[i] = e;
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(frexp_Tensor, frexp, dtypes("floating"));

}  // namespace tenon::cpu
