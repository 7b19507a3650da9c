// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where kernels come from: the interface through which the loader (plugins/) registers them with
// the dispatcher.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/op.h"

namespace tenon::core {

struct BackendImpl;  // kernels of one plugin in the table

struct RegisterReport {
  int kernels = 0;  // published
  std::vector<std::string>
      quarantined;  // "softmax: digest differs", one line per kernel; devices beyond the limit
};

// Publishes a plugin's device, dtypes, layouts, kernels and the ops that its init registered, all
// or nothing. An error names the first fault. The descriptor must stay mapped until
// unregister_backend. `priority`: of the manifest.
TENON_API BackendImpl* register_backend(const tn_plugin& plugin, OpRegistration& ops,
                                        RegisterReport& report, int priority = 0);
// Makes the same calls into the plugin as register_backend, and publishes nothing. BackendError
// where that would throw.
TENON_API void rehearse_backend(const tn_plugin& plugin);
// Waits for the calls into it that are under way; nothing of it is used after that. ValueError, and
// nothing has changed, while memory of its device is alive or from inside an operator. The caller
// must hold no lock that an operator may take.
TENON_API void unregister_backend(BackendImpl* b);

// Why this core would leave a kernel out: no such operator, another schema, no function. Empty if
// it accepts it.
TENON_API std::string kernel_fault(const tn_kernel& k);

}  // namespace tenon::core
