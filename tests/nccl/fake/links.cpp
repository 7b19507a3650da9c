// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "links.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>

namespace tenon::fake {
namespace {

struct Header {
  uint64_t kind, bytes;
};

// What goes one way over one socket.
struct Way {
  std::deque<Message> rest;
  Header header{};
  std::size_t at = 0;  // in the header, then in the data

  // The bytes that come next.
  std::pair<char*, std::size_t> next() {
    if (at < sizeof header) return {reinterpret_cast<char*>(&header) + at, sizeof header - at};
    return {rest.front().data + (at - sizeof header), sizeof header + rest.front().bytes - at};
  }
  void begin() {
    at = 0;
    if (!rest.empty() && rest.front().sends) header = {rest.front().kind, rest.front().bytes};
  }
  // False: it does not match.
  bool advance(std::size_t n) {
    at += n;
    const Message& m = rest.front();
    if (at == sizeof header && (header.kind != m.kind || header.bytes != m.bytes)) return false;
    if (at == sizeof header + m.bytes) {
      rest.pop_front();
      begin();
    }
    return true;
  }
};

sockaddr_un address_of(const std::string& name, int rank, socklen_t& length) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  const std::string text = name + "/" + std::to_string(rank);
  std::memcpy(a.sun_path + 1, text.data(), text.size());  // after a zero: not a file
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return a;
}

}  // namespace

Links::~Links() {
  for (int s : sockets_) {
    if (s >= 0) close(s);
  }
}

bool Links::accept_higher(int listener, const std::atomic<bool>& stop) {
  for (std::size_t missing = sockets_.size() - 1 - static_cast<std::size_t>(rank_); missing > 0;) {
    pollfd p{listener, POLLIN, 0};
    if (stop) return false;
    if (poll(&p, 1, 2) <= 0) continue;
    const int s = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    int peer = 0;
    if (s < 0 || recv(s, &peer, sizeof peer, MSG_WAITALL) != sizeof peer) continue;
    sockets_[static_cast<std::size_t>(peer)] = s;
    --missing;
  }
  return true;
}

bool Links::connect_lower(const std::string& name, const std::atomic<bool>& stop) {
  for (int r = 0; r < rank_; ++r) {
    socklen_t length = 0;
    const sockaddr_un a = address_of(name, r, length);
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (::connect(s, reinterpret_cast<const sockaddr*>(&a), length) != 0) {
      if (stop) return close(s), false;
      usleep(1000);
    }
    sockets_[static_cast<std::size_t>(r)] = s;
    if (send(s, &rank_, sizeof rank_, MSG_NOSIGNAL) != sizeof rank_) return false;
  }
  return true;
}

bool Links::connect(const std::string& name, const std::atomic<bool>& stop) {
  socklen_t length = 0;
  const sockaddr_un a = address_of(name, rank_, length);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ok = bind(listener, reinterpret_cast<const sockaddr*>(&a), length) == 0 &&
                  listen(listener, 64) == 0 && connect_lower(name, stop) &&
                  accept_higher(listener, stop);
  close(listener);
  return ok;
}

Outcome Links::exchange(const std::vector<Message>& messages, const std::atomic<bool>& stop) {
  std::vector<Way> out(sockets_.size()), in(sockets_.size());
  std::deque<Message> to_self;
  for (const Message& m : messages) {
    const auto peer = static_cast<std::size_t>(m.peer);
    if (m.peer != rank_) (m.sends ? out : in)[peer].rest.push_back(m);
    if (m.peer == rank_ && m.sends) to_self.push_back(m);
  }
  for (const Message& m : messages) {
    if (m.peer != rank_ || m.sends) continue;
    std::memmove(m.data, to_self.front().data, m.bytes);
    to_self.pop_front();
  }
  for (Way& w : out) w.begin();
  while (!stop) {
    std::vector<pollfd> polls;
    std::vector<std::size_t> peers;
    for (std::size_t r = 0; r < sockets_.size(); ++r) {
      const int wanted = (in[r].rest.empty() ? 0 : POLLIN) | (out[r].rest.empty() ? 0 : POLLOUT);
      if (!wanted) continue;
      polls.push_back({sockets_[r], static_cast<short>(wanted), 0});
      peers.push_back(r);
    }
    if (polls.empty()) return Outcome::kDone;
    if (poll(polls.data(), polls.size(), 2) <= 0) continue;
    for (std::size_t i = 0; i < polls.size(); ++i) {
      for (const bool sends : {false, true}) {
        Way& way = (sends ? out : in)[peers[i]];
        const int ready = sends ? POLLOUT : POLLIN;
        if (way.rest.empty() || !(polls[i].revents & (ready | POLLHUP | POLLERR))) continue;
        const auto [data, bytes] = way.next();
        const ssize_t n = sends ? send(polls[i].fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                                : recv(polls[i].fd, data, bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n <= 0) return Outcome::kPeerGone;
        if (way.advance(static_cast<std::size_t>(n))) continue;
        while (!stop) usleep(1000);
      }
    }
  }
  return Outcome::kStopped;
}

}  // namespace tenon::fake
