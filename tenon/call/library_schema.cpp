// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call/library_schema.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::library {
namespace {

bool is_name(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Commas inside of brackets do not separate.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      out.push_back(trimmed(list.substr(begin, i - begin)));
      begin = i + 1;
    } else {
      depth += (list[i] == '(' || list[i] == '[') - (list[i] == ')' || list[i] == ']');
    }
  }
  if (out.size() == 1 && out[0].empty()) out.clear();
  return out;
}

// "Tensor(a!)[2]? name" -> "Tensor[]?". A name may be missing in results.
std::string type_of(std::string_view item) {
  std::string out;
  int parentheses = 0, brackets = 0;
  for (char c : item.substr(0, item.find('='))) {
    if (c == '(' || c == ')') {
      parentheses += c == '(' ? 1 : -1;
    } else if (c == '[' || c == ']') {
      brackets += c == '[';
      if (parentheses == 0) out += c;
      brackets -= c == ']';
    } else if (c == ' ' && parentheses == 0) {
      break;
    } else if (parentheses == 0 && brackets == 0) {
      out += c;
    }
  }
  if (out.rfind("SymInt", 0) == 0) out.erase(0, 3), out[0] = 'i';
  return out;
}

std::string results_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text.front() != '(') return type_of(text);
  std::string out;
  for (std::string_view part : split(text.substr(1, text.size() - 2)))
    out += (out.empty() ? "" : ", ") + type_of(part);
  return "(" + out + ")";
}

}  // namespace

SchemaParts parse_schema(std::string_view text) {
  const std::size_t open = text.find('('), arrow = text.rfind("->");
  const std::size_t close = arrow == std::string_view::npos ? arrow : text.rfind(')', arrow);
  const bool ok = open != std::string_view::npos && close != std::string_view::npos &&
                  open < close && close < arrow;
  TENON_CHECK(ok, ValueError, "'", text, "' is not a schema: expected name(arguments) -> results");
  SchemaParts out;
  const std::string_view name = trimmed(text.substr(0, open));
  const std::size_t dot = name.find('.');
  out.name = name.substr(0, dot);
  if (dot != std::string_view::npos) out.overload = name.substr(dot + 1);
  TENON_CHECK(is_name(out.name) && (dot == std::string_view::npos || is_name(out.overload)),
              ValueError, "'", name, "' is not a name of an operator");
  for (std::string_view item : split(text.substr(open + 1, close - open - 1))) {
    if (item == "*") continue;
    const std::string type = type_of(item);
    TENON_CHECK(!type.empty() && item.find(' ') != std::string_view::npos, ValueError, "'", text,
                "': '", item, "' is not an argument: expected a type and a name");
    out.types += (out.types.empty() ? "" : ", ") + type;
  }
  const std::string results = results_of(text.substr(arrow + 2));
  TENON_CHECK(!results.empty(), ValueError, "'", text, "' has no results; none is ()");
  out.types += " -> " + results;
  return out;
}

}  // namespace tenon::library
