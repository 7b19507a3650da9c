// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies and fills for the kernels of other families.
#pragma once

#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

// out = src, cast to out's dtype and broadcast to its shape; any strides, no overlap but out ==
// src.
void copy_elements(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& src);
// Sets all elements to the value whose bytes `bits` begins with.
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

// out = mask ? value : self; value has one element, the mask broadcasts.
void fill_where(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                const sdk::Tensor& mask, const sdk::Tensor& value);

// A tensor over memory of the call, on the device of `like`. Sizes and strides must outlive it.
inline tn_tensor view_of(const sdk::Tensor& like, void* memory, sdk::DType dtype, sdk::Ints sizes,
                         const int64_t* strides, uint32_t flags) {
  tn_tensor view = *like.abi();
  view.data = memory;
  view.byte_offset = 0;
  view.dtype = dtype;
  view.ndim = static_cast<int32_t>(sizes.size());
  view.sizes = sizes.data();
  view.strides = strides;
  view.flags = flags;
  return view;
}

// For kernels that overwrite some elements: out = self unless they share memory.
inline void copy_unless_same(const sdk::Call& call, const sdk::Tensor& out,
                             const sdk::Tensor& self) {
  if (out.data<char>() != self.data<char>()) copy_elements(call, out, self);
}

}  // namespace tenon::cuda
