// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The records of a ZIP file, as PKWARE's APPNOTE describes them: little-endian, without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::jit::formats {

inline constexpr uint32_t kLocalMark = 0x04034b50, kDirectoryMark = 0x02014b50,
                          kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50,
                          kLocator64Mark = 0x07064b50;
inline constexpr uint64_t kLocalBytes = 30, kDirectoryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                          kLocator64Bytes = 20;
inline constexpr uint16_t kZip64Field = 1;         // of the extra fields
inline constexpr uint16_t kPaddingField = 0x4246;  // "FB"
inline constexpr uint16_t kFlagEncrypted = 1, kFlagDescriptor = 8, kFlagUtf8 = 0x800;
inline constexpr uint16_t kStored = 0, kDeflated = 8;
inline constexpr uint32_t kNone32 = 0xffffffff;  // the number is in the zip64 field
inline constexpr uint16_t kNone16 = 0xffff;

inline uint64_t get_number(const std::byte* p, int bytes) {
  uint64_t v = 0;
  for (int i = bytes; i-- > 0;) v = v << 8 | static_cast<uint8_t>(p[i]);
  return v;
}
inline uint16_t get16(const std::byte* p) { return static_cast<uint16_t>(get_number(p, 2)); }
inline uint32_t get32(const std::byte* p) { return static_cast<uint32_t>(get_number(p, 4)); }
inline uint64_t get64(const std::byte* p) { return get_number(p, 8); }

inline void put_number(std::string& out, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(v >> (8 * i) & 0xff);
}

}  // namespace tenon::jit::formats
