// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/tcp_store.h"

#include <mutex>

#include "distributed/store/tcp_server.h"

namespace tenon::distributed {

using wire::Kind;
using wire::Outcome;
using wire::Reader;
using wire::Writer;

// One connection, which carries one request at a time.
struct TCPStore::Impl {
  std::string host, secret, peer;
  uint16_t port = 0;
  bool met = false;     // there was a server
  int64_t workers = 0;  // that come; 0: nobody said
  bool counted = false, all_came = false;
  std::shared_ptr<TcpServer> server;
  std::mutex lock;  // fork: the connection is the parent's
  Socket socket;

  void connect(Deadline d);
  // The answer's fields; a keyless timeout is that of the server's reply.
  Bytes ask(Writer w, const char* what, std::chrono::milliseconds timeout);
};

namespace {

Writer request(Kind kind) {
  Writer w;
  w.number(static_cast<uint8_t>(kind));
  return w;
}

// Beyond the wait that the server was asked for: the way there and back, and a busy machine.
constexpr auto kGrace = std::chrono::seconds(2);

constexpr const char *kWorkersCame = "tcp_store/came", *kAllCame = "tcp_store/all_came";

TCPStoreOptions options_of(uint16_t port, std::optional<int> workers, bool is_server,
                           std::chrono::milliseconds timeout, bool wait_workers) {
  TCPStoreOptions o;
  o.port = port;
  o.isServer = is_server;
  if (workers && *workers > 0) o.numWorkers = static_cast<std::size_t>(*workers);
  o.waitWorkers = wait_workers;
  o.timeout = timeout;
  return o;
}

}  // namespace

void TCPStore::Impl::connect(Deadline d) {
  Socket s = connect_to(host, port, d, met);
  Challenge challenge;
  recv_all(s, &challenge, sizeof challenge, d, peer);
  if (!std::equal(std::begin(kMagic), std::end(kMagic), challenge.magic))
    throw DistributedError(core::join("TCPStore: ", peer, " is not a store"));
  if (!secret.empty() && !challenge.demands_secret)
    throw DistributedError(core::join("TCPStore: ", peer, " demands no secret, and one was given"));
  if (secret.empty() && challenge.demands_secret)
    throw DistributedError(core::join("TCPStore: ", peer, " demands a secret"));
  Answer answer{{}, make_nonce(), {}};
  std::copy(std::begin(kMagic), std::end(kMagic), answer.magic);
  if (!secret.empty()) answer.proof = make_proof(secret, 'c', challenge.nonce, answer.nonce);
  send_all(s, &answer, sizeof answer, d, peer);
  uint8_t accepted = 0;
  Proof theirs;
  recv_all(s, &accepted, sizeof accepted, d, peer);
  recv_all(s, theirs.data(), theirs.size(), d, peer);
  if (!accepted ||
      (!secret.empty() && !equal(theirs, make_proof(secret, 's', challenge.nonce, answer.nonce))))
    throw DistributedError(core::join("TCPStore: ", peer, " has another secret"));
  socket = std::move(s);
  met = true;
}

Bytes TCPStore::Impl::ask(Writer w, const char* what, std::chrono::milliseconds timeout) {
  const Bytes message = w.take();
  std::lock_guard held(lock);
  const Deadline d = deadline_of(timeout) + kGrace;
  try {
    if (!socket) connect(std::min(d, deadline_of(kGrace)));
    send_all(socket, message.data(), message.size(), d, peer);
    uint32_t n = 0;
    recv_all(socket, &n, sizeof n, d, peer);
    if (n > wire::kMaxMessage || n == 0)
      throw DistributedError(core::join("TCPStore: ", peer, " sent a malformed answer"));
    Bytes answer(n);
    recv_all(socket, answer.data(), n, d, peer);
    Reader r(answer.data() + 1, n - 1);
    if (answer[0] == static_cast<uint8_t>(Outcome::Missing)) throw_timeout(what, r.keys(), timeout);
    if (answer[0] == static_cast<uint8_t>(Outcome::Fault)) throw ValueError(r.string());
    return Bytes(answer.begin() + 1, answer.end());
  } catch (const TimeoutError& e) {
    // After a wait that the server ended the connection is in order.
    if (std::string(e.what()).rfind("TCPStore:", 0) == 0) socket.close();
    throw;
  } catch (const DistributedError&) {
    socket.close();
    throw;
  }
}

TCPStore::TCPStore(std::string host, const TCPStoreOptions& options)
    : Store(options.timeout), impl_(std::make_unique<Impl>()) {
  TENON_CHECK(options.isServer || options.port != 0, ValueError,
              "TCPStore: port 0 is for the server alone");
  impl_->host = std::move(host);
  impl_->secret = options.secret;
  impl_->port = options.port;
  if (options.isServer) {
    const std::string& address = options.bindAddress.empty() ? impl_->host : options.bindAddress;
    impl_->server = std::make_shared<TcpServer>(listen_at(address, options.port), options.secret);
    impl_->port = impl_->server->port();
  }
  impl_->peer =
      core::join("the store's server at ", impl_->host, ":", static_cast<int>(impl_->port));
  impl_->connect(deadline_of(timeout_));
  if (!options.numWorkers) return;
  impl_->workers = static_cast<int64_t>(*options.numWorkers);
  if (options.waitWorkers) waitForWorkers();
}

TCPStore::TCPStore(std::string host, uint16_t port, std::optional<int> num_workers, bool is_server,
                   std::chrono::milliseconds timeout, bool wait_workers)
    : TCPStore(std::move(host), options_of(port, num_workers, is_server, timeout, wait_workers)) {}

void TCPStore::waitForWorkers() {
  if (impl_->workers == 0) return;
  if (!impl_->counted && add(kWorkersCame, 1) >= impl_->workers) set(kAllCame, "1");
  impl_->counted = true;
  if (!impl_->server || impl_->all_came) return;
  try {
    wait({kAllCame}, timeout_);
    impl_->all_came = true;
    deleteKey(kAllCame);
  } catch (const TimeoutError&) {
    throw TimeoutError(core::join("TCPStore: ", add(kWorkersCame, 0), " of ", impl_->workers,
                                  " workers came within ", static_cast<long>(timeout_.count()),
                                  " ms"));
  }
}

TCPStore::TCPStore(std::unique_ptr<Impl> impl, std::chrono::milliseconds timeout)
    : Store(timeout), impl_(std::move(impl)) {}
TCPStore::~TCPStore() = default;

std::shared_ptr<Store> TCPStore::clone() {
  auto impl = std::make_unique<Impl>();
  impl->host = impl_->host;
  impl->secret = impl_->secret;
  impl->peer = impl_->peer;
  impl->port = impl_->port;
  impl->met = true;
  impl->workers = impl_->workers;
  impl->counted = impl_->counted;
  impl->all_came = impl_->all_came;
  impl->server = impl_->server;
  return std::shared_ptr<Store>(new TCPStore(std::move(impl), timeout_));
}

const std::string& TCPStore::getHost() const noexcept { return impl_->host; }
uint16_t TCPStore::getPort() const noexcept { return impl_->port; }

void TCPStore::set(const std::string& key, const Bytes& value) {
  impl_->ask(std::move(request(Kind::Set).bytes(key).bytes(value)), "set", timeout_);
}
Bytes TCPStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  const Bytes b =
      impl_->ask(std::move(request(Kind::CompareSet).bytes(key).bytes(expected).bytes(desired)),
                 "compareSet", timeout_);
  return Reader(b.data(), b.size()).bytes();
}
Bytes TCPStore::get(const std::string& key) {
  const Bytes b = impl_->ask(
      std::move(request(Kind::Get).bytes(key).number(int64_t{timeout_.count()})), "get", timeout_);
  return Reader(b.data(), b.size()).bytes();
}
int64_t TCPStore::add(const std::string& key, int64_t value) {
  const Bytes b =
      impl_->ask(std::move(request(Kind::Add).bytes(key).number(value)), "add", timeout_);
  return Reader(b.data(), b.size()).number<int64_t>();
}
void TCPStore::append(const std::string& key, const Bytes& value) {
  impl_->ask(std::move(request(Kind::Append).bytes(key).bytes(value)), "append", timeout_);
}
bool TCPStore::deleteKey(const std::string& key) {
  const Bytes b = impl_->ask(std::move(request(Kind::Delete).bytes(key)), "deleteKey", timeout_);
  return Reader(b.data(), b.size()).number<uint8_t>() != 0;
}
bool TCPStore::check(const std::vector<std::string>& keys) {
  const Bytes b = impl_->ask(std::move(request(Kind::Check).keys(keys)), "check", timeout_);
  return Reader(b.data(), b.size()).number<uint8_t>() != 0;
}
int64_t TCPStore::getNumKeys() {
  const Bytes b = impl_->ask(request(Kind::Count), "getNumKeys", timeout_);
  return Reader(b.data(), b.size()).number<int64_t>();
}
void TCPStore::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  impl_->ask(std::move(request(Kind::Wait).number(int64_t{timeout.count()}).keys(keys)), "wait",
             timeout);
}

}  // namespace tenon::distributed
