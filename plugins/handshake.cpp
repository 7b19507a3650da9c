// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "handshake.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "tenon/core/host_services.h"
#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

bool is_misaligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % alignof(void*) != 0; }

constexpr std::size_t kMaxName = 64, kMaxText = 4096;
constexpr std::size_t kMaxKernels = 1 << 16;
constexpr std::size_t kMaxStruct = 1 << 16;  // bytes of any one struct, of whatever minor

template <class... Parts>
[[noreturn]] TENON_INLINE void refuse(const Library& lib, const Parts&... parts) {
  core::throw_parts<BackendError>({lib.path().native(), ": ", core::MessagePart(parts)...});
}

// The fields up to the version never move, so they can be read before the version is known.
const tn_plugin& descriptor_of(const Library& lib, const Expected& expected) {
  auto entry = reinterpret_cast<tn_plugin_entry_fn>(lib.symbol(TN_PLUGIN_ENTRY));
  if (!entry) refuse(lib, "does not export the function " TN_PLUGIN_ENTRY ": not a Tenon plugin");
  if (expected.step) expected.step(TN_PLUGIN_ENTRY);
  const tn_plugin* p = entry();
  if (!p) refuse(lib, TN_PLUGIN_ENTRY " returned no descriptor");
  if (is_misaligned(p)) refuse(lib, "its descriptor is not 8-byte aligned");
  if (p->struct_size < offsetof(tn_plugin, flags) || p->struct_size > kMaxStruct) {
    refuse(lib, "its descriptor says that it has ", static_cast<unsigned long>(p->struct_size),
           " bytes");
  }
  return *p;
}

void check_version(const Library& lib, const tn_plugin& p) {
  if (p.abi_major == TN_ABI_MAJOR && p.abi_target_minor <= TN_ABI_MINOR) return;
  std::string name =
      TN_HAS(&p, tn_plugin, name) && p.abi_major == TN_ABI_MAJOR && p.name.len <= kMaxName
          ? text(p.name)
          : lib.path().stem().string();
  refuse(lib, "plugin ", name, " speaks ABI ", p.abi_major, ".", p.abi_target_minor, ", core ",
         TN_ABI_MAJOR, ".", TN_ABI_MINOR,
         p.abi_major > TN_ABI_MAJOR || p.abi_major == TN_ABI_MAJOR ? ": it needs a newer core"
                                                                   : ": it needs an older core");
}

bool is_plain_name(tn_str s) {
  return s.ptr && s.len > 0 && s.len <= kMaxName &&
         std::all_of(s.ptr, s.ptr + s.len, [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

// A tn_str whose pointer and length contradict each other, or that is longer than kMaxText.
bool is_malformed(tn_str s) { return (!s.ptr && s.len > 0) || s.len > kMaxText; }

// Before these calls only the size of the struct has been read.
std::size_t size_of(const tn_ext_layout& e) { return e.head.struct_size; }
std::size_t size_of(const tn_ext_dtype& e) { return e.head.struct_size; }
template <class T>
std::size_t size_of(const T& t) {
  return t.struct_size;
}

template <class T>
std::string size_fault(const char* what, const T* p, std::size_t min_size) {
  if (is_misaligned(p)) return core::join(what, " is not 8-byte aligned");
  const std::size_t size = size_of(*p);
  if (size < min_size) return core::join(what, " is too short for the required fields");
  if (size > kMaxStruct) return core::join(what, " says that it has ", size, " bytes");
  return {};
}

template <class T>
void copy_filled(T& to, const T& from) {
  std::memset(&to, 0, sizeof(T));
  std::memcpy(&to, &from, std::min(size_of(from), sizeof(T)));
  *reinterpret_cast<std::size_t*>(&to) = sizeof(T);  // the first field of each
}

std::string device_fault(const tn_device_api& d) {
  struct {
    const char* name;
    bool present;
  } required[] = {{"count", d.count != nullptr}, {"props", d.props != nullptr},
                  {"alloc", d.alloc != nullptr}, {"free", d.free != nullptr},
                  {"copy", d.copy != nullptr},   {"sync", d.sync != nullptr}};
  for (auto& r : required) {
    if (!r.present) return core::join("its device table lacks the required function ", r.name);
  }
  const struct {
    const char *create, *destroy;
    bool has_create, has_destroy;
  } pairs[] = {
      {"stream_create", "stream_destroy", d.stream_create != nullptr, d.stream_destroy != nullptr},
      {"event_create", "event_destroy", d.event_create != nullptr, d.event_destroy != nullptr},
      {"alloc_pinned", "free_pinned", d.alloc_pinned != nullptr, d.free_pinned != nullptr}};
  for (auto& p : pairs) {
    if (p.has_create && !p.has_destroy)
      return core::join("its device table has ", p.create, " and no ", p.destroy);
  }
  return {};
}

std::string copy_device(DescriptorCopy& c) {
  const tn_device_api* theirs = c.plugin.device_api;
  if (!theirs) {
    if (c.plugin.flags & TN_PLUGIN_HOST_MEMORY) return {};
    return "it has no device table and does not say TN_PLUGIN_HOST_MEMORY";
  }
  std::string fault = size_fault("its device table", theirs, offsetof(tn_device_api, fill));
  if (!fault.empty()) return fault;
  copy_filled(c.device.theirs, *theirs);
  guard_device(c.device);
  c.plugin.device_api = &c.device.table;
  return device_fault(c.device.theirs);
}

std::string kernel_fault(const tn_kernel& k, const std::string& at) {
  if (!k.op.ptr || k.op.len == 0 || k.op.len > kMaxText) return at + " names no op";
  std::string named = core::join(at, " (", text(k.op), ") ");
  if (!k.run) return named + "has no run function";
  if (is_malformed(k.dtypes)) return named + "has a malformed dtypes string";
  if (is_malformed(k.layouts)) return named + "has a malformed layouts string";
  if (is_malformed(k.inplace)) return named + "has a malformed inplace string";
  return {};
}

std::string copy_kernels(DescriptorCopy& c) {
  const tn_plugin& p = c.plugin;
  if ((p.kernels == nullptr) != (p.kernels_end == nullptr) || p.kernels_end < p.kernels) {
    return "its table of kernels is damaged: it ends before it begins";
  }
  // The difference of two pointers is exact for the compiler, which leaves out the rounding.
  if (is_misaligned(p.kernels) || is_misaligned(p.kernels_end))
    return "its table of kernels is not 8-byte aligned";
  std::size_t n = static_cast<std::size_t>(p.kernels_end - p.kernels);
  if (n > kMaxKernels)
    return core::join("its table has ", n, " kernels; expected at most ", kMaxKernels);
  c.kernels.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::string at = core::join("kernel of ", text(p.name), " at index ", i, " of its table");
    const tn_kernel* theirs = p.kernels[i];
    if (!theirs) return at + " is null";
    std::string fault = size_fault(at.c_str(), theirs, offsetof(tn_kernel, workspace));
    if (!fault.empty()) return fault;
    copy_filled(c.kernels[i], *theirs);
    if (fault = kernel_fault(c.kernels[i], at); !fault.empty()) return fault;
    c.pointers.push_back(&c.kernels[i]);
  }
  c.plugin.kernels = c.pointers.data();
  c.plugin.kernels_end = c.pointers.data() + n;
  return {};
}

template <class T>
std::string copy_extension(const tn_ext* theirs, const char* what, std::size_t min_size,
                           std::deque<T>& to, tn_ext**& end) {
  const T* given = reinterpret_cast<const T*>(theirs);
  if (std::string fault = size_fault(what, given, min_size); !fault.empty()) return fault;
  T& copied = to.emplace_back();
  copy_filled(copied, *given);
  copied.head.next = nullptr;
  *end = &copied.head;
  end = const_cast<tn_ext**>(&copied.head.next);
  return {};
}

std::string layout_fault(const tn_ext_layout& e) {
  if (!is_plain_name(e.name)) return "it provides a layout without a usable name";
  if (is_malformed(e.components) || is_malformed(e.flags))
    return core::join("its layout ", text(e.name), " has a malformed string");
  return {};
}

std::string dtype_fault(const tn_ext_dtype& e) {
  if (!is_plain_name(e.name)) return "it provides a dtype without a usable name";
  return is_malformed(e.dtype_class)
             ? core::join("its dtype ", text(e.name), " has a malformed string")
             : "";
}

// A node that core does not interpret. Fields that an older plugin lacks read as zero.
void copy_other(const tn_ext* theirs, std::deque<std::vector<uint64_t>>& to, tn_ext**& end) {
  constexpr std::size_t kLargestKnown = 512;
  const std::size_t bytes = std::max(theirs->struct_size, kLargestKnown);
  auto& node = to.emplace_back((bytes + 7) / 8);
  std::memcpy(node.data(), theirs, theirs->struct_size);
  auto* copied = reinterpret_cast<tn_ext*>(node.data());
  copied->next = nullptr;
  *end = copied;
  end = const_cast<tn_ext**>(&copied->next);
}

std::string copy_extensions(DescriptorCopy& c) {
  constexpr int kMaxExtensions = 256;
  const tn_ext* theirs = c.plugin.ext;
  tn_ext* first = nullptr;
  tn_ext** end = &first;
  for (int n = 0; theirs != nullptr; ++n, theirs = theirs->next) {
    if (n == kMaxExtensions)
      return core::join("its chain of extensions has more than ", kMaxExtensions, " nodes");
    if (std::string fault = size_fault("a node of its chain of extensions", theirs, sizeof(tn_ext));
        !fault.empty())
      return fault;
    std::string fault;
    if (theirs->id == TN_EXT_LAYOUT) {
      fault = copy_extension(theirs, "its layout", offsetof(tn_ext_layout, infer), c.layouts, end);
      if (fault.empty()) fault = layout_fault(c.layouts.back());
    } else if (theirs->id == TN_EXT_DTYPE) {
      fault = copy_extension(theirs, "its dtype", sizeof(tn_ext_dtype), c.dtypes, end);
      if (fault.empty()) fault = dtype_fault(c.dtypes.back());
    } else {
      copy_other(theirs, c.others, end);
    }
    if (!fault.empty()) return fault;
  }
  c.plugin.ext = first;
  return {};
}

// Copies what the descriptor points to; the first fault found, else empty.
std::string copy_tables(DescriptorCopy& c) {
  const tn_plugin& p = c.plugin;
  if (!is_plain_name(p.name)) return "its descriptor has no usable name";
  if (!is_plain_name(p.device)) return "its descriptor names no device";
  if (is_malformed(p.version)) return "its version string is malformed or longer than 4096 bytes";
  if (is_malformed(p.vendor)) return "its vendor string is malformed or longer than 4096 bytes";
  if (!p.init) return "its descriptor has no init";
  std::string fault = copy_kernels(c);
  if (fault.empty()) fault = copy_extensions(c);
  return fault.empty() ? copy_device(c) : fault;
}

// Reads every byte of the strings that a registration would read. The registration itself takes
// locks, which in a forked process may be held permanently by threads that do not exist there.
void read_texts(const DescriptorCopy& c) {
  volatile char seen = 0;
  const auto read = [&](tn_str s) {
    for (std::size_t i = 0; i < s.len; ++i) seen = s.ptr[i];
  };
  for (const tn_kernel& k : c.kernels) {
    for (tn_str s : {k.op, k.dtypes, k.layouts, k.inplace}) read(s);
  }
  for (const tn_ext_layout& e : c.layouts) {
    for (tn_str s : {e.name, e.components, e.flags}) read(s);
  }
  for (const tn_ext_dtype& e : c.dtypes) {
    for (tn_str s : {e.name, e.dtype_class}) read(s);
  }
}

void check_manifest_value(const Library& lib, const char* what, const std::string& stated,
                          tn_str found) {
  if (stated.empty() || stated == text(found)) return;
  refuse(lib, "its manifest gives the ", what, " '", stated, "', the library '", text(found), "'");
}

void call_shutdown(const tn_plugin& p) noexcept {
  if (!p.shutdown) return;
  try {
    p.shutdown();
  } catch (...) {  // a foreign exception breaks rule 7 of base.h, but there is nothing left to undo
  }
}

// True if it has a device to serve in this machine.
bool call_init(const Library& lib, const tn_plugin& p, std::string& why_no_device) {
  tn_str why = {nullptr, 0};
  tn_status status = TN_ERROR;
  std::string thrown;
  try {
    status = p.init(&core::host_table(), &why);
  } catch (const std::bad_alloc&) {
    throw;
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
  const char* transient =
      status == TN_ERROR_MEMORY ? strerror(ENOMEM) : "";  // recognized by this text (transient.h)
  if (status != TN_OK) {
    refuse(lib, "init failed with status ", status, said.empty() ? "" : ": ", said,
           *transient ? "; " : "", transient);
  }
  return true;
}

}  // namespace

Handshake negotiate(const Library& lib, const Expected& expected) {
  const tn_plugin& theirs = descriptor_of(lib, expected);
  check_version(lib, theirs);
  if (theirs.struct_size < offsetof(tn_plugin, shutdown))
    refuse(lib, "its descriptor is too short");
  auto copy = std::make_unique<DescriptorCopy>();
  tn_plugin* ours = &copy->plugin;
  copy_filled(*ours, theirs);
  if (std::string fault = copy_tables(*copy); !fault.empty()) refuse(lib, fault);
  check_manifest_value(lib, "name", expected.name, ours->name);
  check_manifest_value(lib, "device", expected.device, ours->device);
  if (std::count(expected.taken.begin(), expected.taken.end(), text(ours->name)) > 0) {
    refuse(lib, "a plugin named '", text(ours->name), "' is open already");
  }

  Handshake out;
  out.copy = copy.get();
  out.plugin = ours;
  if (expected.step) expected.step("init");
  core::OpRegistration ops;
  if (call_init(lib, *ours, out.why_no_device)) {
    try {
      if (expected.step) expected.step("its device's count and props");
      if (expected.rehearsal) {
        core::rehearse_backend(*ours);
        expected.step("the texts of its kernels and extensions");
        read_texts(*copy);
      } else {
        out.backend = core::register_backend(*ours, ops, out.report, expected.priority);
      }
    } catch (const std::bad_alloc&) {
      call_shutdown(*ours);
      throw;
    } catch (Error& e) {
      call_shutdown(*ours);
      if (e.code() == TN_ERROR_MEMORY) throw;
      refuse(lib, e.msg());
    } catch (const std::exception& e) {
      call_shutdown(*ours);
      refuse(lib, e.what());
    }
  } else {
    call_shutdown(*ours);
  }
  (void)copy.release();
  return out;
}

void release_plugin(Handshake& h) {
  if (!h.backend) return;
  core::unregister_backend(h.backend);
  call_shutdown(*h.plugin);
  delete h.copy;
  h = {};
}

}  // namespace tenon::plugins
