// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_nccl/types.h"

#include "tenon/abi/ext/collective.h"

namespace tenon::nccl_engine {
namespace {

std::optional<ncclDataType_t> integer_of(uint32_t bits, bool is_signed) {
  switch (bits) {
    case 8:
      return is_signed ? ncclInt8 : ncclUint8;
    case 32:
      return is_signed ? ncclInt32 : ncclUint32;
    case 64:
      return is_signed ? ncclInt64 : ncclUint64;
    default:
      return std::nullopt;
  }
}

std::optional<ncclDataType_t> float_of(uint32_t bits) {
  switch (bits) {
    case 16:
      return ncclFloat16;
    case 32:
      return ncclFloat32;
    case 64:
      return ncclFloat64;
    default:
      return std::nullopt;
  }
}

std::optional<ncclDataType_t> type_of(tn_dtype dtype) {
  switch (dtype.code) {
    case TN_INT:
    case TN_UINT:
      return integer_of(dtype.bits, dtype.code == TN_INT);
    case TN_FLOAT:
      return float_of(dtype.bits);
    case TN_COMPLEX:
      return float_of(dtype.bits / 2u);
    case TN_BFLOAT:
      return ncclBfloat16;
    default:
      return std::nullopt;
  }
}

std::optional<ncclRedOp_t> op_of(int32_t reduction) {
  switch (reduction) {
    case TN_COLLECTIVE_SUM:
      return ncclSum;
    case TN_COLLECTIVE_AVG:
      return ncclAvg;
    case TN_COLLECTIVE_PRODUCT:
      return ncclProd;
    case TN_COLLECTIVE_MIN:
      return ncclMin;
    case TN_COLLECTIVE_MAX:
      return ncclMax;
    default:
      return std::nullopt;
  }
}

// Of zeros and ones.
std::optional<Reduction> of_bool(int32_t reduction) {
  switch (reduction) {
    case TN_COLLECTIVE_SUM:
    case TN_COLLECTIVE_MAX:
    case TN_COLLECTIVE_BOR:
      return Reduction{ncclUint8, ncclMax, 1};
    case TN_COLLECTIVE_PRODUCT:
    case TN_COLLECTIVE_MIN:
    case TN_COLLECTIVE_BAND:
      return Reduction{ncclUint8, ncclMin, 1};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Reduction> reduction_of(tn_dtype dtype, int32_t reduction) {
  if (dtype.lanes != 1) return std::nullopt;
  if (dtype.code == TN_BOOL) return of_bool(reduction);
  const auto type = type_of(dtype);
  const auto op = op_of(reduction);
  const bool is_complex = dtype.code == TN_COMPLEX, sums = op == ncclSum || op == ncclAvg;
  const bool is_integer = dtype.code == TN_INT || dtype.code == TN_UINT;
  if (!type || !op || (is_complex && !sums) || (is_integer && op == ncclAvg)) return std::nullopt;
  return Reduction{*type, *op, is_complex ? size_t{2} : size_t{1}};
}

}  // namespace tenon::nccl_engine
