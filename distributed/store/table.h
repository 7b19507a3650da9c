// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values by key, without a lock: what HashStore and the server of TCPStore keep.
#pragma once

#include <map>

#include "distributed/store/bytes.h"

namespace tenon::distributed {

class KeyTable {
 public:
  const Bytes* find(const std::string& key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? nullptr : &at->second;
  }
  void set(const std::string& key, Bytes value) { values_[key] = std::move(value); }
  Bytes compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) {
    const Bytes* now = find(key);
    if (now ? *now != expected : !expected.empty()) return now ? *now : expected;
    return values_[key] = desired;
  }
  int64_t add(const std::string& key, int64_t value) {
    const int64_t sum = sum_of(key, find(key), value);
    values_[key] = to_bytes(std::to_string(sum));
    return sum;
  }
  void append(const std::string& key, const Bytes& value) {
    Bytes& now = values_[key];
    now.insert(now.end(), value.begin(), value.end());
  }
  bool erase(const std::string& key) { return values_.erase(key) != 0; }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  int64_t size_of(const std::string& prefix) const {
    int64_t n = 0;
    for (auto at = values_.lower_bound(prefix);
         at != values_.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at)
      ++n;
    return n;
  }
  std::vector<std::string> missing(const std::vector<std::string>& keys) const {
    std::vector<std::string> out;
    for (const std::string& key : keys) {
      if (!find(key)) out.push_back(key);
    }
    return out;
  }

 private:
  std::map<std::string, Bytes> values_;
};

}  // namespace tenon::distributed
