// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What every program has of libtorch's logging. LOG and CHECK are macros of libraries for logging.
#pragma once

#include <torch/detail/containers_on_streams.h>
#include <torch/namespaces.h>

// Calls are not reported to anyone.
#define C10_LOG_API_USAGE_ONCE(...)
#define C10_LOG_EVENT_SAMPLED(...)
