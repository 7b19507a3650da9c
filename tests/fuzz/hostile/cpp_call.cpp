// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of the C++ library with odd arguments: what has no schema, and what C++ can pass that C
// cannot.
#include <algorithm>
#include <cctype>
#include <functional>
#include <vector>

#include "hostile.h"
#include "tenon/parallel.h"
#include "tenon/runtime/error.h"
#include "tenon/tenon.h"

namespace tenon::fuzz {
namespace {

namespace nn = tenon::nn;
namespace F = tenon::nn::functional;
using tenon::indexing::Slice;

struct Entry {
  // One of these, separated by '|', must stand in an error, in any case, or an operator before its
  // first colon.
  const char* words;
  std::function<void(Random&)> call;
};

int64_t I(Random& r) { return r.chance(0.5) ? odd_int(r) : r.between(0, 4); }
double D(Random& r) { return r.chance(0.5) ? odd_real(r) : r.real(0, 1); }
std::vector<int64_t> L(Random& r, std::size_t most = 5) {
  std::vector<int64_t> v(r.below(most + 1));
  for (int64_t& x : v) x = I(r);
  return v;
}
std::vector<int64_t> L_of(Random& r, std::size_t n) {
  std::vector<int64_t> v(n);
  for (int64_t& x : v) x = I(r);
  return v;
}
// Mostly of so many dimensions, sometimes of others or undefined.
Tensor T(Random& r, int ndim) {
  if (r.chance(0.03)) return Tensor();
  std::vector<int64_t> sizes(
      static_cast<std::size_t>(r.chance(0.1) ? static_cast<int>(r.below(6)) : ndim));
  for (int64_t& s : sizes) s = r.chance(0.05) ? 0 : r.between(1, 5);
  Tensor t = tenon::randn(sizes);
  return r.chance(0.1) ? t.to(kLong) : t;
}
Tensor image(Random& r, int nd) { return T(r, nd + 2); }

template <class Options, std::size_t D>
Options window(Random& r) {
  Options o(ExpandingArray<D>(L_of(r, D)));
  if (r.chance(0.5)) o.stride(L_of(r, D));
  if (r.chance(0.5)) o.padding(L_of(r, D));
  return o;
}

std::vector<Entry> factories() {
  return {
      {"empty", [](Random& r) { (void)tenon::empty(L(r)); }},
      {"zeros", [](Random& r) { (void)tenon::zeros(L(r)); }},
      {"full",
       [](Random& r) {
         (void)tenon::full(L(r, 3), D(r), TensorOptions(r.pick({kLong, kByte, kHalf})));
       }},
      {"randn", [](Random& r) { (void)tenon::randn(L(r)); }},
      {"randint", [](Random& r) { (void)tenon::randint(I(r), I(r), L(r, 2)); }},
      {"arange|range", [](Random& r) { (void)tenon::arange(D(r), D(r), D(r)); }},
      {"empty_strided", [](Random& r) { (void)tenon::empty_strided(L(r, 3), L(r, 3)); }},
      {"empty",
       [](Random& r) {
         (void)tenon::empty({2, 3, 4, 5}, TensorOptions(), static_cast<MemoryFormat>(I(r)));
       }},
      {"empty|device",
       [](Random& r) { (void)tenon::empty({2}, TensorOptions(Device(odd_text(r)))); }},
      {"empty|dtype",
       [](Random& r) {
         (void)tenon::zeros({2}, TensorOptions(static_cast<ScalarType>(r.below(128))));
       }},
      {"empty|layout",
       [](Random& r) {
         (void)tenon::empty({2}, TensorOptions().layout(static_cast<Layout>(r.below(100))));
       }},
      {"from_blob|dimension",
       [](Random& r) {
         static float data[16] = {};
         std::vector<int64_t> sizes = L(r, 3), strides = L_of(r, sizes.size());
         const Tensor t =
             tenon::from_blob(r.chance(0.1) ? nullptr : static_cast<void*>(data), sizes, strides);
         (void)t.numel();
       }},
      {"tensor|scalar|number",
       [](Random& r) {
         (void)tenon::tensor(D(r), TensorOptions(r.pick({kLong, kByte, kHalf})));
       }},
      {"Generator|generator",
       [](Random& r) {
         Generator g = r.chance(0.5) ? Generator() : make_generator(Device(kCPU), r.bits());
         if (r.chance(0.3)) g.set_current_seed(r.bits());
         if (r.chance(0.3)) (void)g.get_state();
         if (r.chance(0.3)) g.set_state(T(r, 1));
         if (r.chance(0.3)) (void)g.clone().current_seed();
         (void)tenon::rand({2}, g, TensorOptions());
         (void)g.current_seed();
       }},
  };
}

std::vector<Entry> tensors() {
  return {
      {"index|select",
       [](Random& r) {
         (void)T(r, 3).index({I(r), Slice(I(r), I(r), I(r)), I(r)});
       }},
      {"index|select",
       [](Random& r) {
         (void)T(r, 3).index({Slice(), I(r)});
       }},
      {"index", [](Random& r) { (void)T(r, 2).index({tenon::tensor(I(r))}); }},
      {"index",
       [](Random& r) {
         T(r, 2).index_put_({tenon::tensor(I(r)), indexing::Ellipsis}, D(r));
       }},
      {"index", [](Random& r) { T(r, 3).index_put_({Slice(I(r), I(r))}, T(r, 2)); }},
      {"index",
       [](Random& r) {
         (void)T(r, 2).index({r.chance(0.5), indexing::None, T(r, 2) > 0});
       }},
      {"select|operator[]|index", [](Random& r) { (void)T(r, 2)[I(r)]; }},
      {"item|element|number", [](Random& r) { (void)T(r, 0).item<int>(); }},
      {"size|dimension", [](Random& r) { (void)T(r, 2).size(I(r)); }},
      {"stride|dimension", [](Random& r) { (void)T(r, 2).stride(I(r)); }},
      {"resize", [](Random& r) { (void)T(r, 2).resize_(L(r, 3)); }},
      {"resize|select",
       [](Random& r) {
         (void)tenon::empty({int64_t{1} << r.below(62), 0}).select(0, I(r)).resize_({4}).fill_(1);
       }},
      {"resize|slice",
       [](Random& r) {
         (void)tenon::empty({int64_t{1} << r.below(62), 0})
             .slice(0, I(r), I(r), 1)
             .resize_({4})
             .fill_(1);
       }},
      {"set_|storage",
       [](Random& r) {
         Tensor t = T(r, 1);
         (void)t.set_data(T(r, 2));
       }},
      {"view", [](Random& r) { (void)T(r, 2).view(L(r)); }},
      {"reshape|view", [](Random& r) { (void)T(r, 2).reshape(L(r)); }},
      {"expand", [](Random& r) { (void)T(r, 1).expand(L(r)); }},
      {"as_strided", [](Random& r) { (void)T(r, 2).as_strided(L(r, 3), L(r, 3), I(r)); }},
      {"repeat", [](Random& r) { (void)T(r, 2).repeat(L(r)); }},
      {"to|dtype", [](Random& r) { (void)T(r, 2).to(static_cast<ScalarType>(r.below(128))); }},
      {"to|device", [](Random& r) { (void)T(r, 2).to(Device(odd_text(r))); }},
      {"device",
       [](Random& r) {
         (void)Device(static_cast<DeviceType>(r.below(40)), static_cast<DeviceIndex>(r.bits()));
       }},
      {"accessor|dimension|dtype|expected", [](Random& r) { (void)T(r, 2).accessor<float, 2>(); }},
      {"data_ptr|dtype|expected", [](Random& r) { (void)T(r, 2).data_ptr<int64_t>(); }},
      {"backward|grad",
       [](Random& r) {
         Tensor x = T(r, 2);
         if (x.defined() && isFloatingType(x.scalar_type())) x.requires_grad_();
         (x * 2).backward(r.chance(0.5) ? T(r, 2) : Tensor());
       }},
      {"grad", [](Random& r) { (void)tenon::autograd::grad({T(r, 1)}, {T(r, 1)}, {T(r, 1)}); }},
      {"requires_grad|grad", [](Random& r) { (void)T(r, 1).requires_grad_(); }},
      {"einsum",
       [](Random& r) {
         (void)tenon::einsum(odd_text(r), {T(r, 2), T(r, 2)});
       }},
      {"cat",
       [](Random& r) {
         (void)tenon::cat({T(r, 2), T(r, 2)}, I(r));
       }},
      {"cat|stack",
       [](Random& r) { (void)tenon::stack(std::vector<Tensor>(r.below(3), T(r, 1)), I(r)); }},
      {"split", [](Random& r) { (void)T(r, 2).split(I(r), I(r)); }},
      {"chunk", [](Random& r) { (void)T(r, 2).chunk(I(r), I(r)); }},
      {"tensor_split", [](Random& r) { (void)T(r, 2).tensor_split(I(r), I(r)); }},
      {"repeat_interleave", [](Random& r) { (void)T(r, 1).repeat_interleave(I(r), 0, I(r)); }},
      {"uniform", [](Random& r) { (void)T(r, 2).uniform_(D(r), D(r)); }},
      {"normal", [](Random& r) { (void)T(r, 2).normal_(D(r), D(r)); }},
      {"bernoulli", [](Random& r) { (void)T(r, 2).bernoulli_(T(r, 2).sigmoid()); }},
      {"number|integer", [](Random& r) { (void)Scalar(D(r)).to<int8_t>(); }},
      {"thread",
       [](Random& r) {
         const int64_t begin = I(r), end = std::min(begin, INT64_MAX - 1000) +
                                           static_cast<int64_t>(r.below(1000));
         int64_t n = 0;
         tenon::set_num_threads(1);
         tenon::parallel_for(begin, end, I(r), [&](int64_t from, int64_t to) { n += to - from; });
         tenon::set_num_threads(2);
         TENON_CHECK(n == std::max<int64_t>(0, end - begin), Error, "wrong range");
       }},
      {"thread",
       [](Random& r) {
         tenon::set_num_threads(static_cast<int>(r.pick({0, -1, INT32_MIN})));
       }},
  };
}

std::vector<Entry> functions() {
  return {
      {"pad", [](Random& r) { (void)F::pad(T(r, 3), F::PadFuncOptions(L(r, 6)).mode(kReflect)); }},
      {"pad",
       [](Random& r) { (void)F::pad(T(r, 4), F::PadFuncOptions(L(r, 6)).mode(kReplicate)); }},
      {"pad", [](Random& r) { (void)F::pad(T(r, 4), F::PadFuncOptions(L(r, 6)).mode(kCircular)); }},
      {"pad", [](Random& r) { (void)F::pad(T(r, 2), F::PadFuncOptions(L(r, 6)).value(D(r))); }},
      {"pool",
       [](Random& r) { (void)F::avg_pool1d(image(r, 1), window<F::AvgPool1dFuncOptions, 1>(r)); }},
      {"pool",
       [](Random& r) { (void)F::avg_pool2d(image(r, 2), window<F::AvgPool2dFuncOptions, 2>(r)); }},
      {"pool",
       [](Random& r) {
         (void)F::max_pool2d(
             image(r, 2),
             window<F::MaxPool2dFuncOptions, 2>(r).dilation(I(r)).ceil_mode(r.chance(0.5)));
       }},
      {"pool",
       [](Random& r) { (void)F::max_pool3d(image(r, 3), window<F::MaxPool3dFuncOptions, 3>(r)); }},
      {"pool",
       [](Random& r) {
         (void)F::adaptive_avg_pool2d(image(r, 2), F::AdaptiveAvgPool2dFuncOptions(I(r)));
       }},
      {"pool",
       [](Random& r) {
         (void)F::adaptive_max_pool3d(image(r, 3), F::AdaptiveMaxPool3dFuncOptions(I(r)));
       }},
      {"pool",
       [](Random& r) {
         (void)F::lp_pool2d(image(r, 2), F::LPPool2dFuncOptions(D(r), L_of(r, 2)));
       }},
      {"conv",
       [](Random& r) {
         (void)F::conv1d(image(r, 1), T(r, 3),
                         F::Conv1dFuncOptions().stride(I(r)).dilation(I(r)).groups(I(r)));
       }},
      {"conv",
       [](Random& r) {
         (void)F::conv2d(image(r, 2), T(r, 4),
                         F::Conv2dFuncOptions().padding(L_of(r, 2)).groups(I(r)));
       }},
      {"conv",
       [](Random& r) {
         (void)F::conv_transpose2d(
             image(r, 2), T(r, 4),
             F::ConvTranspose2dFuncOptions().stride(I(r)).padding(I(r)).output_padding(I(r)));
       }},
      {"interpolate|upsample",
       [](Random& r) {
         (void)F::interpolate(image(r, 2),
                              F::InterpolateFuncOptions().size(L(r, 3)).mode(kNearest));
       }},
      {"interpolate|upsample",
       [](Random& r) {
         (void)F::interpolate(image(r, 2), F::InterpolateFuncOptions()
                                               .scale_factor(std::vector<double>(r.below(4), D(r)))
                                               .mode(kBilinear));
       }},
      {"interpolate|upsample",
       [](Random& r) {
         (void)F::interpolate(
             image(r, 1),
             F::InterpolateFuncOptions().scale_factor(std::vector<double>{D(r)}).mode(kLinear));
       }},
      {"one_hot",
       [](Random& r) {
         (void)F::one_hot(tenon::tensor({I(r), I(r)}, TensorOptions(kLong)), I(r));
       }},
      {"embedding",
       [](Random& r) {
         (void)F::embedding(tenon::tensor({I(r)}, TensorOptions(kLong)), T(r, 2),
                            F::EmbeddingFuncOptions().padding_idx(I(r)));
       }},
      {"dropout|p", [](Random& r) { (void)F::dropout(T(r, 2), F::DropoutFuncOptions().p(D(r))); }},
      {"softmax|dim", [](Random& r) { (void)F::softmax(T(r, 2), F::SoftmaxFuncOptions(I(r))); }},
      {"gumbel|softmax|dim",
       [](Random& r) {
         (void)F::gumbel_softmax(
             T(r, 2), F::GumbelSoftmaxFuncOptions().tau(D(r)).dim(static_cast<int>(I(r))));
       }},
      {"nll|cross|class|target|softmax",
       [](Random& r) {
         (void)F::cross_entropy(
             T(r, 2), tenon::tensor({I(r), I(r)}, TensorOptions(kLong)),
             F::CrossEntropyFuncOptions().ignore_index(I(r)).label_smoothing(D(r)));
       }},
      {"margin|loss|p",
       [](Random& r) {
         (void)F::multi_margin_loss(T(r, 2), tenon::tensor({I(r), I(r)}, TensorOptions(kLong)),
                                    F::MultiMarginLossFuncOptions().p(I(r)));
       }},
      {"layer_norm|norm",
       [](Random& r) { (void)F::layer_norm(T(r, 3), F::LayerNormFuncOptions(L(r, 3)).eps(D(r))); }},
      {"group_norm|group",
       [](Random& r) { (void)F::group_norm(T(r, 3), F::GroupNormFuncOptions(I(r))); }},
      {"local_response_norm|pool|pad|size",
       [](Random& r) {
         (void)F::local_response_norm(T(r, 4), F::LocalResponseNormFuncOptions(I(r)).alpha(D(r)));
       }},
      {"batch_norm|norm",
       [](Random& r) {
         (void)F::batch_norm(T(r, 3), T(r, 1), T(r, 1),
                             F::BatchNormFuncOptions().momentum(D(r)).training(r.chance(0.5)));
       }},
      {"pixel_shuffle",
       [](Random& r) { (void)F::pixel_shuffle(T(r, 4), F::PixelShuffleFuncOptions(I(r))); }},
      {"pixel_unshuffle",
       [](Random& r) { (void)F::pixel_unshuffle(T(r, 4), F::PixelUnshuffleFuncOptions(I(r))); }},
      {"affine_grid", [](Random& r) { (void)F::affine_grid(T(r, 3), L(r)); }},
      {"grid_sample", [](Random& r) { (void)F::grid_sample(T(r, 4), T(r, 4)); }},
  };
}

std::vector<Entry> modules() {
  return {
      {"Linear",
       [](Random& r) {
         nn::Linear m(I(r), I(r));
         (void)m->forward(T(r, 2));
       }},
      {"Bilinear",
       [](Random& r) {
         nn::Bilinear m(I(r), I(r), I(r));
         (void)m->forward(T(r, 2), T(r, 2));
       }},
      {"Conv",
       [](Random& r) {
         nn::Conv1d m(nn::Conv1dOptions(I(r), I(r), I(r)).groups(I(r)).stride(I(r)));
         (void)m->forward(T(r, 3));
       }},
      {"Conv",
       [](Random& r) {
         nn::Conv2d m(nn::Conv2dOptions(I(r), I(r), I(r)).padding(I(r)).dilation(I(r)));
         (void)m->forward(T(r, 4));
       }},
      {"Conv",
       [](Random& r) {
         nn::ConvTranspose3d m(nn::ConvTranspose3dOptions(I(r), I(r), I(r)).output_padding(I(r)));
         (void)m->forward(T(r, 5));
       }},
      {"Embedding",
       [](Random& r) {
         nn::Embedding m(nn::EmbeddingOptions(I(r), I(r)).padding_idx(I(r)));
         (void)m->forward(T(r, 1));
       }},
      {"Embedding",
       [](Random& r) {
         nn::EmbeddingBag m(I(r), I(r));
         (void)m->forward(T(r, 2));
       }},
      {"BatchNorm|batch_norm",
       [](Random& r) {
         nn::BatchNorm2d m(nn::BatchNorm2dOptions(I(r)).eps(D(r)).momentum(D(r)));
         (void)m->forward(T(r, 4));
       }},
      {"InstanceNorm|instance_norm|norm",
       [](Random& r) {
         nn::InstanceNorm1d m(nn::InstanceNorm1dOptions(I(r)).affine(true));
         (void)m->forward(T(r, 3));
       }},
      {"LayerNorm|layer_norm",
       [](Random& r) {
         nn::LayerNorm m(nn::LayerNormOptions(L(r, 3)));
         (void)m->forward(T(r, 3));
       }},
      {"GroupNorm|group_norm",
       [](Random& r) {
         nn::GroupNorm m(I(r), I(r));
         (void)m->forward(T(r, 3));
       }},
      {"RNN|input|num_layers|dropout|hidden",
       [](Random& r) {
         nn::RNN m(nn::RNNOptions(I(r), I(r)).num_layers(r.between(-2, 3)).dropout(D(r)));
         (void)m->forward(T(r, 3));
       }},
      {"LSTM|input|num_layers|dropout|hidden",
       [](Random& r) {
         nn::LSTM m(nn::LSTMOptions(I(r), I(r)).num_layers(r.between(-2, 3)).bidirectional(true));
         (void)m->forward(T(r, 3));
       }},
      {"LSTM|input|num_layers|dropout|hidden",
       [](Random& r) {
         nn::LSTM m(nn::LSTMOptions(2, 2).num_layers(odd_int(r)));
         (void)m->forward(T(r, 3));
       }},
      {"GRU|input|num_layers|hidden",
       [](Random& r) {
         nn::GRU m(nn::GRUOptions(I(r), I(r)));
         (void)m->forward(T(r, 3));
       }},
      {"Cell|input",
       [](Random& r) {
         nn::GRUCell m(I(r), I(r));
         (void)m->forward(T(r, 2));
       }},
      {"Cell|input",
       [](Random& r) {
         nn::LSTMCell m(I(r), I(r));
         (void)m->forward(T(r, 2));
       }},
      {"Dropout",
       [](Random& r) {
         nn::Dropout m(D(r));
         (void)m->forward(T(r, 2));
       }},
      {"Flatten",
       [](Random& r) {
         nn::Flatten m(nn::FlattenOptions().start_dim(I(r)).end_dim(I(r)));
         (void)m->forward(T(r, 3));
       }},
      {"Unflatten",
       [](Random& r) {
         nn::Unflatten m(nn::UnflattenOptions(I(r), L(r, 3)));
         (void)m->forward(T(r, 3));
       }},
      {"Pad",
       [](Random& r) {
         nn::ReflectionPad2d m(nn::ReflectionPad2dOptions(L_of(r, 4)));
         (void)m->forward(T(r, 4));
       }},
      {"Pad",
       [](Random& r) {
         nn::ReplicationPad3d m(nn::ReplicationPad3dOptions(L_of(r, 6)));
         (void)m->forward(T(r, 5));
       }},
      {"Pad",
       [](Random& r) {
         nn::ConstantPad1d m(nn::ConstantPad1dOptions(L_of(r, 2), D(r)));
         (void)m->forward(T(r, 3));
       }},
      {"Pad",
       [](Random& r) {
         nn::CircularPad2d m(nn::CircularPad2dOptions(L_of(r, 4)));
         (void)m->forward(T(r, 4));
       }},
      {"Pool",
       [](Random& r) {
         nn::MaxPool2d m(window<nn::MaxPool2dOptions, 2>(r));
         (void)m->forward(T(r, 4));
       }},
      {"Pool",
       [](Random& r) {
         nn::AvgPool3d m(window<nn::AvgPool3dOptions, 3>(r));
         (void)m->forward(T(r, 5));
       }},
      {"Upsample|interpolate",
       [](Random& r) {
         nn::Upsample m(nn::UpsampleOptions().size(L(r, 3)));
         (void)m->forward(T(r, 4));
       }},
      {"Hardtanh|hardtanh",
       [](Random& r) {
         nn::Hardtanh m(nn::HardtanhOptions().min_val(D(r)).max_val(D(r)));
         (void)m->forward(T(r, 2));
       }},
      {"Softplus|softplus",
       [](Random& r) {
         nn::Softplus m(nn::SoftplusOptions().beta(D(r)).threshold(D(r)));
         (void)m->forward(T(r, 2));
       }},
      {"RReLU|rrelu",
       [](Random& r) {
         nn::RReLU m(nn::RReLUOptions().lower(D(r)).upper(D(r)));
         (void)m->forward(T(r, 2));
       }},
      {"Sequential",
       [](Random& r) {
         nn::Sequential m(nn::Linear(2, 2));
         (void)m->at<nn::LinearImpl>(static_cast<std::size_t>(I(r)));
         (void)m->forward(T(r, 2));
       }},
      {"ModuleList",
       [](Random& r) {
         nn::ModuleList m(nn::Linear(2, 2));
         (void)m->ptr(static_cast<std::size_t>(I(r)));
       }},
      {"Key|OrderedDict|'",
       [](Random& r) {
         OrderedDict<std::string, int> d;
         if (r.chance(0.5)) d.insert("a", 1);
         if (r.chance(0.3)) (void)d.front();
         if (r.chance(0.3)) (void)d.back();
         if (r.chance(0.3)) (void)d[static_cast<std::size_t>(I(r))];
         (void)d[odd_text(r)];
       }},
      {"register|Buffer|Submodule|Parameter|module|parameter|name|dtype",
       [](Random& r) {
         struct Net : nn::Module {
         } net;
         net.register_parameter(odd_text(r), T(r, 1));
         net.register_buffer(odd_text(r), T(r, 1));
         net.to(static_cast<ScalarType>(r.below(128)));
       }},
      {"clip_grad|norm",
       [](Random& r) {
         Tensor t = T(r, 1);
         (void)nn::utils::clip_grad_norm_(std::vector<Tensor>{t}, D(r), D(r), true);
       }},
      {"init|dimension|tensor|fan", [](Random& r) { nn::init::xavier_uniform_(T(r, 2), D(r)); }},
      {"init|dimension|tensor|sparsity", [](Random& r) { nn::init::sparse_(T(r, 2), D(r), D(r)); }},
  };
}

template <class Optimizer, class Options>
void optimize(Random& r, const Options& options) {
  Tensor x = tenon::ones({3});
  x.requires_grad_();
  Optimizer o({r.chance(0.05) ? Tensor() : x}, options);
  (x * x).sum().backward();
  o.step();
}

std::vector<Entry> optimizers() {
  using namespace optim;
  return {
      {"sgd|lr|momentum|param|decay|dampening|nesterov",
       [](Random& r) {
         optimize<SGD>(r,
                       SGDOptions(D(r)).momentum(D(r)).dampening(D(r)).weight_decay(D(r)).nesterov(
                           r.chance(0.5)));
       }},
      {"adam|lr|beta|eps|param|decay",
       [](Random& r) {
         optimize<Adam>(r, AdamOptions(D(r))
                               .betas({D(r), D(r)})
                               .eps(D(r))
                               .weight_decay(D(r))
                               .amsgrad(r.chance(0.5)));
       }},
      {"adamw|lr|beta|eps|param|decay",
       [](Random& r) {
         optimize<AdamW>(r, AdamWOptions(D(r)).betas({D(r), D(r)}).eps(D(r)));
       }},
      {"rmsprop|lr|alpha|eps|param|momentum",
       [](Random& r) { optimize<RMSprop>(r, RMSpropOptions(D(r)).alpha(D(r)).momentum(D(r))); }},
      {"adagrad|lr|eps|param|decay",
       [](Random& r) { optimize<Adagrad>(r, AdagradOptions(D(r)).lr_decay(D(r)).eps(D(r))); }},
  };
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list;
    for (auto* part : {factories, tensors, functions, modules, optimizers}) {
      for (Entry& e : part()) list.push_back(std::move(e));
    }
    return list;
  }();
  return all;
}

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

bool has_one_of(const std::string& text, const std::string& words) {
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t end = std::min(words.find('|', from), words.size());
    if (lower(text).find(lower(words.substr(from, end - from))) != text.npos) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace

std::string call_cpp(Random& r) {
  const std::size_t k = r.below(entries().size());
  const Entry& e = entries()[k];
  show(core::join("C++ call ", k, ": ", e.words));
  try {
    e.call(r);
    tally("C++ calls served");
  } catch (const Error& error) {
    tally("C++ calls refused");
    const std::string text = error.what();
    // An undefined tensor has no operator to name where a method is called on it.
    const bool operator_first = text.find(": ") < text.find(' ');
    if (!operator_first && text.find("undefined") == text.npos && !has_one_of(text, e.words)) {
      return core::join("C++ call ", k, " (", e.words, "): the error names none of these: ", text);
    }
  } catch (const std::exception& error) {
    return core::join("C++ call ", k, " (", e.words, "): not an Error: ", error.what());
  }
  return "";
}

}  // namespace tenon::fuzz
