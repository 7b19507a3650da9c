// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Two ranks as programs for libtorch have them: stores, collectives, messages, a training.
#include <c10/util/irange.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using namespace std::chrono_literals;

int failed = 0;
void check(bool good, const char* what) {
  if (good) return;
  std::cerr << what << "\n";
  ++failed;
}

void stores() {
  StorePtr base = c10::make_intrusive<c10d::HashStore>();
  auto store = c10::make_intrusive<c10d::PrefixStore>("job", base);
  store->set("k", std::vector<uint8_t>{1, 2});
  check(base->get("job/k") == std::vector<uint8_t>{1, 2}, "a prefix");
  check(store->add("n", 4) == 4 && store->add("n", -1) == 3, "add");
  check(store->compareSet("n", "3", "x") == "x" && store->deleteKey("n"), "compareSet");
  store->append("k", std::vector<uint8_t>{3});
  check(store->hasExtendedApi() && store->multiGet({"k"})[0].size() == 3, "append");
  check(c10::dynamic_intrusive_pointer_cast<c10d::HashStore>(base) != nullptr, "a cast");
  try {
    store->wait({"never"}, 10ms);
    check(false, "a wait without end");
  } catch (const c10::DistStoreError& e) {
    check(std::string(e.what()).find("never") != std::string::npos, e.what());
  }
}

// As in libtorch's own example of all_reduce: ten at once, then all are waited for.
void ten_sums(c10d::ProcessGroupGloo& pg) {
  std::vector<at::Tensor> tensors;
  std::vector<c10::intrusive_ptr<c10d::Work>> pending;
  for (const auto i : c10::irange(10)) {
    tensors.push_back(at::ones({100, 16 * (i + 1)}, at::kFloat) * (pg.getRank() + i));
    std::vector<at::Tensor> one = {tensors.back()};
    pending.push_back(pg.allreduce(one));
  }
  for (auto& work : pending) check(work->wait(), "wait");
  for (const auto i : c10::irange(10))
    check(tensors[static_cast<std::size_t>(i)].eq(2 * i + 1).all().item<bool>(), "a sum");
}

void collectives(c10d::ProcessGroup& pg) {
  const int rank = pg.getRank(), size = pg.getSize();
  std::vector<at::Tensor> x = {at::full({3}, rank + 1., at::kDouble)};
  c10d::AllreduceOptions product;
  product.reduceOp = c10d::ReduceOp::PRODUCT;
  pg.allreduce(x, product)->wait();
  check(x[0].eq(2).all().item<bool>(), "a product");
  std::vector<std::vector<at::Tensor>> all = {{at::zeros({2}), at::zeros({2})}};
  std::vector<at::Tensor> mine = {at::full({2}, rank, at::kFloat)};
  pg.allgather(all, mine)->wait();
  check(all[0][0].eq(0).all().item<bool>() && all[0][1].eq(1).all().item<bool>(), "allgather");
  c10d::BroadcastOptions from_last;
  from_last.rootRank = size - 1;
  pg.broadcast(mine, from_last)->wait();
  check(mine[0].eq(1).all().item<bool>(), "broadcast");
  std::vector<at::Tensor> message = {rank == 0 ? at::arange(4) : at::zeros({4}, at::kLong)};
  if (rank == 0) {
    pg.send(message, 1, /*tag=*/7)->wait();
  } else {
    auto work = pg.recvAnysource(message, /*tag=*/7);
    work->wait();
    check(work->sourceRank() == 0 && message[0].equal(at::arange(4)), "a message");
  }
  c10::intrusive_ptr<c10d::ProcessGroup::Work> last = pg.barrier();
  check(last->wait(), "a barrier");
  pg.setSequenceNumberForGroup();
  pg.monitoredBarrier(c10d::BarrierOptions(), /*wait_all_ranks=*/true);
}

// The first constructor, whose options have no names.
void positional_store() {
  auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", 0, c10::optional<int>(1),
                                                   /*isServer=*/true, 5s, /*waitWorkers=*/false);
  store->waitForWorkers();
  store->set("k", "v");
  check(store->get_to_str("k") == "v", "a store by positions");
}

// Gradients are summed one by one and divided, as in the examples of PyTorch.
void training(const c10::intrusive_ptr<c10d::ProcessGroup>& pg) {
  torch::manual_seed(0);
  torch::nn::Linear model(3, 1), whole(3, 1);
  {
    torch::NoGradGuard no_grad;
    whole->weight.copy_(model->weight);
    whole->bias.copy_(model->bias);
  }
  torch::optim::SGD optimizer(model->parameters(), 0.1), of_whole(whole->parameters(), 0.1);
  for (int step = 0; step < 5; ++step) {
    const auto x = torch::randn({8, 3}), y = x.sum(1, true);
    const int64_t from = 4 * pg->getRank();
    optimizer.zero_grad();
    torch::mse_loss(model(x.narrow(0, from, 4)), y.narrow(0, from, 4)).backward();
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (auto& param : model->named_parameters()) {
      std::vector<torch::Tensor> grad = {param.value().grad()};
      works.push_back(pg->allreduce(grad));
    }
    for (auto& work : works) work->wait();
    for (auto& param : model->named_parameters()) param.value().grad().div_(pg->getSize());
    optimizer.step();
    of_whole.zero_grad();
    torch::mse_loss(whole(x), y).backward();
    of_whole.step();
  }
  check(torch::allclose(model->weight, whole->weight, 1e-5, 1e-6), "a training");
}

// A gloo that would use another address than is asked for is refused.
void devices(const std::shared_ptr<c10d::ProcessGroupGloo::Options>& options) {
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface("lo"));
  try {
    c10d::ProcessGroupGloo::createDeviceForHostname("192.0.2.1");
    check(false, "a device of another address");
  } catch (const c10::ValueError& e) {
    check(std::string(e.what()).find("192.0.2.1") != std::string::npos, e.what());
  }
}

void run(int rank, int size, const std::string& path) {
  stores();
  positional_store();
  StorePtr file = c10::make_intrusive<c10d::FileStore>(path, size);
  {
    c10d::ProcessGroupGloo pg(file, rank, size);
    ten_sums(pg);
  }
  c10d::TCPStoreOptions at;
  at.isServer = rank == 0;
  at.port = rank == 0 ? 0 : static_cast<uint16_t>(std::stoi(file->get_to_str("port")));
  auto tcp = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", at);
  if (rank == 0) file->set("port", std::to_string(tcp->getPort()));
  auto options = c10d::ProcessGroupGloo::Options::create(30s);
  devices(options);
  c10::intrusive_ptr<c10d::ProcessGroup> pg = c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>("second", tcp), rank, size, options);
  collectives(*pg);
  training(pg);
  pg->barrier()->wait();
  file->set("done/" + std::to_string(rank), "1");  // the server leaves last
  file->wait({"done/0", "done/1"});
}

}  // namespace

int main() {
  unsetenv("TENON_GLOO_HOST");
  char folder[] = "/tmp/libtorch_ranks.XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string path = std::string(folder) + "/store";
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0;
  try {
    run(rank, 2, path);
  } catch (const std::exception& e) {
    check(false, e.what());
  }
  if (rank == 1) return failed != 0;
  int status = 1;
  waitpid(child, &status, 0);
  unlink(path.c_str());
  rmdir(folder);
  return status != 0 || failed != 0;
}
