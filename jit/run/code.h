// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plan consists of. Every value of a graph has a slot of its own; branches and loops are
// jumps.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "jit/fuse/group.h"
#include "jit/run/boxing.h"
#include "jit/run/plan.h"

namespace tenon::jit {

// A slot, or ~k for the k-th constant.
using Operand = int32_t;

enum class OpCode : uint8_t {
  Call,          // a host operator, over the stack
  CallTensor,    // an operator of Tenon, from slots
  CallFunction,  // inputs -> output
  CallMethod,    // of an interface: the method is found in the object's class
  Jump,          // to `target`
  JumpIfFalse,   // inputs[0]
  LoopBegin,  // inputs: max, condition; outputs: iteration; jumps to `target` where there is none
  LoopNext,   // inputs: max, condition; outputs: iteration; jumps back to `target` if there is one
  Move,       // inputs to outputs, all at once; where target is 1, inputs are left empty
  ListConstruct,
  ListUnpack,
  TupleConstruct,
  TupleUnpack,
  TupleIndex,
  TupleSlice,
  DictConstruct,
  GetAttr,
  SetAttr,
  CreateObject,
  IsInstance,
  Cast,  // Move with a check of the type
  Raise,
  Fork,
  FusionGroup,
};

struct Instruction {
  OpCode code;
  uint32_t inputs, n_inputs;  // in Code::operands
  uint32_t outputs, n_outputs;
  uint32_t dead, n_dead;  // slots that are not read after this
  int32_t target = 0;     // of a jump; slot of an attribute, or -1: by name; first of a slice
  int32_t end = 0;        // of a slice
  const Operator* op = nullptr;
  uint32_t tensor_call = 0;  // CallTensor, Fork, FusionGroup: in their lists
  Function* function = nullptr;
  const Node* node = nullptr;  // for places, types and names
};

// An operator of Tenon with the arguments that are constants boxed.
struct TensorCall {
  struct Dynamic {
    uint8_t argument;
    Operand from;
  };
  std::vector<tn_value> arguments;
  std::vector<Dynamic> dynamic;
};

struct Plan::Code {
  explicit Code(std::shared_ptr<const Graph> g) : graph(std::move(g)) {}
  ~Code();
  std::shared_ptr<const Graph> graph;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<IValue> constants;
  std::vector<TensorCall> tensor_calls;
  std::deque<ListMemory> lists;  // what boxed constants borrow
  std::vector<std::shared_ptr<const Plan>> forks;
  std::vector<std::unique_ptr<const fuse::Group>> groups;
  uint32_t n_slots = 0;
  std::vector<Operand> results;
  // Slots of a run that has ended, for the next one.
  struct Frame {
    explicit Frame(std::size_t n) : slots(n) {}
    std::vector<IValue> slots;
    Stack stack;
  };
  mutable std::atomic<Frame*> spare{nullptr};
  std::unique_ptr<Frame> take_frame() const;
  void give_back(std::unique_ptr<Frame> f) const noexcept;
};

// The instructions of a graph; lower.cpp.
void lower(const Graph& graph, Plan::Code& code);

}  // namespace tenon::jit
