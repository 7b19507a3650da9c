// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the generated public functions do under compat::Era04 and the switches of
// tenon/compat/backcompat.h (tools/opgen/emit_era.cpp). Private to libtenon.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "tenon/call/generated.h"

namespace tenon::autograd {

// Turns the old rules off while the body of an operator runs: calls below a public function follow
// today's.
struct Today {
  TENON_INLINE Today() : old(t_mode & kOldRules) { t_mode &= ~old; }
  TENON_INLINE ~Today() { t_mode |= old; }
  Today(const Today&) = delete;
  uint32_t old;
};

// The operands of a call by the rules that were on when it began.
// 0.4: dimensioned tensors must have one dtype, the TypeError names the argument; 0-dim tensors and
// scalars take that dtype.
// 0.2: tensors with dimensions that do not broadcast and have one number of elements take the shape
// of the first; where they do broadcast, a warning says so.
class Operands {
 public:
  struct Item {
    int at;
    const Tensor* tensor;
  };
  Operands(const Today& today, int id, std::initializer_list<Item> tensors);
  Operands(const Today& today, int id, int at, TensorList list);
  Tensor operator()(const Tensor& t) const;
  std::optional<Tensor> operator()(const std::optional<Tensor>& t) const;
  std::vector<Tensor> operator()(TensorList list) const;
  Scalar operator()(const Scalar& s) const;
  std::optional<Scalar> operator()(const std::optional<Scalar>& s) const;
  // Whether the quotient is one of integers, which 0.4 truncates.
  bool truncates() const { return era04_ && isIntegralType(dtype_, false); }
  Tensor mask(const Tensor& t) const { return era04_ ? t.to(kByte) : t; }

 private:
  void add_operand(int id, int at, const Tensor& t);
  void compare_shapes(uint32_t old, int id, std::initializer_list<Item> tensors);
  bool era04_;
  ScalarType dtype_ = ScalarType::Undefined;
  bool dimensioned_ = false;                  // dtype_ is that of a tensor with dimensions
  std::optional<std::vector<int64_t>> flat_;  // the shape that all tensors with dimensions take
};

inline const Tensor* operand(const Tensor& t) { return &t; }
inline const Tensor* operand(const std::optional<Tensor>& t) { return t ? &*t : nullptr; }

TensorOptions float_unless_given(const TensorOptions& o);  // the default float dtype
// Masks of uint8, which then index without a warning.
std::vector<std::optional<Tensor>> bool_masks(ArrayRef<std::optional<Tensor>> indices);

}  // namespace tenon::autograd
