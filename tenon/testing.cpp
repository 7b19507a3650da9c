// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/testing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tenon/autograd/mode.h"
#include "tenon/indexing.h"
#include "tenon/ops.h"

namespace tenon::testing {
namespace {

bool is_inexact(ScalarType dtype) { return isFloatingType(dtype) || isComplexType(dtype); }

std::string percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%",
                100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

// "(1, 2)", as Python's tuples.
std::string index_text(int64_t flat, IntArrayRef sizes) {
  std::string text;
  for (std::size_t d = sizes.size(); d-- > 0; flat /= sizes[d])
    text = core::join(flat % sizes[d], text.empty() ? "" : ", ", text);
  return core::join("(", text, sizes.size() == 1 ? ",)" : ")");
}

std::string number_text(const Tensor& scalar) {
  if (isComplexType(scalar.scalar_type()))
    return core::join("(", real(scalar).item<double>(), ", ", imag(scalar).item<double>(), ")");
  return isFloatingType(scalar.scalar_type()) ? core::join(scalar.item<double>())
                                              : core::join(scalar.item<int64_t>());
}

std::string allowed_text(double bound) { return core::join(" (up to ", bound, " allowed)\n"); }

struct Worst {
  double value;
  int64_t index;
};
Worst worst_of(const Tensor& differences) {
  const auto [value, index] = differences.max(0);
  return {value.item<double>(), index.item<int64_t>()};
}

// Of flat operands in float64, complex128 or int64; zero where they are close.
struct Differences {
  Tensor absolute, relative;
  Differences(const Tensor& actual, const Tensor& expected, const Tensor& close)
      : absolute((actual - expected).abs().to(kDouble).masked_fill_(close, 0)),
        relative((absolute / expected.abs()).masked_fill_(close, 0)) {}
};

std::string mismatch_text(const Tensor& actual, const Tensor& expected, const Tensor& close,
                          Tolerances t) {
  const ScalarType wide = isComplexType(actual.scalar_type())    ? kComplexDouble
                          : isFloatingType(actual.scalar_type()) ? kDouble
                                                                 : kLong;
  const Differences d(actual.reshape({-1}).to(wide), expected.reshape({-1}).to(wide),
                      close.reshape({-1}));
  const Worst absolute = worst_of(d.absolute), relative = worst_of(d.relative);
  const bool exact = t.rtol == 0 && t.atol == 0;
  const std::string kind = exact ? "equal" : "close";
  if (actual.dim() == 0) {
    return core::join("Scalars are not ", kind, "!\n\nExpected ", number_text(expected),
                      " but got ", number_text(actual), ".\nAbsolute difference: ", absolute.value,
                      exact ? "\n" : allowed_text(t.atol), "Relative difference: ", relative.value,
                      exact ? "\n" : allowed_text(t.rtol));
  }
  const int64_t total = close.numel(), wrong = total - close.sum().item<int64_t>();
  return core::join(
      "Tensor-likes are not ", kind, "!\n\nMismatched elements: ", wrong, " / ", total, " (",
      percent(wrong, total), ")\nGreatest absolute difference: ", absolute.value, " at index ",
      index_text(absolute.index, actual.sizes()), exact ? "\n" : allowed_text(t.atol),
      "Greatest relative difference: ", relative.value, " at index ",
      index_text(relative.index, actual.sizes()), exact ? "\n" : allowed_text(t.rtol));
}

template <class A>
std::string attribute_text(const char* name, const A& actual, const A& expected) {
  return core::join("The values for attribute '", name, "' do not match: ", actual,
                    " != ", expected, ".");
}

// What differs beside values; empty if nothing does that must not.
std::string attributes_text(const Tensor& a, const Tensor& e, const AssertCloseOptions& o) {
  if (a.sizes() != e.sizes()) return attribute_text("shape", a.sizes(), e.sizes());
  if (o.check_layout() && a.layout() != e.layout())
    return attribute_text("layout", toString(a.layout()), toString(e.layout()));
  if (o.check_device() && a.device() != e.device())
    return attribute_text("device", a.device().str(), e.device().str());
  if (o.check_dtype() && a.scalar_type() != e.scalar_type())
    return attribute_text("dtype", dtype_name(a.scalar_type()), dtype_name(e.scalar_type()));
  const bool strided = a.layout() == kStrided && e.layout() == kStrided;
  if (o.check_stride() && strided && a.strides() != e.strides())
    return attribute_text("stride()", a.strides(), e.strides());
  return {};
}

Tolerances tolerances_of(const Tensor& a, const Tensor& e, const AssertCloseOptions& o) {
  TENON_CHECK(o.rtol().has_value() == o.atol().has_value(), ValueError,
              "assert_close: rtol and atol must be given together, got ",
              o.rtol() ? "rtol" : "atol", " alone");
  if (o.rtol()) return {*o.rtol(), *o.atol()};
  const Tolerances x = default_tolerances(a.scalar_type()), y = default_tolerances(e.scalar_type());
  return {std::max(x.rtol, y.rtol), std::max(x.atol, y.atol)};
}

Tensor comparable(const Tensor& t, ScalarType dtype) {
  const Tensor here = t.detach().cpu();
  return (here.layout() == kStrided ? here : here.to_dense()).to(dtype);
}

// What differs; empty if the two are close.
std::string difference_text(const Tensor& a, const Tensor& e, const AssertCloseOptions& o) {
  if (!a.defined() && !e.defined()) return {};
  TENON_CHECK(a.defined() && e.defined(), ValueError, "assert_close: the ",
              a.defined() ? "expected" : "actual", " tensor is undefined");
  const Tolerances t = tolerances_of(a, e, o);
  std::string text = attributes_text(a, e, o);
  if (!text.empty()) return text;
  const ScalarType dtype = promote_types(a.scalar_type(), e.scalar_type());
  const Tensor x = comparable(a, dtype), y = comparable(e, dtype);
  const Tensor close = isclose(x, y, t.rtol, t.atol, o.equal_nan());
  return close.all().item<bool>() ? std::string() : mismatch_text(x, y, close, t);
}

void fill_gap(Tensor gap) {
  if (is_inexact(gap.scalar_type())) {
    gap.fill_(std::numeric_limits<double>::quiet_NaN());
  } else {
    gap.fill_(12);
  }
}

}  // namespace

Tolerances default_tolerances(ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      return {1e-3, 1e-5};
    case kBFloat16:
      return {1.6e-2, 1e-5};
    case kFloat:
    case kComplexFloat:
      return {1.3e-6, 1e-5};
    case kDouble:
    case kComplexDouble:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

void assert_close(const Tensor& actual, const Tensor& expected, const AssertCloseOptions& options) {
  const NoGradGuard no_grad;
  const std::string text = difference_text(actual, expected, options);
  if (!text.empty()) throw AssertionError(options.msg().empty() ? text : options.msg());
}

void assert_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                  const AssertCloseOptions& options) {
  if (actual.size() != expected.size())
    throw AssertionError(core::join("The length of the sequences mismatch: ", actual.size(),
                                    " != ", expected.size()));
  const NoGradGuard no_grad;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::string text = difference_text(actual[i], expected[i], options);
    if (text.empty()) continue;
    throw AssertionError(options.msg().empty()
                             ? core::join(text, "\nThe failure occurred for item [", i, "]")
                             : options.msg());
  }
}

Tensor make_tensor(IntArrayRef size, const TensorOptions& options, std::optional<double> low,
                   std::optional<double> high, uint64_t seed) {
  const ScalarType dtype = options.dtype();
  const bool inexact = is_inexact(dtype);
  const double from = low.value_or(dtype == kBool || dtype == kByte ? 0 : -9);
  const double to = high.value_or(dtype == kBool ? 2 : inexact ? 9 : 10);
  TENON_CHECK(from < to, ValueError, "make_tensor: low must be below high, got ", from, " and ",
              to);
  const Generator generator = make_generator(kCPU, seed);
  const auto uniform = [&] { return rand(size, generator, kDouble) * (to - from) + from; };
  Tensor t = isComplexType(dtype) ? complex(uniform(), uniform()) : uniform();
  if (!inexact) t = t.floor().clamp_max(std::ceil(to) - 1);
  return t.to(options.device(), dtype).requires_grad_(options.requires_grad());
}

Tensor noncontiguous_like(const Tensor& t) {
  if (!t.is_contiguous()) return t;
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.push_back(2);
  const Tensor pairs = t.detach().new_empty(sizes);
  fill_gap(pairs.select(-1, 0));
  Tensor out = pairs.select(-1, 1);
  out.copy_(t.detach());
  return out.requires_grad_(t.requires_grad());
}

Tensor transposed_like(const Tensor& t) {
  std::vector<int64_t> reversed;
  for (int64_t d = t.dim(); d-- > 0;) reversed.push_back(d);
  Tensor out = t.detach().permute(reversed).clone(MemoryFormat::Contiguous).permute(reversed);
  return out.detach().requires_grad_(t.requires_grad());
}

Tensor offset_like(const Tensor& t) {
  const Tensor all = t.detach().new_empty({t.numel() + 1});
  fill_gap(all.slice(0, 0, 1));
  Tensor out = all.slice(0, 1).view(t.sizes());
  out.copy_(t.detach());
  return out.requires_grad_(t.requires_grad());
}

}  // namespace tenon::testing
