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

std::string_view view(tn_str s) { return {s.ptr, s.len}; }

// A later one of the same cell would permanently hide an earlier one of its own plugin.
bool same_place(const tn_kernel& a, const tn_kernel& b) {
  return view(a.op) == view(b.op) && view(a.dtypes) == view(b.dtypes) &&
         view(a.layouts) == view(b.layouts) && a.priority == b.priority;
}

bool digest_matches(const Op& op, const tn_kernel& k) {
  if (std::memcmp(op.digest, k.digest, sizeof op.digest) == 0) return true;
  for (int i = 0; i < op.n_since; ++i) {
    if (std::memcmp(op.since[i], k.digest, sizeof op.digest) == 0) return true;
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

std::unique_ptr<KernelEntry> make_entry(const tn_plugin& plugin, int priority, const tn_kernel& k) {
  auto e = std::make_unique<KernelEntry>();
  e->kernel = &k;
  e->plugin = &plugin;
  e->run = k.run;
  e->flags = k.flags;
  e->plugin_priority = priority;
  // One for every device reaches it through other ops, which say for themselves whether a graph may
  // hold them.
  if (view(plugin.device) == "any") e->flags |= TN_KERNEL_CAPTURE_SAFE;
  e->inplace = parse_inplace(view(k.inplace));
  e->dtypes = masked(parse_dtype_mask(view(k.dtypes), false),
                     parse_dtype_mask(find_op(view(k.op))->dtypes));
  e->layouts = parse_layouts(view(k.layouts));
  return e;
}

// An entry in the cell of each layout that the kernel names, or of strided.
void add_entries(BackendImpl& b, const tn_kernel& k, RegisterReport& report) {
  if (std::string fault = kernel_fault(k); !fault.empty()) {
    report.quarantined.push_back(join(view(k.op), ": ", fault));
    return;
  }
  const Op& op = *find_op(view(k.op));
  uint32_t named = 0;
  for (uint8_t mask : parse_layouts(view(k.layouts))) named |= mask;
  if (op.kind == OpKind::View && (named & ~1u) == 0) named = 0;
  if (named == 0) named = 1;
  for (int l = 0; l < kMaxLayouts; ++l) {
    if (!(named >> l & 1) || (l == 0 && named != 1)) continue;
    auto e = make_entry(*b.plugin, b.priority, k);
    if (b.plugin->flags & TN_PLUGIN_SINGLE_THREADED) {
      b.serial.push_back(serialized(k));
      e->kernel = &b.serial.back()->kernel;
      e->run = e->kernel->run;
    }
    b.entries.emplace_back(&cell(op, b.slot, l), std::move(e));
  }
  ++report.kernels;
}

void publish_all(const BackendImpl& b) {
  for (const auto& [c, e] : b.entries) publish(*c, e.get());
}

// Room comes first: what is registered has to be in the list from which it is taken back.
void add_extensions(BackendImpl& b) {
  for (const tn_ext* e = b.plugin->ext; e != nullptr; e = e->next) {
    b.layouts.reserve(b.layouts.size() + 1);
    b.dtypes.reserve(b.dtypes.size() + 1);
    if (e->id == TN_EXT_LAYOUT)
      b.layouts.push_back(register_layout(reinterpret_cast<const tn_ext_layout*>(e)));
    if (e->id == TN_EXT_DTYPE)
      b.dtypes.push_back(register_dtype(reinterpret_cast<const tn_ext_dtype*>(e)));
  }
}

// Layouts and dtypes go first: kernels name them.
void drop_extensions(const BackendImpl& b) {
  for (int l : b.layouts) unregister_layout(l);  // throws while a tensor is alive
  for (ScalarType t : b.dtypes) unregister_dtype(t);
  for (int op : b.ops) withdraw_op(op);
}

// Registers what the plugin names, and takes it back if the rest of the registration fails.
struct Extensions {
  explicit Extensions(BackendImpl& b) : backend(&b) {
    try {
      add_extensions(b);
    } catch (...) {
      drop_extensions(b);
      throw;
    }
  }
  ~Extensions() {
    if (backend) drop_extensions(*backend);
  }
  BackendImpl* backend;
};

}  // namespace

std::string kernel_fault(const tn_kernel& k) {
  const Op* op = find_op(view(k.op));
  if (!op) return "this core has no such operator";
  const bool of_layout = view(k.layouts).find_first_not_of(',') != std::string_view::npos;
  if (op->kind == OpKind::Composite || (op->kind == OpKind::View && !of_layout))
    return "this operator is not one that backends implement";
  if (!k.run) return "the kernel has no function";
  static constexpr uint8_t kNone[sizeof op->digest] = {};
  const bool unsigned_op = registered(*op) && std::memcmp(k.digest, kNone, sizeof kNone) == 0;
  if (!unsigned_op && !digest_matches(*op, k))
    return join("plugin schema does not match ", op->schema);
  try {
    parse_dtype_mask(view(k.dtypes));
    parse_layouts(view(k.layouts));
    parse_inplace(view(k.inplace));
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
  auto b = std::make_unique<BackendImpl>();
  b->plugin = &plugin;
  b->priority = priority;
  b->slot = view(plugin.device) == "any" ? kAnyDevice : reserve_device(view(plugin.device));
  Extensions extensions(*b);
  for (const tn_kernel* const* p = plugin.kernels; p != plugin.kernels_end; ++p) {
    if (!*p) continue;
    bool twice = std::any_of(plugin.kernels, p, [&](const tn_kernel* earlier) {
      return earlier && same_place(*earlier, **p);
    });
    if (twice) {
      report.quarantined.push_back(join(view((*p)->op),
                                        ": a second kernel of this plugin for the same dtypes and "
                                        "priority; the first one serves"));
      continue;
    }
    add_entries(*b, **p, report);
  }
  if (plugin.device_api) {
    if (const int told = attach_device(b->slot, plugin.device_api); told > kMaxOrdinals) {
      report.quarantined.push_back(join("devices: its count says ", told, "; the first ",
                                        kMaxOrdinals, " are used (TN_MAX_DEVICES)"));
    }
    set_device_extensions(b->slot, plugin.ext);
  }
  publish_all(*b);
  extensions.backend = nullptr;
  b->ops = ops.keep();
  return b.release();
}

void unregister_backend(BackendImpl* b) {
  TENON_CHECK(!in_flight(), ValueError, "called from inside of an operator");
  withdraw(b->plugin);
  try {
    drain_flights();
    for (int l : b->layouts) {
      TENON_CHECK(layout_tensors(l) == 0, ValueError, layout_tensors(l), " tensors of layout ",
                  layout_name(l), " are alive");
    }
    if (b->plugin->device_api) {
      release_device(b->slot);
      set_device_extensions(b->slot, nullptr);
    }
    drop_extensions(*b);
  } catch (...) {
    publish_all(*b);
    throw;
  }
  delete b;
}

}  // namespace tenon::core
