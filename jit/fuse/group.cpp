// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/fuse/group.h"

#include <algorithm>

#include "tenon/core/dispatch.h"
#include "tenon/core/op.h"
#include "tenon/ops/loop_program.gen.h"

namespace tenon::jit::fuse {
namespace {

constexpr std::size_t kMaxEntries = 16;
// Elements times operators from which on a program is faster than its operators.
constexpr int64_t kWorthwhile = 1 << 18;

// Everything but recording and observers changes what operators do.
bool plain_mode() {
  constexpr uint32_t allowed =
      autograd::kGradMode | autograd::kInferenceMode | autograd::kOperatorObserved;
  return (autograd::mode() & ~allowed) == 0;
}

// Whether a plugin of the inputs' device has loops in all of their dtypes.
bool has_kernel(const Stack& stack, std::size_t n) {
  static const core::Op& op = core::get_op("_loop_program_");
  for (std::size_t i = 0; i < n; ++i) {
    const IValue& v = peek(stack, i, n);
    if (!v.isTensor()) continue;
    const Tensor& t = v.toTensor();
    if (!core::has_kernel(op, t.unsafeGetTensorImpl()->device_id.slot, t.scalar_type()))
      return false;
  }
  return true;
}

std::shared_ptr<const Graph> with_all_results(const Graph& g) {
  std::shared_ptr<Graph> all = g.copy();
  while (!all->outputs().empty()) all->block()->return_node()->remove_input(0);
  for (const Node* n : all->block()->nodes())
    if (!n->is("prim::Constant")) all->register_output(n->output());
  return all;
}

std::size_t count(const Graph& g) {
  const std::vector<Node*> nodes = g.block()->nodes();
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const Node* n) { return !n->is("prim::Constant"); }));
}

// A result of the extent: dimensions that it does not have, or has with size 1, are left out.
Tensor empty_result(const Output& out, const Extent& e, const TensorOptions& options) {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int64_t step = 1;
  const bool whole = out.shape.dim == e.dim;
  bool same = whole;
  for (int d = 0; d < out.shape.dim; ++d) {
    const int at = e.dim - 1 - d, to = out.shape.dim - 1 - d;
    sizes[to] = out.shape.is_one(d) ? 1 : e.sizes[at];
    same = same && sizes[to] == e.sizes[at];
    strides[to] = step;
    step *= sizes[to];
  }
  const auto n = static_cast<std::size_t>(out.shape.dim);
  return tenon::empty_strided(IntArrayRef(sizes, n), IntArrayRef(same ? e.strides : strides, n),
                              options.dtype(out.dtype));
}

}  // namespace

Group::Group(std::shared_ptr<const Graph> graph, Planner planner)
    : graph_(std::move(graph)),
      nodes_(count(*graph_)),
      planner_(std::move(planner)),
      plain_(planner_(graph_)) {}

std::shared_ptr<const Group::Entry> Group::find(const std::vector<Kind>& kinds) const {
  for (const auto& e : entries_)
    if (e->kinds == kinds) return e;
  return nullptr;
}

void Group::run(Stack& stack) const {
  const std::size_t n = graph_->inputs().size();
  if (points_at_most(stack, n) * static_cast<int64_t>(nodes_) < kWorthwhile || !plain_mode())
    return plain_(stack);
  thread_local std::vector<Kind> kinds;
  Extent extent;
  if (!look_at_inputs(stack, n, kinds, extent)) return plain_(stack);
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return plain_(stack);
  const std::shared_ptr<const Entry> entry = find(kinds);
  if (!entry && entries_.size() < kMaxEntries) return learn(stack, kinds);
  lock.unlock();
  if (!entry || !entry->program) return plain_(stack);
  run_program(stack, *entry, extent);
}

void Group::learn(Stack& stack, std::vector<Kind> kinds) const {
  const std::size_t n = graph_->inputs().size();
  if (!observed_) observed_ = planner_(with_all_results(*graph_));
  const std::vector<IValue> inputs(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end());
  auto entry = std::make_shared<Entry>();
  const bool served = has_kernel(stack, n);
  observed_(stack);
  const std::vector<IValue> results(stack.end() - static_cast<std::ptrdiff_t>(nodes_), stack.end());
  drop(stack, nodes_);
  if (served) entry->program = build(*graph_, kinds, inputs, results);
  entry->kinds = std::move(kinds);
  entries_.push_back(std::move(entry));
  std::size_t next = 0;
  std::vector<std::pair<const Value*, std::size_t>> at;
  for (const Node* node : graph_->block()->nodes())
    if (!node->is("prim::Constant")) at.emplace_back(node->output(), next++);
  for (const Value* v : graph_->outputs())
    for (const auto& [value, i] : at)
      if (value == v) stack.push_back(results[i]);
}

void Group::run_program(Stack& stack, const Entry& entry, const Extent& extent) const {
  const std::size_t n = graph_->inputs().size();
  std::vector<Tensor> inputs, outputs;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  for (std::size_t i = 0; i < n; ++i) {
    const IValue& v = peek(stack, i, n);
    if (v.isTensor())
      inputs.push_back(v.toTensor());
    else if (v.isDouble())
      reals.push_back(v.toDouble());
    else
      integers.push_back(v.isBool() ? int64_t{v.toBool()} : v.toInt());
  }
  const TensorOptions options = TensorOptions().device(inputs[0].device());
  for (const Output& out : entry.program->outputs)
    outputs.push_back(empty_result(out, extent, options));
  {
    const NoGradGuard no_grad;
    tenon::_loop_program_(outputs, inputs, entry.program->text, integers, reals);
  }
  drop(stack, n);
  for (Tensor& t : outputs) stack.emplace_back(std::move(t));
}

}  // namespace tenon::jit::fuse
