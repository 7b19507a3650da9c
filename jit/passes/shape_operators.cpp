// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The rules of operators, by what they do with shapes.
#include <algorithm>

#include "jit/passes/shape_rules.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

std::vector<int64_t> repeated(std::vector<int64_t> v, std::size_t n) {
  if (v.size() == 1) v.resize(n, v[0]);
  return v;
}

}  // namespace

// Of the shape and dtype of its first argument. Where the argument has no floating dtype, the
// result may have another.
void ShapeRules::same(const Node& n) {
  TensorFacts t = get(n.input(0));
  if (t.dtype && !isFloatingType(*t.dtype)) t.dtype = std::nullopt;
  if (const Value* dtype = argument(n, "dtype"); dtype && !is_none(dtype)) t.dtype = std::nullopt;
  set(n.output(), std::move(t));
}

void ShapeRules::to(const Node& n) {
  TensorFacts t = get(n.input(0));
  const Value* dtype = argument(n, "dtype");
  if (!dtype) {
    t.dtype = std::nullopt;
  } else if (!is_none(dtype)) {
    const auto code = int_of(dtype);
    t.dtype = code ? std::optional(static_cast<ScalarType>(*code)) : std::nullopt;
  }
  set(n.output(), std::move(t));
}

// Where they differ, one may be stretched to the other: then its sizes are 1.
void ShapeRules::broadcast(const Node& n, TensorFacts a, TensorFacts b) {
  TensorFacts out = unknown(n.output());
  if (a.dtype && b.dtype) {
    if (*a.dtype == *b.dtype || (b.rank() == 0 && isFloatingType(*a.dtype)))
      out.dtype = a.dtype;
    else if (a.rank() == 0 && isFloatingType(*b.dtype))
      out.dtype = b.dtype;
  }
  const auto set_shape = [&](const TensorFacts& f) {
    out.lead = f.lead;
    out.last = f.last;
    set(n.output(), out);
  };
  if (a.lead == b.lead && a.last == b.last) return set_shape(a);
  if (a.lead == 0 && b.lead == 0 && a.last.size() < b.last.size()) std::swap(a, b);
  if (b.lead != 0) std::swap(a, b);
  if (b.lead != 0) return set(n.output(), out);
  if (a.last.size() < b.last.size()) return set(n.output(), out);
  const std::size_t skip = a.last.size() - b.last.size();
  for (std::size_t i = 0; i < b.last.size(); ++i) {
    int64_t& d = a.last[skip + i];
    const int64_t other = b.last[i];
    if (other == 1 || other == d) continue;
    if (d == 1 || other > 1)
      d = other;  // where it is not 1, d is 1 or the same
    else if (d <= 1)
      return set(n.output(), out);
  }
  set_shape(a);
}

void ShapeRules::binary(const Node& n) {
  if (n.inputs().size() < 2) return;
  if (!n.input(0)->type()->is(TypeKind::Tensor)) return arithmetic(n);
  if (n.kind().back() == '_') {
    TensorFacts t = get(n.input(0));
    return set(n.output(), std::move(t));
  }
  if (n.input(1)->type()->is(TypeKind::Tensor))
    return broadcast(n, get(n.input(0)), get(n.input(1)));
  same(n);
}

void ShapeRules::compare(const Node& n) {
  binary(n);
  if (facts_.tensors_.count(n.output())) facts_.tensors_[n.output()].dtype = kBool;
}

// How many positions a window has, `rounded_up` where the last may reach beyond the padding.
int64_t ShapeRules::window(int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                           int64_t dilation, bool rounded_up) {
  const int64_t extra =
      2 * pad - dilation * (kernel - 1) - 1 + (rounded_up && stride > 0 ? stride - 1 : 0);
  if (size >= 0) return size + extra < 0 || stride < 1 ? 0 : (size + extra) / stride + 1;
  if (stride == 1 && extra == -1) return size;
  return symbol(core::join("window ", size, " ", extra, " ", stride));
}

void ShapeRules::convolution(const Node& n) {
  const auto weight = tensor_of(n.input(1));
  const Value* transposed = argument(n, "transposed");
  if (!weight || weight->dim() < 3 || (transposed && bool_of(transposed) != std::optional(false)))
    return;
  const auto space = static_cast<std::size_t>(weight->dim() - 2);
  const Value *s = argument(n, "stride"), *p = argument(n, "padding"), *d = argument(n, "dilation");
  if (!s || !p || !d) return;
  const auto stride = ints_of(s), padding = ints_of(p), dilation = ints_of(d);
  if (!stride || !dilation) return;
  const Dims by = repeated(*stride, space), apart = repeated(*dilation, space);
  const Dims pad = padding ? repeated(*padding, space) : Dims();
  if (by.size() != space || apart.size() != space || (padding && pad.size() != space)) return;
  TensorFacts t = get(n.input(0));
  split_lead(t, space + 1);
  if (t.last.size() < space + 1) return;
  const std::size_t at = t.last.size() - space;
  for (std::size_t i = 0; i < space; ++i) {
    int64_t& size = t.last[at + i];
    const int64_t kernel = weight->size(static_cast<int64_t>(i) + 2);
    if (padding)
      size = window(size, kernel, by[i], pad[i], apart[i]);
    else
      size = symbol(core::join("padded ", n.output()->id(), " ", i));
  }
  t.last[at - 1] = weight->size(0);
  t.dtype = weight->scalar_type();
  set(n.output(), std::move(t));
}

void ShapeRules::pool(const Node& n) {
  const std::size_t space = n.kind().find("1d") != std::string::npos   ? 1
                            : n.kind().find("2d") != std::string::npos ? 2
                                                                       : 3;
  const auto get_list = [&](const char* name) {
    const Value* v = argument(n, name);
    auto list = v ? ints_of(v) : std::nullopt;
    return list ? repeated(*list, space) : Dims();
  };
  const Dims kernel = get_list("kernel_size"), padding = get_list("padding");
  Dims stride = get_list("stride"), dilation = get_list("dilation");
  if (stride.empty()) stride = kernel;
  if (!argument(n, "dilation")) dilation.assign(space, 1);
  const Value* ceil = argument(n, "ceil_mode");
  const auto rounded_up = ceil ? bool_of(ceil) : std::nullopt;
  if (kernel.size() != space || padding.size() != space || stride.size() != space ||
      dilation.size() != space || !rounded_up)
    return;
  for (std::size_t i = 0; *rounded_up && i < space; ++i) {
    // The operator drops a window that begins behind the input; here none can.
    if (stride[i] > dilation[i] * (kernel[i] - 1) + 1 - padding[i]) return;
  }
  TensorFacts t = get(n.input(0));
  split_lead(t, space);
  if (t.last.size() < space) return;
  for (std::size_t i = 0; i < space; ++i) {
    int64_t& size = t.last[t.last.size() - space + i];
    size = window(size, kernel[i], stride[i], padding[i], dilation[i], *rounded_up);
  }
  set(n.output(), std::move(t));
}

void ShapeRules::adaptive_pool(const Node& n) {
  const std::size_t space = n.kind().find("1d") != std::string::npos   ? 1
                            : n.kind().find("2d") != std::string::npos ? 2
                                                                       : 3;
  const auto list = ints_of(n.input(1));
  if (!list) return;
  const Dims sizes = repeated(*list, space);
  TensorFacts t = get(n.input(0));
  split_lead(t, space);
  if (t.last.size() < space || sizes.size() != space) return;
  std::copy(sizes.begin(), sizes.end(), t.last.end() - static_cast<std::ptrdiff_t>(space));
  set(n.output(), std::move(t));
}

void ShapeRules::linear(const Node& n) {
  TensorFacts t = get(n.input(0)), weight = get(n.input(1));
  split_lead(t, 1);
  if (weight.rank() != 2 || t.last.empty()) return;
  t.last.back() = weight.last[0];
  t.dtype = weight.dtype;
  set(n.output(), std::move(t));
}

void ShapeRules::matmul(const Node& n) {
  const bool add = n.is("aten::addmm");
  TensorFacts a = get(n.input(add ? 1 : 0)), b = get(n.input(add ? 2 : 1));
  if (b.rank() == 2) {
    split_lead(a, 1);
    if (a.last.empty()) return;
    a.last.back() = b.last[1];
  } else {
    if (a.last.size() < 2 || b.last.size() < 2) return;
    const bool batches = a.lead == b.lead && std::equal(a.last.begin(), a.last.end() - 2,
                                                        b.last.begin(), b.last.end() - 2);
    if (!batches) return;
    a.last.back() = b.last.back();
  }
  if (!a.dtype) a.dtype = b.dtype;
  set(n.output(), std::move(a));
}

void ShapeRules::attention(const Node& n) {
  TensorFacts q = get(n.input(0)), v = get(n.input(2));
  const int64_t* last = dim_of(v, -1);
  if (!dim_of(q, -1) || !last) return;
  q.last.back() = *last;
  set(n.output(), std::move(q));
}

void ShapeRules::embedding(const Node& n) {
  const TensorFacts weight = get(n.input(0));
  TensorFacts t = get(n.input(1));
  if (weight.rank() != 2) return;
  t.last.push_back(weight.last[1]);
  t.dtype = weight.dtype;
  set(n.output(), std::move(t));
}

void ShapeRules::permute(const Node& n) {
  const auto order = ints_of(n.input(1));
  TensorFacts t = get(n.input(0));
  if (!order || order->size() > kMaxRank) return;
  // The order says the rank.
  split_lead(t, order->size());
  if (t.last.size() != order->size()) return;
  TensorFacts out = t;
  out.lead = 0;
  for (std::size_t i = 0; i < order->size(); ++i) {
    const int64_t d =
        (*order)[i] < 0 ? (*order)[i] + static_cast<int64_t>(order->size()) : (*order)[i];
    if (d < 0 || d >= static_cast<int64_t>(order->size())) return;
    out.last[i] = t.last[static_cast<std::size_t>(d)];
  }
  set(n.output(), std::move(out));
}

void ShapeRules::transpose(const Node& n) {
  TensorFacts t = get(n.input(0));
  const auto a = n.is("aten::t") ? std::optional<int64_t>(0) : int_of(n.input(1));
  const auto b = n.is("aten::t") ? std::optional<int64_t>(1) : int_of(n.input(2));
  if (!a || !b || (n.is("aten::t") && t.rank() != 2)) return;
  if (!dim_of(t, *a) || !dim_of(t, *b)) return;
  std::swap(*dim_of(t, *a), *dim_of(t, *b));
  set(n.output(), std::move(t));
}

// The size that -1 stands for.
int64_t ShapeRules::rest_of(const TensorFacts& from, const Dims& given) {
  std::vector<int64_t> left;
  int64_t have = 1, want = 1;
  for (int64_t d : from.last) d >= 0 ? void(have *= d) : left.push_back(d);
  if (from.lead != 0) left.push_back(from.lead);
  std::string words = core::join("rest ", from.lead);
  bool exact = true;
  for (int64_t d : given) {
    if (d == -1) continue;
    words += core::join(" ", d);
    if (d >= 0) {
      want *= d;
    } else if (auto it = std::find(left.begin(), left.end(), d); it != left.end()) {
      left.erase(it);
    } else {
      exact = false;
    }
  }
  if (exact && want > 0 && have % want == 0) {
    if (left.empty()) return have / want;
    if (left.size() == 1 && have == want && left[0] != from.lead) return left[0];
  }
  for (int64_t d : from.last) words += core::join(" of ", d);
  return symbol(words);
}

void ShapeRules::view(const Node& n) {
  TensorFacts t = get(n.input(0));
  const auto shape = dims(n.input(1));
  if (!shape) return;
  TensorFacts out;
  out.dtype = t.dtype;
  out.last = *shape;
  const bool expand = n.is("aten::expand");
  for (std::size_t i = 0; i < out.last.size(); ++i) {
    if (out.last[i] != -1) continue;
    if (!expand) {
      out.last[i] = rest_of(t, *shape);
      continue;
    }
    const int64_t* d = dim_of(t, static_cast<int64_t>(i) - static_cast<int64_t>(out.last.size()));
    if (!d) return;
    out.last[i] = *d;
  }
  set(n.output(), std::move(out));
}

void ShapeRules::flatten(const Node& n) {
  TensorFacts t = get(n.input(0));
  const auto from = int_of(n.input(1)), to = int_of(n.input(2));
  if (!from || !to || t.lead != 0 || t.last.empty()) return;
  const auto rank = static_cast<int64_t>(t.last.size());
  const int64_t begin = *from < 0 ? *from + rank : *from, end = *to < 0 ? *to + rank : *to;
  if (begin < 0 || end >= rank || begin > end) return;
  Dims given(t.last.begin(), t.last.begin() + begin);
  given.push_back(-1);
  given.insert(given.end(), t.last.begin() + end + 1, t.last.end());
  const int64_t rest = rest_of(t, given);
  std::replace(given.begin(), given.end(), int64_t{-1}, rest);
  t.last = std::move(given);
  set(n.output(), std::move(t));
}

void ShapeRules::unsqueeze(const Node& n) {
  TensorFacts t = get(n.input(0));
  const auto dim = int_of(n.input(1));
  if (!dim) return;
  if (*dim < 0) split_lead(t, static_cast<std::size_t>(std::min<int64_t>(-*dim - 1, kMaxRank)));
  if (*dim >= 0 && t.lead != 0) return;
  const auto rank = static_cast<int64_t>(t.last.size());
  const int64_t at = *dim < 0 ? *dim + rank + 1 : *dim;
  if (at < 0 || at > rank) return;
  t.last.insert(t.last.begin() + at, 1);
  set(n.output(), std::move(t));
}

void ShapeRules::select(const Node& n) {
  TensorFacts t = get(n.input(0));
  const auto dim = int_of(n.input(1));
  const int64_t* d = dim ? dim_of(t, *dim) : nullptr;
  if (!d) return;
  t.last.erase(t.last.begin() + (d - t.last.data()));
  set(n.output(), std::move(t));
}

void ShapeRules::size(const Node& n) {
  if (n.inputs().size() == 1) return sizes(n);
  TensorFacts t = get(n.input(0));
  const auto dim = int_of(n.input(1));
  const int64_t* d = dim ? dim_of(t, *dim) : nullptr;
  facts_.numbers_[n.output()] =
      d ? *d : symbol(core::join("size ", t.lead, " of ", n.input(0)->id(), " ", dim.value_or(99)));
}

// What was known before here: a check that tells the rank stays.
void ShapeRules::rank(const Node& n) {
  if (const auto r = get(n.input(0)).rank()) facts_.ranks_[n.output()] = *r;
}

void ShapeRules::sizes(const Node& n) {
  const TensorFacts t = get(n.input(0));
  if (t.lead == 0) lists_[n.output()] = t.last;
}

// exported::check_sizes raises where the sizes are others; -1: any.
void ShapeRules::check_sizes(const Node& n) {
  const auto wanted = ints_of(n.input(2));
  if (!wanted) return;
  TensorFacts t = get(n.input(0));
  t.lead = 0;
  t.last.clear();
  for (std::size_t i = 0; i < wanted->size(); ++i)
    t.last.push_back((*wanted)[i] >= 0 ? (*wanted)[i]
                                       : symbol(core::join("input ", n.input(0)->id(), " ", i)));
  lists_[n.output()] = t.last;
  set(n.input(0), std::move(t));
}

// Sizes that are computed in one way from the same.
void ShapeRules::arithmetic(const Node& n) {
  if (n.inputs().empty() || !n.output()->type()->is(TypeKind::Int)) return;
  std::string words = n.kind();
  for (const Value* v : n.inputs()) {
    const auto known = int_of(v), k = number(v);
    words += known ? core::join(" c", *known) : core::join(" ", k ? *k : fresh(v));
  }
  facts_.numbers_[n.output()] = symbol(words);
}

}  // namespace tenon::jit
