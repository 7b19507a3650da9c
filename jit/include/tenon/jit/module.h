// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A loaded or compiled module: parameters, buffers, attributes and methods. Copies share the
// object.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/ivalue.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {

class Module;

struct NamedTensor {
  std::string name;  // "layer1.0.conv.weight"
  Tensor value;
};
struct NamedModule;
struct NamedIValue {
  std::string name;
  IValue value;
};

// A method with its object.
class TENON_API Method {
 public:
  Method(core::Ref<ivalue::Object> owner, Function* f) : owner_(std::move(owner)), function_(f) {}
  IValue operator()(std::vector<IValue> arguments,
                    const std::map<std::string, IValue>& keywords = {}) const;
  std::string_view name() const { return function_->name(); }
  const std::shared_ptr<Graph>& graph() const { return function_->graph(); }
  Function& function() const { return *function_; }
  std::size_t num_inputs() const { return function_->num_inputs(); }

 private:
  core::Ref<ivalue::Object> owner_;
  Function* function_;
};

class TENON_API Module {
 public:
  // A module without a program: attributes and methods are added by register_* and define.
  explicit Module(std::string class_name = "__torch__.Module");
  // `unit` owns the classes of the object.
  Module(core::Ref<ivalue::Object> object, std::shared_ptr<CompilationUnit> unit);

  const core::Ref<ivalue::Object>& _ivalue() const noexcept { return object_; }
  const std::shared_ptr<CompilationUnit>& unit() const noexcept { return unit_; }
  ClassTypePtr type() const;

  // Runs forward. Arguments by position; then by name.
  IValue forward(std::vector<IValue> arguments,
                 const std::map<std::string, IValue>& keywords = {}) const;
  // The same with the module's hooks around it.
  IValue operator()(std::vector<IValue> arguments) const;
  Method get_method(std::string_view name) const;  // Error names the closest
  std::optional<Method> find_method(std::string_view name) const;
  std::vector<Method> get_methods() const;
  IValue run_method(std::string_view name, std::vector<IValue> arguments) const {
    return get_method(name)(std::move(arguments));
  }
  template <class... A>
  IValue run_method(std::string_view name, A&&... arguments) const {
    return run_method(name, std::vector<IValue>{IValue(std::forward<A>(arguments))...});
  }

  IValue attr(std::string_view name) const;  // AttributeError's text in an Error
  IValue attr(std::string_view name, IValue or_else) const;
  bool hasattr(std::string_view name) const;
  // TypeError for a value that is not of the attribute's type.
  void setattr(std::string_view name, IValue v) const;
  void register_parameter(const std::string& name, Tensor t, bool is_buffer = false);
  void register_buffer(const std::string& name, Tensor t) { register_parameter(name, t, true); }
  void register_attribute(const std::string& name, TypePtr type, IValue v, bool is_param = false,
                          bool is_buffer = false);
  // The type as `v.type().get()` gives it.
  void register_attribute(const std::string& name, const Type* type, IValue v,
                          bool is_param = false, bool is_buffer = false) {
    register_attribute(name, type->shared_from_this(), std::move(v), is_param, is_buffer);
  }
  void register_module(const std::string& name, const Module& m);

  // A module's own first, in the order of its attributes, then those of its submodules, depth
  // first. A module or tensor that is there twice is given once. Buffers: all tensors that are not
  // parameters.
  std::vector<Tensor> parameters(bool recurse = true) const;
  std::vector<NamedTensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  std::vector<NamedTensor> named_buffers(bool recurse = true) const;
  std::vector<Module> children() const;
  std::vector<NamedModule> named_children() const;
  std::vector<Module> modules() const;  // this one first
  std::vector<NamedModule> named_modules() const;
  std::vector<NamedIValue> named_attributes(bool recurse = true) const;

  bool is_training() const;
  void train(bool on = true) const;
  void eval() const { train(false); }
  void zero_grad() const;
  // Parameters and buffers are replaced by their copies; floating ones alone take the dtype.
  void to(Device device, ScalarType dtype, bool non_blocking = false) const;
  void to(Device device, bool non_blocking = false) const;
  void to(ScalarType dtype, bool non_blocking = false) const;

  Module clone() const;  // own parameters and attributes, the same methods
  Module deepcopy() const { return clone(); }
  Module copy() const;  // shares the attributes

  // Adds methods from text: "def forward(self, x): ...". Errors show the line with a caret.
  void define(const std::string& text);
  // As torch.jit.load reads it.
  void save(const std::string& path, const std::map<std::string, std::string>& extra = {}) const;
  void save(std::ostream& out, const std::map<std::string, std::string>& extra = {}) const;

  // Classes, attributes and graphs, for people.
  std::string dump_to_str(bool code = true, bool attributes = true, bool tensors = false) const;
  // The same to standard output: for use in a debugger.
  void dump(bool code = true, bool attributes = true, bool tensors = false) const;

 private:
  core::Ref<ivalue::Object> object_;
  std::shared_ptr<CompilationUnit> unit_;
};

struct NamedModule {
  std::string name;
  Module value;
};

}  // namespace tenon::jit
