// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Bring results that come in any order into that of their jobs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::data::detail::sequencers {

template <class Result>
struct Sequencer {
  using ResultProducer = std::function<std::optional<Result>()>;
  virtual ~Sequencer() = default;
  // The next result, which is asked of `next_result` until it is there; nothing at the end.
  virtual std::optional<Result> next(ResultProducer next_result) = 0;
};

// Results as they come.
template <class Result>
struct NoSequencer final : public Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  std::optional<Result> next(ResultProducer next_result) override { return next_result(); }
};

// Results by their sequence_number, from 0 on. At most max_jobs numbers are in flight, so that each
// has a place of its own in the buffer.
template <class Result>
struct OrderedSequencer : public Sequencer<Result> {
  using typename Sequencer<Result>::ResultProducer;
  explicit OrderedSequencer(std::size_t max_jobs) : buffer_(max_jobs) {}

  std::optional<Result> next(ResultProducer next_result) override {
    if (auto& kept = buffer(next_sequence_number_)) {
      std::optional<Result> result = std::move(*kept);
      kept.reset();
      ++next_sequence_number_;
      return result;
    }
    while (auto result = next_result()) {
      if (result->sequence_number == next_sequence_number_) {
        ++next_sequence_number_;
        return result;
      }
      auto& place = buffer(result->sequence_number);
      TENON_CHECK(!place, Error, "OrderedSequencer: more than ", buffer_.size(),
                  " jobs are in flight");
      place = std::move(result);
    }
    return std::nullopt;
  }

  std::optional<Result>& buffer(std::size_t number) { return buffer_.at(number % buffer_.size()); }

  std::size_t next_sequence_number_ = 0;
  std::vector<std::optional<Result>> buffer_;
};

}  // namespace tenon::data::detail::sequencers
