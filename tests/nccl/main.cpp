// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   nccl_ranks [FLAGS OF GOOGLETEST]
// One of the ranks that `tenon launch` starts, which all run all tests.
//   nccl_ranks dies FILE RANK SIZE HOW
// One of those that dies.sh starts; rank 1 does not live long.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/nccl/fake/control.h"
#include "tests/nccl/ranks.h"

namespace {

using namespace tenon;
using namespace tenon::distributed;

// 0: the others were told that it is rank 1, and go on without it.
int die(const std::string& file, int rank, int size, bool unseen) {
  init_process_group("nccl", "file://" + file, size, rank, "", std::chrono::seconds(20));
  const ProcessGroupPtr group = default_group();
  Tensor x = on_device(full({4}, rank + 1, kFloat));
  all_reduce(x);
  if (x.cpu()[0].item<float>() != static_cast<float>(size * (size + 1) / 2)) return 10;
  group->setTimeout(std::chrono::milliseconds(1000));
  if (rank == 1) raise(SIGKILL);
  if (unseen) fake::set_fake_nccl("hang", "1");  // NCCL does not notice
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, group, /*async_op=*/true);
  work->wait();  // of the stream alone: it goes on
  x.cpu();
  while (!work->is_completed()) usleep(1000);
  const DistributedError e = error_of([&] { work->wait(); });
  std::fprintf(stderr, "%s\n", e.what());
  if (unseen != (std::strstr(e.what(), "not done within 1000 ms") != nullptr)) return 13;
  fake::set_fake_nccl("hang", "");
  if (e.ranks() != std::vector<int>{1}) return 11;
  ProcessGroupOptions o;
  o.backend = "nccl";
  o.group_name = "again";
  o.timeout = std::chrono::seconds(20);
  const int mine = rank ? rank - 1 : 0;
  const auto again = std::make_shared<ProcessGroup>(group->getStore(), mine, size - 1, o);
  Tensor y = on_device(ones({3}));
  all_reduce(y, ReduceOp::SUM, again);
  return y.cpu()[0].item<float>() == static_cast<float>(size - 1) ? 0 : 12;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(100);  // nothing hangs
  int failed = 0;
  try {
    if (argc > 4)
      return die(argv[2], std::atoi(argv[3]), std::atoi(argv[4]),
                 argc > 5 && std::strcmp(argv[5], "unseen") == 0);
    init_process_group("nccl", "env://", -1, -1, "", std::chrono::seconds(20));
    testing::InitGoogleTest(&argc, argv);
    failed = RUN_ALL_TESTS();
    barrier();
    destroy_process_group();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
  return failed;
}
