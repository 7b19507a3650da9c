// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/table.h"

#include <algorithm>
#include <map>

namespace tenon::onnx {
namespace {

struct Tables {
  std::map<std::pair<std::string, std::string>, std::vector<const Entry*>> entries;
  std::map<std::string, std::string, std::less<>> texts;
  std::vector<std::string> twice;
};
// Written while the library loads, and only read afterwards.
Tables& tables() {
  static auto& t = *new Tables;
  return t;
}

bool holds(const Entry& e, int64_t version) {
  return version >= e.since && (e.until == 0 || version <= e.until);
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

Entries::Entries(const char* domain, const Entry* list, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) tables().entries[{domain, list[i].name}].push_back(&list[i]);
}

Texts::Texts(const char* text) {
  const std::string all = text;
  constexpr std::string_view kDef = "\ndef ";
  for (std::size_t at = all.find(kDef); at != std::string::npos;) {
    const std::size_t next = all.find(kDef, at + 1);
    const std::size_t name = at + kDef.size();
    const std::string function = all.substr(name, all.find('(', name) - name);
    const bool is_new =
        tables()
            .texts
            .emplace(function, all.substr(at + 1, next == std::string::npos ? next : next - at))
            .second;
    if (!is_new) tables().twice.push_back(function);
    at = next;
  }
}

const Entry* find_entry(std::string_view domain, std::string_view name, int64_t version) {
  const auto it = tables().entries.find({std::string(domain), std::string(name)});
  if (it == tables().entries.end()) return nullptr;
  for (const Entry* e : it->second)
    if (holds(*e, version)) return e;
  return nullptr;
}

std::string known_versions(std::string_view domain, std::string_view name) {
  const auto it = tables().entries.find({std::string(domain), std::string(name)});
  if (it == tables().entries.end()) return {};
  std::string out;
  for (const Entry* e : it->second) {
    out += (out.empty() ? "" : ", ") + std::to_string(e->since) +
           (e->until == 0 ? " and later" : " to " + std::to_string(e->until));
  }
  return out;
}

std::vector<std::string> similar_entries(std::string_view domain, std::string_view name) {
  std::vector<std::pair<std::size_t, std::string>> found;
  const std::string_view asked = name.substr(0, 100);
  for (const auto& [key, list] : tables().entries) {
    const std::size_t d = distance(asked, key.second) + (key.first == domain ? 0 : 1);
    if (d <= 2 + asked.size() / 4)
      found.emplace_back(d, key.first.empty() ? key.second : key.first + "::" + key.second);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < found.size() && i < 3; ++i) out.push_back(found[i].second);
  return out;
}

std::vector<NamedEntry> all_entries() {
  std::vector<NamedEntry> out;
  for (const auto& [key, list] : tables().entries)
    for (const Entry* e : list) out.push_back({key.first, e});
  return out;
}

const std::vector<std::string>& texts_with_one_name() { return tables().twice; }

const std::string* find_text(std::string_view function) {
  const auto it = tables().texts.find(function);
  return it == tables().texts.end() ? nullptr : &it->second;
}

}  // namespace tenon::onnx
