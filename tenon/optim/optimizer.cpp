// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/optimizer.h"

#include <unordered_set>

#include "tenon/autograd/zero_grad.h"
#include "tenon/ops.h"
#include "tenon/optim/layouts.h"
#include "tenon/runtime/graph.h"
#include "tenon/runtime/log.h"

namespace tenon {
namespace optim {
namespace {

[[noreturn]] void refuse_field(const char* name) {
  throw NotImplementedError(
      core::join("the field '", name, "' is of a kind that this visitor does not know"));
}

void warn_old(const char* name) {
  warn("deprecated",
       core::join("Optimizer::", name,
                  "() will be removed, as libtorch has announced: use param_groups()"));
}

}  // namespace

FieldVisitor::~FieldVisitor() = default;
OptimizerOptions::~OptimizerOptions() = default;
OptimizerParamState::~OptimizerParamState() = default;

void FieldVisitor::field(const char* name, std::optional<int64_t>&) { refuse_field(name); }
void FieldVisitor::field(const char* name, std::optional<std::string>&) { refuse_field(name); }
void FieldVisitor::field(const char* name, std::vector<Tensor>&) { refuse_field(name); }

void FieldVisitor::field(const char* name, std::deque<Tensor>& value) {
  std::vector<Tensor> list(value.begin(), value.end());
  field(name, list);
  value.assign(list.begin(), list.end());
}

void FieldVisitor::field(const char* name, std::optional<std::vector<Tensor>>& value) {
  std::vector<Tensor> list = value.value_or(std::vector<Tensor>());
  field(name, list);
  value = list.empty() ? std::nullopt : std::make_optional(std::move(list));
}

std::unique_ptr<OptimizerOptions> OptimizerOptions::clone() const {
  throw NotImplementedError("the options of this optimizer cannot be copied: override clone()");
}
std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const {
  throw NotImplementedError("the states of this optimizer cannot be copied: override clone()");
}
double OptimizerOptions::get_lr() const {
  throw NotImplementedError("the options of this optimizer have no lr: override get_lr()");
}
void OptimizerOptions::set_lr(double) {
  throw NotImplementedError("the options of this optimizer have no lr: override set_lr()");
}
void OptimizerOptions::fields(FieldVisitor&) {}
void OptimizerOptions::check() const {}
void OptimizerOptions::assign(OptimizerOptions&&) {
  throw NotImplementedError("the options of this optimizer cannot be assigned: override assign()");
}
void OptimizerParamState::fields(FieldVisitor&) {}

Optimizer::~Optimizer() = default;

OptimizerOptions& OptimizerParamGroup::options() {
  TENON_CHECK(has_options(), ValueError, "the parameter group has no options");
  return *options_;
}
const OptimizerOptions& OptimizerParamGroup::options() const {
  return const_cast<OptimizerParamGroup*>(this)->options();
}

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& param_groups,
                     std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  if (defaults_) defaults_->check();
  for (const auto& group : param_groups) add_param_group(group);
}

Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))},
                std::move(defaults)) {}

void Optimizer::add_param_group(const OptimizerParamGroup& param_group) {
  OptimizerParamGroup group = param_group;
  if (!group.has_options()) {
    TENON_CHECK(defaults_ != nullptr, ValueError,
                "missing option lr: the group has no options and the optimizer no "
                "defaults");
    group.set_options(defaults_->clone());
  }
  group.options().check();
  std::unordered_set<const void*> taken;
  for (const auto& other : param_groups_) {
    for (const Tensor& p : other.params()) taken.insert(p.unsafeGetTensorImpl());
  }
  for (std::size_t i = 0; i < group.params().size(); ++i) {
    const Tensor& p = group.params()[i];
    TENON_CHECK(p.defined(), ValueError, "parameter ", i, " of the group is undefined");
    TENON_CHECK(p.is_leaf(), ValueError, "cannot optimize a non-leaf tensor: parameter ", i,
                " of the group is the result of an operation");
    TENON_CHECK(taken.insert(p.unsafeGetTensorImpl()).second, ValueError,
                "some parameters appear in more than one parameter group: parameter ", i,
                " of the group is in one already, or twice in this one");
  }
  param_groups_.push_back(std::move(group));
}

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  warn_old("add_parameters");
  auto& mine = param_groups_.at(0).params();
  mine.insert(mine.end(), parameters.begin(), parameters.end());
}

const std::vector<Tensor>& Optimizer::parameters() const {
  warn_old("parameters");
  return param_groups_.front().params();
}
std::vector<Tensor>& Optimizer::parameters() {
  warn_old("parameters");
  return param_groups_.front().params();
}

std::size_t Optimizer::size() const {
  warn_old("size");
  std::size_t n = 0;
  for (const auto& group : param_groups_) n += group.params().size();
  return n;
}

Tensor Optimizer::step(LossClosure closure) {
  Tensor loss;
  if (closure) {
    AutoGradMode enable(true);
    loss = closure();
  }
  NoGradGuard no_grad;
  for (auto& group : param_groups_) {
    std::vector<Item> items;
    items.reserve(group.params().size());
    for (Tensor& p : group.params()) {
      Tensor grad = p.grad();
      if (!grad.defined()) continue;
      if (grad.layout() != kStrided && !takes_layouts()) refuse_layout(typeid(*this), grad);
      items.push_back({p, grad, state_[p.unsafeGetTensorImpl()]});
    }
    update_all(items, group.options());
  }
  return loss;
}

void Optimizer::zero_grad(bool set_to_none) {
  for (auto& group : param_groups_) {
    for (const Tensor& p : group.params()) autograd::zero_grad(p, set_to_none);
  }
}

void Optimizer::update_all(ArrayRef<Item> items, const OptimizerOptions& options) {
  for (const Item& item : items) update(item.param, item.grad, options, item.state);
}

void Optimizer::update(Tensor&, const Tensor&, const OptimizerOptions&,
                       std::unique_ptr<OptimizerParamState>&) {
  throw NotImplementedError("an optimizer must override step() or update()");
}

std::unique_ptr<OptimizerParamState> Optimizer::new_state() const { return nullptr; }

std::unique_ptr<OptimizerParamState> Optimizer::first_state(const Tensor& param) const {
  refuse_capture(param, kFirstStep);
  return new_state();
}

void refuse_capture(const Tensor& param, const char* why) {
  const core::TensorImpl& t = *param.unsafeGetTensorImpl();
  TENON_CHECK(!core::is_capturing(t.device_id), NotImplementedError,
              "the step of this optimizer cannot be captured in a graph of ", param.device().str(),
              ": ", why);
}

bool Optimizer::takes_layouts() const { return false; }
bool Optimizer::state_is_flat() const { return false; }

}  // namespace optim
}  // namespace tenon
