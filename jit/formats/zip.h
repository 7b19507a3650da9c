// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// ZIP archives as programs are saved in: read from a mapped file, written in one pass. Nothing in
// the file is trusted: offsets and sizes are checked against the file, entries may not overlap,
// names may not leave the archive, an inflated entry has at most 1000 times the bytes it is stored
// in, and all of them together at most kMaxInflated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

inline constexpr uint64_t kMaxInflated = uint64_t{4} << 30;
inline constexpr uint64_t kMaxInflation = 1000;

class TENON_API ZipReader {
 public:
  struct Entry {
    std::string name;  // whole, with root()
    uint64_t offset;   // of the data in the file
    uint64_t stored, size;
    uint32_t crc;
    bool deflated;
  };
  // Errors are ValueErrors that name the file, the entry and what is wrong.
  static std::shared_ptr<ZipReader> open(const std::string& path);
  static std::shared_ptr<ZipReader> from_bytes(std::string bytes, std::string name);
  ~ZipReader();

  const std::string& file() const noexcept;
  const std::vector<Entry>& entries() const noexcept;
  const Entry* find(std::string_view name) const;  // null if absent
  // The folder that all entries are in, with its slash: "resnet18/". Empty if there is none.
  const std::string& root() const noexcept;
  // The content, checksum checked. IndexError if there is no such entry.
  std::string read(std::string_view name) const;
  std::string read(const Entry& e) const;
  // The bytes of a stored entry, where they lie in the mapped file; they live as long as this. What
  // is written there changes this copy in memory, not the file. The checksum is checked when
  // `check`. ValueError for a deflated entry.
  struct Bytes {
    std::byte* data;
    uint64_t size;
  };
  Bytes view(const Entry& e, bool check) const;
  // f(); its errors get the names of the file and of the entry in front and keep their class.
  template <class F>
  auto in_entry(const std::string& entry, F f) const {
    try {
      return f();
    } catch (const Error& e) {
      core::throw_error(e.code(),
                        core::join("load: ", file(), ": entry '", entry, "': ", e.what()));
    }
  }
  // Whether the bytes are pages of a file.
  bool mapped() const noexcept;
  // Gives the memory of a view back to the system, where it is mapped; what was written is lost,
  // and what is read again comes from the file.
  void release(Bytes view) const noexcept;

 private:
  struct State;
  explicit ZipReader(std::unique_ptr<State> s);
  std::unique_ptr<State> state_;
};

// Entries are stored, their data at multiples of 64 bytes, as torch writes them.
class TENON_API ZipWriter {
 public:
  using Sink = std::function<void(const void* data, std::size_t bytes)>;
  explicit ZipWriter(std::string root);    // "archive": names become archive/name; "": they stay
  ZipWriter(std::string root, Sink sink);  // the bytes go to `sink` as they come
  ~ZipWriter();
  void add(std::string_view name, std::string_view content);
  void add(std::string_view name, const void* data, uint64_t size);
  // The archive, or "" where a sink took it. Nothing may be added after.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::jit::formats
