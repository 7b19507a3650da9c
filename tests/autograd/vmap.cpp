// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tools/check compares every operator under vmap with a loop over the slices; here is what concerns
// vmap itself.
#include "tenon/vmap.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>

#include "tenon/autograd/functional.h"
#include "tenon/record_function.h"
#include "tenon/tenon.h"
#include "tests/autograd/support.h"

namespace tenon {
namespace {

using autograd::variable_list;
using test::expect_words;
using test::text_of;

Tensor dot(const Tensor& a, const Tensor& b) { return a.dot(b); }
Tensor twice(const Tensor& a) { return a * 2; }

TEST(Vmap, DimensionsOfArgumentsAndResults) {
  const Tensor a = random({3, 4}), b = random({4, 3}), one = random({4});
  expect_close(vmap(dot)(a, b.t()), (a * b.t()).sum(1));
  expect_close(vmap(dot, {0, -1})(a, b), (a * b.t()).sum(1));
  expect_close(vmap(dot, {0, std::nullopt})(a, one), a.mv(one));
  expect_close(vmap(twice, 1, 0)(a), a.t() * 2);
  expect_close(vmap(twice, 1, 1)(a), a * 2);
  expect_close(vmap(twice, 0, -1)(a), a.t() * 2);
  expect_close(vmap([](const Tensor&) { return ones({2}, kDouble); })(a), ones({3, 2}, kDouble));
}

TEST(Vmap, ListsAndSeveralResults) {
  const Tensor a = random({3, 4}), b = random({2, 3}), c = random({4});
  const auto f = [](const std::vector<Tensor>& ab, const Tensor& t) {
    return std::make_tuple(ab[0] + t, std::vector<Tensor>{ab[1].sum(), ab[0].sum()});
  };
  const auto [sum, rest] =
      vmap(f, {{0, 1}, std::nullopt}, {1, {0, 0}})(std::vector<Tensor>{a, b}, c);
  expect_close(sum, (a + c).t());
  expect_close(rest[0], b.sum(0));
  expect_close(rest[1], a.sum(1));
  const auto [values, scale] =
      vmap([](const Tensor& t, double by) { return std::make_pair(t * by, t.sum()); },
           {0, std::nullopt})(a, 3.0);
  expect_close(values, a * 3);
  expect_close(scale, a.sum(1));
}

TEST(Vmap, CallsMayBeNested) {
  const Tensor a = random({3, 4}), b = random({5, 4});
  const auto products = vmap([&](const Tensor& row) {
    return vmap([&](const Tensor& other) { return row.dot(other); })(b);
  });
  expect_close(products(a), a.mm(b.t()));
  expect_close(vmap(vmap(twice, 0, 0), 1, 1)(a), a * 2);
  const auto outer =
      vmap(vmap([](const Tensor& x, const Tensor& y) { return x * y; }, {std::nullopt, 0}),
           {0, std::nullopt});
  expect_close(outer(a.select(1, 0), b.select(1, 0)), a.select(1, 0).outer(b.select(1, 0)));
}

TEST(Vmap, ChunksGiveTheSame) {
  const Tensor a = random({7, 4}), b = random({7, 4});
  for (int64_t size : {1, 2, 3, 7, 100})
    expect_close(vmap(dot, 0, 0, "error", size)(a, b), (a * b).sum(1));
  const auto f = [](const Tensor& t) { return t.outer(t); };
  expect_close(vmap(f, 0, 2, "error", 3)(a), vmap(f, 0, 2)(a));
}

TEST(Vmap, WrongDimensionsAreRefused) {
  const Tensor a = random({3, 4}), b = random({2, 4});
  expect_words(text_of<ValueError>([&] { vmap(twice, 5)(a); }),
               {"in_dim=5", "dimensionality 2", "-2 <= in_dim < 2"});
  expect_words(text_of<ValueError>([&] { vmap(dot)(a, b); }),
               {"same size in the mapped dimension", "[3, 2]"});
  expect_words(text_of<ValueError>([&] { vmap(dot, {0})(a, a); }),
               {"in_dims", "structure of `inputs`", "(0)"});
  expect_words(text_of<ValueError>([&] { vmap(twice, std::nullopt)(a); }), {"in_dims", "None"});
  expect_words(text_of<ValueError>([&] { vmap([] { return Tensor(); })(); }), {"got no inputs"});
  expect_words(
      text_of<ValueError>([&] { vmap([](const Tensor& t, double) { return t; })(a, 1.0); }),
      {"in_dims=0", "non-Tensor"});
  expect_words(text_of<IndexError>([&] { vmap(twice, 0, 3)(a); }), {"out_dims", "[-2, 1]", "3"});
  expect_words(text_of<ValueError>([&] { vmap(twice, 0, std::nullopt)(a); }),
               {"BatchedTensor when out_dim is None"});
  expect_words(text_of<ValueError>([&] { vmap(twice, 0, {0, 1})(a); }), {"structure of `outputs`"});
  expect_words(text_of<ValueError>([&] { vmap(twice, 0, 0, "often")(a); }),
               {"randomness", "often"});
  expect_words(text_of<ValueError>([&] { vmap(twice, 0, 0, "error", 0)(a); }), {"chunk_size", "0"});
}

TEST(Vmap, WhatAsksForOneElementIsRefused) {
  const Tensor a = random({3, 4});
  expect_words(text_of<Error>([&] { vmap([](const Tensor& t) { return t * t.sum().item(); })(a); }),
               {"vmap", ".item()"});
  expect_words(text_of<Error>(
                   [&] { vmap([](const Tensor& t) { return t.sum().is_nonzero() ? t : -t; })(a); }),
               {"data-dependent control flow"});
  EXPECT_THROW(vmap([](const Tensor& t) { return t.data_ptr() ? t : t; })(a), Error);
  expect_words(text_of<Error>([&] { vmap([](const Tensor& t) { return t.nonzero(); })(a); }),
               {"dynamic shape", "nonzero"});
  Tensor kept;
  vmap([&](const Tensor& t) { return kept = t; })(a);
  expect_words(text_of<Error>([&] { kept + 1; }), {"vmap", "returned"});
}

TEST(Vmap, Writes) {
  const Tensor a = random({3, 4}), b = random({3, 4});
  const Tensor own = a.clone();
  vmap([](const Tensor& t, const Tensor& u) { return t.add_(u).slice(0, 1, 3).zero_(); })(own, b);
  const Tensor want = a + b;
  want.slice(1, 1, 3).zero_();
  expect_close(own, want);
  expect_words(
      text_of<Error>([&] { vmap([](const Tensor& t) { return zeros({4}, kDouble).add_(t); })(a); }),
      {"add", "vmapped over", "`self` not being vmapped over"});
  expect_close(vmap([](const Tensor& t) { return t.new_zeros({4}).add_(t); })(a), a);
  expect_words(text_of<Error>([&] { vmap([](Tensor t) { return add_out(t, t, t); })(a); }),
               {"Batching rule not implemented", "out="});
  const auto turned = [](const Tensor& t) { return t.clone().unsqueeze_(0).t_(); };
  expect_close(vmap(turned)(a), a.unsqueeze(-1));
}

TEST(Vmap, Randomness) {
  const Tensor a = zeros({3, 400}, kDouble);
  const auto noise = [](const Tensor& t) { return t + randn({400}, kDouble); };
  const auto like = [](const Tensor& t) { return randn_like(t); };
  const auto dropped = [](const Tensor& t) { return dropout(t + 1, 0.5, true); };
  for (const auto& f : {std::function<Tensor(const Tensor&)>(noise), {like}, {dropped}}) {
    expect_words(text_of<Error>([&] { vmap(f)(a); }), {"randomness error mode", "'different'"});
    const Tensor different = vmap(f, 0, 0, "different")(a), same = vmap(f, 0, 0, "same")(a);
    EXPECT_FALSE(different.select(0, 0).equal(different.select(0, 1)));
    EXPECT_TRUE(same.select(0, 0).equal(same.select(0, 1)));
    EXPECT_GT(same.std().item<double>(), 0.5);
  }
  const auto into = [](const Tensor& t) { return t + zeros({400}, kDouble).uniform_(); };
  expect_words(text_of<Error>([&] { vmap(into, 0, 0, "different")(a); }),
               {"different inplace randomness on an unbatched tensor"});
  const auto order = [](const Tensor& t) { return t.sum() + randperm(400); };
  EXPECT_FALSE(vmap(order, 0, 0, "different")(a).select(0, 0).equal(
      vmap(order, 0, 0, "different")(a).select(0, 1)));
}

// loss(weight, x, y) of one example.
Tensor loss_of(const Tensor& w, const Tensor& x, const Tensor& y) {
  return (w.mv(x).tanh() - y).square().sum();
}

TEST(Vmap, GradientsByExampleAreThoseOfALoop) {
  const Tensor weight = random({2, 4}), xs = random({5, 4}), ys = random({5, 2});
  const auto gradient = [](const Tensor& w, const Tensor& x, const Tensor& y) {
    const Tensor own = w.detach().requires_grad_();
    return autograd::grad({loss_of(own, x, y)}, {own})[0];
  };
  const Tensor all = vmap(gradient, {std::nullopt, 0, 0})(weight, xs, ys);
  for (int64_t i = 0; i < 5; ++i)
    expect_close(all.select(0, i), gradient(weight, xs.select(0, i), ys.select(0, i)));
  const auto hessian = [](const Tensor& w, const Tensor& x) {
    return autograd::functional::hessian([&](const Tensor& t) { return t.mul(x).sin().sum(); }, w);
  };
  const Tensor w = random({4}), curvature = vmap(hessian, {std::nullopt, 0})(w, xs);
  for (int64_t i = 0; i < 5; ++i) expect_close(curvature.select(0, i), hessian(w, xs.select(0, i)));
}

TEST(Vmap, OfANetworkWithConvolutionsAndNorms) {
  const Tensor filter = random({3, 2, 3, 3}), bias = random({3}), images = random({4, 2, 6, 6});
  const auto gradient = [](const Tensor& f, const Tensor& b, const Tensor& image) {
    const Tensor own = f.detach().requires_grad_(), shift = b.detach().requires_grad_();
    const Tensor out = layer_norm(conv2d(image.unsqueeze(0), own, shift), {4, 4});
    return autograd::grad({max_pool2d(out, {2, 2}).exp().sum()}, {own, shift});
  };
  const variable_list all = vmap(gradient, {std::nullopt, std::nullopt, 0})(filter, bias, images);
  for (int64_t i = 0; i < 4; ++i) {
    const variable_list one = gradient(filter, bias, images.select(0, i));
    expect_close(all[0].select(0, i), one[0]);
    expect_close(all[1].select(0, i), one[1]);
  }
}

TEST(Vmap, OfRmsNormWithWeights) {
  const Tensor xs = random({4, 3, 5}), weights = random({4, 5});
  const auto norm = [](const Tensor& x, const Tensor& w) { return rms_norm(x, {5}, w); };
  const Tensor own = vmap(norm, {0, 0})(xs, weights);
  const Tensor common = vmap(norm, {0, std::nullopt})(xs, weights[0]);
  for (int64_t i = 0; i < 4; ++i) {
    expect_close(own.select(0, i), norm(xs.select(0, i), weights.select(0, i)));
    expect_close(common.select(0, i), norm(xs.select(0, i), weights[0]));
  }
}

// Gradients of each sample by input, weight and bias, with weights that all share and with weights
// of their own, against those of the samples one by one.
void expect_gradients_of_slices(const std::function<Tensor(const variable_list&)>& norm,
                                const Tensor& xs, const Tensor& w, const Tensor& b) {
  const auto gradient = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    variable_list own;
    for (const Tensor& t : {x, weight, bias}) own.push_back(t.detach().requires_grad_());
    return autograd::grad({norm(own).sin().sum()}, own);
  };
  const int64_t n = xs.size(0);
  const Tensor ws = random({n, w.size(0), w.size(1)}), bs = random({n, w.size(0), w.size(1)});
  for (const bool shared : {true, false}) {
    const std::optional<int64_t> dim = shared ? std::nullopt : std::optional<int64_t>(0);
    const variable_list all = vmap(gradient, {0, dim, dim})(xs, shared ? w : ws, shared ? b : bs);
    for (int64_t i = 0; i < n; ++i) {
      const variable_list one =
          gradient(xs.select(0, i), shared ? w : ws.select(0, i), shared ? b : bs.select(0, i));
      for (std::size_t k = 0; k < 3; ++k) expect_close(all[k].select(0, i), one[k]);
    }
  }
}

TEST(Vmap, GradientsOfLayerNormOfEachSample) {
  const Tensor w = random({3, 4}), b = random({3, 4});
  const auto norm = [](const variable_list& a) { return layer_norm(a[0], {3, 4}, a[1], a[2]); };
  expect_gradients_of_slices(norm, random({5, 2, 3, 4}), w, b);
  expect_gradients_of_slices(norm, random({5, 3, 4}), w, b);  // a sample is one row
}

TEST(Vmap, GradientsOfGroupNormOfEachSample) {
  const Tensor w = random({4, 1}), b = random({4, 1});
  const auto norm = [](const variable_list& a) {
    return group_norm(a[0], 2, a[1].reshape({4}), a[2].reshape({4}));
  };
  expect_gradients_of_slices(norm, random({3, 2, 4, 3, 5}), w, b);
  expect_gradients_of_slices(norm, random({3, 2, 4}), w, b);
}

TEST(Vmap, NormsAreNotCalledSliceBySlice) {
  const Tensor xs = random({6, 2, 4, 3}), w = random({4}), b = random({4}), v = random({3});
  const auto gradient = [&](const Tensor& x) {
    const Tensor own = w.detach().requires_grad_(), row = v.detach().requires_grad_();
    const Tensor out = layer_norm(group_norm(x, 2, own, b), {3}, row);
    return autograd::grad({out.exp().sum()}, {own, row});
  };
  std::map<std::string, int> calls;
  const auto handle = addThreadLocalCallback(RecordFunctionCallback([&](const RecordFunction& f) {
    ++calls[f.name()];
    return nullptr;
  }));
  vmap(gradient, {0})(xs);
  removeCallback(handle);
  for (const char* name : {"native_group_norm", "native_layer_norm", "native_layer_norm_backward"})
    EXPECT_EQ(calls[name], 1) << name;
  EXPECT_EQ(calls["native_group_norm_backward"], 0) << "which would give that of the input alone";
}

TEST(Vmap, IsDifferentiatedFromOutside) {
  const Tensor weight = random({2, 4}), xs = random({5, 4}), ys = random({5, 2});
  const Tensor w = weight.clone().requires_grad_(), x = xs.clone().requires_grad_();
  const Tensor losses = vmap(loss_of, {std::nullopt, 0, 0})(w, x, ys);
  const Tensor plain = (x.mm(w.t()).tanh() - ys).square().sum(1), by = random({5});
  const variable_list got = autograd::grad({losses}, {w, x}, {by}),
                      want = autograd::grad({plain}, {w, x}, {by});
  expect_close(got[0], want[0]);
  expect_close(got[1], want[1]);
  const auto slope = [](const Tensor& t) {
    const Tensor own = t.view_as(t);
    return autograd::grad({own.pow(3).sum()}, {own}, {}, std::nullopt, true)[0].sum();
  };
  const Tensor z = random({3, 4}).requires_grad_();
  const auto inside = [&](const Tensor& t) {
    const Tensor leaf = t.detach().requires_grad_();
    return slope(leaf) * t.sum();
  };
  expect_close(autograd::grad({vmap(inside)(z).sum()}, {z})[0],
               (z.detach().square() * 3).sum(1, true).expand({3, 4}));
  EXPECT_FALSE(vmap(twice)(weight).requires_grad());
}

TEST(Vmap, OfAVectorJacobianProductIsTheJacobian) {
  const Tensor x = random({4});
  const auto f = [](const Tensor& t) { return t.outer(t).sin().sum(0).exp(); };
  const Tensor leaf = x.clone().requires_grad_(), y = f(leaf);
  const auto product = [&](const Tensor& v) { return autograd::grad({y}, {leaf}, {v}, true)[0]; };
  const Tensor jacobian = autograd::functional::jacobian(f, x);
  expect_close(vmap(product)(eye(4, kDouble)), jacobian);
  const auto forward = [&](const Tensor& v) { return autograd::functional::jvp(f, x, v).second; };
  expect_close(vmap(forward, 0, 1)(eye(4, kDouble)), jacobian);
}

TEST(Vmap, CompositesThatLookAtElementsAreCalledSliceBySlice) {
  const Tensor a = random({3, 6}), q = rand({3, 2}, kDouble);
  const auto f = [](const Tensor& t, const Tensor& at) { return t.quantile(at); };
  const auto gradient = [&](const Tensor& t, const Tensor& at) {
    const Tensor own = t.detach().requires_grad_();
    return autograd::grad({f(own, at).square().sum()}, {own})[0];
  };
  const Tensor all = vmap(f)(a, q), grads = vmap(gradient)(a, q);
  const Tensor tracked = a.clone().requires_grad_();
  const Tensor outside = autograd::grad({vmap(f)(tracked, q).square().sum()}, {tracked})[0];
  for (int64_t i = 0; i < 3; ++i) {
    expect_close(all.select(0, i), f(a.select(0, i), q.select(0, i)));
    expect_close(grads.select(0, i), gradient(a.select(0, i), q.select(0, i)));
    expect_close(outside.select(0, i), grads.select(0, i));
  }
}

TEST(Vmap, PrintsTheSlices) {
  vmap([](const Tensor& t) {
    std::ostringstream text;
    text << t;
    expect_words(text.str(), {"BatchedTensor(lvl=1, bdim=0, value=", "[1"});
    return t;
  })(ones({2, 3}));
}

}  // namespace
}  // namespace tenon
