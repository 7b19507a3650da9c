// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/values.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "tenon/core/op.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/type.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {

std::optional<Tensor> tensor_of(const Value* v) {
  const std::optional<IValue> c = to_constant(v);
  if (!c || !c->isTensor() || !c->toTensor().defined()) return std::nullopt;
  return c->toTensor();
}

std::optional<double> number_of(const Value* v) {
  const std::optional<IValue> c = to_constant(v);
  if (!c) return std::nullopt;
  if (c->isDouble()) return c->toDouble();
  if (c->isInt()) return static_cast<double>(c->toInt());
  if (c->isBool()) return c->toBool() ? 1 : 0;
  return std::nullopt;
}

std::optional<int64_t> int_of(const Value* v) {
  const std::optional<IValue> c = to_constant(v);
  if (!c || !c->isInt()) return std::nullopt;
  return c->toInt();
}

std::optional<bool> bool_of(const Value* v) {
  const std::optional<IValue> c = to_constant(v);
  if (!c || !c->isBool()) return std::nullopt;
  return c->toBool();
}

std::optional<std::vector<int64_t>> ints_of(const Value* v) {
  std::vector<int64_t> out;
  if (v->node()->is("prim::ListConstruct")) {
    for (const Value* item : v->node()->inputs()) {
      const std::optional<int64_t> i = int_of(item);
      if (!i) return std::nullopt;
      out.push_back(*i);
    }
    return out;
  }
  const std::optional<IValue> c = to_constant(v);
  if (!c) return std::nullopt;
  if (c->isInt()) return std::vector<int64_t>{c->toInt()};
  if (!c->isList()) return std::nullopt;
  for (const IValue& item : c->toListRef().items) {
    if (!item.isInt()) return std::nullopt;
    out.push_back(item.toInt());
  }
  return out;
}

bool is_none(const Value* v) {
  const std::optional<IValue> c = to_constant(v);
  return c && c->isNone();
}

bool is_number(const Value* v, double number) {
  const std::optional<double> n = number_of(v);
  return n && *n == number;
}

bool asks_rank_or_dtype(const Node& n) {
  static const std::set<std::string, std::less<>> kKinds = {
      "aten::dim",        "prim::dtype",
      "prim::device",     "prim::is_cuda",
      "prim::layout",     "aten::is_floating_point",
      "aten::is_complex", "aten::__is__",
      "aten::__isnot__",  "prim::unchecked_cast",
      "aten::ndimension", "prim::requires_grad",
      "prim::is_nested",  "prim::is_sparse",
      "prim::is_meta",    "prim::is_quantized",
      "prim::is_mkldnn",  "prim::is_xpu"};
  return kKinds.count(n.kind()) != 0;
}
bool asks_sizes(const Node& n) {
  return n.is("aten::size") || n.is("aten::numel") || n.is("aten::len") || n.is("aten::sym_size") ||
         n.is("aten::sym_numel");
}

bool may_give_sizes_by_data(const Node& n) {
  static const std::set<std::string, std::less<>> kNames = {"aten::masked_select",
                                                            "aten::unique_dim",
                                                            "aten::argwhere",
                                                            "aten::unique_consecutive",
                                                            "aten::nonzero",
                                                            "aten::bincount",
                                                            "aten::_unique",
                                                            "aten::tensor_split",
                                                            "aten::one_hot",
                                                            "aten::_unique2",
                                                            "aten::nonzero_numpy",
                                                            "aten::_pack_padded_sequence",
                                                            "aten::_pad_packed_sequence"};
  if (n.is("aten::repeat_interleave")) {
    const Value* repeats = argument(n, "repeats");
    return !repeats || repeats->type()->is(TypeKind::Tensor);
  }
  if (n.op && n.op->op && (n.op->op->flags & core::kOpDynamic)) return true;
  return kNames.count(n.kind()) != 0 || (n.is("aten::where") && n.inputs().size() == 1);
}

bool dequantizes(const Node& n) {
  return n.is("quantized_decomposed::dequantize_per_tensor") ||
         n.is("quantized_decomposed::dequantize_per_channel");
}

IValue new_object(const Node& n) {
  const auto cls = std::static_pointer_cast<const ClassType>(n.output()->type());
  return core::Ref<ivalue::Object>::adopt(
      new ivalue::Object(cls->self(), cls->attributes().size()));
}

bool is_instance(const Node& n, const IValue& v) {
  const auto& types = std::get<std::vector<TypePtr>>(n.attribute("types"));
  return std::any_of(types.begin(), types.end(),
                     [&](const TypePtr& t) { return is_instance(v, *t); });
}

Value* argument(const Node& n, std::string_view argument) {
  const int i = n.op ? n.op->schema.find_argument(argument) : -1;
  return i < 0 || static_cast<std::size_t>(i) >= n.inputs().size()
             ? nullptr
             : n.input(static_cast<std::size_t>(i));
}

Node* only_user(const Value* v) {
  if (v->uses().size() != 1) return nullptr;
  Node* user = v->uses()[0].user;
  return user->owning_block() == v->node()->owning_block() && !user->is("prim::Return") ? user
                                                                                        : nullptr;
}

std::vector<IValue> arguments_of_call(const Function& method, IValue self,
                                      std::vector<IValue> given) {
  given.insert(given.begin(), std::move(self));
  std::vector<IValue> all = method.bind(std::move(given), {});
  all.erase(all.begin());
  return all;
}

std::size_t count_nodes(const Block& b) {
  std::size_t n = 0;
  for (const Node* node : b.nodes()) {
    ++n;
    for (const Block* inner : node->blocks()) n += count_nodes(*inner);
  }
  return n;
}

Node* insert_on(Graph& g, const Node& n, Value* first) {
  std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
  inputs[0] = first;
  Node* made = g.create(n.kind(), inputs);
  made->op = n.op;
  made->range = n.range;
  made->output()->set_type(n.output()->type());
  return g.insert(made);
}

Node* insert_call(Graph& g, std::string_view full_name, const std::vector<Value*>& inputs,
                  const Node& like) {
  Node* n = g.create(full_name.substr(0, full_name.find('.')), inputs);
  n->op = find_operator(full_name);
  n->range = like.range;
  return g.insert(n);
}

}  // namespace tenon::jit
