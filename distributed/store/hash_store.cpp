// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <mutex>

#include "distributed/store/table.h"
#include "tenon/distributed/store.h"

namespace tenon::distributed {

struct HashStore::Table {
  std::mutex lock;  // fork: its threads stay in the parent, and so does the store
  std::condition_variable changed;
  KeyTable keys;

  template <class F>
  auto change(F f) {
    std::lock_guard held(lock);
    changed.notify_all();
    return f(keys);
  }
};

HashStore::HashStore(std::chrono::milliseconds timeout)
    : HashStore(std::make_shared<Table>(), timeout) {}
HashStore::HashStore(std::shared_ptr<Table> table, std::chrono::milliseconds timeout)
    : Store(timeout), table_(std::move(table)) {}
HashStore::~HashStore() = default;

void HashStore::set(const std::string& key, const Bytes& value) {
  table_->change([&](KeyTable& t) { t.set(key, value); });
}
Bytes HashStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return table_->change([&](KeyTable& t) { return t.compare_set(key, expected, desired); });
}
int64_t HashStore::add(const std::string& key, int64_t value) {
  return table_->change([&](KeyTable& t) { return t.add(key, value); });
}
void HashStore::append(const std::string& key, const Bytes& value) {
  table_->change([&](KeyTable& t) { t.append(key, value); });
}
bool HashStore::deleteKey(const std::string& key) {
  return table_->change([&](KeyTable& t) { return t.erase(key); });
}
bool HashStore::check(const std::vector<std::string>& keys) {
  return table_->change([&](KeyTable& t) { return t.missing(keys).empty(); });
}
int64_t HashStore::getNumKeys() {
  return table_->change([&](KeyTable& t) { return t.size(); });
}

Bytes HashStore::get(const std::string& key) {
  std::unique_lock held(table_->lock);
  const auto there = [&] { return table_->keys.find(key) != nullptr; };
  if (!table_->changed.wait_until(held, deadline_of(timeout_), there))
    throw_timeout("get", {key}, timeout_);
  return *table_->keys.find(key);
}

void HashStore::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  std::unique_lock held(table_->lock);
  const auto there = [&] { return table_->keys.missing(keys).empty(); };
  if (!table_->changed.wait_until(held, deadline_of(timeout), there))
    throw_timeout("wait", table_->keys.missing(keys), timeout);
}

std::shared_ptr<Store> HashStore::clone() {
  return std::shared_ptr<Store>(new HashStore(table_, timeout_));
}

}  // namespace tenon::distributed
