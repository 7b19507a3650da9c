// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a program calls to record a node of its own (autograd/node.h). Each function takes the node
// by Ref or by a shared_ptr with deleteNode.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/autograd/node.h"

namespace tenon::autograd {

inline constexpr const char* ERR_BACKWARD_TWICE =
    "this graph was already walked and its buffers are freed; pass retain_graph to go backward a "
    "second time";

namespace detail {

// Calls f with each tensor of an argument: a tensor, a pointer on one, an optional one, or a list
// of any of those. An absent one is undefined.
template <class F, class T>
void each_variable(F& f, const T& v) {
  if constexpr (std::is_convertible_v<const T&, const Tensor&>) {
    f(v);
  } else if constexpr (std::is_convertible_v<const T&, const Tensor*>) {
    f(*v);
  } else if constexpr (std::is_convertible_v<const T&, const std::optional<Tensor>&>) {
    f(v ? *v : Tensor());
  } else {
    for (const auto& item : v) each_variable(f, item);
  }
}

}  // namespace detail

// Where the gradients of these go; an empty edge for one that does not require grad.
template <class... T>
edge_list collect_next_edges(const T&... variables) {
  edge_list edges;
  auto add = [&edges](const Tensor& v) { edges.push_back(gradient_edge(v)); };
  (detail::each_variable(add, variables), ...);
  return edges;
}

// Whether any of them takes part in a recording.
inline bool any_variable_requires_grad(const variable_list& variables) {
  for (const Tensor& v : variables) {
    if (v.requires_grad()) return true;
  }
  return false;
}
// The same, and whether this thread records.
template <class... T>
bool compute_requires_grad(const T&... variables) {
  if (!GradMode::is_enabled()) return false;
  bool any = false;
  auto look = [&any](const Tensor& v) { any = any || v.requires_grad(); };
  (detail::each_variable(look, variables), ...);
  return any;
}

namespace impl {
// The gradient of t follows this edge, in the place of the one that it followed.
TENON_API void set_gradient_edge(const Tensor& t, Edge edge);
}  // namespace impl

// Makes these the next results of the node: their gradients are what it is given. TypeError for
// integers; the gradient of an undefined one is undefined.
TENON_API void set_history(const Tensor& result, const core::Ref<Node>& node);
TENON_API void set_history(const variable_list& results, const core::Ref<Node>& node);
template <class T, class N>
void set_history(const T& result, const std::shared_ptr<N>& node) {
  set_history(result, Node::held_by(node));
}
// After a write to this tensor, which the node computes the gradient of: its first edge leads to
// what the tensor was. A write to a view goes to its base.
TENON_API void record_write(const Tensor& written, const core::Ref<Node>& node);

template <class N>
void create_gradient_edge(Tensor& result, N node) {
  const uint32_t nr = node->add_input_metadata(result);
  impl::set_gradient_edge(result, Edge(std::move(node), nr));
}

// What a node needs to know of an argument or a result that it does not keep.
struct TENON_API VariableInfo {
  VariableInfo() = default;  // of an undefined one
  explicit VariableInfo(const Tensor& t);
  Tensor zeros() const;
  template <class DeviceGuard>
  Tensor zeros(DeviceGuard& /*guard*/) const {
    return zeros();
  }

  Layout layout = kStrided;
  Device device = kCPU;
  ScalarType scalar_type = kFloat;
  std::vector<SymInt> size;
  bool requires_grad = false;
  bool is_empty = true;
};

using optional_variable_list = std::vector<std::optional<Variable>>;
inline optional_variable_list to_optional(const Variable& output) { return {output}; }
inline optional_variable_list to_optional(const variable_list& output) {
  return optional_variable_list(output.begin(), output.end());
}
template <class T>
T to_output_type(const optional_variable_list& list) {
  if constexpr (std::is_same_v<T, Variable>) {
    return list.at(0).value();
  } else {
    T out;
    for (const auto& v : list) out.push_back(v.value());
    return out;
  }
}

using _jvp_fn_t = std::function<variable_list(variable_list, variable_list)>;
using _view_as_self_fn_t = std::function<Tensor(Tensor)>;
// Connects what a function with a node of its own returned: a result that is one of the inputs
// becomes a result of its own, an input that was written goes through the node, all others are its
// results, in order. Without a node nothing is recorded. jvp and to_save have no effect.
TENON_API optional_variable_list _wrap_outputs(
    const variable_list& inputs, const std::unordered_set<core::TensorImpl*>& non_differentiable,
    const std::unordered_set<core::TensorImpl*>& dirty, ArrayRef<std::optional<Variable>> outputs,
    const core::Ref<Node>& node, const _jvp_fn_t& jvp,
    const std::unordered_set<core::TensorImpl*>& to_save = {},
    const _view_as_self_fn_t& view_as_self = {}, bool pure_view = false);
template <class N>
optional_variable_list _wrap_outputs(
    const variable_list& inputs, const std::unordered_set<core::TensorImpl*>& non_differentiable,
    const std::unordered_set<core::TensorImpl*>& dirty, ArrayRef<std::optional<Variable>> outputs,
    const std::shared_ptr<N>& node, const _jvp_fn_t& jvp,
    const std::unordered_set<core::TensorImpl*>& to_save = {},
    const _view_as_self_fn_t& view_as_self = {}, bool pure_view = false) {
  return _wrap_outputs(inputs, non_differentiable, dirty, outputs, Node::held_by(node), jvp,
                       to_save, view_as_self, pure_view);
}

}  // namespace tenon::autograd
