// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms over the last dimensions by cuFFT; over others they are composed.
#include <algorithm>
#include <cmath>

#include "plugin_cuda/device/copy.h"
#include "plugin_cuda/device/scale.h"
#include "plugin_cuda/fft/plans.h"
#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/ops/_fft_c2c.h"
#include "tenon/sdk/ops/_fft_c2r.h"
#include "tenon/sdk/ops/_fft_r2c.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Fills the shape; false if cuFFT does not serve the dimensions, of which the last one given is the
// one that is halved. `signal` has the sizes of the real or the whole complex signal.
bool find_shape(const Tensor& signal, Ints dims, bool halved, FftShape& s) {
  const int n = signal.ndim();
  s.rank = static_cast<int>(dims.size());
  s.index = signal.device().index;
  if (s.rank < 1 || s.rank > kMaxFftRank || signal.numel() == 0) return false;
  bool taken[kMaxFftRank] = {};
  for (const int64_t given : dims) {
    const int64_t at = (given < 0 ? given + n : given) - (n - s.rank);
    if (at < 0 || taken[at]) return false;
    taken[at] = true;
  }
  const int64_t last = dims[dims.size() - 1];
  if (halved && (last < 0 ? last + n : last) != n - 1) return false;
  for (int i = 0; i < s.rank; ++i)
    s.sizes[static_cast<std::size_t>(i)] = signal.size(n - s.rank + i);
  s.batch = 1;
  for (int i = 0; i < n - s.rank; ++i) s.batch *= signal.size(i);
  return true;
}

int64_t points(const FftShape& s) {
  int64_t n = 1;
  for (int i = 0; i < s.rank; ++i) n *= s.sizes[static_cast<std::size_t>(i)];
  return n;
}

void scale(const Call& call, const Tensor& out, const FftShape& s, int64_t normalization) {
  if (normalization == 0) return;
  const auto n = static_cast<double>(points(s));
  scale_reals(call, out.data<char>(), out.dtype(), normalization == 1 ? 1 / std::sqrt(n) : 1 / n,
              out.numel());
}

// cuFFT wants real signals to begin where complex numbers may.
bool is_aligned(const Tensor& real) {
  return reinterpret_cast<uintptr_t>(real.data<char>()) %
             static_cast<uintptr_t>(2 * item_size(real.dtype())) ==
         0;
}

bool is_wide(DType d) { return item_size(d) == (is_complex(d) ? 16 : 8); }

// The shape of a call, from its arguments; false: it is declined.
bool c2c_shape(const Tensor& self, Ints dims, FftShape& s) {
  s.type = is_wide(self.dtype()) ? CUFFT_Z2Z : CUFFT_C2C;
  return fft_library() && find_shape(self, dims, false, s);
}
bool r2c_shape(const Tensor& self, Ints dims, bool onesided, FftShape& s) {
  s.type = is_wide(self.dtype()) ? CUFFT_D2Z : CUFFT_R2C;
  return onesided && fft_library() && find_shape(self, dims, true, s);
}
bool c2r_shape(const Tensor& out, Ints dims, FftShape& s) {
  s.type = is_wide(out.dtype()) ? CUFFT_Z2D : CUFFT_C2R;
  return fft_library() && is_aligned(out) && find_shape(out, dims, true, s);
}

// The plan, on the stream of the call and in its workspace after `used` bytes.
void prepare(const Call& call, const FftPlan& plan, const FftShape& s, uint64_t used) {
  FFT_CALL(s.index, cufftSetStream, plan.handle(), native(s.index, call.stream()));
  FFT_CALL(s.index, cufftSetWorkArea, plan.handle(), call.workspace<char>() + used);
}

tn_status c2c(Call& call, Tensor out, Tensor self, Ints dims, int64_t normalization, bool forward) {
  FftShape s;
  if (!c2c_shape(self, dims, s)) return TN_DECLINED;
  const DeviceGuard guard(s.index);
  {
    const FftPlan plan(s);
    prepare(call, plan, s, 0);
    const int direction = forward ? CUFFT_FORWARD : CUFFT_INVERSE;
    if (s.type == CUFFT_C2C)
      FFT_CALL(s.index, cufftExecC2C, plan.handle(), self.data<cufftComplex>(),
               out.data<cufftComplex>(), direction);
    else
      FFT_CALL(s.index, cufftExecZ2Z, plan.handle(), self.data<cufftDoubleComplex>(),
               out.data<cufftDoubleComplex>(), direction);
  }
  scale(call, out, s, normalization);
  return TN_OK;
}

uint64_t bytes_of(const Tensor& t) {
  return static_cast<uint64_t>(t.numel() * item_size(t.dtype()) + 255) / 256 * 256;
}

// A copy in the workspace.
char* copied(const Call& call, const Tensor& t, const FftShape& s) {
  char* copy = call.workspace<char>();
  check(cudaMemcpyAsync(copy, t.data<char>(),
                        static_cast<std::size_t>(t.numel() * item_size(t.dtype())),
                        cudaMemcpyDeviceToDevice, native(s.index, call.stream())),
        "cudaMemcpyAsync", s.index);
  return copy;
}

uint64_t bytes_of_copy(const Tensor& real) { return is_aligned(real) ? 0 : bytes_of(real); }

tn_status r2c(Call& call, Tensor out, Tensor self, Ints dims, int64_t normalization,
              bool onesided) {
  FftShape s;
  if (!r2c_shape(self, dims, onesided, s)) return TN_DECLINED;
  const DeviceGuard guard(s.index);
  char* const from = is_aligned(self) ? self.data<char>() : copied(call, self, s);
  {
    const FftPlan plan(s);
    prepare(call, plan, s, bytes_of_copy(self));
    if (s.type == CUFFT_R2C)
      FFT_CALL(s.index, cufftExecR2C, plan.handle(), reinterpret_cast<cufftReal*>(from),
               out.data<cufftComplex>());
    else
      FFT_CALL(s.index, cufftExecD2Z, plan.handle(), reinterpret_cast<cufftDoubleReal*>(from),
               out.data<cufftDoubleComplex>());
  }
  scale(call, out, s, normalization);
  return TN_OK;
}

// cuFFT overwrites what it transforms to real numbers.
tn_status c2r(Call& call, Tensor out, Tensor self, Ints dims, int64_t normalization, int64_t) {
  FftShape s;
  if (!c2r_shape(out, dims, s)) return TN_DECLINED;
  const DeviceGuard guard(s.index);
  char* const copy = copied(call, self, s);
  {
    const FftPlan plan(s);
    prepare(call, plan, s, bytes_of(self));
    if (s.type == CUFFT_C2R)
      FFT_CALL(s.index, cufftExecC2R, plan.handle(), reinterpret_cast<cufftComplex*>(copy),
               out.data<cufftReal>());
    else
      FFT_CALL(s.index, cufftExecZ2D, plan.handle(), reinterpret_cast<cufftDoubleComplex*>(copy),
               out.data<cufftDoubleReal>());
  }
  scale(call, out, s, normalization);
  return TN_OK;
}

Ints dims_of(const tn_value& v) { return Ints(v.u.i64s, static_cast<int64_t>(v.len)); }

tn_status plan_workspace(tn_call* c, uint64_t* bytes, bool served, const FftShape& s,
                         uint64_t used) {
  return sdk::detail::report_exceptions(c, [&] {
    *bytes = 0;
    if (!served) return TN_DECLINED;
    const DeviceGuard guard(s.index);
    *bytes = used + FftPlan(s).workspace();
    return TN_OK;
  });
}
tn_status c2c_workspace(tn_call* c, uint64_t* bytes) {
  FftShape s;
  const bool served = c2c_shape(Tensor(c->in[0].u.tensor), dims_of(c->in[1]), s);
  return plan_workspace(c, bytes, served, s, 0);
}
tn_status r2c_workspace(tn_call* c, uint64_t* bytes) {
  FftShape s;
  const Tensor self(c->in[0].u.tensor);
  const bool served = r2c_shape(self, dims_of(c->in[1]), c->in[3].u.i64 != 0, s);
  return plan_workspace(c, bytes, served, s, bytes_of_copy(self));
}
tn_status c2r_workspace(tn_call* c, uint64_t* bytes) {
  FftShape s;
  const bool served = c2r_shape(Tensor(c->out[0].u.tensor), dims_of(c->in[1]), s);
  return plan_workspace(c, bytes, served, s, bytes_of(Tensor(c->in[0].u.tensor)));
}

}  // namespace

TN_KERNEL(_fft_c2c, c2c, dtypes("complex").workspace(c2c_workspace));
TN_KERNEL(_fft_r2c, r2c, dtypes("float32,float64").workspace(r2c_workspace));
TN_KERNEL(_fft_c2r, c2r, dtypes("complex").workspace(c2r_workspace));

}  // namespace tenon::cuda
