// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loops that treat one dimension apart, and row-major scratch that kernels see as tensors.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/loops.h"

namespace tenon::cpu {

// Scratch of a shape, uninitialized. Not to be copied: `view` points into it.
class Scratch {
 public:
  Scratch(sdk::Ints sizes, sdk::DType dtype)
      : sizes_(sizes.begin(), sizes.end()), strides_(sizes_.size() + 1) {
    int64_t n = 1;
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      strides_[d] = n;
      n *= sizes_[d];
    }
    bytes_.reset(new char[static_cast<std::size_t>(n * sdk::item_size(dtype)) + 1]);
    view_ = {bytes_.get(),
             {TN_CPU, 0},
             static_cast<int32_t>(sizes_.size()),
             dtype,
             sizes_.data(),
             strides_.data(),
             0,
             TN_STRIDED,
             TN_TENSOR_CONTIGUOUS,
             nullptr};
  }
  Scratch(const Scratch&) = delete;
  sdk::Tensor tensor() const { return sdk::Tensor(&view_); }

 private:
  std::vector<int64_t> sizes_, strides_;
  std::unique_ptr<char[]> bytes_;
  tn_tensor view_;
};

// The tensor itself if it is row-major of this shape, else a copy expanded to it.
class Dense {
 public:
  Dense(const sdk::Tensor& t, sdk::Ints shape) : tensor_(t) {
    bool same = t.contiguous() && t.ndim() == shape.size();
    for (int d = 0; same && d < t.ndim(); ++d) same = t.size(d) == shape[d];
    if (same) return;
    scratch_ = std::make_unique<Scratch>(shape, t.dtype());
    copy_elements(scratch_->tensor(), t);
    tensor_ = scratch_->tensor();
  }
  explicit Dense(const sdk::Tensor& t) : Dense(t, t.sizes()) {}
  const sdk::Tensor& tensor() const { return tensor_; }

 private:
  sdk::Tensor tensor_;
  std::unique_ptr<Scratch> scratch_;
};

// One scalar, expanded, such as the gradient of a sum.
inline bool same_everywhere(const sdk::Tensor& t) {
  for (int d = 0; d < t.ndim(); ++d) {
    if (t.size(d) != 1 && t.stride(d) != 0) return false;
  }
  return t.numel() != 0;
}

// A shape with dimension `dim` taken out of the loop; its strides, in bytes, are kept separately.
class AlongDim {
 public:
  AlongDim(sdk::Ints shape, int64_t dim)
      : length(shape.empty() ? 1 : shape[sdk::wrap_dim(dim, static_cast<int>(shape.size()))]),
        dim_(sdk::wrap_dim(dim, static_cast<int>(shape.size()))),
        rest(without(shape, dim_)) {}

  // Tensors may be larger than the shape. Strides of 0-dim tensors along `dim` are 0.
  void add(const sdk::Tensor& t) {
    const int64_t item = sdk::item_size(t.dtype());
    const int k = rest.operands++;
    rest.base[k] = t.data<char>();
    stride[k] = t.ndim() ? t.stride(dim_) * item : 0;
    for (int d = 0, at = rest.ndim - 1; d < t.ndim(); ++d) {
      if (d == dim_) continue;
      rest.strides[at--][k] = t.stride(d) * item;
    }
  }

  int64_t length;
  int64_t stride[sdk::kMaxOperands];

 private:
  int dim_;
  sdk::Ints without(sdk::Ints shape, int dim) {
    for (int d = 0; d < shape.size(); ++d) {
      if (d != dim) kept_.push_back(shape[d]);
    }
    return sdk::Ints(kept_.data(), static_cast<int64_t>(kept_.size()));
  }
  std::vector<int64_t> kept_;

 public:
  sdk::StridedLoop rest;
};

// A view of a tensor with its own geometry. Must not move once `tensor` was called.
struct Part {
  int64_t sizes[sdk::kMaxDims], strides[sdk::kMaxDims];
  tn_tensor view;
  explicit Part(const sdk::Tensor& t) : view(*t.abi()) {
    std::copy(t.sizes().begin(), t.sizes().end(), sizes);
    std::copy(t.strides().begin(), t.strides().end(), strides);
    view.sizes = sizes;
    view.strides = strides;
    view.flags &= ~static_cast<uint32_t>(TN_TENSOR_CONTIGUOUS);
  }
  Part(const Part&) = delete;
  void shift(int d, int64_t elements) {
    view.byte_offset = static_cast<uint64_t>(static_cast<int64_t>(view.byte_offset) +
                                             elements * strides[d] * sdk::item_size(view.dtype));
  }
  sdk::Tensor tensor() const { return sdk::Tensor(&view); }
};

}  // namespace tenon::cpu
