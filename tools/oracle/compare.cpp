// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>

#include "tenon/runtime/error.h"

namespace tenon::oracle {
namespace {

bool close(double ours, double truth, Tolerance tol) {
  if (std::isnan(truth) || std::isnan(ours)) return std::isnan(truth) && std::isnan(ours);
  if (std::isinf(truth) || std::isinf(ours)) return ours == truth;
  return std::fabs(ours - truth) <= tol.atol + tol.rtol * std::fabs(truth);
}

// A truth that the dtype of our result cannot hold is infinite there.
double round_to_infinity(double truth, ScalarType t) {
  const double limit = t == kFloat      ? 0x1.ffffffp127
                       : t == kBFloat16 ? 0x1.ffp127
                       : t == kHalf     ? 65520.0
                                        : INFINITY;
  return std::fabs(truth) >= limit ? std::copysign(INFINITY, truth) : truth;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Ops with an output of indices among equal values.
struct Choice {
  std::string_view op;
  int output;
  int spatial;    // trailing dimensions that an index runs over; 0: the argument `dim`
  bool distinct;  // a slice of indices names no element twice
};

constexpr Choice kChoices[] = {
    {"max.dim", 1, 0, false},
    {"min.dim", 1, 0, false},
    {"median.dim", 1, 0, false},
    {"nanmedian.dim", 1, 0, false},
    {"mode", 1, 0, false},
    {"kthvalue", 1, 0, false},
    {"topk", 1, 0, true},
    {"sort", 1, 0, true},
    {"sort.stable", 1, 0, true},
    {"argsort", 0, 0, true},
    {"argsort.stable", 0, 0, true},
    {"max_pool1d_with_indices", 1, 1, false},
    {"max_pool2d_with_indices", 1, 2, false},
    {"max_pool3d_with_indices", 1, 3, false},
    {"adaptive_max_pool1d", 1, 1, false},
    {"adaptive_max_pool2d", 1, 2, false},
    {"adaptive_max_pool3d", 1, 3, false},
};

const Choice* find_choice(std::string_view op) {
  for (const Choice& c : kChoices) {
    if (c.op == op) return &c;
  }
  return nullptr;
}

int argument(const core::Op& op, std::string_view name) {
  for (int i = 0; i < op.n_args; ++i) {
    if (name == op.args[i].name) return i;
  }
  return -1;
}

}  // namespace

namespace {

// By the modulus of the difference; where a part of the truth is infinite or NaN, part by part.
bool close(core::complex<double> ours, core::complex<double> truth, Tolerance tol) {
  const bool finite = std::isfinite(truth.real()) && std::isfinite(truth.imag());
  if (!finite)
    return close(ours.real(), truth.real(), tol) && close(ours.imag(), truth.imag(), tol);
  return std::hypot(ours.real() - truth.real(), ours.imag() - truth.imag()) <=
         tol.atol + tol.rtol * std::hypot(truth.real(), truth.imag());
}

std::string compare_complex(const Values& ours, const Values& truth, Tolerance tol) {
  const bool real = ours.imaginary.empty();
  for (std::size_t i = 0; i < truth.real.size(); ++i) {
    const ScalarType part = toRealValueType(ours.dtype);
    const core::complex<double> mine(ours.real[i], real ? 0 : ours.imaginary[i]);
    const core::complex<double> want(round_to_infinity(truth.real[i], part),
                                     round_to_infinity(truth.imaginary[i], part));
    if (close(mine, want, tol)) continue;
    char text[200];
    std::snprintf(text, sizeof text, "element %zu: (%.9g, %.9g) instead of (%.9g, %.9g)", i,
                  mine.real(), mine.imag(), want.real(), want.imag());
    return text;
  }
  return {};
}

}  // namespace

std::string compare_values(const Values& ours, const Values& truth, Tolerance tol) {
  if (ours.sizes != truth.sizes) {
    return core::join("shape ", core::text(IntArrayRef(ours.sizes)), " instead of ",
                      core::text(IntArrayRef(truth.sizes)));
  }
  if (!truth.imaginary.empty()) return compare_complex(ours, truth, tol);
  bool exact = !truth.exact.empty() && !ours.exact.empty();
  for (std::size_t i = 0; i < truth.real.size(); ++i) {
    bool good = exact ? ours.exact[i] == truth.exact[i]
                      : close(ours.real[i], round_to_infinity(truth.real[i], ours.dtype), tol);
    if (good) continue;
    if (exact) {
      return core::join("element ", i, ": ", static_cast<long long>(ours.exact[i]), " instead of ",
                        static_cast<long long>(truth.exact[i]));
    }
    char text[160];
    std::snprintf(text, sizeof text, "element %zu: %.9g instead of %.9g, off by %.2g, allowed %.2g",
                  i, ours.real[i], truth.real[i], std::fabs(ours.real[i] - truth.real[i]),
                  tol.atol + tol.rtol * std::fabs(truth.real[i]));
    return text;
  }
  return {};
}

EqualValueRule::EqualValueRule(const core::Op& op, const tn_value* in) {
  const Choice* c = find_choice(op.name);
  if (!c) return;
  int stable = argument(op, "stable");
  if (stable >= 0 && in[stable].tag == TN_TAG_BOOL && in[stable].u.i64) return;
  if (in[0].tag != TN_TAG_TENSOR) return;
  core::TensorImpl& input = *core::TensorImpl::from_view(in[0].u.tensor);
  int first = input.ndim() - c->spatial, last = input.ndim();
  if (c->spatial == 0 && input.ndim() > 0) {
    int dim = argument(op, "dim");
    int64_t d = dim >= 0 ? in[dim].u.i64 : -1;
    first = static_cast<int>(d < 0 ? d + input.ndim() : d);
    last = first + 1;
  }
  if (first < 0 || last > input.ndim()) return;
  for (int d = 0; d < input.ndim(); ++d)
    (d < first ? outer_ : d < last ? length_ : inner_) *= input.size(d);
  input_ = values_of(input);
  distinct_ = c->distinct;
  output_ = c->output;
}

std::string EqualValueRule::compare(const Values& ours, const Values& truth) const {
  if (ours.sizes != truth.sizes) return compare_values(ours, truth, {});
  for (int64_t o = 0; o < outer_; ++o) {
    for (int64_t i = 0; i < inner_; ++i) {
      std::string difference = compare_slice(ours, truth, o * inner_ + i);
      if (!difference.empty()) return difference;
    }
  }
  return {};
}

// `slice` numbers the pairs of an outer and an inner position.
std::string EqualValueRule::compare_slice(const Values& ours, const Values& truth,
                                          int64_t slice) const {
  int64_t chosen = static_cast<int64_t>(truth.exact.size()) / std::max<int64_t>(1, outer_ * inner_);
  int64_t outer = slice / inner_, inner = slice % inner_;
  std::set<int64_t> seen;
  for (int64_t k = 0; k < chosen; ++k) {
    auto at = static_cast<std::size_t>((outer * chosen + k) * inner_ + inner);
    int64_t mine = ours.exact[at], theirs = truth.exact[at];
    if (mine < 0 || mine >= length_)
      return core::join("index ", mine, " is outside of ", length_, " elements");
    if (distinct_ && !seen.insert(mine).second)
      return core::join("index ", mine, " is repeated in one slice");
    auto value = [&](int64_t n) {
      auto where = static_cast<std::size_t>((outer * length_ + n) * inner_ + inner);
      return input_.exact.empty() ? input_.real[where] : static_cast<double>(input_.exact[where]);
    };
    if (!same(value(mine), value(theirs))) {
      return core::join("index ", mine, " instead of ", theirs, " selects another value");
    }
  }
  return {};
}

}  // namespace tenon::oracle
