// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The typed constructors of PyTorch before 0.4: legacy::FloatTensor(5, 7, 3) has that shape and
// elements that nobody wrote, legacy::DoubleTensor{1, 1, 1} has these elements. One number in
// parentheses is a size.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "tenon/creation.h"
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

}  // namespace tenon::legacy
