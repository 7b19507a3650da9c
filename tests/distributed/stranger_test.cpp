// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whoever reaches the port of a TCPStore: its bytes, its silence, its secret.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tenon/distributed/tcp_store.h"

namespace tenon::distributed {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<TCPStore> serve(const std::string& secret = "") {
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  o.timeout = 5s;
  o.secret = secret;
  return std::make_shared<TCPStore>("127.0.0.1", o);
}

struct Stranger {
  explicit Stranger(uint16_t port) : fd(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = ::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
  }
  Stranger(const Stranger&) = delete;
  ~Stranger() { ::close(fd); }
  void say(const std::string& s) { (void)!::send(fd, s.data(), s.size(), MSG_NOSIGNAL); }
  // Speaks the protocol's first words, without a secret.
  void greet() {
    char challenge[21];
    (void)!::recv(fd, challenge, sizeof challenge, MSG_WAITALL);
    say("TNS1" + std::string(48, 'x'));
    char verdict[33];
    (void)!::recv(fd, verdict, sizeof verdict, MSG_WAITALL);
  }
  bool closed() {
    timeval t{2, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    char buffer[256];
    for (;;) {
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return n == 0 || errno == ECONNRESET;
    }
  }
  int fd;
  bool connected;
};

void expect_served(TCPStore& store) {
  store.set("k", "v");
  EXPECT_EQ(store.clone()->get_to_str("k"), "v");
}

TEST(Stranger, GarbageIsCutOff) {
  auto store = serve();
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    Stranger s(store->getPort());
    ASSERT_TRUE(s.connected);
    if (i % 2) s.greet();
    std::string bytes(random() % 300, 0);
    for (char& c : bytes) c = static_cast<char>(random());
    s.say(bytes);
  }
  Stranger http(store->getPort());
  http.say("GET / HTTP/1.1\r\nHost: somewhere-with-a-long-name.example\r\n\r\n");
  EXPECT_TRUE(http.closed());
  expect_served(*store);
}

TEST(Stranger, HugeLengthsAllocateNothing) {
  auto store = serve();
  Stranger huge(store->getPort());
  huge.greet();
  huge.say(std::string("\xff\xff\xff\xff", 4));
  EXPECT_TRUE(huge.closed());
  // Within a message a key of four gigabytes, and a list of as many keys.
  for (const char kind : {'\x01', '\x06'}) {
    Stranger inner(store->getPort());
    inner.greet();
    inner.say(std::string("\x05\x00\x00\x00", 4) + kind + "\xff\xff\xff\xff");
    EXPECT_TRUE(inner.closed());
  }
  expect_served(*store);
}

TEST(Stranger, SilenceAndHalfSentencesHoldUpNobody) {
  auto store = serve();
  std::vector<std::unique_ptr<Stranger>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<Stranger>(store->getPort()));
    if (i % 2) {
      silent.back()->greet();
      silent.back()->say(std::string("\x50\0\0\0ab", 6));
    }
  }
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) expect_served(*store);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
}

TEST(Secret, IsDemandedOnBothSides) {
  auto store = serve("swordfish");
  TCPStoreOptions o;
  o.port = store->getPort();
  o.timeout = 1s;
  EXPECT_THROW(TCPStore("127.0.0.1", o), DistributedError);
  o.secret = "starfish";
  EXPECT_THROW(TCPStore("127.0.0.1", o), DistributedError);
  o.secret = "swordfish";
  TCPStore known("127.0.0.1", o);
  known.set("k", "v");
  EXPECT_EQ(store->get_to_str("k"), "v");
  Stranger stranger(store->getPort());
  stranger.greet();
  EXPECT_TRUE(stranger.closed());
  auto open = serve();
  o.port = open->getPort();
  EXPECT_THROW(TCPStore("127.0.0.1", o), DistributedError);
}

TEST(TCPStore, CountsItsWorkers) {
  auto store = serve();
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  o.timeout = 200ms;
  o.numWorkers = 2;
  try {
    TCPStore alone("127.0.0.1", o);
    FAIL();
  } catch (const TimeoutError& e) {
    EXPECT_NE(std::string(e.what()).find("1 of 2 workers"), std::string::npos) << e.what();
  }
  o.port = store->getPort();
  EXPECT_THROW(TCPStore("127.0.0.1", o), BackendError);  // the port is in use
}

TEST(TCPStore, SaysThatItsServerIsGone) {
  auto store = serve();
  TCPStoreOptions o;
  o.port = store->getPort();
  o.timeout = 300ms;
  TCPStore client("127.0.0.1", o);
  std::thread ends([&] {
    std::this_thread::sleep_for(50ms);
    store.reset();
  });
  EXPECT_THROW(client.get("never"), DistributedError);
  ends.join();
  EXPECT_THROW(client.set("k", "v"), DistributedError);
}

}  // namespace
}  // namespace tenon::distributed
