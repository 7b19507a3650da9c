// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A value of any type, and the macro by which a module tells AnyModule the default arguments of its
// forward().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/nn/hooks.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/export.h"

namespace tenon {
namespace nn {

namespace detail {
[[noreturn]] TENON_API void bad_cast(const std::type_info& wanted, const std::type_info& held);
// The same for what a module's forward() returned.
[[noreturn]] TENON_API void bad_result(const std::type_info& wanted, const std::type_info& held);
}  // namespace detail

class AnyValue {
 public:
  AnyValue() = default;
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, AnyValue>>>
  explicit AnyValue(T&& value);
  AnyValue(AnyValue&&) = default;
  AnyValue& operator=(AnyValue&&) = default;
  AnyValue(const AnyValue& other) : content_(other.content_ ? other.content_->copy() : nullptr) {}
  AnyValue& operator=(const AnyValue& other) {
    content_ = other.content_ ? other.content_->copy() : nullptr;
    return *this;
  }

  // Null if the value is of another type.
  template <class T>
  T* try_get() {
    static_assert(!std::is_reference_v<T> && !std::is_const_v<T>,
                  "AnyValue holds values, not references");
    return type_info() == typeid(T) ? &static_cast<Box<T>*>(content_.get())->value : nullptr;
  }
  template <class T>
  T get() {
    if (T* value = try_get<T>()) return *value;
    detail::bad_cast(typeid(T), type_info());
  }
  const std::type_info& type_info() const noexcept {
    return content_ ? content_->type() : typeid(void);
  }
  // The tensors in it, for hooks.
  void append_tensors(std::vector<Tensor*>& list) {
    if (content_) content_->append_tensors(list);
  }

 private:
  struct BoxBase {
    virtual ~BoxBase() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::unique_ptr<BoxBase> copy() const = 0;
    virtual void append_tensors(std::vector<Tensor*>& list) = 0;
  };
  template <class T>
  struct Box final : BoxBase {
    explicit Box(T v) : value(std::move(v)) {}
    const std::type_info& type() const override { return typeid(T); }
    std::unique_ptr<BoxBase> copy() const override { return std::make_unique<Box>(value); }
    void append_tensors(std::vector<Tensor*>& list) override {
      detail::TensorsIn<T>::each(value, [&](Tensor& t) { list.push_back(&t); });
    }
    T value;
  };
  std::unique_ptr<BoxBase> content_;
};

template <class T, class>
AnyValue::AnyValue(T&& value)
    : content_(std::make_unique<Box<std::decay_t<T>>>(std::forward<T>(value))) {}

// Those of the layers' default arguments: every file that includes them would instantiate them.
extern template TENON_API AnyValue::AnyValue(bool&&);
extern template TENON_API AnyValue::AnyValue(Tensor&&);
extern template TENON_API AnyValue::AnyValue(std::optional<std::vector<int64_t>>&&);
extern template TENON_API AnyValue::AnyValue(std::optional<std::tuple<Tensor, Tensor>>&&);

}  // namespace nn
}  // namespace tenon

// In a module class: TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(2.0)}) says that argument 1 of
// forward() may be left out and is then 2.0. The defaults are those of the last arguments.
#define TENON_FORWARD_HAS_DEFAULT_ARGS(...)                                               \
  friend struct ::tenon::nn::detail::AnyAccess;                                           \
  std::vector<std::pair<unsigned, ::tenon::nn::AnyValue>> _forward_default_args() const { \
    return {__VA_ARGS__};                                                                 \
  }
