// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Messages of TCPStore: a length of 32 bits, then that many bytes. Numbers are little-endian, as
// the processors are that this is built for. A request is a kind and its fields; an answer is an
// outcome and what belongs to it.
#pragma once

#include <cstring>
#include <optional>

#include "distributed/store/bytes.h"

namespace tenon::distributed::wire {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

enum class Kind : uint8_t { Set = 1, CompareSet, Get, Add, Delete, Check, Count, Wait, Append };
enum class Outcome : uint8_t { Done = 0, Missing = 1, Fault = 2 };

constexpr std::size_t kMaxMessage = 256u << 20, kMaxKeys = 1u << 16;
constexpr std::size_t kMaxValue = kMaxMessage - 64;  // that an answer can hold

class Writer {
 public:
  Writer() : bytes_(4) {}
  template <class T>
  Writer& number(T v) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    bytes_.insert(bytes_.end(), p, p + sizeof v);
    return *this;
  }
  Writer& bytes(const void* data, std::size_t n) {
    number(static_cast<uint32_t>(n));
    const auto* p = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + n);
    return *this;
  }
  Writer& bytes(const Bytes& b) { return bytes(b.data(), b.size()); }
  Writer& bytes(const std::string& s) { return bytes(s.data(), s.size()); }
  Writer& keys(const std::vector<std::string>& keys) {
    number(static_cast<uint32_t>(keys.size()));
    for (const std::string& key : keys) bytes(key);
    return *this;
  }
  // The message with its length. ValueError: too long.
  Bytes take() {
    TENON_CHECK(bytes_.size() - 4 <= kMaxMessage, ValueError, "TCPStore: a message of ",
                bytes_.size() - 4, " bytes; at most ", kMaxMessage, " fit");
    const auto n = static_cast<uint32_t>(bytes_.size() - 4);
    std::memcpy(bytes_.data(), &n, sizeof n);
    return std::move(bytes_);
  }

 private:
  Bytes bytes_;
};

// Of bytes that anybody may have sent: DistributedError where they end too early.
class Reader {
 public:
  Reader(const uint8_t* at, std::size_t n) : at_(at), left_(n) {}
  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof v), sizeof v);
    return v;
  }
  Bytes bytes() {
    const auto n = number<uint32_t>();
    const uint8_t* p = take(n);
    return Bytes(p, p + n);
  }
  std::string string() { return to_string(bytes()); }
  std::vector<std::string> keys() {
    const auto n = number<uint32_t>();
    if (n > kMaxKeys) fail();
    std::vector<std::string> out;
    for (uint32_t i = 0; i < n; ++i) out.push_back(string());
    return out;
  }
  void end() const {
    if (left_) fail();
  }

 private:
  [[noreturn]] static void fail() { throw DistributedError("TCPStore: a message is malformed"); }
  const uint8_t* take(std::size_t n) {
    if (n > left_) fail();
    const uint8_t* p = at_;
    at_ += n;
    left_ -= n;
    return p;
  }
  const uint8_t* at_;
  std::size_t left_;
};

}  // namespace tenon::distributed::wire
