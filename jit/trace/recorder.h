// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Makes a graph of the operator calls of this thread, and of calls of programs. One recorder, one
// run.
#pragma once

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/run/call_observer.h"
#include "tenon/autograd/operator_observer.h"
#include "tenon/jit/graph.h"
#include "tenon/tensor.h"

namespace tenon::jit::tracing {

class Recorder final : public autograd::OperatorObserver, public CallObserver {
 public:
  // Of a trial, what is written to arguments and captured tensors is undone, and what cannot be
  // recorded throws. A call is what its caller wants, and goes on in both cases.
  enum class Run : uint8_t { Trial, Call };
  // `warn`: about values that become constants.
  explicit Recorder(bool warn, Run run = Run::Trial);
  ~Recorder() override;  // stops

  // An argument of the function, whose tensors are inputs of the graph: copies of those of the
  // example, or, of a call, aliases.
  IValue add_input(const std::string& name, const IValue& example);
  // Calls of this operator are not recorded, but what they call.
  void look_into(const core::Op* op) { opened_ = op; }
  void start();
  // Throws what went wrong while recording.
  void finish(const IValue& result);
  // After finish() of a call: captured leaves whose grad() the run computed. The graph then gives a
  // tuple, of the result and of these gradients.
  const std::vector<Tensor>& left_gradients() const noexcept { return left_; }
  const std::shared_ptr<Graph>& graph() const noexcept { return graph_; }
  // Units whose functions the graph calls.
  const std::vector<std::shared_ptr<CompilationUnit>>& units() const noexcept { return units_; }
  // Captured tensors that were written, as they were before.
  struct Written {
    Tensor tensor, before;
    Value* constant;
  };
  const std::vector<Written>& written() const noexcept { return written_; }

  // The first thing that the function does and the graph does not; empty: there is none.
  const std::string& baked() const noexcept { return baked_; }

  void begin_call(const autograd::OperatorCall& call) override;
  void end_call(const autograd::OperatorCall& call,
                const core::OwnedValue* results) noexcept override;
  void changed(const char* what, core::TensorImpl& tensor) override;
  IValue call(const Function& f, Stack arguments) override;

 private:
  struct Known {
    Value* value;
    Tensor alive;  // so that its address stays its own
    bool constant;
  };

  // record_values.cpp
  Value* value_of(const Tensor& t);
  Value* value_of(const IValue& v, const TypePtr& type);
  Value* constant_tensor(const Tensor& t);
  Value* value_of_shared(const Tensor& t);
  Value* without_grad(Value* v, const Tensor& t);
  Value* list_of(const std::vector<Value*>& items, TypePtr element);
  Value* argument_value(const core::ArgInfo& arg, const TypePtr& type, const tn_value& v);
  void bind(Value* v, const IValue& result);
  void bind_tensor(Value* v, const Tensor& t, bool constant = false);
  bool is_traced(const Tensor& t) const;
  // record_memory.cpp
  void look_at_memory(const autograd::OperatorCall& call);
  void remember_memory(const autograd::OperatorCall& call, const core::OwnedValue* results);
  void remember_inner(const autograd::OperatorCall& call, const core::OwnedValue* results);
  void exposed_memory(const Tensor& t);
  void keep_before_write(const Tensor& t);
  void fill_was_by_host(const Tensor& made);
  static bool was_made_by_the_run(const Written& w);
  void forget_what_the_run_made();
  void copy_what_the_run_made();
  Value* insert_copy(Value* of);
  // recorder.cpp
  std::vector<Tensor> captured_with_new_gradient() const;
  void look_at_call(const autograd::OperatorCall& call);
  void record_results(const autograd::OperatorCall& call, const core::OwnedValue* results);
  void becomes_constant(const std::string& value, const std::string& where, const void* key);
  void custom_gradient(const Value* v);
  void is_not_recorded(const std::string& what);
  void observe(bool on);

  std::shared_ptr<Graph> graph_;
  bool warn_, started_ = false, grad_mode_;
  Run run_;
  int depth_ = 0;
  std::exception_ptr error_;
  autograd::OperatorObserver* observer_before_ = nullptr;
  CallObserver* calls_before_ = nullptr;

  std::unordered_map<const core::TensorImpl*, Known> known_;
  std::unordered_set<const Value*> without_grad_;
  std::unordered_set<const core::Storage*> traced_memory_, captured_memory_, exposed_;
  std::unordered_map<const core::Storage*, Tensor> unfilled_;  // made by empty, not written yet
  std::unordered_map<const core::Storage*, Tensor> inner_;  // made inside of operators; of a call
  std::vector<Written> written_;
  std::vector<Tensor> left_;
  std::set<std::pair<const void*, std::string>> warned_;
  std::string baked_;
  std::vector<std::shared_ptr<CompilationUnit>> units_;

  std::vector<Value*> inputs_;  // of the call in progress
  const Operator* operator_ = nullptr;
  const core::Op* opened_ = nullptr;
};

// Writes back what captured tensors were before a run.
void restore(const std::vector<Recorder::Written>& written) noexcept;

inline Tensor shared(core::TensorImpl* t) { return Tensor(core::Impl::share(t)); }
inline Tensor shared(const tn_tensor* v) { return shared(core::TensorImpl::from_view(v)); }

template <class F>
void each_tensor(const tn_value& v, F f) {
  if (v.tag == TN_TAG_TENSOR) f(shared(v.u.tensor));
  if (v.tag != TN_TAG_TENSOR_LIST) return;
  for (uint32_t i = 0; i < v.len; ++i) {
    if (v.u.tensors[i]) f(shared(v.u.tensors[i]));
  }
}

// While one lives nothing of this thread is recorded.
class Unrecorded {
 public:
  Unrecorded();
  ~Unrecorded();
  Unrecorded(const Unrecorded&) = delete;

 private:
  autograd::OperatorObserver* observer_;
  CallObserver* calls_;
};

}  // namespace tenon::jit::tracing
