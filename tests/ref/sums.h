// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums by element, rounded once at the end.
#pragma once

#include "number.h"

namespace tenon::ref {

class Sums {
 public:
  explicit Sums(Ints sizes) : sizes_(sizes), sums_(at(count(sizes))) {}
  Real& operator[](const Index& i) {
    int64_t flat = 0;
    for (std::size_t d = 0; d < i.size(); ++d) flat = flat * sizes_[static_cast<int64_t>(d)] + i[d];
    return sums_[at(flat)];
  }
  void store(const Tensor& out) {
    each(sizes_, [&](const Index& i) { put(out, i, (*this)[i]); });
  }

 private:
  Ints sizes_;
  std::vector<Real> sums_;
};

}  // namespace tenon::ref
