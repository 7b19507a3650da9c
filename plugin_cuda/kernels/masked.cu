// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// masked_fill, nonzero, masked_select and masked_scatter.
#include <vector>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/selection.cuh"
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/masked_fill.h"
#include "tenon/sdk/ops/masked_scatter.h"
#include "tenon/sdk/ops/masked_select.h"
#include "tenon/sdk/ops/nonzero.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Operands: the result, self, the mask, the value.
template <class U>
__global__ void fill_masked(Strided<4> at, U value, bool one) {
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

void fill(const Call& call, const Tensor& out, const Tensor& self, const Tensor& mask,
          const Tensor& value, const Scalar& scalar) {
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.add(mask);
  loop.add_value(value.defined() ? value.data<char>() : nullptr);
  loop.finish();
  dispatch_size(out.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    const U bits = static_cast<U>(bits_of(out.dtype(), scalar));
    for_each_piece<4>(loop, [&](const Strided<4>& at) {
      launch<fill_masked<U>>(call, shape_for(call, at.numel, 256, 2), at, bits, !value.defined());
    });
  });
}

}  // namespace

void fill_where(const Call& call, const Tensor& out, const Tensor& self, const Tensor& mask,
                const Tensor& value) {
  fill(call, out, self, mask, value, Scalar::of(int64_t{0}));
}

namespace {

tn_status masked_fill(Call& call, Tensor out, Tensor self, Tensor mask, Scalar value) {
  fill(call, out, self, mask, Tensor(), value);
  return TN_OK;
}
tn_status masked_fill_tensor(Call& call, Tensor out, Tensor self, Tensor mask, Tensor value) {
  if (value.device().type == TN_CPU) return TN_DECLINED;
  const tn_tensor cast = view_of(out, call.workspace<char>(), out.dtype(), Ints(nullptr, 0),
                                 nullptr, TN_TENSOR_CONTIGUOUS);
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
TN_KERNEL(masked_fill_Tensor, masked_fill_tensor,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .broadcasts()
              .inplace("0=0")
              .workspace(value_workspace)
              .capture_safe());

namespace {

struct WriteCoordinates {
  int64_t* out;
  int32_t rank;
  int64_t size[kMaxDims];
  TN_DEVICE void operator()(int64_t i, int64_t to) const {
    for (int d = rank - 1; d >= 0; --d) {
      out[to * rank + d] = i % size[d];
      i /= size[d];
    }
  }
};
template <class U>
struct CopySelected {
  const U* from;
  U* out;
  TN_DEVICE void operator()(int64_t i, int64_t to) const { out[to] = from[i]; }
};
// From a source that may be too short.
template <class U>
struct CopySource {
  const U* from;
  U* out;
  int64_t size;
  TN_DEVICE void operator()(int64_t i, int64_t source_index) const {
    if (source_index < size) out[i] = from[source_index];
  }
};

__global__ void check_selected(const int64_t* selected, int64_t size, Faults faults) {
  if (*selected > size) faults.report(TN_ERROR_VALUE, *selected, size + 1);
}

tn_status nonzero(Call& call, Tensor, Tensor self) {
  const Selection s =
      select(self.data<char>(), self.dtype(), self.numel(), call.workspace<int64_t>());
  const int64_t sizes[2] = {count_all(call, s), self.ndim()};
  const Tensor out = call.alloc_out(0, Ints(sizes, 2), kInt64);
  if (sizes[0] == 0 || sizes[1] == 0) return TN_OK;
  WriteCoordinates to{out.data<int64_t>(), self.ndim(), {}};
  for (int d = 0; d < self.ndim(); ++d) to.size[d] = self.size(d);
  launch_scatter_selected(call, s, to);
  return TN_OK;
}

// The broadcast shape of two operands, and memory for expanded copies: first self's, then the
// mask's.
struct Common {
  std::vector<int64_t> sizes, strides;
  int64_t numel = 1;
  uint64_t self_bytes = 0, mask_bytes = 0;

  Common(const Tensor& self, const Tensor& mask)
      : sizes(static_cast<std::size_t>(std::max(self.ndim(), mask.ndim())), 1),
        strides(sizes.size()) {
    for (const Tensor& t : {self, mask}) {
      for (int d = 0; d < t.ndim(); ++d) {
        int64_t& s = sizes[sizes.size() - static_cast<std::size_t>(t.ndim() - d)];
        if (t.size(d) != 1) s = t.size(d);
      }
    }
    for (std::size_t d = sizes.size(); d-- > 0;) {
      strides[d] = numel;
      numel *= sizes[d];
    }
    if (!fits(self))
      self_bytes = static_cast<uint64_t>((numel * item_size(self.dtype()) + 63) / 64 * 64);
    if (!fits(mask)) mask_bytes = static_cast<uint64_t>(numel);
  }
  bool fits(const Tensor& t) const {
    if (!t.contiguous() || t.ndim() != static_cast<int>(sizes.size())) return false;
    for (int d = 0; d < t.ndim(); ++d) {
      if (t.size(d) != sizes[static_cast<std::size_t>(d)]) return false;
    }
    return true;
  }
  // The elements of t in that shape, row-major.
  const char* dense(const Call& call, const Tensor& t, char* memory) const {
    if (fits(t)) return t.data<char>();
    const Ints shape(sizes.data(), static_cast<int64_t>(sizes.size()));
    const tn_tensor view =
        view_of(t, memory, t.dtype(), shape, strides.data(), TN_TENSOR_CONTIGUOUS);
    copy_elements(call, Tensor(&view), t);
    return memory;
  }
};

tn_status masked_select(Call& call, Tensor, Tensor self, Tensor mask) {
  const Common shape(self, mask);
  char* memory = call.workspace<char>();
  const char* flags = shape.dense(call, mask, memory + shape.self_bytes);
  auto* starts = reinterpret_cast<int64_t*>(memory + call.workspace_bytes() - kStartsBytes);
  const Selection s = select(flags, mask.dtype(), shape.numel, starts);
  const int64_t total = count_all(call, s);
  const Tensor out = call.alloc_out(0, Ints(&total, 1), self.dtype());
  if (total == 0) return TN_OK;
  const char* elements = shape.dense(call, self, memory);
  dispatch_size(self.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    launch_scatter_selected(call, s,
                            CopySelected<U>{reinterpret_cast<const U*>(elements), out.data<U>()});
  });
  return TN_OK;
}

tn_status masked_scatter(Call& call, Tensor out, Tensor self, Tensor mask, Tensor source) {
  copy_unless_same(call, out, self);
  const Selection s =
      select(mask.data<char>(), mask.dtype(), mask.numel(), call.workspace<int64_t>());
  if (s.n == 0) return TN_OK;
  count_selected(call, s);
  launch<check_selected>(call, exactly(1, 1), s.starts + s.chunks, source.numel(), Faults(call));
  dispatch_size(out.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    launch_scatter_selected(call, s,
                            CopySource<U>{source.data<U>(), out.data<U>(), source.numel()});
  });
  return TN_OK;
}

tn_status starts_workspace(tn_call*, uint64_t* bytes) {
  *bytes = kStartsBytes;
  return TN_OK;
}
tn_status select_workspace(tn_call* call, uint64_t* bytes) {
  const Common shape{Tensor(call->in[0].u.tensor), Tensor(call->in[1].u.tensor)};
  *bytes = shape.self_bytes + (shape.mask_bytes + 7) / 8 * 8 + kStartsBytes;
  return TN_OK;
}

}  // namespace

TN_KERNEL(nonzero, nonzero, dtypes("all").dynamic().host_blocking().workspace(starts_workspace));
TN_KERNEL(masked_select, masked_select,
          dtypes("all").any_strides().mixed_dtypes().dynamic().host_blocking().workspace(
              select_workspace));
TN_KERNEL(masked_scatter, masked_scatter,
          dtypes("all").mixed_dtypes().inplace("0=0").workspace(starts_workspace).capture_safe());

}  // namespace tenon::cuda
