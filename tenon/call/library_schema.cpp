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

// Of the parenthesis that is open at `at`; the end of the text if nothing closes it.
std::size_t closing(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0) break;
  }
  return at;
}

std::string types_of(std::string_view list);

// "Tensor(a!)[2]? name" -> "Tensor[]?". A name may be missing in results. Parentheses hold what a
// tuple or dictionary is of, and after other types what they alias.
std::string type_of(std::string_view item) {
  std::string out;
  item = item.substr(0, item.find('='));
  for (std::size_t i = 0; i < item.size() && item[i] != ' '; ++i) {
    if (item[i] == '(') {
      const std::size_t end = closing(item, i);
      if (out.empty() || out == "Dict")
        out += "(" + types_of(item.substr(i + 1, end - i - 1)) + ")";
      i = end;
    } else if (item[i] == '[') {
      out += "[]";
      i = std::min(item.find(']', i), item.size());
    } else {
      out += item[i];
    }
  }
  if (out.rfind("SymInt", 0) == 0) out.erase(0, 3), out[0] = 'i';
  return out;
}

std::string types_of(std::string_view list) {
  std::string out;
  for (std::string_view part : split(list)) out += (out.empty() ? "" : ", ") + type_of(part);
  return out;
}

// Several in parentheses, unless these are a tuple in a list.
std::string results_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text.front() != '(' || closing(text, 0) != text.size() - 1)
    return type_of(text);
  return "(" + types_of(text.substr(1, text.size() - 2)) + ")";
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
