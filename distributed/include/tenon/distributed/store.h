// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where the processes of a job meet: bytes by key, with waits that end. c10d's names.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/distributed/types.h"

namespace tenon::distributed {

// All functions may be called from any thread. Every wait ends after a timeout with a TimeoutError
// that names the keys that did not come. A value may hold any bytes.
class TENON_API Store {
 public:
  static constexpr std::chrono::milliseconds kDefaultTimeout = distributed::kDefaultTimeout;
  static constexpr std::chrono::milliseconds kNoTimeout = std::chrono::milliseconds::zero();

  explicit Store(std::chrono::milliseconds timeout = kDefaultTimeout) : timeout_(timeout) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store();

  void set(const std::string& key, const std::string& value);
  virtual void set(const std::string& key, const std::vector<uint8_t>& value) = 0;
  // Stores `desired` if the value equals `expected`, or if the key is absent and `expected` is
  // empty. Returns the value that the key then has; `expected` if it is still absent.
  std::string compareSet(const std::string& key, const std::string& expected,
                         const std::string& desired);
  virtual std::vector<uint8_t> compareSet(const std::string& key,
                                          const std::vector<uint8_t>& expected,
                                          const std::vector<uint8_t>& desired) = 0;
  // Waits for the key.
  virtual std::vector<uint8_t> get(const std::string& key) = 0;
  std::string get_to_str(const std::string& key);
  // Adds to an integer in decimal, 0 if absent; the result. ValueError if the value is none.
  virtual int64_t add(const std::string& key, int64_t value) = 0;
  // Adds bytes at the end of the value, which is empty if the key is absent.
  void append(const std::string& key, const std::string& value);
  virtual void append(const std::string& key, const std::vector<uint8_t>& value) = 0;
  // Waits for each key.
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys);
  // ValueError: not as many values as keys.
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<uint8_t>>& values);
  bool hasExtendedApi() const { return true; }                   // append, multiGet and multiSet
  virtual bool deleteKey(const std::string& key) = 0;            // whether it existed
  virtual bool check(const std::vector<std::string>& keys) = 0;  // whether all exist
  virtual int64_t getNumKeys() = 0;
  void wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }
  virtual void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) = 0;

  // Of this object's waits.
  const std::chrono::milliseconds& getTimeout() const noexcept { return timeout_; }
  virtual void setTimeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // A second connection to the same keys, whose waits hold up nobody else.
  virtual std::shared_ptr<Store> clone() = 0;

  // The same by snake_case names.
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) {
    return compareSet(key, expected, desired);
  }
  bool delete_key(const std::string& key) { return deleteKey(key); }
  int64_t num_keys() { return getNumKeys(); }
  void set_timeout(std::chrono::milliseconds timeout) { setTimeout(timeout); }

 protected:
  std::chrono::milliseconds timeout_;
};

// The threads of one process.
class TENON_API HashStore : public Store {
 public:
  explicit HashStore(std::chrono::milliseconds timeout = kDefaultTimeout);
  ~HashStore() override;
  using Store::append;
  using Store::compareSet;
  using Store::set;
  using Store::wait;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) override;
  std::shared_ptr<Store> clone() override;

 private:
  struct Table;
  explicit HashStore(std::shared_ptr<Table> table, std::chrono::milliseconds timeout);
  std::shared_ptr<Table> table_;
};

// The keys of another store under "PREFIX/".
class TENON_API PrefixStore : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);
  using Store::append;
  using Store::compareSet;
  using Store::set;
  using Store::wait;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;  // of the whole store
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  std::shared_ptr<Store> clone() override;
  const std::shared_ptr<Store>& getUnderlyingStore() const { return store_; }

 private:
  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace tenon::distributed
