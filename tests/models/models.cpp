// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/models/models.h"

#include <algorithm>

#include "tenon/ops.h"

namespace tenon::test::models {

namespace {

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t padding = 0,
                bool bias = true) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding).bias(bias));
}

nn::Conv2d plain_conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1,
                      int64_t padding = 0) {
  return conv(in, out, kernel, stride, padding, /*bias=*/false);
}

nn::MaxPool2d max_pool(int64_t kernel, int64_t stride, int64_t padding = 0, bool ceil = false) {
  return nn::MaxPool2d(
      nn::MaxPool2dOptions(kernel).stride(stride).padding(padding).ceil_mode(ceil));
}

nn::ReLU in_place_relu() { return nn::ReLU(nn::ReLUOptions().inplace(true)); }

// The function of the max pooling layers of GoogLeNet.
Tensor halved(const Tensor& x, int64_t kernel) { return max_pool(kernel, 2, 0, true)(x); }

}  // namespace

AlexNetImpl::AlexNetImpl(int64_t width, int64_t hidden, int64_t classes, double dropout)
    : features(conv(3, width, 11, 4, 2), in_place_relu(), max_pool(3, 2),
               conv(width, 3 * width, 5, 1, 2), in_place_relu(), max_pool(3, 2),
               conv(3 * width, 6 * width, 3, 1, 1), in_place_relu(),
               conv(6 * width, 4 * width, 3, 1, 1), in_place_relu(),
               conv(4 * width, 4 * width, 3, 1, 1), in_place_relu(), max_pool(3, 2)),
      classifier(nn::Dropout(dropout), nn::Linear(4 * width * 36, hidden), in_place_relu(),
                 nn::Dropout(dropout), nn::Linear(hidden, hidden), in_place_relu(),
                 nn::Linear(hidden, classes)),
      avgpool(6) {
  register_module("features", features);
  register_module("avgpool", avgpool);
  register_module("classifier", classifier);
}

Tensor AlexNetImpl::forward(const Tensor& images) {
  return classifier->forward(avgpool(features->forward(images)).flatten(1));
}

VGGImpl::VGGImpl(const std::vector<int64_t>& convs, bool batch_norm, int64_t width, int64_t hidden,
                 int64_t classes, double dropout)
    : avgpool(7) {
  int64_t channels = 3;
  for (std::size_t stage = 0; stage < convs.size(); ++stage) {
    const int64_t out = width * std::min<int64_t>(int64_t{1} << stage, 8);
    channels = add_stage(convs[stage], batch_norm, channels, out);
  }
  classifier = nn::Sequential(nn::Linear(channels * 49, hidden), in_place_relu(),
                              nn::Dropout(dropout), nn::Linear(hidden, hidden), in_place_relu(),
                              nn::Dropout(dropout), nn::Linear(hidden, classes));
  register_module("features", features);
  register_module("avgpool", avgpool);
  register_module("classifier", classifier);
}

int64_t VGGImpl::add_stage(int64_t convs, bool batch_norm, int64_t in, int64_t out) {
  for (int64_t i = 0; i < convs; ++i) {
    features->push_back(conv(i == 0 ? in : out, out, 3, 1, 1));
    if (batch_norm) features->push_back(nn::BatchNorm2d(out));
    features->push_back(in_place_relu());
  }
  features->push_back(max_pool(2, 2));
  return out;
}

Tensor VGGImpl::forward(const Tensor& images) {
  return classifier->forward(avgpool(features->forward(images)).flatten(1));
}

BasicBlockImpl::BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
    : conv1(plain_conv(in, out, 3, stride, 1)),
      conv2(plain_conv(out, out, 3, 1, 1)),
      bn1(out),
      bn2(out) {
  register_module("conv1", conv1);
  register_module("bn1", bn1);
  register_module("conv2", conv2);
  register_module("bn2", bn2);
  if (stride == 1 && in == out) return;
  downsample = register_module(
      "downsample", nn::Sequential(plain_conv(in, out, 1, stride), nn::BatchNorm2d(out)));
}

Tensor BasicBlockImpl::forward(const Tensor& x) {
  const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  return relu(y + (downsample ? downsample->forward(x) : x));
}

ResNet18Impl::ResNet18Impl(int64_t width, int64_t classes)
    : conv1(plain_conv(3, width, 7, 2, 3)),
      bn1(width),
      maxpool(max_pool(3, 2, 1)),
      avgpool(1),
      fc(8 * width, classes) {
  const auto layer = [](int64_t in, int64_t out, int64_t stride) {
    return nn::Sequential(BasicBlock(in, out, stride), BasicBlock(out, out, 1));
  };
  register_module("conv1", conv1);
  register_module("bn1", bn1);
  register_module("maxpool", maxpool);
  layer1 = register_module("layer1", layer(width, width, 1));
  layer2 = register_module("layer2", layer(width, 2 * width, 2));
  layer3 = register_module("layer3", layer(2 * width, 4 * width, 2));
  layer4 = register_module("layer4", layer(4 * width, 8 * width, 2));
  register_module("avgpool", avgpool);
  register_module("fc", fc);
}

Tensor ResNet18Impl::forward(const Tensor& images) {
  Tensor x = maxpool(relu(bn1(conv1(images))));
  for (nn::Sequential* layer : {&layer1, &layer2, &layer3, &layer4}) x = (*layer)->forward(x);
  return fc(avgpool(x).flatten(1));
}

DenseLayerImpl::DenseLayerImpl(int64_t in, int64_t growth)
    : norm1(in),
      norm2(4 * growth),
      conv1(plain_conv(in, 4 * growth, 1)),
      conv2(plain_conv(4 * growth, growth, 3, 1, 1)) {
  register_module("norm1", norm1);
  register_module("conv1", conv1);
  register_module("norm2", norm2);
  register_module("conv2", conv2);
}

Tensor DenseLayerImpl::forward(const Tensor& x) {
  return conv2(relu(norm2(conv1(relu(norm1(x))))));
}

DenseBlockImpl::DenseBlockImpl(int64_t count, int64_t in, int64_t growth) {
  for (int64_t i = 0; i < count; ++i) {
    layers.push_back(
        register_module("denselayer" + std::to_string(i + 1), DenseLayer(in + i * growth, growth)));
  }
}

Tensor DenseBlockImpl::forward(const Tensor& x) {
  std::vector<Tensor> parts{x};
  for (DenseLayer& layer : layers) parts.push_back(layer(cat(parts, 1)));
  return cat(parts, 1);
}

DenseNet121Impl::DenseNet121Impl(int64_t growth, int64_t classes) {
  int64_t channels = 2 * growth, stage = 1;
  features->push_back("conv0", plain_conv(3, channels, 7, 2, 3));
  features->push_back("norm0", nn::BatchNorm2d(channels));
  features->push_back("relu0", in_place_relu());
  features->push_back("pool0", max_pool(3, 2, 1));
  for (const int64_t layers : {6, 12, 24, 16}) {
    const std::string number = std::to_string(stage++);
    features->push_back("denseblock" + number, DenseBlock(layers, channels, growth));
    channels += layers * growth;
    if (layers == 16) break;
    nn::Sequential transition;
    transition->push_back("norm", nn::BatchNorm2d(channels));
    transition->push_back("relu", in_place_relu());
    transition->push_back("conv", plain_conv(channels, channels / 2, 1));
    transition->push_back("pool", nn::AvgPool2d(2));
    features->push_back("transition" + number, transition);
    channels /= 2;
  }
  features->push_back("norm5", nn::BatchNorm2d(channels));
  register_module("features", features);
  classifier = register_module("classifier", nn::Linear(channels, classes));
}

Tensor DenseNet121Impl::forward(const Tensor& images) {
  return classifier(adaptive_avg_pool2d(relu(features->forward(images)), {1, 1}).flatten(1));
}

ConvNormImpl::ConvNormImpl(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding)
    : conv(plain_conv(in, out, kernel, stride, padding)),
      bn(nn::BatchNorm2dOptions(out).eps(0.001)) {
  register_module("conv", conv);
  register_module("bn", bn);
}

Tensor ConvNormImpl::forward(const Tensor& x) { return relu(bn(conv(x))); }

// As torchvision, where the branch of the paper's 5x5 convolution has a 3x3 one.
InceptionImpl::InceptionImpl(int64_t in, const InceptionSizes& sizes)
    : branch1(in, sizes.one, 1),
      branch2(ConvNorm(in, sizes.three_in, 1), ConvNorm(sizes.three_in, sizes.three, 3, 1, 1)),
      branch3(ConvNorm(in, sizes.five_in, 1), ConvNorm(sizes.five_in, sizes.five, 3, 1, 1)),
      branch4(max_pool(3, 1, 1, true), ConvNorm(in, sizes.pool, 1)) {
  register_module("branch1", branch1);
  register_module("branch2", branch2);
  register_module("branch3", branch3);
  register_module("branch4", branch4);
}

Tensor InceptionImpl::forward(const Tensor& x) {
  return cat({branch1(x), branch2->forward(x), branch3->forward(x), branch4->forward(x)}, 1);
}

GoogLeNetImpl::GoogLeNetImpl(int64_t width, int64_t classes, double dropout_probability)
    : conv1(3, width, 7, 2, 3),
      conv2(width, width, 1),
      conv3(width, 3 * width, 3, 1, 1),
      dropout(dropout_probability) {
  TENON_CHECK(width > 0 && width % 8 == 0, ValueError, "width must be a multiple of 8");
  register_module("conv1", conv1);
  register_module("conv2", conv2);
  register_module("conv3", conv3);
  const std::vector<std::pair<const char*, InceptionSizes>> published = {
      {"inception3a", {64, 96, 128, 16, 32, 32}},
      {"inception3b", {128, 128, 192, 32, 96, 64}},
      {"inception4a", {192, 96, 208, 16, 48, 64}},
      {"inception4b", {160, 112, 224, 24, 64, 64}},
      {"inception4c", {128, 128, 256, 24, 64, 64}},
      {"inception4d", {112, 144, 288, 32, 64, 64}},
      {"inception4e", {256, 160, 320, 32, 128, 128}},
      {"inception5a", {256, 160, 320, 32, 128, 128}},
      {"inception5b", {384, 192, 384, 48, 128, 128}}};
  int64_t channels = 3 * width;
  for (auto [name, s] : published) {
    for (int64_t* n : {&s.one, &s.three_in, &s.three, &s.five_in, &s.five, &s.pool})
      *n = *n * width / 64;
    inceptions.push_back(register_module(name, Inception(channels, s)));
    channels = s.sum();
  }
  register_module("dropout", dropout);
  fc = register_module("fc", nn::Linear(channels, classes));
}

Tensor GoogLeNetImpl::forward(const Tensor& images) {
  Tensor x = halved(conv3(conv2(halved(conv1(images), 3))), 3);
  for (std::size_t i = 0; i < inceptions.size(); ++i) {
    x = inceptions[i](x);
    if (i == 1) x = halved(x, 3);
    if (i == 6) x = halved(x, 2);
  }
  return fc(dropout(adaptive_avg_pool2d(x, {1, 1}).flatten(1)));
}

LanguageModelImpl::LanguageModelImpl(int64_t words, int64_t embedding, int64_t hidden,
                                     int64_t layers)
    : encoder(words, embedding),
      rnn(nn::LSTMOptions(embedding, hidden).num_layers(layers)),
      decoder(hidden, words) {
  register_module("encoder", encoder);
  register_module("rnn", rnn);
  register_module("decoder", decoder);
}

Tensor LanguageModelImpl::forward(const Tensor& tokens) { return std::get<0>(step(tokens)); }

std::tuple<Tensor, LanguageModelImpl::State> LanguageModelImpl::step(const Tensor& tokens,
                                                                     std::optional<State> state) {
  const auto [hidden, after] = rnn(encoder(tokens), state);
  return {log_softmax(decoder(hidden), -1), after};
}

GeneratorImpl::GeneratorImpl(int64_t noise, int64_t width, int64_t channels) {
  const auto grow = [](int64_t in, int64_t out, int64_t stride, int64_t padding) {
    return nn::ConvTranspose2d(
        nn::ConvTranspose2dOptions(in, out, 4).stride(stride).padding(padding).bias(false));
  };
  int64_t size = noise;
  for (const int64_t out : {8 * width, 4 * width, 2 * width, width}) {
    const bool first = main->is_empty();
    main->push_back(grow(size, out, first ? 1 : 2, first ? 0 : 1));
    main->push_back(nn::BatchNorm2d(out));
    main->push_back(in_place_relu());
    size = out;
  }
  main->push_back(grow(width, channels, 2, 1));
  main->push_back(nn::Tanh());
  register_module("main", main);
}

Tensor GeneratorImpl::forward(const Tensor& noise) { return main->forward(noise); }

DiscriminatorImpl::DiscriminatorImpl(int64_t width, int64_t channels) {
  const auto leaky = [] {
    return nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2).inplace(true));
  };
  main->push_back(plain_conv(channels, width, 4, 2, 1));
  main->push_back(leaky());
  for (const int64_t size : {width, 2 * width, 4 * width}) {
    main->push_back(plain_conv(size, 2 * size, 4, 2, 1));
    main->push_back(nn::BatchNorm2d(2 * size));
    main->push_back(leaky());
  }
  main->push_back(plain_conv(8 * width, 1, 4));
  main->push_back(nn::Sigmoid());
  register_module("main", main);
}

Tensor DiscriminatorImpl::forward(const Tensor& images) { return main->forward(images).view({-1}); }

SuperResolutionImpl::SuperResolutionImpl(int64_t factor, int64_t width)
    : conv1(conv(1, width, 5, 1, 2)),
      conv2(conv(width, width, 3, 1, 1)),
      conv3(conv(width, width / 2, 3, 1, 1)),
      conv4(conv(width / 2, factor * factor, 3, 1, 1)),
      pixel_shuffle(factor) {
  register_module("conv1", conv1);
  register_module("conv2", conv2);
  register_module("conv3", conv3);
  register_module("conv4", conv4);
  register_module("pixel_shuffle", pixel_shuffle);
}

Tensor SuperResolutionImpl::forward(const Tensor& images) {
  return pixel_shuffle(conv4(relu(conv3(relu(conv2(relu(conv1(images))))))));
}

}  // namespace tenon::test::models
