// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Real numbers to 8-bit integers that stand for them, and back, and arithmetic on such integers, in
// any strides. Overwritten: the output.
#include "tenon/sdk/ops/_byte_table.h"
#include "tenon/sdk/ops/_dequantize.h"
#include "tenon/sdk/ops/_quantize.h"
#include "tenon/sdk/ops/_quantized_add.h"
#include "tenon/sdk/ops/_quantized_mul.h"

#include "plugin_cpu/simd/quantize.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/loops.h"

namespace {

using namespace tenon::sdk;

constexpr int64_t kGrain = 32768;

// f(from, to, count) for each run of elements that are contiguous in both tensors.
template <class From, class To, class F>
void each_run(Tensor self, Tensor out, F&& f) {
  StridedLoop loop(out.sizes());
  if (loop.numel == 0) return;
  loop.add(out);
  loop.add(self);
  loop.finish();
  parallel_for(loop.numel, kGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
      const bool dense = s[0] == sizeof(To) && s[1] == sizeof(From);
      for (int64_t i = 0; i < n; i += dense ? n : 1)
        f(reinterpret_cast<const From*>(p[1] + i * s[1]), reinterpret_cast<To*>(p[0] + i * s[0]),
          dense ? n : 1);
    });
  });
}

template <class T>
void quantize_as(Tensor out, Tensor self, float factor, int32_t zero) {
  each_run<float, T>(self, out, [&](const float* x, T* y, int64_t n) {
    tenon::cpu::quantize(x, y, n, factor, zero);
  });
}
template <class T>
void dequantize_from(Tensor out, Tensor self, float scale, int32_t zero) {
  each_run<T, float>(self, out, [&](const T* x, float* y, int64_t n) {
    tenon::cpu::dequantize(x, y, n, scale, zero);
  });
}

// The zero point is one of the integers.
tn_status quantize(Call&, Tensor out, Tensor self, double factor, int64_t zero_point, DType) {
  const auto f = out.dtype() == kUInt8 ? quantize_as<uint8_t> : quantize_as<int8_t>;
  f(out, self, static_cast<float>(factor), static_cast<int32_t>(zero_point));
  return TN_OK;
}
tn_status dequantize(Call&, Tensor out, Tensor self, double scale, int64_t zero_point) {
  const auto f = self.dtype() == kUInt8 ? dequantize_from<uint8_t> : dequantize_from<int8_t>;
  f(out, self, static_cast<float>(scale), static_cast<int32_t>(zero_point));
  return TN_OK;
}

using tenon::cpu::BytePair;
using tenon::cpu::Bytes;

uint8_t flip_of(DType t) { return t == kInt8 ? 128 : 0; }
Bytes bytes(DType t, int64_t zero, double scale) {
  const uint8_t flip = flip_of(t);
  return {flip, static_cast<int32_t>(zero) + flip, static_cast<float>(scale)};
}

void combine(Tensor out, Tensor self, Tensor other, BytePair q) {
  StridedLoop loop(out.sizes());
  if (loop.numel == 0) return;
  loop.add(out);
  loop.add(self);
  loop.add(other);
  loop.finish();
  parallel_for(loop.numel, kGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
      const bool dense = s[0] == 1 && s[1] == 1 && (s[2] == 1 || s[2] == 0);
      BytePair run = q;
      run.b_step = s[2];
      for (int64_t i = 0; i < n; i += dense ? n : 1)
        tenon::cpu::combine(run, reinterpret_cast<const uint8_t*>(p[1] + i * s[1]),
                            reinterpret_cast<const uint8_t*>(p[2] + i * s[2]),
                            reinterpret_cast<uint8_t*>(p[0] + i * s[0]), dense ? n : 1);
    });
  });
}

template <bool kProduct>
tn_status pair(Call&, Tensor out, Tensor self, Tensor other, double self_scale, int64_t self_zero,
               double other_scale, int64_t other_zero, double factor, int64_t zero_point, DType,
               bool relu) {
  combine(
      out, self, other,
      {bytes(self.dtype(), self_zero, self_scale), bytes(other.dtype(), other_zero, other_scale),
       bytes(out.dtype(), zero_point, factor), kProduct, relu, 1});
  return TN_OK;
}

tn_status byte_table(Call&, Tensor out, Tensor self, Tensor table) {
  if (!table.contiguous()) return TN_DECLINED;
  const uint8_t flip = flip_of(self.dtype()), *of = static_cast<const uint8_t*>(table.data());
  each_run<uint8_t, uint8_t>(self, out, [&](const uint8_t* x, uint8_t* y, int64_t n) {
    tenon::cpu::look_up(of, flip, x, y, n);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_quantize, quantize, dtypes("float32,uint8,int8").any_strides().mixed_dtypes());
TN_KERNEL(_dequantize, dequantize, dtypes("float32,uint8,int8").any_strides().mixed_dtypes());
TN_KERNEL(_quantized_add, pair<false>, dtypes("uint8,int8").any_strides().mixed_dtypes());
TN_KERNEL(_quantized_mul, pair<true>, dtypes("uint8,int8").any_strides().mixed_dtypes());
TN_KERNEL(_byte_table, byte_table, dtypes("uint8,int8").any_strides().mixed_dtypes());
