// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// copy: every pair of dtypes, any strides. Elements of the same dtype are moved by size, 16 bytes
// at a time if both sides are contiguous, and by tiles in shared memory for transposes.
#include "plugin_cuda/device/copy.cuh"

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"
#include "tenon/sdk/ops/clone.h"
#include "tenon/sdk/ops/copy.h"
#include "tenon/sdk/ops/flip.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct alignas(16) Bytes16 {
  uint32_t w[4];
};

__global__ void move_dense(char* to, const char* from, int64_t bytes) {
  const int64_t packs = bytes / 16;
  for (int64_t i = global_thread(); i < packs; i += global_threads()) {
    reinterpret_cast<Bytes16*>(to)[i] = reinterpret_cast<const Bytes16*>(from)[i];
  }
  for (int64_t i = packs * 16 + global_thread(); i < bytes; i += global_threads()) to[i] = from[i];
}

template <class U>
__global__ void move(Strided<2> at) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[2];
    at.offsets(static_cast<uint32_t>(i), offset);
    write(at.base[0] + offset[0], read<U>(at.base[1] + offset[1]));
  }
}

// Dimension 0 of `rest` is the one along which the output is dense, 1 the input's; tiles of 32 by
// 32 of these.
struct Transposed {
  Strided<2> rest;  // the other dimensions
  int64_t n0, n1;
  int64_t out1, in0;  // strides in bytes; out0 and in1 are an element
};

template <class U>
__global__ void transpose(Transposed c) {
  TN_SHARED(U, tile, 32 * 33);
  const int64_t across = (c.n0 + 31) / 32, down = (c.n1 + 31) / 32,
                tiles = across * down * c.rest.numel;
  const int x = static_cast<int>(threadIdx.x % 32), y0 = static_cast<int>(threadIdx.x / 32);
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    int64_t offset[2];
    c.rest.offsets(static_cast<uint32_t>(t / (across * down)), offset);
    const int64_t i0 = t % across * 32, j0 = t / across % down * 32;
    for (int y = y0; y < 32; y += 8) {
      if (i0 + y < c.n0 && j0 + x < c.n1) {
        tile[y * 33 + x] =
            read<U>(c.rest.base[1] + offset[1] + (i0 + y) * c.in0 + (j0 + x) * int64_t{sizeof(U)});
      }
    }
    __syncthreads();
    for (int y = y0; y < 32; y += 8) {
      if (i0 + x < c.n0 && j0 + y < c.n1) {
        const U v = tile[x * 33 + y];
        write(c.rest.base[0] + offset[0] + (i0 + x) * int64_t{sizeof(U)} + (j0 + y) * c.out1, v);
      }
    }
    __syncthreads();
  }
}

template <class C>
__global__ void cast(Strided<2> at, Code to, Code from) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[2];
    at.offsets(static_cast<uint32_t>(i), offset);
    store(at.base[0] + offset[0], to, load<C>(at.base[1] + offset[1], from));
  }
}

// The dimension along which the source is contiguous while the output is not; -1: tiles do not
// help.
int transposed_dim(const StridedLoop& loop, int64_t item) {
  if (loop.strides[0][0] != item || loop.strides[0][1] == item || loop.strides[0][1] == 0 ||
      loop.sizes[0] < 16)
    return -1;
  for (int d = 1; d < loop.ndim; ++d) {
    if (loop.strides[d][1] == item && loop.sizes[d] >= 16) return d;
  }
  return -1;
}

template <class U>
void move_transposed(const Call& call, const StridedLoop& loop, int cross) {
  StridedLoop rest(Ints(nullptr, 0));
  rest.operands = 2;
  rest.numel = loop.numel / (loop.sizes[0] * loop.sizes[cross]);
  for (int k = 0; k < 2; ++k) rest.base[k] = loop.base[k];
  for (int d = 1; d < loop.ndim; ++d) {
    if (d == cross) continue;
    rest.sizes[rest.ndim] = loop.sizes[d];
    for (int k = 0; k < 2; ++k) rest.strides[rest.ndim][k] = loop.strides[d][k];
    ++rest.ndim;
  }
  rest.finish();
  for_each_piece<2>(rest, [&](const Strided<2>& piece) {
    const Transposed c{piece, loop.sizes[0], loop.sizes[cross], loop.strides[cross][0],
                       loop.strides[0][1]};
    const int64_t tiles = ceil_div(c.n0, 32) * ceil_div(c.n1, 32) * piece.numel;
    launch<transpose<U>>(call, exactly(std::min(tiles, 4 * max_blocks(call)), 256), c);
  });
}

}  // namespace

void copy_elements(const Call& call, const Tensor& out, const Tensor& src) {
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(src);
  loop.finish();
  if (loop.numel == 0) return;
  if (out.dtype() != src.dtype()) {
    with_compute(src.dtype(), [&](auto tag) {
      for_each_piece<2>(loop, [&](const Strided<2>& at) {
        launch<cast<tn_type(tag)>>(call, shape_for(call, at.numel, 256, 2), at,
                                   code_of(out.dtype()), code_of(src.dtype()));
      });
    });
    return;
  }
  const int64_t item = item_size(out.dtype());
  const auto addresses =
      reinterpret_cast<uintptr_t>(loop.base[0]) | reinterpret_cast<uintptr_t>(loop.base[1]);
  if (loop.ndim == 1 && loop.strides[0][0] == item && loop.strides[0][1] == item &&
      addresses % 16 == 0) {
    const int64_t bytes = loop.numel * item;
    launch<move_dense>(call, shape_for(call, bytes, 256, 16), loop.base[0], loop.base[1], bytes);
    return;
  }
  const int cross = transposed_dim(loop, item);
  dispatch_size(out.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    if (cross > 0) return move_transposed<U>(call, loop, cross);
    for_each_piece<2>(loop, [&](const Strided<2>& at) {
      launch<move<U>>(call, shape_for(call, at.numel, 256, 2), at);
    });
  });
}

namespace {

tn_status copy(Call& call, Tensor out, Tensor, Tensor src, bool) {
  copy_elements(call, out, src);
  return TN_OK;
}
tn_status clone(Call& call, Tensor out, Tensor self, std::optional<int64_t>) {
  copy_elements(call, out, self);
  return TN_OK;
}

// A view that begins at the other end of each of these dimensions, with negated strides.
tn_status flip(Call& call, Tensor out, Tensor self, Ints dims) {
  int64_t strides[kMaxDims];
  tn_tensor view = *self.abi();
  for (int d = 0; d < self.ndim(); ++d) strides[d] = self.stride(d);
  view.strides = strides;
  view.flags &= ~static_cast<uint32_t>(TN_TENSOR_CONTIGUOUS);
  int64_t begin = 0;
  for (int64_t given : dims) {
    const int d = wrap_dim(given, self.ndim());
    if (self.ndim() == 0) break;
    begin += (self.size(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  view.byte_offset += static_cast<uint64_t>(begin * item_size(self.dtype()));
  if (out.numel() > 0) copy_elements(call, out, Tensor(&view));
  return TN_OK;
}

}  // namespace

TN_KERNEL(flip, flip, dtypes("all").any_strides().capture_safe());
TN_KERNEL(copy, copy,
          dtypes("all").any_strides().mixed_dtypes().broadcasts().inplace("0=0").capture_safe());
TN_KERNEL(clone, clone, dtypes("all").any_strides().capture_safe());

}  // namespace tenon::cuda
