// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The small headers of ATen and c10 that extensions include by name.
#include <ATen/AccumulateType.h>
#include <ATen/DeviceGuard.h>
#include <ATen/ExpandUtils.h>
#include <ATen/InferSize.h>
#include <ATen/NumericUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ceil_div.h>
#include <ATen/core/DimVector.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/TensorBody.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/SmallVector.h>
#include <c10/util/Type.h>
#include <c10/util/accumulate.h>
#include <c10/util/overloaded.h>
#include <c10/util/string_view.h>
#include <torch/csrc/api/include/torch/utils.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/torch.h>

#include <iostream>
#include <typeinfo>
#include <variant>

template <class F>
void refused(const char* what, F&& f) {
  try {
    f();
    std::cout << what << ": not refused\n";
  } catch (const c10::Error& e) {
    std::cout << what << ": " << e.what_without_backtrace() << "\n";
  }
}

void shapes() {
  const auto x = torch::ones({2, 3, 4});
  std::cout << c10::sum_integers(x.sizes()) << " " << c10::multiply_integers(x.sizes()) << " "
            << c10::numelements_from_dim(1, x.sizes()) << " "
            << c10::numelements_to_dim(1, x.sizes()) << " "
            << c10::numelements_between_dim(2, 0, x.sizes()) << "\n";
  std::cout << at::maybe_wrap_dim(-1, 3) << at::maybe_wrap_dim(-3, x) << c10::maybe_wrap_dim(0, 0)
            << "\n";
  std::vector<int64_t> dims = {-1, 0, -2};
  at::maybe_wrap_dims(dims, 3);
  std::cout << c10::IntArrayRef(dims) << "\n";
  refused("wrap", [] { at::maybe_wrap_dim(3, 3); });
  refused("scalar", [] { at::maybe_wrap_dim(0, 0, false); });
  const std::vector<int64_t> both = at::infer_size({3, 1, 4}, {2, 1});
  std::cout << c10::IntArrayRef(both) << "\n";
  const auto six = at::infer_size({2, -1}, 6);
  std::cout << c10::IntArrayRef(six) << "\n";
  refused("broadcast", [] { at::infer_size({2, 3}, c10::IntArrayRef{4}); });
  refused("infer", [] { at::infer_size({4, -1}, 6); });
  refused("infer whole", [] { at::infer_size({4, 2}, 6); });
  std::cout << at::are_expandable({3, 1}, {2}) << at::are_expandable({3}, {2})
            << at::is_expandable_to(c10::IntArrayRef{3, 1}, c10::IntArrayRef{2, 3, 5})
            << at::is_expandable_to(c10::IntArrayRef{3}, c10::IntArrayRef{1}) << "\n";
  std::cout << at::sum_to(x, c10::IntArrayRef{3, 1}) << "\n";
  std::cout << at::divup(7, 2) << at::ceil_div(7, 2) << at::round_up(7, 4) << "\n";
}

template <class T>
void widths(const char* name) {
  std::cout << name << " " << sizeof(at::acc_type<T, false>) << sizeof(at::acc_type<T, true>)
            << sizeof(at::opmath_type<T>) << std::is_integral_v<at::acc_type<T, false>> << "\n";
}

void numbers() {
  widths<float>("float"), widths<double>("double"), widths<at::Half>("half");
  widths<at::BFloat16>("bfloat16"), widths<int>("int"), widths<uint8_t>("byte");
  std::cout << at::_isnan(std::nan("")) << at::_isnan(3) << at::_isnan(at::Half(2.f)) << "\n";
  for (const c10::Scalar& s : {c10::Scalar(2), c10::Scalar(2.5), c10::Scalar(true)}) {
    const auto t = c10::scalar_to_tensor(s);
    std::cout << (t.scalar_type() == s.type()) << t.dim() << " ";
  }
  std::cout << c10::canCast(torch::kFloat, torch::kInt) << c10::canCast(torch::kInt, torch::kHalf)
            << c10::canCast(torch::kInt, torch::kBool) << "\n";
  std::cout << (c10::get_default_dtype_as_scalartype() == torch::kFloat) << " "
            << at::Reduction::Mean << at::Reduction::Sum << "\n";
  std::cout << AT_DISPATCH_INDEX_TYPES(torch::kInt, "f", [] { return sizeof(index_t); })
            << AT_DISPATCH_REDUCED_FLOATING_TYPES(torch::kHalf, "f",
                                                  [] { return sizeof(scalar_t); })
            << AT_DISPATCH_INTEGRAL_TYPES_AND(torch::kBool, torch::kBool, "f",
                                              [] { return sizeof(scalar_t); })
            << "\n";
}

void containers() {
  c10::SmallVector<int64_t, 4> v = {1, 2};
  v.append(2, 7);
  v.push_back(9);
  std::cout << c10::IntArrayRef(v) << v.pop_back_val() << v.size() << "\n";
  at::DimVector sizes(torch::ones({2, 5}).sizes());
  std::cout << torch::zeros(sizes).sizes() << "\n";
  const int raw[] = {4, 5};
  std::cout << c10::makeArrayRef(raw) << c10::makeArrayRef(raw, 1) << "\n";
  const auto x = torch::ones({1});
  const auto borrowed = c10::MaybeOwned<torch::Tensor>::borrowed(x);
  const auto owned = c10::MaybeOwned<torch::Tensor>::owned(torch::zeros({3}));
  std::cout << borrowed->is_same(x) << owned->numel() << (*owned).dim() << "\n";
  const std::variant<int, double> number = 2.5;
  std::cout << std::visit(
                   c10::overloaded([](int) { return "int"; }, [](double) { return "double"; }),
                   number)
            << " " << c10::demangle(typeid(std::pair<int, float>).name()) << "\n";
  const c10::string_view text = "ends";
  {
    auto at_end = c10::make_scope_exit([&] { std::cout << text << "\n"; });
    auto never = c10::make_scope_exit([] { std::cout << "never\n"; });
    never.release();
  }
  std::unordered_map<c10::Device, int> by_device = {{torch::kCPU, 1}, {c10::Device("cuda:1"), 2}};
  std::cout << by_device[c10::Device("cuda:1")] << by_device[torch::kCPU] << "\n";
}

void graph() {
  const auto x = torch::ones({2}, torch::requires_grad()), y = torch::ones({2});
  const auto z = x * y;
  const torch::autograd::edge_list edges = z.grad_fn()->next_edges();
  std::cout << edges.size() << edges[0].is_valid() << edges[1].is_valid() << edges[0].input_nr
            << torch::autograd::impl::gradient_edge(z).is_valid() << "\n";
  std::cout << torch::autograd::any_variable_requires_grad({y, x})
            << torch::autograd::any_variable_requires_grad({y}) << "\n";
  const auto where = torch::where(torch::tensor({{1, 0}, {1, 1}}).to(torch::kBool));
  std::cout << where.size() << where[0] << where[1] << "\n";
  c10::TensorImpl* impl = x.unsafeGetTensorImpl();
  std::cout << (impl == x.getIntrusivePtr().get()) << "\n";
  const auto storage = x.storage();
  std::cout << storage.device() << (storage.mutable_data() == x.data_ptr()) << x.is_meta()
            << x.device().is_mps() << c10::Device(c10::DeviceType::MPS).is_mps()
            << c10::Device(c10::DeviceType::PrivateUse1).is_privateuseone() << "\n";
  refused("argument", [] { TORCH_CHECK_ARG(1 > 2, 3, "one is ", 1); });
  refused("with", [] { TORCH_CHECK_WITH(IndexError, false, "no ", 7); });
  at::OptionalDeviceGuard guard;
  std::cout << guard.original_device().has_value() << guard.current_device().has_value();
  guard.reset_device(c10::Device("cpu"));
  std::cout << guard.original_device()->is_cpu() << guard.current_device()->is_cpu() << "\n";
}

int main() {
  shapes();
  numbers();
  containers();
  graph();
  return 0;
}
