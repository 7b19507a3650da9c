// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/run/plan.h"

#include <sstream>

#include "jit/run/code.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {

Plan::Code::~Code() { delete spare.load(); }

std::unique_ptr<Plan::Code::Frame> Plan::Code::take_frame() const {
  if (Frame* f = spare.exchange(nullptr, std::memory_order_acquire))
    return std::unique_ptr<Frame>(f);
  return std::make_unique<Frame>(n_slots);
}

// Values go with their run, memory of slots stays.
void Plan::Code::give_back(std::unique_ptr<Frame> f) const noexcept {
  for (IValue& v : f->slots) v = IValue();
  f->stack.clear();
  delete spare.exchange(f.release(), std::memory_order_acq_rel);
}

Plan::Plan(std::shared_ptr<const Graph> graph) {
  auto code = std::make_unique<Code>(std::move(graph));
  lower(*code->graph, *code);
  code_ = std::move(code);
}
Plan::~Plan() = default;

namespace {

void print_operands(std::ostream& out, const Plan::Code& code, uint32_t at, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    const Operand o = code.operands[at + i];
    out << (i ? ", " : "");
    if (o >= 0)
      out << '%' << o;
    else
      out << code.constants[static_cast<std::size_t>(~o)];
  }
}

bool jumps(OpCode c) {
  return c == OpCode::Jump || c == OpCode::JumpIfFalse || c == OpCode::LoopBegin ||
         c == OpCode::LoopNext;
}

const char* name_of(const Instruction& i) {
  switch (i.code) {
    case OpCode::Jump:
      return "jump";
    case OpCode::JumpIfFalse:
      return "jump_if_false";
    case OpCode::LoopBegin:
      return "loop_begin";
    case OpCode::LoopNext:
      return "loop_next";
    case OpCode::Move:
      return "move";
    default:
      return i.node->kind().c_str();
  }
}

}  // namespace

std::string Plan::str() const {
  std::ostringstream out;
  const Code& code = *code_;
  for (std::size_t k = 0; k < code.instructions.size(); ++k) {
    const Instruction& i = code.instructions[k];
    out << k << "  ";
    print_operands(out, code, i.outputs, i.n_outputs);
    out << (i.n_outputs ? " = " : "") << name_of(i) << '(';
    print_operands(out, code, i.inputs, i.n_inputs);
    out << ')';
    if (jumps(i.code)) out << " -> " << i.target;
    if (i.n_dead) out << "  # ends: ";
    print_operands(out, code, i.dead, i.n_dead);
    out << '\n';
  }
  out << "return ";
  for (std::size_t k = 0; k < code.results.size(); ++k) {
    out << (k ? ", " : "");
    if (code.results[k] >= 0)
      out << '%' << code.results[k];
    else
      out << code.constants[static_cast<std::size_t>(~code.results[k])];
  }
  out << '\n';
  return out.str();
}

}  // namespace tenon::jit
