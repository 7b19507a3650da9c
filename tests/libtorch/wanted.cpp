// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What public programs for libtorch use that has no other test.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/extension.h>

#include <atomic>
#include <sstream>

namespace {

template <class T>
std::string printed(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

TEST(Wanted, ContainersOnStreams) {
  EXPECT_EQ(printed(std::vector<torch::Device>{torch::kCPU, {torch::kCUDA, 1}}), "cpu cuda:1");
  EXPECT_EQ(printed(std::vector<int64_t>{1, 2}), "1 2");
  EXPECT_EQ(printed(std::vector<int>()), "");
  EXPECT_EQ(printed(std::map<std::string, int>{{"a", 1}, {"b", 2}}), "(a, 1) (b, 2)");
  EXPECT_EQ(printed(std::set<int>{3, 1}), "1 3");
  EXPECT_EQ(printed(std::vector<std::vector<int>>{{1, 2}, {3}}), "1 2 3");
  const std::string many = printed(std::vector<int>(101, 7));
  EXPECT_EQ(many.substr(many.size() - 7), "7 7 ...");
}

template <class T>
T leaky(T v, T slope) {
  return v > 0 ? v : v * slope;  // both sides must have one type
}
TEST(Wanted, ArithmeticOfSmallFloats) {
  const at::Half a = 3.f, b = 0.5f;
  EXPECT_EQ(leaky(-a, b), -1.5f);
  EXPECT_EQ(std::max(a * b, b), 1.5f);
  static_assert(std::is_same_v<decltype(a + b), at::Half>);
  static_assert(std::is_same_v<decltype(a * 2), at::Half>);
  static_assert(std::is_same_v<decltype(2u - a), at::Half>);
  static_assert(std::is_same_v<decltype(a / 2.f), float>);
  static_assert(std::is_same_v<decltype(2. * a), double>);
  EXPECT_EQ(std::numeric_limits<at::Half>::denorm_min() / 2, 0.f);
  const at::BFloat16 third = at::BFloat16(1.f) / 3;
  EXPECT_EQ(third * 3u, 1.f);
}

TEST(Wanted, AssignmentsOfSmallFloats) {
  at::Half h = 1.5f;
  h += at::Half(2.f);
  h *= 2;
  h -= 0.5f;
  EXPECT_EQ(static_cast<float>(h), 6.5f);
  c10::BFloat16 b = 1.f;
  b /= c10::BFloat16(4.f);
  b += 256.f;  // rounds to 8 bits
  EXPECT_EQ(static_cast<float>(b), 256.f);
  static_assert(std::is_same_v<c10::scalar_value_type<c10::complex<float>>::type, float>);
  static_assert(std::is_same_v<at::scalar_value_type<double>::type, double>);
}

TEST(Wanted, EntriesOfADictionaryByReference) {
  c10::Dict<std::string, int64_t> d;
  d.insert("a", 1);
  d.insert("b", 2);
  for (auto& entry : d) entry.setValue(entry.value() * 10);
  EXPECT_EQ(d.at("a") + d.at("b"), 30);
}

TEST(Wanted, TensorsKeptWithTheirVersion) {
  auto x = torch::ones({2});
  torch::autograd::SavedVariable kept(x, /*is_output=*/false);
  EXPECT_TRUE(kept.unpack().is_same(x));
  x.add_(1);
  EXPECT_THROW((void)kept.unpack(), c10::Error);
  kept.reset_data();
  EXPECT_THROW((void)kept.unpack(), c10::Error);
  EXPECT_FALSE(torch::autograd::SavedVariable().unpack().defined());
}

TEST(Wanted, ProgramsWithTheOneHeader) {
  const auto bytes = torch::pickle_save(torch::ones({2}));
  EXPECT_TRUE(torch::equal(torch::pickle_load(bytes).toTensor(), torch::ones({2})));
  const c10::TypePtr type = c10::ListType::create(c10::TensorType::get());
  const std::shared_ptr<const c10::Type> same = type;
  EXPECT_EQ(same->str(), "Tensor[]");
  const c10::ClassTypePtr named = c10::ClassType::make("__torch__.nets.Block", true);
  EXPECT_TRUE(named->name().has_value());
  EXPECT_EQ(named->name().value().name(), "Block");
  EXPECT_EQ(named->name()->prefix(), "__torch__.nets");
  EXPECT_EQ(named->name()->qualifiedName(), "__torch__.nets.Block");
  EXPECT_FALSE(type->name());
}

TEST(Wanted, KindsThatATensorIsNot) {
  const auto x = torch::ones({2});
  EXPECT_FALSE(x.is_conj() || x.is_neg() || x.is_nested() || x.is_mkldnn());
  EXPECT_EQ(x.name(), "");
  EXPECT_TRUE(x.is_uniquely_owned());
  EXPECT_EQ(x.weak_use_count(), 1u);
  EXPECT_EQ(torch::Tensor().weak_use_count(), 0u);
}

TEST(Wanted, OperatorsAsMethods) {
  const auto x = torch::rand({2, 64}, torch::kDouble);
  const auto window = torch::hann_window(16, torch::kDouble);
  const auto f = x.stft(16, 4, 16, window, true, "reflect", false, true, true);
  EXPECT_TRUE(
      torch::equal(f, torch::stft(x, 16, 4, 16, window, true, "reflect", false, true, true)));
  EXPECT_TRUE(torch::allclose(f.istft(16, 4, 16, window, true, false, true, 64), x));
  EXPECT_TRUE(torch::equal(x.polygamma(1), torch::polygamma(1, x)));
}

TEST(Wanted, IndicesInAList) {
  const auto x = torch::arange(12).view({3, 4});
  c10::List<std::optional<at::Tensor>> at;
  at.push_back(std::nullopt);
  at.push_back(torch::tensor({0, 3}));
  EXPECT_TRUE(torch::equal(x.index(at), torch::tensor({{0, 3}, {4, 7}, {8, 11}})));
  EXPECT_TRUE(torch::equal(torch::index(x, at), x.index(at)));
  auto y = torch::zeros({3, 4}, torch::kLong);
  y.index_put_(at, torch::ones({1}, torch::kLong), /*accumulate=*/true);
  EXPECT_EQ(y.sum().item<int64_t>(), 6);
}

TEST(Wanted, AccessorsWithAnIndexTypeOfTheProgram) {
  const auto x = torch::arange(6, torch::kFloat).view({2, 3});
  const auto a = x.packed_accessor<float, 2, torch::RestrictPtrTraits, std::size_t>();
  EXPECT_EQ(a[1][2], 5.f);
  EXPECT_EQ(a.size(1), 3u);
  const auto b = x.generic_packed_accessor<float, 2>();
  EXPECT_EQ(b[0][1], 1.f);
  EXPECT_THROW((void)(x.packed_accessor<float, 1>()), c10::ValueError);
}

TEST(Wanted, SizesThatMayBeSymbols) {
  const auto x = torch::arange(12).view({3, 4});
  std::vector<c10::SymInt> sizes = x.sym_sizes().vec();
  sizes.back() = sizes.back() * 1;
  EXPECT_TRUE(torch::equal(x.t().reshape_symint({4, 3}).t().view_symint(sizes), x));
  EXPECT_TRUE(torch::equal(x.narrow_symint(1, 1, x.sym_size(1) - 1), x.narrow(1, 1, 3)));
  EXPECT_TRUE(torch::equal(x.slice_symint(0, std::nullopt, c10::SymInt(2)), x.slice(0, 0, 2)));
  EXPECT_TRUE(torch::equal(at::slice_symint(x, 1, 1, 4, 2), x.slice(1, 1, 4, 2)));
  EXPECT_TRUE(torch::equal(x[0].expand_symint({2, 4}), x[0].expand({2, 4})));
  EXPECT_EQ(at::zeros_symint({x.sym_numel(), 2}, x.options()).sizes(), at::IntArrayRef({12, 2}));
  EXPECT_EQ(at::full_symint({2}, 7).sum().item<float>(), 14);
  EXPECT_EQ(x.new_empty_symint(x.sym_sizes()).dtype(), torch::kLong);
  EXPECT_EQ(at::split_symint(x, 2, 1).size(), 2u);
}

TEST(Wanted, MemoryToldInParts) {
  float data[7] = {0, 1, 2, 3, 4, 5, 6};
  int deleted = 0;
  {
    const auto x = at::for_blob(data, {2, 3}).deleter([&](void*) { ++deleted; }).make_tensor();
    EXPECT_EQ(x.data_ptr(), data);
    EXPECT_EQ(x[1][0].item<float>(), 3);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  {
    const auto x = at::for_blob(data, {2, 2})
                       .strides(torch::IntArrayRef({3, 1}))
                       .storage_offset(1)
                       .context(&deleted, [](void* n) { ++*static_cast<int*>(n); })
                       .options(torch::kFloat)
                       .target_device(torch::kCPU)
                       .make_tensor();
    EXPECT_EQ(x.storage_offset(), 1);
    EXPECT_EQ(x.storage().data_ptr(), data);
    EXPECT_EQ(x.storage().nbytes(), 6 * sizeof(float));
    EXPECT_FALSE(x.is_view());
    EXPECT_TRUE(torch::equal(x, torch::tensor({{1.f, 2.f}, {4.f, 5.f}})));
    EXPECT_EQ(deleted, 1);
  }
  EXPECT_EQ(deleted, 2);
}

TEST(Wanted, PlacesByTheirBackend) {
  const auto x = torch::ones({2});
  EXPECT_TRUE(x.toBackend(c10::Backend::CPU).is_same(x));
  EXPECT_EQ(c10::backendToDeviceType(at::Backend::SparseCUDA), torch::kCUDA);
  EXPECT_EQ(c10::layout_from_backend(at::Backend::SparseCUDA), torch::kSparse);
  EXPECT_STREQ(toString(at::Backend::SparseCPU), "SparseCPU");
  EXPECT_THROW((void)x.toBackend(c10::Backend::Undefined), c10::ValueError);
}

TEST(Wanted, TypesOfTensors) {
  at::DeprecatedTypeProperties& doubles = at::CPU(at::kDouble);
  EXPECT_EQ(&doubles, &at::getDeprecatedTypeProperties(at::Backend::CPU, at::kDouble));
  EXPECT_EQ(doubles, "tenon.DoubleTensor");
  EXPECT_EQ(doubles.backend(), at::Backend::CPU);
  const auto x = at::ones({2, 3}, doubles);
  EXPECT_EQ(x.dtype(), at::kDouble);
  auto& floats = doubles.toScalarType(at::kFloat);
  EXPECT_NE(doubles, floats);
  EXPECT_EQ(x.to(floats).dtype(), at::kFloat);
  EXPECT_TRUE(torch::equal(floats.copy(x), torch::ones({2, 3})));
  EXPECT_EQ(at::CUDA(at::kFloat).options(5).device(), at::Device(at::kCUDA, 5));
  EXPECT_THROW((void)floats.options(at::Device(at::kCUDA)), c10::ValueError);
  EXPECT_EQ(doubles.toBackend(at::Backend::SparseCUDA).options().layout(), at::kSparse);
  std::size_t size = 0;
  AT_DISPATCH_FLOATING_TYPES(doubles, "size", [&] { size = sizeof(scalar_t); });
  EXPECT_EQ(size, 8u);
}

TEST(Wanted, NamesOfDeviceTypes) {
  std::ostringstream out;
  out << at::kCUDA << " " << at::Device(at::kCPU);
  EXPECT_EQ(out.str(), "cuda cpu");
  EXPECT_EQ(c10::DeviceTypeName(at::kCUDA), "CUDA");
  EXPECT_EQ(c10::DeviceTypeName(at::kMPS, /*lower_case=*/true), "mps");
}

TEST(Wanted, DeterministicAlgorithms) {
  auto& context = at::globalContext();
  EXPECT_FALSE(context.deterministicCuDNN());
  context.setDeterministicCuDNN(true);
  EXPECT_TRUE(context.deterministicCuDNN() && tenon::core::deterministic());
  EXPECT_FALSE(context.deterministicAlgorithms());
  context.setDeterministicAlgorithms(true);
  context.setDeterministicCuDNN(false);
  EXPECT_TRUE(context.deterministicAlgorithms() && tenon::core::deterministic());
  context.setDeterministicAlgorithms(false);
  EXPECT_FALSE(tenon::core::deterministic());
}

TEST(Wanted, WritesByKernelsOfTheProgram) {
  const auto x = torch::ones({2});
  const auto before = x._version();
  torch::autograd::increment_version(x);
  EXPECT_EQ(x._version(), before + 1);
}

// A check that is written without a semicolon, as libtorch's macros allow.
int64_t checked_size(const torch::Tensor& x) {
  C10_UNUSED const at::IntList sizes = x.sizes();
  C10_LOG_API_USAGE_ONCE("tests.checked_size");
  TORCH_CHECK(x.dim() == 1, "expected one dimension")
  return x.size(0);
}

TEST(Wanted, ChecksOfArguments) {
  EXPECT_EQ(checked_size(torch::ones({3})), 3);
  EXPECT_THROW((void)checked_size(torch::ones({1, 1})), c10::Error);
  const at::TensorArg a{torch::ones({2, 3}), "a", 1}, b{torch::ones({2, 3}, torch::kLong), "b", 2};
  at::checkDim("f", a, 2);
  at::checkSize("f", a, {2, 3});
  at::checkSize("f", a, 1, 3);
  at::checkSameSize("f", a, b);
  at::checkAllSameGPU("f", {a, b, {torch::Tensor(), "c", 3}});
  at::checkAllDefined("f", {a, b});
  at::checkAllContiguous("f", {a, b});
  at::checkScalarTypes("f", b, {torch::kInt, torch::kLong});
  EXPECT_THROW(at::checkDimRange("f", a, 3, 5), c10::Error);
  EXPECT_THROW(at::checkDefined("f", {torch::Tensor(), "c", 3}), c10::Error);
  EXPECT_THROW(at::checkDeviceType("f", {*a}, torch::kCUDA), c10::Error);
  try {
    at::checkSameType("f", a, b);
    ADD_FAILURE() << "dtypes differ";
  } catch (const c10::Error& e) {
    EXPECT_STREQ(e.what(),
                 "f: expected argument #1 'a' and argument #2 'b' to have the same dtype, got "
                 "float and long int");
  }
}

TEST(Wanted, SymbolsInValues) {
  const auto x = torch::ones({2, 3});
  const c10::IValue one = x.sym_size(1), all = x.sym_sizes(), list = x.sym_sizes().vec();
  EXPECT_EQ(one.toSymInt(), 3);
  EXPECT_EQ(one.to<c10::SymInt>(), 3);
  EXPECT_EQ(all.toIntVector(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(list.toSymIntVector().at(0), 2);
}

TEST(Wanted, DevicesOfTheProcess) {
  EXPECT_EQ(torch::hasCUDA(), at::hasCUDA());
  EXPECT_EQ(torch::getNumGPUs() > 0, at::hasCUDA());
  EXPECT_EQ(torch::globalContext().deterministicAlgorithms(),
            at::globalContext().deterministicAlgorithms());
}

TEST(Wanted, PiecesOfAtLeastAGrain) {
  std::atomic<int64_t> sum{0};
  at::parallel_for(0, 10, at::internal::GRAIN_SIZE, [&](int64_t b, int64_t e) { sum += e - b; });
  EXPECT_EQ(sum, 10);
}

TEST(Wanted, AutocastByItsOlderNames) {
  ASSERT_FALSE(at::autocast::is_enabled());
  at::autocast::set_enabled(true);
  EXPECT_TRUE(at::autocast::is_autocast_enabled(torch::kCUDA));
  EXPECT_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
  at::autocast::set_enabled(false);
}

TEST(Wanted, ItemsOfAModuleDictArePairs) {
  torch::nn::ModuleDict dict(torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>>{
      {"enc", torch::nn::Linear(2, 3).ptr()}, {"act", torch::nn::ReLU().ptr()}});
  std::string names;
  for (const auto& item : dict->items()) names += item.first + (item.second ? ";" : "?");
  EXPECT_EQ(names, "enc;act;");
}

struct OwnOptions : torch::optim::OptimizerCloneableOptions<OwnOptions> {
  TORCH_ARG(double, lr) = 0.1;
  using betas_t = std::tuple<double, double>;
  TORCH_ARG(betas_t, betas) = {0.9, 0.99};
  TORCH_ARG(int64_t, every) = 3;
  TORCH_ARG(bool, fast) = false;
  TORCH_ARG(torch::Tensor, mask) = {};

 public:
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(betas);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(every);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(fast);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(mask);
  }
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(betas_t, betas);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(int64_t, every);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(bool, fast);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(torch::Tensor, mask);
  }
};

TEST(Wanted, OptionsThatSaveTheirFieldsByMacros) {
  OwnOptions saved, loaded;
  saved.lr(0.5).betas({0.5, 0.25}).every(7).fast(true);
  std::stringstream file;
  torch::serialize::OutputArchive out;
  static_cast<const OwnOptions&>(saved).serialize(out);
  out.save_to(file);
  torch::serialize::InputArchive in;
  in.load_from(file);
  loaded.serialize(in);
  EXPECT_EQ(loaded.lr(), 0.5);
  EXPECT_EQ(loaded.betas(), std::make_tuple(0.5, 0.25));
  EXPECT_EQ(loaded.every(), 7);
  EXPECT_TRUE(loaded.fast());
  EXPECT_FALSE(loaded.mask().defined());
}

TEST(Wanted, OptionsOfNoOptimizer) {
  torch::nn::Linear net(2, 1);
  torch::optim::SGD sgd(net->parameters(), 0.1);
  const torch::optim::OptimizerOptions defaults = sgd.defaults();
  EXPECT_THROW((void)defaults.get_lr(), c10::NotImplementedError);
  EXPECT_THROW((void)defaults.clone(), c10::NotImplementedError);
}

TEST(Wanted, ConversionsOfSomeProperties) {
  const auto x = torch::ones({2, 2});
  const c10::optional<torch::Dtype> dtype = torch::kDouble;
  const auto y = x.to(dtype, /*layout=*/torch::nullopt, c10::optional<torch::Device>(),
                      /*pin_memory=*/torch::nullopt, /*non_blocking=*/false, /*copy=*/false,
                      torch::MemoryFormat::Preserve);
  EXPECT_EQ(y.dtype(), torch::kDouble);
  EXPECT_TRUE(x.to({}, {}, {}, {}, false, false, {}).is_same(x));
}

TEST(Wanted, ArraysAsOptionalLists) {
  const int64_t size[2] = {4, 4};
  const auto x = torch::rand({4, 4});
  EXPECT_TRUE(torch::allclose(torch::fft::irfftn(torch::fft::rfftn(x), size), x));
  EXPECT_EQ(torch::ones({4, 4}).sum(std::array<int64_t, 2>{0, 1}).item<float>(), 16);
}

}  // namespace
