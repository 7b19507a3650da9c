// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// igamma, igammac, polygamma and frexp. Overwritten: the outputs, which may be operands but for
// frexp.
#include "tenon/sdk/special.h"

#include <cmath>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/frexp.h"
#include "tenon/sdk/ops/igamma.h"
#include "tenon/sdk/ops/igammac.h"
#include "tenon/sdk/ops/polygamma.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// The incomplete gamma functions, computed in double.
template <bool upper>
tn_status gamma(Call&, Tensor out, Tensor self, Tensor other) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T *a = self.data<T>(), *x = other.data<T>();
    T* to = out.data<T>();
    const double epsilon = std::is_same_v<T, double> ? 1e-16 : 1e-10;
    parallel_for(out.numel(), 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double v = math::incomplete_gamma(static_cast<double>(a[i]),
                                                static_cast<double>(x[i]), upper, epsilon);
        to[i] = static_cast<T>(static_cast<compute_t<T>>(v));
      }
    });
  });
  return TN_OK;
}

// The derivatives of digamma.
tn_status polygamma(Call&, Tensor out, int64_t n, Tensor self) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = out.data<T>();
    parallel_for(self.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<T>(
            static_cast<compute_t<T>>(math::polygamma(n, static_cast<compute_t<T>>(in[i]))));
      }
    });
  });
  return TN_OK;
}

// Mantissas and exponents of two.
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

TN_KERNEL(igamma, gamma<false>, dtypes("floating").inplace("0=0,0=1"));
TN_KERNEL(igammac, gamma<true>, dtypes("floating").inplace("0=0,0=1"));
TN_KERNEL(polygamma, polygamma, dtypes("floating").inplace("0=1"));
TN_KERNEL(frexp_Tensor, frexp, dtypes("floating"));

}  // namespace tenon::cpu
