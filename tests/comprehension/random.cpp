// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Generated statements against loops in double; buffers that are given.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tenon/jit/comprehension.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Point = std::vector<int64_t>;

// An expression as text and as a function of the indices.
struct Term {
  std::string text;
  std::function<double(const Point&)> at;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  // The text, its inputs and what it must give, without what stood in the output before.
  void make() {
    left_ = 1 + pick(3);
    const int all = left_ + pick(3);
    for (int v = 0; v < all; ++v) extents_.push_back(1 + pick(5));
    std::vector<Linear> each;
    each.reserve(static_cast<std::size_t>(all));
    for (int v = 0; v < all; ++v) each.push_back({{{v, 1}}, 0, 0});
    value_ = read(each);  // resolves all indices; the others have room
    for (int n = pick(4); n > 0; --n) value_ = combine(value_, leaf());
    write_text(all);
  }

  std::string text() const { return text_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  Tensor expected() const {
    Point sizes(extents_.begin(), extents_.begin() + left_);
    const double neutral[] = {0, 0, 1, -INFINITY, INFINITY};
    Tensor out = full(sizes, neutral[update_], kDouble);
    double* data = out.data_ptr<double>();
    Point at(extents_.size(), 0);
    do {
      int64_t to = 0;
      for (int v = 0; v < left_; ++v) to = to * extents_[v] + at[v];
      const double value = value_.at(at);
      double& old = data[to];
      old = update_ == 0   ? value
            : update_ == 1 ? old + value
            : update_ == 2 ? old * value
            : update_ == 3 ? std::max(old, value)
                           : std::min(old, value);
    } while (advance(at));
    return out;
  }

 private:
  struct Linear {
    std::vector<std::pair<int, int64_t>> terms;
    int64_t offset, room;
  };

  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  bool advance(Point& at) const {
    for (std::size_t v = at.size(); v-- > 0; at[v] = 0)
      if (++at[v] < extents_[v]) return true;
    return false;
  }

  Term read(const std::vector<Linear>& dims) {
    const int number = static_cast<int>(inputs_.size());
    Point sizes;
    std::string indices;
    for (const Linear& it : dims) {
      int64_t size = it.offset + it.room + 1;
      std::string index;
      for (const auto& [v, by] : it.terms) {
        size += by * (extents_[v] - 1);
        index += (index.empty() ? "" : " + ") + (by == 1 ? "" : std::to_string(by) + " * ") + "i" +
                 std::to_string(v);
      }
      if (it.offset > 0 || index.empty())
        index += (index.empty() ? "" : " + ") + std::to_string(it.offset);
      indices += (indices.empty() ? "" : ", ") + index;
      sizes.push_back(size);
    }
    const Tensor t = randn(sizes, TensorOptions().dtype(kDouble));
    inputs_.push_back(t);
    return {"A" + std::to_string(number) + "(" + indices + ")", [dims, t](const Point& at) {
              int64_t to = 0;
              for (std::size_t d = 0; d < dims.size(); ++d) {
                int64_t index = dims[d].offset;
                for (const auto& [v, by] : dims[d].terms) index += by * at[v];
                to = to * t.size(static_cast<int64_t>(d)) + index;
              }
              return t.data_ptr<double>()[to];
            }};
  }

  Term leaf() {
    const int v = pick(static_cast<int>(extents_.size()));
    if (pick(6) == 0)
      return {"(double(i" + std::to_string(v) + ") + 0.5)",
              [v](const Point& at) { return static_cast<double>(at[v]) + 0.5; }};
    std::vector<Linear> dims(1 + pick(3));
    for (Linear& it : dims) {
      it.offset = pick(3);
      it.room = pick(2);
      for (int n = pick(3); n > 0; --n) {
        const int which = pick(static_cast<int>(extents_.size()));
        if (it.terms.empty() || it.terms[0].first != which)
          it.terms.emplace_back(which, 1 + pick(2));
      }
    }
    return read(dims);
  }

  Term combine(const Term& a, const Term& b) {
    const auto x = a.at, y = b.at;
    switch (pick(5)) {
      case 0:
        return {"(" + a.text + " + " + b.text + ")", [=](const Point& p) { return x(p) + y(p); }};
      case 1:
        return {"(" + a.text + " - " + b.text + ")", [=](const Point& p) { return x(p) - y(p); }};
      case 2:
        return {a.text + " * " + b.text, [=](const Point& p) { return x(p) * y(p); }};
      case 3:
        return {"fmax(" + a.text + ", tanh(" + b.text + "))",
                [=](const Point& p) { return std::fmax(x(p), std::tanh(y(p))); }};
      default:
        return {"(" + a.text + " < " + b.text + " ? " + b.text + " : -" + a.text + ")",
                [=](const Point& p) { return x(p) < y(p) ? y(p) : -x(p); }};
    }
  }

  void write_text(int all) {
    update_ = all == left_ ? pick(2) : 1 + pick(4);
    const char* updates[] = {"=", "+=!", "*=!", "max=!", "min=!"};
    text_ = "def f(";
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      text_ += (i > 0 ? ", double(" : "double(");
      for (int64_t d = 0; d < inputs_[i].dim(); ++d)
        text_ += (d > 0 ? ", S" : "S") + std::to_string(i) + "_" + std::to_string(d);
      text_ += ") A" + std::to_string(i);
    }
    text_ += ") -> (o) { o(";
    for (int v = 0; v < left_; ++v) text_ += (v > 0 ? ", i" : "i") + std::to_string(v);
    text_ += std::string(") ") + updates[update_] + " " + value_.text + " }";
  }

  std::mt19937 random_;
  int left_ = 1, update_ = 0;
  std::vector<int64_t> extents_;
  std::vector<Tensor> inputs_;
  Term value_;
  std::string text_;
};

TEST(ComprehensionRandom, StatementsAreTheirLoops) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    manual_seed(seed);
    Generator g(seed);
    g.make();
    SCOPED_TRACE(g.text());
    const tc::Function f = tc::define(g.text());
    const Tensor given = f.run(g.inputs())[0], expected = g.expected();
    ASSERT_EQ(given.sizes(), expected.sizes());
    ASSERT_TRUE(allclose(given, expected, 1e-9, 1e-9)) << given << expected;
  }
}

TEST(Comprehension, WithoutBangAddsToWhatIsGiven) {
  const char* head = "def f(float(M,K) A, float(K,N) B) -> (C) { ";
  const std::string sum = "C(m, n) += A(m, k) * B(k, n) }";
  const tc::Function add = tc::define(head + sum);
  const tc::Function start = tc::define(std::string(head) + "C(m, n) +=! A(m, k) * B(k, n) }");
  const tc::Function two =
      tc::define(std::string(head) + "C(m, n) = 0.0 where m in 0:M, n in 0:N\n" + sum);
  const Tensor a = randn({3, 4}), b = randn({4, 5}), old = randn({3, 5});
  EXPECT_TRUE(equal(add(a, b), start(a, b)));
  EXPECT_TRUE(equal(two(a, b), start(a, b)));
  Tensor into = old.clone();
  const void* data = into.data_ptr();
  add.run_into({into}, {a, b});
  EXPECT_EQ(into.data_ptr(), data);
  EXPECT_TRUE(allclose(into, old + a.mm(b), 1e-5, 1e-5));
  into.copy_(old);
  start.run_into({into}, {a, b});
  EXPECT_TRUE(equal(into, start(a, b)));
  into.copy_(old);
  two.run_into({into}, {a, b});
  EXPECT_TRUE(equal(into, start(a, b)));
  Tensor strided = old.t().contiguous().t();
  add.run_into({strided}, {a, b});
  EXPECT_TRUE(allclose(strided, old + a.mm(b), 1e-5, 1e-5));
}

TEST(Comprehension, WhatIsNotWrittenStays) {
  const tc::Function f = tc::define("def f(float(N) A) -> (o) { o(i) = A(i - 1) + A(i + 1) }");
  Tensor into = full({4}, 9.0);
  f.run_into({into}, {ones({5})});
  EXPECT_TRUE(equal(into, tensor({9.0f, 2.0f, 2.0f, 2.0f})));
}

TEST(Comprehension, TemporariesMayBeLeftOut) {
  const tc::Function f = tc::define("def f(float(N) A) -> (o) { s +=! A(i)\n o(i) = A(i) / s }");
  const Tensor a = rand({6}) + 1;
  EXPECT_TRUE(allclose(f(a), a / a.sum()));
  EXPECT_NE(f.str({a}).find("temp s_1 float32 []"), std::string::npos) << f.str({a});
}

}  // namespace
}  // namespace tenon
