// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators over sort, searchsorted and repeat_interleave.
#include <algorithm>
#include <vector>

#include "tenon/core/infer.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return tenon::sort(self, std::optional<bool>(false), dim, descending);
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(tenon::sort(self, std::optional<bool>(false), dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool, int64_t dim, bool descending) {
  return std::get<1>(tenon::sort(self, std::optional<bool>(true), dim, descending));
}
Tensor msort(const Tensor& self) {
  return std::get<0>(tenon::sort(self, std::optional<bool>(false), 0, false));
}

Tensor searchsorted_Scalar(const Tensor& row, const Scalar& v, bool out_int32, bool right,
                           std::optional<std::string_view> side,
                           const std::optional<Tensor>& sorter) {
  // A fraction lies between integers, and other values beyond all of them.
  const bool whole = isIntegralType(row.scalar_type(), true);
  const Tensor sorted = whole && v.isFloatingPoint()                 ? row.to(kDouble)
                        : whole && !core::fits(v, row.scalar_type()) ? row.to(kLong)
                                                                     : row;
  return tenon::searchsorted(sorted,
                             tenon::scalar_tensor(v, sorted.options().requires_grad(std::nullopt)),
                             out_int32, right, side, sorter);
}
Tensor bucketize_Tensor(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  TENON_CHECK(boundaries.dim() == 1, ValueError,
              "bucketize: argument 'boundaries' must have 1 dimension, got ", boundaries.dim());
  ScalarType wide = tenon::promote_types(self.scalar_type(), boundaries.scalar_type());
  return tenon::searchsorted(boundaries.to(wide), self.to(wide), out_int32, right);
}
Tensor bucketize_Scalar(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  return tenon::searchsorted(boundaries, self, out_int32, right);
}

Tensor isin_Tensor_Tensor(const Tensor& elements, const Tensor& test, bool, bool invert) {
  NoGradGuard no_grad;
  ScalarType wide = tenon::promote_types(elements.scalar_type(), test.scalar_type());
  Tensor among = std::get<0>(tenon::sort(test.reshape({-1}).to(wide), 0, false)),
         of = elements.to(wide);
  Tensor found;
  if (among.numel() == 0) {
    found = tenon::zeros(elements.sizes(), TensorOptions(kBool).device(elements.device()));
  } else if (wide == kBool) {
    found = of.unsqueeze(-1).eq(among).any(-1);
  } else {
    Tensor at = tenon::searchsorted(among, of.contiguous()).clamp_max(among.numel() - 1);
    found = among.take(at).eq(of);
  }
  return invert ? found.logical_not() : found;
}

Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  TENON_CHECK(self.dim() == 1 && isIntegralType(self.scalar_type()), ValueError,
              "bincount: expected a vector of integers");
  TENON_CHECK(minlength >= 0, ValueError,
              "bincount: argument 'minlength' must not be negative, got ", minlength);
  TENON_CHECK(!weights || weights->sizes() == self.sizes(), ValueError,
              "bincount: 'weights' must have the shape of 'self'");
  NoGradGuard no_grad;
  int64_t bins = minlength;
  if (self.numel() > 0) {
    int64_t smallest = self.min().item().toLong();
    TENON_CHECK(smallest >= 0, ValueError, "bincount: value ", smallest, " is negative");
    bins = std::max(bins, self.max().item().toLong() + 1);
  }
  Tensor at = self.to(kLong);
  Tensor amount = !weights                           ? tenon::ones_like(at)
                  : weights->scalar_type() == kFloat ? *weights
                                                     : weights->to(kDouble);
  return tenon::zeros({bins}, amount.options()).index_add_(0, at, amount);
}

Tensor repeat_interleave_self_Tensor(const Tensor& self, const Tensor& repeats,
                                     std::optional<int64_t> dim,
                                     std::optional<int64_t> output_size) {
  Tensor of = dim ? self : self.reshape({-1});
  int64_t d = dim.value_or(0);
  TENON_CHECK(repeats.dim() <= 1, ValueError,
              "repeat_interleave: argument 'repeats' must have at most 1 dimension");
  if (of.dim() == 0) of = of.reshape({1});
  int64_t n = of.size(d);
  Tensor counts = repeats.dim() == 0 || repeats.numel() == 1
                      ? repeats.reshape({1}).expand(IntArrayRef(n)).contiguous()
                      : repeats;
  TENON_CHECK(counts.numel() == n, ValueError, "repeat_interleave: 'repeats' holds ",
              repeats.numel(), " entries but dimension ", d, " has size ", n);
  return of.index_select(d, tenon::repeat_interleave(counts, output_size));
}
Tensor repeat_interleave_self_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                                  std::optional<int64_t> output_size) {
  TENON_CHECK(repeats >= 0, ValueError, "repeat_interleave: repeats is ", repeats,
              " but must not be negative");
  Tensor of = dim ? self : self.reshape({-1});
  if (of.dim() == 0) of = of.reshape({1});
  int64_t d = wrap("repeat_interleave", dim.value_or(0), of.dim());
  std::vector<int64_t> wide = of.sizes().vec(), joined = wide;
  wide.insert(wide.begin() + d + 1, repeats);
  int64_t& length = joined[static_cast<std::size_t>(d)];
  length = (core::Size(length) * repeats).get("repeat_interleave", "the size of the result");
  TENON_CHECK(output_size.value_or(length) == length, ValueError,
              "repeat_interleave: argument 'output_size' is ", *output_size, " but the result has ",
              length, " slices");
  return of.unsqueeze(d + 1).expand(wide).clone(MemoryFormat::Contiguous).view(joined);
}

}  // namespace tenon::composite
