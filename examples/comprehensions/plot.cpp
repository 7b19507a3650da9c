// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace {

constexpr double kWidth = 560, kHeight = 200, kLeft = 70, kTop = 40, kGap = 60;

template <class... T>
std::string format(const char* text, T... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, text, values...);
  return buffer;
}

// Logarithmic, so that candidates ten times as slow do not hide the others.
class Panel {
 public:
  Panel(const Curve& curve, double top) : curve_(curve), top_(top) {
    low_ = high_ = curve.untuned;
    for (const double t : curve.times) {
      low_ = std::min(low_, t);
      high_ = std::max(high_, t);
    }
    low_ = std::pow(10, std::floor(std::log10(low_) * 3) / 3);
    high_ = std::pow(10, std::ceil(std::log10(high_) * 3 + 1e-9) / 3);
  }

  std::string text() const {
    std::string out = format(
        "<text x='%.0f' y='%.0f' font-weight='bold'>%s</text>"
        "<rect x='%.0f' y='%.0f' width='%.0f' height='%.0f' fill='none' stroke='#999'/>\n",
        kLeft, top_ - 10, curve_.name.c_str(), kLeft, top_, kWidth, kHeight);
    for (double v = low_; v < high_ * 1.001; v *= std::pow(10, 1.0 / 3))
      out += format("<text x='%.0f' y='%.1f' text-anchor='end' fill='#555'>%.*f us</text>\n",
                    kLeft - 6, y(v) + 4, v < 10 ? 1 : 0, v);
    out += format(
        "<line x1='%.0f' x2='%.0f' y1='%.1f' y2='%.1f' stroke='#c60'/>"
        "<text x='%.0f' y='%.1f' text-anchor='end' fill='#c60'>untuned</text>\n",
        kLeft, kLeft + kWidth, y(curve_.untuned), y(curve_.untuned), kLeft + kWidth - 4,
        y(curve_.untuned) - 4);
    std::string best = "<polyline fill='none' stroke='#06c' stroke-width='2' points='";
    double least = 1e300;
    for (std::size_t i = 0; i < curve_.times.size(); ++i) {
      out +=
          format("<circle cx='%.1f' cy='%.1f' r='2.5' fill='#888'/>\n", x(i), y(curve_.times[i]));
      least = std::min(least, curve_.times[i]);
      best += format("%.1f,%.1f ", x(i), y(least));
    }
    return out + best + "'/>\n";
  }

 private:
  double x(std::size_t i) const {
    const double n = std::max<double>(1, static_cast<double>(curve_.times.size()) - 1);
    return kLeft + 8 + (kWidth - 16) * static_cast<double>(i) / n;
  }
  double y(double v) const {
    return top_ + kHeight * (1 - std::log(v / low_) / std::log(high_ / low_));
  }

  const Curve& curve_;
  double top_, low_, high_;
};

}  // namespace

void write_plot(const std::string& file, const std::vector<Curve>& curves) {
  const double height = kTop + (kHeight + kGap) * static_cast<double>(curves.size());
  std::ofstream out(file);
  out << format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
      "font-family='sans-serif' font-size='11'>\n<rect width='100%%' height='100%%' "
      "fill='white'/>\n",
      kLeft + kWidth + 20, height);
  for (std::size_t i = 0; i < curves.size(); ++i)
    out << Panel(curves[i], kTop + (kHeight + kGap) * static_cast<double>(i)).text();
  out << "</svg>\n";
  out.close();
  if (!out) throw std::runtime_error(file + " cannot be written");
}
