// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tenon::mpi_engine {

// Memory that is kept from one operation to the next.
class Scratch {
 public:
  struct Free {
    void operator()(char* p) const;
  };
  using Memory = std::unique_ptr<char, Free>;
  using Block = std::pair<Memory, size_t>;
  Scratch() { free_.reserve(kKept + 1); }
  Block take(size_t bytes);     // as many or more, not initialized
  void give_back(Block block);  // the largest are kept

 private:
  static constexpr size_t kKept = 4;  // blocks

  std::mutex lock_;
  std::vector<Block> free_;  // under lock_
};

}  // namespace tenon::mpi_engine
