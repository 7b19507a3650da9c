// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The recurrent part of the fake cuDNN: descriptors are checked against each other, and layers
// computed in plain loops.
#include <atomic>
#include <vector>

#include "cudnn_parts.h"
#include "rnn.h"

namespace tenon::fake {
namespace {

constexpr std::size_t kWorkspace = 512;  // required but never read
std::atomic<bool> g_refuses{false};

struct Dropout {
  bool none = false;
};
struct Steps {
  cudnnDataType_t type;
  int time = 0, batch = 0, width = 0;
};
struct Rnn {
  Network n;
  bool set = false;
};
using fake::as;
Dropout& as(cudnnDropoutDescriptor_t d) { return *reinterpret_cast<Dropout*>(d); }
Steps& as(cudnnRNNDataDescriptor_t d) { return *reinterpret_cast<Steps*>(d); }
Rnn& as(cudnnRNNDescriptor_t d) { return *reinterpret_cast<Rnn*>(d); }

template <class T, class D>
cudnnStatus_t create(D* out) {
  *out = reinterpret_cast<D>(new T{});
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUDNN_STATUS_SUCCESS;
}
template <class D>
cudnnStatus_t destroy(D d) {
  delete &as(d);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUDNN_STATUS_SUCCESS;
}

std::size_t size_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}
std::size_t weight_bytes(const Network& n) {
  return static_cast<std::size_t>(weight_elements(n)) * size_of(n.type);
}

bool is_states(cudnnTensorDescriptor_t d, const Network& n, int batch) {
  const PlainTensor& t = as(d);
  return t.type == n.type &&
         t.dims == std::vector<int>{static_cast<int>(n.cells()), batch, static_cast<int>(n.hidden)};
}

bool on_device(std::initializer_list<const void*> places) {
  for (const void* p : places) {
    if (tenon_fake_device_of(p) < 0) return false;
  }
  return true;
}

// Arguments that all three calls have.
struct Given {
  cudnnRNNDescriptor_t rnn;
  cudnnRNNDataDescriptor_t x, y;
  cudnnTensorDescriptor_t h;
  std::size_t weights, workspace, reserve;
  const void* work;
};
bool fits(const Given& g, bool keeps) {
  const Network& n = as(g.rnn).n;
  const Steps &x = as(g.x), &y = as(g.y);
  const auto kept = static_cast<std::size_t>(reserve_bytes(n, x.time, x.batch));
  return as(g.rnn).set && x.type == n.type && y.type == n.type && x.time > 0 && x.time == y.time &&
         x.batch == y.batch && x.width == n.features && y.width == n.hidden * n.directions &&
         is_states(g.h, n, x.batch) && g.weights >= weight_bytes(n) && g.workspace >= kWorkspace &&
         on_device({g.work}) && (!keeps || g.reserve >= kept);
}

}  // namespace
}  // namespace tenon::fake

using namespace tenon::fake;

extern "C" {

void tenon_fake_refuse_rnn(int refuse) { g_refuses = refuse != 0; }

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* out) {
  BEGIN();
  return create<Dropout>(out);
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t, float dropout,
                                        void* states, size_t, unsigned long long) {
  BEGIN();
  if (dropout != 0 && states == nullptr) return CUDNN_STATUS_BAD_PARAM;
  as(d).none = dropout == 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* out) {
  BEGIN();
  return create<Rnn>(out);
}
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algo,
                                       cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                       cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,
                                       cudnnDataType_t type, cudnnDataType_t compute,
                                       cudnnMathType_t, int32_t features, int32_t hidden,
                                       int32_t projection, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t) {
  BEGIN();
  if (g_refuses) return CUDNN_STATUS_NOT_SUPPORTED;
  if (algo != CUDNN_RNN_ALGO_STANDARD || input != CUDNN_LINEAR_INPUT || projection != hidden ||
      !as(dropout).none || (bias != CUDNN_RNN_NO_BIAS && bias != CUDNN_RNN_DOUBLE_BIAS) ||
      (compute == CUDNN_DATA_DOUBLE) != (type == CUDNN_DATA_DOUBLE)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const int64_t directions = direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
  as(d) = {{type, mode, features, hidden, layers, directions, bias == CUDNN_RNN_DOUBLE_BIAS}, true};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* out) {
  BEGIN();
  return create<Steps>(out);
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int time, int batch, int width,
                                        const int lengths[], void*) {
  BEGIN();
  if (layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED) return CUDNN_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < batch; ++i) {
    if (lengths[i] != time) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  as(d) = {type, time, batch, width};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t d, size_t* bytes) {
  BEGIN();
  if (!as(d).set) return CUDNN_STATUS_BAD_PARAM;
  *bytes = weight_bytes(as(d).n);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t d,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                        size_t* workspace, size_t* reserve) {
  BEGIN();
  const bool trains = mode == CUDNN_FWD_MODE_TRAINING;
  *workspace = kWorkspace;
  *reserve = trains ? static_cast<std::size_t>(reserve_bytes(as(d).n, as(x).time, as(x).batch)) : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t d, int32_t cell,
                                      size_t bytes, const void* space, int32_t id,
                                      cudnnTensorDescriptor_t matrix, void** matrix_at,
                                      cudnnTensorDescriptor_t bias, void** bias_at) {
  BEGIN();
  const Network& n = as(d).n;
  if (bytes != weight_bytes(n) || cell >= n.cells() || id >= 2 * n.gates())
    return CUDNN_STATUS_BAD_PARAM;
  const auto at = [&](bool of_bias) {
    const auto offset = static_cast<std::size_t>(offset_of(n, cell, id, of_bias)) * size_of(n.type);
    return static_cast<char*>(const_cast<void*>(space)) + offset;
  };
  const int rows = static_cast<int>(n.hidden),
            width = static_cast<int>(id < n.gates() ? n.inputs(cell) : n.hidden);
  as(matrix) = {n.type, {1, rows, width}};
  as(bias) = {n.type, {1, rows, 1}};
  *matrix_at = at(false);
  *bias_at = n.biases ? at(true) : nullptr;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode,
                              const int32_t lengths[], cudnnRNNDataDescriptor_t xd, const void* x,
                              cudnnRNNDataDescriptor_t yd, void* y, cudnnTensorDescriptor_t h,
                              const void* hx, void* hy, cudnnTensorDescriptor_t, const void* cx,
                              void* cy, size_t weight_size, const void* weights, size_t work_size,
                              void* work, size_t reserve_size, void* reserve) {
  if (tenon_fake_call("cudnnRNNForward") != 0) return CUDNN_STATUS_EXECUTION_FAILED;
  const bool trains = mode == CUDNN_FWD_MODE_TRAINING;
  const Given g{d, xd, yd, h, weight_size, work_size, reserve_size, work};
  if (lengths || !fits(g, trains) || !on_device({x, y, hx, hy, weights}) ||
      (trains && !on_device({reserve}))) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const Network n = as(d).n;
  if (n.mode == CUDNN_LSTM && !on_device({cx, cy})) return CUDNN_STATUS_BAD_PARAM;
  const Sequences s{as(xd).time, as(xd).batch, x, hx, cx, weights};
  return enqueue(handle, [=] { forward(n, s, y, hy, cy, trains ? reserve : nullptr); });
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t d,
                                      const int32_t lengths[], cudnnRNNDataDescriptor_t yd,
                                      const void* y, const void* dy, cudnnRNNDataDescriptor_t xd,
                                      void* dx, cudnnTensorDescriptor_t h, const void* hx,
                                      const void* dhy, void* dhx, cudnnTensorDescriptor_t,
                                      const void* cx, const void* dcy, void* dcx,
                                      size_t weight_size, const void* weights, size_t work_size,
                                      void* work, size_t reserve_size, void* reserve) {
  if (tenon_fake_call("cudnnRNNBackwardData") != 0) return CUDNN_STATUS_EXECUTION_FAILED;
  const Given g{d, xd, yd, h, weight_size, work_size, reserve_size, work};
  if (lengths || !fits(g, true) || !on_device({y, dy, dx, hx, weights, reserve}))
    return CUDNN_STATUS_BAD_PARAM;
  const Network n = as(d).n;
  // The input is not among the arguments: nothing that is computed here needs it.
  const Sequences s{as(xd).time, as(xd).batch, nullptr, hx, cx, weights};
  return enqueue(handle, [=] { backward_data(n, s, dy, dhy, dcy, dx, dhx, dcx, reserve); });
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t d,
                                         cudnnWgradMode_t mode, const int32_t lengths[],
                                         cudnnRNNDataDescriptor_t xd, const void* x,
                                         cudnnTensorDescriptor_t h, const void* hx,
                                         cudnnRNNDataDescriptor_t yd, const void* y,
                                         size_t weight_size, void* dweights, size_t work_size,
                                         void* work, size_t reserve_size, void* reserve) {
  if (tenon_fake_call("cudnnRNNBackwardWeights") != 0) return CUDNN_STATUS_EXECUTION_FAILED;
  if (mode != CUDNN_WGRAD_MODE_ADD) return CUDNN_STATUS_NOT_SUPPORTED;
  const Given g{d, xd, yd, h, weight_size, work_size, reserve_size, work};
  if (lengths || !fits(g, true) || !on_device({x, y, hx, dweights, reserve}))
    return CUDNN_STATUS_BAD_PARAM;
  const Network n = as(d).n;
  const Sequences s{as(xd).time, as(xd).batch, x, hx, nullptr, nullptr};
  return enqueue(handle, [=] { backward_weights(n, s, dweights, reserve); });
}
}
