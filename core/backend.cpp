// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A plugin's kernels in the table, and the services it gets.
#include "tenon/core/backend.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "core/call.h"
#include "core/call_by_name.h"
#include "core/device_registry.h"
#include "core/in_flight.h"
#include "core/serialise.h"
#include "core/settings.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/log.h"
#include "tenon/core/threads.h"

namespace tenon::core {

struct BackendImpl {
  const tn_plugin* plugin;
  int slot;
  int priority;
  std::vector<std::pair<Cell*, std::unique_ptr<KernelEntry>>> entries;
  std::vector<int> layouts, ops;
  std::vector<ScalarType> dtypes;
  std::vector<std::unique_ptr<SerialKernel>> serial;  // what their kernels are then
};

namespace {

std::string_view view(tn_str s) { return {s.ptr, s.len}; }

// A later one of the same cell would hide an earlier one of its own plugin for ever.
bool same_place(const tn_kernel& a, const tn_kernel& b) {
  return view(a.op) == view(b.op) && view(a.dtypes) == view(b.dtypes) && view(a.layouts) == view(b.layouts) &&
         a.priority == b.priority;
}

bool digest_matches(const Op& op, const tn_kernel& k) {
  if (std::memcmp(op.digest, k.digest, sizeof op.digest) == 0) return true;
  for (int i = 0; i < op.n_since; ++i) {
    if (std::memcmp(op.since[i], k.digest, sizeof op.digest) == 0) return true;
  }
  return false;
}

// "0=0,0=1": output = argument, both 0 to 7. ValueError for anything else: a pair that is not understood would be a
// promise that silently does not hold.
uint64_t parse_inplace(std::string_view text) {
  uint64_t bits = 0;
  const std::string_view all = text;
  const auto digit = [](char c) { return c >= '0' && c <= '7'; };
  for (bool more = !text.empty(); more;) {
    const std::size_t end = std::min(text.find(','), text.size());
    TENON_CHECK(end == 3 && digit(text[0]) && text[1] == '=' && digit(text[2]), ValueError, "in-place pairs '", all,
                "' cannot be read: expected OUTPUT=ARGUMENT, digits from 0 to 7, with ',' between");
    bits |= uint64_t{1} << (8 * (text[2] - '0') + (text[0] - '0'));
    more = end < text.size();
    text.remove_prefix(end + (more ? 1 : 0));
  }
  return bits;
}

DtypeMask masked(DtypeMask a, DtypeMask b) { return DtypeMask{{a.bits[0] & b.bits[0], a.bits[1] & b.bits[1]}}; }

// "a,b|c": a bit a layout, for each argument. Throws ValueError for a layout that no plugin has brought.
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
  // One for every device reaches it through other ops, which say for themselves whether a graph may hold them.
  if (view(plugin.device) == "any") e->flags |= TN_KERNEL_CAPTURE_SAFE;
  e->inplace = parse_inplace(view(k.inplace));
  e->dtypes = masked(parse_dtype_mask(view(k.dtypes), false), parse_dtype_mask(find_op(view(k.op))->dtypes));
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
    if (b.plugin->flags & TN_PLUGIN_SERIALISE) {
      b.serial.push_back(serialised(k));
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

void add_extensions(BackendImpl& b) {
  for (const tn_ext* e = b.plugin->ext; e != nullptr; e = e->next) {
    if (e->id == TN_EXT_LAYOUT) b.layouts.push_back(register_layout(reinterpret_cast<const tn_ext_layout*>(e)));
    if (e->id == TN_EXT_DTYPE) b.dtypes.push_back(register_dtype(reinterpret_cast<const tn_ext_dtype*>(e)));
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
    return "the row is not one that backends implement";
  if (!k.run) return "the kernel has no function";
  static constexpr uint8_t kNone[sizeof op->digest] = {};
  const bool unsigned_op = registered(*op) && std::memcmp(k.digest, kNone, sizeof kNone) == 0;
  if (!unsigned_op && !digest_matches(*op, k)) return join("plugin schema does not match ", op->schema);
  try {
    parse_dtype_mask(view(k.dtypes));
    parse_layouts(view(k.layouts));
    parse_inplace(view(k.inplace));
  } catch (const Error& error) {
    return error.msg();
  }
  return {};
}

namespace {
std::atomic<const tn_plugin*> g_device_plugin[kMaxDevices];  // whose device table serves the slot
}

const tn_ext* device_ext(int slot, uint32_t id) noexcept {
  const tn_plugin* p = g_device_plugin[slot].load(std::memory_order_acquire);
  const tn_ext* e = p != nullptr ? p->ext : nullptr;
  while (e != nullptr && e->id != id) e = e->next;
  return e;
}

void rehearse_backend(const tn_plugin& plugin) {
  if (plugin.device_api) (void)ask_device(view(plugin.device), *plugin.device_api);
}

BackendImpl* register_backend(const tn_plugin& plugin, OpRegistration& ops, RegisterReport& report, int priority) {
  auto b = std::make_unique<BackendImpl>();
  b->plugin = &plugin;
  b->priority = priority;
  b->slot = view(plugin.device) == "any" ? kAnyDevice : reserve_device(view(plugin.device));
  Extensions extensions(*b);
  for (const tn_kernel* const* p = plugin.kernels; p != plugin.kernels_end; ++p) {
    if (!*p) continue;
    bool twice =
        std::any_of(plugin.kernels, p, [&](const tn_kernel* earlier) { return earlier && same_place(*earlier, **p); });
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
      report.quarantined.push_back(
          join("devices: its count says ", told, "; the first ", kMaxOrdinals, " are used (TN_MAX_DEVICES)"));
    }
    g_device_plugin[b->slot].store(&plugin, std::memory_order_release);
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
      TENON_CHECK(layout_tensors(l) == 0, ValueError, layout_tensors(l), " tensors of layout ", layout_name(l),
                  " are alive");
    }
    if (b->plugin->device_api) {
      release_device(b->slot);
      g_device_plugin[b->slot].store(nullptr, std::memory_order_release);
    }
    drop_extensions(*b);
  } catch (...) {
    publish_all(*b);
    throw;
  }
  delete b;
}

namespace {

void host_set_error(tn_call* call, tn_str text) {
  if (!call || !call->context) return;
  try {
    static_cast<CallFrame*>(call->context)->error.assign(text.ptr, text.len);
  } catch (const std::bad_alloc&) {  // nothing is thrown into a plugin; the status goes without its words
  }
}

void host_log(int32_t level, tn_str text) { log(level, view(text)); }

// Runs a service; its exceptions become the status and the text of the call's error.
template <class Body>
tn_status serve(tn_call* call, Body body) {
  try {
    body(*static_cast<CallFrame*>(call->context));
    return TN_OK;
  } catch (const Error& e) {
    host_set_error(call, tn_str{e.msg().data(), e.msg().size()});
    return e.code();
  } catch (...) {
    return TN_ERROR_MEMORY;
  }
}

void check_shape(const char* service, int32_t ndim, const int64_t* sizes) {
  TENON_CHECK(ndim >= 0 && ndim <= kMaxDims, ValueError, service, ": a tensor has at most ", kMaxDims,
              " dimensions, got ", ndim);
  TENON_CHECK(ndim == 0 || sizes, ValueError, service, ": argument 'sizes' is null");
}

void give_output(CallFrame& f, tn_call* call, uint32_t i, Impl t) {
  f.targets[i] = t.get();
  if (f.form == Form::Functional) {
    f.outs[i] = t.leak();
    f.fresh |= 1u << i;
  } else {
    f.keep(std::move(t));
  }
  call->out[i].tag = TN_TAG_TENSOR;
  call->out[i].u.tensor = &f.targets[i]->view;
}

void check_output(const CallFrame& f, const char* service, uint32_t i) {
  TENON_CHECK(i < f.op().n_results, ValueError, service, ": there is no output ", i, "; the op has ", f.op().n_results);
}

tn_status host_alloc_out(tn_call* call, uint32_t i, int32_t ndim, const int64_t* sizes, tn_dtype dtype) {
  return serve(call, [&](CallFrame& f) {
    check_output(f, "alloc_out", i);
    TENON_CHECK(!f.targets[i], ValueError, "alloc_out: output ", i, " is sized already");
    check_shape("alloc_out", ndim, sizes);
    give_output(f, call, i, new_tensor(f.op().name, dtype_from_abi(dtype), f.slot, f.index, ndim, sizes));
  });
}

// The output's component, not there yet.
TensorImpl& open_component(CallFrame& f, const char* service, uint32_t i, uint32_t component) {
  check_output(f, service, i);
  TENON_CHECK(f.targets[i] && f.targets[i]->composite(), ValueError, service, ": output ", i, " is strided");
  TensorImpl& t = *f.targets[i];
  TENON_CHECK(component < static_cast<uint32_t>(t.components->n), ValueError, service, ": layout ",
              layout_name(t.layout_slot), " has no component ", component);
  TENON_CHECK(!t.components->impl[component], ValueError, service, ": component ", component, " of output ", i,
              " is there already");
  return t;
}

void set_checked(const char* service, TensorImpl& t, uint32_t component, Impl part) {
  const bool values = component + 1 == static_cast<uint32_t>(t.components->n);
  TENON_CHECK(!values || part->dtype == t.dtype, ValueError, service, ": the values of a tensor of dtype ",
              dtype_name(t.dtype), " cannot be ", dtype_name(part->dtype));
  t.set_component(static_cast<int>(component), std::move(part));
}

tn_status host_alloc_component(tn_call* call, uint32_t i, uint32_t component, int32_t ndim, const int64_t* sizes,
                               tn_dtype dtype) {
  return serve(call, [&](CallFrame& f) {
    TensorImpl& t = open_component(f, "alloc_component", i, component);
    check_shape("alloc_component", ndim, sizes);
    set_checked("alloc_component", t, component,
                new_tensor(f.op().name, dtype_from_abi(dtype), f.slot, f.index, ndim, sizes));
  });
}

tn_status host_share_component(tn_call* call, uint32_t i, uint32_t component, const tn_tensor* tensor) {
  return serve(call, [&](CallFrame& f) {
    check_output(f, "share_component", i);
    TENON_CHECK(tensor, ValueError, "share_component: argument 'tensor' is null");
    TensorImpl& from = *TensorImpl::from_any_view(tensor);
    TENON_CHECK(!from.composite(), ValueError, "share_component: a component is strided");
    if (!f.targets[i]) return give_output(f, call, i, from.alias(false));
    TensorImpl& t = open_component(f, "share_component", i, component);
    TENON_CHECK(from.slot == t.slot && from.index == t.index, ValueError, "share_component: the output is on ",
                t.device().str(), ", the tensor on ", from.device().str());
    // Memory is shared, geometry is not: its owner may resize the tensor.
    set_checked("share_component", t, component, from.alias(false));
  });
}

tn_status host_set_layout_flags(tn_call* call, uint32_t i, uint32_t flags) {
  return serve(call, [&](CallFrame& f) {
    check_output(f, "set_layout_flags", i);
    TENON_CHECK(f.targets[i] && f.targets[i]->composite(), ValueError, "set_layout_flags: output ", i, " is strided");
    f.targets[i]->view.flags = flags & ~0u << TN_LAYOUT_FLAG;
  });
}

int32_t host_num_threads() { return num_threads(); }
const tn_ext* host_get_ext(uint32_t) { return nullptr; }

tn_status host_call_op(tn_call* call, tn_str name, const tn_value* in, uint32_t n_in, tn_value* out, uint32_t n_out) {
  try {
    call_by_name(Caller::Kernel, view(name), in, n_in, out, n_out);
    return TN_OK;
  } catch (const Error& e) {
    host_set_error(call, tn_str{e.msg().data(), e.msg().size()});
    return e.code();
  } catch (const std::bad_alloc&) {
    return TN_ERROR_MEMORY;
  } catch (...) {
    return TN_ERROR;
  }
}

void host_release(tn_value* v) { release_value(*v); }

const tn_device_api* host_get_device_api(tn_str name, int32_t* type) {
  int slot = device_slot_from_name(view(name));
  if (slot < 0 || !device_entry(slot).api) return nullptr;
  if (type) *type = device_entry(slot).abi_type;
  return device_entry(slot).api;
}

// Nothing but its size is read before it is known to be there.
void check_schema(const tn_schema* schema) {
  constexpr std::size_t kLeast = offsetof(tn_schema, infer), kMost = 1 << 16;
  TENON_CHECK(schema && reinterpret_cast<uintptr_t>(schema) % alignof(tn_schema) == 0, ValueError,
              "register_op: the schema is null, or at an address that is no multiple of ", alignof(tn_schema));
  TENON_CHECK(schema->struct_size >= kLeast && schema->struct_size <= kMost, ValueError,
              "register_op: the schema says that it has ", schema->struct_size, " bytes; expected ", kLeast, " to ",
              kMost);
}

tn_status host_register_op(const tn_schema* schema) {
  try {
    check_schema(schema);
    register_op(*schema);
    return TN_OK;
  } catch (const Error& e) {
    log(TN_LOG_ERROR, e.msg());
    return e.code();
  } catch (const std::exception&) {
    return TN_ERROR_MEMORY;
  }
}

// The value is kept for as long as the process lives: plugins ask for a handful.
tn_status host_get_setting(tn_str name, tn_str* value) {
  static std::mutex lock;
  try {
    static auto& kept = *new std::set<std::string>;
    std::string v = setting(view(name));
    if (v.empty()) return TN_DECLINED;
    std::lock_guard<std::mutex> hold(lock);
    const std::string& text = *kept.insert(std::move(v)).first;
    *value = tn_str{text.data(), text.size()};
    return TN_OK;
  } catch (const std::bad_alloc&) {
    return TN_ERROR_MEMORY;
  }
}

const tn_host g_host = {
    sizeof(tn_host),      TN_ABI_MAJOR,         TN_ABI_MINOR,         host_set_error,   host_log,
    host_alloc_out,       parallel_for,         host_num_threads,     host_get_ext,     host_call_op,
    host_release,         host_get_device_api,  host_alloc_component, host_register_op, host_get_setting,
    host_share_component, host_set_layout_flags};

}  // namespace

const tn_host& host_table() { return g_host; }

}  // namespace tenon::core
