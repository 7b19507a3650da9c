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
#include "tenon/core/error.h"
#include "tenon/core/log.h"
#include "tenon/core/threads.h"

namespace tenon::core {

struct BackendImpl {
  const tn_plugin* plugin;
  int slot;
  std::vector<std::unique_ptr<KernelEntry>> entries;
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

// "0=0,0=1": output = argument.
uint64_t parse_inplace(std::string_view text) {
  uint64_t bits = 0;
  for (std::size_t at = 0; at + 2 < text.size() + 1 && at < text.size();) {
    std::size_t end = text.find(',', at);
    if (end == std::string_view::npos) end = text.size();
    if (end - at == 3 && text[at + 1] == '=') {
      int out = text[at] - '0', arg = text[at + 2] - '0';
      if (out >= 0 && out < 8 && arg >= 0 && arg < 8) bits |= uint64_t{1} << (8 * arg + out);
    }
    at = end + 1;
  }
  return bits;
}

DtypeMask masked(DtypeMask a, DtypeMask b) { return DtypeMask{{a.bits[0] & b.bits[0], a.bits[1] & b.bits[1]}}; }

std::unique_ptr<KernelEntry> make_entry(const tn_plugin& plugin, const tn_kernel& k, RegisterReport& report) {
  if (std::string fault = kernel_fault(k); !fault.empty()) {
    report.quarantined.push_back(join(view(k.op), ": ", fault));
    return nullptr;
  }
  auto e = std::make_unique<KernelEntry>();
  e->kernel = &k;
  e->plugin = &plugin;
  e->run = k.run;
  e->flags = k.flags;
  e->inplace = parse_inplace(view(k.inplace));
  e->dtypes = masked(parse_dtype_mask(view(k.dtypes)), parse_dtype_mask(find_op(view(k.op))->dtypes));
  return e;
}

void publish_all(const BackendImpl& b) {
  for (const auto& e : b.entries) publish(cell(*find_op(view(e->kernel->op)), b.slot, 0), e.get());
}

}  // namespace

std::string kernel_fault(const tn_kernel& k) {
  const Op* op = find_op(view(k.op));
  if (!op) return "this core has no such operator";
  if (op->kind != OpKind::Kernel) return "the row is not one that backends implement";
  if (!k.run) return "the kernel has no function";
  if (!digest_matches(*op, k)) return join("plugin schema does not match ", op->schema);
  try {
    parse_dtype_mask(view(k.dtypes));
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

BackendImpl* register_backend(const tn_plugin& plugin, RegisterReport& report) {
  auto b = std::make_unique<BackendImpl>();
  b->plugin = &plugin;
  b->slot = reserve_device(view(plugin.device));
  for (const tn_kernel* const* p = plugin.kernels; p != plugin.kernels_end; ++p) {
    if (!*p) continue;
    bool twice =
        std::any_of(b->entries.begin(), b->entries.end(), [&](auto& e) { return same_place(*e->kernel, **p); });
    if (twice) {
      report.quarantined.push_back(join(view((*p)->op),
                                        ": a second kernel of this plugin for the same dtypes and "
                                        "priority; the first one serves"));
      continue;
    }
    std::unique_ptr<KernelEntry> e = make_entry(plugin, **p, report);
    if (!e) continue;
    if (plugin.flags & TN_PLUGIN_SERIALISE) {
      b->serial.push_back(serialised(**p));
      e->kernel = &b->serial.back()->kernel;
      e->run = e->kernel->run;
    }
    b->entries.push_back(std::move(e));
  }
  if (plugin.device_api) {
    attach_device(b->slot, plugin.device_api);
    g_device_plugin[b->slot].store(&plugin, std::memory_order_release);
  }
  publish_all(*b);
  report.kernels = static_cast<int>(b->entries.size());
  return b.release();
}

void unregister_backend(BackendImpl* b) {
  TENON_CHECK(!in_flight(), ValueError, "called from inside of an operator");
  withdraw(b->plugin);
  try {
    drain_flights();
    if (b->plugin->device_api) {
      release_device(b->slot);
      g_device_plugin[b->slot].store(nullptr, std::memory_order_release);
    }
  } catch (...) {
    publish_all(*b);
    throw;
  }
  delete b;
}

namespace {

void host_set_error(tn_call* call, tn_str text) {
  if (call && call->context) static_cast<CallFrame*>(call->context)->error.assign(text.ptr, text.len);
}

void host_log(int32_t level, tn_str text) { log(level, view(text)); }

tn_status host_alloc_out(tn_call* call, uint32_t i, int32_t ndim, const int64_t* sizes, tn_dtype dtype) {
  auto& f = *static_cast<CallFrame*>(call->context);
  try {
    TENON_CHECK(i < f.op().n_results, ValueError, "alloc_out: there is no output ", i, "; the op has ",
                f.op().n_results);
    TENON_CHECK(!f.targets[i], ValueError, "alloc_out: output ", i, " is sized already");
    TENON_CHECK(ndim >= 0 && ndim <= kMaxDims, ValueError, "alloc_out: a tensor has at most ", kMaxDims,
                " dimensions, got ", ndim);
    TENON_CHECK(ndim == 0 || sizes, ValueError, "alloc_out: argument 'sizes' is null");
    Impl t = new_tensor(f.op().name, dtype_from_abi(dtype), f.slot, f.index, ndim, sizes);
    f.targets[i] = t.get();
    if (f.form == Form::Functional) {
      f.outs[i] = t.leak();
      f.fresh |= 1u << i;
    } else {
      f.keep(std::move(t));
    }
    call->out[i].tag = TN_TAG_TENSOR;
    call->out[i].u.tensor = &f.targets[i]->view;
    return TN_OK;
  } catch (const Error& e) {
    f.error = e.msg();
    return e.code();
  } catch (...) {
    return TN_ERROR_MEMORY;
  }
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

tn_status host_alloc_component(tn_call*, uint32_t, uint32_t, int32_t, const int64_t*, tn_dtype) {
  return TN_ERROR_UNSUPPORTED;
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
  }
}

// The value is kept for as long as the process lives: plugins ask for a handful.
tn_status host_get_setting(tn_str name, tn_str* value) {
  static std::mutex lock;
  static auto& kept = *new std::set<std::string>;
  std::string v = setting(view(name));
  if (v.empty()) return TN_DECLINED;
  std::lock_guard<std::mutex> hold(lock);
  const std::string& text = *kept.insert(std::move(v)).first;
  *value = tn_str{text.data(), text.size()};
  return TN_OK;
}

const tn_host g_host = {sizeof(tn_host), TN_ABI_MAJOR,        TN_ABI_MINOR,         host_set_error,   host_log,
                        host_alloc_out,  parallel_for,        host_num_threads,     host_get_ext,     host_call_op,
                        host_release,    host_get_device_api, host_alloc_component, host_register_op, host_get_setting};

}  // namespace

const tn_host& host_table() { return g_host; }

}  // namespace tenon::core
