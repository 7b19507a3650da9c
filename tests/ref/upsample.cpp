// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling: every element as the sum of the elements that its position weighs, all dimensions at
// once.
#include <algorithm>
#include <optional>

#include "number.h"
#include "sums.h"
#include "tenon/sdk/ops/_upsample_bicubic2d_aa.h"
#include "tenon/sdk/ops/_upsample_bicubic2d_aa_backward.h"
#include "tenon/sdk/ops/_upsample_bilinear2d_aa.h"
#include "tenon/sdk/ops/_upsample_bilinear2d_aa_backward.h"
#include "tenon/sdk/ops/_upsample_nearest_exact1d.h"
#include "tenon/sdk/ops/_upsample_nearest_exact1d_backward.h"
#include "tenon/sdk/ops/_upsample_nearest_exact2d.h"
#include "tenon/sdk/ops/_upsample_nearest_exact2d_backward.h"
#include "tenon/sdk/ops/_upsample_nearest_exact3d.h"
#include "tenon/sdk/ops/_upsample_nearest_exact3d_backward.h"
#include "tenon/sdk/ops/upsample_bicubic2d.h"
#include "tenon/sdk/ops/upsample_bicubic2d_backward.h"
#include "tenon/sdk/ops/upsample_bilinear2d.h"
#include "tenon/sdk/ops/upsample_bilinear2d_backward.h"
#include "tenon/sdk/ops/upsample_linear1d.h"
#include "tenon/sdk/ops/upsample_linear1d_backward.h"
#include "tenon/sdk/ops/upsample_nearest1d.h"
#include "tenon/sdk/ops/upsample_nearest1d_backward.h"
#include "tenon/sdk/ops/upsample_nearest2d.h"
#include "tenon/sdk/ops/upsample_nearest2d_backward.h"
#include "tenon/sdk/ops/upsample_nearest3d.h"
#include "tenon/sdk/ops/upsample_nearest3d_backward.h"
#include "tenon/sdk/ops/upsample_trilinear3d.h"
#include "tenon/sdk/ops/upsample_trilinear3d_backward.h"

namespace {

using namespace tenon::ref;
using OptFloat = std::optional<double>;

struct Part {
  int64_t index;
  Real weight;
};
using Parts = std::vector<Part>;

struct Line {
  int64_t in, out;
  bool align_corners;
  OptFloat scale;
  Real step() const {
    if (align_corners) return out > 1 ? Real(in - 1) / Real(out - 1) : 0;
    return scale && *scale > 0 ? 1 / Real(*scale) : Real(in) / Real(out);
  }
  Real place(int64_t o) const {
    return align_corners ? step() * Real(o) : step() * (Real(o) + 0.5L) - 0.5L;
  }
  Part part(Real index, Real weight) const {
    return {static_cast<int64_t>(std::min(std::max(index, Real(0)), Real(in - 1))), weight};
  }
};

// Keys' kernel.
Real keys(Real x, Real a) {
  x = std::abs(x);
  if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}
Real tent(Real x) { return std::max(Real(0), 1 - std::abs(x)); }
Real soft_keys(Real x) { return keys(x, -0.5L); }

// The quotient is that of floats by contract: which element is nearest must not depend on the
// backend.
Parts nearest(const Line& l, int64_t o, float offset) {
  if (l.in == l.out) return {{o, 1}};
  if (l.out == 2 * l.in) return {{o / 2, 1}};
  const float step = l.scale && *l.scale > 0 ? static_cast<float>(1 / *l.scale)
                                             : static_cast<float>(l.in) / static_cast<float>(l.out);
  return {l.part(std::floor((static_cast<float>(o) + offset) * step), 1)};
}
Parts Nearest(const Line& l, int64_t o) { return nearest(l, o, 0); }
Parts Exact(const Line& l, int64_t o) { return nearest(l, o, 0.5F); }

Parts Linear(const Line& l, int64_t o) {
  const Real x = l.in == l.out ? Real(o) : std::max(Real(0), l.place(o)), low = std::floor(x);
  return {l.part(low, 1 - (x - low)), l.part(low + 1, x - low)};
}

Parts Cubic(const Line& l, int64_t o) {
  const Real x = l.place(o), low = std::floor(x);
  Parts p;
  for (int k = -1; k <= 2; ++k) p.push_back(l.part(low + k, keys(x - low - k, -0.75L)));
  return p;
}

Parts wide(const Line& l, int64_t o, Real (*kernel)(Real), Real radius) {
  const Real stretch = std::max(Real(1), l.step()), center = l.step() * (Real(o) + 0.5L);
  Parts p;
  Real sum = 0;
  for (int64_t i = 0; i < l.in; ++i) {
    if (Real(i) + 0.5L <= center - radius * stretch || Real(i) + 0.5L >= center + radius * stretch)
      continue;
    p.push_back({i, kernel((Real(i) + 0.5L - center) / stretch)});
    sum += p.back().weight;
  }
  for (Part& part : p) part.weight /= sum;
  return p;
}
Parts Tent(const Line& l, int64_t o) { return wide(l, o, &tent, 1); }
Parts WideCubic(const Line& l, int64_t o) { return wide(l, o, &soft_keys, 2); }

using Rule = Parts (*)(const Line&, int64_t);

// f(position in the small tensor `in`, weight) for each element that contributes to element o of
// the resampled tensor `out`.
template <class F>
void each_part(Tensor in, Tensor out, const Index& o, Rule rule, bool align_corners,
               const std::vector<OptFloat>& scales, F f) {
  std::vector<Parts> parts;
  Index counts;
  for (std::size_t d = 0; d < scales.size(); ++d) {
    const int n = static_cast<int>(d) + 2;
    parts.push_back(rule({in.size(n), out.size(n), align_corners, scales[d]}, o[d + 2]));
    counts.push_back(static_cast<int64_t>(parts.back().size()));
  }
  each(Ints(counts.data(), static_cast<int64_t>(counts.size())), [&](const Index& k) {
    Index from = {o[0], o[1]};
    Real weight = 1;
    for (std::size_t d = 0; d < k.size(); ++d) {
      const Part& p = parts[d][at(k[d])];
      from.push_back(p.index);
      weight *= p.weight;
    }
    if (weight != 0) f(from, weight);
  });
}

tn_status resample(Tensor out, Tensor self, Rule rule, bool align_corners,
                   const std::vector<OptFloat>& scales) {
  each(out.sizes(), [&](const Index& o) {
    Real sum = 0;
    each_part(self, out, o, rule, align_corners, scales,
              [&](const Index& from, Real weight) { sum += weight * get(self, from); });
    put(out, o, sum);
  });
  return TN_OK;
}

tn_status spread(Tensor out, Tensor grad, Rule rule, bool align_corners,
                 const std::vector<OptFloat>& scales) {
  Sums sums(out.sizes());
  each(grad.sizes(), [&](const Index& o) {
    const Real g = get(grad, o);
    each_part(out, grad, o, rule, align_corners, scales,
              [&](const Index& from, Real weight) { sums[from] += weight * g; });
  });
  sums.store(out);
  return TN_OK;
}

template <Rule rule>
tn_status corners1(Call&, Tensor out, Tensor self, Ints, bool align, OptFloat w) {
  return resample(out, self, rule, align, {w});
}
template <Rule rule>
tn_status picks1(Call&, Tensor out, Tensor self, Ints, OptFloat w) {
  return resample(out, self, rule, false, {w});
}
template <Rule rule>
tn_status corners1_backward(Call&, Tensor out, Tensor grad, Ints, Ints, bool align, OptFloat w) {
  return spread(out, grad, rule, align, {w});
}
template <Rule rule>
tn_status picks1_backward(Call&, Tensor out, Tensor grad, Ints, Ints, OptFloat w) {
  return spread(out, grad, rule, false, {w});
}
template <Rule rule>
tn_status corners2(Call&, Tensor out, Tensor self, Ints, bool align, OptFloat h, OptFloat w) {
  return resample(out, self, rule, align, {h, w});
}
template <Rule rule>
tn_status picks2(Call&, Tensor out, Tensor self, Ints, OptFloat h, OptFloat w) {
  return resample(out, self, rule, false, {h, w});
}
template <Rule rule>
tn_status corners2_backward(Call&, Tensor out, Tensor grad, Ints, Ints, bool align, OptFloat h,
                            OptFloat w) {
  return spread(out, grad, rule, align, {h, w});
}
template <Rule rule>
tn_status picks2_backward(Call&, Tensor out, Tensor grad, Ints, Ints, OptFloat h, OptFloat w) {
  return spread(out, grad, rule, false, {h, w});
}
template <Rule rule>
tn_status corners3(Call&, Tensor out, Tensor self, Ints, bool align, OptFloat d, OptFloat h,
                   OptFloat w) {
  return resample(out, self, rule, align, {d, h, w});
}
template <Rule rule>
tn_status picks3(Call&, Tensor out, Tensor self, Ints, OptFloat d, OptFloat h, OptFloat w) {
  return resample(out, self, rule, false, {d, h, w});
}
template <Rule rule>
tn_status corners3_backward(Call&, Tensor out, Tensor grad, Ints, Ints, bool align, OptFloat d,
                            OptFloat h, OptFloat w) {
  return spread(out, grad, rule, align, {d, h, w});
}
template <Rule rule>
tn_status picks3_backward(Call&, Tensor out, Tensor grad, Ints, Ints, OptFloat d, OptFloat h,
                          OptFloat w) {
  return spread(out, grad, rule, false, {d, h, w});
}

}  // namespace

TN_KERNEL(upsample_linear1d, corners1<&Linear>, dtypes("floating").any_strides());
TN_KERNEL(upsample_linear1d_backward, corners1_backward<&Linear>, dtypes("floating").any_strides());
TN_KERNEL(upsample_bilinear2d, corners2<&Linear>, dtypes("floating").any_strides());
TN_KERNEL(upsample_bilinear2d_backward, corners2_backward<&Linear>,
          dtypes("floating").any_strides());
TN_KERNEL(upsample_trilinear3d, corners3<&Linear>, dtypes("floating").any_strides());
TN_KERNEL(upsample_trilinear3d_backward, corners3_backward<&Linear>,
          dtypes("floating").any_strides());
TN_KERNEL(upsample_bicubic2d, corners2<&Cubic>, dtypes("floating").any_strides());
TN_KERNEL(upsample_bicubic2d_backward, corners2_backward<&Cubic>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_bilinear2d_aa, corners2<&Tent>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_bilinear2d_aa_backward, corners2_backward<&Tent>,
          dtypes("floating").any_strides());
TN_KERNEL(_upsample_bicubic2d_aa, corners2<&WideCubic>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_bicubic2d_aa_backward, corners2_backward<&WideCubic>,
          dtypes("floating").any_strides());
TN_KERNEL(upsample_nearest1d, picks1<&Nearest>, dtypes("floating").any_strides());
TN_KERNEL(upsample_nearest1d_backward, picks1_backward<&Nearest>, dtypes("floating").any_strides());
TN_KERNEL(upsample_nearest2d, picks2<&Nearest>, dtypes("floating").any_strides());
TN_KERNEL(upsample_nearest2d_backward, picks2_backward<&Nearest>, dtypes("floating").any_strides());
TN_KERNEL(upsample_nearest3d, picks3<&Nearest>, dtypes("floating").any_strides());
TN_KERNEL(upsample_nearest3d_backward, picks3_backward<&Nearest>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_nearest_exact1d, picks1<&Exact>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_nearest_exact1d_backward, picks1_backward<&Exact>,
          dtypes("floating").any_strides());
TN_KERNEL(_upsample_nearest_exact2d, picks2<&Exact>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_nearest_exact2d_backward, picks2_backward<&Exact>,
          dtypes("floating").any_strides());
TN_KERNEL(_upsample_nearest_exact3d, picks3<&Exact>, dtypes("floating").any_strides());
TN_KERNEL(_upsample_nearest_exact3d_backward, picks3_backward<&Exact>,
          dtypes("floating").any_strides());
