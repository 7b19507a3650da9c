// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tenon/tensor.h"

namespace tenon {
namespace nn {

// An undefined tensor means "not given" in option structs; schemas say it with an empty optional.
inline std::optional<Tensor> optional_tensor(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}

}  // namespace nn
}  // namespace tenon
