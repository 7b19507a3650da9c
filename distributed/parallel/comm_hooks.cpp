// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/parallel/comm_hooks.h"

#include "distributed/parallel/comm.h"
#include "tenon/ops.h"

namespace tenon::distributed {

CommHook::~CommHook() = default;

namespace {

class AverageHook final : public CommHook {
 public:
  AverageHook(GroupPtr group, std::optional<ScalarType> dtype)
      : comm_(std::move(group)), dtype_(dtype) {}
  SharedFunction<Tensor()> run(GradBucket& bucket) override {
    Tensor sent = bucket.buffer().div_(comm_.size());
    if (dtype_) sent = sent.to(*dtype_);
    return [sent, pending = comm_.all_reduce(sent)]() mutable {
      pending.wait();
      return sent;
    };
  }

 private:
  const Comm comm_;
  const std::optional<ScalarType> dtype_;
};

}  // namespace

std::shared_ptr<CommHook> allreduce_hook(GroupPtr group) {
  return std::make_shared<AverageHook>(std::move(group), std::nullopt);
}
std::shared_ptr<CommHook> fp16_compress_hook(GroupPtr group) {
  return std::make_shared<AverageHook>(std::move(group), kHalf);
}
std::shared_ptr<CommHook> bf16_compress_hook(GroupPtr group) {
  return std::make_shared<AverageHook>(std::move(group), kBFloat16);
}

}  // namespace tenon::distributed
