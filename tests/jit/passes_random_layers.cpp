// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random networks of layers with weights, some of them used twice, written in place or returned,
// compute the same when they are optimized: folding of scales, epilogues, merged linear layers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tenon/jit.h"
#include "tenon/jit/freeze.h"
#include "tenon/tenon.h"

namespace tenon::jit {
namespace {

// Writes the text of a forward of 2 x 4 x 6 x 6 images and 3 x 4 rows, and gives it its weights.
class Network {
 public:
  explicit Network(unsigned seed) : random_(seed), module_("__torch__.Net" + std::to_string(seed)) {
    images_ = {"x"};
    rows_ = {"r"};
    const std::size_t n = 6 + pick(10);
    for (std::size_t i = 0; i < n; ++i) pick(2) ? image_layer() : row_layer();
    body_ += "  return " + image() + ", " + image() + ", " + row() + ", " + row() + "\n";
    module_.define("def forward(self, x: Tensor, r: Tensor):\n" + body_);
    module_.eval();
  }
  const Module& module() const { return module_; }
  const std::string& text() const { return body_; }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  // The last ones most often, so that chains grow.
  std::string of(const std::vector<std::string>& all) {
    return all[pick(3) ? all.size() - 1 : pick(all.size())];
  }
  std::string image() { return of(images_); }
  std::string row() { return of(rows_); }
  std::string weight(const std::vector<int64_t>& sizes, bool positive = false) {
    const std::string name = "w" + std::to_string(weights_++);
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    Tensor t = (arange(n, kFloat) * 1.7 + static_cast<double>(weights_)).sin().reshape(sizes) * 0.4;
    if (positive) t = t.abs() + 0.5;
    pick(2) ? module_.register_parameter(name, t) : module_.register_buffer(name, t);
    return "self." + name;
  }
  void define(std::vector<std::string>& to, const std::string& expression) {
    const std::string name = "t" + std::to_string(next_++);
    body_ += "  " + name + " = " + expression + "\n";
    to.push_back(name);
  }
  std::string activation(const std::string& x) {
    static constexpr const char* kForms[] = {"torch.relu(",    "torch.nn.functional.gelu(",
                                             "torch.sigmoid(", "torch.nn.functional.silu(",
                                             "torch.tanh(",    "torch.nn.functional.hardswish("};
    return kForms[pick(std::size(kForms))] + x + ")";
  }
  std::string written(const std::string& x) {
    static constexpr const char* kForms[] = {".add_(1)", ".mul_(0.5)", ".relu_()", ".neg_()"};
    return x + kForms[pick(std::size(kForms))];
  }

  void image_layer() {
    const std::string x = image();
    switch (pick(10)) {
      case 0:
      case 1:
        return convolution(x);
      case 2:
        return define(images_, "torch.batch_norm(" + x + ", " + weight({4}) + ", " + weight({4}) +
                                   ", " + weight({4}) + ", " + weight({4}, true) +
                                   ", False, 0.1, 1e-5, False)");
      case 3:
        return define(images_, activation(x));
      case 4:
        return define(images_, x + (pick(2) ? " + " : " - ") + image());
      case 5:
        return define(images_, x + " * " + weight({4, 1, 1}) + " + " + weight({1, 4, 1, 1}));
      case 6:
        return define(images_, written(x));
      case 7:
        return define(images_, x + (pick(2) ? " * 0.5" : " + 1.5"));
      case 8:
        return define(images_, "torch.dropout(" + x + ", 0.5, self.training)");
      default:
        return define(images_, "torch.layer_norm(" + x + ", [6, 6], " + weight({6, 6}) + ")");
    }
  }
  void convolution(const std::string& x) {
    const bool transposed = pick(4) == 0;
    const std::string groups = pick(3) ? "1" : "4";
    const std::string w = weight({4, groups == "1" ? 4 : 1, 3, 3});
    const std::string bias = pick(2) ? weight({4}) : "None";
    if (transposed)
      return define(images_, "torch.conv_transpose2d(" + x + ", " + w + ", " + bias +
                                 ", [1, 1], [1, 1], [0, 0], " + groups + ")");
    define(images_, "torch.conv2d(" + x + ", " + w + ", " + bias + ", [1, 1], [1, 1], [1, 1], " +
                        groups + ")");
  }
  void row_layer() {
    const std::string x = row();
    switch (pick(9)) {
      case 0:
      case 1:
        return define(rows_, "torch.nn.functional.linear(" + x + ", " + weight({4, 4}) +
                                 (pick(2) ? ", " + weight({4}) : "") + ")");
      case 2: {  // layers of one input
        const std::string a = weight({4, 4}), b = weight({4, 4});
        define(rows_, "torch.nn.functional.linear(" + x + ", " + a + ")");
        return define(rows_, "torch.nn.functional.linear(" + x + ", " + b + ")");
      }
      case 3:
        return define(rows_, activation(x));
      case 4:
        return define(rows_, x + " + " + (pick(2) ? row() : weight({4})));
      case 5:
        return define(rows_, "torch.addmm(" + weight({4}) + ", " + x + ", " + weight({4, 4}) + ")");
      case 6: {  // layer norm by hand
        define(rows_, x + " - " + x + ".mean(-1, keepdim=True)");
        const std::string d = rows_.back();
        return define(rows_, d + " / torch.sqrt(" + d +
                                 ".pow(2).mean(-1, keepdim=True) + 1e-5) * " + weight({4}) + " + " +
                                 weight({4}));
      }
      case 7:
        return define(rows_, written(x));
      default:
        return define(rows_, x + ".matmul(" + weight({4, 4}) + ") * 0.5");
    }
  }

  std::mt19937 random_;
  Module module_;
  std::string body_;
  std::vector<std::string> images_, rows_;
  int next_ = 0, weights_ = 0;
};

void expect_same(const IValue& got, const IValue& wanted, double tolerance,
                 const std::string& what) {
  for (std::size_t i = 0; i < wanted.toTupleRef().size(); ++i) {
    const Tensor a = got.toTupleRef().items[i].toTensor(),
                 b = wanted.toTupleRef().items[i].toTensor();
    ASSERT_EQ(a.sizes(), b.sizes()) << what;
    const double scale = std::max(1.0, b.abs().max().item<double>());
    EXPECT_LE((a - b).abs().max().item<double>(), tolerance * scale) << "result " << i << what;
  }
}

TEST(JitPassesRandom, NetworksWithWeightsComputeTheSame) {
  const NoGradGuard none;
  const Tensor x = (arange(2 * 4 * 36, kFloat) * 0.37).sin().view({2, 4, 6, 6});
  const Tensor r = (arange(12, kFloat) * 0.73).cos().view({3, 4});
  const char* times = std::getenv("TENON_TEST_TIMES");
  const unsigned seeds = 200 * static_cast<unsigned>(times ? std::max(1, std::atoi(times)) : 1);
  int joined = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const Network network(seed);
    const auto run = [&](const Module& m) { return m.forward({x.clone(), r.clone()}); };
    const IValue wanted = run(network.module());
    const std::string what = " of seed " + std::to_string(seed) + "\n" + network.text();
    expect_same(run(freeze(network.module())), wanted, 1e-4, ", frozen," + what);
    const Module fast = optimize_for_inference(network.module());
    for (int again = 0; again < 2; ++again) expect_same(run(fast), wanted, 1e-4, what);
    const std::string graph = fast.get_method("forward").graph()->str();
    joined += graph.find("aten::_conv_epilogue") != std::string::npos;
    joined += graph.find("aten::_linear_epilogue") != std::string::npos;
  }
  EXPECT_GT(joined, 20);  // the passes had something to do
}

}  // namespace
}  // namespace tenon::jit
