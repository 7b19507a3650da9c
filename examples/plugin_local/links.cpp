// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "links.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tenon/sdk/parallel.h"

namespace local {
namespace {

struct Head {
  uint64_t channel, bytes;
};

[[noreturn]] void fail(const std::string& text) { throw std::runtime_error(text); }
std::string name_of(int rank) { return "rank " + std::to_string(rank); }

double setting(const char* name) {
  const auto text = tenon::sdk::setting(name);
  return text ? std::atof(std::string(*text).c_str()) : 0;
}

// A name of Linux's own list of sockets, which leaves no file: it begins with a zero.
sockaddr_un address_of(const std::string& name, socklen_t* length) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const size_t n = std::min(name.size(), sizeof out.sun_path - 1);
  std::memcpy(out.sun_path + 1, name.data(), n);
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  return out;
}

int listen_at(const std::string& name) {
  socklen_t length = 0;
  const sockaddr_un at = address_of(name, &length);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), length) != 0 || ::listen(fd, 64) != 0)
    fail("cannot listen at @" + name);
  return fd;
}

int connect_to(const std::string& name) {
  socklen_t length = 0;
  const sockaddr_un at = address_of(name, &length);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), length) != 0)
    fail("cannot connect to @" + name);
  return fd;
}

bool write_all(int fd, const void* data, size_t n) {
  const auto* p = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t sent = ::send(fd, p, n, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    p += sent;
    n -= static_cast<size_t>(sent);
  }
  return true;
}

bool read_all(int fd, void* data, size_t n) {
  return n == 0 || ::recv(fd, data, n, MSG_WAITALL) == static_cast<ssize_t>(n);
}

}  // namespace

// Each rank listens, tells where, connects to the ranks below it, and takes in those above.
Links::Links(const tn_group_options& o)
    : rank_(o.rank),
      sockets_(static_cast<size_t>(o.size), -1),
      busy_until_(sockets_.size()),
      gone_(sockets_.size()) {
  const tenon::sdk::Rendezvous place(*o.rendezvous, o.timeout_ms);
  const std::string mine = "tenon-local-" + std::to_string(::getpid()) + "-" +
                           std::to_string(reinterpret_cast<uintptr_t>(this));
  const int listener = listen_at(mine);
  place.set("local/" + std::to_string(rank_), mine);
  for (int r = 0; r < rank_; ++r) {
    sockets_[r] = connect_to(place.get("local/" + std::to_string(r)));
    write_all(sockets_[r], &rank_, sizeof rank_);
  }
  for (int i = rank_ + 1; i < o.size; ++i) {
    pollfd wait{listener, POLLIN, 0};
    int32_t who = -1;
    if (::poll(&wait, 1, static_cast<int>(std::min<int64_t>(o.timeout_ms, 1 << 30))) != 1)
      fail("not all ranks came");
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (!read_all(fd, &who, sizeof who) || who <= rank_ || who >= o.size) fail("a stranger came");
    sockets_[who] = fd;
  }
  ::close(listener);
  const tenon::sdk::BlockSignals blocked;
  reader_ = std::thread([this] { read(); });
}

Links::~Links() {
  abort();
  reader_.join();
  for (int fd : sockets_) ::close(fd);
}

void Links::abort() {
  std::lock_guard held(lock_);
  aborted_ = true;
  for (int fd : sockets_) ::shutdown(fd, SHUT_RDWR);
  changed_.notify_all();
}

void Links::send(int to, uint64_t channel, const void* data, size_t bytes) {
  const Head head{channel, bytes};
  std::lock_guard held(sending_);
  if (!write_all(sockets_[to], &head, sizeof head) || !write_all(sockets_[to], data, bytes))
    fail("the connection to " + name_of(to) + " is lost");
}

bool Links::read_message(int from) {
  static const double delay = setting("LOCAL_DELAY_US"), bandwidth = setting("LOCAL_MB_PER_S");
  Head head{};
  if (!read_all(sockets_[from], &head, sizeof head)) return false;
  Message m{from, head.channel, std::string(head.bytes, '\0'), {}};
  if (!read_all(sockets_[from], m.bytes.data(), head.bytes)) return false;
  const double on_wire = bandwidth > 0 ? static_cast<double>(head.bytes) / bandwidth : 0;  // us
  const auto start = std::max(Clock::now(), busy_until_[from]);
  busy_until_[from] = start + std::chrono::microseconds(static_cast<int64_t>(on_wire));
  m.due = busy_until_[from] + std::chrono::microseconds(static_cast<int64_t>(delay));
  std::lock_guard held(lock_);
  box_.push_back(std::move(m));
  return true;
}

void Links::read() {
  for (;;) {
    std::vector<pollfd> waits;
    std::vector<int> ranks;
    for (int r = 0; r < size(); ++r) {
      if (r == rank_ || gone_[r]) continue;
      waits.push_back({sockets_[r], POLLIN, 0});
      ranks.push_back(r);
    }
    if (waits.empty()) return;
    ::poll(waits.data(), waits.size(), -1);
    for (size_t i = 0; i < waits.size(); ++i) {
      if (!waits[i].revents || read_message(ranks[i])) continue;
      std::lock_guard held(lock_);
      gone_[ranks[i]] = true;
    }
    changed_.notify_all();
  }
}

Message Links::take(int from, uint64_t channel, Clock::time_point end) {
  std::unique_lock held(lock_);
  for (;;) {
    const auto it = std::find_if(box_.begin(), box_.end(), [&](const Message& m) {
      return m.channel == channel && (from == TN_COLLECTIVE_ANY_SOURCE || m.from == from);
    });
    const auto now = Clock::now();
    if (it != box_.end() && it->due <= now) {
      Message out = std::move(*it);
      box_.erase(it);
      return out;
    }
    if (aborted_) fail("the group was aborted");
    if (from >= 0 && it == box_.end() && gone_[from])
      fail("the connection to " + name_of(from) + " is lost");
    if (now >= end)
      fail("nothing came from " + (from < 0 ? "any rank" : name_of(from)) + " in time");
    changed_.wait_until(held, it == box_.end() ? end : std::min(end, it->due));
  }
}

int Links::receive(int from, uint64_t channel, void* data, size_t bytes, Clock::time_point end) {
  const Message m = take(from, channel, end);
  if (m.bytes.size() != bytes)
    fail(name_of(m.from) + " sent " + std::to_string(m.bytes.size()) + " bytes; expected " +
         std::to_string(bytes) + " bytes on " + name_of(rank_));
  if (bytes) std::memcpy(data, m.bytes.data(), bytes);
  return m.from;
}

}  // namespace local
