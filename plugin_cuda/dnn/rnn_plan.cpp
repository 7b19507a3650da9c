// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/dnn/rnn_plan.h"

#include <map>
#include <tuple>

#include "plugin_cuda/dnn/plan.h"
#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

struct Plans {
  std::mutex lock;
  std::map<std::tuple<int, bool, RnnGeometry>, std::unique_ptr<RnnPlan>>
      plans;  // by device and whether TF32 is allowed
};
Plans& plans() {
  static auto& p = *new Plans;
  return p;
}

void check_supported(cudnnStatus_t status, const char* call, int index) {
  const int category = static_cast<int>(status) / 1000 * 1000;
  if (category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM)
    throw RnnPlan::Unsupported();
  check_dnn(status, call, index);
}

template <class Owned, class F>
void make(Owned& out, F create, const char* call, int index) {
  typename Owned::pointer d = nullptr;
  check_dnn(create(&d), call, index);
  out.reset(d);
}

void describe_steps(cudnnRNNDataDescriptor_t d, const RnnGeometry& g, int64_t width, int index) {
  const std::vector<int> lengths(static_cast<std::size_t>(g.batch), static_cast<int>(g.time));
  check_supported(
      cudnnSetRNNDataDescriptor(d, dnn_type(g.dtype), CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                static_cast<int>(g.time), static_cast<int>(g.batch),
                                static_cast<int>(width), lengths.data(), nullptr),
      "cudnnSetRNNDataDescriptor", index);
}

auto fields(const RnnGeometry& g) {
  return std::make_tuple(sdk::dtype_key(g.dtype), g.mode, g.time, g.batch, g.features, g.hidden,
                         g.layers, g.has_biases, g.bidirectional, g.train);
}

}  // namespace

bool RnnGeometry::operator<(const RnnGeometry& o) const { return fields(*this) < fields(o); }

RnnPlan::RnnPlan(const RnnGeometry& g, int index, cudnnHandle_t handle) : g_(g), index_(index) {
  make(dropout_, cudnnCreateDropoutDescriptor, "cudnnCreateDropoutDescriptor", index);
  make(rnn_, cudnnCreateRNNDescriptor, "cudnnCreateRNNDescriptor", index);
  make(x_, cudnnCreateRNNDataDescriptor, "cudnnCreateRNNDataDescriptor", index);
  make(y_, cudnnCreateRNNDataDescriptor, "cudnnCreateRNNDataDescriptor", index);
  for (auto* t : {&h_, &matrix_, &bias_})
    make(*t, cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor", index);
  describe(handle);
  check_supported(cudnnGetRNNWeightSpaceSize(handle, rnn(), &weights_),
                  "cudnnGetRNNWeightSpaceSize", index);
  const auto mode = g.train ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  check_supported(cudnnGetRNNTempSpaceSizes(handle, rnn(), mode, x(), &workspace_, &reserve_),
                  "cudnnGetRNNTempSpaceSizes", index);
}

void RnnPlan::describe(cudnnHandle_t handle) {
  const cudnnDataType_t type = dnn_type(g_.dtype);
  const cudnnDataType_t compute = type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const bool narrow = type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
  const cudnnMathType_t math = narrow                                      ? CUDNN_TENSOR_OP_MATH
                               : type == CUDNN_DATA_FLOAT && !allow_tf32() ? CUDNN_FMA_MATH
                                                                           : CUDNN_DEFAULT_MATH;
  check_dnn(cudnnSetDropoutDescriptor(dropout_.get(), handle, 0, nullptr, 0, 0),
            "cudnnSetDropoutDescriptor", index_);
  check_supported(cudnnSetRNNDescriptor_v8(
                      rnn(), CUDNN_RNN_ALGO_STANDARD, static_cast<cudnnRNNMode_t>(g_.mode),
                      g_.has_biases ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
                      g_.bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                      CUDNN_LINEAR_INPUT, type, compute, math, static_cast<int32_t>(g_.features),
                      static_cast<int32_t>(g_.hidden), static_cast<int32_t>(g_.hidden),
                      static_cast<int32_t>(g_.layers), dropout_.get(), CUDNN_RNN_PADDED_IO_ENABLED),
                  "cudnnSetRNNDescriptor_v8", index_);
  describe_steps(x(), g_, g_.features, index_);
  describe_steps(y(), g_, g_.hidden * g_.directions(), index_);
  const int sizes[] = {static_cast<int>(g_.cells()), static_cast<int>(g_.batch),
                       static_cast<int>(g_.hidden)};
  const int strides[] = {sizes[1] * sizes[2], sizes[2], 1};
  check_supported(cudnnSetTensorNdDescriptor(h(), type, 3, sizes, strides),
                  "cudnnSetTensorNdDescriptor", index_);
}

void RnnPlan::add(cudnnHandle_t handle, const void* space, int64_t cell, int64_t gate, bool bias,
                  Run run) {
  void *matrix_at = nullptr, *bias_at = nullptr;
  check_dnn(cudnnGetRNNWeightParams(handle, rnn(), static_cast<int32_t>(cell), weights_, space,
                                    static_cast<int32_t>(gate), matrix_.get(), &matrix_at,
                                    bias_.get(), &bias_at),
            "cudnnGetRNNWeightParams", index_);
  const void* at = bias ? bias_at : matrix_at;
  run.space = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(space);
  if (!at || run.space + run.bytes > weights_) {
    throw sdk::Error(TN_ERROR_BACKEND, "cudnnGetRNNWeightParams has no room for ", run.bytes,
                     " bytes of cell ", cell, ", gate ", gate, " in a weight space of ", weights_);
  }
  Run* last = runs_.empty() ? nullptr : &runs_.back();
  if (last && last->flat + last->bytes == run.flat && last->space + last->bytes == run.space) {
    last->bytes += run.bytes;
  } else {
    runs_.push_back(run);
  }
}

void RnnPlan::find_runs(cudnnHandle_t handle, const void* space) {
  std::size_t flat = 0;
  for (int64_t cell = 0; cell < g_.cells(); ++cell) {
    // Weights of the input and of the hidden state, then their biases.
    for (int part = 0; part < (g_.has_biases ? 4 : 2); ++part) {
      const int64_t input = cell < g_.directions() ? g_.features : g_.hidden * g_.directions();
      const int64_t width = part == 0 ? input : part == 1 ? g_.hidden : 1;
      const std::size_t bytes = static_cast<std::size_t>(g_.hidden * width) * (g_.dtype.bits / 8);
      for (int64_t gate = 0; gate < g_.gates(); ++gate) {
        add(handle, space, cell, gate + part % 2 * g_.gates(), part >= 2, {flat, 0, bytes});
        flat += bytes;
      }
    }
  }
}

const std::vector<RnnPlan::Run>& RnnPlan::runs(cudnnHandle_t handle, const void* space) {
  std::lock_guard<std::mutex> hold(lock_);
  if (runs_.empty()) {
    try {
      find_runs(handle, space);
    } catch (...) {
      runs_.clear();
      throw;
    }
  }
  return runs_;
}

RnnPlan* rnn_plan(const RnnGeometry& g, int index, cudaStream_t stream) {
  Plans& p = plans();
  const std::tuple<int, bool, RnnGeometry> key{index, allow_tf32(), g};
  {
    std::lock_guard<std::mutex> hold(p.lock);
    const auto it = p.plans.find(key);
    if (it != p.plans.end()) return it->second.get();
  }
  std::unique_ptr<RnnPlan> made;
  try {
    const DnnHandle handle(index, stream);
    UncapturedGuard uncaptured;
    made = std::make_unique<RnnPlan>(g, index, handle.get());
  } catch (const RnnPlan::Unsupported&) {
  }
  std::lock_guard<std::mutex> hold(p.lock);
  return p.plans.emplace(key, std::move(made)).first->second.get();
}

void stop_rnn() {
  auto& all = plans().plans;
  if (forked()) {
    for (auto& [_, plan] : all) (void)plan.release();
  }
  all.clear();
}

}  // namespace tenon::cuda
