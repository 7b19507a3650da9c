// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of every kind over the three between real and complex numbers.
#include <algorithm>

#include "tenon/ops/complex.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/factory.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptInt = std::optional<int64_t>;
using Norm = std::optional<std::string_view>;

enum Normalization : int64_t { kNone, kByRoot, kByCount };

int64_t normalization(const char* op, const Norm& norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kByCount;
  if (*norm == "forward") return forward ? kByCount : kNone;
  TENON_CHECK(*norm == "ortho", ValueError, op, ": Invalid normalization mode: \"",
              std::string(*norm), "\"");
  return kByRoot;
}

// In float32 or float64, or of their complex types.
Tensor promoted(const char* op, const Tensor& t, bool complex) {
  ScalarType type = t.scalar_type();
  if (!isFloatingType(type) && !isComplexType(type)) type = get_default_dtype();
  const ScalarType real = toRealValueType(type);
  TENON_CHECK(real == kFloat || real == kDouble, NotImplementedError, op, ": Unsupported dtype ",
              toString(type));
  return t.to(complex ? toComplexType(type) : type);
}
void check_real(const char* op, const Tensor& t) {
  TENON_CHECK(!t.is_complex(), TypeError, op, " expects a real input tensor, but got ",
              toString(t.scalar_type()));
}

int64_t wrapped_dim(const char* op, int64_t d, int64_t rank) {
  TENON_CHECK(rank > 0, IndexError, op, ": Dimension specified as ", d,
              " but tensor has no dimensions");
  return wrap(op, d, rank);
}
void check_points(const char* op, int64_t n) {
  TENON_CHECK(n >= 1, ValueError, op, ": Invalid number of data points (", n, ") specified");
}

// Cut, or with zeros behind it.
Tensor resized(const Tensor& t, int64_t d, int64_t n) {
  if (t.size(d) >= n) return t.size(d) == n ? t : t.narrow(d, 0, n);
  std::vector<int64_t> border(static_cast<std::size_t>(2 * (t.dim() - d)), 0);
  border.back() = n - t.size(d);
  return tenon::constant_pad_nd(t, border, 0);
}

Tensor from_complex(const char* op, const Tensor& self, OptInt n, int64_t dim, const Norm& norm,
                    bool forward) {
  const int64_t d = wrapped_dim(op, dim, self.dim());
  check_points(op, n.value_or(self.size(d)));
  const Tensor x = promoted(op, self, true);
  return tenon::_fft_c2c(n ? resized(x, d, *n) : x, IntArrayRef(d),
                         normalization(op, norm, forward), forward);
}

Tensor from_real(const char* op, const Tensor& self, OptInt n, int64_t dim, const Norm& norm,
                 bool forward, bool onesided) {
  check_real(op, self);
  const int64_t d = wrapped_dim(op, dim, self.dim());
  check_points(op, n.value_or(self.size(d)));
  const Tensor x = promoted(op, self, false);
  const Tensor out = tenon::_fft_r2c(n ? resized(x, d, *n) : x, IntArrayRef(d),
                                     normalization(op, norm, forward), onesided);
  return forward ? out : tenon::conj(out);
}

// The forward transform is that of the conjugates backward.
Tensor to_real(const char* op, const Tensor& self, OptInt given, int64_t dim, const Norm& norm,
               bool forward) {
  const int64_t d = wrapped_dim(op, dim, self.dim());
  const int64_t n = given ? *given : 2 * (self.size(d) - 1);
  check_points(op, n);
  Tensor x = promoted(op, self, true);
  if (given) x = resized(x, d, n / 2 + 1);
  return tenon::_fft_c2r(forward ? tenon::conj(x) : x, IntArrayRef(d),
                         normalization(op, norm, forward), n);
}

// What a transform of several dimensions runs over, and the sizes there.
struct Extent {
  std::vector<int64_t> dim, size;
  Tensor of(Tensor t) const {
    for (std::size_t i = 0; i < dim.size(); ++i) t = resized(t, dim[i], size[i]);
    return t;
  }
  IntArrayRef but_last() const { return {dim.data(), dim.size() - 1}; }
  IntArrayRef last() const { return {dim.data() + dim.size() - 1, 1}; }
};

std::vector<int64_t> unique_dims(const char* op, IntArrayRef dim, int64_t rank) {
  std::vector<int64_t> out, sorted;
  for (const int64_t d : dim) out.push_back(wrapped_dim(op, d, rank));
  sorted = out;
  std::sort(sorted.begin(), sorted.end());
  TENON_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), ValueError, op,
              ": FFT dims must be unique, got ", dim);
  return out;
}

Extent extent(const char* op, const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim) {
  Extent e;
  const int64_t rank = self.dim(), count = s ? static_cast<int64_t>(s->size()) : rank;
  if (dim) {
    e.dim = unique_dims(op, *dim, rank);
    TENON_CHECK(!s || s->size() == dim->size(), ValueError, op,
                ": When given, dim and shape arguments must have the same length");
  } else {
    TENON_CHECK(count <= rank, ValueError, op, ": Got shape with ", count,
                " values but input tensor only has ", rank, " dimensions.");
    for (int64_t d = rank - count; d < rank; ++d) e.dim.push_back(d);
  }
  for (std::size_t i = 0; i < e.dim.size(); ++i) {
    const int64_t n = s && (*s)[i] != -1 ? (*s)[i] : self.size(e.dim[i]);
    check_points(op, n);
    e.size.push_back(n);
  }
  return e;
}
void check_any(const char* op, const Extent& e) {
  TENON_CHECK(!e.dim.empty(), ValueError, op, " must transform at least one axis");
}

// Of a half spectrum; its last size becomes that of the half, `real_size` is that of the result.
Extent extent_of_half(const char* op, const Tensor& self, OptionalIntArrayRef s,
                      OptionalIntArrayRef dim, int64_t* real_size) {
  Extent e = extent(op, self, s, dim);
  check_any(op, e);
  const bool given = s && (*s)[s->size() - 1] != -1;
  *real_size = given ? e.size.back() : 2 * (self.size(e.dim.back()) - 1);
  check_points(op, *real_size);
  e.size.back() = *real_size / 2 + 1;
  return e;
}

Tensor transformed_n(const char* op, const Tensor& self, OptionalIntArrayRef s,
                     OptionalIntArrayRef dim, const Norm& norm, bool forward) {
  const Extent e = extent(op, self, s, dim);
  return tenon::_fft_c2c(e.of(promoted(op, self, true)), e.dim, normalization(op, norm, forward),
                         forward);
}

}  // namespace

Tensor fft_fft(const Tensor& self, OptInt n, int64_t dim, Norm norm) {
  if (!self.is_complex()) return from_real("fft", self, n, dim, norm, true, false);
  return from_complex("fft", self, n, dim, norm, true);
}
Tensor fft_ifft(const Tensor& self, OptInt n, int64_t dim, Norm norm) {
  if (!self.is_complex()) return from_real("ifft", self, n, dim, norm, false, false);
  return from_complex("ifft", self, n, dim, norm, false);
}
Tensor fft_rfft(const Tensor& self, OptInt n, int64_t dim, Norm norm) {
  return from_real("rfft", self, n, dim, norm, true, true);
}
Tensor fft_irfft(const Tensor& self, OptInt n, int64_t dim, Norm norm) {
  return to_real("irfft", self, n, dim, norm, false);
}
Tensor fft_hfft(const Tensor& self, OptInt n, int64_t dim, Norm norm) {
  return to_real("hfft", self, n, dim, norm, true);
}
Tensor fft_ihfft(const Tensor& self, OptInt n, int64_t dim, Norm norm) {
  return from_real("ihfft", self, n, dim, norm, false, true);
}

Tensor fft_fftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  return transformed_n("fftn", self, s, dim, norm, true);
}
Tensor fft_ifftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  return transformed_n("ifftn", self, s, dim, norm, false);
}
Tensor fft_rfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const char* op = "rfftn";
  check_real(op, self);
  const Extent e = extent(op, self, s, dim);
  check_any(op, e);
  return tenon::_fft_r2c(e.of(promoted(op, self, false)), e.dim, normalization(op, norm, true),
                         true);
}
Tensor fft_irfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const char* op = "irfftn";
  int64_t n = 0;
  const Extent e = extent_of_half(op, self, s, dim, &n);
  return tenon::_fft_c2r(e.of(promoted(op, self, true)), e.dim, normalization(op, norm, false), n);
}
Tensor fft_hfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const char* op = "hfftn";
  int64_t n = 0;
  const Extent e = extent_of_half(op, self, s, dim, &n);
  const int64_t by = normalization(op, norm, true);
  Tensor x = e.of(promoted(op, self, true));
  if (e.dim.size() > 1) x = tenon::_fft_c2c(x, e.but_last(), by, true);
  return tenon::_fft_c2r(tenon::conj(x), e.last(), by, n);
}
Tensor fft_ihfftn(const Tensor& self, OptionalIntArrayRef s, OptionalIntArrayRef dim, Norm norm) {
  const char* op = "ihfftn";
  check_real(op, self);
  const Extent e = extent(op, self, s, dim);
  check_any(op, e);
  const int64_t by = normalization(op, norm, false);
  const Tensor x = e.of(promoted(op, self, false));
  const Tensor half = tenon::conj(tenon::_fft_r2c(x, e.last(), by, true));
  return e.dim.size() == 1 ? half : tenon::_fft_c2c(half, e.but_last(), by, false);
}

namespace {

TensorOptions frequency_options(const char* op, const TensorOptions& o) {
  const ScalarType t = o.has_dtype() ? o.dtype() : get_default_dtype();
  TENON_CHECK(isFloatingType(t) || isComplexType(t), ValueError, op,
              " requires a floating point or complex dtype, but got ", toString(t));
  return plain(o).dtype(t);
}

}  // namespace

Tensor fft_fftfreq(int64_t n, double d, const TensorOptions& options) {
  const TensorOptions o = frequency_options("fftfreq", options);
  TENON_CHECK(n >= 0, ValueError, "fftfreq: argument 'n' must not be negative, got ", n);
  const Tensor bins = tenon::cat({tenon::arange(n - n / 2, o), tenon::arange(-(n / 2), 0, o)}, 0);
  return bins * (1.0 / (static_cast<double>(n) * d));
}
Tensor fft_rfftfreq(int64_t n, double d, const TensorOptions& options) {
  const TensorOptions o = frequency_options("rfftfreq", options);
  const Tensor bins = tenon::arange(n / 2 + 1, o);
  return bins * (1.0 / (static_cast<double>(n) * d));
}

namespace {

// Rolled by the half of each size, rounded down or up.
Tensor shifted(const char* op, const Tensor& self, OptionalIntArrayRef dim, int64_t round) {
  std::vector<int64_t> dims, shifts;
  if (dim) {
    for (const int64_t d : *dim) dims.push_back(wrap(op, d, self.dim()));
  } else {
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  }
  TENON_CHECK(!dims.empty(), ValueError, op, ": `shifts` required");
  for (const int64_t d : dims) shifts.push_back((self.size(d) + round) / 2);
  return tenon::roll(self, shifts, dims);
}

}  // namespace

Tensor fft_fftshift(const Tensor& self, OptionalIntArrayRef dim) {
  return shifted("fftshift", self, dim, 0);
}
Tensor fft_ifftshift(const Tensor& self, OptionalIntArrayRef dim) {
  return shifted("ifftshift", self, dim, 1);
}

}  // namespace tenon::composite
