// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators on complex tensors, by their pairs.
#include "onnx/export/pairs.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {

namespace {

bool is_complex_list(const IValue& v) {
  if (!is_tensor_list(v)) return false;
  const auto& items = v.toListRef().items;
  return std::any_of(items.begin(), items.end(), [](const IValue& i) { return is_complex(i); });
}
bool holds_complex(const IValue& v) {
  return is_complex(v) || v.isComplexDouble() || is_complex_list(v);
}

}  // namespace

bool has_complex(const Call& c) {
  const auto& inputs = c.node.inputs();
  return std::any_of(
             inputs.begin(), inputs.end(),
             [&](const jit::Value* v) { return holds_complex(c.exporter.item(v)->example); }) ||
         std::any_of(c.results.begin(), c.results.end(), holds_complex);
}

std::string pairs_of(Call& c, const char* argument, ScalarType dtype) {
  Item& i = c.get(argument);
  if (i.example.isComplexDouble()) {
    need(i.constant, "a complex number that is computed by the program");
    const std::complex<double> v = i.example.toComplexDouble();
    return c.constant(tensor({v.real(), v.imag()}, TensorOptions(dtype)));
  }
  if (is_complex(i.example))
    return c.cast(c.exporter.pairs_of(i), toRealValueType(i.example.toTensor().scalar_type()),
                  dtype);
  const int64_t rank = c.rank(argument);
  std::vector<int64_t> pads(static_cast<std::size_t>(2 * rank + 2), 0);
  pads.back() = 1;
  return c.op("Pad", {c.unsqueeze(c.in(argument, dtype), {rank}), c.int_list(pads)});
}
std::string part_of(Call& c, const std::string& pairs, int64_t part) {
  return c.op("Gather", {pairs, c.constant(as_tensor(IValue(part)))}, {{"axis", int64_t{-1}}});
}
std::string pairs_of_parts(Call& c, const std::string& real, const std::string& imaginary) {
  return c.op("Concat", {c.unsqueeze(real, {-1}), c.unsqueeze(imaginary, {-1})},
              {{"axis", int64_t{-1}}});
}
std::string conjugate(Call& c, const std::string& pairs, ScalarType dtype) {
  return c.op("Mul", {pairs, c.constant(tensor({1.0, -1.0}, TensorOptions(dtype)))});
}

namespace {

bool is_complex_argument(const Call& c, const char* argument) {
  return holds_complex(c.get(argument).example);
}
ScalarType part_dtype(const Call& c) { return toRealValueType(c.result().scalar_type()); }
std::string self(Call& c) { return pairs_of(c, "self", part_dtype(c)); }

struct Parts {
  std::string re, im;
};
Parts parts_of(Call& c, const std::string& pairs) {
  return {part_of(c, pairs, 0), part_of(c, pairs, 1)};
}
std::string sum_of_squares(Call& c, const std::string& pairs) {  // keeps the last dimension
  return c.reduce("ReduceSumSquare", pairs, {-1}, true);
}
std::string product(Call& c, const char* type, const std::string& x, const std::string& y) {
  const Parts a = parts_of(c, x), b = parts_of(c, y);
  const auto times = [&](const std::string& p, const std::string& q) { return c.op(type, {p, q}); };
  return pairs_of_parts(c, c.op("Sub", {times(a.re, b.re), times(a.im, b.im)}),
                        c.op("Add", {times(a.re, b.im), times(a.im, b.re)}));
}
// A real argument beside pairs.
std::string real_factor(Call& c, const char* argument) {
  return c.unsqueeze(c.in(argument, part_dtype(c)), {c.rank(argument)});
}

void view_as_real(Call& c) { c.give(c.exporter.pairs_of(c.get("self"))); }
void view_as_complex(Call& c) { c.give(c.in("self")); }
void same(Call& c) {
  const ScalarType d = c.result().scalar_type();
  if (isComplexType(d)) return c.give(self(c));
  const ScalarType own = toRealValueType(c.dtype("self"));
  c.give(c.cast(part_of(c, pairs_of(c, "self", own), 0), own, d));
}
void real(Call& c) { c.give(part_of(c, pairs_of(c, "self", c.result().scalar_type()), 0)); }
void imag(Call& c) { c.give(part_of(c, pairs_of(c, "self", c.result().scalar_type()), 1)); }
void conj(Call& c) { c.give(conjugate(c, self(c), part_dtype(c))); }
void neg(Call& c) { c.give(c.op("Neg", {self(c)})); }
void complex(Call& c) {
  need(c.example("real").sizes() == c.example("imag").sizes(), "of parts of different sizes");
  c.give(pairs_of_parts(c, c.in("real", part_dtype(c)), c.in("imag", part_dtype(c))));
}
void polar(Call& c) {
  const std::string r = c.in("abs", part_dtype(c)), angle = c.in("angle", part_dtype(c));
  need(c.example("abs").sizes() == c.example("angle").sizes(), "of parts of different sizes");
  c.give(pairs_of_parts(c, c.op("Mul", {r, c.op("Cos", {angle})}),
                        c.op("Mul", {r, c.op("Sin", {angle})})));
}
void abs(Call& c) {
  c.give(c.reduce("ReduceL2", pairs_of(c, "self", c.result().scalar_type()), {-1}, false));
}
void exp(Call& c) {
  const Parts p = parts_of(c, self(c));
  const std::string r = c.op("Exp", {p.re});
  c.give(pairs_of_parts(c, c.op("Mul", {r, c.op("Cos", {p.im})}),
                        c.op("Mul", {r, c.op("Sin", {p.im})})));
}
void add(Call& c) {
  std::string other = pairs_of(c, "other", part_dtype(c));
  if (const double alpha = c.number("alpha", 1); alpha != 1)
    other = c.op("Mul", {other, c.constant(alpha, part_dtype(c))});
  c.give(c.op(c.name == "aten::sub" ? "Sub" : "Add", {self(c), other}));
}
void mul(Call& c) {
  if (!is_complex_argument(c, "other"))
    return c.give(c.op("Mul", {self(c), real_factor(c, "other")}));
  const std::string other = pairs_of(c, "other", part_dtype(c));
  if (!is_complex_argument(c, "self")) return c.give(c.op("Mul", {real_factor(c, "self"), other}));
  c.give(product(c, "Mul", self(c), other));
}
void square(Call& c) {
  const std::string x = self(c);
  c.give(product(c, "Mul", x, x));
}
void div(Call& c) {
  if (!is_complex_argument(c, "other"))
    return c.give(c.op("Div", {self(c), real_factor(c, "other")}));
  const std::string other = pairs_of(c, "other", part_dtype(c));
  c.give(c.op("Div", {product(c, "Mul", self(c), conjugate(c, other, part_dtype(c))),
                      sum_of_squares(c, other)}));
}
void reciprocal(Call& c) {
  const std::string x = self(c);
  c.give(c.op("Div", {conjugate(c, x, part_dtype(c)), sum_of_squares(c, x)}));
}
void matmul(Call& c) {
  const char* other = c.has("mat2") ? "mat2" : "other";
  c.give(product(c, "MatMul", self(c), pairs_of(c, other, part_dtype(c))));
}

// While it lives, the complex arguments and results of the call are their real or imaginary parts.
class OnePart {
 public:
  OnePart(Call& c, int64_t part) : call_(c), part_(part), results_(c.results) {
    for (const jit::Value* v : c.node.inputs()) whole_.push_back(c.exporter.item(v));
    try {
      std::vector<ItemPtr> parts;
      for (const ItemPtr& i : whole_) parts.push_back(part_of_item(i));
      for (std::size_t k = 0; k < parts.size(); ++k) set(k, parts[k]);
      for (IValue& r : call_.results) r = part_of_value(r);
    } catch (...) {
      restore();
      throw;
    }
  }
  ~OnePart() { restore(); }
  OnePart(const OnePart&) = delete;
  OnePart& operator=(const OnePart&) = delete;

 private:
  void set(std::size_t k, const ItemPtr& i) { call_.exporter.set(call_.node.inputs()[k], i); }
  void restore() {
    for (std::size_t k = 0; k < whole_.size(); ++k) set(k, whole_[k]);
    call_.results = results_;
  }
  IValue part_of_value(const IValue& v) const {
    if (is_complex(v)) return part_ ? imag(v.toTensor()) : real(v.toTensor());
    if (!is_complex_list(v)) return v;
    std::vector<Tensor> items;
    for (const IValue& i : v.toListRef().items) items.push_back(part_of_value(i).toTensor());
    return IValue(items);
  }
  ItemPtr part_of_item(const ItemPtr& whole) const {
    if (!holds_complex(whole->example)) return whole;
    auto i = std::make_shared<Item>();
    i->example = part_of_value(whole->example);
    i->constant = whole->constant;
    i->sizes = whole->sizes;
    if (is_complex(whole->example)) {
      if (!i->constant) i->name = exporting::part_of(call_, call_.exporter.pairs_of(*whole), part_);
      return i;
    }
    need(whole->has_parts, "a list of complex tensors that is computed");
    i->has_parts = true;
    for (const ItemPtr& p : whole->parts) {
      need(is_complex(p->example), "complex tensors beside real ones");
      i->parts.push_back(part_of_item(p));
    }
    return i;
  }
  using Item = exporting::Item;

  Call& call_;
  int64_t part_;
  std::vector<IValue> results_;
  std::vector<ItemPtr> whole_;
};

ItemPtr join_parts(Call& c, const ItemPtr& re, const ItemPtr& im, const IValue& example) {
  auto i = std::make_shared<Item>();
  i->example = example;
  if (!is_complex_list(example)) {
    i->name = pairs_of_parts(c, c.exporter.name_of(*re), c.exporter.name_of(*im));
    return i;
  }
  need(re->has_parts && im->has_parts, "a list of complex tensors that is computed");
  i->has_parts = true;
  for (std::size_t k = 0; k < re->parts.size(); ++k)
    i->parts.push_back(join_parts(c, re->parts[k], im->parts[k], example.toListRef().items.at(k)));
  return i;
}

// What does the same to real and to imaginary parts: by its rule for real numbers.
void part_by_part(Call& c) {
  const auto* rule = find_rule(c.name);
  need(rule != nullptr, "there is no rule for it");
  const bool pads = c.name == "aten::pad" || c.name == "aten::constant_pad_nd";
  need(!pads || c.none("value") || c.number("value") == 0, "padding complex numbers with others");
  std::vector<ItemPtr> parts[2];
  const int64_t n = std::any_of(c.results.begin(), c.results.end(), holds_complex) ? 2 : 1;
  for (int64_t k = 0; k < n; ++k) {
    const OnePart one(c, k);
    (*rule)(c);
    parts[k].assign(c.results.size(), nullptr);
    parts[k].swap(c.given);
  }
  for (std::size_t k = 0; k < c.given.size(); ++k)
    c.given[k] = n == 1 ? parts[0][k] : join_parts(c, parts[0][k], parts[1][k], c.results[k]);
}

const Rules::Entry list[] = {
    {"aten::view_as_real", view_as_real},
    {"aten::view_as_complex", view_as_complex},
    {"aten::to", same},
    {"aten::_to_copy", same},
    {"aten::type_as", same},
    {"aten::clone", same},
    {"aten::contiguous", same},
    {"aten::detach", same},
    {"aten::alias", same},
    {"aten::lift_fresh", same},
    {"aten::resolve_conj", same},
    {"aten::resolve_neg", same},
    {"aten::real", real},
    {"aten::imag", imag},
    {"aten::conj", conj},
    {"aten::_conj", conj},
    {"aten::conj_physical", conj},
    {"aten::_conj_physical", conj},
    {"aten::neg", neg},
    {"aten::complex", complex},
    {"aten::polar", polar},
    {"aten::abs", abs},
    {"aten::exp", exp},
    {"aten::add", add},
    {"aten::sub", add},
    {"aten::mul", mul},
    {"aten::square", square},
    {"aten::div", div},
    {"aten::reciprocal", reciprocal},
    {"aten::matmul", matmul},
    {"aten::mm", matmul},
    {"aten::bmm", matmul},
    {"aten::sum", part_by_part},
    {"aten::mean", part_by_part},
    {"aten::cumsum", part_by_part},
    {"aten::size", part_by_part},
    {"aten::sym_size", part_by_part},
    {"aten::numel", part_by_part},
    {"aten::view", part_by_part},
    {"aten::reshape", part_by_part},
    {"aten::_unsafe_view", part_by_part},
    {"aten::flatten", part_by_part},
    {"aten::unflatten", part_by_part},
    {"aten::t", part_by_part},
    {"aten::mT", part_by_part},
    {"aten::transpose", part_by_part},
    {"aten::swapaxes", part_by_part},
    {"aten::permute", part_by_part},
    {"aten::movedim", part_by_part},
    {"aten::squeeze", part_by_part},
    {"aten::unsqueeze", part_by_part},
    {"aten::expand", part_by_part},
    {"aten::broadcast_to", part_by_part},
    {"aten::repeat", part_by_part},
    {"aten::tile", part_by_part},
    {"aten::slice", part_by_part},
    {"aten::narrow", part_by_part},
    {"aten::select", part_by_part},
    {"aten::index", part_by_part},
    {"aten::index_select", part_by_part},
    {"aten::gather", part_by_part},
    {"aten::cat", part_by_part},
    {"aten::concat", part_by_part},
    {"aten::stack", part_by_part},
    {"aten::split", part_by_part},
    {"aten::split_with_sizes", part_by_part},
    {"aten::chunk", part_by_part},
    {"aten::unbind", part_by_part},
    {"aten::flip", part_by_part},
    {"aten::roll", part_by_part},
    {"aten::pad", part_by_part},
    {"aten::constant_pad_nd", part_by_part},
    {"aten::tril", part_by_part},
    {"aten::triu", part_by_part},
    {"aten::unfold", part_by_part},
    {"aten::diagonal", part_by_part},
};
TENON_EXPORT_COMPLEX_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
