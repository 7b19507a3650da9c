// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values as unsigned keys of the same order, and a stable sort of {key, index} pairs.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "plugin_cpu/memory/along_dim.h"

namespace tenon::cpu {

template <std::size_t Bytes>
struct KeyOf;
template <>
struct KeyOf<1> {
  using type = uint8_t;
};
template <>
struct KeyOf<2> {
  using type = uint16_t;
};
template <>
struct KeyOf<4> {
  using type = uint32_t;
};
template <>
struct KeyOf<8> {
  using type = uint64_t;
};
template <class T>
using key_t = typename KeyOf<sizeof(T)>::type;

// NaN becomes the greatest key; -0.0 has the key of 0.0.
template <class T>
inline key_t<T> sort_key(T v) {
  using K = key_t<T>;
  constexpr K top = static_cast<K>(K{1} << (sizeof(K) * 8 - 1));
  if constexpr (std::is_same_v<T, bool> || (std::is_integral_v<T> && std::is_unsigned_v<T>)) {
    return static_cast<K>(v);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<K>(static_cast<K>(v) ^ top);
  } else {
    K b;
    std::memcpy(&b, &v, sizeof b);
    constexpr K infinity = sizeof(T) == 8                 ? static_cast<K>(0x7ff0000000000000u)
                           : sizeof(T) == 4               ? static_cast<K>(0x7f800000u)
                           : std::is_same_v<T, sdk::Half> ? static_cast<K>(0x7c00u)
                                                          : static_cast<K>(0x7f80u);
    const K magnitude = static_cast<K>(b & static_cast<K>(~top));
    const K ordered =
        static_cast<K>(b & top ? static_cast<K>(top - magnitude) : static_cast<K>(top + magnitude));
    return magnitude > infinity ? static_cast<K>(~K{0}) : ordered;
  }
}

template <class K>
struct Keyed {
  K key;
  uint32_t index;
  bool operator<(const Keyed& o) const { return key != o.key ? key < o.key : index < o.index; }
};

inline constexpr std::size_t kRadixFrom = 512;  // shorter runs are sorted by comparison

// In ascending order, stable: indices ascend among equal keys if they did before.
template <class K>
void sort_keys(std::vector<Keyed<K>>& keys) {
  if (keys.size() < kRadixFrom) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  constexpr int passes = sizeof(K);
  std::vector<uint32_t> counts(static_cast<std::size_t>(passes) * 256, 0);
  for (const Keyed<K>& k : keys) {
    for (int p = 0; p < passes; ++p)
      ++counts[static_cast<std::size_t>(p * 256) + (k.key >> (8 * p) & 255)];
  }
  std::vector<Keyed<K>> other(keys.size());
  Keyed<K>*from = keys.data(), *to = other.data();
  for (int p = 0; p < passes; ++p) {
    uint32_t* count = counts.data() + p * 256;
    uint32_t sum = 0;
    bool trivial = false;
    for (int i = 0; i < 256; ++i) {
      trivial |= count[i] == keys.size();
      const uint32_t c = count[i];
      count[i] = sum;
      sum += c;
    }
    if (trivial) continue;  // all keys agree in this byte
    for (std::size_t i = 0; i < keys.size(); ++i)
      to[count[from[i].key >> (8 * p) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys.data()) keys.swap(other);
}

}  // namespace tenon::cpu
