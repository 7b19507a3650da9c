// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/quantized_step.h"

#include <cmath>
#include <string>

#include "jit/passes/values.h"

namespace tenon::jit {

bool is_step(const Node& n, const char* kind) {
  return n.op && n.is(std::string("quantized_decomposed::") + kind);
}

std::optional<Step> step_of(const Node& n) {
  const Value *scale = argument(n, "scale"), *zero = argument(n, "zero_point"),
              *dtype = argument(n, "dtype");
  if (!scale || !zero || !dtype) return std::nullopt;
  const auto s = number_of(scale);
  const auto z = int_of(zero), t = int_of(dtype);
  const bool bytes = t && (*t == static_cast<int64_t>(kByte) || *t == static_cast<int64_t>(kChar));
  if (!s || !z || !bytes || !(*s > 0) || !std::isfinite(*s)) return std::nullopt;
  const Step step{*s, *z, static_cast<ScalarType>(*t)};
  return *z >= step.lowest() && *z <= step.lowest() + 255 ? std::optional(step) : std::nullopt;
}

bool has_whole_range(const Node& n, const Step& s) {
  const Value *least = argument(n, "quant_min"), *most = argument(n, "quant_max");
  return least && most && int_of(least) == s.lowest() && int_of(most) == s.lowest() + 255;
}

bool gives_single(const Node& n) {
  const Value* out = argument(n, "out_dtype");
  return !out || is_none(out) || int_of(out) == static_cast<int64_t>(kFloat);
}

bool saturates(const Step& s, double end) {
  const auto high = static_cast<double>(s.lowest() + 255);
  return std::nearbyint(end / s.scale) + static_cast<double>(s.zero) >= high;
}

}  // namespace tenon::jit
