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
void arange(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string begin = c.has("start") ? c.in("start", d) : c.constant(0, d),
                    step = c.has("step") ? c.in("step", d) : c.constant(1, d);
  c.give(c.op("Range", {begin, c.in("end", d), step}));
}

const Rules::Entry list[] = {
    {"aten::zeros", zeros},   {"aten::new_zeros", zeros}, {"aten::zeros_like", zeros},
    {"aten::empty", zeros},   {"aten::new_empty", zeros}, {"aten::empty_like", zeros},
    {"aten::ones", ones},     {"aten::new_ones", ones},   {"aten::ones_like", ones},
    {"aten::full", full},     {"aten::new_full", full},   {"aten::full_like", full},
    {"aten::arange", arange},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
