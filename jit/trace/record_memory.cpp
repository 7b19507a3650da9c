// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What happens to memory beside operators: the host fills what empty made, or reads what was
// computed; operators write to captured tensors.
#include "jit/trace/recorder.h"
#include "tenon/ops.h"

namespace tenon::jit::tracing {
namespace {

const core::Storage* memory(const Tensor& t) {
  return t.defined() && t.has_storage() ? t.unsafeGetTensorImpl()->storage.get() : nullptr;
}
bool is_exposed(const core::Storage& s) {
  return __atomic_load_n(&s.head.flags, __ATOMIC_RELAXED) & TN_STORAGE_EXPOSED;
}

template <class F>
void each_written(const autograd::OperatorCall& call, F f) {
  const int n = call.form == core::Form::Functional ? 0
                : call.form == core::Form::Inplace  ? 1
                                                    : call.op.n_results;
  for (int i = 0; i < n; ++i) {
    if (call.written[i]) f(shared(call.written[i]));
  }
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.op.args[i].mutates) each_tensor(call.in[i], f);
  }
}

bool leaves_unfilled(const core::Op& op) {
  const std::string_view name = op.name;
  return name.substr(0, 5) == "empty" || name.substr(0, 9) == "new_empty";
}

}  // namespace

void Recorder::look_at_memory(const autograd::OperatorCall& call) {
  const auto look = [&](const Tensor& t) { exposed_memory(t); };
  for (int i = 0; i < call.op.n_args; ++i) each_tensor(call.in[i], look);
  each_written(call, [&](const Tensor& t) {
    exposed_memory(t);
    keep_before_write(t);
    unfilled_.erase(memory(t));
  });
}

void Recorder::remember_memory(const autograd::OperatorCall& call,
                               const core::OwnedValue* results) {
  const auto remember = [&](const Tensor& t) {
    if (const core::Storage* s = memory(t); s && is_exposed(*s)) exposed_.insert(s);
  };
  for (int i = 0; i < call.op.n_args; ++i) each_tensor(call.in[i], remember);
  each_written(call, remember);
  if (call.form != core::Form::Functional) return;
  for (int i = 0; i < call.op.n_results; ++i) {
    const Tensor t(results[i].tensor);
    remember(t);
    if (leaves_unfilled(call.op) && memory(t)) unfilled_.emplace(memory(t), t);
  }
}

void Recorder::remember_inner(const autograd::OperatorCall& call, const core::OwnedValue* results) {
  for (int i = 0; call.form == core::Form::Functional && i < call.op.n_results; ++i) {
    const Tensor t(results[i].tensor);
    const core::Storage* s = memory(t);
    if (s && !captured_memory_.count(s) && !traced_memory_.count(s)) inner_.emplace(s, t);
  }
}

// The host got the address of memory that the trace computed.
void Recorder::exposed_memory(const Tensor& t) {
  const core::Storage* s = memory(t);
  if (!s || !traced_memory_.count(s) || !is_exposed(*s) || !exposed_.insert(s).second) return;
  if (const auto it = unfilled_.find(s); it != unfilled_.end()) {
    const Tensor made = it->second;
    unfilled_.erase(it);
    return fill_was_by_host(made);
  }
  const auto it = known_.find(t.unsafeGetTensorImpl());
  if (it == known_.end()) return;
  becomes_constant("that the host reads or writes in memory",
                   "data_ptr of %" + it->second.value->debug_name(), s);
}

Value* Recorder::insert_copy(Value* of) {
  Value* none = graph_->insert_constant(IValue(), {}, Type::optional(Type::integer()));
  Node* n = graph_->insert(graph_->create("aten::clone", {of, none}));
  n->op = find_operator("aten::clone");
  return n->output();
}

// Nobody else holds it: here, in known_, in the graph.
bool Recorder::was_made_by_the_run(const Written& w) {
  const bool in_graph = w.constant->node()->ival("value").toTensor().is_same(w.tensor);
  return w.tensor.use_count() <= (in_graph ? 3U : 2U);
}

// Its memory may have gone with the run.
void Recorder::forget_what_the_run_made() { std::erase_if(written_, was_made_by_the_run); }

// Each run writes to a tensor of its own, where the recorded one did.
void Recorder::copy_what_the_run_made() {
  for (const Written& w : written_) {
    if (!was_made_by_the_run(w)) continue;
    Node* node = w.constant->node();
    const Graph::InsertPoint at(*graph_, node->next());
    Value* copy = insert_copy(w.constant);
    w.constant->replace_all_uses_with(copy);
    copy->node()->replace_input(0, w.constant);
  }
  for (const Written& w : written_)
    if (was_made_by_the_run(w)) w.constant->node()->set("value", IValue(w.before));
  forget_what_the_run_made();
}

// The elements of `made` are constants: a copy of them takes the place of its node.
void Recorder::fill_was_by_host(const Tensor& made) {
  const auto it = known_.find(made.unsafeGetTensorImpl());
  if (it == known_.end()) return;
  Value* old = it->second.value;
  Node* node = old->node();
  Value* by;
  {
    const Unrecorded pause;
    const NoGradGuard no_grad;
    const Graph::InsertPoint at(*graph_, node);
    Value* content = graph_->insert_constant(IValue(made.detach().clone()), {}, Type::tensor());
    by = insert_copy(content);
  }
  old->replace_all_uses_with(by);
  for (auto& [impl, known] : known_) {
    if (known.value == old) known.value = by;
  }
  node->destroy();
}

void Recorder::keep_before_write(const Tensor& t) {
  if (t.defined() && !known_.count(t.unsafeGetTensorImpl())) (void)value_of(t);
  const core::Storage* s = memory(t);
  if (!s || !captured_memory_.count(s)) return;
  for (const Written& w : written_) {
    if (memory(w.tensor) == s) return;
  }
  const NoGradGuard no_grad;
  for (const auto& [impl, known] : known_) {
    if (known.constant && memory(known.alive) == s)
      written_.push_back({known.alive, known.alive.detach().clone(), known.value});
  }
}

}  // namespace tenon::jit::tracing
