// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <algorithm>

namespace tenon::command {
namespace {

// Columns, not bytes: a UTF-8 continuation byte takes none.
std::size_t width(const std::string& s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string one_line(std::string s) {
  std::replace(s.begin(), s.end(), '\n', ' ');
  return s;
}

void append_row(std::string& out, const std::vector<std::string>& row,
                const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string cell = one_line(row[i]);
    line += cell;
    if (i + 1 < row.size()) line.append(widths[i] - std::min(widths[i], width(cell)) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const std::string& h : head_) widths.push_back(width(h));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  append_row(out, head_, widths);
  for (const auto& row : rows_) append_row(out, row, widths);
  return out;
}

std::string join_list(const std::vector<std::string>& items, const char* separator) {
  std::string out;
  for (const std::string& s : items) {
    if (!out.empty()) out += separator;
    out += s;
  }
  return out;
}

}  // namespace tenon::command
