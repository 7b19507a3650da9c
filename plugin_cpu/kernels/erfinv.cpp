// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The inverse of erf: Winitzki's closed form (2008) and Halley steps, in double. Near one the steps are on erfc, which
// keeps the digits that erf loses.
#include <cmath>
#include <limits>

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/erfinv.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

double inverse(double x) {
  const double size = std::fabs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(HUGE_VAL, x) : std::numeric_limits<double>::quiet_NaN();
  const double w = -std::log1p(-size * size), a = 0.147, k = 2 / (3.14159265358979323846 * a) - 0.5 * w;
  double y = w < 1e-3 ? size * 0.886226925452758 : std::sqrt(std::sqrt(k * k + w / a) - k);
  for (int i = 0; i < 4; ++i) {
    const double e = y < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double u = e / (1.1283791670955125739 * std::exp(-y * y));
    y -= u / (1 + y * u);
  }
  return std::copysign(y, x);
}

tn_status erfinv(Call&, Tensor out, Tensor self) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = out.data<T>();
    parallel_for(self.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] =
            static_cast<T>(static_cast<compute_t<T>>(inverse(static_cast<double>(static_cast<compute_t<T>>(in[i])))));
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(erfinv, erfinv, dtypes("floating").inplace("0=0"));

}  // namespace tenon::cpu
