// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call with wild values: an operator, its arguments as contiguous tensors, and the same in
// irregular memory.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "../fuzz.h"
#include "tools/check/cell.h"
#include "tools/check/samples.h"

namespace tenon::fuzz {

using check::Spec;
using core::Impl;
using Results = check::Results;

// What decides how close two computations are.
enum class Family {
  Elements,  // each result from one element of each operand
  Copies,    // elements are moved, compared or counted: exact
  Sums,      // many elements to a result
};
Family family_of(const core::Op& op);

// Elements that one dtype can hold: ends of the range, denormals, zeros, infinities and NaN, and
// plain ones between.
struct Wild {
  double chance = 0;        // of a special element
  bool whole_range = true;  // the others are from anywhere in the range, else from one power of ten
  int power = 0;
  bool finite = false;  // nothing infinite and no NaN
};

class Call {
 public:
  Call(const core::Op& op, const Spec& spec, ScalarType dtype, Random& random);
  const core::Op& op() const { return op_; }
  const Spec& spec() const { return spec_; }
  ScalarType dtype() const { return dtype_; }
  const Wild& wild() const { return wild_; }
  bool mixed() const { return mixed_; }  // operands of several dtypes

  // What a call is made with; the tensors are new ones, so that a call may write into them.
  struct Arguments {
    std::vector<Impl> tensors;
    std::vector<tn_value> values;
    std::deque<std::vector<const tn_tensor*>> lists;
  };
  Arguments contiguous() const;
  // The same elements with gaps, offsets, other orders and strides of 0.
  Arguments irregular(Random& random) const;
  Arguments bind(std::vector<Impl> tensors) const;
  const std::vector<Impl>& tensors() const { return tensors_; }
  int position(std::size_t tensor) const { return positions_[tensor]; }
  // A text, with the elements if there are few.
  std::string text() const;

 private:
  void fill(check::Values& v, ScalarType dtype, Random& random) const;

  const core::Op& op_;
  Spec spec_;
  ScalarType dtype_;
  Wild wild_;
  bool mixed_ = false;
  std::vector<Impl> tensors_;  // contiguous
  std::vector<int> positions_;
  std::vector<std::vector<int>>
      repeated_;  // of each tensor: dimensions that may have a stride of 0
};

// The results, then what the operator wrote into its arguments.
Results call(const core::Op& op, Call::Arguments& in);

// A contiguous copy on the host.
Impl copy_of(core::TensorImpl& t);
// The elements in separate memory: dimensions in any order, gaps, an offset, and stride 0 for
// `repeated`. Everything around the elements is filled with one byte.
Impl in_irregular_memory(core::TensorImpl& t, const std::vector<int>& repeated, Random& random);
// Whether the bytes around the elements are still as in_irregular_memory() left them.
bool is_intact(core::TensorImpl& t);

std::string text_of(core::TensorImpl& t);

}  // namespace tenon::fuzz
