// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw ValueError(
      core::join("load: cannot ", what, " '", path, "': ", std::generic_category().message(error)));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  TENON_CHECK(path.find('\0') == std::string::npos, ValueError,
              "load: the name of the file has a zero byte");
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail(path, "open", errno);
  struct stat about = {};
  if (::fstat(file.fd, &about) != 0) fail(path, "read", errno);
  TENON_CHECK(S_ISREG(about.st_mode), ValueError, "load: '", path, "' is not a file");
  size_ = static_cast<uint64_t>(about.st_size);
  if (size_ == 0) return;
  void* p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
  if (p == MAP_FAILED) fail(path, "map", errno);
  data_ = static_cast<std::byte*>(p);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

void MappedFile::release(const std::byte* begin, uint64_t bytes) const noexcept {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<uint64_t>(begin - data_);
  const uint64_t from = (offset + page - 1) / page * page, to = (offset + bytes) / page * page;
  if (from < to) ::madvise(data_ + from, to - from, MADV_DONTNEED);
}

}  // namespace tenon::jit::formats
