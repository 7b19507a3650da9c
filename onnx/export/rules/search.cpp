// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where values stand in sorted ones: how many are less, by comparing with each.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// `right`: as many as are not greater. What is not a number is behind all.
void count(Call& c, const char* sorted, bool right) {
  need(c.get("self").example.isTensor(), "of a number");
  need(c.exporter.opset() >= 12, "it needs opset 12");
  ScalarType d = tenon::result_type(c.example(sorted), c.example("self"));
  if (!isFloatingType(d)) d = kInt64;
  const int64_t rank = c.rank(sorted);
  const std::string all = c.in(sorted, d), rows = rank > 1 ? c.unsqueeze(all, {rank - 1}) : all,
                    values = c.unsqueeze(c.in("self", d), {c.rank("self")}),
                    behind = c.op(right ? "Greater" : "GreaterOrEqual", {rows, values}),
                    before = c.cast(c.op("Not", {behind}), kBool, kInt64);
  c.give_cast(c.reduce("ReduceSum", before, {c.rank("self")}, false), kInt64);
}

void bucketize(Call& c) { count(c, "boundaries", c.flag("right")); }
void searchsorted(Call& c) {
  need(c.none("sorter"), "with a sorter");
  const bool by_side = !c.none("side");
  count(c, "sorted_sequence", by_side ? c.text("side") == "right" : c.flag("right"));
}

const Rules::Entry list[] = {{"aten::bucketize", bucketize}, {"aten::searchsorted", searchsorted}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
