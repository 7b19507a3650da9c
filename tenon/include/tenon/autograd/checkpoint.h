// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Memory for time: a checkpointed function keeps its inputs alone, and runs once more when a
// backward pass comes to it. The second run draws the same random numbers and has the same autocast
// settings as the first.
//
//   auto h = utils::checkpoint([&](const Tensor& x) { return block->forward(x); }, x);
//
// Only for backward() into all leaves: grad(), backward() with inputs, and create_graph are errors
// when the pass comes to the function. One of the inputs must require grad, else nothing that the
// function reaches (weights of its modules) gets a gradient; without one there is a warning.
#pragma once

#include <functional>

#include "tenon/autograd.h"

namespace tenon::utils {

using CheckpointFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// preserve_rng_state: of the default generators of the CPU and of the devices of the inputs.
TENON_API std::vector<Tensor> checkpoint(const CheckpointFunction& function,
                                         const std::vector<Tensor>& inputs,
                                         bool preserve_rng_state = true);
TENON_API Tensor checkpoint(const std::function<Tensor(const Tensor&)>& function,
                            const Tensor& input, bool preserve_rng_state = true);

// The functions one after the other, in `segments` checkpointed parts of the same number of
// functions; what is left over, and the last part, is kept as usual. ValueError unless
// 1 <= segments <= functions.size().
TENON_API Tensor
checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions,
                      int64_t segments, const Tensor& input, bool preserve_rng_state = true);

// Of an nn::Sequential, or another holder of modules that are called with a tensor.
template <class Modules>
auto checkpoint_sequential(const Modules& modules, int64_t segments, const Tensor& input,
                           bool preserve_rng_state = true) -> decltype(modules->begin(), Tensor()) {
  std::vector<std::function<Tensor(const Tensor&)>> functions;
  for (const auto& module : *modules) {
    functions.emplace_back(
        [held = module](const Tensor& x) mutable { return held.template forward<Tensor>(x); });
  }
  return checkpoint_sequential(functions, segments, input, preserve_rng_state);
}

}  // namespace tenon::utils
