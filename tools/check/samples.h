// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls to try an op with: those of the cases in tests/oracle, and shapes that no case has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec.h"

namespace tenon::check {

// The smaller cases of each op of a folder, without those that expect an error.
class CaseLibrary {
 public:
  explicit CaseLibrary(const std::string& folder);
  // At most `most`, different in the shapes or numbers of their arguments.
  std::vector<Spec> specs(const core::Op& op, std::size_t most) const;

 private:
  std::map<std::string, std::vector<std::string>> files_;  // by the op's name without overload
};

// By the row's `samples` line, or by the shape of its schema: "unary", "binary", "reduce", "none". They give 0
// elements, 0-dim, rank 6 and broadcasting; empty where nothing fits.
std::vector<Spec> generated(const core::Op& op);

}  // namespace tenon::check
