// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tenon/io/file_writer.h"
#include "tenon/runtime/error.h"

namespace tenon::serialize::detail {
namespace {

[[noreturn]] void refuse_map(const std::string& path, const char* what, int error) {
  throw ValueError(
      core::join("load: cannot ", what, " '", path, "': ", std::generic_category().message(error)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  TENON_CHECK(path.find('\0') == std::string::npos, ValueError,
              "load: the name of the file has a zero byte");
  Descriptor file;
  file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) refuse_map(path, "open", errno);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) refuse_map(path, "read", errno);
  TENON_CHECK(S_ISREG(about.st_mode), ValueError, "load: '", path, "' is not a file");
  size_ = static_cast<uint64_t>(about.st_size);
  if (size_ == 0) return;
  void* p =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (p == MAP_FAILED) refuse_map(path, "map", errno);
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

}  // namespace tenon::serialize::detail
