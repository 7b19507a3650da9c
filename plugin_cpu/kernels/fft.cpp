// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms over several dimensions, one after the other. Overwritten: the output.
#include "tenon/sdk/ops/_fft_c2c.h"
#include "tenon/sdk/ops/_fft_c2r.h"
#include "tenon/sdk/ops/_fft_r2c.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugin_cpu/fft/passes.h"
#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/kernel.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Buffer;
using tenon::cpu::fft::Shape;

// `t` as lines along dimension d.
Shape along(const Tensor& t, int64_t given) {
  const int d = static_cast<int>(given < 0 ? given + t.ndim() : given);
  Shape s{1, t.size(d), 1};
  for (int i = 0; i < d; ++i) s.outer *= t.size(i);
  for (int i = d + 1; i < t.ndim(); ++i) s.inner *= t.size(i);
  return s;
}

// `t` has the sizes of the transform.
double scale_of(const Tensor& t, Ints dims, int64_t normalization) {
  double n = 1;
  for (const int64_t d : dims) n *= static_cast<double>(along(t, d).n);
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
}

template <class T>
void copy(const Tensor& from, T* to) {
  std::memcpy(to, from.data<T>(), static_cast<std::size_t>(from.numel()) * sizeof(T));
}

tn_status c2c(Call&, Tensor out, Tensor self, Ints dims, int64_t normalization, bool forward) {
  if (out.numel() == 0) return TN_OK;
  const double scale = scale_of(self, dims, normalization);
  dispatch_complex(self.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    C* to = out.data<C>();
    if (dims.empty()) return copy(self, to);
    const C* from = self.data<C>();
    for (int64_t i = dims.size() - 1; i >= 0; --i, from = to)
      tenon::cpu::fft::complex_pass(from, to, along(self, dims[i]), forward, i ? 1 : scale);
  });
  return TN_OK;
}

tn_status r2c(Call&, Tensor out, Tensor self, Ints dims, int64_t normalization, bool onesided) {
  if (out.numel() == 0) return TN_OK;
  const int64_t last = dims.size() - 1;
  const double scale = scale_of(self, dims, normalization);
  dispatch_complex(out.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    using T = typename C::value_type;
    C* to = out.data<C>();
    tenon::cpu::fft::real_to_complex(self.data<T>(), to, along(self, dims[last]), onesided,
                                     last ? 1 : scale);
    for (int64_t i = last - 1; i >= 0; --i)
      tenon::cpu::fft::complex_pass(to, to, along(out, dims[i]), true, i ? 1 : scale);
  });
  return TN_OK;
}

tn_status c2r(Call&, Tensor out, Tensor self, Ints dims, int64_t normalization, int64_t) {
  if (out.numel() == 0) return TN_OK;
  const int64_t last = dims.size() - 1;
  const double scale = scale_of(out, dims, normalization);
  dispatch_complex(self.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    const Buffer buffer(last ? self.numel() * static_cast<int64_t>(sizeof(C)) : 0);
    const C* from = self.data<C>();
    for (int64_t i = 0; i < last; ++i, from = buffer.as<C>())
      tenon::cpu::fft::complex_pass(from, buffer.as<C>(), along(self, dims[i]), false, 1);
    tenon::cpu::fft::complex_to_real(from, out.data<typename C::value_type>(),
                                     along(out, dims[last]), along(self, dims[last]).n, scale);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_fft_c2c, c2c, dtypes("complex"));
TN_KERNEL(_fft_r2c, r2c, dtypes("float32,float64"));
TN_KERNEL(_fft_c2r, c2r, dtypes("complex"));
