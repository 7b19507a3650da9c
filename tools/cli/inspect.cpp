// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plugin's file declares: its descriptor, read in a child process that calls nothing but the
// entry.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "child.h"
#include "commands.h"
#include "elf_names.h"
#include "inspect.h"
#include "table.h"
#include "tenon/abi/ext/dtype.h"
#include "tenon/core/backend.h"
#include "tenon/core/dtype.h"
#include "tenon/core/layout.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxTextBytes = 4096, kMaxKernels = 1 << 16, kMaxExtensions = 256;

struct Bit {
  uint32_t bit;
  const char* name;
};
constexpr Bit kPluginFlags[] = {{TN_PLUGIN_UNLOADABLE, "unloadable"},
                                {TN_PLUGIN_SINGLE_THREADED, "single-threaded"},
                                {TN_PLUGIN_HOST_MEMORY, "host-memory"}};
constexpr Bit kKernelFlags[] = {
    {TN_KERNEL_ANY_STRIDES, "any-strides"},     {TN_KERNEL_MIXED_DTYPES, "mixed-dtypes"},
    {TN_KERNEL_CAPTURE_SAFE, "capture-safe"},   {TN_KERNEL_DYNAMIC, "dynamic"},
    {TN_KERNEL_HOST_BLOCKING, "host-blocking"}, {TN_KERNEL_NONDETERMINISTIC, "nondeterministic"},
    {TN_KERNEL_BROADCASTS, "broadcasts"}};

template <std::size_t N>
std::vector<std::string> names_of(uint32_t flags, const Bit (&bits)[N]) {
  std::vector<std::string> out;
  for (const Bit& b : bits) {
    if (flags & b.bit) out.push_back(b.name);
    flags &= ~b.bit;
  }
  if (flags) out.push_back(core::join("unknown bits ", flags));
  return out;
}

std::string text(tn_str s, const char* what) {
  TENON_CHECK(s.len <= kMaxTextBytes && (s.ptr || s.len == 0), ValueError, what,
              " is not a valid text: ", static_cast<unsigned long>(s.len), " bytes");
  return std::string(s.ptr ? s.ptr : "", s.len);
}

std::string extension_name(uint32_t id) {
  constexpr const char* kNames[] = {"",       "profiler",    "graph_capture",  "rng",
                                    "layout", "dtype",       "collective",     "dlpack",
                                    "ipc",    "jit_compile", "unified_memory", "onnx"};
  return id > 0 && id < std::size(kNames) ? kNames[id]
                                          : core::join("id ", id >> 16, ":", id & 0xffff);
}

ordered_json extensions_of(const tn_ext* e) {
  ordered_json out = ordered_json::array();
  for (std::size_t n = 0; e; e = e->next) {
    TENON_CHECK(++n <= kMaxExtensions, ValueError, "its chain of extensions does not end");
    std::string name;
    if (e->id == TN_EXT_LAYOUT && e->struct_size >= offsetof(tn_ext_layout, flags)) {
      name = text(reinterpret_cast<const tn_ext_layout*>(e)->name, "the name of a layout");
      if (!name.empty() && name.size() <= 64) core::reserve_layout(name);  // kernels may name it
    } else if (e->id == TN_EXT_DTYPE && e->struct_size >= offsetof(tn_ext_dtype, dtype_class)) {
      const auto* dtype = reinterpret_cast<const tn_ext_dtype*>(e);
      name = text(dtype->name, "the name of a dtype");
      if (e->struct_size >= sizeof *dtype)
        core::register_dtype(dtype);  // the same; this process ends soon
    }
    out.push_back(
        core::join(extension_name(e->id), " ", name, name.empty() ? "" : " ", "1.", e->minor));
  }
  return out;
}

// Only its init can say more of an op that the plugin registers itself.
bool is_own_op(const tn_kernel& k) {
  const std::string name = text(k.op, "the name of a kernel's op");
  return name.find("::") != std::string::npos && !core::find_op(name);
}

// The names of the functions that a device table has.
ordered_json functions_of(const tn_device_api* d) {
  ordered_json out = ordered_json::array();
#define TN_FUNCTION(f) \
  if (TN_HAS(d, tn_device_api, f) && d->f) out.push_back(#f);
#include "plugins/device_functions.def"
#undef TN_FUNCTION
  return out;
}

ordered_json kernel_of(const tn_kernel& k) {
  const bool own = is_own_op(k);
  const std::string fault = own ? "" : core::kernel_fault(k);
  return {{"op", text(k.op, "the name of a kernel's op")},
          {"dtypes", text(k.dtypes, "the dtypes of a kernel")},
          {"layouts", text(k.layouts, "the layouts of a kernel")},
          {"inplace", text(k.inplace, "the in-place pairs of a kernel")},
          {"priority", k.priority},
          {"flags", names_of(k.flags, kKernelFlags)},
          {"digest", own             ? "own op"
                     : fault.empty() ? "match"
                                     : "mismatch"},
          {"fault", fault}};
}

ordered_json kernels_of(const tn_plugin& p) {
  ordered_json out = ordered_json::array();
  TENON_CHECK((p.kernels == nullptr) == (p.kernels_end == nullptr) && p.kernels <= p.kernels_end &&
                  static_cast<std::size_t>(p.kernels_end - p.kernels) <= kMaxKernels,
              ValueError, "its table of kernels is damaged");
  for (const tn_kernel* const* k = p.kernels; k != p.kernels_end; ++k) {
    TENON_CHECK(*k && (*k)->struct_size >= offsetof(tn_kernel, workspace), ValueError, "kernel ",
                static_cast<long long>(k - p.kernels), " of its table is null or too short");
    out.push_back(kernel_of(**k));
  }
  return out;
}

ordered_json read_descriptor(const tn_plugin& theirs) {
  TENON_CHECK(theirs.struct_size >= offsetof(tn_plugin, flags) && theirs.struct_size <= (1 << 16),
              ValueError, "its descriptor says that it has ",
              static_cast<unsigned long>(theirs.struct_size), " bytes");
  ordered_json out = {
      {"abi", {{"major", theirs.abi_major}, {"target_minor", theirs.abi_target_minor}}}};
  if (theirs.abi_major != TN_ABI_MAJOR) return out;  // what follows may have another layout
  TENON_CHECK(theirs.struct_size >= offsetof(tn_plugin, shutdown), ValueError,
              "its descriptor is too short");
  tn_plugin p{};
  std::memcpy(&p, &theirs, std::min(theirs.struct_size, sizeof p));
  out["name"] = text(p.name, "its name");
  out["version"] = text(p.version, "its version");
  out["vendor"] = text(p.vendor, "its vendor");
  out["device"] = text(p.device, "its device");
  out["flags"] = names_of(p.flags, kPluginFlags);
  out["device_functions"] = p.device_api ? functions_of(p.device_api) : ordered_json::array();
  out["extensions"] = extensions_of(p.ext);
  out["kernels"] = kernels_of(p);
  return out;
}

ordered_json read_plugin(const std::string& path, const Send& send) {
  send("it is read\n");
  ElfNames names = read_elf(path);
  send("it is opened\n");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  TENON_CHECK(library, BackendError, std::string(dlerror()));
  auto entry = reinterpret_cast<tn_plugin_entry_fn>(dlsym(library, TN_PLUGIN_ENTRY));
  TENON_CHECK(entry, BackendError, path,
              ": does not export the function " TN_PLUGIN_ENTRY ": not a Tenon plugin");
  send(TN_PLUGIN_ENTRY " runs\n");
  const tn_plugin* p = entry();
  TENON_CHECK(p, BackendError, path, ": " TN_PLUGIN_ENTRY " returned no descriptor");
  send("its descriptor is read\n");
  ordered_json out = {{"file", path}};
  try {
    out.update(read_descriptor(*p));
  } catch (const Error& e) {
    throw BackendError(core::join(path, ": ", e.msg()));
  }
  out["needs"] = names.needed;
  out["exports"] = names.exports;
  return out;
}

// The texts of a file may hold anything; control characters do not reach the terminal.
std::string printable(std::string s) {
  for (char& c : s) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return s;
}

std::string list(const ordered_json& j) {
  std::string out = join_list(j.get<std::vector<std::string>>());
  return out.empty() ? "none" : printable(out);
}

void print(const ordered_json& j) {
  const ordered_json& abi = j["abi"];
  const int major = abi["major"], minor = abi["target_minor"];
  const bool newer = major == TN_ABI_MAJOR && minor > TN_ABI_MINOR;
  std::cout << j["file"].get<std::string>() << "\n\n";
  if (j.contains("name")) {
    std::cout << "  plugin      " << printable(j["name"]) << " " << printable(j["version"]);
    if (j["vendor"] != "") std::cout << ", by " << printable(j["vendor"]);
    std::cout << "\n";
  }
  std::cout << "  ABI         " << major << "." << minor << "; this core has " << TN_ABI_MAJOR
            << "." << TN_ABI_MINOR
            << (major != TN_ABI_MAJOR ? ": it cannot be loaded here"
                : newer               ? ": it needs a newer core"
                                      : "")
            << "\n";
  if (j.contains("name")) {
    std::cout << "  device      " << printable(j["device"]) << "\n  functions   "
              << list(j["device_functions"]) << "\n  flags       " << list(j["flags"])
              << "\n  extensions  " << list(j["extensions"]) << "\n";
  }
  std::cout << "  needs       " << list(j["needs"]) << "\n  exports     " << list(j["exports"])
            << "\n";
  if (!j.contains("name")) return;
  if (j["kernels"].empty()) {
    std::cout << "  kernels     none\n";
    return;
  }
  Table table({"OP", "DTYPES", "DIGEST", "PRIORITY", "INPLACE", "FLAGS"});
  int good = 0;
  for (const ordered_json& k : j["kernels"]) {
    std::string fault = k["fault"];
    good += fault.empty();
    const std::string inplace = printable(k["inplace"]);
    table.add({printable(k["op"]), printable(k["dtypes"]),
               fault.empty() ? printable(k["digest"]) : "left out: " + printable(fault),
               std::to_string(k["priority"].get<int>()), inplace.empty() ? "-" : inplace,
               list(k["flags"])});
  }
  std::cout << "  kernels     " << j["kernels"].size() << ", " << good
            << " of which this core takes\n\n"
            << table.text();
}

}  // namespace

ordered_json inspect_file(const std::string& path, int seconds) {
  ChildResult r = run_in_child(
      [&](const Send& send) {
        ordered_json out = read_plugin(path, send);
        send(out.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
      },
      seconds);
  const std::size_t last = r.text.rfind('\n');  // the text before is how far it came
  if (!r.failure.empty()) {
    if (r.failure.find(path) != std::string::npos) throw BackendError(r.failure);
    const std::size_t begin =
        last == std::string::npos || last == 0 ? 0 : r.text.rfind('\n', last - 1) + 1;
    throw BackendError(
        core::join(path, ": ", r.failure, ", while ",
                   last == std::string::npos ? "it began" : r.text.substr(begin, last - begin)));
  }
  return ordered_json::parse(r.text.substr(last + 1));
}

void inspect(const std::string& file, bool json, int seconds) {
  std::error_code ec;
  const std::string path = std::filesystem::canonical(file, ec).string();
  TENON_CHECK(!ec, ValueError, file, ": ", ec.message());
  TENON_CHECK(std::filesystem::is_regular_file(path, ec), ValueError, path, ": not a regular file");
  const ordered_json j = inspect_file(path, seconds);
  if (json)
    std::cout << j.dump(2) << "\n";
  else
    print(j);
}

}  // namespace tenon::command
