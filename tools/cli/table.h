// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a command shows: an aligned table for people or JSON for programs, from the same rows.
#pragma once

#include <string>
#include <vector>

namespace tenon::command {

class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // Columns are as wide as their widest cell; the last one runs on.
  std::string text() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

std::string join_list(const std::vector<std::string>& items, const char* separator = ", ");

}  // namespace tenon::command
