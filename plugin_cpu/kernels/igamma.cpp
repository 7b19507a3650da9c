// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The incomplete gamma functions, computed in double. Overwritten: the output, which may be the first operand.
#include "tenon/sdk/special.h"

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/igamma.h"
#include "tenon/sdk/ops/igammac.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

template <bool upper>
tn_status gamma(Call&, Tensor out, Tensor self, Tensor other) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T *a = self.data<T>(), *x = other.data<T>();
    T* to = out.data<T>();
    const double epsilon = std::is_same_v<T, double> ? 1e-16 : 1e-10;
    parallel_for(out.numel(), 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double v = math::incomplete_gamma(static_cast<double>(a[i]), static_cast<double>(x[i]), upper, epsilon);
        to[i] = static_cast<T>(static_cast<compute_t<T>>(v));
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(igamma, gamma<false>, dtypes("floating").inplace("0=0,0=1"));
TN_KERNEL(igammac, gamma<true>, dtypes("floating").inplace("0=0,0=1"));

}  // namespace tenon::cpu
