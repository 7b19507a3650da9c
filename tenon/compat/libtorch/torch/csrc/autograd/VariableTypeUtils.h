// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Of libtorch's header what kernels of programs call.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <type_traits>

namespace tenon::autograd {

inline void increment_version(const Tensor& t) { impl::bump_version(t); }

// Refuses what may not be written where it requires grad: a leaf.
inline void check_inplace(const Tensor& t, bool requires_grad = true) {
  TENON_CHECK(!requires_grad || !GradMode::is_enabled() || !t.requires_grad() || !t.is_leaf(),
              Error, "a leaf Variable that requires grad is being used in an in-place operation");
}

// After a write: the gradient of what was written goes through the node.
template <class N>
void rebase_history(const Tensor& written, const N& node) {
  if constexpr (std::is_convertible_v<const N&, core::Ref<Node>>)
    record_write(written, node);
  else
    record_write(written, Node::held_by(node));
}
template <class N>
void rebase_history(const variable_list& written, const N& node) {
  for (const Tensor& t : written) rebase_history(t, node);
}

template <class... T>
variable_list flatten_tensor_args(const T&... args) {
  variable_list out;
  auto add = [&out](const Tensor& t) { out.push_back(t); };
  (detail::each_variable(add, args), ...);
  return out;
}

inline saved_variable_list make_saved_variable_list(TensorList tensors, bool is_output = false) {
  saved_variable_list out;
  for (const Tensor& t : tensors) out.emplace_back(t, is_output);
  return out;
}

}  // namespace tenon::autograd
