// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/launch.h"

#include <algorithm>

#include "distributed/store/bytes.h"
#include "runtime/base/settings.h"
#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/profiler.h"

namespace tenon::distributed {
namespace {

std::string kind_of(Device device) { return Device(device.type()).str(); }

}  // namespace

// A work of the engine and what comes after it.
class EngineWork : public Work {
 public:
  EngineWork(std::shared_ptr<ProcessGroup::Impl> group, Request request, uint64_t number)
      : group_(std::move(group)),
        request_(std::make_unique<Request>(std::move(request))),
        number_(number),
        source_(request_->operation == TN_COLLECTIVE_RECV ? static_cast<int>(request_->root) : -1) {
  }
  ~EngineWork() override {
    if (work_ && !group_->engine().release(group_->engine().context, work_))
      static_cast<void>(request_.release());  // its buffers are used until the process ends
  }

  void start(std::chrono::milliseconds timeout) {
    try {
      if (group_->stream && !request_->device.is_cpu()) follow_current_stream();
      begin(timeout);
      if (work_ && stream_) finish_on_stream();
    } catch (...) {
      if (!work_) return settle(std::current_exception());
      fault_ = std::current_exception();
    }
  }

  bool isCompleted() override { return poll(0); }

  bool wait(std::chrono::milliseconds timeout) override {
    if (timeout == kNoTimeout && has_results_ && !poll(0) && order_current_stream()) return true;
    const int64_t ms = timeout.count() < 0 ? INT64_MAX : std::max<int64_t>(timeout.count(), 1);
    const bool done = is_collective_ ? poll(ms) : poll_unless_interrupted(ms);
    if (interrupted_.exchange(false)) return false;
    if (!done)
      throw TimeoutError(core::join(name_of(request_->operation), ": not done within ",
                                    static_cast<long>(timeout.count()), " ms; it goes on"));
    if (auto error = exception()) std::rethrow_exception(error);
    return true;
  }

  void abort() override {
    if (is_collective_)
      group_->engine().abort(group_->engine().context, group_->membership->group());
    else
      interrupted_ = true;
  }
  int sourceRank() const override { return source_; }
  std::vector<Tensor> result() override {
    wait(kNoTimeout);
    return request_->results;
  }
  // Before start: the group keeps it until it is done.
  void set_pending() { is_pending_ = true; }
  void finish_now() { poll(INT64_MAX); }
  // Waits where a stream does; the engine's timeout ends that.
  bool is_done_after_streams() {
    std::unique_lock held(settling_);
    const int64_t ms = left_to_stream_ ? INT64_MAX : 0;
    held.unlock();
    return poll(ms);
  }

 private:
  void begin(std::chrono::milliseconds timeout) {
    const Request& r = *request_;
    const auto view = [](const Tensor& t) {
      return t.defined() ? &t.unsafeGetTensorImpl()->view : nullptr;
    };
    const tn_collective_call call{sizeof call,
                                  r.operation,
                                  r.op.op_,
                                  static_cast<int32_t>(r.root),
                                  static_cast<uint32_t>(r.tag),
                                  r.async ? 0u : uint32_t{TN_COLLECTIVE_BLOCKING},
                                  timeout.count(),
                                  view(r.in),
                                  view(r.out),
                                  r.in_counts.empty() ? nullptr : r.in_counts.data(),
                                  r.out_counts.empty() ? nullptr : r.out_counts.data(),
                                  stream_ ? stream_->abi() : nullptr};
    const tn_ext_collective& engine = group_->engine();
    if (engine.start(engine.context, group_->membership->group(), &call, &work_) != TN_OK) {
      work_ = nullptr;
      settle(failure(error_of(engine)));
    }
  }

  // The operation comes after what the caller's stream has, and its end is an event.
  void follow_current_stream() {
    stream_ = group_->stream;
    stream_->wait(current_stream(request_->device));
    const std::vector<Tensor>& all = request_->results;
    has_results_ = !all.empty() &&
                   std::none_of(all.begin(), all.end(), [](const Tensor& t) { return t.is_cpu(); });
  }

  // What copies results to other tensors of the device comes after the operation in its stream.
  void finish_on_stream() {
    std::lock_guard held(settling_);
    const StreamGuard on(*stream_);
    if (has_results_) fault_ = finish_request();
    end_.record(*stream_);
  }

  // False: it is done.
  bool order_current_stream() {
    std::lock_guard held(settling_);
    if (finished()) return false;
    end_.block(current_stream(request_->device));
    return left_to_stream_ = true;
  }

  bool poll(int64_t ms) {
    if (finished()) return true;
    const tn_ext_collective& engine = group_->engine();
    int32_t done = 0;
    const tn_status status = engine.wait(engine.context, work_, ms, &done);
    if (!done) return false;
    std::string why = status == TN_OK ? "" : error_of(engine);
    std::lock_guard held(settling_);
    if (finished()) return true;
    if (status == TN_OK && has_results_ && !is_at_end(ms)) return false;
    source_ = engine.source(engine.context, work_);
    if (status == TN_OK && !fault_ && !has_results_) fault_ = finish_request();
    if (status == TN_OK) profile();
    settle(status == TN_OK ? fault_ : failure(std::move(why)));
    return true;
  }

  // The range of the engine, which worked beside this thread: "gloo:all_reduce".
  void profile() {
    const tn_ext_collective& engine = group_->engine();
    int64_t begin = 0, end = 0;
    if (!ranges_ || !TN_HAS(&engine.head, tn_ext_collective, span) || !engine.span) return;
    if (engine.span(engine.context, work_, &begin, &end) != TN_OK) return;
    std::vector<std::vector<int64_t>> shapes;
    const Tensor& moved = request_->in.defined() ? request_->in : request_->out;
    if (moved.defined()) shapes.push_back(moved.sizes().vec());
    ranges_.add(core::join(group_->backend, ":", name_of(request_->operation)), std::move(shapes),
                begin, end);
  }

  // In slices, as an engine's wait is not interrupted itself.
  bool poll_unless_interrupted(int64_t ms) {
    constexpr int64_t kSlice = 100;
    for (; ms > kSlice && !interrupted_; ms -= ms == INT64_MAX ? 0 : kSlice) {
      if (poll(kSlice)) return true;
    }
    return !interrupted_ && poll(ms);
  }

  bool is_at_end(int64_t ms) {
    if (ms > 0) end_.synchronize();
    return ms > 0 || end_.query();
  }

  std::exception_ptr finish_request() {
    try {
      NoGradGuard no_grad;
      if (request_->out.defined()) request_->out.unsafeGetTensorImpl()->bump_version();
      if (request_->finish) request_->finish();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  // What was at fault, by the store, which takes a moment.
  std::exception_ptr failure(std::string why) {
    const Liveness::Verdict v = group_->liveness->diagnose(number_, Fingerprint(*request_));
    std::string text = core::join(name_of(request_->operation), ", number ", number_, " of group '",
                                  group_->name, "', failed on rank ", group_->rank, ": ");
    text += v.text.empty() ? why : core::join(v.text, " (", why, ")");
    return std::make_exception_ptr(DistributedError(std::move(text), v.ranks));
  }

  void settle(std::exception_ptr error) {
    const auto keep = shared_from_this();
    if (is_pending_) {
      std::lock_guard held(group_->lock);
      group_->pending.remove_if([&](auto& p) { return p.get() == this; });
    }
    if (is_collective_) group_->liveness->end(number_);
    finish(std::move(error));
  }

  std::shared_ptr<ProcessGroup::Impl> group_;
  std::unique_ptr<Request> request_;  // released where the engine does not let go of its buffers
  const uint64_t number_;
  const bool is_collective_ = Fingerprint::is_collective(request_->operation);
  bool is_pending_ = false;
  std::atomic<bool> interrupted_{false};  // a wait for a send or a receive
  tn_work* work_ = nullptr;
  // Of an engine for a device's memory.
  std::optional<Stream> stream_;
  bool has_results_ = false;       // on the device: what finishes them is in the stream's order
  std::recursive_mutex settling_;  // fork: groups are of no use to a child
  Event end_;                      // under settling_, as what follows
  bool left_to_stream_ = false;
  std::exception_ptr fault_;                       // of what finishes the results
  autograd::profiler::AsynchronousRanges ranges_;  // of the thread that launched it
  std::atomic<int> source_;                        // a named one is known before the work is done
};

// The engine's device: the host where it serves that.
static Device device_of(const tn_ext_collective& engine, const ProcessGroupOptions& o) {
  if (serves(engine, TN_COLLECTIVE_BARRIER, {}, kByte, "cpu")) return Device("cpu");
  return default_stream(o.device ? *o.device : current_device(kCUDA)).device();
}

ProcessGroup::Impl::Impl(const std::shared_ptr<Store>& s, int r, int n, const Options& o)
    : rank(r),
      size(n),
      name(o.group_name),
      backend(o.backend),
      store(s->clone()),
      device("cpu"),
      debug(!core::setting("DISTRIBUTED_DEBUG").empty() &&
            core::setting("DISTRIBUTED_DEBUG") != "0") {
  store->setTimeout(o.timeout);
  store->set(core::join("came/", rank), "1");
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) all.push_back(core::join("came/", i));
  try {
    store->wait(all, o.timeout);
  } catch (const TimeoutError&) {
    std::vector<int> missing;
    std::string text;
    for (int i = 0; i < size; ++i) {
      if (store->check({all[static_cast<std::size_t>(i)]})) continue;
      missing.push_back(i);
      text += core::join(text.empty() ? "" : ", ", i);
    }
    throw TimeoutError(core::join("distributed: ", missing.size() == 1 ? "rank " : "ranks ", text,
                                  " did not come to group '", name, "' within ",
                                  static_cast<long>(o.timeout.count()), " ms"),
                       missing);
  }
  liveness = std::make_unique<Liveness>(store, rank, size, o.heartbeat);
  const tn_ext_collective& opened = find_engine(o.backend);
  device = device_of(opened, o);
  if (!device.is_cpu()) stream = stream_from_pool(device);
  membership =
      std::make_unique<Membership>(opened, store->clone(), rank, size, name, o.timeout, device);
  liveness->watch([this] {
    const tn_ext_collective& e = engine();
    e.abort(e.context, membership->group());
  });
}

ProcessGroup::Impl::~Impl() = default;

Device ProcessGroup::Impl::device_for(int32_t operation, ReduceOp op, ScalarType dtype,
                                      Device device) {
  if (!serves(engine(), operation, op, dtype, kind_of(device))) {
    if (device != this->device) ++staged;
    return this->device;
  }
  TENON_CHECK(device == this->device || this->device.is_cpu(), ValueError, name_of(operation),
              ": a tensor is on ", device.str(), "; expected ", this->device.str(),
              ", the device of group '", name, "' on rank ", rank,
              " (ProcessGroupOptions::device)");
  return device;
}

bool ProcessGroup::Impl::serves_from(int32_t operation, ReduceOp op, ScalarType dtype,
                                     const Tensor& t) const {
  return serves(engine(), operation, op, dtype, kind_of(t.device())) ||
         serves(engine(), operation, op, dtype, kind_of(device));
}

// What streams wait for ends first, what nobody has waited for is given up.
void ProcessGroup::Impl::drain() {
  std::list<std::shared_ptr<EngineWork>> rest;
  {
    std::lock_guard held(lock);
    rest.swap(pending);
  }
  bool goes_on = false;
  for (const auto& work : rest) {
    if (!work->is_done_after_streams()) goes_on = true;
  }
  if (goes_on) engine().abort(engine().context, membership->group());
}

Tensor ProcessGroup::Impl::packed(int32_t operation, const Tensor& t) {
  const Device device = device_for(operation, ReduceOp::SUM, t.scalar_type(), t.device());
  if (t.is_contiguous() && t.device() == device) return t;
  return t.detach().to(device).contiguous();
}

Tensor ProcessGroup::Impl::room(int32_t operation, const Tensor& t) {
  const Device device = device_for(operation, ReduceOp::SUM, t.scalar_type(), t.device());
  if (t.is_contiguous() && t.device() == device) return t;
  return empty(t.sizes(), TensorOptions().dtype(t.scalar_type()).device(device));
}

void ProcessGroup::Impl::compare_fingerprints(const Request& r, uint64_t count,
                                              std::chrono::milliseconds timeout) {
  const std::string mine = Fingerprint(r).text();
  const std::string prefix = core::join("fingerprint/", count, "/");
  store->set(core::join(prefix, rank), mine);
  if (count > 2) store->deleteKey(core::join("fingerprint/", count - 2, "/", rank));
  std::vector<std::string> all;
  for (int i = 0; i < size; ++i) {
    const std::string key = core::join(prefix, i);
    try {
      store->wait({key}, timeout);
    } catch (const TimeoutError&) {
      const Liveness::Verdict v = liveness->diagnose(count, Fingerprint(r));
      throw DistributedError(core::join(mine, ", number ", count, " of group '", name, "': rank ",
                                        i, " did not come to it; ", v.text),
                             {i});
    }
    all.push_back(store->get_to_str(key));
  }
  const Mismatch m = compare_ranks(all, all);
  if (!m.ranks.empty())
    throw DistributedError(core::join("operation number ", count, " of group '", name,
                                      "' is not the same on all ranks: ", m.text),
                           m.ranks);
}

WorkPtr ProcessGroup::Impl::launch(Request r, std::chrono::milliseconds group_timeout) {
  const std::chrono::milliseconds timeout = r.timeout == kUnsetTimeout ? group_timeout : r.timeout;
  uint64_t count = number;
  if (Fingerprint::is_collective(r.operation)) {
    count = ++number;
    liveness->begin(Fingerprint(r), count);
    if (debug) compare_fingerprints(r, count, timeout);
  }
  r.device = r.out.defined() ? r.out.device() : r.in.defined() ? r.in.device() : device;
  const bool ends_here = !r.async && r.device.is_cpu();
  std::vector<std::shared_ptr<EngineWork>> earlier;
  auto work = std::make_shared<EngineWork>(shared_from_this(), std::move(r), count);
  if (!ends_here) work->set_pending();
  {
    std::lock_guard held(lock);
    earlier.assign(pending.begin(), pending.end());
    if (!ends_here) pending.push_back(work);
  }
  for (auto& p : earlier) p->isCompleted();
  work->start(timeout);
  if (ends_here) work->finish_now();
  return work;
}

}  // namespace tenon::distributed
