// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A tensor that a node of a program keeps for its gradient, by libtorch's name.
#pragma once

#include <memory>
#include <optional>

#include "tenon/autograd/node.h"
#include "tenon/autograd/saved.h"

namespace tenon::autograd {

class TENON_API SavedVariable {
 public:
  SavedVariable() = default;
  // is_output: it is a result of the node that keeps it, whose history is then not kept with it.
  // Error for an inference tensor.
  SavedVariable(const Tensor& v, bool is_output, bool is_inplace_on_view = false);
  SavedVariable(const std::optional<Tensor>& v, bool is_output, bool is_inplace_on_view = false)
      : SavedVariable(v ? *v : Tensor(), is_output, is_inplace_on_view) {}

  // saved_for: the node, for one of its results. Error if the tensor was written to since, or its
  // data was dropped.
  Tensor unpack(const core::Ref<Node>& saved_for = {}) const;
  template <class N>
  Tensor unpack(const std::shared_ptr<N>& saved_for) const {
    return unpack(Node::held_by(saved_for));
  }
  Tensor unpack(std::nullptr_t) const { return unpack(core::Ref<Node>()); }
  void reset_data();

 private:
  SavedTensor tensor_;
  bool defined_ = false, is_output_ = false, dropped_ = false;
};

}  // namespace tenon::autograd
