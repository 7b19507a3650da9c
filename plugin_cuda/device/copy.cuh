// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the kernels of other families need of copy and fill.
#pragma once

#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

// out = src, cast to out's dtype and broadcast to its shape; any strides, no overlap but out == src.
void copy_elements(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& src);
// All elements become the one whose bytes `bits` begins with.
void fill_elements(const sdk::Call& call, const sdk::Tensor& out, uint64_t bits);
inline uint64_t bits_of(sdk::DType dtype, const sdk::Scalar& value) {
  uint64_t bits = 0;
  sdk::dispatch_all(dtype, [&](auto tag) {
    const tn_type(tag) v = value.to<tn_type(tag)>();
    std::memcpy(&bits, &v, sizeof v);
  });
  return bits;
}
void fill_bytes(const sdk::Call& call, void* p, int64_t bytes, uint8_t value);

// out = value, of one element, where the mask says so, else self; the mask broadcasts.
void fill_where(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self, const sdk::Tensor& mask,
                const sdk::Tensor& value);

// A tensor of the call's own memory, on the device of another one. Sizes and strides are to outlive it.
inline tn_tensor view_of(const sdk::Tensor& beside, void* memory, sdk::DType dtype, sdk::Ints sizes,
                         const int64_t* strides, uint32_t flags) {
  tn_tensor view = *beside.abi();
  view.data = memory;
  view.byte_offset = 0;
  view.dtype = dtype;
  view.ndim = static_cast<int32_t>(sizes.size());
  view.sizes = sizes.data();
  view.strides = strides;
  view.flags = flags;
  return view;
}

// For kernels that change some elements of a copy: out = self unless they are the same memory.
inline void start_from(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self) {
  if (out.data<char>() != self.data<char>()) copy_elements(call, out, self);
}

}  // namespace tenon::cuda
