// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "elf_check.h"
#include "tenon/abi/plugin.h"
#include "tenon/runtime/error.h"
#include "transient.h"

namespace tenon::plugins {

struct Library::Handle {
  boost::dll::shared_library lib;
};

namespace {

namespace fs = std::filesystem;
namespace dll = boost::dll;

// Constructors of a library and of its dependencies cannot report a lack of memory; they end the
// process. So there must be enough before they run.
void check_memory_for_constructors() {
  constexpr std::size_t kRoom = 16 << 20;
  // volatile: the allocation of an unused block would be optimized away
  void* volatile room = std::malloc(kRoom);
  if (room == nullptr) throw std::bad_alloc();
  std::free(room);
}

// Boost's error code is the same for nearly every failure; the linker's own message names what is
// missing. If it had no memory for a name, it reports that there is no such file; the error number
// is still right.
dll::shared_library open_absolute(const fs::path& path) {
  check_memory_for_constructors();
  dll::shared_library lib;
  std::error_code ec;
  errno = 0;
  lib.load(path, ec, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  const int error = errno;
  if (ec || !lib.is_loaded()) {
    const char* text = dlerror();
    throw BackendError(core::join(
        text ? std::string(text) : core::join(path.string(), ": cannot be opened: ", ec.message()),
        is_transient(error) ? core::join(" (", strerror(error), ")") : ""));
  }
  return lib;
}

const void* dynamic_section(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_ld : nullptr;
}

// The copy is checked again: the owner may have written the file since the first check.
Descriptor sealed_copy(const CheckedFile& file, const Hashes& hashes) {
  Descriptor copy(memfd_create(file.path.filename().c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  off_t from = 0;
  while (copy.get() >= 0 && static_cast<uint64_t>(from) < file.id.bytes) {
    ssize_t n =
        sendfile(copy.get(), file.fd.get(), &from, file.id.bytes - static_cast<uint64_t>(from));
    if (n <= 0) break;
  }
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (copy.get() < 0 || static_cast<uint64_t>(from) != file.id.bytes ||
      fcntl(copy.get(), F_ADD_SEALS, kSeals) != 0) {
    throw BackendError(core::join(
        file.path.string(), ": an isolated copy in memory could not be made: ", strerror(errno)));
  }
  std::string fault = elf_fault(copy.get(), file.id.bytes, TN_PLUGIN_ENTRY);
  if (fault.empty()) fault = hash_fault(copy.get(), hashes);
  if (!fault.empty())
    throw BackendError(core::join(file.path.string(), ": changed while it was copied: ", fault));
  return copy;
}

}  // namespace

Library* Library::open(CheckedFile file, bool isolated, const Hashes& hashes) {
  std::unique_ptr<Handle> handle(new Handle);
  Descriptor memory;
  if (isolated) {
    memory = sealed_copy(file, hashes);
    handle->lib = open_absolute(core::join("/proc/self/fd/", memory.get()));
  } else {
    handle->lib = open_absolute(file.path);
  }
  // Its constructors have run by now; all that is left is to call nothing of it and to report.
  const Descriptor& checked = isolated ? memory : file.fd;
  if (identity_of(file.path) != file.id ||
      !is_mapping_of(checked.get(), dynamic_section(handle->lib.native()))) {
    throw BackendError(
        core::join(file.path.string(), ": the file was replaced while it was opened"));
  }
  Library* out = new Library;
  out->handle_ = handle.release();
  out->path_ = std::move(file.path);
  out->id_ = file.id;
  out->memory_ = std::move(memory);
  return out;
}

void* Library::symbol(const char* name) const { return dlsym(handle_->lib.native(), name); }

bool Library::close(Library* lib) {
  fs::path mapped = lib->memory_.get() >= 0
                        ? fs::path(core::join("/proc/self/fd/", lib->memory_.get()))
                        : lib->path_;
  delete lib->handle_;
  void* still = dlopen(mapped.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (still) dlclose(still);
  delete lib;
  return still == nullptr;
}

}  // namespace tenon::plugins
