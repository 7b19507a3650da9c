// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/module.h"

#include <ostream>
#include <sstream>
#include <typeinfo>
#include <unordered_set>

#include "tenon/autograd/function.h"
#include "tenon/autograd/zero_grad.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"
#include "tenon/runtime/log.h"

namespace tenon {
namespace nn {

namespace {

std::string join_names(const std::string& prefix, const std::string& name) {
  if (prefix.empty()) return name;
  return prefix + "." + name;
}

template <class F>
void walk(const std::string& prefix,
          const OrderedDict<std::string, std::shared_ptr<Module>>& children, F&& f) {
  for (const auto& child : children) f(join_names(prefix, child.key()), child.value());
}

std::string shape_text(const Tensor& t) {
  std::string out = "[";
  for (int64_t i = 0; i < t.dim(); ++i) out += core::join(i == 0 ? "" : ", ", t.size(i));
  return out + "]";
}

}  // namespace

Module::Module() = default;
Module::Module(std::string name) : name_(std::move(name)) {}
Module::~Module() = default;

const std::string& Module::name() const noexcept {
  // typeid gives the dynamic type only after construction, so the name is determined on first use.
  if (!name_) name_ = autograd::demangle(typeid(*this).name());
  return *name_;
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  throw NotImplementedError(core::join("clone() has not been implemented for ", name(),
                                       ". Subclass nn::Cloneable<", name(),
                                       "> instead of nn::Module to inherit the ability to clone."));
}

void Module::clone_(Module&, const std::optional<Device>&) {}

std::shared_ptr<Module> Module::shared_self() const {
  auto self = std::const_pointer_cast<Module>(weak_from_this().lock());
  TENON_CHECK(
      self != nullptr, ValueError,
      "It looks like you attempted to retrieve your top-level module as a shared_ptr, but ", name(),
      " is not owned by one; make it with std::make_shared or a holder, or leave it out with "
      "include_self=false");
  return self;
}

void Module::apply(const ModuleApplyFunction& function) {
  function(*this);
  for (const auto& child : children_) child.value()->apply(function);
}

void Module::apply(const ConstModuleApplyFunction& function) const {
  function(*this);
  for (const auto& child : children_) std::as_const(*child.value()).apply(function);
}

void Module::apply(const NamedModuleApplyFunction& function, const std::string& name_prefix) {
  function(name_prefix, *this);
  walk(name_prefix, children_,
       [&](const std::string& n, const std::shared_ptr<Module>& m) { m->apply(function, n); });
}

void Module::apply(const ConstNamedModuleApplyFunction& function,
                   const std::string& name_prefix) const {
  function(name_prefix, *this);
  walk(name_prefix, children_, [&](const std::string& n, const std::shared_ptr<Module>& m) {
    std::as_const(*m).apply(function, n);
  });
}

void Module::apply(const ModulePointerApplyFunction& function) const {
  function(shared_self());
  for (const auto& child : children_) child.value()->apply(function);
}

void Module::apply(const NamedModulePointerApplyFunction& function,
                   const std::string& name_prefix) const {
  function(name_prefix, shared_self());
  walk(name_prefix, children_,
       [&](const std::string& n, const std::shared_ptr<Module>& m) { m->apply(function, n); });
}

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, Tensor> out("Parameter");
  std::unordered_set<const void*> seen;
  auto collect = [&](const std::string& prefix, const Module& m) {
    for (const auto& p : m.parameters_) {
      if (!p.value().defined() || !seen.insert(p.value().unsafeGetTensorImpl()).second) continue;
      out.push_unique(join_names(prefix, p.key()), p.value());
    }
  };
  if (recurse) {
    apply(ConstNamedModuleApplyFunction(collect));
  } else {
    collect("", *this);
  }
  return out;
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, Tensor> out("Buffer");
  auto collect = [&](const std::string& prefix, const Module& m) {
    for (const auto& b : m.buffers_) {
      if (b.value().defined()) out.push_unique(join_names(prefix, b.key()), b.value());
    }
  };
  if (recurse) {
    apply(ConstNamedModuleApplyFunction(collect));
  } else {
    collect("", *this);
  }
  return out;
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  return named_parameters(recurse).values();
}
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(
    const std::string& name_prefix, bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out("Module");
  auto collect = [&](const std::string& n, const std::shared_ptr<Module>& m) {
    out.push_unique(n, m);
  };
  if (include_self) {
    apply(NamedModulePointerApplyFunction(collect), name_prefix);
  } else {
    walk(name_prefix, children_, [&](const std::string& n, const std::shared_ptr<Module>& m) {
      m->apply(NamedModulePointerApplyFunction(collect), n);
    });
  }
  return out;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules("", include_self).values();
}
std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const {
  return children_;
}

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}
void Module::eval() { train(false); }
bool Module::is_training() const noexcept { return is_training_; }

void Module::convert(const std::optional<Device>& device, const std::optional<Dtype>& dtype,
                     bool non_blocking) {
  TENON_CHECK(
      !dtype || isFloatingType(*dtype), TypeError,
      "Module::to accepted: to(device), to(floating dtype), to(device, floating dtype); got ",
      toString(*dtype));
  NoGradGuard no_grad;
  auto moved = [&](const Tensor& t) {
    TensorOptions options;
    if (device) options = options.device(*device);
    if (dtype && t.is_floating_point()) options = options.dtype(*dtype);
    return t.detach().to(options, non_blocking);
  };
  for (auto& p : parameters_) {
    Tensor& t = p.value();
    if (!t.defined()) continue;
    Tensor grad = t.grad();
    t.set_data(moved(t));
    if (grad.defined()) t.mutable_grad() = moved(grad).set_requires_grad(grad.requires_grad());
  }
  for (auto& b : buffers_) {
    if (b.value().defined()) b.value().set_data(moved(b.value()));
  }
}

void Module::to(Device device, Dtype dtype, bool non_blocking) {
  for (auto& child : children_) child.value()->to(device, dtype, non_blocking);
  convert(device, dtype, non_blocking);
}
void Module::to(Dtype dtype, bool non_blocking) {
  for (auto& child : children_) child.value()->to(dtype, non_blocking);
  convert(std::nullopt, dtype, non_blocking);
}
void Module::to(Device device, bool non_blocking) {
  for (auto& child : children_) child.value()->to(device, non_blocking);
  convert(device, std::nullopt, non_blocking);
}

void Module::zero_grad(bool set_to_none) {
  for (auto& child : children_) child.value()->zero_grad(set_to_none);
  for (auto& p : parameters_) {
    if (p.value().defined()) autograd::zero_grad(p.value(), set_to_none);
  }
}

OrderedDict<std::string, Tensor> Module::state_dict() const {
  OrderedDict<std::string, Tensor> out("State");
  auto collect = [&](const std::string& prefix, const Module& m) {
    for (const auto& p : m.parameters_) {
      if (p.value().defined()) out.push_unique(join_names(prefix, p.key()), p.value());
    }
    for (const auto& b : m.buffers_) {
      if (b.value().defined()) out.push_unique(join_names(prefix, b.key()), b.value());
    }
  };
  apply(ConstNamedModuleApplyFunction(collect));
  return out;
}

void Module::load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict) {
  const auto mine = state_dict();
  std::string missing, unexpected, shapes;
  auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (const auto& item : mine) {
    const Tensor* given = state.find(item.key());
    if (given == nullptr || !given->defined()) {
      add(missing, item.key());
    } else if (given->sizes() != item.value().sizes()) {
      shapes += core::join("; shape of ", item.key(), ": model ", shape_text(item.value()),
                           ", file ", shape_text(*given));
    } else if (given->layout() != item.value().layout()) {
      shapes += core::join("; layout of ", item.key(), ": model ", toString(item.value().layout()),
                           ", file ", toString(given->layout()));
    }
  }
  for (const auto& item : state) {
    if (!mine.contains(item.key())) add(unexpected, item.key());
  }
  if (strict && !(missing.empty() && unexpected.empty() && shapes.empty())) {
    std::string text = core::join("loading ", name(), ": missing keys {", missing,
                                  "}; unexpected keys {", unexpected, "}", shapes);
    throw ValueError(std::move(text));
  }
  NoGradGuard no_grad;
  for (const auto& item : mine) {
    const Tensor* given = state.find(item.key());
    if (given == nullptr || !given->defined() || given->sizes() != item.value().sizes()) continue;
    if (given->layout() != item.value().layout()) continue;
    const Tensor& target = item.value();
    target.copy_(*given);
  }
}

void Module::pretty_print(std::ostream& stream) const { stream << detail::shown_name(name()); }
bool Module::is_serializable() const { return true; }

void Module::check_name(const char* kind, const std::string& name) const {
  TENON_CHECK(!name.empty(), ValueError, kind, " name must not be empty: a name may not be empty");
  TENON_CHECK(name.find('.') == std::string::npos, ValueError, kind,
              " name must not contain a dot (got '", name,
              "'): a name may not contain '.', which stands between names of modules");
  const bool taken =
      parameters_.contains(name) || buffers_.contains(name) || children_.contains(name);
  TENON_CHECK(!taken, ValueError, kind, " '", name,
              "' already defined: the name already exists in ", this->name());
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name("Parameter", name);
  if (tensor.defined()) {
    TENON_CHECK(tensor.is_leaf(), ValueError, "parameter '", name,
                "' must be a leaf, but it is the result of an operation; register the tensor it is "
                "computed from, "
                "or its detach()");
    tensor.set_requires_grad(requires_grad);
  } else if (requires_grad) {
    warn("user",
         core::join("register_parameter: An undefined tensor cannot require grad. Ignoring the "
                    "`requires_grad=true` function parameter of '",
                    name, "'."));
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name("Buffer", name);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("Submodule", name);
  TENON_CHECK(module != nullptr, ValueError, "module '", name, "' is a null pointer");
  children_.insert(std::move(name), std::move(module));
}

void Module::replace_child(const std::string& name, std::shared_ptr<Module> module) {
  TENON_CHECK(module != nullptr, ValueError, "module '", name, "' is a null pointer");
  children_[name] = std::move(module);
}

void Module::unregister_module(const std::string& name) {
  TENON_CHECK(children_.contains(name), ValueError, "No Module with name `", name,
              "` is registered");
  children_.erase(name);
}

void Module::print_tree(std::ostream& stream, const std::string& indent) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string inner = indent + "  ";
  for (const auto& child : children_) {
    stream << inner << "(" << child.key() << "): ";
    child.value()->print_tree(stream, inner);
    stream << "\n";
  }
  stream << indent << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.print_tree(stream, "");
  return stream;
}

}  // namespace nn
}  // namespace tenon
