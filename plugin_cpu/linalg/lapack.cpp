// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/linalg/lapack.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "isa/isa.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu::lapack {
namespace {

using sdk::complex;

// OpenBLAS chooses its kernels when it is loaded, and takes a processor that is newer than itself
// for an old one.
void name_processor() {
  const char* name = isa() == Isa::Avx3 ? "SkylakeX" : isa() == Isa::Avx2 ? "Haswell" : nullptr;
  if (name) setenv("OPENBLAS_CORETYPE", name, 0);  // what the user has set stays
}

struct All {
  Routines<float> s;
  Routines<double> d;
  Routines<complex<float>> c;
  Routines<complex<double>> z;
};

template <class F>
void find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  if (!out) throw sdk::Error(TN_ERROR_BACKEND, "liblapacke.so.3 has no function ", name);
}

// The parts of stedc for the real type of a number.
template <class T>
void find_parts(void* library, const std::string& type, Routines<T>& out) {
  find(library, (type + "laed2_").c_str(), out.laed2);
  find(library, (type + "laed4_").c_str(), out.laed4);
  find(library, (type + "lamrg_").c_str(), out.lamrg);
}

All open_library() {
  name_processor();
  void* library = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    throw sdk::Error(TN_ERROR_BACKEND,
                     "needs LAPACK, which is not installed (apt-get install liblapacke "
                     "libopenblas0-pthread): ",
                     why ? why : "no reason given");
  }
  // Batches go over our own threads.
  if (void* f = dlsym(library, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(f)(1);
  All all;
#define TENON_FIND(name, sn, dn, cn, zn, ...)        \
  find(library, "LAPACKE_" #sn "_work", all.s.name); \
  find(library, "LAPACKE_" #dn "_work", all.d.name); \
  find(library, "LAPACKE_" #cn "_work", all.c.name); \
  find(library, "LAPACKE_" #zn "_work", all.z.name);
  TENON_LAPACK_COMMON(TENON_FIND)
  TENON_LAPACK_OTHERS(TENON_FIND)
#undef TENON_FIND
  find(library, "strsm_", all.s.trsm);
  find(library, "dtrsm_", all.d.trsm);
  find(library, "ctrsm_", all.c.trsm);
  find(library, "ztrsm_", all.z.trsm);
  find_parts(library, "s", all.s);
  find_parts(library, "d", all.d);
  find_parts(library, "s", all.c);
  find_parts(library, "d", all.z);
  return all;
}

std::atomic<bool> g_checked{false};  // not in this process, after a fork

// OpenBLAS takes 128 MiB for each thread that computes, and where there is no memory it looks for
// it without end (0.3.21). So the memory is asked for here, at the first call of a process: that of
// the caller and of a second thread, which OpenBLAS starts itself after a fork.
void check_memory() {
  if (g_checked.load(std::memory_order_relaxed)) return;
  constexpr std::size_t kBytes = std::size_t{258} << 20;
  void* p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw sdk::Error(TN_ERROR_MEMORY, "no memory for the work space of OpenBLAS, 258 MiB");
  munmap(p, kBytes);
  g_checked.store(true, std::memory_order_relaxed);
}

const All& library() {
  check_memory();
  static const All all = [] {
    pthread_atfork(nullptr, nullptr, [] { g_checked.store(false, std::memory_order_relaxed); });
    return open_library();
  }();
  return all;
}

}  // namespace

template <>
const Routines<float>& routines() {
  return library().s;
}
template <>
const Routines<double>& routines() {
  return library().d;
}
template <>
const Routines<complex<float>>& routines() {
  return library().c;
}
template <>
const Routines<complex<double>>& routines() {
  return library().z;
}

}  // namespace tenon::cpu::lapack
