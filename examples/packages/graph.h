// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Packages as a graph, which of its labels are hidden, and what can be guessed without learning.
// Knows nothing of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "control.h"

namespace packages {

struct Graph {
  std::vector<std::string> names;
  std::vector<int64_t> section;               // of each package, -1: none that counts
  std::vector<std::string> sections;          // the largest first
  std::vector<std::array<int64_t, 2>> links;  // who needs, what is needed: each pair once, in order
  int64_t unanswered = 0;                     // names needed that no package has or provides
  int64_t size() const { return static_cast<int64_t>(names.size()); }
};

// A package that is described several times is one, with the needs of all and the first section.
// Sections of fewer than `smallest` packages do not count. std::runtime_error says what is missing
// where fewer than two sections are left.
Graph build(const std::vector<Package>& packages, int64_t smallest);

struct Split {
  std::vector<int64_t> known, hidden;  // packages, in order
};
// Hides a share of each section, at least one package of it, and leaves at least one known.
Split split(const Graph& graph, double share, uint64_t seed);

// The section of most known packages.
int64_t largest_section(const Graph& graph, const Split& split);

// For each hidden package the section that most of its known neighbors have; among equals the
// larger section, and the largest where no neighbor is known.
std::vector<int64_t> ask_neighbors(const Graph& graph, const Split& split);

}  // namespace packages
