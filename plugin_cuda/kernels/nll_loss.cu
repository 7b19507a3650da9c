// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// nll_loss of vectors and of images. One block computes a sum, in a fixed order.
#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "tenon/sdk/ops/nll_loss2d_backward.h"
#include "tenon/sdk/ops/nll_loss2d_forward.h"
#include "tenon/sdk/ops/nll_loss_backward.h"
#include "tenon/sdk/ops/nll_loss_forward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

enum Reduction { kNone, kMean, kSum };

struct Loss {
  Code code;
  int32_t item;
  const char *weight, *target;
  Code target_code;
  int64_t n, classes, inner;  // pixels of all images, and of one
  int64_t ignored;
  Faults faults;

  // The class of pixel i; -1: ignored.
  TN_DEVICE int64_t at(int64_t i) const {
    const int64_t c = load<int64_t>(target + i * code_bytes(target_code), target_code);
    if (c == ignored) return -1;
    if (c >= 0 && c < classes) return c;
    faults.report(TN_ERROR_INDEX, c, classes);
    return -1;
  }
  TN_DEVICE int64_t element(int64_t i, int64_t c) const {
    return (i / inner * classes + c) * inner + i % inner;
  }
  template <class C>
  TN_DEVICE C get(const char* p, int64_t i) const {
    return load<C>(p + i * item, code);
  }
  template <class C>
  TN_DEVICE C weight_of(int64_t c) const {
    return weight == nullptr ? C(1) : get<C>(weight, c);
  }
};

template <class C>
struct Sums {
  C loss, weight;
};
struct AddSums {
  template <class C>
  TN_DEVICE Sums<C> operator()(const Sums<C>& a, const Sums<C>& b) const {
    return {a.loss + b.loss, a.weight + b.weight};
  }
};

template <class C>
__global__ void losses_of_pixels(Loss l, const char* self, char* out, char* total) {
  for (int64_t i = global_thread(); i < l.n; i += global_threads()) {
    const int64_t c = l.at(i);
    const C loss = c < 0 ? C(0) : -l.weight_of<C>(c) * l.get<C>(self, l.element(i, c));
    store(out + i * l.item, l.code, loss);
  }
  if (global_thread() == 0) store(total, l.code, C(0));
}

template <class C>
__global__ void reduce_losses(Loss l, const char* self, char* out, char* total, bool mean) {
  Sums<C> sums{C(0), C(0)};
  for (int64_t i = threadIdx.x; i < l.n; i += blockDim.x) {
    const int64_t c = l.at(i);
    if (c < 0) continue;
    const C w = l.weight_of<C>(c);
    sums.loss -= w * l.get<C>(self, l.element(i, c));
    sums.weight += w;
  }
  sums = block_reduce(sums, Sums<C>{C(0), C(0)}, AddSums());
  if (threadIdx.x != 0) return;
  store(out, l.code, mean ? sums.loss / sums.weight : sums.loss);
  store(total, l.code, sums.weight);
}

template <class C>
__global__ void gradient(Loss l, const char* grad, const char* total, char* out,
                         int64_t reduction) {
  for (int64_t i = global_thread(); i < l.n; i += global_threads()) {
    const int64_t c = l.at(i);
    if (c < 0) continue;
    const C g = -l.weight_of<C>(c) * l.get<C>(grad, reduction == kNone ? i : 0);
    store(out + l.element(i, c) * l.item, l.code, reduction == kMean ? g / l.get<C>(total, 0) : g);
  }
}

Loss loss_of(const Call& call, const Tensor& self, const Tensor& target, const Tensor& weight,
             int64_t ignored) {
  const int channel = self.ndim() == 1 ? 0 : 1;
  Loss l{code_of(self.dtype()),
         static_cast<int32_t>(item_size(self.dtype())),
         weight.defined() ? weight.data<char>() : nullptr,
         target.data<char>(),
         code_of(target.dtype()),
         target.numel(),
         self.size(channel),
         1,
         ignored,
         Faults(call)};
  for (int d = channel + 1; d < self.ndim(); ++d) l.inner *= self.size(d);
  return l;
}

template <class C>
void forward_as(const Call& call, const Loss& l, const Tensor& out, const Tensor& total,
                const Tensor& self, int64_t reduction) {
  if (reduction == kNone) {
    launch<losses_of_pixels<C>>(call, shape_for(call, l.n), l, self.data<char>(), out.data<char>(),
                                total.data<char>());
  } else {
    const int block = l.n >= 4096 ? 1024 : l.n >= 256 ? 256 : 32;
    launch<reduce_losses<C>>(call, {1, block}, l, self.data<char>(), out.data<char>(),
                             total.data<char>(), reduction == kMean);
  }
}

tn_status forward(Call& call, Tensor out, Tensor total, Tensor self, Tensor target,
                  OptTensor weight, int64_t reduction, int64_t ignored) {
  const Loss l = loss_of(call, self, target, weight, ignored);
  // The loss of one sample is its sum, and comes with its weight.
  if (reduction == kNone && self.ndim() == 1) reduction = kSum;
  if (self.dtype() == kFloat64)
    forward_as<double>(call, l, out, total, self, reduction);
  else
    forward_as<float>(call, l, out, total, self, reduction);
  return TN_OK;
}

tn_status backward(Call& call, Tensor out, Tensor grad, Tensor self, Tensor target,
                   OptTensor weight, int64_t reduction, int64_t ignored, Tensor total) {
  const Loss l = loss_of(call, self, target, weight, ignored);
  fill_elements(call, out, 0);
  if (l.n == 0) return TN_OK;
  if (self.dtype() == kFloat64)
    launch<gradient<double>>(call, shape_for(call, l.n), l, grad.data<char>(), total.data<char>(),
                             out.data<char>(), reduction);
  else
    launch<gradient<float>>(call, shape_for(call, l.n), l, grad.data<char>(), total.data<char>(),
                            out.data<char>(), reduction);
  return TN_OK;
}

}  // namespace

TN_KERNEL(nll_loss_forward, forward, dtypes("floating").capture_safe());
TN_KERNEL(nll_loss2d_forward, forward, dtypes("floating").capture_safe());
TN_KERNEL(nll_loss_backward, backward, dtypes("floating").capture_safe());
TN_KERNEL(nll_loss2d_backward, backward, dtypes("floating").capture_safe());

}  // namespace tenon::cuda
