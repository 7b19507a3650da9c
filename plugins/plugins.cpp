// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/plugins/plugins.h"

#include "manager.h"

namespace tenon::plugins {

std::string_view to_string(State s) {
  switch (s) {
    case State::Found:
      return "found";
    case State::Opened:
      return "opened";
    case State::NoDevice:
      return "no device";
    case State::Disabled:
      return "disabled";
    case State::Refused:
      return "refused";
    case State::Closed:
      return "closed";
  }
  return "unknown";
}

std::vector<Info> list() { return Manager::get().list(); }
std::vector<std::string> search_folders() { return Manager::get().folders(); }
Info load(std::string_view path) { return Manager::get().load(std::filesystem::path(path)); }
void open_all() { Manager::get().open_all(); }
void unload(std::string_view name) { Manager::get().unload(name); }

}  // namespace tenon::plugins

namespace tenon::core {

BackendSource& backend_source() { return plugins::Manager::get(); }

}  // namespace tenon::core
