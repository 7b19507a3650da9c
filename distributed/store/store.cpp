// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/store.h"

#include <algorithm>

#include "distributed/store/bytes.h"

namespace tenon::distributed {

int64_t sum_of(const std::string& key, const Bytes* value, int64_t summand) {
  int64_t before = 0, after = 0;
  if (value) {
    const auto* begin = reinterpret_cast<const char*>(value->data());
    const auto [end, fault] = std::from_chars(begin, begin + value->size(), before);
    TENON_CHECK(fault == std::errc() && end == begin + value->size(), ValueError,
                "add: the value of key '", key, "' is not an integer");
  }
  TENON_CHECK(!__builtin_add_overflow(before, summand, &after), ValueError, "add: key '", key,
              "' holds ", before, ", and ", summand, " more is beyond 64 bits");
  return after;
}

std::string names_of(const std::vector<std::string>& keys) {
  std::string out;
  for (std::size_t i = 0; i < keys.size() && i < 10; ++i)
    out += core::join(i ? ", '" : "'", keys[i], "'");
  return keys.size() > 10 ? core::join(out, " and ", keys.size() - 10, " more") : out;
}

void throw_timeout(const std::string& what, const std::vector<std::string>& missing,
                   std::chrono::milliseconds timeout) {
  throw TimeoutError(core::join(what, ": ", missing.size() == 1 ? "key " : "keys ",
                                names_of(missing), " did not come within ",
                                static_cast<long>(timeout.count()), " ms"));
}

std::chrono::steady_clock::time_point deadline_of(std::chrono::milliseconds timeout) {
  return std::chrono::steady_clock::now() +
         std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(24 * 365));
}

Store::~Store() = default;

void Store::set(const std::string& key, const std::string& value) { set(key, to_bytes(value)); }

std::string Store::compareSet(const std::string& key, const std::string& expected,
                              const std::string& desired) {
  return to_string(compareSet(key, to_bytes(expected), to_bytes(desired)));
}

std::string Store::get_to_str(const std::string& key) { return to_string(get(key)); }

void Store::append(const std::string& key, const std::string& value) {
  append(key, to_bytes(value));
}

std::vector<Bytes> Store::multiGet(const std::vector<std::string>& keys) {
  std::vector<Bytes> out;
  out.reserve(keys.size());
  for (const std::string& key : keys) out.push_back(get(key));
  return out;
}

void Store::multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) {
  TENON_CHECK(keys.size() == values.size(), ValueError, "multiSet: ", values.size(), " values for ",
              keys.size(), " keys");
  for (std::size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(std::move(store)) {
  TENON_CHECK(store_, ValueError, "PrefixStore: store is null");
  timeout_ = store_->getTimeout();
}

namespace {
std::string joined(const std::string& prefix, const std::string& key) { return prefix + "/" + key; }
std::vector<std::string> joined(const std::string& prefix, std::vector<std::string> keys) {
  for (std::string& key : keys) key = joined(prefix, key);
  return keys;
}
}  // namespace

void PrefixStore::set(const std::string& key, const Bytes& value) {
  store_->set(joined(prefix_, key), value);
}
Bytes PrefixStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  return store_->compareSet(joined(prefix_, key), expected, desired);
}
Bytes PrefixStore::get(const std::string& key) { return store_->get(joined(prefix_, key)); }
int64_t PrefixStore::add(const std::string& key, int64_t value) {
  return store_->add(joined(prefix_, key), value);
}
void PrefixStore::append(const std::string& key, const Bytes& value) {
  store_->append(joined(prefix_, key), value);
}
bool PrefixStore::deleteKey(const std::string& key) {
  return store_->deleteKey(joined(prefix_, key));
}
bool PrefixStore::check(const std::vector<std::string>& keys) {
  return store_->check(joined(prefix_, keys));
}
int64_t PrefixStore::getNumKeys() { return store_->getNumKeys(); }
void PrefixStore::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  store_->wait(joined(prefix_, keys), timeout);
}
void PrefixStore::setTimeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  store_->setTimeout(timeout);
}
std::shared_ptr<Store> PrefixStore::clone() {
  return std::make_shared<PrefixStore>(prefix_, store_->clone());
}

}  // namespace tenon::distributed
