// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loader's security is the choice of the file: once open, a plugin has the program's rights. So
// a file is checked through one descriptor, in a folder that only its owner may write, and compared
// again after dlopen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tenon::plugins {

struct FileId {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;  // of the last modification
  bool operator==(const FileId&) const = default;
};

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  Descriptor& operator=(Descriptor&& o) noexcept;
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

struct CheckedFile {
  std::filesystem::path path;  // canonical
  Descriptor fd;
  FileId id;
};

// What a manifest says of the library's bytes; empty: nothing.
struct Hashes {
  std::string sha256;  // of the whole file, lower-case hex
  std::string digest;  // loaded_digest()
  bool empty() const { return sha256.empty() && digest.empty(); }
};

// A regular file that only its owner, who is trusted, may write, in such a folder. BackendError
// names the failed condition.
CheckedFile open_trusted(const std::filesystem::path& path);
// BackendError says why the file must not be opened.
CheckedFile check_file(const std::filesystem::path& path, const Hashes& hashes);
// Empty if the file open as `fd` matches the hashes of the manifest, else what is wrong.
std::string hash_fault(int fd, const Hashes& hashes);
// The identity of what the path names now; all zero if nothing.
FileId identity_of(const std::filesystem::path& path);

// Whether the memory at `address` is a mapping of the file open as `fd`: a path may name one file
// before a library is opened, another during it, and the first again at the check.
bool is_mapping_of(int fd, const void* address);

}  // namespace tenon::plugins
