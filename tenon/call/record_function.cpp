// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/record_function.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "runtime/base/leaf_mutex.h"
#include "tenon/autograd/operator_observer.h"
#include "tenon/call/generated.h"
#include "tenon/call/thread_state.h"

namespace tenon {
namespace {

class OperatorRanges;

using Callback = std::shared_ptr<const RecordFunctionCallback>;

class CallbackList {
 public:
  void add(CallbackHandle handle, Callback callback) {
    items_.push_back({handle, std::move(callback), true});
  }
  // Null if there is none of this handle. Who calls it destroys the callback, under no lock.
  Callback take(CallbackHandle handle) {
    const auto at = find(handle);
    if (at == items_.end()) return nullptr;
    Callback callback = std::move(at->callback);
    items_.erase(at);
    return callback;
  }
  bool enable(CallbackHandle handle, bool on) {
    const auto at = find(handle);
    if (at != items_.end()) at->enabled = on;
    return at != items_.end();
  }
  bool empty() const noexcept { return items_.empty(); }
  template <class Heard>  // of a callback and its handle
  void each_of(RecordScope scope, const Heard& heard) const {
    for (const Item& item : items_) {
      if (item.enabled && item.callback->checkScope(scope)) heard(item.handle, item.callback);
    }
  }

 private:
  struct Item {
    CallbackHandle handle;
    Callback callback;
    bool enabled;
  };
  std::vector<Item>::iterator find(CallbackHandle handle) {
    return std::find_if(items_.begin(), items_.end(),
                        [&](const Item& item) { return item.handle == handle; });
  }
  std::vector<Item> items_;
};

// The callbacks of all threads. `g_mode` says whether there are any.
struct Everywhere {
  core::LeafMutex mutex;
  CallbackList list;

  void tell_threads() const noexcept {  // under the lock
    if (list.empty())
      autograd::g_mode.fetch_and(~uint32_t{autograd::kOperatorObserved});
    else
      autograd::g_mode.fetch_or(autograd::kOperatorObserved);
  }
};
Everywhere& g_everywhere = *new Everywhere;  // never destroyed: threads may outlive statics

IValue ivalue_of(const tn_value& v) {
  const auto tensor = [](const tn_tensor* t) {
    return t ? Tensor(core::Impl::share(core::TensorImpl::from_view(t))) : Tensor();
  };
  switch (v.tag) {
    case TN_TAG_TENSOR:
      return tensor(v.u.tensor);
    case TN_TAG_I64:
      return v.u.i64;
    case TN_TAG_F64:
      return v.u.f64;
    case TN_TAG_BOOL:
      return v.u.i64 != 0;
    case TN_TAG_STR:
      return std::string(v.u.str, v.len);
    case TN_TAG_I64_LIST:
      return IntArrayRef(v.u.i64s, v.len);
    case TN_TAG_TENSOR_LIST: {
      std::vector<Tensor> list;
      for (uint32_t i = 0; i < v.len; ++i) list.push_back(tensor(v.u.tensors[i]));
      return list;
    }
    default:
      return {};
  }
}

IValue ivalue_of(const core::OwnedValue& v) {
  if (v.tag == TN_TAG_TENSOR) return Tensor(v.tensor);
  if (v.tag == TN_TAG_TENSOR_LIST) return std::vector<Tensor>(v.tensors.begin(), v.tensors.end());
  if (v.tag == TN_TAG_I64_LIST) return IntArrayRef(v.ints);
  return ivalue_of(v.plain);
}

// What a call gave or, where it was in place or with out=, wrote to.
std::vector<IValue> outputs_of(const autograd::OperatorCall& call,
                               const core::OwnedValue* results) {
  std::vector<IValue> out;
  if (call.form == core::Form::Functional) {
    for (int i = 0; results && i < call.op.n_results; ++i) out.push_back(ivalue_of(results[i]));
    return out;
  }
  const int n = call.form == core::Form::Inplace ? 1 : call.op.n_results;
  for (int i = 0; i < n; ++i) out.push_back(Tensor(core::Impl::share(call.written[i])));
  return out;
}

// The ranges of the operator calls that this thread is in, the innermost last.
class OpenCalls {
 public:
  void begin(const autograd::OperatorCall& call, RecordFunction::Listeners listeners) {
    open_.push_back(std::make_unique<Open>(call.in, listeners));
    Open& range = *open_.back();
    if (!range.function.isActive()) return;
    if (range.function.needsInputs()) {
      for (int i = 0; i < call.op.n_args; ++i) range.inputs.push_back(ivalue_of(call.in[i]));
    }
    range.function.before(call.op.name, range.inputs);
  }
  // Of a call that had begun before there was a callback, nothing.
  void end(const autograd::OperatorCall& call, const core::OwnedValue* results) noexcept {
    if (open_.empty() || open_.back()->call != call.in) return;
    const std::unique_ptr<Open> range = std::move(open_.back());
    open_.pop_back();
    try {
      if (range->function.needsOutputs()) range->function.setOutputs(outputs_of(call, results));
    } catch (const std::exception&) {  // without memory, less is told
    }
  }
  bool empty() const noexcept { return open_.empty(); }

 private:
  struct Open {
    Open(const tn_value* in, RecordFunction::Listeners listeners)
        : call(in), function(RecordScope::FUNCTION, listeners) {}
    const tn_value* call;  // tells it from others
    std::vector<IValue> inputs;
    RecordFunction function;
  };
  std::vector<std::unique_ptr<Open>> open_;
};

struct Callbacks {
  CallbackList list;
  int running = 0;  // callbacks of this thread, or of all, that run now in this one
  std::unique_ptr<OperatorRanges> operators;
  OpenCalls open_everywhere;  // for the callbacks of all threads

  void stop_unheard() noexcept;
};

// Reports operator calls as ranges; an observer that was there before hears them, too.
class OperatorRanges final : public autograd::OperatorObserver {
 public:
  explicit OperatorRanges(Callbacks& of)
      : before_(autograd::set_operator_observer(this)), of_(of) {}
  ~OperatorRanges() override { autograd::set_operator_observer(before_); }
  void begin_call(const autograd::OperatorCall& call) override {
    if (before_) before_->begin_call(call);
    open_.begin(call, RecordFunction::Listeners::Thread);
  }
  void end_call(const autograd::OperatorCall& call,
                const core::OwnedValue* results) noexcept override {
    open_.end(call, results);
    if (before_) before_->end_call(call, results);
    of_.stop_unheard();  // deletes this, where a callback removed the last one
  }
  void changed(const char* what, core::TensorImpl& tensor) override {
    if (before_) before_->changed(what, tensor);
  }
  bool idle() const noexcept { return open_.empty(); }

 private:
  autograd::OperatorObserver* before_;
  Callbacks& of_;
  OpenCalls open_;
};

// An observer that came later passes calls on to this one: it stays until that one has gone. It
// stays in a call, too.
void Callbacks::stop_unheard() noexcept {
  if (operators && list.empty() && operators->idle() &&
      autograd::operator_observer() == operators.get())
    operators.reset();
}

__thread Callbacks* t_callbacks __attribute__((tls_model("initial-exec")));
void drop_callbacks() noexcept {
  delete t_callbacks;
  t_callbacks = nullptr;
}
__thread core::ThreadEnd t_callbacks_end
    __attribute__((tls_model("initial-exec"))) = {drop_callbacks};
Callbacks& callbacks() { return thread_state(t_callbacks, t_callbacks_end); }

__thread bool t_quiet __attribute__((tls_model("initial-exec")));
__thread uint64_t t_thread_id __attribute__((tls_model("initial-exec")));

// Ranges of a callback's own are not reported.
struct Running {
  Running() { ++callbacks().running; }
  ~Running() { --callbacks().running; }
};

std::atomic<CallbackHandle> g_last_handle{0};

__thread uint64_t t_draws __attribute__((tls_model("initial-exec")));

// splitmix64 of a counter, another row of numbers in each thread.
bool is_sampled(double probability) {
  uint64_t z = (RecordFunction::currentThreadId() << 40) + ++t_draws * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 < probability;
}

}  // namespace

RecordFunctionCallback& RecordFunctionCallback::samplingProb(double probability) {
  TENON_CHECK(probability >= 0 && probability <= 1, ValueError, "samplingProb: the probability is ",
              probability, ", expected 0 to 1");
  sampling_prob_ = probability;
  return *this;
}

CallbackHandle addThreadLocalCallback(RecordFunctionCallback callback) {
  Callbacks& all = callbacks();
  const CallbackHandle handle = ++g_last_handle;
  all.list.add(handle, std::make_shared<const RecordFunctionCallback>(std::move(callback)));
  if (!all.operators) all.operators = std::make_unique<OperatorRanges>(all);
  return handle;
}

CallbackHandle addGlobalCallback(RecordFunctionCallback callback) {
  const CallbackHandle handle = ++g_last_handle;
  auto shared = std::make_shared<const RecordFunctionCallback>(std::move(callback));
  const std::lock_guard lock(g_everywhere.mutex);
  g_everywhere.list.add(handle, std::move(shared));
  g_everywhere.tell_threads();
  return handle;
}

void removeCallback(CallbackHandle handle) {
  if (t_callbacks) {
    if (const Callback removed = t_callbacks->list.take(handle)) return t_callbacks->stop_unheard();
  }
  Callback removed;
  const std::lock_guard lock(g_everywhere.mutex);
  removed = g_everywhere.list.take(handle);
  g_everywhere.tell_threads();
}

namespace {

void enable_callback(CallbackHandle handle, bool on) {
  if (t_callbacks && t_callbacks->list.enable(handle, on)) return;
  const std::lock_guard lock(g_everywhere.mutex);
  g_everywhere.list.enable(handle, on);
}

}  // namespace

void disableCallback(CallbackHandle handle) { enable_callback(handle, false); }
void reenableCallback(CallbackHandle handle) { enable_callback(handle, true); }

void clearThreadLocalCallbacks() {
  if (!hasThreadLocalCallbacks()) return;
  const CallbackList removed = std::exchange(callbacks().list, {});
  callbacks().stop_unheard();
}

void clearGlobalCallbacks() {
  CallbackList removed;
  const std::lock_guard lock(g_everywhere.mutex);
  std::swap(removed, g_everywhere.list);
  g_everywhere.tell_threads();
}

bool hasThreadLocalCallbacks() noexcept { return t_callbacks && !t_callbacks->list.empty(); }
bool hasGlobalCallbacks() noexcept {
  return autograd::g_mode.load(std::memory_order_relaxed) & autograd::kOperatorObserved;
}
bool isRecordFunctionEnabled() noexcept { return !t_quiet; }
void enableRecordFunction(bool enable) noexcept { t_quiet = !enable; }

namespace autograd {

void begin_everywhere(const OperatorCall& call) noexcept try {
  callbacks().open_everywhere.begin(call, RecordFunction::Listeners::All);
} catch (const std::exception&) {  // without memory, less is told
}

void end_everywhere(const OperatorCall& call, const core::OwnedValue* results) noexcept {
  if (t_callbacks) t_callbacks->open_everywhere.end(call, results);
}

}  // namespace autograd

RecordFunction::RecordFunction(RecordScope scope) : RecordFunction(scope, Listeners::Both) {}

RecordFunction::RecordFunction(RecordScope scope, Listeners listeners) : scope_(scope) {
  if (!autograd::observed() || t_quiet || (t_callbacks && t_callbacks->running > 0)) return;
  const auto heard = [&](CallbackHandle handle, const Callback& callback) {
    listen(handle, callback);
  };
  if (listeners != Listeners::All && t_callbacks) t_callbacks->list.each_of(scope, heard);
  if (listeners == Listeners::Thread || !hasGlobalCallbacks()) return;
  const std::lock_guard lock(g_everywhere.mutex);
  g_everywhere.list.each_of(scope, heard);
}

void RecordFunction::listen(CallbackHandle handle, const Callback& callback) {
  static std::atomic<RecordFunctionHandle> last_range{0};
  if (callback->samplingProb() < 1 && !is_sampled(callback->samplingProb())) return;
  heard_.push_back({handle, callback, nullptr});
  needs_inputs_ |= callback->needsInputs();
  needs_outputs_ |= callback->needsOutputs();
  if (callback->needsIds() && handle_ == 0) handle_ = ++last_range;
}

void RecordFunction::before(std::string_view name, ArrayRef<IValue> inputs) {
  if (!isActive() || begun_) return;
  begun_ = true;
  name_ = name;
  inputs_ = inputs;
  const Running running;
  for (Heard& h : heard_) {
    try {
      if (h.callback->start()) h.context = h.callback->start()(*this);
    } catch (...) {  // of the listener, not of what it listens to
    }
  }
}

void RecordFunction::end() noexcept {
  if (!begun_) return;
  begun_ = false;
  const Running running;
  for (Heard& h : heard_) {
    try {
      if (h.callback->end()) h.callback->end()(*this, h.context.get());
    } catch (...) {
    }
  }
}

uint64_t RecordFunction::currentThreadId() noexcept {
  static std::atomic<uint64_t> threads{0};
  if (t_thread_id == 0) t_thread_id = ++threads;
  return t_thread_id;
}

}  // namespace tenon
