// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <algorithm>
#include <cstdio>

#include "svg.h"

namespace digits {
namespace {

constexpr int kPanel = 320;  // of the two panels above, without the margin
constexpr int kHalfPanel = kPanel / 2;
constexpr int kMargin = 50;
constexpr int kTile = 80;  // of a wrong digit
constexpr int kTilesPerRow = 8;
constexpr std::size_t kMaxWrong = 48;

void loss_curve(Svg& out, const std::vector<Epoch>& history) {
  double top = 1e-9;
  for (const auto& e : history) top = std::max(top, e.loss);
  auto x = [&](std::size_t i) {
    return kMargin + kPanel * static_cast<double>(i) /
                         static_cast<double>(std::max<std::size_t>(history.size() - 1, 1));
  };
  auto curve = [&](const char* color, auto value) {
    out.put("<polyline fill='none' stroke='%s' stroke-width='2' points='", color);
    for (std::size_t i = 0; i < history.size(); ++i)
      out.put("%.1f,%.1f ", x(i), kMargin + kPanel * (1 - value(history[i])));
    out.put("'/>\n");
  };
  out.put("<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#999'/>\n", kMargin,
          kMargin, kPanel, kPanel);
  curve("#c33", [&](const Epoch& e) { return e.loss / top; });
  curve("#36c", [](const Epoch& e) { return e.accuracy; });
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", top);
  out.label(kMargin - 6, kMargin + 5, "end", text);
  out.label(kMargin - 6, kMargin + kPanel, "end", "0");
  out.label(kMargin + kHalfPanel, kMargin + kPanel + 22, "middle",
            std::to_string(history.size()) + " epochs");
  out.label(
      kMargin, kMargin - 12, "start",
      "<tspan fill='#c33'>loss</tspan> and <tspan fill='#36c'>accuracy</tspan> while training");
}

void confusion(Svg& out, const Judgment& judgment) {
  constexpr double kLeft = 2 * kMargin + kPanel + 30, kCell = kPanel / 10.0;
  int most = 1;
  for (const auto& row : judgment.confusion)
    most = std::max(most, *std::max_element(row.begin(), row.end()));
  for (std::size_t truth = 0; truth < 10; ++truth) {
    double y = kMargin + kCell * static_cast<double>(truth);
    out.label(kLeft - 8, y + kCell / 2 + 5, "end", std::to_string(truth));
    out.label(kLeft + kCell * (static_cast<double>(truth) + 0.5), kMargin + kPanel + 18, "middle",
              std::to_string(truth));
    for (std::size_t answer = 0; answer < 10; ++answer) {
      int n = judgment.confusion[truth][answer];
      double x = kLeft + kCell * static_cast<double>(answer);
      const char* color = truth == answer ? "#36c" : "#c33";
      double shade = n == 0 ? 0 : 0.15 + 0.6 * n / most;
      out.put(
          "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s' fill-opacity='%.2f' "
          "stroke='#ddd'/>\n",
          x, y, kCell, kCell, color, shade);
      if (n > 0) out.label(x + kCell / 2, y + kCell / 2 + 5, "middle", std::to_string(n));
    }
  }
  char title[96];
  std::snprintf(title, sizeof title, "truth (down) and answer (across): %.2f %% right",
                100 * judgment.accuracy);
  out.label(kLeft, kMargin - 12, "start", title);
}

void wrong_digit(Svg& out, const Images& test, int64_t image, int64_t answer, double left,
                 double top) {
  double cell = (kTile - 16.0) / static_cast<double>(std::max(test.rows, test.cols));
  const float* p = test.image(image);
  for (int64_t r = 0; r < test.rows; ++r) {
    for (int64_t c = 0; c < test.cols; ++c) {
      int ink = 255 - static_cast<int>(255 * std::clamp(p[r * test.cols + c], 0.0f, 1.0f));
      out.put("<rect x='%.1f' y='%.1f' width='%.2f' height='%.2f' fill='#%02x%02x%02x'/>\n",
              left + cell * static_cast<double>(c), top + cell * static_cast<double>(r), cell, cell,
              ink, ink, ink);
    }
  }
  out.label(left + kTile / 2.0 - 8, top + kTile + 2, "middle",
            std::to_string(test.labels[static_cast<std::size_t>(image)]) + " seen as " +
                std::to_string(answer));
}

}  // namespace

void draw(const std::string& path, const std::vector<Epoch>& history, const Judgment& judgment,
          const Images& test) {
  std::size_t shown = std::min(judgment.wrong.size(), kMaxWrong);
  int rows = static_cast<int>((shown + kTilesPerRow - 1) / kTilesPerRow);
  constexpr int kWrongTop = 2 * kMargin + kPanel + 20;
  Svg out(3 * kMargin + 2 * kPanel + 30, kWrongTop + 30 + rows * (kTile + 24));
  loss_curve(out, history);
  confusion(out, judgment);
  out.label(kMargin, kWrongTop, "start",
            std::to_string(judgment.wrong.size()) + " of " + std::to_string(test.size()) +
                " held-out digits were read wrongly");
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t row = i / kTilesPerRow;
    wrong_digit(out, test, judgment.wrong[i][0], judgment.wrong[i][1],
                kMargin + static_cast<double>(i % kTilesPerRow) * (kTile + 10),
                kWrongTop + 14 + static_cast<double>(row) * (kTile + 24));
  }
  out.write(path);
}

}  // namespace digits
