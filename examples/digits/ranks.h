// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Several processes that train one network.
#pragma once

#include <tenon/data/samplers.h>

namespace digits {

// Runs this program as `tenon launch -n ranks`, with the `tenon` beside it or else of the PATH, in
// the place of this process. Returns at once in a process that was launched so, and for one rank.
void launch_ranks(int ranks, char** argv);

// This process among those that were launched; alone if it was not. Leaves them when it ends.
class Ranks {
 public:
  explicit Ranks(int expected);  // std::runtime_error: so many were not launched
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  int rank_ = 0, size_ = 1;
};

// A part of each batch of a RandomSampler, so that the parts of all ranks are the batch of one
// process. The last batch of an epoch is left out unless it is whole. 0 ranks: the RandomSampler.
class PartSampler : public tenon::data::samplers::Sampler<> {
 public:
  PartSampler(int64_t images, int rank, int ranks) : all_(images), rank_(rank), ranks_(ranks) {}
  void reset(std::optional<std::size_t> new_size = std::nullopt) override { all_.reset(new_size); }
  // `part`: the size of the part.
  std::optional<std::vector<std::size_t>> next(std::size_t part) override;
  void save(tenon::serialize::OutputArchive& archive) const override { all_.save(archive); }
  void load(tenon::serialize::InputArchive& archive) override { all_.load(archive); }

 private:
  tenon::data::samplers::RandomSampler all_;
  int rank_, ranks_;
};

}  // namespace digits
