// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cat: one launch for up to 1,024 contiguous parts, in units as large as all addresses allow.
#include <algorithm>
#include <vector>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "tenon/sdk/ops/cat.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Parts in a kernel's arguments: of 4 KiB, as they always were, or of the 32,764 bytes that devices
// since Volta take. The smaller ones reach the device sooner.
constexpr int kFewParts = 100, kManyParts = 1024;

struct Part {
  const char* from;
  int64_t width, begin;  // units per row, and where they begin in a row of the output
};
template <int N>
struct Parts {
  Part part[N];
  char* out;
  int64_t rows, width;  // units per row of the output
  int32_t n, blocks;    // blocks per part
};

struct alignas(16) Bytes16 {
  uint32_t w[4];
};

template <class U, int N>
__global__ void concatenate(Parts<N> p) {
  const Part part = p.part[blockIdx.x / static_cast<unsigned>(p.blocks)];
  const int64_t all = part.width * p.rows, step = static_cast<int64_t>(p.blocks) * blockDim.x;
  for (int64_t i = blockIdx.x % static_cast<unsigned>(p.blocks) * static_cast<int64_t>(blockDim.x) +
                   threadIdx.x;
       i < all; i += step) {
    reinterpret_cast<U*>(p.out)[i / part.width * p.width + part.begin + i % part.width] =
        reinterpret_cast<const U*>(part.from)[i];
  }
}

bool is_skipped(const Tensor& t) { return t.numel() == 0; }

template <int N>
void launch_parts(const Call& call, Parts<N>& p, int64_t unit, int64_t max_width) {
  if (p.n == 0) return;
  p.blocks = static_cast<int32_t>(std::clamp<int64_t>(ceil_div(max_width * p.rows, 1024), 1,
                                                      ceil_div(4 * max_blocks(call), p.n)));
  const Shape shape{int64_t{p.n} * p.blocks, 256};
  switch (unit) {
    case 16:
      return launch<concatenate<Bytes16, N>>(call, shape, p);
    case 8:
      return launch<concatenate<uint64_t, N>>(call, shape, p);
    case 4:
      return launch<concatenate<uint32_t, N>>(call, shape, p);
    case 2:
      return launch<concatenate<uint16_t, N>>(call, shape, p);
    default:
      return launch<concatenate<uint8_t, N>>(call, shape, p);
  }
}

template <int N>
void concatenate_dense(const Call& call, const Tensor& out, const TensorList& tensors, int dim) {
  const int64_t item = item_size(out.dtype());
  int64_t inner = item, rows = 1;
  for (int d = dim + 1; d < out.ndim(); ++d) inner *= out.size(d);
  for (int d = 0; d < dim; ++d) rows *= out.size(d);
  uint64_t all =
      reinterpret_cast<uintptr_t>(out.data<char>()) | static_cast<uint64_t>(inner * out.size(dim));
  for (int64_t k = 0; k < tensors.size(); ++k) {
    if (is_skipped(tensors[k])) continue;
    all |= reinterpret_cast<uintptr_t>(tensors[k].data<char>()) |
           static_cast<uint64_t>(inner * tensors[k].size(dim));
  }
  const int64_t unit = std::min<int64_t>(16, static_cast<int64_t>(all & (~all + 1)));
  int64_t begin = 0, max_width = 0;
  Parts<N> p{};
  p.out = out.data<char>();
  p.rows = rows;
  p.width = inner * out.size(dim) / unit;
  for (int64_t k = 0; k < tensors.size(); ++k) {
    if (is_skipped(tensors[k])) continue;
    const int64_t width = inner * tensors[k].size(dim) / unit;
    p.part[p.n++] = {tensors[k].data<char>(), width, begin};
    begin += width;
    max_width = std::max(max_width, width);
    if (p.n == N) {
      launch_parts(call, p, unit, max_width);
      p.n = 0;
      max_width = 0;
    }
  }
  launch_parts(call, p, unit, max_width);
}

tn_status cat(Call& call, Tensor out, TensorList tensors, int64_t given) {
  const int dim = wrap_dim(given, out.ndim());
  if (out.numel() == 0) return TN_OK;
  bool dense = out.contiguous();
  for (int64_t k = 0; k < tensors.size(); ++k) {
    dense = dense && (is_skipped(tensors[k]) ||
                      (tensors[k].contiguous() && tensors[k].dtype() == out.dtype()));
  }
  if (dense) {
    if (tensors.size() <= kFewParts)
      concatenate_dense<kFewParts>(call, out, tensors, dim);
    else
      concatenate_dense<kManyParts>(call, out, tensors, dim);
    return TN_OK;
  }
  tn_tensor view = *out.abi();
  std::vector<int64_t> sizes(out.sizes().begin(), out.sizes().end());
  view.sizes = sizes.data();
  view.flags &= ~static_cast<uint32_t>(TN_TENSOR_CONTIGUOUS);
  for (int64_t k = 0; k < tensors.size(); ++k) {
    if (is_skipped(tensors[k])) continue;
    sizes[static_cast<std::size_t>(dim)] = tensors[k].size(dim);
    copy_elements(call, Tensor(&view), tensors[k]);
    view.byte_offset +=
        static_cast<uint64_t>(tensors[k].size(dim) * out.stride(dim) * item_size(out.dtype()));
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(cat, cat, dtypes("all").any_strides().capture_safe());

}  // namespace tenon::cuda
