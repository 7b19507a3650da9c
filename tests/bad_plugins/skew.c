/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One of its structs has the size that TENON_TEST_SKEW gives ("kernel 88"), and ends where memory
 * ends: the page after it may not be read. What a newer minor would have there is filled with
 * garbage. */
#define PLUGIN_NAME "skew"
#define PLUGIN_ENTRY unused_entry
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tenon/abi/plugin.h"
#include "toy.h"
#include "toy_relu.h"

static const tn_kernel kernel = TOY_RELU(0);

/* Of an unknown vendor. */
static const tn_ext extension = {sizeof(tn_ext), 0x7fff0001, 3, 0};

/* A copy of `from` that says `size`: as much of it as fits, at the end of readable memory. */
static void* skewed(const void* from, size_t true_size, size_t size) {
  const size_t page = 4096, room = 16 * page;
  size_t readable = size < sizeof(size_t) ? sizeof(size_t) : size < room ? size : true_size;
  char* memory =
      (char*)mmap(0, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* at = memory + room - (readable + 7) / 8 * 8;
  mprotect(memory + room, page, PROT_NONE);
  memset(at, 0xab, readable);
  memcpy(at, from, readable < true_size ? readable : true_size);
  memcpy(at, &size, sizeof size);
  return at;
}

__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void);
const tn_plugin* tenon_plugin_v1(void) {
  static tn_plugin out;
  static const tn_kernel* kernels[1];
  const char* skew = getenv("TENON_TEST_SKEW");
  char which[16] = "";
  size_t size = 0;
  if (skew) sscanf(skew, "%15s %zu", which, &size);
  out = plugin;
  kernels[0] = &kernel;
  if (strcmp(which, "kernel") == 0)
    kernels[0] = (const tn_kernel*)skewed(&kernel, sizeof kernel, size);
  if (strcmp(which, "device") == 0)
    out.device_api = (const tn_device_api*)skewed(&api, sizeof api, size);
  if (strcmp(which, "extension") == 0)
    out.ext = (const tn_ext*)skewed(&extension, sizeof extension, size);
  out.kernels = kernels;
  out.kernels_end = kernels + 1;
  return strcmp(which, "plugin") == 0 ? (const tn_plugin*)skewed(&out, sizeof out, size) : &out;
}
