// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _fused_rnn and its gradient. The operator's weights are all parameters, concatenated; they are
// copied to the offsets that cuDNN wants, and gradients back. What cuDNN does not support is
// declined and decomposed into time steps.
#include "plugin_cuda/dnn/plan.h"
#include "plugin_cuda/dnn/rnn_plan.h"
#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/ops/_fused_rnn.h"
#include "tenon/sdk/ops/_fused_rnn_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

Tensor tensor(const tn_value& v) { return v.tag == TN_TAG_TENSOR ? Tensor(v.u.tensor) : Tensor(); }

// The arguments that both operators have, from argument `first` on.
struct Rnn {
  Tensor input, weight, hx, cx;
  RnnGeometry g;
  int index;

  Rnn(const tn_call* c, int first, int codes, bool train)
      : input(tensor(c->in[first])),
        weight(tensor(c->in[first + 1])),
        hx(tensor(c->in[first + 2])),
        cx(tensor(c->in[first + 3])),
        index(input.device().index) {
    g.dtype = input.dtype();
    g.mode = c->in[codes].u.i64;
    g.has_biases = c->in[codes + 1].u.i64;
    g.bidirectional = c->in[codes + 2].u.i64;
    g.train = train;
    g.time = input.size(0);
    g.batch = input.size(1);
    g.features = input.size(2);
    g.hidden = hx.size(2);
    g.layers = hx.size(0) / g.directions();
  }
  // cuDNN's sums have no fixed order, so not in deterministic mode.
  bool fits(const tn_call* c) const {
    if (c->flags & TN_CALL_DETERMINISTIC) return false;
    for (uint32_t i = 0; i < c->n_in; ++i) {
      const Tensor t = tensor(c->in[i]);
      if (t.defined() && (t.numel() == 0 || reinterpret_cast<uintptr_t>(t.data()) % 16 != 0))
        return false;
    }
    return g.time <= INT32_MAX && g.batch <= INT32_MAX && g.features <= INT32_MAX &&
           g.hidden <= INT32_MAX / 8;
  }
};

// Splits a call's workspace.
class Parts {
 public:
  explicit Parts(void* base) : base_(static_cast<char*>(base)) {}
  char* allocate(std::size_t bytes) {
    char* const at = base_ ? base_ + used_ : nullptr;
    used_ += (bytes + 255) / 256 * 256;
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

struct ForwardParts {
  char *weights, *work;
  ForwardParts(Parts& p, const RnnPlan& plan)
      : weights(p.allocate(plan.weights())), work(p.allocate(plan.workspace())) {}
};

struct Backward : Rnn {
  Tensor grad_output, grad_hy, grad_cy, output, reserve, grad_input, grad_weight, grad_hx, grad_cx;
  explicit Backward(const tn_call* c)
      : Rnn(c, 3, 9, true),
        grad_output(tensor(c->in[0])),
        grad_hy(tensor(c->in[1])),
        grad_cy(tensor(c->in[2])),
        output(tensor(c->in[7])),
        reserve(tensor(c->in[8])),
        grad_input(tensor(c->out[0])),
        grad_weight(tensor(c->out[1])),
        grad_hx(tensor(c->out[2])),
        grad_cx(tensor(c->out[3])) {}
  // A reserve of another size is not from this kernel.
  bool has_reserve_of(const RnnPlan& plan) const {
    return reserve.dtype().bits == 8 && static_cast<std::size_t>(reserve.numel()) == plan.reserve();
  }
};

// The reserve is copied, since cuDNN overwrites it; the input's gradient is always computed.
struct BackwardParts {
  char *weights, *grad_weights, *work, *reserve, *grad_input;
  BackwardParts(Parts& p, const RnnPlan& plan, const Backward& b)
      : weights(p.allocate(plan.weights())),
        grad_weights(b.grad_weight.defined() ? p.allocate(plan.weights()) : nullptr),
        work(p.allocate(plan.workspace())),
        reserve(p.allocate(plan.reserve())),
        grad_input(b.grad_input.defined() ? b.grad_input.data<char>()
                                          : p.allocate(static_cast<std::size_t>(b.input.numel()) *
                                                       b.g.dtype.bits / 8)) {}
};

void copy(void* to, const void* from, std::size_t bytes, int index, cudaStream_t s) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s), "cudaMemcpyAsync", index);
}

// There may be gaps between the runs.
void fill_weights(RnnPlan& plan, const Rnn& r, char* space, cudnnHandle_t handle, cudaStream_t s) {
  check(cudaMemsetAsync(space, 0, plan.weights(), s), "cudaMemsetAsync", r.index);
  for (const RnnPlan::Run& run : plan.runs(handle, space)) {
    copy(space + run.space, r.weight.data<char>() + run.flat, run.bytes, r.index, s);
  }
}

RnnPlan* plan_of(const Rnn& r, const tn_call* c) {
  return r.fits(c) ? rnn_plan(r.g, r.index, native(r.index, c->stream)) : nullptr;
}

tn_status forward_workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    const Rnn r(c, 0, 4, c->in[7].u.i64);
    DeviceGuard on(r.index);
    const RnnPlan* plan = plan_of(r, c);
    if (!plan) return TN_DECLINED;
    Parts p(nullptr);
    (void)ForwardParts(p, *plan);
    *bytes = p.used();
    return TN_OK;
  });
}

tn_status backward_workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    const Backward b(c);
    DeviceGuard on(b.index);
    const RnnPlan* plan = plan_of(b, c);
    if (!plan || !b.has_reserve_of(*plan)) return TN_DECLINED;
    Parts p(nullptr);
    (void)BackwardParts(p, *plan, b);
    *bytes = p.used();
    return TN_OK;
  });
}

void* data_or_null(Tensor t) { return t.defined() ? t.data() : nullptr; }

tn_status fused_rnn(Call& call, Tensor, Tensor, Tensor, Tensor, Tensor input, Tensor, Tensor hx,
                    OptTensor, int64_t, bool, bool, bool train) {
  const Rnn r(call.abi(), 0, 4, train);
  DeviceGuard on(r.index);
  cudaStream_t s = native(r.index, call.stream());
  RnnPlan* plan = plan_of(r, call.abi());
  if (!plan) return TN_DECLINED;
  const int64_t sizes[] = {r.g.time, r.g.batch, r.g.hidden * r.g.directions()}, none = 0;
  const int64_t kept = static_cast<int64_t>(train ? plan->reserve() : 0);
  const Tensor out = call.alloc_out(0, Ints(sizes, 3), r.g.dtype),
               hy = call.alloc_out(1, hx.sizes(), r.g.dtype),
               cy = call.alloc_out(2, r.cx.defined() ? hx.sizes() : Ints(&none, 1), r.g.dtype),
               reserve = call.alloc_out(3, Ints(&kept, 1), kUInt8);
  Parts p(call.workspace());
  const ForwardParts parts(p, *plan);
  const DnnHandle handle(r.index, s);
  fill_weights(*plan, r, parts.weights, handle.get(), s);
  check_dnn(cudnnRNNForward(handle.get(), plan->rnn(),
                            train ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, nullptr,
                            plan->x(), input.data(), plan->y(), out.data(), plan->h(), hx.data(),
                            hy.data(), plan->h(), data_or_null(r.cx),
                            r.cx.defined() ? cy.data() : nullptr, plan->weights(), parts.weights,
                            plan->workspace(), parts.work, static_cast<std::size_t>(kept),
                            kept ? reserve.data() : nullptr),
            "cudnnRNNForward", r.index);
  launched(cudaSuccess, r.index, s, "recurrent layers of cuDNN");
  return TN_OK;
}

void weight_gradient(RnnPlan& plan, const Backward& b, const BackwardParts& parts,
                     cudnnHandle_t handle, cudaStream_t s) {
  check(cudaMemsetAsync(parts.grad_weights, 0, plan.weights(), s), "cudaMemsetAsync",
        b.index);  // cuDNN accumulates
  check_dnn(cudnnRNNBackwardWeights_v8(handle, plan.rnn(), CUDNN_WGRAD_MODE_ADD, nullptr, plan.x(),
                                       b.input.data(), plan.h(), b.hx.data(), plan.y(),
                                       b.output.data(), plan.weights(), parts.grad_weights,
                                       plan.workspace(), parts.work, plan.reserve(), parts.reserve),
            "cudnnRNNBackwardWeights_v8", b.index);
  for (const RnnPlan::Run& run : plan.runs(handle, parts.grad_weights)) {
    copy(b.grad_weight.data<char>() + run.flat, parts.grad_weights + run.space, run.bytes, b.index,
         s);
  }
}

tn_status fused_rnn_backward(Call& call, Tensor, Tensor, Tensor, Tensor, Tensor, OptTensor,
                             OptTensor, Tensor, Tensor, Tensor, OptTensor, Tensor, Tensor, int64_t,
                             bool, bool, Bools) {
  const Backward b(call.abi());
  DeviceGuard on(b.index);
  cudaStream_t s = native(b.index, call.stream());
  RnnPlan* plan = plan_of(b, call.abi());
  if (!plan || !b.has_reserve_of(*plan)) return TN_DECLINED;
  Parts p(call.workspace());
  const BackwardParts parts(p, *plan, b);
  const DnnHandle handle(b.index, s);
  fill_weights(*plan, b, parts.weights, handle.get(), s);
  copy(parts.reserve, b.reserve.data(), plan->reserve(), b.index, s);
  check_dnn(cudnnRNNBackwardData_v8(handle.get(), plan->rnn(), nullptr, plan->y(), b.output.data(),
                                    b.grad_output.data(), plan->x(), parts.grad_input, plan->h(),
                                    b.hx.data(), data_or_null(b.grad_hy), data_or_null(b.grad_hx),
                                    plan->h(), data_or_null(b.cx), data_or_null(b.grad_cy),
                                    data_or_null(b.grad_cx), plan->weights(), parts.weights,
                                    plan->workspace(), parts.work, plan->reserve(), parts.reserve),
            "cudnnRNNBackwardData_v8", b.index);
  if (b.grad_weight.defined()) weight_gradient(*plan, b, parts, handle.get(), s);
  launched(cudaSuccess, b.index, s, "gradient of recurrent layers of cuDNN");
  return TN_OK;
}

}  // namespace

TN_KERNEL(_fused_rnn, fused_rnn,
          dtypes("floating").dynamic().capture_safe().workspace(forward_workspace));
TN_KERNEL(_fused_rnn_backward, fused_rnn_backward,
          dtypes("floating").capture_safe().workspace(backward_workspace));

}  // namespace tenon::cuda
