// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace packages {
namespace {

constexpr std::size_t kMaxName = 200;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_of_name(char c) { return is_letter(c) || c == '+' || c == '-' || c == '.' || c == '_'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

bool is_name(std::string_view s) {
  return !s.empty() && s.size() <= kMaxName && is_letter(s[0]) &&
         std::all_of(s.begin(), s.end(), is_of_name);
}

// Names go to terminals and pictures, so other characters make a name invalid.
std::string section_of(std::string_view value) {
  std::string_view last = trim(value.substr(value.rfind('/') + 1));
  std::string out(last);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return is_name(out) ? out : "";
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

// The fields of a stanza that are read, with the lines that continue them.
enum Field : std::size_t {
  kPackage,
  kSection,
  kProvides,
  kDepends,
  kPreDepends,
  kRecommends,
  kSuggests,
  kFields
};
constexpr const char* kNames[] = {"Package",     "Section",    "Provides", "Depends",
                                  "Pre-Depends", "Recommends", "Suggests"};

using Stanza = std::array<std::string, kFields>;

void finish_stanza(Stanza& stanza, std::vector<Package>& out) {
  std::string_view name = trim(stanza[kPackage]);
  if (is_name(name)) {
    Package p;
    p.name = name;
    p.section = section_of(stanza[kSection]);
    p.provides = names_of(stanza[kProvides]);
    for (std::size_t f = kDepends; f < kFields; ++f) {
      for (auto& n : names_of(stanza[f])) p.needs.push_back(std::move(n));
    }
    out.push_back(std::move(p));
  }
  stanza = {};
}

// A name where a stanza has one already begins the next: the empty line between them is lost.
std::string* start_field(Stanza& stanza, std::string_view line, std::vector<Package>& out) {
  std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return nullptr;
  std::string_view name = trim(line.substr(0, colon));
  for (std::size_t f = 0; f < kFields; ++f) {
    if (!same(name, kNames[f])) continue;
    if (f == kPackage && !stanza[f].empty()) finish_stanza(stanza, out);
    stanza[f] = line.substr(colon + 1);
    return &stanza[f];
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> names_of(std::string_view relation) {
  std::vector<std::string> out;
  while (!relation.empty()) {
    std::size_t end = std::min(relation.find_first_of(",|"), relation.size());
    std::string_view one = trim(relation.substr(0, end));
    relation.remove_prefix(std::min(end + 1, relation.size()));
    // "name:arch (version) [architectures] <profiles>"
    std::string_view name = one.substr(0, std::min(one.find_first_of(" \t\r:([<"), one.size()));
    if (is_name(name)) out.emplace_back(name);
  }
  return out;
}

std::vector<Package> parse(std::string_view text) {
  std::vector<Package> out;
  Stanza stanza;
  std::string* field = nullptr;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trim(line).empty()) {
      finish_stanza(stanza, out);
      field = nullptr;
    } else if (!is_blank(line[0])) {
      field = start_field(stanza, line, out);
    } else if (field) {
      field->append(line);
    }
  }
  finish_stanza(stanza, out);
  return out;
}

}  // namespace packages
