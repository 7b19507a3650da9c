// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators without corners or poles where the programs use them: the difference quotient of such a
// program must match.
#include "program.h"
#include "tenon/autograd.h"

namespace tenon::fuzz {
namespace {

using T = const Tensor&;

// From 0.6 to 1.6: a divisor, or the second argument of a function that wants a positive one.
Tensor divisor(T b) { return b.sigmoid() + 0.6; }
// From -0.8 to 0.8.
Tensor bounded(T b) { return b.tanh() * 0.8; }
Tensor half_of(T a) {
  return arange(a.numel(), TensorOptions(kLong)).remainder(2).reshape(a.sizes()) == 0;
}
Tensor backwards(T a) { return arange(a.size(0) - 1, -1, -1, TensorOptions(kLong)); }
Tensor filled(T a, T b) { return (b * ones_like(a)).clone(); }

#define UNARY(name)                                                            \
  {                                                                            \
#name, false, [](T a, T) { return a.name(); }, [](T a, T) { a.name##_(); } \
  }
#define FUNCTION(name)                                           \
  {                                                              \
#name, false, [](T a, T) { return tenon::name(a); }, nullptr \
  }
#define ACTIVATION(name)                                            \
  {                                                                 \
#name, false, [](T a, T) { return tenon::name(a); }, [](T a, T) { \
      Tensor t = a;                                            \
      tenon::name##_(t);                                       \
    } \
  }
#define BINARY(name, other)                                                                 \
  {                                                                                         \
#name, true, [](T a, T b) { return a.name(other); }, [](T a, T b) { a.name##_(other); } \
  }
#define OWN(name, functional, written)                                                   \
  {                                                                                      \
    name, true, [](T a, T b) -> Tensor { return functional; }, [](T a, T b) { written; } \
  }

const std::vector<Operator> kOperators = {
    UNARY(sin),
    UNARY(cos),
    UNARY(tanh),
    UNARY(sigmoid),
    UNARY(atan),
    UNARY(erf),
    UNARY(asinh),
    UNARY(square),
    UNARY(neg),
    UNARY(erfc),
    UNARY(arctan),
    UNARY(sinc),
    ACTIVATION(silu),
    ACTIVATION(mish),
    ACTIVATION(gelu),
    FUNCTION(softplus),
    FUNCTION(log_sigmoid),
    {"exp", false, [](T a, T) { return bounded(a).exp(); }, nullptr},
    {"softmax", false, [](T a, T) { return a.softmax(-1); }, nullptr},
    {"log_softmax", false, [](T a, T) { return a.log_softmax(-1); }, nullptr},
    {"logsumexp", false, [](T a, T) { return a.logsumexp(-1, true).expand_as(a).clone(); },
     nullptr},
    {"logcumsumexp", false, [](T a, T) { return a.logcumsumexp(-1); }, nullptr},
    {"var", false, [](T a, T) { return a + a.var(-1, false, true); }, nullptr},
    {"norm", false, [](T a, T) { return a / (a.square().sum(-1, true) + 1).sqrt(); }, nullptr},
    {"layer_norm", false, [](T a, T) { return layer_norm(a, {a.size(-1)}, {}, {}, 0.5); }, nullptr},
    {"flip", false, [](T a, T) { return a.flip({-1}); }, nullptr},
    {"roll", false, [](T a, T) { return a.roll({1}, {-1}); }, nullptr},
    {"half", false, [](T a, T) { return a * 0.5; }, [](T a, T) { a.mul_(0.5); }},
    {"shift", false, [](T a, T) { return a + 0.3; }, [](T a, T) { a.add_(0.3); }},
    {"cube", false, [](T a, T) { return a.pow(3); }, [](T a, T) { a.pow_(3); }},
    {"cumsum", false, [](T a, T) { return a.cumsum(-1); }, [](T a, T) { a.cumsum_(-1); }},
    {"cumprod", false, [](T a, T) { return a.cumprod(0); }, [](T a, T) { a.cumprod_(0); }},
    {"zero", false, [](T a, T) { return zeros_like(a); }, [](T a, T) { a.zero_(); }},
    {"masked_fill", false, [](T a, T) { return a.masked_fill(half_of(a), 0.7); },
     [](T a, T) { a.masked_fill_(half_of(a), 0.7); }},
    {"gt", false, [](T a, T) { return (a > 100).to(kDouble); }, [](T a, T) { a.gt_(100); }},
    BINARY(add, b),
    BINARY(sub, b),
    BINARY(mul, b),
    BINARY(multiply, b),
    BINARY(div, divisor(b)),
    BINARY(true_divide, divisor(b)),
    BINARY(hypot, divisor(b)),
    BINARY(atan2, divisor(b)),
    BINARY(xlogy, divisor(b)),
    OWN("mul tanh", a* bounded(b), a.mul_(bounded(b))),
    OWN("add scaled", a.add(b, 0.4), a.add_(b, 0.4)),
    OWN("pow", divisor(a).pow(bounded(b)), a.copy_(divisor(a).pow(bounded(b)))),
    OWN("addcmul", a.addcmul(b, bounded(b)), a.addcmul_(b, bounded(b))),
    OWN("addcdiv", a.addcdiv(b, divisor(b), 0.5), a.addcdiv_(b, divisor(b), 0.5)),
    OWN("lerp", a.lerp(b* ones_like(a), 0.3), a.lerp_(b* ones_like(a), 0.3)),
    OWN("lerp by", a.lerp(cos(a), bounded(b)), a.lerp_(cos(a), bounded(b))),
    OWN("copy", filled(a, b), a.copy_(b)),
    OWN("where", where(half_of(a), a, b), a.copy_(where(half_of(a), a, b))),
    OWN("masked_scatter", a.masked_scatter(half_of(a), filled(a, b)),
        a.masked_scatter_(half_of(a), filled(a, b))),
    OWN("index_add", a.index_add(0, backwards(a), filled(a, b)),
        a.index_add_(0, backwards(a), filled(a, b))),
    OWN("index_copy", a.index_copy(0, backwards(a), filled(a, b)),
        a.index_copy_(0, backwards(a), filled(a, b))),
    OWN("logaddexp", logaddexp(a, b), a.copy_(logaddexp(a, b))),
    OWN("add sum", a + (b * ones_like(a)).sum(), a.add_((b * ones_like(a)).sum())),
};

struct Cubed : autograd::Function<Cubed> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& a) {
    ctx->save_for_backward({a});
    return a * a * a;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& g) {
    const Tensor a = ctx->get_saved_variables()[0];
    return {g[0] * a * a * 3};
  }
};

struct DoubleExponential : autograd::Function<DoubleExponential> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& a) {
    a.mul_(2).exp_();
    ctx->mark_dirty({a});
    ctx->save_for_backward({a});
    return a;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& g) {
    return {g[0] * ctx->get_saved_variables()[0] * 2};
  }
};

}  // namespace

const std::vector<Operator>& operators() { return kOperators; }
Tensor cubed(const Tensor& a) { return Cubed::apply(a); }
void double_exponential(const Tensor& a) { DoubleExponential::apply(a); }

}  // namespace tenon::fuzz
