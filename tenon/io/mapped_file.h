// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, mapped; by default so that they may be written without a change of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/runtime/export.h"

namespace tenon::serialize::detail {

class TENON_API MappedFile {
 public:
  MappedFile() = default;
  // ValueError names the file, what could not be done and the system's reason.
  explicit MappedFile(const std::string& path) : MappedFile("load", path, kWhole, false) {}
  // The first `bytes` of the file, for operator `op`. What is written to a `shared` one is written
  // to the file, which is made or grows where it is too short.
  MappedFile(const char* op, const std::string& path, uint64_t bytes, bool shared);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::byte* data() const noexcept { return data_; }
  uint64_t size() const noexcept { return size_; }
  // Drops the whole pages between: the process no longer holds them, what was written there is
  // lost, and what is read again comes from the file.
  void release(const std::byte* begin, uint64_t bytes) const noexcept;

 private:
  static constexpr uint64_t kWhole = UINT64_MAX;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace tenon::serialize::detail
