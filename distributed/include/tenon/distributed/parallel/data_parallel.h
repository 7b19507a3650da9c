// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Training of one module by several processes, each with a part of every batch.
//
//   distributed::init_process_group("gloo");
//   Net net;
//   nn::parallel::DistributedDataParallel ddp(net);
//   optim::SGD sgd(net->parameters(), 0.1);
//   for (auto& batch : *loader) {                 // with a DistributedRandomSampler
//     sgd.zero_grad();
//     loss_of(ddp(batch.data), batch.target).backward();
//     sgd.step();                                 // the same on all ranks
//   }
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/distributed/parallel/options.h"
#include "tenon/function_ref.h"
#include "tenon/nn/module.h"
#include "tenon/nn/pimpl.h"

namespace tenon::distributed {

// What DistributedDataParallel does around the forward of any kind of module. Parameters and
// buffers are those of rank 0 when the constructor returns; gradients are averaged while backward()
// runs, and are views of its buckets.
//
// ValueError, on all ranks: no parameter requires grad; names, shapes or dtypes differ between
// ranks. Error of backward(): a gradient that has a graph of its own (create_graph=true) or is
// sparse where it is not expected to be, a parameter whose gradient comes twice.
class TENON_API DataParallelState {
 public:
  using Named = OrderedDict<std::string, Tensor>;
  // `sparse`: names of the parameters whose gradients are.
  DataParallelState(const Named& parameters, const Named& buffers,
                    DistributedDataParallelOptions options,
                    const std::vector<std::string>& sparse = {});
  ~DataParallelState();
  DataParallelState(const DataParallelState&) = delete;

  void before_forward(bool training);
  void after_forward(const std::vector<Tensor>& outputs);
  // False: gradients add up on each rank; the first backward with true averages the sums.
  void set_sync(bool on);
  bool sync() const;
  void join(FunctionRef<void()> loop, bool divide_by_initial_world_size);
  std::size_t bucket_count() const;
  // Names of the parameters of a bucket.
  std::vector<std::string> bucket(std::size_t index) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Names of the weights of nn::Embedding and nn::EmbeddingBag whose gradients are sparse.
TENON_API std::vector<std::string> sparse_parameters(nn::Module& module);

// While one lives, backward() adds up gradients on each rank without communication.
class NoSync {
 public:
  explicit NoSync(DataParallelState& state) : state_(state), before_(state.sync()) {
    state.set_sync(false);
  }
  ~NoSync() { state_.set_sync(before_); }
  NoSync(const NoSync&) = delete;

 private:
  DataParallelState& state_;
  bool before_;
};

}  // namespace tenon::distributed

namespace tenon::nn::parallel {

using distributed::DistributedDataParallelOptions;

namespace detail {
template <class M>
struct HeldModule {
  using type = std::shared_ptr<typename M::ContainedType>;
  static type of(M& m) { return m.ptr(); }
};
template <class M>
struct HeldModule<std::shared_ptr<M>> {
  using type = std::shared_ptr<M>;
  static type of(type& m) { return m; }
};
}  // namespace detail

// M: a holder (TENON_MODULE), or a shared_ptr of a module with a forward(). State dictionaries have
// the names of the module with "module." before them, as PyTorch's; those of the module itself load
// without DistributedDataParallel.
template <class M>
class DistributedDataParallel : public nn::Module {
 public:
  explicit DistributedDataParallel(M module, DistributedDataParallelOptions options = {})
      : nn::Module("DistributedDataParallel"),
        module_(std::move(module)),
        state_(detail::HeldModule<M>::of(module_)->named_parameters(),
               detail::HeldModule<M>::of(module_)->named_buffers(), std::move(options),
               distributed::sparse_parameters(*detail::HeldModule<M>::of(module_))) {
    register_module("module", detail::HeldModule<M>::of(module_));
  }

  template <class... A>
  auto forward(A&&... args) {
    state_.before_forward(is_training());
    auto result = call(std::forward<A>(args)...);
    std::vector<Tensor> outputs;
    using Result = std::remove_const_t<decltype(result)>;
    nn::detail::TensorsIn<Result>::each(result, [&](Tensor& t) { outputs.push_back(t); });
    state_.after_forward(outputs);
    return result;
  }
  template <class... A>
  auto operator()(A&&... args) {
    return forward(std::forward<A>(args)...);
  }

  M& module() { return module_; }
  // auto guard = ddp.no_sync();
  distributed::NoSync no_sync() { return distributed::NoSync(state_); }
  // Runs a loop whose number of iterations differs between ranks: ranks that are done take part in
  // the communication of the others until all are. Gradients are divided by the number of all
  // ranks, or by that of those that still have inputs. At the end all have the parameters of one
  // that had the most inputs.
  void join(FunctionRef<void()> loop, bool divide_by_initial_world_size = true) {
    state_.join(loop, divide_by_initial_world_size);
  }
  distributed::DataParallelState& state() { return state_; }

 private:
  template <class... A>
  auto call(A&&... args) {
    if constexpr (nn::detail::is_module_holder<M>) {
      return module_(std::forward<A>(args)...);
    } else {
      module_->update_computed();
      auto& module = *module_;
      if (!module.has_hooks()) return module.forward(std::forward<A>(args)...);
      return nn::detail::call_hooked(module, std::index_sequence_for<A...>(),
                                     std::forward<A>(args)...);
    }
  }

  M module_;
  distributed::DataParallelState state_;
};

template <class M>
DistributedDataParallel(M) -> DistributedDataParallel<M>;
template <class M>
DistributedDataParallel(M, DistributedDataParallelOptions) -> DistributedDataParallel<M>;

}  // namespace tenon::nn::parallel
