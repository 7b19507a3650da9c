// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call/era04.h"

#include <algorithm>

#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::autograd {

namespace {

bool broadcast(IntArrayRef a, IntArrayRef b) {
  for (std::size_t k = 1; k <= std::min(a.size(), b.size()); ++k) {
    const int64_t x = a[a.size() - k], y = b[b.size() - k];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

}  // namespace

Operands::Operands(const Today& today, int id, std::initializer_list<Item> tensors)
    : era04_(today.old & kEra04) {
  for (const Item& i : tensors) {
    if (era04_ && i.tensor) add_operand(id, i.at, *i.tensor);
  }
  if (today.old & (kPointwiseFallback | kBroadcastWarning)) compare_shapes(today.old, id, tensors);
}

Operands::Operands(const Today& today, int id, int at, TensorList list)
    : era04_(today.old & kEra04) {
  for (const Tensor& t : list) {
    if (era04_) add_operand(id, at, t);
  }
}

// PyTorch 0.1 computed with tensors of one number of elements as with vectors.
void Operands::compare_shapes(uint32_t old, int id, std::initializer_list<Item> tensors) {
  const Tensor *first = nullptr, *other = nullptr;
  bool fits = true;
  for (const Item& i : tensors) {
    if (!i.tensor || !i.tensor->defined() || i.tensor->dim() == 0) continue;
    if (!first) first = i.tensor;
    if (i.tensor->numel() != first->numel()) return;
    if (i.tensor->sizes() == first->sizes()) continue;
    other = i.tensor;
    fits = fits && broadcast(first->sizes(), other->sizes());
  }
  if (!other) return;
  const char* op = core::op_at(id).name;
  if (fits && (old & kBroadcastWarning)) {
    warn("deprecated", core::join(op, ": ", first->sizes(), " and ", other->sizes(),
                                  " do not have the same shape but are broadcastable with equal "
                                  "element counts; before 0.2 they were taken as vectors"));
  } else if (!fits && (old & kPointwiseFallback)) {
    flat_ = first->sizes().vec();
    warn("deprecated", core::join(op, ": ", first->sizes(), " and ", other->sizes(),
                                  " are not broadcastable but have the same number of elements; "
                                  "using the deprecated flat form"));
  }
}

void Operands::add_operand(int id, int at, const Tensor& t) {
  if (!t.defined()) return;
  const bool first = dtype_ == ScalarType::Undefined;
  if (first || (!dimensioned_ && t.dim() > 0)) {
    dtype_ = t.scalar_type();
    dimensioned_ = t.dim() > 0;
    return;
  }
  if (t.dim() == 0 || t.scalar_type() == dtype_) return;
  const core::Op& op = core::op_at(id);
  throw TypeError(core::join(op.name, ": expected ", dtype_name(dtype_), " but found ",
                             dtype_name(t.scalar_type()), " for argument ", at + 1, " '",
                             op.args[at].name, "'; compat::Era04 does not promote"));
}

Tensor Operands::operator()(const Tensor& t) const {
  if (!t.defined()) return t;
  if (t.dim() == 0) return era04_ && t.scalar_type() != dtype_ ? t.to(dtype_) : t;
  return flat_ && t.sizes() != IntArrayRef(*flat_) ? t.reshape(*flat_) : t;
}

std::optional<Tensor> Operands::operator()(const std::optional<Tensor>& t) const {
  return t ? std::optional<Tensor>((*this)(*t)) : std::nullopt;
}

std::vector<Tensor> Operands::operator()(TensorList list) const {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back((*this)(t));
  return out;
}

Scalar Operands::operator()(const Scalar& s) const {
  return truncates() && s.isFloatingPoint() ? Scalar(s.toLong()) : s;
}

std::optional<Scalar> Operands::operator()(const std::optional<Scalar>& s) const {
  return s ? std::optional<Scalar>((*this)(*s)) : std::nullopt;
}

TensorOptions float_unless_given(const TensorOptions& o) {
  return o.has_dtype() ? o : o.dtype(get_default_dtype());
}

std::vector<std::optional<Tensor>> bool_masks(ArrayRef<std::optional<Tensor>> indices) {
  std::vector<std::optional<Tensor>> out;
  for (const auto& i : indices) {
    const bool mask = i && i->defined() && i->scalar_type() == kByte;
    out.push_back(mask ? std::optional<Tensor>(i->to(kBool)) : i);
  }
  return out;
}

}  // namespace tenon::autograd
