// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/recorder.h"

#include <algorithm>

#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::jit::tracing {

Unrecorded::Unrecorded()
    : observer_(autograd::set_operator_observer(nullptr)), calls_(set_call_observer(nullptr)) {}
Unrecorded::~Unrecorded() {
  autograd::set_operator_observer(observer_);
  set_call_observer(calls_);
}

Recorder::Recorder(bool warn, Run run)
    : graph_(std::make_shared<Graph>()),
      warn_(warn),
      grad_mode_(GradMode::is_enabled()),
      run_(run) {}

Recorder::~Recorder() {
  observe(false);
  if (run_ == Run::Call) return;
  forget_what_the_run_made();
  restore(written_);
}

void restore(const std::vector<Recorder::Written>& written) noexcept {
  const NoGradGuard no_grad;
  for (const Recorder::Written& w : written) {
    try {
      w.tensor.data().copy_(w.before);
    } catch (const std::exception&) {  // its shape is another now
    }
  }
}

void Recorder::observe(bool on) {
  if (on == started_) return;
  started_ = on;
  if (on) {
    observer_before_ = autograd::set_operator_observer(this);
    calls_before_ = set_call_observer(this);
  } else {
    autograd::set_operator_observer(observer_before_);
    set_call_observer(calls_before_);
  }
}

void Recorder::start() { observe(true); }

void Recorder::finish(const IValue& result) {
  if (error_) std::rethrow_exception(error_);
  for (const auto& [impl, known] : known_) exposed_memory(known.alive);
  observe(false);
  if (run_ == Run::Call) left_ = captured_with_new_gradient();
  copy_what_the_run_made();
  Value* v = value_of(result, type_of(result));
  if (left_.empty()) return void(graph_->register_output(v));
  std::vector<Value*> items = {v};
  std::vector<TypePtr> types = {v->type()};
  for (const Tensor& leaf : left_) {
    items.push_back(known_.at(leaf.grad().unsafeGetTensorImpl()).value);
    types.push_back(items.back()->type());
  }
  Node* all = graph_->insert(graph_->create("prim::TupleConstruct", items));
  all->output()->set_type(Type::tuple(std::move(types)));
  graph_->register_output(all->output());
}

std::vector<Tensor> Recorder::captured_with_new_gradient() const {
  std::vector<Tensor> out;
  for (const Node* n : graph_->block()->nodes()) {
    const auto c = n->is("prim::Constant") ? to_constant(n->output()) : std::nullopt;
    if (!c || !c->isTensor()) continue;
    const Tensor t = c->toTensor();
    if (t.requires_grad() && t.is_leaf() && t.grad().defined() && is_traced(t.grad()))
      out.push_back(t);
  }
  return out;
}

namespace {

std::string base_name(const autograd::OperatorCall& call) {
  const std::string_view name = call.op.name;
  std::string base(name.substr(0, name.find('.')));
  if (base.find("::") == std::string::npos) base = "aten::" + base;
  if (call.form == core::Form::Inplace) base += '_';
  return base;
}

Operator::Form form_of(core::Form f) {
  return f == core::Form::Functional ? Operator::Form::Functional
         : f == core::Form::Inplace  ? Operator::Form::Inplace
                                     : Operator::Form::Out;
}

// Views in place are calls of the view here (t), and operators of their own in programs (t_).
const Operator* find(const autograd::OperatorCall& call) {
  const std::string name = base_name(call);
  const Operator* by_count = nullptr;
  for (const Operator* o : operators_named(name)) {
    if (o->op == &call.op && o->form == form_of(call.form)) return o;
    const bool own = !o->op || call.form == core::Form::Inplace;
    if (own && o->schema.arguments.size() == call.op.n_args) by_count = o;
  }
  TENON_CHECK(by_count, NotImplementedError, "trace: ", name, " cannot be recorded");
  return by_count;
}

// Functions of Python in torch: what they call is recorded.
bool looked_into(const core::Op& op) {
  static constexpr std::string_view kNames[] = {"local_response_norm", "softmin", "softsign",
                                                "tanhshrink"};
  return std::find(std::begin(kNames), std::end(kNames), op.name) != std::end(kNames);
}

// A composite that backward() may follow: it needs what the operators inside gave.
bool records_gradients(const autograd::OperatorCall& call) {
  if (call.op.kind != core::OpKind::Composite || !GradMode::is_enabled()) return false;
  bool found = false;
  for (int i = 0; i < call.op.n_args; ++i)
    each_tensor(call.in[i], [&](const Tensor& t) { found = found || t.requires_grad(); });
  return found;
}

}  // namespace

void Recorder::begin_call(const autograd::OperatorCall& call) {
  if (run_ == Run::Trial) {
    if (error_) std::rethrow_exception(error_);
    return look_at_call(call);
  }
  if (error_) return;
  try {
    look_at_call(call);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Recorder::look_at_call(const autograd::OperatorCall& call) {
  if (depth_ == 0) {
    if (&call.op == opened_ || looked_into(call.op)) return;
    if (run_ == Run::Call && records_gradients(call)) return;
    const Unrecorded pause;
    operator_ = find(call);
    look_at_memory(call);
    inputs_.clear();
    for (int i = 0; i < call.op.n_args; ++i) {
      inputs_.push_back(argument_value(
          call.op.args[i], operator_->schema.arguments[static_cast<std::size_t>(i)].type,
          call.in[i]));
    }
    if (call.form == core::Form::Out) {
      for (int i = 0; i < call.op.n_results; ++i) {
        TENON_CHECK(call.written[i], TypeError, "trace: ", call.op.name,
                    ": argument out is an undefined tensor");
        inputs_.push_back(value_of(shared(call.written[i])));
      }
    }
  }
  ++depth_;
}

void Recorder::end_call(const autograd::OperatorCall& call,
                        const core::OwnedValue* results) noexcept {
  if (depth_ == 0) return;
  const bool inside = --depth_ > 0;
  if (!results || error_ || (inside && run_ == Run::Trial)) return;
  try {
    const Unrecorded pause;
    if (inside) return remember_inner(call, results);
    record_results(call, results);
    remember_memory(call, results);
  } catch (...) {
    error_ = std::current_exception();
  }
}

namespace {

// Whether another run may compute another value: it depends on an input, on a tensor from outside,
// which the program may write, or on what has effects.
bool may_change(const Value& value) {
  std::vector<const Value*> left{&value};
  std::unordered_set<const Node*> seen;
  while (!left.empty()) {
    const Value* v = left.back();
    const Node& n = *v->node();
    left.pop_back();
    if (n.is("prim::Constant")) {
      if (v->type()->is(TypeKind::Tensor)) return true;
      continue;
    }
    if (!seen.insert(&n).second) continue;
    const bool known = n.op && !n.op->has_side_effects && n.blocks().empty();
    if (!known && !n.is("prim::ListConstruct") && !n.is("prim::ListUnpack")) return true;
    left.insert(left.end(), n.inputs().begin(), n.inputs().end());
  }
  return false;
}

std::string number_text(const core::OwnedValue& v) {
  if (v.tag == TN_TAG_BOOL) return v.plain.u.i64 ? "true" : "false";
  return v.tag == TN_TAG_F64 ? core::join(v.plain.u.f64) : core::join(v.plain.u.i64);
}

}  // namespace

void Recorder::record_results(const autograd::OperatorCall& call, const core::OwnedValue* results) {
  const auto& returns = operator_->schema.returns;
  const bool tensors = std::all_of(returns.begin(), returns.end(), [](const Argument& a) {
    return a.type->is(TypeKind::Tensor) ||
           (a.type->is(TypeKind::List) && a.type->element()->is(TypeKind::Tensor));
  });
  if (!tensors) {  // a number is one of the host from here on
    const bool traced = std::any_of(inputs_.begin(), inputs_.end(), [](const Value* v) {
      return v->type()->is(TypeKind::Tensor) && !v->node()->is("prim::Constant") && may_change(*v);
    });
    if (traced && results[0].tag != TN_TAG_DTYPE) {
      becomes_constant(number_text(results[0]),
                       operator_->schema.name + "(%" + inputs_[0]->debug_name() + ")", inputs_[0]);
    }
    return;
  }
  Node* n = graph_->insert(graph_->create(operator_->schema.name, inputs_, returns.size()));
  n->op = operator_;
  const bool no_grad = grad_mode_ && !GradMode::is_enabled();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    Value* v = n->output(i)->set_type(returns[i].type);
    if (no_grad) without_grad_.insert(v);
    if (call.form != core::Form::Functional) {
      Tensor written = shared(call.written[i]);
      // A write through a tensor without history is seen by the tensor that has one.
      if (no_grad && !written.requires_grad()) bind_tensor(v, written);
      if (!no_grad) bind_tensor(v, written);
    } else if (results[i].tag == TN_TAG_TENSOR) {
      bind_tensor(v, Tensor(results[i].tensor));
    } else if (results[i].tag == TN_TAG_TENSOR_LIST) {
      std::vector<Tensor> list;
      for (const core::Impl& t : results[i].tensors) list.emplace_back(t);
      bind(v, IValue(list));
    }
  }
}

void Recorder::changed(const char* what, core::TensorImpl& tensor) {
  if (depth_ > 0) return;
  const auto it = known_.find(&tensor);
  if (it == known_.end() || it->second.constant) return;
  if (std::string_view(what) == "autograd::Function") return custom_gradient(it->second.value);
  TENON_CHECK(std::string_view(what) == "detach_", NotImplementedError, "trace: ", what,
              " of a tensor that was computed cannot be recorded");
  Node* n = graph_->insert(graph_->create("aten::detach", {it->second.value}));
  n->op = find_operator("aten::detach");
  it->second.value = n->output();
}

void Recorder::custom_gradient(const Value* v) {
  if (!warned_.insert({v, "gradient"}).second) return;
  is_not_recorded(core::join("the backward of the autograd::Function that gives %", v->debug_name(),
                             " is not recorded: no gradient goes through it in the trace"));
}

void Recorder::becomes_constant(const std::string& value, const std::string& where,
                                const void* key) {
  if (!warned_.insert({key, where}).second) return;
  is_not_recorded(core::join("the value ", value, " becomes a constant in the trace at ", where,
                             "; other inputs will not change it"));
}

void Recorder::is_not_recorded(const std::string& what) {
  if (baked_.empty()) baked_ = what;
  if (warn_) tenon::warn("trace", what);
}

}  // namespace tenon::jit::tracing
