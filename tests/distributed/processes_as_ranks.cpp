// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   distributed_collectives ENGINE INIT_METHOD
// One process per rank, started by mpirun or `tenon launch`; each runs all tests.
#include <cstdio>

#include "tests/distributed/ranks.h"

namespace tenon::distributed {

std::vector<int> rank_counts() { return {get_world_size()}; }

void run_ranks(int, const std::function<void(const ProcessGroupPtr&)>& f) { f(default_group()); }

}  // namespace tenon::distributed

int main(int argc, char** argv) {
  namespace dist = tenon::distributed;
  if (argc < 3) return 2;
  int failed = 0;
  try {
    dist::init_process_group(argv[1], argv[2], -1, -1, "", std::chrono::seconds(20));
    testing::InitGoogleTest(&argc, argv);
    failed = RUN_ALL_TESTS();
    dist::barrier();
    dist::destroy_process_group();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
  return failed;
}
