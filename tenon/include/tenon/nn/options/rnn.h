// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tenon/arg.h"
#include "tenon/enum.h"

namespace tenon {
namespace nn {

namespace detail {
// What the options of all layers have in common.
template <class Options>
struct RNNLayerOptions {
  RNNLayerOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of an element of the sequence.
  TENON_ARG_OF(Options, int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG_OF(Options, int64_t, hidden_size);
  // Layers on top of each other.
  TENON_ARG_OF(Options, int64_t, num_layers) = 1;
  // Whether the two biases are learned.
  TENON_ARG_OF(Options, bool, bias) = true;
  // Whether inputs are [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG_OF(Options, bool, batch_first) = false;
  // Probability of dropout between layers.
  TENON_ARG_OF(Options, double, dropout) = 0.0;
  // Whether a second network runs backwards.
  TENON_ARG_OF(Options, bool, bidirectional) = false;
};

// The options of any layer.
struct RNNOptionsBase : public RNNLayerOptions<RNNOptionsBase> {
  using rnn_options_base_mode_t =
      enumtype::OneOf<enumtype::kLSTM, enumtype::kGRU, enumtype::kRNN_TANH, enumtype::kRNN_RELU>;
  RNNOptionsBase(rnn_options_base_mode_t mode, int64_t input_size, int64_t hidden_size)
      : RNNLayerOptions(input_size, hidden_size), mode_(mode) {}
  // Which cell.
  TENON_ARG(rnn_options_base_mode_t, mode);
  // If above zero, the hidden state is projected to this size.
  TENON_ARG(int64_t, proj_size) = 0;
};
}  // namespace detail

struct RNNOptions : public detail::RNNLayerOptions<RNNOptions> {
  using nonlinearity_t = enumtype::OneOf<enumtype::kTanh, enumtype::kReLU>;
  RNNOptions(int64_t input_size, int64_t hidden_size) : RNNLayerOptions(input_size, hidden_size) {}
  // kTanh or kReLU.
  TENON_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

struct LSTMOptions : public detail::RNNLayerOptions<LSTMOptions> {
  LSTMOptions(int64_t input_size, int64_t hidden_size) : RNNLayerOptions(input_size, hidden_size) {}
  // If above zero, the hidden state is projected to this size.
  TENON_ARG(int64_t, proj_size) = 0;
};

struct GRUOptions : public detail::RNNLayerOptions<GRUOptions> {
  GRUOptions(int64_t input_size, int64_t hidden_size) : RNNLayerOptions(input_size, hidden_size) {}
};

namespace detail {
// What the options of all cells have in common.
template <class Options>
struct RNNCellSizes {
  RNNCellSizes(int64_t input_size, int64_t hidden_size, bool bias = true)
      : input_size_(input_size), hidden_size_(hidden_size), bias_(bias) {}
  // Features of the input.
  TENON_ARG_OF(Options, int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG_OF(Options, int64_t, hidden_size);
  // Whether the two biases are learned.
  TENON_ARG_OF(Options, bool, bias);
};

// The options of any cell.
struct RNNCellOptionsBase : public RNNCellSizes<RNNCellOptionsBase> {
  RNNCellOptionsBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t num_chunks)
      : RNNCellSizes(input_size, hidden_size, bias), num_chunks_(num_chunks) {}
  // Gates, whose weights are stacked.
  TENON_ARG(int64_t, num_chunks);
};
}  // namespace detail

struct RNNCellOptions : public detail::RNNCellSizes<RNNCellOptions> {
  using nonlinearity_t = enumtype::OneOf<enumtype::kTanh, enumtype::kReLU>;
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : RNNCellSizes(input_size, hidden_size) {}
  // kTanh or kReLU.
  TENON_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

struct LSTMCellOptions : public detail::RNNCellSizes<LSTMCellOptions> {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size)
      : RNNCellSizes(input_size, hidden_size) {}
};

struct GRUCellOptions : public detail::RNNCellSizes<GRUCellOptions> {
  GRUCellOptions(int64_t input_size, int64_t hidden_size) : RNNCellSizes(input_size, hidden_size) {}
};

}  // namespace nn
}  // namespace tenon
