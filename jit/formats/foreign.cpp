// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/foreign.h"

#include <dlfcn.h>

#include <mutex>

#include "runtime/base/leaf_mutex.h"

namespace tenon::jit {
namespace {

struct Formats {
  core::LeafMutex mutex;
  std::vector<const ForeignFormat*> all;
};
Formats& formats_of_process() {
  static auto& f = *new Formats;
  return f;
}

const ForeignFormat* find_registered(std::string_view head) {
  Formats& f = formats_of_process();
  const std::lock_guard lock(f.mutex);
  for (const ForeignFormat* format : f.all)
    if (format->probe(head)) return format;
  return nullptr;
}

// The file that this code is in; empty if it is not known.
std::string own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&register_foreign_format), &info) == 0 ||
      !info.dli_fname)
    return {};
  return info.dli_fname;
}

// It registers what it reads while it is opened.
void open_onnx(std::string& reason) {
  constexpr const char* kLibrary = "libtenon_onnx.so." TENON_SOVERSION;
  const std::string file = own_file();
  const std::string folder = file.substr(0, file.rfind('/') + 1);
  // It would bring libtenon_jit along, whose types and operators would be there twice.
  if (file.compare(folder.size(), 12, "libtenon_jit") != 0) {
    reason = "this program has libtenon_jit compiled into it";
    return;
  }
  for (const std::string& name : {folder + kLibrary, std::string(kLibrary)}) {
    if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
    const char* error = dlerror();
    if (reason.empty() || name != kLibrary) reason = error ? error : "unknown reason";
    if (folder.empty()) return;
  }
}

}  // namespace

void register_foreign_format(const ForeignFormat& format) {
  Formats& f = formats_of_process();
  const std::lock_guard lock(f.mutex);
  f.all.push_back(&format);
}

std::string describe_foreign(const Module& module) {
  Formats& f = formats_of_process();
  std::vector<const ForeignFormat*> all;
  {
    const std::lock_guard lock(f.mutex);
    all = f.all;
  }
  for (const ForeignFormat* format : all)
    if (std::string text = format->describe(module); !text.empty()) return text;
  return {};
}

namespace formats {

bool may_be_onnx(std::string_view head) {
  if (head.size() < 3) return false;
  constexpr std::string_view kFirst = "\x08\x12\x1a\x22\x3a\x42";
  return kFirst.find(head[0]) != std::string_view::npos;
}

const ForeignFormat* find_foreign_format(std::string_view head, std::string& reason) {
  if (const ForeignFormat* f = find_registered(head)) return f;
  if (!may_be_onnx(head)) return nullptr;
  open_onnx(reason);
  return find_registered(head);
}

}  // namespace formats
}  // namespace tenon::jit
