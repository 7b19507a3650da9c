// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Over which numbers the indices of a statement run, for the sizes of a call.
//
// Indices with `where i in a:b` have that range. The others are resolved in rounds: each round
// takes the reads with exactly one unresolved index in one dimension, and gives that index the
// largest range for which no such read leaves its tensor; an index of the left side begins at 0 or
// above. A target that exists already counts as a read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/comprehension/tree.h"

namespace tenon::jit::comprehension {

using Shape = std::vector<int64_t>;

struct Interval {
  int64_t begin = 0, end = 0;  // half open
};
using Ranges = std::map<std::string, Interval>;

// What names mean at a statement.
struct Facts {
  std::map<std::string, int64_t> sizes;
  std::map<std::string, Shape> shapes;  // of tensors that can be read
  bool structural = false;  // sizes are made up: only what does not depend on them is checked
};

// constant + sum of coefficient * index.
struct Linear {
  int64_t constant = 0;
  std::map<std::string, int64_t> terms;
};

// Nothing if it is not of that form. ErrorReport for an index times a size or another index.
std::optional<Linear> linear_of(const Expression& e, const Facts& facts);

// Its least and greatest value; of empty ranges, at their first number.
Interval extremes_of(const Linear& value, const Ranges& ranges);  // [least, greatest + 1)

// Indices of the left side, then the others as they occur.
std::vector<std::string> variables_of(const Statement& s, const Facts& facts);

// ErrorReport where a range is ambiguous.
Ranges infer_ranges(const Statement& s, const Facts& facts);

}  // namespace tenon::jit::comprehension
