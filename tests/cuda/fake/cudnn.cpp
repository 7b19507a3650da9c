// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A cuDNN that accepts every descriptor, checks it for missing attributes, and counts leaks. Unless
// a test offers engines, it proposes two and supports no plan. Offered engines compute in plain
// loops.
#include <cudnn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "convolution.h"
#include "cudnn_parts.h"

namespace {

using namespace tenon::fake;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, int64_t> counts;  // elements of each attribute that was set
  std::map<int, std::vector<char>> bytes;
  std::map<int, std::vector<std::shared_ptr<Descriptor>>> parts;
  bool final = false;
  int engine = -1;
};
using Kept = std::shared_ptr<Descriptor>;

// Descriptors share ownership of their parts, which callers may destroy earlier.
Kept& kept(cudnnBackendDescriptor_t d) { return *reinterpret_cast<Kept*>(d); }
Descriptor& as(cudnnBackendDescriptor_t d) { return *kept(d); }

// TENON_FAKE_CUDNN_ENGINES: how many engines of zero duration it offers, for programs that cannot
// call control.h.
struct Engines {
  std::mutex lock;
  std::vector<tenon_fake_engine> offered;
  std::vector<int64_t> runs;
};
Engines& engines() {
  static auto& e = *[] {
    auto* made = new Engines;
    const char* n = std::getenv("TENON_FAKE_CUDNN_ENGINES");
    made->offered.resize(n ? static_cast<std::size_t>(std::atoi(n)) : 0, {-1, 0, 0, false});
    made->runs.resize(made->offered.size(), 0);
    return made;
  }();
  return e;
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;  // float and enumerations
  }
}

// Attribute `name` as integers, padded to the array's size.
template <class T>
void get(const Descriptor& d, int name, T* out, std::size_t most) {
  const std::vector<char>& b = d.bytes.at(name);
  std::memcpy(out, b.data(), std::min(b.size(), most * sizeof(T)));
}
const Descriptor& part(const Descriptor& d, int name) { return *d.parts.at(name).at(0); }

bool has(const Descriptor& d, std::initializer_list<int> names) {
  for (int name : names) {
    if (d.counts.find(name) == d.counts.end()) return false;
  }
  return true;
}

bool whole(const Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return has(d, {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS,
                     CUDNN_ATTR_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_UNIQUE_ID,
                     CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT}) &&
             d.counts.at(CUDNN_ATTR_TENSOR_DIMENSIONS) == d.counts.at(CUDNN_ATTR_TENSOR_STRIDES);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return has(d, {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                     CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                     CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_DILATIONS,
                     CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES});
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return d.counts.size() == 6;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return d.counts.size() == 2;
    default:
      return true;
  }
}

struct Names {
  cudnnBackendDescriptorType_t type;
  ConvOp op;
  int conv, x, w, y, alpha, beta;
};
constexpr Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, ConvOp::Forward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, ConvOp::BackwardData,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, ConvOp::BackwardFilter,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

bool is_number(const Descriptor& op, int name, cudnnDataType_t type, double wanted) {
  if (type != CUDNN_DATA_DOUBLE) {
    float v = -1;
    get(op, name, &v, 1);
    return double{v} == wanted;
  }
  double v = -1;
  get(op, name, &v, 1);
  return v == wanted;
}

// The convolution that a plan is for, and the names of its tensors; false if this fake does not
// support it.
bool convolution_of(const Descriptor& plan, Convolution& c, int64_t (&names)[3]) {
  const Descriptor& graph = part(part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG),
                                 CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const Descriptor& op = part(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  for (const Names& n : kNames) {
    if (op.type != n.type) continue;
    const Descriptor& conv = part(op, n.conv);
    c = {};
    c.op = n.op;
    get(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &c.nd, 1);
    get(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c.padding, 3);
    get(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.stride, 3);
    get(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, c.dilation, 3);
    int64_t* sizes[] = {c.x, c.w, c.y};
    const int parts[] = {n.x, n.w, n.y};
    for (int k = 0; k < 3; ++k) {
      const Descriptor& t = part(op, parts[k]);
      int64_t strides[5], step = 1;
      get(t, CUDNN_ATTR_TENSOR_DIMENSIONS, sizes[k], 5);
      get(t, CUDNN_ATTR_TENSOR_STRIDES, strides, 5);
      get(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, &names[k], 1);
      get(t, CUDNN_ATTR_TENSOR_DATA_TYPE, &c.type, 1);
      for (int64_t d = c.nd + 1; d >= 0; --d) {
        if (strides[d] != step) return false;
        step *= sizes[k][d];
      }
    }
    return fits(c) && is_number(op, n.alpha, c.type, 1) && is_number(op, n.beta, c.type, 0);
  }
  return false;
}

// Both are whole tensors of one rank, the bias with one element for every channel.
bool bias_of(const PlainTensor& image, const PlainTensor& one, const void* alpha, const void* beta,
             Bias& out) {
  const std::size_t n = image.dims.size();
  if (n < 4 || one.dims.size() != n || one.type != image.type || one.dims[1] != image.dims[1])
    return false;
  out = {image.type, image.dims[0], image.dims[1], 1, 0, 0};
  for (std::size_t d = 0; d < n; ++d) {
    if (d != 1 && one.dims[d] != 1) return false;
    if (d > 1) out.plane *= image.dims[d];
  }
  const bool wide = image.type == CUDNN_DATA_DOUBLE;
  out.alpha = wide ? *static_cast<const double*>(alpha) : double{*static_cast<const float*>(alpha)};
  out.beta = wide ? *static_cast<const double*>(beta) : double{*static_cast<const float*>(beta)};
  return true;
}

}  // namespace

extern "C" {

void tenon_fake_engines(const tenon_fake_engine* e, int n) {
  std::lock_guard<std::mutex> hold(engines().lock);
  engines().offered.assign(e, e + n);
  engines().runs.assign(static_cast<std::size_t>(n), 0);
}
int64_t tenon_fake_engine_runs(int engine) {
  std::lock_guard<std::mutex> hold(engines().lock);
  return engines().runs.at(static_cast<std::size_t>(engine));
}

size_t cudnnGetVersion(void) {
  const char* other = std::getenv("TENON_FAKE_CUDNN_VERSION");
  return other ? static_cast<size_t>(std::atoi(other)) : CUDNN_VERSION;
}
const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_OF_THE_FAKE"; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  BEGIN();
  *handle = new cudnnContext{nullptr};
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  BEGIN();
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* out) {
  BEGIN();
  *out = reinterpret_cast<cudnnBackendDescriptor_t>(new Kept(new Descriptor{type}));
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  delete &kept(d);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void* values) {
  BEGIN();
  if (as(d).final) return CUDNN_STATUS_BAD_PARAM;
  as(d).counts[name] = n;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* parts = static_cast<const cudnnBackendDescriptor_t*>(values);
    for (int64_t i = 0; i < n; ++i) {
      if (!as(parts[i]).final) return CUDNN_STATUS_BAD_PARAM;
      as(d).parts[name].push_back(kept(parts[i]));
    }
    return CUDNN_STATUS_SUCCESS;
  }
  const auto* from = static_cast<const char*>(values);
  as(d).bytes[name].assign(from, from + static_cast<std::size_t>(n) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  BEGIN();
  if (!whole(as(d))) return CUDNN_STATUS_BAD_PARAM;
  if (as(d).type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    Convolution c;
    int64_t names[3];
    std::lock_guard<std::mutex> hold(engines().lock);
    const auto engine =
        static_cast<std::size_t>(part(as(d), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine);
    if (engine >= engines().offered.size() || engines().offered[engine].refuses)
      return CUDNN_STATUS_NOT_SUPPORTED;
    if (!convolution_of(as(d), c, names)) return CUDNN_STATUS_NOT_SUPPORTED;
    as(d).engine = static_cast<int>(engine);
  }
  as(d).final = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const d,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t most, int64_t* n,
                                       void* values) {
  BEGIN();
  std::lock_guard<std::mutex> hold(engines().lock);
  const std::vector<tenon_fake_engine>& offered = engines().offered;
  *n = 0;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    *n = offered.empty() ? 2 : static_cast<int64_t>(offered.size());
    for (int64_t i = 0; i < *n && i < most; ++i) {
      Descriptor& config = as(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
      config.engine = static_cast<int>(i);
      config.parts[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
          as(d).parts.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      config.final = true;
    }
  } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    as(*static_cast<cudnnBackendDescriptor_t*>(values)).engine = as(d).engine;
    *n = 1;
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && !offered.empty()) {
    const int note = offered[static_cast<std::size_t>(as(d).engine)].note;
    *n = note >= 0;
    if (note >= 0)
      *static_cast<cudnnBackendNumericalNote_t*>(values) =
          static_cast<cudnnBackendNumericalNote_t>(note);
  } else if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE && !offered.empty()) {
    *n = offered[static_cast<std::size_t>(as(d).engine)].compiles;
    if (*n)
      *static_cast<cudnnBackendBehaviorNote_t*>(values) = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *static_cast<int64_t*>(values) = offered[static_cast<std::size_t>(as(d).engine)].workspace;
    *n = 1;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  BEGIN();
  Convolution c;
  int64_t wanted[3], names[3];
  void *places[3], *workspace = nullptr, *at[3] = {};
  if (!as(plan).final || !as(pack).final || !convolution_of(as(plan), c, wanted))
    return CUDNN_STATUS_BAD_PARAM;
  get(as(pack), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names, 3);
  get(as(pack), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, places, 3);
  get(as(pack), CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &workspace, 1);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      if (names[k] == wanted[i]) at[i] = places[k];
    }
    if (at[i] == nullptr || reinterpret_cast<uintptr_t>(at[i]) % 16 != 0)
      return CUDNN_STATUS_BAD_PARAM;
  }
  int ms;
  {
    std::lock_guard<std::mutex> hold(engines().lock);
    const auto engine = static_cast<std::size_t>(as(plan).engine);
    const tenon_fake_engine& e = engines().offered.at(engine);
    if (e.workspace > 0 && tenon_fake_device_of(workspace) < 0) return CUDNN_STATUS_BAD_PARAM;
    ++engines().runs[engine];
    ms = e.ms;
  }
  return enqueue(handle, [=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    convolve(c, at[0], at[1], at[2]);
  });
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* out) {
  BEGIN();
  *out = reinterpret_cast<cudnnTensorDescriptor_t>(new PlainTensor{});
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) {
  delete &as(d);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n,
                                         const int* dims, const int* strides) {
  BEGIN();
  int step = 1;
  for (int i = n - 1; i >= 0; --i) {
    if (strides[i] != step) return CUDNN_STATUS_NOT_SUPPORTED;
    step *= dims[i];
  }
  as(d) = {type, {dims, dims + n}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha,
                             const cudnnTensorDescriptor_t a, const void* bias, const void* beta,
                             const cudnnTensorDescriptor_t c, void* image) {
  BEGIN();
  Bias b;
  if (!bias_of(as(c), as(a), alpha, beta, b)) return CUDNN_STATUS_BAD_PARAM;
  return enqueue(handle, [=] { add_bias(b, bias, image); });
}
}
