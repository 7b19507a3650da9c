// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>

namespace packages {
namespace {

constexpr double kMap = 620, kMatrix = 560;  // sides of the two squares
constexpr double kLeft = 30, kTop = 100;     // of the map
constexpr double kLegend = 190;              // wide, between the two
constexpr double kNamesWidth = 110;          // left of the matrix and under it
constexpr double kMatrixLeft = kLeft + kMap + kLegend + kNamesWidth;
constexpr double kWidth = kMatrixLeft + kMatrix + 30, kHeight = kTop + kMap + 60;
constexpr std::size_t kMaxRows = 20;   // sections in the matrix
constexpr std::size_t kMaxShown = 24;  // letters of a name

// Hues that differ by lightness, too; the largest sections of the map get one each, the rest are
// gray.
constexpr const char* kColors[] = {"#1f77b4", "#e6550d", "#2ca02c", "#d62728",
                                   "#9467bd", "#8c564b", "#e377c2", "#17becf",
                                   "#bcbd22", "#08306b", "#fdae6b", "#74c476"};
constexpr std::size_t kNumColors = std::size(kColors);
constexpr const char* kGray = "#b0b0b0";

// printf into a growing string; SVG is mostly numbers.
template <class... Args>
void put(std::string& out, const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  out += text;
}

// Sections are of letters, digits and "+-._" (control.h), so nothing needs escaping.
void label(std::string& out, double x, double y, const char* more, const std::string& text) {
  put(out, "<text x='%.1f' y='%.1f' %s>%s</text>\n", x, y, more, text.c_str());
}

std::string shown(const std::string& name) {
  return name.size() <= kMaxShown ? name : name.substr(0, kMaxShown - 3) + "...";
}

const char* color_of(const std::vector<std::size_t>& legend, int64_t section) {
  auto at = std::find(legend.begin(), legend.end(), static_cast<std::size_t>(section));
  return at == legend.end() ? kGray : kColors[at - legend.begin()];
}

// The sections of most dots, which get the colors.
std::vector<std::size_t> pick_legend(const std::vector<int64_t>& count) {
  std::vector<std::size_t> out(count.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) { return count[a] > count[b]; });
  out.resize(std::min(out.size(), kNumColors));
  while (!out.empty() && count[out.back()] == 0) out.pop_back();
  return out;
}

void legend_line(std::string& out, double y, const char* color, const std::string& name,
                 int64_t n) {
  constexpr double x = kLeft + kMap + 22;
  put(out, "<circle cx='%.1f' cy='%.1f' r='5.5' fill='%s'/>\n", x, y - 4, color);
  label(out, x + 14, y, "", name);
  label(out, x + kLegend - 40, y, "text-anchor='end' fill='#777'", grouped(n));
}

void draw_legend(std::string& out, const std::vector<std::size_t>& legend, const Graph& graph,
                 const std::vector<int64_t>& count) {
  double y = kTop + 16;
  label(out, kLeft + kMap + 16, y, "font-weight='bold'", "section of the dot");
  int64_t rest = std::accumulate(count.begin(), count.end(), int64_t{0});
  for (std::size_t i = 0; i < legend.size(); ++i) {
    legend_line(out, y += 22, kColors[i], shown(graph.sections[legend[i]]), count[legend[i]]);
    rest -= count[legend[i]];
  }
  if (rest > 0) legend_line(out, y += 22, kGray, "all others", rest);
  constexpr double x = kLeft + kMap + 22;
  y += 36;
  put(out, "<circle cx='%.1f' cy='%.1f' r='4' fill='#444'/>\n", x, y - 4);
  label(out, x + 14, y, "", "predicted rightly");
  y += 22;
  put(out, "<circle cx='%.1f' cy='%.1f' r='3.4' fill='none' stroke='#444' stroke-width='1.3'/>\n",
      x, y - 4);
  label(out, x + 14, y, "", "predicted wrongly");
}

void draw_map(std::string& out, const Graph& graph, const std::vector<Dot>& dots) {
  std::vector<int64_t> count(graph.sections.size());
  double left = 0, right = 0, top = 0, bottom = 0;
  for (const auto& d : dots) {
    ++count[static_cast<std::size_t>(graph.section[static_cast<std::size_t>(d.package)])];
    left = std::min(left, d.x), right = std::max(right, d.x);
    top = std::min(top, d.y), bottom = std::max(bottom, d.y);
  }
  auto legend = pick_legend(count);
  constexpr double kInner = kMap - 24;
  double scale = kInner / std::max({right - left, bottom - top, 1e-6});
  put(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#fcfcfc' stroke='#ccc'/>\n",
      kLeft, kTop, kMap, kMap);
  for (const auto& d : dots) {
    double x = kLeft + kMap / 2 + scale * (d.x - (left + right) / 2);
    double y = kTop + kMap / 2 + scale * (d.y - (top + bottom) / 2);
    auto truth = graph.section[static_cast<std::size_t>(d.package)];
    const char* style = d.answer == truth ? "r='3.4' fill='%s' fill-opacity='0.8'"
                                          : "r='2.9' fill='none' stroke='%s' stroke-width='1.2'";
    char how[96];
    std::snprintf(how, sizeof how, style, color_of(legend, truth));
    put(out, "<circle cx='%.1f' cy='%.1f' %s><title>%.200s</title></circle>\n", x, y, how,
        graph.names[static_cast<std::size_t>(d.package)].c_str());
  }
  label(out, kLeft, kTop - 12, "font-weight='bold'",
        "Map of " + grouped(static_cast<int64_t>(dots.size())) +
            " packages whose section was hidden: packages with similar links are near each other");
  draw_legend(out, legend, graph, count);
}

void draw_cell(std::string& out, double x, double y, double side, double share, bool right) {
  if (share >= 0.005) {
    put(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s' fill-opacity='%.2f'/>\n",
        x, y, side, side, right ? "#1f5fb4" : "#c0392b", 0.08 + 0.87 * share);
  }
  if (share >= 0.095) {
    put(out, "<text x='%.1f' y='%.1f' text-anchor='middle' font-size='10' fill='%s'>%.0f</text>\n",
        x + side / 2, y + side / 2 + 3.5, share > 0.5 ? "white" : "black", 100 * share);
  }
}

// Of the largest sections; answers of other ones are in the last column.
void draw_matrix(std::string& out, const Graph& graph, const Judgment& judgment) {
  std::size_t rows = std::min(graph.sections.size(), kMaxRows);
  bool more = graph.sections.size() > rows;
  double side = kMatrix / static_cast<double>(rows + (more ? 1 : 0));
  auto x_of = [&](std::size_t column) { return kMatrixLeft + side * static_cast<double>(column); };
  for (std::size_t truth = 0; truth < rows; ++truth) {
    const auto& row = judgment.confusion[truth];
    double y = kTop + side * static_cast<double>(truth);
    auto all = static_cast<double>(
        std::max<int64_t>(std::accumulate(row.begin(), row.end(), int64_t{0}), 1));
    for (std::size_t s = 0; s < rows; ++s)
      draw_cell(out, x_of(s), y, side, static_cast<double>(row[s]) / all, s == truth);
    int64_t elsewhere =
        std::accumulate(row.begin() + static_cast<std::ptrdiff_t>(rows), row.end(), int64_t{0});
    if (more) draw_cell(out, x_of(rows), y, side, static_cast<double>(elsewhere) / all, false);
    label(out, kMatrixLeft - 8, y + side / 2 + 4, "text-anchor='end'",
          shown(graph.sections[truth]));
  }
  double bottom = kTop + side * static_cast<double>(rows);
  for (std::size_t s = 0; s < rows + (more ? 1 : 0); ++s) {
    double x = x_of(s) + side / 2 + 4, y = bottom + 8;
    put(out, "<text text-anchor='end' transform='translate(%.1f %.1f) rotate(-60)'>%s</text>\n", x,
        y, s < rows ? shown(graph.sections[s]).c_str() : "others");
  }
  put(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#ccc'/>\n",
      kMatrixLeft, kTop, x_of(rows + (more ? 1 : 0)) - kMatrixLeft, bottom - kTop);
  label(out, kMatrixLeft, kTop - 12, "font-weight='bold'",
        "Section (down) and answer (across), percent of the row");
}

}  // namespace

std::string draw(const Graph& graph, const Judgment& judgment, const std::vector<Dot>& dots) {
  std::string out;
  put(out,
      "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f' "
      "font-family='sans-serif' font-size='13'>\n<rect width='100%%' height='100%%' "
      "fill='white'/>\n",
      kWidth, kHeight, kWidth, kHeight);
  label(out, kLeft, 34, "font-size='20' font-weight='bold'",
        "Sections of " + grouped(graph.size()) + " packages, predicted from their dependencies");
  char text[192];
  std::snprintf(text, sizeof text,
                "graph convolution %.1f %% right, most known neighbors %.1f %%, always the largest "
                "section %.1f %%",
                100 * judgment.accuracy, 100 * judgment.neighbors, 100 * judgment.majority);
  label(out, kLeft, 58, "fill='#444' font-size='15'", text);
  draw_map(out, graph, dots);
  draw_matrix(out, graph, judgment);
  return out + "</svg>\n";
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.fail())
    throw std::runtime_error(path + ": cannot be written; give --out a folder that can");
}

}  // namespace packages
