// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Positions of loops over ranges, and what is computed by positions: repetitions, grids,
// differences.
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

// The positions 0, 1, ..., each `repeats` times: how many sums of repeats are not above a place.
std::string repeated_positions(Call& c, const std::string& repeats) {
  const std::string zero = c.constant(as_tensor(IValue(int64_t{0}))),
                    one = c.constant(as_tensor(IValue(int64_t{1}))),
                    total = c.reduce("ReduceSum", repeats, {0}, false),
                    places = c.op("Range", {zero, total, one}),
                    sums = c.op("CumSum", {repeats, zero});
  const std::string passed =
      c.op("LessOrEqual", {c.unsqueeze(sums, {0}), c.unsqueeze(places, {1})});
  return c.reduce("ReduceSum", c.cast(passed, kBool, kInt64), {1}, false);
}
// By one number: those at 0, 0, 1, 1, ...; divided by 0 is nothing, as there are none then.
std::string evenly_repeated(Call& c, const std::string& size) {
  const std::string repeats = c.op("Reshape", {c.in("repeats", kInt64), c.int_list({})});
  const std::string zero = c.constant(as_tensor(IValue(int64_t{0}))),
                    one = c.constant(as_tensor(IValue(int64_t{1})));
  return c.op("Div", {c.op("Range", {zero, c.op("Mul", {size, repeats}), one}), repeats});
}
void repeat_interleave(Call& c) {
  if (!c.has("self")) return c.give_cast(repeated_positions(c, c.in("repeats", kInt64)), kInt64);
  const bool flat = c.none("dim");
  const int64_t dim = flat ? 0 : c.axis("dim", "self");
  const std::string x = flat ? c.op("Reshape", {c.in("self"), c.int_list({-1})}) : c.in("self");
  const bool one = as_tensor(c.get("repeats").example).numel() == 1;
  const std::string positions =
      one ? evenly_repeated(c,
                            c.op("Gather", {c.op("Shape", {x}), c.constant(as_tensor(IValue(dim)))},
                                 {{"axis", int64_t{0}}}))
          : repeated_positions(c, c.in("repeats", kInt64));
  c.give(c.op("Gather", {x, positions}, {{"axis", dim}}));
}

void meshgrid(Call& c) {
  const Item& list = c.get("tensors");
  need(list.has_parts, "a list that the program computes");
  const bool swap = c.text("indexing", "ij") == "xy" && list.parts.size() > 1;
  const std::size_t n = list.parts.size();
  Names sizes(n), grids;
  std::vector<std::vector<int64_t>> others(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t place = swap && i < 2 ? 1 - i : i;
    sizes[place] =
        c.op("Shape", {c.op("Reshape", {c.exporter.name_of(*list.parts[i]), c.int_list({-1})})});
    for (std::size_t d = 0; d < n; ++d)
      if (d != place) others[i].push_back(static_cast<int64_t>(d));
  }
  const std::string shape = c.op("Concat", sizes, {{"axis", int64_t{0}}});
  for (std::size_t i = 0; i < n; ++i) {
    const std::string row = c.op("Reshape", {c.exporter.name_of(*list.parts[i]), c.int_list({-1})});
    grids.push_back(c.op("Expand", {c.unsqueeze(row, others[i]), shape}));
  }
  c.give_parts(grids);
}

// Expand makes the common shape of both.
void broadcast_tensors(Call& c) {
  const Item& list = c.get("tensors");
  need(list.has_parts, "a list that the program computes");
  std::string shape = c.op("Shape", {c.exporter.name_of(*list.parts.at(0))});
  for (std::size_t i = 1; i < list.parts.size(); ++i)
    shape = c.op("Shape", {c.op("Expand", {c.exporter.name_of(*list.parts[i]), shape})});
  Names all;
  for (const ItemPtr& p : list.parts)
    all.push_back(c.op("Expand", {c.exporter.name_of(*p), shape}));
  c.give_parts(all);
}

const Rules::Entry list[] = {{"aten::broadcast_tensors", broadcast_tensors},
                             {"aten::repeat_interleave", repeat_interleave},
                             {"aten::meshgrid", meshgrid},
                             {"aten::__derive_index", derive_index},
                             {"aten::__range_length", range_length},
                             {"aten::diff", diff}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
