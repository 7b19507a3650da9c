// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How well the hidden sections were predicted, as numbers and lines of text.
#pragma once

#include <string>
#include <vector>

#include "graph.h"

namespace packages {

struct Judgment {
  double accuracy = 0, neighbors = 0, majority = 0;  // shares of the hidden packages
  std::vector<std::vector<int64_t>> confusion;       // [truth][answer], hidden packages
};
// `answers`: a section for every package of the graph.
Judgment judge(const Graph& graph, const Split& split, const std::vector<int64_t>& answers);

// A line a section: how many, how many known again, and what it was mostly taken for.
std::string table(const Graph& graph, const Judgment& judgment);

// The three accuracies, a line each.
std::string accuracies(const Graph& graph, const Split& split, const Judgment& judgment);

// "1,234,567"
std::string grouped(int64_t n);

}  // namespace packages
