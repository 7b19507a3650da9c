// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What few modules have: hooks, and tensors that are computed from parameters. Private to libtenon.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {
namespace detail {

// The child that holds the parametrizations of a module.
inline constexpr const char* kParametrizations = "parametrizations";

template <class Hook>
using HookList = std::vector<std::pair<int64_t, Hook>>;

// A tensor of a module, as its member `weight`, that takes the place of a parameter. The member is
// a handle that nobody but the module can exchange, so the tensor itself gets new data and a new
// history.
struct ComputedTensor {
  using Compute = SharedFunction<Tensor(const Module& owner)>;
  using Sources = SharedFunction<std::vector<Tensor>(const Module& owner)>;

  std::string name;
  Tensor target;
  Compute compute;
  Sources sources;  // the parameters that gradients go to
  // Parameters and buffers of the owner that hold the value instead.
  std::vector<std::string> moved, moved_buffers;
  bool depends_on_training = false;
  const char* kind = "";  // the function that made it, for errors

  void update(const Module& owner);
  void forget() { seen_.clear(); }  // computed at the next use

 private:
  struct Seen {
    const core::TensorImpl* impl;
    const core::Storage* storage;
    uint32_t version;
    bool operator==(const Seen& o) const {
      return impl == o.impl && storage == o.storage && version == o.version;
    }
  };
  void assign(const Tensor& value);

  std::vector<Seen> seen_;
  bool with_grad_ = false, training_ = false;
};

struct ModuleExtras {
  HookList<ForwardPreHook> forward_pre;
  HookList<ForwardHook> forward;
  HookList<BackwardPreHook> backward_pre;
  HookList<BackwardHook> backward;
  std::vector<ComputedTensor> computed;
  int64_t next_id = 0;
  std::mutex updating;  // fork: of one module, held while its tensors are computed

  bool has_hooks() const {
    return !(forward_pre.empty() && forward.empty() && backward_pre.empty() && backward.empty());
  }
};

// What the files of nn need of a module's private parts.
struct ModuleAccess {
  static OrderedDict<std::string, Tensor>& parameters(Module& m) { return m.parameters_; }
  static const OrderedDict<std::string, Tensor>& parameters(const Module& m) {
    return m.parameters_;
  }
  static OrderedDict<std::string, Tensor>& buffers(Module& m) { return m.buffers_; }
  static const OrderedDict<std::string, Tensor>& buffers(const Module& m) { return m.buffers_; }
  static OrderedDict<std::string, std::shared_ptr<Module>>& children(Module& m) {
    return m.children_;
  }
  static ModuleExtras& extras(Module& m) {
    if (!m.extras_) m.extras_ = std::make_shared<ModuleExtras>();
    return *m.extras_;
  }
  // Gives `copy`, whose reset() has run, the hooks, computed tensors and parametrizations of `of`.
  static void copy_extras(Module& copy, const Module& of, const std::optional<Device>& device);
  static ComputedTensor* find_computed(const Module& m, const std::string& name);
};

// The parameter of that name. ValueError, with the name of the caller, if there is none, or if it
// is computed already.
Tensor free_parameter(const Module& module, const std::string& name, const char* caller);
// Takes the parameter out of the module; it is computed from now on.
void add_computed(Module& module, ComputedTensor computed);
// It is a parameter again, with the value that it has; what held the value goes. ValueError if it
// is not computed by `kind`.
void remove_computed(Module& module, const std::string& name, const char* kind);

}  // namespace detail
}  // namespace nn
}  // namespace tenon
