// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors of modules that are computed from parameters.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "tenon/autograd/node.h"
#include "tenon/call/generated.h"
#include "tenon/nn/extras.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace detail {
namespace {

// Lets several backward passes go through the graph between a computed tensor and its sources: as
// the tensor is computed once for many calls of the module, these share the graph.
void keep_graph(const autograd::Edge& value, const std::vector<Tensor>& sources) {
  std::unordered_set<const autograd::Node*> known;
  for (const Tensor& t : sources) known.insert(autograd::gradient_edge(t).function.get());
  std::vector<autograd::Node*> left = {value.function.get()};
  while (!left.empty()) {
    autograd::Node* node = left.back();
    left.pop_back();
    if (!node || node->accumulates || !known.insert(node).second) continue;
    node->keeps_saved = true;
    for (uint32_t i = 0; i < node->n_edges; ++i) left.push_back(node->edges[i].function.get());
  }
}

bool wants_gradients(const std::vector<Tensor>& list) {
  return std::any_of(list.begin(), list.end(), [](const Tensor& t) { return t.requires_grad(); });
}

}  // namespace

void ComputedTensor::update(const Module& owner) {
  const std::vector<Tensor> from = sources(owner);
  std::vector<Seen> now;
  for (const Tensor& t : from) {
    const core::TensorImpl* impl = t.unsafeGetTensorImpl();
    now.push_back({impl, impl->storage.get(), impl->version()});
  }
  const bool with_grad = GradMode::is_enabled() && wants_gradients(from);
  const bool same_mode = !depends_on_training || training_ == owner.is_training();
  if (now == seen_ && same_mode && (with_grad_ || !with_grad)) return;

  Tensor value;
  {
    const InferenceMode usual(false);
    const AutoGradMode recorded(with_grad);
    value = compute(owner);
  }
  const InferenceMode usual(false);
  assign(value);
  if (const autograd::Edge past = autograd::gradient_edge(value); past.function) {
    keep_graph(past, from);
    autograd::set_history(target, *past.function, past.input_nr);
  }
  seen_ = std::move(now);
  with_grad_ = with_grad;
  training_ = owner.is_training();
}

// A write where that is possible: a graph that kept the old value will tell.
void ComputedTensor::assign(const Tensor& value) {
  NoGradGuard no_grad;
  target.detach_();
  if (target.sizes() == value.sizes() && target.scalar_type() == value.scalar_type() &&
      target.device() == value.device()) {
    target.copy_(value);
  } else {
    target.set_data(value.detach().clone());
  }
}

ComputedTensor* ModuleAccess::find_computed(const Module& m, const std::string& name) {
  if (!m.extras_) return nullptr;
  for (ComputedTensor& c : m.extras_->computed) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

void ModuleAccess::copy_extras(Module& copy, const Module& of,
                               const std::optional<Device>& device) {
  if (!of.extras_) return;
  ModuleExtras& to = extras(copy);
  const ModuleExtras& from = *of.extras_;
  to.forward_pre = from.forward_pre;
  to.forward = from.forward;
  to.backward_pre = from.backward_pre;
  to.backward = from.backward;
  to.next_id = from.next_id;
  for (const ComputedTensor& c : from.computed) {
    if (find_computed(copy, c.name)) continue;
    ComputedTensor own = c;
    own.target = copy.parameters_[c.name];
    own.forget();
    copy.parameters_.erase(c.name);
    for (const std::string& name : c.moved) copy.parameters_.insert(name, Tensor());
    for (const std::string& name : c.moved_buffers) copy.buffers_.insert(name, Tensor());
    to.computed.push_back(std::move(own));
  }
  if (const auto* child = of.children_.find(kParametrizations)) {
    if (copy.children_.contains(kParametrizations)) copy.children_.erase(kParametrizations);
    copy.children_.insert(kParametrizations, (*child)->clone(device));
  }
}

Tensor free_parameter(const Module& module, const std::string& name, const char* caller) {
  const ComputedTensor* taken = ModuleAccess::find_computed(module, name);
  TENON_CHECK(!taken, ValueError, caller, ": '", name, "' of ", module.name(), " has ", taken->kind,
              " already");
  const Tensor* found = ModuleAccess::parameters(module).find(name);
  TENON_CHECK(found && found->defined(), ValueError, caller, ": ", module.name(),
              " has no parameter '", name, "'");
  return *found;
}

void add_computed(Module& module, ComputedTensor computed) {
  auto& parameters = ModuleAccess::parameters(module);
  computed.target = parameters[computed.name];
  parameters.erase(computed.name);
  ModuleExtras& extras = ModuleAccess::extras(module);
  const std::lock_guard<std::mutex> lock(extras.updating);
  extras.computed.push_back(std::move(computed));
}

void remove_computed(Module& module, const std::string& name, const char* kind) {
  const ComputedTensor* found = ModuleAccess::find_computed(module, name);
  TENON_CHECK(found && std::string_view(found->kind) == kind, ValueError, "remove_", kind, ": no ",
              kind, " named '", name, "' on ", module.name());
  ModuleExtras& extras = ModuleAccess::extras(module);
  const std::lock_guard<std::mutex> lock(extras.updating);
  const auto at = std::find_if(extras.computed.begin(), extras.computed.end(),
                               [&](const ComputedTensor& c) { return c.name == name; });
  Tensor target = at->target;
  {
    NoGradGuard no_grad;
    at->update(module);
    const Tensor value = target.detach().clone();
    target.detach_();
    target.set_data(value);
  }
  target.set_requires_grad(true);
  for (const std::string& moved : at->moved) ModuleAccess::parameters(module).erase(moved);
  for (const std::string& moved : at->moved_buffers) ModuleAccess::buffers(module).erase(moved);
  extras.computed.erase(at);
  ModuleAccess::parameters(module).insert(name, std::move(target));
}

}  // namespace detail

void Module::update_extras() const {
  if (extras_->computed.empty()) return;
  const std::lock_guard<std::mutex> lock(extras_->updating);
  for (detail::ComputedTensor& c : extras_->computed) c.update(*this);
}

}  // namespace nn
}  // namespace tenon
