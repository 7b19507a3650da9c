// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// nonzero and masked_select: blocks count what they select, one block adds the counts up, the host reads the total and
// makes the result, and blocks write from where theirs begins.
#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/chunks.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/masked_select.h"
#include "tenon/sdk/ops/nonzero.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kBlock = 256;
constexpr int64_t kMostChunks = 1024;

// Row-major elements, by chunks of whole blocks; starts[chunks] is the total.
struct Selection {
  const char* flags;
  Code code;
  int32_t item;
  int64_t n, chunk, chunks;
  int64_t* starts;

  TN_DEVICE int64_t marks(int64_t i) const {
    const char* p = flags + i * item;
    if (code == Code::I64) return read<int64_t>(p) != 0;
    return load<double>(p, code) != 0;
  }
};

// write(element, its place among the selected)
template <class Write>
__global__ void spread(Selection s, Write write) {
  const int64_t begin = blockIdx.x * s.chunk, end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
  int64_t at = s.starts[blockIdx.x];
  for (int64_t tile = begin; tile < end; tile += blockDim.x) {
    const int64_t i = tile + threadIdx.x;
    const int64_t mine = i < end ? s.marks(i) : 0;
    int64_t total;
    const int64_t to_here = block_scan(mine, int64_t{0}, AddCounts(), &total);
    if (mine) write(i, at + to_here - 1);
    at += total;
  }
}

struct Coordinates {
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
struct Elements {
  const U* from;
  U* out;
  TN_DEVICE void operator()(int64_t i, int64_t to) const { out[to] = from[i]; }
};

Selection select(const Call& call, const Tensor& flags) {
  const int64_t n = flags.numel(), chunk = ceil_div(std::max<int64_t>(ceil_div(n, kMostChunks), 1024), kBlock) * kBlock;
  Selection s{flags.data<char>(), code_of(flags.dtype()),   static_cast<int32_t>(item_size(flags.dtype())), n, chunk,
              ceil_div(n, chunk), call.workspace<int64_t>()};
  return s;
}

// How many are selected, with all starts in place.
int64_t count_all(const Call& call, const Selection& s) {
  if (s.n == 0) return 0;
  launch<count_marks<Selection>>(call, {s.chunks, kBlock}, s);
  launch<add_up_counts<Selection>>(call, {1, 1024}, s);
  int64_t total = 0;
  read_back(call, &total, s.starts + s.chunks, sizeof total);
  return total;
}

tn_status nonzero(Call& call, Tensor, Tensor self) {
  const Selection s = select(call, self);
  const int64_t sizes[2] = {count_all(call, s), self.ndim()};
  const Tensor out = call.alloc_out(0, Ints(sizes, 2), kInt64);
  if (sizes[0] == 0 || sizes[1] == 0) return TN_OK;
  Coordinates to{out.data<int64_t>(), self.ndim(), {}};
  for (int d = 0; d < self.ndim(); ++d) to.size[d] = self.size(d);
  launch<spread<Coordinates>>(call, {s.chunks, kBlock}, s, to);
  return TN_OK;
}

tn_status masked_select(Call& call, Tensor, Tensor self, Tensor mask) {
  const Selection s = select(call, mask);
  const int64_t total = count_all(call, s);
  const Tensor out = call.alloc_out(0, Ints(&total, 1), self.dtype());
  if (total == 0) return TN_OK;
  dispatch_size(self.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    launch<spread<Elements<U>>>(call, {s.chunks, kBlock}, s, Elements<U>{self.data<U>(), out.data<U>()});
  });
  return TN_OK;
}

tn_status starts_workspace(tn_call*, uint64_t* bytes) {
  *bytes = (kMostChunks + 1) * sizeof(int64_t);
  return TN_OK;
}

// Whether core expanded them to one shape.
tn_status same_shape(const tn_call* call) {
  const Tensor a(call->in[0].u.tensor), b(call->in[1].u.tensor);
  bool same = a.ndim() == b.ndim();
  for (int d = 0; same && d < a.ndim(); ++d) same = a.size(d) == b.size(d);
  return same ? TN_OK : TN_DECLINED;
}

}  // namespace

TN_KERNEL(nonzero, nonzero, dtypes("all").dynamic().host_blocking().workspace(starts_workspace));
TN_KERNEL(masked_select, masked_select,
          dtypes("all").mixed_dtypes().dynamic().host_blocking().workspace(starts_workspace).supports(same_shape));

}  // namespace tenon::cuda
