// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "handshake.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "tenon/core/error.h"

namespace tenon::plugins {
namespace {

constexpr std::size_t kMaxName = 64, kMaxText = 4096;
constexpr std::size_t kMaxKernels = 1 << 16;

template <class... Parts>
[[noreturn]] void refuse(const Library& lib, const Parts&... parts) {
  throw BackendError(core::join(lib.path().string(), ": ", parts...));
}

// The first fields up to the version keep their places for ever, so they can be read before anything is known.
const tn_plugin& descriptor_of(const Library& lib) {
  auto entry = reinterpret_cast<tn_plugin_entry_fn>(lib.symbol(TN_PLUGIN_ENTRY));
  if (!entry) refuse(lib, "does not export the function " TN_PLUGIN_ENTRY ": not a Tenon plugin");
  const tn_plugin* p = entry();
  if (!p) refuse(lib, TN_PLUGIN_ENTRY " returned no descriptor");
  if (p->struct_size < offsetof(tn_plugin, flags) || p->struct_size > (1 << 16)) {
    refuse(lib, "its descriptor says that it has ", static_cast<unsigned long>(p->struct_size), " bytes");
  }
  return *p;
}

void check_version(const Library& lib, const tn_plugin& p) {
  if (p.abi_major == TN_ABI_MAJOR && p.abi_target_minor <= TN_ABI_MINOR) return;
  std::string name = TN_HAS(&p, tn_plugin, name) && p.abi_major == TN_ABI_MAJOR && p.name.len <= kMaxName
                         ? text(p.name)
                         : lib.path().stem().string();
  refuse(lib, "plugin ", name, " speaks ABI ", p.abi_major, ".", p.abi_target_minor, ", core ", TN_ABI_MAJOR, ".",
         TN_ABI_MINOR,
         p.abi_major > TN_ABI_MAJOR || p.abi_major == TN_ABI_MAJOR ? ": it needs a newer core"
                                                                   : ": it needs an older core");
}

bool plain_name(tn_str s) {
  return s.ptr && s.len > 0 && s.len <= kMaxName && std::all_of(s.ptr, s.ptr + s.len, [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                  c == '.';
         });
}

std::string device_fault(const tn_device_api* d) {
  if (!d) return "it has no device table and does not say TN_PLUGIN_HOST_MEMORY";
  if (d->struct_size < offsetof(tn_device_api, fill)) return "its device table is too short for the required functions";
  struct {
    const char* name;
    bool there;
  } required[] = {{"count", d->count != nullptr}, {"props", d->props != nullptr}, {"alloc", d->alloc != nullptr},
                  {"free", d->free != nullptr},   {"copy", d->copy != nullptr},   {"sync", d->sync != nullptr}};
  for (auto& r : required) {
    if (!r.there) return core::join("its device table lacks the required function ", r.name);
  }
  return {};
}

std::string table_fault(const tn_plugin& p) {
  if (!plain_name(p.name)) return "its descriptor has no usable name";
  if (!plain_name(p.device)) return "its descriptor names no device";
  if (p.version.len > kMaxText || p.vendor.len > kMaxText) return "its version or vendor text is too long";
  if (!p.init) return "its descriptor has no init";
  if ((p.kernels == nullptr) != (p.kernels_end == nullptr) || p.kernels_end < p.kernels ||
      static_cast<std::size_t>(p.kernels_end - p.kernels) > kMaxKernels) {
    return "its table of kernels is damaged";
  }
  std::string where = core::join("kernel of ", text(p.name), " at place ");
  for (const tn_kernel* const* k = p.kernels; k != p.kernels_end; ++k) {
    std::string at = core::join(where, static_cast<long long>(k - p.kernels), " of its table ");
    if (!*k) return at + "is null";
    if ((*k)->struct_size < offsetof(tn_kernel, workspace)) return at + "is too short for the required fields";
    if (!(*k)->op.ptr || (*k)->op.len == 0 || (*k)->op.len > kMaxText) return at + "names no op";
    if (!(*k)->run) return core::join(at, "(", text((*k)->op), ") has no run function");
  }
  return (p.flags & TN_PLUGIN_HOST_MEMORY) && !p.device_api ? std::string() : device_fault(p.device_api);
}

void check_promise(const Library& lib, const char* what, const std::string& promised, tn_str found) {
  if (promised.empty() || promised == text(found)) return;
  refuse(lib, "its manifest gives the ", what, " '", promised, "', the library '", text(found), "'");
}

void call_shutdown(const tn_plugin& p) noexcept {
  if (!p.shutdown) return;
  try {
    p.shutdown();
  } catch (...) {  // a foreign exception breaks rule 7 of base.h, but there is nothing left to undo
  }
}

// True: it serves something. False: no device here.
bool call_init(const Library& lib, const tn_plugin& p, std::string& why_no_device) {
  tn_str why = {nullptr, 0};
  tn_status status = TN_ERROR;
  std::string thrown;
  try {
    status = p.init(&core::host_table(), &why);
  } catch (const std::exception& e) {
    thrown = e.what();
    refuse(lib, "init threw an exception: ", thrown);
  } catch (...) {
    refuse(lib, "init threw an exception");
  }
  std::string said = why.len <= kMaxText ? text(why) : std::string();
  if (status == TN_NO_DEVICE) {
    why_no_device = said.empty() ? "no such device in this machine" : said;
    return false;
  }
  if (status != TN_OK) refuse(lib, "init failed with status ", status, said.empty() ? "" : ": ", said);
  return true;
}

}  // namespace

Handshake shake_hands(const Library& lib, const Expected& expected) {
  const tn_plugin& theirs = descriptor_of(lib);
  check_version(lib, theirs);
  if (theirs.struct_size < offsetof(tn_plugin, shutdown)) refuse(lib, "its descriptor is too short");
  auto ours = std::make_unique<tn_plugin>();
  std::memset(ours.get(), 0, sizeof(tn_plugin));
  std::memcpy(ours.get(), &theirs, std::min(theirs.struct_size, sizeof(tn_plugin)));
  ours->struct_size = sizeof(tn_plugin);
  if (std::string fault = table_fault(*ours); !fault.empty()) refuse(lib, fault);
  check_promise(lib, "name", expected.name, ours->name);
  check_promise(lib, "device", expected.device, ours->device);
  if (std::count(expected.taken.begin(), expected.taken.end(), text(ours->name)) > 0) {
    refuse(lib, "a plugin named '", text(ours->name), "' is open already");
  }

  Handshake out;
  out.plugin = ours.get();
  if (call_init(lib, *ours, out.why_no_device)) {
    try {
      out.backend = core::register_backend(*ours, out.report);
    } catch (Error& e) {
      call_shutdown(*ours);
      refuse(lib, e.msg());
    } catch (const std::exception& e) {
      call_shutdown(*ours);
      refuse(lib, e.what());
    }
  } else {
    call_shutdown(*ours);
  }
  (void)ours.release();
  return out;
}

void part(Handshake& h) {
  if (!h.backend) return;
  core::unregister_backend(h.backend);
  call_shutdown(*h.plugin);
  delete h.plugin;
  h = {};
}

}  // namespace tenon::plugins
