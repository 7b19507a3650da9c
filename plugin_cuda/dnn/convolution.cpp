// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// convolution and convolution_backward. A transposed convolution is the gradient of a plain one by
// its input. Without a plan of cuDNN the call is declined, and kernels/convolution.cu computes it.
#include "tenon/sdk/ops/convolution.h"
#include "plugin_cuda/device/primitives.cuh"
#include "plugin_cuda/dnn/plan.h"
#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/ops/convolution_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// One spatial dimension becomes two, the first of size 1.
void sizes_of(Tensor t, int64_t (&out)[5]) {
  const int nd = t.ndim() - 2, lead = nd == 1;
  out[0] = t.size(0);
  out[1] = t.size(1);
  out[2] = 1;
  for (int d = 0; d < nd; ++d) out[2 + lead + d] = t.size(2 + d);
}

ConvGeometry geometry(Tensor x, Tensor w, Tensor y, Ints stride, Ints padding, Ints dilation,
                      bool deterministic) {
  ConvGeometry g;
  const int nd = x.ndim() - 2, lead = nd == 1;
  g.dtype = x.dtype();
  g.nd = nd + lead;
  g.deterministic = deterministic;
  sizes_of(x, g.x);
  sizes_of(w, g.w);
  sizes_of(y, g.y);
  g.stride[0] = g.dilation[0] = 1;
  for (int d = 0; d < nd; ++d) {
    const auto item = [&](Ints v) { return v[v.size() == 1 ? 0 : d]; };
    g.stride[lead + d] = item(stride);
    g.padding[lead + d] = item(padding);
    g.dilation[lead + d] = item(dilation);
  }
  return g;
}

// A tensor descriptor for the two functions outside of cuDNN's graph interface.
class Plain {
 public:
  Plain(const int64_t* sizes, int64_t ndim, DType dtype, int index) {
    check_dnn(cudnnCreateTensorDescriptor(&d_), "cudnnCreateTensorDescriptor", index);
    int dims[5], strides[5], step = 1;
    for (int64_t i = ndim - 1; i >= 0; --i) {
      dims[i] = static_cast<int>(sizes[i]);
      strides[i] = step;
      step *= dims[i];
    }
    const cudnnStatus_t s =
        cudnnSetTensorNdDescriptor(d_, dnn_type(dtype), static_cast<int>(ndim), dims, strides);
    if (s != CUDNN_STATUS_SUCCESS) cudnnDestroyTensorDescriptor(d_);
    check_dnn(s, "cudnnSetTensorNdDescriptor", index);
  }
  ~Plain() { cudnnDestroyTensorDescriptor(d_); }
  Plain(const Plain&) = delete;
  cudnnTensorDescriptor_t get() const { return d_; }

 private:
  cudnnTensorDescriptor_t d_ = nullptr;
};

// One bias element per channel of `image`.
struct BiasCall {
  int index;
  DnnHandle handle;
  int64_t image_sizes[5], bias_sizes[5];
  double factors[2];
  float factors_float[2];
  const bool wide;
  BiasCall(Tensor image, int index, cudaStream_t stream, double beta)
      : index(index),
        handle(index, stream),
        factors{1, beta},
        factors_float{1, static_cast<float>(beta)},
        wide(image.dtype().bits == 64) {
    sizes_of(image, image_sizes);
    for (int64_t& s : bias_sizes) s = 1;
    bias_sizes[1] = image_sizes[1];
  }
  int64_t ndim(Tensor image) const { return image.ndim() == 3 ? 4 : image.ndim(); }
  const void* alpha() const {
    return wide ? static_cast<const void*>(&factors[0]) : &factors_float[0];
  }
  const void* beta() const {
    return wide ? static_cast<const void*>(&factors[1]) : &factors_float[1];
  }
};

void add_bias(Tensor out, Tensor bias, int index, cudaStream_t stream) {
  const BiasCall c(out, index, stream, 1);
  const Plain image(c.image_sizes, c.ndim(out), out.dtype(), index),
      b(c.bias_sizes, c.ndim(out), out.dtype(), index);
  check_dnn(cudnnAddTensor(c.handle.get(), c.alpha(), b.get(), bias.data(), c.beta(), image.get(),
                           out.data()),
            "cudnnAddTensor", index);
}

// cuDNN's function knows no bfloat16.
tn_status bias_gradient(const Call& call, const Tensor& grad_bias, const Tensor& grad) {
  const uint64_t all = (uint64_t{1} << grad.ndim()) - 1, channels = 2;
  return sum_dims(call, grad_bias, grad, all & ~channels);
}

bool aligned(Tensor t) { return !t.defined() || reinterpret_cast<uintptr_t>(t.data()) % 16 == 0; }
bool is_deterministic(const tn_call* c) { return c->flags & TN_CALL_DETERMINISTIC; }
Ints ints(const tn_value& v) { return {v.u.i64s, static_cast<int64_t>(v.len)}; }

struct Forward {
  Tensor out, input, weight;
  bool transposed;
  ConvGeometry g;
  explicit Forward(const tn_call* c)
      : out(c->out[0].u.tensor),
        input(c->in[0].u.tensor),
        weight(c->in[1].u.tensor),
        transposed(c->in[6].u.i64),
        g(geometry(transposed ? out : input, weight, transposed ? input : out, ints(c->in[3]),
                   ints(c->in[4]), ints(c->in[5]), is_deterministic(c))) {}
  ConvOp op() const { return transposed ? ConvOp::BackwardData : ConvOp::Forward; }
  ConvPointers at() const {
    return {(transposed ? out : input).data(), weight.data(), (transposed ? input : out).data()};
  }
  bool fits() const {
    return out.numel() > 0 && input.numel() > 0 && weight.numel() > 0 && aligned(out) &&
           aligned(input) && aligned(weight);
  }
};

struct Backward {
  Tensor grad_input, grad_weight, grad_bias, grad, input, weight;
  bool transposed;
  ConvGeometry g;
  static Tensor out(const tn_call* c, int k) {
    return c->out[k].tag == TN_TAG_TENSOR ? Tensor(c->out[k].u.tensor) : Tensor();
  }
  explicit Backward(const tn_call* c)
      : grad_input(out(c, 0)),
        grad_weight(out(c, 1)),
        grad_bias(out(c, 2)),
        grad(c->in[0].u.tensor),
        input(c->in[1].u.tensor),
        weight(c->in[2].u.tensor),
        transposed(c->in[7].u.i64),
        g(geometry(transposed ? grad : input, weight, transposed ? input : grad, ints(c->in[4]),
                   ints(c->in[5]), ints(c->in[6]), is_deterministic(c))) {}
  ConvOp input_op() const { return transposed ? ConvOp::Forward : ConvOp::BackwardData; }
  ConvPointers at_input() const {
    return {(transposed ? grad : grad_input).data(), weight.data(),
            (transposed ? grad_input : grad).data()};
  }
  ConvPointers at_weight() const {
    return {(transposed ? grad : input).data(), grad_weight.data(),
            (transposed ? input : grad).data()};
  }
  bool fits() const {
    for (const Tensor& t : {grad_input, grad_weight, grad, input, weight}) {
      if (t.defined() && (t.numel() == 0 || !aligned(t))) return false;
    }
    return true;
  }
};

// The plans of a call; false if cuDNN lacks one of them.
bool plans_of(const Forward& f, ConvPlan& plan, int index, cudaStream_t s) {
  if (!f.fits()) return false;
  plan = plan_of(f.g, f.op(), index, s, f.at());
  return plan.plan != nullptr;
}
bool plans_of(const Backward& b, ConvPlan (&plan)[2], int index, cudaStream_t s) {
  if (!b.fits()) return false;
  if (b.grad_input.defined() &&
      !(plan[0] = plan_of(b.g, b.input_op(), index, s, b.at_input())).plan)
    return false;
  if (!b.grad_weight.defined()) return true;
  plan[1] = plan_of(b.g, ConvOp::BackwardWeights, index, s, b.at_weight());
  return plan[1].plan != nullptr;
}

tn_status forward_workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    const Forward f(c);
    const int index = f.out.device().index;
    DeviceGuard on(index);
    ConvPlan plan;
    *bytes = 0;
    if (!plans_of(f, plan, index, native(index, c->stream))) return TN_DECLINED;
    *bytes = static_cast<uint64_t>(plan.workspace);
    return TN_OK;
  });
}

tn_status backward_workspace(tn_call* c, uint64_t* bytes) noexcept {
  return sdk::detail::report_exceptions(c, [&] {
    const Backward b(c);
    const int index = b.grad.device().index;
    DeviceGuard on(index);
    ConvPlan plan[2];
    *bytes = 0;
    if (!plans_of(b, plan, index, native(index, c->stream))) return TN_DECLINED;
    *bytes = static_cast<uint64_t>(std::max(plan[0].workspace, plan[1].workspace));
    if (b.grad_bias.defined()) *bytes = std::max(*bytes, kSumBytes);
    return TN_OK;
  });
}

tn_status convolution(Call& call, Tensor out, Tensor, Tensor, OptTensor bias, Ints, Ints, Ints,
                      bool, Ints, int64_t) {
  const Forward f(call.abi());
  const int index = out.device().index;
  DeviceGuard on(index);
  cudaStream_t s = native(index, call.stream());
  ConvPlan plan;
  if (!plans_of(f, plan, index, s)) return TN_DECLINED;
  execute(plan, index, s, f.at(), call.workspace());
  if (bias.defined()) add_bias(out, bias, index, s);
  return TN_OK;
}

tn_status convolution_backward(Call& call, Tensor, Tensor, Tensor, Tensor grad, Tensor, Tensor,
                               std::optional<Ints>, Ints, Ints, Ints, bool, Ints, int64_t, Bools) {
  const Backward b(call.abi());
  const int index = grad.device().index;
  DeviceGuard on(index);
  cudaStream_t s = native(index, call.stream());
  ConvPlan plan[2];
  if (!plans_of(b, plan, index, s)) return TN_DECLINED;
  if (b.grad_input.defined()) execute(plan[0], index, s, b.at_input(), call.workspace());
  if (b.grad_weight.defined()) execute(plan[1], index, s, b.at_weight(), call.workspace());
  return b.grad_bias.defined() ? bias_gradient(call, b.grad_bias, grad) : TN_OK;
}

}  // namespace

TN_KERNEL(convolution, convolution, dtypes("floating").capture_safe().workspace(forward_workspace));
TN_KERNEL(convolution_backward, convolution_backward,
          dtypes("floating").capture_safe().workspace(backward_workspace));

}  // namespace tenon::cuda
