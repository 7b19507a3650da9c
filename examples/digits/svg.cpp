// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "svg.h"

#include <fstream>
#include <stdexcept>

namespace digits {

Svg::Svg(int width, int height) {
  put("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
      "font-size='13'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
      width, height);
}

void Svg::label(double x, double y, const char* anchor, const std::string& text) {
  put("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n", x, y, anchor, text.c_str());
}

void Svg::rectangle(double x, double y, double width, double height, const char* attributes) {
  put("<rect x='%.1f' y='%.1f' width='%.2f' height='%.2f' %s/>\n", x, y, width, height, attributes);
}

void Svg::write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file << text_ << "</svg>\n";
  file.close();
  if (file.fail()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace digits
