// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/hooks.h"

#include <algorithm>

#include "tenon/autograd/node.h"
#include "tenon/call/generated.h"
#include "tenon/nn/extras.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace {

template <class Hook>
bool erase_hook(detail::HookList<Hook>& list, int64_t id) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == id; });
  if (at == list.end()) return false;
  list.erase(at);
  return true;
}

}  // namespace

void RemovableHandle::remove() {
  const auto owner = owner_.lock();
  if (!owner) return;
  (void)(erase_hook(owner->forward_pre, id_) || erase_hook(owner->forward, id_) ||
         erase_hook(owner->backward_pre, id_) || erase_hook(owner->backward, id_));
}

namespace {

template <class Hook>
RemovableHandle add_hook(const std::shared_ptr<detail::ModuleExtras>& extras,
                         detail::HookList<Hook>& list, Hook hook, bool prepend) {
  TENON_CHECK(static_cast<bool>(hook), ValueError, "register hook: the function is empty");
  const int64_t id = extras->next_id++;
  list.insert(prepend ? list.begin() : list.end(), {id, std::move(hook)});
  return RemovableHandle(extras, id);
}

}  // namespace

RemovableHandle Module::register_forward_pre_hook(ForwardPreHook hook, bool prepend) {
  auto& list = detail::ModuleAccess::extras(*this).forward_pre;
  return add_hook(extras_, list, std::move(hook), prepend);
}
RemovableHandle Module::register_forward_hook(ForwardHook hook, bool prepend) {
  auto& list = detail::ModuleAccess::extras(*this).forward;
  return add_hook(extras_, list, std::move(hook), prepend);
}
RemovableHandle Module::register_full_backward_pre_hook(BackwardPreHook hook, bool prepend) {
  auto& list = detail::ModuleAccess::extras(*this).backward_pre;
  return add_hook(extras_, list, std::move(hook), prepend);
}
RemovableHandle Module::register_full_backward_hook(BackwardHook hook, bool prepend) {
  auto& list = detail::ModuleAccess::extras(*this).backward;
  return add_hook(extras_, list, std::move(hook), prepend);
}
bool Module::has_hooks() const noexcept { return extras_ && extras_->has_hooks(); }

namespace detail {

// The backward hooks of one call, shared by the node behind its inputs and that behind its outputs.
struct BackwardCall {
  std::weak_ptr<Module> module;
  HookList<BackwardPreHook> pre;
  HookList<BackwardHook> full;
  HookTensors grad_output;
  bool has_inputs = false;

  void run(HookTensors& grad_input) const {
    const auto alive = module.lock();
    if (!alive) return;
    for (const auto& entry : full) entry.second(*alive, grad_input, grad_output);
  }
};

namespace {

// An identity that stands between the tensors of a call and the rest of the graph.
struct CallBorder : autograd::NodeWith<0> {
  explicit CallBorder(std::shared_ptr<BackwardCall> c) : call(std::move(c)) {}
  // Whether a tensor takes part; those that do become results of this node.
  bool connect(const std::vector<Tensor*>& tensors) {
    make_edges(tensors.size());
    n_grads = n_edges;
    bool any = false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Tensor& t = *tensors[i];
      if (!t.defined() || !t.requires_grad()) continue;
      any = true;
      edges[i] = autograd::gradient_edge(t);
      t = t.view_as(t);
      autograd::set_history(t, *this, static_cast<uint32_t>(i));
    }
    return any;
  }
  std::shared_ptr<BackwardCall> call;
};

struct ModuleOutputsBackward final : CallBorder {
  using CallBorder::CallBorder;
  std::string name() const override { return "ModuleOutputsBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    HookTensors& given = call->grad_output;
    given.assign(grads, grads + n_grads);
    if (const auto alive = call->module.lock()) {
      for (const auto& entry : call->pre) entry.second(*alive, given);
    }
    if (!call->has_inputs) {
      HookTensors none;
      call->run(none);
    }
    for (uint32_t i = 0; i < n_edges; ++i) {
      if (edges[i].function) out[i] = given.at(i);
    }
  }
};

struct ModuleInputsBackward final : CallBorder {
  using CallBorder::CallBorder;
  std::string name() const override { return "ModuleInputsBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    HookTensors given(grads, grads + n_grads);
    call->run(given);
    for (uint32_t i = 0; i < n_edges; ++i) {
      if (edges[i].function) out[i] = given.at(i);
    }
  }
};

HookTensors values_of(const std::vector<Tensor*>& list) {
  HookTensors out;
  out.reserve(list.size());
  for (const Tensor* t : list) out.push_back(*t);
  return out;
}

void assign_values(const std::vector<Tensor*>& to, HookTensors values, const Module& module,
                   const char* what) {
  TENON_CHECK(values.size() == to.size(), ValueError, "hook of ", module.name(), ": the call has ",
              to.size(), " ", what, ", and the hook left ", values.size());
  for (std::size_t i = 0; i < to.size(); ++i) *to[i] = std::move(values[i]);
}

}  // namespace

struct HookedCall {
  Module& module;
  HookList<ForwardPreHook> pre;
  HookList<ForwardHook> forward;
  HookTensors inputs;
  std::shared_ptr<BackwardCall> backward;
};

CallHooks::CallHooks(Module& module) {
  const ModuleExtras& extras = ModuleAccess::extras(module);
  call_ = std::make_unique<HookedCall>(
      HookedCall{module, extras.forward_pre, extras.forward, {}, nullptr});
  if (extras.backward.empty() && extras.backward_pre.empty()) return;
  call_->backward = std::make_shared<BackwardCall>();
  call_->backward->module = module.weak_from_this();
  call_->backward->pre = extras.backward_pre;
  call_->backward->full = extras.backward;
}
CallHooks::~CallHooks() = default;

void CallHooks::before(const std::vector<Tensor*>& inputs) {
  call_->inputs = values_of(inputs);
  for (const auto& entry : call_->pre) entry.second(call_->module, call_->inputs);
  assign_values(inputs, call_->inputs, call_->module, "inputs");
  if (!call_->backward || !GradMode::is_enabled()) return;
  auto border = core::Ref<ModuleInputsBackward>::adopt(new ModuleInputsBackward(call_->backward));
  call_->backward->has_inputs = border->connect(inputs);
}

void CallHooks::after(const std::vector<Tensor*>& outputs) {
  HookTensors values = values_of(outputs);
  for (const auto& entry : call_->forward) entry.second(call_->module, call_->inputs, values);
  assign_values(outputs, std::move(values), call_->module, "outputs");
  if (!call_->backward || !GradMode::is_enabled()) return;
  auto border = core::Ref<ModuleOutputsBackward>::adopt(new ModuleOutputsBackward(call_->backward));
  border->connect(outputs);
}

}  // namespace detail
}  // namespace nn
}  // namespace tenon
