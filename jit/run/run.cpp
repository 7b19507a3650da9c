// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The interpreter: one loop over the instructions of a plan.
#include <array>
#include <chrono>
#include <exception>
#include <new>

#include "jit/passes/values.h"
#include "jit/run/code.h"
#include "jit/run/futures.h"
#include "tenon/jit/exception.h"
#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using Clock = std::chrono::steady_clock;

// Of the thread: what bounds its runs, and how deep it is in calls.
struct Bounds {
  RunLimits limits;
  int64_t depth = 0, instructions = 0;
  Clock::time_point end;
};
thread_local Bounds t_bounds;

// One call of a function: counts the depth, and starts the clock of the outermost.
class CallScope {
 public:
  CallScope() : bounds_(t_bounds) {
    if (bounds_.depth == 0) {
      bounds_.instructions = 0;
      if (bounds_.limits.milliseconds > 0)
        bounds_.end = Clock::now() + std::chrono::milliseconds(bounds_.limits.milliseconds);
    }
    TENON_CHECK(bounds_.limits.call_depth <= 0 || bounds_.depth < bounds_.limits.call_depth, Error,
                "RecursionError: calls are more than ", bounds_.limits.call_depth, " deep");
    ++bounds_.depth;
  }
  ~CallScope() { --bounds_.depth; }
  CallScope(const CallScope&) = delete;
  bool bounded() const {
    return bounds_.limits.instructions > 0 || bounds_.limits.milliseconds > 0;
  }
  void check() {
    constexpr int64_t kBetweenLooks = 64;  // at the clock
    const int64_t n = ++bounds_.instructions;
    TENON_CHECK(bounds_.limits.instructions <= 0 || n <= bounds_.limits.instructions, Error,
                "the program ran more than its limit of ", bounds_.limits.instructions,
                " instructions");
    if (bounds_.limits.milliseconds <= 0 || n % kBetweenLooks != 0) return;
    TENON_CHECK(Clock::now() < bounds_.end, Error, "the program ran longer than its limit of ",
                bounds_.limits.milliseconds, " ms");
  }

 private:
  Bounds& bounds_;
};

class Frame {
 public:
  explicit Frame(const Plan::Code& code) : code_(code), frame_(code.take_frame()) {}
  ~Frame() { code_.give_back(std::move(frame_)); }
  Frame(const Frame&) = delete;

  const IValue& at(Operand o) const {
    return o >= 0 ? frame_->slots[static_cast<std::size_t>(o)]
                  : code_.constants[static_cast<std::size_t>(~o)];
  }
  IValue& slot(Operand o) { return frame_->slots[static_cast<std::size_t>(o)]; }
  const IValue& in(const Instruction& i, uint32_t k) const {
    return at(code_.operands[i.inputs + k]);
  }
  IValue& out(const Instruction& i, uint32_t k) { return slot(code_.operands[i.outputs + k]); }
  Stack& stack() { return frame_->stack; }
  void release(const Instruction& i) {
    for (uint32_t k = 0; k < i.n_dead; ++k) slot(code_.operands[i.dead + k]) = IValue();
  }
  void push_inputs(const Instruction& i) {
    for (uint32_t k = 0; k < i.n_inputs; ++k) stack().push_back(in(i, k));
  }
  void pop_outputs(const Instruction& i) {
    for (uint32_t k = i.n_outputs; k-- > 0;) out(i, k) = pop(stack());
  }

  // The next instruction.
  std::size_t execute(const Instruction& i, std::size_t at);

 private:
  void call_tensor(const Instruction& i);
  void call_function(const Instruction& i, Function& f);
  void move_all(const Instruction& i);
  void list_unpack(const Instruction& i);
  void tuple_unpack(const Instruction& i);
  void tuple_index(const Instruction& i);
  void tuple_slice(const Instruction& i);
  void dict_construct(const Instruction& i);
  void get_attribute(const Instruction& i);
  void set_attribute(const Instruction& i);
  void is_instance_of(const Instruction& i);
  void call_method(const Instruction& i);
  void fork(const Instruction& i);
  std::vector<IValue> inputs(const Instruction& i) const {
    std::vector<IValue> v;
    v.reserve(i.n_inputs);
    for (uint32_t k = 0; k < i.n_inputs; ++k) v.push_back(in(i, k));
    return v;
  }
  bool goes_on(const Instruction& i, int64_t iteration) const {
    return iteration < in(i, 0).toInt() && in(i, 1).toBool();
  }

  const Plan::Code& code_;
  std::unique_ptr<Plan::Code::Frame> frame_;
};

void Frame::call_tensor(const Instruction& i) {
  const TensorCall& call = code_.tensor_calls[i.tensor_call];
  const core::Op& op = *i.op->op;
  tn_value in[core::kMaxArgs];
  std::copy(call.arguments.begin(), call.arguments.end(), in);
  ListMemory memory;
  for (const TensorCall::Dynamic& d : call.dynamic)
    in[d.argument] = to_argument(op, d.argument, at(d.from), memory);
  if (i.n_outputs == 1 && op.n_results <= 1) {
    IValue result;
    call_boxed(op, i.op->form, in, nullptr, &result);
    out(i, 0) = std::move(result);
    return;
  }
  std::array<IValue, core::kMaxOutputs> results;
  call_boxed(op, i.op->form, in, nullptr, results.data());
  for (uint32_t k = 0; k < i.n_outputs; ++k) out(i, k) = std::move(results[k]);
}

void Frame::call_function(const Instruction& i, Function& f) {
  push_inputs(i);
  f.run(stack());
  if (i.n_outputs == 0) return drop(stack(), 1);
  pop_outputs(i);
}

void Frame::call_method(const Instruction& i) {
  const std::string& name = i.node->s("name");
  const auto* cls = dynamic_cast<const ClassType*>(in(i, 0).toObjectRef().type.get());
  Function* f = cls ? cls->find_method(name) : nullptr;
  TENON_CHECK(f, Error, in(i, 0).toObjectRef().name(), " has no method '", name, "'");
  call_function(i, *f);
}

void Frame::move_all(const Instruction& i) {
  if (i.n_inputs == 1) {
    if (i.target == 1)
      out(i, 0) = std::move(const_cast<IValue&>(in(i, 0)));
    else
      out(i, 0) = in(i, 0);
    return;
  }
  for (uint32_t k = 0; k < i.n_inputs; ++k) {
    if (i.target == 1)
      stack().push_back(std::move(const_cast<IValue&>(in(i, k))));
    else
      stack().push_back(in(i, k));
  }
  pop_outputs(i);
}

void Frame::list_unpack(const Instruction& i) {
  const core::Ref<ivalue::List> list = core::Ref<ivalue::List>::share(&in(i, 0).toListRef());
  TENON_CHECK(list->items.size() == i.n_outputs, ValueError, "Expected ", i.n_outputs,
              " elements in a list but found ", list->items.size());
  for (uint32_t k = 0; k < i.n_outputs; ++k) out(i, k) = list->items[k];
}

void Frame::tuple_unpack(const Instruction& i) {
  const core::Ref<ivalue::Tuple> tuple = in(i, 0).toTuple();
  TENON_CHECK(tuple->size() == i.n_outputs, ValueError, "Expected ", i.n_outputs,
              " elements in a tuple but found ", tuple->size());
  for (uint32_t k = 0; k < i.n_outputs; ++k) out(i, k) = tuple->items[k];
}

void Frame::tuple_index(const Instruction& i) {
  const core::Ref<ivalue::Tuple> tuple = in(i, 0).toTuple();
  const auto n = static_cast<int64_t>(tuple->size());
  const int64_t k = in(i, 1).toInt(), at = k < 0 ? k + n : k;
  TENON_CHECK(at >= 0 && at < n, IndexError, "tuple index ", k, " out of range of ", n);
  out(i, 0) = tuple->items[static_cast<std::size_t>(at)];
}

void Frame::tuple_slice(const Instruction& i) {
  const core::Ref<ivalue::Tuple> tuple = in(i, 0).toTuple();
  TENON_CHECK(
      0 <= i.target && i.target <= i.end && static_cast<std::size_t>(i.end) <= tuple->size(),
      IndexError, "tuple slice ", i.target, ":", i.end, " out of range of ", tuple->size());
  std::vector<IValue> part(tuple->items.begin() + i.target, tuple->items.begin() + i.end);
  out(i, 0) = core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(part)));
}

void Frame::dict_construct(const Instruction& i) {
  const TypePtr& type = i.node->output()->type();
  auto dict = core::Ref<ivalue::Dict>::adopt(
      new ivalue::Dict(type->contained().at(0), type->contained().at(1)));
  for (uint32_t k = 0; k + 1 < i.n_inputs; k += 2) dict->insert_or_assign(in(i, k), in(i, k + 1));
  out(i, 0) = IValue(std::move(dict));
}

void Frame::get_attribute(const Instruction& i) {
  const core::Ref<ivalue::Object> object = in(i, 0).toObject();
  if (i.target >= 0 && static_cast<std::size_t>(i.target) < object->slots.size())
    out(i, 0) = object->slots[static_cast<std::size_t>(i.target)];
  else
    out(i, 0) = object->getAttr(i.node->s("name"));
}

void Frame::set_attribute(const Instruction& i) {
  ivalue::Object& object = in(i, 0).toObjectRef();
  if (i.target >= 0 && static_cast<std::size_t>(i.target) < object.slots.size())
    object.slots[static_cast<std::size_t>(i.target)] = in(i, 1);
  else
    object.setAttr(i.node->s("name"), in(i, 1));
}

void Frame::is_instance_of(const Instruction& i) { out(i, 0) = is_instance(*i.node, in(i, 0)); }

void Frame::fork(const Instruction& i) {
  const std::shared_ptr<const Plan>& plan = code_.forks[i.tensor_call];
  const RunLimits limits = run_limits();
  core::Ref<ivalue::Future> future =
      start_job([plan, limits, arguments = inputs(i)]() mutable -> IValue {
        const RunLimits before = run_limits();
        set_run_limits(limits);
        Stack stack(std::move(arguments));
        try {
          plan->run(stack);
        } catch (...) {
          set_run_limits(before);
          throw;
        }
        set_run_limits(before);
        return pop(stack);
      });
  if (const TypePtr& type = i.node->output()->type()) future->element = type->element();
  out(i, 0) = IValue(std::move(future));
}

std::size_t Frame::execute(const Instruction& i, std::size_t at) {
  switch (i.code) {
    case OpCode::CallTensor:
      call_tensor(i);
      return at + 1;
    case OpCode::Call:
      push_inputs(i);
      i.op->call(stack(), i.n_inputs);
      pop_outputs(i);
      return at + 1;
    case OpCode::CallFunction:
      call_function(i, *i.function);
      return at + 1;
    case OpCode::CallMethod:
      call_method(i);
      return at + 1;
    case OpCode::Jump:
      return static_cast<std::size_t>(i.target);
    case OpCode::JumpIfFalse:
      return in(i, 0).toBool() ? at + 1 : static_cast<std::size_t>(i.target);
    case OpCode::LoopBegin:
      out(i, 0) = int64_t{0};
      return goes_on(i, 0) ? at + 1 : static_cast<std::size_t>(i.target);
    case OpCode::LoopNext: {
      const int64_t next = out(i, 0).toInt() + 1;
      out(i, 0) = next;
      return goes_on(i, next) ? static_cast<std::size_t>(i.target) : at + 1;
    }
    case OpCode::Move:
      move_all(i);
      return at + 1;
    case OpCode::ListConstruct:
      out(i, 0) = core::Ref<ivalue::List>::adopt(
          new ivalue::List(i.node->output()->type()->element(), inputs(i)));
      return at + 1;
    case OpCode::ListUnpack:
      list_unpack(i);
      return at + 1;
    case OpCode::TupleConstruct: {
      const TypePtr& type = i.node->output()->type();
      out(i, 0) = core::Ref<ivalue::Tuple>::adopt(
          new ivalue::Tuple(inputs(i), type && !type->name().empty() ? type : nullptr));
      return at + 1;
    }
    case OpCode::TupleUnpack:
      tuple_unpack(i);
      return at + 1;
    case OpCode::TupleIndex:
      tuple_index(i);
      return at + 1;
    case OpCode::TupleSlice:
      tuple_slice(i);
      return at + 1;
    case OpCode::DictConstruct:
      dict_construct(i);
      return at + 1;
    case OpCode::GetAttr:
      get_attribute(i);
      return at + 1;
    case OpCode::SetAttr:
      set_attribute(i);
      return at + 1;
    case OpCode::CreateObject:
      out(i, 0) = new_object(*i.node);
      return at + 1;
    case OpCode::IsInstance:
      is_instance_of(i);
      return at + 1;
    case OpCode::Cast:
      out(i, 0) = in(i, 0);
      return at + 1;
    case OpCode::Raise: {
      const std::string cls =
          i.n_inputs > 1 && in(i, 1).isString() ? in(i, 1).toStringRef() : "Exception";
      raise(cls, in(i, 0).toStringRef());
    }
    case OpCode::Fork:
      fork(i);
      return at + 1;
    case OpCode::FusionGroup:
      push_inputs(i);
      code_.groups[i.tensor_call]->run(stack());
      pop_outputs(i);
      return at + 1;
  }
  return at + 1;
}

std::string placed_text(const Error& e, const std::string& place) {
  const bool first = e.msg().find("\nTraceback of the program:\n") == std::string::npos;
  return e.msg() + (first ? "\nTraceback of the program:\n" : "\n") + place;
}

// The class of the error and its operator stay; its message gets the place in the program,
// innermost first.
[[noreturn]] void rethrow_at(const SourceRange& range) {
  const std::string place = range.highlight();
  try {
    throw;
  } catch (const JITException& e) {
    if (place.empty()) throw;
    throw JITException(placed_text(e, place), *e.getPythonClassName(), *e.getOriginalMsg(),
                       {e.file(), e.line()});
  } catch (const Error& e) {
    if (place.empty()) throw;
    try {
      core::throw_error(e.code(), placed_text(e, place), {e.file(), e.line()});
    } catch (Error& placed) {
      placed.set_op(e.op());
      throw;
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(e.what() + ("\nTraceback of the program:\n" + place));
  }
}

}  // namespace

RunLimits run_limits() noexcept { return t_bounds.limits; }
void set_run_limits(const RunLimits& limits) noexcept { t_bounds.limits = limits; }

void Plan::run(Stack& stack) const {
  const Code& code = *code_;
  CallScope scope;
  Frame frame(code);
  const std::size_t n = code.graph->inputs().size();
  for (std::size_t k = 0; k < n; ++k)
    frame.slot(static_cast<Operand>(k)) = std::move(peek(stack, k, n));
  drop(stack, n);
  const bool bounded = scope.bounded();
  const uint32_t mode = autograd::mode();
  const std::size_t end = code.instructions.size();
  for (std::size_t at = 0; at < end;) {
    const Instruction& i = code.instructions[at];
    try {
      if (TENON_UNLIKELY(bounded)) scope.check();
      at = frame.execute(i, at);
    } catch (...) {
      autograd::set_mode(mode);  // of a `with torch.no_grad()` that the error left
      rethrow_at(i.node->range);
    }
    frame.release(i);
  }
  for (const Operand o : code.results) stack.push_back(frame.at(o));
}

}  // namespace tenon::jit
