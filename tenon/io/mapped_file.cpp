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

[[noreturn]] void refuse_map(const char* op, const std::string& path, const char* what, int error) {
  throw ValueError(
      core::join(op, ": cannot ", what, " '", path, "': ", std::generic_category().message(error)));
}

}  // namespace

MappedFile::MappedFile(const char* op, const std::string& path, uint64_t bytes, bool shared) {
  TENON_CHECK(path.find('\0') == std::string::npos, ValueError, op,
              ": the name of the file has a zero byte");
  const int how = shared ? O_RDWR | O_CREAT : O_RDONLY;
  Descriptor file;
  file.reset(::open(path.c_str(), how | O_CLOEXEC | O_NONBLOCK, 0666));
  if (file.get() < 0) refuse_map(op, path, "open", errno);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) refuse_map(op, path, "read", errno);
  TENON_CHECK(S_ISREG(about.st_mode), ValueError, op, ": '", path, "' is not a file");
  const auto present = static_cast<uint64_t>(about.st_size);
  size_ = bytes == kWhole ? present : bytes;
  TENON_CHECK(shared || present >= size_, ValueError, op, ": '", path, "' has ", present,
              " bytes, and ", size_, " are asked for");
  if (present < size_ && ::ftruncate(file.get(), static_cast<off_t>(size_)) != 0)
    refuse_map(op, path, "extend", errno);
  if (size_ == 0) return;
  void* p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (p == MAP_FAILED) refuse_map(op, path, "map", errno);
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
