// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <fstream>
#include <iterator>

#include "tenon/data/datasets.h"
#include "tenon/ops.h"

namespace tenon::data::datasets {
namespace {

constexpr uint32_t kImagesMagic = 0x803, kLabelsMagic = 0x801;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TENON_CHECK(in.good(), ValueError, "MNIST: cannot open '", path, "'");
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  TENON_CHECK(!in.bad(), ValueError, "MNIST: error while reading '", path, "'");
  return bytes;
}

// idx: a big-endian magic number whose last byte is the number of dimensions, the sizes, then
// bytes.
Tensor read_idx(const std::string& path, uint32_t magic) {
  std::string bytes = read_file(path);
  auto word = [&](std::size_t i) {
    uint32_t v = 0;
    for (std::size_t k = 0; k < 4; ++k) v = v << 8 | static_cast<unsigned char>(bytes[4 * i + k]);
    return v;
  };
  std::size_t ndim = magic & 0xff;
  std::size_t header = 4 * (ndim + 1);
  TENON_CHECK(bytes.size() >= header && word(0) == magic, ValueError, "MNIST: '", path,
              "' does not begin as an idx file with ", ndim, " dimensions of bytes does");
  std::vector<int64_t> sizes;
  unsigned __int128 expected = 1;
  for (std::size_t d = 1; d <= ndim; ++d) {
    sizes.push_back(word(d));
    expected *= word(d);
  }
  TENON_CHECK(bytes.size() - header == expected, ValueError, "MNIST: '", path, "' has ",
              bytes.size() - header, " bytes of data, which is not what its sizes ",
              IntArrayRef(sizes), " need");
  Tensor out = empty(sizes, kByte);
  if (out.numel() > 0)
    std::memcpy(out.data_ptr<uint8_t>(), bytes.data() + header, bytes.size() - header);
  return out;
}

// 0 to 255 as 0 to 1.
Tensor to_unit(const Tensor& bytes) {
  Tensor out = empty(bytes.sizes(), kFloat32);
  const uint8_t* from = bytes.data_ptr<uint8_t>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0; i < bytes.numel(); ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
  return out;
}

}  // namespace

MNIST::MNIST(const std::string& root, Mode mode) : mode_(mode) {
  std::string stem =
      root + (root.empty() || root.back() == '/' ? "" : "/") + (is_train() ? "train" : "t10k");
  images_ = to_unit(read_idx(stem + "-images-idx3-ubyte", kImagesMagic)).unsqueeze(1);
  targets_ = read_idx(stem + "-labels-idx1-ubyte", kLabelsMagic).to(kLong);
  TENON_CHECK(images_.size(0) == targets_.size(0), ValueError, "MNIST: ", images_.size(0),
              " images but ", targets_.size(0), " labels under '", root, "'");
}

Example<> MNIST::get(std::size_t index) {
  auto i = static_cast<int64_t>(index);
  return {images_[i], targets_[i]};
}

std::optional<std::size_t> MNIST::size() const { return static_cast<std::size_t>(images_.size(0)); }

}  // namespace tenon::data::datasets
