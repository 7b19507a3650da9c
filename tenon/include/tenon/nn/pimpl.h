// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Holders: TENON_MODULE(Net) makes Net from NetImpl, a value that owns a NetImpl by shared_ptr.
// Copies of a holder share the module.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {

namespace detail {
template <class T, class Contained, class = void>
inline constexpr bool is_holder_of = false;
template <class T, class Contained>
inline constexpr bool is_holder_of<T, Contained, std::enable_if_t<is_module_holder<T>>> =
    std::is_same_v<typename T::ContainedType, Contained>;
}  // namespace detail

// What a holder's impl_ is: a shared_ptr<Contained> to those that derive from the holder. It keeps
// a pointer to the base, as std::shared_ptr<Contained> would be instantiated for each of a hundred
// layers in every file, which took a third of the time of nn.h.
template <class Contained>
class HeldModule {
 public:
  HeldModule() = default;
  HeldModule(std::nullptr_t) {}
  HeldModule(std::shared_ptr<Module> module) : module_(std::move(module)) {}
  Contained* get() const { return static_cast<Contained*>(module_.get()); }
  Contained* operator->() const { return get(); }
  template <class C = Contained>
  C& operator*() const {
    return *get();
  }
  explicit operator bool() const noexcept { return module_ != nullptr; }
  operator std::shared_ptr<Contained>() const {
    return std::static_pointer_cast<Contained>(module_);
  }
  const std::shared_ptr<Module>& base() const noexcept { return module_; }
  void reset() { module_.reset(); }
  long use_count() const noexcept { return module_.use_count(); }
  friend bool operator==(const HeldModule& p, std::nullptr_t) { return p.module_ == nullptr; }
  friend bool operator!=(const HeldModule& p, std::nullptr_t) { return p.module_ != nullptr; }
  friend bool operator==(const HeldModule& a, const HeldModule& b) {
    return a.module_ == b.module_;
  }
  friend bool operator!=(const HeldModule& a, const HeldModule& b) { return !(a == b); }

 private:
  std::shared_ptr<Module> module_;
};

template <class Contained>
class ModuleHolder : detail::ModuleHolderIndicator {
 protected:
  HeldModule<Contained> impl_;

 public:
  using ContainedType = Contained;

  ModuleHolder() : impl_(default_construct()) {}
  // An empty holder.
  ModuleHolder(std::nullptr_t) : impl_(nullptr) {}
  // Copies of this holder and pointers to its module are for the other constructors.
  template <class Head, class... Tail,
            class = std::enable_if_t<!(sizeof...(Tail) == 0 &&
                                       (detail::is_holder_of<std::decay_t<Head>, Contained> ||
                                        std::is_convertible_v<Head, std::shared_ptr<Contained>>))>>
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::shared_ptr<Module>(
            std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...))) {}
  ModuleHolder(std::shared_ptr<Contained> module)
      : impl_(std::shared_ptr<Module>(std::move(module))) {}

  explicit operator bool() const noexcept { return impl_ != nullptr; }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  std::shared_ptr<Contained> ptr() const {
    check();
    return impl_;
  }
  Contained* get() {
    check();
    impl_.base()->update_computed();
    return impl_.get();
  }
  const Contained* get() const {
    check();
    impl_.base()->update_computed();
    return impl_.get();
  }
  // C makes the return type depend on the call: containers have no forward().
  template <class... A, class C = Contained>
  auto operator()(A&&... args) -> decltype(std::declval<C&>().forward(std::forward<A>(args)...)) {
    C& module = *get();
    if (!module.has_hooks()) return module.forward(std::forward<A>(args)...);
    return detail::call_hooked(module, std::index_sequence_for<A...>(), std::forward<A>(args)...);
  }
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) {
    return (*get())[std::forward<Arg>(arg)];
  }
  bool is_empty() const noexcept { return impl_ == nullptr; }

 private:
  void check() const { TENON_CHECK(!is_empty(), ValueError, "Accessing empty ModuleHolder"); }
  static std::shared_ptr<Module> default_construct() {
    if constexpr (std::is_default_constructible_v<Contained>) {
      return std::make_shared<Contained>();
    } else {
      return nullptr;
    }
  }
};

template <class M>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<M>& holder) {
  return stream << *holder;
}

}  // namespace nn
}  // namespace tenon

// The holder Name of a class ImplType; users spell it nn::Linear fc(4, 3) and fc->forward(x).
#define TENON_MODULE_IMPL(Name, ImplType)                    \
  class Name : public ::tenon::nn::ModuleHolder<ImplType> {  \
   public:                                                   \
    using ::tenon::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl [[maybe_unused]] = ImplType;                  \
  }
#define TENON_MODULE(Name) TENON_MODULE_IMPL(Name, Name##Impl)
