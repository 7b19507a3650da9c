// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
RNNImplBase<Derived>::RNNImplBase(const RNNOptionsBase& options_) : options_base(options_) {
  RNNImplBase<Derived>::reset();
}

template <class Derived>
int64_t RNNImplBase<Derived>::state_features() const {
  return options_base.proj_size() > 0 ? options_base.proj_size() : options_base.hidden_size();
}

template <class Derived>
void RNNImplBase<Derived>::reset() {
  const RNNOptionsBase& o = options_base;
  TENON_CHECK(o.dropout() >= 0 && o.dropout() <= 1, ValueError,
              "dropout probability must be within 0 and 1, got ", o.dropout());
  TENON_CHECK(o.hidden_size() > 0, ValueError, "hidden_size must be greater than zero, got ",
              o.hidden_size());
  TENON_CHECK(o.num_layers() > 0, ValueError, "num_layers must be greater than zero, got ",
              o.num_layers());
  TENON_CHECK(o.proj_size() >= 0 && o.proj_size() < std::max<int64_t>(1, o.hidden_size()),
              ValueError, "proj_size has to be smaller than hidden_size, got ", o.proj_size(),
              " and ", o.hidden_size());
  const enumtype::Name mode = o.mode().name();
  const int64_t chunks = mode == enumtype::Name::LSTM ? 4 : mode == enumtype::Name::GRU ? 3 : 1;
  const int64_t rows = (core::Size(chunks) * o.hidden_size()).get("RNN", "hidden_size");
  const int64_t directions = o.bidirectional() ? 2 : 1;
  flat_weights_.clear();
  const auto add = [&](const char* name, const std::string& suffix, IntArrayRef sizes) {
    flat_weights_.push_back(this->register_parameter(name + suffix, tenon::empty(sizes)));
  };
  core::check_room("RNN", "layers", o.num_layers(), 4 * sizeof(core::TensorImpl));
  for (int64_t layer = 0; layer < o.num_layers(); ++layer) {
    const int64_t inputs = layer == 0 ? o.input_size() : state_features() * directions;
    for (int64_t d = 0; d < directions; ++d) {
      const std::string suffix = "_l" + std::to_string(layer) + (d == 1 ? "_reverse" : "");
      add("weight_ih", suffix, {rows, inputs});
      add("weight_hh", suffix, {rows, state_features()});
      if (o.bias()) add("bias_ih", suffix, {rows});
      if (o.bias()) add("bias_hh", suffix, {rows});
      if (o.proj_size() > 0) add("weight_hr", suffix, {o.proj_size(), o.hidden_size()});
    }
  }
  reset_parameters();
}

template <class Derived>
void RNNImplBase<Derived>::reset_parameters() {
  const int64_t n = options_base.hidden_size();
  const double bound = n > 0 ? 1 / std::sqrt(static_cast<double>(n)) : 0;
  for (const Tensor& t : flat_weights_) init::uniform_(t, -bound, bound);
}

template <class Derived>
std::vector<Tensor> RNNImplBase<Derived>::all_weights() const {
  return flat_weights_;
}

template <class Derived>
int64_t RNNImplBase<Derived>::check_input(const Tensor& input) const {
  TENON_CHECK(input.dim() == 2 || input.dim() == 3, ValueError,
              "input must have 2 or 3 dimensions, got ", input.dim());
  TENON_CHECK(input.size(-1) == options_base.input_size(), ValueError,
              "input.size(-1) must be equal to input_size. Expected ", options_base.input_size(),
              ", got ", input.size(-1));
  return input.dim() == 2 ? 1 : input.size(options_base.batch_first() ? 0 : 1);
}

template <class Derived>
Tensor RNNImplBase<Derived>::state(const Tensor& given, const Tensor& input,
                                   int64_t features) const {
  const int64_t batch = check_input(input),
                cells = options_base.num_layers() * (options_base.bidirectional() ? 2 : 1);
  if (!given.defined())
    return tenon::zeros({cells, batch, features}, input.options().requires_grad(std::nullopt));
  const bool fits = input.dim() == 2 ? given.sizes() == IntArrayRef({cells, features})
                                     : given.sizes() == IntArrayRef({cells, batch, features});
  TENON_CHECK(fits, ValueError, "Expected hidden size [", cells, input.dim() == 2 ? "" : ", ",
              input.dim() == 2 ? std::string() : std::to_string(batch), ", ", features, "], got ",
              given.sizes());
  return input.dim() == 2 ? given.unsqueeze(1) : given;
}

template <class Derived>
Tensor RNNImplBase<Derived>::packed_state(const Tensor& given,
                                          const utils::rnn::PackedSequence& input,
                                          int64_t features) const {
  const Tensor& data = input.data();
  TENON_CHECK(data.defined() && data.dim() == 2, ValueError,
              "a packed input must have 2 dimensions, got ", data.defined() ? data.dim() : 0);
  TENON_CHECK(data.size(1) == options_base.input_size(), ValueError,
              "input.size(-1) must be equal to input_size. Expected ", options_base.input_size(),
              ", got ", data.size(1));
  const int64_t batch = input.batch_sizes()[0].template item<int64_t>(),
                cells = options_base.num_layers() * (options_base.bidirectional() ? 2 : 1);
  if (!given.defined())
    return tenon::zeros({cells, batch, features}, data.options().requires_grad(std::nullopt));
  TENON_CHECK(given.sizes() == IntArrayRef({cells, batch, features}), ValueError,
              "Expected hidden size [", cells, ", ", batch, ", ", features, "], got ",
              given.sizes());
  return input.sorted_indices().defined() ? given.index_select(1, input.sorted_indices()) : given;
}

template <class Derived>
void RNNImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const std::string name = shown_name(this->name());  // ends in Impl
  const RNNOptionsBase& o = options_base;
  stream << std::boolalpha << name.substr(0, name.size() - 4) << "(input_size=" << o.input_size()
         << ", hidden_size=" << o.hidden_size() << ", num_layers=" << o.num_layers()
         << ", bias=" << o.bias() << ", batch_first=" << o.batch_first()
         << ", dropout=" << o.dropout() << ", bidirectional=" << o.bidirectional();
  if (o.proj_size() > 0) stream << ", proj_size=" << o.proj_size();
  stream << ")";
}

template class RNNImplBase<RNNImpl>;
template class RNNImplBase<LSTMImpl>;
template class RNNImplBase<GRUImpl>;

}  // namespace detail

namespace {

template <class Mode, class Options>
detail::RNNOptionsBase base_options(Mode mode, const Options& o) {
  return detail::RNNOptionsBase(mode, o.input_size(), o.hidden_size())
      .num_layers(o.num_layers())
      .bias(o.bias())
      .batch_first(o.batch_first())
      .dropout(o.dropout())
      .bidirectional(o.bidirectional());
}

detail::RNNOptionsBase base_options(const RNNOptions& o) {
  return o.nonlinearity().name() == enumtype::Name::ReLU ? base_options(kRNN_RELU, o)
                                                         : base_options(kRNN_TANH, o);
}

// An input without a batch gets one of size 1, and results lose it again.
struct Batch {
  bool added;
  int64_t dim;
  Batch(const Tensor& input, bool batch_first)
      : added(input.dim() == 2), dim(batch_first ? 0 : 1) {}
  Tensor in(const Tensor& x) const { return added ? x.unsqueeze(dim) : x; }
  Tensor out(const Tensor& x) const { return added ? x.squeeze(dim) : x; }
  Tensor state(const Tensor& s) const { return added ? s.squeeze(1) : s; }
};

using utils::rnn::PackedSequence;

PackedSequence with_data(const PackedSequence& input, const Tensor& data) {
  return PackedSequence(data, input.batch_sizes(), input.sorted_indices(),
                        input.unsorted_indices());
}

// A state in the order of the sequences before they were packed.
Tensor unsorted(const PackedSequence& input, const Tensor& state) {
  return input.unsorted_indices().defined() ? state.index_select(1, input.unsorted_indices())
                                            : state;
}

}  // namespace

RNNImpl::RNNImpl(int64_t input_size, int64_t hidden_size)
    : RNNImpl(RNNOptions(input_size, hidden_size)) {}
RNNImpl::RNNImpl(const RNNOptions& options_)
    : detail::RNNImplBase<RNNImpl>(base_options(options_)), options(options_) {}

std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  const Tensor start = state(hx, input, state_features());
  const auto& o = options_base;
  const Batch batch(input, o.batch_first());
  const bool relu = options.nonlinearity().name() == enumtype::Name::ReLU;
  const auto [y, h] =
      relu ? tenon::rnn_relu(batch.in(input), start, flat_weights_, o.bias(), o.num_layers(),
                             o.dropout(), is_training(), o.bidirectional(), o.batch_first())
           : tenon::rnn_tanh(batch.in(input), start, flat_weights_, o.bias(), o.num_layers(),
                             o.dropout(), is_training(), o.bidirectional(), o.batch_first());
  return {batch.out(y), batch.state(h)};
}

std::tuple<PackedSequence, Tensor> RNNImpl::forward_with_packed_input(
    const PackedSequence& packed_input, Tensor hx) {
  const Tensor start = packed_state(hx, packed_input, state_features());
  const auto& o = options_base;
  const Tensor &data = packed_input.data(), &sizes = packed_input.batch_sizes();
  const bool relu = options.nonlinearity().name() == enumtype::Name::ReLU;
  const auto [y, h] =
      relu ? tenon::rnn_relu(data, sizes, start, flat_weights_, o.bias(), o.num_layers(),
                             o.dropout(), is_training(), o.bidirectional())
           : tenon::rnn_tanh(data, sizes, start, flat_weights_, o.bias(), o.num_layers(),
                             o.dropout(), is_training(), o.bidirectional());
  return {with_data(packed_input, y), unsorted(packed_input, h)};
}

LSTMImpl::LSTMImpl(int64_t input_size, int64_t hidden_size)
    : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
LSTMImpl::LSTMImpl(const LSTMOptions& options_)
    : detail::RNNImplBase<LSTMImpl>(base_options(kLSTM, options_).proj_size(options_.proj_size())),
      options(options_) {}

std::tuple<Tensor, std::tuple<Tensor, Tensor>> LSTMImpl::forward(
    const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  const auto& o = options_base;
  const Tensor h0 = state(hx_opt ? std::get<0>(*hx_opt) : Tensor(), input, state_features());
  const Tensor c0 = state(hx_opt ? std::get<1>(*hx_opt) : Tensor(), input, o.hidden_size());
  const Batch batch(input, o.batch_first());
  const auto [y, h, c] =
      tenon::lstm(batch.in(input), {h0, c0}, flat_weights_, o.bias(), o.num_layers(), o.dropout(),
                  is_training(), o.bidirectional(), o.batch_first());
  return {batch.out(y), {batch.state(h), batch.state(c)}};
}

std::tuple<PackedSequence, std::tuple<Tensor, Tensor>> LSTMImpl::forward_with_packed_input(
    const PackedSequence& packed_input, std::optional<std::tuple<Tensor, Tensor>> hx_opt) {
  const auto& o = options_base;
  const Tensor h0 =
      packed_state(hx_opt ? std::get<0>(*hx_opt) : Tensor(), packed_input, state_features());
  const Tensor c0 =
      packed_state(hx_opt ? std::get<1>(*hx_opt) : Tensor(), packed_input, o.hidden_size());
  const auto [y, h, c] =
      tenon::lstm(packed_input.data(), packed_input.batch_sizes(), {h0, c0}, flat_weights_,
                  o.bias(), o.num_layers(), o.dropout(), is_training(), o.bidirectional());
  return {with_data(packed_input, y), {unsorted(packed_input, h), unsorted(packed_input, c)}};
}

GRUImpl::GRUImpl(int64_t input_size, int64_t hidden_size)
    : GRUImpl(GRUOptions(input_size, hidden_size)) {}
GRUImpl::GRUImpl(const GRUOptions& options_)
    : detail::RNNImplBase<GRUImpl>(base_options(kGRU, options_)), options(options_) {}

std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  const Tensor start = state(hx, input, state_features());
  const auto& o = options_base;
  const Batch batch(input, o.batch_first());
  const auto [y, h] = tenon::gru(batch.in(input), start, flat_weights_, o.bias(), o.num_layers(),
                                 o.dropout(), is_training(), o.bidirectional(), o.batch_first());
  return {batch.out(y), batch.state(h)};
}

std::tuple<PackedSequence, Tensor> GRUImpl::forward_with_packed_input(
    const PackedSequence& packed_input, Tensor hx) {
  const Tensor start = packed_state(hx, packed_input, state_features());
  const auto& o = options_base;
  const auto [y, h] =
      tenon::gru(packed_input.data(), packed_input.batch_sizes(), start, flat_weights_, o.bias(),
                 o.num_layers(), o.dropout(), is_training(), o.bidirectional());
  return {with_data(packed_input, y), unsorted(packed_input, h)};
}

}  // namespace nn
}  // namespace tenon
