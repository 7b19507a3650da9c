// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <thread>

#include "tenon/distributed/process_group.h"

namespace c10d {
constexpr auto kProcessGroupDefaultTimeout = ::tenon::distributed::kDefaultTimeout;
}  // namespace c10d
