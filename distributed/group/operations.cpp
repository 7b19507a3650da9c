// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/process_group.h"

#include <algorithm>

#include "distributed/group/launch.h"
#include "tenon/autograd/mode.h"
#include "tenon/ops.h"

namespace tenon::distributed {
namespace {

const Tensor& only(const char* op, const std::vector<Tensor>& tensors) {
  TENON_CHECK(tensors.size() == 1 && tensors[0].defined(), ValueError, op,
              ": expects a list of one tensor, got ", tensors.size());
  TENON_CHECK(tensors[0].layout() == kStrided, NotImplementedError, op,
              ": the tensor is not strided");
  return tensors[0];
}

void check_root(const char* op, int64_t root, int size) {
  TENON_CHECK(root >= 0 && root < size, ValueError, op, ": rank ", static_cast<long>(root),
              " is not in a group of ", size);
}

// A list with one tensor per rank, each as `like`.
void check_parts(const char* op, const std::vector<Tensor>& parts, const Tensor& like, int size) {
  TENON_CHECK(parts.size() == static_cast<std::size_t>(size), ValueError, op, ": expects ", size,
              " tensors, one per rank, got ", parts.size());
  for (const Tensor& t : parts) {
    TENON_CHECK(t.sizes() == like.sizes() && t.scalar_type() == like.scalar_type(), ValueError, op,
                ": the tensors of a list must have one shape and dtype; expected ", like.sizes(),
                ", got ", t.sizes());
  }
}

// The one of a list of equal tensors, all of which get its values or those of another rank.
const Tensor& root_tensor(const std::vector<Tensor>& tensors, int64_t at) {
  const auto n = static_cast<int64_t>(tensors.size());
  TENON_CHECK(at >= 0 && at < n, ValueError, "broadcast: rootTensor ", at, " of a list of ", n);
  for (const Tensor& t : tensors) only("broadcast", {t});
  check_parts("broadcast", tensors, tensors[0], static_cast<int>(n));
  return tensors[static_cast<std::size_t>(at)];
}

Tensor stacked(const std::vector<Tensor>& parts) {
  std::vector<Tensor> flat;
  flat.reserve(parts.size());
  for (const Tensor& t : parts) flat.push_back(t.detach().reshape({-1}));
  return cat(flat);
}

// Copies consecutive parts of a flat tensor.
void unstack(const Tensor& flat, const std::vector<Tensor>& parts) {
  int64_t at = 0;
  for (const Tensor& t : parts) {
    t.detach().copy_(flat.narrow(0, at, t.numel()).view(t.sizes()));
    at += t.numel();
  }
}

bool is_half(ScalarType t) { return t == kHalf || t == kBFloat16; }

// Copies back where the buffer is not the caller's tensor.
std::function<void()> copy_back(const Tensor& to, const Tensor& from) {
  if (to.is_same(from)) return {};
  return [to, from] { to.detach().copy_(from); };
}

// The dtype, device and reduction in which the engine computes, and what remains to be done.
struct Reduction {
  ScalarType dtype;
  Device device;
  ReduceOp op;
  bool divides;
};

Reduction plan(ProcessGroup::Impl& g, int32_t operation, ReduceOp op, const Tensor& t) {
  const ScalarType dtype = t.scalar_type();
  TENON_CHECK(op != ReduceOp::AVG || t.is_floating_point() || t.is_complex(), NotImplementedError,
              name_of(operation), ": avg is for floating dtypes, got ",
              core::dtype_info(dtype).name);
  const std::string host = "cpu";
  for (const ScalarType in : {dtype, is_half(dtype) ? kFloat : dtype}) {
    for (const ReduceOp as : {op, op == ReduceOp::AVG ? ReduceOp(ReduceOp::SUM) : op}) {
      const Device device = g.device_for(operation, as, in, t.device());
      if (serves(g.engine(), operation, as, in, device.is_cpu() ? host : "cuda"))
        return {in, device, as, as != op};
    }
  }
  throw NotImplementedError(core::join(name_of(operation), ": ", text(op), " of ",
                                       core::dtype_info(dtype).name, " is not served"));
}

// The elements in rows: t itself where it has them so.
Tensor buffer_of(const Tensor& t, const Reduction& how) {
  if (t.device() == how.device && t.scalar_type() == how.dtype && t.is_contiguous()) return t;
  return t.detach().to(how.device).to(how.dtype).contiguous();
}

std::function<void()> finish_of(const Tensor& t, const Tensor& out, const Reduction& how, int n) {
  if (!how.divides) return copy_back(t, out);
  return [t, out, n] {
    out.div_(n);
    if (!t.is_same(out)) t.detach().copy_(out);
  };
}

}  // namespace

ProcessGroup::ProcessGroup(std::shared_ptr<Store> store, int rank, int size, Options options)
    : rank_(rank), size_(size), options_(std::move(options)), store_(std::move(store)) {
  TENON_CHECK(store_, ValueError, "ProcessGroup: store is null");
  TENON_CHECK(size > 0 && rank >= 0 && rank < size, ValueError, "ProcessGroup: rank ", rank,
              " of a group of ", size);
  if (options_.global_ranks.empty()) {
    for (int i = 0; i < size; ++i) options_.global_ranks.push_back(i);
  }
  auto prefixed = std::make_shared<PrefixStore>("group/" + options_.group_name, store_);
  impl_ = std::make_shared<Impl>(prefixed, rank, size, options_);
}

ProcessGroup::~ProcessGroup() { impl_->drain(); }

int64_t ProcessGroup::stagedCalls() const noexcept { return impl_->staged; }
uint64_t ProcessGroup::getSequenceNumberForGroup() const noexcept { return impl_->number; }
std::vector<int> ProcessGroup::deadRanks() { return impl_->liveness->dead(); }
void ProcessGroup::abort() {
  impl_->engine().abort(impl_->engine().context, impl_->membership->group());
}

WorkPtr ProcessGroup::broadcast(std::vector<Tensor>& tensors, const BroadcastOptions& o) {
  check_root("broadcast", o.rootRank, size_);
  const Tensor& t = root_tensor(tensors, o.rootTensor);
  Request r{TN_COLLECTIVE_BROADCAST, {}, o.rootRank, 0, o.timeout, o.asyncOp};
  const bool mine = o.rootRank == rank_;
  r.out = mine ? impl_->packed(r.operation, t) : impl_->room(r.operation, t);
  if (mine) r.in = r.out;
  if (!mine) r.finish = copy_back(t, r.out);
  if (tensors.size() > 1) {
    r.finish = [back = r.finish, tensors, root = o.rootTensor, out = r.out] {
      if (back) back();
      for (std::size_t i = 0; i < tensors.size(); ++i)
        if (static_cast<int64_t>(i) != root)
          tensors[i].detach().copy_(out.view(tensors[i].sizes()));
    };
  }
  r.results = tensors;
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::allreduce(std::vector<Tensor>& tensors, const AllreduceOptions& o) {
  const Tensor t = only("all_reduce", tensors);
  Request r{TN_COLLECTIVE_ALL_REDUCE, o.reduceOp, 0, 0, o.timeout, o.asyncOp};
  const Reduction how = plan(*impl_, r.operation, o.reduceOp, t);
  r.op = how.op;
  r.in = r.out = buffer_of(t, how);
  r.finish = finish_of(t, r.out, how, size_);
  r.results = {t};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::allreduce_coalesced(std::vector<Tensor>& tensors,
                                          const AllreduceCoalescedOptions& o) {
  TENON_CHECK(!tensors.empty(), ValueError, "all_reduce_coalesced: the list is empty");
  for (const Tensor& t : tensors) {
    TENON_CHECK(t.scalar_type() == tensors[0].scalar_type() && t.device() == tensors[0].device(),
                ValueError, "all_reduce_coalesced: tensors of more than one dtype or device");
  }
  Request r{TN_COLLECTIVE_ALL_REDUCE, o.reduceOp, 0, 0, o.timeout, o.asyncOp};
  const Reduction how = plan(*impl_, r.operation, o.reduceOp, tensors[0]);
  r.op = how.op;
  r.in = r.out = stacked(tensors).to(how.device).to(how.dtype);
  r.finish = [tensors, out = r.out, how, n = size_] {
    if (how.divides) out.div_(n);
    unstack(out, tensors);
  };
  r.results = tensors;
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::reduce(std::vector<Tensor>& tensors, const ReduceOptions& o) {
  const Tensor t = only("reduce", tensors);
  check_root("reduce", o.rootRank, size_);
  Request r{TN_COLLECTIVE_REDUCE, o.reduceOp, o.rootRank, 0, o.timeout, o.asyncOp};
  const Reduction how = plan(*impl_, r.operation, o.reduceOp, t);
  r.op = how.op;
  r.in = buffer_of(t, how);
  if (o.rootRank == rank_) {
    r.out = r.in;
    r.finish = finish_of(t, r.out, how, size_);
  }
  r.results = {t};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::allgather(std::vector<std::vector<Tensor>>& outputs,
                                std::vector<Tensor>& inputs, const AllgatherOptions& o) {
  const Tensor& t = only("all_gather", inputs);
  TENON_CHECK(outputs.size() == 1, ValueError, "all_gather: expects one list of outputs");
  check_parts("all_gather", outputs[0], t, size_);
  Request r{TN_COLLECTIVE_ALL_GATHER, {}, 0, 0, o.timeout, o.asyncOp};
  r.in = impl_->packed(r.operation, t);
  r.out = empty({t.numel() * size_}, r.in.options());
  r.finish = [out = r.out, to = outputs[0]] { unstack(out, to); };
  r.results = outputs[0];
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::_allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& o) {
  TENON_CHECK(
      output.numel() == input.numel() * size_ && output.scalar_type() == input.scalar_type(),
      ValueError, "all_gather_into_tensor: output has ", output.numel(), " elements; expected ",
      input.numel() * size_, " of the input's dtype");
  Request r{TN_COLLECTIVE_ALL_GATHER, {}, 0, 0, o.timeout, o.asyncOp};
  r.in = impl_->packed(r.operation, input);
  r.out = impl_->room(r.operation, output);
  r.finish = copy_back(output, r.out);
  r.results = {output};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::gather(std::vector<std::vector<Tensor>>& outputs, std::vector<Tensor>& inputs,
                             const GatherOptions& o) {
  const Tensor& t = only("gather", inputs);
  check_root("gather", o.rootRank, size_);
  const bool mine = o.rootRank == rank_;
  TENON_CHECK(mine ? outputs.size() == 1 : outputs.empty(), ValueError,
              "gather: a list of outputs is for the root, rank ", static_cast<long>(o.rootRank),
              ", alone; this is rank ", rank_);
  if (mine) check_parts("gather", outputs[0], t, size_);
  Request r{TN_COLLECTIVE_GATHER, {}, o.rootRank, 0, o.timeout, o.asyncOp};
  r.in = impl_->packed(r.operation, t);
  if (mine) {
    r.out = empty({t.numel() * size_}, r.in.options());
    r.finish = [out = r.out, to = outputs[0]] { unstack(out, to); };
    r.results = outputs[0];
  }
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::scatter(std::vector<Tensor>& outputs,
                              std::vector<std::vector<Tensor>>& inputs, const ScatterOptions& o) {
  const Tensor& t = only("scatter", outputs);
  check_root("scatter", o.rootRank, size_);
  const bool mine = o.rootRank == rank_;
  TENON_CHECK(mine ? inputs.size() == 1 : inputs.empty(), ValueError,
              "scatter: a list of inputs is for the root, rank ", static_cast<long>(o.rootRank),
              ", alone; this is rank ", rank_);
  if (mine) check_parts("scatter", inputs[0], t, size_);
  Request r{TN_COLLECTIVE_SCATTER, {}, o.rootRank, 0, o.timeout, o.asyncOp};
  r.out = impl_->room(r.operation, t);
  if (mine) r.in = stacked(inputs[0]).to(r.out.device());
  r.finish = copy_back(t, r.out);
  r.results = {t};
  return impl_->launch(std::move(r), options_.timeout);
}

// Engines without it sum everything everywhere, and each rank takes its part.
WorkPtr ProcessGroup::_reduce_scatter_base(Tensor& output, Tensor& input,
                                           const ReduceScatterOptions& o) {
  TENON_CHECK(
      input.numel() == output.numel() * size_ && output.scalar_type() == input.scalar_type(),
      ValueError, "reduce_scatter: input has ", input.numel(), " elements; expected ",
      output.numel() * size_, " of the output's dtype");
  const bool native =
      impl_->serves_from(TN_COLLECTIVE_REDUCE_SCATTER, o.reduceOp, input.scalar_type(), input);
  Request r{native ? TN_COLLECTIVE_REDUCE_SCATTER : TN_COLLECTIVE_ALL_REDUCE,
            o.reduceOp,
            0,
            0,
            o.timeout,
            o.asyncOp};
  const Reduction how = plan(*impl_, r.operation, o.reduceOp, input);
  r.op = how.op;
  const Tensor flat = input.detach().to(how.device).to(how.dtype).reshape({-1});
  r.in = native ? flat.contiguous() : flat.clone();
  r.out = native ? empty({output.numel()}, r.in.options()) : r.in;
  r.finish = [output, out = r.out, how, native, n = size_, rank = rank_] {
    const Tensor part = native ? out : out.narrow(0, rank * output.numel(), output.numel());
    if (how.divides) part.div_(n);
    output.detach().copy_(part.view(output.sizes()));
  };
  r.results = {output};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::reduce_scatter(std::vector<Tensor>& outputs,
                                     std::vector<std::vector<Tensor>>& inputs,
                                     const ReduceScatterOptions& o) {
  Tensor t = only("reduce_scatter", outputs);
  TENON_CHECK(inputs.size() == 1, ValueError, "reduce_scatter: expects one list of inputs");
  check_parts("reduce_scatter", inputs[0], t, size_);
  Tensor flat = stacked(inputs[0]);
  return _reduce_scatter_base(t, flat, o);
}

WorkPtr ProcessGroup::alltoall_base(Tensor& output, Tensor& input,
                                    const std::vector<int64_t>& out_splits,
                                    const std::vector<int64_t>& in_splits,
                                    const AllToAllOptions& o) {
  TENON_CHECK(output.scalar_type() == input.scalar_type(), ValueError,
              "all_to_all: input and output are of two dtypes");
  Request r{TN_COLLECTIVE_ALL_TO_ALL, {}, 0, 0, o.timeout, o.asyncOp};
  const auto counts = [&](const char* what, const Tensor& t, const std::vector<int64_t>& splits) {
    const int64_t rows = t.dim() ? t.size(0) : 0;
    TENON_CHECK(!splits.empty() || rows % size_ == 0, ValueError, "all_to_all: ", what, " has ",
                rows, " rows, which ", size_, " ranks cannot share equally");
    std::vector<int64_t> out = splits;
    if (out.empty()) out.assign(static_cast<std::size_t>(size_), rows / size_);
    int64_t sum = 0;
    for (int64_t& n : out) {
      TENON_CHECK(n >= 0, ValueError, "all_to_all: a negative part of ", what);
      sum += n;
      n *= rows ? t.numel() / rows : 0;
    }
    TENON_CHECK(sum == rows && out.size() == static_cast<std::size_t>(size_), ValueError,
                "all_to_all: the parts of ", what, " have ", sum, " rows of ", rows, ", in ",
                out.size(), " parts for ", size_, " ranks");
    return out;
  };
  r.in_counts = counts("input", input, in_splits);
  r.out_counts = counts("output", output, out_splits);
  r.in = impl_->packed(r.operation, input);
  r.out = impl_->room(r.operation, output);
  r.finish = copy_back(output, r.out);
  r.results = {output};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::alltoall(std::vector<Tensor>& outputs, std::vector<Tensor>& inputs,
                               const AllToAllOptions& o) {
  const auto n = static_cast<std::size_t>(size_);
  TENON_CHECK(outputs.size() == n && inputs.size() == n, ValueError, "all_to_all: expects ", size_,
              " inputs and outputs, got ", inputs.size(), " and ", outputs.size());
  Request r{TN_COLLECTIVE_ALL_TO_ALL, {}, 0, 0, o.timeout, o.asyncOp};
  int64_t room = 0;
  for (std::size_t i = 0; i < n; ++i) {
    r.in_counts.push_back(inputs[i].numel());
    r.out_counts.push_back(outputs[i].numel());
    room += outputs[i].numel();
    TENON_CHECK(inputs[i].scalar_type() == inputs[0].scalar_type() &&
                    outputs[i].scalar_type() == inputs[0].scalar_type(),
                ValueError, "all_to_all: tensors of more than one dtype");
  }
  r.in = impl_->packed(r.operation, stacked(inputs));
  r.out = empty({room}, r.in.options());
  r.finish = [out = r.out, outputs] { unstack(out, outputs); };
  r.results = outputs;
  return impl_->launch(std::move(r), options_.timeout);
}

namespace {
void check_peer(const char* op, int peer, int rank, int size, int tag) {
  check_root(op, peer, size);
  TENON_CHECK(peer != rank, ValueError, op, ": rank ", rank, " with itself");
  TENON_CHECK(tag >= 0, ValueError, op, ": tag ", tag, " is negative");
}
}  // namespace

WorkPtr ProcessGroup::send(std::vector<Tensor>& tensors, int peer, int tag) {
  const Tensor& t = only("send", tensors);
  check_peer("send", peer, rank_, size_, tag);
  Request r{TN_COLLECTIVE_SEND, {}, peer, tag};
  r.in = impl_->packed(r.operation, t);
  r.results = {t};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::recv(std::vector<Tensor>& tensors, int peer, int tag) {
  const Tensor& t = only("recv", tensors);
  if (peer != kAnySource) check_peer("recv", peer, rank_, size_, tag);
  Request r{TN_COLLECTIVE_RECV, {}, peer, tag};
  r.out = impl_->room(r.operation, t);
  r.finish = copy_back(t, r.out);
  r.results = {t};
  return impl_->launch(std::move(r), options_.timeout);
}

WorkPtr ProcessGroup::recvAnysource(std::vector<Tensor>& tensors, int tag) {
  return recv(tensors, kAnySource, tag);
}

WorkPtr ProcessGroup::barrier(const BarrierOptions& o) {
  Request r{TN_COLLECTIVE_BARRIER, {}, 0, 0, o.timeout, o.asyncOp};
  return impl_->launch(std::move(r), options_.timeout);
}

void ProcessGroup::monitoredBarrier(const BarrierOptions& o, bool) {
  BarrierOptions waits = o;
  waits.asyncOp = false;
  try {
    barrier(waits)->wait();
  } catch (const DistributedError& e) {
    if (e.ranks().empty()) throw;
    std::string absent;
    for (const int r : e.ranks()) absent += core::join(absent.empty() ? "Rank " : ", Rank ", r);
    throw DistributedError(core::join("monitoredBarrier: ", absent, " did not pass: ", e.what()),
                           e.ranks());
  }
}

}  // namespace tenon::distributed
