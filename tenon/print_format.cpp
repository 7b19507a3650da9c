// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/print_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tenon {
namespace {

std::string formatted(const char* format, int precision, double v) {
  char buffer[64];
  const int n = std::snprintf(buffer, sizeof buffer, format, precision, v);
  return std::string(buffer, static_cast<std::size_t>(std::clamp(n, 0, 63)));
}

// The extent of the finite elements.
struct Range {
  double low = HUGE_VAL, high = 0;                     // of the absolute values, zeros apart
  bool integers = true, zero = false, others = false;  // others: infinite or no numbers

  explicit Range(const std::vector<Scalar>& shown) {
    for (const Scalar& s : shown) {
      const double v = std::fabs(s.toDouble());
      others = others || !std::isfinite(v);
      if (!std::isfinite(v)) continue;
      zero = zero || v == 0;
      integers = integers && v == std::ceil(v);
      if (v == 0) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
};

// Digits before the point; of a zero 1.
int digits(double v) { return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1; }

}  // namespace

NumberFormat::NumberFormat(const std::vector<Scalar>& shown, ScalarType dtype,
                           const PrintOptions& o, PrintStyle style)
    : dtype_(dtype), precision_(o.precision) {
  const bool era04 = style == PrintStyle::Era04;
  if (isComplexType(dtype)) {
    choose_parts(shown, o, style);
  } else if (era04 && dtype != kBool) {
    choose_era04(shown);
  } else if (isFloatingType(dtype)) {
    choose_today(shown);
    if (o.sci_mode >= 0 && Range(shown).high != 0) {
      scientific_ = o.sci_mode == 1;
      integers_ = integers_ && !scientific_;
    }
  }
  for (const Scalar& s : shown) width_ = std::max(width_, raw(s).size());
}

std::string NumberFormat::padded(const Scalar& s) const {
  std::string text = raw(s);
  return text.size() < width_ ? std::string(width_ - text.size(), ' ') + text : text;
}

std::string NumberFormat::raw(const Scalar& s) const {
  if (!parts_.empty()) return complex_text(s.toComplexDouble());
  if (dtype_ == kBool) return s.toBool() ? "True" : "False";
  return isFloatingType(dtype_) || scientific_ ? real_text(s.toDouble() / scale_)
                                               : std::to_string(s.toLong());
}

std::string NumberFormat::real_text(double v) const {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  if (scientific_) return formatted("%.*e", precision_, v);
  return integers_ ? formatted("%.*f", 0, v) + "." : formatted("%.*f", precision_, v);
}

// "1.+2.j": each part has a format of its own.
std::string NumberFormat::complex_text(const core::complex<double>& v) const {
  std::string im = parts_[1].padded(Scalar(v.imag()));
  im.erase(0, im.find_first_not_of(' '));
  return parts_[0].padded(Scalar(v.real())) + (im[0] == '-' ? "" : "+") + im + "j";
}

void NumberFormat::choose_parts(const std::vector<Scalar>& shown, const PrintOptions& o,
                                PrintStyle style) {
  std::vector<Scalar> re, im;
  for (const Scalar& s : shown) {
    re.emplace_back(s.toComplexDouble().real());
    im.emplace_back(s.toComplexDouble().imag());
  }
  parts_.reserve(2);
  parts_.emplace_back(re, kDouble, o, style);
  parts_.emplace_back(im, kDouble, o, style);
}

void NumberFormat::choose_today(const std::vector<Scalar>& shown) {
  const Range r(shown);
  integers_ = r.integers;
  if (r.high == 0) return;
  scientific_ = r.high / r.low > 1000 || r.high > 1e8 || (!integers_ && r.low < 1e-4);
  if (scientific_) integers_ = false;
}

// A column for the sign; numbers of a very different order than 1 are multiples of a power of ten.
void NumberFormat::choose_era04(const std::vector<Scalar>& shown) {
  const Range r(shown);
  const int largest = digits(r.high), smallest = r.zero || r.high == 0 ? 1 : digits(r.low);
  int width = r.others ? 3 : 2;
  integers_ = r.integers;
  if (integers_) {
    scientific_ = largest > precision_ + 1;
    width = std::max(width,
                     scientific_ ? 7 + precision_ : largest + 1 + (isFloatingType(dtype_) ? 1 : 0));
  } else if (largest - smallest > precision_) {
    scientific_ = true;
    width = 7 + precision_ + (std::abs(largest) > 99 || std::abs(smallest) > 99 ? 1 : 0);
  } else if (largest > precision_ + 1 || largest < 0) {
    scale_ = std::pow(10, std::max(largest - 1, -307));
    width = 7;
  } else {
    width = std::max(width, largest == 0 ? 7 : largest + 6);
  }
  width_ = static_cast<std::size_t>(width);
}

}  // namespace tenon
