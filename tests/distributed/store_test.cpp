// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What every store does, and what only some do.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "tenon/distributed/file_store.h"
#include "tenon/distributed/store.h"
#include "tenon/distributed/tcp_store.h"

namespace tenon::distributed {
namespace {

using namespace std::chrono_literals;
using StorePtr = std::shared_ptr<Store>;

std::string temporary() {
  std::string path = "/tmp/tenon_store_XXXXXX";
  ::close(::mkstemp(path.data()));
  ::unlink(path.c_str());
  return path;
}

StorePtr make(const std::string& kind) {
  if (kind == "hash") return std::make_shared<HashStore>(500ms);
  if (kind == "file") return std::make_shared<FileStore>(temporary(), 0, 500ms);
  if (kind == "prefix")
    return std::make_shared<PrefixStore>("p", std::make_shared<HashStore>(500ms));
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.timeout = 500ms;
  return std::make_shared<TCPStore>("127.0.0.1", options);
}

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

class EveryStore : public testing::TestWithParam<const char*> {
 protected:
  ~EveryStore() override {
    if (const auto* file = dynamic_cast<FileStore*>(store.get())) ::unlink(file->getPath().c_str());
  }
  StorePtr store = make(GetParam());
};

TEST_P(EveryStore, KeepsBytes) {
  const std::string key("a\0b", 3);
  const std::vector<uint8_t> bytes = {0, 1, 255, 0, '/', '\n'};
  store->set(key, bytes);
  EXPECT_EQ(store->get(key), bytes);
  store->set("empty", "");
  EXPECT_EQ(store->get_to_str("empty"), "");
  store->set(key, "new");
  EXPECT_EQ(store->get_to_str(key), "new");
  EXPECT_EQ(store->getNumKeys(), 2);
  std::string large(3 << 20, 'x');
  store->set("large", large);
  EXPECT_EQ(store->get_to_str("large"), large);
}

TEST_P(EveryStore, AddsAndDeletes) {
  EXPECT_EQ(store->add("n", 3), 3);
  EXPECT_EQ(store->add("n", -5), -2);
  EXPECT_EQ(store->get_to_str("n"), "-2");
  EXPECT_TRUE(store->check({"n"}));
  EXPECT_FALSE(store->check({"n", "m"}));
  EXPECT_TRUE(store->deleteKey("n"));
  EXPECT_FALSE(store->deleteKey("n"));
  EXPECT_EQ(store->getNumKeys(), 0);
  store->set("text", "12x");
  EXPECT_THROW(store->add("text", 1), ValueError);
  EXPECT_EQ(store->get_to_str("text"), "12x");
  store->set("max", std::to_string(INT64_MAX));
  EXPECT_THROW(store->add("max", 1), ValueError);
}

TEST_P(EveryStore, Appends) {
  store->append("k", "ab");
  store->append("k", std::vector<uint8_t>{0, 'c'});
  store->append("k", "");
  EXPECT_EQ(store->get_to_str("k"), std::string("ab\0c", 4));
  store->append("empty", "");
  EXPECT_TRUE(store->check({"empty"}));
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([mine = store->clone()] {
      for (int i = 0; i < 20; ++i) mine->append("many", "xy");
    });
  }
  for (auto& t : threads) t.join();
  std::string expected;
  for (int i = 0; i < 160; ++i) expected += "xy";
  EXPECT_EQ(store->get_to_str("many"), expected);
}

TEST_P(EveryStore, SetsAndGetsMany) {
  store->multiSet({"a", "b"}, {{1}, {2, 3}});
  const std::vector<std::vector<uint8_t>> expected = {{2, 3}, {1}};
  EXPECT_EQ(store->multiGet({"b", "a"}), expected);
  EXPECT_NE(message([&] {
              store->multiSet({"a", "b"}, {{1}});
            }).find("1 values for 2 keys"),
            std::string::npos);
  EXPECT_THROW(store->multiGet({"a", "never"}), TimeoutError);
}

TEST_P(EveryStore, ComparesAndSets) {
  EXPECT_EQ(store->compareSet("k", "other", "v"), "other");
  EXPECT_FALSE(store->check({"k"}));
  EXPECT_EQ(store->compareSet("k", "", "v"), "v");
  EXPECT_EQ(store->compareSet("k", "w", "x"), "v");
  EXPECT_EQ(store->compareSet("k", "v", "x"), "x");
  EXPECT_EQ(store->get_to_str("k"), "x");
}

TEST_P(EveryStore, EveryWaitEndsAndNamesWhatIsMissing) {
  const auto start = std::chrono::steady_clock::now();
  store->set("here", "1");
  EXPECT_THROW(store->get("never"), TimeoutError);
  const std::string text = message([&] { store->wait({"here", "x", "y"}, 50ms); });
  EXPECT_NE(text.find("y'"), std::string::npos) << text;
  EXPECT_EQ(text.find("here'"), std::string::npos) << text;
  EXPECT_NE(text.find("50 ms"), std::string::npos) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
  EXPECT_EQ(store->get_to_str("here"), "1");  // it is of use after a timeout
}

TEST_P(EveryStore, WakesWhoWaits) {
  auto other = store->clone();
  std::thread setter([&] {
    std::this_thread::sleep_for(30ms);
    other->set("late", "yes");
  });
  store->wait({"late"}, 5s);
  EXPECT_EQ(store->get_to_str("late"), "yes");
  setter.join();
}

TEST_P(EveryStore, CountsOfManyThreadsAreExact) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, mine = store->clone()] {
      for (int i = 0; i < 50; ++i) mine->add("count", 1);
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(store->add("count", 0), 400);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryStore, testing::Values("hash", "file", "prefix", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

// Whether the request comes before or after the end of the server.
TEST(TCPStore, AWaitEndsWithTheServerAndGoesOnWithTheNext) {
  auto server = std::static_pointer_cast<TCPStore>(make("tcp"));
  TCPStoreOptions options;
  options.port = server->getPort();
  TCPStore client("127.0.0.1", options);
  std::thread end([&] {
    server->get("waits");
    server.reset();
  });
  client.set("waits", "1");
  const auto start = std::chrono::steady_clock::now();
  const std::string text = message([&] { client.wait({"never"}, 60s); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  end.join();
  EXPECT_NE(text.find(core::join("127.0.0.1:", int{options.port})), std::string::npos) << text;
  options.isServer = true;
  TCPStore next("127.0.0.1", options);
  client.set("k", "v");
  EXPECT_EQ(next.get_to_str("k"), "v");
}

TEST(TCPStore, WaitsForItsWorkersWhenAskedTo) {
  TCPStore server("127.0.0.1", 0, /*num_workers=*/2, /*is_server=*/true, 300ms,
                  /*wait_workers=*/false);
  const std::string text = message([&] { server.waitForWorkers(); });
  EXPECT_NE(text.find("1 of 2 workers came within 300 ms"), std::string::npos) << text;
  TCPStore client("127.0.0.1", server.getPort(), 2);
  client.waitForWorkers();  // others do not wait
  server.waitForWorkers();
  EXPECT_EQ(server.getNumKeys(), 1);  // that which counts them
}

TEST(FileStore, CountsKeysOfTheProgram) {
  FileStore store(temporary(), 2, 5s);
  EXPECT_EQ(store.getNumKeys(), 0);
  store.set("k", "v");
  EXPECT_EQ(store.getNumKeys(), 1);
}

TEST(PrefixStore, KeepsJobsApart) {
  auto base = std::make_shared<HashStore>(100ms);
  PrefixStore a("a", base), b("b", base);
  a.set("k", "1");
  EXPECT_FALSE(b.check({"k"}));
  EXPECT_EQ(base->get_to_str("a/k"), "1");
}

TEST(FileStore, TellsAFileOfAnEarlierJob) {
  const std::string path = temporary();
  {
    FileStore first(path, 2, 200ms), second(path, 2, 200ms);
    EXPECT_NE(message([&] { FileStore third(path, 2, 200ms); }).find("earlier job"),
              std::string::npos);
    first.set("k", "v");
    EXPECT_EQ(second.get_to_str("k"), "v");
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);  // the last one removes it
  EXPECT_THROW(FileStore("/nowhere/at/all", 1), ValueError);
  FILE* f = std::fopen(path.c_str(), "w");
  std::fputs("these are the words of a poem, not records", f);
  std::fclose(f);
  EXPECT_THROW(FileStore(path, 2, 200ms), ValueError);
  ::unlink(path.c_str());
}

// Nobody waits for the process before the file is looked at, so that it is still in the table.
TEST(FileStore, IsRemovedByTheLastOfThoseThatAreLeft) {
  const std::string path = temporary();
  auto first = std::make_unique<FileStore>(path, 3, 5s);
  const pid_t pid = ::fork();
  if (pid == 0) {
    FileStore killed(path, 3, 5s);
    ::raise(SIGKILL);
  }
  siginfo_t end{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(end.si_status, SIGKILL);
  {
    FileStore third(path, 3, 5s);
    third.set("k", "v");
  }
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);  // `first` is there
  EXPECT_EQ(first->get_to_str("k"), "v");
  first.reset();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace tenon::distributed
