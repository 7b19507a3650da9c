// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What groups refuse, and what engines say of themselves.
#include "tests/distributed/ranks.h"

namespace tenon::distributed {
namespace {

TEST(ProcessGroup, NamesWhatIsWrong) {
  run_ranks(2, [](const ProcessGroupPtr& g) {
    std::vector<Tensor> two = {ones({1}), ones({1})}, wrong = {ones({2}), ones({1})};
    EXPECT_THROW(broadcast(ones({1}), 2, g), ValueError);
    EXPECT_THROW(g->allreduce(two), ValueError);
    EXPECT_THROW(all_gather(wrong, ones({1}), g), ValueError);
    EXPECT_THROW(send(ones({1}), g->getRank(), g), ValueError);
    EXPECT_THROW(all_to_all_single(zeros({3}), zeros({3}), {}, {}, g), ValueError);
  });
  EXPECT_THROW(get_rank(), ValueError);
  EXPECT_THROW(init_process_group("gloo", "tcp://127.0.0.1", 1, 0), ValueError);
  EXPECT_THROW(init_process_group("gloo", "carrier-pigeon://x", 1, 0), ValueError);
  ProcessGroupOptions o;
  o.backend = "no_such_engine";
  EXPECT_THROW(ProcessGroup(std::make_shared<HashStore>(), 0, 1, o), BackendError);
}

TEST(ProcessGroup, SaysWhoDidNotCome) {
  ProcessGroupOptions o;
  o.timeout = std::chrono::milliseconds(200);
  try {
    ProcessGroup g(std::make_shared<HashStore>(), 1, 3, o);
    FAIL();
  } catch (const TimeoutError& e) {
    EXPECT_EQ(e.ranks(), (std::vector<int>{0, 2})) << e.what();
  }
}

TEST(ProcessGroup, SaysWhatAnEngineCanDo) {
  bool found = false;
  for (const Capability& c : capabilities()) {
    EXPECT_FALSE(c.engine == "gloo" && c.device == "cuda");
    found |= c.engine == "gloo" && c.operation == "all_reduce" && c.device == "cpu";
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tenon::distributed
