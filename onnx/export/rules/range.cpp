// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Positions of loops over ranges, and differences along a dimension.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

// start + index * step
void derive_index(Call& c) {
  c.give(c.op("Add", {c.in("start"), c.op("Mul", {c.in("index"), c.in("step")})}));
}

void range_length(Call& c) {
  const int64_t step = c.integer("step");
  need(step != 0, "with a step of 0");
  const bool up = step > 0;
  const int64_t by = up ? step : -step;
  const auto number = [&](int64_t v) { return c.constant(as_tensor(IValue(v))); };
  std::string n = c.op("Sub", {c.in(up ? "hi" : "lo"), c.in(up ? "lo" : "hi")});
  if (by > 1) n = c.op("Div", {c.op("Add", {n, number(by - 1)}), number(by)});
  c.give(c.op("Max", {n, number(0)}));
}

void diff(Call& c) {
  const int64_t dim = c.axis("dim", "self");
  const bool bools = c.dtype("self") == kBool;
  Names parts;
  for (const char* part : {"prepend", "self", "append"})
    if (!c.none(part)) parts.push_back(c.in(part, c.result().scalar_type()));
  std::string x = parts.size() == 1 ? parts[0] : c.op("Concat", parts, {{"axis", dim}});
  for (int64_t n = c.integer("n", 1); n > 0; --n)
    x = c.op(bools ? "Xor" : "Sub", {c.slice(x, dim, 1, kEnd), c.slice(x, dim, 0, -1)});
  c.give(x);
}

const Rules::Entry list[] = {{"aten::__derive_index", derive_index},
                             {"aten::__range_length", range_length},
                             {"aten::diff", diff}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
