// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Factories over empty, fill and the kernels of positions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/batching/level.h"
#include "tenon/core/sizes.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/factory.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

TensorOptions options_like(const Tensor& self, const TensorOptions& o) {
  return self.options().requires_grad(std::nullopt).merge_in(o);
}

void check_window(int64_t n, const TensorOptions& o) {
  TENON_CHECK(n >= 0, ValueError, "window: requires non-negative window_length, got ", n);
  TENON_CHECK(!o.has_dtype() || isFloatingType(o.dtype()), ValueError,
              "window: expects floating point dtypes, got ", toString(o.dtype()));
}
Tensor make_window(int64_t n, bool periodic, const TensorOptions& o,
                   Tensor (*shape)(const Tensor& phase)) {
  check_window(n, o);
  if (n <= 1) return tenon::ones({n}, o);
  // `phase` runs over [0, 1]; a periodic window leaves out the last point.
  Tensor steps =
      tenon::arange(n, plain(o).dtype(o.dtype())).div(static_cast<double>(periodic ? n : n - 1));
  return shape(steps);
}
Tensor hann(const Tensor& p) { return p.mul(2 * M_PI).cos().mul(-0.5).add(0.5); }
Tensor hamming(const Tensor& p) { return p.mul(2 * M_PI).cos().mul(-0.46).add(0.54); }
Tensor bartlett(const Tensor& p) { return p.mul(2).sub(1).abs().neg().add(1); }
Tensor blackman(const Tensor& p) {
  return p.mul(4 * M_PI).cos().mul(0.08) - p.mul(2 * M_PI).cos().mul(0.5) + 0.42;
}

}  // namespace

namespace {
// Of a batched tensor a new one has a slice for each of its slices, to write to.
template <class Make>
Tensor made_like(const Tensor& self, IntArrayRef size, const Make& make) {
  if (!batching::is_batched(self)) return make(self, size);
  const core::Batch& of = *self.unsafeGetTensorImpl()->batch;
  const Tensor value(core::Impl::share(of.value));
  std::vector<int64_t> sizes = size.vec();
  sizes.insert(sizes.begin(), of.level->size);
  return batching::make_batched(made_like(value, sizes, make), 0, *of.level);
}
}  // namespace

Tensor new_empty(const Tensor& self, IntArrayRef size, const TensorOptions& o) {
  return made_like(self, size, [&](const Tensor& like, IntArrayRef sizes) {
    return empty(sizes, options_like(like, o));
  });
}
Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                         const TensorOptions& o) {
  return empty_strided(size, stride, options_like(self, o));
}

Tensor zeros(IntArrayRef size, const TensorOptions& o) {
  return empty(size, plain(o), o.memory_format_opt()).zero_();
}
Tensor zeros_like(const Tensor& self, const TensorOptions& o, std::optional<MemoryFormat> f) {
  return empty_like(self, plain(o), o.memory_format_opt(f)).zero_();
}
Tensor new_zeros(const Tensor& self, IntArrayRef size, const TensorOptions& o) {
  return made_like(self, size, [&](const Tensor& like, IntArrayRef sizes) {
    return tenon::zeros(sizes, options_like(like, o));
  });
}

Tensor ones(IntArrayRef size, const TensorOptions& o) {
  return empty(size, plain(o), o.memory_format_opt()).fill_(1);
}
Tensor ones_like(const Tensor& self, const TensorOptions& o, std::optional<MemoryFormat> f) {
  return empty_like(self, plain(o), o.memory_format_opt(f)).fill_(1);
}
Tensor new_ones(const Tensor& self, IntArrayRef size, const TensorOptions& o) {
  return made_like(self, size, [&](const Tensor& like, IntArrayRef sizes) {
    return tenon::ones(sizes, options_like(like, o));
  });
}

Tensor full(IntArrayRef size, const Scalar& v, const TensorOptions& o) {
  TensorOptions with = plain(o);
  if (!o.has_dtype())
    with = with.dtype(v.isFloatingPoint() ? get_default_dtype()
                      : v.isComplex()     ? toComplexType(get_default_dtype())
                                          : v.type());
  return empty(size, with, o.memory_format_opt()).fill_(v);
}
Tensor full_like(const Tensor& self, const Scalar& v, const TensorOptions& o,
                 std::optional<MemoryFormat> f) {
  return empty_like(self, plain(o), o.memory_format_opt(f)).fill_(v);
}
Tensor new_full(const Tensor& self, IntArrayRef size, const Scalar& v, const TensorOptions& o) {
  return made_like(self, size, [&](const Tensor& like, IntArrayRef sizes) {
    return tenon::full(sizes, v, options_like(like, o));
  });
}
Tensor scalar_tensor(const Scalar& s, const TensorOptions& o) {
  // In a 16-bit float a value beyond it is an infinity.
  const ScalarType t = o.dtype_opt().value_or(get_default_dtype());
  if (t != kHalf && t != kBFloat16) return empty(IntArrayRef(), plain(o)).fill_(s);
  return empty(IntArrayRef(), plain(o).dtype(kDouble)).fill_(s).to(t);
}

Tensor arange(const Scalar& end, const TensorOptions& o) {
  return tenon::arange(Scalar(0), end, Scalar(1), o);
}
Tensor arange_start(const Scalar& start, const Scalar& end, const TensorOptions& o) {
  return tenon::arange(start, end, Scalar(1), o);
}

Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step,
                  const TensorOptions& o) {
  double a = start.toDouble(), b = end.toDouble(), s = step.toDouble();
  TENON_CHECK(s != 0 && (b - a) / s >= 0, ValueError, "range: end ", b, " is not reached from ", a,
              " by steps of ", s);
  TENON_CHECK((b - a) / s < 0x1p62, ValueError, "range: too many steps of ", s, " from ", a, " to ",
              b);
  int64_t n = static_cast<int64_t>(std::floor((b - a) / s)) + 1;
  ScalarType dtype = o.dtype();
  Tensor steps = tenon::arange(Scalar(0), Scalar(n), Scalar(1),
                               plain(o).dtype(isFloatingType(dtype) ? kDouble : dtype));
  return steps.mul(step).add(start).to(dtype);
}
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& o) {
  return tenon::range(start, end, Scalar(1), o);
}

Tensor linspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps,
                              const TensorOptions& o) {
  TENON_CHECK(start.dim() == 0 && end.dim() == 0, ValueError,
              "linspace: the ends must have 0 dimensions");
  return tenon::linspace(start.item(), end.item(), steps, o);
}
Tensor linspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps,
                              const TensorOptions& o) {
  TENON_CHECK(start.dim() == 0, ValueError, "linspace: argument 'start' must have 0 dimensions");
  return tenon::linspace(start.item(), end, steps, o);
}
Tensor linspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps,
                              const TensorOptions& o) {
  TENON_CHECK(end.dim() == 0, ValueError, "linspace: argument 'end' must have 0 dimensions");
  return tenon::linspace(start, end.item(), steps, o);
}
Tensor logspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps, double base,
                              const TensorOptions& o) {
  TENON_CHECK(start.dim() == 0 && end.dim() == 0, ValueError,
              "logspace: the ends must have 0 dimensions");
  return tenon::logspace(start.item(), end.item(), steps, base, o);
}
Tensor logspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps, double base,
                              const TensorOptions& o) {
  TENON_CHECK(start.dim() == 0, ValueError, "logspace: argument 'start' must have 0 dimensions");
  return tenon::logspace(start.item(), end, steps, base, o);
}
Tensor logspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps, double base,
                              const TensorOptions& o) {
  TENON_CHECK(end.dim() == 0, ValueError, "logspace: argument 'end' must have 0 dimensions");
  return tenon::logspace(start, end.item(), steps, base, o);
}

Tensor eye(int64_t n, const TensorOptions& o) { return tenon::eye(n, n, o); }

namespace {
// Elements (i, j) with j - i <= offset; offset in [-row, col].
core::Size elements_below(int64_t row, int64_t col, int64_t offset) {
  // Row i has min(i + offset + 1, col) of them, where that is positive: first fewer than col, then
  // all.
  const int64_t from = std::max<int64_t>(0, -offset),
                to = std::clamp<int64_t>(col - offset, from, row);
  const core::Size rising = to - from, first = from + offset + 1, last = to + offset;
  return rising * (first + last) / 2 + core::Size(row - to) * col;
}

// Row and column numbers of elements from columns [from(i), to(i)) of each row, n in all, as one
// tensor of two rows.
template <class From, class To>
Tensor triangle_indices(int64_t row, int64_t n, const TensorOptions& o, From from, To to) {
  Tensor host = empty({2, n}, TensorOptions(kLong));
  int64_t *rows = host.data_ptr<int64_t>(), *columns = rows + n;
  for (int64_t i = 0; n > 0 && i < row; ++i) {
    for (int64_t j = from(i); j < to(i) && n > 0; ++j, --n) {
      *rows++ = i;
      *columns++ = j;
    }
  }
  return host.to(plain(o).dtype(o.has_dtype() ? o.dtype() : kLong));
}

void check_matrix(const char* op, int64_t row, int64_t col) {
  TENON_CHECK(row >= 0 && col >= 0, ValueError, op, ": sizes ", row, " and ", col,
              " must not be negative");
  constexpr int64_t kLimit = int64_t{1} << 61;
  TENON_CHECK(row <= kLimit && col <= kLimit, ValueError, op, ": sizes ", row, " and ", col,
              " are too large");
}
}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& o) {
  check_matrix("tril_indices", row, col);
  offset = std::clamp(offset, -row, col);
  const int64_t n =
      col == 0 ? 0 : elements_below(row, col, offset).get("tril_indices", "the number of indices");
  // Rows without elements come first.
  const int64_t skipped = std::min(row, std::max<int64_t>(0, -offset));
  const auto to = [&](int64_t i) { return std::min(i + skipped + offset + 1, col); };
  Tensor r = triangle_indices(
      row - skipped, n, o, [](int64_t) { return 0; }, to);
  if (skipped != 0 && n != 0) r.select(0, 0).add_(skipped);
  return r;
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& o) {
  check_matrix("triu_indices", row, col);
  offset = std::clamp(offset, -row, col);
  const core::Size below =
      col == 0 || offset == -row ? core::Size(0) : elements_below(row, col, offset - 1);
  const int64_t n = (core::Size(row) * col - below).get("triu_indices", "the number of indices");
  const auto from = [&](int64_t i) { return std::clamp<int64_t>(i + offset, 0, col); };
  return triangle_indices(row, n, o, from, [&](int64_t) { return col; });
}

Tensor hann_window(int64_t n, const TensorOptions& o) { return make_window(n, true, o, hann); }
Tensor hann_window_periodic(int64_t n, bool periodic, const TensorOptions& o) {
  return make_window(n, periodic, o, hann);
}
Tensor hamming_window(int64_t n, const TensorOptions& o) {
  return make_window(n, true, o, hamming);
}
Tensor hamming_window_periodic(int64_t n, bool periodic, const TensorOptions& o) {
  return make_window(n, periodic, o, hamming);
}
Tensor hamming_window_periodic_alpha(int64_t n, bool periodic, double alpha,
                                     const TensorOptions& o) {
  return tenon::hamming_window(n, periodic, alpha, 0.46, o);
}
Tensor hamming_window_periodic_alpha_beta(int64_t n, bool periodic, double alpha, double beta,
                                          const TensorOptions& o) {
  const Tensor phase = make_window(n, periodic, o, [](const Tensor& p) { return p; });
  return n <= 1 ? phase : phase.mul(2 * M_PI).cos().mul(-beta).add(alpha);
}
Tensor blackman_window(int64_t n, const TensorOptions& o) {
  return make_window(n, true, o, blackman);
}
Tensor blackman_window_periodic(int64_t n, bool periodic, const TensorOptions& o) {
  return make_window(n, periodic, o, blackman);
}
Tensor kaiser_window(int64_t n, const TensorOptions& o) {
  return tenon::kaiser_window(n, true, 12.0, o);
}
Tensor kaiser_window_periodic(int64_t n, bool periodic, const TensorOptions& o) {
  return tenon::kaiser_window(n, periodic, 12.0, o);
}
Tensor kaiser_window_beta(int64_t n, bool periodic, double beta, const TensorOptions& o) {
  const Tensor phase = make_window(n, periodic, o, [](const Tensor& p) { return p; });
  if (n <= 1) return phase;
  const Tensor inside = phase.to(kDouble).mul(2).sub(1).square().neg().add(1).clamp_min(0);
  const Tensor top = tenon::i0(tenon::full({}, beta, inside.options()));
  return (tenon::i0(inside.sqrt() * beta) / top).to(phase.scalar_type());
}
Tensor bartlett_window(int64_t n, const TensorOptions& o) {
  return make_window(n, true, o, bartlett);
}
Tensor bartlett_window_periodic(int64_t n, bool periodic, const TensorOptions& o) {
  return make_window(n, periodic, o, bartlett);
}

}  // namespace tenon::composite
