// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What is saved for backward and lies in a gathered unit is saved as its place; the backward that
// needs it gathers the unit again. Gradients are sent when all of a unit are there, in the reverse
// of the order in which units ran, which is the same on all ranks.
#include "tenon/distributed/sharded/fully_sharded.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "distributed/parallel/comm.h"
#include "distributed/sharded/flat_unit.h"
#include "distributed/sharded/whole_state.h"
#include "tenon/autograd/callback.h"
#include "tenon/autograd/mode.h"
#include "tenon/autograd/node.h"
#include "tenon/autograd/saved_tensors_hooks.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/serialize.h"

namespace tenon::distributed {
namespace {

// Of a saved tensor: itself, or a view of a unit.
struct Packed {
  Tensor tensor;
  std::shared_ptr<FlatUnit> unit;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

using Owned = std::unordered_map<const void*, std::size_t>;  // parameter -> unit

// Parameters of a module by the unit that holds them: the innermost.
Owned owners_of(nn::Module& root, const std::vector<std::shared_ptr<nn::Module>>& units) {
  std::vector<std::shared_ptr<nn::Module>> all = root.modules(false);
  Owned out;
  for (std::size_t u = 0; u < units.size(); ++u) {
    TENON_CHECK(units[u] && std::find(all.begin(), all.end(), units[u]) != all.end(), ValueError,
                "FullyShardedDataParallel: unit ", u, " is not a submodule of the module");
    for (const Tensor& p : units[u]->parameters()) {
      const auto found = out.find(p.unsafeGetTensorImpl());
      const bool inner = found == out.end() ||
                         units[found->second]->parameters().size() > units[u]->parameters().size();
      if (inner) out[p.unsafeGetTensorImpl()] = u;
    }
  }
  return out;
}

}  // namespace

struct FullyShardedState::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(Comm c) : comm(std::move(c)) {}

  struct Hook final : autograd::FunctionPostHook {
    Hook(std::weak_ptr<Impl> s, std::size_t u) : state(std::move(s)), unit(u) {}
    autograd::variable_list operator()(const autograd::variable_list& outputs,
                                       const autograd::variable_list&) override {
      if (const auto s = state.lock()) s->on_gradient(unit);
      return outputs;
    }
    std::weak_ptr<Impl> state;
    std::size_t unit;
  };

  void add_unit(std::string name, std::vector<Tensor> parameters, std::vector<std::string> names) {
    const std::size_t u = units.size();
    units.push_back(
        std::make_shared<FlatUnit>(std::move(name), std::move(parameters), std::move(names), comm));
    missing.push_back(0);
    for (const Tensor& p : units[u]->parameters()) {
      autograd::impl::grad_accumulator(p)->add_post_hook(
          std::make_unique<Hook>(weak_from_this(), u));
    }
  }

  void enter(std::size_t u) {
    if (!running) return;
    units[u]->gather();
    if (GradMode::is_enabled() && std::find(order.begin(), order.end(), u) == order.end())
      order.push_back(u);
  }

  Packed pack(const Tensor& t) const {
    for (const auto& u : units) {
      if (u->gathered() && t.has_storage() && t.is_alias_of(u->full()))
        return {Tensor(), u, t.sizes().vec(), t.strides().vec(), t.storage_offset()};
    }
    return {t, nullptr, {}, {}, 0};
  }
  static Tensor unpack(const Packed& p) {
    if (!p.unit) return p.tensor;
    p.unit->gather();
    return p.unit->full().as_strided(p.sizes, p.strides, p.offset);
  }

  void on_gradient(std::size_t u) {
    TENON_CHECK(!GradMode::is_enabled(), Error,
                "FullyShardedDataParallel: backward(create_graph=true) is not possible: the "
                "gradients of '",
                units[u]->name(), "' are averaged over ranks, which is not recorded");
    if (!in_backward) {
      in_backward = true;
      next = order.size();
      for (std::size_t i = 0; i < units.size(); ++i) missing[i] = units[i]->parameters().size();
      autograd::queue_callback([self = shared_from_this()] { self->finish(); });
    }
    if (missing[u] > 0) --missing[u];
    while (next > 0 && missing[order[next - 1]] == 0) send(order[--next]);
  }

  void send(std::size_t u) {
    units[u]->start_reduce();
    units[u]->release();
  }

  // Parameters without a gradient count as zeros.
  void finish() {
    in_backward = false;
    while (next > 0) send(order[--next]);
    for (std::size_t i = order.size(); i-- > 0;) units[order[i]]->wait_reduced();
    for (const auto& u : units) u->release();
  }

  const Comm comm;
  nn::Module* root = nullptr;
  std::vector<std::shared_ptr<FlatUnit>> units;
  std::vector<nn::RemovableHandle> handles;
  std::vector<Tensor> buffers;
  std::vector<std::size_t> order;    // in which units ran first
  std::vector<std::size_t> missing;  // gradients of each, in a backward
  std::size_t next = 0;              // those of `order` below it have not been sent
  bool running = false, saving = false, in_backward = false;
  bool has_rest = false;  // the last unit: what no unit of the program's holds
};

FullyShardedState::FullyShardedState(nn::Module& root,
                                     const std::vector<std::shared_ptr<nn::Module>>& units,
                                     GroupPtr process_group) {
  const std::vector<Tensor> all = root.parameters();
  Comm comm(std::move(process_group), all.empty() ? Device(kCPU) : all[0].device());
  impl_ = std::make_shared<Impl>(comm);
  Impl& s = *impl_;
  s.root = &root;
  s.buffers = root.buffers();
  const Owned owners = owners_of(root, units);
  std::vector<std::vector<Tensor>> parameters(units.size() + 1);
  std::vector<std::vector<std::string>> names(units.size() + 1);
  for (const auto& p : root.named_parameters()) {
    if (!p.value().requires_grad()) continue;
    const auto found = owners.find(p.value().unsafeGetTensorImpl());
    const std::size_t u = found == owners.end() ? units.size() : found->second;
    parameters[u].push_back(p.value());
    names[u].push_back(p.key());
  }
  std::vector<Tensor> from_first = all;
  from_first.insert(from_first.end(), s.buffers.begin(), s.buffers.end());
  broadcast_coalesced(comm, from_first, 0);
  s.has_rest = !parameters.back().empty();
  for (std::size_t u = 0; u <= units.size(); ++u) {
    if (parameters[u].empty()) continue;
    const std::size_t at = s.units.size();
    const std::string first = names[u][0];
    s.add_unit(first, std::move(parameters[u]), std::move(names[u]));
    if (u == units.size()) continue;
    s.handles.push_back(units[u]->register_forward_pre_hook(
        [weak = std::weak_ptr<Impl>(impl_), at](nn::Module&, nn::HookTensors&) {
          if (const auto state = weak.lock()) state->enter(at);
        }));
    s.handles.push_back(
        units[u]->register_forward_hook([weak = std::weak_ptr<Impl>(impl_), at](
                                            nn::Module&, const nn::HookTensors&, nn::HookTensors&) {
          const auto state = weak.lock();
          if (state && state->running) state->units[at]->release();
        }));
  }
  TENON_CHECK(!s.units.empty(), ValueError,
              "FullyShardedDataParallel: the module has no parameter that requires grad");
}

FullyShardedState::~FullyShardedState() {
  for (auto& h : impl_->handles) h.remove();
}

void FullyShardedState::before_forward(bool training) {
  Impl& s = *impl_;
  TENON_CHECK(!s.running, Error, "FullyShardedDataParallel: forward() within forward()");
  s.running = true;
  if (GradMode::is_enabled()) {
    if (training) broadcast_coalesced(s.comm, s.buffers, 0);
    autograd::graph::push_saved_tensors_hooks(
        {[self = impl_](const Tensor& t) -> std::shared_ptr<void> {
           return std::make_shared<Packed>(self->pack(t));
         },
         [](void* packed) { return Impl::unpack(*static_cast<Packed*>(packed)); }});
    s.saving = true;
  }
  if (s.has_rest) s.enter(s.units.size() - 1);
}

void FullyShardedState::after_forward() {
  Impl& s = *impl_;
  s.running = false;
  if (s.saving) autograd::graph::pop_saved_tensors_hooks();
  s.saving = false;
  for (const auto& u : s.units) u->release();
}

FullyShardedState::Dict FullyShardedState::full_state_dict() const {
  return distributed::full_state_dict(*impl_->root, impl_->units);
}
void FullyShardedState::load_full_state_dict(const Dict& state) {
  distributed::load_full_state_dict(*impl_->root, impl_->units, state);
}
void FullyShardedState::save_optimizer(optim::Optimizer& optimizer,
                                       serialize::OutputArchive& archive) const {
  save_whole_optimizer(impl_->units, optimizer, archive);
}
void FullyShardedState::load_optimizer(optim::Optimizer& optimizer,
                                       serialize::InputArchive& archive) const {
  load_whole_optimizer(impl_->units, optimizer, archive);
}

std::vector<Tensor> FullyShardedState::parameters() const {
  std::vector<Tensor> out;
  for (const auto& u : impl_->units) out.push_back(u->shard());
  return out;
}

}  // namespace tenon::distributed
