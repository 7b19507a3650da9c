// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/ranges.h"

#include <algorithm>
#include <set>

namespace tenon::jit::comprehension {
namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

bool is_index(const std::string& name, const Facts& facts) {
  return facts.sizes.count(name) == 0 && facts.shapes.count(name) == 0;
}

int64_t checked(const Expression& e, char op, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = op == '+'   ? __builtin_add_overflow(a, b, &result)
                         : op == '-' ? __builtin_sub_overflow(a, b, &result)
                                     : __builtin_mul_overflow(a, b, &result);
  TENON_PROGRAM_CHECK(!overflows && result > INT64_MIN / 4 && result < INT64_MAX / 4, e.where,
                      "an index or size is out of range");
  return result;
}

Linear add(const Expression& e, Linear a, const Linear& b, int64_t sign) {
  a.constant = checked(e, '+', a.constant, checked(e, '*', sign, b.constant));
  for (const auto& [name, by] : b.terms) {
    int64_t& to = a.terms[name];
    to = checked(e, '+', to, checked(e, '*', sign, by));
    if (to == 0) a.terms.erase(name);
  }
  return a;
}

const Expression* find_size(const Expression& e, const Facts& facts) {
  if (e.form == Form::kSizeOf || (e.form == Form::kName && facts.sizes.count(e.name) > 0))
    return &e;
  for (const Expression& it : e.args)
    if (const Expression* found = find_size(it, facts)) return found;
  return nullptr;
}

Linear multiply(const Expression& e, const Linear& a, const Linear& b, const Facts& facts) {
  const bool left = a.terms.empty();
  const Linear& constant = left ? a : b;
  TENON_PROGRAM_CHECK(constant.terms.empty(), e.where, "an index times an index is not affine: ",
                      "the stride of an index must be a number");
  Linear scaled = left ? b : a;
  if (!scaled.terms.empty()) {
    const Expression* size = find_size(e.args[left ? 0 : 1], facts);
    TENON_PROGRAM_CHECK(size == nullptr, size->where, "a dynamic stride: the stride of an index ",
                        "must be a number, not size ", size->where.text(),
                        "; give it as a constant");
  }
  scaled.constant = checked(e, '*', scaled.constant, constant.constant);
  for (auto it = scaled.terms.begin(); it != scaled.terms.end();) {
    it->second = checked(e, '*', it->second, constant.constant);
    it = it->second == 0 ? scaled.terms.erase(it) : std::next(it);
  }
  return scaled;
}

std::optional<Linear> linear_of_binary(const Expression& e, const Facts& facts) {
  const std::optional<Linear> a = linear_of(e.args[0], facts), b = linear_of(e.args[1], facts);
  if (!a || !b) return std::nullopt;
  if (e.name == "+" || e.name == "-") return add(e, *a, *b, e.name == "+" ? 1 : -1);
  if (e.name == "*") return multiply(e, *a, *b, facts);
  if ((e.name != "/" && e.name != "%") || !a->terms.empty() || !b->terms.empty())
    return std::nullopt;
  int64_t by = b->constant;
  if (by == 0 && facts.structural) by = 1;
  TENON_PROGRAM_CHECK(by != 0, e.where, "division by zero");
  return Linear{e.name == "/" ? a->constant / by : a->constant % by, {}};
}

// A dimension of a tensor and what it is read at.
struct Access {
  Linear at;
  int64_t size;
};

class Inference {
 public:
  Inference(const Statement& s, const Facts& facts) : s_(s), facts_(facts) {}

  Ranges run() {
    set_given();
    const auto target = facts_.shapes.find(s_.target);
    if (target != facts_.shapes.end()) add_accesses(s_.where, target->second, s_.indices);
    collect(s_.value);
    for (const Expression& it : s_.exists) collect(it);
    while (round()) {
    }
    for (const std::string& name : variables_of(s_, facts_))
      TENON_PROGRAM_CHECK(ranges_.count(name) > 0, s_.where, "range of ", name,
                          " is ambiguous; add a where clause");
    return std::move(ranges_);
  }

 private:
  int64_t bound(const Expression& e) const {
    const std::optional<Linear> value = linear_of(e, facts_);
    TENON_PROGRAM_CHECK(value && value->terms.empty(), e.where,
                        "the bounds of a range are numbers and sizes");
    return value->constant;
  }

  void set_given() {
    for (const Range& it : s_.ranges) {
      TENON_PROGRAM_CHECK(is_index(it.name, facts_), it.where, it.name, " is not an index");
      const Interval range{bound(it.begin), bound(it.end)};
      TENON_PROGRAM_CHECK(ranges_.emplace(it.name, range).second, it.where, "two ranges of ",
                          it.name);
    }
  }

  void add_accesses(const SourceRange& where, const Shape& shape,
                    const std::vector<Expression>& indices) {
    TENON_PROGRAM_CHECK(shape.size() == indices.size(), where, "it has ", shape.size(),
                        " dimensions, given ", indices.size(), " indices");
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (const std::optional<Linear> at = linear_of(indices[d], facts_))
        accesses_.push_back({*at, shape[d]});
  }

  void collect(const Expression& e) {
    for (const Expression& it : e.args) collect(it);
    if (e.form != Form::kCall) return;
    const auto at = facts_.shapes.find(e.name);
    if (at != facts_.shapes.end()) add_accesses(e.where, at->second, e.args);
  }

  // Whether it resolved any.
  bool round() {
    Ranges found;
    for (const Access& it : accesses_) {
      std::string open;
      Linear rest = it.at;
      int count = 0;
      for (const auto& [name, by] : it.at.terms)
        if (ranges_.count(name) == 0) open = name, ++count;
      if (count != 1) continue;
      const int64_t by = rest.terms[open];
      rest.terms.erase(open);
      const Interval others = extremes_of(rest, ranges_);
      // 0 <= by * open + others < size
      const int64_t low = -others.begin, high = it.size - others.end;
      Interval range{by > 0 ? ceil_divide(low, by) : ceil_divide(high, by),
                     1 + (by > 0 ? floor_divide(high, by) : floor_divide(low, by))};
      if (is_left(open)) range.begin = std::max<int64_t>(range.begin, 0);
      const auto [at, is_new] = found.emplace(open, range);
      if (is_new) continue;
      at->second.begin = std::max(at->second.begin, range.begin);
      at->second.end = std::min(at->second.end, range.end);
    }
    ranges_.insert(found.begin(), found.end());
    return !found.empty();
  }

  bool is_left(const std::string& name) const {
    return std::any_of(s_.indices.begin(), s_.indices.end(),
                       [&](const Expression& it) { return it.name == name; });
  }

  const Statement& s_;
  const Facts& facts_;
  Ranges ranges_;
  std::vector<Access> accesses_;
};

void add_variables(const Expression& e, const Facts& facts, std::vector<std::string>& names) {
  for (const Expression& it : e.args) add_variables(it, facts, names);
  if (e.form == Form::kName && is_index(e.name, facts) &&
      std::find(names.begin(), names.end(), e.name) == names.end())
    names.push_back(e.name);
}

}  // namespace

std::optional<Linear> linear_of(const Expression& e, const Facts& facts) {
  switch (e.form) {
    case Form::kNumber:
      if (!e.is_integer) return std::nullopt;
      return Linear{e.integer, {}};
    case Form::kName: {
      const auto size = facts.sizes.find(e.name);
      if (size != facts.sizes.end()) return Linear{size->second, {}};
      if (facts.shapes.count(e.name) > 0) return std::nullopt;
      return Linear{0, {{e.name, 1}}};
    }
    case Form::kSizeOf: {
      const auto at = facts.shapes.find(e.name);
      TENON_PROGRAM_CHECK(at != facts.shapes.end(), e.where, e.name, " is not a tensor here");
      TENON_PROGRAM_CHECK(e.integer >= 0 && static_cast<std::size_t>(e.integer) < at->second.size(),
                          e.where, e.name, " has ", at->second.size(), " dimensions");
      return Linear{at->second[e.integer], {}};
    }
    case Form::kUnary: {
      if (e.name != "-") return std::nullopt;
      const std::optional<Linear> value = linear_of(e.args[0], facts);
      if (!value) return std::nullopt;
      return add(e, Linear{}, *value, -1);
    }
    case Form::kBinary:
      return linear_of_binary(e, facts);
    default:
      return std::nullopt;
  }
}

Interval extremes_of(const Linear& value, const Ranges& ranges) {
  __int128 low = value.constant, high = value.constant;
  for (const auto& [name, by] : value.terms) {
    const Interval& range = ranges.at(name);
    const __int128 first = range.begin, last = std::max(range.begin, range.end - 1);
    low += by * (by > 0 ? first : last);
    high += by * (by > 0 ? last : first);
  }
  constexpr __int128 limit = int64_t{1} << 60;  // beyond every size
  return {static_cast<int64_t>(std::max(low, -limit)),
          static_cast<int64_t>(std::min(high, limit)) + 1};
}

std::vector<std::string> variables_of(const Statement& s, const Facts& facts) {
  std::vector<std::string> names;
  for (const Expression& it : s.indices) names.push_back(it.name);
  add_variables(s.value, facts, names);
  return names;
}

Ranges infer_ranges(const Statement& s, const Facts& facts) { return Inference(s, facts).run(); }

}  // namespace tenon::jit::comprehension
