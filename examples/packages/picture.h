// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The picture of the result, as SVG: a map of hidden packages, and which sections are taken for
// which.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph.h"
#include "report.h"

namespace packages {

struct Dot {
  double x = 0, y = 0;
  int64_t package = 0, answer = 0;
};

std::string draw(const Graph& graph, const Judgment& judgment, const std::vector<Dot>& dots);

// std::runtime_error if the file cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace packages
