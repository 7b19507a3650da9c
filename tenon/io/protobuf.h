// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes messages in the wire format of protocol buffers. Private to libtenon.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::io {

inline void put_little_endian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// A message that grows field by field; numbers of fields are those of its .proto.
class Message {
 public:
  Message& add_int(uint32_t field, int64_t value) {
    put_key(field, 0);
    put_varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& add_double(uint32_t field, double value) {
    put_key(field, 1);
    put_bits(value);
    return *this;
  }
  Message& add_float(uint32_t field, float value) {
    put_key(field, 5);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    put_little_endian(bytes_, bits, 4);
    return *this;
  }
  Message& add_bytes(uint32_t field, std::string_view value) {
    put_key(field, 2);
    put_varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& add(uint32_t field, const Message& value) { return add_bytes(field, value.bytes_); }
  Message& add_packed(uint32_t field, const std::vector<double>& values) {
    put_key(field, 2);
    put_varint(8 * values.size());
    for (const double v : values) put_bits(v);
    return *this;
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void put_key(uint32_t field, uint32_t type) { put_varint(field << 3 | type); }
  void put_varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
    bytes_ += static_cast<char>(v);
  }
  void put_bits(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    put_little_endian(bytes_, bits, 8);
  }
  std::string bytes_;
};

}  // namespace tenon::io
