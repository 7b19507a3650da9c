// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "jit/formats/zip.h"
#include "jit/formats/zip_layout.h"
#include "tenon/io/checksum.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

std::string deflated(const std::string& text) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// An entry as it is written, right or wrong.
struct Raw {
  std::string name, stored;
  uint64_t size = 0;
  uint32_t crc = 0;
  uint16_t method = kStored, flags = 0;
  std::string local_name = name;
  bool descriptor = false;  // zeros in the local header
};
Raw stored(const std::string& name, const std::string& text) {
  Raw r{name, text};
  r.size = text.size();
  r.crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  return r;
}
Raw packed(const std::string& name, const std::string& text) {
  Raw r = stored(name, text);
  r.stored = deflated(text);
  r.method = kDeflated;
  return r;
}

struct End {
  uint64_t count, bytes, offset;
};

std::string archive(const std::vector<Raw>& entries, const std::function<void(End&)>& change = {}) {
  std::string out, directory;
  for (const Raw& e : entries) {
    const uint64_t at = out.size();
    const auto head = [&](std::string& to, const std::string& name, bool empty) {
      put_number(to, e.flags, 2);
      put_number(to, e.method, 2);
      put_number(to, 0, 4);
      put_number(to, empty ? 0 : e.crc, 4);
      put_number(to, empty ? 0 : e.stored.size(), 4);
      put_number(to, empty ? 0 : e.size, 4);
      put_number(to, name.size(), 2);
      put_number(to, 0, 2);
    };
    put_number(out, kLocalMark, 4);
    put_number(out, 20, 2);
    head(out, e.local_name, e.descriptor);
    out += e.local_name + e.stored;
    put_number(directory, kDirectoryMark, 4);
    put_number(directory, 20, 4);
    head(directory, e.name, false);
    put_number(directory, 0, 10);
    put_number(directory, at, 4);
    directory += e.name;
  }
  End end{entries.size(), directory.size(), out.size()};
  if (change) change(end);
  out += directory;
  put_number(out, kEndMark, 4);
  put_number(out, 0, 4);
  put_number(out, end.count, 2);
  put_number(out, end.count, 2);
  put_number(out, end.bytes, 4);
  put_number(out, end.offset, 4);
  put_number(out, 0, 2);
  return out;
}

std::string refusal(const std::string& bytes, const char* entry = nullptr) {
  try {
    auto zip = ZipReader::from_bytes(bytes, "f.pt");
    if (entry) (void)zip->read(entry);
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).rfind("load: f.pt: ", 0), 0u) << e.what();
    return std::string(e.what()).substr(12);
  }
  return "";
}

TEST(JitZip, ChecksumIsThatOfZlib) {
  std::string bytes(5000, '\0');
  uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (std::size_t n = 0; n < 700; ++n) {
    for (std::size_t from : {0, 1, 7}) {
      const auto* p = reinterpret_cast<const Bytef*>(bytes.data()) + from;
      ASSERT_EQ(serialize::detail::crc32(0, p, n), crc32_z(0, p, n)) << n << " from " << from;
    }
  }
  EXPECT_EQ(serialize::detail::crc32(0, bytes.data(), 5000),
            crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), 5000));
}

TEST(JitZip, WritesWhatItReads) {
  ZipWriter w("archive");
  const std::string big(100000, 'x');
  w.add("version", "3\n");
  w.add("data/0", big);
  w.add("empty", "");
  const std::string bytes = w.finish();
  auto zip = ZipReader::from_bytes(bytes, "f.pt");
  EXPECT_EQ(zip->root(), "archive/");
  EXPECT_EQ(zip->entries().size(), 3u);
  EXPECT_EQ(zip->read("archive/version"), "3\n");
  EXPECT_EQ(zip->read("archive/data/0"), big);
  EXPECT_EQ(zip->read("archive/empty"), "");
  EXPECT_FALSE(zip->find("version"));
  EXPECT_THROW((void)zip->read("version"), IndexError);
  for (const auto& e : zip->entries()) EXPECT_EQ(e.offset % 64, 0u) << e.name;
  const auto view = zip->view(*zip->find("archive/data/0"), true);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(view.data), view.size), big);
}

TEST(JitZip, AReleasedViewIsThatOfTheFileAgain) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ZipWriter w("archive");
  w.add("data/0", std::string(5 * page, 'a'));
  w.add("data/1", std::string(page, 'b'));
  const std::string bytes = w.finish();
  const auto path = std::filesystem::temp_directory_path() /
                    ("tenon_view_" + std::to_string(reinterpret_cast<uintptr_t>(&bytes)));
  std::ofstream(path, std::ios::binary) << bytes;
  {
    const auto zip = ZipReader::open(path);
    const auto first = zip->view(*zip->find("archive/data/0"), true),
               second = zip->view(*zip->find("archive/data/1"), true);
    std::memset(first.data, 'c', first.size);
    std::memset(second.data, 'c', second.size);
    zip->release(first);
    EXPECT_GE(std::count(first.data, first.data + first.size, std::byte{'a'}),
              static_cast<std::ptrdiff_t>(4 * page));
    // Also in the page that the two share.
    EXPECT_EQ(std::count(second.data, second.data + second.size, std::byte{'c'}),
              static_cast<std::ptrdiff_t>(second.size));
  }
  std::filesystem::remove(path);
}

TEST(JitZip, SinkGetsTheSameBytes) {
  std::string bytes;
  ZipWriter to_sink(
      "a", [&](const void* p, std::size_t n) { bytes.append(static_cast<const char*>(p), n); });
  ZipWriter w("a");
  for (ZipWriter* each : {&to_sink, &w}) each->add("x", "text");
  EXPECT_EQ(to_sink.finish(), "");
  EXPECT_EQ(w.finish(), bytes);
  EXPECT_THROW(w.add("y", ""), ValueError);
}

TEST(JitZip, ManyEntriesNeedZip64) {
  ZipWriter w("a");
  for (int i = 0; i < 70000; ++i) w.add(std::to_string(i), "");
  auto zip = ZipReader::from_bytes(w.finish(), "f.pt");
  EXPECT_EQ(zip->entries().size(), 70000u);
  EXPECT_TRUE(zip->find("a/69999"));
}

TEST(JitZip, ReadsDeflatedEntriesAndFiles) {
  const std::string text(3000, 'y');
  Raw later = packed("m/late", "written before its length was known");
  later.flags = kFlagDescriptor;
  later.descriptor = true;
  const std::string bytes = archive({packed("m/code", text), stored("m/sub/", ""), later});
  const auto path = std::filesystem::temp_directory_path() /
                    ("tenon_zip_" + std::to_string(reinterpret_cast<uintptr_t>(&bytes)));
  std::ofstream(path, std::ios::binary) << bytes;
  {
    auto zip = ZipReader::open(path);
    EXPECT_EQ(zip->entries().size(), 2u);
    EXPECT_EQ(zip->read("m/code"), text);
    EXPECT_EQ(zip->read("m/late"), "written before its length was known");
    EXPECT_THROW((void)zip->view(*zip->find("m/code"), true), ValueError);
  }
  std::filesystem::remove(path);
  EXPECT_THROW((void)ZipReader::open(path), ValueError);
  EXPECT_THROW((void)ZipReader::open("/"), ValueError);
}

TEST(JitZip, RefusesNames) {
  for (const char* name : {"/etc/passwd", "../x", "a/../../x", "a//b", "./x", "a\\b", ""}) {
    EXPECT_NE(refusal(archive({stored(name, "x")})).find("a name that"), std::string::npos) << name;
  }
  EXPECT_EQ(refusal(archive({stored("a", "x"), stored("a", "y")})), "entry 'a' is there twice");
  Raw other = stored("a", "x");
  other.local_name = "b";
  EXPECT_EQ(refusal(archive({other})), "the header of entry 'a' has another name: 'b'");
}

TEST(JitZip, RefusesWrongNumbers) {
  const std::vector<Raw> one = {stored("a", "text")};
  EXPECT_EQ(refusal(archive(one, [](End& e) { e.count = 2; })),
            "it promises 2 entries, of which its list has no place");
  EXPECT_NE(refusal(archive(one, [](End& e) { e.count = 0; })), "");
  EXPECT_NE(refusal(archive(one, [](End& e) { e.offset += 1; })), "");
  EXPECT_NE(refusal(archive(one, [](End& e) { e.bytes = kNone32; })), "");
  Raw longer = one[0];
  longer.size = 5;
  EXPECT_NE(refusal(archive({longer})), "");
  Raw method = one[0];
  method.method = 12;
  EXPECT_NE(refusal(archive({method})).find("compressed by method 12"), std::string::npos);
  Raw secret = one[0];
  secret.flags = kFlagEncrypted;
  EXPECT_EQ(refusal(archive({secret})), "entry 'a' is encrypted");
  Raw sum = one[0];
  sum.crc ^= 1;
  EXPECT_EQ(refusal(archive({sum}), "a"), "entry 'a' is damaged: its checksum differs");
}

TEST(JitZip, RefusesBombsAndOverlaps) {
  Raw bomb = packed("a", std::string(1 << 20, '\0'));
  EXPECT_NE(refusal(archive({bomb})).find("which is too many"), std::string::npos);
  Raw lies = packed("a", std::string(2000, 'x'));
  lies.size = 1000;
  EXPECT_EQ(refusal(archive({lies}), "a"), "entry 'a' is damaged: it cannot be inflated");
  // Two entries of the list name the same data.
  const std::string bytes = archive({stored("a", "xyz"), stored("a", "xyz")});
  std::string twice = bytes;
  const std::size_t second = twice.rfind(std::string("PK\x01\x02", 4));
  const std::size_t at = twice.find(std::string("PK\x01\x02", 4));
  std::string text = twice.substr(at, second - at);
  twice.replace(second, text.size(), text);
  EXPECT_NE(refusal(twice).find("overlap"), std::string::npos);
}

TEST(JitZip, EveryTruncationIsRefused) {
  ZipWriter w("m");
  w.add("x", "some text");
  w.add("y", std::string(300, 'z'));
  const std::string bytes = w.finish();
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_NE(refusal(bytes.substr(0, n)), "") << n;
}

TEST(JitZip, EveryFlippedByteIsReadOrRefused) {
  const std::string bytes = archive({packed("m/x", "some text of a program"), stored("m/y", "zz")});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int change : {1, 0x80, 0xff}) {
      std::string other = bytes;
      other[i] = static_cast<char>(other[i] ^ change);
      try {
        auto zip = ZipReader::from_bytes(other, "f.pt");
        for (const auto& e : zip->entries()) (void)zip->read(e);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace tenon::jit::formats
