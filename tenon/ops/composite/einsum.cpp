// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of products by letters: every operand gets the dimensions of all letters, in one order, then
// pairs are multiplied by bmm.
#include <algorithm>
#include <array>
#include <numeric>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using Sizes = std::vector<int64_t>;
using Labels = std::vector<int>;

constexpr int kLetters = 52;   // A to Z, a to z; the dimensions of "..." come after them
constexpr int kEllipsis = -1;  // in labels that are not expanded yet

struct Term {
  Labels labels;
  bool ellipsis = false;
};

Term read_term(std::string_view s, std::string_view equation) {
  Term t;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c == ' ') continue;
    if (c == '.') {
      TENON_CHECK(s.substr(i, 3) == "..." && !t.ellipsis, ValueError,
                  "einsum(): found '.' in the equation ", equation,
                  " that is not part of any ellipsis, or a second ellipsis");
      t.ellipsis = true;
      t.labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    TENON_CHECK(upper || lower, ValueError, "einsum(): invalid subscript '", c,
                "' in the equation ", equation, ", subscripts must be in [a-zA-Z]");
    t.labels.push_back(upper ? c - 'A' : c - 'a' + 26);
  }
  return t;
}

std::string letter_of(int label) {
  return std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

// The equation, expanded to the dimensions of the operands.
class Equation {
 public:
  Equation(std::string_view equation, TensorList operands) : equation_(equation) {
    const std::size_t arrow = equation.find("->");
    read_operands(equation.substr(0, arrow), operands);
    expand_ellipsis(operands);
    for (const Labels& l : terms) {
      for (int label : l) ++count_[static_cast<std::size_t>(label)];
    }
    if (arrow == std::string_view::npos)
      implicit_output();
    else
      explicit_output(read_term(equation.substr(arrow + 2), equation));
    order = output;
    for (std::size_t l = 0; l < count_.size(); ++l) {
      const int label = static_cast<int>(l);
      if (count_[l] && std::find(output.begin(), output.end(), label) == output.end())
        order.push_back(label);
    }
  }
  std::vector<Labels> terms;
  Labels output, order;  // order: the output, then what is summed over

 private:
  void read_operands(std::string_view left, TensorList operands) {
    std::size_t begin = 0;
    for (;;) {
      const std::size_t comma = left.find(',', begin);
      read_.push_back(read_term(left.substr(begin, comma - begin), equation_));
      if (comma == std::string_view::npos) break;
      begin = comma + 1;
    }
    TENON_CHECK(read_.size() >= operands.size(), ValueError,
                "einsum(): more operands were provided than specified in the equation ", equation_,
                ": ", operands.size());
    TENON_CHECK(read_.size() <= operands.size(), ValueError,
                "einsum(): fewer operands were provided than specified in the equation ", equation_,
                ": ", operands.size());
  }

  // The dimensions of an ellipsis are counted from its end, so that operands broadcast.
  void expand_ellipsis(TensorList operands) {
    std::vector<int64_t> extra(read_.size());
    for (std::size_t i = 0; i < read_.size(); ++i) {
      const int64_t named =
          static_cast<int64_t>(read_[i].labels.size()) - (read_[i].ellipsis ? 1 : 0);
      extra[i] = operands[i].dim() - named;
      TENON_CHECK(extra[i] == 0 || (extra[i] > 0 && read_[i].ellipsis), ValueError,
                  "einsum(): the number of subscripts in the equation (", named,
                  read_[i].ellipsis ? ") is more than" : ") does not match",
                  " the number of dimensions (", operands[i].dim(), ") for operand ", i,
                  read_[i].ellipsis ? "" : " and no ellipsis was given");
      if (read_[i].ellipsis) hidden_ = std::max(hidden_, extra[i]);
    }
    count_.assign(static_cast<std::size_t>(kLetters + hidden_), 0);
    for (std::size_t i = 0; i < read_.size(); ++i)
      terms.push_back(expand_labels(read_[i].labels, extra[i]));
  }

  Labels expand_labels(const Labels& labels, int64_t width) const {
    Labels out;
    for (int label : labels) {
      if (label != kEllipsis) {
        out.push_back(label);
        continue;
      }
      for (int64_t k = hidden_ - width; k < hidden_; ++k)
        out.push_back(kLetters + static_cast<int>(k));
    }
    return out;
  }

  void implicit_output() {
    output = expand_labels({kEllipsis}, hidden_);
    for (int l = 0; l < kLetters; ++l) {
      if (count_[static_cast<std::size_t>(l)] == 1) output.push_back(l);
    }
  }

  void explicit_output(const Term& term) {
    output = expand_labels(term.labels, hidden_);
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i] >= kLetters) continue;
      TENON_CHECK(std::find(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(i),
                            output[i]) == output.begin() + static_cast<std::ptrdiff_t>(i),
                  ValueError, "einsum(): output subscript ", letter_of(output[i]),
                  " appears more than once in the output of ", equation_);
      TENON_CHECK(count_[static_cast<std::size_t>(output[i])] > 0, ValueError,
                  "einsum(): output subscript ", letter_of(output[i]),
                  " does not appear in the equation ", equation_, " for any input operand");
    }
  }

  std::string_view equation_;
  std::vector<Term> read_;
  std::vector<int> count_;
  int64_t hidden_ = 0;
};

// Every label of `order` becomes a dimension, of size 1 where the operand lacks it. Letters that
// repeat are diagonals.
Tensor align(Tensor t, Labels labels, const Labels& order, std::size_t operand) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = i + 1; k < labels.size();) {
      if (labels[k] != labels[i]) {
        ++k;
        continue;
      }
      const int64_t a = static_cast<int64_t>(i), b = static_cast<int64_t>(k);
      TENON_CHECK(t.size(a) == t.size(b), ValueError, "einsum(): subscript ", letter_of(labels[i]),
                  " is repeated for operand ", operand, " but the sizes don't match, ", t.size(b),
                  " != ", t.size(a));
      t = t.diagonal(0, a, b).movedim(-1, a);
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  Sizes permutation, shape;
  for (int label : order) {
    const auto at = std::find(labels.begin(), labels.end(), label);
    const bool there = at != labels.end();
    if (there) permutation.push_back(at - labels.begin());
    shape.push_back(there ? t.size(permutation.back()) : 1);
  }
  t = t.permute(permutation);
  for (std::size_t d = 0; d < order.size(); ++d) {
    if (std::find(labels.begin(), labels.end(), order[d]) == labels.end())
      t = t.unsqueeze(static_cast<int64_t>(d));
  }
  return t;
}

int64_t product(const Tensor& t, const Sizes& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= t.size(d);
  return n;
}

Sizes concatenate(std::initializer_list<const Sizes*> parts) {
  Sizes out;
  for (const Sizes* p : parts) out.insert(out.end(), p->begin(), p->end());
  return out;
}

// Sums left * right over the dimensions of `sum`, which stay with size 1.
Tensor contract(Tensor left, Tensor right, const std::vector<bool>& sum) {
  Sizes batch, rows, columns, inner;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const bool in_left = left.size(d) != 1, in_right = right.size(d) != 1;
    if (!sum[static_cast<std::size_t>(d)]) {
      (in_left && in_right ? batch : in_right ? columns : rows).push_back(d);
      continue;
    }
    if (in_left && !in_right) left = left.sum(d, true);  // int64 of narrower integers, as a sum is
    if (in_right && !in_left) right = right.sum(d, true);
    inner.push_back(d);
  }
  if (product(left, inner) == 1 && product(right, inner) == 1) return left * right;
  if (isIntegralType(left.scalar_type(), true) && isIntegralType(right.scalar_type(), true)) {
    const ScalarType type = tenon::promote_types(left.scalar_type(), right.scalar_type());
    left = left.to(type), right = right.to(type);
  }
  const int64_t n = product(left, batch), k = product(left, inner);
  const Tensor a = left.permute(concatenate({&batch, &rows, &inner, &columns}))
                       .reshape({n, product(left, rows), k});
  const Tensor b = right.permute(concatenate({&batch, &inner, &columns, &rows}))
                       .reshape({n, k, product(right, columns)});
  const Sizes order = concatenate({&batch, &rows, &columns, &inner});
  Sizes shape;
  for (int64_t d : batch) shape.push_back(left.size(d));
  for (int64_t d : rows) shape.push_back(left.size(d));
  for (int64_t d : columns) shape.push_back(right.size(d));
  shape.resize(order.size(), 1);
  Sizes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int64_t>(i);
  return a.bmm(b).reshape(shape).permute(back);
}

void check_sizes(const std::vector<Tensor>& operands, const Labels& order) {
  for (std::size_t d = 0; d < order.size(); ++d) {
    int64_t seen = 1;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const int64_t n = operands[i].size(static_cast<int64_t>(d));
      if (n == 1) continue;
      TENON_CHECK(seen == 1 || seen == n, ValueError, "einsum(): subscript ",
                  order[d] < kLetters ? letter_of(order[d]) : "...", " has size ", n,
                  " for operand ", i, " which does not broadcast with previously seen size ", seen);
      seen = n;
    }
  }
}

// Takes two operands out and puts their product at the end; sums over what no other operand and no
// output has.
void contract_pair(std::vector<Tensor>& operands, std::size_t i, std::size_t j, std::size_t kept) {
  const Tensor left = operands[i], right = operands[j];
  operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
  operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
  std::vector<bool> sum(static_cast<std::size_t>(left.dim()));
  for (std::size_t d = kept; d < sum.size(); ++d) {
    sum[d] = std::all_of(operands.begin(), operands.end(),
                         [&](const Tensor& t) { return t.size(static_cast<int64_t>(d)) == 1; });
  }
  operands.push_back(contract(left, right, sum));
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef path) {
  TENON_CHECK(!tensors.empty(), ValueError, "einsum(): must provide at least one operand");
  const Equation e(equation, tensors);
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    operands.push_back(align(tensors[i], e.terms[i], e.order, i));
  check_sizes(operands, e.order);
  const std::size_t kept = e.output.size();
  const int64_t rank = static_cast<int64_t>(e.order.size());
  if (operands.size() == 1) {
    Sizes sum(e.order.size() - kept);
    std::iota(sum.begin(), sum.end(), static_cast<int64_t>(kept));
    return sum.empty() ? operands[0] : operands[0].sum(sum);
  }
  TENON_CHECK(!path || path->size() == 2 * (operands.size() - 1), ValueError,
              "einsum(): expected contract path given in path parameter to contain ",
              2 * (operands.size() - 1), " elements, got ", path ? path->size() : 0);
  for (std::size_t step = 0; operands.size() > 1; ++step) {
    const int64_t i = path ? (*path)[2 * step] : 0, j = path ? (*path)[2 * step + 1] : 1;
    const int64_t n = static_cast<int64_t>(operands.size());
    TENON_CHECK(i >= 0 && j >= 0 && i < n && j < n && i != j, ValueError,
                "einsum(): invalid contraction (", i, ", ", j, ") in the path: there are ", n,
                " operands left");
    contract_pair(operands, static_cast<std::size_t>(i), static_cast<std::size_t>(j), kept);
  }
  Tensor out = operands[0];
  for (int64_t d = rank; d-- > static_cast<int64_t>(kept);) out = out.squeeze(d);
  return out;
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self,
                 IntArrayRef dims_other) {
  TENON_CHECK(dims_self.size() == dims_other.size(), ValueError,
              "tensordot: both dimension lists should have same length, got ", dims_self, " and ",
              dims_other);
  TENON_CHECK(self.scalar_type() == other.scalar_type(), TypeError,
              "tensordot: both inputs should have same dtype, got ", toString(self.scalar_type()),
              " and ", toString(other.scalar_type()));
  Tensor a = self, b = other;
  Sizes in_a, in_b;
  int64_t inner = 1;
  for (std::size_t i = 0; i < dims_self.size(); ++i) {
    const int64_t n = a.size(dims_self[i]), m = b.size(dims_other[i]);
    TENON_CHECK(n == m || n == 1 || m == 1, ValueError,
                "tensordot: contracted dimensions need to match, but first has ", "size ", n,
                " in dim ", dims_self[i], " and second has size ", m, " in dim ", dims_other[i]);
    if (n == 1 && m != 1) b = b.sum(dims_other[i], true, b.scalar_type());
    if (m == 1 && n != 1) a = a.sum(dims_self[i], true, a.scalar_type());
    in_a.push_back(dims_self[i] < 0 ? dims_self[i] + a.dim() : dims_self[i]);
    in_b.push_back(dims_other[i] < 0 ? dims_other[i] + b.dim() : dims_other[i]);
    inner *= std::min(n, m);
  }
  Sizes shape, free_a, free_b;
  int64_t rows = 1, columns = 1;
  const auto is_free = [](const Sizes& dims, int64_t d) {
    return std::find(dims.begin(), dims.end(), d) == dims.end();
  };
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (!is_free(in_a, d)) continue;
    free_a.push_back(d);
    shape.push_back(a.size(d));
    rows *= a.size(d);
  }
  for (int64_t d = 0; d < b.dim(); ++d) {
    if (!is_free(in_b, d)) continue;
    free_b.push_back(d);
    shape.push_back(b.size(d));
    columns *= b.size(d);
  }
  const Tensor left = a.permute(concatenate({&free_a, &in_a})).reshape({rows, inner});
  const Tensor right = b.permute(concatenate({&in_b, &free_b})).reshape({inner, columns});
  return left.mm(right).reshape(shape);
}

}  // namespace tenon::composite
