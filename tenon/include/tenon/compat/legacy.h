// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The typed constructors of PyTorch before 0.4: legacy::FloatTensor(5, 7, 3) has that shape and
// elements that nobody wrote, legacy::DoubleTensor{1, 1, 1} has these elements. One number in
// parentheses is a size. And the reduction of a loss as PyTorch before 0.4.1 took it:
// nn::MSELoss(legacy::reduction(/*size_average=*/false)).
#pragma once

#include <initializer_list>
#include <optional>
#include <type_traits>

#include "tenon/creation.h"
#include "tenon/enum.h"
#include "tenon/ops.h"

namespace tenon::legacy {

// A Tensor in all but how it is made.
template <ScalarType T>
class TypedTensor : public Tensor {
 public:
  TypedTensor() : Tensor(empty({0}, TensorOptions(T))) {}
  template <class... Sizes,
            class = std::enable_if_t<(sizeof...(Sizes) > 0) && (std::is_integral_v<Sizes> && ...)>>
  explicit TypedTensor(Sizes... sizes)
      : Tensor(empty({static_cast<int64_t>(sizes)...}, TensorOptions(T))) {}
  TypedTensor(std::initializer_list<detail::TensorData> data)
      : Tensor(tensor(detail::TensorData(data), TensorOptions(T))) {}
};

using FloatTensor = TypedTensor<kFloat>;
using DoubleTensor = TypedTensor<kDouble>;
using HalfTensor = TypedTensor<kHalf>;
using ByteTensor = TypedTensor<kByte>;
using CharTensor = TypedTensor<kChar>;
using ShortTensor = TypedTensor<kShort>;
using IntTensor = TypedTensor<kInt>;
using LongTensor = TypedTensor<kLong>;

// What every option `reduction` of a loss takes.
class Reduction {
 public:
  explicit Reduction(enumtype::Name name) : name_(name) {}
  enumtype::Name name() const { return name_; }
  template <class... Allowed>
  operator enumtype::OneOf<Allowed...>() const {
    if (name_ == enumtype::Name::None) return enumtype::kNone();
    if (name_ == enumtype::Name::Sum) return enumtype::kSum();
    return enumtype::kMean();
  }

 private:
  enumtype::Name name_;
};

// kNone unless `reduce`, else kMean or, unless `size_average`, kSum; either is true if it is not
// given. Warns ("deprecated") that reduction has replaced the two, and by which value.
TENON_API Reduction reduction(std::optional<bool> size_average,
                              std::optional<bool> reduce = std::nullopt);

}  // namespace tenon::legacy
