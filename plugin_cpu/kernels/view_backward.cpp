// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of views: zeros, and the gradient written to the elements that the view had.
#include "tenon/sdk/ops/select_backward.h"

#include <cstring>

#include "plugin_cpu/memory/accumulate.h"
#include "tenon/sdk/ops/diagonal_backward.h"
#include "tenon/sdk/ops/slice_backward.h"
#include "tenon/sdk/ops/unfold_backward.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

void clear(const Tensor& out) {
  char* p = out.data<char>();
  parallel_for(out.numel() * item_size(out.dtype()), int64_t{1} << 20,
               [&](int64_t begin, int64_t end) {
                 std::memset(p + begin, 0, static_cast<std::size_t>(end - begin));
               });
}

tn_status select_backward(Call&, Tensor out, Tensor grad, Ints, int64_t given, int64_t index) {
  clear(out);
  if (grad.numel() == 0) return TN_OK;
  const int d = wrap_dim(given, out.ndim());
  Part part(out);
  part.shift(d, index < 0 ? index + out.size(d) : index);
  for (int k = d; k + 1 < out.ndim(); ++k) {
    part.sizes[k] = part.sizes[k + 1];
    part.strides[k] = part.strides[k + 1];
  }
  --part.view.ndim;
  copy_elements(part.tensor(), grad);
  return TN_OK;
}
TN_KERNEL(select_backward, select_backward, dtypes("all,complex"));

tn_status slice_backward(Call&, Tensor out, Tensor grad, Ints, int64_t given, int64_t start,
                         int64_t, int64_t step) {
  clear(out);
  if (grad.numel() == 0) return TN_OK;
  const int d = wrap_dim(given, out.ndim());
  const int64_t size = out.size(d);
  Part part(out);
  part.shift(d, std::clamp<int64_t>(start < 0 ? start + size : start, 0, size));
  part.sizes[d] = grad.size(d);
  if (grad.size(d) > 1) part.strides[d] *= step;
  copy_elements(part.tensor(), grad);
  return TN_OK;
}
TN_KERNEL(slice_backward, slice_backward, dtypes("all,complex"));

tn_status diagonal_backward(Call&, Tensor out, Tensor grad, Ints, int64_t offset, int64_t dim1,
                            int64_t dim2) {
  clear(out);
  if (grad.numel() == 0) return TN_OK;
  const int a = wrap_dim(dim1, out.ndim()), b = wrap_dim(dim2, out.ndim());
  Part part(out);
  part.shift(offset >= 0 ? b : a, offset >= 0 ? offset : -offset);
  const int64_t along = part.strides[a] + part.strides[b];
  int n = 0;
  for (int d = 0; d < out.ndim(); ++d) {
    if (d == a || d == b) continue;
    part.sizes[n] = part.sizes[d];
    part.strides[n++] = part.strides[d];
  }
  part.sizes[n] = grad.size(-1);
  part.strides[n] = along;
  part.view.ndim = n + 1;
  copy_elements(part.tensor(), grad);
  return TN_OK;
}
TN_KERNEL(diagonal_backward, diagonal_backward, dtypes("all,complex"));

// Windows overlap, so they are added one position of the window after the other: within one, no two
// overlap.
tn_status unfold_backward(Call&, Tensor out, Tensor grad, Ints, int64_t given, int64_t size,
                          int64_t step) {
  clear(out);
  if (grad.numel() == 0) return TN_OK;
  const int d = wrap_dim(given, out.ndim());
  sum_in(out, [&](const Tensor& target, auto wide, auto tag) {
    using A = tn_type(wide);
    using T = tn_type(tag);
    for (int64_t w = 0; w < size; ++w) {
      Part to(target), from(grad);
      from.shift(grad.ndim() - 1, w);
      --from.view.ndim;
      if (out.ndim() > 0) {
        to.shift(d, w);
        to.sizes[d] = grad.size(d);
        to.strides[d] *= step;
      } else if (w > 0) {
        break;
      }
      StridedLoop loop(to.tensor().sizes());
      loop.add(to.tensor());
      loop.add(from.tensor());
      loop.finish();
      parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
        loop.run(begin, end, [](char* const* p, const int64_t* s, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            add_to<A>(*reinterpret_cast<A*>(p[0] + i * s[0]),
                      convert<A>(*reinterpret_cast<const T*>(p[1] + i * s[1])));
          }
        });
      });
    }
  });
  return TN_OK;
}
TN_KERNEL(unfold_backward, unfold_backward, dtypes("all,complex"));

}  // namespace
}  // namespace tenon::cpu
