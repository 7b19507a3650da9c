// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What all ranks must agree on in an operation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/group/request.h"

namespace tenon::distributed {

struct Fingerprint {
  explicit Fingerprint(const Request& r);
  Fingerprint() = default;  // of a rank that has come to nothing yet

  // "all_reduce sum float32 [2, 3]"
  std::string text() const;
  // One word, the same where the engine has the same to do: [2, 3] and [6] do not differ.
  std::string key() const;

  static bool is_collective(int32_t operation);  // not a send or receive

  int32_t operation = -1;
  std::optional<ReduceOp> op;
  std::optional<int64_t> root;
  std::optional<ScalarType> dtype;
  std::optional<std::vector<int64_t>> sizes;
};

// The ranks whose key is not that of most ranks, and a text that says what they have and what is
// expected. Nothing if all are the same. Ranks without a key are not known.
struct Mismatch {
  std::vector<int> ranks;
  std::string text;
};
Mismatch compare_ranks(const std::vector<std::string>& keys, const std::vector<std::string>& texts);

}  // namespace tenon::distributed
