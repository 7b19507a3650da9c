// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The macros by which options and states of a program's own optimizers save and load their fields.
#pragma once

#include <c10/util/Exception.h>
#include <torch/namespaces.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tenon/ivalue.h"
#include "tenon/serialize.h"

namespace torch::optim::detail {

// Undefined tensors and absent values are not written. A pair of numbers is written as a list.
template <class T>
void write_field(serialize::OutputArchive& archive, const std::string& key, const T& value) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (value.defined()) archive.write(key, value, /*is_buffer=*/true);
  } else if constexpr (std::is_same_v<T, std::tuple<double, double>>) {
    const std::vector<double> both{std::get<0>(value), std::get<1>(value)};
    archive.write(key, IValue(both));
  } else {
    const IValue v(value);
    if (!v.isNone()) archive.write(key, v);
  }
}

// False, with `value` as it was, where the archive has no such field.
template <class T>
bool read_field(serialize::InputArchive& archive, const std::string& key, T& value) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return archive.try_read(key, value, /*is_buffer=*/true);
  } else {
    IValue v;
    if (!archive.try_read(key, v)) return false;
    if constexpr (std::is_same_v<T, std::tuple<double, double>>) {
      const std::vector<double> both = v.toDoubleVector();
      value = {both.at(0), both.at(1)};
    } else {
      value = v.to<T>();
    }
    return true;
  }
}

}  // namespace torch::optim::detail

#define _TORCH_OPTIM_SERIALIZE_TORCH_ARG(name) \
  ::torch::optim::detail::write_field(archive, #name, name())
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(T, name)                                             \
  {                                                                                             \
    T read_##name{};                                                                            \
    const bool found = ::torch::optim::detail::read_field(archive, #name, read_##name);         \
    TORCH_INTERNAL_ASSERT(found || (std::is_same_v<T, ::torch::Tensor>), #name, " is missing"); \
    if (found) name(read_##name);                                                               \
  }
#define _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_OPTIONAL(T, name)                                \
  {                                                                                         \
    T read_##name{};                                                                        \
    if (::torch::optim::detail::read_field(archive, #name, read_##name)) name(read_##name); \
  }
