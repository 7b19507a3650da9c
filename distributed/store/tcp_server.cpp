// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/store/tcp_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/block_signals.h"

namespace tenon::distributed {

using wire::Kind;
using wire::Outcome;
using wire::Reader;
using wire::Writer;

namespace {

Writer outcome(Outcome o) {
  Writer w;
  w.number(static_cast<uint8_t>(o));
  return w;
}

Deadline now() { return std::chrono::steady_clock::now(); }

}  // namespace

TcpServer::TcpServer(Socket listener, std::string secret)
    : listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      port_(port_of(listener_)),
      secret_(std::move(secret)) {
  TENON_CHECK(wake_, BackendError, "TCPStore: eventfd failed");
  const core::BlockSignals blocked;
  thread_ = std::thread([this] { run(); });
}

TcpServer::~TcpServer() {
  stop_ = true;
  const uint64_t one = 1;
  (void)!::write(wake_.fd(), &one, sizeof one);
  thread_.join();
}

void TcpServer::run() {
  while (!stop_) {
    try {
      poll_once();
    } catch (const std::bad_alloc&) {  // whoever sends the most is the likeliest cause
      const auto largest = std::max_element(
          connections_.begin(), connections_.end(),
          [](const Connection& a, const Connection& b) { return a.in.size() < b.in.size(); });
      if (largest != connections_.end()) connections_.erase(largest);
    }
  }
}

void TcpServer::poll_once() {
  std::vector<pollfd> fds = {{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  Deadline next = now() + std::chrono::seconds(10);
  for (const Connection& c : connections_) {
    const bool unsent = c.out.size() > c.sent;
    const bool reads = c.out.size() - c.sent < kMaxUnsent;
    fds.push_back(
        {c.socket.fd(), static_cast<short>((reads ? POLLIN : 0) | (unsent ? POLLOUT : 0)), 0});
    if (!c.greeted || c.waiting || !c.in.empty()) next = std::min(next, c.until);
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(next - now()).count() + 1;
  if (::poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(ms, 0))) < 0) return;
  auto at = fds.begin() + 2;
  for (auto c = connections_.begin(); c != connections_.end(); ++at) {
    bool keep = (at->revents & POLLOUT) == 0 || flush(*c);
    if (keep && (at->revents & (POLLIN | POLLHUP | POLLERR)) != 0) keep = receive(*c);
    keep = keep && serve_timeouts(*c, now());
    c = keep ? std::next(c) : connections_.erase(c);
  }
  end_waits();
  if (fds[1].revents) accept_all();
}

void TcpServer::accept_all() {
  for (;;) {
    Socket s(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!s) {
      // Without this, a full table of files would keep the thread busy.
      if (errno == EMFILE || errno == ENFILE)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    make_room();
    if (connections_.size() >= kMaxConnections) return;
    Connection& c = connections_.emplace_back();
    c.socket = std::move(s);
    c.nonce = make_nonce();
    c.until = now() + kGreeting;
    Challenge challenge{{}, static_cast<unsigned char>(!secret_.empty()), c.nonce};
    std::copy(std::begin(kMagic), std::end(kMagic), challenge.magic);
    const auto* p = reinterpret_cast<const uint8_t*>(&challenge);
    c.out.assign(p, p + sizeof challenge);
    if (!flush(c)) connections_.pop_back();
  }
}

void TcpServer::make_room() {
  if (connections_.size() < kMaxConnections) return;
  const auto stranger = std::find_if(connections_.begin(), connections_.end(),
                                     [](const Connection& c) { return !c.greeted; });
  if (stranger != connections_.end()) connections_.erase(stranger);
}

bool TcpServer::receive(Connection& c) {
  uint8_t buffer[1 << 16];
  const ssize_t n = ::recv(c.socket.fd(), buffer, sizeof buffer, 0);
  if (n == 0) return false;
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  // Who waits for an answer has nothing to say.
  if (c.waiting && c.in.size() + static_cast<std::size_t>(n) > sizeof buffer) return false;
  c.in.insert(c.in.end(), buffer, buffer + n);
  if (c.greeted && !c.waiting) c.until = now() + kSlow;
  return parse(c);
}

bool TcpServer::flush(Connection& c) {
  while (c.sent < c.out.size()) {
    const ssize_t n =
        ::send(c.socket.fd(), c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    c.sent += static_cast<std::size_t>(n);
  }
  c.out.clear();
  c.sent = 0;
  return true;
}

bool TcpServer::greet(Connection& c) {
  const auto& answer = *reinterpret_cast<const Answer*>(c.in.data());
  const bool speaks = std::equal(std::begin(kMagic), std::end(kMagic), answer.magic);
  if (!speaks) return false;
  const bool known =
      secret_.empty() || equal(answer.proof, make_proof(secret_, 'c', c.nonce, answer.nonce));
  const Proof mine =
      known && !secret_.empty() ? make_proof(secret_, 's', c.nonce, answer.nonce) : Proof{};
  c.out.push_back(known ? 1 : 0);
  c.out.insert(c.out.end(), mine.begin(), mine.end());
  c.in.erase(c.in.begin(), c.in.begin() + sizeof(Answer));
  c.greeted = true;
  return flush(c) && known;
}

bool TcpServer::parse(Connection& c) {
  if (!c.greeted) {
    if (c.in.size() < sizeof(Answer)) return true;
    if (!greet(c)) return false;
    c.until = now() + kSlow;
  }
  while (!c.waiting && c.in.size() >= 4) {
    uint32_t n;
    std::memcpy(&n, c.in.data(), sizeof n);
    if (n > wire::kMaxMessage) return false;
    if (c.in.size() - 4 < n) break;
    try {
      answer_request(c, Reader(c.in.data() + 4, n));
    } catch (const DistributedError&) {
      return false;  // of a malformed message
    } catch (const Error& e) {
      Writer w = outcome(Outcome::Fault);
      w.bytes(std::string(e.what()));
      reply(c, std::move(w));
    }
    c.in.erase(c.in.begin(), c.in.begin() + 4 + n);
  }
  return flush(c);
}

void TcpServer::answer_request(Connection& c, Reader r) {
  const auto kind = static_cast<Kind>(r.number<uint8_t>());
  Writer w = outcome(Outcome::Done);
  if (kind == Kind::Wait) {
    const auto ms = r.number<int64_t>();
    return begin_wait(c, r.keys(), ms, false);
  }
  if (kind == Kind::Check) {
    w.number(static_cast<uint8_t>(keys_.missing(r.keys()).empty()));
    return reply(c, std::move(w));
  }
  if (kind == Kind::Count) {
    w.number(keys_.size());
    return reply(c, std::move(w));
  }
  const std::string key = r.string();
  if (kind == Kind::Get) return begin_wait(c, {key}, r.number<int64_t>(), true);
  if (kind == Kind::Set) {
    keys_.set(key, r.bytes());
  } else if (kind == Kind::CompareSet) {
    const Bytes expected = r.bytes();
    w.bytes(keys_.compare_set(key, expected, r.bytes()));
  } else if (kind == Kind::Add) {
    w.number(keys_.add(key, r.number<int64_t>()));
  } else if (kind == Kind::Append) {
    const Bytes value = r.bytes();
    const Bytes* now = keys_.find(key);
    TENON_CHECK(value.size() + (now ? now->size() : 0) <= wire::kMaxValue, ValueError,
                "append: the value of key '", key, "' has more than ", wire::kMaxValue, " bytes");
    keys_.append(key, value);
  } else if (kind == Kind::Delete) {
    w.number(static_cast<uint8_t>(keys_.erase(key)));
  } else {
    throw DistributedError("TCPStore: a message is of no known kind");
  }
  changed_ = true;
  reply(c, std::move(w));
}

void TcpServer::begin_wait(Connection& c, std::vector<std::string> keys, int64_t ms, bool to_get) {
  c.waiting = true;
  c.waits_to_get = to_get;
  c.keys = std::move(keys);
  c.until = deadline_of(std::chrono::milliseconds(std::max<int64_t>(ms, 0)));
  changed_ = true;  // they may be there
}

void TcpServer::end_waits() {
  while (std::exchange(changed_, false)) {
    for (auto c = connections_.begin(); c != connections_.end();) {
      bool keep = true;
      if (c->waiting && keys_.missing(c->keys).empty()) {
        Writer w = outcome(Outcome::Done);
        if (c->waits_to_get) w.bytes(*keys_.find(c->keys[0]));
        c->waiting = false;
        reply(*c, std::move(w));
        keep = parse(*c);  // what came meanwhile
      }
      c = keep ? std::next(c) : connections_.erase(c);
    }
  }
}

bool TcpServer::serve_timeouts(Connection& c, Deadline now) {
  if (now < c.until) return true;
  if (!c.waiting) return c.greeted && c.in.empty();
  const std::vector<std::string> missing = keys_.missing(c.keys);
  if (missing.empty()) return true;  // end_waits answers
  Writer w = outcome(Outcome::Missing);
  w.keys(missing);
  c.waiting = false;
  reply(c, std::move(w));
  return parse(c);
}

void TcpServer::reply(Connection& c, Writer w) {
  const Bytes b = w.take();
  c.out.insert(c.out.end(), b.begin(), b.end());
}

}  // namespace tenon::distributed
