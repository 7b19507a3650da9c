// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The op table by index and by name.
#include "tenon/core/op.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/base/leaf_mutex.h"
#include "runtime/stream/device_state.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

extern const int g_op_count;

namespace {

struct Table {
  LeafMutex mutex;
  std::deque<std::unique_ptr<Op>> added;
  std::atomic<int> count{g_op_count};
  std::unordered_map<std::string_view, Op*> by_name;
  std::map<std::string_view, std::vector<Op*>> by_base;

  Table() {
    by_name.reserve(static_cast<std::size_t>(g_op_count) * 2);
    for (int i = 0; i < g_op_count; ++i) index(g_ops[i]);
  }
  void index(Op& op) {
    std::string_view name = op.name;
    by_name.emplace(name, &op);
    by_base[name.substr(0, name.find('.'))].push_back(&op);
  }
};

Table& op_table() {
  static Table* t = new Table;  // never destroyed: ops are used until the process ends
  return *t;
}
// At load: the child of a fork that met the first use would never stop waiting for it.
[[maybe_unused]] const Table& g_table_at_load = op_table();

// Of Levenshtein.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

Op& op_at(int index) {
  if (index < g_op_count) return g_ops[index];
  Table& table = op_table();
  std::lock_guard lock(table.mutex);
  return *table.added.at(static_cast<std::size_t>(index - g_op_count));
}

namespace {

const char* operator_name(int index) {
  return index >= 0 && index < op_count() ? op_at(index).name : nullptr;
}
[[maybe_unused]] const bool g_reports_name_operators = (g_operator_name = &operator_name, true);

}  // namespace

int op_count() { return op_table().count.load(std::memory_order_acquire); }

Op* find_op(std::string_view name) {
  Table& table = op_table();
  std::lock_guard lock(table.mutex);
  auto it = table.by_name.find(name);
  return it == table.by_name.end() ? nullptr : it->second;
}

Op& get_op(std::string_view name) {
  if (Op* op = find_op(name)) return *op;
  if (name.find("::") != std::string_view::npos) {  // a plugin that is not open yet may bring it
    open_for_unknown_name();
    if (Op* op = find_op(name)) return *op;
  }
  // Longer than any name: what is long is not near, and takes long to compare.
  constexpr std::size_t kLongest = 200;
  if (name.size() > kLongest) {
    throw NotImplementedError(join("no operator is called '", name.substr(0, kLongest), "...' (",
                                   name.size(), " bytes)"));
  }
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(op_count()));
  for (int i = 0; i < op_count(); ++i) names.emplace_back(op_at(i).name);
  std::string hint;
  for (const std::string& near : nearest_names(name, names, 1 + name.size() / 3, 3))
    hint += (hint.empty() ? "; closest: " : ", ") + near;
  const std::string provider = backend_source().why_no_operator(name);
  throw NotImplementedError(
      join("no operator is called '", name, "'", hint, provider.empty() ? "" : "; ", provider));
}

std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& candidates,
                                       std::size_t distance, std::size_t n) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::size_t d = edit_distance(name, candidate);
    if (d <= distance) near.emplace_back(d, candidate);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(n, near.size()); ++i) out.push_back(near[i].second);
  return out;
}

std::vector<Op*> overloads(std::string_view base_name) {
  Table& table = op_table();
  std::lock_guard lock(table.mutex);
  auto it = table.by_base.find(base_name);
  return it == table.by_base.end() ? std::vector<Op*>{} : it->second;
}

bool op_takes(const Op& op, ScalarType dtype) { return parse_dtype_mask(op.dtypes).has(dtype); }

int add_op(std::unique_ptr<Op> op) {
  Table& table = op_table();
  std::lock_guard lock(table.mutex);
  TENON_CHECK(table.by_name.count(op->name) == 0, ValueError, "register_op: '", op->name,
              "' is registered already");
  const int at = table.count.load(std::memory_order_relaxed);
  TENON_CHECK(at < kMaxOps, ValueError, "register_op: '", op->name, "': this process has ", kMaxOps,
              " ops already");
  op->index = at;
  table.index(*op);
  table.added.push_back(std::move(op));
  table.count.store(at + 1, std::memory_order_release);
  return at;
}

}  // namespace tenon::core
