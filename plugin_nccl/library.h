// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// NCCL, which is opened with the plugin: Tenon is built without its library.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace tenon::nccl_engine {

struct Library {
#define TENON_NCCL_FUNCTION(f) decltype(&::f) f;
#include "plugin_nccl/functions.def"
};

// Why NCCL cannot be used; empty: it is open.
const std::string& open_library();
const Library& nccl();
std::string version_text();  // "2.32.3"

class Failure : public std::runtime_error {
 public:
  Failure(const std::string& text, bool ends) : std::runtime_error(text), ends_group(ends) {}
  const bool ends_group;  // the communicator is of no further use
};

// Throws Failure with what NCCL says of it, unless the call succeeded or is in progress.
void check(ncclResult_t result, const char* call, ncclComm_t comm = nullptr);

}  // namespace tenon::nccl_engine
