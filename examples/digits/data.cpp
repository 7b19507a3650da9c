// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>

namespace digits {
namespace {

constexpr int kClasses = 10;
constexpr float kCsvMax = 16;
constexpr float kIdxMax = 255;
constexpr uint64_t kSplitSeed = 2026;
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

// zlib reads files that are not gzipped as they are.
std::string read_file(const std::string& path) {
  errno = 0;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) fail(path, std::string("cannot be opened: ") + std::strerror(errno ? errno : ENOMEM));
  std::string bytes;
  char block[1 << 16];
  int got = 0;
  while ((got = gzread(file.get(), block, sizeof block)) > 0) {
    bytes.append(block, static_cast<std::size_t>(got));
    if (bytes.size() > kMaxBytes) fail(path, "is larger than 1 GiB unpacked");
  }
  int code = Z_OK;
  const char* text = gzerror(file.get(), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
    fail(path, std::string("cannot be read: ") + text);
  return bytes;
}

std::vector<int> parse_line(const std::string& path, const char* p, const char* end, int64_t line) {
  std::vector<int> values;
  while (p < end) {
    int v = 0;
    auto [next, error] = std::from_chars(p, end, v);
    if (error != std::errc() || (next < end && *next != ',')) {
      fail(path, "line " + std::to_string(line) + ": expected integers separated by commas");
    }
    values.push_back(v);
    p = next < end ? next + 1 : end;
  }
  return values;
}

int64_t square_root(std::size_t n) {
  int64_t r = 1;
  while (static_cast<std::size_t>(r * r) < n) ++r;
  return static_cast<std::size_t>(r * r) == n ? r : 0;
}

void add_row(const std::string& path, int64_t line, const std::vector<int>& values, Images& out) {
  std::string where = "line " + std::to_string(line);
  if (out.rows == 0) {
    out.rows = out.cols = values.size() > 1 ? square_root(values.size() - 1) : 0;
    if (out.rows < 4)
      fail(path, where + ": expected a square image of at least 4x4 pixels and a label, got " +
                     std::to_string(values.size()) + " numbers");
  }
  if (values.size() != static_cast<std::size_t>(out.rows * out.cols) + 1) {
    fail(path, where + ": has " + std::to_string(values.size()) + " numbers, the first line had " +
                   std::to_string(out.rows * out.cols + 1));
  }
  int label = values.back();
  if (label < 0 || label >= kClasses)
    fail(path, where + ": label " + std::to_string(label) + " is not 0 to 9");
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    out.pixels.push_back(static_cast<float>(values[i]) / kCsvMax);
  out.labels.push_back(label);
}

Images parse_csv(const std::string& path, const std::string& bytes) {
  Images out;
  const char* p = bytes.data();
  const char* end = p + bytes.size();
  for (int64_t line = 1; p < end; ++line) {
    const char* stop = std::find(p, end, '\n');
    const char* last = stop > p && stop[-1] == '\r' ? stop - 1 : stop;
    if (last > p) add_row(path, line, parse_line(path, p, last, line), out);
    p = stop < end ? stop + 1 : end;
  }
  return out;
}

uint32_t big_endian(const std::string& bytes, std::size_t at) {
  uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

constexpr uint32_t kIdxImages = 0x803, kIdxLabels = 0x801;

Images parse_idx(const std::string& path, const std::string& bytes) {
  std::string labels_path = path;
  auto at = labels_path.rfind("images-idx3");
  if (at == std::string::npos)
    fail(path, "is an idx file, but its name has no 'images-idx3' to find the labels by");
  labels_path.replace(at, 11, "labels-idx1");
  std::string labels = read_file(labels_path);
  if (bytes.size() < 16) fail(path, "ends inside its header");
  if (labels.size() < 8 || big_endian(labels, 0) != kIdxLabels)
    fail(labels_path, "is not an idx file of labels");
  Images out;
  uint64_t n = big_endian(bytes, 4), rows = big_endian(bytes, 8), cols = big_endian(bytes, 12);
  if (rows < 4 || cols < 4 || rows > 1024 || cols > 1024)
    fail(path, "images must be 4 to 1024 pixels high and wide");
  if (bytes.size() - 16 != n * rows * cols) fail(path, "is cut short or too long for its header");
  if (big_endian(labels, 4) != n || labels.size() - 8 != n)
    fail(labels_path, "does not have one label per image");
  out.rows = static_cast<int64_t>(rows);
  out.cols = static_cast<int64_t>(cols);
  for (std::size_t i = 16; i < bytes.size(); ++i) {
    out.pixels.push_back(static_cast<float>(static_cast<unsigned char>(bytes[i])) / kIdxMax);
  }
  for (std::size_t i = 8; i < labels.size(); ++i) {
    if (static_cast<unsigned char>(labels[i]) >= kClasses)
      fail(labels_path, "has a label that is not 0 to 9");
    out.labels.push_back(labels[i]);
  }
  return out;
}

void append(const Images& from, int64_t i, Images& to) {
  to.pixels.insert(to.pixels.end(), from.image(i), from.image(i + 1));
  to.labels.push_back(from.labels[static_cast<std::size_t>(i)]);
}

// std::shuffle gives different orders on different standard libraries; the generator itself does
// not.
void shuffle(std::vector<int64_t>& v, std::mt19937_64& rng) {
  for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[rng() % i]);
}

}  // namespace

Images load(const std::string& path) {
  std::string bytes = read_file(path);
  if (bytes.size() >= 4 && big_endian(bytes, 0) == kIdxLabels)
    fail(path, "holds labels; give the file of images");
  bool idx = bytes.size() >= 4 && big_endian(bytes, 0) == kIdxImages;
  Images out = idx ? parse_idx(path, bytes) : parse_csv(path, bytes);
  if (out.size() < 5 * kClasses)
    fail(path, "has " + std::to_string(out.size()) + " images; at least 50 are needed");
  return out;
}

Split split(const Images& all) {
  std::mt19937_64 rng(kSplitSeed);
  Split out;
  out.train.rows = out.test.rows = all.rows;
  out.train.cols = out.test.cols = all.cols;
  for (int label = 0; label < kClasses; ++label) {
    std::vector<int64_t> members;
    for (int64_t i = 0; i < all.size(); ++i) {
      if (all.labels[static_cast<std::size_t>(i)] == label) members.push_back(i);
    }
    shuffle(members, rng);
    std::size_t held_out = (members.size() + 2) / 5;
    for (std::size_t i = 0; i < members.size(); ++i)
      append(all, members[i], i < held_out ? out.test : out.train);
  }
  return out;
}

}  // namespace digits
