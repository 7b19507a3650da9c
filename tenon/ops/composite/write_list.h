// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes to the tensors of a list: to all of them or, where one is refused, to none.
#pragma once
#include "tenon/autograd/mode.h"
#include "tenon/tensor.h"

namespace tenon::composite {

// Refuses leaves that require a gradient, where gradients are recorded.
void check_leaves(const char* op, TensorList list);

// Refuses tensors with elements that share memory. `what` names the list.
void check_elements(const char* op, const char* what, TensorList list);

// Both refusals.
void check_writable(const char* op, const char* what, TensorList list);

// What stands at the positions of the tensors that are written; lists may be empty.
struct Beside {
  TensorList first, second;
  ArrayRef<Scalar> numbers;
};

// Whether a call for one position can only be refused if that for the first one is: dtypes and
// devices are those of the first, tensors of a position have one shape, and no elements of self
// share memory.
bool are_alike(TensorList self, const Beside& beside);

// f(tensor, its position) writes the tensor. Where positions differ it runs on copies first.
template <class F>
void write_each(const char* op, TensorList self, const Beside& beside, F&& f) {
  check_leaves(op, self);
  if (!are_alike(self, beside)) {
    const NoGradGuard none;
    for (std::size_t i = 0; i < self.size(); ++i) f(self[i].detach().clone(), i);
  }
  check_elements(op, "self", self);
  for (std::size_t i = 0; i < self.size(); ++i) f(self[i], i);
}

}  // namespace tenon::composite
