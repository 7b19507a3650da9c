// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/fuse/shape.h"

#include <algorithm>

#include "jit/fuse/body.h"

namespace tenon::jit::fuse {
namespace {

using core::TensorImpl;

const TensorImpl& impl_of(const IValue& v) { return *v.toTensor().unsafeGetTensorImpl(); }

// Joins the shape with what there is; false if it does not broadcast.
bool join(IntArrayRef sizes, Extent& e) {
  const int n = static_cast<int>(sizes.size());
  if (n > kMaxDims) return false;
  if (n > e.dim) {
    std::copy_backward(e.sizes, e.sizes + e.dim, e.sizes + n);
    std::fill_n(e.sizes, n - e.dim, 1);
    e.dim = n;
  }
  for (int d = 0; d < n; ++d) {
    int64_t& size = e.sizes[e.dim - n + d];
    const int64_t other = sizes[static_cast<std::size_t>(d)];
    if (size == 1)
      size = other;
    else if (other != 1 && other != size)
      return false;
  }
  return true;
}

Broadcast broadcast_of(IntArrayRef sizes) {
  Broadcast b;
  b.dim = static_cast<uint8_t>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[sizes.size() - 1 - d] != 1) b.ones &= static_cast<uint8_t>(~(1u << d));
  return b;
}

bool is_whole(const Tensor& t, const Extent& e) {
  return t.dim() == e.dim && std::equal(e.sizes, e.sizes + e.dim, t.sizes().begin());
}

bool same_strides(const Tensor& t, const Extent& e) {
  for (int d = 0; d < e.dim; ++d)
    if (e.sizes[d] != 1 && t.stride(d) != e.strides[d]) return false;
  return true;
}

void contiguous_strides(Extent& e) {
  int64_t step = 1;
  for (int d = e.dim; d-- > 0; step *= e.sizes[d]) e.strides[d] = step;
}

// Inputs of the whole shape lie in one order without gaps, and so do the results; what broadcasts
// may lie anyhow beside them, as with every operator.
bool find_strides(const Stack& stack, std::size_t n, Extent& e) {
  contiguous_strides(e);
  bool found = false;
  for (std::size_t i = 0; i < n; ++i) {
    const IValue& v = peek(stack, i, n);
    if (!v.isTensor()) continue;
    const Tensor& t = v.toTensor();
    if (!is_whole(t, e)) continue;
    if (!found) {
      if (!t.is_non_overlapping_and_dense()) return false;
      for (int d = 0; d < e.dim; ++d)
        if (e.sizes[d] != 1) e.strides[d] = t.stride(d);
      found = true;
    } else if (!same_strides(t, e)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < n && !found; ++i)
    if (peek(stack, i, n).isTensor() && !peek(stack, i, n).toTensor().is_contiguous()) return false;
  return true;
}

}  // namespace

int64_t points_at_most(const Stack& stack, std::size_t n) noexcept {
  int64_t sizes[kMaxDims];
  std::fill_n(sizes, kMaxDims, 1);
  for (std::size_t i = 0; i < n; ++i) {
    const IValue& v = peek(stack, i, n);
    if (!v.isTensor() || !v.toTensor().defined()) continue;
    const IntArrayRef of = v.toTensor().sizes();
    for (std::size_t d = 0; d < of.size() && d < kMaxDims; ++d)
      sizes[d] = std::max(sizes[d], of[of.size() - 1 - d]);
  }
  int64_t points = 1;
  for (const int64_t size : sizes) points *= size;
  return points;
}

bool look_at_inputs(const Stack& stack, std::size_t n, std::vector<Kind>& kinds, Extent& extent) {
  const bool records = GradMode::is_enabled();
  const TensorImpl* first = nullptr;
  kinds.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const IValue& v = peek(stack, i, n);
    if (v.isInt() || v.isBool() || v.isDouble()) {
      kinds.push_back({v.isDouble() ? Kind::Of::Float : Kind::Of::Int, kLong, {}});
      continue;
    }
    if (!v.isTensor() || !v.toTensor().defined()) return false;
    const Tensor& t = v.toTensor();
    const TensorImpl& impl = impl_of(v);
    if (!first) first = &impl;
    if (impl.layout_slot != 0 || impl.batched() || !(impl.device_id == first->device_id) ||
        dtype_word(t.scalar_type()).empty() || (records && t.requires_grad()) ||
        !join(t.sizes(), extent))
      return false;
    kinds.push_back({Kind::Of::Tensor, t.scalar_type(), broadcast_of(t.sizes())});
  }
  if (!first) return false;
  for (int d = 0; d < extent.dim; ++d) extent.numel *= extent.sizes[d];
  return extent.numel > 0 && find_strides(stack, n, extent);
}

}  // namespace tenon::jit::fuse
