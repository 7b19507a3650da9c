// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The plugins of this process: which were found, which are open, which were refused and why.
// Nothing here needs to be called: a plugin opens at the first use of its device, layout or
// operators. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/runtime/export.h"

namespace tenon::plugins {

enum class State : uint8_t {
  Found,     // its manifest was read; it opens at the first use
  Opened,    // its kernels are published
  NoDevice,  // it opened and found nothing to serve (no such device in this machine)
  Disabled,  // a filter left it out, or another variant of it serves
  Refused,   // see reason
  Closed,    // unload() closed it
};
TENON_API std::string_view to_string(State s);  // "found", "opened", "no device", ...

struct Info {
  std::string name;    // from the manifest; for a library without one, from its file name
  std::string device;  // whose kernels it has
  std::vector<std::string> layouts;  // other than strided
  // At whose first call it opens, of those that allow it; none: at the first use of the device.
  std::vector<std::string> operators;
  std::string library;   // canonical path; empty if the manifest could not be read that far
  std::string manifest;  // path; empty for an explicit load without one
  int priority = 0;
  std::string variant;  // of the plugins of one device that name the same variant, one is opened
  State state = State::Found;
  std::string reason;  // why it is not open, as a message that a user can act on
  // From the descriptor, once opened:
  std::string version, vendor;
  std::string description;  // the plugin's own line: "AVX3, oneDNN 2.6.3"
  int kernels = 0;
  std::vector<std::string> quarantined;  // kernels left out, one line each with the reason
  std::vector<std::string> changed;      // what opening it changed of the process; restored
};

// In order of search. Reads the manifests if that has not been done; opens nothing.
TENON_API std::vector<Info> list();
// The folders that are searched, in order, whether they exist or not.
TENON_API std::vector<std::string> search_folders();
// Opens one library (or the library of a manifest: a path that ends in .json) now, filters and
// search path aside. A library needs no manifest here; a bare file name is refused, as the current
// directory is never searched. Idempotent for one file. BackendError says why it was refused.
//
// A plugin of which no manifest has a hash is opened in a forked child first; with the setting
// TENON_PLUGIN_PROBE (milliseconds) every plugin is, with 0 none. One that crashes there, ends the
// process or takes longer (10 s) is refused. It is not for plugins whose runtime cannot be used
// after a fork once it runs in this process, as that of CUDA.
TENON_API Info load(std::string_view path);
// Opens every plugin that was found. Errors are in list().
TENON_API void open_all();
// Unpublishes the kernels of a plugin that allows it, and closes it. ValueError when it does not
// allow it or when tensors of its device are alive; then nothing changed. No other thread may be in
// a call that uses it.
TENON_API void unload(std::string_view name);

}  // namespace tenon::plugins
