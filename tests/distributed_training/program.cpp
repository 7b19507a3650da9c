// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/parallel/program_data_parallel.h"

#include <gtest/gtest.h>

#include "nets.h"
#include "ranks.h"
#include "tenon/jit.h"

namespace tenon::distributed::test {
namespace {

jit::Module program_of(uint64_t seed) {
  manual_seed(seed);
  jit::Module m("__torch__.Net");
  m.register_parameter("w", randn({8, 6}).mul_(0.5).requires_grad_());
  m.register_parameter("v", randn({3, 8}).mul_(0.5).requires_grad_());
  m.define(R"(
def forward(self, x):
    h = torch.tanh(torch.matmul(x, self.w.t()))
    return torch.matmul(h, self.v.t()), {"h": h}
)");
  return m;
}
Tensor out_of(const IValue& v) { return v.toTupleRef().elements()[0].toTensor(); }

std::string train_program(const GroupPtr& all) {
  jit::Module alone = program_of(3);
  ProgramDataParallel ddp(program_of(3 + static_cast<uint64_t>(all->rank())),
                          DistributedDataParallelOptions()
                              .process_group(all)
                              .bucket_cap_mb(5e-5)
                              .find_unused_parameters(true));
  optim::SGD sgd(ddp.program().parameters(), 0.1), same(alone.parameters(), 0.1);
  for (uint64_t i = 0; i < 20; ++i) {
    const Batch b = batch_of(i), mine = share_of(b, all->rank(), all->size());
    sgd.zero_grad();
    mse_loss(out_of(ddp({mine.x})), mine.y).backward();
    sgd.step();
    same.zero_grad();
    mse_loss(out_of(alone.forward({b.x})), b.y).backward();
    same.step();
  }
  EXPECT_GT(ddp.state().bucket_count(), 1u);
  EXPECT_LT(largest_difference(ddp.program().parameters(), alone.parameters()), 1e-6);
  return bits_of(ddp.program().parameters());
}
TEST(ProgramDataParallel, TrainsAsOneProcess) {
  const auto r = on_ranks(2, train_program);
  EXPECT_EQ(r[0].text, r[1].text);
}

std::string train_table(const GroupPtr& all) {
  const auto table = [] {
    jit::Module m("__torch__.Table");
    m.register_parameter("w", sin(arange(12, kFloat)).reshape({6, 2}).requires_grad_());
    m.define(R"(
def forward(self, x):
    return torch.embedding(self.w, x, -1, False, True)
)");
    return m;
  };
  jit::Module alone = table();
  ProgramDataParallel ddp(table(), DistributedDataParallelOptions().process_group(all));
  const Tensor x = tensor({1, 2, 2, 5}, kLong), mine = x.narrow(0, 2 * all->rank(), 2);
  for (int i = 0; i < 3; ++i) {
    for (const Tensor& p : ddp.program().parameters()) p.mutable_grad() = Tensor();
    ddp({mine}).toTensor().pow(2).mean().backward();
    const Tensor grad = ddp.program().parameters()[0].grad();
    EXPECT_TRUE(grad.is_sparse());
    alone.parameters()[0].mutable_grad() = Tensor();
    alone.forward({x}).toTensor().pow(2).mean().backward();
    EXPECT_TRUE(allclose(grad.to_dense(), alone.parameters()[0].grad().to_dense()));
  }
  return "trained";
}
TEST(ProgramDataParallel, SparseGradientsStaySparse) { on_ranks(2, train_table); }

}  // namespace
}  // namespace tenon::distributed::test
