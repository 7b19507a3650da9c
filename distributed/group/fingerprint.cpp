// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/fingerprint.h"

#include <algorithm>

#include "distributed/group/engine.h"

namespace tenon::distributed {
namespace {

bool is_rooted(int32_t operation) {
  return operation == TN_COLLECTIVE_REDUCE || operation == TN_COLLECTIVE_BROADCAST ||
         operation == TN_COLLECTIVE_GATHER || operation == TN_COLLECTIVE_SCATTER;
}

}  // namespace

// Parts of all_to_all and buffers at the root differ by rank.
Fingerprint::Fingerprint(const Request& r) : operation(r.operation) {
  if (is_reduction(operation)) op = r.op;
  if (is_rooted(operation)) root = r.root;
  const bool by_out = operation == TN_COLLECTIVE_SCATTER;
  const Tensor& t = by_out ? r.out : r.in.defined() ? r.in : r.out;
  if (!t.defined()) return;
  dtype = t.scalar_type();
  if (operation != TN_COLLECTIVE_ALL_TO_ALL) sizes = t.sizes().vec();
}

bool Fingerprint::is_collective(int32_t operation) {
  return operation >= 0 && operation != TN_COLLECTIVE_SEND && operation != TN_COLLECTIVE_RECV;
}

std::string Fingerprint::text() const {
  if (operation < 0) return "nothing";
  std::string out = name_of(operation);
  if (op) out += " " + distributed::text(*op);
  if (root) out += core::join(" root ", *root);
  if (dtype) out += core::join(" ", core::dtype_info(*dtype).name);
  if (sizes) out += core::join(" ", IntArrayRef(*sizes));
  return out;
}

std::string Fingerprint::key() const {
  int64_t numel = 1;
  for (int64_t n : sizes.value_or(std::vector<int64_t>())) numel *= n;
  return core::join(operation, ":", op ? int{op->op_} : -1, ":", root.value_or(-1), ":",
                    dtype ? static_cast<int>(*dtype) : -1, ":", numel);
}

Mismatch compare_ranks(const std::vector<std::string>& keys,
                       const std::vector<std::string>& texts) {
  const auto count = [&](const std::string& key) {
    return key.empty() ? 0 : std::count(keys.begin(), keys.end(), key);
  };
  std::size_t most = 0;
  for (std::size_t r = 1; r < keys.size(); ++r) {
    if (count(keys[r]) > count(keys[most])) most = r;
  }
  Mismatch out;
  std::string as;
  int same = 0;
  for (std::size_t r = 0; r < keys.size(); ++r) {
    if (keys[r].empty()) continue;
    if (keys[r] == keys[most]) {
      as += core::join(same++ ? ", " : "", r);
      continue;
    }
    out.ranks.push_back(static_cast<int>(r));
    out.text += core::join(out.text.empty() ? "" : "; ", "rank ", r, " has ", texts[r]);
  }
  if (!out.ranks.empty())
    out.text +=
        core::join("; expected ", texts[most], " as on ", same == 1 ? "rank " : "ranks ", as);
  return out;
}

}  // namespace tenon::distributed
