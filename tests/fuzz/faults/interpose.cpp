// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace tenon::faults {
namespace {

std::atomic<bool> g_armed{false};
std::atomic<int> g_call{0};
std::atomic<int64_t> g_at{0}, g_counted[kCalls];
std::atomic<bool> g_permanent{false};

struct Real {
  void* (*dlopen)(const char*, int);
  FILE* (*fopen)(const char*, const char*);
  FILE* (*fopen64)(const char*, const char*);
  DIR* (*opendir)(const char*);
  DIR* (*fdopendir)(int);
  int (*rename)(const char*, const char*);
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
} g_real;

template <class F>
void find(F*& to, const char* name) {
  to = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

// Others' libraries that end the process where memory is short, by their own rules: libgomp in
// every allocation, and oneDNN in its constructors, which run while it is opened.
thread_local int t_opening __attribute__((tls_model("local-exec"))) = 0;

bool lies_in(const void* code, const char* library) {
  Dl_info info;
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, library) != nullptr;
}

bool may_fail(const void* caller) {
  if (lies_in(caller, "libgomp")) return false;
  if (t_opening == 0) return true;
  void* frames[40];
  for (int i = 0, n = backtrace(frames, 40); i < n; ++i) {
    if (lies_in(frames[i], "libdnnl")) return false;
  }
  return true;
}

struct Opening {
  Opening() { ++t_opening; }
  ~Opening() { --t_opening; }
};

bool g_shown = false;

void show_caller() {
  void* frames[64];
  g_armed = false;
  backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
  g_armed = true;
}

// Counts the call, and says whether it shall fail.
bool fails(Call call, int error, const void* caller = nullptr) {
  if (!g_armed.load(std::memory_order_relaxed)) return false;
  const int kind = static_cast<int>(call);
  const int64_t n = g_counted[kind].fetch_add(1, std::memory_order_relaxed) + 1;
  if (g_call.load(std::memory_order_relaxed) != kind) return false;
  const int64_t at = g_at.load(std::memory_order_relaxed);
  if (n != at && (n < at || !g_permanent.load(std::memory_order_relaxed))) return false;
  if (caller != nullptr && !may_fail(caller)) return false;
  if (g_shown) show_caller();
  errno = error;
  return true;
}

// Inside of the dynamic linker nothing can be replaced; a limit of the process makes its own calls
// fail.
void* dlopen_under(int resource, rlim_t limit, const char* file, int mode) {
  rlimit before;
  const Opening opening;
  getrlimit(static_cast<__rlimit_resource_t>(resource), &before);
  const rlimit tight{limit, before.rlim_max};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &tight);
  void* handle = g_real.dlopen(file, mode);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &before);
  return handle;
}

int mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, int) : 0;
}

}  // namespace

void prepare() {
  find(g_real.dlopen, "dlopen");
  find(g_real.fopen, "fopen");
  find(g_real.fopen64, "fopen64");
  find(g_real.opendir, "opendir");
  find(g_real.fdopendir, "fdopendir");
  find(g_real.rename, "rename");
  find(g_real.create, "pthread_create");
  void* frame = nullptr;
  (void)backtrace(&frame, 1);  // loads what it needs
}

void show_failures() { g_shown = true; }

void arm(Call call, int64_t n, bool permanent) {
  for (auto& c : g_counted) c = 0;
  g_call = static_cast<int>(call);
  g_at = n;
  g_permanent = permanent;
  g_armed = true;
}

void disarm() { g_armed = false; }

int64_t counted(Call call) { return g_counted[static_cast<int>(call)]; }

}  // namespace tenon::faults

using namespace tenon::faults;

#define CALLER __builtin_return_address(0)

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t n) {
  return fails(Call::Memory, ENOMEM, CALLER) ? nullptr : __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t of) {
  return fails(Call::Memory, ENOMEM, CALLER) ? nullptr : __libc_calloc(n, of);
}
void* realloc(void* p, std::size_t n) {
  return fails(Call::Memory, ENOMEM, CALLER) ? nullptr : __libc_realloc(p, n);
}
void* memalign(std::size_t to, std::size_t n) {
  return fails(Call::Memory, ENOMEM, CALLER) ? nullptr : __libc_memalign(to, n);
}
void* aligned_alloc(std::size_t to, std::size_t n) {
  return fails(Call::Memory, ENOMEM, CALLER) ? nullptr : __libc_memalign(to, n);
}
int posix_memalign(void** out, std::size_t to, std::size_t n) {
  const int before = errno;
  void* p = fails(Call::Memory, ENOMEM, CALLER) ? nullptr : __libc_memalign(to, n);
  errno = before;
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) {
  if (fails(Call::Map, ENOMEM)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, protection, flags, fd, offset));
}
void* mmap64(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) {
  return mmap(at, n, protection, flags, fd, offset);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = mode_of(flags, list);
  va_end(list);
  return fails(Call::Open, EMFILE)
             ? -1
             : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
int openat64(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = mode_of(flags, list);
  va_end(list);
  return openat(folder, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = mode_of(flags, list);
  va_end(list);
  return openat(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = mode_of(flags, list);
  va_end(list);
  return openat(AT_FDCWD, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  return fails(Call::Open, EMFILE) ? nullptr : g_real.fopen(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return fails(Call::Open, EMFILE) ? nullptr : g_real.fopen64(path, mode);
}
DIR* opendir(const char* path) {
  return fails(Call::Open, EMFILE) ? nullptr : g_real.opendir(path);
}
DIR* fdopendir(int fd) { return fails(Call::Open, ENOMEM) ? nullptr : g_real.fdopendir(fd); }

ssize_t read(int fd, void* to, std::size_t n) {
  return fails(Call::Read, EIO) ? -1 : static_cast<ssize_t>(syscall(SYS_read, fd, to, n));
}
ssize_t pread(int fd, void* to, std::size_t n, off_t at) {
  return fails(Call::Read, EIO) ? -1 : static_cast<ssize_t>(syscall(SYS_pread64, fd, to, n, at));
}
ssize_t pread64(int fd, void* to, std::size_t n, off_t at) { return pread(fd, to, n, at); }
ssize_t write(int fd, const void* from, std::size_t n) {
  return fails(Call::Write, ENOSPC) ? -1 : static_cast<ssize_t>(syscall(SYS_write, fd, from, n));
}
int fsync(int fd) { return fails(Call::Sync, EIO) ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
int fdatasync(int fd) {
  return fails(Call::Sync, EIO) ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd));
}
int rename(const char* from, const char* to) {
  return fails(Call::Rename, EIO) ? -1 : g_real.rename(from, to);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*f)(void*),
                   void* arg) {
  if (fails(Call::Thread, EAGAIN)) return EAGAIN;
  return g_real.create(thread, attributes, f, arg);
}

void* dlopen(const char* file, int mode) {
  if (fails(Call::Open, EMFILE)) return dlopen_under(RLIMIT_NOFILE, 0, file, mode);
  if (fails(Call::Map, ENOMEM)) return dlopen_under(RLIMIT_AS, 1 << 20, file, mode);
  const Opening opening;
  return g_real.dlopen(file, mode);
}

}  // extern "C"
#pragma GCC visibility pop
