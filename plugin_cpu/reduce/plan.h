// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The geometry of a reduction: the dimensions that are kept and those that are reduced, each merged
// where memory allows and ordered by the input's strides, innermost first.
#pragma once

#include <vector>

#include "tenon/sdk/loops.h"

namespace tenon::cpu::reduce {

struct Dims {
  int n = 0;
  int64_t count = 1;  // elements
  int64_t sizes[sdk::kMaxDims];
  int64_t in[sdk::kMaxDims];   // bytes
  int64_t out[sdk::kMaxDims];  // bytes; zero for reduced dimensions

  void add(int64_t size, int64_t in_stride, int64_t out_stride);
  void finish();
  // Offsets of the element with this linear number.
  void locate(int64_t index, int64_t* in_offset, int64_t* out_offset) const {
    *in_offset = *out_offset = 0;
    for (int d = 0; d < n; ++d) {
      const int64_t i = index % sizes[d];
      index /= sizes[d];
      *in_offset += i * in[d];
      *out_offset += i * out[d];
    }
  }
};

// 16-bit floats in memory of which float is computed.
enum class Narrow : uint8_t { None, Half, BFloat16 };
// n elements, `stride` bytes apart, as floats.
void widen(Narrow kind, const char* p, int64_t stride, int64_t n, float* out);
// A result, rounded to this kind.
void narrow(Narrow kind, float value, char* out);

struct Plan {
  Dims kept, reduced;
  const char* in;
  char* out;
  Narrow in_kind, out_kind;  // looked at by operators on float alone
  // The innermost memory of the input is kept: several results are accumulated side by side.
  bool by_columns;

  // dims: absent or empty means all. `out` has the reduced dimensions as ones if keepdim.
  Plan(const sdk::Tensor& out, const sdk::Tensor& self, const std::optional<sdk::Ints>& dims,
       bool keepdim);
};

// The plan with results of `item` bytes in a buffer, in the order of the kept elements. They are
// not 16-bit floats.
Plan into_buffer(const Plan& plan, void* buffer, int64_t item);

// Results as int64, in a buffer.
struct WideResults {
  std::vector<int64_t> buffer;
  Plan plan;

  explicit WideResults(const Plan& to);
  // Copies them to the output, as other integers or bool.
  void store(const Plan& to, sdk::DType dtype) const;
};

}  // namespace tenon::cpu::reduce
