// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling and borders: one dimension after the other, by tables of the elements that contribute
// to each output.
#include <algorithm>

#include "tenon/ops/taps.h"

namespace tenon::decomp {
namespace {

using sdk::Resampling;
using OptFloat = std::optional<double>;

// Column t of a table.
template <class T>
std::vector<T> column_of(const std::vector<T>& table, int64_t t, int64_t taps) {
  std::vector<T> out;
  for (std::size_t i = static_cast<std::size_t>(t); i < table.size();
       i += static_cast<std::size_t>(taps)) {
    out.push_back(table[i]);
  }
  return out;
}
std::vector<int64_t> shape_along(const Tensor& x, int64_t dim, int64_t n) {
  std::vector<int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(dim)] = n;
  return shape;
}
bool all_ones(const std::vector<double>& w) {
  return std::all_of(w.begin(), w.end(), [](double v) { return v == 1; });
}

}  // namespace

Tensor blended(const Tensor& x, int64_t dim, const Taps& taps, bool skip) {
  Tensor sum;
  for (int64_t t = 0; t < taps.taps; ++t) {
    const std::vector<double> w = column_of(taps.weight, t, taps.taps);
    Tensor part =
        gather_slices(x, dim, constants_like(column_of(taps.index, t, taps.taps), {taps.out}, x));
    if (!all_ones(w)) {
      const Tensor weight = constants_like(w, shape_along(x, dim, taps.out), x, x.scalar_type());
      part = skip ? tenon::where(weight.eq(0), scalar_like(0, part), part * weight) : part * weight;
    }
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

Tensor unblended(const Tensor& g, int64_t dim, const Taps& taps) {
  std::vector<int64_t> sizes = g.sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = taps.in;
  Tensor out = full(sizes, 0, options_of(g));
  for (int64_t t = 0; t < taps.taps; ++t) {
    const std::vector<double> w = column_of(taps.weight, t, taps.taps);
    const Tensor part =
        all_ones(w) ? g : g * constants_like(w, shape_along(g, dim, taps.out), g, g.scalar_type());
    out =
        scatter_slices(out, dim, constants_like(column_of(taps.index, t, taps.taps), {taps.out}, g),
                       part, TN_SCATTER_ADD);
  }
  return out;
}

namespace {

struct Resample {
  Resampling how;
  bool align_corners;
  std::vector<OptFloat> scales;

  Taps taps(std::size_t d, int64_t in, int64_t out) const {
    return sdk::resample_axis<double>(how, in, out, align_corners, scales[d]);
  }
  bool picks() const { return how == Resampling::kNearest || how == Resampling::kNearestExact; }

  Tensor forward(const Tensor& self, IntArrayRef output) const {
    const bool bytes = self.scalar_type() == kByte && !picks();
    Tensor x = picks() ? self : bytes ? as(self, kInt) : wide(self);
    for (std::size_t d = output.size(); d-- > 0;) {
      const int64_t dim = static_cast<int64_t>(2 + d);
      const Taps t = taps(d, self.size(dim), output[d]);
      x = bytes ? blended_bytes(x, dim, t) : blended(x, dim, t);
    }
    return x;
  }
  // With integer weights, as images of bytes are resampled.
  static Tensor blended_bytes(const Tensor& x, int64_t dim, const Taps& t) {
    const sdk::ByteAxis a = sdk::byte_axis(t);
    const Taps weights{a.in, a.out, a.taps, a.index,
                       std::vector<double>(a.weight.begin(), a.weight.end())};
    const Tensor sum = blended(x, dim, weights) + (a.bits > 0 ? 1 << (a.bits - 1) : 0);
    return sum.bitwise_right_shift(a.bits).clamp(0, 255);
  }
  Tensor backward(const Tensor& grad, IntArrayRef input) const {
    Tensor g = wide(grad);
    for (std::size_t d = 0; d < scales.size(); ++d) {
      g = unblended(g, static_cast<int64_t>(2 + d),
                    taps(d, input[2 + d], grad.size(static_cast<int64_t>(2 + d))));
    }
    return g;
  }
};

}  // namespace

#define TENON_NEAREST(name, how)                                                             \
  Tensor name##1d(const Tensor& self, IntArrayRef out, OptFloat w) {                         \
    return Resample{how, false, {w}}.forward(self, out);                                     \
  }                                                                                          \
  Tensor name##2d(const Tensor& self, IntArrayRef out, OptFloat h, OptFloat w) {             \
    return Resample{how, false, {h, w}}.forward(self, out);                                  \
  }                                                                                          \
  Tensor name##3d(const Tensor& self, IntArrayRef out, OptFloat d, OptFloat h, OptFloat w) { \
    return Resample{how, false, {d, h, w}}.forward(self, out);                               \
  }
TENON_NEAREST(upsample_nearest, Resampling::kNearest)
TENON_NEAREST(_upsample_nearest_exact, Resampling::kNearestExact)
#undef TENON_NEAREST

#define TENON_NEAREST_BACKWARD(name, how)                                                          \
  Tensor name##1d_backward(const Tensor& g, IntArrayRef, IntArrayRef in, OptFloat w) {             \
    return Resample{how, false, {w}}.backward(g, in);                                              \
  }                                                                                                \
  Tensor name##2d_backward(const Tensor& g, IntArrayRef, IntArrayRef in, OptFloat h, OptFloat w) { \
    return Resample{how, false, {h, w}}.backward(g, in);                                           \
  }                                                                                                \
  Tensor name##3d_backward(const Tensor& g, IntArrayRef, IntArrayRef in, OptFloat d, OptFloat h,   \
                           OptFloat w) {                                                           \
    return Resample{how, false, {d, h, w}}.backward(g, in);                                        \
  }
TENON_NEAREST_BACKWARD(upsample_nearest, Resampling::kNearest)
TENON_NEAREST_BACKWARD(_upsample_nearest_exact, Resampling::kNearestExact)
#undef TENON_NEAREST_BACKWARD

#define TENON_PLANES(name, how)                                                                  \
  Tensor name(const Tensor& self, IntArrayRef out, bool align_corners, OptFloat h, OptFloat w) { \
    return Resample{how, align_corners, {h, w}}.forward(self, out);                              \
  }                                                                                              \
  Tensor name##_backward(const Tensor& g, IntArrayRef, IntArrayRef in, bool align_corners,       \
                         OptFloat h, OptFloat w) {                                               \
    return Resample{how, align_corners, {h, w}}.backward(g, in);                                 \
  }
TENON_PLANES(upsample_bilinear2d, Resampling::kLinear)
TENON_PLANES(_upsample_bilinear2d_aa, Resampling::kLinearWide)
TENON_PLANES(upsample_bicubic2d, Resampling::kCubic)
TENON_PLANES(_upsample_bicubic2d_aa, Resampling::kCubicWide)
#undef TENON_PLANES

Tensor upsample_linear1d(const Tensor& self, IntArrayRef out, bool align_corners, OptFloat w) {
  return Resample{Resampling::kLinear, align_corners, {w}}.forward(self, out);
}
Tensor upsample_linear1d_backward(const Tensor& g, IntArrayRef, IntArrayRef in, bool align_corners,
                                  OptFloat w) {
  return Resample{Resampling::kLinear, align_corners, {w}}.backward(g, in);
}
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef out, bool align_corners, OptFloat d,
                            OptFloat h, OptFloat w) {
  return Resample{Resampling::kLinear, align_corners, {d, h, w}}.forward(self, out);
}
Tensor upsample_trilinear3d_backward(const Tensor& g, IntArrayRef, IntArrayRef in,
                                     bool align_corners, OptFloat d, OptFloat h, OptFloat w) {
  return Resample{Resampling::kLinear, align_corners, {d, h, w}}.backward(g, in);
}

namespace {

// Where each element of a padded dimension comes from.
Taps border_taps(int64_t in, int64_t before, int64_t after, bool reflect) {
  Taps t{in, in + before + after, 1, {}, {}};
  for (int64_t o = 0; o < t.out; ++o) {
    const int64_t i = o - before, low = reflect ? -i : 0,
                  high = reflect ? 2 * (in - 1) - i : in - 1;
    t.index.push_back(i < 0 ? low : i >= in ? high : i);
  }
  t.weight.assign(t.index.size(), 1);
  return t;
}

Tensor pad_dims(const Tensor& self, IntArrayRef pad, bool reflect) {
  Tensor x = self;
  for (std::size_t k = 0; k < pad.size() / 2; ++k) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(k);
    x = blended(x, dim, border_taps(self.size(dim), pad[2 * k], pad[2 * k + 1], reflect));
  }
  return x;
}
Tensor pad_dims_backward(const Tensor& grad, const Tensor& self, IntArrayRef pad, bool reflect) {
  Tensor g = wide(grad);
  for (std::size_t k = 0; k < pad.size() / 2; ++k) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(k);
    g = unblended(g, dim, border_taps(self.size(dim), pad[2 * k], pad[2 * k + 1], reflect));
  }
  return g;
}

}  // namespace

#define TENON_BORDER(name, reflect)                                                         \
  Tensor name(const Tensor& self, IntArrayRef pad) { return pad_dims(self, pad, reflect); } \
  Tensor name##_backward(const Tensor& grad, const Tensor& self, IntArrayRef pad) {         \
    return pad_dims_backward(grad, self, pad, reflect);                                     \
  }
TENON_BORDER(reflection_pad1d, true)
TENON_BORDER(reflection_pad2d, true)
TENON_BORDER(reflection_pad3d, true)
TENON_BORDER(replication_pad1d, false)
TENON_BORDER(replication_pad2d, false)
TENON_BORDER(replication_pad3d, false)
#undef TENON_BORDER

}  // namespace tenon::decomp
