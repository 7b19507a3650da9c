// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Finds a step length that satisfies the strong Wolfe conditions. Private to libtenon.
#pragma once

#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon {
namespace optim {

// A point on the line x + t * d.
struct LinePoint {
  double t, loss;
  Tensor grad;   // of the loss, flat
  double slope;  // grad * d
};

// Of the function at `start` (t = 0), which falls there. `evaluate` gives the point at a length, of
// which `first` is tried first. Brackets an interval, then shrinks it, by cubic interpolation
// (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6); 25 evaluations after the
// first at most. An interval whose largest change of a parameter is below `tolerance` ends the
// search; `largest` is the largest element of d.
LinePoint strong_wolfe(FunctionRef<LinePoint(double)> evaluate, const LinePoint& start,
                       double first, double largest, double tolerance, int64_t* evaluations);

}  // namespace optim
}  // namespace tenon
