// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors that are made by the program. Those of constant sizes are computed before.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

std::string shape_of(Call& c) {
  if (c.has("self")) return c.op("Shape", {c.in("self")});
  return c.in("size");
}
void filled(Call& c, double v) {
  const ScalarType d = c.result().scalar_type();
  const std::string shape = c.has("size") ? c.in("size") : shape_of(c);
  c.give(c.op("Expand", {c.constant(v, d), shape}));
}
void zeros(Call& c) { filled(c, 0); }
void ones(Call& c) { filled(c, 1); }
void full(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string shape = c.has("size") ? c.in("size") : shape_of(c);
  c.give(c.op("Expand", {c.in("fill_value", d), shape}));
}
bool is_floating(const Call& c, const char* argument) {
  return !c.none(argument) && isFloatingType(c.dtype(argument));
}
// Of integers between floats: as many as there are of steps, each an integer.
void arange_of_floats(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const auto one = [&](const char* argument, double otherwise, ScalarType dtype) {
    return c.has(argument) ? c.in(argument, dtype) : c.constant(otherwise, dtype);
  };
  const std::string reach = c.op("Sub", {c.in("end", kFloat64), one("start", 0, kFloat64)}),
                    steps = c.op("Ceil", {c.op("Div", {reach, one("step", 1, kFloat64)})});
  const std::string places = c.op(
      "Range", {c.constant(0, kInt64), c.cast(steps, kFloat64, kInt64), c.constant(1, kInt64)});
  c.give(c.op("Add",
              {c.op("Mul", {c.cast(places, kInt64, d), one("step", 1, d)}), one("start", 0, d)}));
}
void arange(Call& c) {
  const ScalarType d = c.result().scalar_type();
  if (!isFloatingType(d) &&
      (is_floating(c, "start") || is_floating(c, "end") || is_floating(c, "step")))
    return arange_of_floats(c);
  const std::string begin = c.has("start") ? c.in("start", d) : c.constant(0, d),
                    step = c.has("step") ? c.in("step", d) : c.constant(1, d);
  c.give(c.op("Range", {begin, c.in("end", d), step}));
}
// Integers, as ONNX Runtime has it of few dtypes.
void eye(Call& c) {
  const std::string n = c.unsqueeze(c.in("n"), {0}),
                    m = c.has("m") ? c.unsqueeze(c.in("m"), {0}) : n,
                    shape = c.op("Concat", {n, m}, {{"axis", int64_t{0}}});
  c.give_cast(c.op("EyeLike", {c.op("Expand", {c.constant(0, kInt64), shape})}), kInt64);
}

const Rules::Entry list[] = {
    {"aten::zeros", zeros},   {"aten::new_zeros", zeros}, {"aten::zeros_like", zeros},
    {"aten::empty", zeros},   {"aten::new_empty", zeros}, {"aten::empty_like", zeros},
    {"aten::ones", ones},     {"aten::new_ones", ones},   {"aten::ones_like", ones},
    {"aten::full", full},     {"aten::new_full", full},   {"aten::full_like", full},
    {"aten::arange", arange}, {"aten::eye", eye},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
