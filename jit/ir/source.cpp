// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/source.h"

#include <algorithm>

namespace tenon::jit {
namespace {

constexpr int kContextLines = 2;  // before and after

// Where the line that holds `at` begins, and its end: the newline or the end of the text.
std::size_t line_begin(std::string_view text, std::size_t at) {
  if (at == 0) return 0;
  std::size_t newline = text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}
std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// The underline of what [begin, end) has in the line from `first` to `last`; empty if that is
// white space.
std::string underline(std::string_view text, std::size_t first, std::size_t last, std::size_t begin,
                      std::size_t end) {
  std::size_t from = std::max(first, begin), to = std::min(last, end);
  while (from < to && text[from] == ' ') ++from;
  while (to > from && text[to - 1] == ' ') --to;
  if (from == to) return "";
  return std::string(from - first, ' ') + std::string(to - from, '~');
}

struct Extent {
  std::size_t begin, end;
};
Extent extent(const SourceRange& r) {
  std::size_t n = r.source->text.size();
  std::size_t begin = std::min<std::size_t>(r.begin, n);
  return {begin, std::clamp<std::size_t>(r.end, begin, n)};
}

}  // namespace

std::string_view SourceRange::text() const {
  if (!source) return {};
  Extent e = extent(*this);
  return std::string_view(source->text).substr(e.begin, e.end - e.begin);
}

int SourceRange::line() const {
  if (!source) return 0;
  const std::string& t = source->text;
  auto end = t.begin() + static_cast<std::ptrdiff_t>(extent(*this).begin);
  return source->first_line + static_cast<int>(std::count(t.begin(), end, '\n'));
}

int SourceRange::column() const {
  if (!source) return 0;
  std::size_t at = extent(*this).begin;
  return static_cast<int>(at - line_begin(source->text, at));
}

std::string SourceRange::highlight() const {
  if (!source) return {};
  std::string_view text = source->text;
  Extent e = extent(*this);
  std::size_t first = line_begin(text, e.begin), from = first;
  for (int i = 0; i < kContextLines && from > 0; ++i) from = line_begin(text, from - 1);
  std::string out = core::join("  File \"", source->file.empty() ? "<string>" : source->file,
                               "\", line ", line(), "\n", text.substr(from, first - from));
  std::size_t at = first;
  std::string mark;
  do {
    if (!mark.empty()) out += mark + "\n";
    std::size_t end = line_end(text, at);
    out += core::join(text.substr(at, end - at), "\n");
    std::string next = underline(text, at, end, e.begin, std::max(e.end, e.begin + 1));
    if (!next.empty() || mark.empty()) mark = next;
    at = end + 1;
  } while (at < e.end);
  if (mark.empty()) mark = std::string(e.begin - first, ' ') + "~";
  out += mark + " <--- HERE\n";
  for (int i = 0; i < kContextLines && at < text.size(); ++i) {
    std::size_t end = line_end(text, at);
    out += core::join(text.substr(at, end - at), "\n");
    at = end + 1;
  }
  return out;
}

namespace {

std::string report(const SourceRange& where, const std::string& message) {
  std::string place = where.highlight();
  return place.empty() ? message : message + ":\n" + place;
}

}  // namespace

ErrorReport::ErrorReport(const SourceRange& where, const std::string& message)
    : Error(report(where, message)), where_(where) {}

}  // namespace tenon::jit
