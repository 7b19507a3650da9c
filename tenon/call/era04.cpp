// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call/era04.h"

#include "tenon/runtime/error.h"

namespace tenon::autograd {

Operands::Operands(int id, std::initializer_list<Item> tensors) {
  for (const Item& i : tensors) {
    if (i.tensor) add_operand(id, i.at, *i.tensor);
  }
}

Operands::Operands(int id, int at, TensorList list) {
  for (const Tensor& t : list) add_operand(id, at, t);
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
  return t.defined() && t.dim() == 0 && t.scalar_type() != dtype_ ? t.to(dtype_) : t;
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
  return integral() && s.isFloatingPoint() ? Scalar(s.toLong()) : s;
}

std::optional<Scalar> Operands::operator()(const std::optional<Scalar>& s) const {
  return s ? std::optional<Scalar>((*this)(*s)) : std::nullopt;
}

Tensor as_mask(const Tensor& t) { return t.to(kByte); }

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
