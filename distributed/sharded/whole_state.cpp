// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/sharded/whole_state.h"

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/serialize.h"

namespace tenon::distributed {
namespace {

// Goes over the tensors of a state and exchanges those that `change` gives another one for.
template <class Change>
class TensorVisitor final : public optim::FieldVisitor {
 public:
  explicit TensorVisitor(Change change) : change_(change) {}
  void field(const char*, double&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, bool&) override {}
  void field(const char*, std::optional<int64_t>&) override {}
  void field(const char*, std::optional<std::string>&) override {}
  void field(const char*, Tensor& value) override {
    if (value.defined()) value = change_(value);
  }
  void field(const char*, std::vector<Tensor>& value) override {
    for (Tensor& t : value) {
      if (t.defined()) t = change_(t);
    }
  }

 private:
  Change change_;
};
template <class Change>
void change_tensors(optim::OptimizerParamState& state, Change change) {
  TensorVisitor<Change> visitor(change);
  state.fields(visitor);
}

// All units are gathered while one lives.
class AllGathered {
 public:
  explicit AllGathered(const Units& units) : units_(units) {
    for (const auto& u : units_) u->gather();
  }
  ~AllGathered() {
    for (const auto& u : units_) u->release();
  }
  AllGathered(const AllGathered&) = delete;

 private:
  const Units& units_;
};

// The shards have the size of whole units while one lives, which is what optimizers compare states
// with.
class WholeSizes {
 public:
  explicit WholeSizes(const Units& units) : units_(units) {
    for (const auto& u : units_) {
      parts_.push_back(u->shard().variable_data());
      u->shard().set_data(empty({u->numel()}, parts_.back().options()));
    }
  }
  ~WholeSizes() {
    for (std::size_t i = 0; i < units_.size(); ++i) units_[i]->shard().set_data(parts_[i]);
  }
  WholeSizes(const WholeSizes&) = delete;

 private:
  const Units& units_;
  std::vector<Tensor> parts_;
};

}  // namespace

OrderedDict<std::string, Tensor> full_state_dict(const nn::Module& root, const Units& units) {
  const NoGradGuard no_grad;
  const AllGathered all(units);
  OrderedDict<std::string, Tensor> out;
  for (const auto& item : root.state_dict()) out.insert(item.key(), item.value().clone());
  return out;
}

void load_full_state_dict(nn::Module& root, const Units& units,
                          const OrderedDict<std::string, Tensor>& state) {
  const NoGradGuard no_grad;
  const AllGathered all(units);
  root.load_state_dict(state);
  for (const auto& u : units) u->keep_part();
}

void save_whole_optimizer(const Units& units, optim::Optimizer& optimizer,
                          serialize::OutputArchive& archive) {
  const NoGradGuard no_grad;
  auto& states = optimizer.state();
  struct Swapped {
    optim::Optimizer::StateMap& states;
    std::vector<std::pair<void*, std::unique_ptr<optim::OptimizerParamState>>> own;
    ~Swapped() {
      for (auto& [key, state] : own) states[key] = std::move(state);
    }
  } swapped{states, {}};
  for (const auto& u : units) {
    void* key = u->shard().unsafeGetTensorImpl();
    const auto found = states.find(key);
    if (found == states.end() || !found->second) continue;
    std::unique_ptr<optim::OptimizerParamState> whole = found->second->clone();
    change_tensors(*whole, [&](const Tensor& t) {
      return t.sizes() == u->shard().sizes() ? u->whole(t).clone() : t;
    });
    swapped.own.emplace_back(key, std::exchange(found->second, std::move(whole)));
  }
  optimizer.save(archive);
}

void load_whole_optimizer(const Units& units, optim::Optimizer& optimizer,
                          serialize::InputArchive& archive) {
  const NoGradGuard no_grad;
  {
    const WholeSizes sizes(units);
    optimizer.load(archive);
  }
  for (const auto& u : units) {
    const auto found = optimizer.state().find(u->shard().unsafeGetTensorImpl());
    if (found == optimizer.state().end() || !found->second) continue;
    change_tensors(*found->second, [&](const Tensor& t) {
      return t.dim() == 1 && t.numel() == u->numel() ? u->part_of(t).clone() : t;
    });
  }
}

}  // namespace tenon::distributed
