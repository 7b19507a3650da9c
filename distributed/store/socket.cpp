// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/store/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace tenon::distributed {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses addresses_of(const std::string& host, uint16_t port, bool to_listen) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = to_listen ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                                &hints, &found);
  TENON_CHECK(fault == 0, BackendError, "TCPStore: host '", host,
              "' is not known: ", std::string(gai_strerror(fault)));
  return {found, freeaddrinfo};
}

int milliseconds_to(Deadline d) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(d - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1 << 30));
}

// Whether the event came before the deadline.
bool wait_for(int fd, short events, Deadline d) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, milliseconds_to(d));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

Socket make_socket(const addrinfo& a) {
  return Socket(::socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void send_at_once(const Socket& s) {
  const int on = 1;
  setsockopt(s.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// 0 or an errno.
int try_connect(const Socket& s, const addrinfo& a, Deadline d) {
  if (::connect(s.fd(), a.ai_addr, a.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(s.fd(), POLLOUT, d)) return ETIMEDOUT;
  int fault = 0;
  socklen_t n = sizeof fault;
  getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &fault, &n);
  return fault;
}

// Transfers until n bytes have passed.
template <class Transfer>
void transfer_all(const Socket& s, short event, std::size_t n, Deadline d, const std::string& peer,
                  Transfer transfer) {
  for (std::size_t done = 0; done < n;) {
    const ssize_t k = transfer(done);
    if (k > 0) {
      done += static_cast<std::size_t>(k);
    } else if (k == 0) {
      throw DistributedError(core::join("TCPStore: ", peer, " closed the connection"));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(s.fd(), event, d))
        throw TimeoutError(core::join("TCPStore: ", peer, " does not answer"));
    } else if (errno != EINTR) {
      throw DistributedError(core::join("TCPStore: the connection with ", peer,
                                        " is lost: ", std::string(std::strerror(errno))));
    }
  }
}

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Socket connect_to(const std::string& host, uint16_t port, Deadline deadline, bool again) {
  const Addresses all = addresses_of(host, port, false);
  const Deadline moment =
      again ? std::min(deadline, deadline_of(std::chrono::milliseconds(100))) : deadline;
  for (int fault = 0;;) {
    for (const addrinfo* a = all.get(); a; a = a->ai_next) {
      Socket s = make_socket(*a);
      if (!s) continue;
      fault = try_connect(s, *a, deadline);
      if (fault == 0) {
        send_at_once(s);
        return s;
      }
    }
    if (std::chrono::steady_clock::now() >= (fault == ECONNREFUSED ? moment : deadline))
      throw TimeoutError(core::join("TCPStore: nobody serves a store at ", host, ":",
                                    static_cast<int>(port), " (", std::string(std::strerror(fault)),
                                    again ? "): its server is gone" : "): rank 0 did not come"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Socket listen_at(const std::string& host, uint16_t port) {
  const Addresses all = addresses_of(host, port, true);
  int fault = 0;
  for (const addrinfo* a = all.get(); a; a = a->ai_next) {
    Socket s = make_socket(*a);
    const int on = 1;
    if (s && setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(s.fd(), a->ai_addr, a->ai_addrlen) == 0 && ::listen(s.fd(), 1024) == 0)
      return s;
    fault = errno;
  }
  throw BackendError(core::join("TCPStore: cannot listen at ", host, ":", static_cast<int>(port),
                                ": ", std::string(std::strerror(fault))));
}

uint16_t port_of(const Socket& s) {
  sockaddr_storage a{};
  socklen_t n = sizeof a;
  getsockname(s.fd(), reinterpret_cast<sockaddr*>(&a), &n);
  return ntohs(a.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&a)->sin6_port
                                       : reinterpret_cast<sockaddr_in*>(&a)->sin_port);
}

void send_all(const Socket& s, const void* data, std::size_t n, Deadline d,
              const std::string& peer) {
  transfer_all(s, POLLOUT, n, d, peer, [&](std::size_t done) {
    const ssize_t k = ::send(s.fd(), static_cast<const char*>(data) + done, n - done, MSG_NOSIGNAL);
    if (k == 0) errno = EAGAIN;
    return k == 0 ? -1 : k;
  });
}

void recv_all(const Socket& s, void* data, std::size_t n, Deadline d, const std::string& peer) {
  transfer_all(s, POLLIN, n, d, peer, [&](std::size_t done) {
    return ::recv(s.fd(), static_cast<char*>(data) + done, n - done, 0);
  });
}

}  // namespace tenon::distributed
