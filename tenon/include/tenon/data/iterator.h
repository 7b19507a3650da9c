// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The input iterator over a data loader's batches.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tenon/runtime/error.h"

namespace tenon::data {

template <class Batch>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;

  Iterator() = default;  // the end
  explicit Iterator(std::function<std::optional<Batch>()> next)
      : state_(std::make_shared<State>()) {
    state_->next = std::move(next);
  }

  // IndexError past the end.
  Iterator& operator++() {
    TENON_CHECK(state_ != nullptr, IndexError,
                "Incrementing the DataLoader's past-the-end iterator is not allowed");
    TENON_CHECK(!at_end(), IndexError, "Attempted to increment iterator past the end");
    state_->batch = state_->next();
    return *this;
  }
  Batch& operator*() const { return get(); }
  Batch* operator->() const { return &get(); }
  // Equal are two ends, and copies of one iterator.
  bool operator==(const Iterator& other) const {
    return state_ == other.state_ || (at_end() && other.at_end());
  }
  bool operator!=(const Iterator& other) const { return !(*this == other); }

 private:
  struct State {
    std::function<std::optional<Batch>()> next;
    std::optional<Batch> batch;
    bool started = false;
  };
  // The first batch is read when it is first asked for.
  bool at_end() const {
    if (!state_) return true;
    if (!state_->started) {
      state_->batch = state_->next();
      state_->started = true;
    }
    return !state_->batch;
  }
  Batch& get() const {
    TENON_CHECK(state_ != nullptr, IndexError,
                "Dereferencing the DataLoader's past-the-end iterator is not allowed");
    TENON_CHECK(!at_end(), IndexError, "Attempted to dereference iterator that was past the end");
    return *state_->batch;
  }

  std::shared_ptr<State> state_;
};

}  // namespace tenon::data
