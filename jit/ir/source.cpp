// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/source.h"

#include <algorithm>

namespace tenon::jit {
namespace {

constexpr int kContextLines = 2;          // before and after
constexpr std::size_t kMaxColumns = 160;  // of a line that is shown
constexpr std::size_t kBefore = 60;       // columns before the place in a line that is cut
constexpr std::size_t kMaxMarked = 20;    // lines of the place itself

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

// The part of lines that is shown: the columns from `first` on.
class Window {
 public:
  explicit Window(std::size_t column) : first_(column < kMaxColumns / 2 ? 0 : column - kBefore) {}
  std::string cut(std::string_view line) const {
    if (first_ == 0 && line.size() <= kMaxColumns) return std::string(line);
    const std::size_t n = line.size() > first_ ? line.size() - first_ : 0;
    std::string out(first_ == 0 ? "" : "...");
    out += line.substr(std::min(first_, line.size()), kMaxColumns);
    return n > kMaxColumns ? out + "..." : out;
  }
  // The same for what stands below a line.
  std::string cut_mark(const std::string& mark) const {
    if (first_ == 0) return mark.substr(0, kMaxColumns);
    const std::string out = mark.size() > first_ ? mark.substr(first_, kMaxColumns) : "";
    return out.empty() ? out : "   " + out;
  }

 private:
  std::size_t first_;
};

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
  const Window window(e.begin - first);
  for (int i = 0; i < kContextLines && from > 0; ++i) from = line_begin(text, from - 1);
  std::string out = core::join("  File \"", source->file.empty() ? "<string>" : source->file,
                               "\", line ", line(), "\n");
  const auto show = [&](std::size_t at) {
    const std::size_t end = line_end(text, at);
    out += window.cut(text.substr(at, end - at)) + "\n";
    return end;
  };
  while (from < first) from = show(from) + 1;
  std::size_t at = first, lines = 0;
  std::string mark;
  do {
    if (!mark.empty()) out += mark + "\n";
    const std::size_t begin = at, end = show(at);
    const std::string next =
        window.cut_mark(underline(text, begin, end, e.begin, std::max(e.end, e.begin + 1)));
    if (!next.empty() || mark.empty()) mark = next;
    at = end + 1;
  } while (at < e.end && ++lines < kMaxMarked);
  if (mark.empty()) mark = window.cut_mark(std::string(e.begin - first, ' ') + "~");
  out += mark + " <--- HERE\n";
  for (int i = 0; i < kContextLines && at < text.size(); ++i) at = show(at) + 1;
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
