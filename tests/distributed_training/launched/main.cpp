// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A training as a program has it, started by `tenon launch`: fails unless all ranks end with the
// same weights, which differ from those of the beginning.
#include <cstdio>

#include "tenon/distributed.h"
#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/tenon.h"

using namespace tenon;

int main() {
  distributed::init_process_group("gloo", "env://", -1, -1, "", std::chrono::seconds(30));
  manual_seed(static_cast<uint64_t>(distributed::get_rank()));
  nn::Linear net(4, 2);
  nn::parallel::DistributedDataParallel ddp(net);
  const Tensor begin = net->weight.detach().clone();
  optim::SGD sgd(ddp.parameters(), 0.1);
  for (int i = 0; i < 5; ++i) {
    sgd.zero_grad();
    ddp(randn({8, 4})).square().mean().backward();
    sgd.step();
  }
  const Tensor end = net->weight.detach().contiguous();
  const std::string bits(static_cast<const char*>(end.const_data_ptr()), end.nbytes());
  bool same = !end.equal(begin);
  for (const std::string& other : distributed::all_gather_object(bits)) same &= other == bits;
  std::printf("%d of %d: %s\n", distributed::get_rank(), distributed::get_world_size(),
              same ? "same" : "different");
  distributed::destroy_process_group();
  return same ? 0 : 1;
}
