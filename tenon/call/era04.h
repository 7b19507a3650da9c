// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the generated public functions do under compat::Era04 (tools/opgen/emit_era.cpp). Private to
// libtenon.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "tenon/call/generated.h"

namespace tenon::autograd {

// Turns the bit off while the body of an operator runs: calls below a public function follow
// today's rules.
struct Today {
  Today() : bit(t_mode & kEra04) { t_mode &= ~bit; }
  ~Today() { t_mode |= bit; }
  Today(const Today&) = delete;
  uint32_t bit;
};

// The operands of a call by the rule of 0.4: dimensioned tensors must have one dtype, the TypeError
// names the argument; 0-dim tensors and scalars take that dtype.
class Operands {
 public:
  struct Item {
    int at;
    const Tensor* tensor;
  };
  Operands(int id, std::initializer_list<Item> tensors);
  Operands(int id, int at, TensorList list);
  Tensor operator()(const Tensor& t) const;
  std::optional<Tensor> operator()(const std::optional<Tensor>& t) const;
  std::vector<Tensor> operator()(TensorList list) const;
  Scalar operator()(const Scalar& s) const;
  std::optional<Scalar> operator()(const std::optional<Scalar>& s) const;
  bool integral() const { return isIntegralType(dtype_, false); }

 private:
  void add_operand(int id, int at, const Tensor& t);
  ScalarType dtype_ = ScalarType::Undefined;
  bool dimensioned_ = false;  // dtype_ is that of a tensor with dimensions
};

inline const Tensor* operand(const Tensor& t) { return &t; }
inline const Tensor* operand(const std::optional<Tensor>& t) { return t ? &*t : nullptr; }

Tensor as_mask(const Tensor& t);                           // uint8
TensorOptions float_unless_given(const TensorOptions& o);  // the default float dtype
// Masks of uint8, which then index without a warning.
std::vector<std::optional<Tensor>> bool_masks(ArrayRef<std::optional<Tensor>> indices);

}  // namespace tenon::autograd
