// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device table in C++ whose copy throws.
#include <stdexcept>

#define PLUGIN_NAME "device_throws"
#define PLUGIN_COPY throwing_copy
#include "tenon/abi/plugin.h"
static tn_status throwing_copy(void*, tn_device, void*, uint64_t, tn_device, const void*, uint64_t,
                               uint64_t, tn_stream*) {
  throw std::runtime_error("the bus is on fire");
}
extern "C" {
#include "toy.h"
}
