// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products written over mm, bmm, mv, dot and addmm.
#include <algorithm>

#include "tenon/core/infer.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using Sizes = std::vector<int64_t>;

int64_t product(IntArrayRef v) {
  int64_t n = 1;
  for (int64_t i : v) n *= i;
  return n;
}

// Leading sizes of both, broadcast.
Sizes batch_shape(const Tensor& a, const Tensor& b) {
  const int64_t na = a.dim() - 2, nb = b.dim() - 2, n = std::max(na, nb);
  Sizes out(static_cast<std::size_t>(n));
  for (int64_t d = 0; d < n; ++d) {
    const int64_t x = d < n - na ? 1 : a.size(d - (n - na)),
                  y = d < n - nb ? 1 : b.size(d - (n - nb));
    TENON_CHECK(x == y || x == 1 || y == 1, ValueError, "matmul: size ", x,
                " of self does not match size ", y, " of other at dimension ", d, " (", a.sizes(),
                ", ", b.sizes(), ")");
    out[static_cast<std::size_t>(d)] = x == 1 ? y : x;
  }
  return out;
}

Tensor with_batch(const Tensor& t, Sizes batch, int64_t count) {
  batch.push_back(t.size(-2));
  batch.push_back(t.size(-1));
  return t.expand(batch).reshape({count, t.size(-2), t.size(-1)});
}

// At least one of them has a batch, both are matrices at the end.
Tensor batched(const Tensor& a, const Tensor& b) {
  Sizes shape = batch_shape(a, b);
  const int64_t count = product(shape);
  TENON_CHECK(a.size(-1) == b.size(-2), ValueError,
              "matmul: shapes cannot be multiplied: ", a.sizes(), " and ", b.sizes());
  const Tensor out = with_batch(a, shape, count).bmm(with_batch(b, shape, count));
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  return out.reshape(shape);
}

// A batch of matrices times one matrix is one taller matrix times it.
Tensor matmul_flattened(const Tensor& a, const Tensor& b) {
  Sizes shape = a.sizes().vec();
  const int64_t inner = shape.back(), rows = product(IntArrayRef(shape).slice(0, shape.size() - 1));
  shape.pop_back();
  const Tensor flat = a.reshape({rows, inner});
  if (b.dim() == 1) return flat.mv(b).reshape(shape);
  shape.push_back(b.size(1));
  return flat.mm(b).reshape(shape);
}

}  // namespace

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim(), b = other.dim();
  TENON_CHECK(a > 0 && b > 0, ValueError,
              "matmul needs at least 1 dimension in both arguments, got ", a, " and ", b);
  if (a == 1 && b == 1) return self.dot(other);
  if (a == 2 && b == 1) return self.mv(other);
  if (a == 1 && b == 2) return self.unsqueeze(0).mm(other).squeeze(0);
  if (a == 2 && b == 2) return self.mm(other);
  if (b <= 2) return matmul_flattened(self, other);
  if (a == 1) return tenon::matmul(self.unsqueeze(0), other).squeeze(-2);
  return batched(self, other);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  const bool with_bias = bias && bias->defined();
  TENON_CHECK(input.dim() > 0, ValueError, "linear: input must have at least 1 dimension");
  TENON_CHECK(weight.dim() == 1 || weight.dim() == 2, ValueError,
              "linear: weight must have 1 or 2 dimensions, got ", weight.dim());
  if (weight.dim() == 1) {
    const Tensor out = tenon::matmul(input, weight);
    return with_bias ? out + *bias : out;
  }
  if (!with_bias) return tenon::matmul(input, weight.t());
  if (input.dim() == 2 && bias->dim() == 1) return tenon::addmm(*bias, input, weight.t());
  if (bias->dim() != 1) return tenon::matmul(input, weight.t()) + *bias;
  Sizes shape = input.sizes().vec();
  const int64_t rows = product(IntArrayRef(shape).slice(0, shape.size() - 1));
  shape.back() = weight.size(0);
  return tenon::addmm(*bias, input.reshape({rows, input.size(-1)}), weight.t()).reshape(shape);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const std::optional<Tensor>& bias) {
  TENON_CHECK(input1.dim() == input2.dim(), ValueError,
              "bilinear: input1 and input2 must have as many dimensions, got ", input1.dim(),
              " and ", input2.dim());
  TENON_CHECK(weight.dim() == 3 && input1.dim() > 0 && input1.size(-1) == weight.size(1) &&
                  input2.size(-1) == weight.size(2),
              ValueError, "bilinear: weight ", weight.sizes(), " does not fit inputs ",
              input1.sizes(), " and ", input2.sizes());
  Sizes shape = input1.sizes().vec();
  shape.pop_back();
  TENON_CHECK(IntArrayRef(shape) == input2.sizes().slice(0, shape.size()), ValueError,
              "bilinear: the leading sizes of the inputs differ: ", input1.sizes(), " and ",
              input2.sizes());
  const int64_t rows = product(shape), filters = weight.size(0), n1 = weight.size(1),
                n2 = weight.size(2);
  shape.push_back(filters);
  // [rows, n1] x [n1, filters * n2], then the filters of each row against input2.
  const Tensor left =
      input1.reshape({rows, n1}).mm(weight.permute({1, 0, 2}).reshape({n1, filters * n2}));
  const Tensor out =
      left.reshape({rows, filters, n2}).bmm(input2.reshape({rows, n2, 1})).reshape(shape);
  return bias && bias->defined() ? out + *bias : out;
}

Tensor vdot(const Tensor& self, const Tensor& other) { return tenon::conj(self).dot(other); }

Tensor outer(const Tensor& self, const Tensor& vec2) {
  TENON_CHECK(self.dim() == 1 && vec2.dim() == 1, ValueError,
              "outer: expected two 1-D tensors, got shapes ", self.sizes(), " and ", vec2.sizes());
  return self.unsqueeze(1) * vec2;
}

Tensor ger(const Tensor& self, const Tensor& vec2) { return tenon::outer(self, vec2); }

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return self * other;
  TENON_CHECK(self.size(-1) == other.size(-1), ValueError,
              "inner: the last sizes differ: ", self.sizes(), " and ", other.sizes());
  Sizes shape = self.sizes().vec();
  shape.pop_back();
  const int64_t n = self.size(-1), rows = product(shape);
  const int64_t cols = product(other.sizes().slice(0, static_cast<std::size_t>(other.dim() - 1)));
  for (int64_t d = 0; d + 1 < other.dim(); ++d) shape.push_back(other.size(d));
  return self.reshape({rows, n}).mm(other.reshape({cols, n}).t()).reshape(shape);
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  const Tensor product = tenon::outer(wide(vec1), wide(vec2));
  const ScalarType narrow = promoted_type(vec1, vec2);
  const bool whole =
      isIntegralType(self.scalar_type(), true) && isIntegralType(product.scalar_type(), true);
  for (const Scalar* s : {&beta, &alpha}) {
    TENON_CHECK(!whole || !s->isFloatingPoint(), TypeError,
                "addr: For integral input tensors, argument ", s == &beta ? "beta" : "alpha",
                " must not be a floating point number.");
  }
  const ScalarType result = tenon::promote_types(self.scalar_type(), narrow);
  for (const Scalar* s : {&beta, &alpha}) {
    const char* name = s == &beta ? "beta" : "alpha";
    TENON_CHECK(result == kBool || !s->isBoolean(), TypeError, "addr: Boolean ", name,
                " only supported for Boolean results.");
    core::check_fits("addr", name, *s, result);
  }
  if (self.scalar_type() == kBool && product.scalar_type() == kBool) {
    const Tensor scaled = tenon::logical_and(product, tenon::full_like(product, alpha.toBool()));
    if (!beta.toBool()) return tenon::logical_or(scaled, tenon::zeros_like(self));
    return tenon::logical_or(scaled, self);
  }
  const Tensor scaled = alpha.equal(1) ? product : product * alpha;
  // NaN of self is left out, and so is its gradient.
  const Tensor own = beta.equal(0)
                         ? self.masked_fill(tenon::ones_like(self, TensorOptions().dtype(kBool)), 0)
                     : beta.equal(1) ? wide(self)
                                     : wide(self) * beta;
  // A 0-dim self does not widen the product.
  const bool narrow_scalar = self.dim() == 0 && isFloatingType(narrow);
  const ScalarType to = narrow_scalar ? narrow : result;
  return is_short_float(to) ? as(own + scaled, to) : own + scaled;
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  TENON_CHECK(batch1.dim() == 3 && batch2.dim() == 3, ValueError,
              "addbmm: batch1 and batch2 must have 3 dimensions, ", "got shapes ", batch1.sizes(),
              " and ", batch2.sizes());
  TENON_CHECK(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1), ValueError,
              "addbmm: shapes cannot be multiplied: ", batch1.sizes(), " and ", batch2.sizes());
  // The sum over the batch is part of the sum of one product.
  const int64_t inner = batch1.size(0) * batch1.size(2);
  const Tensor left = batch1.permute({1, 0, 2}).reshape({batch1.size(1), inner});
  return tenon::addmm(self, left, batch2.reshape({inner, batch2.size(2)}), beta, alpha);
}

namespace {
// Cheapest order of multiplications, by dynamic programming: split[i][j] cuts the product of
// matrices i to j.
Tensor multiply_range(TensorList m, const std::vector<Sizes>& split, std::size_t i, std::size_t j) {
  if (i == j) return m[i];
  const std::size_t k = static_cast<std::size_t>(split[i][j]);
  return multiply_range(m, split, i, k).mm(multiply_range(m, split, k + 1, j));
}
}  // namespace

Tensor chain_matmul(TensorList matrices) {
  const std::size_t n = matrices.size();
  TENON_CHECK(n > 0, ValueError, "chain_matmul: expected at least one matrix");
  for (const Tensor& t : matrices) {
    TENON_CHECK(t.dim() == 2, ValueError, "chain_matmul: expected matrices, got shape ", t.sizes());
  }
  std::vector<Sizes> split(n, Sizes(n, 0));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  const auto rows = [&](std::size_t i) { return static_cast<double>(matrices[i].size(0)); };
  const auto cols = [&](std::size_t i) { return static_cast<double>(matrices[i].size(1)); };
  for (std::size_t length = 2; length <= n; ++length) {
    for (std::size_t i = 0; i + length <= n; ++i) {
      const std::size_t j = i + length - 1;
      for (std::size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + rows(i) * cols(k) * cols(j);
        if (k == i || c < cost[i][j]) cost[i][j] = c, split[i][j] = static_cast<int64_t>(k);
      }
    }
  }
  return multiply_range(matrices, split, 0, n - 1);
}

}  // namespace tenon::composite
