// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A picture of a search: the time of each candidate, and of the best so far.
#pragma once

#include <string>
#include <vector>

struct Curve {
  std::string name;
  double untuned = 0;         // microseconds
  std::vector<double> times;  // of the candidates in turn
};

// As SVG, one panel for each search. std::runtime_error if the file cannot be written.
void write_plot(const std::string& file, const std::vector<Curve>& curves);
