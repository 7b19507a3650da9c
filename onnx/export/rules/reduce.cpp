// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions, sorting, cumulative sums.
#include "onnx/export/call.h"

namespace tenon::onnx::exporting {
namespace {

std::vector<int64_t> axes_of(Call& c) {
  std::vector<int64_t> axes = c.none("dim") ? std::vector<int64_t>() : c.ints("dim");
  for (int64_t& a : axes) a = a < 0 ? a + std::max<int64_t>(c.rank("self"), 1) : a;
  return axes;
}
void reduce(Call& c, const char* type) {
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.in("self", d);
  if (c.rank("self") == 0) return c.give(x);
  c.give(c.reduce(type, x, axes_of(c), c.flag("keepdim")));
}
void sum(Call& c) { reduce(c, "ReduceSum"); }
void mean(Call& c) { reduce(c, "ReduceMean"); }
void prod(Call& c) { reduce(c, "ReduceProd"); }
void logsumexp(Call& c) { reduce(c, "ReduceLogSumExp"); }
template <int kind>
void extreme(Call& c) {
  reduce(c, kind ? "ReduceMax" : "ReduceMin");
}
// max and min: of all elements, of two tensors, or with the place of each.
template <int kind>
void extreme_at(Call& c) {
  if (c.has("other") || c.has("b")) {
    const char *a = c.has("b") ? "a" : "self", *b = c.has("b") ? "b" : "other";
    const ScalarType d = as_tensor(c.results.at(0)).scalar_type();
    return c.give(c.op(kind ? "Max" : "Min", {c.in(a, d), c.in(b, d)}));
  }
  if (!c.has("dim"))
    return c.give(c.reduce(kind ? "ReduceMax" : "ReduceMin", c.in("self"), {}, false));
  const int64_t dim = c.axis("dim", "self");
  const bool keep = c.flag("keepdim");
  const std::string x = c.in("self");
  if (c.rank("self") == 0) {
    c.give(x, 0);
    return c.give(c.constant(0, kInt64), 1);
  }
  c.give(c.reduce(kind ? "ReduceMax" : "ReduceMin", x, {dim}, keep), 0);
  c.give(c.op(kind ? "ArgMax" : "ArgMin", {x}, {{"axis", dim}, {"keepdims", int64_t{keep}}}), 1);
}
template <int kind>
void arg(Call& c) {
  if (c.rank("self") == 0) return c.give(c.constant(0, kInt64));
  const char* type = kind ? "ArgMax" : "ArgMin";
  const bool keep = c.flag("keepdim");
  if (!c.none("dim"))
    return c.give(
        c.op(type, {c.in("self")}, {{"axis", c.axis("dim", "self")}, {"keepdims", int64_t{keep}}}));
  const std::string all = c.op("Reshape", {c.in("self"), c.int_list({-1})}),
                    at = c.op(type, {all}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}});
  const auto rank = static_cast<std::size_t>(c.rank("self"));
  c.give(keep ? c.op("Reshape", {at, c.int_list(std::vector<int64_t>(rank, 1))}) : at);
}
template <int kind>
void truth(Call& c) {
  if (c.rank("self") == 0) return c.give(c.in("self", kBool));
  const std::string x = c.cast(c.in("self", kBool), kBool, kInt32);
  c.give(c.cast(c.reduce(kind ? "ReduceMax" : "ReduceMin", x, axes_of(c), c.flag("keepdim")),
                kInt32, kBool));
}

// How many elements are reduced to one.
std::string count_along(Call& c, const std::vector<int64_t>& axes) {
  const ScalarType d = c.result().scalar_type();
  double n = 1;
  bool fixed = true;
  for (const int64_t a : axes) {
    n *= static_cast<double>(c.size("self", a));
    fixed = fixed && c.is_fixed("self", a);
  }
  if (fixed) return c.constant(n, d);
  const std::string sizes = c.op("Gather", {c.op("Shape", {c.in("self")}), c.int_list(axes)});
  return c.cast(c.reduce("ReduceProd", sizes, {0}, false), kInt64, d);
}
// The mean of squares around the mean, over n - correction.
std::string variance(Call& c, double correction) {
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.in("self");
  std::vector<int64_t> axes = axes_of(c);
  if (axes.empty())
    for (int64_t i = 0; i < c.rank("self"); ++i) axes.push_back(i);
  const std::string centered = c.op("Sub", {x, c.reduce("ReduceMean", x, axes, true)});
  const std::string mean =
      c.reduce("ReduceMean", c.op("Mul", {centered, centered}), axes, c.flag("keepdim"));
  if (correction == 0) return mean;
  const std::string n = count_along(c, axes),
                    left = c.op("Max",
                                {c.op("Sub", {n, c.constant(correction, d)}), c.constant(0, d)});
  return c.op("Mul", {mean, c.op("Div", {n, left})});
}
double correction_of(Call& c) {
  if (c.has("unbiased")) return c.flag("unbiased", true) ? 1 : 0;
  return c.none("correction") ? 1 : c.number("correction");
}
void var(Call& c) { c.give(variance(c, correction_of(c))); }
void std_dev(Call& c) { c.give(c.op("Sqrt", {variance(c, correction_of(c))})); }
template <int root>
void with_mean(Call& c) {
  const std::string v = variance(c, correction_of(c));
  c.give(root ? c.op("Sqrt", {v}) : v, 0);
  c.give(c.reduce("ReduceMean", c.in("self"), axes_of(c), c.flag("keepdim")), 1);
}

void norm(Call& c) {
  const char* order = c.has("p") ? "p" : "ord";
  const double p = c.none(order) ? 2 : c.number(order);
  if (p == 1) return reduce(c, "ReduceL1");
  if (p == 2) return reduce(c, "ReduceL2");
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.op("Abs", {c.in("self", d)});
  if (std::isinf(p))
    return c.give(c.reduce(p > 0 ? "ReduceMax" : "ReduceMin", x, axes_of(c), c.flag("keepdim")));
  need(p != 0, "order 0 is not supported");
  const std::string s =
      c.reduce("ReduceSum", c.op("Pow", {x, c.constant(p, d)}), axes_of(c), c.flag("keepdim"));
  c.give(c.op("Pow", {s, c.constant(1 / p, d)}));
}
void normalize(Call& c) {
  const ScalarType d = c.result().scalar_type();
  const std::string x = c.in("input");
  need(c.number("p", 2) == 2, "p other than 2 is not supported");
  const std::string n = c.reduce("ReduceL2", x, {c.integer("dim", 1)}, true);
  c.give(c.op("Div", {x, c.op("Max", {n, c.constant(c.number("eps", 1e-12), d)})}));
}

void cumsum(Call& c) {
  const ScalarType d = c.result().scalar_type();
  if (c.rank("self") == 0) return c.give(c.in("self", d));
  c.give(c.op("CumSum", {c.in("self", d), c.constant(as_tensor(IValue(c.axis("dim", "self"))))}));
}
void top(Call& c, const std::string& k, bool largest) {
  const int64_t dim = c.none("dim") ? c.rank("self") - 1 : c.axis("dim", "self");
  const Names r = c.ops("TopK", {c.in("self"), k},
                        {{"axis", dim}, {"largest", int64_t{largest}}, {"sorted", int64_t{1}}}, 2);
  c.give(r[0], 0);
  c.give(r[1], 1);
}
// Of a number.
bool only_one(Call& c) {
  if (c.rank("self") > 0) return false;
  c.give(c.in("self"), 0);
  c.give(c.constant(0, kInt64), 1);
  return true;
}
void topk(Call& c) {
  if (only_one(c)) return;
  top(c, c.unsqueeze(c.in("k", kInt64), {0}), c.flag("largest", true));
}
void sort(Call& c) {
  if (only_one(c)) return;
  const int64_t dim = c.none("dim") ? c.rank("self") - 1 : c.axis("dim", "self");
  const std::string n = c.slice(c.op("Shape", {c.in("self")}), 0, dim, dim + 1);
  top(c, n, c.flag("descending"));
}
void argsort(Call& c) {
  if (c.rank("self") == 0) return c.give(c.constant(0, kInt64));
  const int64_t dim = c.none("dim") ? c.rank("self") - 1 : c.axis("dim", "self");
  const std::string n = c.slice(c.op("Shape", {c.in("self")}), 0, dim, dim + 1);
  const Names r =
      c.ops("TopK", {c.in("self"), n},
            {{"axis", dim}, {"largest", int64_t{c.flag("descending")}}, {"sorted", int64_t{1}}}, 2);
  c.give(r[1]);
}

const Rules::Entry list[] = {
    {"aten::sum", sum},
    {"aten::mean", mean},
    {"aten::prod", prod},
    {"aten::logsumexp", logsumexp},
    {"aten::amax", extreme<1>},
    {"aten::amin", extreme<0>},
    {"aten::max", extreme_at<1>},
    {"aten::min", extreme_at<0>},
    {"prim::max", extreme_at<1>},
    {"prim::min", extreme_at<0>},
    {"aten::argmax", arg<1>},
    {"aten::argmin", arg<0>},
    {"aten::any", truth<1>},
    {"aten::all", truth<0>},
    {"aten::var", var},
    {"aten::std", std_dev},
    {"aten::var_mean", with_mean<0>},
    {"aten::std_mean", with_mean<1>},
    {"aten::norm", norm},
    {"aten::linalg_vector_norm", norm},
    {"aten::normalize", normalize},
    {"aten::cumsum", cumsum},
    {"aten::topk", topk},
    {"aten::sort", sort},
    {"aten::argsort", argsort},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
