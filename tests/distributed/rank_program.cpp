// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   distributed_rank SCENARIO RANK SIZE INIT_METHOD [HOW OPERATION]
// One rank of a job that processes_test.cpp starts. What it prints is compared there.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

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

// Rank 1 ends in a way of its own instead of taking part. An operation in which another rank waits
// for nothing of it may succeed there: the barrier after it does not.
int lose(const std::string& method, const std::string& how, const std::string& op) {
  init_process_group("gloo", method, g_size, g_rank, "", 2s);
  barrier();
  if (g_rank == 1) {
    if (how == "kill") raise(SIGKILL);
    if (how == "stop") raise(SIGSTOP);
    if (how == "exit") _exit(0);
    throw std::runtime_error("a fault of the program's own");
  }
  const ProcessGroupPtr broken = default_group();
  try {
    run(op);
    barrier();
    say("no error");
    return 1;
  } catch (const DistributedError& e) {
    say(e.ranks() == std::vector<int>{1} ? "rank 1 is at fault" : e.what());
  }
  ProcessGroupOptions o;
  o.timeout = 5s;
  o.group_name = "again";
  const auto again =
      std::make_shared<ProcessGroup>(broken->getStore(), g_rank ? g_rank - 1 : 0, g_size - 1, o);
  Tensor x = full({1}, g_rank, kLong);
  all_reduce(x, ReduceOp::SUM, again);
  say(core::join("again ", static_cast<long>(x.item<int64_t>())));
  destroy_process_group(again);
  return 0;
}

int mismatch(const std::string& method, const std::string& what) {
  init_process_group("gloo", method, g_size, g_rank, "", 2s);
  try {
    Tensor t = ones({what == "shape" && g_rank == 1 ? 3 : 2},
                    what == "dtype" && g_rank == 1 ? kDouble : kFloat);
    if (what == "order" && g_rank == 1)
      broadcast(t, 0);
    else
      all_reduce(t);
    say("no error");
  } catch (const DistributedError& e) {
    const bool told = std::strstr(e.what(), "is not the same on all ranks") != nullptr;
    say(told ? "told" : e.what());
  }
  destroy_process_group();
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
    if (scenario == "mismatch") return mismatch(method, argv[5]);
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
