// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The server of TCPStore: one thread, no blocking call but poll.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <thread>

#include "distributed/store/secret.h"
#include "distributed/store/socket.h"
#include "distributed/store/table.h"
#include "distributed/store/wire.h"

namespace tenon::distributed {

// A stranger's connection costs at most a buffer of what it has sent, and ends: one that has not
// shown that it speaks the protocol within kGreeting, one that leaves a message unfinished without
// sending for kSlow, one that announces more than wire::kMaxMessage. Beyond kMaxConnections the
// oldest that has not greeted goes first, else the new one.
class TcpServer {
 public:
  static constexpr auto kGreeting = std::chrono::seconds(5), kSlow = std::chrono::seconds(30);
  static constexpr std::size_t kMaxConnections = 4096, kMaxUnsent = 1u << 20;

  TcpServer(Socket listener, std::string secret);
  ~TcpServer();
  uint16_t port() const { return port_; }

 private:
  struct Connection {
    Socket socket;
    Bytes in, out;
    std::size_t sent = 0;
    Nonce nonce;
    bool greeted = false, waiting = false, waits_to_get = false;
    std::vector<std::string> keys;  // that it waits for
    Deadline until;                 // of the wait, the greeting or the unfinished message
  };

  void run();
  void poll_once();
  void accept_all();
  void make_room();
  bool receive(Connection& c);  // false: it is to be closed
  bool flush(Connection& c);
  bool parse(Connection& c);
  bool greet(Connection& c);
  void answer_request(Connection& c, wire::Reader r);
  void begin_wait(Connection& c, std::vector<std::string> keys, int64_t ms, bool to_get);
  void end_waits();  // of those whose keys are there
  bool serve_timeouts(Connection& c, Deadline now);
  void reply(Connection& c, wire::Writer w);

  Socket listener_, wake_;
  uint16_t port_;
  std::string secret_;
  KeyTable keys_;
  bool changed_ = false;
  std::list<Connection> connections_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tenon::distributed
