// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "event_file.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "protobuf.h"
#include "tenon/runtime/error.h"

namespace tenon::io {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, HOST_NAME_MAX) == 0 && name[0] ? name : "localhost";
}

// Two writers of a process that start in the same second have different names.
std::string file_name(const std::string& suffix) {
  static std::atomic<int> next{0};
  std::string seconds = std::to_string(std::time(nullptr));
  if (seconds.size() < 10) seconds.insert(0, 10 - seconds.size(), '0');
  return core::join("events.out.tfevents.", seconds, ".", host_name(), ".",
                    static_cast<int64_t>(getpid()), ".", next++, suffix);
}

// Readers tell a checksum of data that has checksums in it by the mask.
uint32_t mask(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t v = i;
      for (int bit = 0; bit < 8; ++bit) v = v & 1 ? v >> 1 ^ 0x82f63b78u : v >> 1;
      t[i] = v;
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = table[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

std::string frame_record(std::string_view data) {
  std::string out;
  put_little_endian(out, data.size(), 8);
  put_little_endian(out, mask(crc32c(out)), 4);
  out += data;
  put_little_endian(out, mask(crc32c(data)), 4);
  return out;
}

EventFile::EventFile(const std::string& folder, const std::string& suffix) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  TENON_CHECK(!error, ValueError, "SummaryWriter: cannot make the folder '", folder,
              "': ", error.message());
  name_ = (std::filesystem::path(folder) / file_name(suffix)).string();
  errno = 0;
  out_.open(name_, std::ios::binary | std::ios::app);
  check();
}

void EventFile::check() const {
  TENON_CHECK(out_.good(), ValueError, "SummaryWriter: cannot write '", name_,
              "': ", std::generic_category().message(errno));
}

void EventFile::write(std::string_view data) {
  const std::string record = frame_record(data);
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
  check();
}

void EventFile::flush() {
  out_.flush();
  check();
}

}  // namespace tenon::io
