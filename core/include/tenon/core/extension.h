// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Extensions of the plugins that are open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/runtime/export.h"

namespace tenon::core {

struct OpenExtension {
  std::string plugin;
  const tn_ext* node;  // until the plugin is closed
};
// All of this id, in the order in which their plugins were opened.
TENON_API std::vector<OpenExtension> open_extensions(uint32_t id);

// Of register_backend and unregister_backend.
void publish_extensions(const tn_plugin& plugin);
void withdraw_extensions(const tn_plugin& plugin) noexcept;

}  // namespace tenon::core
