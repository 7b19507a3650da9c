// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the generated functions and nodes are written with (tools/opgen). Private to libtenon.
#pragma once

#include <array>
#include <atomic>

#include "tenon/autograd/node.h"
#include "tenon/autograd/saved.h"
#include "tenon/batching/composite.h"
#include "tenon/call/box.h"
#include "tenon/core/dispatch.h"
#include "tenon/ops.h"

namespace tenon::autograd {

// __thread, not thread_local: no test on each access whether it needs an initialization.
extern __thread uint32_t t_mode __attribute__((tls_model("initial-exec")));
// What is on in every thread: kOperatorObserved while there are callbacks of all threads.
extern std::atomic<uint32_t> g_mode __attribute__((visibility("hidden")));

// Report the begin and the end of an operator call to the thread's observer. `outs` are the
// results, or what is written; those of the functional form are null until the call gave them.
TENON_COLD void begin_operator(int id, core::Form form, const tn_value* in,
                               core::TensorImpl** outs);
TENON_COLD void end_operator(int id, core::Form form, const tn_value* in,
                             core::TensorImpl** outs) noexcept;
TENON_COLD void end_composite(int id, const tn_value* in, const core::OwnedValue* results) noexcept;
// The same for the callbacks of all threads (record_function.h).
struct OperatorCall;
void begin_everywhere(const OperatorCall& call) noexcept;
void end_everywhere(const OperatorCall& call, const core::OwnedValue* results) noexcept;
// A change of a tensor without an operator.
TENON_COLD void report_change(const char* what, const Tensor& t);
inline void changed(const char* what, const Tensor& t) {
  if (TENON_UNLIKELY(t_mode & kOperatorObserved)) report_change(what, t);
}
// By an observer, for AnomalyMode, or inside of a vmap.
TENON_INLINE bool observed() {
  return (t_mode | g_mode.load(std::memory_order_relaxed)) &
         (kOperatorObserved | kAnomaly | kBatching);
}
// Tensors that were given for an argument: one, none or a list.
struct GivenTensors {
  GivenTensors(int arg, const Tensor& t) : at(arg), tensors(&t, 1) {}
  GivenTensors(int arg, const std::optional<Tensor>& t)
      : at(arg), tensors(t ? TensorList(&*t, 1) : TensorList()) {}
  GivenTensors(int arg, TensorList list) : at(arg), tensors(list) {}
  int at;
  TensorList tensors;
};
// In a handler: core::rethrow_called of this operator, which got these tensors.
[[noreturn]] TENON_COLD void rethrow_called(int id, std::initializer_list<GivenTensors> given);
// Inline, so that a call which is not observed tests one bit.
struct OperatorScope {
  TENON_INLINE OperatorScope(int op, core::Form how, const tn_value* arguments,
                             core::TensorImpl** results)
      : id(op), form(how), on(observed()), in(arguments), outs(results) {
    if (TENON_UNLIKELY(on)) begin_operator(id, form, in, outs);
  }
  TENON_INLINE ~OperatorScope() {
    if (TENON_UNLIKELY(on)) end_operator(id, form, in, outs);
  }
  OperatorScope(const OperatorScope&) = delete;
  int id;
  core::Form form;
  bool on;
  const tn_value* in;
  core::TensorImpl** outs;
};
// An observed call of a composite, whose results may be numbers.
class CompositeScope {
 public:
  CompositeScope(int op, const tn_value* arguments) : id_(op), in_(arguments) {
    begin_operator(id_, core::Form::Functional, in_, nullptr);
  }
  ~CompositeScope() { end_composite(id_, in_, done_ ? results_.data() : nullptr); }
  CompositeScope(const CompositeScope&) = delete;
  template <class T>
  void finish(const T& result) {
    put(results_.data(), result);
    done_ = true;
  }
  void finish() { done_ = true; }

 private:
  int id_;
  const tn_value* in_;
  bool done_ = false;
  std::array<core::OwnedValue, core::kMaxOutputs> results_;
};
template <class F>
TENON_COLD auto observe_composite(int id, const tn_value* in, F&& run) {
  CompositeScope scope(id, in);
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    scope.finish();
  } else {
    auto result = batching::run_or_slice(id, in, run);
    scope.finish(result);
    return result;
  }
}

TENON_INLINE bool recording() { return (t_mode & (kGradMode | kInferenceMode)) == kGradMode; }
inline bool tracked(const Tensor& t) { return t.requires_grad(); }
inline bool tracked(const std::optional<Tensor>& t) { return t && t->requires_grad(); }
inline bool tracked(TensorList list) {
  for (const Tensor& t : list) {
    if (tracked(t)) return true;
  }
  return false;
}
inline bool tracked(ArrayRef<std::optional<Tensor>> list) {
  for (const auto& t : list) {
    if (tracked(t)) return true;
  }
  return false;
}

NodeHooks& hooks_of(const Tensor& t);  // of its node, or of the leaf

template <class N>
core::Ref<N> make_node() {
  return core::Ref<N>::adopt(new N);
}

inline void connect(Node& n, uint32_t at, const Tensor& t) {
  if (tracked(t)) n.edges[at] = gradient_edge(t);
}
inline void connect(Node& n, uint32_t at, const std::optional<Tensor>& t) {
  if (tracked(t)) n.edges[at] = gradient_edge(*t);
}
template <class List>
void connect_list(Node& n, uint32_t at, List list) {
  for (const auto& t : list) connect(n, at++, t);
}

TENON_INLINE Tensor adopt(core::TensorImpl* p) {
  if (TENON_UNLIKELY(p && (t_mode & kInferenceMode))) p->flags |= core::kInference;
  return Tensor(core::Impl::adopt(p));
}
// A view is an inference tensor if its source is one.
inline Tensor adopt_view(core::TensorImpl* p, const Tensor& of) {
  p->flags |= of.unsafeGetTensorImpl()->flags & core::kInference;
  return Tensor(core::Impl::adopt(p));
}
// What an in-place call saves of self: the elements before the write, with the history that self
// had then. A gradient that is differentiated again reaches self's past through it.
Tensor copy_before_write(const Tensor& self);
inline std::optional<std::string> own_str(std::optional<std::string_view> s) {
  return s ? std::optional<std::string>(std::string(*s)) : std::nullopt;
}

// After the call: the result remembers its node (only floating results do).
void set_history(const Tensor& t, Node& node, uint32_t output_nr);
// The result of a view operator knows its base.
void set_view(const Tensor& view, const Tensor& of);
// Before an in-place call: refuses leaves that require grad, views that cannot be written, and
// inference tensors outside of InferenceMode.
void check_inplace(int id, const Tensor& self);
// The same for a write that a program makes itself; `caller` names it in errors.
void check_written(const char* caller, const Tensor& self);
// After one: the tensor's history, and its base's when it is a view, goes through the node, whose
// edge `at` is self's.
void rebase_history(const Tensor& self, const core::Ref<Node>& node, uint32_t at = 0);
// The saved result of a write through a view, with its history: a view of the base that node.slices
// wrote.
Tensor view_of_slices(const Node& node, const Tensor& saved);
// The history alone, for a tensor of another memory.
Edge edge_through_slices(const Node& node, const TensorOptions& options);
// After one whose result is constant between jumps (comparisons, logic): the gradient of what was
// there is zero.
void zero_history(const Tensor& self);
// An error that names an argument which requires grad, in a call that is not recorded: a list that
// is written to, or any tensor in a call with out=.
void refuse_recorded(int id, const char* arg, TensorList list);
void refuse_tracked(int id, const char* arg, const Tensor& t);
void refuse_tracked(int id, const char* arg, const std::optional<Tensor>& t);
template <class List>
auto refuse_tracked(int id, const char* arg, const List& list) -> decltype(list.begin(), void()) {
  for (const auto& t : list) refuse_tracked(id, arg, t);
}
// Before a call that writes to out=: refuses tensors that require grad, and inference tensors
// outside of InferenceMode.
void check_out(int id, const char* arg, const Tensor& out);
core::TensorImpl* out_impl(Tensor& out);  // makes an empty tensor of an undefined one
// Sets what the schema of a factory has no argument for. If the tensor has no other owner, the
// writes that filled it are not counted.
inline Tensor with_requires_grad(Tensor made, const TensorOptions& options) {
  const core::TensorImpl* t = made.unsafeGetTensorImpl();
  if (t && made.use_count() == 1 && t->storage && !t->counter && t->storage->use_count() == 1)
    t->storage->version.store(0, std::memory_order_relaxed);
  if (TENON_UNLIKELY(options.requires_grad())) made.set_requires_grad(true);
  return made;
}
// Options that a factory call leaves open are those of out.
TensorOptions options_of_out(TensorOptions given, const Tensor& out);
void write_inplace(int id, const Tensor& self, const Tensor& value);
void write_out(int id, Tensor& out, const Tensor& value);

// The sum of a broadcast gradient over what was broadcast, in the argument's dtype and at its
// elements.
Tensor reduce_grad(Tensor grad, const SavedGeometry& to);
// f(grad, at) for strided tensors; for other layouts f of the values, at the elements of `at`.
template <class F>
Tensor on_values(const Tensor& grad, const Tensor& at, const F& f) {
  if (TENON_LIKELY(at.layout() == kStrided)) return f(grad, at);
  const Tensor sums = at.coalesce();
  return _with_values(sums, f(_values_at(grad, sums._indices()), sums.values()));
}
void put_list(Tensor* out, uint32_t n, std::vector<Tensor> grads);
[[noreturn]] void derivative_missing(const char* op, const char* arg);

}  // namespace tenon::autograd
