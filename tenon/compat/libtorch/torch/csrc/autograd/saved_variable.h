// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A tensor that is kept for a backward pass, outside of AutogradContext::save_for_backward.
#pragma once

#include <torch/namespaces.h>

#include <optional>

#include "tenon/autograd/node.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {

class SavedVariable {
 public:
  SavedVariable() = default;
  // NotImplementedError for an output with a history, which would refer to itself by it.
  SavedVariable(const Tensor& v, bool is_output, bool /*is_inplace_on_view*/ = false) : value_(v) {
    TENON_CHECK(!is_output || !v.defined() || !v.requires_grad(), NotImplementedError,
                "SavedVariable: an output with a history cannot be kept here; "
                "AutogradContext::save_for_backward takes it");
    if (v.defined()) version_ = v._version();
  }
  SavedVariable(const std::optional<Tensor>& v, bool is_output, bool is_inplace_on_view = false)
      : SavedVariable(v ? *v : Tensor(), is_output, is_inplace_on_view) {}

  // Error if it was written to since.
  Tensor unpack(const core::Ref<Node>& /*saved_for*/ = {}) const {
    TENON_CHECK(!value_.defined() || value_._version() == version_, Error,
                "one of the variables needed for gradient computation has been modified by an "
                "inplace operation: it is at version ",
                value_._version(), ", expected version ", version_);
    return value_;
  }
  void reset_data() { value_.reset(); }

 private:
  Tensor value_;
  int64_t version_ = 0;
};

}  // namespace tenon::autograd
