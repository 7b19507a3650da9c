// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "program.h"

namespace tenon::fuzz {
namespace {

using Sizes = std::vector<int64_t>;

std::vector<int64_t> numbers_of(const Tensor& t) {
  const Tensor flat = t.contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

class Generator {
 public:
  explicit Generator(Random& r) : r_(r) {}
  Program make() {
    const auto leaves = static_cast<int>(r_.between(1, 3));
    for (int i = 0; i < leaves; ++i) add_leaf();
    const int64_t steps = r_.between(5, 30);
    while (static_cast<int64_t>(p_.steps.size()) < steps) add_step();
    choose_outputs();
    return std::move(p_);
  }

 private:
  Variable& at(int i) { return p_.variables[static_cast<std::size_t>(i)]; }
  int fresh(const Sizes& sizes) {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    Variable v;
    v.sizes = sizes;
    v.memory = static_cast<int>(p_.memories.size());
    v.at = numbers_of(arange(n, TensorOptions(kLong)));
    p_.memories.push_back(n);
    p_.variables.push_back(v);
    return static_cast<int>(p_.variables.size()) - 1;
  }
  void add_leaf() {
    static const std::vector<Sizes> kShapes = {{3}, {2, 3}, {2, 2, 2}, {4, 2}};
    const int leaf = fresh(r_.pick(kShapes));
    std::vector<double> values;
    for (std::size_t i = 0; i < at(leaf).at.size(); ++i) values.push_back(r_.real(-1.2, 1.2));
    p_.leaves.push_back(values);
  }

  // -1 if there is none. Later ones are likelier, so that programs are deep.
  template <class F>
  int pick(F&& fits) {
    std::vector<int> all;
    for (int i = 0; i < static_cast<int>(p_.variables.size()); ++i) {
      if (!at(i).gone && fits(at(i))) all.push_back(i);
    }
    if (all.empty()) return -1;
    const double where = 1 - r_.real(0, 1) * r_.real(0, 1);
    return all[std::min(all.size() - 1,
                        static_cast<std::size_t>(where * static_cast<double>(all.size())))];
  }
  // Has dimensions, and not so many that each step takes long.
  static bool is_plain(const Variable& v) {
    return !v.sizes.empty() && v.sizes.size() < 6 && v.at.size() < 64;
  }
  int any() { return pick(is_plain); }
  int operand(const Variable& a) {
    return pick([&](const Variable& v) {
      return v.sizes == a.sizes || (v.at.size() == 1 && v.sizes.size() <= a.sizes.size());
    });
  }
  int pick_op(bool in_place) {
    for (;;) {
      const auto op = r_.below(operators().size());
      if (!in_place || operators()[op].write) return static_cast<int>(op);
    }
  }

  void add_step() {
    switch (r_.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return compute(Step::kCompute);
      case 4:
        return compute(r_.chance(0.5) ? Step::kHiddenCompute : Step::kCompute);
      case 5:
        return compute(Step::kHook);
      case 6:
        return function();
      case 7:
        return r_.chance(0.5) ? transpose() : detach();
      case 8:
        return write(r_.chance(0.2) ? Step::kHiddenWrite : Step::kWrite);
      case 9:
      case 10:
      case 11:
      case 12:
      case 13:
        return view();
      default:
        return write(Step::kWrite);
    }
  }
  void compute(Step::Kind kind) {
    Step s{kind};
    s.a = any();
    s.op = pick_op(false);
    s.b = operand(at(s.a));
    s.dst = fresh(Sizes(at(s.a).sizes));
    at(s.dst).writable = kind != Step::kHiddenCompute || r_.chance(0.5);
    at(s.dst).constant = false;
    s.number = r_.pick({-1.0, 0.5, 2.0});
    p_.steps.push_back(s);
  }
  void write(Step::Kind kind) {
    Step s{kind};
    s.a = pick([](const Variable& v) { return v.writable && is_plain(v); });
    if (s.a < 0) return compute(Step::kCompute);
    s.op = pick_op(true);
    s.b = operand(at(s.a));
    p_.steps.push_back(s);
  }
  void function() {
    const bool writes = r_.chance(0.5);
    Step s{writes ? Step::kFunctionWrite : Step::kFunction};
    s.a = writes ? pick([](const Variable& v) { return v.writable; }) : any();
    if (s.a < 0) return;
    if (!writes) {
      s.dst = fresh(Sizes(at(s.a).sizes));
      at(s.dst).writable = true;
    }
    p_.steps.push_back(s);
  }
  void view() {
    Step s{Step::kView};
    s.a = any();
    const Variable& a = at(s.a);
    const auto dims = static_cast<int64_t>(a.sizes.size());
    s.view = static_cast<int>(r_.below(8));
    s.dim = r_.between(0, dims - 1);
    s.dim2 = r_.between(0, dims - 1);
    retarget(s, view_of(s, places(a)));
  }
  void transpose() {
    Step s{Step::kTranspose};
    s.a = pick([](const Variable& v) { return v.writable && v.sizes.size() > 1; });
    if (s.a < 0) return;
    s.dim2 = 1;
    retarget(s, places(at(s.a)).transpose(0, 1));
    at(s.a).gone = true;
  }
  void detach() {
    Step s{Step::kDetach};
    s.a = any();
    Variable& made = retarget(s, places(at(s.a)));
    made.constant = true;
    made.writable = false;  // such a write is not recorded, and it changes what others see
  }
  // dst shares the memory of a.
  Variable& retarget(Step s, const Tensor& places) {
    Variable v = at(s.a);
    v.sizes = places.sizes().vec();
    v.at = numbers_of(places);
    std::vector<int64_t> sorted = v.at;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) v.writable = false;
    p_.variables.push_back(v);
    s.dst = static_cast<int>(p_.variables.size()) - 1;
    p_.steps.push_back(s);
    return p_.variables.back();
  }
  static Tensor places(const Variable& v) {
    return tensor(ArrayRef<int64_t>(v.at), TensorOptions(kLong)).reshape(v.sizes);
  }
  void choose_outputs() {
    for (int i = 0; i < static_cast<int>(p_.variables.size()); ++i) {
      if (!at(i).gone && (r_.chance(0.3) || i + 1 == static_cast<int>(p_.variables.size())))
        p_.outputs.push_back(i);
    }
  }

  Random& r_;
  Program p_;
};

}  // namespace

Program generate(Random& random) { return Generator(random).make(); }

}  // namespace tenon::fuzz
