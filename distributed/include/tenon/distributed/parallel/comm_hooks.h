// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What DistributedDataParallel does with a full bucket of gradients in the place of averaging it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/distributed/parallel/group.h"
#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

// The gradients of some parameters, of one dtype and device, one after the other.
class TENON_API GradBucket {
 public:
  GradBucket(std::size_t index, std::size_t count, Tensor buffer, std::vector<Tensor> gradients)
      : index_(index),
        count_(count),
        buffer_(std::move(buffer)),
        gradients_(std::move(gradients)) {}
  std::size_t index() const { return index_; }
  bool is_last() const { return index_ + 1 == count_; }
  // One-dimensional: the sum over this rank's examples, as backward() left it.
  const Tensor& buffer() const { return buffer_; }
  // Views of the buffer, in the shapes of the parameters.
  const std::vector<Tensor>& gradients() const { return gradients_; }

 private:
  std::size_t index_, count_;
  Tensor buffer_;
  std::vector<Tensor> gradients_;
};

class TENON_API CommHook {
 public:
  virtual ~CommHook();
  // Called as soon as the bucket is full, on all ranks in the same order, while the backward pass
  // goes on. Starts what takes time and returns what waits for it, which is called at the end of
  // the pass, also in the order of the buckets: its result has as many elements as the buffer, and
  // becomes the gradients.
  virtual SharedFunction<Tensor()> run(GradBucket& bucket) = 0;
};

// The average; what is done without a hook.
TENON_API std::shared_ptr<CommHook> allreduce_hook(GroupPtr group = nullptr);
// The average of gradients that are cast to these 16 bits before they are sent.
TENON_API std::shared_ptr<CommHook> fp16_compress_hook(GroupPtr group = nullptr);
TENON_API std::shared_ptr<CommHook> bf16_compress_hook(GroupPtr group = nullptr);

// PowerSGD (Vogels, Karimireddy, Jaggi, 2019): a gradient of n x m elements is sent as two factors
// of n x rank and rank x m. Ranks agree to the bit.
struct TENON_API PowerSGDOptions {
  // Rank of the factors.
  int64_t matrix_approximation_rank = 1;
  // The first iterations are averaged as they are: the factors need gradients that have settled.
  int64_t start_iteration = 10;
  // A gradient is sent in factors if they have this many times fewer elements.
  double min_compression_rate = 2;
  // What the factors left out is added to the next gradient.
  bool use_error_feedback = true;
  // Begins with the factors of the last iteration.
  bool warm_start = true;
  // Of the first factors; the same on all ranks.
  uint64_t seed = 0;
};
TENON_API std::shared_ptr<CommHook> power_sgd_hook(PowerSGDOptions options = {},
                                                   GroupPtr group = nullptr);

}  // namespace tenon::distributed
