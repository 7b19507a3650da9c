// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where kernels come from: the port through which the loader (plugins/) feeds the dispatcher.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/op.h"

namespace tenon::core {

struct BackendImpl;  // kernels of one plugin in the table

struct RegisterReport {
  int kernels = 0;                       // published
  std::vector<std::string> quarantined;  // "softmax: digest differs", one line per kernel; devices beyond the limit
};

// Publishes a plugin's device, dtypes, layouts, kernels and the ops that its init registered, all or nothing. An error
// names the first fault. The descriptor must stay mapped until unregister_backend. `priority`: of the manifest.
TENON_API BackendImpl* register_backend(const tn_plugin& plugin, OpRegistration& ops, RegisterReport& report,
                                        int priority = 0);
// Calls what register_backend calls of the plugin, and nothing else: BackendError for what that would refuse.
TENON_API void rehearse_backend(const tn_plugin& plugin);
// Waits for the calls into it that are under way; nothing of it is used any more after that. ValueError, and nothing
// has changed, while memory of its device is alive or from inside of an operator. The caller holds no lock that an
// operator may want.
TENON_API void unregister_backend(BackendImpl* b);

// Why this core would leave a kernel out: no such operator, another schema, no function. Empty if it takes it.
TENON_API std::string kernel_fault(const tn_kernel& k);

// The extension of the plugin whose device it is; null if it has none of this id.
TENON_API const tn_ext* device_ext(int slot, uint32_t id) noexcept;

// The table that init receives.
TENON_API const tn_host& host_table();

// Implemented by plugins/; core calls it when a device or a layout is first used.
struct BackendSource {
  virtual ~BackendSource() = default;
  virtual void scan() = 0;  // manifests only; idempotent
  // Everything that serves it; idempotent. False if something failed for a reason that may pass (no descriptor, no
  // memory): then the next use shall ask again.
  virtual bool open_for_device(std::string_view device) = 0;
  virtual void open_for_layout(std::string_view layout) = 0;
  // Opens one file now, whatever the search says. BackendError says why it was refused.
  virtual void open_file(std::string_view path) = 0;
  // For messages: "looked for libtenon_cuda.so in A, B; found no manifest"
  virtual std::string why_absent(std::string_view device) = 0;
  // The same of a layout, which some plugin brings under a name of its own.
  virtual std::string why_no_layout(std::string_view layout) = 0;
};
TENON_API BackendSource& backend_source();
// Opens the plugins for tensors on any device and those of the host: they may bring an op or a dtype whose name nobody
// knows yet.
inline void open_for_unknown_name() {
  backend_source().scan();
  backend_source().open_for_device("any");
  backend_source().open_for_device("cpu");
}

}  // namespace tenon::core
