// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "distributed/parallel/reducer.h"

namespace tenon::distributed {

std::vector<std::vector<std::size_t>> assign_buckets(const std::vector<Tensor>& tensors,
                                                     const std::vector<std::size_t>& order,
                                                     int64_t first_limit, int64_t limit) {
  struct Open {
    std::size_t place;  // of the bucket that is being filled
    int64_t bytes;
    int64_t limit;
    bool full;
  };
  std::vector<std::vector<std::size_t>> out;
  std::map<std::pair<std::string, ScalarType>, Open> open;
  for (const std::size_t i : order) {
    const Tensor& t = tensors[i];
    const auto key = std::make_pair(t.device().str(), t.scalar_type());
    auto found = open.find(key);
    if (found == open.end()) {
      found = open.insert({key, {out.size(), 0, first_limit, false}}).first;
      out.emplace_back();
    }
    Open& o = found->second;
    if (o.full) {
      o = {out.size(), 0, limit, false};
      out.emplace_back();
    }
    out[o.place].push_back(i);
    o.bytes += t.numel() * static_cast<int64_t>(t.element_size());
    o.full = o.bytes >= o.limit;
  }
  return out;
}

}  // namespace tenon::distributed
