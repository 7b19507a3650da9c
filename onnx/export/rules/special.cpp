// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions that ONNX does not have, by polynomials.
#include <cmath>

#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

ScalarType computed_in(const Call& c) {
  return c.result().scalar_type() == kFloat64 ? kFloat64 : kFloat32;
}

// Chebyshev's coefficients on [-1, 1], by the values at n nodes.
std::vector<double> coefficients(const Function& f, int64_t n) {
  const double step = std::acos(-1.0) / static_cast<double>(n);
  const Tensor angles = (tenon::arange(n, TensorOptions(kFloat64)) + 0.5) * step,
               values = f(angles.cos());
  std::vector<double> out;
  for (int64_t k = 0; k < n; ++k)
    out.push_back((values * (angles * static_cast<double>(k)).cos()).sum().item<double>() * 2 /
                  static_cast<double>(n));
  return out;
}

// Clenshaw's recurrence, as a Scan over the coefficients.
std::string polynomial(Call& c, const std::string& u, const std::vector<double>& by, ScalarType d) {
  const auto n = static_cast<int64_t>(by.size());
  Tensor rest = tenon::empty({n - 1}, TensorOptions(kFloat64));
  for (int64_t k = 1; k < n; ++k)
    rest.data_ptr<double>()[n - 1 - k] = by[static_cast<std::size_t>(k)];
  const std::string zero = c.op("Mul", {u, c.constant(0, d)}), twice = c.op("Add", {u, u});
  const int64_t rank = c.rank("self");
  const Names b = c.exporter.scan(
      {{zero, d, rank}, {zero, d, rank}}, {{c.constant(rest.to(d)), d, 0}}, false,
      [&](const Names& given) {
        const std::string next =
            c.op("Sub", {c.op("Add", {given[2], c.op("Mul", {twice, given[0]})}), given[1]});
        return Names{next, given[0]};
      });
  return c.op("Add", {c.op("Sub", {c.op("Mul", {u, b[0]}), b[1]}), c.constant(by[0] / 2, d)});
}

// exp(-|x|) I(x) for not negative t = |x|: a polynomial of t up to 8, from there one of 1 / t.
std::string scaled_bessel(Call& c, const std::string& t, const Function& scaled, ScalarType d) {
  const auto number = [&](double v) { return c.constant(v, d); };
  const std::vector<double> small = coefficients(
                                [&](const Tensor&u) { return scaled((u + 1) * 4); }, 32),
                            large = coefficients(
                                [&](const Tensor&u) {
                                  const Tensor x = 16 / (u + 1);
                                  return scaled(x) * x.sqrt();
                                },
                                28);
  const std::string low = c.op("Min", {t, number(8)}), high = c.op("Max", {t, number(8)}),
                    near = polynomial(c, c.op("Sub", {c.op("Mul", {low, number(0.25)}), number(1)}),
                                      small, d),
                    far = polynomial(c, c.op("Sub", {c.op("Div", {number(16), high}), number(1)}),
                                     large, d);
  return c.op("Where",
              {c.op("Less", {t, number(8)}), near, c.op("Div", {far, c.op("Sqrt", {high})})});
}

template <int order, bool is_scaled>
void bessel(Call& c) {
  const ScalarType d = computed_in(c);
  const std::string x = c.in("self", d), t = c.op("Abs", {x});
  const Function f = [](const Tensor& u) {
    return order ? tenon::special_i1e(u) : tenon::special_i0e(u);
  };
  std::string y = scaled_bessel(c, t, f, d);
  if (!is_scaled) y = c.op("Mul", {y, c.op("Exp", {t})});
  if (order == 1) y = c.op("Mul", {y, c.op("Sign", {x})});
  c.give_cast(y, d);
}

// M. Giles' and others' quotients of polynomials, and two steps of Newton's method.
void erfinv(Call& c) {
  const ScalarType d = computed_in(c);
  const auto number = [&](double v) { return c.constant(v, d); };
  const auto horner = [&](const std::string& z, const std::vector<double>& by) {
    std::string sum = number(by.at(0));
    for (std::size_t k = 1; k < by.size(); ++k)
      sum = c.op("Add", {c.op("Mul", {sum, z}), number(by[k])});
    return sum;
  };
  const std::string
      y = c.in("self", d),
      size = c.op("Abs", {y}), z = c.op("Mul", {y, y}),
      near = c.op(
          "Mul",
          {y, c.op("Div", {horner(z, {-0.140543331, 0.914624893, -1.645349621, 0.886226899}),
                           horner(z, {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1})})}),
      half = c.op("Mul", {c.op("Sub", {number(1), size}), number(0.5)}),
      w = c.op("Sqrt", {c.op("Neg", {c.op("Log", {half})})}),
      far = c.op("Mul",
                 {c.op("Sign", {y}),
                  c.op("Div", {horner(w, {1.641345311, 3.429567803, -1.624906493, -1.970840454}),
                               horner(w, {1.637067800, 3.543889200, 1})})});
  std::string x = c.op("Where", {c.op("LessOrEqual", {size, number(0.7)}), near, far});
  for (int step = 0; step < 2; ++step) {
    const std::string slope = c.op("Mul", {c.op("Exp", {c.op("Neg", {c.op("Mul", {x, x})})}),
                                           number(2 / std::sqrt(std::acos(-1.0)))});
    x = c.op("Sub", {x, c.op("Div", {c.op("Sub", {c.op("Erf", {x}), y}), slope})});
  }
  const std::string infinite = c.op("Mul", {y, number(std::numeric_limits<double>::infinity())});
  c.give_cast(c.op("Where", {c.op("Equal", {size, number(1)}), infinite, x}), d);
}

const Rules::Entry list[] = {
    {"aten::i0", bessel<0, false>},
    {"aten::special_i0e", bessel<0, true>},
    {"aten::special_i1", bessel<1, false>},
    {"aten::special_i1e", bessel<1, true>},
    {"aten::erfinv", erfinv},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
