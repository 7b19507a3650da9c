// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What core needs from the loader (plugins/).
#pragma once

#include <string>
#include <string_view>

#include "tenon/runtime/export.h"

namespace tenon::core {

// Implemented by plugins/; core calls it when a device or a layout is first used.
struct BackendSource {
  virtual ~BackendSource() = default;
  virtual void scan() = 0;  // manifests only; idempotent
  // Opens every plugin that serves it; idempotent. False after a transient failure (no file
  // descriptor, no memory): the next use must call it again.
  virtual bool open_for_device(std::string_view device) = 0;
  virtual void open_for_layout(std::string_view layout) = 0;
  // For an operator with kOpOnDemand, after the device; as open_for_device.
  virtual bool open_for_operator(std::string_view op, std::string_view device) = 0;
  // Opens one file now, independently of the search. BackendError says why it was refused.
  virtual void open_file(std::string_view path) = 0;
  // For messages: "looked for libtenon_cuda.so in A, B; found no manifest"
  virtual std::string why_absent(std::string_view device) = 0;
  // The same for a layout that a plugin could provide.
  virtual std::string why_no_layout(std::string_view layout) = 0;
  // For an operator that nothing has registered: "plugin 'x' would provide it (FILE; disabled:
  // REASON)", of each plugin whose manifest names it; empty if none does.
  virtual std::string why_no_operator(std::string_view op) = 0;
};
TENON_API BackendSource& backend_source();
// Opens the plugins for tensors on any device and those of the host: they may provide an op or a
// dtype whose name is not known yet.
inline void open_for_unknown_name() {
  backend_source().scan();
  backend_source().open_for_device("any");
  backend_source().open_for_device("cpu");
}

}  // namespace tenon::core
