// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What an archive holds, and its form as a safetensors file:
//   8 bytes       length of the header, little-endian
//   header        JSON: tensor name -> {dtype, shape, data_offsets}, and "__metadata__" (strings
//   only) data          the tensors, row-major, end to end, in the order of their offsets
// Ours in the metadata:
//   tenon.format    "1"
//   tenon.tensors   JSON: name -> what the format cannot say:
//                     strides         its dimensions lie in memory in the order of these, not
//                     row-major; files of
//                                     older versions have some with holes, which are left out
//                     of, offset      it is a view of another entry (then shape and strides are
//                     here, and there is no
//                                     entry of its own); an entry named tenon.storage.N is there
//                                     only to be viewed
//                     requires_grad
//                     device          where it was ("cuda:1"), unless on the host
//                     layout, components, shape, flags
//                                     it has a plugin's layout, and consists of the entries that
//                                     components names, NAME.indices for example; there is no entry
//                                     of its own
//   tenon.values    JSON: key -> {kind: value} of scalars, strings, devices and lists
//   tenon.archives  JSON: names of nested archives, for those that are empty
//   tenon.checksum  CRC-32 of the whole file, taken with eight zeros in its place
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/device_map.h"
#include "tenon/ivalue.h"
#include "tenon/tensor.h"

namespace tenon::serialize::detail {

class MappedFile;

struct Content {
  std::vector<std::string> order;  // names of tensors, as written
  std::map<std::string, Tensor> tensors;
  std::map<std::string, IValue> values;
  std::set<std::string> archives;

  bool taken(const std::string& key) const {
    return tensors.count(key) || values.count(key) || archives.count(key);
  }
};

inline constexpr std::string_view kHiddenPrefix = "tenon.storage.";
inline constexpr std::string_view kChecksumMark = "\"tenon.checksum\":\"";
inline constexpr std::size_t kChecksumDigits = 8;
// Bytes; larger ones are refused before they are parsed.
inline constexpr std::size_t kMaxHeader = 16 << 20;
inline constexpr std::size_t kMaxTensors = 1000000;
inline constexpr std::size_t kMaxName = 1024;  // bytes
inline constexpr int kMaxDepth = 4;            // of the JSON

// Calls `put` with the parts of the file in order. The checksum stands before what it sums up: with
// `patch`, which overwrites bytes at an offset, the data is read once, else twice.
void write_safetensors(
    const Content& content, const std::function<void(const void*, std::size_t)>& put,
    const std::function<void(uint64_t, const void*, std::size_t)>& patch = nullptr);
// A file to be read once, from its start. No byte of it is kept but in the tensors; large ones are
// the pages of a mapped file.
struct Input {
  std::string name;  // in errors
  uint64_t size;
  std::function<void(void*, std::size_t)> read;  // the next bytes; throws if there are none
  std::shared_ptr<MappedFile> mapped;            // the same bytes; null: they are not in memory
};
Content read_safetensors(const Input& input, const DeviceMap& map);

// Strides without holes for dimensions that lie in memory in the order of these.
std::vector<int64_t> compact_strides(IntArrayRef sizes, IntArrayRef strides);

// "F32" of the format; nothing if it has no such dtype.
std::optional<std::string_view> format_name(ScalarType t);
std::optional<ScalarType> from_format_name(std::string_view name);

}  // namespace tenon::serialize::detail
