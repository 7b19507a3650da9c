// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One item of a dataset, or a batch of them.
#pragma once

#include <utility>

#include "tenon/tensor.h"

namespace tenon::data {

namespace example {
using NoTarget = void;
}

template <class Data = Tensor, class Target = Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;

  Example() = default;
  Example(Data data_in, Target target_in)
      : data(std::move(data_in)), target(std::move(target_in)) {}

  Data data;
  Target target;
};

template <class Data>
struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;

  Example() = default;
  Example(Data data_in) : data(std::move(data_in)) {}
  operator Data&() { return data; }
  operator const Data&() const { return data; }

  Data data;
};

using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace tenon::data
