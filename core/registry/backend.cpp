// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A plugin's kernels in the table.
#include "tenon/core/backend.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/registry/cells.h"
#include "core/registry/exclusive_kernel.h"
#include "runtime/base/in_flight.h"
#include "runtime/device/device.h"
#include "runtime/device/extensions.h"
#include "runtime/stream/attach_device.h"
#include "tenon/core/extension.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

struct BackendImpl {
  const tn_plugin* plugin;
  DeviceSlot slot;
  int priority;
  std::vector<std::pair<Cell*, std::unique_ptr<KernelEntry>>> entries;
  std::vector<int> layouts, ops;
  std::vector<ScalarType> dtypes;
  std::vector<std::unique_ptr<SerialKernel>> serial;  // what their kernels are then
};

namespace {

std::string_view view(tn_str text) { return {text.ptr, text.len}; }

// A later one of the same cell would permanently hide an earlier one of its own plugin.
bool same_place(const tn_kernel& a, const tn_kernel& b) {
  return view(a.op) == view(b.op) && view(a.dtypes) == view(b.dtypes) &&
         view(a.layouts) == view(b.layouts) && a.priority == b.priority;
}

bool digest_matches(const Op& op, const tn_kernel& kernel) {
  if (std::memcmp(op.digest, kernel.digest, sizeof op.digest) == 0) return true;
  for (int i = 0; i < op.n_since; ++i) {
    if (std::memcmp(op.since[i], kernel.digest, sizeof op.digest) == 0) return true;
  }
  return false;
}

// "0=0,0=1": output = argument, both 0 to 7. ValueError for anything else: a pair that is not
// understood would be a promise that silently does not hold.
uint64_t parse_inplace(std::string_view text) {
  uint64_t bits = 0;
  const std::string_view all = text;
  const auto digit = [](char c) { return c >= '0' && c <= '7'; };
  for (bool more = !text.empty(); more;) {
    const std::size_t end = std::min(text.find(','), text.size());
    TENON_CHECK(end == 3 && digit(text[0]) && text[1] == '=' && digit(text[2]), ValueError,
                "in-place pairs '", all,
                "' cannot be read: expected OUTPUT=ARGUMENT, digits from 0 to 7, with ',' between");
    bits |= uint64_t{1} << (8 * (text[2] - '0') + (text[0] - '0'));
    more = end < text.size();
    text.remove_prefix(end + (more ? 1 : 0));
  }
  return bits;
}

DtypeMask masked(DtypeMask a, DtypeMask b) {
  return DtypeMask{{a.bits[0] & b.bits[0], a.bits[1] & b.bits[1]}};
}

// "a,b|c": a bit a layout, for each argument. Throws ValueError for a layout that no plugin has
// brought.
std::vector<uint8_t> parse_layouts(std::string_view text) {
  std::vector<uint8_t> out;
  for (bool next = true; !text.empty(); next = text.front() == ',', text.remove_prefix(1)) {
    const std::size_t end = std::min(text.find_first_of(",|"), text.size());
    const int slot = layout_slot_from_name(text.substr(0, end));
    TENON_CHECK(slot >= 0, ValueError, "unknown layout '", text.substr(0, end), "'");
    if (next) out.push_back(0);
    out.back() |= static_cast<uint8_t>(1u << slot);
    text.remove_prefix(end);
    if (text.empty()) break;
  }
  return out;
}

std::unique_ptr<KernelEntry> make_entry(const tn_plugin& plugin, int priority,
                                        const tn_kernel& kernel) {
  auto entry = std::make_unique<KernelEntry>();
  entry->kernel = &kernel;
  entry->plugin = &plugin;
  entry->run = kernel.run;
  entry->flags = kernel.flags;
  entry->plugin_priority = priority;
  // One for every device reaches it through other ops, which say for themselves whether a graph may
  // hold them.
  if (view(plugin.device) == "any") entry->flags |= TN_KERNEL_CAPTURE_SAFE;
  entry->inplace = parse_inplace(view(kernel.inplace));
  entry->dtypes = masked(parse_dtype_mask(view(kernel.dtypes), false),
                         parse_dtype_mask(find_op(view(kernel.op))->dtypes));
  entry->layouts = parse_layouts(view(kernel.layouts));
  return entry;
}

// An entry in the cell of each layout that the kernel names, or of strided.
void add_entries(BackendImpl& backend, const tn_kernel& kernel, RegisterReport& report) {
  if (std::string fault = kernel_fault(kernel); !fault.empty()) {
    report.quarantined.push_back(join(view(kernel.op), ": ", fault));
    return;
  }
  const Op& op = *find_op(view(kernel.op));
  uint32_t named = 0;
  for (uint8_t mask : parse_layouts(view(kernel.layouts))) named |= mask;
  if (op.kind == OpKind::View && (named & ~1u) == 0) named = 0;
  if (named == 0) named = 1;
  for (int l = 0; l < kMaxLayouts; ++l) {
    if (!(named >> l & 1) || (l == 0 && named != 1)) continue;
    auto entry = make_entry(*backend.plugin, backend.priority, kernel);
    if (backend.plugin->flags & TN_PLUGIN_SINGLE_THREADED) {
      backend.serial.push_back(serialized(kernel));
      entry->kernel = &backend.serial.back()->kernel;
      entry->run = entry->kernel->run;
    }
    backend.entries.emplace_back(&cell(op, backend.slot, l), std::move(entry));
  }
  ++report.kernels;
}

void publish_all(const BackendImpl& backend) {
  for (const auto& [c, e] : backend.entries) publish(*c, e.get());
}

// Room comes first: what is registered has to be in the list from which it is taken back.
void add_extensions(BackendImpl& backend) {
  for (const tn_ext* extension = backend.plugin->ext; extension != nullptr;
       extension = extension->next) {
    backend.layouts.reserve(backend.layouts.size() + 1);
    backend.dtypes.reserve(backend.dtypes.size() + 1);
    if (extension->id == TN_EXT_LAYOUT)
      backend.layouts.push_back(register_layout(reinterpret_cast<const tn_ext_layout*>(extension)));
    if (extension->id == TN_EXT_DTYPE)
      backend.dtypes.push_back(register_dtype(reinterpret_cast<const tn_ext_dtype*>(extension)));
  }
}

// Layouts and dtypes go first: kernels name them.
void drop_extensions(const BackendImpl& backend) {
  for (int l : backend.layouts) unregister_layout(l);  // throws while a tensor is alive
  for (ScalarType dtype : backend.dtypes) unregister_dtype(dtype);
  for (int op : backend.ops) withdraw_op(op);
}

// Registers what the plugin names, and takes it back if the rest of the registration fails.
struct Extensions {
  explicit Extensions(BackendImpl& backend) : backend(&backend) {
    try {
      add_extensions(backend);
    } catch (...) {
      drop_extensions(backend);
      throw;
    }
  }
  ~Extensions() {
    if (backend) drop_extensions(*backend);
  }
  BackendImpl* backend;
};

}  // namespace

std::string kernel_fault(const tn_kernel& kernel) {
  const Op* op = find_op(view(kernel.op));
  if (!op) return "this core has no such operator";
  const bool of_layout = view(kernel.layouts).find_first_not_of(',') != std::string_view::npos;
  if (op->kind == OpKind::Composite || (op->kind == OpKind::View && !of_layout))
    return "this operator is not one that backends implement";
  if (!kernel.run) return "the kernel has no function";
  static constexpr uint8_t kNone[sizeof op->digest] = {};
  const bool unsigned_op = registered(*op) && std::memcmp(kernel.digest, kNone, sizeof kNone) == 0;
  if (!unsigned_op && !digest_matches(*op, kernel))
    return join("plugin schema does not match ", op->schema);
  try {
    parse_dtype_mask(view(kernel.dtypes));
    parse_layouts(view(kernel.layouts));
    parse_inplace(view(kernel.inplace));
  } catch (const Error& error) {
    return error.msg();
  }
  return {};
}

void rehearse_backend(const tn_plugin& plugin) {
  if (plugin.device_api) (void)ask_device(view(plugin.device), *plugin.device_api);
}

BackendImpl* register_backend(const tn_plugin& plugin, OpRegistration& ops, RegisterReport& report,
                              int priority) {
  auto backend = std::make_unique<BackendImpl>();
  backend->plugin = &plugin;
  backend->priority = priority;
  const bool of_no_device = view(plugin.device) == "none";
  TENON_CHECK(!of_no_device || plugin.kernels == plugin.kernels_end, ValueError,
              "it serves no device (\"none\") and has kernels");
  backend->slot = of_no_device || view(plugin.device) == "any"
                      ? kAnyDevice
                      : reserve_device(view(plugin.device));
  Extensions extensions(*backend);
  for (const tn_kernel* const* at = plugin.kernels; at != plugin.kernels_end; ++at) {
    if (!*at) continue;
    bool twice = std::any_of(plugin.kernels, at, [&](const tn_kernel* earlier) {
      return earlier && same_place(*earlier, **at);
    });
    if (twice) {
      report.quarantined.push_back(join(view((*at)->op),
                                        ": a second kernel of this plugin for the same dtypes and "
                                        "priority; the first one serves"));
      continue;
    }
    add_entries(*backend, **at, report);
  }
  if (plugin.device_api) {
    if (const int told = attach_device(backend->slot, plugin.device_api); told > kMaxOrdinals) {
      report.quarantined.push_back(join("devices: its count says ", told, "; the first ",
                                        kMaxOrdinals, " are used (TN_MAX_DEVICES)"));
    }
    set_device_extensions(backend->slot, plugin.ext);
  }
  publish_extensions(plugin);
  publish_all(*backend);
  extensions.backend = nullptr;
  backend->ops = ops.keep();
  return backend.release();
}

void unregister_backend(BackendImpl* backend) {
  TENON_CHECK(!in_flight(), ValueError, "called from inside of an operator");
  withdraw(backend->plugin);
  withdraw_extensions(*backend->plugin);
  try {
    drain_flights();
    for (int l : backend->layouts) {
      TENON_CHECK(layout_tensors(l) == 0, ValueError, layout_tensors(l), " tensors of layout ",
                  layout_name(l), " are alive");
    }
    if (backend->plugin->device_api) {
      release_device(backend->slot);
      set_device_extensions(backend->slot, nullptr);
    }
    drop_extensions(*backend);
  } catch (...) {
    publish_extensions(*backend->plugin);
    publish_all(*backend);
    throw;
  }
  delete backend;
}

}  // namespace tenon::core
