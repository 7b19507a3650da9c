// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Between values of programs and the arguments and results of Tenon's operators.
#pragma once

#include <list>
#include <vector>

#include "tenon/core/op.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {

// Memory for lists of one call, on the stack where they are short.
class ListMemory {
 public:
  int64_t* integers(std::size_t n) { return take<int64_t>(n); }
  double* doubles(std::size_t n) { return take<double>(n); }
  uint8_t* bools(std::size_t n) { return take<uint8_t>(n); }
  const tn_tensor** tensors(std::size_t n) { return take<const tn_tensor*>(n); }
  tn_value* values(std::size_t n) { return take<tn_value>(n); }

 private:
  template <class T>
  T* take(std::size_t n) {
    const std::size_t words =
        (n * sizeof(T) + 7) / 8;  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    if (used_ + words <= kInline) {
      T* p = reinterpret_cast<T*>(inline_ + used_);
      used_ += words;
      return p;
    }
    return reinterpret_cast<T*>(further_.emplace_back(words).data());
  }
  static constexpr std::size_t kInline = 48;
  uint64_t inline_[kInline];
  std::size_t used_ = 0;
  std::list<std::vector<uint64_t>> further_;  // an empty one allocates nothing
};

// The argument `at` of the operator; borrows from `v` and `memory`. TypeError names operator,
// argument, given and expected.
tn_value to_argument(const core::Op& op, int at, const IValue& v, ListMemory& memory);

// A result of the type that the operator's schema says; takes what it holds.
IValue to_result(core::OwnedValue& v, core::ArgType type);

// Calls op in the form, with all arguments of the schema boxed; results go to `results`, one per
// result of the schema. `outs` are the tensors of out=.
void call_boxed(const core::Op& op, Operator::Form form, const tn_value* in, const core::Impl* outs,
                IValue* results);

// Arguments on the stack, in the order of Operator::schema.
void call_on_stack(const Operator& op, Stack& stack);

}  // namespace tenon::jit
