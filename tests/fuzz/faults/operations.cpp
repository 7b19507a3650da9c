// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

#include <cstring>
#include <sstream>
#include <thread>

#include "tenon/abi/client.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/threads.h"
#include "tenon/tenon.h"
#include "training.h"

namespace tenon::faults {

std::string g_folder;

namespace {

using Numbers = std::vector<double>;

constexpr int64_t kMaxShown = 2000;  // numbers that an operation shows of one tensor

Tensor ramp(IntArrayRef sizes, double step = 0.01) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return (arange(n, kFloat) * step - 0.3).sin().reshape(sizes);
}

}  // namespace

// Every element counts in the sum, the first ones one by one.
Numbers numbers_of(const Tensor& t) {
  const Tensor flat = t.detach().to(kDouble).contiguous().flatten();
  Numbers out(flat.const_data_ptr<double>(),
              flat.const_data_ptr<double>() + std::min(kMaxShown, flat.numel()));
  double sum = 0;
  for (int64_t i = 0; i < flat.numel(); ++i) sum += flat.const_data_ptr<double>()[i];
  out.push_back(sum);
  return out;
}

Numbers numbers_of(const std::vector<Tensor>& list) {
  Numbers out;
  for (const Tensor& t : list) {
    const Numbers of = numbers_of(t);
    out.insert(out.end(), of.begin(), of.end());
  }
  return out;
}

namespace {

Numbers letters_of(const std::string& text) { return {text.begin(), text.end()}; }

Numbers first_use() { return numbers_of(ones({3}) + 1); }
Numbers pointwise() {
  const Tensor a = ramp({40, 30}), b = ramp({30});
  return numbers_of(
      {(a.exp() + b * 2).tanh(), a.gt(0).to(kLong), where(a.gt(0), a, a * -1), a.pow(2.5)});
}
Numbers pointwise_on_many_threads() {
  core::set_num_threads(4);
  const Tensor a = ramp({600, 500});
  return numbers_of((a.exp() * 2 + a).sigmoid());
}
Numbers casts() {
  const Tensor a = ramp({100});
  return numbers_of({a.to(kHalf), a.to(kBFloat16).exp(), (a * 100).to(kInt) + 1,
                     a.to(kDouble).sqrt().nan_to_num()});
}
Numbers reduce() {
  const Tensor a = ramp({50, 70});
  return numbers_of({a.sum(1), a.mean(0), a.amax({1}), a.var(), a.norm(), a.argmax(1)});
}
Numbers mm_small() { return numbers_of(ramp({7, 9}).mm(ramp({9, 5}))); }
Numbers mm_large() {
  core::set_num_threads(4);
  return numbers_of(ramp({300, 200}, 0.001).mm(ramp({200, 250}, 0.002)));
}
Numbers mm_bfloat16() {
  return numbers_of(ramp({60, 50}).to(kBFloat16).mm(ramp({50, 40}).to(kBFloat16)));
}
Numbers mm_batched() {
  return numbers_of({ramp({5, 8, 9}).matmul(ramp({9, 4})),
                     einsum("bij,bkj->ik", {ramp({2, 3, 4}), ramp({2, 5, 4})})});
}
Numbers convolution() {
  return numbers_of({conv2d(ramp({2, 4, 12, 12}), ramp({6, 4, 3, 3}), ramp({6})),
                     conv1d(ramp({2, 4, 30}), ramp({4, 1, 5}), Tensor(), IntArrayRef({1}),
                            IntArrayRef({0}), IntArrayRef({1}), 4)});
}
Numbers convolution_backward() {
  Tensor w = ramp({6, 4, 3, 3}).requires_grad_(), x = ramp({2, 4, 12, 12}).requires_grad_();
  conv2d(x, w).tanh().sum().backward();
  return numbers_of({w.grad(), x.grad()});
}
Numbers pool() {
  Tensor x = ramp({2, 3, 12, 12}).requires_grad_();
  (max_pool2d(x, 2).sum() + avg_pool2d(x, 3).sum() * 2).backward();
  return numbers_of({max_pool2d(x, 2), x.grad(), upsample_nearest2d(x.detach(), {24, 24})});
}
Numbers sorts() {
  const Tensor a = ramp({30, 100}, 1.7);
  const auto [values, places] = a.sort(1);
  return numbers_of({values, places, std::get<0>(a.topk(5)), a.flatten().argsort(),
                     std::get<0>(unique_dim((a * 10).to(kInt).flatten(), 0))});
}
Numbers indexing() {
  Tensor a = ramp({20, 30});
  const Tensor rows = tensor({3, 1, 17, 1});
  Tensor b = a.clone();
  b.index_put_({rows}, ramp({4, 30}), true);
  return numbers_of({a.index({rows}), a.gather(0, rows.reshape({4, 1}).expand({4, 30})), b,
                     a.index_select(1, rows), b.scatter_add(0, rows.reshape({4, 1}), ones({4, 1})),
                     a.masked_select(a.gt(0)), nonzero(a.gt(0.5))});
}
Numbers scans() {
  return numbers_of(
      {ramp({30, 40}).cumsum(1), ramp({30, 40}).cumprod(0), std::get<0>(ramp({9, 9}).cummax(1))});
}
Numbers random_numbers() {
  manual_seed(7);
  return numbers_of(
      {randn({50}), rand({50}), randperm(30), bernoulli(full({40}, 0.3)), randint(0, 9, {20})});
}
Numbers sparse() {
  const Tensor t = sparse_coo_tensor(tensor({{0, 1, 1, 0}, {2, 0, 0, 1}}), ramp({4}), {2, 3});
  return numbers_of({t.coalesce().values(), t.to_dense(), t.mm(ramp({3, 4})), (t + t).to_dense()});
}
Numbers views() {
  const Tensor a = ramp({4, 6, 5});
  return numbers_of({a.permute({2, 0, 1}), a.narrow(1, 2, 3).transpose(0, 1), a.reshape({24, 5})[3],
                     a.flip(0), a.unfold(1, 3, 1), a.expand({2, 4, 6, 5}), cat({a, a}, 1),
                     stack({a, a})});
}
Numbers in_place() {
  Tensor a = ramp({20, 30});
  a.mul_(2).add_(ramp({30})).relu_();
  a.t().narrow(0, 0, 5).exp_();
  a.select(0, 3).zero_();
  return numbers_of(a);
}
Numbers norms() {
  const Tensor x = ramp({6, 20}), w = ramp({20});
  return numbers_of({x.softmax(1), layer_norm(x, {20}, w, w), x.log_softmax(1),
                     std::get<0>(native_batch_norm(x, w, w, Tensor(), Tensor(), true, 0.1, 1e-5))});
}
Numbers attention() {
  return numbers_of(scaled_dot_product_attention(ramp({1, 2, 20, 16}), ramp({1, 2, 24, 16}),
                                                 ramp({1, 2, 24, 16})));
}
Numbers print() {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // else a stream does not report that it has no memory
  out << ramp({3, 4}) << arange(5) << ones({2, 2}).to(kBool);
  return letters_of(out.str() + to_text(ramp({2000})));
}
// Of the class that it has without a failure; the kernel's text may be lost, the operator's name is
// not. If memory or the plugin failed, the operation has failed.
template <class F>
void add_error(Numbers& out, const char* op, F f) {
  try {
    f();
  } catch (const Error& e) {
    if (e.code() == TN_ERROR_MEMORY || e.code() == TN_ERROR_BACKEND ||
        e.code() == TN_ERROR_UNSUPPORTED)
      throw;
    out.push_back(e.code());
    out.push_back(e.msg().find(op) != std::string::npos);
  }
}
Numbers errors() {
  Numbers out;
  add_error(out, "mm", [] { ramp({2, 3}).mm(ramp({2, 3})); });
  add_error(out, "index_select", [] { ramp({3}).index_select(0, tensor({7})); });
  add_error(out, "zeros", [] { zeros({-1}); });
  return out;
}
Numbers plugins_listed() {
  Numbers out;
  for (const auto& i : plugins::list()) out.push_back(static_cast<double>(i.name.size()));
  return out;
}
Numbers plugin_loaded() {
  const auto info = plugins::load(TENON_TEST_PLUGINS "/libtenon_sparse.so");
  return {static_cast<double>(info.state), static_cast<double>(info.kernels),
          numbers_of(ones({2})).back()};
}
Numbers device_by_name() {
  return {static_cast<double>(Device("cpu").type()), numbers_of(ones({2}, Device("cpu:0")))[0]};
}

Numbers from_c() {
  const float data[4] = {1, 2, 3, 4};
  const int64_t sizes[1] = {4};
  float sum[4] = {};
  tn_handle a = nullptr;
  const auto check = [](tn_status s) {
    if (s == TN_ERROR_MEMORY) throw std::bad_alloc();
    if (s != TN_OK) throw Error(tn_last_error(), s);
  };
  tn_dtype dtype{};
  check(tn_dtype_from_name({"float32", 7}, &dtype));
  check(tn_from_host(1, sizes, dtype, data, sizeof data, tn_device{TN_CPU, 0}, &a));
  tn_value in[2] = {}, out = {};
  in[0].tag = in[1].tag = TN_TAG_TENSOR;
  in[0].u.tensor = in[1].u.tensor = a;
  tn_status status = tn_call_op({"add.Tensor", 10}, in, 2, &out, 1);
  if (status == TN_OK) status = tn_to_host(out.u.tensor, sum, sizeof sum);
  tn_release_value(&out);
  tn_release(a);
  check(status);
  return {sum[0], sum[3]};
}

// The first calls of a thread, forward and back, and its end.
Numbers on_another_thread() {
  Numbers out;
  std::exception_ptr fault;
  std::thread thread([&] {
    try {
      Tensor w = ramp({5, 5}).requires_grad_();
      w.mm(ramp({5, 4})).exp().sum().backward();
      out = numbers_of({w.grad(), conv2d(ramp({1, 2, 8, 8}), ramp({3, 2, 3, 3}))});
    } catch (...) {
      fault = std::current_exception();
    }
  });
  thread.join();
  if (fault) std::rethrow_exception(fault);
  return out;
}

Numbers threads_started() {
  core::set_num_threads(core::num_threads() + 1);
  Numbers sums(64);
  core::parallel_for(
      64, 1,
      [](void* to, int64_t begin, int64_t) {
        (*static_cast<Numbers*>(to))[static_cast<std::size_t>(begin)] =
            static_cast<double>(begin) * 2;
      },
      &sums);
  return sums;
}

Numbers memory_statistics() {
  const Tensor a = ramp({300000});
  const auto stats = core::memory_stats(core::kHost);
  core::cache_trim(core::kHost);
  return {numbers_of(a).back(), stats.allocated > 0 ? 1.0 : 0.0};
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> list = {{"first_use", first_use},
                                   {"pointwise", pointwise},
                                   {"pointwise_threads", pointwise_on_many_threads},
                                   {"casts", casts},
                                   {"reduce", reduce},
                                   {"mm_small", mm_small},
                                   {"mm_large", mm_large},
                                   {"mm_bfloat16", mm_bfloat16},
                                   {"mm_batched", mm_batched},
                                   {"conv", convolution},
                                   {"conv_backward", convolution_backward},
                                   {"pool", pool},
                                   {"sort", sorts},
                                   {"index", indexing},
                                   {"scan", scans},
                                   {"random", random_numbers},
                                   {"sparse", sparse},
                                   {"views", views},
                                   {"in_place", in_place},
                                   {"norms", norms},
                                   {"attention", attention},
                                   {"print", print},
                                   {"errors", errors},
                                   {"plugins_list", plugins_listed},
                                   {"plugin_load", plugin_loaded},
                                   {"device_name", device_by_name},
                                   {"c_api", from_c},
                                   {"thread", on_another_thread},
                                   {"pool_start", threads_started},
                                   {"memory_statistics", memory_statistics}};
    for (const Operation& o : training_operations()) list.push_back(o);
    return list;
  }();
  return all;
}

}  // namespace tenon::faults
