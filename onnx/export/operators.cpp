// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators by their rules.
#include "onnx/export/call.h"
#include "onnx/export/exporter.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {

using jit::Node;

// Nobody else uses the value, and its memory was made for it, in the block that writes: a write is
// a new value. What a loop writes to memory of outside it finds there in its next turn.
bool Exporter::is_last_name(const jit::Value& v) const {
  if (v.uses().size() != 1) return false;
  const Node& maker = *v.node();
  if (maker.owning_block() != v.uses().front().user->owning_block()) return false;
  if (written_.count(&maker)) return true;
  return maker.op && maker.op->schema.returns.size() > static_cast<std::size_t>(v.offset()) &&
         maker.op->schema.returns[static_cast<std::size_t>(v.offset())].alias.set.empty();
}

void Exporter::visit_operator(const Node& n) {
  const std::string& op = n.kind();
  const auto* rule = find_rule(op);
  const bool in_place = op.size() > 1 && op.back() == '_' && op[op.size() - 2] != '_';
  if (!rule && in_place) {
    need(is_last_name(*n.input(0)), "it writes to memory that has other names in the program");
    rule = find_rule(op.substr(0, op.size() - 1));
    written_.insert(&n);
  }
  Call call(*this, n);
  call.results = compute(n);
  call.given.resize(n.outputs().size());
  if (rule) {
    (*rule)(call);
  } else if (!options_.fallback_domain.empty()) {
    Names inputs;
    for (const jit::Value* v : n.inputs()) {
      Item& i = *item(v);
      inputs.push_back(i.example.isNone() ? "" : name_of(i));
    }
    const std::string type = op.substr(op.find(':') + 2);
    const Names names = node(type, inputs, {}, n.outputs().size(), options_.fallback_domain);
    for (std::size_t k = 0; k < names.size(); ++k) call.give(names[k], k);
  } else {
    throw Refusal{"there is no rule for it"};
  }
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    if (call.given[k]) set(n.output(k), call.given[k]);
}

}  // namespace tenon::onnx::exporting
