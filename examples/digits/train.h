// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Training and judging the network.
#pragma once

#include <tenon/profiler.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "data.h"
#include "net.h"

namespace digits {

struct Epoch {
  double loss = 0, accuracy = 0;  // means over the training images, as seen during the epoch
};

struct Judgment {
  double accuracy = 0;
  std::array<std::array<int, 10>, 10> confusion{};  // [truth][answer]
  std::vector<std::array<int64_t, 2>> wrong;        // image, answer
};

struct Options {
  int epochs = 20;
  int64_t batch = 64;
  double learning_rate = 2e-3;
  uint64_t seed = 1;  // of the first training
  int workers = 0;
  int rank = 0,
      ranks = 0;  // processes that share each batch; 0: one, with a network that is not plain
};

// After each batch: epoch (from 0), images seen, and the epoch's figures so far.
using Progress = std::function<void(int epoch, int64_t seen, const Epoch& so_far)>;

Net make_net(const Images& images, const tenon::Device& device, const Options& options);
// The same seed, device and data give the same bits, whatever the number of threads.
// With ranks the figures are those of whole batches. `step`: where it is given, the profile of a
// step once the first ones are done, for draw_timeline().
std::vector<Epoch> train(Net& net, const Images& images, const tenon::Device& device,
                         const Options& options, const Progress& progress,
                         tenon::autograd::profiler::Profile* step = nullptr);
Judgment judge(Net& net, const Images& images, const tenon::Device& device);

}  // namespace digits
