// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/plugins/plugins.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "engines.h"
#include "table.h"

namespace tenon::command {
namespace {

using plugins::Info;

nlohmann::ordered_json to_json(const Info& i) {
  return {{"name", i.name},
          {"state", plugins::to_string(i.state)},
          {"reason", i.reason},
          {"device", i.device},
          {"layouts", i.layouts},
          {"operators", i.operators},
          {"priority", i.priority},
          {"variant", i.variant},
          {"version", i.version},
          {"vendor", i.vendor},
          {"description", i.description},
          {"kernels", i.kernels},
          {"quarantined", i.quarantined},
          {"changed", i.changed},
          {"library", i.library},
          {"manifest", i.manifest}};
}

void print_table(const std::vector<Info>& all) {
  Table table({"NAME", "STATE", "DEVICE", "VERSION", "KERNELS", "PRIORITY", "FILE"});
  for (const Info& i : all) {
    bool open = i.state == plugins::State::Opened;
    table.add({i.name, std::string(plugins::to_string(i.state)), i.device.empty() ? "-" : i.device,
               i.version.empty() ? "-" : i.version, open ? std::to_string(i.kernels) : "-",
               std::to_string(i.priority), i.library.empty() ? i.manifest : i.library});
  }
  std::cout << table.text();
}

void print_notes(const std::vector<Info>& all) {
  std::string notes;
  for (const Info& i : all) {
    if (!i.description.empty()) notes += i.name + ": " + i.description + "\n";
    if (!i.reason.empty())
      notes += i.name + " " + std::string(plugins::to_string(i.state)) + ": " + i.reason + "\n";
    for (const std::string& line : i.quarantined) notes += i.name + " left out " + line + "\n";
    for (const std::string& line : i.changed)
      notes += i.name + ": " + line + " while it was opened; put back\n";
  }
  if (!notes.empty()) std::cout << "\n" << notes;
}

}  // namespace

void plugins(bool load, bool json) {
  if (load) tenon::plugins::open_all();
  std::vector<Info> all = tenon::plugins::list();
  std::vector<std::string> folders = tenon::plugins::search_folders();
  if (json) {
    nlohmann::ordered_json out = {{"folders", folders},
                                  {"plugins", nlohmann::ordered_json::array()}};
    for (const Info& i : all) out["plugins"].push_back(to_json(i));
    if (load) out["engines"] = engines_to_json();
    std::cout << out.dump(2) << "\n";
    return;
  }
  if (all.empty()) {
    std::cout << "No plugin was found. Put a plugin's two files (libtenon_NAME.so, "
                 "libtenon_NAME.json) into one of\n"
                 "these folders, or name their folder in TENON_ADD_PLUGIN_PATH:\n";
  } else {
    print_table(all);
    print_notes(all);
    const std::string engines = load ? engine_table() : "";
    if (!engines.empty()) std::cout << "\n" << engines;
    std::cout << "\nSearched:\n";
  }
  for (const std::string& f : folders) std::cout << "  " << f << "\n";
  if (!load && !all.empty()) {
    std::cout << "\nA found plugin opens at the first use of its device. --load opens all now.\n";
  }
}

}  // namespace tenon::command
