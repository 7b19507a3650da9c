// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the clients use of OpenCV: pictures of three channels in binary PPM files, the nearest
// pixel when they are resized.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace cv {

enum { INTER_LINEAR = 1, INTER_CUBIC = 2 };

struct Size {
  Size(int w, int h) : width(w), height(h) {}
  int width, height;
};

struct Mat {
  bool empty() const { return pixels.empty(); }
  int channels() const { return depth; }
  unsigned char* ptr() { return pixels.data(); }
  int rows = 0, cols = 0, depth = 3;
  std::vector<unsigned char> pixels;
  unsigned char* data = nullptr;
};

// Empty if it cannot be read.
inline Mat imread(const std::string& path, int = 1) {
  std::ifstream in(path, std::ios::binary);
  std::string magic;
  int most = 0;
  Mat m;
  if (!(in >> magic >> m.cols >> m.rows >> most) || magic != "P6" || most != 255) return {};
  in.get();
  m.pixels.resize(static_cast<std::size_t>(m.cols) * m.rows * 3);
  in.read(reinterpret_cast<char*>(m.pixels.data()), static_cast<std::streamsize>(m.pixels.size()));
  if (!in) return {};
  m.data = m.ptr();
  return m;
}

inline void resize(const Mat& from, Mat& to, Size size, double = 0, double = 0, int = 1) {
  Mat out;
  out.rows = size.height;
  out.cols = size.width;
  out.depth = from.depth;
  for (int y = 0; y < out.rows && !from.empty(); ++y) {
    for (int x = 0; x < out.cols; ++x) {
      const int pixel = (y * from.rows / out.rows) * from.cols + x * from.cols / out.cols;
      for (int c = 0; c < from.depth; ++c) out.pixels.push_back(from.pixels[pixel * from.depth + c]);
    }
  }
  out.data = out.ptr();
  to = out;
  to.data = to.ptr();
}

inline void split(const Mat& from, std::vector<Mat>& channels) {
  channels.assign(from.depth, Mat());
  for (int c = 0; c < from.depth; ++c) {
    Mat& m = channels[c];
    m.rows = from.rows;
    m.cols = from.cols;
    m.depth = 1;
    for (std::size_t i = c; i < from.pixels.size(); i += from.depth) m.pixels.push_back(from.pixels[i]);
    m.data = m.ptr();
  }
}

}  // namespace cv
