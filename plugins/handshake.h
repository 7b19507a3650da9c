// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The negotiation between core and an open library (abi/RULES.md, rules 2 to 6).
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "device_guard.h"
#include "library.h"
#include "tenon/abi/ext/dtype.h"
#include "tenon/abi/ext/layout.h"
#include "tenon/core/backend.h"

namespace tenon::plugins {

// What the descriptor points to, each struct zero-filled to core's size: nothing past a plugin's
// own struct_size is ever read, and core need not check again which fields an older plugin has.
struct DescriptorCopy {
  tn_plugin plugin;
  GuardedDevice device;
  std::vector<tn_kernel> kernels;
  std::vector<const tn_kernel*> pointers;
  std::deque<tn_ext_layout> layouts;
  std::deque<tn_ext_dtype> dtypes;
  std::deque<std::vector<uint64_t>> others;  // extensions
};

struct Handshake {
  DescriptorCopy* copy = nullptr;     // leaked with the library
  const tn_plugin* plugin = nullptr;  // of the copy
  // null: nothing to serve here, see why_no_device, or a rehearsal
  core::BackendImpl* backend = nullptr;
  core::RegisterReport report;
  std::string why_no_device;
};

struct Expected {
  std::string name, device;        // what the manifest states; empty if there is none
  std::vector<std::string> taken;  // names of open plugins
  int priority = 0;                // of the manifest
  // Called with the name of each function of the plugin before that is called; may be empty.
  std::function<void(const char*)> step;
  // In a probe process, where nothing is published. It may be a fork of one whose other threads
  // held locks.
  bool rehearsal = false;
};

// All or nothing: entry, versions, table, init, publication of the kernels. BackendError names the
// first fault; then init, if it ran, was followed by shutdown, and nothing of the plugin is
// published.
Handshake negotiate(const Library& library, const Expected& expected);
// Unpublishes (ValueError while something of it is alive), shuts the plugin down and drops the
// copy.
void release_plugin(Handshake& h);

inline std::string text(tn_str s) { return s.ptr ? std::string(s.ptr, s.len) : std::string(); }

}  // namespace tenon::plugins
