// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/from_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tenon/creation.h"
#include "tenon/io/file_writer.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

[[noreturn]] void refuse(const std::string& name, const char* what, int error) {
  throw ValueError(core::join("from_file: cannot ", what, " '", name,
                              "': ", std::generic_category().message(error)));
}

void* map(const std::string& name, bool shared, uint64_t bytes) {
  serialize::detail::Descriptor file;
  file.reset(
      ::open(name.c_str(), (shared ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, 0666));
  if (file.get() < 0) refuse(name, "open", errno);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) refuse(name, "read", errno);
  TENON_CHECK(S_ISREG(about.st_mode), ValueError, "from_file: '", name, "' is not a file");
  const auto present = static_cast<uint64_t>(about.st_size);
  TENON_CHECK(shared || present >= bytes, ValueError, "from_file: '", name, "' has ", present,
              " bytes, and the tensor has ", bytes);
  if (present < bytes && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    refuse(name, "extend", errno);
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE,
                   file.get(), 0);
  if (p == MAP_FAILED) refuse(name, "map", errno);
  return p;
}

}  // namespace

Tensor from_file(const std::string& filename, std::optional<bool> shared,
                 std::optional<int64_t> size, const TensorOptions& options) {
  const int64_t n = size.value_or(0);
  TENON_CHECK(filename.find('\0') == std::string::npos, ValueError,
              "from_file: the name of the file has a zero byte");
  TENON_CHECK(n >= 0, ValueError, "from_file: size must not be negative, got ", n);
  TENON_CHECK(options.device().is_cpu() && options.layout() == kStrided, ValueError,
              "from_file: a file can be a strided tensor of the host, got device ",
              options.device().str());
  const uint64_t item = elementSize(options.dtype());
  TENON_CHECK(static_cast<uint64_t>(n) <= (uint64_t{1} << 62) / item, ValueError,
              "from_file: size is too large, got ", n);
  if (n == 0) return empty({0}, options);
  const uint64_t bytes = static_cast<uint64_t>(n) * item;
  void* data = map(filename, shared.value_or(false), bytes);
  try {
    return from_blob(
        data, {n}, [bytes](void* p) { ::munmap(p, bytes); }, options);
  } catch (...) {
    ::munmap(data, bytes);
    throw;
  }
}

}  // namespace tenon
