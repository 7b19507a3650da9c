// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent cells: one step of a sequence. Weights and biases start uniform within 1 / sqrt(hidden_size).
#pragma once

#include <optional>
#include <tuple>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/options/rnn.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

namespace detail {

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
  std::tuple<Tensor, Tensor> forward(const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});

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
