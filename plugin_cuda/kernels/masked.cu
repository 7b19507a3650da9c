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
__global__ void choose(Strided<4> at, U value, bool one, Code value_code, Code code) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[4];
    at.offsets(static_cast<uint32_t>(i), offset);
    char* to = at.base[0] + offset[0];
    if (read<uint8_t>(at.base[2] + offset[2]) == 0)
      write(to, read<U>(at.base[1] + offset[1]));
    else if (one)
      write(to, value);
    else if (value_code == code)
      write(to, read<U>(at.base[3]));
    else if (value_code == Code::F64 || code == Code::F64)
      store(to, code, load<double>(at.base[3], value_code));
    else
      store(to, code, load<float>(at.base[3], value_code));
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
  const Code code = code_of(out.dtype()), value_code = value.defined() ? code_of(value.dtype()) : code;
  dispatch_size(out.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    const U bits = static_cast<U>(bits_of(out.dtype(), number));
    each_piece<4>(loop, [&](const Strided<4>& at) {
      launch<choose<U>>(call, shape_for(at.numel, 256, 2), at, bits, !value.defined(), value_code, code);
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
  const bool plain = value.dtype() == out.dtype() || (is_floating(value.dtype()) && is_floating(out.dtype()));
  if (value.device().type == TN_CPU || !plain) return TN_DECLINED;
  fill_where(call, out, self, mask, value);
  return TN_OK;
}

}  // namespace

TN_KERNEL(masked_fill_Scalar, masked_fill,
          dtypes("all").any_strides().mixed_dtypes().broadcasts().inplace("0=0").capture_safe());
TN_KERNEL(masked_fill_Tensor, masked_fill_tensor,
          dtypes("all").any_strides().mixed_dtypes().broadcasts().inplace("0=0").capture_safe());

}  // namespace tenon::cuda
