// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/DeviceType.h>

#include <cstddef>
#include <functional>

template <>
struct std::hash<::tenon::Device> {
  std::size_t operator()(const ::tenon::Device& d) const noexcept {
    return std::hash<int>()(static_cast<int>(d.type()) * 65536 + d.index());
  }
};
