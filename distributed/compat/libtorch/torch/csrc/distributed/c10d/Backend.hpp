// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A group has one engine, so that a Backend is a group.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace c10d {
constexpr auto kBackendDefaultTimeout = ::tenon::distributed::kDefaultTimeout;
using Backend = ::tenon::distributed::ProcessGroup;
}  // namespace c10d
