// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies and fills for the kernels of other families, and views of memory that a call has.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// out = src, cast to out's dtype and broadcast to its shape; any strides, no overlap but out ==
// src.
void copy_elements(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& src);
// Sets all elements to the value whose bytes `bits` begins with.
void fill_elements(const sdk::Call& call, const sdk::Tensor& out, uint64_t bits);
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

}  // namespace tenon::cuda
