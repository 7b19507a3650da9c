// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a module consists of.
#include <functional>
#include <set>

#include "tenon/jit/module.h"

namespace tenon::jit {
namespace {

std::string join_names(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// Calls `f` for each attribute of the object that is there.
template <class F>
void each_attribute(const Module& m, F f) {
  const auto& slots = m._ivalue()->slots;
  const ClassTypePtr cls = m.type();
  const auto& attributes = cls->attributes();
  for (std::size_t i = 0; i < slots.size() && i < attributes.size(); ++i) {
    f(attributes[i], slots[i]);
  }
}

std::vector<NamedModule> own_modules(const Module& m) {
  std::vector<NamedModule> out;
  each_attribute(m, [&](const ClassAttribute& a, const IValue& v) {
    if (v.isModule()) out.push_back({a.name, Module(v.toObject(), m.unit())});
  });
  return out;
}

// Without recursion: objects may be nested as deeply as a program likes.
std::vector<NamedModule> all_modules(const Module& root) {
  std::vector<NamedModule> out, todo = {{"", root}};
  std::set<const ivalue::Object*> seen;
  while (!todo.empty()) {
    NamedModule next = std::move(todo.back());
    todo.pop_back();
    if (!seen.insert(next.value._ivalue().get()).second) continue;
    std::vector<NamedModule> own = own_modules(next.value);
    for (auto it = own.rbegin(); it != own.rend(); ++it) {
      todo.push_back({join_names(next.name, it->name), std::move(it->value)});
    }
    out.push_back(std::move(next));
  }
  return out;
}

using Filter = bool (*)(const ClassAttribute& a);
bool is_parameter(const ClassAttribute& a) { return a.kind == ClassAttribute::Parameter; }
bool is_buffer(const ClassAttribute& a) {
  return a.kind == ClassAttribute::Buffer ||
         (a.kind == ClassAttribute::Plain && a.type && a.type->is(TypeKind::Tensor));
}

std::vector<NamedTensor> tensors(const Module& m, bool recurse, Filter filter) {
  std::vector<NamedTensor> out;
  std::set<const void*> seen;
  for (const NamedModule& each : recurse ? all_modules(m) : std::vector<NamedModule>{{"", m}}) {
    each_attribute(each.value, [&](const ClassAttribute& a, const IValue& v) {
      if (!v.isTensor() || !v.toTensor().defined() || !filter(a)) return;
      const Tensor& t = v.toTensor();
      if (seen.insert(t.unsafeGetTensorImpl()).second) {
        out.push_back({join_names(each.name, a.name), t});
      }
    });
  }
  return out;
}

std::vector<Tensor> values(const std::vector<NamedTensor>& named) {
  std::vector<Tensor> out;
  out.reserve(named.size());
  for (const NamedTensor& n : named) out.push_back(n.value);
  return out;
}
std::vector<Module> values(const std::vector<NamedModule>& named) {
  std::vector<Module> out;
  out.reserve(named.size());
  for (const NamedModule& n : named) out.push_back(n.value);
  return out;
}

}  // namespace

std::vector<NamedTensor> Module::named_parameters(bool recurse) const {
  return tensors(*this, recurse, is_parameter);
}
std::vector<NamedTensor> Module::named_buffers(bool recurse) const {
  return tensors(*this, recurse, is_buffer);
}
std::vector<Tensor> Module::parameters(bool recurse) const {
  return values(named_parameters(recurse));
}
std::vector<Tensor> Module::buffers(bool recurse) const { return values(named_buffers(recurse)); }

std::vector<NamedModule> Module::named_children() const { return own_modules(*this); }
std::vector<Module> Module::children() const { return values(named_children()); }
std::vector<NamedModule> Module::named_modules() const { return all_modules(*this); }
std::vector<Module> Module::modules() const { return values(named_modules()); }

std::vector<NamedIValue> Module::named_attributes(bool recurse) const {
  std::vector<NamedIValue> out;
  for (const NamedModule& each :
       recurse ? all_modules(*this) : std::vector<NamedModule>{{"", *this}}) {
    each_attribute(each.value, [&](const ClassAttribute& a, const IValue& v) {
      out.push_back({join_names(each.name, a.name), v});
    });
  }
  return out;
}

}  // namespace tenon::jit
