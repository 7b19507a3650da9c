// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Formats of programs that other libraries read for `load`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/jit/module.h"

namespace tenon::jit {

struct ForeignFormat {
  const char* name;  // in messages
  // Whether a file with these first bytes (up to 512) may be of the format.
  bool (*probe)(std::string_view head) noexcept;
  // `path` is empty for a stream; `bytes` is all of it, valid during the call. `extra` may be null.
  Module (*read)(const std::string& path, std::string_view bytes, std::optional<Device> device,
                 std::map<std::string, std::string>* extra);
  // What the file said of itself, for people; empty for a module that was not read by `read`.
  std::string (*describe)(const Module& module);
};

// `format` stays as long as the process. Formats are asked in the order of registration, before the
// reasons are looked for why a file is none of ours.
TENON_API void register_foreign_format(const ForeignFormat& format);

// The description by the format that read the module; empty: none did.
TENON_API std::string describe_foreign(const Module& module);

}  // namespace tenon::jit
