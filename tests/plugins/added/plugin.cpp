// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Built by tenon_add_plugin() from abi/ and sdk/ alone. It uses standard templates whose instances
// would be exported, were it not for the version script, and a static in a template, which would
// pin the library.
#include <map>
#include <regex>
#include <string>

#include "tenon/sdk/plugin.h"

namespace {

template <class T>
std::map<T, std::string>& table() {
  static std::map<T, std::string> entries = {{T(1), "one"}};
  return entries;
}

tn_str describe() {
  static const char text[] = "made by tenon_add_plugin";
  bool matches = std::regex_match(table<long>()[1], std::regex("o.e"));
  return {text, matches ? sizeof(text) - 1 : 0};
}

}  // namespace

TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("added")
              .version("9.8.7")
              .device("added")
              .host_memory()
              .unloadable()
              .describe(&describe));
