// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Macros of programs written for libtorch.
#pragma once

#include <c10/util/Exception.h>

#include "tenon/arg.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/pimpl.h"

#define TORCH_ARG TENON_ARG
#define TORCH_MODULE TENON_MODULE
#define TORCH_MODULE_IMPL TENON_MODULE_IMPL
#define FORWARD_HAS_DEFAULT_ARGS TENON_FORWARD_HAS_DEFAULT_ARGS
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 15
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.15.0 (Tenon)"
#ifndef TORCH_API
#define TORCH_API
#endif
