// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The base of every layer and network: a tree of modules with named parameters and buffers.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tenon/archives.h"
#include "tenon/arg.h"
#include "tenon/function_ref.h"
#include "tenon/nn/hooks.h"
#include "tenon/ordered_dict.h"
#include "tenon/tensor.h"

namespace tenon {

namespace nn {

class Module;
template <class Contained>
class ModuleHolder;

namespace detail {
struct ModuleHolderIndicator {};
template <class T>
inline constexpr bool is_module = std::is_base_of_v<Module, std::decay_t<T>>;
template <class T>
inline constexpr bool is_module_holder = std::is_base_of_v<ModuleHolderIndicator, std::decay_t<T>>;
struct AnyAccess;
struct ModuleAccess;
}  // namespace detail

// Own a module by shared_ptr or by a holder (TENON_MODULE): modules() and named_modules() hand out
// shared ownership of the module itself. A copy shares its tensors; clone() does not.
class TENON_API Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = FunctionRef<void(Module&)>;
  using ConstModuleApplyFunction = FunctionRef<void(const Module&)>;
  using NamedModuleApplyFunction = FunctionRef<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = FunctionRef<void(const std::string&, const Module&)>;
  using ModulePointerApplyFunction = FunctionRef<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction =
      FunctionRef<void(const std::string&, const std::shared_ptr<Module>&)>;

  Module();
  // name is what printing and errors call the module; the default is the name of its class.
  explicit Module(std::string name);
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;
  virtual ~Module();

  const std::string& name() const noexcept;

  // A deep copy, on `device` if given. Implemented by Cloneable; an error here.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;

  // Calls the function for this module, then for every module below it, parents first.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function,
             const std::string& name_prefix = std::string());
  void apply(const ConstNamedModuleApplyFunction& function,
             const std::string& name_prefix = std::string()) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function,
             const std::string& name_prefix = std::string()) const;

  // In order of registration, names joined by dots; a parameter that is registered twice is listed
  // once.
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(
      const std::string& name_prefix = std::string(), bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  virtual void train(bool on = true);
  void eval();
  virtual bool is_training() const noexcept;

  // Converts parameters and buffers in place: the tensors stay the same objects. A dtype must be
  // floating and touches floating tensors only.
  virtual void to(Device device, Dtype dtype, bool non_blocking = false);
  virtual void to(Dtype dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);

  virtual void zero_grad(bool set_to_none = true);

  // Parameters and buffers under their dotted names, sharing memory with the module; shared ones
  // under each name.
  OrderedDict<std::string, Tensor> state_dict() const;
  // Copies values in. strict: one error that lists every missing key, unexpected key and mismatch
  // of shapes, before anything is written; otherwise what fits is taken.
  void load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict = true);

  template <class M>
  typename M::ContainedType* as() noexcept {
    return as<typename M::ContainedType, int>();
  }
  template <class M>
  const typename M::ContainedType* as() const noexcept {
    return as<typename M::ContainedType, int>();
  }
  template <class M, class = std::enable_if_t<!detail::is_module_holder<M>, int>>
  M* as() noexcept {
    return dynamic_cast<M*>(this);
  }
  template <class M, class = std::enable_if_t<!detail::is_module_holder<M>, int>>
  const M* as() const noexcept {
    return dynamic_cast<const M*>(this);
  }

  // One line without children: "tenon::nn::Linear(in_features=4, out_features=3, bias=true)".
  virtual void pretty_print(std::ostream& stream) const;
  // Writes and reads the state; load() refuses what load_state_dict(strict) refuses.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  // Modules without state say false: files need not mention them.
  virtual bool is_serializable() const;

  // Names may not be empty, contain a dot or exist already. A tensor must be a leaf or undefined.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    replace_child(name, module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  // Hooks run in the order of registration, those with `prepend` before the ones that are there. A
  // clone() has the same hooks.
  RemovableHandle register_forward_pre_hook(ForwardPreHook hook, bool prepend = false);
  RemovableHandle register_forward_hook(ForwardHook hook, bool prepend = false);
  // The module must be owned by a shared_ptr, and must not write to its inputs in place.
  RemovableHandle register_full_backward_pre_hook(BackwardPreHook hook, bool prepend = false);
  RemovableHandle register_full_backward_hook(BackwardHook hook, bool prepend = false);
  bool has_hooks() const noexcept;

  // Computes the tensors that weight_norm, spectral_norm and parametrizations derive from
  // parameters, if one of these has been written since. Holders and AnyModule call it before they
  // give access to the module; who holds a module by shared_ptr alone calls it before forward().
  void update_computed() const {
    if (extras_) update_extras();
  }

 protected:
  OrderedDict<std::string, Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

 private:
  template <class Derived>
  friend class Cloneable;
  friend struct detail::AnyAccess;
  friend struct detail::ModuleAccess;
  friend TENON_API std::ostream& operator<<(std::ostream& stream, const Module& module);

  virtual void clone_(Module& other, const std::optional<Device>& device);
  void check_name(const char* kind, const std::string& name) const;
  void add_child(std::string name, std::shared_ptr<Module> module);
  void replace_child(const std::string& name, std::shared_ptr<Module> module);
  void forget_state();
  void copy_state_from(const Module& other, const std::optional<Device>& device);
  void convert(const std::optional<Device>& device, const std::optional<Dtype>& dtype,
               bool non_blocking);
  void print_tree(std::ostream& stream, const std::string& indent) const;
  std::shared_ptr<Module> shared_self() const;
  void update_extras() const;

  mutable std::optional<std::string> name_;
  std::shared_ptr<detail::ModuleExtras> extras_;  // hooks and computed tensors, if there are any
  bool is_training_ = true;
};

// The tree, one module per line, children indented under their names.
TENON_API std::ostream& operator<<(std::ostream& stream, const Module& module);

}  // namespace nn
}  // namespace tenon
