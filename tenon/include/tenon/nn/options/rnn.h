// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tenon/arg.h"
#include "tenon/enum.h"

namespace tenon {
namespace nn {

namespace detail {
// What all layers have in common.
struct RNNOptionsBase {
  using rnn_options_base_mode_t =
      enumtype::OneOf<enumtype::kLSTM, enumtype::kGRU, enumtype::kRNN_TANH, enumtype::kRNN_RELU>;
  RNNOptionsBase(rnn_options_base_mode_t mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  // Which cell.
  TENON_ARG(rnn_options_base_mode_t, mode);
  // Features of an element of the sequence.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Layers on top of each other.
  TENON_ARG(int64_t, num_layers) = 1;
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
  // Whether inputs are [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Probability of dropout between layers.
  TENON_ARG(double, dropout) = 0.0;
  // Whether a second network runs backwards.
  TENON_ARG(bool, bidirectional) = false;
  // If above zero, the hidden state is projected to this size.
  TENON_ARG(int64_t, proj_size) = 0;
};
}  // namespace detail

struct RNNOptions {
  using nonlinearity_t = enumtype::OneOf<enumtype::kTanh, enumtype::kReLU>;
  RNNOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of an element of the sequence.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Layers on top of each other.
  TENON_ARG(int64_t, num_layers) = 1;
  // kTanh or kReLU.
  TENON_ARG(nonlinearity_t, nonlinearity) = kTanh;
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
  // Whether inputs are [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Probability of dropout between layers.
  TENON_ARG(double, dropout) = 0.0;
  // Whether a second network runs backwards.
  TENON_ARG(bool, bidirectional) = false;
};

struct LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of an element of the sequence.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Layers on top of each other.
  TENON_ARG(int64_t, num_layers) = 1;
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
  // Whether inputs are [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Probability of dropout between layers.
  TENON_ARG(double, dropout) = 0.0;
  // Whether a second network runs backwards.
  TENON_ARG(bool, bidirectional) = false;
  // If above zero, the hidden state is projected to this size.
  TENON_ARG(int64_t, proj_size) = 0;
};

struct GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of an element of the sequence.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Layers on top of each other.
  TENON_ARG(int64_t, num_layers) = 1;
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
  // Whether inputs are [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Probability of dropout between layers.
  TENON_ARG(double, dropout) = 0.0;
  // Whether a second network runs backwards.
  TENON_ARG(bool, bidirectional) = false;
};

namespace detail {
// What all cells have in common.
struct RNNCellOptionsBase {
  RNNCellOptionsBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t num_chunks)
      : input_size_(input_size), hidden_size_(hidden_size), bias_(bias), num_chunks_(num_chunks) {}
  // Features of the input.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Whether the two biases are learned.
  TENON_ARG(bool, bias);
  // Gates, whose weights are stacked.
  TENON_ARG(int64_t, num_chunks);
};
}  // namespace detail

struct RNNCellOptions {
  using nonlinearity_t = enumtype::OneOf<enumtype::kTanh, enumtype::kReLU>;
  RNNCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of the input.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
  // kTanh or kReLU.
  TENON_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of the input.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
};

struct GRUCellOptions {
  GRUCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  // Features of the input.
  TENON_ARG(int64_t, input_size);
  // Features of the hidden state.
  TENON_ARG(int64_t, hidden_size);
  // Whether the two biases are learned.
  TENON_ARG(bool, bias) = true;
};

}  // namespace nn
}  // namespace tenon
