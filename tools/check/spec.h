// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One call of an op as values, before a dtype, a memory layout and a device are chosen for its
// tensors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../oracle/arguments.h"

namespace tenon::check {

using core::DeviceId;
using oracle::Values;

struct SpecArg {
  tn_value plain{};  // where it holds no tensors
  bool is_list = false;
  bool fixed = false;                          // indices, masks: they keep their dtype
  bool constant = false;                       // they keep their values
  std::vector<std::optional<Values>> tensors;  // one, or those of a list
  bool follows(const Values& v, ScalarType main) const { return !fixed && v.dtype == main; }
};

struct Spec {
  std::string origin;         // a case's id, or the shapes
  std::vector<SpecArg> args;  // as in the schema
  ScalarType main = kDouble;  // tensors of this dtype take the dtype of a cell
  bool ordered = false;  // the order of elements matters, as in a search: no dtype may change it
  bool valid = false;    // must not be refused in its own dtype
  bool large = false;    // cut into several pieces by threads: too large for the reference
  int device_arg = -1;   // of an operator without tensors: names the device of the result
  int dtype_arg = -1;    // takes the dtype of a cell
  int text_arg = -1;     // a text in which $T is replaced by the dtype of a cell
  std::shared_ptr<void> owner;               // owns what `plain` points to
  std::shared_ptr<oracle::Arguments> given;  // of a case: its tensors with their own strides
};

// How the elements of an argument lie in memory.
enum class Memory { Contiguous, Transposed, Offset, Stepped, Expanded };
inline constexpr Memory kMemories[] = {Memory::Contiguous, Memory::Transposed, Memory::Offset,
                                       Memory::Stepped, Memory::Expanded};
const char* name(Memory m);

// The tensors of a spec on a device.
class Built {
 public:
  Built(const Spec& spec, ScalarType dtype, Memory memory, DeviceId place);
  const tn_value* values() const { return values_.data(); }
  tn_value* values() { return values_.data(); }
  const std::vector<core::Impl>& tensors() const { return tensors_; }
  core::Impl tensor(int argument) const;
  int position(std::size_t tensor) const { return positions_[tensor]; }  // its argument
  // The bytes of every argument's storage, to be compared before and after.
  std::vector<std::vector<char>> bytes() const;

 private:
  std::vector<tn_value> values_;
  std::vector<core::Impl> tensors_;
  std::vector<int> positions_;  // of each tensor: its argument
  std::vector<std::vector<const tn_tensor*>> lists_;
  std::string text_;
};

// The value that an element takes in a dtype: scaled and rounded for integers, its sign for bool.
// uint8 takes the magnitude, or zero for negative numbers where the order must stay.
double in_dtype(double v, ScalarType main, ScalarType dtype, bool keep_order);
// A tensor of these values. Expanded: the values of the first slice are repeated along the first
// long dimension.
core::Impl make_tensor(const Values& v, const Spec& spec, ScalarType dtype, Memory memory,
                       DeviceId place);
// Calls f(argument, Values&) for every tensor.
template <class F>
void each_values(Spec& spec, F&& f) {
  for (SpecArg& a : spec.args) {
    for (auto& t : a.tensors) {
      if (t) f(a, *t);
    }
  }
}

}  // namespace tenon::check
