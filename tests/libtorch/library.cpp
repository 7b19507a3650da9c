// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of a program's own, by libtorch's names.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/library.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <string>
#include <tuple>

namespace {

torch::Tensor scaled(const torch::Tensor& x, double by) { return x * by; }
torch::Tensor& add_one_(torch::Tensor& self) { return self.add_(1); }
std::tuple<torch::Tensor, int64_t> with_count(torch::TensorList list,
                                              c10::optional<std::string> s) {
  return {torch::stack(list), static_cast<int64_t>(list.size() + (s ? s->size() : 0))};
}
int64_t total(at::IntArrayRef sizes, c10::optional<int64_t> more) {
  int64_t sum = more.value_or(0);
  for (int64_t s : sizes) sum += s;
  return sum;
}

TORCH_LIBRARY(demo, m) {
  m.def("scaled(Tensor x, float by=2.0) -> Tensor", &scaled);
  m.def("add_one_(Tensor(a!) self) -> Tensor(a!)");
  m.def("with_count(Tensor[] list, str? s=None) -> (Tensor, int)", TORCH_FN(with_count));
  m.def("total", &total);
  m.def("total.lambda(int a, int b) -> int", [](int64_t a, int64_t b) { return a + b; });
  m.def("cube(Tensor x) -> Tensor");
  m.def("for_cuda(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(demo, CompositeImplicitAutograd, m) { m.impl("add_one_", &add_one_); }
TORCH_LIBRARY_IMPL(demo, CUDA, m) {
  m.impl("for_cuda", [](const torch::Tensor& x) { return x; });
}

// With a gradient of its own: the backend's function does not record.
torch::Tensor cube_cpu(const torch::Tensor& x) {
  EXPECT_FALSE(torch::GradMode::is_enabled());
  return x * x * x;
}
torch::Tensor call_cube(const torch::Tensor& x) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("demo::cube", "")
                       .typed<torch::Tensor(const torch::Tensor&)>();
  return op.call(x);
}
struct Cube : torch::autograd::Function<Cube> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({x});
    return call_cube(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    const auto x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x * 100};  // marked, so that the test knows whose it is
  }
};
TORCH_LIBRARY_IMPL(demo, CPU, m) { m.impl("cube", &cube_cpu); }
TORCH_LIBRARY_IMPL(demo, Autograd, m) {
  m.impl("cube", [](const torch::Tensor& x) { return Cube::apply(x); });
}

c10::OperatorHandle find(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what();
  }
  return "";
}
void expect_error(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' has no '" << part << "'";
}

TEST(Library, TypedCalls) {
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto y =
      find("demo::scaled").typed<torch::Tensor(const torch::Tensor&, double)>().call(x, 3);
  EXPECT_TRUE(y.equal(torch::full({2}, 3.)));
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(torch::full({2}, 3.)));  // recorded as what it calls
  auto z = torch::zeros({2});
  auto& same = find("demo::add_one_").typed<torch::Tensor&(torch::Tensor&)>().call(z);
  EXPECT_EQ(&same, &z);
  EXPECT_TRUE(z.equal(torch::ones({2})));
  const auto [stacked, n] = find("demo::with_count")
                                .typed<std::tuple<torch::Tensor, int64_t>(
                                    torch::TensorList, c10::optional<std::string>)>()
                                .call(std::vector<torch::Tensor>{z, z, z}, std::string("ab"));
  EXPECT_EQ(stacked.size(0), 3);
  EXPECT_EQ(n, 5);
  using Total = int64_t(at::IntArrayRef, c10::optional<int64_t>);
  EXPECT_EQ(find("demo::total").typed<Total>().call({1, 2}, c10::nullopt), 3);
  EXPECT_EQ(find("demo::total").schema(), "demo::total(int[] x0, int? x1) -> int");
  EXPECT_EQ(find("demo::total", "lambda").typed<int64_t(int64_t, int64_t)>().call(4, 5), 9);
}

TEST(Library, GradientsOfItsOwn) {
  const auto x = torch::tensor({2.}, torch::requires_grad());
  const auto y = call_cube(x);
  EXPECT_EQ(y.item<float>(), 8);
  y.backward();
  EXPECT_EQ(x.grad().item<float>(), 1200);
}

TEST(Library, ProgramsCallThem) {
  const auto unit = torch::jit::compile(R"(
def f(x):
    y, n = torch.ops.demo.with_count([x, x], "abc")
    return torch.ops.demo.scaled(y) + torch.ops.demo.scaled(y, by=float(n))
)");
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto y = unit->run_method("f", {x}).toTensor();
  EXPECT_TRUE(y.equal(torch::full({2, 2}, 7.)));
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(torch::full({2}, 14.)));
}

// Names of nodes and of edges of a graph, and what lies at them.
using Edge = std::tuple<std::string, std::string, std::string>;
c10::Dict<std::string, torch::Tensor> selected(
    const std::vector<std::string>& names, const std::vector<Edge>& edges,
    const c10::Dict<std::string, torch::Tensor>& at,
    const c10::Dict<std::string, std::vector<int64_t>>& counts) {
  c10::Dict<std::string, torch::Tensor> out;
  for (const std::string& name : names) out.insert(name, at.at(name) + counts.at(name)[0]);
  for (const auto& [from, kind, to] : edges) out.insert(kind, at.at(from) - at.at(to));
  return out;
}
std::vector<Edge> reversed(const c10::List<std::string>& names, std::optional<at::Layout> layout,
                           const std::optional<at::Generator>& generator, at::MemoryFormat) {
  return {{names.get(1), layout ? "and" : "", generator ? "" : names.get(0)}};
}

TEST(Library, ContainersOfAnything) {
  const auto registry =
      torch::RegisterOperators()
          .op("graphs::selected", &selected)
          .op("graphs::reversed(str[] names, Layout? layout, Generator? g, MemoryFormat f) -> "
              "(str, str, str)[]",
              &reversed);
  EXPECT_EQ(find("graphs::selected").schema(),
            "graphs::selected(str[] x0, (str, str, str)[] x1, Dict(str, Tensor) x2, "
            "Dict(str, int[]) x3) -> Dict(str, Tensor)");
  c10::Dict<std::string, torch::Tensor> at;
  at.insert("a", torch::tensor(1));
  at.insert("b", torch::tensor(2));
  c10::Dict<std::string, std::vector<int64_t>> counts;
  counts.insert("b", {10, 20});
  const auto out = find("graphs::selected")
                       .typed<decltype(selected)>()
                       .call({"b"}, {{"a", "to", "b"}}, at, counts);
  EXPECT_EQ(out.at("b").item<int64_t>(), 12);
  EXPECT_EQ(out.at("to").item<int64_t>(), -1);
  const auto edges = find("graphs::reversed")
                         .typed<decltype(reversed)>()
                         .call(c10::List<std::string>({"x", "y"}), at::kStrided, std::nullopt,
                               at::MemoryFormat::Contiguous);
  EXPECT_EQ(edges, (std::vector<Edge>{{"y", "and", "x"}}));

  const auto unit = torch::jit::compile(R"(
def f(x):
    at = {"a": x, "b": x * 2}
    counts = {"b": [10]}
    out = torch.ops.graphs.selected(["b"], [("a", "to", "b")], at, counts)
    names = torch.ops.graphs.reversed(["x", "y"], None, None, 0)
    y, _, x = names[0]
    return out["b"] - out["to"], y + x
)");
  const auto both = unit->run_method("f", {torch::tensor(1)}).toTuple()->elements();
  EXPECT_EQ(both[0].toTensor().item<int64_t>(), 13);
  EXPECT_EQ(both[1].toStringRef(), "yx");
}

TEST(Library, Stacks) {
  std::vector<c10::IValue> stack = {int64_t{7}, torch::ones({2}), 3.0};
  find("demo::scaled").callBoxed(&stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_TRUE(stack[1].toTensor().equal(torch::full({2}, 3.)));
}

TEST(Library, Errors) {
  expect_error(error_of([] { find("demo::absent"); }), "Could not find schema for demo::absent");
  expect_error(error_of([] { find("demo::scaled").typed<torch::Tensor(torch::Tensor)>(); }),
               "demo::scaled: expected a function of Tensor, float -> Tensor, got one of Tensor -> "
               "Tensor");
  using F = torch::Tensor(const torch::Tensor&);
  expect_error(error_of([] { find("demo::for_cuda").typed<F>().call(torch::ones({1})); }),
               "demo::for_cuda: there is no function for CPU; it has some for {CUDA}");
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema({"demo::absent", ""}));
}

// A block that is wrong says so where an operator is looked up, and leaves nothing behind.
void expect_refused(void (*run)(torch::Library&), const std::string& part) {
  const tenon::library::Block block("demo", std::nullopt, run);
  expect_error(error_of([] { find("demo::scaled"); }), part);
}
TEST(Library, RegisteredByAnObject) {
  const auto find = [](const char* name) {
    return c10::Dispatcher::singleton().findSchema({name, ""});
  };
  {
    auto registry =
        torch::RegisterOperators()
            .op("older::scaled", &scaled)
            .op("older::twice(Tensor x) -> Tensor", [](const torch::Tensor& x) { return x * 2; });
    const auto kept = std::move(registry);
    const auto x = torch::ones({2});
    EXPECT_TRUE(torch::equal(
        find("older::twice")->typed<torch::Tensor(const torch::Tensor&)>().call(x), x + x));
    const c10::RegisterOperators one("older::total", &total);
    EXPECT_TRUE(find("older::scaled") && find("older::total"));
    EXPECT_THROW(torch::RegisterOperators().op("older::scaled", &scaled), c10::ValueError);
  }
  EXPECT_FALSE(find("older::scaled"));
  EXPECT_THROW(torch::RegisterOperators().op("no_namespace", &scaled), c10::ValueError);
}

TEST(Library, WrongBlocks) {
  find("demo::scaled");  // the block above goes first
  expect_refused([](torch::Library& m) { m.def("scaled(Tensor x) -> Tensor"); },
                 "demo::scaled is defined already, as demo::scaled(Tensor x, float by=2.0)");
  expect_refused([](torch::Library& m) { m.def("bad"); }, "'bad' is not a schema");
  expect_refused([](torch::Library& m) { m.def("bad(Tensor) -> Tensor"); }, "not an argument");
  expect_refused([](torch::Library& m) { m.def("bad(Tensor x) -> Tensor", &scaled); },
                 "demo::bad: expected a function of Tensor -> Tensor, got one of Tensor, float");
  expect_refused([](torch::Library& m) { m.def("other::bad(Tensor x) -> Tensor"); },
                 "of another namespace");
  expect_refused([](torch::Library& m) { m.impl("scaled", &scaled); },
                 "has a function for CompositeImplicitAutograd already");
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema({"demo::bad", ""}));
}

// Under autocast: a function that computes in float32, for one key and for another.
torch::Tensor call_mixed(const torch::Tensor& x) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("keys::mixed", "")
                       .typed<torch::Tensor(const torch::Tensor&)>();
  return op.call(x);
}
torch::Tensor mixed_autocast(const torch::Tensor& x) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  return call_mixed(at::autocast::cached_cast(at::kFloat, x, at::kCPU)).to(x.scalar_type());
}
int times_selected = 0;
TORCH_LIBRARY(keys, m) {
  m.def("mixed(Tensor x) -> Tensor", [](const torch::Tensor& x) {
    EXPECT_EQ(x.scalar_type(), torch::kFloat);
    return x + 1;
  });
  m.def("cuda_mixed(Tensor x) -> Tensor", [](const torch::Tensor& x) { return x; });
  m.def("made(int n) -> Tensor");
  m.def("doubled(Tensor x) -> Tensor");
  m.def("pair(int[] sizes) -> int",
        [](std::array<int64_t, 2> sizes) { return sizes[0] - sizes[1]; });
}
TORCH_LIBRARY_IMPL(keys, AutocastCPU, m) { m.impl("mixed", TORCH_FN(mixed_autocast)); }
TORCH_LIBRARY_IMPL(keys, Autocast, m) {
  m.impl("cuda_mixed", [](const torch::Tensor& x) {
    ADD_FAILURE() << "of CUDA, and autocast is on for the CPU";
    return x;
  });
}
TORCH_LIBRARY_IMPL(keys, CPU, m) {
  m.impl("made", [](int64_t n) { return torch::zeros({n}); });
  m.impl("doubled", [](const torch::Tensor& x) { return x * 2; });
}
TORCH_LIBRARY_IMPL(keys, BackendSelect, m) {
  m.impl("made", [](int64_t n) {
    ++times_selected;
    return torch::ones({n});
  });
}
TORCH_LIBRARY_IMPL(keys, AutogradCPU, m) {
  m.impl("doubled", [](const torch::Tensor& x) { return x + x; });
}
TORCH_LIBRARY_IMPL(keys, Autograd, m) {
  m.impl("doubled", [](const torch::Tensor& x) { return x * 3; });
}

TEST(Library, AutocastOfItsOwn) {
  const auto x = torch::ones({2}, torch::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const auto y = call_mixed(x);
  EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
  find("keys::cuda_mixed").typed<torch::Tensor(const torch::Tensor&)>().call(x);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(y[0].item<float>(), 2);
  EXPECT_EQ(call_mixed(torch::ones({2}))[0].item<float>(), 2);
}

TEST(Library, ListsOfOneLength) {
  const auto pair = find("keys::pair");
  const auto call = [&](std::vector<int64_t> sizes) {
    std::vector<c10::IValue> stack = {sizes};
    pair.callBoxed(stack);
    return stack.at(0).toInt();
  };
  EXPECT_EQ(call({5, 3}), 2);
  expect_error(error_of([&] { call({1, 2, 3}); }), "expected a list of 2 elements, got 3");
  expect_error(error_of([&] { call({1}); }), "expected a list of 2 elements, got 1");
}

TEST(Library, CastsOfArguments) {
  using at::autocast::cached_cast;
  const auto x = torch::ones({2}, torch::kBFloat16);
  EXPECT_EQ(cached_cast(at::kFloat, x).scalar_type(), torch::kBFloat16);  // that is of CUDA
  EXPECT_EQ(cached_cast(at::kFloat, x, at::kCPU).scalar_type(), torch::kFloat);
  EXPECT_EQ(cached_cast(at::kFloat, c10::optional<at::Tensor>(x), at::kCPU)->scalar_type(),
            torch::kFloat);
  EXPECT_FALSE(cached_cast(at::kFloat, c10::optional<at::Tensor>(), at::kCPU).has_value());
  EXPECT_EQ(cached_cast(at::kHalf, std::vector<at::Tensor>{x}, at::kCPU)[0].scalar_type(),
            torch::kHalf);
  const auto wide = torch::ones({2}, torch::kDouble), count = torch::ones({2}, torch::kLong);
  EXPECT_EQ(cached_cast(at::kHalf, wide, at::kCPU).scalar_type(), torch::kDouble);
  EXPECT_EQ(cached_cast(at::kHalf, count, at::kCPU).scalar_type(), torch::kLong);
  EXPECT_EQ(cached_cast(at::kHalf, 3, at::kCPU), 3);
}

TEST(Library, KeysOfBackends) {
  const auto made = find("keys::made").typed<torch::Tensor(int64_t)>().call(2);
  EXPECT_EQ(times_selected, 1);
  EXPECT_TRUE(made.equal(torch::ones({2})));
  const auto doubled = find("keys::doubled").typed<torch::Tensor(const torch::Tensor&)>();
  const auto x = torch::full({1}, 5., torch::requires_grad());
  const auto y = doubled.call(x);
  y.backward();
  EXPECT_EQ(x.grad().item<float>(), 2);  // that of the device, not that of all
  const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::Autograd);
  EXPECT_EQ(doubled.call(x).item<float>(), 10);
  expect_error(error_of([] { c10::impl::ExcludeDispatchKeyGuard no(c10::DispatchKey::CPU); }),
               "expected a key of Autograd or Autocast, got CPU");
}

struct Note : torch::CustomClassHolder {};

std::vector<std::string> noted;
void note(const std::string& text, const c10::IValue& v) { noted.push_back(text + v.tagKind()); }
TORCH_LIBRARY(demo_of_schemas, m) {
  m.class_<Note>("Note").def(torch::init<>());
  // The class is known to the lines below its own.
  EXPECT_EQ(c10::getTypePtr<c10::intrusive_ptr<Note>>()->str(),
            "__torch__.torch.classes.demo_of_schemas.Note");
  auto schema = c10::FunctionSchema("note", "of_any",
                                    {c10::Argument("text", c10::getTypePtr<std::string>()),
                                     c10::Argument("v", c10::getTypePtr<c10::IValue>(),
                                                   /*N=*/c10::nullopt, /*default_value=*/7)},
                                    /*returns=*/{});
  schema.setAliasAnalysis(c10::AliasAnalysisKind::CONSERVATIVE);
  m.def(std::move(schema), note);
}

TEST(Library, ASchemaOfParts) {
  const auto unit = torch::jit::compile(
      "def f(x: Tensor) -> Tensor:\n"
      "    torch.ops.demo_of_schemas.note('a ', x)\n"
      "    torch.ops.demo_of_schemas.note('an ')\n"
      "    return x\n");
  unit->run_method("f", torch::ones({1}));
  EXPECT_EQ(noted, (std::vector<std::string>{"a Tensor", "an Int"}));
}

}  // namespace
