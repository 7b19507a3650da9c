// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A file of records, as TensorFlow writes them:
//   8 bytes  length of the data, little-endian
//   4 bytes  masked CRC-32C of those
//   data
//   4 bytes  masked CRC-32C of the data
// Private to libtenon.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "tenon/runtime/export.h"

namespace tenon::io {

// CRC-32 with Castagnoli's polynomial.
TENON_API uint32_t crc32c(std::string_view bytes);
// The record of `data`.
TENON_API std::string frame_record(std::string_view data);

// A new file in a folder, which is made. Errors are ValueErrors that name the file.
class EventFile {
 public:
  EventFile(const std::string& folder, const std::string& suffix);
  void write(std::string_view data);
  void flush();
  const std::string& name() const noexcept { return name_; }

 private:
  void check() const;
  std::string name_;
  std::ofstream out_;
};

}  // namespace tenon::io
