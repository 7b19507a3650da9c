// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// AG: messages about histories.
#include "tenon/compat/pytorch03.h"
#include "tests/messages/table.h"

namespace tenon::messages {
namespace {

Tensor leaf() { return tensor({1., 2., 3.}, requires_grad()); }

struct Exp : autograd::Function<Exp> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, int64_t fault) {
    ctx->saved_data["fault"] = fault;
    return x.exp();
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          autograd::variable_list grads) {
    if (ctx->saved_data["fault"].toInt() == 1) return {grads[0], {}, grads[0]};
    return {ones({7}), {}};
  }
};

const Row rows[] = {
    error("AG01", [] { ones({1}).backward(); }, {"element 0", "does not require grad", "grad_fn"}),
    error("AG02",
          [] {
            const Tensor y = leaf().exp();
            y.detach().zero_();
            y.sum().backward();
          },
          {"needed for gradient", "modified by an in-place operation", "ExpBackward", "version 0",
           "now 1"}),
    error("AG03", [] { (leaf() * 2).backward(); }, {"scalar outputs", "3 elements"}),
    error("AG04",
          [] {
            const Tensor loss = leaf().exp().sum();
            loss.backward();
            loss.backward();
          },
          {"buffers are freed", "retain_graph", "backward a second time"}),
    error("AG05",
          [] {
            const Tensor x = leaf();
            autograd::grad({leaf().sum()}, {x});
          },
          {"input 0", "not used in the graph", "allow_unused"}),
    error("AG06",
          [] {
            const Tensor x = leaf();
            autograd::grad({x.sum()}, {ones({1})});
          },
          {"input 0", "does not require grad"}),
    error("AG07", [] { leaf().add_(1); }, {"add", "leaf", "in-place"}),
    error("AG08",
          [] {
            Tensor out = empty({3});
            const Tensor x = leaf();
            add_out(out, x, x);
          },
          {"add", "out=", "does not support differentiation", "self"}),
    error("AG09", [] { (leaf() * 2)[0].detach_(); }, {"view", "in place", "detach()"}),
    error("AG10", [] { leaf().resize_({2}); }, {"resize", "requires grad"}),
    error("AG11", [] { leaf().histc(3).sum().backward(); },
          {"derivative", "histc", "self", "not implemented"}),
    error("AG12", [] { ones({1}).retain_grad(); }, {"retain_grad", "requires grad"}),
    error("AG13",
          [] {
            const Tensor x = leaf();
            x.register_hook([](const Tensor&) { return ones({5}); });
            x.sum().backward();
          },
          {"hook", "different size/type/device", "[5]", "[3]"}),
    error("AG14", [] { Exp::apply(leaf(), 1).sum().backward(); },
          {"Exp", "returned 3 gradients", "expected 2"}),
    warning("AG15", [] { compat::v03::Variable(ones({1}), false, true); },
            {"volatile", "removed", "NoGradGuard"}),
    error("AG16", [] { Exp::apply(leaf(), 2).sum().backward(); },
          {"Exp", "invalid gradient at 0", "[7]", "[3]"}),
};

INSTANTIATE_TEST_SUITE_P(Autograd, Messages, testing::ValuesIn(rows), name_of);

}  // namespace
}  // namespace tenon::messages
