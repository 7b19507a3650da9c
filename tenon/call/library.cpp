// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/autocast.h"
#include "tenon/call/autocast.h"
#include "tenon/call/library_schema.h"
#include "tenon/library.h"
#include "tenon/runtime/error.h"

namespace tenon::library {

struct Operator {
  struct Kernel {
    DispatchKey key;
    CppFunction function;
    const void* owner;
  };
  std::string name, overload;   // "mine::scaled"
  std::string schema, types;    // empty until it is defined
  const void* owner = nullptr;  // the block that defined it
  std::vector<Kernel> kernels;

  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  const Kernel* find(DispatchKey key) const {
    for (const Kernel& k : kernels) {
      if (k.key == key) return &k;
    }
    return nullptr;
  }
};

namespace {

struct Pending {
  const Block* block;
  std::string ns;
  std::optional<DispatchKey> key;
  Block::Run run;
};

// Operators are replaced, never changed, so that calls need no lock.
struct Registry {
  std::recursive_mutex mutex;  // fork: taken while blocks run, which programs do not fork in
  std::vector<Pending> pending;
  bool runs = false;  // a block, on the thread that holds the mutex
  std::multimap<const void*, std::function<void()>> removals;               // by owner
  std::map<std::string, std::shared_ptr<Operator>, std::less<>> operators;  // by full name

  // A copy to change, put in place by the caller.
  Operator& edit(const std::string& name, const std::string& overload) {
    const std::string full = overload.empty() ? name : name + "." + overload;
    std::shared_ptr<Operator>& at = operators[full];
    at = at ? std::make_shared<Operator>(*at) : std::make_shared<Operator>();
    at->name = name;
    at->overload = overload;
    return *at;
  }

  void remove(const void* owner) {
    const auto [begin, end] = removals.equal_range(owner);
    for (auto it = begin; it != end; ++it) it->second();
    removals.erase(begin, end);
    for (auto it = operators.begin(); it != operators.end();) {
      auto left = std::make_shared<Operator>(*it->second);
      if (left->owner == owner) {
        left->schema.clear();
        left->types.clear();
        left->owner = nullptr;
      }
      std::erase_if(left->kernels, [&](const auto& k) { return k.owner == owner; });
      it->second = left;
      it = left->schema.empty() && left->kernels.empty() ? operators.erase(it) : std::next(it);
    }
  }

  // A block that fails is taken back, and fails again at the next look-up.
  void run_pending() {
    while (!runs && !pending.empty()) {
      const Pending next = pending.front();
      runs = true;
      try {
        Library library(next.ns, next.key, next.block);
        next.run(library);
        runs = false;
      } catch (...) {
        runs = false;
        remove(next.block);
        throw;
      }
      std::erase_if(pending, [&](const Pending& p) { return p.block == next.block; });
    }
  }
};

Registry& registry() {
  static Registry* const r = new Registry;  // blocks of other libraries go after statics
  return *r;
}

void check_types(const Operator& op, const std::string& given) {
  TENON_CHECK(op.types == given, TypeError, op.full_name(), ": expected a function of ", op.types,
              ", got one of ", given);
}

void check_kernels(const Operator& op) {
  if (op.schema.empty()) return;
  for (const auto& k : op.kernels) check_types(op, k.function.types);
}

const char* key_name(DispatchKey key) {
  static constexpr const char* kNames[] = {"CompositeImplicitAutograd",
                                           "CompositeExplicitAutograd",
                                           "CPU",
                                           "CUDA",
                                           "Meta",
                                           "PrivateUse1",
                                           "BackendSelect",
                                           "Autograd",
                                           "AutogradCPU",
                                           "AutogradCUDA",
                                           "AutogradPrivateUse1",
                                           "AutocastCPU",
                                           "AutocastCUDA",
                                           "AutocastPrivateUse1"};
  return kNames[static_cast<int>(key)];
}

thread_local bool t_below_autograd = false;

// The keys of tensors of a device.
struct Keys {
  DispatchKey backend, autograd, autocast;
};
constexpr Keys kHostKeys = {DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU};
Keys keys_of(DeviceType type) {
  if (type == kCPU) return kHostKeys;
  if (type == kCUDA)
    return {DispatchKey::CUDA, DispatchKey::AutogradCUDA, DispatchKey::AutocastCUDA};
  return {type == DeviceType::Meta ? DispatchKey::Meta : DispatchKey::PrivateUse1,
          DispatchKey::AutogradPrivateUse1, DispatchKey::AutocastPrivateUse1};
}

// The device of the first tensor; a call without tensors is one of the host.
DeviceType device_type_of(const detail::Values& arguments) {
  for (const IValue& v : arguments) {
    Tensor t;
    if (v.isTensor()) t = v.toTensor();
    if (v.isTensorList() && !v.toListRef().items.empty()) t = v.toListRef().items[0].toTensor();
    if (t.defined()) return t.device().type();
  }
  return kCPU;
}

// The function that comes before those of backends, or null.
const Operator::Kernel* find_above_backend(const Operator& op, DeviceType type, const Keys& keys) {
  const Operator::Kernel* k = op.find(keys.autocast);
  if (k && autocast::is_autocast_enabled(type)) return k;
  if (!t_below_autograd) {
    if ((k = op.find(keys.autograd)) || (k = op.find(DispatchKey::Autograd))) return k;
  }
  return op.find(DispatchKey::BackendSelect);
}

}  // namespace

void Library::refuse(const char* what) const {
  throw NotImplementedError(core::join("TENON_LIBRARY(", ns_, "): ", what, " is not supported"));
}

void Library::when_removed(std::function<void()> f) {
  registry().removals.emplace(owner_, std::move(f));
}

std::string Library::qualified(const std::string& name) const {
  const std::size_t colons = name.find("::");
  TENON_CHECK(colons == std::string::npos || name.substr(0, colons) == ns_, ValueError,
              "TENON_LIBRARY(", ns_, "): '", name, "' is of another namespace");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

Operator& Library::define(const std::string& schema) {
  const std::string own = qualified(schema);
  const SchemaParts parts = parse_schema(own);
  Operator& op = registry().edit(ns_ + "::" + parts.name, parts.overload);
  TENON_CHECK(op.schema.empty(), ValueError, op.full_name(), " is defined already, as ", op.schema);
  op.schema = ns_ + "::" + own;
  op.types = parts.types;
  op.owner = owner_;
  check_kernels(op);
  return op;
}

Library& Library::def(const std::string& schema) & {
  define(schema);
  return *this;
}

Library& Library::def(const std::string& schema_or_name, CppFunction f) & {
  const bool whole = schema_or_name.find('(') != std::string::npos;
  Operator& op = define(whole ? schema_or_name : schema_or_name + f.schema);
  const DispatchKey key = f.key.value_or(key_.value_or(DispatchKey::CompositeImplicitAutograd));
  op.kernels.push_back({key, std::move(f), owner_});
  check_kernels(op);
  return *this;
}

Library& Library::impl(const std::string& name, CppFunction f) & {
  const std::string own = qualified(name);
  const std::size_t dot = own.find('.');
  Operator& op = registry().edit(ns_ + "::" + own.substr(0, dot),
                                 dot == std::string::npos ? "" : own.substr(dot + 1));
  const DispatchKey key = f.key.value_or(key_.value_or(DispatchKey::CompositeImplicitAutograd));
  TENON_CHECK(!op.find(key), ValueError, op.full_name(), " has a function for ", key_name(key),
              " already");
  op.kernels.push_back({key, std::move(f), owner_});
  check_kernels(op);
  return *this;
}

Block::Block(const char* ns, std::optional<DispatchKey> key, Run run) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.pending.push_back({this, ns, key, run});
}

Block::~Block() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::erase_if(r.pending, [&](const Pending& p) { return p.block == this; });
  r.remove(this);
}

void run_blocks() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.run_pending();
}

void RegisterOperators::define(const std::string& schema_or_name, CppFunction f) {
  const std::size_t colons = schema_or_name.find("::");
  TENON_CHECK(colons != std::string::npos && colons < schema_or_name.find('('), ValueError,
              "RegisterOperators: expected 'namespace::name', got '", schema_or_name, "'");
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  Library library(schema_or_name.substr(0, colons), std::nullopt, owner_.get());
  library.def(schema_or_name, std::move(f));
}

RegisterOperators::~RegisterOperators() {
  if (!owner_) return;  // moved from
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.remove(owner_.get());
}

detail::Values call(const Operator& op, detail::Values arguments) {
  const DeviceType type = device_type_of(arguments);
  const Keys keys = keys_of(type);
  const auto* kernel = find_above_backend(op, type, keys);
  if (kernel) return kernel->function.boxed(arguments);
  kernel = op.find(keys.backend);
  if (!kernel) kernel = op.find(DispatchKey::CompositeExplicitAutograd);
  if (kernel) {
    NoGradGuard no_grad;
    return kernel->function.boxed(arguments);
  }
  kernel = op.find(DispatchKey::CompositeImplicitAutograd);
  if (kernel) return kernel->function.boxed(arguments);
  std::string others;
  for (const auto& k : op.kernels)
    others += core::join(others.empty() ? "" : ", ", key_name(k.key));
  throw NotImplementedError(core::join(op.full_name(), ": there is no function for ",
                                       key_name(keys.backend), "; it has some for {", others, "}"));
}

const std::string& schema_of(const Operator& op) { return op.schema; }

std::vector<std::shared_ptr<const Operator>> operators_named(std::string_view name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.run_pending();
  std::vector<std::shared_ptr<const Operator>> out;
  for (const auto& [full, op] : r.operators) {
    if (op->name == name && !op->schema.empty()) out.push_back(op);
  }
  return out;
}

void OperatorHandle::check_types(const std::string& given) const {
  library::check_types(*op_, given);
}

void OperatorHandle::callBoxed(std::vector<IValue>* stack) const {
  const std::size_t arity =
      static_cast<std::size_t>(op_->kernels.empty() ? 0 : op_->kernels[0].function.arity);
  TENON_CHECK(stack->size() >= arity, ValueError, op_->full_name(), ": expected ", arity,
              " arguments on the stack, got ", stack->size());
  const auto begin = stack->end() - static_cast<std::ptrdiff_t>(arity);
  detail::Values arguments(std::make_move_iterator(begin), std::make_move_iterator(stack->end()));
  stack->erase(begin, stack->end());
  for (IValue& v : call(*op_, std::move(arguments))) stack->push_back(std::move(v));
}

Dispatcher& Dispatcher::singleton() {
  static Dispatcher d;
  return d;
}

std::optional<OperatorHandle> Dispatcher::findSchema(const OperatorName& name) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.run_pending();
  const auto it = r.operators.find(
      name.overload_name.empty() ? name.name : name.name + "." + name.overload_name);
  if (it == r.operators.end() || it->second->schema.empty()) return std::nullopt;
  return OperatorHandle(it->second);
}

OperatorHandle Dispatcher::findSchemaOrThrow(const char* name, const char* overload_name) {
  auto found = findSchema({name, overload_name});
  TENON_CHECK(found.has_value(), IndexError, "Could not find schema for ", name,
              *overload_name ? "." : "", overload_name,
              "; operators of Tenon itself are called as functions of tenon::");
  return *found;
}

AutoDispatchBelowAutograd::AutoDispatchBelowAutograd() : before_(t_below_autograd) {
  t_below_autograd = true;
}
AutoDispatchBelowAutograd::~AutoDispatchBelowAutograd() { t_below_autograd = before_; }

ExcludeDispatchKeyGuard::ExcludeDispatchKeyGuard(DispatchKey key) {
  if (key >= DispatchKey::Autograd && key <= DispatchKey::AutogradPrivateUse1) {
    below_.emplace();
    return;
  }
  TENON_CHECK(key >= DispatchKey::AutocastCPU, ValueError,
              "ExcludeDispatchKeyGuard: expected a key of Autograd or Autocast, got ",
              key_name(key));
  for (const autocast::Setting& s : autocast::settings()) {
    if (keys_of(s.type).autocast != key || !autocast::is_autocast_enabled(s.type)) continue;
    autocast::set_autocast_enabled(s.type, false);
    without_autocast_.push_back(s.type);
  }
}
ExcludeDispatchKeyGuard::~ExcludeDispatchKeyGuard() {
  for (const DeviceType type : without_autocast_) autocast::set_autocast_enabled(type, true);
}

}  // namespace tenon::library
