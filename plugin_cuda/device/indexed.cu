// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/device/indexed.cuh"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class U, int N>
__global__ void gather_elements(Strided<N> at, Indices by) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *to, *from;
    find_addresses(at, by, i, &to, &from);
    write(to, read<U>(from));
  }
}

template <class U, int N>
__global__ void scatter_elements(Strided<N> at, Indices by) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    find_addresses(at, by, i, &from, &to);
    write(to, read<U>(from));
  }
}

// Without a dense operand: one value for all.
template <class U, int N>
__global__ void scatter_scalar(Strided<N> at, Indices by, U value) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    find_addresses(at, by, i, &from, &to);
    write(to, value);
  }
}

// f(Type<T>) with the widest type that the elements of a loop can be moved as.
template <class F>
void dispatch_width(IndexLoop& loop, DType dtype, F&& f) {
  const int64_t bytes = loop.widen(item_size(dtype));
  if (bytes == 16) return f(Type<Pack<uint64_t, 2>>{});
  dtype.bits = static_cast<uint8_t>(8 * bytes);
  dispatch_size(dtype, f);
}

}  // namespace

void launch_gather(const Call& call, IndexLoop& loop, DType dtype) {
  dispatch_width(loop, dtype, [&](auto tag) {
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<gather_elements<tn_type(tag), At::kOperands>>(call, shape_for(call, at.numel, 256, 2),
                                                           at, loop.by);
    });
  });
}
void launch_scatter(const Call& call, IndexLoop& loop, DType dtype) {
  dispatch_width(loop, dtype, [&](auto tag) {
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<scatter_elements<tn_type(tag), At::kOperands>>(call, shape_for(call, at.numel, 256, 2),
                                                            at, loop.by);
    });
  });
}
void launch_scatter_scalar(const Call& call, IndexLoop& loop, DType dtype, const Scalar& value) {
  dispatch_size(dtype, [&](auto tag) {
    using U = tn_type(tag);
    const U bits = static_cast<U>(bits_of(dtype, value));
    loop.run_one([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<scatter_scalar<U, At::kOperands>>(call, shape_for(call, at.numel, 256, 2), at, loop.by,
                                               bits);
    });
  });
}

}  // namespace tenon::cuda
