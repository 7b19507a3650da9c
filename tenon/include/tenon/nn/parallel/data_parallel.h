// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One step of a network on several devices at once: the batch is cut into pieces, each goes through
// a replica of the network on its own device, and the results are joined. Gradients of the replicas
// add up in the parameters of the network itself.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/autograd/comm.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {
namespace parallel {

namespace detail {
// Lets gradients of the replicas' parameters, and of buffers that require them, flow to the
// module's.
TENON_API void connect_replicas(Module& module,
                                const std::vector<std::shared_ptr<Module>>& replicas);
// Calls body(i) for all i below n on threads of their own, where devices[i] is current, and so are
// the modes and streams of this thread. The first exception is rethrown once all have ended.
TENON_API void run_on_devices(std::size_t n, const std::vector<Device>& devices,
                              FunctionRef<void(std::size_t)> body);
// All devices of the CUDA plugin. ValueError if there is none.
TENON_API std::vector<Device> all_cuda_devices();
// A holder's call runs the hooks of the module.
template <class M>
Tensor call(M& module, const Tensor& input) {
  if constexpr (nn::detail::is_module_holder<M>) {
    return module(input);
  } else {
    module->update_computed();
    return module->forward(input);
  }
}
}  // namespace detail

// One clone() of the module on each device; a device may be given several times. In backward() a
// replica's gradients go to the parameters of the module. Running statistics of replicas are their
// own. TypeError: a clone() that gives another class.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module,
                                          const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<M>> replicas;
  for (const Device& device : devices) {
    replicas.push_back(std::dynamic_pointer_cast<M>(module->clone(device)));
    TENON_CHECK(replicas.back() != nullptr, TypeError, "replicate: clone() of ", module->name(),
                " gives a module of another class");
  }
  detail::connect_replicas(*module, {replicas.begin(), replicas.end()});
  return replicas;
}
template <class M>
std::vector<ModuleHolder<M>> replicate(const ModuleHolder<M>& module,
                                       const std::vector<Device>& devices) {
  const auto replicas = replicate(module.ptr(), devices);
  return {replicas.begin(), replicas.end()};
}

// modules[i] of inputs[i] for all i at once, each in a thread of its own. The results are moved to
// devices[i], or to the device of their input. The first exception is rethrown.
template <class M>
std::vector<Tensor> parallel_apply(
    std::vector<M>& modules, const std::vector<Tensor>& inputs,
    const std::optional<std::vector<Device>>& devices = std::nullopt) {
  TENON_CHECK(modules.size() == inputs.size(), ValueError,
              "Must have as many inputs as modules: got ", inputs.size(), " inputs and ",
              modules.size(), " modules");
  TENON_CHECK(!devices || devices->size() == modules.size(), ValueError,
              "Must have as many devices as modules: got ", devices->size(), " devices and ",
              modules.size(), " modules");
  std::vector<Device> places;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    places.push_back(devices ? (*devices)[i] : inputs[i].device());
  std::vector<Tensor> outputs(modules.size());
  detail::run_on_devices(modules.size(), places, [&](std::size_t i) {
    outputs[i] = detail::call(modules[i], inputs[i]).to(places[i]);
  });
  return outputs;
}

// module->forward(input), computed on all `devices` (by default all of CUDA) with a piece of the
// input each, cut along `dim`. The result is on `output_device`, by default the first. With one
// device the module itself is moved there and used; with several it stays where it is. ValueError:
// no devices.
template <class M>
Tensor data_parallel(M module, Tensor input,
                     std::optional<std::vector<Device>> devices = std::nullopt,
                     std::optional<Device> output_device = std::nullopt, int64_t dim = 0) {
  if (!devices) devices = detail::all_cuda_devices();
  TENON_CHECK(!devices->empty(), ValueError, "data_parallel: expected at least one device");
  if (!output_device) output_device = devices->front();
  if (devices->size() == 1) {
    module->to(devices->front());
    std::vector<M> one{module};
    return parallel_apply(one, {input.to(devices->front())}, devices).front().to(*output_device);
  }
  auto pieces = autograd::Scatter(*devices, std::nullopt, dim).apply({std::move(input)});
  devices->resize(pieces.size(), devices->front());  // a small batch needs fewer replicas
  auto replicas = replicate(module, *devices);
  return autograd::Gather(*output_device, dim)
      .apply(parallel_apply(replicas, pieces, devices))
      .front();
}

}  // namespace parallel
}  // namespace nn
}  // namespace tenon
