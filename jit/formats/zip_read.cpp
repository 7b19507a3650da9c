// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "jit/formats/mapped_file.h"
#include "jit/formats/zip.h"
#include "jit/formats/zip_layout.h"
#include "tenon/io/checksum.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

struct ZipReader::State {
  std::string file;  // its name, for messages
  std::string owned;
  std::optional<MappedFile> mapped;
  std::byte* data = nullptr;
  uint64_t size = 0;
  std::vector<Entry> entries;
  std::unordered_map<std::string_view, std::size_t> index;
  std::string root;

  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (!ok) throw ValueError(core::join("load: ", file, ": ", parts...));
  }
  const std::byte* at(uint64_t offset, uint64_t bytes, const char* what) const {
    check(offset <= size && bytes <= size - offset, what, " is outside of the file");
    return data + offset;
  }

  struct Directory {
    uint64_t offset = 0, bytes = 0, count = 0;
    uint64_t end = 0;  // where what follows it begins
  };
  struct Extent {  // of an entry in the file, its header included
    uint64_t begin, end;
    std::size_t entry;
  };
  Directory find_directory() const;
  void read_end64(uint64_t end_at, Directory& d) const;
  void read_directory();
  uint64_t read_entry(const std::byte* p, uint64_t left, uint64_t directory_at,
                      std::vector<Extent>& extents);
  void read_zip64(const std::byte* p, uint64_t bytes, Entry& e, uint64_t* header_at) const;
  Extent read_local(Entry& e, uint64_t at, uint16_t flags, uint64_t directory_at) const;
  void check_name(const std::string& name) const;
  void check_extents(std::vector<Extent>& extents) const;
  void find_root();
};

// The end record is at the end of the file, before a comment of the length that it gives.
ZipReader::State::Directory ZipReader::State::find_directory() const {
  check(size >= kEndBytes, "is not a zip archive: it has ", size, " bytes");
  const uint64_t last = size - kEndBytes;
  const uint64_t first = last > kNone16 ? last - kNone16 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    const std::byte* p = data + at;
    if (get32(p) != kEndMark || get16(p + 20) != last - at) continue;
    check(get16(p + 4) == 0 && get16(p + 6) == 0 && get16(p + 8) == get16(p + 10),
          "is a part of an archive of several files");
    Directory d{get32(p + 16), get32(p + 12), get16(p + 10), at};
    read_end64(at, d);
    check(d.offset <= d.end && d.bytes <= d.end - d.offset,
          "its list of entries reaches outside of the file");
    check(d.count <= d.bytes / kDirectoryBytes, "it promises ", d.count,
          " entries, of which its list has no place");
    return d;
  }
  check(false, "is not a zip archive, or is truncated: it has no end record");
  return {};
}

void ZipReader::State::read_end64(uint64_t end_at, Directory& d) const {
  const bool needed = d.offset == kNone32 || d.bytes == kNone32 || d.count == kNone16;
  const bool there =
      end_at >= kLocator64Bytes && get32(data + end_at - kLocator64Bytes) == kLocator64Mark;
  check(there || !needed, "its zip64 end record is missing");
  if (!there) return;
  const uint64_t locator = end_at - kLocator64Bytes, at = get64(data + locator + 8);
  check(at <= locator && locator - at >= kEnd64Bytes && get32(data + at) == kEnd64Mark,
        "its zip64 end record is not where it should be");
  const std::byte* p = data + at;
  check(get64(p + 4) == locator - at - 12 && get64(p + 24) == get64(p + 32) && get32(p + 16) == 0 &&
            get32(p + 20) == 0,
        "its zip64 end record is damaged");
  const Directory wide{get64(p + 48), get64(p + 40), get64(p + 32), at};
  check((d.offset == kNone32 || d.offset == wide.offset) &&
            (d.bytes == kNone32 || d.bytes == wide.bytes) &&
            (d.count == kNone16 || d.count == wide.count),
        "its two end records differ");
  d = wide;
}

void ZipReader::State::read_directory() {
  const Directory d = find_directory();
  entries.reserve(d.count);
  std::vector<Extent> extents;
  uint64_t at = 0;
  for (uint64_t i = 0; i < d.count; ++i) {
    check(d.bytes - at >= kDirectoryBytes, "its list of entries ends after ", i, " of ", d.count);
    at += read_entry(data + d.offset + at, d.bytes - at, d.offset, extents);
  }
  check(at == d.bytes, "its list of entries has ", d.bytes - at, " bytes after the last one");
  check_extents(extents);
  uint64_t inflated = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    check(index.emplace(e.name, i).second, "entry '", e.name, "' is there twice");
    if (e.deflated) inflated += e.size;
  }
  check(inflated <= kMaxInflated, "its entries have ", inflated,
        " bytes once inflated, of at most ", kMaxInflated);
  find_root();
}

void ZipReader::State::check_name(const std::string& name) const {
  const std::string shown = name.substr(0, 80);
  check(!name.empty() && name[0] != '/' && name.find('\0') == std::string::npos &&
            name.find('\\') == std::string::npos,
        "entry '", shown, "' has a name that is not allowed");
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find('/', from), name.size());
    const std::string_view part = std::string_view(name).substr(from, to - from);
    check(part != ".." && part != "." && (!part.empty() || to == name.size()), "entry '", shown,
          "' has a name that leaves the archive");
    from = to + 1;
  }
}

// Returns the bytes of the record; folders are left out.
uint64_t ZipReader::State::read_entry(const std::byte* p, uint64_t left, uint64_t directory_at,
                                      std::vector<Extent>& extents) {
  const uint64_t name_bytes = get16(p + 28), extra_bytes = get16(p + 30),
                 all = kDirectoryBytes + name_bytes + extra_bytes + get16(p + 32);
  check(get32(p) == kDirectoryMark && all <= left, "its list of entries is damaged");
  Entry e;
  e.name.assign(reinterpret_cast<const char*>(p + kDirectoryBytes), name_bytes);
  check_name(e.name);
  const uint16_t flags = get16(p + 8), method = get16(p + 10);
  check(!(flags & kFlagEncrypted), "entry '", e.name, "' is encrypted");
  check(method == kStored || method == kDeflated, "entry '", e.name, "' is compressed by method ",
        method, "; stored and deflated ones are read");
  e.deflated = method == kDeflated;
  e.crc = get32(p + 16);
  e.stored = get32(p + 20);
  e.size = get32(p + 24);
  uint64_t header_at = get32(p + 42);
  read_zip64(p + kDirectoryBytes + name_bytes, extra_bytes, e, &header_at);
  check(e.deflated ? e.size <= kMaxInflated && e.size / kMaxInflation <= e.stored
                   : e.size == e.stored,
        "entry '", e.name, "' of ", e.stored, " bytes has ", e.size, " bytes once inflated",
        e.deflated ? ", which is too many" : ", though it is stored");
  const Extent extent = read_local(e, header_at, flags, directory_at);
  if (e.name.back() == '/') {
    check(e.size == 0, "the folder '", e.name, "' has content");
    return all;
  }
  extents.push_back({extent.begin, extent.end, entries.size()});
  entries.push_back(std::move(e));
  return all;
}

// The zip64 field has those of the numbers that are not in the record, in this order. `header_at`
// is null for a local header.
void ZipReader::State::read_zip64(const std::byte* p, uint64_t bytes, Entry& e,
                                  uint64_t* header_at) const {
  for (uint64_t at = 0; at < bytes;) {
    check(bytes - at >= 4 && get16(p + at + 2) <= bytes - at - 4, "entry '", e.name,
          "' has a damaged extra field");
    const uint64_t length = get16(p + at + 2);
    const bool wide = get16(p + at) == kZip64Field;
    at += 4;
    uint64_t used = 0;
    const auto take = [&](uint64_t* v) {
      if (!wide || !v || *v != kNone32) return;
      check(length - used >= 8, "entry '", e.name, "' has a zip64 field that is too short");
      *v = get64(p + at + used);
      used += 8;
    };
    take(&e.size);
    take(&e.stored);
    take(header_at);
    at += length;
  }
}

ZipReader::State::Extent ZipReader::State::read_local(Entry& e, uint64_t at, uint16_t flags,
                                                      uint64_t directory_at) const {
  const std::string what = "the header of entry '" + e.name + "'";
  const std::byte* p = this->at(at, kLocalBytes, what.c_str());
  check(get32(p) == kLocalMark, what, " is not where the list of entries says");
  const uint64_t name_bytes = get16(p + 26), extra_bytes = get16(p + 28);
  (void)this->at(at, kLocalBytes + name_bytes + extra_bytes, what.c_str());
  const std::string_view name(reinterpret_cast<const char*>(p + kLocalBytes), name_bytes);
  check(name == e.name, what, " has another name: '", name.substr(0, 80), "'");
  check(get16(p + 8) == (e.deflated ? kDeflated : kStored) &&
            ((get16(p + 6) ^ flags) & (kFlagEncrypted | kFlagDescriptor)) == 0,
        what, " differs from the list of entries");
  Entry local;
  local.name = e.name;
  local.stored = get32(p + 18);
  local.size = get32(p + 22);
  local.crc = get32(p + 14);
  read_zip64(p + kLocalBytes + name_bytes, extra_bytes, local, nullptr);
  const bool later = (flags & kFlagDescriptor) && !local.stored && !local.size && !local.crc;
  const bool same = local.stored == e.stored && local.size == e.size && local.crc == e.crc;
  check(later || same, what, " differs from the list of entries");
  e.offset = at + kLocalBytes + name_bytes + extra_bytes;
  check(e.offset <= directory_at && e.stored <= directory_at - e.offset, "entry '", e.name,
        "' reaches outside of the file");
  return {at, e.offset + e.stored, 0};
}

void ZipReader::State::check_extents(std::vector<Extent>& extents) const {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < extents.size(); ++i) {
    check(extents[i - 1].end <= extents[i].begin, "entries '", entries[extents[i - 1].entry].name,
          "' and '", entries[extents[i].entry].name, "' overlap");
  }
}

void ZipReader::State::find_root() {
  if (entries.empty()) return;
  const std::size_t slash = entries[0].name.find('/');
  if (slash == std::string::npos) return;
  const std::string first = entries[0].name.substr(0, slash + 1);
  for (const Entry& e : entries) {
    if (e.name.compare(0, first.size(), first) != 0) return;
  }
  root = first;
}

ZipReader::ZipReader(std::unique_ptr<State> s) : state_(std::move(s)) {}
ZipReader::~ZipReader() = default;

std::shared_ptr<ZipReader> ZipReader::open(const std::string& path) {
  auto s = std::make_unique<State>();
  s->file = path;
  s->mapped.emplace(path);
  s->data = s->mapped->data();
  s->size = s->mapped->size();
  s->read_directory();
  return std::shared_ptr<ZipReader>(new ZipReader(std::move(s)));
}

std::shared_ptr<ZipReader> ZipReader::from_bytes(std::string bytes, std::string name) {
  auto s = std::make_unique<State>();
  s->file = std::move(name);
  s->owned = std::move(bytes);
  s->data = reinterpret_cast<std::byte*>(s->owned.data());
  s->size = s->owned.size();
  s->read_directory();
  return std::shared_ptr<ZipReader>(new ZipReader(std::move(s)));
}

const std::string& ZipReader::file() const noexcept { return state_->file; }
const std::vector<ZipReader::Entry>& ZipReader::entries() const noexcept { return state_->entries; }
const std::string& ZipReader::root() const noexcept { return state_->root; }

const ZipReader::Entry* ZipReader::find(std::string_view name) const {
  const auto it = state_->index.find(name);
  return it == state_->index.end() ? nullptr : &state_->entries[it->second];
}

namespace {

// Whether exactly `out` came out of exactly the bytes given.
bool inflate_all(const std::byte* in, uint64_t in_size, std::string& out) {
  z_stream z = {};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  uint64_t taken = 0, made = 0;
  int status = Z_OK;
  constexpr uint64_t kStep = uint64_t{1} << 30;
  while (status == Z_OK) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in + taken));
    z.avail_in = static_cast<uInt>(std::min(in_size - taken, kStep));
    z.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    z.avail_out = static_cast<uInt>(std::min(out.size() - made, kStep));
    const uint64_t in_before = z.avail_in, out_before = z.avail_out;
    status = inflate(&z, Z_NO_FLUSH);
    taken += in_before - z.avail_in;
    made += out_before - z.avail_out;
  }
  inflateEnd(&z);
  return status == Z_STREAM_END && taken == in_size && made == out.size();
}

}  // namespace

ZipReader::Bytes ZipReader::view(const Entry& e, bool check) const {
  state_->check(!e.deflated, "entry '", e.name, "' is compressed");
  std::byte* p = state_->data + e.offset;
  state_->check(!check || serialize::detail::crc32(0, p, e.stored) == e.crc, "entry '", e.name,
                "' is damaged: its checksum differs");
  return {p, e.stored};
}

std::string ZipReader::read(const Entry& e) const {
  if (!e.deflated) {
    const Bytes b = view(e, true);
    return std::string(reinterpret_cast<const char*>(b.data), b.size);
  }
  std::string out(e.size, '\0');
  state_->check(inflate_all(state_->data + e.offset, e.stored, out), "entry '", e.name,
                "' is damaged: it cannot be inflated");
  state_->check(serialize::detail::crc32(0, out.data(), out.size()) == e.crc, "entry '", e.name,
                "' is damaged: its checksum differs");
  return out;
}

bool ZipReader::mapped() const noexcept { return state_->mapped.has_value(); }

void ZipReader::release(Bytes view) const noexcept {
  if (state_->mapped) state_->mapped->release(view.data, view.size);
}

std::string ZipReader::read(std::string_view name) const {
  const Entry* e = find(name);
  TENON_CHECK(e, IndexError, "load: ", file(), ": there is no entry '", name, "'");
  return read(*e);
}

}  // namespace tenon::jit::formats
