// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD shim: counts heap blocks and the bytes asked for, forwards everything to glibc.
// main.cpp reads both.
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static long count = 0, total = 0;
long heap_allocations() { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
long heap_bytes() { return __atomic_load_n(&total, __ATOMIC_RELAXED); }
static void bump(size_t n) {
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&total, static_cast<long>(n), __ATOMIC_RELAXED);
}

void* malloc(size_t n) { return bump(n), __libc_malloc(n); }
void* calloc(size_t n, size_t m) { return bump(n * m), __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { return bump(n), __libc_realloc(p, n); }
void* memalign(size_t a, size_t n) { return bump(n), __libc_memalign(a, n); }
void* aligned_alloc(size_t a, size_t n) { return bump(n), __libc_memalign(a, n); }
int posix_memalign(void** out, size_t a, size_t n) {
  bump(n);
  return (*out = __libc_memalign(a, n)) || !n ? 0 : ENOMEM;
}
}
