/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One cell of the square: opens a core and lets it open a plugin, by their paths, and runs one list
 * of calls. client CORE PLUGIN               every call must do what it says client CORE PLUGIN
 * refused TEXT  the plugin must be refused with a message that has TEXT client CORE PLUGIN answers
 * N     and the core of the test's own minor must answer N */
#define _GNU_SOURCE
#include "tenon/abi/client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../values.h"

static void* core;
static void* need(const char* name) {
  void* f = dlsym(core, name);
  if (f) return f;
  printf("FAILED: core has no %s\n", name);
  exit(1);
}
#define F(name) ((__typeof__(&name))need(#name))

static int calls, faults;
static void expect(int ok, const char* what) {
  ++calls;
  if (ok) return;
  ++faults;
  printf("FAILED: %s (last error: %s)\n", what, F(tn_last_error)());
}
static int says(const char* words) { return strstr(F(tn_last_error)(), words) != 0; }

static tn_value number(int64_t i) {
  tn_value v = tensor_value(0);
  v.tag = TN_TAG_I64;
  v.u.i64 = i;
  return v;
}

/* Whether the result is these four numbers; releases it. */
static int is(tn_value* v, float a, float b, float c, float d) {
  float got[4] = {0};
  int same = v->tag == TN_TAG_TENSOR && F(tn_to_host)(v->u.tensor, got, sizeof got) == TN_OK &&
             got[0] == a && got[1] == b && got[2] == c && got[3] == d;
  F(tn_release_value)(v);
  return same;
}

static void ops(tn_handle x) {
  tn_value in[3] = {tensor_value(x), tensor_value(x), number(10)}, out;
  const tn_tensor* list[3] = {x, x, x};
  int64_t where[2] = {0};
  float joined[12] = {0};
  expect(F(tn_call_op)(text("relu"), in, 1, &out, 1) == TN_OK && is(&out, 0, 2, 0, 4),
         "relu, by parallel_for");
  expect(F(tn_call_op)(text("add.Tensor"), in, 2, &out, 1) == TN_OK && is(&out, -2, 4, 0, 8),
         "add");
  expect(F(tn_call_op)(text("add.Tensor"), in, 3, &out, 1) == TN_OK && is(&out, -11, 22, 0, 44),
         "add with alpha");
  in[2] = number(666);
  expect(F(tn_call_op)(text("add.Tensor"), in, 3, &out, 1) == TN_ERROR_VALUE && says("the beast"),
         "a kernel's error");
  expect(out.tag == TN_TAG_NONE, "no result of a failed call");
  expect(F(tn_call_op)(text("neg"), in, 1, &out, 1) == TN_OK && is(&out, 1, -2, 0, -4),
         "neg, by a call back");
  expect(F(tn_call_op)(text("nonzero"), in, 1, &out, 1) == TN_OK && out.u.tensor->sizes[0] == 3,
         "nonzero has 3 rows");
  expect(F(tn_to_host)(out.u.tensor, joined, 24) == TN_OK &&
             (memcpy(where, joined, 16), where[1] == 1),
         "its rows");
  F(tn_release_value)(&out);
  in[0] = tensor_value(0);
  in[0].tag = TN_TAG_TENSOR_LIST;
  in[0].len = 3;
  in[0].u.tensors = list;
  expect(F(tn_call_op)(text("cat"), in, 1, &out, 1) == TN_OK && out.u.tensor->sizes[0] == 12,
         "cat, with a workspace");
  expect(F(tn_to_host)(out.u.tensor, joined, sizeof joined) == TN_OK && joined[11] == 4,
         "its values");
  F(tn_release_value)(&out);
  in[0] = tensor_value(x);
  expect(F(tn_call_op)(text("relu_"), in, 1, &out, 1) == TN_OK && out.u.tensor == x,
         "relu_ gives its argument");
  F(tn_release_value)(&out);
}

static void unknown_ids(tn_handle x, tn_device device, tn_dtype f32) {
  const int64_t sizes[1] = {4};
  const tn_dtype strange[4] = {
      {77, 32, 1}, {TN_FLOAT, 13, 1}, {TN_FLOAT, 32, 7}, {255, 255, 65535}};
  const tn_device nowhere[4] = {{4711, 0}, {-1, 0}, {device.type, 99}, {0x7fffffff, -5}};
  const tn_tag tags[4] = {17, 99, 0x80000000u, 0xffffffffu};
  tn_handle made = 0;
  tn_value in[2], out;
  for (int i = 0; i < 4; ++i) {
    expect(F(tn_empty)(1, sizes, strange[i], device, &made) != TN_OK && !made, "an unknown dtype");
    expect(F(tn_empty)(1, sizes, f32, nowhere[i], &made) != TN_OK && !made, "an unknown device");
    in[0] = in[1] = tensor_value(x);
    in[1].tag = tags[i];
    expect(F(tn_call_op)(text("add.Tensor"), in, 2, &out, 1) == TN_ERROR_TYPE &&
               out.tag == TN_TAG_NONE,
           "an unknown tag");
  }
  expect(F(tn_call_op)(text("relu"), in, 0xffffffffu, &out, 1) != TN_OK, "four billion arguments");
  expect(F(tn_layout_from_name)(text("hexagonal"), (uint32_t*)&made) != TN_OK, "an unknown layout");
  expect(F(tn_call_op)((tn_str){0, 5}, in, 1, &out, 1) != TN_OK, "a text without an address");
  expect(F(tn_call_op)(text("no.such_op"), in, 1, &out, 1) != TN_OK && says("no.such_op"),
         "an unknown op");
}

int main(int argc, char** argv) {
  const int64_t sizes[1] = {4};
  const float numbers[4] = {-1, 2, 0, 4};
  tn_device device = {0, 0};
  tn_dtype f32 = {0, 0, 0};
  tn_handle x = 0;
  uint32_t layout = 9;
  if (argc < 3 || !(core = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))) {
    printf("FAILED: no core: %s\n", dlerror());
    return 1;
  }
  expect(F(tn_abi_version)() >> 16 == TN_ABI_MAJOR, "the major version");
  if (argc > 4 && strcmp(argv[3], "refused") == 0) {
    expect(F(tn_load_plugin)(text(argv[2])) == TN_ERROR_BACKEND && says(argv[4]), "the refusal");
  } else {
    expect(F(tn_load_plugin)(text(argv[2])) == TN_OK, "the plugin opens");
    expect(F(tn_device_from_name)(text("square"), &device) == TN_OK &&
               device.type >= TN_DEVICE_FOREIGN,
           "its device");
    expect(F(tn_dtype_from_name)(text("float32"), &f32) == TN_OK && f32.bits == 32, "float32");
    expect(F(tn_layout_from_name)(text("strided"), &layout) == TN_OK && layout == TN_STRIDED,
           "strided");
    expect(F(tn_from_host)(1, sizes, f32, numbers, sizeof numbers, device, &x) == TN_OK,
           "a tensor");
    if (x) {
      F(tn_retain)(x);
      F(tn_release)(x);
      ops(x);
      unknown_ids(x, device, f32);
    }
    expect(F(tn_synchronize)(device) == TN_OK, "synchronize");
    F(tn_release)(x);
  }
  if (argc > 4 && strcmp(argv[3], "answers") == 0) {
    int (*answer)(void) = (int (*)(void))need("tn_answer");
    expect(answer() == atoi(argv[4]), "the function that the test's own minor added");
  }
  printf("core %u.%u, %d calls, %d faults\n", F(tn_abi_version)() >> 16,
         F(tn_abi_version)() & 0xffff, calls, faults);
  return faults != 0;
}
