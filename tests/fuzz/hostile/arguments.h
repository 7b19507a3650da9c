// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "hostile.h"
#include "tenon/core/op.h"
#include "tenon/tenon.h"

namespace tenon::fuzz {

// The arguments of a call, and what they point to.
struct Arguments {
  Random& r;
  int ndim;          // of most tensors
  ScalarType dtype;  // of most tensors
  double odd;        // how often a value is odd
  std::deque<Tensor> tensors;
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> ints;
  std::deque<std::vector<double>> reals;
  std::deque<std::vector<uint8_t>> flags;
  std::deque<std::vector<tn_value>> numbers;
  std::deque<std::vector<const tn_tensor*>> lists;
  tn_generator range{1, 2, nullptr};

  explicit Arguments(Random& random)
      : r(random),
        ndim(static_cast<int>(r.below(6))),
        dtype(r.chance(0.6)
                  ? kFloat
                  : r.pick({kLong, kDouble, kBool, kInt, kHalf, kByte, kBFloat16, kChar})),
        odd(r.pick({0.05, 0.2, 0.5})) {}

  int64_t integer() { return r.chance(odd) ? odd_int(r) : r.between(-1, 3); }
  double real() { return r.chance(odd) ? odd_real(r) : r.real(0, 1); }
  Tensor make_tensor();
  const tn_tensor* tensor() {
    return &tensors.emplace_back(make_tensor()).unsafeGetTensorImpl()->view;
  }
  tn_value value(tn_tag tag, const core::ArgInfo* a);
  tn_value argument(const core::ArgInfo& a);
  // The same value but for something in it.
  tn_value changed(const core::ArgInfo& a, const tn_value& v);
};

tn_value tagged(tn_tag tag, const void* p = nullptr, std::size_t len = 0);

}  // namespace tenon::fuzz
