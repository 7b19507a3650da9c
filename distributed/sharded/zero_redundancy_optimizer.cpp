// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/sharded/zero_redundancy_optimizer.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "distributed/parallel/comm.h"
#include "tenon/autograd/mode.h"
#include "tenon/runtime/error.h"
#include "tenon/serialize.h"

namespace tenon::distributed {
namespace {

Device device_of(const std::vector<optim::OptimizerParamGroup>& groups) {
  for (const auto& g : groups) {
    if (!g.params().empty() && g.params()[0].defined()) return g.params()[0].device();
  }
  return kCPU;
}

}  // namespace

ZeroRedundancyBase::ZeroRedundancyBase(const Groups& groups,
                                       std::unique_ptr<optim::OptimizerOptions> defaults, Make make,
                                       GroupPtr process_group)
    : Optimizer(groups, std::move(defaults)),
      make_(std::move(make)),
      comm_(std::make_unique<Comm>(std::move(process_group), device_of(groups))) {
  TENON_CHECK(size() > 0, ValueError, "ZeroRedundancyOptimizer: there are no parameters");
  assign_owners();
  local_ = make_(groups_of(comm_->rank()));
}

ZeroRedundancyBase::~ZeroRedundancyBase() = default;

// The largest first, each to the rank that has the fewest elements.
void ZeroRedundancyBase::assign_owners() {
  std::vector<int64_t> numels;
  for (const auto& g : param_groups_) {
    for (const Tensor& p : g.params()) numels.push_back(p.numel());
  }
  std::vector<std::size_t> order(numels.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return numels[a] > numels[b]; });
  std::vector<int64_t> loads(static_cast<std::size_t>(comm_->size()));
  owners_.assign(numels.size(), 0);
  for (const std::size_t i : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += numels[i];
    owners_[i] = static_cast<int>(least - loads.begin());
  }
}

ZeroRedundancyBase::Groups ZeroRedundancyBase::groups_of(int rank) const {
  Groups out;
  std::size_t at = 0;
  for (const auto& g : param_groups_) {
    std::vector<Tensor> own;
    for (const Tensor& p : g.params()) {
      if (owners_[at++] == rank) own.push_back(p);
    }
    out.emplace_back(std::move(own), g.options().clone());
  }
  return out;
}

int ZeroRedundancyBase::owner(const Tensor& parameter) const {
  std::size_t at = 0;
  for (const auto& g : param_groups_) {
    for (const Tensor& p : g.params()) {
      if (p.unsafeGetTensorImpl() == parameter.unsafeGetTensorImpl()) return owners_[at];
      ++at;
    }
  }
  throw ValueError("ZeroRedundancyOptimizer: owner() of a tensor that is not a parameter of it");
}

Tensor ZeroRedundancyBase::step(LossClosure closure) {
  TENON_CHECK(size() == owners_.size(), Error,
              "ZeroRedundancyOptimizer: parameters were added after it was made; it divides among "
              "the ranks what its constructor is given");
  Tensor loss;
  if (closure) {
    const AutoGradMode enable(true);
    loss = closure();
  }
  for (std::size_t g = 0; g < param_groups_.size(); ++g)
    local_->param_groups()[g].set_options(param_groups_[g].options().clone());
  local_->step();
  consolidated_ = false;
  state_.clear();
  const NoGradGuard no_grad;
  std::vector<std::vector<Tensor>> of_rank(static_cast<std::size_t>(comm_->size()));
  std::size_t at = 0;
  for (auto& g : param_groups_) {
    for (const Tensor& p : g.params())
      of_rank[static_cast<std::size_t>(owners_[at++])].push_back(p);
  }
  broadcast_from_owners(*comm_, of_rank);
  return loss;
}

void ZeroRedundancyBase::consolidate_state_dict(int to) {
  TENON_CHECK(to >= 0 && to < comm_->size(), ValueError, "consolidate_state_dict: rank ", to,
              " of ", comm_->size());
  state_.clear();
  std::ostringstream mine;
  tenon::save(*local_, mine);
  for (int r = 0; r < comm_->size(); ++r) {
    const std::string bytes = comm_->broadcast_text(mine.str(), r);
    if (comm_->rank() != to) continue;
    std::unique_ptr<Optimizer> part = make_(groups_of(r));
    std::istringstream in(bytes);
    tenon::load(*part, in);
    for (auto& [key, state] : part->state()) state_[key] = std::move(state);
  }
  consolidated_ = comm_->rank() == to;
}

void ZeroRedundancyBase::save(serialize::OutputArchive& archive) const {
  TENON_CHECK(consolidated_, Error,
              "ZeroRedundancyOptimizer: this rank has a part of the state; call "
              "consolidate_state_dict() on all ranks after the last step, and save on the rank "
              "that it names");
  Optimizer::save(archive);
}

void ZeroRedundancyBase::load(serialize::InputArchive& archive) {
  std::unique_ptr<Optimizer> whole = make_(param_groups_);
  whole->load(archive);
  std::unique_ptr<Optimizer> mine = make_(groups_of(comm_->rank()));
  for (auto& group : mine->param_groups()) {
    for (const Tensor& p : group.params()) {
      const auto found = whole->state().find(p.unsafeGetTensorImpl());
      if (found != whole->state().end())
        mine->state()[p.unsafeGetTensorImpl()] = std::move(found->second);
    }
  }
  for (std::size_t g = 0; g < param_groups_.size(); ++g)
    param_groups_[g].set_options(whole->param_groups()[g].options().clone());
  local_ = std::move(mine);
  state_.clear();
  consolidated_ = false;
}

}  // namespace tenon::distributed
