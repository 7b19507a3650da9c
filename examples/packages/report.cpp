// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace packages {

std::string grouped(int64_t n) {
  std::string out = std::to_string(n);
  for (auto at = static_cast<int64_t>(out.size()) - 3; at > 0; at -= 3)
    out.insert(static_cast<std::size_t>(at), ",");
  return out;
}

namespace {

template <class... Args>
std::string print(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// The wrong answer that was given most, "" where none was.
std::string mostly_taken_for(const Graph& graph, const std::vector<int64_t>& row,
                             std::size_t truth) {
  std::size_t most = truth;
  for (std::size_t s = 0; s < row.size(); ++s) {
    if (s != truth && row[s] > (most == truth ? 0 : row[most])) most = s;
  }
  if (most == truth) return "";
  return graph.sections[most] + " (" + grouped(row[most]) + ")";
}

}  // namespace

Judgment judge(const Graph& graph, const Split& split, const std::vector<int64_t>& answers) {
  Judgment out;
  out.confusion.assign(graph.sections.size(), std::vector<int64_t>(graph.sections.size()));
  auto asked = ask_neighbors(graph, split);
  int64_t largest = largest_section(graph, split), right = 0, neighbors = 0, majority = 0;
  for (std::size_t i = 0; i < split.hidden.size(); ++i) {
    auto node = static_cast<std::size_t>(split.hidden[i]);
    int64_t truth = graph.section[node];
    ++out.confusion[static_cast<std::size_t>(truth)][static_cast<std::size_t>(answers[node])];
    right += answers[node] == truth;
    neighbors += asked[i] == truth;
    majority += largest == truth;
  }
  auto all = static_cast<int64_t>(split.hidden.size());
  out.accuracy = percent(right, all) / 100;
  out.neighbors = percent(neighbors, all) / 100;
  out.majority = percent(majority, all) / 100;
  return out;
}

std::string table(const Graph& graph, const Judgment& judgment) {
  std::size_t width = 7;
  for (const auto& s : graph.sections) width = std::max(width, s.size());
  auto w = static_cast<int>(std::min<std::size_t>(width, 40));
  std::string out = print("%-*s %9s %7s %8s %10s  %s\n", w, "section", "hidden", "found", "recall",
                          "precision", "mostly taken for");
  for (std::size_t s = 0; s < graph.sections.size(); ++s) {
    const auto& row = judgment.confusion[s];
    int64_t hidden = std::accumulate(row.begin(), row.end(), int64_t{0}), answered = 0;
    for (const auto& other : judgment.confusion) answered += other[s];
    out += print("%-*.40s %9s %7s %7.1f%% %10s  %s\n", w, graph.sections[s].c_str(),
                 grouped(hidden).c_str(), grouped(row[s]).c_str(), percent(row[s], hidden),
                 answered == 0 ? "-" : print("%.1f%%", percent(row[s], answered)).c_str(),
                 mostly_taken_for(graph, row, s).c_str());
    while (out.size() > 1 && out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  }
  return out;
}

std::string accuracies(const Graph& graph, const Split& split, const Judgment& j) {
  auto n = grouped(static_cast<int64_t>(split.hidden.size()));
  const auto& largest = graph.sections[static_cast<std::size_t>(largest_section(graph, split))];
  return print("accuracy over %s packages whose section was hidden:\n", n.c_str()) +
         print("  %-34s %6.2f %%\n", "graph convolution", 100 * j.accuracy) +
         print("  %-34s %6.2f %%\n", "what most known neighbors are", 100 * j.neighbors) +
         print("  %-34s %6.2f %%\n", ("always the largest (" + largest + ")").c_str(),
               100 * j.majority);
}

}  // namespace packages
