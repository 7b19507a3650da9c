// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/compiler/disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tenon::llvm_loops {
namespace {

constexpr llvm::StringLiteral kMagic = "tenon llvm object 1\n";
constexpr std::size_t kDigest = 64;  // hexadecimal
constexpr off_t kMaxBytes = off_t{64} << 20;

std::string digest(llvm::StringRef text) {
  llvm::SHA256 sha;
  sha.update(text);
  return llvm::toHex(sha.final(), /*LowerCase=*/true);
}

// Which build of this library: what it emits may change with each.
std::string build_of_library() {
  Dl_info info;
  struct stat s;
  static const int here = 0;
  if (dladdr(&here, &info) == 0 || stat(info.dli_fname, &s) != 0) return "unknown";
  return std::to_string(s.st_size) + "." + std::to_string(s.st_mtim.tv_sec) + "." +
         std::to_string(s.st_mtim.tv_nsec);
}

// Others cannot write it.
bool is_own(const struct stat& s) {
  return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

class File {
 public:
  explicit File(int fd) : fd(fd) {}
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd;
};

bool write_all(int fd, llvm::StringRef text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text = text.drop_front(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Disk::Disk(std::string folder, const std::string& key) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  key_ = digest(build_of_library() + "\n" + key);
  path_ = folder_ + "/" + key_ + ".o";
}

std::unique_ptr<llvm::MemoryBuffer> Disk::read(std::string& note) const {
  if (folder_.empty()) return nullptr;
  const File file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.fd < 0) return nullptr;
  const auto refused = [&](const char* why) {
    note = path_ + " is not used: " + why;
    return nullptr;
  };
  struct stat s;
  if (fstat(file.fd, &s) != 0 || !S_ISREG(s.st_mode)) return refused("it is not a file");
  if (!is_own(s)) return refused("others may have written it");
  const auto head = static_cast<off_t>(kMagic.size() + 2 * kDigest);
  if (s.st_size <= head || s.st_size > kMaxBytes) return refused("it is damaged");
  std::string text(static_cast<std::size_t>(s.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(file.fd, &text[have], text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return refused("it cannot be read");
    have += static_cast<std::size_t>(n);
  }
  llvm::StringRef rest(text);
  if (!rest.consume_front(kMagic)) return refused("it is not an object of Tenon");
  if (rest.take_front(kDigest) != key_) return refused("it is of another program");
  const llvm::StringRef sum = rest.substr(kDigest, kDigest), object = rest.drop_front(2 * kDigest);
  if (sum != digest(object)) return refused("it is damaged");
  return llvm::MemoryBuffer::getMemBufferCopy(object, "loops");
}

std::string Disk::write(llvm::StringRef object) const {
  if (folder_.empty()) return "";
  const auto failed = [&](const std::string& what) {
    return what + ": " + std::strerror(errno) + "; the code of a program is not kept";
  };
  std::error_code fault;
  if (std::filesystem::create_directories(folder_, fault))
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, fault);
  struct stat s;
  if (stat(folder_.c_str(), &s) != 0) return failed(folder_);
  if (!is_own(s)) return folder_ + " can be written by others; the code of a program is not kept";
  std::string name = path_ + ".XXXXXX";
  const File file(mkostemp(name.data(), O_CLOEXEC));
  if (file.fd < 0) return failed(name);
  const std::string head = kMagic.str() + key_ + digest(object);
  if (!write_all(file.fd, head) || !write_all(file.fd, object) ||
      ::rename(name.c_str(), path_.c_str()) != 0) {
    const std::string why = failed(name);
    ::unlink(name.c_str());
    return why;
  }
  return "";
}

}  // namespace tenon::llvm_loops
