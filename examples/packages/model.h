// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A graph convolution of two layers: what a package is follows from what it is linked to.
#pragma once

#include <tenon/tenon.h>

#include <functional>
#include <vector>

#include "graph.h"

namespace packages {

// The matrices that carry what is known along the links, as sparse tensors scaled by 1/sqrt(degree)
// of both ends: one of both directions and of each package to itself or, if directed, one of each
// direction.
std::vector<tenon::Tensor> adjacency(const Graph& graph, bool directed,
                                     const tenon::Device& device);

struct GcnImpl : tenon::nn::Module {
  GcnImpl(std::vector<tenon::Tensor> matrices, int64_t width, int64_t sections, double dropout);

  // What the links tell of each package, [packages, width of each matrix].
  tenon::Tensor embed();
  tenon::Tensor forward() { return out(embed()); }

  std::vector<tenon::Tensor> matrices;
  std::vector<tenon::nn::Embedding> nodes;  // the first layer's weights; its input is the identity
  tenon::nn::Dropout drop;
  tenon::nn::Linear out;
};
TENON_MODULE(Gcn);

struct Options {
  int epochs = 60;
  int64_t width = 64;
  double learning_rate = 0.1, dropout = 0.5;
  bool directed = false;
};

struct Epoch {
  double loss = 0, accuracy = 0;  // over the known packages, while training
};
using Progress = std::function<void(int epoch, const Epoch& e)>;

// The same seed (tenon::manual_seed), device and data give the same bits, whatever the number of
// threads.
void train(Gcn& net, const Graph& graph, const Split& split, const Options& options,
           const Progress& progress);

struct Answers {
  tenon::Tensor embedding;    // of each package, on the net's device
  tenon::Tensor probability;  // [packages, sections], on the CPU
  std::vector<int64_t> best;  // section of each package
};
Answers answer(Gcn& net);

}  // namespace packages
