// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN's graph interface: a plan for each geometry, found by its heuristics and kept. With
// TENON_CONV_BENCHMARK it is the fastest of several.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// The three ways through one convolution; x is the wider side, w the weights, y the other one.
enum class Way : int64_t { Forward, BackwardData, BackwardWeights };

struct ConvGeometry {
  sdk::DType dtype{};
  int64_t nd = 2;  // spatial dimensions: 2 or 3
  int64_t x[5] = {}, w[5] = {}, y[5] = {};
  int64_t stride[3] = {}, padding[3] = {}, dilation[3] = {};
  bool deterministic = false;
};

struct ConvPlan {
  cudnnBackendDescriptor_t plan = nullptr;  // null: cuDNN has none for it
  int64_t workspace = 0;
};

// A handle for the work of one stream, for one thread at a time.
class DnnHandle {
 public:
  DnnHandle(int index, cudaStream_t stream);
  cudnnHandle_t get() const { return handle_; }

 private:
  std::unique_lock<std::mutex> hold_;
  cudnnHandle_t handle_;
};

// The three tensors' memory.
struct ConvPlaces {
  void *x, *w, *y;
};

// Plans that are timed write the result's memory, so that it must hold nothing of worth yet. Never while the stream is
// captured, nor where the order of sums must be the same in every run.
ConvPlan plan_of(const ConvGeometry& g, Way way, int index, cudaStream_t stream, const ConvPlaces& at);
void execute(const ConvPlan& plan, int index, cudaStream_t stream, const ConvPlaces& at, void* workspace);
void check_dnn(cudnnStatus_t status, const char* call, int index);
cudnnDataType_t dnn_type(sdk::DType d);

std::string dnn_fault();
void stop_dnn();

}  // namespace tenon::cuda
