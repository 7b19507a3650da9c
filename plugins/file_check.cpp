// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "file_check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "digest.h"
#include "elf_check.h"
#include "sha256.h"
#include "tenon/abi/plugin.h"
#include "tenon/runtime/error.h"
#include "transient.h"

namespace tenon::plugins {
namespace {

namespace fs = std::filesystem;

FileId id_of(const struct stat& s) {
  return {s.st_dev, s.st_ino, static_cast<uint64_t>(s.st_size), s.st_mtim.tv_sec,
          s.st_mtim.tv_nsec};
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw BackendError(core::join(path.string(), ": ", why));
}

// A group with its only member's number is that user's private group: Debian's and Fedora's
// convention.
bool others_may_write(const struct stat& s) {
  return (s.st_mode & S_IWOTH) || ((s.st_mode & S_IWGRP) && s.st_gid != s.st_uid);
}

// The owner of the core library's file could have changed this check itself, so is trusted with
// plugins too.
uid_t owner_of_core() {
  static const uid_t owner = [] {
    Dl_info info;
    struct stat s;
    bool found = dladdr(reinterpret_cast<void*>(&check_file), &info) && info.dli_fname &&
                 stat(info.dli_fname, &s) == 0;
    return found ? s.st_uid : uid_t{0};
  }();
  return owner;
}

void check_owner(const fs::path& path, const struct stat& s, const char* kind) {
  if (s.st_uid != 0 && s.st_uid != geteuid() && s.st_uid != owner_of_core()) {
    refuse(path, core::join("the ", kind, " belongs to another user (uid ",
                            static_cast<long long>(s.st_uid), ")"));
  }
  if (others_may_write(s)) {
    refuse(path,
           core::join("the ", kind,
                      " may be written by others than its owner; chmod go-w makes it usable"));
  }
}

struct stat status_of_folder(const fs::path& folder) {
  Descriptor fd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat s;
  if (fd.get() < 0 || fstat(fd.get(), &s) != 0)
    refuse(folder, core::join("the folder cannot be read: ", strerror(errno)));
  return s;
}

// Whoever may write a parent folder can replace its subfolders, unless it is sticky as /tmp is.
void check_folder(const fs::path& folder) {
  check_owner(folder, status_of_folder(folder), "folder");
  for (fs::path above = folder.parent_path();; above = above.parent_path()) {
    struct stat s = status_of_folder(above);
    if (!(s.st_mode & S_ISVTX)) check_owner(above, s, "folder");
    if (above == above.root_path()) return;
  }
}

// "08:01 1234", device and inode as the kernel's list of mappings has them: some file systems
// report other numbers to stat().
std::string file_at(const std::string& maps, const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::size_t at = 0; at < maps.size();
       at = std::min(maps.find('\n', at), maps.size() - 1) + 1) {
    unsigned long begin = 0, end = 0;
    char device[32], inode[32];
    if (std::sscanf(maps.c_str() + at, "%lx-%lx %*s %*s %31s %31s", &begin, &end, device, inode) !=
        4)
      continue;
    if (begin <= wanted && wanted < end) return core::join(device, " ", inode);
  }
  return {};
}

std::string read_own_maps() {
  constexpr const char* kFile = "/proc/self/maps";
  const Descriptor fd(open(kFile, O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) system_fault(kFile, "cannot be read", errno);
  std::string out;
  for (std::size_t have = 0;;) {
    constexpr std::size_t kStep = 1 << 16;
    out.resize(have + kStep);
    const ssize_t got = read(fd.get(), out.data() + have, kStep);
    if (got < 0) system_fault(kFile, "cannot be read", errno);
    have += static_cast<std::size_t>(got);
    if (got > 0) continue;
    out.resize(have);
    return out;
  }
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& o) noexcept {
  std::swap(fd_, o.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

FileId identity_of(const fs::path& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 ? id_of(s) : FileId{};
}

bool is_mapping_of(int fd, const void* address) {
  void* page = mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
  if (page == MAP_FAILED) system_fault("the file", "cannot be mapped", errno);
  const std::unique_ptr<void, void (*)(void*)> unmap(page, [](void* p) { munmap(p, 1); });
  const std::string maps = read_own_maps(), wanted = file_at(maps, page);
  return !wanted.empty() && file_at(maps, address) == wanted;
}

CheckedFile open_trusted(const fs::path& path) {
  std::error_code ec;
  CheckedFile out;
  out.path = fs::canonical(path, ec);
  if (ec) refuse(path, ec == std::errc::no_such_file_or_directory ? "no such file" : ec.message());
  check_folder(out.path.parent_path());
  // O_NONBLOCK: opening a FIFO must not block. O_NOFOLLOW: links were resolved above; a new one is
  // an attack.
  out.fd = Descriptor(open(out.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat s;
  if (out.fd.get() < 0 || fstat(out.fd.get(), &s) != 0)
    refuse(out.path, core::join("cannot be read: ", strerror(errno)));
  if (S_ISDIR(s.st_mode)) refuse(out.path, "a directory, not a file");
  if (!S_ISREG(s.st_mode)) refuse(out.path, "not a regular file");
  check_owner(out.path, s, "file");
  out.id = id_of(s);
  return out;
}

std::string hash_fault(int fd, const Hashes& hashes) {
  const char* which = nullptr;
  if (!hashes.sha256.empty() && sha256_of_file(fd) != hashes.sha256) which = "SHA-256";
  if (!hashes.digest.empty() && loaded_digest(fd) != hashes.digest) which = "digest";
  if (!which) return {};
  return core::join("its ", which,
                    " is not the manifest's: it is damaged, or was changed since the manifest was ",
                    "written (`tenon manifest` renews that)");
}

CheckedFile check_file(const fs::path& path, const Hashes& hashes) {
  CheckedFile out = open_trusted(path);
  std::string fault = elf_fault(out.fd.get(), out.id.bytes, TN_PLUGIN_ENTRY);
  if (fault.empty()) fault = hash_fault(out.fd.get(), hashes);
  if (!fault.empty()) refuse(out.path, fault);
  return out;
}

}  // namespace tenon::plugins
