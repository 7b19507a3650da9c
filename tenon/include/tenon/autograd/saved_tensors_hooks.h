// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Hooks on what calls save for their gradients: to keep it on another device or in a file, in fewer
// bytes, or to count it.
//
//   autograd::graph::saved_tensors_hooks hooks(
//       [](const Tensor& t) { return t.to(kBFloat16); },
//       [](const Tensor& packed) { return packed.to(kFloat); });
//   Tensor loss = model->forward(x).sum();  // backward may come later, without the guard
//
// `pack` gets each tensor that is saved while the guard lives, without history, and may return
// anything; `unpack` gets that, each time that the gradient needs the tensor, and returns a tensor
// of its shape. Neither is recorded. Guards are those of a thread; of nested ones the innermost
// alone is called. Writes to a packed tensor are not noticed later, as its copy is the program's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "tenon/tensor.h"

namespace tenon::autograd::graph {

struct SavedTensorsHooks {
  std::function<std::shared_ptr<void>(const Tensor&)> pack;
  std::function<Tensor(void*)> unpack;
};

// What the guards do, for guards of a program's own. Error while hooks are disabled.
TENON_API void push_saved_tensors_hooks(SavedTensorsHooks hooks);
TENON_API void pop_saved_tensors_hooks();

// A pack hook that writes to its argument is an Error of the call that saves, and an unpack hook
// that returns an undefined tensor or one of another shape a TypeError or ValueError of the
// backward pass.
class saved_tensors_hooks {
 public:
  template <class Pack, class Unpack>
  saved_tensors_hooks(Pack pack, Unpack unpack) {
    using Packed = std::decay_t<std::invoke_result_t<Pack&, const Tensor&>>;
    static_assert(std::is_convertible_v<std::invoke_result_t<Unpack&, Packed&>, Tensor>,
                  "unpack takes what pack returns, and returns a tensor");
    push_saved_tensors_hooks({[pack = std::move(pack)](const Tensor& t) mutable {
                                return std::shared_ptr<void>(std::make_shared<Packed>(pack(t)));
                              },
                              [unpack = std::move(unpack)](void* packed) mutable -> Tensor {
                                return unpack(*static_cast<Packed*>(packed));
                              }});
  }
  ~saved_tensors_hooks() { pop_saved_tensors_hooks(); }
  saved_tensors_hooks(const saved_tensors_hooks&) = delete;
  saved_tensors_hooks& operator=(const saved_tensors_hooks&) = delete;
};

// While one lives, hooks cannot be set in this thread: the Error says `message`. Error if some are.
class TENON_API disable_saved_tensors_hooks {
 public:
  explicit disable_saved_tensors_hooks(std::string message);
  ~disable_saved_tensors_hooks();
  disable_saved_tensors_hooks(const disable_saved_tensors_hooks&) = delete;
  disable_saved_tensors_hooks& operator=(const disable_saved_tensors_hooks&) = delete;

 private:
  std::string before_;
};

}  // namespace tenon::autograd::graph
