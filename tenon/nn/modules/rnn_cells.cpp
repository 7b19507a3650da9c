// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <ostream>

#include "tenon/core/sizes.h"
#include "tenon/nn/init.h"
#include "tenon/nn/modules/rnn.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

namespace detail {

template <class Derived>
RNNCellImplBase<Derived>::RNNCellImplBase(const RNNCellOptionsBase& options_)
    : options_base(options_) {
  RNNCellImplBase<Derived>::reset();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset() {
  const int64_t rows = (core::Size(options_base.num_chunks()) * options_base.hidden_size())
                           .get("RNNCell", "hidden_size");
  weight_ih =
      this->register_parameter("weight_ih", tenon::empty({rows, options_base.input_size()}));
  weight_hh =
      this->register_parameter("weight_hh", tenon::empty({rows, options_base.hidden_size()}));
  const bool bias = options_base.bias();
  bias_ih = this->register_parameter("bias_ih", bias ? tenon::empty({rows}) : Tensor(), bias);
  bias_hh = this->register_parameter("bias_hh", bias ? tenon::empty({rows}) : Tensor(), bias);
  reset_parameters();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset_parameters() {
  const int64_t n = options_base.hidden_size();
  const double bound = n > 0 ? 1 / std::sqrt(static_cast<double>(n)) : 0;
  for (const Tensor& t : this->parameters()) init::uniform_(t, -bound, bound);
}

template <class Derived>
void RNNCellImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const std::string name = shown_name(this->name());  // ends in Impl
  stream << std::boolalpha << name.substr(0, name.size() - 4) << "(" << options_base.input_size()
         << ", " << options_base.hidden_size();
  if (!options_base.bias()) stream << ", bias=" << options_base.bias();
  if (*other_nonlinearity()) stream << ", nonlinearity=" << other_nonlinearity();
  stream << ")";
}

template <class Derived>
void RNNCellImplBase<Derived>::check_forward_input(const Tensor& input, const char* what) const {
  TENON_CHECK(input.dim() == 1 || input.dim() == 2, ValueError, "Expected ", what,
              " to be 1D or 2D, got ", input.dim(), "D instead");
}

template <class Derived>
Tensor RNNCellImplBase<Derived>::no_state(const Tensor& input) const {
  return tenon::zeros({input.size(0), options_base.hidden_size()},
                      input.options().requires_grad(std::nullopt));
}

template <class Derived>
const char* RNNCellImplBase<Derived>::other_nonlinearity() const {
  return "";
}

template class RNNCellImplBase<RNNCellImpl>;
template class RNNCellImplBase<LSTMCellImpl>;
template class RNNCellImplBase<GRUCellImpl>;

}  // namespace detail

namespace {

// A vector becomes a batch of one.
Tensor as_batch(const Tensor& t) { return t.dim() == 1 ? t.unsqueeze(0) : t; }

}  // namespace

RNNCellImpl::RNNCellImpl(int64_t input_size, int64_t hidden_size)
    : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
RNNCellImpl::RNNCellImpl(const RNNCellOptions& options_)
    : detail::RNNCellImplBase<RNNCellImpl>(detail::RNNCellOptionsBase(
          options_.input_size(), options_.hidden_size(), options_.bias(), 1)),
      options(options_) {}

const char* RNNCellImpl::other_nonlinearity() const {
  return options.nonlinearity().name() == enumtype::Name::ReLU ? "kReLU" : "";
}

Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  check_forward_input(input, "input");
  if (hx.defined()) check_forward_input(hx, "hidden");
  const Tensor x = as_batch(input), state = hx.defined() ? as_batch(hx) : no_state(x);
  const Tensor next = options.nonlinearity().name() == enumtype::Name::ReLU
                          ? tenon::rnn_relu_cell(x, state, weight_ih, weight_hh, bias_ih, bias_hh)
                          : tenon::rnn_tanh_cell(x, state, weight_ih, weight_hh, bias_ih, bias_hh);
  return input.dim() == 1 ? next.squeeze(0) : next;
}

LSTMCellImpl::LSTMCellImpl(int64_t input_size, int64_t hidden_size)
    : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& options_)
    : detail::RNNCellImplBase<LSTMCellImpl>(detail::RNNCellOptionsBase(
          options_.input_size(), options_.hidden_size(), options_.bias(), 4)),
      options(options_) {}

std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input,
                                                 std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  check_forward_input(input, "input");
  const Tensor x = as_batch(input);
  Tensor h, c;
  if (hx_opt) {
    check_forward_input(std::get<0>(*hx_opt), "hx[0]");
    check_forward_input(std::get<1>(*hx_opt), "hx[1]");
    h = as_batch(std::get<0>(*hx_opt)), c = as_batch(std::get<1>(*hx_opt));
  } else {
    h = c = no_state(x);
  }
  const auto next = tenon::lstm_cell(x, {h, c}, weight_ih, weight_hh, bias_ih, bias_hh);
  if (input.dim() == 2) return next;
  return {std::get<0>(next).squeeze(0), std::get<1>(next).squeeze(0)};
}

GRUCellImpl::GRUCellImpl(int64_t input_size, int64_t hidden_size)
    : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
GRUCellImpl::GRUCellImpl(const GRUCellOptions& options_)
    : detail::RNNCellImplBase<GRUCellImpl>(detail::RNNCellOptionsBase(
          options_.input_size(), options_.hidden_size(), options_.bias(), 3)),
      options(options_) {}

Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  check_forward_input(input, "input");
  if (hx.defined()) check_forward_input(hx, "hidden");
  const Tensor x = as_batch(input), state = hx.defined() ? as_batch(hx) : no_state(x);
  const Tensor next = tenon::gru_cell(x, state, weight_ih, weight_hh, bias_ih, bias_hh);
  return input.dim() == 1 ? next.squeeze(0) : next;
}

}  // namespace nn
}  // namespace tenon
