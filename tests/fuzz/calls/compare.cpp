// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/runtime/error.h"
#include "wild.h"

namespace tenon::fuzz {
namespace {

std::string place_of(std::size_t i, const std::vector<int64_t>& sizes) {
  std::string out;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    const auto n = static_cast<std::size_t>(sizes[d]);
    out = std::to_string(i % n) + (out.empty() ? "" : ",") + out;
    i /= n;
  }
  return "[" + out + "]";
}

std::string differ(const char* word, std::size_t i, const std::vector<int64_t>& sizes, double ours,
                   double expected) {
  char text[120];
  std::snprintf(text, sizeof text, "%.17g %s %.17g", ours, word, expected);
  return core::join("at ", place_of(i, sizes), ": ", text);
}

std::string plain_values(const oracle::Result& ours, const oracle::Result& expected) {
  if (!ours.tensor != !expected.tensor) return "a tensor beside a plain value";
  const bool same = ours.plain.tag == expected.plain.tag &&
                    (ours.plain.tag == TN_TAG_NONE || ours.plain.u.i64 == expected.plain.u.i64);
  return same ? "" : "another plain value";
}

// The largest finite operand.
double scale_of(const core::Op& op, const tn_value* in) {
  double scale = 0;
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag != TN_TAG_TENSOR) continue;
    for (double v : oracle::values_of(*core::TensorImpl::from_view(in[i].u.tensor)).real) {
      if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
    }
  }
  return scale * std::max(1.0, scale);  // that of products, too
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string one_too_far(core::TensorImpl& mine, core::TensorImpl& theirs, const Nearness& near,
                        double scale, const std::vector<double>* slack) {
  const check::Values a = oracle::values_of(mine), b = oracle::values_of(theirs);
  if (a.sizes != b.sizes) {
    return core::join("shape ", core::text(mine.sizes()), " instead of ",
                      core::text(theirs.sizes()));
  }
  if (!isFloatingType(mine.dtype)) {
    for (std::size_t i = 0; i < a.real.size(); ++i) {
      const bool same =
          b.exact.empty() ? same_number(a.real[i], b.real[i]) : a.exact[i] == b.exact[i];
      if (!same) return differ("instead of", i, a.sizes, a.real[i], b.real[i]);
    }
    for (std::size_t i = 0; i < a.imaginary.size(); ++i) {
      if (!same_number(a.imaginary[i], b.imaginary[i]))
        return differ("instead of", i, a.sizes, a.imaginary[i], b.imaginary[i]);
    }
    return {};
  }
  const double max = largest(mine.dtype), u = std::max(unit(mine.dtype), near.min_unit);
  for (std::size_t i = 0; i < a.real.size(); ++i) {
    const double ours = a.real[i], truth = b.real[i];
    if (same_number(ours, truth)) continue;
    if (near.other_ends && (!std::isfinite(ours) || !(std::fabs(truth) <= max))) continue;
    const double allowed = u * (near.units * std::fabs(truth) + near.of_operands * scale) +
                           16 * smallest(mine.dtype) +
                           (slack && i < slack->size() ? (*slack)[i] : 0);
    // What rounds to infinity, or nearly does.
    if (std::isinf(ours) && std::fabs(truth) + allowed > max && (ours > 0) == (truth > 0)) continue;
    if (std::isinf(truth) && std::fabs(ours) > max * (1 - near.units * u) &&
        (ours > 0) == (truth > 0))
      continue;
    if (std::isinf(allowed)) continue;
    if (!(std::fabs(ours - truth) <= allowed)) return differ("instead of", i, a.sizes, ours, truth);
  }
  return {};
}

}  // namespace

std::string other_bits(core::TensorImpl& ours, core::TensorImpl& expected) {
  if (ours.dtype != expected.dtype) {
    return core::join("dtype ", dtype_name(ours.dtype), " instead of ", dtype_name(expected.dtype));
  }
  if (ours.sizes() != expected.sizes()) {
    return core::join("shape ", core::text(ours.sizes()), " instead of ",
                      core::text(expected.sizes()));
  }
  const check::Values a = oracle::values_of(ours), b = oracle::values_of(expected);
  for (std::size_t i = 0; i < a.real.size(); ++i) {
    const double x = a.real[i], y = b.real[i];
    const bool same = a.exact.empty()
                          ? (x == y && std::signbit(x) == std::signbit(y)) || (x != x && y != y)
                          : a.exact[i] == b.exact[i];
    if (!same) return differ("instead of", i, a.sizes, x, y);
  }
  return {};
}

std::string other_bits(const Results& ours, const Results& expected) {
  if (ours.size() != expected.size())
    return core::join(ours.size(), " results instead of ", expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const bool tensors = ours[i].tensor && expected[i].tensor;
    const std::string wrong = tensors ? other_bits(*ours[i].tensor, *expected[i].tensor)
                                      : plain_values(ours[i], expected[i]);
    if (!wrong.empty()) return core::join("result ", i, " ", wrong);
  }
  return {};
}

void widen(Slack& slack, const Results& moved, const Results& truth) {
  slack.resize(truth.size());
  for (std::size_t k = 0; k < truth.size() && k < moved.size(); ++k) {
    if (!truth[k].tensor || !moved[k].tensor) continue;
    const check::Values a = oracle::values_of(*moved[k].tensor),
                        b = oracle::values_of(*truth[k].tensor);
    slack[k].resize(b.real.size());
    for (std::size_t i = 0; i < std::min(a.real.size(), b.real.size()); ++i) {
      const double d = std::fabs(a.real[i] - b.real[i]);
      if (a.real[i] == b.real[i] || (std::isnan(a.real[i]) && std::isnan(b.real[i]))) continue;
      slack[k][i] = std::max(
          slack[k][i], std::isnan(d) ? HUGE_VAL : 4 * d);  // an end is near: anything may come out
    }
  }
}

std::string too_far(const core::Op& op, const tn_value* in, const Results& ours,
                    const Results& truth, const Nearness& near, const Slack& slack) {
  if (ours.size() != truth.size())
    return core::join(ours.size(), " results instead of ", truth.size());
  const oracle::EqualValueRule rule(op, in);
  const double scale = near.of_operands > 0 ? scale_of(op, in) : 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!ours[i].tensor || !truth[i].tensor) {
      if (!truth[i].tensor) continue;
      const tn_value& v = ours[i].plain;
      const double mine = v.tag == TN_TAG_F64 ? v.u.f64 : static_cast<double>(v.u.i64);
      const double theirs = oracle::values_of(*truth[i].tensor).real.at(0);
      if (mine != theirs && mine == mine)
        return core::join("result ", i, " ", mine, " instead of ", theirs);
      continue;
    }
    core::TensorImpl &mine = *ours[i].tensor, &theirs = *truth[i].tensor;
    const std::string wrong =
        rule.covers(static_cast<int>(i))
            ? rule.compare(oracle::values_of(mine), oracle::values_of(theirs))
            : one_too_far(mine, theirs, near, scale, i < slack.size() ? &slack[i] : nullptr);
    if (!wrong.empty()) return core::join("result ", i, " ", wrong);
  }
  return {};
}

}  // namespace tenon::fuzz
