// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One format for the elements of a tensor, chosen from those that are shown.
#pragma once

#include <string>
#include <vector>

#include "tenon/print.h"
#include "tenon/types.h"

namespace tenon {

class NumberFormat {
 public:
  NumberFormat(const std::vector<Scalar>& shown, ScalarType dtype, const PrintOptions& o,
               PrintStyle style);
  std::string padded(const Scalar& s) const;
  std::string raw(const Scalar& s) const;
  std::size_t width() const { return width_; }
  // Elements are shown as multiples of it; 1 in all styles but Era04.
  double scale() const { return scale_; }

 private:
  std::string real_text(double v) const;
  std::string complex_text(const core::complex<double>& v) const;
  void choose_parts(const std::vector<Scalar>& shown, const PrintOptions& o, PrintStyle style);
  void choose_today(const std::vector<Scalar>& shown);
  void choose_era04(const std::vector<Scalar>& shown);

  std::vector<NumberFormat> parts_;  // of complex numbers
  ScalarType dtype_;
  int precision_;
  bool scientific_ = false, integers_ = false;
  double scale_ = 1;
  std::size_t width_ = 0;
};

}  // namespace tenon
