// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes to tensors: to constants, to numbers in tensors, and to what is the same in every run.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/nodes.h"
#include "jit/passes/values.h"
#include "tenon/core/op.h"

namespace tenon::jit::formats {
namespace {

bool writes_first(const Node& n) {
  return n.op && n.op->op && n.op->form == Operator::Form::Inplace && n.outputs().size() == 1;
}

// Itself, or through one of its views; so it is if there are too many to tell.
bool is_written(const Value& v, bool by_views) {
  constexpr std::size_t kMaxViews = 100;
  std::vector<const Value*> names{&v};
  for (std::size_t i = 0; i < names.size() && i < kMaxViews; ++i)
    for (const Use& u : names[i]->uses()) {
      if (u.index != 0) continue;
      if (writes_first(*u.user)) return true;
      if (by_views && gives_view(*u.user))
        names.insert(names.end(), u.user->outputs().begin(), u.user->outputs().end());
    }
  return names.size() > kMaxViews;
}

bool shares_memory(const IValue& v, const Tensor& t) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().has_storage() &&
         v.toTensor().is_alias_of(t);
}

}  // namespace

bool ProgramWriter::is_weight(const Tensor& t) const {
  return std::any_of(weights_.begin(), weights_.end(), [&](const Weight& w) {
    return w.kind != Weight::Kind::Constant &&
           (shares_memory(w.tensor, t) || shares_memory(w.written, t));
  });
}

// Numbers, and lists of them: recorded programs, and those of ONNX, compute with sizes as tensors.
bool ProgramWriter::holds_numbers(const IValue& v) {
  constexpr int64_t kMaxNumbers = 64;
  if (!v.isTensor()) return true;
  const Tensor& t = v.toTensor();
  return t.defined() && t.layout() == kStrided && t.numel() <= kMaxNumbers &&
         (t.dim() == 0 || isIntegralType(t.scalar_type(), /*includeBool=*/true));
}

// Whether the node computes with numbers alone; those that fill a tensor are asked what they give.
bool ProgramWriter::is_arithmetic(const Node& n) const {
  if (!n.op->op) return true;  // of the host
  const auto is_number = [&](const Value* v) {
    return at(v).example.isTensor() && at(v).example.toTensor().dim() == 0;
  };
  // What is made of a tensor is computed in each run; what is made of numbers is a constant.
  const bool fresh =
      !gives_view(n) && std::any_of(n.inputs().begin(), n.inputs().end(),
                                    [&](const Value* v) { return at(v).example.isTensor(); });
  const bool scalars = std::any_of(n.inputs().begin(), n.inputs().end(), is_number);
  return std::all_of(n.inputs().begin(), n.inputs().end(),
                     [&](const Value* v) { return holds_numbers(at(v).example); }) &&
         std::all_of(n.outputs().begin(), n.outputs().end(), [&](const Value* v) {
           return !v->type()->is(TypeKind::List) && (scalars || !is_written(*v, fresh));
         });
}

// A tensor that is the same in every run, and all that show its memory, get memory of their own in
// each run, which a write with arguments that vary fills.
void ProgramWriter::give_memory_per_run(const Node& n) {
  if (!writes_first(n) || !at(n.input(0)).others.empty()) return;
  std::size_t runs = 1;
  for (const Value* v : n.inputs()) runs = std::max(runs, at(v).runs());
  const IValue written = at(n.input(0)).example;
  if (runs == 1 || !written.isTensor() || !written.toTensor().has_storage()) return;
  const Tensor t = written.toTensor();
  const auto elements =
      static_cast<int64_t>(t.storage().nbytes() / static_cast<std::size_t>(t.itemsize()));
  for (std::size_t r = 1; r < runs; ++r) {
    const Tensor memory = t.as_strided({elements}, {1}, 0).clone();
    for (const auto& item : all_) {
      if (!shares_memory(item->example, t) || item->runs() != r) continue;
      const Tensor shown = item->example.toTensor();
      if (shown.scalar_type() != t.scalar_type()) continue;
      item->others.emplace_back(
          memory.as_strided(shown.sizes(), shown.strides(), shown.storage_offset()));
    }
  }
}

// A number in a tensor, which traces have of sizes, that is multiplied or added to in place: what
// is this tensor from here on is another number.
bool ProgramWriter::write_number(const Node& n) {
  if (!writes_first(n) || !at(n.input(0)).example.isTensor()) return false;
  Item& target = const_cast<Item&>(at(n.input(0)));
  const Tensor memory = target.example.toTensor();
  if (memory.dim() != 0 || !memory.has_storage() || is_weight(memory)) return false;
  bool constant = true;
  for (const Value* v : n.inputs()) {
    if (!is_known(at(v)) || !holds_numbers(at(v).example)) return false;
    constant = constant && at(v).constant;
  }
  const auto is_alias = [&](const auto& item) {
    return item.get() != &target && shares_memory(item->example, memory);
  };
  if (constant || !is_arithmetic_of_two(n) || std::any_of(all_.begin(), all_.end(), is_alias))
    return false;
  const Item before = target;  // what the expression is of
  target.example = memory.clone();
  for (IValue& run : target.others) run = run.toTensor().clone();
  give_memory_per_run(n);
  const std::vector<Stack> runs = call(n);
  target = before;
  Item* made = result_of_run(runs, 0);
  visit_arithmetic(n, *made);
  target.example = made->example;
  target.others = made->others;
  target.constant = target.given = false;
  target.number = made->number;
  target.name.clear();
  items_[n.output()] = &target;
  return true;
}

// A write to a constant. With constants it happens here, in the memory of the example, so that all
// views see it. With what depends on data the program writes to a copy, which is new in every run.
bool ProgramWriter::write_constant(const Node& n) {
  if (!writes_first(n) || !at(n.input(0)).constant) return false;
  Item& target = const_cast<Item&>(at(n.input(0)));
  if (!target.example.isTensor() || !target.example.toTensor().has_storage()) return false;
  const Tensor memory = target.example.toTensor();
  bool known = !n.op->is_random && !target.given, alone = true;
  for (const Value* v : n.inputs()) known = known && at(v).constant;
  for (const auto& item : all_) {
    if (item.get() == &target || !shares_memory(item->example, memory)) continue;
    known = known && item->constant && !item->given;
    alone = false;
  }
  if (!known) {
    if (alone && !is_weight(memory)) copy_constant(target);
    return false;
  }
  for (Weight& w : weights_)
    if (shares_memory(w.tensor, memory)) w.tensor = w.tensor.clone();  // as it was until now
  Stack stack;
  for (const Value* v : n.inputs()) stack.push_back(at(v).example);
  n.op->call(stack, n.inputs().size());
  for (const auto& item : all_)
    if (shares_memory(item->example, memory)) item->name.clear();
  items_[n.output()] = &target;
  return true;
}

void ProgramWriter::copy_constant(Item& item) {
  const Item* copy = copied(item);
  item.example = item.example.toTensor().clone();
  item.constant = item.given = false;
  item.name = copy->name;
}

}  // namespace tenon::jit::formats
