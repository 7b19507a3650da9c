/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A program in C: adds two tensors by the op's name and reads the sum back, calls other forms of
 * ops, then does what must fail. abi_c_client [DEVICE]      default: cpu */
#include "tenon/abi/client.h"

#include <stdio.h>
#include <string.h>

#include "values.h"

static int faults = 0;
static void expect(int ok, const char* what) {
  if (ok) return;
  ++faults;
  printf("FAILED: %s (last error: %s)\n", what, tn_last_error());
}

static void adds(tn_handle a, tn_handle b) {
  tn_value in[3] = {tensor_value(a), tensor_value(b), tensor_value(0)};
  tn_value out;
  float sum[6] = {0};
  in[2].tag = TN_TAG_I64;
  in[2].u.i64 = 10;
  expect(tn_call_op(text("add.Tensor"), in, 2, &out, 1) == TN_OK, "add with its default alpha");
  expect(out.tag == TN_TAG_TENSOR && out.u.tensor->ndim == 2 && out.u.tensor->sizes[1] == 3,
         "the sum is 2 x 3");
  expect(tn_to_host(out.u.tensor, sum, sizeof sum) == TN_OK, "read back");
  expect(sum[0] == 11.f && sum[5] == 66.f, "values of a + b");
  tn_release_value(&out);
  expect(out.tag == TN_TAG_NONE, "a released value is none");
  expect(tn_call_op(text("add.Tensor"), in, 3, &out, 1) == TN_OK, "add with alpha = 10");
  expect(tn_to_host(out.u.tensor, sum, sizeof sum) == TN_OK && sum[5] == 606.f,
         "values of a + 10 b");
  tn_retain(out.u.tensor);
  tn_release(out.u.tensor);
  tn_release_value(&out);
}

/* A list of tensors in, two results out, and the form that writes its argument. */
static void other_forms(tn_handle a, tn_handle b) {
  const tn_tensor* list[2];
  tn_value in[3] = {tensor_value(0), tensor_value(b), tensor_value(0)};
  tn_value out[3];
  float values[12];
  list[0] = a;
  list[1] = b;
  in[0].tag = TN_TAG_TENSOR_LIST;
  in[0].len = 2;
  in[0].u.tensors = list;
  expect(tn_call_op(text("cat"), in, 1, out, 1) == TN_OK, "cat of a list");
  expect(tn_to_host(out[0].u.tensor, values, sizeof values) == TN_OK && values[11] == 60.f,
         "values of cat");
  tn_release_value(&out[0]);
  in[0] = tensor_value(a);
  in[1].tag = TN_TAG_I64;
  in[1].u.i64 = 2;
  expect(tn_call_op(text("topk"), in, 2, out, 3) == TN_OK, "topk of 2");
  expect(out[0].tag == TN_TAG_TENSOR && out[1].tag == TN_TAG_TENSOR && out[2].tag == TN_TAG_NONE,
         "it has 2 results");
  expect(tn_to_host(out[0].u.tensor, values, 16) == TN_OK && values[2] == 6.f && values[3] == 5.f,
         "values of topk");
  tn_release_value(&out[0]);
  tn_release_value(&out[1]);
  in[1] = tensor_value(b);
  expect(tn_call_op(text("add_.Tensor"), in, 2, out, 1) == TN_OK && out[0].u.tensor == a,
         "a += b gives a");
  expect(tn_to_host(a, values, 24) == TN_OK && values[5] == 66.f, "a was written");
  tn_release_value(&out[0]);
}

static void refuses(tn_handle a, tn_device device, tn_dtype f32) {
  tn_value in[1] = {tensor_value(a)};
  tn_value out;
  tn_handle none = 0;
  tn_device toaster;
  float small[2];
  const int64_t negative[1] = {-3};
  expect(tn_call_op(text("ad.Tensor"), in, 1, &out, 1) != TN_OK, "an unknown op");
  expect(strstr(tn_last_error(), "ad") != 0, "the message names it");
  expect(tn_call_op(text("add.Tensor"), in, 1, &out, 1) == TN_ERROR_TYPE, "a missing argument");
  expect(strstr(tn_last_error(), "other") != 0, "the message names the argument");
  in[0].tag = TN_TAG_STR;
  expect(tn_call_op(text("add.Tensor"), in, 1, &out, 1) == TN_ERROR_TYPE,
         "a text where a tensor belongs");
  expect(tn_to_host(a, small, sizeof small) == TN_ERROR_VALUE, "a buffer that is too small");
  expect(tn_to_host(0, small, sizeof small) == TN_ERROR_VALUE, "no tensor");
  expect(tn_empty(1, negative, f32, device, &none) == TN_ERROR_VALUE && !none, "a negative size");
  expect(tn_empty(65, negative, f32, device, &none) == TN_ERROR_VALUE, "65 dimensions");
  expect(tn_device_from_name(text("toaster"), &toaster) != TN_OK, "an unknown device");
  expect(strstr(tn_last_error(), "toaster") != 0, "the message names the device");
  expect(tn_load_plugin(text("/nonexistent/libtenon_x.so")) == TN_ERROR_BACKEND,
         "a plugin that is not there");
  expect(tn_synchronize(device) == TN_OK && tn_last_error()[0] == '\0',
         "a success clears the text");
}

int main(int argc, char** argv) {
  const int64_t sizes[2] = {2, 3};
  const float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {10, 20, 30, 40, 50, 60};
  tn_device device = {0, 0};
  tn_dtype f32 = {0, 0, 0};
  tn_handle a = 0, b = 0;
  expect(tn_abi_version() >> 16 == TN_ABI_MAJOR, "version");
  expect(tn_device_from_name(text(argc > 1 ? argv[1] : "cpu"), &device) == TN_OK, "the device");
  expect(tn_dtype_from_name(text("float32"), &f32) == TN_OK && f32.bits == 32, "float32");
  expect(tn_from_host(2, sizes, f32, x, sizeof x, device, &a) == TN_OK, "a");
  expect(tn_from_host(2, sizes, f32, y, sizeof y, device, &b) == TN_OK, "b");
  if (a && b) {
    adds(a, b);
    other_forms(a, b);
    refuses(a, device, f32);
  }
  tn_release(a);
  tn_release(b);
  printf("%d faults\n", faults);
  return faults != 0;
}
