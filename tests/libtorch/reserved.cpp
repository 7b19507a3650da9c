// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every place of libtorch that is reserved here: it compiles, and works or says what is missing.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <atomic>

namespace {

TEST(Reserved, InferenceMode) {
  auto w = torch::ones({2}, torch::requires_grad());
  {
    c10::InferenceMode guard;
    EXPECT_TRUE(c10::InferenceMode::is_enabled());
    auto y = w * 2;
    EXPECT_FALSE(y.requires_grad());
    EXPECT_TRUE(y.is_inference());
  }
  EXPECT_FALSE(torch::InferenceMode::is_enabled());
  EXPECT_TRUE((w * 2).requires_grad());
}

struct Scale : torch::autograd::Function<Scale> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, double by) {
    ctx->saved_data["by"] = by;
    ctx->saved_data["name"] = "scale";
    ctx->saved_data["steps"] = int64_t{3};
    ctx->save_for_backward({x});
    return x * by;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    EXPECT_EQ(ctx->saved_data["name"].toStringRef(), "scale");
    EXPECT_EQ(ctx->saved_data["steps"].toInt(), 3);
    return {grads[0] * ctx->saved_data["by"].toDouble(), torch::Tensor()};
  }
};

TEST(Reserved, IValueInSavedData) {
  auto x = torch::ones({3}, torch::requires_grad());
  Scale::apply(x, 2.5).sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::full({3}, 2.5)));
  c10::IValue none;
  EXPECT_TRUE(none.isNone());
  EXPECT_EQ(c10::IValue(2).tagKind(), "Int");
  EXPECT_THROW(c10::IValue(2).toTensor(), c10::Error);
}

TEST(Reserved, Accessors) {
  auto x = torch::arange(6, torch::kFloat32).view({2, 3});
  auto a = x.accessor<float, 2>();
  EXPECT_EQ(a.size(1), 3);
  EXPECT_EQ(a[1][2], 5.0f);
  a[0][1] = 7;
  EXPECT_EQ(x[0][1].item<float>(), 7.0f);
  EXPECT_THROW((x.accessor<double, 2>()), c10::Error);
  EXPECT_THROW((x.accessor<float, 1>()), c10::Error);
}

TEST(Reserved, MemoryFormatArguments) {
  auto x = torch::empty({2, 3, 4, 5}, torch::TensorOptions().dtype(torch::kFloat32),
                        at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(x.strides(), (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(x.suggest_memory_format(), at::MemoryFormat::ChannelsLast);
  auto y = x.contiguous(at::MemoryFormat::Contiguous);
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_TRUE(y.contiguous(torch::MemoryFormat::ChannelsLast)
                  .is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_EQ(x.clone(torch::MemoryFormat::Preserve).strides(), x.strides());
  EXPECT_EQ(torch::empty_like(x).strides(), x.strides());
}

TEST(Reserved, Generators) {
  auto g = at::make_generator<at::CPUGeneratorImpl>(7);
  auto a = torch::rand({5}, g, torch::TensorOptions());
  g.set_current_seed(7);
  EXPECT_EQ(g.current_seed(), 7u);
  auto b = torch::rand({5}, g, torch::TensorOptions());
  EXPECT_TRUE(torch::equal(a, b));
  torch::manual_seed(3);
  auto c = torch::rand({5});
  at::detail::getDefaultCPUGenerator().set_current_seed(3);
  EXPECT_TRUE(torch::equal(c, torch::rand({5})));
  auto h = at::detail::createCPUGenerator(11);
  EXPECT_EQ(h.current_seed(), 11u);
}

TEST(Reserved, ParallelFor) {
  std::vector<int> seen(1000);
  at::parallel_for(10, 1000, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i < 10 ? 0 : 1);
  auto sum = at::parallel_reduce(
      0, 1001, 8, int64_t{0},
      [](int64_t begin, int64_t end, int64_t start) {
        for (int64_t i = begin; i < end; ++i) start += i;
        return start;
      },
      std::plus<int64_t>());
  EXPECT_EQ(sum, 500500);
  EXPECT_GE(at::get_num_threads(), 1);
  EXPECT_FALSE(at::in_parallel_region());
  EXPECT_THROW(
      at::parallel_for(0, 100, 1, [](int64_t, int64_t) { throw std::out_of_range("inside"); }),
      std::out_of_range);
  at::parallel_for(5, 5, 1, [](int64_t, int64_t) { ADD_FAILURE(); });
}

TEST(Reserved, CudaStreamsWantADevice) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "there is one";
  EXPECT_THROW(c10::cuda::getCurrentCUDAStream(), c10::Error);
  EXPECT_THROW(at::cuda::getStreamFromPool(), c10::Error);
  EXPECT_THROW(c10::cuda::CUDAGuard guard(0), c10::Error);
  [[maybe_unused]] c10::cuda::OptionalCUDAGuard unset;
}

// Devices that no plugin serves: none are there, and using one is an error that names it.
TEST(Reserved, AbsentDevices) {
  EXPECT_FALSE(torch::xpu::is_available());
  EXPECT_EQ(torch::xpu::device_count(), 0u);
  EXPECT_FALSE(torch::mps::is_available());
  EXPECT_FALSE(at::hasXPU() || at::hasMPS() || at::hasHIP());
  EXPECT_EQ(at::hasCUDA(), torch::cuda::is_available());
  EXPECT_EQ(c10::cuda::device_count() > 0, torch::cuda::is_available());
  EXPECT_EQ(torch::Device(torch::kMPS).type(), torch::kMPS);
  for (torch::DeviceType type : {torch::kXPU, torch::kMPS, torch::kHIP})
    EXPECT_THROW(torch::ones({1}).to(torch::Device(type)), c10::Error);
  EXPECT_THROW(torch::xpu::synchronize(), c10::Error);
  try {
    torch::ones({1}, torch::kMPS);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const c10::Error& e) {
    EXPECT_NE(std::string(e.what()).find("mps"), std::string::npos) << e.what();
  }
}

TEST(Reserved, ScriptSaysWhatIsWrongWithAFile) {
  EXPECT_THROW(torch::jit::load("nonexistent/model.pt"), c10::ValueError);
}

TEST(Reserved, ChecksThrowByClass) {
  EXPECT_THROW(TORCH_CHECK(1 > 2, "one is not above ", 2), c10::Error);
  EXPECT_THROW(TORCH_CHECK_INDEX(false, "index"), c10::IndexError);
  EXPECT_THROW(TORCH_CHECK_VALUE(false), c10::ValueError);
  EXPECT_THROW(AT_ASSERT(false), c10::Error);
  EXPECT_THROW(AT_ERROR("always ", 1.5), c10::Error);
  EXPECT_NO_THROW(TORCH_CHECK(true, "fine"));
  try {
    TORCH_CHECK(false, "sizes ", torch::IntArrayRef({2, 3}), " at ", std::string("place"));
  } catch (const c10::Error& e) {
    EXPECT_EQ(std::string(e.what_without_backtrace()), "sizes [2, 3] at place");
  }
  TORCH_WARN("goes to the sink, ", 1);
  TORCH_WARN_ONCE("once");
}

TEST(Reserved, WarningsOnceOrAlways) {
  struct Counts : torch::WarningHandler {
    void process(const c10::Warning&) override { ++n; }
    int n = 0;
  } counts;
  const torch::WarningUtils::WarningHandlerGuard guard(&counts);
  const auto warn = [] { TORCH_WARN_ONCE("a function like a statement") };
  EXPECT_FALSE(c10::WarningUtils::get_warnAlways());
  for (int i = 0; i < 3; ++i) warn();
  EXPECT_EQ(counts.n, 1);
  c10::WarningUtils::set_warnAlways(true);
  for (int i = 0; i < 3; ++i) warn();
  c10::WarningUtils::set_warnAlways(false);
  EXPECT_EQ(counts.n, 4);
}

TEST(Reserved, DtypesThatCast) {
  EXPECT_TRUE(torch::canCast(torch::kInt, torch::kFloat));
  EXPECT_FALSE(c10::canCast(torch::kFloat, torch::kInt));
}

template <class T>
double first_as_double(const torch::Tensor& t) {
  return static_cast<double>(t.data_ptr<T>()[0]);
}

TEST(Reserved, LoadersTakeABatchSize) {
  const int64_t batch_size = 4;
  auto numbers = torch::data::datasets::TensorDataset(torch::arange(10))
                     .map(torch::data::transforms::Stack<torch::data::TensorExample>());
  auto loader = torch::data::make_data_loader(std::move(numbers), batch_size);
  int64_t sum = 0, batches = 0;
  for (const auto& batch : *loader) {
    sum += batch.data.sum().item<int64_t>();
    ++batches;
  }
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(batches, 3);
}

TEST(Reserved, TextOfParts) { EXPECT_EQ(torch::str("part ", 2, " of ", 2.5), "part 2 of 2.5"); }

TEST(Reserved, DispatchMacros) {
  auto value = [](const torch::Tensor& t) {
    return AT_DISPATCH_ALL_TYPES_AND(at::kBool, t.scalar_type(), "value",
                                     [&] { return first_as_double<scalar_t>(t); });
  };
  EXPECT_EQ(value(torch::full({1}, 3, torch::kInt32)), 3.0);
  EXPECT_EQ(value(torch::full({1}, 2.5, torch::kFloat64)), 2.5);
  EXPECT_THROW(value(torch::ones({1}, torch::kFloat16)), c10::NotImplementedError);
  AT_DISPATCH_FLOATING_TYPES(torch::kFloat32, "nothing",
                             [&] { static_assert(sizeof(scalar_t) >= 4); });
  for (const auto i : c10::irange(3)) EXPECT_LT(i, 3);
}

}  // namespace

// Programs may add to libtorch's namespaces; what was there stays visible.
namespace torch::nn {
struct EchoImpl : Module {
  Tensor forward(Tensor x) { return x; }
};
TORCH_MODULE(Echo);
}  // namespace torch::nn
namespace at {
inline int added_by_a_program() { return 1; }
}  // namespace at

namespace {

TEST(Reserved, NamespacesCanBeReopened) {
  torch::nn::Echo echo;
  auto x = torch::nn::Linear(2, 2)(torch::ones({1, 2}));
  EXPECT_TRUE(torch::equal(echo(x), x));
  EXPECT_EQ(at::added_by_a_program(), 1);
  at::Tensor same = torch::ones({1});
  EXPECT_TRUE(same.defined());
}

}  // namespace
