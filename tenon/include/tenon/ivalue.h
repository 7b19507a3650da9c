// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A value of one of the kinds that archives and AutogradContext::saved_data hold. libtorch's IValue
// has more kinds (tuples, dictionaries, objects of its script language); they do not exist here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

class TENON_API IValue {
 public:
  IValue() = default;  // None
  IValue(std::nullopt_t) {}
  IValue(Tensor v) : v_(std::move(v)) {}
  IValue(bool v) : v_(v) {}
  IValue(double v) : v_(v) {}
  IValue(float v) : v_(static_cast<double>(v)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  IValue(T v) : v_(static_cast<int64_t>(v)) {}
  IValue(const char* v) : v_(std::string(v)) {}
  IValue(std::string v) : v_(std::move(v)) {}
  IValue(std::vector<int64_t> v) : v_(std::move(v)) {}
  IValue(std::vector<double> v) : v_(std::move(v)) {}
  IValue(std::vector<Tensor> v) : v_(std::move(v)) {}
  IValue(IntArrayRef v) : v_(v.vec()) {}
  template <class T>
  IValue(const std::optional<T>& v) : IValue(v ? IValue(*v) : IValue()) {}

  bool isNone() const { return holds<std::monostate>(); }
  bool isTensor() const { return holds<Tensor>(); }
  bool isDouble() const { return holds<double>(); }
  bool isInt() const { return holds<int64_t>(); }
  bool isBool() const { return holds<bool>(); }
  bool isString() const { return holds<std::string>(); }
  bool isScalar() const { return isInt() || isDouble() || isBool(); }
  bool isIntList() const { return holds<std::vector<int64_t>>(); }
  bool isDoubleList() const { return holds<std::vector<double>>(); }
  bool isTensorList() const { return holds<std::vector<Tensor>>(); }

  // TypeError names the kind that is held and the one that was asked for.
  const Tensor& toTensor() const { return get<Tensor>("Tensor"); }
  double toDouble() const { return get<double>("Double"); }
  int64_t toInt() const { return get<int64_t>("Int"); }
  bool toBool() const { return get<bool>("Bool"); }
  const std::string& toStringRef() const { return get<std::string>("String"); }
  std::string_view toStringView() const { return toStringRef(); }
  const std::vector<int64_t>& toIntVector() const { return get<std::vector<int64_t>>("IntList"); }
  const std::vector<double>& toDoubleVector() const {
    return get<std::vector<double>>("DoubleList");
  }
  const std::vector<Tensor>& toTensorVector() const {
    return get<std::vector<Tensor>>("TensorList");
  }
  Scalar toScalar() const;
  std::string tagKind() const;  // "Tensor", "Int", ...

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, IValue>)
      return *this;
    else if constexpr (std::is_same_v<T, Tensor>)
      return toTensor();
    else if constexpr (std::is_same_v<T, bool>)
      return toBool();
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(toDouble());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(toInt());
    else if constexpr (std::is_same_v<T, std::string>)
      return toStringRef();
    else if constexpr (std::is_same_v<T, Scalar>)
      return toScalar();
    else
      return get<T>("a list of that type");
  }
  template <class T>
  std::optional<T> toOptional() const {
    if (isNone()) return std::nullopt;
    return to<T>();
  }

 private:
  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(v_);
  }
  template <class T>
  const T& get(const char* wanted) const {
    if (const T* v = std::get_if<T>(&v_)) return *v;
    wrong_kind(wanted);
  }
  [[noreturn]] void wrong_kind(const char* wanted) const;

  std::variant<std::monostate, Tensor, double, int64_t, bool, std::string, std::vector<int64_t>,
               std::vector<double>, std::vector<Tensor>>
      v_;
};

}  // namespace tenon
