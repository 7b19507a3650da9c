// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/record_function.h"

#include <algorithm>
#include <atomic>

#include "tenon/autograd/operator_observer.h"
#include "tenon/call/generated.h"
#include "tenon/call/thread_state.h"

namespace tenon {
namespace {

class OperatorRanges;

struct Callbacks {
  struct Item {
    CallbackHandle handle;
    std::shared_ptr<const RecordFunctionCallback> callback;
  };
  std::vector<Item> items;
  int running = 0;  // callbacks of this thread that run now
  std::unique_ptr<OperatorRanges> operators;

  void stop_unheard();
};

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

// Reports operator calls as ranges; an observer that was there before hears them, too.
class OperatorRanges final : public autograd::OperatorObserver {
 public:
  OperatorRanges() : before_(autograd::set_operator_observer(this)) {}
  ~OperatorRanges() override { autograd::set_operator_observer(before_); }
  void begin_call(const autograd::OperatorCall& call) override {
    if (before_) before_->begin_call(call);
    open_.push_back(std::make_unique<Open>());
    Open& range = *open_.back();
    if (!range.function.isActive()) return;
    if (range.function.needsInputs()) {
      for (int i = 0; i < call.op.n_args; ++i) range.inputs.push_back(ivalue_of(call.in[i]));
    }
    range.function.before(call.op.name, range.inputs);
  }
  void end_call(const autograd::OperatorCall& call,
                const core::OwnedValue* results) noexcept override {
    if (!open_.empty()) open_.pop_back();  // a callback may be added in the middle of a call
    if (before_) before_->end_call(call, results);
  }
  void changed(const char* what, core::TensorImpl& tensor) override {
    if (before_) before_->changed(what, tensor);
  }

 private:
  struct Open {
    std::vector<IValue> inputs;
    RecordFunction function;
  };
  autograd::OperatorObserver* before_;
  std::vector<std::unique_ptr<Open>> open_;
};

// An observer that came later passes calls on to this one: it stays until that one has gone.
void Callbacks::stop_unheard() {
  if (items.empty() && autograd::operator_observer() == operators.get()) operators.reset();
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

}  // namespace

CallbackHandle addThreadLocalCallback(RecordFunctionCallback callback) {
  static std::atomic<CallbackHandle> last{0};
  Callbacks& all = callbacks();
  const CallbackHandle handle = ++last;
  all.items.push_back(
      {handle, std::make_shared<const RecordFunctionCallback>(std::move(callback))});
  if (!all.operators) all.operators = std::make_unique<OperatorRanges>();
  return handle;
}

void removeCallback(CallbackHandle handle) {
  Callbacks& all = callbacks();
  all.items.erase(std::remove_if(all.items.begin(), all.items.end(),
                                 [&](const auto& item) { return item.handle == handle; }),
                  all.items.end());
  all.stop_unheard();
}

void clearThreadLocalCallbacks() {
  if (!hasThreadLocalCallbacks()) return;
  callbacks().items.clear();
  callbacks().stop_unheard();
}

bool hasThreadLocalCallbacks() noexcept { return t_callbacks && !t_callbacks->items.empty(); }
bool isRecordFunctionEnabled() noexcept { return !t_quiet; }
void enableRecordFunction(bool enable) noexcept { t_quiet = !enable; }

RecordFunction::RecordFunction(RecordScope scope) : scope_(scope) {
  if (!autograd::observed() || t_quiet || !t_callbacks) return;
  const Callbacks& all = *t_callbacks;
  if (all.running > 0) return;
  for (const auto& item : all.items) {
    if (!item.callback->checkScope(scope)) continue;
    heard_.push_back({item.handle, item.callback, nullptr});
    needs_inputs_ |= item.callback->needsInputs();
  }
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
