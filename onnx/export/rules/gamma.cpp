// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The logarithm of the gamma function and its derivative, by Stirling's series: where the argument
// is small, at a larger one, by the recurrence; below 1/2 by reflection.
#include <cmath>
#include <limits>

#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

class Series {
 public:
  explicit Series(Call& c)
      : c_(c),
        dtype_(c.result().scalar_type() == kFloat64 ? kFloat64 : kFloat32),
        x_(c.in("self", dtype_)),
        low_(op("Less", x_, number(0.5))),
        y_(c.op("Where", {low_, op("Sub", number(1), x_), x_})),
        small_(op("Less", y_, number(kSteps))),
        z_(c.op("Where", {small_, op("Add", y_, number(kSteps)), y_})) {}

  void lgamma() {
    std::string product = clipped();
    for (int k = 1; k < kSteps; ++k) product = op("Mul", product, op("Add", clipped(), number(k)));
    const std::string far = op("Mul", op("Sub", z_, number(0.5)), c_.op("Log", {z_}));
    std::string sum = op("Add", op("Sub", far, z_), number(0.5 * std::log(2 * M_PI)));
    sum = op("Add", sum, powers({1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188}, 1));
    const std::string here = op("Sub", sum, where_small(c_.op("Log", {product})));
    const std::string sine = c_.op("Abs", {c_.op("Sin", {turn()})});
    const std::string mirror = op("Sub", c_.op("Log", {op("Div", number(M_PI), sine)}), here);
    give(mirror, here);
  }
  void digamma() {
    std::string steps = c_.op("Reciprocal", {clipped()});
    for (int k = 1; k < kSteps; ++k)
      steps = op("Add", steps, c_.op("Reciprocal", {op("Add", clipped(), number(k))}));
    std::string sum = op("Sub", c_.op("Log", {z_}), op("Div", number(0.5), z_));
    sum = op("Add", sum,
             powers({-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760}, 2));
    const std::string here = op("Sub", sum, where_small(steps));
    const std::string mirror = op("Sub", here, op("Div", number(M_PI), c_.op("Tan", {turn()})));
    const std::string pole =
        c_.op("And", {op("Equal", x_, c_.op("Floor", {x_})), op("Less", x_, number(0))});
    const std::string none = number(std::numeric_limits<double>::quiet_NaN());
    give(c_.op("Where", {pole, none, mirror}), here);
  }

 private:
  static constexpr int kSteps = 5;

  std::string number(double v) { return c_.constant(v, dtype_); }
  std::string op(const char* type, const std::string& a, const std::string& b) {
    return c_.op(type, {a, b});
  }
  // No power of it is beyond what the dtype holds.
  std::string clipped() { return c_.op("Where", {small_, y_, number(1)}); }
  std::string where_small(const std::string& v) { return c_.op("Where", {small_, v, number(0)}); }
  // Of pi times what is behind the point: exact where sine and tangent are zero.
  std::string turn() { return op("Mul", op("Sub", x_, c_.op("Floor", {x_})), number(M_PI)); }
  // by[k] / z ^ (first + 2 k)
  std::string powers(const std::vector<double>& by, int first) {
    const std::string inverse = c_.op("Reciprocal", {z_}), square = op("Mul", inverse, inverse);
    std::string sum = number(by.back());
    for (std::size_t k = by.size() - 1; k-- > 0;)
      sum = op("Add", op("Mul", sum, square), number(by[k]));
    return op("Mul", sum, first == 1 ? inverse : square);
  }
  void give(const std::string& mirror, const std::string& here) {
    c_.give_cast(c_.op("Where", {low_, mirror, here}), dtype_);
  }

  Call& c_;
  ScalarType dtype_;
  std::string x_, low_, y_, small_, z_;
};

void lgamma(Call& c) { Series(c).lgamma(); }
void digamma(Call& c) { Series(c).digamma(); }

const Rules::Entry list[] = {{"aten::lgamma", lgamma}, {"aten::digamma", digamma}};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
