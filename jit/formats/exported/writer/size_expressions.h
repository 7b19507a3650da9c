// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of a program that is written for more than the sizes of its examples, as expressions of
// symbols in the text form of torch's files. A tensor's size is found from what it was in several
// runs, each with other sizes; what nodes compute from sizes is known exactly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/formats/exported/json.h"

namespace tenon::jit::formats {

class SizeExpressions {
 public:
  static constexpr std::size_t kRuns = 5;  // the first one has the sizes of the examples
  using Values = std::vector<int64_t>;     // in each run
  using Range = std::pair<int64_t, int64_t>;

  // The values of the size that the user calls `name`. ValueError if the range has no other sizes
  // than the example, or not that one, or if the name has another size already.
  const Values& add_symbol(const std::string& name, int64_t example, Range range);
  // A number that nodes compute.
  void add(const Values& values, const std::string& text);
  // "Mul(Integer(2), Symbol('s0', positive=True, integer=True))": of a symbol, of what was added,
  // or a sum, product or quotient of these; a new symbol where nothing fits.
  std::string text_of(const Values& values);
  // Which no expression of other sizes gives: the number of elements that a condition selects, or
  // any number from `low` on.
  std::string text_of_unknown(const Values& values, int64_t low = 0);
  std::string text_of_real();  // of a number that depends on data
  // "batch is 5 and time is 9", for messages.
  std::string describe(std::size_t run) const;
  // An expression with the user's names: "StrictLessThan(time, 3)".
  std::string readable(std::string text) const;
  // {"s0": {"min_val": 2, "max_val": null}}, of the symbols.
  Json ranges() const;

 private:
  struct Known {
    Values values;
    std::string text;
  };
  struct Symbol {
    Range range;
    Values values;
  };
  std::optional<std::string> linear(const Values& v) const;
  std::optional<std::string> quotient(const Values& v) const;
  std::optional<std::string> of_two(const Values& v) const;

  std::map<std::string, Symbol> symbols_;  // by the names of the user
  std::vector<std::string> names_;         // in order: s0, s1, ...
  std::vector<Known> known_;
  std::vector<int64_t> unknown_;  // smallest values of u0, u1, ...
  int64_t reals_ = 0;
};

// Whether it has a number or size that data decides.
bool depends_on_data(const std::string& expression);
bool depends_on_real(const std::string& expression);  // that data decides
// {"as_expr": {"expr_str": text, "hint": hint}}; what depends on data has no hint, its value with
// the examples.
Json expression_argument(const std::string& text, Json hint);
// {"as_int": 3} where the values are equal, else {"as_expr": ...}.
Json size_argument(const SizeExpressions::Values& values, const std::string& text);
bool all_equal(const SizeExpressions::Values& values);

}  // namespace tenon::jit::formats
