// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors of strings.
#include "onnx/import/builder.h"

#include <map>
#include <set>

#include "tenon/creation.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _list_strings(codes: Tensor, table: List[str]) -> List[str]:
  at: List[int] = codes.reshape([-1]).tolist()
  return [table[i] for i in at]
)py");

}  // namespace

ItemPtr Builder::strings_item(ItemPtr codes, std::vector<std::string> table) {
  auto i = std::make_shared<Item>();
  i->strings = std::make_shared<Strings>(Strings{std::move(codes), std::move(table)});
  return i;
}

ItemPtr Builder::read_strings(const pb::TensorProto& t) {
  std::vector<int64_t> codes;
  std::vector<std::string> table;
  std::map<std::string_view, int64_t> seen;
  for (const std::string& s : t.string_data()) {
    const auto [it, is_new] = seen.emplace(s, static_cast<int64_t>(table.size()));
    if (is_new) table.push_back(s);
    codes.push_back(it->second);
  }
  int64_t numel = 1;
  for (const int64_t d : t.dims()) {
    TENON_CHECK(d >= 0 && (d == 0 || numel <= (int64_t{1} << 40) / d), ValueError, "tensor '",
                t.name(), "' has a size of ", d);
    numel *= d;
  }
  TENON_CHECK(numel == static_cast<int64_t>(codes.size()), ValueError, "tensor '", t.name(),
              "' has ", codes.size(), " strings, its shape ", numel);
  const std::vector<int64_t> sizes(t.dims().begin(), t.dims().end());
  ItemPtr i = strings_item(
      constant_item(tenon::tensor(codes, TensorOptions(kLong)).reshape(sizes), t.name()),
      std::move(table));
  i->name = t.name();
  return i;
}

Value* Builder::list_of_strings(const Item& i) {
  return call_text("_list_strings", {tensor(i.strings->codes), constant(i.strings->table)}).at(0);
}

std::optional<std::vector<ItemPtr>> Builder::move_strings(Call& c, const Entry& e) {
  static const std::set<std::string> kMovers = {
      "Identity", "Reshape",  "Squeeze", "Unsqueeze", "Flatten", "Gather", "ArrayFeatureExtractor",
      "Slice",    "Transpose"};
  const ItemPtr in = c.optional_input(0);
  if (!in || !in->strings) return std::nullopt;
  const std::string& op = c.node.op_type();
  if (op == "Cast" && c.integer("to", 0) == pb::STRING) return std::vector<ItemPtr>{in};
  if (kMovers.count(op) == 0) return std::nullopt;
  Call moved = c;
  moved.inputs[0] = in->strings->codes;
  std::vector<ItemPtr> out = e.translate
                                 ? e.translate(*this, moved)
                                 : call_function(moved, e.function ? e.function : e.name, e.gives);
  TENON_CHECK(out.size() == 1 && out[0], Error, op, " gives ", out.size(), " results");
  return std::vector<ItemPtr>{strings_item(out[0], in->strings->table)};
}

}  // namespace tenon::onnx
