// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN's graph interface: one cached plan per geometry, chosen by its heuristics,
// or with TENON_CONV_BENCHMARK the fastest of several.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// The three operations of a convolution; x is its input, w the weights, y its output.
enum class ConvOp : int64_t { Forward, BackwardData, BackwardWeights };

struct ConvGeometry {
  sdk::DType dtype{};
  int64_t nd = 2;  // spatial dimensions: 2 or 3
  int64_t x[5] = {}, w[5] = {}, y[5] = {};
  int64_t stride[3] = {}, padding[3] = {}, dilation[3] = {};
  bool deterministic = false;
};

struct ConvPlan {
  cudnnBackendDescriptor_t plan = nullptr;  // null: cuDNN has no plan
  int64_t workspace = 0;
};

// A handle for one stream, locked for one thread at a time.
class DnnHandle {
 public:
  DnnHandle(int index, cudaStream_t stream);
  cudnnHandle_t get() const { return handle_; }

 private:
  std::unique_lock<std::mutex> hold_;
  cudnnHandle_t handle_;
};

// The memory of the three tensors.
struct ConvPointers {
  void *x, *w, *y;
};

// Timing overwrites the result's memory. No plan is timed while the stream is captured, nor in
// deterministic mode.
ConvPlan plan_of(const ConvGeometry& g, ConvOp op, int index, cudaStream_t stream,
                 const ConvPointers& at);
void execute(const ConvPlan& plan, int index, cudaStream_t stream, const ConvPointers& at,
             void* workspace);
void check_dnn(cudnnStatus_t status, const char* call, int index);
cudnnDataType_t dnn_type(sdk::DType d);

std::string dnn_fault();
std::string dnn_description();  // "; cuDNN 9.1"
void stop_dnn();

}  // namespace tenon::cuda
