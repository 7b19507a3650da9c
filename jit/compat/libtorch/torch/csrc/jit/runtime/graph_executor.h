// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// libtorch's switches of its graph executor. They keep what they are set to and change nothing: a
// program is optimized where one asks for it, by jit::optimize_for_inference or tenon::compile.
#pragma once

#include <torch/namespaces.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace torch::jit {

enum class FusionBehavior { STATIC, DYNAMIC };
using FusionStrategy = std::vector<std::pair<FusionBehavior, std::size_t>>;

namespace detail {
inline std::atomic<bool> executor_optimizes{true}, executor_profiles{true}, executor_mode{true},
    executor_fuses{true};
inline std::atomic<std::size_t> executor_runs{1};
}  // namespace detail

inline void setGraphExecutorOptimize(bool on) { detail::executor_optimizes = on; }
inline bool getGraphExecutorOptimize() { return detail::executor_optimizes; }
inline std::atomic<bool>& getProfilingMode() { return detail::executor_profiles; }
inline std::atomic<bool>& getExecutorMode() { return detail::executor_mode; }
inline std::atomic<std::size_t>& getNumProfiledRuns() { return detail::executor_runs; }
inline void setTensorExprFuserEnabled(bool on) { detail::executor_fuses = on; }
inline bool tensorExprFuserEnabled() { return detail::executor_fuses; }

namespace detail {
struct KeptStrategy {
  std::mutex lock;  // fork: held for a move or a copy of a few pairs
  FusionStrategy strategy{{FusionBehavior::STATIC, 2}, {FusionBehavior::DYNAMIC, 10}};
};
inline KeptStrategy& kept_strategy() {
  static KeptStrategy kept;
  return kept;
}
}  // namespace detail

inline FusionStrategy getFusionStrategy() {
  const std::lock_guard<std::mutex> hold(detail::kept_strategy().lock);
  return detail::kept_strategy().strategy;
}
// The strategy before.
inline FusionStrategy setFusionStrategy(FusionStrategy strategy) {
  const std::lock_guard<std::mutex> hold(detail::kept_strategy().lock);
  return std::exchange(detail::kept_strategy().strategy, std::move(strategy));
}

// Sets the switch while it lives.
struct GraphOptimizerEnabledGuard {
  explicit GraphOptimizerEnabledGuard(bool on) : before_(getGraphExecutorOptimize()) {
    setGraphExecutorOptimize(on);
  }
  ~GraphOptimizerEnabledGuard() { setGraphExecutorOptimize(before_); }
  GraphOptimizerEnabledGuard(const GraphOptimizerEnabledGuard&) = delete;
  GraphOptimizerEnabledGuard& operator=(const GraphOptimizerEnabledGuard&) = delete;

 private:
  bool before_;
};

}  // namespace torch::jit
