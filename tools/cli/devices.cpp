// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/device.h"

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "table.h"
#include "tenon/core/backend.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/backend_source.h"

namespace tenon::command {
namespace {

struct DeviceRow {
  std::string device, name, note;
  std::vector<std::string> served_by;
  uint64_t total = 0, free = 0;
  uint32_t units = 0;
  std::vector<std::string> flags;
};

std::vector<std::string> flag_names(uint32_t flags) {
  std::vector<std::string> out;
  if (flags & TN_DEVICE_HOST_READABLE) out.push_back("host-readable");
  if (flags & TN_DEVICE_ASYNC) out.push_back("asynchronous");
  if (flags & TN_DEVICE_OPAQUE) out.push_back("opaque");
  if (flags & TN_DEVICE_WANTS_PINNED) out.push_back("wants-pinned");
  return out;
}

std::vector<std::string> plugins_of(const std::string& device) {
  std::vector<std::string> out;
  for (const plugins::Info& i : tenon::plugins::list()) {
    if (i.state == plugins::State::Opened && i.device == device) {
      out.push_back(i.version.empty() ? i.name : i.name + " " + i.version);
    }
  }
  return out;
}

DeviceRow describe_device(const core::DeviceEntry& e, int index) {
  DeviceRow r;
  r.device = core::is_host_slot(e.slot) ? e.name : e.name + ":" + std::to_string(index);
  r.served_by = plugins_of(e.name);
  r.flags = flag_names(e.flags);
  tn_device_props props;
  std::memset(&props, 0, sizeof(props));
  props.struct_size = sizeof(props);
  if (e.api->props(e.api->context, index, &props) != TN_OK) {
    r.note = "its properties cannot be read";
    return r;
  }
  r.name.assign(props.name, strnlen(props.name, sizeof(props.name)));
  r.total = props.total_bytes;
  r.free = props.free_bytes;
  r.units = props.compute_units;
  return r;
}

std::vector<DeviceRow> list_devices() {
  core::backend_source().scan();  // makes the devices of all manifests known
  std::vector<DeviceRow> out;
  for (core::DeviceSlot slot = 0; slot < core::device_slots(); ++slot) {
    bool available = core::ensure_device(slot);
    const core::DeviceEntry& e = core::device_entry(slot);
    for (int i = 0; available && i < e.count; ++i) out.push_back(describe_device(e, i));
    if (available && out.back().served_by.empty()) {
      out.back().note = "memory only, no kernels: " + core::backend_source().why_absent(e.name);
    }
    if (available) continue;
    DeviceRow r;
    r.device = e.name;
    r.note = "not available: " + core::backend_source().why_absent(e.name);
    out.push_back(std::move(r));
  }
  return out;
}

std::string gib(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return bytes ? text : "-";
}

}  // namespace

void devices(bool json) {
  std::vector<DeviceRow> rows = list_devices();
  if (json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const DeviceRow& r : rows) {
      out.push_back({{"device", r.device},
                     {"name", r.name},
                     {"total_bytes", r.total},
                     {"free_bytes", r.free},
                     {"compute_units", r.units},
                     {"flags", r.flags},
                     {"served_by", r.served_by},
                     {"note", r.note}});
    }
    std::cout << out.dump(2) << "\n";
    return;
  }
  Table table({"DEVICE", "NAME", "MEMORY", "FREE", "SERVED BY", "FLAGS"});
  for (const DeviceRow& r : rows) {
    table.add({r.device, r.name.empty() ? "-" : r.name, gib(r.total), gib(r.free),
               r.served_by.empty() ? "no plugin" : join_list(r.served_by), join_list(r.flags)});
  }
  std::cout << table.text();
  for (const DeviceRow& r : rows) {
    if (!r.note.empty()) std::cout << "\n" << r.device << ": " << r.note << "\n";
  }
}

}  // namespace tenon::command
