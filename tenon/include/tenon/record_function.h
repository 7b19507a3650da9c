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
// Callbacks are those of a thread, and hear of that thread alone. A range that begins while there
// is none costs one test.
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
  bool needsInputs() const { return needs_inputs_; }
  bool checkScope(RecordScope scope) const { return scopes_.empty() || scopes_.count(scope) > 0; }
  const StartCallback& start() const { return start_; }
  const EndCallback& end() const { return end_; }

 private:
  StartCallback start_;
  EndCallback end_;
  bool needs_inputs_ = false;
  std::unordered_set<RecordScope> scopes_;
};

using CallbackHandle = uint64_t;
TENON_API CallbackHandle addThreadLocalCallback(RecordFunctionCallback callback);
// Does nothing if there is none of this handle in this thread.
TENON_API void removeCallback(CallbackHandle handle);
TENON_API void clearThreadLocalCallbacks();
TENON_API bool hasThreadLocalCallbacks() noexcept;
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

  // Whether anybody listens, and whether with arguments.
  bool isActive() const noexcept { return !heard_.empty(); }
  bool needsInputs() const noexcept { return needs_inputs_; }
  // `inputs` must live as long as the range.
  void before(std::string_view name, ArrayRef<IValue> inputs = {});
  void end() noexcept;

  const char* name() const noexcept { return name_.c_str(); }
  RecordScope scope() const noexcept { return scope_; }
  // Other arguments than tensors, numbers, strings and lists are None.
  ArrayRef<IValue> inputs() const noexcept { return inputs_; }
  // The thread that the range is in, counted from 1 in the order of their first ranges.
  uint64_t threadId() const noexcept { return currentThreadId(); }
  static uint64_t currentThreadId() noexcept;

 private:
  struct Heard {
    CallbackHandle handle;
    std::shared_ptr<const RecordFunctionCallback> callback;
    std::unique_ptr<ObserverContext> context;
  };
  RecordScope scope_;
  bool needs_inputs_ = false, begun_ = false;
  std::string name_;
  ArrayRef<IValue> inputs_;
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
