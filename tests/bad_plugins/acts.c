/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Each does in init, or before it, what a library must not do to its process. One source, one FAULT
 * per plugin. */
#define _GNU_SOURCE
#define PLUGIN_INIT start
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/abi/plugin.h"

#define EXITS 1
#define ABORTS 2
#define SPINS 3
#define CRASHES 4
#define CRASHES_EARLY 5
#define OPENS_ITSELF 6
#define ASKS_FOR_ITSELF 7
#define REGISTERS_FROM_THREAD 8
#define CLOSES_DESCRIPTORS 9
#define MOVES 10
#define UMASK 11
#define LOCALE 12
#define BLOCKS_SIGNALS 13
#define HANDLES_SIGNALS 14
#define ROUNDS_UP 15
#define FLUSHES_DENORMALS 16
#define FAILS_HALF_WAY 17
#define UNKNOWN_STATUS 18
#define LONG_REASON 19
#define LEAVES_A_PROCESS 20
#define REPLACES_ITSELF 21
#define LEAVES_QUIETLY 22
#define ABORTS_AT_EXIT 23
#define MOVES_STACK 24

#if FAULT == CRASHES_EARLY || FAULT == FLUSHES_DENORMALS || FAULT == REPLACES_ITSELF
__attribute__((constructor)) static void early(void) {
#if FAULT == CRASHES_EARLY
  raise(SIGBUS);
#elif FAULT == FLUSHES_DENORMALS && defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() |
                         0x8040); /* what a library linked with -ffast-math does */
#elif FAULT == REPLACES_ITSELF
  Dl_info info;
  char evil[4096];
  if (!dladdr((void*)&early, &info)) return;
  snprintf(evil, sizeof evil, "%s.evil", info.dli_fname);
  rename(evil, info.dli_fname);
#endif
}
#endif

#if FAULT == ABORTS_AT_EXIT
__attribute__((destructor)) static void late(void) { abort(); }
#endif

#if FAULT == REGISTERS_FROM_THREAD
static const tn_host* the_host;
static void* register_one(void* arg) {
  tn_schema s;
  memset(&s, 0, sizeof s);
  s.struct_size = sizeof s;
  s.text.ptr = "relu(Tensor self) -> Tensor";
  s.text.len = strlen(s.text.ptr);
  *(tn_status*)arg = the_host->register_op(&s);
  return 0;
}
#endif

#if FAULT == MOVES_STACK && defined(__x86_64__)
#undef PLUGIN_INIT
#define PLUGIN_INIT moved
/* One bit from `ret`: it removes bytes of the caller's, too. */
__attribute__((naked)) static tn_status moved(const tn_host* host __attribute__((unused)),
                                              tn_str* why __attribute__((unused))) {
  __asm__("xorl %eax, %eax\n\tret $8");
}
#endif

__attribute__((unused)) static tn_status start(const tn_host* host, tn_str* why) {
  (void)host;
#if FAULT == EXITS
  exit(3);
#elif FAULT == LEAVES_QUIETLY
  _exit(0);
#elif FAULT == ABORTS
  abort();
#elif FAULT == SPINS
  for (volatile int i = 0;; ++i) usleep(1000);
#elif FAULT == CRASHES
  raise(SIGSEGV);
#elif FAULT == OPENS_ITSELF
  Dl_info info;
  void* again = dladdr((void*)&start, &info) ? dlopen(info.dli_fname, RTLD_NOW) : 0;
  if (!again) return TN_ERROR;
  dlclose(again);
#elif FAULT == ASKS_FOR_ITSELF
  int32_t type;
  if (host->get_device_api((tn_str){"asks_for_itself", 15}, &type)) return TN_ERROR;
#elif FAULT == REGISTERS_FROM_THREAD
  pthread_t thread;
  tn_status status = TN_OK;
  the_host = host;
  pthread_create(&thread, 0, register_one, &status);
  pthread_join(thread, 0);
  why->ptr = "the operator of its thread was refused";
  why->len = strlen(why->ptr);
  return status;
#elif FAULT == CLOSES_DESCRIPTORS
  for (int fd = 0; fd < 256; ++fd) close(fd);
  return TN_ERROR;
#elif FAULT == MOVES
  if (chdir("/") != 0) return TN_ERROR;
#elif FAULT == UMASK
  umask(0);
#elif FAULT == LOCALE
  if (!setlocale(LC_ALL, "C.UTF-8")) return TN_ERROR;
#elif FAULT == BLOCKS_SIGNALS
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
#elif FAULT == HANDLES_SIGNALS
  signal(SIGSEGV, SIG_IGN);
#elif FAULT == ROUNDS_UP
  fesetround(FE_UPWARD);
#elif FAULT == FAILS_HALF_WAY
  host->log(TN_LOG_INFO, (tn_str){"half way", 8});
  why->ptr = "half of it is there";
  why->len = strlen(why->ptr);
  return TN_ERROR_MEMORY;
#elif FAULT == UNKNOWN_STATUS
  return 4711;
#elif FAULT == LONG_REASON
  why->ptr = 0;
  why->len = (size_t)1 << 40;
  return TN_ERROR_INDEX;
#elif FAULT == LEAVES_A_PROCESS
  if (fork() == 0) {
    usleep(200000);
    _exit(0);
  }
  why->ptr = "it has left a child process running";
  why->len = strlen(why->ptr);
  return TN_ERROR;
#endif
  (void)why;
  return TN_OK;
}
#include "toy.h"
