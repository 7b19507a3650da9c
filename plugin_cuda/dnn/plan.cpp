// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/dnn/plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <vector>

#include "plugin_cuda/dnn/operation.h"
#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

using sdk::Error;

constexpr int64_t kX = 'x', kW = 'w', kY = 'y';  // names of the tensors in a graph
constexpr int64_t kMaxWorkspace = int64_t{1} << 30;
constexpr std::size_t kMaxTimed = 8;  // plans that are timed with TENON_CONV_BENCHMARK
constexpr int kRuns = 3;              // of each, after one that is not timed

struct Handle {
  std::mutex lock;
  cudnnHandle_t handle = nullptr;
};

struct Dnn {
  std::mutex lock;
  std::map<std::pair<int, cudaStream_t>, std::unique_ptr<Handle>> handles;
  std::map<std::array<int64_t, 32>, ConvPlan> plans;
};
Dnn& dnn() {
  static auto& d = *new Dnn;
  return d;
}

// TENON_CONV_BENCHMARK at the first convolution; -1: not read yet.
std::atomic<int> g_benchmarks{-1};
bool benchmarks() {
  int on = g_benchmarks.load(std::memory_order_relaxed);
  if (on < 0) {
    const auto text = sdk::setting("CONV_BENCHMARK");
    g_benchmarks.store(on = text && !text->empty() && *text != "0", std::memory_order_relaxed);
  }
  return on != 0;
}

// A backend descriptor of cuDNN; errors before finalize() throw.
class Descriptor {
 public:
  Descriptor(cudnnBackendDescriptorType_t type, int index) : index_(index) {
    check_dnn(cudnnBackendCreateDescriptor(type, &d_), "cudnnBackendCreateDescriptor", index);
  }
  ~Descriptor() {
    if (d_) cudnnBackendDestroyDescriptor(d_);
  }
  Descriptor(const Descriptor&) = delete;
  cudnnBackendDescriptor_t get() const { return d_; }
  cudnnBackendDescriptor_t release() { return std::exchange(d_, nullptr); }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values,
           int64_t n = 1) {
    check_dnn(cudnnBackendSetAttribute(d_, name, type, n, values), "cudnnBackendSetAttribute",
              index_);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    const cudnnBackendDescriptor_t d = other.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &d);
  }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(d_); }
  void finalize_or_throw() { check_dnn(finalize(), "cudnnBackendFinalize", index_); }

 private:
  int index_;
  cudnnBackendDescriptor_t d_ = nullptr;
};

void describe_tensor(Descriptor& t, int64_t name, const int64_t* sizes, int64_t ndim,
                     cudnnDataType_t type) {
  int64_t strides[5], step = 1;
  for (int64_t d = ndim - 1; d >= 0; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  const int64_t alignment = 16;  // that core's allocator guarantees for blocks and offsets
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes, ndim);
  t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides, ndim);
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &name);
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment);
  t.finalize_or_throw();
}

void describe_convolution(Descriptor& c, const ConvGeometry& g, cudnnDataType_t compute) {
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  c.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &g.nd);
  c.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &compute);
  c.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode);
  c.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, g.padding, g.nd);
  c.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, g.padding, g.nd);
  c.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, g.dilation, g.nd);
  c.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, g.stride, g.nd);
  c.finalize_or_throw();
}

constexpr int64_t kMaxNotes = 32;

// What cuDNN notes of an engine; false if it does not say.
template <class Note>
bool notes_of(cudnnBackendDescriptor_t engine, cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, std::vector<Note>& out) {
  out.resize(kMaxNotes);
  int64_t n = 0;
  if (cudnnBackendGetAttribute(engine, name, type, kMaxNotes, &n, out.data()) !=
      CUDNN_STATUS_SUCCESS)
    return false;
  out.resize(static_cast<std::size_t>(n));
  return true;
}

enum class Engine { Refused, Ready, Compiled };

// Refused are engines that use TF32 without permission, or are nondeterministic in deterministic
// mode. Those that are compiled at run time take 145 ms for a plan (H200, cuDNN 9.19), and were no
// faster than the others.
Engine judge(const Descriptor& config, const ConvGeometry& g, int index) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, index);
  cudnnBackendDescriptor_t e = engine.get();
  int64_t n = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &e) != CUDNN_STATUS_SUCCESS) {
    return Engine::Refused;
  }
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  if (!notes_of(e, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes) ||
      !notes_of(e, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, behavior))
    return Engine::Refused;
  const bool full = sdk::dtype_key(g.dtype) == sdk::dtype_key(sdk::kFloat32) && !allow_tf32();
  for (cudnnBackendNumericalNote_t note : notes) {
    if (full && (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                 note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
      return Engine::Refused;
    if (note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return Engine::Refused;
    if (g.deterministic && note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return Engine::Refused;
  }
  const auto compiled =
      std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  return compiled == behavior.end() ? Engine::Ready : Engine::Compiled;
}

struct Candidate {
  std::unique_ptr<Descriptor> plan;
  int64_t workspace = 0;
};

using Configs = std::vector<std::unique_ptr<Descriptor>>;

// What a heuristic proposes, best first. Without TF32 the first 25 and more may be refused.
Configs proposals(const Descriptor& graph, cudnnBackendHeurMode_t mode, int index) {
  constexpr int64_t kMaxConfigs = 64;
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, index);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
  if (heuristic.finalize() != CUDNN_STATUS_SUCCESS) return {};
  Configs configs;
  cudnnBackendDescriptor_t raw[kMaxConfigs];
  for (cudnnBackendDescriptor_t& r : raw) {
    configs.push_back(std::make_unique<Descriptor>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, index));
    r = configs.back()->get();
  }
  int64_t n = 0;
  if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, kMaxConfigs, &n,
                               raw) != CUDNN_STATUS_SUCCESS) {
    return {};
  }
  configs.resize(static_cast<std::size_t>(std::min(n, kMaxConfigs)));
  return configs;
}

// Without a plan if the engine does not support the convolution, or wants too much workspace.
Candidate plan_by(const Descriptor& config, cudnnHandle_t handle, int index) {
  Candidate out{std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, index)};
  out.plan->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  out.plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (out.plan->finalize() != CUDNN_STATUS_SUCCESS) return {};
  int64_t one = 0;
  check_dnn(cudnnBackendGetAttribute(out.plan->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, &one, &out.workspace),
            "cudnnBackendGetAttribute", index);
  if (out.workspace > kMaxWorkspace) return {};
  return out;
}

// The first of a heuristic's proposals that become plans, at most `max`; engines that are compiled
// at run time where there are no others.
std::vector<Candidate> candidates(const Descriptor& graph, const ConvGeometry& g,
                                  cudnnBackendHeurMode_t mode, cudnnHandle_t handle, int index,
                                  std::size_t max) {
  const Configs configs = proposals(graph, mode, index);
  std::vector<Engine> engines;
  for (const auto& config : configs) engines.push_back(judge(*config, g, index));
  std::vector<Candidate> found;
  for (Engine kind : {Engine::Ready, Engine::Compiled}) {
    for (std::size_t i = 0; i < configs.size() && found.size() < max; ++i) {
      if (engines[i] != kind) continue;
      Candidate made = plan_by(*configs[i], handle, index);
      if (made.plan) found.push_back(std::move(made));
    }
    if (!found.empty()) break;
  }
  return found;
}

cudnnStatus_t try_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, int index,
                          const ConvPointers& at, void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, index);
  const int64_t names[] = {kX, kW, kY};
  void* const pointers[] = {at.x, at.w, at.y};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, names, 3);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers, 3);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace);
  pack.finalize_or_throw();
  return cudnnBackendExecute(handle, plan, pack.get());
}

// Two events, and workspace for a measurement.
class Stopwatch {
 public:
  explicit Stopwatch(int index) : index_(index) {
    try {
      for (cudaEvent_t& e : events_) {
        check(cudaEventCreateWithFlags(&e, cudaEventDefault), "cudaEventCreateWithFlags", index);
      }
    } catch (...) {
      release();
      throw;
    }
  }
  ~Stopwatch() { release(); }
  Stopwatch(const Stopwatch&) = delete;
  // False if the device is out of memory.
  bool reserve(int64_t bytes) {
    const cudaError_t status =
        bytes > 0 ? cudaMalloc(&memory_, static_cast<std::size_t>(bytes)) : cudaSuccess;
    if (status == cudaErrorMemoryAllocation) (void)cudaGetLastError();
    if (status != cudaErrorMemoryAllocation) check(status, "cudaMalloc", index_);
    return status == cudaSuccess;
  }
  void* memory() const { return memory_; }
  void mark(int which, cudaStream_t stream) {
    check(cudaEventRecord(events_[which], stream), "cudaEventRecord", index_);
  }
  float milliseconds() {
    float ms = 0;
    check(cudaEventSynchronize(events_[1]), "cudaEventSynchronize", index_);
    check(cudaEventElapsedTime(&ms, events_[0], events_[1]), "cudaEventElapsedTime", index_);
    return ms;
  }

 private:
  void release() noexcept {
    for (cudaEvent_t e : events_) {
      if (e) cudaEventDestroy(e);
    }
    if (memory_) cudaFree(memory_);
  }
  int index_;
  cudaEvent_t events_[2] = {};
  void* memory_ = nullptr;
};

// Skips plans that fail; the result may have none.
Candidate fastest(std::vector<Candidate> found, cudnnHandle_t handle, int index,
                  cudaStream_t stream, const ConvPointers& at) {
  int64_t max = 0;
  for (const Candidate& c : found) max = std::max(max, c.workspace);
  Stopwatch watch(index);
  if (!watch.reserve(max)) return std::move(found.front());
  Candidate best;
  float best_ms = 0;
  for (Candidate& c : found) {
    const auto run = [&] { return try_execute(handle, c.plan->get(), index, at, watch.memory()); };
    if (run() != CUDNN_STATUS_SUCCESS) continue;
    watch.mark(0, stream);
    bool good = true;
    for (int i = 0; i < kRuns && good; ++i) good = run() == CUDNN_STATUS_SUCCESS;
    watch.mark(1, stream);
    const float ms = watch.milliseconds();
    if (!good || (best.plan && ms >= best_ms)) continue;
    best = std::move(c);
    best_ms = ms;
  }
  return best;
}

ConvPlan query_plan(const ConvGeometry& g, ConvOp op, int index, cudnnHandle_t handle,
                    cudaStream_t stream, const ConvPointers* timed) {
  const OperationNames& names = kOperations[static_cast<int>(op)];
  const cudnnDataType_t type = dnn_type(g.dtype);
  const cudnnDataType_t compute = type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  Descriptor x(CUDNN_BACKEND_TENSOR_DESCRIPTOR, index), w(CUDNN_BACKEND_TENSOR_DESCRIPTOR, index),
      y(CUDNN_BACKEND_TENSOR_DESCRIPTOR, index), conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, index),
      operation(names.type, index), graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, index);
  describe_tensor(x, kX, g.x, g.nd + 2, type);
  describe_tensor(w, kW, g.w, g.nd + 2, type);
  describe_tensor(y, kY, g.y, g.nd + 2, type);
  describe_convolution(conv, g, compute);
  operation.set(names.conv, conv);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  const double one[] = {1, 0};
  const float one_float[] = {1, 0};
  const bool wide = compute == CUDNN_DATA_DOUBLE;
  const auto scalar_type = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  operation.set(names.alpha, scalar_type, wide ? static_cast<const void*>(&one[0]) : &one_float[0]);
  operation.set(names.beta, scalar_type, wide ? static_cast<const void*>(&one[1]) : &one_float[1]);
  if (operation.finalize() != CUDNN_STATUS_SUCCESS) return {};
  const cudnnBackendDescriptor_t operations = operation.get();
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operations);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle);
  if (graph.finalize() != CUDNN_STATUS_SUCCESS) return {};
  const std::size_t max = timed ? kMaxTimed : 1;
  std::vector<Candidate> found = candidates(graph, g, CUDNN_HEUR_MODE_A, handle, index, max);
  if (found.empty()) found = candidates(graph, g, CUDNN_HEUR_MODE_FALLBACK, handle, index, max);
  if (found.empty()) return {};
  Candidate best = found.size() > 1 ? fastest(std::move(found), handle, index, stream, *timed)
                                    : std::move(found[0]);
  if (!best.plan) return {};
  return {best.plan->release(), best.workspace};
}

std::array<int64_t, 32> key_of(const ConvGeometry& g, ConvOp op, int index, bool timed) {
  std::array<int64_t, 32> key{};
  int64_t* at = key.data();
  for (int64_t v :
       {static_cast<int64_t>(op), int64_t{index}, static_cast<int64_t>(sdk::dtype_key(g.dtype)),
        g.nd, int64_t{g.deterministic}, int64_t{timed}}) {
    *at++ = v;
  }
  for (const int64_t* sizes : {g.x, g.w, g.y}) at = std::copy(sizes, sizes + 5, at);
  for (const int64_t* v : {g.stride, g.padding, g.dilation}) at = std::copy(v, v + 3, at);
  return key;
}

bool is_capturing(cudaStream_t stream, int index) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing", index);
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

void check_dnn(cudnnStatus_t status, const char* call, int index) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  check(cudaPeekAtLastError(), call, index);  // a device error is more specific
  throw Error(TN_ERROR_BACKEND, call, " failed: ", cudnnGetErrorString(status));
}

cudnnDataType_t dnn_type(sdk::DType d) {
  switch (sdk::dtype_key(d)) {
    case sdk::dtype_key(sdk::kFloat64):
      return CUDNN_DATA_DOUBLE;
    case sdk::dtype_key(sdk::kFloat16):
      return CUDNN_DATA_HALF;
    case sdk::dtype_key(sdk::kBFloat16):
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

DnnHandle::DnnHandle(int index, cudaStream_t stream) {
  Dnn& d = dnn();
  Handle* h;
  {
    std::lock_guard<std::mutex> hold(d.lock);
    std::unique_ptr<Handle>& handle = d.handles[{index, stream}];
    if (!handle) handle = std::make_unique<Handle>();
    h = handle.get();
  }
  hold_ = std::unique_lock<std::mutex>(h->lock);
  if (!h->handle) {
    UncapturedGuard uncaptured;
    cudnnHandle_t made = nullptr;
    check_dnn(cudnnCreate(&made), "cudnnCreate", index);
    const cudnnStatus_t status = cudnnSetStream(made, stream);
    if (status != CUDNN_STATUS_SUCCESS) cudnnDestroy(made);
    check_dnn(status, "cudnnSetStream", index);
    h->handle = made;
  }
  handle_ = h->handle;
}

ConvPlan plan_of(const ConvGeometry& g, ConvOp op, int index, cudaStream_t stream,
                 const ConvPointers& at) {
  Dnn& d = dnn();
  bool timed = benchmarks() && !g.deterministic;
  auto key = key_of(g, op, index, timed);
  const auto known = [&](ConvPlan& plan) {
    std::lock_guard<std::mutex> hold(d.lock);
    const auto it = d.plans.find(key);
    if (it == d.plans.end()) return false;
    plan = it->second;
    return true;
  };
  ConvPlan plan;
  if (known(plan)) return plan;
  if (timed &&
      is_capturing(stream, index)) {  // the heuristic's plan, until a call outside of a capture
    timed = false;
    key = key_of(g, op, index, false);
    if (known(plan)) return plan;
  }
  const DnnHandle handle(index, stream);
  UncapturedGuard uncaptured;
  const ConvPlan made = query_plan(g, op, index, handle.get(), stream, timed ? &at : nullptr);
  std::lock_guard<std::mutex> hold(d.lock);
  const auto [it, first] = d.plans.emplace(key, made);
  if (!first && made.plan) cudnnBackendDestroyDescriptor(made.plan);
  return it->second;
}

void execute(const ConvPlan& plan, int index, cudaStream_t stream, const ConvPointers& at,
             void* workspace) {
  const DnnHandle handle(index, stream);
  check_dnn(try_execute(handle.get(), plan.plan, index, at, workspace), "cudnnBackendExecute",
            index);
  launched(cudaSuccess, index, stream, "convolution of cuDNN");
}

std::string dnn_fault() {
  const std::size_t major = cudnnGetVersion() / 10000;
  if (major == CUDNN_MAJOR) return {};
  return sdk::join("libcudnn: built against version ", CUDNN_MAJOR, " but found ", major,
                   "; install that one or rebuild the plugin");
}

std::string dnn_description() {
  const std::size_t version = cudnnGetVersion();
  return sdk::join("; cuDNN ", version / 10000, ".", version / 100 % 100);
}

void stop_dnn() {
  Dnn& d = dnn();
  g_benchmarks.store(-1);
  if (!forked()) {
    for (auto& [_, plan] : d.plans) {
      if (plan.plan) cudnnBackendDestroyDescriptor(plan.plan);
    }
    for (auto& [_, h] : d.handles) {
      if (h->handle) cudnnDestroy(h->handle);
    }
  }
  d.plans.clear();
  d.handles.clear();
}

}  // namespace tenon::cuda
