// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/parallel/data_parallel.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "distributed/parallel/reducer.h"
#include "tenon/autograd/mode.h"
#include "tenon/nn/modules/embedding.h"
#include "tenon/runtime/error.h"
#include "tenon/types.h"

namespace tenon::distributed {
namespace {

std::string describe(const std::string& name, const Tensor& t, bool is_sparse = false) {
  return core::join(name, " ", dtype_name(t.scalar_type()), " ", t.sizes(),
                    t.requires_grad() ? " requires grad" : "", is_sparse ? ", a sparse one" : "");
}

using Names = std::set<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// All ranks know all lists, so that all throw the same.
void check_same_on_ranks(const Comm& comm, const DataParallelState::Named& parameters,
                         const DataParallelState::Named& buffers, const Names& sparse) {
  std::string mine;
  for (const auto& p : parameters) {
    mine += describe("parameter '" + p.key() + "'", p.value(), sparse.count(p.key()) > 0) + "\n";
  }
  for (const auto& b : buffers) mine += describe("buffer '" + b.key() + "'", b.value()) + "\n";
  const std::vector<std::string> all = comm.all_gather_text(mine);
  const std::vector<std::string> first = lines_of(all[0]);
  for (std::size_t r = 1; r < all.size(); ++r) {
    const std::vector<std::string> other = lines_of(all[r]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const std::string a = i < first.size() ? first[i] : "nothing";
      const std::string b = i < other.size() ? other[i] : "nothing";
      TENON_CHECK(a == b, ValueError, "DistributedDataParallel: rank 0 has ", a, ", rank ", r,
                  " has ", b, " at the same place; modules must be the same on all ranks");
    }
  }
}

std::vector<Tensor> tensors_of(const DataParallelState::Named& named) {
  std::vector<Tensor> out;
  for (const auto& item : named) {
    if (item.value().defined()) out.push_back(item.value());
  }
  return out;
}

DataParallelState::Named defined_ones(const DataParallelState::Named& named) {
  DataParallelState::Named out;
  for (const auto& item : named) {
    if (item.value().defined()) out.insert(item.key(), item.value());
  }
  return out;
}

Device device_of(const DataParallelState::Named& parameters) {
  return parameters.size() > 0 ? parameters.begin()->value().device() : Device(kCPU);
}

}  // namespace

struct DataParallelState::Impl {
  Impl(const Named& parameters, const Named& given_buffers, DistributedDataParallelOptions o,
       const Names& sparse)
      : options(std::move(o)),
        comm(options.process_group(), device_of(parameters)),
        all_parameters(tensors_of(parameters)),
        buffers(tensors_of(given_buffers)) {
    TENON_CHECK(options.bucket_cap_mb() > 0, ValueError,
                "DistributedDataParallel: bucket_cap_mb must be above 0, got ",
                options.bucket_cap_mb());
    check_same_on_ranks(comm, parameters, given_buffers, sparse);
    std::vector<Tensor> trained;
    std::vector<std::string> names;
    std::vector<bool> is_sparse;
    for (const auto& p : parameters) {
      if (!p.value().requires_grad()) continue;
      TENON_CHECK(p.value().layout() == kStrided, ValueError,
                  "DistributedDataParallel: parameter '", p.key(), "' has layout ",
                  toString(p.value().layout()), ", expected strided");
      trained.push_back(p.value());
      names.push_back(p.key());
      is_sparse.push_back(sparse.count(p.key()) > 0);
    }
    TENON_CHECK(!trained.empty(), ValueError,
                "DistributedDataParallel: the module has no parameter that requires grad, so "
                "there is nothing to average; call it as it is");
    broadcast_all(0);
    reducer = std::make_shared<Reducer>(std::move(trained), std::move(names), std::move(is_sparse),
                                        comm, options);
    reducer->install_hooks();
  }

  void broadcast_all(int root) {
    std::vector<Tensor> all = all_parameters;
    all.insert(all.end(), buffers.begin(), buffers.end());
    broadcast_coalesced(comm, all, root);
  }
  void broadcast_buffers(int root) {
    if (options.broadcast_buffers()) broadcast_coalesced(comm, buffers, root);
  }

  // In join(): {has inputs, will average, broadcasts buffers} of each rank. The result is the first
  // rank that has inputs, -1 if there is none.
  int meet(bool active, bool sync, bool training) {
    const auto all = comm.all_gather_numbers({active, sync, training});
    int first = -1, count = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r][0] == 0) continue;
      if (first < 0) first = static_cast<int>(r);
      ++count;
    }
    if (first < 0) return -1;
    shadow_sync = all[static_cast<std::size_t>(first)][1] != 0;
    shadow_training = all[static_cast<std::size_t>(first)][2] != 0;
    reducer->divide_by(divide_by_all ? comm.size() : count);
    return first;
  }

  const DistributedDataParallelOptions options;
  const Comm comm;
  const std::vector<Tensor> all_parameters, buffers;
  std::shared_ptr<Reducer> reducer;
  bool joining = false, divide_by_all = true, shadow_sync = true, shadow_training = true;
};

DataParallelState::DataParallelState(const Named& parameters, const Named& buffers,
                                     DistributedDataParallelOptions options,
                                     const std::vector<std::string>& sparse)
    : impl_(std::make_shared<Impl>(defined_ones(parameters), defined_ones(buffers),
                                   std::move(options), Names(sparse.begin(), sparse.end()))) {}
DataParallelState::~DataParallelState() = default;

std::vector<std::string> sparse_parameters(nn::Module& module) {
  std::vector<std::string> out;
  for (const auto& item : module.named_modules()) {
    const auto* table = item.value()->as<nn::EmbeddingImpl>();
    const auto* bags = item.value()->as<nn::EmbeddingBagImpl>();
    if ((table && table->options.sparse()) || (bags && bags->options.sparse()))
      out.push_back(item.key().empty() ? "weight" : item.key() + ".weight");
  }
  return out;
}

// Without recording there is no backward to come: evaluation on one rank alone is possible.
void DataParallelState::before_forward(bool training) {
  if (!GradMode::is_enabled()) return;
  Impl& s = *impl_;
  const int root = s.joining ? s.meet(true, sync(), training) : 0;
  if (!sync()) return;
  s.reducer->begin_iteration();
  if (training) s.broadcast_buffers(root);
}

void DataParallelState::after_forward(const std::vector<Tensor>& outputs) {
  if (GradMode::is_enabled() && sync()) impl_->reducer->expect(outputs);
}

void DataParallelState::set_sync(bool on) { impl_->reducer->set_sync(on); }
bool DataParallelState::sync() const { return impl_->reducer->sync(); }
std::size_t DataParallelState::bucket_count() const { return impl_->reducer->bucket_count(); }
std::vector<std::string> DataParallelState::bucket(std::size_t index) const {
  TENON_CHECK(index < bucket_count(), IndexError, "bucket ", index, " of ", bucket_count());
  return impl_->reducer->bucket(index);
}

void DataParallelState::join(FunctionRef<void()> loop, bool divide_by_initial_world_size) {
  Impl& s = *impl_;
  TENON_CHECK(!s.joining, Error, "DistributedDataParallel: join() within join()");
  s.joining = true;
  s.divide_by_all = divide_by_initial_world_size;
  struct End {
    Impl& s;
    ~End() {
      s.joining = false;
      s.reducer->divide_by(s.comm.size());
    }
  } end{s};
  loop();
  int last = s.comm.rank();  // a rank that was among the last with inputs, as all know it
  int root = -1;
  bool shadowed = false;
  while ((root = s.meet(false, false, false)) >= 0) {
    shadowed = true;
    last = root;
    if (!s.shadow_sync) continue;
    s.reducer->begin_iteration();
    if (s.shadow_training) s.broadcast_buffers(root);
    s.reducer->shadow_iteration();
  }
  // Ranks that never shadowed had inputs to the end: the first of them is the root of all.
  const auto all = s.comm.all_gather_numbers({shadowed});
  for (std::size_t r = all.size(); r-- > 0;) {
    if (all[r][0] == 0) last = static_cast<int>(r);
  }
  s.broadcast_all(last);
}

}  // namespace tenon::distributed
