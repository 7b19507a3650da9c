// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_nccl/library.h"

#include <dlfcn.h>

#include "tenon/sdk/error.h"
#include "tenon/sdk/parallel.h"

namespace tenon::nccl_engine {
namespace {

// With communicators that do not block.
constexpr int kOldest = NCCL_VERSION(2, 14, 0);

Library& library() {
  static Library all;
  return all;
}

std::string text_of_version(int code) {
  return sdk::join(code / 10000, ".", code / 100 % 100, ".", code % 100);
}

// Null: `why` says what is missing.
void* open_file(std::string& why) {
  const std::string name(sdk::setting("NCCL_LIBRARY").value_or("libnccl.so.2"));
  void* const file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!file)
    why = sdk::join("NCCL was not found (PyPI: nvidia-nccl-cu12, nvidia-nccl-cu13; ",
                    "TENON_NCCL_LIBRARY names the file): ", std::string_view(dlerror()));
  return file;
}

std::string find_functions() {
  std::string why;
  void* const file = open_file(why);
  if (!file) return why;
  const auto find = [&](const char* name, auto& out) {
    out = reinterpret_cast<std::decay_t<decltype(out)>>(dlsym(file, name));
    if (!out && why.empty()) why = sdk::join("NCCL has no ", std::string_view(name));
  };
#define TENON_NCCL_FUNCTION(f) find(#f, library().f);
#include "plugin_nccl/functions.def"
  int version = 0;
  if (library().ncclGetVersion && library().ncclGetVersion(&version) != ncclSuccess)
    return "ncclGetVersion failed";
  if (library().ncclGetVersion && version < kOldest)
    return sdk::join("NCCL is of version ", text_of_version(version), "; expected ",
                     text_of_version(kOldest), " or newer");
  return why;
}

}  // namespace

const std::string& open_library() {
  static const auto& why = *new std::string(find_functions());
  return why;
}

const Library& nccl() { return library(); }

std::string version_text() {
  int version = 0;
  nccl().ncclGetVersion(&version);
  return text_of_version(version);
}

void check(ncclResult_t result, const char* call, ncclComm_t comm) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::string text =
      sdk::join(std::string_view(call), ": ", std::string_view(nccl().ncclGetErrorString(result)));
  const char* more = nccl().ncclGetLastError(comm);
  if (more && *more) text += sdk::join(" (", std::string_view(more), ")");
  throw Failure(text, result != ncclInvalidArgument && result != ncclInvalidUsage);
}

}  // namespace tenon::nccl_engine
