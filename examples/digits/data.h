// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The handwritten digits: reading the file and cutting off the held-out fifth. Knows nothing of
// tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digits {

struct Images {
  int64_t rows = 0, cols = 0;
  std::vector<float> pixels;    // image after image, row-major, 0 to 1
  std::vector<int64_t> labels;  // 0 to 9
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  const float* image(int64_t i) const { return pixels.data() + i * rows * cols; }
};

// Plain or gzipped: csv (one image per line, label last, no header; pixels 0 to 16) or MNIST's idx
// images, whose labels are looked for beside them ("images-idx3" becomes "labels-idx1").
// std::runtime_error names file, line and fault.
Images load(const std::string& path);

struct Split {
  Images train, test;
};
// One fifth of each class is held out. The shuffle is fixed, so that every training seed sees the
// same split.
Split split(const Images& all);

}  // namespace digits
