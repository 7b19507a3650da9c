// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Data parallelism in which each rank keeps a part of parameters, gradients and optimizer state
// (ZeRO's third stage; Zhao et al., PyTorch FSDP, 2023).
//
//   Net net;
//   distributed::FullyShardedDataParallel fsdp(net, {net->encoder.ptr(), net->decoder.ptr()});
//   optim::Adam adam(fsdp.parameters(), 1e-3);        // of the parts
//   loss_of(fsdp(x), y).backward();
//   adam.step();
//   auto state = fsdp.full_state_dict();              // a collective; the names of the module
//
// A unit is a module whose parameters are gathered together: before its forward, and again before
// its backward; they are given back after each. What units do not hold is a unit of its own.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/archives.h"
#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/distributed/parallel/group.h"
#include "tenon/nn/module.h"
#include "tenon/optim/optimizer.h"
#include "tenon/ordered_dict.h"

namespace tenon::distributed {

// Modules of units must be called as module(x) or by a container, which runs their hooks, not by
// forward(). Between calls the parameters of the module are empty.
//
// All parameters of a unit that require grad have one dtype and device; others stay whole. Each
// backward averages gradients; all ranks must run the same units in the same order.
class TENON_API FullyShardedState {
 public:
  using Dict = OrderedDict<std::string, Tensor>;

  FullyShardedState(nn::Module& root, const std::vector<std::shared_ptr<nn::Module>>& units,
                    GroupPtr process_group);
  ~FullyShardedState();
  FullyShardedState(const FullyShardedState&) = delete;

  void before_forward(bool training);
  void after_forward();

  // This rank's part of each unit; with padding, as all ranks have the same number of elements.
  std::vector<Tensor> parameters() const;
  // Collectives. Names are those of the module without sharding; tensors are copies.
  Dict full_state_dict() const;
  void load_full_state_dict(const Dict& state);
  // Of an optimizer over parameters(): with the state of whole units, for any number of ranks.
  void save_optimizer(optim::Optimizer& optimizer, serialize::OutputArchive& archive) const;
  void load_optimizer(optim::Optimizer& optimizer, serialize::InputArchive& archive) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

template <class M>
class FullyShardedDataParallel {
 public:
  explicit FullyShardedDataParallel(M module,
                                    const std::vector<std::shared_ptr<nn::Module>>& units = {},
                                    GroupPtr process_group = nullptr)
      : module_(std::move(module)),
        state_(*nn::parallel::detail::HeldModule<M>::of(module_), units, std::move(process_group)) {
  }

  template <class... A>
  auto forward(A&&... args) {
    state_.before_forward(module_->is_training());
    struct Call {
      FullyShardedState& state;
      ~Call() { state.after_forward(); }
    } call{state_};
    return invoke(std::forward<A>(args)...);
  }
  template <class... A>
  auto operator()(A&&... args) {
    return forward(std::forward<A>(args)...);
  }
  std::vector<Tensor> parameters() const { return state_.parameters(); }
  FullyShardedState::Dict full_state_dict() const { return state_.full_state_dict(); }
  void load_full_state_dict(const FullyShardedState::Dict& d) { state_.load_full_state_dict(d); }
  M& module() { return module_; }
  FullyShardedState& state() { return state_; }

 private:
  template <class... A>
  auto invoke(A&&... args) {
    if constexpr (nn::detail::is_module_holder<M>) {
      return module_(std::forward<A>(args)...);
    } else {
      auto& module = *module_;
      return nn::detail::call_hooked(module, std::index_sequence_for<A...>(),
                                     std::forward<A>(args)...);
    }
  }

  M module_;
  FullyShardedState state_;
};

template <class M>
FullyShardedDataParallel(M) -> FullyShardedDataParallel<M>;
template <class M>
FullyShardedDataParallel(M, std::vector<std::shared_ptr<nn::Module>>)
    -> FullyShardedDataParallel<M>;

}  // namespace tenon::distributed
