// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Published nets with the layers and names of torchvision and of PyTorch's examples. The widths are
// arguments: the defaults are the published ones, and tests use fewer channels. `width` is the
// number of channels of the first layer, `hidden` that of the fully connected ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/nn.h"

namespace tenon::test::models {

// Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014.
struct AlexNetImpl : nn::Module {
  explicit AlexNetImpl(int64_t width = 64, int64_t hidden = 4096, int64_t classes = 1000,
                       double dropout = 0.5);
  Tensor forward(const Tensor& images);

  nn::Sequential features, classifier;
  nn::AdaptiveAvgPool2d avgpool;
};
TENON_MODULE(AlexNet);

// Simonyan and Zisserman, "Very deep convolutional networks", 2014. `convs` are the layers of each
// of the five stages: {1, 1, 2, 2, 2} is VGG-11, {2, 2, 3, 3, 3} VGG-16.
struct VGGImpl : nn::Module {
  VGGImpl(const std::vector<int64_t>& convs, bool batch_norm, int64_t width = 64,
          int64_t hidden = 4096, int64_t classes = 1000, double dropout = 0.5);
  Tensor forward(const Tensor& images);

  nn::Sequential features, classifier;
  nn::AdaptiveAvgPool2d avgpool;

 private:
  int64_t add_stage(int64_t convs, bool batch_norm, int64_t in, int64_t out);
};
TENON_MODULE(VGG);

// He et al., "Deep residual learning for image recognition", 2015.
struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride);
  Tensor forward(const Tensor& x);

  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  nn::Sequential downsample{nullptr};  // empty where the sizes stay
};
TENON_MODULE(BasicBlock);

struct ResNet18Impl : nn::Module {
  explicit ResNet18Impl(int64_t width = 64, int64_t classes = 1000);
  Tensor forward(const Tensor& images);

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::MaxPool2d maxpool;
  nn::Sequential layer1, layer2, layer3, layer4;
  nn::AdaptiveAvgPool2d avgpool;
  nn::Linear fc;
};
TENON_MODULE(ResNet18);

// Huang et al., "Densely connected convolutional networks", 2016.
struct DenseLayerImpl : nn::Module {
  DenseLayerImpl(int64_t in, int64_t growth);
  Tensor forward(const Tensor& x);

  nn::BatchNorm2d norm1, norm2;
  nn::Conv2d conv1, conv2;
};
TENON_MODULE(DenseLayer);

struct DenseBlockImpl : nn::Module {
  DenseBlockImpl(int64_t layers, int64_t in, int64_t growth);
  Tensor forward(const Tensor& x);

  std::vector<DenseLayer> layers;
};
TENON_MODULE(DenseBlock);

// `growth` is the number of channels that a layer adds; the first one has twice as many.
struct DenseNet121Impl : nn::Module {
  explicit DenseNet121Impl(int64_t growth = 32, int64_t classes = 1000);
  Tensor forward(const Tensor& images);

  nn::Sequential features;
  nn::Linear classifier{nullptr};
};
TENON_MODULE(DenseNet121);

// Szegedy et al., "Going deeper with convolutions", 2014, with batch normalization and without the
// auxiliary classifiers. `width` is a multiple of 8.
struct ConvNormImpl : nn::Module {
  ConvNormImpl(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t padding = 0);
  Tensor forward(const Tensor& x);

  nn::Conv2d conv;
  nn::BatchNorm2d bn;
};
TENON_MODULE(ConvNorm);

// Channels of the four branches; *_in are those of the 1x1 convolutions before the 3x3 ones.
struct InceptionSizes {
  int64_t one, three_in, three, five_in, five, pool;
  int64_t sum() const { return one + three + five + pool; }
};

struct InceptionImpl : nn::Module {
  InceptionImpl(int64_t in, const InceptionSizes& sizes);
  Tensor forward(const Tensor& x);

  ConvNorm branch1;
  nn::Sequential branch2, branch3, branch4;
};
TENON_MODULE(Inception);

struct GoogLeNetImpl : nn::Module {
  explicit GoogLeNetImpl(int64_t width = 64, int64_t classes = 1000, double dropout = 0.2);
  Tensor forward(const Tensor& images);

  ConvNorm conv1, conv2, conv3;
  std::vector<Inception> inceptions;  // 3a, 3b, 4a to 4e, 5a, 5b
  nn::Dropout dropout;
  nn::Linear fc{nullptr};
};
TENON_MODULE(GoogLeNet);

// Words to logarithms of the probabilities of the next one; tokens are [time, batch].
struct LanguageModelImpl : nn::Module {
  using State = std::tuple<Tensor, Tensor>;
  LanguageModelImpl(int64_t words, int64_t embedding, int64_t hidden, int64_t layers);
  Tensor forward(const Tensor& tokens);
  // Goes on from the state that an earlier part of the text has left.
  std::tuple<Tensor, State> step(const Tensor& tokens, std::optional<State> state = {});

  nn::Embedding encoder;
  nn::LSTM rnn;
  nn::Linear decoder;
};
TENON_MODULE(LanguageModel);

// Radford et al., "Unsupervised representation learning with deep convolutional generative
// adversarial networks", 2015. Images are 64 x 64, noise is [batch, noise, 1, 1].
struct GeneratorImpl : nn::Module {
  explicit GeneratorImpl(int64_t noise = 100, int64_t width = 64, int64_t channels = 3);
  Tensor forward(const Tensor& noise);

  nn::Sequential main;
};
TENON_MODULE(Generator);

struct DiscriminatorImpl : nn::Module {
  explicit DiscriminatorImpl(int64_t width = 64, int64_t channels = 3);
  Tensor forward(const Tensor& images);

  nn::Sequential main;
};
TENON_MODULE(Discriminator);

// Shi et al., "Real-time single image and video super-resolution using an efficient sub-pixel
// convolutional neural network", 2016. `factor` is that of height and width.
struct SuperResolutionImpl : nn::Module {
  explicit SuperResolutionImpl(int64_t factor, int64_t width = 64);
  Tensor forward(const Tensor& images);

  nn::Conv2d conv1, conv2, conv3, conv4;
  nn::PixelShuffle pixel_shuffle;
};
TENON_MODULE(SuperResolution);

}  // namespace tenon::test::models
