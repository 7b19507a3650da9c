// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Members of values, containers, errors and holders by libtorch's names, and tensors of inference.
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <mutex>
#include <sstream>

namespace {

TEST(Values, ComplexNumbers) {
  EXPECT_EQ(c10::IValue(c10::complex<double>(1, 2)).toComplexDouble(), std::complex<double>(1, 2));
  EXPECT_EQ(c10::IValue(c10::complex<float>(1, 2)).toComplexDouble(), std::complex<double>(1, 2));
  EXPECT_EQ(c10::IValue(std::complex<float>(1, 2)).toComplexDouble(), std::complex<double>(1, 2));
  constexpr c10::complex<double> half = c10::complex<double>(1, 3) / c10::complex<double>(2, 6);
  static_assert(half.real() == 0.5 && half.imag() == 0);
  std::istringstream in("(1,2) 3");
  c10::complex<float> a, b;
  in >> a >> b;
  EXPECT_EQ(a, c10::complex<float>(1, 2));
  EXPECT_EQ(b, c10::complex<float>(3));
  const at::Scalar s(std::complex<double>(1, 2));
  EXPECT_EQ(s.to<std::complex<float>>(), std::complex<float>(1, 2));
  EXPECT_TRUE(s.equal(c10::complex<double>(1, 2)));
  EXPECT_TRUE(at::Scalar(2).equal(2) && !at::Scalar(2.5).equal(2));
}

TEST(Values, KindsAndEquality) {
  const c10::IValue v(3);
  EXPECT_FALSE(v.isBlob() || v.isStream() || v.isStorage() || v.isRRef() || v.isPyObject());
  EXPECT_TRUE(v.equals(c10::IValue(3)).toBool());
  EXPECT_FALSE(v.equals(c10::IValue("3")).toBool());
  const auto x = torch::tensor({1, 2});
  EXPECT_TRUE(torch::equal(c10::IValue(x).equals(torch::tensor({1, 3})).toTensor(),
                           torch::tensor({true, false})));
  const c10::IValue text("text");
  const c10::IValue same = text;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(text.use_count(), 2u);
  EXPECT_EQ(v.use_count(), 1u);
}

TEST(Values, TextsTuplesAndFunctions) {
  const c10::IValue text("text");
  EXPECT_EQ(text.toString()->string(), "text");
  EXPECT_EQ(c10::IValue(text).toString(), text.toString());
  EXPECT_THROW((void)c10::IValue(1).toString(), c10::Error);
  EXPECT_EQ(c10::ivalue::ConstantString::create("a")->string_view(), "a");
  EXPECT_TRUE(text.isPtrType() && text.isSameIdentity(text));
  EXPECT_FALSE(c10::IValue(1).isPtrType() || c10::IValue(torch::Tensor()).isPtrType());
  const auto type = c10::TupleType::createNamed(std::nullopt, {"x", "n"},
                                                {c10::TensorType::get(), c10::IntType::get()});
  const c10::IValue named(c10::ivalue::Tuple::createNamed({torch::ones({1}), 2}, type));
  EXPECT_EQ(named.toTuple()->elements()[1].toInt(), 2);
  EXPECT_EQ(named.type()->fields(), (std::vector<std::string>{"x", "n"}));
  const c10::impl::GenericList dtypes(c10::ScalarTypeType::get());
  EXPECT_EQ(dtypes.elementType()->str(), "int");
  const auto unit = torch::jit::compile("def f(x: int, y: int):\n  return x + y\n");
  ASSERT_EQ(unit->get_functions().size(), 1u);
  EXPECT_EQ(unit->get_functions()[0]->num_inputs(), 2u);
}

TEST(Values, ElementsOfLists) {
  c10::IValue v(std::vector<int64_t>{1, 2});
  auto list = v.toList();
  EXPECT_EQ(list[1].get().toInt(), 2);
  EXPECT_EQ(v.toIntList()[0].get(), 1);
  EXPECT_EQ(list.use_count(), 2u);
  const c10::Dict<std::string, int64_t> d;
  EXPECT_EQ(d.use_count(), 1u);
}

TEST(Values, CallbacksOfFutures) {
  const auto f = c10::make_intrusive<c10::ivalue::Future>();
  std::vector<int64_t> seen;
  const auto note = [&](c10::ivalue::Future& done) { seen.push_back(done.value().toInt()); };
  f->addCallback(note);
  EXPECT_TRUE(seen.empty());
  EXPECT_FALSE(f->hasValue());
  f->markCompleted(7);
  f->addCallback(note);
  EXPECT_EQ(seen, (std::vector<int64_t>{7, 7}));
  EXPECT_TRUE(f->hasValue());
  const auto failed = c10::make_intrusive<c10::ivalue::Future>();
  bool called = false;
  failed->addCallback([&](c10::ivalue::Future& done) { called = done.hasError(); });
  failed->setError(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_TRUE(called);
}

TEST(Values, ErrorsGeneratorsStreamsAndStorages) {
  try {
    TORCH_CHECK(false, "message");
  } catch (const c10::Error& e) {
    EXPECT_EQ(e.backtrace() + e.msg(), "message");
  }
  auto g = at::detail::createCPUGenerator(3);
  const std::lock_guard<std::mutex> lock(g.mutex());
  EXPECT_EQ(at::Generator(g.getIntrusivePtr()).current_seed(), 3u);
  EXPECT_EQ(c10::Stream(c10::Stream::DEFAULT, torch::kCPU).id(), 0);
  torch::Storage none;
  EXPECT_FALSE(none);
  none = torch::ones({2}).storage();
  EXPECT_EQ(none.nbytes(), 8u);
}

template <class T>
std::string braces(const T& v) {
  std::ostringstream out;
  out << torch::detail::TensorDataContainer(v);
  return out.str();
}

TEST(Values, NestedBraces) {
  using torch::detail::TensorDataContainer;
  EXPECT_TRUE(torch::equal(torch::tensor({{1, 2}, {3, 4}}), torch::arange(1, 5).view({2, 2})));
  EXPECT_EQ(braces(1.1), "1.1");
  EXPECT_EQ(braces(12345678), "12345678");
  EXPECT_EQ(braces(std::vector<double>{1.1, 2.2}), "{1.1, 2.2}");
  const TensorDataContainer nested({{1, 2}, {3, 4}});
  std::ostringstream out;
  out << nested;
  EXPECT_EQ(out.str(), "{{1, 2}, {3, 4}}");
  EXPECT_TRUE(nested.is_init_list());
  EXPECT_EQ(nested.sizes(), at::IntArrayRef({2, 2}));
  EXPECT_EQ(nested.init_list().size(), 2u);
  EXPECT_EQ(nested.convert_to_tensor(torch::kFloat).scalar_type(), torch::kFloat);
  EXPECT_THROW((void)nested.scalar(), c10::Error);
  EXPECT_THROW((void)nested.tensor(), c10::Error);
  const std::vector<double> numbers{1.1, 2.2};
  EXPECT_EQ(TensorDataContainer(numbers).tensor().numel(), 2);
  EXPECT_THROW((void)TensorDataContainer(numbers).init_list(), c10::Error);
}

struct WidthImpl : torch::nn::Module {
  explicit WidthImpl(int w) : width(w) {}
  int width;
};
struct Width : torch::nn::ModuleHolder<WidthImpl> {
  using torch::nn::ModuleHolder<WidthImpl>::ModuleHolder;
  int doubled() const { return impl_->width * 2; }
  bool empty() const { return impl_ == nullptr || !impl_ || impl_.get() == nullptr; }
  std::shared_ptr<WidthImpl> shared() const { return impl_; }
};

TEST(Values, HoldersKnowWhatTheyHold) {
  const Width w(3);
  EXPECT_EQ(w.doubled(), 6);
  EXPECT_FALSE(w.empty());
  EXPECT_EQ(w.shared().get(), w.ptr().get());
  EXPECT_TRUE(Width(nullptr).empty());
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what();
  }
  return "";
}

TEST(Inference, ViewsOfTensorsWithAHistory) {
  const auto leaf = torch::ones({2, 3}, torch::requires_grad());
  const auto base = leaf * 1;
  torch::Tensor view;
  {
    torch::InferenceMode guard;
    view = base.view({3, 2});
  }
  const auto made = std::string("A view was created in inference mode and is being modified");
  EXPECT_NE(error_of([&] { view.add_(1); }).find(made), std::string::npos);
  torch::Tensor second;
  {
    torch::NoGradGuard guard;
    second = view.view({6});
  }
  EXPECT_NE(error_of([&] { second.add_(1); }).find(made), std::string::npos);
  {
    torch::InferenceMode guard;
    second = leaf.view({6});
  }
  EXPECT_NE(error_of([&] { second.add_(1); }).find(made), std::string::npos);
  base.add_(1);
  const auto stale = std::string("its base or another view of its base has been modified inplace");
  EXPECT_NE(error_of([&] { (void)view.grad_fn(); }).find(stale), std::string::npos);
  EXPECT_NE(error_of([&] { (void)(view * 2); }).find(stale), std::string::npos);
  torch::NoGradGuard guard;
  EXPECT_EQ((view * 2).sum().item<float>(), 24);
}

TEST(Inference, OutputsOfOperators) {
  const auto x = torch::ones({2}, torch::requires_grad());
  auto out = torch::empty({2});
  EXPECT_NE(error_of([&] { torch::mul_out(out, x, x); })
                .find("out=... arguments don't support automatic differentiation, but one of the "
                      "arguments requires grad"),
            std::string::npos);
}

TEST(Values, ListsAsRanges) {
  const c10::IValue v(std::vector<int64_t>{3, 4});
  int64_t sum = 0;
  for (const auto& each : v.toListRef()) sum += each.toInt();
  EXPECT_EQ(sum, 7);
  const c10::ArrayRef<c10::IValue> all = v.toListRef();
  EXPECT_EQ(all.size(), v.toListRef().size());
  EXPECT_EQ(v.toListRef()[1].toInt(), 4);
  EXPECT_TRUE(c10::IValue(std::vector<int64_t>()).toListRef().empty());
}

TEST(Values, CopiesIntoStandardContainers) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(c10::IValue(Words{"a", "b"}).to<Words>(), (Words{"a", "b"}));
  torch::Dict<std::string, int64_t> d;
  d.insert("a", 1);
  const auto map = c10::IValue(d).to<std::unordered_map<std::string, int64_t>>();
  EXPECT_EQ(map.at("a"), 1);
  const auto pair = c10::IValue(std::make_tuple(int64_t{2}, std::string("c")))
                        .to<std::tuple<int64_t, std::string>>();
  EXPECT_EQ(pair, std::make_tuple(int64_t{2}, std::string("c")));
  EXPECT_THROW(c10::IValue(1).to<Words>(), c10::Error);
  EXPECT_THROW((c10::IValue(std::make_tuple(int64_t{2})).to<std::tuple<int64_t, int64_t>>()),
               c10::Error);
}

TEST(Values, DictionariesOfViewsOfStrings) {
  torch::Dict<std::string, std::string> d;
  const std::string_view k = "key", v = "value";
  EXPECT_TRUE(d.insert(k, v).second);
  EXPECT_FALSE(d.insert("key", "other").second);
  EXPECT_EQ(d.at("key"), "value");
}

TEST(Values, ErrorsWithoutABacktrace) {
  try {
    throw torch::IndexError(std::string("out of range"), /*backtrace=*/nullptr);
  } catch (const c10::Error& e) {
    EXPECT_STREQ(e.what(), "out of range");
  }
  EXPECT_THROW(C10_THROW_ERROR(ValueError, "not " + std::string("valid")), c10::ValueError);
  EXPECT_THROW(C10_THROW_ERROR(TypeError, "not valid"), c10::TypeError);
}

TEST(Values, SavedInMemory) {
  const std::vector<char> bytes = torch::jit::pickle_save(c10::IValue(torch::ones({2})));
  EXPECT_EQ(torch::jit::pickle_load(bytes).toTensor().sum().item<float>(), 2);
}

}  // namespace
