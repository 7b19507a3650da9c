// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Keys of elements that sort as unsigned integers, and the workspace of a sort.
#pragma once

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/sort.h"

namespace tenon::cuda {

// NaN of either sign is the largest; both zeros are equal. Dtypes of up to 32 bits have keys of up
// to 32 bits.
TN_DEVICE uint64_t key_of(const char* p, Code code) {
  switch (code) {
    case Code::F64: {
      const double v = read<double>(p);
      if (v != v) return ~uint64_t{0};
      const uint64_t bits = v == 0 ? 0 : read<uint64_t>(p);
      return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
    }
    case Code::F16:
    case Code::BF16:
    case Code::F32: {
      const float v = load<float>(p, code);
      if (v != v) return 0xffffffffu;
      uint32_t bits;
      std::memcpy(&bits, &v, sizeof bits);
      if (v == 0) bits = 0;
      return bits >> 31 ? static_cast<uint32_t>(~bits) : bits | 0x80000000u;
    }
    case Code::I64:
      return read<uint64_t>(p) ^ uint64_t { 1 } << 63;
    default:
      return static_cast<uint32_t>(static_cast<uint32_t>(load<int64_t>(p, code)) ^ 0x80000000u);
  }
}
TN_DEVICE bool is_nan(const char* p, Code code) {
  if (!is_floating(code)) return false;
  const double v = load<double>(p, code);
  return v != v;
}
// The same for either order.
TN_DEVICE uint64_t key_of(const char* p, Code code, bool descending) {
  const uint64_t key = key_of(p, code);
  if (!descending) return key;
  return code == Code::F64 || code == Code::I64 ? ~key : static_cast<uint32_t>(~key);
}
inline int key_bits(Code code) { return code == Code::F64 || code == Code::I64 ? 64 : 32; }

// The number of sorted pairs with a smaller key.
TN_DEVICE int64_t first_of(const Pairs& p, uint64_t key) {
  int64_t low = 0, high = p.n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (p.keys_out[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

inline int bits_for(int64_t values) {
  int bits = 0;
  while (bits < 63 && (int64_t{1} << bits) < values) ++bits;
  return bits;
}

// The workspace of a sort: pairs twice, then the library's scratch.
inline uint64_t sort_workspace_bytes(int64_t n) {
  return static_cast<uint64_t>(n) * 24 + 64 + static_cast<uint64_t>(sort_scratch(n)) + 256;
}
struct SortMemory {
  Pairs pairs;
  char* scratch;
  std::size_t scratch_bytes;
  SortMemory(const sdk::Call& call, int64_t n) {
    char* p = call.workspace<char>();
    pairs.keys = reinterpret_cast<uint64_t*>(p);
    pairs.keys_out = pairs.keys + n;
    pairs.values = reinterpret_cast<uint32_t*>(pairs.keys_out + n);
    pairs.values_out = pairs.values + n;
    pairs.n = n;
    scratch = p + (n * 24 + 255) / 256 * 256;
    scratch_bytes = call.workspace_bytes() - static_cast<uint64_t>(scratch - p);
  }
};

}  // namespace tenon::cuda
