// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A store in a file that all processes see.
#pragma once

#include <string>

#include "tenon/distributed/store.h"

namespace tenon::distributed {

// Records are appended under a lock of the file. `num_workers` > 0: once so many objects were made,
// the last that is destroyed removes the file (those of processes of this machine that died do not
// count), and one more than that finds a file of an earlier job: ValueError.
class TENON_API FileStore : public Store {
 public:
  FileStore(std::string path, int num_workers, std::chrono::milliseconds timeout = kDefaultTimeout);
  ~FileStore() override;
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
  const std::string& getPath() const noexcept;

 private:
  struct Impl;
  explicit FileStore(std::shared_ptr<Impl> impl, std::chrono::milliseconds timeout);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon::distributed
