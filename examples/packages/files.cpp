// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "lz4.h"

namespace fs = std::filesystem;

namespace packages {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

bool starts_with(std::string_view s, std::string_view with) {
  return s.substr(0, with.size()) == with;
}
bool ends_with(std::string_view s, std::string_view with) {
  return s.size() >= with.size() && s.substr(s.size() - with.size()) == with;
}

// zlib reads files that are not gzipped as they are.
std::string read_bytes(const std::string& path) {
  errno = 0;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) {
    fail(path, std::string("cannot be opened: ") + std::strerror(errno ? errno : ENOMEM) +
                   ". Give --status a file that can be read, as /var/lib/dpkg/status is on Debian "
                   "and Ubuntu");
  }
  std::string bytes;
  char block[1 << 16];
  int got = 0;
  while ((got = gzread(file.get(), block, sizeof block)) > 0) {
    bytes.append(block, static_cast<std::size_t>(got));
    if (bytes.size() > kMaxBytes)
      fail(path, "is larger than 1 GiB unpacked, and no list of packages is");
  }
  int code = Z_OK;
  const char* text = gzerror(file.get(), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    fail(path, std::string("cannot be read: ") + (code == Z_ERRNO ? std::strerror(errno) : text));
  }
  return bytes;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::string bytes = read_bytes(path);
  if (starts_with(bytes, std::string_view("\xfd"
                                          "7zXZ",
                                          5)))
    fail(path, "is packed by xz; unpack it first (xz -dk)");
  if (starts_with(bytes, "\x28\xb5\x2f\xfd"))
    fail(path, "is packed by zstd; unpack it first (zstd -dk)");
  if (starts_with(bytes, "BZh")) fail(path, "is packed by bzip2; unpack it first (bzip2 -dk)");
  if (!is_lz4(bytes)) return bytes;
  try {
    return unpack_lz4(bytes, kMaxBytes);
  } catch (const std::runtime_error& e) {
    fail(path, std::string(e.what()) +
                   ". Fetch it again (apt-get update), or name other files by --status");
  }
}

std::vector<std::string> machine_files(const std::string& root) {
  std::error_code ignored;
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(root + "/apt/lists", ignored)) {
    std::string name = entry.path().filename().string();
    for (const char* end : {"_Packages", "_Packages.lz4", "_Packages.gz"}) {
      if (ends_with(name, end)) out.push_back(entry.path().string());
    }
  }
  if (fs::exists(root + "/dpkg/status", ignored)) out.push_back(root + "/dpkg/status");
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace packages
