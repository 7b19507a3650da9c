// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/optionals.h"

#include "tenon/ops.h"

namespace tenon::onnx::exporting {

using jit::Node;

ItemPtr told_of(const Item& i) {
  auto told = std::make_shared<Item>();
  told->constant = i.present.empty();
  told->name = i.present;
  told->example = i.present.empty() ? !is_missing(i) : i.is_present;
  return told;
}
ItemPtr without_presence(const Item& i, const IValue& like) {
  auto value = std::make_shared<Item>(i.example.isNone() ? Item{like, true} : i);
  value->present.clear();
  return value;
}

// Whether the result is there, as one more output of a branch.
void Exporter::add_present(pb::GraphProto* graph, const Item& result) {
  const std::string told = result.present.empty()
                               ? initializer(full({}, !is_missing(result), TensorOptions(kBool)))
                               : result.present;
  pb::NodeProto* n = graph->add_node();
  n->set_op_type("Identity");
  n->set_name(fresh("present"));
  n->add_input(told);
  n->add_output(fresh("present_out"));
  pb::ValueInfoProto* out = graph->add_output();
  out->set_name(n->output(0));
  auto* type = out->mutable_type()->mutable_tensor_type();
  type->set_elem_type(pb::BOOL);
  type->mutable_shape();
}

Exporter::OptionalInputs::OptionalInputs(Exporter& e, const Node& loop) : exporter(e), n(loop) {
  for (std::size_t k = 2; k < n.inputs().size(); ++k) before.push_back(e.item(n.input(k)));
}
Exporter::OptionalInputs::~OptionalInputs() {
  for (std::size_t k = 0; k < before.size(); ++k) exporter.set(n.input(k + 2), before[k]);
}
bool Exporter::OptionalInputs::is_none(std::size_t k) const {
  return before[k]->example.isNone() && !before[k]->unset && before[k]->present.empty();
}
void Exporter::OptionalInputs::replace(std::size_t k, const IValue& like) {
  const bool tensor = like.isTensor() && like.toTensor().defined();
  if (!tensor && !is_number(like)) return;
  auto zeros = std::make_shared<Item>(Item{tensor ? zeros_like(like.toTensor()) : like, true});
  (void)exporter.name_of(*zeros);
  zeros->present = exporter.initializer(full({}, false, TensorOptions(kBool)));
  zeros->is_present = false;
  exporter.set(n.input(k + 2), zeros);
}

// Which values of the loop may be None after it, and are not with the examples.
std::vector<bool> Exporter::give_optionals(const Node& n, const std::vector<ItemPtr>& lists,
                                           std::optional<std::vector<IValue>>& examples,
                                           OptionalInputs& inputs) {
  std::vector<bool> there;
  std::vector<ItemPtr> turn;
  for (std::size_t k = 0; k < n.outputs().size(); ++k) {
    IValue like = examples ? examples->at(k) : IValue();
    there.push_back(!like.isNone());
    if (!inputs.is_none(k)) continue;
    if (like.isNone() && turn.empty()) {
      const std::vector<std::string> refused = refused_;
      std::vector<Item> before;
      for (const ItemPtr& l : lists) before.push_back(*l);
      pb::GraphProto trial;
      turn = write_body(n, lists, &trial);
      for (std::size_t i = 0; i < lists.size(); ++i) *lists[i] = before[i];
      refused_ = refused;
    }
    if (like.isNone()) like = turn.at(k + 1)->example;
    inputs.replace(k, like);
    if (examples && examples->at(k).isNone()) examples->at(k) = like;
  }
  return there;
}

// Programs ask whether such a value is None, and cast it where it is not.
bool Exporter::visit_optional(const Node& n) {
  const bool is = n.is("aten::__is__");
  if (!is && !n.is("aten::__isnot__") && !n.is("prim::unchecked_cast") && !n.is("prim::isinstance"))
    return false;
  const auto maybe = std::find_if(n.inputs().begin(), n.inputs().end(),
                                  [this](const auto* v) { return !item(v)->present.empty(); });
  if (maybe == n.inputs().end()) return false;
  const Item& value = *item(*maybe);
  need(!n.is("prim::isinstance"), "the type of a value that may be None");
  if (n.is("prim::unchecked_cast")) {
    auto cast = std::make_shared<Item>(value);
    cast->present.clear();
    return set(n.output(), cast), true;
  }
  const Item& other = *item(n.input(*maybe == n.input(0) ? 1 : 0));
  need(other.constant && other.example.isNone(), "two values of which one may be None");
  auto told = std::make_shared<Item>();
  told->example = value.is_present != is;
  told->name = is ? node("Not", {value.present}).front() : value.present;
  return set(n.output(), told), true;
}

}  // namespace tenon::onnx::exporting
