// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batch normalization by the names that say whether running statistics are written. The last of the
// results would be what a kernel reserved for the gradient: empty here.
#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using MaybeTensor = std::optional<Tensor>;

Four with_reserve(const Three& made) {
  const auto& [y, mean, inverse] = made;
  return {y, mean, inverse, tenon::empty({0}, TensorOptions(kByte).device(y.device()))};
}
Four with_update(const Tensor& x, const MaybeTensor& weight, const MaybeTensor& bias,
                 const Tensor& mean, const Tensor& var, double momentum, double eps) {
  return with_reserve(tenon::native_batch_norm(x, weight, bias, mean, var, true, momentum, eps));
}
Four no_update(const Tensor& x, const MaybeTensor& weight, const MaybeTensor& bias,
               const MaybeTensor& mean, const MaybeTensor& var, double momentum, double eps) {
  return with_reserve(tenon::native_batch_norm(x, weight, bias, mean, var, false, momentum, eps));
}
// The new statistics are results.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> with_update_functional(
    const Tensor& x, const MaybeTensor& weight, const MaybeTensor& bias, const Tensor& mean,
    const Tensor& var, double momentum, double eps) {
  const Tensor new_mean = mean.clone(), new_var = var.clone();
  const auto& [y, saved_mean, inverse, reserve] =
      with_update(x, weight, bias, new_mean, new_var, momentum, eps);
  return {y, saved_mean, inverse, reserve, new_mean, new_var};
}

const HostOperator list[] = {
    {"aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
     "running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor)",
     unboxed<with_update>, nullptr, true},
    {"aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor)",
     unboxed<no_update>},
    {"aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
     "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, "
     "Tensor, Tensor, Tensor)",
     unboxed<with_update_functional>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
