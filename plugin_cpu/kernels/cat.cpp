// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cat, flip, constant_pad_nd: operators that copy whole blocks.
#include "tenon/sdk/ops/cat.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/memory/along_dim.h"
#include "tenon/sdk/ops/constant_pad_nd.h"
#include "tenon/sdk/ops/flip.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// Bytes that are worth a thread, and of rows that are cut for it.
constexpr int64_t kCopyGrain = 1 << 17, kWideRow = 1 << 14;

bool skipped(const Tensor& t) { return t.ndim() == 1 && t.numel() == 0; }

// Rows of the output: `row` bytes, one part of each tensor behind the other.
struct Rows {
  const TensorList& tensors;
  int dim;
  int64_t inner, row;  // bytes of one step of dim, and of all

  int64_t width(int64_t k) const { return skipped(tensors[k]) ? 0 : tensors[k].size(dim) * inner; }
  void copy_whole(char* to, int64_t begin, int64_t end) const {
    int64_t at = 0;
    for (int64_t k = 0; k < tensors.size(); ++k) {
      const int64_t n = width(k);
      const char* from = tensors[k].data<char>();
      for (int64_t r = begin; n > 0 && r < end; ++r)
        std::memcpy(to + r * row + at, from + r * n, static_cast<std::size_t>(n));
      at += n;
    }
  }
  // Bytes [begin, end) of the output, which may begin and end within a part.
  void copy_bytes(char* to, int64_t begin, int64_t end) const {
    for (int64_t r = begin / row; r * row < end; ++r) {
      int64_t at = r * row;
      for (int64_t k = 0; k < tensors.size() && at < end; ++k) {
        const int64_t n = width(k), first = std::max(at, begin), last = std::min(at + n, end);
        if (first < last)
          std::memcpy(to + first, tensors[k].data<char>() + r * n + (first - at),
                      static_cast<std::size_t>(last - first));
        at += n;
      }
    }
  }
};

tn_status cat(Call&, Tensor out, TensorList tensors, int64_t given) {
  if (out.numel() == 0) return TN_OK;
  const int dim = wrap_dim(given, out.ndim());
  const int64_t n = tensors.size(), item = item_size(out.dtype());
  bool dense = out.contiguous();
  for (int64_t k = 0; dense && k < n; ++k) {
    dense = skipped(tensors[k]) || (tensors[k].contiguous() && tensors[k].dtype() == out.dtype());
  }
  if (!dense) {
    Part part(out);
    for (int64_t k = 0; k < n; ++k) {
      if (skipped(tensors[k])) continue;
      part.sizes[dim] = tensors[k].size(dim);
      copy_elements(part.tensor(), tensors[k]);
      part.shift(dim, part.sizes[dim]);
    }
    return TN_OK;
  }
  int64_t inner = item, outer = 1;
  for (int d = dim + 1; d < out.ndim(); ++d) inner *= out.size(d);
  for (int d = 0; d < dim; ++d) outer *= out.size(d);
  const int64_t row = out.size(dim) * inner;
  char* to = out.data<char>();
  const Rows rows{tensors, dim, inner, row};
  if (row < kWideRow) {
    parallel_for(outer, std::max<int64_t>(1, kCopyGrain / row),
                 [&](int64_t begin, int64_t end) { rows.copy_whole(to, begin, end); });
  } else {
    parallel_for(outer * row, kCopyGrain,
                 [&](int64_t begin, int64_t end) { rows.copy_bytes(to, begin, end); });
  }
  return TN_OK;
}
TN_KERNEL(cat, cat, dtypes("all,complex").any_strides());

tn_status flip(Call&, Tensor out, Tensor self, Ints dims) {
  if (out.numel() == 0) return TN_OK;
  Part part(self);
  for (int64_t given : dims) {
    const int d = wrap_dim(given, self.ndim());
    if (self.ndim() == 0) break;
    part.shift(d, part.sizes[d] - 1);
    part.strides[d] = -part.strides[d];
  }
  copy_elements(out, part.tensor());
  return TN_OK;
}
TN_KERNEL(flip, flip, dtypes("all,complex").any_strides());

tn_status constant_pad(Call&, Tensor out, Tensor self, Ints pad, Scalar value) {
  dispatch_any(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T v = value.to<T>();
    T* p = out.data<T>();
    parallel_for(out.numel(), kMoveGrain,
                 [&](int64_t begin, int64_t end) { std::fill(p + begin, p + end, v); });
  });
  Part to(out), from(self);
  for (int64_t k = 0; k < pad.size() / 2; ++k) {
    const int d = self.ndim() - 1 - static_cast<int>(k);
    const int64_t before = pad[2 * k], after = pad[2 * k + 1];
    to.shift(d, std::max<int64_t>(before, 0));
    from.shift(d, std::max<int64_t>(-before, 0));
    to.sizes[d] = from.sizes[d] =
        self.size(d) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (to.sizes[d] <= 0) return TN_OK;  // nothing of self is left
  }
  if (self.numel() > 0) copy_elements(to.tensor(), from.tensor());
  return TN_OK;
}
TN_KERNEL(constant_pad_nd, constant_pad, dtypes("all,complex").any_strides());

}  // namespace
}  // namespace tenon::cpu
