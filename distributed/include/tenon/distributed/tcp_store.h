// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A store that one process serves to others over TCP.
#pragma once

#include <optional>
#include <string>

#include "tenon/distributed/store.h"

namespace tenon::distributed {

struct TCPStoreOptions {
  uint16_t port = 29500;  // 0, for the server alone: any free one
  bool isServer = false;
  // The server's constructor waits for so many, itself included; others are counted and go on.
  std::optional<std::size_t> numWorkers;
  bool waitWorkers = true;
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  // Both sides must know it (HMAC-SHA256 of a challenge; it is never sent). Empty: whoever reaches
  // the port is served. It does not hide what is stored.
  std::string secret;
  // Of the server; empty: the address that the host's name in the constructor has.
  std::string bindAddress;
};

class TENON_API TCPStore : public Store {
 public:
  static constexpr uint16_t kDefaultPort = 29500;
  // BackendError: the server's port is in use, or `host` does not answer in time.
  explicit TCPStore(std::string host, const TCPStoreOptions& options = {});
  // The options one by one, as libtorch had them first.
  TCPStore(std::string host, uint16_t port, std::optional<int> num_workers, bool is_server = false,
           std::chrono::milliseconds timeout = Store::kDefaultTimeout, bool wait_workers = true);
  ~TCPStore() override;  // of the server: ends it
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
  // What the constructor does unless waitWorkers is false. TimeoutError says how many came.
  void waitForWorkers();
  const std::string& getHost() const noexcept;
  uint16_t getPort() const noexcept;

 private:
  struct Impl;
  explicit TCPStore(std::unique_ptr<Impl> impl, std::chrono::milliseconds timeout);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::distributed
