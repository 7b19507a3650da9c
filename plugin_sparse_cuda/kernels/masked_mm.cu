// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of strided matrices at the elements of a sparse one, as in the gradient of a sparse
// factor: some lanes of a warp share an element.
#include "plugin_cuda/device/warp.cuh"
#include "plugin_sparse_cuda/device/places.cuh"
#include "tenon/sdk/ops/_masked_mm.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Lines of a matrix: rows of the first, columns of the second.
struct Lines {
  Dense of;
  int64_t n, line, step;  // strides

  Lines() = default;
  Lines(const Tensor& t, int dim)
      : of(t), n(t.size(dim)), line(t.stride(dim)), step(t.stride(1 - dim)) {}
  // Whether elements are contiguous, and lines aligned for packs of `width`.
  bool can_pack(int64_t k, int width) const {
    const auto bits = reinterpret_cast<uintptr_t>(of.p) | static_cast<uintptr_t>(line * of.item);
    return step == 1 && bits % 16 == 0 && k % width == 0;
  }
};

struct Dots {
  const int64_t* indices;  // [2, n]
  Lines a, b;
  Dense out;
  int64_t n, k;
  int lanes;  // of an element, a power of 2
  Faults faults;
};

template <class T, class C, int V>
__global__ void dot_lines(Dots d) {
  const int mine = lane() % d.lanes, together = kWarp / d.lanes;
  for (int64_t w = global_thread() / kWarp; w * together < d.n; w += global_threads() / kWarp) {
    const int64_t e = w * together + lane() / d.lanes;
    const bool inside = e < d.n;
    const int64_t x = inside ? d.faults.checked(d.indices[e], d.a.n) * d.a.line : 0;
    const int64_t y = inside ? d.faults.checked(d.indices[d.n + e], d.b.n) * d.b.line : 0;
    C sum = 0;
    TN_UNROLL(4)
    for (int64_t at = mine * V; inside && at < d.k; at += d.lanes * V) {
      if constexpr (V == 1) {
        sum += d.a.of.get<C>(x + at * d.a.step) * d.b.of.get<C>(y + at * d.b.step);
      } else {
        const auto p = *reinterpret_cast<const Pack<T, V>*>(
            d.a.of.p + (x + at) * static_cast<int64_t>(sizeof(T)));
        const auto q = *reinterpret_cast<const Pack<T, V>*>(
            d.b.of.p + (y + at) * static_cast<int64_t>(sizeof(T)));
        for (int i = 0; i < V; ++i) sum += static_cast<C>(p.v[i]) * static_cast<C>(q.v[i]);
      }
    }
    for (int s = d.lanes / 2; s > 0; s /= 2) {
      const C other = shuffle_down(sum, s);
      sum += other;
    }
    if (inside && mine == 0) d.out.put<C>(e, sum);
  }
}

template <class T, class C, int V>
void launch_dots(const Call& call, Dots d) {
  d.lanes = 1;
  while (d.lanes < kWarp && d.lanes * V * 2 <= d.k) d.lanes *= 2;
  launch<dot_lines<T, C, V>>(call, shape_for(call, d.n * d.lanes), d);
}
template <class T, class C>
void launch_packed(const Call& call, const Dots& d) {
  constexpr int kWidth = kPackWidth<T>;
  if (d.a.can_pack(d.k, kWidth) && d.b.can_pack(d.k, kWidth))
    launch_dots<T, C, kWidth>(call, d);
  else
    launch_dots<C, C, 1>(call, d);
}

void multiply(const Call& call, const Dots& d, DType dtype) {
  if (d.n == 0 || d.a.n == 0 || d.b.n == 0) return;
  switch (code_of(dtype)) {
    case Code::F16:
      return launch_packed<Half, float>(call, d);
    case Code::BF16:
      return launch_packed<BFloat16, float>(call, d);
    case Code::F32:
      return launch_packed<float, float>(call, d);
    case Code::F64:
      return launch_packed<double, double>(call, d);
    default:
      return launch_dots<int64_t, int64_t, 1>(call, d);
  }
}

tn_status masked_mm(Call& call, Tensor, Tensor mask, Tensor mat1, Tensor mat2) {
  coo::Ops op(call);
  const Tensor at = coo::coalesced(mask) ? mask : op("_coalesce", {value(mask)});
  const Tensor indices = op("contiguous", {value(coo::indices(at))});
  const int64_t n = indices.size(1);
  const Tensor out = alloc_component(call, 0, coo::kValues, Ints(&n, 1), mat1.dtype());
  share_component(call, 0, coo::kIndices, indices);
  set_layout_flags(call, 0, coo::kCoalesced);
  Dots d{};
  d.indices = indices.data<int64_t>();
  d.a = Lines(mat1, 0);
  d.b = Lines(mat2, 1);
  d.out = Dense(out);
  d.n = n;
  d.k = mat1.size(1);
  d.faults = Faults(call);
  multiply(call, d, mat1.dtype());
  return TN_OK;
}

}  // namespace

TN_KERNEL(_masked_mm, masked_mm,
          layouts("sparse_coo,strided,strided").any_strides().mixed_dtypes().capture_safe());

}  // namespace tenon::cuda
