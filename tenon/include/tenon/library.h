// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of a program's own, written in C++ and called by name: from C++ through the Dispatcher,
// and from programs of TorchScript. TENON_LIBRARY is libtorch's TORCH_LIBRARY.
//
//   Tensor scaled(const Tensor& x, double by) { return x * by; }
//   TENON_LIBRARY(mine, m) { m.def("scaled(Tensor x, float by) -> Tensor", &scaled); }
//
//   auto op = library::Dispatcher::singleton().findSchemaOrThrow("mine::scaled", "")
//                 .typed<Tensor(const Tensor&, double)>();
//   Tensor y = op.call(x, 2.0);
//
// A function for no backend in particular is recorded as what it calls. One for a backend runs
// without recording, behind the one for Autograd, if there is one: an autograd::Function whose
// forward calls the operator again under AutoDispatchBelowAutograd.
//
// Blocks run when an operator is first looked up: an error in them is thrown there. Operators that
// backends share, with gradients and shape rules of their own, come in plugins (docs/plugin.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/library_boxing.h"

namespace tenon {
template <class T>
class class_;  // jit/custom_class.h
}

namespace tenon::library {

// Whom a function is for. Composite: any tensors. CPU, CUDA, Meta and PrivateUse1, which stands for
// every other device: tensors there. Autograd of a device goes before that of all. Autocast: calls
// with tensors of a device for which it is on; it goes first, and calls the operator again under an
// ExcludeDispatchKeyGuard. BackendSelect: any call, before the backend is chosen.
enum class DispatchKey {
  CompositeImplicitAutograd,
  CompositeExplicitAutograd,
  CPU,
  CUDA,
  Meta,
  PrivateUse1,
  BackendSelect,
  Autograd,
  AutogradCPU,
  AutogradCUDA,
  AutogradPrivateUse1,
  AutocastCPU,
  AutocastCUDA,
  AutocastPrivateUse1,
  Autocast = AutocastCUDA
};

struct Operator;

// A function to register: of C++, with arguments that schemas know.
struct CppFunction {
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, CppFunction>>>
  CppFunction(F&& f)
      : boxed(detail::Signature<std::decay_t<F>>::box(std::decay_t<F>(std::forward<F>(f)))),
        types(detail::Signature<std::decay_t<F>>::text(false)),
        schema(detail::Signature<std::decay_t<F>>::text(true)),
        arity(detail::Signature<std::decay_t<F>>::arity) {}
  detail::BoxedFunction boxed;
  std::string types;   // "Tensor, float -> Tensor"
  std::string schema;  // the same with names
  std::size_t arity;
  std::optional<DispatchKey> key{};
};

// What a block registers in. Errors are ValueErrors that name the operator: a schema that cannot be
// read, a name that is taken, a function whose types are not those of the schema.
class TENON_API Library {
 public:
  Library(std::string ns, std::optional<DispatchKey> key, const void* owner)
      : ns_(std::move(ns)), key_(key), owner_(owner) {}
  // "name.overload(Tensor x, int n=1) -> Tensor"
  Library& def(const std::string& schema) &;
  // The schema, or a name alone: then the schema is that of the function.
  Library& def(const std::string& schema_or_name, CppFunction f) &;
  // "name" or "name.overload"; its definition may be in another block, also a later one.
  Library& impl(const std::string& name, CppFunction f) &;
  template <class... A>
  Library& fallback(A&&...) & {
    refuse("fallback");
  }
  // A class of C++ for programs; of Tenon::jit (tenon/jit/custom_class.h).
  template <class T>
  ::tenon::class_<T> class_(const std::string& name, std::string doc = {});

  const std::string& name_space() const noexcept { return ns_; }
  // Called when what the block registered is taken back.
  void when_removed(std::function<void()> f);

 private:
  [[noreturn]] void refuse(const char* what) const;
  Operator& define(const std::string& schema);
  std::string qualified(const std::string& name) const;
  std::string ns_;
  std::optional<DispatchKey> key_;
  const void* owner_;
};

// A block of registrations; it lives as long as the library that it is in.
class TENON_API Block {
 public:
  using Run = void (*)(Library&);
  Block(const char* ns, std::optional<DispatchKey> key, Run run);
  ~Block();  // takes its operators and functions back
  Block(const Block&) = delete;
};

// Runs the blocks that nobody has run; nothing inside of a block.
TENON_API void run_blocks();

// Operators that an object registers as long as it lives, each with its namespace, "mine::scaled"
// or "mine::scaled(Tensor x) -> Tensor". Errors are those of Library, at once.
//
//   static const auto registry = RegisterOperators().op("mine::scaled", &scaled);
class TENON_API RegisterOperators {
 public:
  RegisterOperators() = default;
  RegisterOperators(const std::string& schema_or_name, CppFunction f) {
    define(schema_or_name, std::move(f));
  }
  RegisterOperators(RegisterOperators&&) noexcept = default;
  RegisterOperators& operator=(RegisterOperators&&) = delete;
  ~RegisterOperators();  // takes them back
  RegisterOperators&& op(const std::string& schema_or_name, CppFunction f) && {
    define(schema_or_name, std::move(f));
    return std::move(*this);
  }
  RegisterOperators& op(const std::string& schema_or_name, CppFunction f) & {
    define(schema_or_name, std::move(f));
    return *this;
  }

 private:
  void define(const std::string& schema_or_name, CppFunction f);
  std::unique_ptr<char> owner_ = std::make_unique<char>();  // for its address
};

// The function that is for the arguments.
TENON_API detail::Values call(const Operator& op, detail::Values arguments);
TENON_API const std::string& schema_of(const Operator& op);  // with the namespace
// Those of a name, "mine::scaled".
TENON_API std::vector<std::shared_ptr<const Operator>> operators_named(std::string_view name);

template <class F>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> {
 public:
  explicit TypedOperatorHandle(std::shared_ptr<const Operator> op) : op_(std::move(op)) {}
  R call(A... arguments) const {
    if constexpr (std::is_lvalue_reference_v<R>) {
      // An operator in place gives its first argument.
      R self = std::get<0>(std::tie(arguments...));
      library::call(*op_, detail::Values{IValue(std::decay_t<A>(arguments))...});
      return self;
    } else {
      detail::Values out = library::call(*op_, detail::Values{detail::to_ivalue(arguments)...});
      if constexpr (!std::is_void_v<R>) return detail::ResultTypes<R>::unbox(std::move(out));
    }
  }

 private:
  std::shared_ptr<const Operator> op_;
};

class TENON_API OperatorHandle {
 public:
  explicit OperatorHandle(std::shared_ptr<const Operator> op) : op_(std::move(op)) {}
  // TypeError unless the types are those of the operator.
  template <class F>
  TypedOperatorHandle<F> typed() const {
    check_types(detail::Signature<F>::text(false));
    return TypedOperatorHandle<F>(op_);
  }
  // Takes the arguments off the stack and puts the results on it.
  void callBoxed(std::vector<IValue>* stack) const;
  void callBoxed(std::vector<IValue>& stack) const { callBoxed(&stack); }
  const std::string& schema() const { return schema_of(*op_); }

 private:
  void check_types(const std::string& given) const;
  std::shared_ptr<const Operator> op_;
};

struct OperatorName {
  std::string name, overload_name;
};

class TENON_API Dispatcher {
 public:
  static Dispatcher& singleton();
  std::optional<OperatorHandle> findSchema(const OperatorName& name);
  // IndexError names the operator.
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload_name);
};

// While it lives, calls on this thread pass by the functions for Autograd, and nothing is recorded.
class TENON_API AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd();
  ~AutoDispatchBelowAutograd();
  AutoDispatchBelowAutograd(const AutoDispatchBelowAutograd&) = delete;

 private:
  bool before_;
  NoGradGuard no_grad_;
};

// While it lives, calls on this thread pass by the functions for a key of Autocast, and operators
// of Tenon do not cast there; or by those for Autograd, as below it. ValueError for another key.
class TENON_API ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKey key);
  ~ExcludeDispatchKeyGuard();
  ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;
  ExcludeDispatchKeyGuard& operator=(const ExcludeDispatchKeyGuard&) = delete;

 private:
  std::vector<DeviceType> without_autocast_;  // where it was on
  std::optional<AutoDispatchBelowAutograd> below_;
};

}  // namespace tenon::library

#define TENON_LIBRARY_BLOCK_2(ns, key, m, n)                                                     \
  static void tenon_library_##ns##_##n(::tenon::library::Library&);                              \
  static const ::tenon::library::Block tenon_library_block_##ns##_##n(#ns, key,                  \
                                                                      tenon_library_##ns##_##n); \
  static void tenon_library_##ns##_##n([[maybe_unused]] ::tenon::library::Library& m)
#define TENON_LIBRARY_BLOCK(ns, key, m, n) TENON_LIBRARY_BLOCK_2(ns, key, m, n)
#define TENON_LIBRARY(ns, m) TENON_LIBRARY_BLOCK(ns, std::nullopt, m, __COUNTER__)
#define TENON_LIBRARY_FRAGMENT(ns, m) TENON_LIBRARY(ns, m)
#define TENON_LIBRARY_IMPL(ns, key, m) \
  TENON_LIBRARY_BLOCK(ns, ::tenon::library::DispatchKey::key, m, __COUNTER__)
