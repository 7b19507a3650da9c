// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What goes over a tensor element by element, or over numbers until they are done.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

std::string number(Call& c, int64_t v) { return c.constant(as_tensor(IValue(v))); }

// The dimension first, and what brings it back.
struct Turned {
  std::string value;
  std::vector<int64_t> back;
};
Turned dimension_first(Call& c, const std::string& x, int64_t dim) {
  std::vector<int64_t> order{dim}, back;
  for (int64_t d = 0; d < c.rank("self"); ++d) {
    if (d != dim) order.push_back(d);
    back.push_back(d < dim ? d + 1 : d == dim ? 0 : d);
  }
  return {dim == 0 ? x : c.transpose(x, order), back};
}
std::string brought_back(Call& c, const Turned& t, const std::string& y) {
  return t.back.empty() || t.back[0] == 0 ? y : c.transpose(y, t.back);
}

void cumprod(Call& c) {
  const ScalarType d = c.result().scalar_type();
  if (c.rank("self") == 0) return c.give(c.in("self", d));
  const Turned x = dimension_first(c, c.in("self", d), c.axis("dim", "self"));
  const std::string one =
      c.op("Expand", {c.constant(1, d), c.slice(c.op("Shape", {x.value}), 0, 1, kEnd)});
  const Names made =
      c.exporter.scan({{one, d, c.rank("self") - 1}}, {{x.value, d, c.rank("self") - 1}}, false,
                      [&](const Names& given) {
                        const std::string product = c.op("Mul", given);
                        return Names{product, product};
                      });
  c.give(brought_back(c, x, made[1]));
}

// log(exp(a) + exp(b)) from one element to the next. Without a part of the larger one where that
// is infinite, whose difference from itself is NaN.
void logcumsumexp(Call& c) {
  const ScalarType d = c.result().scalar_type();
  if (c.rank("self") == 0) return c.give(c.in("self", d));
  const Turned x = dimension_first(c, c.in("self", d), c.axis("dim", "self"));
  const std::string zero = c.constant(0, d),
                    none = c.op("Expand", {c.constant(-std::numeric_limits<double>::infinity(), d),
                                           c.slice(c.op("Shape", {x.value}), 0, 1, kEnd)});
  const Names made = c.exporter.scan(
      {{none, d, c.rank("self") - 1}}, {{x.value, d, c.rank("self") - 1}}, false,
      [&](const Names& given) {
        const std::string larger = c.op("Max", given),
                          finite = c.op("Where", {c.op("IsInf", {larger}), zero, larger});
        const auto part = [&](const std::string& v) {
          return c.op("Exp", {c.op("Sub", {v, finite})});
        };
        const std::string sum = c.op("Add", {part(given[0]), part(given[1])}),
                          both = c.op("Add", {c.op("Log", {sum}), finite});
        return Names{both, both};
      });
  c.give(brought_back(c, x, made[1]));
}

// The largest (or smallest) up to each element, and the last place where it is; NaN is either.
template <int largest>
void extreme_so_far(Call& c) {
  const ScalarType d = c.dtype("self");
  if (c.rank("self") == 0) {
    c.give(c.in("self"), 0);
    return c.give(c.constant(0, kInt64), 1);
  }
  const Turned x = dimension_first(c, c.in("self"), c.axis("dim", "self"));
  const std::string first = c.op("Gather", {x.value, number(c, 0)}, {{"axis", int64_t{0}}}),
                    zero = c.op("Expand", {number(c, 0), c.op("Shape", {first})}),
                    length = c.squeeze(c.slice(c.op("Shape", {x.value}), 0, 0, 1), {0}),
                    places = c.op("Range", {number(c, 0), length, number(c, 1)});
  const int64_t rank = c.rank("self") - 1;
  const auto step = [&](const Names& given) {
    std::string taken = c.op(largest ? "GreaterOrEqual" : "LessOrEqual", {given[2], given[0]});
    if (isFloatingType(d)) taken = c.op("Or", {taken, c.op("IsNaN", {given[2]})});
    const std::string value = c.choose(taken, given[2], given[0], d),
                      at = c.op("Where", {taken, given[3], given[1]});
    return Names{value, at, value, at};
  };
  const Names made = c.exporter.scan({{first, d, rank}, {zero, kInt64, rank}},
                                     {{x.value, d, rank}, {places, kInt64, 0}}, false, step);
  c.give(brought_back(c, x, made[2]), 0);
  c.give(brought_back(c, x, made[3]), 1);
}

// Euclid's algorithm, until every remainder is 0.
void gcd(Call& c) {
  const std::string a = c.op("Abs", {c.in("self", kInt64)}),
                    b = c.op("Abs", {c.in("other", kInt64)}), zero = number(c, 0),
                    none = c.op("Mul", {c.op("Add", {a, b}), zero});  // of both's shape
  const auto is_left = [&](const std::string& rest) {
    return c.cast(
        c.reduce("ReduceMax",
                 c.op("Concat", {c.op("Reshape", {rest, c.int_list({-1})}), c.int_list({0})},
                      {{"axis", int64_t{0}}}),
                 {0}, false),
        kInt64, kBool);
  };
  const int64_t rank = c.result().dim();
  const std::string x = c.op("Add", {a, none}), y = c.op("Add", {b, none});
  const Names made =
      c.exporter.loop(is_left(y), {{x, kInt64, rank}, {y, kInt64, rank}}, [&](const Names& given) {
        const std::string done = c.op("Equal", {given[1], zero}),
                          by = c.op("Where", {done, number(c, 1), given[1]}),
                          rest = c.op("Where", {done, zero, c.op("Mod", {given[0], by})});
        return Names{is_left(rest), c.op("Where", {done, given[0], given[1]}), rest};
      });
  c.give_cast(made[0], kInt64);
}

// Of neighbors that are equal the first, and which of them each element is.
void unique_consecutive(Call& c) {
  const bool whole = c.none("dim");
  const int64_t dim = whole ? 0 : c.axis("dim", "self");
  const std::string self = c.in("self"),
                    x = whole ? c.op("Reshape", {self, c.int_list({-1})}) : self;
  const std::string n = c.squeeze(c.slice(c.op("Shape", {x}), 0, dim, dim + 1), {0}),
                    places = c.op("Range", {number(c, 0), n, number(c, 1)});
  std::string differ =
      c.op("Not", {c.op("Equal", {c.slice(x, dim, 1, kEnd), c.slice(x, dim, 0, -1)})});
  std::vector<int64_t> others;
  for (int64_t d = 0; !whole && d < c.rank("self"); ++d)
    if (d != dim) others.push_back(d);
  if (!others.empty())
    differ =
        c.cast(c.reduce("ReduceMax", c.cast(differ, kBool, kInt32), others, false), kInt32, kBool);
  const std::string first = c.op("Equal", {c.slice(places, 0, 0, 1), number(c, 0)}),
                    begins = c.op("Concat", {first, differ}, {{"axis", int64_t{0}}});
  c.give(c.op("Compress", {x, begins}, {{"axis", dim}}), 0);
  if (c.flag("return_inverse")) {
    const std::string which =
        c.op("Sub", {c.op("CumSum", {c.cast(begins, kBool, kInt64), number(c, 0)}), number(c, 1)});
    c.give(whole ? c.op("Reshape", {which, c.op("Shape", {self})}) : which, 1);
  }
  if (!c.flag("return_counts")) return;
  const std::string at = c.op("Compress", {places, begins}, {{"axis", int64_t{0}}}),
                    ends = c.op("Concat", {c.slice(at, 0, 1, kEnd), c.unsqueeze(n, {0})},
                                {{"axis", int64_t{0}}});
  c.give(c.op("Sub", {ends, at}), 2);
}

const Rules::Entry list[] = {
    {"aten::cumprod", cumprod},
    {"aten::logcumsumexp", logcumsumexp},
    {"aten::cummax", extreme_so_far<1>},
    {"aten::cummin", extreme_so_far<0>},
    {"aten::gcd", gcd},
    {"aten::unique_consecutive", unique_consecutive},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
