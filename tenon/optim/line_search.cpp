// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tenon {
namespace optim {
namespace {

constexpr double kDecrease = 1e-4;  // c1, of the sufficient decrease
constexpr double kCurvature = 0.9;  // c2, of the curvature
constexpr int kMaxIterations = 25;
constexpr double kMargin = 0.1;  // of the interval, kept from its ends
constexpr double kMinExtension = 0.01, kMaxExtension = 10;

// The minimum of the cubic through two points with their slopes, from lo to hi.
double interpolate(const LinePoint& a, const LinePoint& b, double lo, double hi) {
  const LinePoint &left = a.t <= b.t ? a : b, &right = a.t <= b.t ? b : a;
  const double d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t);
  const double square = d1 * d1 - left.slope * right.slope;
  if (!(square >= 0)) return (lo + hi) / 2;
  const double d2 = std::sqrt(square);
  const double at = right.t - (right.t - left.t) *
                                  ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(at, lo), hi);
}

class Search {
 public:
  Search(FunctionRef<LinePoint(double)> evaluate, const LinePoint& start, double tolerance)
      : evaluate_(evaluate), start_(start), tolerance_(tolerance) {}

  LinePoint run(double first, int64_t* evaluations) {
    bracket(first);
    while (!done_ && iterations_ < kMaxIterations && width() >= tolerance_) shrink();
    *evaluations = iterations_ + 1;
    return low_;
  }

 private:
  bool decreases(const LinePoint& p) const {
    return p.loss <= start_.loss + kDecrease * p.t * start_.slope;
  }
  bool is_flat(const LinePoint& p) const { return std::abs(p.slope) <= -kCurvature * start_.slope; }
  double width() const { return std::abs(high_.t - low_.t); }
  void set(LinePoint a, LinePoint b) {
    if (b.loss < a.loss) std::swap(a, b);
    low_ = std::move(a);
    high_ = std::move(b);
  }

  // Goes outward until the interval from the last point has a minimum in it.
  void bracket(double first) {
    LinePoint previous = start_, here = evaluate_(first);
    for (; iterations_ < kMaxIterations; ++iterations_) {
      if (!decreases(here) || (iterations_ > 1 && here.loss >= previous.loss)) {
        return set(previous, here);
      }
      if (is_flat(here)) {
        low_ = here;
        done_ = true;
        return;
      }
      if (here.slope >= 0) return set(previous, here);
      const double next = interpolate(
          previous, here, here.t + kMinExtension * (here.t - previous.t), here.t * kMaxExtension);
      previous = std::exchange(here, evaluate_(next));
    }
    set(start_, here);
  }

  // One evaluation inside of the interval, whose ends it moves.
  void shrink() {
    const double lo = std::min(low_.t, high_.t), hi = std::max(low_.t, high_.t);
    LinePoint here = evaluate_(keep_from_ends(interpolate(low_, high_, lo, hi), lo, hi));
    ++iterations_;
    if (!decreases(here) || here.loss >= low_.loss) {
      return set(low_, std::move(here));
    }
    if (is_flat(here)) {
      done_ = true;
    } else if (here.slope * (high_.t - low_.t) >= 0) {
      high_ = low_;
    }
    low_ = std::move(here);
  }

  // A point near an end is taken once; then one that is a tenth of the interval away from it.
  double keep_from_ends(double t, double lo, double hi) {
    const double margin = kMargin * (hi - lo);
    if (std::min(hi - t, t - lo) >= margin) {
      slow_ = false;
      return t;
    }
    if (!slow_ && t < hi && t > lo) {
      slow_ = true;
      return t;
    }
    slow_ = false;
    return std::abs(t - hi) < std::abs(t - lo) ? hi - margin : lo + margin;
  }

  FunctionRef<LinePoint(double)> evaluate_;
  const LinePoint& start_;
  const double tolerance_;  // of t
  LinePoint low_{}, high_{};
  int iterations_ = 0;
  bool done_ = false, slow_ = false;
};

}  // namespace

LinePoint strong_wolfe(FunctionRef<LinePoint(double)> evaluate, const LinePoint& start,
                       double first, double largest, double tolerance, int64_t* evaluations) {
  return Search(evaluate, start, tolerance / largest).run(first, evaluations);
}

}  // namespace optim
}  // namespace tenon
