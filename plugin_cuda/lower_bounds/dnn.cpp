// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions by plain calls of cuDNN's graph interface.
#include "plugin_cuda/lower_bounds/lower_bounds.h"
#include "plugin_cuda/lower_bounds/measure.h"

#if defined(TENON_CUDNN)
#include <cudnn.h>

#include <memory>
#include <vector>

#include "plugin_cuda/dnn/operation.h"

namespace tenon::lower_bounds {
namespace {

constexpr int64_t kX = 1, kW = 2, kY = 3;  // names of the tensors
constexpr int64_t kMaxEngines = 64;

// A descriptor; finalize() returns whether all calls succeeded.
class Part {
 public:
  explicit Part(cudnnBackendDescriptorType_t type) {
    check(cudnnBackendCreateDescriptor(type, &d_));
  }
  ~Part() {
    if (d_) cudnnBackendDestroyDescriptor(d_);
  }
  Part(const Part&) = delete;
  template <class T>
  Part& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values,
            int64_t n = 1) {
    check(cudnnBackendSetAttribute(d_, name, type, n, values));
    return *this;
  }
  Part& set(cudnnBackendAttributeName_t name, const Part& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &other.d_);
  }
  template <class T>
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T* values,
              int64_t max = 1) {
    int64_t n = 0;
    return cudnnBackendGetAttribute(d_, name, type, max, &n, values) == CUDNN_STATUS_SUCCESS ? n
                                                                                             : 0;
  }
  bool finalize() {
    check(cudnnBackendFinalize(d_));
    return good_;
  }
  cudnnBackendDescriptor_t raw() const { return d_; }

 private:
  void check(cudnnStatus_t s) { good_ = good_ && s == CUDNN_STATUS_SUCCESS; }
  cudnnBackendDescriptor_t d_ = nullptr;
  bool good_ = true;
};

struct Shapes {
  int64_t image[4], filter[4];
  Shapes(int64_t n, int64_t c, int64_t side, int64_t kernel)
      : image{n, c, side, side}, filter{c, c, kernel, kernel} {}
  static int64_t count(const int64_t* s) { return s[0] * s[1] * s[2] * s[3]; }
};

void describe(Part& t, int64_t name, const int64_t* sizes) {
  const int64_t strides[] = {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1},
                alignment = 16;
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes, 4)
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides, 4)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &name)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment)
      .finalize();
}

void describe(Part& conv, int64_t padding) {
  const int64_t nd = 2, same[] = {padding, padding}, ones[] = {1, 1};
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &nd)
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, same, nd)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, same, nd)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, ones, nd)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, ones, nd)
      .finalize();
}

// Engines with TF32 are excluded, as ours is measured without it.
bool uses_tf32(Part& config) {
  Part engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t e = engine.raw();
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t n = 0;
  if (config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &e) == 0 ||
      cudnnBackendGetAttribute(e, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n,
                               notes) != CUDNN_STATUS_SUCCESS) {
    return true;
  }
  return std::any_of(notes, notes + n, [](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
           note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
  });
}

// Milliseconds by one engine; negative: not supported.
double engine_ms(cudnnHandle_t handle, Part& config, void* const (&pointers)[3]) {
  Part plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  if (!plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config).finalize()) return -1;
  int64_t bytes = 0;
  plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &bytes);
  const Memory work(bytes);
  const int64_t names[] = {kX, kW, kY};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, names, 3)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers, 3);
  if (!work.p ||
      !pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &work.p).finalize())
    return -1;
  bool good = true;
  const double ms = device_ms(3, [&] {
    good = good && cudnnBackendExecute(handle, plan.raw(), pack.raw()) == CUDNN_STATUS_SUCCESS;
  });
  return good ? ms : -1;
}

double operation_ms(cudnnHandle_t handle, const cuda::OperationNames& names, const Shapes& s,
                    void* const (&pointers)[3]) {
  Part x(CUDNN_BACKEND_TENSOR_DESCRIPTOR), w(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
      y(CUDNN_BACKEND_TENSOR_DESCRIPTOR), conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
      operation(names.type), graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  describe(x, kX, s.image);
  describe(w, kW, s.filter);
  describe(y, kY, s.image);
  describe(conv, s.filter[2] / 2);
  const float one = 1, zero = 0;
  operation.set(names.conv, conv).set(names.x, x).set(names.w, w).set(names.y, y);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, &one).set(names.beta, CUDNN_TYPE_FLOAT, &zero);
  if (!operation.finalize()) return -1;
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  if (!graph.finalize()) return -1;
  double best = -1;
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    Part heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    if (!heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode).finalize())
      continue;
    std::vector<std::unique_ptr<Part>> configs;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < kMaxEngines; ++i) {
      configs.push_back(std::make_unique<Part>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw.push_back(configs.back()->raw());
    }
    const int64_t n = std::min(
        kMaxEngines, heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   raw.data(), kMaxEngines));
    for (int64_t i = 0; i < n; ++i) {
      Part& config = *configs[static_cast<size_t>(i)];
      const double ms = uses_tf32(config) ? -1 : engine_ms(handle, config, pointers);
      if (ms >= 0 && (best < 0 || ms < best)) best = ms;
    }
  }
  return best;
}

double conv_ms(const Shapes& s) {
  const Memory x(4 * Shapes::count(s.image)), w(4 * Shapes::count(s.filter)),
      y(4 * Shapes::count(s.image));
  cudnnHandle_t handle = nullptr;
  if (!x.p || !w.p || !y.p || cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS) return -1;
  fill(x, Shapes::count(s.image), 4, false);
  fill(w, Shapes::count(s.filter), 4, false);
  void* const pointers[] = {x.p, w.p, y.p};
  double total = 0;
  for (const cuda::OperationNames& names : cuda::kOperations) {
    const double ms = operation_ms(handle, names, s, pointers);
    total = ms < 0 || total < 0 ? -1 : total + ms;
  }
  cudnnDestroy(handle);
  return total;
}

}  // namespace
}  // namespace tenon::lower_bounds

double tenon_bound_conv_ms(int64_t images, int64_t channels, int64_t side, int64_t kernel) {
  return tenon::lower_bounds::conv_ms({images, channels, side, kernel});
}
#else
double tenon_bound_conv_ms(int64_t, int64_t, int64_t, int64_t) { return -1; }
#endif
