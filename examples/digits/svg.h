// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Text of an SVG picture, a piece at a time.
#pragma once

#include <cstdio>
#include <string>

namespace digits {

class Svg {
 public:
  Svg(int width, int height);
  // printf of at most 511 characters.
  template <class... Args>
  void put(const char* format, Args... args) {
    char text[512];
    std::snprintf(text, sizeof text, format, args...);
    text_ += text;
  }
  // anchor: start, middle or end.
  void label(double x, double y, const char* anchor, const std::string& text);
  void rectangle(double x, double y, double width, double height, const char* attributes);
  // std::runtime_error if the file cannot be written.
  void write(const std::string& path) const;

 private:
  std::string text_;
};

}  // namespace digits
