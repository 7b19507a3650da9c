// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/formats/zip.h"
#include "jit/formats/zip_layout.h"
#include "tenon/io/checksum.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint16_t kNeeds = 20, kNeeds64 = 45;  // the version of the format that a reader needs
constexpr uint32_t kDate = 0x21 << 16;          // the first day of 1980, midnight

uint32_t narrow(uint64_t v) { return v < kNone32 ? static_cast<uint32_t>(v) : kNone32; }

// The numbers of an entry that a record of 32 bits has no place for.
std::string zip64_field(const std::vector<uint64_t>& numbers) {
  if (numbers.empty()) return "";
  std::string out;
  put_number(out, kZip64Field, 2);
  put_number(out, 8 * numbers.size(), 2);
  for (uint64_t v : numbers) put_number(out, v, 8);
  return out;
}

}  // namespace

struct ZipWriter::State {
  std::string root, bytes;
  Sink sink;
  uint64_t at = 0;
  std::string directory;
  uint64_t count = 0;
  bool finished = false;

  void write(const void* data, uint64_t n) {
    if (n == 0) return;
    if (sink)
      sink(data, n);
    else
      bytes.append(static_cast<const char*>(data), n);
    at += n;
  }
  void add(const std::string& name, const void* data, uint64_t size);
  void list(const std::string& name, uint64_t size, uint32_t crc, uint64_t header_at);
  void finish();
};

void ZipWriter::State::add(const std::string& name, const void* data, uint64_t size) {
  TENON_CHECK(!finished && name.size() < kNone16, ValueError, "save: entry '", name.substr(0, 80),
              finished ? "' comes after the end" : "' has a name that is too long");
  const uint64_t header_at = at;
  const uint32_t crc = serialize::detail::crc32(0, data, size);
  std::string extra =
      zip64_field(size >= kNone32 ? std::vector<uint64_t>{size, size} : std::vector<uint64_t>{});
  const uint64_t before = header_at + kLocalBytes + name.size() + extra.size() + 4;
  const uint64_t padding = (kAlignment - before % kAlignment) % kAlignment;
  put_number(extra, kPaddingField, 2);
  put_number(extra, padding, 2);
  extra.append(padding, 'Z');
  std::string header;
  put_number(header, kLocalMark, 4);
  put_number(header, size >= kNone32 ? kNeeds64 : kNeeds, 2);
  put_number(header, kFlagUtf8, 2);
  put_number(header, kStored, 2);
  put_number(header, kDate, 4);
  put_number(header, crc, 4);
  put_number(header, narrow(size), 4);
  put_number(header, narrow(size), 4);
  put_number(header, name.size(), 2);
  put_number(header, extra.size(), 2);
  header += name + extra;
  write(header.data(), header.size());
  write(data, size);
  list(name, size, crc, header_at);
}

void ZipWriter::State::list(const std::string& name, uint64_t size, uint32_t crc,
                            uint64_t header_at) {
  std::vector<uint64_t> wide;
  if (size >= kNone32) wide = {size, size};
  if (header_at >= kNone32) wide.push_back(header_at);
  const std::string extra = zip64_field(wide);
  std::string& d = directory;
  put_number(d, kDirectoryMark, 4);
  put_number(d, kNeeds64, 2);  // who made it
  put_number(d, wide.empty() ? kNeeds : kNeeds64, 2);
  put_number(d, kFlagUtf8, 2);
  put_number(d, kStored, 2);
  put_number(d, kDate, 4);
  put_number(d, crc, 4);
  put_number(d, narrow(size), 4);
  put_number(d, narrow(size), 4);
  put_number(d, name.size(), 2);
  put_number(d, extra.size(), 2);
  put_number(d, 0, 2);  // no comment
  put_number(d, 0, 8);  // disk and attributes
  put_number(d, narrow(header_at), 4);
  d += name + extra;
  ++count;
}

void ZipWriter::State::finish() {
  const uint64_t begin = at, size = directory.size();
  std::string end;
  if (begin >= kNone32 || size >= kNone32 || count >= kNone16) {
    put_number(end, kEnd64Mark, 4);
    put_number(end, kEnd64Bytes - 12, 8);
    put_number(end, kNeeds64, 2);
    put_number(end, kNeeds64, 2);
    put_number(end, 0, 8);  // disks
    put_number(end, count, 8);
    put_number(end, count, 8);
    put_number(end, size, 8);
    put_number(end, begin, 8);
    put_number(end, kLocator64Mark, 4);
    put_number(end, 0, 4);
    put_number(end, begin + size, 8);
    put_number(end, 1, 4);
  }
  put_number(end, kEndMark, 4);
  put_number(end, 0, 4);
  put_number(end, std::min<uint64_t>(count, kNone16), 2);
  put_number(end, std::min<uint64_t>(count, kNone16), 2);
  put_number(end, narrow(size), 4);
  put_number(end, narrow(begin), 4);
  put_number(end, 0, 2);
  write(directory.data(), size);
  write(end.data(), end.size());
  finished = true;
}

ZipWriter::ZipWriter(std::string root) : ZipWriter(std::move(root), nullptr) {}
ZipWriter::ZipWriter(std::string root, Sink sink) : state_(std::make_unique<State>()) {
  state_->root = std::move(root);
  state_->sink = std::move(sink);
}
ZipWriter::~ZipWriter() = default;

void ZipWriter::add(std::string_view name, std::string_view content) {
  add(name, content.data(), content.size());
}
void ZipWriter::add(std::string_view name, const void* data, uint64_t size) {
  const std::string& root = state_->root;
  state_->add(root + (root.empty() ? "" : "/") + std::string(name), data, size);
}
std::string ZipWriter::finish() {
  state_->finish();
  return std::move(state_->bytes);
}

}  // namespace tenon::jit::formats
