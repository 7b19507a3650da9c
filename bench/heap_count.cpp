// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD shim: counts heap allocations, forwards everything to glibc. Read by harness.h through heap_allocations().
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static long count = 0;
long heap_allocations() { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
static void bump() { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }

void* malloc(size_t n) { return bump(), __libc_malloc(n); }
void* calloc(size_t n, size_t m) { return bump(), __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { return bump(), __libc_realloc(p, n); }
void* memalign(size_t a, size_t n) { return bump(), __libc_memalign(a, n); }
void* aligned_alloc(size_t a, size_t n) { return bump(), __libc_memalign(a, n); }
int posix_memalign(void** out, size_t a, size_t n) {
  bump();
  return (*out = __libc_memalign(a, n)) || !n ? 0 : ENOMEM;
}
}
