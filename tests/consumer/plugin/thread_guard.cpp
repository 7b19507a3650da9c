// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What tenon_add_plugin() refuses: a destructor that runs at the end of a thread.
#include <tenon/sdk/plugin.h>

#include <string>

tn_str describe() {
  thread_local std::string text = "guarded";
  return {text.data(), text.size()};
}
TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("thread_guard")
              .device("visitor")
              .host_memory()
              .describe(describe));
