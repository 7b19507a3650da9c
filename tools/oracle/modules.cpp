// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "modules.h"

#include <map>

#include "tenon/ops.h"

namespace tenon::oracle {

Tensor case_tensor(const CaseFile& file, const json& ref) { return Tensor(file.tensor(ref)); }

namespace {

// The constructor's arguments of one case.
struct Args {
  const CaseFile& file;
  const json& c;

  bool has(const char* name) const { return c.contains(name) && !c.at(name).is_null(); }
  double num(const char* name, double otherwise) const {
    return has(name) ? number(c.at(name)) : otherwise;
  }
  int64_t integer(const char* name, int64_t otherwise = 0) const {
    return has(name) ? c.at(name).get<int64_t>() : otherwise;
  }
  bool flag(const char* name, bool otherwise) const {
    return has(name) ? c.at(name).get<bool>() : otherwise;
  }
  Tensor tensor(const char* name) const {
    return has(name) ? case_tensor(file, c.at(name)) : Tensor();
  }
  template <std::size_t D>
  ExpandingArray<D> sizes(const char* name, int64_t otherwise = 0) const {
    if (!has(name)) return otherwise;
    if (c.at(name).is_number()) return c.at(name).get<int64_t>();
    return c.at(name).get<std::vector<int64_t>>();
  }
  template <std::size_t D>
  ExpandingArrayWithOptionalElem<D> optional_sizes(const char* name) const {
    if (c.at(name).is_number()) return c.at(name).get<int64_t>();
    std::vector<std::optional<int64_t>> out;
    for (const auto& v : c.at(name))
      out.push_back(v.is_null() ? std::nullopt : std::optional<int64_t>(v.get<int64_t>()));
    return out;
  }
  template <class Options>
  Options reduction(Options o) const {
    const std::string name = has("reduction") ? c.at("reduction").get<std::string>() : "mean";
    if (name == "none") o.reduction(kNone);
    if (name == "sum") o.reduction(kSum);
    return o;
  }
};

using Builder = nn::AnyModule (*)(const Args&);

template <class M, class Options>
nn::AnyModule make(const Options& options) {
  return nn::AnyModule(std::make_shared<M>(options));
}

template <class M, std::size_t D>
nn::AnyModule conv(const Args& a) {
  auto o = nn::ConvOptions<D>(a.integer("in_channels"), a.integer("out_channels"),
                              a.sizes<D>("kernel_size"));
  o.stride(a.sizes<D>("stride", 1))
      .dilation(a.sizes<D>("dilation", 1))
      .groups(a.integer("groups", 1));
  if (a.has("padding") && a.c.at("padding").is_string()) {
    if (a.c.at("padding") == "same") {
      o.padding(kSame);
    } else {
      o.padding(kValid);
    }
  } else {
    o.padding(a.sizes<D>("padding", 0));
  }
  return make<M>(o.bias(a.flag("bias", true)));
}

template <class M, std::size_t D>
nn::AnyModule conv_transpose(const Args& a) {
  auto o = nn::ConvTransposeOptions<D>(a.integer("in_channels"), a.integer("out_channels"),
                                       a.sizes<D>("kernel_size"));
  o.stride(a.sizes<D>("stride", 1))
      .padding(a.sizes<D>("padding", 0))
      .dilation(a.sizes<D>("dilation", 1));
  return make<M>(o.output_padding(a.sizes<D>("output_padding", 0))
                     .groups(a.integer("groups", 1))
                     .bias(a.flag("bias", true)));
}

template <class M, std::size_t D>
nn::AnyModule max_pool(const Args& a) {
  auto o = nn::MaxPoolOptions<D>(a.sizes<D>("kernel_size"));
  if (a.has("stride")) o.stride(a.sizes<D>("stride"));
  return make<M>(o.padding(a.sizes<D>("padding", 0))
                     .dilation(a.sizes<D>("dilation", 1))
                     .ceil_mode(a.flag("ceil_mode", false)));
}

template <class M, std::size_t D>
nn::AnyModule avg_pool(const Args& a) {
  auto o = nn::AvgPoolOptions<D>(a.sizes<D>("kernel_size"));
  if (a.has("stride")) o.stride(a.sizes<D>("stride"));
  if (a.has("divisor_override")) o.divisor_override(a.integer("divisor_override"));
  o.padding(a.sizes<D>("padding", 0)).ceil_mode(a.flag("ceil_mode", false));
  return make<M>(o.count_include_pad(a.flag("count_include_pad", true)));
}

template <class M, std::size_t D>
nn::AnyModule lp_pool(const Args& a) {
  auto o = nn::LPPoolOptions<D>(a.num("norm_type", 2), a.sizes<D>("kernel_size"));
  if (a.has("stride")) o.stride(a.sizes<D>("stride"));
  return make<M>(o.ceil_mode(a.flag("ceil_mode", false)));
}

template <class M>
nn::AnyModule batch_norm(const Args& a) {
  auto o = nn::BatchNormOptions(a.integer("num_features"));
  if (a.c.contains("momentum")) {
    o.momentum(a.has("momentum") ? std::optional<double>(a.num("momentum", 0)) : std::nullopt);
  }
  o.eps(a.num("eps", 1e-5)).affine(a.flag("affine", true)).bias(a.flag("bias", true));
  return make<M>(o.track_running_stats(a.flag("track_running_stats", true)));
}

template <class M>
nn::AnyModule instance_norm(const Args& a) {
  auto o = nn::InstanceNormOptions(a.integer("num_features"));
  o.eps(a.num("eps", 1e-5))
      .momentum(a.num("momentum", 0.1))
      .affine(a.flag("affine", false))
      .bias(a.flag("bias", true));
  return make<M>(o.track_running_stats(a.flag("track_running_stats", false)));
}

nn::AnyModule rnn_cell(const Args& a) {
  auto o = nn::RNNCellOptions(a.integer("input_size"), a.integer("hidden_size"))
               .bias(a.flag("bias", true));
  if (a.has("nonlinearity") && a.c.at("nonlinearity") == "relu") o.nonlinearity(kReLU);
  return make<nn::RNNCellImpl>(o);
}

template <class M, class Options>
nn::AnyModule layers(const Args& a, Options o) {
  o.num_layers(a.integer("num_layers", 1))
      .bias(a.flag("bias", true))
      .batch_first(a.flag("batch_first", false));
  return make<M>(o.bidirectional(a.flag("bidirectional", false)));
}

template <class Options>
Options transformer_options(const Args& a, Options o) {
  return o.dim_feedforward(a.integer("dim_feedforward", 2048))
      .dropout(a.num("dropout", 0.1))
      .batch_first(a.flag("batch_first", false))
      .norm_first(a.flag("norm_first", false))
      .bias(a.flag("bias", true));
}

template <class M, class Options>
nn::AnyModule transformer_layer(const Args& a) {
  return make<M>(transformer_options(a, Options(a.integer("d_model", 512), a.integer("nhead", 8))));
}

const std::map<std::string, Builder>& builders() {
  static const std::map<std::string, Builder> table = {
      {"Conv1d", &conv<nn::Conv1dImpl, 1>},
      {"ConvTranspose1d", &conv_transpose<nn::ConvTranspose1dImpl, 1>},
      {"MaxPool1d", &max_pool<nn::MaxPool1dImpl, 1>},
      {"AvgPool1d", &avg_pool<nn::AvgPool1dImpl, 1>},
      {"LPPool1d", &lp_pool<nn::LPPool1dImpl, 1>},
      {"BatchNorm1d", &batch_norm<nn::BatchNorm1dImpl>},
      {"InstanceNorm1d", &instance_norm<nn::InstanceNorm1dImpl>},
      {"AdaptiveAvgPool1d",
       [](const Args& a) {
         return make<nn::AdaptiveAvgPool1dImpl>(
             nn::AdaptiveAvgPool1dOptions(a.sizes<1>("output_size")));
       }},
      {"AdaptiveMaxPool1d",
       [](const Args& a) {
         return make<nn::AdaptiveMaxPool1dImpl>(
             nn::AdaptiveMaxPool1dOptions(a.sizes<1>("output_size")));
       }},
      {"ReflectionPad1d",
       [](const Args& a) {
         return make<nn::ReflectionPad1dImpl>(nn::ReflectionPad1dOptions(a.sizes<2>("padding")));
       }},
      {"ReplicationPad1d",
       [](const Args& a) {
         return make<nn::ReplicationPad1dImpl>(nn::ReplicationPad1dOptions(a.sizes<2>("padding")));
       }},
      {"ZeroPad1d",
       [](const Args& a) {
         return make<nn::ZeroPad1dImpl>(nn::ZeroPad1dOptions(a.sizes<2>("padding")));
       }},
      {"CircularPad1d",
       [](const Args& a) {
         return make<nn::CircularPad1dImpl>(nn::CircularPad1dOptions(a.sizes<2>("padding")));
       }},
      {"ConstantPad1d",
       [](const Args& a) {
         return make<nn::ConstantPad1dImpl>(
             nn::ConstantPad1dOptions(a.sizes<2>("padding"), a.num("value", 0)));
       }},
      {"Conv2d", &conv<nn::Conv2dImpl, 2>},
      {"ConvTranspose2d", &conv_transpose<nn::ConvTranspose2dImpl, 2>},
      {"MaxPool2d", &max_pool<nn::MaxPool2dImpl, 2>},
      {"AvgPool2d", &avg_pool<nn::AvgPool2dImpl, 2>},
      {"LPPool2d", &lp_pool<nn::LPPool2dImpl, 2>},
      {"BatchNorm2d", &batch_norm<nn::BatchNorm2dImpl>},
      {"InstanceNorm2d", &instance_norm<nn::InstanceNorm2dImpl>},
      {"AdaptiveAvgPool2d",
       [](const Args& a) {
         return make<nn::AdaptiveAvgPool2dImpl>(
             nn::AdaptiveAvgPool2dOptions(a.optional_sizes<2>("output_size")));
       }},
      {"AdaptiveMaxPool2d",
       [](const Args& a) {
         return make<nn::AdaptiveMaxPool2dImpl>(
             nn::AdaptiveMaxPool2dOptions(a.optional_sizes<2>("output_size")));
       }},
      {"ReflectionPad2d",
       [](const Args& a) {
         return make<nn::ReflectionPad2dImpl>(nn::ReflectionPad2dOptions(a.sizes<4>("padding")));
       }},
      {"ReplicationPad2d",
       [](const Args& a) {
         return make<nn::ReplicationPad2dImpl>(nn::ReplicationPad2dOptions(a.sizes<4>("padding")));
       }},
      {"ZeroPad2d",
       [](const Args& a) {
         return make<nn::ZeroPad2dImpl>(nn::ZeroPad2dOptions(a.sizes<4>("padding")));
       }},
      {"CircularPad2d",
       [](const Args& a) {
         return make<nn::CircularPad2dImpl>(nn::CircularPad2dOptions(a.sizes<4>("padding")));
       }},
      {"Conv3d", &conv<nn::Conv3dImpl, 3>},
      {"ConvTranspose3d", &conv_transpose<nn::ConvTranspose3dImpl, 3>},
      {"MaxPool3d", &max_pool<nn::MaxPool3dImpl, 3>},
      {"AvgPool3d", &avg_pool<nn::AvgPool3dImpl, 3>},
      {"LPPool3d", &lp_pool<nn::LPPool3dImpl, 3>},
      {"BatchNorm3d", &batch_norm<nn::BatchNorm3dImpl>},
      {"InstanceNorm3d", &instance_norm<nn::InstanceNorm3dImpl>},
      {"AdaptiveAvgPool3d",
       [](const Args& a) {
         return make<nn::AdaptiveAvgPool3dImpl>(
             nn::AdaptiveAvgPool3dOptions(a.optional_sizes<3>("output_size")));
       }},
      {"AdaptiveMaxPool3d",
       [](const Args& a) {
         return make<nn::AdaptiveMaxPool3dImpl>(
             nn::AdaptiveMaxPool3dOptions(a.optional_sizes<3>("output_size")));
       }},
      {"ReflectionPad3d",
       [](const Args& a) {
         return make<nn::ReflectionPad3dImpl>(nn::ReflectionPad3dOptions(a.sizes<6>("padding")));
       }},
      {"ReplicationPad3d",
       [](const Args& a) {
         return make<nn::ReplicationPad3dImpl>(nn::ReplicationPad3dOptions(a.sizes<6>("padding")));
       }},
      {"ZeroPad3d",
       [](const Args& a) {
         return make<nn::ZeroPad3dImpl>(nn::ZeroPad3dOptions(a.sizes<6>("padding")));
       }},
      {"CircularPad3d",
       [](const Args& a) {
         return make<nn::CircularPad3dImpl>(nn::CircularPad3dOptions(a.sizes<6>("padding")));
       }},
      {"ConstantPad3d",
       [](const Args& a) {
         return make<nn::ConstantPad3dImpl>(
             nn::ConstantPad3dOptions(a.sizes<6>("padding"), a.num("value", 0)));
       }},
      {"RNN",
       [](const Args& a) {
         auto o = nn::RNNOptions(a.integer("input_size"), a.integer("hidden_size"));
         if (a.has("nonlinearity") && a.c.at("nonlinearity") == "relu") o.nonlinearity(kReLU);
         return layers<nn::RNNImpl>(a, o);
       }},
      {"LSTM",
       [](const Args& a) {
         return layers<nn::LSTMImpl>(
             a, nn::LSTMOptions(a.integer("input_size"), a.integer("hidden_size"))
                    .proj_size(a.integer("proj_size", 0)));
       }},
      {"GRU",
       [](const Args& a) {
         return layers<nn::GRUImpl>(
             a, nn::GRUOptions(a.integer("input_size"), a.integer("hidden_size")));
       }},
      {"RNNCell", &rnn_cell},
      {"LSTMCell",
       [](const Args& a) {
         return make<nn::LSTMCellImpl>(
             nn::LSTMCellOptions(a.integer("input_size"), a.integer("hidden_size"))
                 .bias(a.flag("bias", true)));
       }},
      {"MultiheadAttention",
       [](const Args& a) {
         return make<nn::MultiheadAttentionImpl>(
             nn::MultiheadAttentionOptions(a.integer("embed_dim"), a.integer("num_heads"))
                 .bias(a.flag("bias", true))
                 .add_bias_kv(a.flag("add_bias_kv", false))
                 .add_zero_attn(a.flag("add_zero_attn", false))
                 .batch_first(a.flag("batch_first", false)));
       }},
      {"TransformerEncoderLayer",
       &transformer_layer<nn::TransformerEncoderLayerImpl, nn::TransformerEncoderLayerOptions>},
      {"TransformerDecoderLayer",
       &transformer_layer<nn::TransformerDecoderLayerImpl, nn::TransformerDecoderLayerOptions>},
      {"Transformer",
       [](const Args& a) {
         return make<nn::TransformerImpl>(transformer_options(
             a, nn::TransformerOptions(a.integer("d_model", 512), a.integer("nhead", 8),
                                       a.integer("num_encoder_layers", 6),
                                       a.integer("num_decoder_layers", 6))));
       }},
      {"Linear",
       [](const Args& a) {
         return make<nn::LinearImpl>(
             nn::LinearOptions(a.integer("in_features"), a.integer("out_features"))
                 .bias(a.flag("bias", true)));
       }},
      {"Bilinear",
       [](const Args& a) {
         return make<nn::BilinearImpl>(nn::BilinearOptions(a.integer("in1_features"),
                                                           a.integer("in2_features"),
                                                           a.integer("out_features"))
                                           .bias(a.flag("bias", true)));
       }},
      {"GroupNorm",
       [](const Args& a) {
         return make<nn::GroupNormImpl>(
             nn::GroupNormOptions(a.integer("num_groups"), a.integer("num_channels"))
                 .eps(a.num("eps", 1e-5))
                 .affine(a.flag("affine", true))
                 .bias(a.flag("bias", true)));
       }},
      {"LayerNorm",
       [](const Args& a) {
         return make<nn::LayerNormImpl>(
             nn::LayerNormOptions(a.c.at("normalized_shape").get<std::vector<int64_t>>())
                 .eps(a.num("eps", 1e-5))
                 .elementwise_affine(a.flag("elementwise_affine", true))
                 .bias(a.flag("bias", true)));
       }},
      {"RMSNorm",
       [](const Args& a) {
         return make<nn::RMSNormImpl>(
             nn::RMSNormOptions(a.c.at("normalized_shape").get<std::vector<int64_t>>())
                 .eps(a.has("eps") ? std::optional<double>(a.num("eps", 0)) : std::nullopt)
                 .elementwise_affine(a.flag("elementwise_affine", true)));
       }},
      {"LocalResponseNorm",
       [](const Args& a) {
         return make<nn::LocalResponseNormImpl>(nn::LocalResponseNormOptions(a.integer("size"))
                                                    .alpha(a.num("alpha", 1e-4))
                                                    .beta(a.num("beta", 0.75))
                                                    .k(a.num("k", 1)));
       }},
      {"CELU",
       [](const Args& a) {
         return make<nn::CELUImpl>(nn::CELUOptions().alpha(a.num("alpha", 1)));
       }},
      {"ELU",
       [](const Args& a) { return make<nn::ELUImpl>(nn::ELUOptions().alpha(a.num("alpha", 1))); }},
      {"GELU",
       [](const Args& a) {
         return make<nn::GELUImpl>(nn::GELUOptions().approximate(
             a.has("approximate") ? a.c.at("approximate").get<std::string>() : "none"));
       }},
      {"GLU",
       [](const Args& a) { return make<nn::GLUImpl>(nn::GLUOptions(a.integer("dim", -1))); }},
      {"Hardshrink",
       [](const Args& a) {
         return make<nn::HardshrinkImpl>(nn::HardshrinkOptions(a.num("lambd", 0.5)));
       }},
      {"Softshrink",
       [](const Args& a) {
         return make<nn::SoftshrinkImpl>(nn::SoftshrinkOptions(a.num("lambd", 0.5)));
       }},
      {"Hardtanh",
       [](const Args& a) {
         return make<nn::HardtanhImpl>(
             nn::HardtanhOptions().min_val(a.num("min_val", -1)).max_val(a.num("max_val", 1)));
       }},
      {"LeakyReLU",
       [](const Args& a) {
         return make<nn::LeakyReLUImpl>(
             nn::LeakyReLUOptions().negative_slope(a.num("negative_slope", 0.01)));
       }},
      {"PReLU",
       [](const Args& a) {
         return make<nn::PReLUImpl>(
             nn::PReLUOptions().num_parameters(a.integer("num_parameters", 1)));
       }},
      {"Softplus",
       [](const Args& a) {
         return make<nn::SoftplusImpl>(
             nn::SoftplusOptions().beta(a.num("beta", 1)).threshold(a.num("threshold", 20)));
       }},
      {"Threshold",
       [](const Args& a) {
         return make<nn::ThresholdImpl>(
             nn::ThresholdOptions(a.num("threshold", 0), a.num("value", 0)));
       }},
      {"Softmax",
       [](const Args& a) { return make<nn::SoftmaxImpl>(nn::SoftmaxOptions(a.integer("dim"))); }},
      {"Softmin",
       [](const Args& a) { return make<nn::SoftminImpl>(nn::SoftminOptions(a.integer("dim"))); }},
      {"LogSoftmax",
       [](const Args& a) {
         return make<nn::LogSoftmaxImpl>(nn::LogSoftmaxOptions(a.integer("dim")));
       }},
      {"ReLU", [](const Args&) { return make<nn::ReLUImpl>(nn::ReLUOptions()); }},
      {"ReLU6", [](const Args&) { return make<nn::ReLU6Impl>(nn::ReLU6Options()); }},
      {"SELU", [](const Args&) { return make<nn::SELUImpl>(nn::SELUOptions()); }},
      {"Hardswish", [](const Args&) { return make<nn::HardswishImpl>(nn::HardswishOptions()); }},
      {"Softmax2d", [](const Args&) { return nn::AnyModule(nn::Softmax2d()); }},
      {"LogSigmoid", [](const Args&) { return nn::AnyModule(nn::LogSigmoid()); }},
      {"Sigmoid", [](const Args&) { return nn::AnyModule(nn::Sigmoid()); }},
      {"SiLU", [](const Args&) { return nn::AnyModule(nn::SiLU()); }},
      {"Mish", [](const Args&) { return nn::AnyModule(nn::Mish()); }},
      {"Softsign", [](const Args&) { return nn::AnyModule(nn::Softsign()); }},
      {"Tanh", [](const Args&) { return nn::AnyModule(nn::Tanh()); }},
      {"Tanhshrink", [](const Args&) { return nn::AnyModule(nn::Tanhshrink()); }},
      {"L1Loss",
       [](const Args& a) { return make<nn::L1LossImpl>(a.reduction(nn::L1LossOptions())); }},
      {"MSELoss",
       [](const Args& a) { return make<nn::MSELossImpl>(a.reduction(nn::MSELossOptions())); }},
      {"MultiLabelMarginLoss",
       [](const Args& a) {
         return make<nn::MultiLabelMarginLossImpl>(a.reduction(nn::MultiLabelMarginLossOptions()));
       }},
      {"SmoothL1Loss",
       [](const Args& a) {
         return make<nn::SmoothL1LossImpl>(
             a.reduction(nn::SmoothL1LossOptions().beta(a.num("beta", 1))));
       }},
      {"HuberLoss",
       [](const Args& a) {
         return make<nn::HuberLossImpl>(
             a.reduction(nn::HuberLossOptions().delta(a.num("delta", 1))));
       }},
      {"KLDivLoss",
       [](const Args& a) {
         auto o = nn::KLDivLossOptions().log_target(a.flag("log_target", false));
         if (a.has("reduction") && a.c.at("reduction") == "batchmean")
           return make<nn::KLDivLossImpl>(o.reduction(kBatchMean));
         return make<nn::KLDivLossImpl>(a.reduction(o));
       }},
      {"BCELoss",
       [](const Args& a) {
         return make<nn::BCELossImpl>(a.reduction(nn::BCELossOptions().weight(a.tensor("weight"))));
       }},
      {"BCEWithLogitsLoss",
       [](const Args& a) {
         return make<nn::BCEWithLogitsLossImpl>(
             a.reduction(nn::BCEWithLogitsLossOptions()
                             .weight(a.tensor("weight"))
                             .pos_weight(a.tensor("pos_weight"))));
       }},
      {"HingeEmbeddingLoss",
       [](const Args& a) {
         return make<nn::HingeEmbeddingLossImpl>(
             a.reduction(nn::HingeEmbeddingLossOptions().margin(a.num("margin", 1))));
       }},
      {"MultiMarginLoss",
       [](const Args& a) {
         return make<nn::MultiMarginLossImpl>(a.reduction(nn::MultiMarginLossOptions()
                                                              .weight(a.tensor("weight"))
                                                              .margin(a.num("margin", 1))
                                                              .p(a.integer("p", 1))));
       }},
      {"MultiLabelSoftMarginLoss",
       [](const Args& a) {
         return make<nn::MultiLabelSoftMarginLossImpl>(
             a.reduction(nn::MultiLabelSoftMarginLossOptions().weight(a.tensor("weight"))));
       }},
      {"CosineEmbeddingLoss",
       [](const Args& a) {
         return make<nn::CosineEmbeddingLossImpl>(
             a.reduction(nn::CosineEmbeddingLossOptions().margin(a.num("margin", 0))));
       }},
      {"MarginRankingLoss",
       [](const Args& a) {
         return make<nn::MarginRankingLossImpl>(
             a.reduction(nn::MarginRankingLossOptions().margin(a.num("margin", 0))));
       }},
      {"PoissonNLLLoss",
       [](const Args& a) {
         return make<nn::PoissonNLLLossImpl>(
             a.reduction(nn::PoissonNLLLossOptions()
                             .full(a.flag("full", false))
                             .log_input(a.flag("log_input", true))));
       }},
      {"GaussianNLLLoss",
       [](const Args& a) {
         return make<nn::GaussianNLLLossImpl>(a.reduction(
             nn::GaussianNLLLossOptions().full(a.flag("full", false)).eps(a.num("eps", 1e-6))));
       }},
      {"NLLLoss",
       [](const Args& a) {
         return make<nn::NLLLossImpl>(
             a.reduction(nn::NLLLossOptions()
                             .weight(a.tensor("weight"))
                             .ignore_index(a.integer("ignore_index", -100))));
       }},
      {"CTCLoss",
       [](const Args& a) {
         return make<nn::CTCLossImpl>(
             a.reduction(nn::CTCLossOptions()
                             .blank(a.integer("blank", 0))
                             .zero_infinity(a.flag("zero_infinity", false))));
       }},
      {"LinearCrossEntropyLoss",
       [](const Args& a) {
         auto o =
             nn::LinearCrossEntropyLossOptions(a.integer("in_features"), a.integer("num_classes"))
                 .bias(a.flag("bias", false))
                 .weight(a.tensor("weight"))
                 .label_smoothing(a.num("label_smoothing", 0));
         if (a.has("out_features"))
           o.out_features(a.c.at("out_features").get<std::vector<int64_t>>());
         if (a.has("ignore_index")) o.ignore_index(a.integer("ignore_index"));
         return make<nn::LinearCrossEntropyLossImpl>(a.reduction(o));
       }},
      {"CrossEntropyLoss",
       [](const Args& a) {
         return make<nn::CrossEntropyLossImpl>(
             a.reduction(nn::CrossEntropyLossOptions()
                             .weight(a.tensor("weight"))
                             .ignore_index(a.integer("ignore_index", -100))
                             .label_smoothing(a.num("label_smoothing", 0))));
       }},
  };
  return table;
}

}  // namespace

bool build_module(const CaseFile& file, const json& c, BuiltModule* out) {
  const auto found = builders().find(c.at("module").get<std::string>());
  if (found == builders().end()) return false;
  const json& constructor = c.at("constructor");
  out->module = found->second(Args{file, constructor});
  out->with_indices = constructor.value("return_indices", false);
  return true;
}

}  // namespace tenon::oracle
