// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TCP sockets that never block for longer than asked.
#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>

#include "distributed/store/bytes.h"

namespace tenon::distributed {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Socket& operator=(Socket&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Socket() { close(); }
  void close();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Tries again while nobody listens: until the deadline, or for a moment where there was a server
// before (`again`). TimeoutError names host and port.
Socket connect_to(const std::string& host, uint16_t port, Deadline deadline, bool again);
// Non-blocking. Port 0: any free one. BackendError: in use, or no address of this machine.
Socket listen_at(const std::string& host, uint16_t port);
uint16_t port_of(const Socket& s);
// DistributedError: closed, or the deadline passed; `peer` is named.
void send_all(const Socket& s, const void* data, std::size_t n, Deadline d,
              const std::string& peer);
void recv_all(const Socket& s, void* data, std::size_t n, Deadline d, const std::string& peer);

}  // namespace tenon::distributed
