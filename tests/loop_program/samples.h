// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The programs of tests/loop_program/programs, and calls of them. The first line of a file gives
// the sizes that are not defined, in order.
#pragma once

#include <tenon/tenon.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/sdk/loop_program/bind.h"
#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"

namespace samples {

namespace lp = tenon::sdk::loop_program;

struct Sample {
  std::string name, text;
  lp::Program program;
  std::vector<int64_t> sizes;  // all of them
};

inline Sample read(const std::filesystem::path& file) {
  std::ostringstream all;
  all << std::ifstream(file).rdbuf();
  Sample s{file.stem().string(), all.str(), {}, {}};
  s.program = lp::parse(s.text.substr(s.text.find('\n') + 1));
  lp::check(s.program);
  std::istringstream first(s.text.substr(0, s.text.find('\n')));
  std::string word;
  first >> word >> word;
  for (const lp::Size& it : s.program.sizes) {
    int64_t n = 0;
    if (it.defined)
      n = lp::evaluate(it.numerator, s.sizes) / it.divisor;
    else
      first >> n;
    s.sizes.push_back(n);
  }
  s.text = s.text.substr(s.text.find('\n') + 1);
  return s;
}

inline std::vector<Sample> read_all(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& it : std::filesystem::directory_iterator(folder)) files.push_back(it.path());
  std::sort(files.begin(), files.end());
  std::vector<Sample> list;
  list.reserve(files.size());
  for (const auto& it : files) list.push_back(read(it));
  return list;
}

inline tenon::ScalarType dtype_of(lp::Dtype dtype) {
  constexpr tenon::ScalarType table[] = {
      tenon::kBool, tenon::kByte, tenon::kChar,     tenon::kShort, tenon::kInt,
      tenon::kLong, tenon::kHalf, tenon::kBFloat16, tenon::kFloat, tenon::kDouble};
  return table[static_cast<int>(dtype)];
}

// Integers from -9 to 9, which are indices, too; uint8 up to 9. Floats are not integers.
inline std::vector<tenon::Tensor> inputs(const Sample& s) {
  std::vector<tenon::Tensor> list;
  for (const lp::Array& it : s.program.arrays) {
    if (it.role != lp::Role::kInput) continue;
    std::vector<int64_t> shape;
    for (const lp::Affine& n : it.shape) shape.push_back(lp::evaluate(n, s.sizes));
    const tenon::ScalarType dtype = dtype_of(it.dtype);
    tenon::Tensor t = tenon::randn(shape, tenon::kDouble) * 1.5;
    if (dtype == tenon::kBool) t = t.gt(0);
    if (!lp::is_floating(it.dtype) && dtype != tenon::kBool)
      t = (dtype == tenon::kByte ? t.abs() : t).mul(3).clamp(-9, 9);
    list.push_back(t.to(dtype));
  }
  return list;
}

inline std::vector<int64_t> numbers(const Sample& s) {
  std::vector<int64_t> list;
  for (size_t i = 0; i < s.program.sizes.size(); ++i) {
    bool bound = s.program.sizes[i].defined;
    for (const lp::Array& it : s.program.arrays)
      for (const lp::Affine& n : it.shape)
        bound |= it.role == lp::Role::kInput && n.constant == 0 && n.sizes.size() == 1 &&
                 n.sizes[0] == std::make_pair(static_cast<int>(i), int64_t{1});
    if (!bound) list.push_back(s.sizes[i]);
  }
  for (const lp::Parameter& it : s.program.parameters)
    if (it.dtype == lp::Dtype::kInt64) list.push_back(12345 + static_cast<int64_t>(list.size()));
  return list;
}

inline std::vector<double> reals(const Sample& s) {
  std::vector<double> list;
  for (const lp::Parameter& it : s.program.parameters)
    if (it.dtype == lp::Dtype::kDouble) list.push_back(0.375);
  return list;
}

// Floats may differ by the functions' last bits and by sums in another order.
inline bool agree(const tenon::Tensor& a, const tenon::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  if (!tenon::isFloatingType(a.scalar_type())) return tenon::equal(a, b);
  const tenon::ScalarType t = a.scalar_type();
  const double tolerance = t == tenon::kDouble     ? 1e-9
                           : t == tenon::kFloat    ? 3e-5
                           : t == tenon::kBFloat16 ? 1.6e-2
                                                   : 2e-3;
  return tenon::allclose(a.to(tenon::kDouble), b.to(tenon::kDouble), tolerance, tolerance, true);
}

}  // namespace samples
