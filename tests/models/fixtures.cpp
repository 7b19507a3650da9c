// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/models/fixtures.h"

#include <cmath>

#include "tenon/jit/trace.h"
#include "tenon/ops.h"
#include "tests/models/models.h"

namespace tenon::test::models {

namespace {

constexpr int64_t kPrime = 10007;

// Between -1 and 1.
Tensor uniform(IntArrayRef sizes, int64_t seed) {
  return residues(sizes, seed).to(kDouble) * (2.0 / kPrime) - 1.0;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

Tensor residues(IntArrayRef sizes, int64_t seed) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const Tensor r = arange(count, TensorOptions().dtype(kLong)).remainder(kPrime);
  return (r * r * 31 + r * (17 + seed) + 7 * seed).remainder(kPrime).view(sizes);
}

void fill(nn::Module& net) {
  net.to(kDouble);
  const NoGradGuard no_grad;
  int64_t seed = 0;
  for (const auto& item : net.named_parameters()) {
    const Tensor p = item.value(), u = uniform(p.sizes(), seed++);
    if (p.dim() > 1) {
      const int64_t fan_in = p.numel() / p.size(0);
      p.copy_(u * std::sqrt(6.0 / static_cast<double>(fan_in)));
    } else {
      p.copy_(u * 0.25 + (ends_with(item.key(), "weight") ? 1.0 : 0.0));
    }
  }
  seed = 0;
  for (const auto& item : net.named_buffers()) {
    const Tensor b = item.value();
    if (b.dim() == 1)
      b.copy_(uniform(b.sizes(), seed) * 0.25 + (ends_with(item.key(), "var") ? 1.0 : 0.0));
    ++seed;
  }
}

namespace {

template <class Holder>
Fixture fixture(Holder net, Tensor input, bool train) {
  fill(*net);
  net->eval();
  return {net.ptr(), std::move(input), [net](const Tensor& x) mutable { return net(x); },
          [net](const Tensor& x) { return jit::trace(net, {x}); }, train};
}

Tensor image() { return uniform({2, 3, 64, 64}, 1); }

const std::vector<int64_t> kVGG11 = {1, 1, 2, 2, 2}, kVGG16 = {2, 2, 3, 3, 3};

}  // namespace

const std::vector<std::pair<std::string, std::function<Fixture()>>>& fixtures() {
  static const std::vector<std::pair<std::string, std::function<Fixture()>>> all = {
      {"AlexNet",
       [] {
         return fixture(AlexNet(4, 48, 10), uniform({2, 3, 96, 96}, 1), false);
       }},
      {"VGG11", [] { return fixture(VGG(kVGG11, false, 4, 48, 10), image(), false); }},
      {"VGG16WithBatchNorm",
       [] { return fixture(VGG(kVGG16, true, 4, 48, 10, 0.0), image(), true); }},
      {"ResNet18", [] { return fixture(ResNet18(8, 10), image(), true); }},
      {"DenseNet121", [] { return fixture(DenseNet121(4, 10), image(), true); }},
      {"GoogLeNet", [] { return fixture(GoogLeNet(8, 10, 0.0), image(), true); }},
      {"LanguageModel",
       [] {
         return fixture(LanguageModel(50, 12, 16, 2), residues({9, 3}, 1).remainder(50), false);
       }},
      {"DCGANGenerator",
       [] {
         return fixture(Generator(20, 8), uniform({2, 20, 1, 1}, 1), true);
       }},
      {"DCGANDiscriminator", [] { return fixture(Discriminator(8), image(), true); }},
      {"SuperResolution",
       [] {
         return fixture(SuperResolution(3, 16), uniform({2, 1, 24, 20}, 1), false);
       }},
  };
  return all;
}

}  // namespace tenon::test::models
