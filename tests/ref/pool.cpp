// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pooling: every window by its definition, over the last one to three dimensions.
#include <algorithm>
#include <limits>

#include "sums.h"
#include "tenon/sdk/ops/_adaptive_avg_pool2d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool2d_backward.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d.h"
#include "tenon/sdk/ops/_adaptive_avg_pool3d_backward.h"
#include "tenon/sdk/ops/adaptive_max_pool2d.h"
#include "tenon/sdk/ops/adaptive_max_pool2d_backward.h"
#include "tenon/sdk/ops/adaptive_max_pool3d.h"
#include "tenon/sdk/ops/adaptive_max_pool3d_backward.h"
#include "tenon/sdk/ops/avg_pool2d.h"
#include "tenon/sdk/ops/avg_pool2d_backward.h"
#include "tenon/sdk/ops/avg_pool3d.h"
#include "tenon/sdk/ops/avg_pool3d_backward.h"
#include "tenon/sdk/ops/max_pool2d_with_indices.h"
#include "tenon/sdk/ops/max_pool2d_with_indices_backward.h"
#include "tenon/sdk/ops/max_pool3d_with_indices.h"
#include "tenon/sdk/ops/max_pool3d_with_indices_backward.h"

namespace {

using namespace tenon::ref;
using OptInt = std::optional<int64_t>;

struct Window {
  std::vector<std::vector<int64_t>> at;  // the positions inside, by dimension
  int64_t padded = 1;                    // elements with the padding, but not beyond it
};

// The window of output position `o` in dimension `d` of nd, counted from the first pooled one.
struct Sliding {
  Ints kernel, stride, pad;
  const Ints* dilation;
  void add(Window& w, int64_t d, int64_t o, int64_t size, int64_t) const {
    const int64_t step = stride.size() ? stride[d] : kernel[d], gap = dilation ? (*dilation)[d] : 1;
    const int64_t begin = o * step - pad[d];
    w.at.emplace_back();
    for (int64_t k = 0; k < kernel[d]; ++k) {
      const int64_t i = begin + k * gap;
      if (i >= 0 && i < size) w.at.back().push_back(i);
    }
    w.padded *= std::min(begin + kernel[d], size + pad[d]) - begin;
  }
};

struct Adaptive {
  void add(Window& w, int64_t, int64_t o, int64_t size, int64_t out_size) const {
    w.at.emplace_back();
    for (int64_t i = o * size / out_size; i * out_size < (o + 1) * size; ++i)
      w.at.back().push_back(i);
    w.padded *= static_cast<int64_t>(w.at.back().size());
  }
};

// f(position in self, position in its plane) for each element of the window of `o`; returns the
// window.
template <class Kind, class F>
Window each_in(const Kind& kind, Tensor out, Tensor self, int64_t nd, const Index& o, F f) {
  Window w;
  const int64_t lead = self.ndim() - nd;
  Index counts;
  for (int64_t d = 0; d < nd; ++d) {
    kind.add(w, d, o[at(lead + d)], self.sizes()[lead + d], out.sizes()[lead + d]);
    counts.push_back(static_cast<int64_t>(w.at.back().size()));
  }
  each(Ints(counts.data(), nd), [&](const Index& k) {
    Index i(o.begin(), o.begin() + lead);
    int64_t flat = 0;
    for (int64_t d = 0; d < nd; ++d) {
      i.push_back(w.at[at(d)][at(k[at(d)])]);
      flat = flat * self.sizes()[lead + d] + i.back();
    }
    f(i, flat);
  });
  return w;
}

Real least(DType d) {
  if (tenon::sdk::is_floating(d)) return -std::numeric_limits<Real>::infinity();
  return d.code == TN_UINT ? 0 : -std::ldexp(Real(1), d.bits - 1);
}

// The first of the largest; of several NaN the last.
template <class Kind>
tn_status largest(const Kind& kind, Tensor out, Tensor indices, Tensor self, int64_t nd) {
  each(out.sizes(), [&](const Index& o) {
    Real best = 0;
    int64_t where = -1;
    each_in(kind, out, self, nd, o, [&](const Index& i, int64_t flat) {
      const Real v = get(self, i);
      if (where >= 0 && !(v > best || std::isnan(v))) return;
      best = v;
      where = flat;
    });
    put(out, o, where < 0 ? least(out.dtype()) : best);
    put(indices, o, Real(where < 0 ? 0 : where));  // a window that has only padding
  });
  return TN_OK;
}

template <class Kind>
tn_status average(const Kind& kind, Tensor out, Tensor self, int64_t nd, bool include_pad,
                  OptInt divisor) {
  each(out.sizes(), [&](const Index& o) {
    Real sum = 0;
    int64_t n = 0;
    const Window w = each_in(kind, out, self, nd, o, [&](const Index& i, int64_t) {
      sum += get(self, i);
      ++n;
    });
    put(out, o, n == 0 ? 0 : sum / Real(divisor ? *divisor : include_pad ? w.padded : n));
  });
  return TN_OK;
}

tn_status max2(Call&, Tensor out, Tensor indices, Tensor self, Ints kernel, Ints stride, Ints pad,
               Ints dilation, bool) {
  return largest(Sliding{kernel, stride, pad, &dilation}, out, indices, self, 2);
}
tn_status max3(Call&, Tensor out, Tensor indices, Tensor self, Ints kernel, Ints stride, Ints pad,
               Ints dilation, bool) {
  return largest(Sliding{kernel, stride, pad, &dilation}, out, indices, self, 3);
}
tn_status avg2(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad, bool,
               bool include_pad, OptInt n) {
  return average(Sliding{kernel, stride, pad, nullptr}, out, self, 2, include_pad, n);
}
tn_status avg3(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad, bool,
               bool include_pad, OptInt n) {
  return average(Sliding{kernel, stride, pad, nullptr}, out, self, 3, include_pad, n);
}
tn_status cells2(Call&, Tensor out, Tensor self, Ints) {
  return average(Adaptive{}, out, self, 2, true, {});
}
tn_status cells3(Call&, Tensor out, Tensor self, Ints) {
  return average(Adaptive{}, out, self, 3, true, {});
}
tn_status cells_max2(Call&, Tensor out, Tensor indices, Tensor self, Ints) {
  return largest(Adaptive{}, out, indices, self, 2);
}
tn_status cells_max3(Call&, Tensor out, Tensor indices, Tensor self, Ints) {
  return largest(Adaptive{}, out, indices, self, 3);
}

// To the element that the index names, counted in its plane.
tn_status to_largest(Tensor out, Tensor grad, Tensor indices, int64_t nd) {
  Sums sums(out.sizes());
  const int64_t lead = out.ndim() - nd;
  each(grad.sizes(), [&](const Index& o) {
    const Index plane =
        unravel(static_cast<int64_t>(get(indices, o)), Ints(out.sizes().begin() + lead, nd));
    Index i(o.begin(), o.begin() + lead);
    i.insert(i.end(), plane.begin(), plane.end());
    sums[i] += get(grad, o);
  });
  sums.store(out);
  return TN_OK;
}

template <class Kind>
tn_status to_average(const Kind& kind, Tensor out, Tensor grad, int64_t nd, bool include_pad,
                     OptInt divisor) {
  Sums sums(out.sizes());
  each(grad.sizes(), [&](const Index& o) {
    std::vector<Index> inside;
    const Window w =
        each_in(kind, grad, out, nd, o, [&](const Index& i, int64_t) { inside.push_back(i); });
    const auto n = static_cast<int64_t>(inside.size());
    Real part = get(grad, o) / Real(divisor ? *divisor : include_pad ? w.padded : n);
    if (!tenon::sdk::is_floating(out.dtype())) part = std::trunc(part);
    for (const Index& i : inside) sums[i] += part;
  });
  sums.store(out);
  return TN_OK;
}

template <int Nd>
tn_status max_back(Call&, Tensor out, Tensor grad, Tensor, Ints, Ints, Ints, Ints, bool,
                   Tensor indices) {
  return to_largest(out, grad, indices, Nd);
}
template <int Nd>
tn_status cells_max_back(Call&, Tensor out, Tensor grad, Tensor, Tensor indices) {
  return to_largest(out, grad, indices, Nd);
}
template <int Nd>
tn_status avg_back(Call&, Tensor out, Tensor grad, Tensor, Ints kernel, Ints stride, Ints pad, bool,
                   bool include_pad, OptInt n) {
  return to_average(Sliding{kernel, stride, pad, nullptr}, out, grad, Nd, include_pad, n);
}
template <int Nd>
tn_status cells_back(Call&, Tensor out, Tensor grad, Tensor) {
  return to_average(Adaptive{}, out, grad, Nd, true, {});
}

}  // namespace

TN_KERNEL(max_pool2d_with_indices_backward, max_back<2>, dtypes("number").any_strides());
TN_KERNEL(max_pool3d_with_indices_backward, max_back<3>, dtypes("number").any_strides());
TN_KERNEL(avg_pool2d_backward, avg_back<2>, dtypes("number").any_strides());
TN_KERNEL(avg_pool3d_backward, avg_back<3>, dtypes("number").any_strides());
TN_KERNEL(_adaptive_avg_pool2d_backward, cells_back<2>, dtypes("floating").any_strides());
TN_KERNEL(_adaptive_avg_pool3d_backward, cells_back<3>, dtypes("floating").any_strides());
TN_KERNEL(adaptive_max_pool2d_backward, cells_max_back<2>, dtypes("floating").any_strides());
TN_KERNEL(adaptive_max_pool3d_backward, cells_max_back<3>, dtypes("floating").any_strides());
TN_KERNEL(max_pool2d_with_indices, max2, dtypes("number").any_strides());
TN_KERNEL(max_pool3d_with_indices, max3, dtypes("number").any_strides());
TN_KERNEL(avg_pool2d, avg2, dtypes("number").any_strides());
TN_KERNEL(avg_pool3d, avg3, dtypes("number").any_strides());
TN_KERNEL(_adaptive_avg_pool2d, cells2, dtypes("floating").any_strides());
TN_KERNEL(_adaptive_avg_pool3d, cells3, dtypes("floating").any_strides());
TN_KERNEL(adaptive_max_pool2d, cells_max2, dtypes("floating").any_strides());
TN_KERNEL(adaptive_max_pool3d, cells_max3, dtypes("floating").any_strides());
