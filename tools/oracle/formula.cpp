// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "formula.h"

#include <algorithm>
#include <cmath>

#include "tenon/runtime/error.h"

namespace tenon::oracle {
namespace {

using Formula = std::string (*)(const json& check, const std::vector<Result>& results);

// The elements of the first free output.
std::vector<double> free_elements(const json& check, const std::vector<Result>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_free(check, i) && results[i].tensor) return values_of(*results[i].tensor).real;
  }
  return {};
}

std::string outside(const char* what, double value, const json& bounds) {
  const double low = number(bounds.at(0)), high = number(bounds.at(1));
  if (value >= low && value <= high) return {};
  return core::join(what, " ", value, " is not in [", low, ", ", high, "]");
}

// Mean and variance (divided by n), and the support, of numbers that were drawn.
std::string moments(const json& check, const std::vector<Result>& results) {
  const std::vector<double> x = free_elements(check, results);
  double sum = 0, squares = 0;
  for (const double v : x) sum += v;
  const double n = static_cast<double>(std::max<std::size_t>(x.size(), 1)), mean = sum / n;
  for (const double v : x) squares += (v - mean) * (v - mean);
  std::string wrong;
  if (check.contains("mean")) wrong = outside("mean", mean, check.at("mean"));
  if (wrong.empty() && check.contains("var"))
    wrong = outside("variance", squares / n, check.at("var"));
  for (std::size_t i = 0; i < x.size() && wrong.empty(); ++i) {
    if (check.contains("support")) wrong = outside("element", x[i], check.at("support"));
    if (wrong.empty() && check.value("integer", false) && x[i] != std::floor(x[i]))
      wrong = core::join("element ", x[i], " is not whole");
  }
  return wrong;
}

std::string permutation(const json& check, const std::vector<Result>& results) {
  std::vector<double> x = free_elements(check, results);
  std::sort(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != static_cast<double>(i)) return core::join("no ", i, " among the elements");
  }
  return {};
}

std::string none(const json&, const std::vector<Result>&) { return {}; }

}  // namespace

bool is_free(const json& check, std::size_t i) {
  const auto free = check.find("free");
  return free != check.end() && std::find(free->begin(), free->end(), i) != free->end();
}

std::string judge_formula(const json& check, const std::vector<Result>& results) {
  constexpr std::pair<const char*, Formula> kFormulas[] = {
      {"moments", moments}, {"permutation", permutation}, {"none", none}};
  const std::string name = check.at("formula").get<std::string>();
  for (const auto& [known, formula] : kFormulas)
    if (name == known) return formula(check, results);
  return "no rule for the formula " + name;
}

}  // namespace tenon::oracle
