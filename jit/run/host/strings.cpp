// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Strings, as bytes: letters beyond ASCII are several.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "jit/run/text_of_values.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/type.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

std::string pop_text(Stack& s) { return pop(s).toStringRef(); }
void push(Stack& s, std::string v) { s.emplace_back(std::move(v)); }

template <class F>
void map_text(Stack& s, const F& f) {
  push(s, f(pop_text(s)));
}
template <int (*F)(int)>
void map_letters(Stack& s) {
  map_text(s, [](std::string t) {
    for (char& c : t) c = static_cast<char>(F(static_cast<unsigned char>(c)));
    return t;
  });
}
// Whether all letters are of the class, and there is one.
template <int (*F)(int)>
void all_letters(Stack& s) {
  const std::string t = pop_text(s);
  s.emplace_back(!t.empty() &&
                 std::all_of(t.begin(), t.end(), [](unsigned char c) { return F(c); }));
}
// Whether the cased letters are all of one case, and there is one.
template <int (*Is)(int), int (*IsNot)(int)>
void one_case(Stack& s) {
  const std::string t = pop_text(s);
  bool some = false, other = false;
  for (unsigned char c : t) {
    some = some || Is(c);
    other = other || IsNot(c);
  }
  s.emplace_back(some && !other);
}

void isprintable(Stack& s) {
  const std::string t = pop_text(s);
  s.emplace_back(std::all_of(t.begin(), t.end(), [](unsigned char c) { return std::isprint(c); }));
}
void isidentifier(Stack& s) {
  const std::string t = pop_text(s);
  s.emplace_back(
      !t.empty() && !std::isdigit(static_cast<unsigned char>(t[0])) &&
      std::all_of(t.begin(), t.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; }));
}
// Whether capitals begin words, small letters follow letters, and there is a letter.
void istitle(Stack& s) {
  const std::string t = pop_text(s);
  bool some = false, inside = false, good = true;
  for (unsigned char c : t) {
    good = good && !(inside ? std::isupper(c) : std::islower(c));
    inside = std::isalpha(c);
    some = some || inside;
  }
  s.emplace_back(good && some);
}
void expandtabs(Stack& s) {
  constexpr int64_t kMaxTab = 1 << 16;
  const int64_t size = pop_as<int64_t>(s);
  TENON_CHECK(size <= kMaxTab, ValueError, "a tab of ", size, " columns is too wide");
  std::string out;
  int64_t column = 0;
  for (char c : pop_text(s)) {
    const int64_t width = c != '\t' ? 1 : size > 0 ? size - column % size : 0;
    out.append(static_cast<std::size_t>(width), c == '\t' ? ' ' : c);
    column = c == '\n' || c == '\r' ? 0 : column + width;
  }
  push(s, std::move(out));
}

void length(Stack& s) {
  const auto n = static_cast<int64_t>(s.back().toStringRef().size());
  s.back() = n;
}
void concatenate(Stack& s) {
  const std::string b = pop_text(s);
  push(s, pop_text(s) + b);
}
void repeat(Stack& s) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  const int64_t n = pop_as<int64_t>(s);
  const std::string t = pop_text(s);
  TENON_CHECK(n <= 0 || t.empty() || static_cast<uint64_t>(n) <= kMaxBytes / t.size(),
              OutOfMemoryError, "a string of ", t.size(), " bytes repeated ", n,
              " times is too long");
  std::string out;
  for (int64_t k = 0; k < n; ++k) out += t;
  push(s, std::move(out));
}
template <class F>
void compare(Stack& s, const F& f) {
  const std::string b = pop_text(s), a = pop_text(s);
  s.emplace_back(static_cast<bool>(f(a, b)));
}
void eq(Stack& s) {
  compare(s, [](const std::string& a, const std::string& b) { return a == b; });
}
void ne(Stack& s) {
  compare(s, [](const std::string& a, const std::string& b) { return a != b; });
}
void lt(Stack& s) {
  compare(s, [](const std::string& a, const std::string& b) { return a < b; });
}
void le(Stack& s) {
  compare(s, [](const std::string& a, const std::string& b) { return a <= b; });
}
void gt(Stack& s) {
  compare(s, [](const std::string& a, const std::string& b) { return a > b; });
}
void ge(Stack& s) {
  compare(s, [](const std::string& a, const std::string& b) { return a >= b; });
}
void contains(Stack& s) {
  const std::string part = pop_text(s);
  s.emplace_back(pop_text(s).find(part) != std::string::npos);
}

void get_item(Stack& s) {
  const int64_t at = pop_as<int64_t>(s);
  const std::string t = pop_text(s);
  const auto n = static_cast<int64_t>(t.size());
  const int64_t i = at < 0 ? at + n : at;
  TENON_CHECK(i >= 0 && i < n, IndexError, "string index out of range: ", at, " of ", n);
  push(s, std::string(1, t[static_cast<std::size_t>(i)]));
}
void slice(Stack& s) {
  const int64_t step = pop_as<int64_t>(s);
  const IValue end = pop(s), begin = pop(s);
  const std::string t = pop_text(s);
  TENON_CHECK(step != 0, ValueError, "slice step cannot be zero");
  const auto n = static_cast<int64_t>(t.size());
  auto bound = [&](const IValue& v, int64_t if_none) {
    if (v.isNone()) return if_none;
    const int64_t i = v.toInt() < 0 ? v.toInt() + n : v.toInt();
    return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  };
  const int64_t first = bound(begin, step > 0 ? 0 : n - 1), last = bound(end, step > 0 ? n : -1);
  std::string out;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    out += t[static_cast<std::size_t>(i)];
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  push(s, std::move(out));
}

// start and end of the find family, as slices clamp them.
struct Range {
  int64_t begin, end;
};
Range pop_range(Stack& s, std::size_t size_of_text_below) {
  const int64_t end = pop_as<int64_t>(s), begin = pop_as<int64_t>(s);
  const auto n = static_cast<int64_t>(size_of_text_below);
  auto bound = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  return {bound(begin), end == -1 ? n : bound(end)};
}
struct Search {
  std::string text, part;
  Range range;
};
Search pop_search(Stack& s) {
  const std::size_t n = s[s.size() - 4].toStringRef().size();
  const Range r = pop_range(s, n);
  std::string part = pop_text(s);
  return {pop_text(s), std::move(part), r};
}
int64_t find_in(const Search& q) {
  const auto at = q.text.find(q.part, static_cast<std::size_t>(q.range.begin));
  if (at == std::string::npos) return -1;
  return static_cast<int64_t>(at + q.part.size()) <= q.range.end ? static_cast<int64_t>(at) : -1;
}
int64_t rfind_in(const Search& q) {
  const auto last = q.range.end - static_cast<int64_t>(q.part.size());
  if (last < 0) return -1;
  const auto at = q.text.rfind(q.part, static_cast<std::size_t>(last));
  if (at == std::string::npos) return -1;
  return static_cast<int64_t>(at) >= q.range.begin ? static_cast<int64_t>(at) : -1;
}
void find(Stack& s) { s.emplace_back(find_in(pop_search(s))); }
void rfind(Stack& s) { s.emplace_back(rfind_in(pop_search(s))); }
void index(Stack& s) {
  const int64_t at = find_in(pop_search(s));
  TENON_CHECK(at >= 0, ValueError, "substring not found");
  s.emplace_back(at);
}
void rindex(Stack& s) {
  const int64_t at = rfind_in(pop_search(s));
  TENON_CHECK(at >= 0, ValueError, "substring not found");
  s.emplace_back(at);
}
void count(Stack& s) {
  Search q = pop_search(s);
  if (q.part.empty())
    return s.emplace_back(std::max<int64_t>(0, q.range.end - q.range.begin) + 1), void();
  int64_t n = 0;
  for (int64_t at; (at = find_in(q)) >= 0; ++n)
    q.range.begin = at + static_cast<int64_t>(q.part.size());
  s.emplace_back(n);
}
void startswith(Stack& s) {
  const Search q = pop_search(s);
  s.emplace_back(q.range.begin + static_cast<int64_t>(q.part.size()) <= q.range.end &&
                 q.text.compare(static_cast<std::size_t>(q.range.begin), q.part.size(), q.part) ==
                     0);
}
void endswith(Stack& s) {
  const Search q = pop_search(s);
  const int64_t at = q.range.end - static_cast<int64_t>(q.part.size());
  s.emplace_back(at >= q.range.begin &&
                 q.text.compare(static_cast<std::size_t>(at), q.part.size(), q.part) == 0);
}

std::vector<std::string> split_at(const std::string& t, const IValue& separator, int64_t max) {
  std::vector<std::string> out;
  if (separator.isNone()) {  // runs of white space
    std::size_t i = 0;
    while (true) {
      i = t.find_first_not_of(" \t\n\r\f\v", i);
      if (i == std::string::npos) return out;
      if (max >= 0 && static_cast<int64_t>(out.size()) == max) break;
      const std::size_t end = std::min(t.find_first_of(" \t\n\r\f\v", i), t.size());
      out.push_back(t.substr(i, end - i));
      i = end;
    }
    const std::size_t end = t.find_last_not_of(" \t\n\r\f\v");
    out.push_back(t.substr(i, end + 1 - i));
    return out;
  }
  const std::string& sep = separator.toStringRef();
  TENON_CHECK(!sep.empty(), ValueError, "empty separator");
  std::size_t i = 0;
  for (std::size_t at; (max < 0 || static_cast<int64_t>(out.size()) < max) &&
                       (at = t.find(sep, i)) != std::string::npos;
       i = at + sep.size())
    out.push_back(t.substr(i, at - i));
  out.push_back(t.substr(i));
  return out;
}
void split(Stack& s) {
  const int64_t max = pop_as<int64_t>(s);
  const IValue separator = pop(s);
  s.emplace_back(split_at(pop_text(s), separator, max));
}
void rsplit(Stack& s) {
  const int64_t max = pop_as<int64_t>(s);
  const IValue separator = pop(s);
  std::vector<std::string> parts = split_at(pop_text(s), separator, -1);
  const std::string sep = separator.isNone() ? " " : separator.toStringRef();
  while (max >= 0 && static_cast<int64_t>(parts.size()) > max + 1) {
    parts[0] += sep + parts[1];
    parts.erase(parts.begin() + 1);
  }
  s.emplace_back(parts);
}
void splitlines(Stack& s) {
  const bool keep = pop_as<bool>(s);
  const std::string t = pop_text(s);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < t.size();) {
    const std::size_t end = std::min(t.find('\n', i), t.size());
    const std::size_t next = std::min(end + 1, t.size());
    out.push_back(t.substr(i, (keep ? next : end) - i));
    i = next;
  }
  s.emplace_back(out);
}
void join(Stack& s) {
  const IValue list = pop(s);
  const std::string separator = pop_text(s);
  std::string out;
  const char* between = "";
  for (const IValue& v : list.toList()) {
    out += between + v.toStringRef();
    between = separator.c_str();
  }
  push(s, std::move(out));
}
void replace(Stack& s) {
  const int64_t max = pop_as<int64_t>(s);
  const std::string to = pop_text(s), from = pop_text(s), t = pop_text(s);
  std::string out;
  std::size_t i = 0;
  for (int64_t n = 0; (max < 0 || n < max) && !from.empty(); ++n) {
    const std::size_t at = t.find(from, i);
    if (at == std::string::npos) break;
    out += t.substr(i, at - i) + to;
    i = at + from.size();
  }
  push(s, out + t.substr(i));
}

std::string strip_left(const std::string& t, const std::string& of) {
  const std::size_t at = t.find_first_not_of(of);
  return at == std::string::npos ? "" : t.substr(at);
}
std::string strip_right(const std::string& t, const std::string& of) {
  return t.substr(0, t.find_last_not_of(of) + 1);
}
void strip(Stack& s) {
  const std::string of = pop_text(s);
  map_text(s, [&](const std::string& t) { return strip_left(strip_right(t, of), of); });
}
void lstrip(Stack& s) {
  const std::string of = pop_text(s);
  map_text(s, [&](const std::string& t) { return strip_left(t, of); });
}
void rstrip(Stack& s) {
  const std::string of = pop_text(s);
  map_text(s, [&](const std::string& t) { return strip_right(t, of); });
}
void partition(Stack& s) {
  const std::string sep = pop_text(s), t = pop_text(s);
  const std::size_t at = t.find(sep);
  push(s, t.substr(0, at));
  push(s, at == std::string::npos ? "" : sep);
  push(s, at == std::string::npos ? "" : t.substr(at + sep.size()));
}
void rpartition(Stack& s) {
  const std::string sep = pop_text(s), t = pop_text(s);
  const std::size_t at = t.rfind(sep);
  push(s, at == std::string::npos ? "" : t.substr(0, at));
  push(s, at == std::string::npos ? "" : sep);
  push(s, at == std::string::npos ? t : t.substr(at + sep.size()));
}
void capitalize(Stack& s) {
  map_text(s, [](std::string t) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      const auto c = static_cast<unsigned char>(t[i]);
      t[i] = static_cast<char>(i == 0 ? std::toupper(c) : std::tolower(c));
    }
    return t;
  });
}
void title(Stack& s) {
  map_text(s, [](std::string t) {
    bool inside = false;
    for (char& c : t) {
      const auto u = static_cast<unsigned char>(c);
      c = static_cast<char>(inside ? std::tolower(u) : std::toupper(u));
      inside = std::isalpha(u);
    }
    return t;
  });
}
void swapcase(Stack& s) {
  map_text(s, [](std::string t) {
    for (char& c : t) {
      const auto u = static_cast<unsigned char>(c);
      c = static_cast<char>(std::isupper(u) ? std::tolower(u) : std::toupper(u));
    }
    return t;
  });
}
std::string pad(std::string t, int64_t width, char fill, bool left, bool right) {
  constexpr int64_t kMaxWidth = 1 << 24;
  TENON_CHECK(width <= kMaxWidth, ValueError, "a width of ", width, " is too large");
  const int64_t missing = width - static_cast<int64_t>(t.size());
  if (missing <= 0) return t;
  int64_t before = left ? missing : 0;
  if (left && right) before = missing / 2 + (missing & width & 1);
  return std::string(static_cast<std::size_t>(before), fill) + t +
         std::string(static_cast<std::size_t>(missing - before), fill);
}
template <bool Left, bool Right>
void justify(Stack& s) {
  const std::string fill = pop_text(s);
  const int64_t width = pop_as<int64_t>(s);
  TENON_CHECK(fill.size() == 1, TypeError, "the fill character must be exactly one character long");
  map_text(s, [&](const std::string& t) { return pad(t, width, fill[0], Left, Right); });
}
void zfill(Stack& s) {
  const int64_t width = pop_as<int64_t>(s);
  map_text(s, [&](const std::string& t) {
    const bool sign = !t.empty() && (t[0] == '-' || t[0] == '+');
    return t.substr(0, sign) + pad(t.substr(sign), width - sign, '0', true, false);
  });
}

void ord(Stack& s) {
  const std::string t = pop_text(s);
  TENON_CHECK(t.size() == 1, TypeError, "ord() expected a character, but string of length ",
              t.size(), " found");
  s.emplace_back(int64_t{static_cast<unsigned char>(t[0])});
}
void chr(Stack& s) {
  const int64_t c = pop_as<int64_t>(s);
  TENON_CHECK(c >= 0 && c < 256, ValueError, "chr() arg not in range(256)");
  push(s, std::string(1, static_cast<char>(c)));
}
void letters(Stack& s) {
  const IValue text = pop(s);
  std::vector<std::string> out;
  for (const char c : text.toStringRef()) out.emplace_back(1, c);
  s.emplace_back(out);
}
template <int Base>
void in_base(Stack& s) {
  const int64_t v = pop_as<int64_t>(s);
  uint64_t n = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[n % Base]);
    n /= Base;
  } while (n != 0);
  push(s, (v < 0 ? "-" : "") + std::string(Base == 16 ? "0x" : Base == 8 ? "0o" : "0b") + digits);
}

void to_int(Stack& s) {
  const std::string t = strip_right(strip_left(pop_text(s), " \t\n"), " \t\n");
  char* end = nullptr;
  errno = 0;
  const long long v = std::strtoll(t.c_str(), &end, 10);
  TENON_CHECK(!t.empty() && *end == 0 && errno == 0, ValueError,
              "invalid literal for int() with base 10: '", t, "'");
  s.emplace_back(int64_t{v});
}
void to_float(Stack& s) {
  const std::string t = strip_right(strip_left(pop_text(s), " \t\n"), " \t\n");
  char* end = nullptr;
  const double v = std::strtod(t.c_str(), &end);
  TENON_CHECK(!t.empty() && *end == 0, ValueError, "could not convert string to float: '", t, "'");
  s.emplace_back(v);
}
void str(Stack& s) { push(s, text_of(pop(s))); }

// "{}" and "{0}": what TorchScript's str.format knows.
void format(Stack& s, std::size_t n) {
  TENON_CHECK(n >= 1, TypeError, "format: no text");
  const std::string t = peek(s, 0, n).toStringRef();
  std::string out;
  std::size_t next = 1;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t.compare(i, 2, "{}") == 0) {
      TENON_CHECK(next < n, ValueError, "Too few arguments for format string: ", t);
      out += text_of(peek(s, next++, n));
      ++i;
    } else if (t.compare(i, 2, "{{") == 0 || t.compare(i, 2, "}}") == 0) {
      out += t[i++];
    } else {
      out += t[i];
    }
  }
  drop(s, n);
  push(s, std::move(out));
}
// A value in place of "%d", "%s", ...; TorchScript rounds numbers to float before it writes them.
std::string formatted(char kind, const IValue& v) {
  const auto one_of = [kind](std::string_view kinds) {
    return kinds.find(kind) != std::string_view::npos;
  };
  if (one_of("sr")) return text_of(v);
  if (kind == 'c') {
    TENON_CHECK(v.isInt() || (v.isString() && v.toStringRef().size() == 1), TypeError,
                "%c requires an int or char for formatting, but got ", v.tagKind());
    return v.isInt() ? std::string(1, static_cast<char>(v.toInt())) : v.toStringRef();
  }
  TENON_CHECK(one_of("dieEfFgG"), TypeError, "The specifier %", kind,
              " is not supported in TorchScript format strings");
  TENON_CHECK(v.isScalar(), TypeError, "%", kind, " requires a number for formatting, but got ",
              v.tagKind());
  if (one_of("di"))
    return std::to_string(v.isDouble() ? static_cast<int64_t>(v.toDouble())
                                       : v.toScalar().to<int64_t>());
  const char text[] = {'%', kind, 0};
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, text, static_cast<double>(v.toScalar().to<float>()));
  return buffer;
}
// "%d %s %f" % values.
void percent(Stack& s, std::size_t n) {
  const std::string t = peek(s, 0, n).toStringRef();
  // One tuple stands for its elements.
  std::vector<IValue> values(s.end() - static_cast<std::ptrdiff_t>(n) + 1, s.end());
  if (n == 2 && values[0].isTuple()) values = IValue(values[0]).toTupleRef().items;
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i] != '%') {
      out += t[i];
      continue;
    }
    TENON_CHECK(i + 1 < t.size(), ValueError, "Incomplete format specifier");
    const char kind = t[++i];
    if (kind == '%') {
      out += '%';
      continue;
    }
    TENON_CHECK(next < values.size(), TypeError, "Too few arguments for format string: ", t);
    out += formatted(kind, values[next++]);
  }
  TENON_CHECK(next == values.size(), TypeError, "Too many arguments for format string: ", t);
  drop(s, n);
  push(s, std::move(out));
}

#define SEARCH(name, result, f) \
  { "aten::" name "(str self, str substr, int start=0, int end=-1) -> " result, f }

const HostOperator list[] = {
    {"aten::len.str(str s) -> int", length},
    {"aten::add.str(str a, str b) -> str", concatenate},
    {"aten::mul.str_int(str a, int b) -> str", repeat},
    {"aten::eq.str(str a, str b) -> bool", eq},
    {"aten::ne.str(str a, str b) -> bool", ne},
    {"aten::lt.str(str a, str b) -> bool", lt},
    {"aten::le.str(str a, str b) -> bool", le},
    {"aten::gt.str(str a, str b) -> bool", gt},
    {"aten::ge.str(str a, str b) -> bool", ge},
    {"aten::__contains__.str(str l, str item) -> bool", contains},
    {"aten::__getitem__.str(str s, int index) -> str", get_item},
    {"prim::StringIndex(str string, int index) -> str", get_item},
    {"aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", slice},
    SEARCH("find", "int", find),
    SEARCH("rfind", "int", rfind),
    SEARCH("index.str", "int", index),
    SEARCH("rindex", "int", rindex),
    SEARCH("count", "int", count),
    SEARCH("startswith", "bool", startswith),
    SEARCH("endswith", "bool", endswith),
    {"aten::split.str(str self, str? separator=None, int max=-1) -> str[]", split},
    {"aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", rsplit},
    {"aten::splitlines(str self, bool keepends=False) -> str[]", splitlines},
    {"aten::join(str self, str[] values) -> str", join},
    {"aten::replace(str self, str old, str new, int max=-1) -> str", replace},
    {"aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip},
    {"aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", lstrip},
    {"aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", rstrip},
    {"aten::partition(str self, str separator) -> (str, str, str)", partition},
    {"aten::rpartition(str self, str separator) -> (str, str, str)", rpartition},
    {"aten::upper(str self) -> str", map_letters<std::toupper>},
    {"aten::lower(str self) -> str", map_letters<std::tolower>},
    {"aten::capitalize(str self) -> str", capitalize},
    {"aten::title(str self) -> str", title},
    {"aten::swapcase(str self) -> str", swapcase},
    {"aten::isdigit(str self) -> bool", all_letters<std::isdigit>},
    {"aten::isdecimal(str self) -> bool", all_letters<std::isdigit>},
    {"aten::isnumeric(str self) -> bool", all_letters<std::isdigit>},
    {"aten::isalpha(str self) -> bool", all_letters<std::isalpha>},
    {"aten::isalnum(str self) -> bool", all_letters<std::isalnum>},
    {"aten::isprintable(str self) -> bool", isprintable},
    {"aten::isidentifier(str self) -> bool", isidentifier},
    {"aten::istitle(str self) -> bool", istitle},
    {"aten::expandtabs(str self, int tabsize=8) -> str", expandtabs},
    {"aten::isspace(str self) -> bool", all_letters<std::isspace>},
    {"aten::isupper(str self) -> bool", one_case<std::isupper, std::islower>},
    {"aten::islower(str self) -> bool", one_case<std::islower, std::isupper>},
    {"aten::center(str self, int width, str fillchar=\" \") -> str", justify<true, true>},
    {"aten::ljust(str self, int width, str fillchar=\" \") -> str", justify<false, true>},
    {"aten::rjust(str self, int width, str fillchar=\" \") -> str", justify<true, false>},
    {"aten::zfill(str self, int width) -> str", zfill},
    {"aten::ord(str string) -> int", ord},
    {"aten::chr(int i) -> str", chr},
    {"aten::list(str t) -> str[]", letters},
    {"aten::hex.int(int a) -> str", in_base<16>},
    {"aten::oct.int(int a) -> str", in_base<8>},
    {"aten::bin(int i) -> str", in_base<2>},
    {"aten::Int.str(str a) -> int", to_int},
    {"aten::Float.str(str a) -> float", to_float},
    {"aten::str(t elem) -> str", str},
    {"aten::format(str self, ...) -> str", nullptr, format},
    {"aten::percentFormat(str self, ...) -> str", nullptr, percent},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
