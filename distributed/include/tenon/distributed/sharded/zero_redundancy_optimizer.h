// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// ZeRO's first stage (Rajbhandari, Rasley, Ruwase, He, 2020): each rank updates a part of the
// parameters and keeps the state of that part alone.
//
//   distributed::ZeroRedundancyOptimizer<optim::Adam> adam(net->parameters(),
//                                                          optim::AdamOptions(1e-3));
//   adam.step();                       // gradients are averaged: by DistributedDataParallel
//   adam.consolidate_state_dict();     // on all ranks; then rank 0 can save it
//   if (rank == 0) save(adam, "adam.safetensors");   // loads into an optim::Adam, too
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenon/distributed/parallel/group.h"
#include "tenon/function_ref.h"
#include "tenon/optim/lbfgs.h"
#include "tenon/optim/optimizer.h"

namespace tenon::distributed {

class Comm;

class TENON_API ZeroRedundancyBase : public optim::Optimizer {
 public:
  using Groups = std::vector<optim::OptimizerParamGroup>;
  using Make = SharedFunction<std::unique_ptr<optim::Optimizer>(const Groups& groups)>;

  ~ZeroRedundancyBase() override;
  // The options of param_groups() hold for the step, so that schedulers work. Afterwards all ranks
  // have the parameters of all. A collective.
  Tensor step(LossClosure closure = nullptr) override;
  // A collective: gives rank `to` the state of all parameters, until the next step.
  void consolidate_state_dict(int to = 0);
  // In the format of the optimizer itself. Error where the state has not been consolidated.
  void save(serialize::OutputArchive& archive) const override;
  // Of any number of ranks, or of the optimizer itself. Each rank keeps its part.
  void load(serialize::InputArchive& archive) override;

  // The rank that updates a parameter. ValueError for one that is none of these.
  int owner(const Tensor& parameter) const;
  optim::Optimizer& local_optimizer() { return *local_; }

 protected:
  ZeroRedundancyBase(const Groups& groups, std::unique_ptr<optim::OptimizerOptions> defaults,
                     Make make, GroupPtr process_group);

 private:
  Groups groups_of(int rank) const;
  void assign_owners();

  const Make make_;
  const std::unique_ptr<Comm> comm_;
  std::vector<int> owners_;  // by position over all groups
  std::unique_ptr<optim::Optimizer> local_;
  bool consolidated_ = false;
};

// Optim: an optimizer that treats parameters one by one.
template <class Optim>
class ZeroRedundancyOptimizer : public ZeroRedundancyBase {
  static_assert(!std::is_base_of_v<optim::LBFGS, Optim>,
                "LBFGS has one state for all parameters, which cannot be divided among ranks");

 public:
  template <class Options>
  ZeroRedundancyOptimizer(const Groups& groups, Options defaults, GroupPtr process_group = nullptr)
      : ZeroRedundancyBase(groups, defaults.clone(), maker(defaults), std::move(process_group)) {}
  template <class Options>
  ZeroRedundancyOptimizer(std::vector<Tensor> parameters, Options defaults,
                          GroupPtr process_group = nullptr)
      : ZeroRedundancyOptimizer(Groups{optim::OptimizerParamGroup(std::move(parameters))},
                                std::move(defaults), std::move(process_group)) {}

 private:
  template <class Options>
  static Make maker(const Options& defaults) {
    return [defaults](const Groups& groups) -> std::unique_ptr<optim::Optimizer> {
      return std::make_unique<Optim>(groups, defaults);
    };
  }
};

}  // namespace tenon::distributed
