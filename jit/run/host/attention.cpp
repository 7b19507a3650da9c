// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The gradient of attention as programs that were exported with their backward call it.
#include <cmath>

#include "jit/run/unboxed.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

Tensor hide(const Tensor& scores, const Tensor& hidden) {
  return tenon::masked_fill(scores, hidden, -std::numeric_limits<double>::infinity());
}
// p = softmax(scale q k' + mask), output = p v; g: the gradient of the output.
//   v: p' g    s = p (g v' - sum(g output))    q: scale s k    k: scale s' q
std::tuple<Tensor, Tensor, Tensor> attention_backward(
    const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& output,
    const Tensor& /*logsumexp*/, double dropout_p, bool is_causal,
    const std::optional<Tensor>& mask, std::optional<double> scale) {
  TENON_CHECK(dropout_p == 0, NotImplementedError,
              "the gradient of attention with dropout is not supported");
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  Tensor scores = tenon::matmul(q, k.transpose(-2, -1)) * factor;
  if (is_causal) scores = hide(scores, tenon::ones_like(scores, kBool).triu(1));
  if (mask) scores = mask->dtype() == kBool ? hide(scores, mask->logical_not()) : scores + *mask;
  const Tensor p = tenon::_safe_softmax(scores, -1);
  const std::vector<int64_t> last{-1};
  const Tensor s =
      p * (tenon::matmul(g, v.transpose(-2, -1)) - (g * output).sum(last, true)) * factor;
  return {tenon::matmul(s, k), tenon::matmul(s.transpose(-2, -1), q),
          tenon::matmul(p.transpose(-2, -1), g)};
}

const HostOperator list[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
     "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
     "Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
     "grad_value)",
     unboxed<attention_backward>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
