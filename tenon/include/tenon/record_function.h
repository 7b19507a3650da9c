// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Callbacks at the begin and the end of ranges: of each operator call, of each node of a backward
// pass, and of ranges that a program names.
//
//   auto handle = addThreadLocalCallback(RecordFunctionCallback(begin, end).needsInputs(true));
//   {
//     TENON_RECORD_USER_SCOPE("epoch");  // RECORD_USER_SCOPE of <ATen/record_function.h>
//     train();
//   }
//   removeCallback(handle);
//
// Callbacks are those of a thread, which hear of that thread alone, or those of all threads
// (addGlobalCallback), which are called in the thread of the range. A range that begins while there
// are none costs one test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tenon/ivalue.h"

namespace tenon {

enum class RecordScope : uint8_t {
  FUNCTION = 0,       // an operator, or a range of a program
  BACKWARD_FUNCTION,  // a node of a backward pass
  TORCHSCRIPT_FUNCTION,
  KERNEL_FUNCTION_DTYPE,
  CUSTOM_CLASS,
  BUILD_FEATURE,
  LITE_INTERPRETER,
  USER_SCOPE,
  STATIC_RUNTIME_OP,
  STATIC_RUNTIME_MODEL,
  NUM_SCOPES
};

// What a start callback keeps for the end callback of the same range.
struct ObserverContext {
  virtual ~ObserverContext() = default;
};

class RecordFunction;

class RecordFunctionCallback {
 public:
  using StartCallback = std::function<std::unique_ptr<ObserverContext>(const RecordFunction&)>;
  using EndCallback = std::function<void(const RecordFunction&, ObserverContext*)>;

  // What a callback throws is dropped. Ranges that it opens itself are not reported.
  explicit RecordFunctionCallback(StartCallback start, EndCallback end = nullptr)
      : start_(std::move(start)), end_(std::move(end)) {}
  RecordFunctionCallback& needsInputs(bool needs) {
    needs_inputs_ = needs;
    return *this;
  }
  // Of these scopes alone; all, unless it is called.
  RecordFunctionCallback& scopes(std::unordered_set<RecordScope> scopes) {
    scopes_ = std::move(scopes);
    return *this;
  }
  // RecordFunction::outputs, for the end callback.
  RecordFunctionCallback& needsOutputs(bool needs) {
    needs_outputs_ = needs;
    return *this;
  }
  // RecordFunction::handle.
  RecordFunctionCallback& needsIds(bool needs) {
    needs_ids_ = needs;
    return *this;
  }
  // The callback is called for this part of the ranges, chosen at random.
  TENON_API RecordFunctionCallback& samplingProb(double probability);
  bool needsInputs() const { return needs_inputs_; }
  bool needsOutputs() const { return needs_outputs_; }
  bool needsIds() const { return needs_ids_; }
  double samplingProb() const { return sampling_prob_; }
  bool checkScope(RecordScope scope) const { return scopes_.empty() || scopes_.count(scope) > 0; }
  const StartCallback& start() const { return start_; }
  const EndCallback& end() const { return end_; }

 private:
  StartCallback start_;
  EndCallback end_;
  bool needs_inputs_ = false, needs_outputs_ = false, needs_ids_ = false;
  double sampling_prob_ = 1;
  std::unordered_set<RecordScope> scopes_;
};

using CallbackHandle = uint64_t;
constexpr CallbackHandle INVALID_CALLBACK_HANDLE = 0;
using RecordFunctionHandle = uint64_t;
TENON_API CallbackHandle addThreadLocalCallback(RecordFunctionCallback callback);
// Of all threads, those that run already, too. The callback may be called by several at a time.
TENON_API CallbackHandle addGlobalCallback(RecordFunctionCallback callback);
// These do nothing if there is none of this handle in this thread or among those of all threads. A
// range that has begun still calls a callback that was removed meanwhile.
TENON_API void removeCallback(CallbackHandle handle);
TENON_API void disableCallback(CallbackHandle handle);
TENON_API void reenableCallback(CallbackHandle handle);
TENON_API void clearThreadLocalCallbacks();
TENON_API void clearGlobalCallbacks();
inline void clearCallbacks() {
  clearGlobalCallbacks();
  clearThreadLocalCallbacks();
}
TENON_API bool hasThreadLocalCallbacks() noexcept;
TENON_API bool hasGlobalCallbacks() noexcept;
inline bool hasCallbacks() noexcept { return hasThreadLocalCallbacks() || hasGlobalCallbacks(); }
// Whether callbacks of this thread are called; they are unless it was turned off.
TENON_API bool isRecordFunctionEnabled() noexcept;
TENON_API void enableRecordFunction(bool enable) noexcept;

class RecordFunctionGuard {
 public:
  explicit RecordFunctionGuard(bool enabled = true) : before_(isRecordFunctionEnabled()) {
    enableRecordFunction(enabled);
  }
  ~RecordFunctionGuard() { enableRecordFunction(before_); }
  RecordFunctionGuard(const RecordFunctionGuard&) = delete;
  RecordFunctionGuard& operator=(const RecordFunctionGuard&) = delete;

 private:
  bool before_;
};
struct DisableRecordFunctionGuard : RecordFunctionGuard {
  DisableRecordFunctionGuard() : RecordFunctionGuard(false) {}
};

// A range: it begins with before(), and ends with end() or with its life.
class TENON_API RecordFunction {
 public:
  explicit RecordFunction(RecordScope scope = RecordScope::FUNCTION);
  ~RecordFunction() { end(); }
  RecordFunction(const RecordFunction&) = delete;
  RecordFunction& operator=(const RecordFunction&) = delete;

  // Whether anybody listens, and to what besides the name.
  bool isActive() const noexcept { return !heard_.empty(); }
  bool needsInputs() const noexcept { return needs_inputs_; }
  bool needsOutputs() const noexcept { return needs_outputs_; }
  // `inputs` must live as long as the range.
  void before(std::string_view name, ArrayRef<IValue> inputs = {});
  void end() noexcept;

  const char* name() const noexcept { return name_.c_str(); }
  RecordScope scope() const noexcept { return scope_; }
  // Other arguments than tensors, numbers, strings and lists are None.
  ArrayRef<IValue> inputs() const noexcept { return inputs_; }
  std::size_t num_inputs() const noexcept { return inputs_.size(); }
  // Of an operator call that failed, none.
  const std::vector<IValue>& outputs() const noexcept { return outputs_; }
  void setOutputs(std::vector<IValue> outputs) { outputs_ = std::move(outputs); }
  std::size_t num_outputs() const noexcept { return outputs_.size(); }
  // A number of the range's own; 0 unless a callback needs it.
  RecordFunctionHandle handle() const noexcept { return handle_; }
  // The thread that the range is in, counted from 1 in the order of their first ranges.
  uint64_t threadId() const noexcept { return currentThreadId(); }
  static uint64_t currentThreadId() noexcept;

  // Whose callbacks a range looks for: those of its thread and those of all threads are told of
  // operators separately.
  enum class Listeners { Thread, All, Both };
  RecordFunction(RecordScope scope, Listeners listeners);

 private:
  struct Heard {
    CallbackHandle handle;
    std::shared_ptr<const RecordFunctionCallback> callback;
    std::unique_ptr<ObserverContext> context;
  };
  void listen(CallbackHandle handle, const std::shared_ptr<const RecordFunctionCallback>& callback);

  RecordScope scope_;
  bool needs_inputs_ = false, needs_outputs_ = false, begun_ = false;
  RecordFunctionHandle handle_ = 0;
  std::string name_;
  ArrayRef<IValue> inputs_;
  std::vector<IValue> outputs_;
  std::vector<Heard> heard_;
};

}  // namespace tenon

// A range until the end of the block; after the name, a vector of IValue, which is evaluated if
// somebody listens to arguments.
#define TENON_RECORD_FUNCTION_WITH_SCOPE(scope, name, ...) \
  TENON_RECORD_RANGE(scope, name, __COUNTER__, __VA_ARGS__)
#define TENON_RECORD_FUNCTION(name, ...) \
  TENON_RECORD_RANGE(::tenon::RecordScope::FUNCTION, name, __COUNTER__, __VA_ARGS__)
#define TENON_RECORD_USER_SCOPE(name) \
  TENON_RECORD_RANGE(::tenon::RecordScope::USER_SCOPE, name, __COUNTER__, {})
#define TENON_RECORD_RANGE(scope, name, n, ...) TENON_RECORD_RANGE_AT(scope, name, n, __VA_ARGS__)
#define TENON_RECORD_RANGE_AT(scope, name, n, ...)                     \
  ::std::vector<::tenon::IValue> tenon_inputs_##n;                     \
  ::tenon::RecordFunction tenon_range_##n(scope);                      \
  if (tenon_range_##n.isActive()) {                                    \
    if (tenon_range_##n.needsInputs()) tenon_inputs_##n = __VA_ARGS__; \
    tenon_range_##n.before(name, tenon_inputs_##n);                    \
  }                                                                    \
  static_assert(true, "")
