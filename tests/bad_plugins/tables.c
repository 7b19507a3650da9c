/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that are wrong in one place. One source, one FAULT per plugin. */
#include "tenon/abi/plugin.h"
#include "tenon/sdk/ops/relu.h"

#define NULL_NAME 1
#define LONG_NAME 2
#define NAME_NOT_UTF8 3
#define NO_DEVICE_NAME 4
#define LONG_VERSION 5
#define NO_INIT 6
#define BACKWARDS 7
#define TOO_MANY 8
#define SHORT_KERNEL 9
#define HUGE_KERNEL 10
#define SHORT_DEVICE 11
#define HUGE_DEVICE 12
#define NO_DEVICE_TABLE 13
#define UNNAMED_OP 14
#define DAMAGED_DTYPES 15
#define DAMAGED_LAYOUTS 16
#define DAMAGED_INPLACE 17
#define UNKNOWN_OP 18
#define UNKNOWN_DTYPE 19
#define TWICE 20
#define NOT_A_KERNEL_ROW 21
#define DAMAGED_VENDOR 22
#define HOST_DEVICE 23
#define DEVICE_OF_ANOTHER 24
#define OTHER_PRIORITY 25
#define SPACED_INPLACE 26
#define ODD_TABLE 27

#define S(text) \
  { text, sizeof(text) - 1 }

static tn_status run(tn_call* call) {
  (void)call;
  return TN_DECLINED;
}
static const tn_kernel one = {
    FAULT == SHORT_KERNEL  ? 16
    : FAULT == HUGE_KERNEL ? (size_t)-1
                           : sizeof(tn_kernel),
    0,
    0,
    {FAULT == UNKNOWN_OP         ? "no_such_op"
     : FAULT == NOT_A_KERNEL_ROW ? "linear"
                                 : "relu",
     FAULT == UNNAMED_OP         ? 0
     : FAULT == UNKNOWN_OP       ? 10
     : FAULT == NOT_A_KERNEL_ROW ? 6
                                 : 4},
    TN_OP_relu_DIGEST,
    {FAULT == DAMAGED_DTYPES  ? 0
     : FAULT == UNKNOWN_DTYPE ? "float5"
                              : "float32",
     FAULT == UNKNOWN_DTYPE ? 6 : 7},
    {0, FAULT == DAMAGED_LAYOUTS ? 9 : 0},
    {FAULT == SPACED_INPLACE ? "0 = 0" : 0, FAULT == DAMAGED_INPLACE  ? 3
                                            : FAULT == SPACED_INPLACE ? 5
                                                                      : 0},
    run,
    0,
    0,
    0};
static const tn_kernel two = {sizeof(tn_kernel),
                              0,
                              FAULT == OTHER_PRIORITY ? 5 : 0,
                              {"relu", 4},
                              TN_OP_relu_DIGEST,
                              {"float32", 7},
                              {0, 0},
                              {0, 0},
                              run,
                              0,
                              0,
                              0};
#if FAULT == TOO_MANY
static const tn_kernel* const kernels[100000] = {&one, &two};
#else
static const tn_kernel* const kernels[2] = {&one, &two};
#endif
#define PLUGIN_ENTRY unused_entry
#include "toy.h"
#define COUNT (FAULT == TOO_MANY ? 100000 : FAULT == TWICE || FAULT == OTHER_PRIORITY ? 2 : 1)

static const char long_text[1 << 20] = "long";
static const tn_device_api sized = {FAULT == HUGE_DEVICE ? (size_t)1 << 40 : 24,
                                    0,
                                    count,
                                    props,
                                    alloc,
                                    release,
                                    copy,
                                    wait_for,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};

#if FAULT == NULL_NAME
#define GIVEN_NAME \
  { 0, 5 }
#elif FAULT == LONG_NAME
#define GIVEN_NAME \
  { long_text, sizeof long_text }
#elif FAULT == NAME_NOT_UTF8
#define GIVEN_NAME S("caf\xe9")
#else
#define GIVEN_NAME S(PLUGIN_NAME)
#endif

#if FAULT == NO_DEVICE_NAME
#define GIVEN_DEVICE \
  { 0, 0 }
#elif FAULT == HOST_DEVICE
#define GIVEN_DEVICE S("cpu")
#elif FAULT == DEVICE_OF_ANOTHER
#define GIVEN_DEVICE S("works")
#else
#define GIVEN_DEVICE S(PLUGIN_NAME)
#endif

static const tn_plugin wrong = {
    sizeof(tn_plugin),
    TN_ABI_MAJOR,
    TN_ABI_TARGET_MINOR,
    TN_PLUGIN_UNLOADABLE,
    sizeof(tn_kernel),
    GIVEN_NAME,
    {FAULT == LONG_VERSION ? long_text : "1", FAULT == LONG_VERSION ? sizeof long_text : 1},
    {0, FAULT == DAMAGED_VENDOR ? 7 : 0},
    GIVEN_DEVICE,
    0,
    FAULT == NO_DEVICE_TABLE                        ? 0
    : FAULT == SHORT_DEVICE || FAULT == HUGE_DEVICE ? &sized
                                                    : &api,
    FAULT == BACKWARDS ? kernels + 1 : kernels,
    FAULT == BACKWARDS   ? kernels
    : FAULT == ODD_TABLE ? (const tn_kernel* const*)((const char*)(kernels + COUNT) + 2)
                         : kernels + COUNT,
    FAULT == NO_INIT ? 0 : start,
    0,
    0};
__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { return &wrong; }
