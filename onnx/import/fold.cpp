// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Nodes whose inputs are constants are computed while loading.
#include <set>

#include "onnx/import/builder.h"
#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMaxElements = 1 << 20;

// Operators that draw numbers, or whose graphs would have to be run. Weights of 8 bits stay so.
bool may_fold(const Call& c) {
  const std::string& op = c.node.op_type();
  if (op.find("Random") != std::string::npos || op == "Bernoulli" || op == "Multinomial" ||
      op == "Dropout" || op == "Loop" || op == "If" || op == "Scan" || op == "SequenceEmpty" ||
      op == "Optional" || op == "DequantizeLinear")
    return false;
  static const std::set<std::string> kByValue = {"Expand",     "Tile",          "ConstantOfShape",
                                                 "Range",      "Pad",           "Resize",
                                                 "Upsample",   "OneHot",        "EyeLike",
                                                 "Col2Im",     "CenterCropPad", "MelWeightMatrix",
                                                 "HannWindow", "HammingWindow", "BlackmanWindow",
                                                 "AffineGrid", "MaxUnpool"};
  const bool by_value = kByValue.count(op) != 0;
  double most = 1;
  for (const ItemPtr& i : c.inputs) {
    if (!i) continue;
    if (!i->constant.defined()) return false;
    if (i->as_parameter) return false;
    if (i->is_initializer && i->constant.is_floating_point() && i->constant.numel() > 1)
      return false;
    if (i->constant.numel() > kMaxElements) return false;
    most *= static_cast<double>(std::max<int64_t>(1, i->constant.numel()));
    if (!by_value || i->constant.numel() == 0) continue;
    // They may be sizes of what is made.
    if (isComplexType(i->constant.scalar_type())) return false;
    most *= i->constant.to(kDouble).abs().clamp_min(1).prod().item<double>();
  }
  return most <= static_cast<double>(4 * kMaxElements);
}

}  // namespace

std::optional<std::vector<ItemPtr>> Builder::fold(Call& c, const Entry& e) {
  if (c.node.op_type() == "Constant") return e.translate(*this, c);
  if (!may_fold(c)) return std::nullopt;
  Call inner{c.node, c.domain, c.version, {}, c.attributes, c.opsets, c.scope};
  for (const ItemPtr& i : c.inputs)
    inner.inputs.push_back(i ? constant_item(i->constant) : nullptr);

  const auto outer = std::exchange(graph_, std::make_shared<Graph>());
  jit::Node* const anchor = std::exchange(anchor_, nullptr);
  Value* const device = std::exchange(device_, nullptr);
  Value* const input = std::exchange(first_input_, nullptr);
  graph_->set_insert_point(graph_->block());
  std::optional<std::vector<ItemPtr>> out;
  try {
    const std::vector<ItemPtr> made =
        e.translate ? e.translate(*this, inner)
                    : call_function(inner, e.function ? e.function : e.name, e.gives);
    std::vector<Value*> values;
    std::vector<jit::TypePtr> types;
    bool all = !made.empty();
    for (const ItemPtr& m : made) {
      all = all && m && !(m->other && m->other->type()->is(jit::TypeKind::List));
      if (!all) break;
      values.push_back(tensor(m));
      types.push_back(jit::Type::tensor());
    }
    if (all) {
      graph_->register_output(insert1("prim::TupleConstruct", values, jit::Type::tuple(types)));
      jit::FunctionSchema schema;
      schema.name = "fold";
      schema.returns.push_back({"", jit::Type::tuple(types)});
      const jit::Function f("fold", graph_, schema);
      const NoGradGuard no_grad;
      out.emplace();
      const IValue result = f({});
      for (const IValue& v : result.toTupleRef().elements()) {
        // A view would keep all of what it is one of; an alias would be written with it.
        out->push_back(constant_item(v.toTensor().detach().clone()));
        if (v.toTensor().numel() > kMaxElements) out.reset();
        if (!out) break;
      }
    }
  } catch (const Error&) {
    out.reset();  // the error is the program's, where the node is run
  }
  graph_ = outer;
  anchor_ = anchor;
  device_ = device;
  first_input_ = input;
  return out;
}

}  // namespace tenon::onnx
