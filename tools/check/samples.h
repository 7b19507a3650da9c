// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls to try an op with: those of the cases in tests/oracle, those in tests/check/calls, and
// shapes that follow from the operator's schema.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "spec.h"

namespace tenon::check {

// The smaller cases of each op of a folder.
class CaseLibrary {
 public:
  explicit CaseLibrary(const std::string& folder);
  // At most `max_count`, different in the shapes or scalars of their arguments. An operator without
  // cases of its own borrows those of an operator with the same arguments, of its family first.
  std::vector<Spec> specs(const core::Op& op, std::size_t max_count) const;
  // The same calls as from_text() reads them, with other elements; those that cannot be written so
  // are left out.
  std::vector<std::string> texts(const core::Op& op) const;
  // Calls that must be refused.
  std::vector<Spec> refused(const core::Op& op) const;

 private:
  std::vector<Spec> read(const core::Op& op, const core::Op& donor, bool raises) const;
  std::map<std::string, std::vector<std::string>> files_;  // by the op's name without overload
};

// One sample: `name=value` for each argument without default, separated by spaces. A value is JSON,
// or for a tensor its sizes, as in 2x3 or 0d, and what its elements are: nothing (between -2 and
// 2), + (between 0.1 and 2.1), ~ (between 0.05 and 0.95), ? (bool), ^ (ascending), <n (integers
// below n), %n (0 to n-1 in turn), :n (all n). @dtype behind
// it keeps that dtype. [2x3,4x3] is a list of tensors; `same` as a dtype is
// that of the cell. `large` at the front: for threads, not for the reference. `below`: the lines
// below, in which $T is the dtype of the cell. ValueError names what does not fit.
Spec from_text(const core::Op& op, std::string_view text);

// The operator's `samples` lines, and the files of a folder: the names of operators on one line,
// and below it, indented, one call per line; lines that are indented further belong to the call.
class CallFiles {
 public:
  explicit CallFiles(const std::string& folder);
  std::vector<Spec> specs(const core::Op& op) const;
  std::vector<std::string> unknown_operators() const;

 private:
  std::map<std::string, std::vector<std::string>> calls_;
};

// By the operator's family and schema: 0 elements, 0-dim, rank 6, broadcasting, and one that
// several threads share. Empty where nothing fits.
std::vector<Spec> generated(const core::Op& op);

}  // namespace tenon::check
