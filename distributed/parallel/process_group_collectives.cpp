// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/functions.h"
#include "tenon/distributed/parallel/group.h"

namespace tenon::distributed {
namespace {

class ProcessGroupCollectives final : public CollectiveGroup {
 public:
  explicit ProcessGroupCollectives(ProcessGroupPtr group) : group_(std::move(group)) {}
  int rank() const override { return group_->getRank(); }
  int size() const override { return group_->getSize(); }
  Wait all_reduce(const Tensor& t) override {
    std::vector<Tensor> tensors{t};
    return wait_of(group_->allreduce(tensors));
  }
  Wait broadcast(const Tensor& t, int root) override {
    std::vector<Tensor> tensors{t};
    BroadcastOptions options;
    options.rootRank = root;
    return wait_of(group_->broadcast(tensors, options));
  }
  Wait all_gather(const Tensor& out, const Tensor& in) override {
    Tensor output = out, input = in;
    return wait_of(group_->_allgather_base(output, input));
  }
  Wait reduce_scatter(const Tensor& out, const Tensor& in) override {
    Tensor output = out, input = in;
    return wait_of(group_->_reduce_scatter_base(output, input));
  }

 private:
  static Wait wait_of(WorkPtr work) {
    return [work = std::move(work)] { work->wait(); };
  }
  const ProcessGroupPtr group_;
};

}  // namespace

GroupPtr collectives_of(ProcessGroupPtr group) {
  return std::make_shared<ProcessGroupCollectives>(group ? std::move(group) : default_group());
}

}  // namespace tenon::distributed
