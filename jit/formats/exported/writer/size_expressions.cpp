// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/writer/size_expressions.h"

#include <algorithm>

#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

using Values = SizeExpressions::Values;

std::string integer(int64_t v) { return core::join("Integer(", v, ")"); }
std::string sum(const std::string& a, int64_t b) {
  return b == 0 ? a : "Add(" + a + ", " + integer(b) + ")";
}
std::string multiple(const std::string& a, int64_t factor) {
  return factor == 1 ? a : "Mul(" + integer(factor) + ", " + a + ")";
}

std::string symbol_text(std::size_t j) {
  return core::join("Symbol('s", j, "', positive=True, integer=True)");
}

// f(run), if it is the same in each.
template <class F>
std::optional<int64_t> same_in_runs(const Values& v, F f) {
  const std::optional<int64_t> first = f(0);
  for (std::size_t r = 1; first && r < v.size(); ++r)
    if (f(r) != first) return std::nullopt;
  return first;
}

}  // namespace

bool all_equal(const Values& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

bool depends_on_real(const std::string& expression) {
  return expression.find("Symbol('z") != std::string::npos;
}
bool depends_on_data(const std::string& expression) {
  return expression.find("Symbol('u") != std::string::npos || depends_on_real(expression);
}

Json expression_argument(const std::string& text, Json hint) {
  if (depends_on_data(text)) hint = nullptr;
  return {{"as_expr", {{"expr_str", text}, {"hint", std::move(hint)}}}};
}

Json size_argument(const Values& values, const std::string& text) {
  if (all_equal(values)) return {{"as_int", values[0]}};
  return expression_argument(text, {{"as_int", values[0]}});
}

// Sizes differ by other steps for each symbol, or a size that is computed from one could be taken
// for one of another. 0 and 1 are not tried where the example is larger: they broadcast.
const Values& SizeExpressions::add_symbol(const std::string& name, int64_t example, Range range) {
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) {
    TENON_CHECK(known->second.values[0] == example, ValueError, "export_program: the size '", name,
                "' is ", known->second.values[0], " in one example and ", example, " in another");
    return known->second.values;
  }
  const auto [low, high] = range;
  TENON_CHECK(low <= example && example <= high, ValueError, "export_program: the size '", name,
              "' is from ", low, " to ", high, ", but the example has ", example);
  const int64_t smallest = std::max(low, std::min<int64_t>(example, 2));
  TENON_CHECK(smallest < high, ValueError, "export_program: the size '", name, "' has the range ",
              low, " to ", high, ", in which it does not vary");
  constexpr int64_t kSteps[] = {1, 2, 3, 5};
  static_assert(std::size(kSteps) + 1 == kRuns);
  const auto j = static_cast<int64_t>(names_.size());
  Symbol s{range, {example}};
  for (int64_t r = 0; r < 4; ++r) {
    const int64_t step = kSteps[(r + j) % 4] + (j / 4) * (r + 1) * 7;
    const int64_t room = high == INT64_MAX ? INT64_MAX : high - smallest + 1;
    s.values.push_back(smallest + (example - smallest + step) % room);
  }
  known_.push_back({s.values, symbol_text(names_.size())});
  names_.push_back(name);
  return symbols_.emplace(name, std::move(s)).first->second.values;
}

void SizeExpressions::add(const Values& values, const std::string& text) {
  constexpr std::size_t kMaxKnown = 128;
  if (all_equal(values) || known_.size() >= kMaxKnown) return;
  for (const Known& k : known_)
    if (k.values == values) return;
  known_.push_back({values, text});
}

// a * known + b
std::optional<std::string> SizeExpressions::linear(const Values& v) const {
  for (const Known& k : known_) {
    const auto& x = k.values;
    std::size_t r = 1;
    while (r < x.size() && x[r] == x[0]) ++r;
    if (r == x.size() || (v[r] - v[0]) % (x[r] - x[0]) != 0) continue;
    const int64_t a = (v[r] - v[0]) / (x[r] - x[0]), b = v[0] - a * x[0];
    if (a == 0) continue;
    if (same_in_runs(v, [&](std::size_t i) { return v[i] - a * x[i]; }) == b)
      return sum(multiple(k.text, a), b);
  }
  return std::nullopt;
}

// (a * known + b) // c, as windows with a stride make it: the smallest c, the b nearest to 0.
std::optional<std::string> SizeExpressions::quotient(const Values& v) const {
  for (const int64_t a : {1, 3, 5}) {
    for (const Known& k : known_) {
      for (int64_t c = 2; c <= 64; ++c) {
        int64_t low = INT64_MIN, high = INT64_MAX;
        for (std::size_t r = 0; r < v.size(); ++r) {
          low = std::max(low, c * v[r] - a * k.values[r]);
          high = std::min(high, c * v[r] - a * k.values[r] + c - 1);
        }
        if (low > high || low > 128 || high < -128) continue;
        const int64_t b = low > 0 ? low : std::min<int64_t>(high, 0);
        return "FloorDiv(" + sum(multiple(k.text, a), b) + ", " + integer(c) + ")";
      }
    }
  }
  return std::nullopt;
}

// a * x * y, x + y + b, x - y + b
std::optional<std::string> SizeExpressions::of_two(const Values& v) const {
  for (const Known& x : known_) {
    for (const Known& y : known_) {
      const auto factor = same_in_runs(v, [&](std::size_t r) -> std::optional<int64_t> {
        const int64_t product = x.values[r] * y.values[r];
        if (product == 0 || v[r] % product != 0) return std::nullopt;
        return v[r] / product;
      });
      if (factor && *factor != 0) return multiple("Mul(" + x.text + ", " + y.text + ")", *factor);
      for (const int64_t sign : {1, -1}) {
        const auto rest = same_in_runs(v, [&](std::size_t r) -> std::optional<int64_t> {
          return v[r] - x.values[r] - sign * y.values[r];
        });
        if (rest) return sum("Add(" + x.text + ", " + multiple(y.text, sign) + ")", *rest);
      }
    }
  }
  return std::nullopt;
}

std::string SizeExpressions::text_of(const Values& values) {
  if (all_equal(values)) return integer(values[0]);
  for (const Known& k : known_)
    if (k.values == values) return k.text;
  std::optional<std::string> text = linear(values);
  if (!text) text = of_two(values);
  if (!text) text = quotient(values);
  if (!text) return text_of_unknown(values);
  add(values, *text);
  return *text;
}

std::string SizeExpressions::text_of_unknown(const Values& values, int64_t low) {
  const std::string text = core::join("Symbol('u", unknown_.size(), "', integer=True)");
  unknown_.push_back(low);
  add(values, text);
  return text;
}

std::string SizeExpressions::text_of_real() { return core::join("Symbol('zuf", reals_++, "')"); }

std::string SizeExpressions::describe(std::size_t run) const {
  std::string text;
  for (const std::string& name : names_)
    text += core::join(text.empty() ? "" : " and ", name, " is ", symbols_.at(name).values[run]);
  return text;
}

std::string SizeExpressions::readable(std::string text) const {
  for (std::size_t j = 0; j < names_.size(); ++j) {
    const std::string symbol = symbol_text(j);
    for (std::size_t at = 0; (at = text.find(symbol, at)) != std::string::npos;
         at += names_[j].size())
      text.replace(at, symbol.size(), names_[j]);
  }
  constexpr std::string_view kInteger = "Integer(";
  for (std::size_t at; (at = text.find(kInteger)) != std::string::npos;) {
    text.erase(text.find(')', at), 1);
    text.erase(at, kInteger.size());
  }
  return text;
}

Json SizeExpressions::ranges() const {
  Json all = Json::object();
  const auto range = [](int64_t low, int64_t high) {
    return Json{{"min_val", low == INT64_MIN ? Json() : Json(low)},
                {"max_val", high == INT64_MAX ? Json() : Json(high)}};
  };
  for (std::size_t j = 0; j < names_.size(); ++j) {
    const auto [low, high] = symbols_.at(names_[j]).range;
    all["s" + std::to_string(j)] = range(low, high);
  }
  for (std::size_t k = 0; k < unknown_.size(); ++k)
    all["u" + std::to_string(k)] = range(unknown_[k], INT64_MAX);
  return all;
}

}  // namespace tenon::jit::formats
