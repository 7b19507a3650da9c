// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Integers and lists of them, as sizes are computed from.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

void absolute(Call& c) { c.give(c.op("Abs", {c.in(c.first_argument())})); }

void tolist(Call& c) {
  const char* from = c.first_argument();
  const IValue& result = c.results.at(0);
  need(c.rank(from) == 1 && result.isList() && result.toListRef().element->is(jit::TypeKind::Int),
       "to other lists than those of integers");
  c.give(c.in(from, kInt64));
  c.given[0]->grows = true;
}

// Lists of the ranks that the examples have; where one has 1, the size of the other.
void broadcast_shapes(Call& c) {
  const std::size_t rank = c.results.at(0).toListRef().items.size();
  const auto of_rank = [&](const char* argument) {
    const std::size_t n = c.get(argument).example.toListRef().items.size();
    const std::string list = c.in(argument);
    if (n == rank) return list;
    const std::vector<int64_t> ones(rank - n, 1);
    return c.op("Concat", {c.int_list(ones), list}, {{"axis", int64_t{0}}});
  };
  const std::string a = of_rank("a"), b = of_rank("b");
  c.give(c.op("Where", {c.op("Equal", {a, c.int_list({1})}), b, a}));
}

const Rules::Entry list[] = {{"prim::abs", absolute},
                             {"prim::tolist", tolist},
                             {"aten::broadcast_shapes", broadcast_shapes},
                             {"aten::_infer_size", broadcast_shapes}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
