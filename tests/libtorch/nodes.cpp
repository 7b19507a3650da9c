// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Nodes of a program's own, as bindings and extensions for libtorch write them.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/torch.h>

#include <unordered_set>

namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

int g_alive = 0;

// x^exponent
struct PowerBackward : public torch::autograd::TraceableFunction {
  PowerBackward() { ++g_alive; }
  ~PowerBackward() override { --g_alive; }
  variable_list apply(variable_list&& grads) override {
    variable_list out(1);
    if (!task_should_compute_output(0)) return out;
    out[0] = grads[0] * exponent * self_.unpack().pow(exponent - 1);
    return out;
  }
  std::string name() const override { return "PowerBackward"; }
  void release_variables() override { self_.reset_data(); }
  SavedVariable self_;
  double exponent = 0;
};

template <class Pointer>
torch::Tensor record_power(const torch::Tensor& x, double exponent, const Pointer& node) {
  torch::Tensor y;
  {
    torch::NoGradGuard no_grad;
    y = x.pow(exponent);
  }
  node->set_next_edges(torch::autograd::collect_next_edges(x));
  node->self_ = SavedVariable(x, false);
  node->exponent = exponent;
  torch::autograd::set_history(torch::autograd::flatten_tensor_args(y), node);
  return y;
}

TEST(OwnNodes, HeldByIntrusivePtr) {
  {
    const auto x = torch::tensor({2., 3.}, torch::requires_grad());
    const auto y = record_power(x * 1, 3, c10::make_intrusive<PowerBackward>());
    EXPECT_EQ(y.grad_fn()->name(), "PowerBackward");
    EXPECT_TRUE(y.requires_grad());
    y.sum().backward();
    EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({12., 27.})));
    EXPECT_THROW(y.sum().backward(), c10::Error);  // what it saved is gone
  }
  EXPECT_EQ(g_alive, 0);
}

TEST(OwnNodes, HeldBySharedPtr) {
  const auto x = torch::tensor({2., 3.}, torch::requires_grad());
  std::weak_ptr<PowerBackward> weak;
  {
    std::shared_ptr<PowerBackward> node(new PowerBackward(), torch::autograd::deleteNode);
    weak = node;
    const auto y = record_power(x, 2, node);
    EXPECT_EQ(y.grad_fn().get(), node.get());
    node.reset();
    EXPECT_FALSE(weak.expired());  // the graph keeps it
    EXPECT_EQ(g_alive, 1);
    y.sum().backward({}, /*retain_graph=*/true);
    const auto again = weak.lock();
    torch::autograd::set_history(torch::ones({2}), again);  // a reference that comes and goes
    EXPECT_EQ(again->num_inputs(), 2u);
    y.sum().backward();
  }
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(g_alive, 0);
  EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({8., 12.})));
}

TEST(OwnNodes, ThatTheProgramKeepsLongerThanTheGraph) {
  const auto x = torch::tensor({2.}, torch::requires_grad());
  const auto node = std::make_shared<PowerBackward>();
  record_power(x, 2, node);
  EXPECT_EQ(g_alive, 1);
  EXPECT_EQ(node->num_outputs(), 1u);
  const auto y = record_power(x, 2, node);
  EXPECT_EQ(y.output_nr(), 1u);
  EXPECT_EQ(node.use_count(), 2);  // the graph's and this one
}

TEST(OwnNodes, LongChainsOfSharedPointersEndWithoutRecursion) {
  {
    auto x = torch::tensor({1.}, torch::requires_grad());
    for (int i = 0; i < 200000; ++i) {
      x = record_power(
          x, 1, std::shared_ptr<PowerBackward>(new PowerBackward(), torch::autograd::deleteNode));
    }
    EXPECT_EQ(g_alive, 200000);
  }
  EXPECT_EQ(g_alive, 0);
  {
    auto x = torch::tensor({1.}, torch::requires_grad());
    for (int i = 0; i < 200000; ++i) x = record_power(x, 1, std::make_shared<PowerBackward>());
  }
  EXPECT_EQ(g_alive, 0);
}

struct SumAndDifference : Node {
  variable_list apply(variable_list&& g) override {
    for (const auto& t : g) seen.push_back(t.defined());
    const auto zero = torch::zeros({2});
    const auto a = g[0].defined() ? g[0] : zero, b = g[1].defined() ? g[1] : zero;
    return {a + b, torch::Tensor(), a - b, torch::Tensor()};
  }
  std::vector<bool> seen;
};

TEST(OwnNodes, SeveralResultsAndArguments) {
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto y = torch::ones({2});
  const auto z = torch::ones({2}, torch::requires_grad());
  const auto node = c10::make_intrusive<SumAndDifference>();
  node->set_next_edges(torch::autograd::collect_next_edges(x, y, z));
  node->add_next_edge(Edge());
  EXPECT_EQ(node->num_outputs(), 4u);
  EXPECT_TRUE(node->should_compute_output(0));
  EXPECT_FALSE(node->should_compute_output(1));
  EXPECT_TRUE(node->should_compute_output({{1, 3}}));
  EXPECT_THROW((void)node->should_compute_output(4), c10::IndexError);
  auto sum = (x + z).detach(), difference = (x - z).detach();
  torch::autograd::create_gradient_edge(sum, node);
  torch::autograd::set_history(std::vector<torch::Tensor>{difference, torch::Tensor()}, node);
  EXPECT_EQ(node->num_inputs(), 3u);
  EXPECT_EQ(node->input_metadata(0).shape(), at::IntArrayRef({2}));
  EXPECT_TRUE(node->input_metadata(2).was_default_constructed());
  difference.backward(torch::ones({2}));
  EXPECT_EQ(node->seen, (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(torch::equal(x.grad(), torch::ones({2})));
  EXPECT_TRUE(torch::equal(z.grad(), -torch::ones({2})));
  EXPECT_EQ(sum.output_nr(), 0u);
  EXPECT_NE(node->name().find("SumAndDifference"), std::string::npos);
}

struct Constant : Node {
  explicit Constant(variable_list r) : result(std::move(r)) {}
  variable_list apply(variable_list&& /*grads*/) override { return result; }
  variable_list result;
};

template <class... T>
void run_backward(variable_list result, const T&... inputs) {
  auto y = torch::ones({2});
  const auto node = c10::make_intrusive<Constant>(std::move(result));
  node->set_next_edges(torch::autograd::collect_next_edges(inputs...));
  torch::autograd::set_history(y, node);
  y.sum().backward();
}

TEST(OwnNodes, GradientsThatDoNotFit) {
  const auto x = torch::ones({2}, torch::requires_grad());
  EXPECT_THROW(run_backward({}, x), c10::Error);
  EXPECT_THROW(run_backward({torch::ones({2}), torch::ones({2})}, x), c10::Error);
  EXPECT_THROW(run_backward({torch::ones({3})}, x), c10::Error);
  run_backward({torch::ones({2}, torch::kDouble), torch::Tensor()}, x);
  EXPECT_TRUE(torch::equal(x.grad(), torch::ones({2})));
  x.mutable_grad().reset();
  run_backward({torch::ones({3, 2})}, x);  // the gradient of what was broadcast
  EXPECT_TRUE(torch::equal(x.grad(), 3 * torch::ones({2})));
}

TEST(OwnNodes, EdgesThatLeadNowhere) {
  const auto node = c10::make_intrusive<SumAndDifference>();
  const auto other = c10::make_intrusive<SumAndDifference>();
  EXPECT_THROW(other->set_next_edges({Edge(node, 0)}), c10::Error);
  auto x = torch::ones({2});
  EXPECT_THROW(torch::autograd::impl::set_gradient_edge(x, {node, 0}), c10::Error);
  EXPECT_THROW(torch::autograd::set_history(torch::ones({2}, torch::kLong), node), c10::Error);
  EXPECT_THROW((*other)({torch::ones({2})}), c10::Error);  // it has no results
  const auto leaf = torch::ones({2}, torch::requires_grad());
  const auto end = torch::autograd::impl::grad_accumulator(leaf);
  EXPECT_THROW(end->set_next_edges({Edge(end, 0)}), c10::Error);
  EXPECT_EQ(std::hash<Edge>()(Edge(end, 0)), std::hash<Edge>()(Edge(end, 0)));
  EXPECT_TRUE(Edge(end, 0) == Edge(end, 0) && Edge(end, 0) != Edge());
}

TEST(OwnNodes, AnyNodeIsCalledWithAList) {
  const auto x = torch::tensor({2., 3.}, torch::requires_grad());
  const auto y = x * x;
  const variable_list g = (*y.grad_fn())({torch::ones({2})});
  ASSERT_EQ(g.size(), 2u);
  EXPECT_TRUE(torch::equal(g[0], torch::tensor({2., 3.})));
}

TEST(OwnNodes, Order) {
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto y = x * 2, z = y + 1;
  EXPECT_LT(y.grad_fn()->sequence_nr(), z.grad_fn()->sequence_nr());
}

struct CountingHook : torch::autograd::FunctionPostHook {
  explicit CountingHook(int* n) : count(n) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    ++*count;
    return outputs;
  }
  int* count;
};

TEST(OwnNodes, Hooks) {
  const auto x = torch::ones({2}, torch::requires_grad());
  const auto node = c10::make_intrusive<PowerBackward>();
  int count = 0;
  node->add_post_hook(std::make_unique<CountingHook>(&count));
  EXPECT_EQ(node->post_hooks().size(), 1u);
  EXPECT_TRUE(node->pre_hooks().empty());
  record_power(x, 2, node).sum().backward();
  EXPECT_EQ(count, 1);
}

TEST(OwnNodes, WritesInPlace) {
  const auto x = torch::tensor({2., 3.}, torch::requires_grad());
  auto y = x * 1;
  const auto node = c10::make_intrusive<PowerBackward>();
  node->set_next_edges(torch::autograd::collect_next_edges(y));
  node->self_ = SavedVariable(y.clone(), false);
  node->exponent = 2;
  torch::autograd::check_inplace(y);
  EXPECT_THROW(torch::autograd::check_inplace(x), c10::Error);
  {
    torch::NoGradGuard no_grad;
    y.pow_(2);
  }
  torch::autograd::rebase_history(y, node);
  y.sum().backward();
  EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({4., 6.})));
}

// What a node keeps of its own results.
struct ExpBackward : Node {
  variable_list apply(variable_list&& grads) override {
    return {grads[0] * result.unpack(getptr())};
  }
  SavedVariable result;
};

TEST(OwnNodes, SaveTheirResults) {
  const auto x = torch::tensor({1., 2.}, torch::requires_grad());
  std::weak_ptr<ExpBackward> weak;
  {
    auto y = x.detach().exp();
    const std::shared_ptr<ExpBackward> node(new ExpBackward, torch::autograd::deleteNode);
    weak = node;
    node->set_next_edges(torch::autograd::collect_next_edges(x));
    torch::autograd::set_history(y, node);
    node->result = SavedVariable(y, /*is_output=*/true);
    EXPECT_THROW((void)node->result.unpack(), c10::Error);  // whose result it is
    EXPECT_TRUE(node->result.unpack(node).requires_grad());
    const auto g = torch::autograd::grad({y.sum()}, {x}, {}, true, /*create_graph=*/true)[0];
    EXPECT_TRUE(torch::allclose(g, y));
    EXPECT_TRUE(torch::allclose(torch::autograd::grad({g.sum()}, {x})[0], y));
  }
  EXPECT_TRUE(weak.expired());  // no cycle
}

// The protocol by which bindings give functions of their language to autograd.
struct BindingNode : Node {
  variable_list apply(variable_list&& grads) override {
    at::OptionalDeviceGuard guard;
    variable_list in;
    for (std::size_t i = 0; i < grads.size(); ++i)
      in.push_back(grads[i].defined() ? grads[i] : outputs[i].zeros(guard));
    return backward(in);
  }
  std::vector<torch::autograd::VariableInfo> outputs;
  std::function<variable_list(variable_list)> backward;
};

template <class Forward, class Backward>
variable_list call_binding(const variable_list& args, Forward forward, Backward backward,
                           std::unordered_set<at::TensorImpl*> dirty = {},
                           std::unordered_set<at::TensorImpl*> constant = {}) {
  using namespace torch::autograd;
  std::shared_ptr<BindingNode> node(new BindingNode(), deleteNode);
  node->backward = backward;
  const bool records = torch::GradMode::is_enabled() && any_variable_requires_grad(args);
  node->set_next_edges(collect_next_edges(args));
  node->clear_input_metadata();
  variable_list results;
  {
    torch::AutoGradMode mode(false);
    results = forward(args);
  }
  auto wrapped = _wrap_outputs(
      args, constant, dirty, to_optional(results), records ? node : nullptr,
      [](variable_list x, variable_list) { return x; }, {},
      [](torch::Tensor x) { return x.view_as(x); });
  for (const auto& t : wrapped) node->outputs.emplace_back(t.value());
  return to_output_type<variable_list>(wrapped);
}

TEST(OwnNodes, FunctionsOfABinding) {
  const auto x = torch::tensor({2., 3.}, torch::requires_grad());
  const auto out = call_binding(
      {x},
      [](variable_list a) {
        return variable_list{a[0] * 2, a[0], a[0] > 2};
      },
      [](variable_list g) { return variable_list{g[0] * 2 + g[1]}; });
  EXPECT_TRUE(out[0].requires_grad() && out[1].requires_grad() && !out[2].requires_grad());
  EXPECT_FALSE(out[1].is_leaf());
  EXPECT_TRUE(x.is_leaf());
  out[0].sum().backward({}, true);
  EXPECT_TRUE(torch::equal(x.grad(), torch::tensor({2., 2.})));
  out[1].sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::tensor({3., 3.})));
}

TEST(OwnNodes, FunctionsOfABindingThatWriteOrRecordNothing) {
  const auto x = torch::tensor({2., 3.}, torch::requires_grad());
  auto y = x * 1;
  const auto out = call_binding(
      {y}, [](variable_list a) { return variable_list{a[0].mul_(2)}; },
      [](variable_list g) { return variable_list{g[0] * 2}; }, {y.unsafeGetTensorImpl()});
  EXPECT_TRUE(out[0].is_same(y));
  y.sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::tensor({2., 2.})));
  torch::NoGradGuard no_grad;
  EXPECT_FALSE(call_binding(
                   {x}, [](variable_list a) { return variable_list{a[0] * 2}; },
                   [](variable_list g) { return g; })[0]
                   .requires_grad());
}

}  // namespace
