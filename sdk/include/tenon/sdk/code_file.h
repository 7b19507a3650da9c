// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Compiled code in a folder, by what it is made from, for backends that compile at run time. A file
// holds a line that says what it is, the key, a checksum, and the code; what does not agree is not
// used. Only the user's own files are: a folder or a file that others may write is left alone,
// since code is run.
#ifndef TENON_SDK_CODE_FILE_H_
#define TENON_SDK_CODE_FILE_H_

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenon::sdk {

// Where code is kept: `set`, which a setting says, "0" for nowhere; else a folder `name` of the
// user's cache. Empty: nowhere.
inline std::string find_code_folder(std::optional<std::string_view> set, const std::string& name) {
  if (set && *set == "0") return "";
  if (set && !set->empty()) return std::string(*set);
  // As settings, not with raised privileges.
  const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/tenon/" + name;
  return home && home[0] == '/' ? std::string(home) + "/.cache/tenon/" + name : "";
}

// Which build of a library: what it compiles may change with each.
inline std::string build_of_file(const char* path) {
  struct stat s;
  if (stat(path, &s) != 0) return "unknown";
  return std::to_string(s.st_size) + "." + std::to_string(s.st_mtim.tv_sec) + "." +
         std::to_string(s.st_mtim.tv_nsec);
}
// Of the one that has the address.
inline std::string build_of_library(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? build_of_file(info.dli_fname) : "unknown";
}

class CodeFile {
 public:
  // `kind`: whose code it is; `key`: all that it depends on. Without a folder nothing is read or
  // written.
  CodeFile(std::string folder, const std::string& kind, const std::string& key)
      : folder_(std::move(folder)), head_("tenon code 1, " + kind + "\n" + key + "\n") {
    if (!folder_.empty()) path_ = folder_ + "/" + checksum(head_) + ".code";
  }

  // None where there is none; `note` says why one that is there is not used.
  std::optional<std::string> read(std::string& note) const {
    if (folder_.empty()) return std::nullopt;
    const File file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.fd < 0) return std::nullopt;
    const auto refused = [&](const char* why) {
      note = path_ + " is not used: " + why;
      return std::nullopt;
    };
    struct stat s;
    if (fstat(file.fd, &s) != 0 || !S_ISREG(s.st_mode)) return refused("it is not a file");
    if (!is_own(s)) return refused("others may have written it");
    const size_t before = head_.size() + kChecksum;
    if (s.st_size <= static_cast<off_t>(before) || s.st_size > kMaxBytes)
      return refused("it is damaged");
    std::string text(static_cast<size_t>(s.st_size), '\0');
    if (!read_all(file.fd, text)) return refused("it cannot be read");
    if (text.compare(0, head_.size(), head_) != 0)
      return refused("it is damaged, or of another program");
    std::string code = text.substr(before);
    if (text.compare(head_.size(), kChecksum, checksum(code)) != 0) return refused("it is damaged");
    return code;
  }

  // Why it could not be written; empty if it was. Readers see all of it or nothing.
  std::string write(std::string_view code) const {
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
    if (!write_all(file.fd, head_ + checksum(code)) || !write_all(file.fd, code) ||
        ::rename(name.c_str(), path_.c_str()) != 0) {
      const std::string why = failed(name);
      ::unlink(name.c_str());
      return why;
    }
    return "";
  }

 private:
  static constexpr size_t kChecksum = 16;  // hexadecimal
  static constexpr off_t kMaxBytes = off_t{64} << 20;

  struct File {
    explicit File(int opened) : fd(opened) {}
    ~File() {
      if (fd >= 0) ::close(fd);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int fd;
  };

  // FNV-1a of 64 bits: against damage; against others there is is_own(). Three lines, so that a
  // plugin that includes this needs no library for it.
  static std::string checksum(std::string_view text) {
    uint64_t sum = 0xcbf29ce484222325;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    char digits[kChecksum + 1];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
    return digits;
  }

  // Others cannot write it.
  static bool is_own(const struct stat& s) {
    return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  static bool read_all(int fd, std::string& text) {
    for (size_t have = 0; have < text.size();) {
      const ssize_t n = ::read(fd, &text[have], text.size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      have += static_cast<size_t>(n);
    }
    return true;
  }

  static bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::write(fd, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  std::string folder_, head_, path_;
};

}  // namespace tenon::sdk

#endif
