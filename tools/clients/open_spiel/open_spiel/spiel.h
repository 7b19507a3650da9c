// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The part of OpenSpiel's games that tests of networks ask for: the first position of clobber, a
// board of alternating pieces, each of which takes a neighbor of the other color.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace open_spiel {

using Action = int64_t;
using Player = int;

class State {
 public:
  State(int rows, int columns) : rows_(rows), columns_(columns) {}
  // Four directions from each field, in the order of the fields; white, on the even ones, moves.
  std::vector<Action> LegalActions() const {
    std::vector<Action> out;
    for (int y = 0; y < rows_; ++y) {
      for (int x = y % 2; x < columns_; x += 2) {
        const bool inside[] = {y > 0, x + 1 < columns_, y + 1 < rows_, x > 0};
        for (int d = 0; d < 4; ++d) {
          if (inside[d]) out.push_back((y * columns_ + x) * 4 + d);
        }
      }
    }
    return out;
  }
  // Planes of white, black and empty fields.
  std::vector<float> ObservationTensor() const {
    const int fields = rows_ * columns_;
    std::vector<float> out(static_cast<std::size_t>(3 * fields), 0.0f);
    for (int i = 0; i < fields; ++i)
      out[static_cast<std::size_t>(i + (i / columns_ + i % columns_) % 2 * fields)] = 1;
    return out;
  }

 private:
  int rows_, columns_;
};

class Game {
 public:
  Game(int rows, int columns) : rows_(rows), columns_(columns) {}
  std::vector<int> ObservationTensorShape() const { return {3, rows_, columns_}; }
  int NumDistinctActions() const { return rows_ * columns_ * 4; }
  std::unique_ptr<State> NewInitialState() const {
    return std::make_unique<State>(rows_, columns_);
  }

 private:
  int rows_, columns_;
};

// "clobber(rows=8,columns=8)"
inline std::shared_ptr<const Game> LoadGame(const std::string& text) {
  int rows = 5, columns = 6;
  std::sscanf(text.c_str(), "clobber(rows=%d,columns=%d)", &rows, &columns);
  return std::make_shared<Game>(rows, columns);
}

}  // namespace open_spiel
