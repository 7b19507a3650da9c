// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One step of a network on several devices at once: the batch is cut into pieces, each goes through
// a replica of the network on its own device, and the results are joined. Gradients of the replicas
// add up in the parameters of the network itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/autograd/comm.h"
#include "tenon/nn/parallel/scatter_gather.h"
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
// Warns once for these devices if one has less than 75 % of another's memory or cores. Devices of
// another type than the first are not compared.
TENON_API void warn_if_unbalanced(const std::vector<Device>& devices);
// The warning; empty if the devices are balanced. Zero in `props`: not known.
TENON_API std::string imbalance(const std::vector<Device>& devices,
                                const std::vector<tn_device_props>& props);

// A holder's call runs the hooks of the module.
template <class M, class... A>
auto forward(M& module, const A&... inputs)
    -> std::enable_if_t<nn::detail::is_module_holder<M>, decltype(module(inputs...))> {
  return module(inputs...);
}
template <class M, class... A>
auto forward(M& module, const A&... inputs)
    -> std::enable_if_t<!nn::detail::is_module_holder<M>, decltype(module->forward(inputs...))> {
  module->update_computed();
  return module->forward(inputs...);
}
template <class Inputs, class M, class = void>
inline constexpr bool takes = false;
template <class M, class... A>
inline constexpr bool
    takes<std::tuple<A...>, M,
          std::void_t<decltype(detail::forward(std::declval<M&>(), std::declval<const A&>()...))>> =
        true;
// The elements of a tuple are separate arguments if the module takes them so.
template <class M, class Input>
auto call(M& module, const Input& input) {
  if constexpr (takes<Input, M>) {
    return std::apply([&](const auto&... inputs) { return detail::forward(module, inputs...); },
                      input);
  } else {
    static_assert(takes<std::tuple<Input>, M>, "the module's forward() does not take this input");
    return detail::forward(module, input);
  }
}
template <class M, class Input>
using ResultOf = decltype(detail::call(std::declval<M&>(), std::declval<const Input&>()));

template <class T>
void move_to(T& structure, Device device) {
  each_tensor(structure, [&](Tensor& t) { t = t.to(device); });
}
// Of the first tensor. ValueError: there is none.
template <class T>
Device device_of_input(T input) {
  std::optional<Device> found;
  each_tensor(input, [&](Tensor& t) {
    if (!found) found = t.device();
  });
  TENON_CHECK(found, ValueError, "parallel_apply: an input without tensors needs devices");
  return *found;
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

// modules[i] of inputs[i] for all i at once, each in a thread of its own. The tensors of the
// results are moved to devices[i], or to the device of the input's first tensor. The first
// exception is rethrown.
template <class M, class Input>
std::vector<detail::ResultOf<M, Input>> parallel_apply(
    std::vector<M>& modules, const std::vector<Input>& inputs,
    const std::optional<std::vector<Device>>& devices = std::nullopt) {
  TENON_CHECK(modules.size() == inputs.size(), ValueError,
              "Must have as many inputs as modules: got ", inputs.size(), " inputs and ",
              modules.size(), " modules");
  TENON_CHECK(!devices || devices->size() == modules.size(), ValueError,
              "Must have as many devices as modules: got ", devices->size(), " devices and ",
              modules.size(), " modules");
  std::vector<Device> places;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    places.push_back(devices ? (*devices)[i] : detail::device_of_input(inputs[i]));
  using Result = detail::ResultOf<M, Input>;
  std::vector<std::optional<Result>> results(modules.size());
  detail::run_on_devices(modules.size(), places, [&](std::size_t i) {
    results[i] = detail::call(modules[i], inputs[i]);
    detail::move_to(*results[i], places[i]);
  });
  std::vector<Result> outputs;
  outputs.reserve(results.size());
  for (auto& r : results) outputs.push_back(std::move(*r));
  return outputs;
}
// For inputs in braces.
template <class M>
auto parallel_apply(std::vector<M>& modules, const std::vector<Tensor>& inputs,
                    const std::optional<std::vector<Device>>& devices = std::nullopt) {
  return parallel_apply<M, Tensor>(modules, inputs, devices);
}

// module->forward(input), computed on all `devices` (by default all of CUDA) with a piece of the
// input each, cut along `dim`. The input and the result may be structures (scatter_gather.h): a
// std::tuple is the arguments of forward() if that takes its elements, else one argument; objects
// that hold no tensors go to each replica as they are. The result is on `output_device`, by default
// the first; results without dimensions are joined to a vector, with a warning. With one device the
// module itself is moved there and used; with several it stays where it is. Warns once where
// devices differ much in memory or cores. ValueError: no devices, and as scatter and gather.
template <class M, class Input>
auto data_parallel(M module, Input input, std::optional<std::vector<Device>> devices = std::nullopt,
                   std::optional<Device> output_device = std::nullopt, int64_t dim = 0) {
  if (!devices) devices = detail::all_cuda_devices();
  TENON_CHECK(!devices->empty(), ValueError, "data_parallel: expected at least one device");
  if (!output_device) output_device = devices->front();
  if (devices->size() == 1) {
    module->to(devices->front());
    std::vector<M> one{module};
    std::vector<Input> inputs(1, std::move(input));
    detail::move_to(inputs.front(), devices->front());
    auto result = std::move(parallel_apply(one, inputs, devices).front());
    detail::move_to(result, *output_device);
    return result;
  }
  detail::warn_if_unbalanced(*devices);
  const auto pieces = scatter(input, *devices, dim);
  devices->resize(pieces.size(), devices->front());  // a small batch needs fewer replicas
  auto replicas = replicate(module, *devices);
  return gather(parallel_apply(replicas, pieces, devices), *output_device, dim);
}

}  // namespace parallel
}  // namespace nn
}  // namespace tenon
