// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/compile/made_program.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "jit/passes/passes.h"
#include "jit/passes/run_passes.h"
#include "jit/trace/difference.h"

namespace tenon::jit::compiled {
namespace {

// What holds for every program: its constants may be written between two runs.
const std::vector<Pass>& compiled_passes() {
  static const std::vector<Pass> all{
      {"functionalize", functionalize},
      {"simplify", simplify},
      {"eliminate_common_subexpressions", eliminate_common_subexpressions},
      {"eliminate_dead_code", eliminate_dead_code},
  };
  return all;
}

// Where no gradient is recorded it only gives a tensor a second name.
void remove_detach(Graph& g) {
  for (Node* n : g.block()->nodes()) {
    if (!n->is("aten::detach")) continue;
    n->output()->replace_all_uses_with(n->input(0));
    n->destroy();
  }
}

bool requires_grad(const IValue& v) {
  if (v.isTensor()) return v.toTensor().defined() && v.toTensor().requires_grad();
  if (!v.isList() && !v.isTuple()) return false;
  const auto& items = v.isList() ? v.toListRef().items : v.toTupleRef().items;
  return std::any_of(items.begin(), items.end(), requires_grad);
}

// The constants that are tensors, in order.
std::vector<Tensor> constant_tensors(const Graph& g) {
  std::vector<Tensor> out;
  for (const Node* n : g.block()->nodes()) {
    const auto c = n->is("prim::Constant") ? to_constant(n->output()) : std::nullopt;
    if (c && c->isTensor()) out.push_back(c->toTensor());
  }
  return out;
}

// Without the elements of tensors, which is_same_program() looks at.
std::string text_of(const Graph& g) {
  static constexpr std::string_view kTensor = ": Tensor = prim::Constant[value=";
  std::istringstream lines(g.str());
  std::string text, line;
  while (std::getline(lines, line)) {
    const std::size_t at = line.find(kTensor);
    text += at == std::string::npos ? line : line.substr(0, at + kTensor.size());
    text += '\n';
  }
  return text;
}

bool has_gradient(const Tensor& leaf) { return leaf.grad().defined(); }

}  // namespace

RecordedCall::RecordedCall(const HostFunctionBody& f, const std::vector<IValue>& arguments)
    : recording_(tracing::record_call(f, arguments)), records_(requires_grad(recording_.result)) {
  recording_.arguments.clear();
  if (!recording_.graph) return;
  for (Tensor& t : constant_tensors(*recording_.graph)) captured_.push_back({std::move(t), false});
  constexpr std::size_t kOwners = 2;  // the graph and captured_
  for (Captured& c : captured_) c.alone = c.tensor.use_count() <= kOwners;
}

bool RecordedCall::is_same_program(const RecordedCall& o) const {
  const auto same = [](const Captured& a, const Captured& b) {
    return a.tensor.is_same(b.tensor) ||
           (a.alone && b.alone && tracing::value_difference("", a.tensor, b.tensor, 0).empty());
  };
  return records_ == o.records_ &&
         std::equal(captured_.begin(), captured_.end(), o.captured_.begin(), o.captured_.end(),
                    same) &&
         text_of(*recording_.graph) == text_of(*o.recording_.graph);
}

std::string RecordedCall::difference(const RecordedCall& before) const {
  const std::string text =
      tracing::text_difference(text_of(*before.recording_.graph), text_of(*recording_.graph));
  return text.empty() ? "other tensors are captured in each" : text;
}

bool RecordedCall::leaves_have_gradients() const {
  const auto& leaves = recording_.left_gradients;
  return !leaves.empty() && std::all_of(leaves.begin(), leaves.end(), has_gradient);
}

MadeProgram::MadeProgram(const RecordedCall& call, const std::vector<IValue>& arguments,
                         bool from_none)
    : records_(call.records_),
      from_none_(from_none),
      left_gradients_(call.recording_.left_gradients) {
  const auto captured = [&](const Tensor& t) {
    return std::any_of(call.captured_.begin(), call.captured_.end(),
                       [&](const auto& c) { return c.tensor.is_same(t); });
  };
  for (const auto& c : call.captured_)
    if (c.tensor.requires_grad() && has_gradient(c.tensor) && captured(c.tensor.grad()))
      used_gradients_.emplace_back(c.tensor, c.tensor.grad());
  tracing::Recording recording = call.recording_;
  recording.graph = call.recording_.graph->copy();
  if (!records_) remove_detach(*recording.graph);
  run_passes_repeatedly(*recording.graph, compiled_passes(), "compiled");
  program_ = tracing::program_of(recording, arguments);
}

bool MadeProgram::fits_now() const {
  return std::all_of(used_gradients_.begin(), used_gradients_.end(),
                     [](const auto& pair) { return pair.first.grad().is_same(pair.second); }) &&
         !(from_none_ && std::any_of(left_gradients_.begin(), left_gradients_.end(), has_gradient));
}

IValue MadeProgram::call(std::vector<IValue> arguments) const {
  std::optional<NoGradGuard> no_grad;
  if (!records_) no_grad.emplace();
  IValue out = program_->call(std::move(arguments));
  if (left_gradients_.empty()) return out;
  const core::Ref<ivalue::Tuple> all = out.toTuple();
  for (std::size_t i = 0; i < left_gradients_.size(); ++i)
    left_gradients_[i].mutable_grad() = all->items[i + 1].toTensor();
  return all->items[0];
}

}  // namespace tenon::jit::compiled
