// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "engines.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "table.h"
#include "tenon/distributed/process_group.h"

namespace tenon::command {
namespace {

using distributed::Capability;
using Strings = std::vector<std::string>;

// Members by key; groups are in the order of their first members.
template <class Key>
class Groups {
 public:
  Strings& of(const Key& key) {
    for (auto& [k, members] : groups_) {
      if (k == key) return members;
    }
    return groups_.emplace_back(key, Strings()).second;
  }
  const std::vector<std::pair<Key, Strings>>& all() const { return groups_; }

 private:
  std::vector<std::pair<Key, Strings>> groups_;
};

// The reductions of an operation, by their dtypes.
using Reductions = std::vector<std::pair<Strings, Strings>>;

Reductions reductions_of(const std::vector<Capability>& all, const Capability& like) {
  Groups<Strings> groups;
  for (const Capability& c : all) {
    if (std::tie(c.engine, c.device, c.operation) ==
        std::tie(like.engine, like.device, like.operation))
      groups.of(c.dtypes).push_back(c.reduction);
  }
  return groups.all();
}

}  // namespace

std::string engine_table() {
  const std::vector<Capability> all = distributed::capabilities();
  if (all.empty()) return "";
  using Line = std::tuple<std::string, std::string, Reductions>;  // engine, device
  Groups<Line> lines;
  std::size_t most = 0;
  for (const Capability& c : all) {
    Strings& operations = lines.of({c.engine, c.device, reductions_of(all, c)});
    if (std::find(operations.begin(), operations.end(), c.operation) == operations.end())
      operations.push_back(c.operation);
    most = std::max(most, c.dtypes.size());
  }
  Table table({"ENGINE", "DEVICE", "OPERATIONS", "REDUCTIONS", "DTYPES"});
  for (const auto& [line, operations] : lines.all()) {
    const auto& [engine, device, reductions] = line;
    for (const auto& [dtypes, names] : reductions) {
      table.add({engine, device, join_list(operations),
                 names.front().empty() ? "-" : join_list(names),
                 dtypes.size() == most ? "all " + std::to_string(most) : join_list(dtypes)});
    }
  }
  return table.text();
}

nlohmann::ordered_json engines_to_json() {
  auto out = nlohmann::ordered_json::array();
  for (const Capability& c : distributed::capabilities())
    out.push_back({{"engine", c.engine},
                   {"operation", c.operation},
                   {"device", c.device},
                   {"reduction", c.reduction},
                   {"dtypes", c.dtypes}});
  return out;
}

}  // namespace tenon::command
