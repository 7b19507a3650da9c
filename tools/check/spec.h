// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One call of an op as values, before a dtype, a memory layout and a device are chosen for its tensors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../oracle/arguments.h"

namespace tenon::check {

using oracle::Place;
using oracle::Values;

struct SpecArg {
  tn_value plain{};  // where it holds no tensors
  bool is_list = false;
  std::vector<std::optional<Values>> tensors;  // one, or those of a list
};

struct Spec {
  std::string origin;          // a case's id, or the generator's name and the shape
  std::vector<SpecArg> args;   // as in the schema
  ScalarType main = kDouble;   // tensors of this dtype take the dtype of a cell; others (indices, masks) stay
  bool ordered = false;        // the order of elements matters, as in a search: no dtype may change it
  std::vector<int> gradients;  // arguments to run gradcheck on
  std::shared_ptr<void> keep;  // owns what `plain` points to
};

// How the elements of an argument lie in memory.
enum class Memory { Contiguous, Transposed, Offset, Stepped, Expanded };
inline constexpr Memory kMemories[] = {Memory::Contiguous, Memory::Transposed, Memory::Offset, Memory::Stepped,
                                       Memory::Expanded};
const char* name(Memory m);

// The tensors of a spec, made.
class Built {
 public:
  Built(const Spec& spec, ScalarType dtype, Memory memory, Place place);
  const tn_value* values() const { return values_.data(); }
  tn_value* values() { return values_.data(); }
  const std::vector<core::Impl>& tensors() const { return tensors_; }
  core::Impl tensor(int argument) const;
  // The bytes of every argument's storage, to be compared before and after.
  std::vector<std::vector<char>> bytes() const;

 private:
  std::vector<tn_value> values_;
  std::vector<core::Impl> tensors_;
  std::vector<int> positions_;  // of each tensor: its argument
  std::vector<std::vector<const tn_tensor*>> lists_;
};

// The value that an element takes in a dtype: scaled and rounded for integers, its sign for bool. uint8 takes the
// magnitude, or zero for negative numbers where the order must stay.
double in_dtype(double v, ScalarType main, ScalarType dtype, bool keep_order);
// A tensor of these values. Expanded: the values of the first slice are repeated along the first long dimension.
core::Impl make_tensor(const Values& v, const Spec& spec, ScalarType dtype, Memory memory, Place place);

}  // namespace tenon::check
