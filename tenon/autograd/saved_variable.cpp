// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/saved_variable.h"

#include "tenon/autograd/own_nodes.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {
namespace {

// Names what keeps the argument of a node.
struct Keeper final : NodeWith<1> {
  std::string name() const override { return "SavedVariable"; }
  static Keeper& get() {
    static Keeper* const keeper = new Keeper;
    return *keeper;
  }
};

}  // namespace

SavedVariable::SavedVariable(const Tensor& v, bool is_output, bool /*is_inplace_on_view*/)
    : defined_(v.defined()), is_output_(is_output && v.defined() && v.grad_fn()) {
  if (is_output_)
    tensor_.save_output(v, v.output_nr());
  else
    tensor_.save(v, Keeper::get());
}

Tensor SavedVariable::unpack(const core::Ref<Node>& saved_for) const {
  if (!defined_) return {};
  TENON_CHECK(!dropped_, Error, saved_for ? saved_for->name() : "SavedVariable", ": ",
              ERR_BACKWARD_TWICE);
  TENON_CHECK(!is_output_ || saved_for, Error,
              "SavedVariable: unpack: the tensor is a result of the node that keeps it; expected "
              "that node as saved_for");
  return tensor_.unpack(saved_for ? *saved_for : Keeper::get());
}

void SavedVariable::reset_data() {
  dropped_ = true;
  tensor_.release();
}

}  // namespace tenon::autograd
