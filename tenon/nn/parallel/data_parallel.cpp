// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/parallel/data_parallel.h"

#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/base/leaf_mutex.h"
#include "tenon/call/generated.h"
#include "tenon/nn/extras.h"
#include "tenon/ops.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/log.h"
#include "tenon/stream.h"

namespace tenon {
namespace nn {
namespace parallel {
namespace detail {
namespace {

// The sum of the gradients of a tensor's copies, on the tensor's device.
struct ReduceAddBackward final : autograd::NodeWith<1> {
  ReduceAddBackward(const Tensor& original, std::size_t copies) : device(original.device()) {
    edges[0] = autograd::gradient_edge(original);
    n_grads = static_cast<uint32_t>(copies);
  }
  std::string name() const override { return "ReduceAddBackward"; }
  void run(Tensor* grads, Tensor* out) override {
    for (uint32_t i = 0; i < n_grads; ++i) {
      if (!grads[i].defined()) continue;
      const Tensor here = grads[i].to(device);
      out[0] = out[0].defined() ? out[0] + here : here;
    }
  }
  Device device;
};

using Dict = OrderedDict<std::string, Tensor>;

void connect(const Dict& originals, const std::vector<Dict*>& copies) {
  for (const auto& item : originals) {
    const Tensor& original = item.value();
    if (!original.defined() || !original.requires_grad()) continue;
    auto node = core::Ref<ReduceAddBackward>::adopt(new ReduceAddBackward(original, copies.size()));
    for (std::size_t i = 0; i < copies.size(); ++i)
      autograd::set_history((*copies[i])[item.key()], *node, static_cast<uint32_t>(i));
  }
}

core::LeafMutex g_mutex;
auto& g_seen = *new std::set<std::string>;  // lists of devices that were looked at

constexpr double kBalanced = 0.75;  // of the largest, as in torch

using Quantity = uint64_t (*)(const tn_device_props&);

std::string imbalance_of(Quantity quantity, const std::vector<Device>& devices,
                         const std::vector<tn_device_props>& props) {
  std::optional<std::size_t> least, most;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const uint64_t q = quantity(props[i]);
    if (q == 0 || devices[i].type() != devices.front().type()) continue;
    if (!least || q < quantity(props[*least])) least = i;
    if (!most || q > quantity(props[*most])) most = i;
  }
  if (!least || static_cast<double>(quantity(props[*least])) >=
                    kBalanced * static_cast<double>(quantity(props[*most])))
    return "";
  return core::join(
      "data_parallel: there is an imbalance between your devices. You may want to exclude ",
      devices[*least].str(), ", which has less than 75% of the memory or cores of ",
      devices[*most].str());
}

// Zeros where the device cannot tell.
tn_device_props properties(Device device) {
  tn_device_props props{};
  props.struct_size = sizeof props;
  const core::DeviceId id = core::device_id(device);
  const tn_device_api* api = core::device_entry(id).api;
  if (!api || api->props(api->context, id.index, &props) != TN_OK) return {};
  return props;
}

}  // namespace

std::string imbalance(const std::vector<Device>& devices,
                      const std::vector<tn_device_props>& props) {
  const std::string text =
      imbalance_of([](const tn_device_props& p) { return p.total_bytes; }, devices, props);
  if (!text.empty()) return text;
  return imbalance_of([](const tn_device_props& p) { return uint64_t{p.compute_units}; }, devices,
                      props);
}

// Asking a CUDA device costs a call of the driver, so each list of devices is looked at once.
void warn_if_unbalanced(const std::vector<Device>& devices) {
  std::string names;
  for (const Device& d : devices) names += d.str() + " ";
  {
    const std::lock_guard<core::LeafMutex> lock(g_mutex);
    if (!g_seen.insert(names).second) return;
  }
  std::vector<tn_device_props> props;
  props.reserve(devices.size());
  for (const Device& d : devices) props.push_back(properties(d));
  const std::string text = imbalance(devices, props);
  if (!text.empty()) warn("user", text);
}

void connect_replicas(Module& module, const std::vector<std::shared_ptr<Module>>& replicas) {
  using Access = nn::detail::ModuleAccess;
  std::vector<Dict*> parameters, buffers;
  for (const auto& r : replicas) {
    parameters.push_back(&Access::parameters(*r));
    buffers.push_back(&Access::buffers(*r));
  }
  connect(Access::parameters(module), parameters);
  connect(Access::buffers(module), buffers);
  for (const auto& child : Access::children(module)) {
    std::vector<std::shared_ptr<Module>> below;
    below.reserve(replicas.size());
    for (const auto& r : replicas) below.push_back(Access::children(*r)[child.key()]);
    connect_replicas(*child.value(), below);
  }
}

void run_on_devices(std::size_t n, const std::vector<Device>& devices,
                    FunctionRef<void(std::size_t)> body) {
  std::vector<Stream> streams;
  streams.reserve(devices.size());
  for (const Device& d : devices) streams.push_back(current_stream(d));
  const uint32_t mode = autograd::mode() & ~uint32_t{autograd::kOperatorObserved};
  std::mutex mutex;  // fork: of this call, whose threads a child does not have
  std::exception_ptr failed;
  auto run = [&](std::size_t i) {
    try {
      const StreamGuard current(streams[i]);
      const ModeGuard same(mode);
      body(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failed) failed = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < n; ++i) threads.emplace_back(run, i);
  if (n > 0) run(0);
  for (std::thread& t : threads) t.join();
  if (failed) std::rethrow_exception(failed);
}

std::vector<Device> all_cuda_devices() {
  const int count = core::device_count(kCUDA);
  TENON_CHECK(count > 0, ValueError, "Expected at least one CUDA device to be available");
  std::vector<Device> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out.emplace_back(kCUDA, static_cast<DeviceIndex>(i));
  return out;
}

}  // namespace detail
}  // namespace parallel
}  // namespace nn
}  // namespace tenon
