// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuDNN's descriptors of recurrent layers, cached per geometry, and the offsets of the parameters.
#pragma once

#include <cudnn.h>

#include <memory>
#include <mutex>
#include <vector>

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

struct RnnGeometry {
  sdk::DType dtype{};
  int64_t mode = 0;  // a cudnnRNNMode_t; the operator has the same values
  int64_t time = 0, batch = 0, features = 0, hidden = 0, layers = 0;
  bool has_biases = false, bidirectional = false, train = false;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t cells() const { return layers * directions(); }
  int64_t gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
  bool operator<(const RnnGeometry& o) const;
};

template <class Struct, auto destroy>
struct DnnOwner {
  struct Destroy {
    void operator()(Struct* d) const { destroy(d); }
  };
  using type = std::unique_ptr<Struct, Destroy>;
};
template <class Struct, auto destroy>
using DnnOwned = typename DnnOwner<Struct, destroy>::type;

class RnnPlan {
 public:
  // A run of the operator's flat weights and its offset in cuDNN's weight space, in bytes.
  struct Run {
    std::size_t flat, space, bytes;
  };
  struct Unsupported {};

  // Throws Unsupported.
  RnnPlan(const RnnGeometry& g, int index, cudnnHandle_t handle);
  cudnnRNNDescriptor_t rnn() const { return rnn_.get(); }
  cudnnRNNDataDescriptor_t x() const { return x_.get(); }
  cudnnRNNDataDescriptor_t y() const { return y_.get(); }
  cudnnTensorDescriptor_t h() const { return h_.get(); }
  // Bytes.
  std::size_t weights() const { return weights_; }
  std::size_t workspace() const { return workspace_; }
  std::size_t reserve() const { return reserve_; }
  // `space` is memory of weights() bytes, at any address.
  const std::vector<Run>& runs(cudnnHandle_t handle, const void* space);

 private:
  void describe(cudnnHandle_t handle);
  void find_runs(cudnnHandle_t handle, const void* space);
  void add(cudnnHandle_t handle, const void* space, int64_t cell, int64_t gate, bool bias, Run run);

  RnnGeometry g_;
  int index_;
  DnnOwned<cudnnDropoutStruct, cudnnDestroyDropoutDescriptor> dropout_;
  DnnOwned<cudnnRNNStruct, cudnnDestroyRNNDescriptor> rnn_;
  DnnOwned<cudnnRNNDataStruct, cudnnDestroyRNNDataDescriptor> x_, y_;
  DnnOwned<cudnnTensorStruct, cudnnDestroyTensorDescriptor> h_, matrix_, bias_;
  std::size_t weights_ = 0, workspace_ = 0, reserve_ = 0;
  std::mutex lock_;  // of runs_
  std::vector<Run> runs_;
};

// Null: cuDNN does not support it. Valid until stop_rnn().
RnnPlan* rnn_plan(const RnnGeometry& g, int index, cudaStream_t stream);
void stop_rnn();

}  // namespace tenon::cuda
