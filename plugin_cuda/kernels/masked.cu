// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// masked_fill.
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"
#include "tenon/sdk/ops/masked_fill.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Operands: the result, self, the mask, the value.
template <class U>
__global__ void choose(Strided<4> at, U value, bool one) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[4];
    at.offsets(static_cast<uint32_t>(i), offset);
    char* to = at.base[0] + offset[0];
    if (read<uint8_t>(at.base[2] + offset[2]) == 0)
      write(to, read<U>(at.base[1] + offset[1]));
    else if (one)
      write(to, value);
    else
      write(to, read<U>(at.base[3]));
  }
}

void fill(const Call& call, const Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value,
          const Scalar& number) {
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.add(mask);
  loop.add_value(value.defined() ? value.data<char>() : nullptr);
  loop.finish();
  dispatch_size(out.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    const U bits = static_cast<U>(bits_of(out.dtype(), number));
    each_piece<4>(loop, [&](const Strided<4>& at) {
      launch<choose<U>>(call, shape_for(at.numel, 256, 2), at, bits, !value.defined());
    });
  });
}

}  // namespace

void fill_where(const Call& call, const Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  fill(call, out, self, mask, value, Scalar::of(int64_t{0}));
}

namespace {

tn_status masked_fill(Call& call, Tensor out, Tensor self, Tensor mask, Scalar value) {
  fill(call, out, self, mask, Tensor(), value);
  return TN_OK;
}
tn_status masked_fill_tensor(Call& call, Tensor out, Tensor self, Tensor mask, Tensor value) {
  if (value.device().type == TN_CPU) return TN_DECLINED;
  const tn_tensor cast =
      view_of(out, call.workspace<char>(), out.dtype(), Ints(nullptr, 0), nullptr, TN_TENSOR_CONTIGUOUS);
  const bool same = value.dtype() == out.dtype();
  if (!same) copy_elements(call, Tensor(&cast), value);
  fill_where(call, out, self, mask, same ? value : Tensor(&cast));
  return TN_OK;
}
tn_status value_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = Tensor(call->in[2].u.tensor).dtype() == Tensor(call->in[0].u.tensor).dtype() ? 0 : 16;
  return TN_OK;
}

}  // namespace

TN_KERNEL(masked_fill_Scalar, masked_fill,
          dtypes("all").any_strides().mixed_dtypes().broadcasts().inplace("0=0").capture_safe());
TN_KERNEL(
    masked_fill_Tensor, masked_fill_tensor,
    dtypes("all").any_strides().mixed_dtypes().broadcasts().inplace("0=0").workspace(value_workspace).capture_safe());

}  // namespace tenon::cuda
