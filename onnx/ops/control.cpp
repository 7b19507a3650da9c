// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan become prim::If and prim::Loop.
#include "onnx/import/builder.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

using jit::Type;
using jit::TypeKind;

const Texts kTexts(R"py(
def _stack_scan(xs: List[Tensor], empty: List[int], dtype: int, device: Device, axis: int, backward: bool) -> Tensor:
  if len(xs) == 0:
    return torch.zeros(empty, dtype=dtype, device=device)
  if backward:
    ys: List[Tensor] = []
    for i in range(len(xs)):
      ys.append(xs[len(xs) - 1 - i])
    return torch.stack(ys, axis)
  return torch.stack(xs, axis)
def _scan_slice(x: Tensor, axis: int, i: int, backward: bool) -> Tensor:
  return x.select(axis, x.size(axis) - 1 - i if backward else i)
)py");

Value* plain_value(Builder& b, const ItemPtr& i) { return i->other ? i->other : b.tensor(i); }

// The type that values of both types have.
jit::TypePtr common_type(const jit::TypePtr& a, const jit::TypePtr& b) {
  if (a->str() == b->str()) return a;
  if (a->is(TypeKind::None)) return Type::optional(b);
  if (b->is(TypeKind::None)) return Type::optional(a);
  if (a->is(TypeKind::Optional)) return a;
  return b->is(TypeKind::Optional) ? b : Type::any();
}

std::vector<ItemPtr> translate_if(Builder& b, Call& c) {
  const ItemPtr& condition = c.input(0);
  const pb::GraphProto& yes = c.graph("then_branch");
  const pb::GraphProto& no = c.graph("else_branch");
  TENON_CHECK(yes.output_size() == no.output_size(), ValueError, "its branches have ",
              yes.output_size(), " and ", no.output_size(), " outputs");
  if (condition->constant.defined() && condition->constant.numel() == 1) {
    Scope inner{c.scope, {}};
    return b.add_graph(condition->constant.reshape({}).item<double>() != 0 ? yes : no, inner,
                       c.opsets);
  }
  Value* flag = b.as(condition, Type::boolean(), "cond");
  jit::Node* n = b.insert("prim::If", {flag}, {});
  std::vector<std::vector<ItemPtr>> outs;
  for (const pb::GraphProto* g : {&yes, &no}) {
    jit::Block* block = n->add_block();
    Graph::InsertPoint at(b.graph(), block);
    Scope inner{c.scope, {}};
    outs.push_back(b.add_graph(*g, inner, c.opsets));
    for (const ItemPtr& o : outs.back()) block->register_output(plain_value(b, o));
  }
  std::vector<ItemPtr> results;
  for (std::size_t i = 0; i < outs[0].size(); ++i) {
    const jit::TypePtr type =
        common_type(n->block(0)->outputs()[i]->type(), n->block(1)->outputs()[i]->type());
    const bool same = outs[0][i]->dtype == outs[1][i]->dtype;
    results.push_back(Builder::item(n->add_output(type), same ? outs[0][i]->dtype : std::nullopt));
  }
  return results;
}

// What is collected in each step of a loop.
struct Collected {
  Value* list;
  int64_t axis = 0;
  bool backward = false;
};

ItemPtr stack(Builder& b, const Collected& c, const pb::ValueInfoProto& info) {
  std::vector<int64_t> empty;
  for (const auto& d : info.type().tensor_type().shape().dim())
    empty.push_back(std::max<int64_t>(0, d.dim_value()));
  const int64_t axis = c.axis < 0 ? c.axis + static_cast<int64_t>(empty.size()) + 1 : c.axis;
  TENON_CHECK(axis >= 0, ValueError, "the axis of an output is out of range");
  empty.insert(empty.begin() + std::min<int64_t>(axis, static_cast<int64_t>(empty.size())), 0);
  const auto dtype = dtype_of(info.type().tensor_type().elem_type());
  Value* v =
      b.call_text("_stack_scan", {c.list, b.constant(empty), b.constant(dtype.value_or(kFloat)),
                                  b.device(), b.constant(c.axis), b.constant(c.backward)})
          .at(0);
  return Builder::item(v, dtype);
}

Value* empty_list(Builder& b) {
  return b.insert1("prim::ListConstruct", {}, Type::list(Type::tensor()));
}

// A loop whose body is a graph: `bind` gives names to what the body sees of a step.
struct LoopBuilder {
  Builder& b;
  Call& c;
  const pb::GraphProto& body;
  std::vector<ItemPtr> initial;
  std::vector<Collected> collected;
  int first_state;     // among the outputs of the body
  bool has_condition;  // the body's first output tells whether to go on

  template <class Bind>
  std::vector<ItemPtr> run(Value* trips, Value* condition, Bind bind) {
    std::vector<Value*> inputs = {trips, condition};
    std::vector<jit::TypePtr> types;
    for (const ItemPtr& i : initial) {
      inputs.push_back(plain_value(b, i));
      types.push_back(inputs.back()->type());
    }
    jit::Node* n = b.insert("prim::Loop", inputs, {});
    jit::Block* block = n->add_block();
    Value* step = block->add_input("", Type::integer());
    Scope inner{c.scope, {}};
    std::vector<ItemPtr> states;
    for (std::size_t i = 0; i < initial.size(); ++i)
      states.push_back(Builder::item(block->add_input("", types[i]), initial[i]->dtype));
    {
      Graph::InsertPoint at(b.graph(), block);
      bind(inner, step, states);
      const std::vector<ItemPtr> outs = b.add_graph(body, inner, c.opsets);
      Value* go_on = has_condition ? b.as(outs.at(0), Type::boolean(), "cond") : b.constant(true);
      block->register_output(go_on);
      const auto at_state = static_cast<std::size_t>(first_state);
      for (std::size_t i = 0; i < initial.size(); ++i)
        block->register_output(plain_value(b, outs.at(at_state + i)));
      for (std::size_t i = 0; i < collected.size(); ++i)
        b.emit("aten::append.t",
               {collected[i].list, b.tensor(outs.at(at_state + initial.size() + i))});
    }
    std::vector<ItemPtr> results;
    for (std::size_t i = 0; i < initial.size(); ++i)
      results.push_back(Builder::item(n->add_output(types[i]), initial[i]->dtype));
    for (std::size_t i = 0; i < collected.size(); ++i)
      results.push_back(
          stack(b, collected[i], body.output(first_state + static_cast<int>(initial.size() + i))));
    return results;
  }
};

std::vector<ItemPtr> translate_loop(Builder& b, Call& c) {
  const pb::GraphProto& body = c.graph("body");
  const std::size_t states = c.inputs.size() > 2 ? c.inputs.size() - 2 : 0;
  const int scans = body.output_size() - 1 - static_cast<int>(states);
  TENON_CHECK(scans >= 0 && body.input_size() == static_cast<int>(states) + 2, ValueError,
              "its body has ", body.input_size(), " inputs and ", body.output_size(),
              " outputs for ", states, " states");
  LoopBuilder loop{b, c, body, {}, {}, 1, true};
  for (std::size_t i = 0; i < states; ++i) loop.initial.push_back(c.input(i + 2));
  for (int i = 0; i < scans; ++i) loop.collected.push_back({empty_list(b)});
  const ItemPtr trips = c.optional_input(0), go_on = c.optional_input(1);
  return loop.run(trips ? b.integer(trips) : b.constant(std::numeric_limits<int64_t>::max()),
                  go_on ? b.as(go_on, Type::boolean(), "cond") : b.constant(true),
                  [&](Scope& inner, Value* step, const std::vector<ItemPtr>& items) {
                    inner.values[body.input(0).name()] = Builder::item(step, kLong);
                    ItemPtr always = Builder::constant_item(scalar_tensor(1, kBool));
                    inner.values[body.input(1).name()] = always;
                    for (std::size_t i = 0; i < items.size(); ++i)
                      inner.values[body.input(static_cast<int>(i) + 2).name()] = items[i];
                  });
}

int64_t at_or_zero(const std::vector<int64_t>& list, std::size_t i) {
  return i < list.size() ? list[i] : 0;
}

// States and what is scanned, in the order of the body's inputs.
std::vector<ItemPtr> run_scan(Builder& b, Call& c, const std::vector<ItemPtr>& inputs,
                              std::size_t scanned) {
  const pb::GraphProto& body = c.graph("body");
  TENON_CHECK(scanned > 0 && scanned <= inputs.size() &&
                  body.input_size() == static_cast<int>(inputs.size()),
              ValueError, "num_scan_inputs is ", scanned, ", for ", inputs.size(),
              " inputs and a body with ", body.input_size());
  const std::size_t states = inputs.size() - scanned;
  TENON_CHECK(body.output_size() >= static_cast<int>(states), ValueError,
              "its body has fewer outputs than states");
  LoopBuilder loop{b, c, body, {}, {}, 0, false};
  loop.initial.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states));
  const auto out_axes = c.integers("scan_output_axes");
  const auto out_directions = c.integers("scan_output_directions");
  for (std::size_t i = states; i < static_cast<std::size_t>(body.output_size()); ++i)
    loop.collected.push_back({empty_list(b), at_or_zero(out_axes, i - states),
                              at_or_zero(out_directions, i - states) != 0});
  const auto axes = c.integers("scan_input_axes");
  const auto directions = c.integers(c.version < 9 ? "directions" : "scan_input_directions");
  std::vector<Value*> xs;
  for (std::size_t i = 0; i < scanned; ++i) xs.push_back(b.tensor(inputs[states + i]));
  Value* trips = b.emit1("aten::size.int", {xs[0], b.constant(at_or_zero(axes, 0))});
  return loop.run(
      trips, b.constant(true), [&](Scope& inner, Value* step, const std::vector<ItemPtr>& items) {
        for (std::size_t i = 0; i < items.size(); ++i)
          inner.values[body.input(static_cast<int>(i)).name()] = items[i];
        for (std::size_t i = 0; i < scanned; ++i) {
          Value* x = b.call_text("_scan_slice", {xs[i], b.constant(at_or_zero(axes, i)), step,
                                                 b.constant(at_or_zero(directions, i) != 0)})
                         .at(0);
          inner.values[body.input(static_cast<int>(states + i)).name()] =
              Builder::item(x, inputs[states + i]->dtype);
        }
      });
}

std::size_t scanned_inputs(const Call& c) {
  return static_cast<std::size_t>(std::max<int64_t>(0, c.integer("num_scan_inputs", 0)));
}
std::vector<ItemPtr> translate_scan(Builder& b, Call& c) {
  std::vector<ItemPtr> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(c.input(i));
  return run_scan(b, c, inputs, scanned_inputs(c));
}

// Calls `turn` in a loop and stacks what it gives, by position, along a dimension that is new.
template <class Turn>
std::vector<ItemPtr> stack_turns(Builder& b, Value* trips, std::size_t outputs, Turn turn) {
  std::vector<Value*> lists;
  for (std::size_t i = 0; i < outputs; ++i) lists.push_back(empty_list(b));
  jit::Node* n = b.insert("prim::Loop", {trips, b.constant(true)}, {});
  jit::Block* block = n->add_block();
  Value* step = block->add_input("", Type::integer());
  std::vector<ItemPtr> outs;
  {
    Graph::InsertPoint at(b.graph(), block);
    outs = turn(step);
    block->register_output(b.constant(true));
    for (std::size_t i = 0; i < outputs; ++i)
      b.emit("aten::append.t", {lists[i], b.tensor(outs.at(i))});
  }
  std::vector<ItemPtr> results;
  for (std::size_t i = 0; i < outputs; ++i)
    results.push_back(
        Builder::item(b.emit1("aten::stack", {lists[i], b.constant(int64_t{0})}), outs[i]->dtype));
  return results;
}

// Before version 9 the first dimension of all is that of a batch, whose items are scanned each by
// itself.
std::vector<ItemPtr> translate_batched_scan(Builder& b, Call& c) {
  TENON_CHECK(!c.optional_input(0), NotImplementedError,
              "lengths of the sequences in a batch are not supported");
  std::vector<ItemPtr> batch;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) batch.push_back(c.input(i));
  TENON_CHECK(!batch.empty(), ValueError, "it has nothing to scan");
  std::vector<Value*> all;
  for (const ItemPtr& i : batch) all.push_back(b.tensor(i));
  Value* trips = b.emit1("aten::size.int", {all[0], b.constant(int64_t{0})});
  const auto outputs = static_cast<std::size_t>(c.graph("body").output_size());
  return stack_turns(b, trips, outputs, [&](Value* step) {
    std::vector<ItemPtr> one;
    for (std::size_t i = 0; i < all.size(); ++i)
      one.push_back(Builder::item(
          b.emit1("aten::select.int", {all[i], b.constant(int64_t{0}), step}), batch[i]->dtype));
    return run_scan(b, c, one, scanned_inputs(c));
  });
}

// Each position of the sequences, and the tensors as they are, through the body.
std::vector<ItemPtr> translate_sequence_map(Builder& b, Call& c) {
  const pb::GraphProto& body = c.graph("body");
  TENON_CHECK(body.input_size() == static_cast<int>(c.inputs.size()) && !c.inputs.empty(),
              ValueError, "its body has ", body.input_size(), " inputs");
  std::vector<Value*> lists;
  lists.reserve(static_cast<std::size_t>(body.output_size()));
  for (int i = 0; i < body.output_size(); ++i) lists.push_back(empty_list(b));
  Value* trips = b.emit1("aten::len.t", {b.sequence(c.input(0))});
  jit::Node* n = b.insert("prim::Loop", {trips, b.constant(true)}, {});
  jit::Block* block = n->add_block();
  Value* step = block->add_input("", Type::integer());
  {
    Graph::InsertPoint at(b.graph(), block);
    Scope inner{c.scope, {}};
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const ItemPtr& in = c.input(i);
      ItemPtr item = in;
      if (in->other) {
        item = Builder::item(b.emit1("aten::__getitem__.t", {b.sequence(in), step}), in->dtype);
      }
      inner.values[body.input(static_cast<int>(i)).name()] = item;
    }
    const std::vector<ItemPtr> outs = b.add_graph(body, inner, c.opsets);
    block->register_output(b.constant(true));
    for (std::size_t i = 0; i < outs.size(); ++i)
      b.emit("aten::append.t", {lists[i], b.tensor(outs[i])});
  }
  std::vector<ItemPtr> results;
  results.reserve(lists.size());
  for (Value* l : lists) results.push_back(Builder::item(l));
  return results;
}

const Entry kControl[] = {
    {"SequenceMap", 17, 0, Gives::Unknown, nullptr, translate_sequence_map},
    {"If", 1, 0, Gives::Unknown, nullptr, translate_if},
    {"Loop", 1, 0, Gives::Unknown, nullptr, translate_loop},
    {"Scan", 8, 8, Gives::Unknown, nullptr, translate_batched_scan},
    {"Scan", 9, 0, Gives::Unknown, nullptr, translate_scan},
};
const Entries kRegistered("", kControl, std::size(kControl));

}  // namespace
}  // namespace tenon::onnx
