// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for devices without a library of them: products with the matrix of the
// transform. A length n1 n2 takes two, with n1 and n2 columns, and twiddle factors in between.
#include <cmath>

#include "tenon/ops/complex.h"
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

using composite::joined;

constexpr double kPi = 3.14159265358979323846;

// exp(+-2 pi i j k / n) for j < rows, k < columns, from a table that the host computes.
Tensor roots(int64_t rows, int64_t columns, int64_t n, bool forward, const Tensor& like) {
  std::vector<double> re, im;
  for (int64_t k = 0; k < n; ++k) {
    const double angle = 2 * kPi * (static_cast<double>(k) / static_cast<double>(n));
    re.push_back(std::cos(angle));
    im.push_back(forward ? -std::sin(angle) : std::sin(angle));
  }
  const Tensor turns = tenon::remainder(
      positions(rows, like).unsqueeze(1) * positions(columns, like).unsqueeze(0), n);
  const auto part = [&](const std::vector<double>& table) {
    const Tensor t = constants_like(table, {n}, like, toRealValueType(like.scalar_type()));
    return gather_slices(t, 0, turns.reshape({-1})).reshape({rows, columns});
  };
  return joined(part(re), part(im));
}

int64_t factor_near_root(int64_t n) {
  for (int64_t f = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); f > 1; --f) {
    if (n % f == 0) return f;
  }
  return 1;
}

// The rows of x [m, n].
Tensor transformed_rows(const Tensor& x, bool forward) {
  const int64_t m = x.size(0), n = x.size(1), n1 = n > 16 ? factor_near_root(n) : 1, n2 = n / n1;
  if (n1 == 1) return tenon::mm(x, roots(n, n, n, forward, x));
  const Tensor columns = x.reshape({m, n1, n2}).transpose(1, 2).reshape({m * n2, n1});
  const Tensor first =
      transformed_rows(columns, forward).reshape({m, n2, n1}) * roots(n2, n1, n, forward, x);
  const Tensor second = transformed_rows(first.transpose(1, 2).reshape({m * n1, n2}), forward);
  return second.reshape({m, n1, n2}).transpose(1, 2).reshape({m, n});
}

Tensor transformed(const Tensor& x, int64_t dim, bool forward) {
  const Tensor last = x.transpose(dim, -1);
  const Tensor rows = last.reshape({x.numel() / x.size(dim), x.size(dim)});
  return transformed_rows(rows, forward).reshape(last.sizes()).transpose(dim, -1);
}

// In double precision: a sum of n rounded products would miss by more than a fast transform does.
Tensor transformed_in_double(const Tensor& x, IntArrayRef dims, bool forward) {
  Tensor out = x.to(ScalarType::ComplexDouble);
  for (const int64_t d : dims) out = transformed(out, d, forward);
  return out.to(x.scalar_type());
}

Tensor normalized(const Tensor& t, double points, int64_t normalization) {
  if (normalization == 0) return t;
  return t * (normalization == 1 ? 1 / std::sqrt(points) : 1 / points);
}

double points_of(const Tensor& t, IntArrayRef dims) {
  double n = 1;
  for (const int64_t d : dims) n *= static_cast<double>(t.size(d));
  return n;
}

}  // namespace

Tensor complex__fft_c2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward) {
  if (self.numel() == 0 || dim.empty()) return self.clone();
  return normalized(transformed_in_double(self, dim, forward), points_of(self, dim), normalization);
}

Tensor _fft_r2c(const Tensor& self, IntArrayRef dim, int64_t normalization, bool onesided) {
  const int64_t d = dim[dim.size() - 1];
  const Tensor whole =
      complex__fft_c2c(joined(self, tenon::zeros_like(self)), dim, normalization, true);
  return onesided ? whole.narrow(d, 0, self.size(d) / 2 + 1) : whole;
}

// What the half leaves out are the conjugates of its elements between the first and the middle, in
// descending order. Those two, of an odd n only the first, count as real.
Tensor complex__fft_c2r(const Tensor& self, IntArrayRef dim, int64_t normalization,
                        int64_t last_dim_size) {
  const IntArrayRef others(dim.data(), dim.size() - 1);
  const int64_t d = dim[dim.size() - 1], n = last_dim_size, left_out = n - (n / 2 + 1);
  const Tensor half = complex__fft_c2c(self, others, 0, false).narrow(d, 0, n / 2 + 1);
  const auto real_part = [](const Tensor& t) { return tenon::real(t).to(t.scalar_type()); };
  std::vector<Tensor> parts = {real_part(half.narrow(d, 0, 1)), half.narrow(d, 1, left_out)};
  if (n % 2 == 0) parts.push_back(real_part(half.narrow(d, n / 2, 1)));
  parts.push_back(tenon::conj(parts[1].flip(d)));
  const Tensor whole = tenon::cat(parts, d);
  const Tensor out = tenon::real(complex__fft_c2c(whole, IntArrayRef(d), 0, false));
  return normalized(out, points_of(out, dim), normalization);
}

}  // namespace tenon::decomp
