// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers over a sequence, and cells, which are one step of it. Weights and biases start
// uniform within 1 / sqrt(hidden_size).
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/options/rnn.h"
#include "tenon/nn/pimpl.h"
#include "tenon/nn/utils/rnn.h"

namespace tenon {
namespace nn {

namespace detail {

// The parameters that all layers have: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
// weight_hr_l0, then those of the other direction (_reverse) and of the other layers.
template <class Derived>
class TENON_API RNNImplBase : public Cloneable<Derived> {
 public:
  explicit RNNImplBase(const RNNOptionsBase& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  // Weights need no order in memory here.
  void flatten_parameters() {}
  std::vector<Tensor> all_weights() const;

  RNNOptionsBase options_base;

 protected:
  // Checks an input [time, batch, feature] or [time, feature], or with batch first; returns the
  // size of its batch.
  int64_t check_input(const Tensor& input) const;
  // A state of the layers for a batch, zeros if none is given; without a batch it has two
  // dimensions.
  Tensor state(const Tensor& given, const Tensor& input, int64_t features) const;
  // The same for packed sequences, in their order.
  Tensor packed_state(const Tensor& given, const utils::rnn::PackedSequence& input,
                      int64_t features) const;
  int64_t state_features() const;  // of the hidden state, projected if it is

  std::vector<Tensor> flat_weights_;
};

// The parameters that all cells have; gates are stacked along the first dimension.
template <class Derived>
class TENON_API RNNCellImplBase : public Cloneable<Derived> {
 public:
  explicit RNNCellImplBase(const RNNCellOptionsBase& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  RNNCellOptionsBase options_base;
  Tensor weight_ih;  // [num_chunks * hidden_size, input_size]
  Tensor weight_hh;  // [num_chunks * hidden_size, hidden_size]
  Tensor bias_ih;    // [num_chunks * hidden_size], or undefined
  Tensor bias_hh;

 protected:
  void check_forward_input(const Tensor& input, const char* what) const;
  // A hidden state of zeros for an input [batch, feature].
  Tensor no_state(const Tensor& input) const;
  // What pretty_print adds if it is not the usual one.
  virtual const char* other_nonlinearity() const;
};

}  // namespace detail

class TENON_API RNNImpl : public detail::RNNImplBase<RNNImpl> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size);
  explicit RNNImpl(const RNNOptions& options_);
  // The outputs of all steps and the last states; an undefined hx stands for zeros.
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  // The same for packed sequences; hx and the last states are in the order of the sequences before
  // they were packed.
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});

  RNNOptions options;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})
};
TENON_MODULE(RNN);

class TENON_API LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  LSTMImpl(int64_t input_size, int64_t hidden_size);
  explicit LSTMImpl(const LSTMOptions& options_);
  // The outputs of all steps, and the last hidden and cell states.
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(
      const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});
  // The same for packed sequences; hx and the last states are in the order of the sequences before
  // they were packed.
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input,
      std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});

  LSTMOptions options;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<std::tuple<Tensor, Tensor>>())})
};
TENON_MODULE(LSTM);

class TENON_API GRUImpl : public detail::RNNImplBase<GRUImpl> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size);
  explicit GRUImpl(const GRUOptions& options_);
  // The outputs of all steps and the last states; an undefined hx stands for zeros.
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  // The same for packed sequences; hx and the last states are in the order of the sequences before
  // they were packed.
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});

  GRUOptions options;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})
};
TENON_MODULE(GRU);

class TENON_API RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size);
  explicit RNNCellImpl(const RNNCellOptions& options_);
  // The next hidden state; an undefined hx stands for zeros.
  Tensor forward(const Tensor& input, const Tensor& hx = {});

  RNNCellOptions options;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})
  const char* other_nonlinearity() const override;
};
TENON_MODULE(RNNCell);

class TENON_API LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  LSTMCellImpl(int64_t input_size, int64_t hidden_size);
  explicit LSTMCellImpl(const LSTMCellOptions& options_);
  // The next hidden and cell state.
  std::tuple<Tensor, Tensor> forward(const Tensor& input,
                                     std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});

  LSTMCellOptions options;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<std::tuple<Tensor, Tensor>>())})
};
TENON_MODULE(LSTMCell);

class TENON_API GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size);
  explicit GRUCellImpl(const GRUCellOptions& options_);
  // The next hidden state; an undefined hx stands for zeros.
  Tensor forward(const Tensor& input, const Tensor& hx = {});

  GRUCellOptions options;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})
};
TENON_MODULE(GRUCell);

}  // namespace nn
}  // namespace tenon
