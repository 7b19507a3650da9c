// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From a graph to instructions.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "jit/fuse/find_groups.h"
#include "jit/run/code.h"
#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// What nodes without an operator become, but for control flow.
const std::map<std::string, OpCode, std::less<>>& plain_codes() {
  static const std::map<std::string, OpCode, std::less<>> codes{
      {"prim::ListConstruct", OpCode::ListConstruct},
      {"prim::ListUnpack", OpCode::ListUnpack},
      {"prim::TupleConstruct", OpCode::TupleConstruct},
      {"prim::TupleUnpack", OpCode::TupleUnpack},
      {"prim::TupleIndex", OpCode::TupleIndex},
      {"prim::TupleSlice", OpCode::TupleSlice},
      {"prim::DictConstruct", OpCode::DictConstruct},
      {"prim::GetAttr", OpCode::GetAttr},
      {"prim::SetAttr", OpCode::SetAttr},
      {"prim::CreateObject", OpCode::CreateObject},
      {"prim::isinstance", OpCode::IsInstance},
      {"prim::unchecked_cast", OpCode::Cast},
      {"prim::RaiseException", OpCode::Raise},
      {"prim::fork", OpCode::Fork},
      {fuse::kGroup, OpCode::FusionGroup},
      {"prim::CallFunction", OpCode::CallFunction},
      {"prim::CallMethod", OpCode::CallMethod},
  };
  return codes;
}

// A constant, or the device of a constant text.
std::optional<IValue> known(const Value* v) {
  const Node& n = *v->node();
  if (n.is("prim::Constant")) return n.has("value") ? n.ival("value") : IValue();
  if (!n.is("aten::device") || !n.op || n.inputs().size() != 1) return std::nullopt;
  const std::optional<IValue> text = known(n.input(0));
  if (!text) return std::nullopt;
  Stack stack{*text};
  n.op->call(stack, 1);
  return stack.at(0);
}

// torch.Generator(...) in a program is one generator, which goes on from call to call, as in torch,
// whose graphs have it as a constant.
bool is_generator(const Node& n) {
  const auto inputs = n.inputs();
  return n.is("aten::Generator") && n.op &&
         std::all_of(inputs.begin(), inputs.end(),
                     [](const Value* v) { return known(v).has_value(); });
}
bool is_constant(const Node& n) { return n.is("prim::Constant") || is_generator(n); }
IValue made_once(const Node& generator) {
  Stack stack;
  for (const Value* v : generator.inputs()) stack.push_back(*known(v));
  generator.op->call(stack, stack.size());
  return stack.at(0);
}

fuse::Runner runner_of(std::shared_ptr<const Graph> g) {
  return [plan = std::make_shared<const Plan>(std::move(g))](Stack& s) { plan->run(s); };
}

class Lowering {
 public:
  Lowering(const Graph& graph, Plan::Code& code) : graph_(graph), code_(code) {}

  void run() {
    for (Value* v : graph_.inputs()) slot(v);
    lower_block(*graph_.block());
    for (Value* v : graph_.outputs()) code_.results.push_back(operand(v));
  }

 private:
  Operand slot(const Value* v) {
    auto [it, added] = places_.try_emplace(v, static_cast<Operand>(code_.n_slots));
    if (added) ++code_.n_slots;
    return it->second;
  }
  Operand constant(IValue v) {
    code_.constants.push_back(std::move(v));
    return ~static_cast<Operand>(code_.constants.size() - 1);
  }
  Operand operand(const Value* v) {
    if (is_constant(*v->node())) {
      auto it = places_.find(v);
      if (it != places_.end()) return it->second;
      const Node& n = *v->node();
      if (n.op) return places_[v] = constant(made_once(n));
      return places_[v] = constant(n.has("value") ? n.ival("value") : IValue());
    }
    if (v->node()->is("prim::Uninitialized")) return none();
    return slot(v);
  }
  Operand none() {
    if (none_ == 0) none_ = constant(IValue());
    return none_;
  }

  std::size_t here() const { return code_.instructions.size(); }
  uint32_t add_operands(const std::vector<Operand>& list) {
    const auto at = static_cast<uint32_t>(code_.operands.size());
    code_.operands.insert(code_.operands.end(), list.begin(), list.end());
    return at;
  }
  Instruction& emit(OpCode code, const Node* node, const std::vector<Operand>& inputs,
                    const std::vector<Operand>& outputs) {
    Instruction i{};
    i.code = code;
    i.node = node;
    i.inputs = add_operands(inputs);
    i.n_inputs = static_cast<uint32_t>(inputs.size());
    i.outputs = add_operands(outputs);
    i.n_outputs = static_cast<uint32_t>(outputs.size());
    return code_.instructions.emplace_back(i);
  }
  std::vector<Operand> operands(const std::vector<Value*>& values) {
    std::vector<Operand> out;
    out.reserve(values.size());
    for (const Value* v : values) out.push_back(operand(v));
    return out;
  }
  std::vector<Operand> slots(const std::vector<Value*>& values) {
    std::vector<Operand> out;
    out.reserve(values.size());
    for (const Value* v : values) out.push_back(slot(v));
    return out;
  }

  // The node of `block` that uses v last, itself or in a block inside of it; null: none.
  static const Node* last_user(const Value& v, const Block& block,
                               const std::unordered_map<const Node*, std::size_t>& order) {
    const Node* last = nullptr;
    for (const Use& use : v.uses()) {
      const Node* n = use.user;
      while (n->owning_block() != &block) n = n->owning_block()->owning_node();
      if (!last || order.at(n) > order.at(last)) last = n;
    }
    return last;
  }

  // Which slots end with each node of the block.
  std::unordered_map<const Node*, std::vector<Operand>> deaths(const Block& block) {
    std::unordered_map<const Node*, std::size_t> order;
    std::size_t k = 0;
    for (const Node* n : block.nodes()) order[n] = k++;
    order[block.return_node()] = k;
    std::unordered_map<const Node*, std::vector<Operand>> out;
    auto add = [&](const Value* v, const Node* made) {
      const Node* last = last_user(*v, block, order);
      out[last ? last : made].push_back(slot(v));
    };
    for (const Node* n : block.nodes()) {
      if (is_constant(*n) || n->is("prim::Uninitialized")) continue;
      for (const Value* v : n->outputs()) add(v, n);
    }
    for (const Value* v : block.inputs()) {
      // Inputs that nobody uses end with the frame, those of loops with the next iteration.
      if (last_user(*v, block, order)) add(v, nullptr);
    }
    return out;
  }

  // Returns the slots that end when the block's outputs have been taken.
  std::vector<Operand> lower_block(const Block& block) {
    auto ends = deaths(block);
    for (const Node* n : block.nodes()) {
      if (is_constant(*n) || n->is("prim::Uninitialized")) continue;
      lower_node(*n);
      auto dead = ends.find(n);
      if (dead == ends.end()) continue;
      // Jumps come before what a node with blocks ends with: an empty Move releases after it.
      if (!n->blocks().empty()) emit(OpCode::Move, n, {}, {});
      release(dead->second);
    }
    return ends[block.return_node()];
  }

  void lower_node(const Node& n) {
    if (n.is("prim::If")) return lower_if(n);
    if (n.is("prim::Loop")) return lower_loop(n);
    if (n.op) return lower_operator(n);
    auto it = plain_codes().find(n.kind());
    if (it == plain_codes().end()) {
      throw ErrorReport(n.range, core::join("there is no operator ", n.kind()));
    }
    lower_plain(n, it->second);
  }

  // After the last instruction.
  void release(const std::vector<Operand>& dead) {
    if (dead.empty()) return;
    const uint32_t at = add_operands(dead);
    Instruction& i = code_.instructions.back();
    i.dead = at;
    i.n_dead = static_cast<uint32_t>(dead.size());
  }
  void move(const Node& n, const std::vector<Operand>& from, const std::vector<Operand>& to) {
    emit(OpCode::Move, &n, from, to);
  }

  void lower_branch(const Node& n, const Block& block, const std::vector<Operand>& outputs) {
    const std::vector<Operand> dead = lower_block(block);
    move(n, operands(block.outputs()), outputs);
    release(dead);
  }

  void lower_if(const Node& n) {
    emit(OpCode::JumpIfFalse, &n, {operand(n.input(0))}, {});
    const std::size_t to_else = here() - 1;
    const std::vector<Operand> outputs = slots(n.outputs());
    lower_branch(n, *n.block(0), outputs);
    emit(OpCode::Jump, &n, {}, {});
    const std::size_t to_end = here() - 1;
    code_.instructions[to_else].target = static_cast<int32_t>(here());
    lower_branch(n, *n.block(1), outputs);
    code_.instructions[to_end].target = static_cast<int32_t>(here());
  }

  // Loop-carried values live in the slots of the node's outputs between iterations.
  void lower_loop(const Node& n) {
    const Block& body = *n.block(0);
    const std::vector<Operand> carried = slots(n.outputs());
    std::vector<Operand> initial = operands(n.inputs());
    initial.erase(initial.begin(), initial.begin() + 2);
    move(n, initial, carried);
    // The count is kept in a slot of its own: the body may not change it.
    const auto count = static_cast<Operand>(code_.n_slots++);
    emit(OpCode::LoopBegin, &n, {operand(n.input(0)), operand(n.input(1))}, {count});
    const std::size_t begin = here() - 1;
    std::vector<Operand> inputs = slots(body.inputs());
    move(n, {count}, {inputs.at(0)});
    inputs.erase(inputs.begin());
    move(n, carried, inputs);
    code_.instructions.back().target = 1;
    const std::vector<Operand> dead = lower_block(body);
    std::vector<Operand> next = operands(body.outputs());
    const Operand condition = next.at(0);
    next.erase(next.begin());
    move(n, next, carried);
    emit(OpCode::LoopNext, &n, {operand(n.input(0)), condition}, {count});
    release(dead);
    code_.instructions.back().target = static_cast<int32_t>(begin + 1);
    code_.instructions[begin].target = static_cast<int32_t>(here());
  }

  void lower_operator(const Node& n) {
    const std::vector<Operand> inputs = operands(n.inputs()), outputs = slots(n.outputs());
    TensorCall call;
    if (!n.op->op || n.op->form == Operator::Form::Out || !box_constants(n, inputs, call)) {
      emit(OpCode::Call, &n, inputs, outputs).op = n.op;
      return;
    }
    Instruction& made = emit(OpCode::CallTensor, &n, inputs, outputs);
    made.op = n.op;
    made.tensor_call = static_cast<uint32_t>(code_.tensor_calls.size());
    code_.tensor_calls.push_back(std::move(call));
  }

  // False: the operator does not take one of the constants. In a branch that never runs it may not.
  bool box_constants(const Node& n, const std::vector<Operand>& inputs, TensorCall& call) {
    call.arguments.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      try {
        if (inputs[i] < 0) call.arguments[i] = boxed_constant(n, static_cast<int>(i), inputs[i]);
      } catch (const Error&) {
        return false;
      }
      if (inputs[i] >= 0 || call.arguments[i].tag == TN_TAG_DEVICE)
        call.dynamic.push_back({static_cast<uint8_t>(i), inputs[i]});
    }
    return true;
  }

  // A device is resolved again in each run: its plugin may come later.
  tn_value boxed_constant(const Node& n, int at, Operand k) {
    const IValue& v = code_.constants[static_cast<std::size_t>(~k)];
    if (v.isDevice()) {
      tn_value device{};
      device.tag = TN_TAG_DEVICE;
      return device;
    }
    return to_argument(*n.op->op, at, v, code_.lists.emplace_back());
  }

  void lower_plain(const Node& n, OpCode code) {
    Instruction& i = emit(code, &n, operands(n.inputs()), slots(n.outputs()));
    if (code == OpCode::GetAttr || code == OpCode::SetAttr) {
      const ClassType* cls = as_class(n.input(0)->type());
      i.target = cls ? cls->find_slot(n.s("name")) : -1;
    } else if (code == OpCode::CallMethod) {
      const ClassType* cls = as_class(n.input(0)->type());
      if (cls) i.function = cls->find_method(n.s("name"));
      if (i.function) i.code = OpCode::CallFunction;
    } else if (code == OpCode::CallFunction) {
      TENON_PROGRAM_CHECK(n.function, n.range, "a call of a function that is not known");
      i.function = n.function;
    } else if (code == OpCode::Fork) {
      i.tensor_call = static_cast<uint32_t>(code_.forks.size());
      code_.forks.push_back(
          std::make_shared<const Plan>(std::get<std::shared_ptr<Graph>>(n.attribute("Subgraph"))));
    } else if (code == OpCode::FusionGroup) {
      i.tensor_call = static_cast<uint32_t>(code_.groups.size());
      code_.groups.push_back(std::make_unique<const fuse::Group>(
          std::get<std::shared_ptr<Graph>>(n.attribute("Subgraph")), runner_of));
    } else if (code == OpCode::TupleSlice) {
      i.target = static_cast<int32_t>(n.ival("beg").toInt());
      i.end = static_cast<int32_t>(n.ival("end").toInt());
    }
  }

  const Graph& graph_;
  Plan::Code& code_;
  std::unordered_map<const Value*, Operand> places_;
  Operand none_ = 0;
};

}  // namespace

void lower(const Graph& graph, Plan::Code& code) { Lowering(graph, code).run(); }

}  // namespace tenon::jit
