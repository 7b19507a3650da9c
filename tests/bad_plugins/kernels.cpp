// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that break the ABI contract. One source, one FAULT per plugin.
#include <stdexcept>

#include "tenon/abi/plugin.h"
#include "tenon/sdk/ops/nonzero.h"
#include "tenon/sdk/ops/relu.h"

namespace {

enum Fault {
  FAILS = 1,
  FAILS_SILENTLY,
  UNKNOWN_STATUS,
  THROWS,
  THROWS_NO_EXCEPTION,
  ENDLESS_WORKSPACE,
  FAILING_WORKSPACE,
  SUPPORTS_NOTHING,
  SIZES_NOTHING,  // from here on nonzero, which sizes its own output
  NEGATIVE_SIZE,
  TOO_MANY_DIMENSIONS,
  SIZES_TWICE,
  NO_SUCH_OUTPUT,
  UNKNOWN_DTYPE,
  NULL_SIZES,
  FEWER_THAN_NO_DIMENSIONS
};

const tn_host* host = nullptr;
tn_str str(const char* s) { return {s, __builtin_strlen(s)}; }

tn_status size(tn_call* call) {
  const int64_t sizes[2] = {FAULT == NEGATIVE_SIZE ? -1 : 2, 1},
                *given = FAULT == NULL_SIZES ? nullptr : sizes;
  const tn_dtype i64 = {TN_INT, 64, 1}, strange = {77, 3, 9};
  if (FAULT == SIZES_NOTHING) return TN_OK;
  tn_status s = host->alloc_out(call, FAULT == NO_SUCH_OUTPUT ? 5 : 0,
                                FAULT == TOO_MANY_DIMENSIONS        ? 65
                                : FAULT == FEWER_THAN_NO_DIMENSIONS ? -3
                                                                    : 2,
                                given, FAULT == UNKNOWN_DTYPE ? strange : i64);
  return s == TN_OK && FAULT == SIZES_TWICE ? host->alloc_out(call, 0, 2, sizes, i64) : s;
}

tn_status run(tn_call* call) {
  switch (FAULT) {
    case FAILS:
      host->set_error(call, str("the kernel refuses this"));
      return TN_ERROR_VALUE;
    case FAILS_SILENTLY:
      return TN_ERROR_BACKEND;
    case UNKNOWN_STATUS:
      return 4711;
    case THROWS:
      throw std::runtime_error("thrown in the kernel");
    case THROWS_NO_EXCEPTION:
      throw 5;
    default:
      return size(call);
  }
}

tn_status workspace(tn_call*, uint64_t* bytes) {
  *bytes = FAULT == ENDLESS_WORKSPACE ? UINT64_MAX / 4 : 16;
  return FAULT == FAILING_WORKSPACE ? TN_ERROR_INDEX : TN_OK;
}

tn_status supports(const tn_call*) { return FAULT == SUPPORTS_NOTHING ? TN_DECLINED : TN_OK; }

const tn_kernel one = {
    sizeof(tn_kernel),
    DYNAMIC ? uint32_t{TN_KERNEL_DYNAMIC} : 0u,
    0,
    DYNAMIC ? tn_str{"nonzero", 7} : tn_str{"relu", 4},
#if DYNAMIC
    TN_OP_nonzero_DIGEST,
#else
    TN_OP_relu_DIGEST,
#endif
    {"float32", 7},
    {nullptr, 0},
    {nullptr, 0},
    run,
    FAULT == ENDLESS_WORKSPACE || FAULT == FAILING_WORKSPACE ? workspace : nullptr,
    supports,
    nullptr};
const tn_kernel* const kernels[1] = {&one};

tn_status start(const tn_host* given, tn_str*) {
  host = given;
  return TN_OK;
}

}  // namespace

extern "C" {
#define PLUGIN_KERNELS kernels, kernels + 1
#define PLUGIN_INIT start
#include "toy.h"
}
