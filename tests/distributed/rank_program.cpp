// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   distributed_rank SCENARIO RANK SIZE INIT_METHOD [HOW OPERATION]
// One rank of a job that processes_test.cpp starts. What it prints is compared there.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tenon/distributed.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;
using namespace tenon::distributed;
using namespace std::chrono_literals;

int g_rank, g_size;

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

int hello(const std::string& method, const std::string& group) {
  init_process_group("gloo", method, g_size, g_rank, group, 10s);
  say(core::join("Hello from process ", get_rank(), " (out of ", get_world_size(), ")!"));
  Tensor x = full({1}, get_rank(), kLong);
  all_reduce(x);
  say(core::join("sum ", static_cast<long>(x.item<int64_t>())));
  Tensor t = full({10}, get_rank(), kFloat);
  if (get_rank() == 0) send(arange(10, kFloat), 1);
  if (get_rank() == 1) {
    recv(t, 0);
    if (!equal(t, arange(10, kFloat))) return 1;
  }
  const ProcessGroupPtr pair = new_group({1, 0});
  if ((get_rank() < 2) != (pair != nullptr)) return 1;
  if (pair) {
    Tensor y = full({1}, get_rank() + 1, kLong);
    all_reduce(y, ReduceOp::SUM, pair);
    if (y.item<int64_t>() != 3) return 1;
    destroy_process_group(pair);
  }
  try {
    init_process_group("gloo", method, g_size, g_rank);
    return 1;
  } catch (const ValueError&) {
  }
  destroy_process_group();
  return is_initialized() ? 1 : 0;
}

void run(const std::string& op) {
  Tensor t = ones({1000}, kFloat);
  std::vector<Tensor> list;
  list.reserve(static_cast<std::size_t>(g_size));
  for (int r = 0; r < g_size; ++r) list.push_back(ones({1000}, kFloat));
  if (op == "all_reduce") all_reduce(t);
  if (op == "reduce") reduce(t, 0);
  if (op == "broadcast") broadcast(t, 1);
  if (op == "all_gather") all_gather(list, t);
  if (op == "gather") gather(t, g_rank == 0 ? list : std::vector<Tensor>());
  if (op == "scatter") scatter(t, g_rank == 1 ? list : std::vector<Tensor>(), 1);
  if (op == "reduce_scatter") reduce_scatter(t, list);
  if (op == "all_to_all") all_to_all(list, std::vector<Tensor>(list));
  if (op == "barrier") barrier();
}

// "rank 1 is at fault", or what was thrown instead.
std::string cause_of(const DistributedError& e, int expected) {
  if (e.ranks() != std::vector<int>{expected}) return e.what();
  return core::join("rank ", expected, " is at fault");
}

void expect_error(const std::string& op, int lost) {
  try {
    run(op);
    barrier();
    say("no error");
  } catch (const DistributedError& e) {
    say(cause_of(e, lost));
  }
}

// Rank 1 is in the operation, and what it sent is under way, when it ends: rank 2 comes later.
void be_lost_inside(const std::string& how, const std::string& op) {
  if (op != "all_reduce") throw std::runtime_error("only all_reduce");
  const Tensor t = ones({1 << 20}, kFloat);
  const WorkPtr work = all_reduce(t, ReduceOp::SUM, nullptr, /*async_op=*/true);
  default_group()->getStore()->set("inside", "1");
  raise(how == "kill_inside" ? SIGKILL : SIGSTOP);
  work->wait();
}

// As a network that is gone: every connection of this process, to ranks and to the store.
void cut_connections() {
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
        peer.sin_family == AF_INET)
      shutdown(fd, SHUT_RDWR);
  }
}

int be_cut_off(const std::string& op) {
  cut_connections();
  try {
    run(op);
    barrier();
    say("no error");
  } catch (const DistributedError& e) {
    say("cut off");
  }
  return 0;
}

// Ends in a way of its own. One that was stopped goes on when the others have given it up, and then
// must not hang.
int be_lost(const std::string& how, const std::string& op) {
  if (how == "kill") raise(SIGKILL);
  if (how == "exit") _exit(0);
  if (how == "cut") return be_cut_off(op);
  if (how == "throw") throw std::runtime_error("a fault of the program's own");
  const std::shared_ptr<Store> store = default_group()->getStore();
  store->set("pid", std::to_string(getpid()));
  try {
    if (how == "stop") {
      raise(SIGSTOP);
      run(op);
      barrier();
    } else {
      be_lost_inside(how, op);
    }
    say("no error");
  } catch (const DistributedError& e) {
    const bool told = std::strstr(e.what(), "the others gave it up") != nullptr;
    say(told ? "too late" : e.what());
  }
  store->set("late", "1");
  return 0;
}

// Rank 1 is lost. An operation in which another rank waits for nothing of it may succeed there: the
// barrier after it does not.
int lose(const std::string& method, const std::string& how, const std::string& op) {
  const bool stops = how.rfind("stop", 0) == 0;
  init_process_group("gloo", method, g_size, g_rank, "", 20s);
  barrier();
  const ProcessGroupPtr broken = default_group();
  const std::shared_ptr<Store> store = broken->getStore();
  if (stops) broken->setTimeout(500ms);
  if (g_rank == 1) return be_lost(how, op);
  if (g_rank == 2 && how.find("inside") != std::string::npos) store->wait({"inside"}, 20s);
  if (how.find("inside") != std::string::npos) {
    Tensor t = ones({1 << 20}, kFloat);
    try {
      all_reduce(t);
      say("no error");
    } catch (const DistributedError& e) {
      say(cause_of(e, 1));
    }
  } else {
    expect_error(op, 1);
  }
  ProcessGroupOptions o;
  o.timeout = 20s;
  o.group_name = "again";
  const auto again = std::make_shared<ProcessGroup>(store, g_rank ? g_rank - 1 : 0, g_size - 1, o);
  Tensor x = full({1}, g_rank, kLong);
  all_reduce(x, ReduceOp::SUM, again);
  say(core::join("again ", static_cast<long>(x.item<int64_t>())));
  destroy_process_group(again);
  if (stops && g_rank == 0) {
    kill(std::stoi(store->get_to_str("pid")), SIGCONT);
    store->wait({"late"}, 20s);
  }
  return 0;
}

// Rank 0 is lost, and the store with it: the others meet in another place.
int lose_server(const std::string& method, const std::string& other_place) {
  init_process_group("gloo", method, g_size, g_rank, "", 20s);
  barrier();
  if (g_rank == 0) raise(SIGKILL);
  expect_error("all_reduce", 0);
  destroy_process_group();
  init_process_group("gloo", other_place, g_size - 1, g_rank - 1, "", 20s);
  Tensor x = full({1}, g_rank, kLong);
  all_reduce(x);
  say(core::join("again ", static_cast<long>(x.item<int64_t>())));
  destroy_process_group();
  return 0;
}

void run_other_on_rank_1(const std::string& what) {
  const bool other = g_rank == 1;
  Tensor t = ones({other && (what == "shape" || what == "one_way") ? 3 : 2},
                  what == "dtype" && other ? kDouble : kFloat);
  if (what == "order" && other) return void(broadcast(t, 0));
  if (what == "root") return void(broadcast(t, other ? 1 : 0));
  if (what == "one_way") {  // ranks 0 and 2 have what they wait for
    broadcast(t, 0);
    return void(barrier());
  }
  all_reduce(t, what == "reduction" && other ? ReduceOp::MAX : ReduceOp::SUM);
}

int mismatch(const std::string& method, const std::string& what) {
  init_process_group("gloo", method, g_size, g_rank, "", 30s);
  try {
    run_other_on_rank_1(what);
    say("no error");
  } catch (const DistributedError& e) {
    say(core::join(cause_of(e, 1), ": ", e.msg()));
  }
  destroy_process_group();
  return 0;
}

// Rank 1 expects less than rank 0 sends.
int too_long(const std::string& method, const std::string& what) {
  init_process_group("gloo", method, g_size, g_rank, "", 20s);
  barrier();
  default_group()->setTimeout(500ms);
  const auto count = [](int r) { return int64_t{r == 0 ? 3 : 2}; };
  try {
    if (what == "message") {
      Tensor t = ones({count(g_rank)});
      g_rank == 0 ? send(t, 1) : void(recv(t, 0));
    } else {  // to each other rank as much as it sends
      const int64_t mine = count(g_rank);
      all_to_all_single(zeros({2 * mine}), ones({2 * mine}), {mine, mine}, {mine, mine});
    }
    say("no error");
  } catch (const DistributedError&) {
    say("ended");
  }
  destroy_process_group();
  return 0;
}

// Rank 1 is stopped after it has asked for a message that is longer than what is under way at once.
int stop_receiver(const std::string& method) {
  init_process_group("gloo", method, g_size, g_rank, "", 30s);
  Tensor t = ones({16 << 20}, kFloat);
  const std::shared_ptr<Store> store = default_group()->getStore();
  if (g_rank == 1) {
    const WorkPtr work = irecv(t, 0);
    store->set("pid", std::to_string(getpid()));
    raise(SIGSTOP);
    return 0;
  }
  const int other = std::stoi(store->get_to_str("pid"));
  const WorkPtr work = isend(t, 1);
  std::this_thread::sleep_for(300ms);
  default_group()->abort();
  const auto start = std::chrono::steady_clock::now();
  try {
    work->wait();
    say("no error");
  } catch (const DistributedError&) {
    say(std::chrono::steady_clock::now() - start < 15s ? "ended" : "ended late");
  }
  kill(other, SIGKILL);
  return 0;
}

// A program that MPI alone could start, started by itself.
int lone(const std::string& method) {
  init_process_group("mpi", method, -1, -1, "", 20s);
  Tensor x = full({3}, 2, kHalf);
  all_reduce(x, ReduceOp::AVG);
  broadcast(x, 0);
  if (get_world_size() != 1 || !equal(x, full({3}, 2, kHalf))) return 1;
  destroy_process_group();
  return 0;
}

// Two of them are no two ranks of MPI.
int strangers(const std::string& method) {
  init_process_group("mpi", method, g_size, g_rank, "", 10s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string scenario = argv[1], method = argv[4];
  g_rank = std::atoi(argv[2]);
  g_size = std::atoi(argv[3]);
  alarm(40);  // nothing hangs
  try {
    if (scenario == "hello") return hello(method, argc > 5 ? argv[5] : "");
    if (scenario == "lose") return lose(method, argv[5], argv[6]);
    if (scenario == "lose_server") return lose_server(method, argv[5]);
    if (scenario == "mismatch") return mismatch(method, argv[5]);
    if (scenario == "too_long") return too_long(method, argv[5]);
    if (scenario == "stop_receiver") return stop_receiver(method);
    if (scenario == "lone") return lone(method);
    if (scenario == "strangers") return strangers(method);
    if (scenario == "absent") {
      init_process_group("gloo", method, g_size, g_rank, "", 500ms);
      return 0;
    }
  } catch (const Error& e) {
    say(e.what());
    return 3;
  } catch (const std::exception& e) {
    return 4;
  }
  return 2;
}
