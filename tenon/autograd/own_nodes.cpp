// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/own_nodes.h"

#include "tenon/autograd/anomaly.h"
#include "tenon/autograd/anomaly_mode.h"
#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {

namespace impl {

void set_gradient_edge(const Tensor& t, Edge edge) {
  TENON_CHECK(edge.function, Error, "set_gradient_edge: the edge has no node");
  TENON_CHECK(edge.input_nr < edge.function->n_grads, Error, "set_gradient_edge: got gradient ",
              edge.input_nr, " of ", edge.function->name(), ", which has ", edge.function->n_grads);
  autograd::set_history(t, *edge.function, edge.input_nr);
  if (AnomalyMode::is_enabled()) remember_call(edge.function->name(), t.unsafeGetTensorImpl());
}

}  // namespace impl

void set_history(const Tensor& result, const core::Ref<Node>& node) {
  TENON_CHECK(node, Error, "set_history: the node is null");
  if (!result.defined()) {
    node->add_input_metadata(Node::undefined_input());
    return;
  }
  TENON_CHECK(isFloatingType(result.scalar_type()) || isComplexType(result.scalar_type()),
              TypeError, "set_history: ", node->name(),
              ": Autograd not support dtype: ", dtype_name(result.scalar_type()));
  impl::set_gradient_edge(result, {node, node->add_input_metadata(result)});
}

void set_history(const variable_list& results, const core::Ref<Node>& node) {
  for (const Tensor& r : results) set_history(r, node);
}

void record_write(const Tensor& written, const core::Ref<Node>& node) {
  TENON_CHECK(node, Error, "rebase_history: the node is null");
  if (!written.defined()) return;
  TENON_CHECK(!written.unsafeGetTensorImpl()->base || node->num_inputs() == 0, Error,
              "rebase_history: ", node->name(),
              ": a function that writes to a view must have one result");
  const uint32_t nr = node->add_input_metadata(written);
  if (written.unsafeGetTensorImpl()->base)
    rebase_history(written, node);
  else
    impl::set_gradient_edge(written, {node, nr});
}

VariableInfo::VariableInfo(const Tensor& t) : is_empty(!t.defined()) {
  if (is_empty) return;
  layout = t.layout();
  device = t.device();
  scalar_type = t.scalar_type();
  size = t.sym_sizes().vec();
  requires_grad = t.requires_grad();
}

Tensor VariableInfo::zeros() const {
  if (is_empty) return {};
  return tenon::zeros(asIntArrayRefUnchecked(size),
                      TensorOptions(scalar_type).device(device).layout(layout));
}

optional_variable_list _wrap_outputs(
    const variable_list& inputs, const std::unordered_set<core::TensorImpl*>& non_differentiable,
    const std::unordered_set<core::TensorImpl*>& dirty, ArrayRef<std::optional<Variable>> outputs,
    const core::Ref<Node>& node, const _jvp_fn_t& /*jvp*/,
    const std::unordered_set<core::TensorImpl*>& /*to_save*/,
    const _view_as_self_fn_t& view_as_self, bool /*pure_view*/) {
  std::unordered_set<core::TensorImpl*> given;
  for (const Tensor& t : inputs) given.insert(t.unsafeGetTensorImpl());
  optional_variable_list wrapped;
  for (const std::optional<Variable>& output : outputs) {
    if (!output || !output->defined()) {
      if (node) node->add_input_metadata(Node::undefined_input());
      wrapped.push_back(output);
      continue;
    }
    Tensor t = *output;
    core::TensorImpl* const impl = t.unsafeGetTensorImpl();
    const bool differentiable = non_differentiable.count(impl) == 0 &&
                                (isFloatingType(t.scalar_type()) || isComplexType(t.scalar_type()));
    const bool written = dirty.count(impl) != 0;
    if (given.count(impl) != 0 && !written) {
      if (!differentiable)
        t = t.detach();
      else
        t = view_as_self ? view_as_self(t) : t.view_as(t);
    }
    if (node && !differentiable)
      node->add_input_metadata(Node::undefined_input());
    else if (node && written)
      record_write(t, node);
    else if (node)
      set_history(t, node);
    wrapped.emplace_back(std::move(t));
  }
  return wrapped;
}

}  // namespace tenon::autograd
