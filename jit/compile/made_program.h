// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A recorded call, and the program that two recordings agree on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/trace/program.h"

namespace tenon::jit::compiled {

class RecordedCall {
 public:
  // Calls `f`.
  RecordedCall(const HostFunctionBody& f, const std::vector<IValue>& arguments);
  IValue take_result() { return std::move(recording_.result); }
  // Why there can be no program; empty: there can.
  const std::string& problem() const noexcept { return recording_.baked; }
  // Equal operators on equal values. Captured tensors are equal if they are one tensor, or if
  // nobody else had them and their elements are equal.
  bool is_same_program(const RecordedCall& o) const;
  std::string difference(const RecordedCall& before) const;
  // Whether those that the call gave a grad() have one now.
  bool leaves_have_gradients() const;

 private:
  friend class MadeProgram;
  struct Captured {
    Tensor tensor;
    bool alone;  // of this graph
  };
  tracing::Recording recording_;
  std::vector<Captured> captured_;
  bool records_;  // a result has a gradient
};

class MadeProgram {
 public:
  // `from_none`: grad() of leaves is set only where there is none.
  MadeProgram(const RecordedCall& call, const std::vector<IValue>& arguments, bool from_none);
  // Whether grad() of the captured leaves is what it was when the program was recorded, as far as
  // the program depends on it.
  bool fits_now() const;
  IValue call(std::vector<IValue> arguments) const;
  std::string str() const { return program_->graph()->str(); }

 private:
  std::optional<TracedProgram> program_;
  bool records_, from_none_;
  std::vector<Tensor> left_gradients_;                     // leaves whose grad() a call sets
  std::vector<std::pair<Tensor, Tensor>> used_gradients_;  // leaves and their grad()
};

}  // namespace tenon::jit::compiled
