// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/composite/write_list.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

bool same_kind(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.device() == b.device() &&
         a.layout() == b.layout() && a.requires_grad() == b.requires_grad();
}

// Other dtypes refuse numbers by their values.
bool always_fits(const Scalar& n, ScalarType dtype) {
  if (!n.isFloatingPoint() || (dtype != kFloat && dtype != kDouble)) return false;
  const double value = n.toDouble();
  return !std::isfinite(value) || std::fabs(value) <= std::numeric_limits<float>::max();
}

bool shares_elements(const Tensor& t) {
  return (t.unsafeGetTensorImpl()->view.flags & TN_TENSOR_OVERLAPPING) && t.numel() > 1;
}

}  // namespace

void check_leaves(const char* op, TensorList list) {
  for (const Tensor& t : list) {
    TENON_CHECK(!(GradMode::is_enabled() && t.requires_grad() && t.is_leaf()), ValueError, op,
                ": a leaf Variable that requires grad is being used in an in-place operation");
  }
}

void check_elements(const char* op, const char* what, TensorList list) {
  for (const Tensor& t : list) {
    TENON_CHECK(!shares_elements(t), ValueError, op, ": a tensor of ", what, " with shape ",
                t.sizes(), " and strides ", t.strides(),
                " has elements that share memory and cannot be written in place; clone it first");
  }
}

void check_writable(const char* op, const char* what, TensorList list) {
  check_leaves(op, list);
  check_elements(op, what, list);
}

bool are_alike(TensorList self, const Beside& beside) {
  for (const Tensor& t : self) {
    if (!same_kind(t, self[0]) || shares_elements(t)) return false;
  }
  for (TensorList other : {beside.first, beside.second}) {
    for (std::size_t i = 0; i < other.size(); ++i) {
      if (!same_kind(other[i], other[0]) || other[i].sizes() != self[i].sizes()) return false;
    }
  }
  return beside.numbers.size() < 2 ||
         std::all_of(beside.numbers.begin(), beside.numbers.end(),
                     [&](const Scalar& n) { return always_fits(n, self[0].scalar_type()); });
}

}  // namespace tenon::composite
