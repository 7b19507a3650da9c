// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Softmax of the rows of a dense float matrix. Each version says what it improves on the one
// before.
#include <cmath>
#include <string>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/kernel_lab/kernel_lab.cuh"

namespace tenon::cuda::kernel_lab {
namespace {

struct Max {
  TN_HD float operator()(float a, float b) const { return a < b ? b : a; }
};
struct Add {
  TN_HD float operator()(float a, float b) const { return a + b; }
};

// 1: one block per row; the row is read three times.
__global__ void three_passes(const float* in, float* out, int cols) {
  const float* x = in + static_cast<int64_t>(blockIdx.x) * cols;
  float* y = out + static_cast<int64_t>(blockIdx.x) * cols;
  float max = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < cols; i += static_cast<int>(blockDim.x))
    max = Max{}(max, x[i]);
  max = block_reduce(max, -INFINITY, Max{});
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < cols; i += static_cast<int>(blockDim.x))
    sum += expf(x[i] - max);
  sum = block_reduce(sum, 0.f, Add{});
  for (int i = static_cast<int>(threadIdx.x); i < cols; i += static_cast<int>(blockDim.x)) {
    y[i] = expf(x[i] - max) / sum;
  }
}

struct alignas(16) Four {
  float v[4];
};

// The largest value so far, and the sum of the exponentials below it.
struct State {
  float max, sum;
};
struct Combine {
  TN_HD State operator()(const State& a, const State& b) const {
    const float max = a.max < b.max ? b.max : a.max;
    if (max == -INFINITY) return {max, 0};
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
  }
};

// 2: the sum is rescaled when a larger value appears, so that the row is read twice, sixteen bytes
// at a time.
__global__ void two_passes(const float* in, float* out, int cols) {
  const Four* x = reinterpret_cast<const Four*>(in + static_cast<int64_t>(blockIdx.x) * cols);
  Four* y = reinterpret_cast<Four*>(out + static_cast<int64_t>(blockIdx.x) * cols);
  State s{-INFINITY, 0};
  for (int i = static_cast<int>(threadIdx.x); i < cols / 4; i += static_cast<int>(blockDim.x)) {
    const Four f = x[i];
    float max = s.max, sum = 0;
    for (float v : f.v) max = Max{}(max, v);
    for (float v : f.v) sum += expf(v - max);
    s = {max, s.sum * expf(s.max - max) + sum};
  }
  s = block_reduce(s, State{-INFINITY, 0}, Combine{});
  for (int i = static_cast<int>(threadIdx.x); i < cols / 4; i += static_cast<int>(blockDim.x)) {
    Four f = x[i];
    for (float& v : f.v) v = expf(v - s.max) / s.sum;
    y[i] = f;
  }
}

// 3: one warp per row, in registers: read once, no shared memory, no barrier. Rows of up to 128 *
// N.
template <int N>
__global__ void in_registers(const float* in, float* out, int64_t rows, int cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + warp_in_block();
  if (row >= rows) return;
  const Four* x = reinterpret_cast<const Four*>(in + row * cols);
  Four* y = reinterpret_cast<Four*>(out + row * cols);
  Four f[N];
  float max = -INFINITY, sum = 0;
  TN_UNROLL(N)
  for (int k = 0; k < N; ++k) {
    if (lane() + k * kWarp >= cols / 4) continue;
    f[k] = x[lane() + k * kWarp];
    for (float v : f[k].v) max = Max{}(max, v);
  }
  max = shuffle_from(warp_reduce(max, Max{}), 0);
  TN_UNROLL(N)
  for (int k = 0; k < N; ++k) {
    if (lane() + k * kWarp >= cols / 4) continue;
    for (float& v : f[k].v) sum += v = expf(v - max);
  }
  const float scale = 1 / shuffle_from(warp_reduce(sum, Add{}), 0);
  TN_UNROLL(N)
  for (int k = 0; k < N; ++k) {
    if (lane() + k * kWarp >= cols / 4) continue;
    for (float& v : f[k].v) v *= scale;
    y[lane() + k * kWarp] = f[k];
  }
}

// 4: longer rows in the registers of a block: read once, two barriers per reduction. With W = 1
// rows need no alignment. Each warp has the next 32 * N elements, so that all offsets are
// constants: with offsets that depend on the block's size, those of the scalar version spilled.
// Also for rows of one warp that are not aligned. Moved to plugin_cuda/device/rows.cuh.
template <int N, int W>
__global__ void __launch_bounds__(1024)
    in_registers_of_block(const float* in, float* out, int cols) {
  const int first = warp_in_block() * kWarp * N + lane() * W, left = cols - first;
  const float* x = in + static_cast<int64_t>(blockIdx.x) * cols + first;
  float* y = out + static_cast<int64_t>(blockIdx.x) * cols + first;
  struct alignas(4 * W) Pack {
    float v[W];
  };
  Pack f[N / W];
  float max = -INFINITY, sum = 0;
  TN_UNROLL(N / W)
  for (int k = 0; k < N / W; ++k) {
    if (k * kWarp * W >= left) continue;
    f[k] = *reinterpret_cast<const Pack*>(x + k * kWarp * W);
    for (float v : f[k].v) max = Max{}(max, v);
  }
  max = block_reduce(max, -INFINITY, Max{});
  TN_UNROLL(N / W)
  for (int k = 0; k < N / W; ++k) {
    if (k * kWarp * W >= left) continue;
    for (float& v : f[k].v) sum += v = expf(v - max);
  }
  const float scale = 1 / block_reduce(sum, 0.f, Add{});
  TN_UNROLL(N / W)
  for (int k = 0; k < N / W; ++k) {
    if (k * kWarp * W >= left) continue;
    for (float& v : f[k].v) v *= scale;
    *reinterpret_cast<Pack*>(y + k * kWarp * W) = f[k];
  }
}

struct Matrix {
  int64_t rows;
  int cols;
};

std::vector<float> values(const Matrix& m) {
  std::vector<float> x(static_cast<std::size_t>(m.rows * m.cols));
  uint32_t state = 1;
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / (1 << 20) - 8;
  }
  return x;
}

// In double.
std::vector<float> reference(const std::vector<float>& x, const Matrix& m) {
  std::vector<float> y(x.size());
  for (int64_t r = 0; r < m.rows; ++r) {
    const float* row = x.data() + r * m.cols;
    const double max = *std::max_element(row, row + m.cols);
    double sum = 0;
    for (int i = 0; i < m.cols; ++i) sum += std::exp(row[i] - max);
    for (int i = 0; i < m.cols; ++i) {
      y[static_cast<std::size_t>(r * m.cols + i)] =
          static_cast<float>(std::exp(row[i] - max) / sum);
    }
  }
  return y;
}

double worst(const std::vector<float>& got, const std::vector<float>& wanted) {
  double error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = std::abs(double{got[i]} - double{wanted[i]}) / (1e-6 + double{wanted[i]});
    if (!(e <= error)) error = e;
  }
  return error;
}

template <int N>
void warps(const float* x, float* y, const Matrix& m) {
  start<in_registers<N>>((m.rows + 3) / 4, 128, x, y, m.rows, m.cols);
}

template <int N, int W>
void blocks(const float* x, float* y, const Matrix& m) {
  const int threads = (m.cols + N * kWarp - 1) / (N * kWarp) * kWarp;
  start<in_registers_of_block<N, W>>(m.rows, threads, x, y, m.cols);
}

bool check_versions(const Matrix& m) {
  const std::vector<float> x = values(m), wanted = reference(x, m);
  Buffer<float> in(x.size()), out(x.size());
  in.upload(x);
  const std::size_t bytes = 2 * sizeof(float) * x.size();
  const std::string shape = std::to_string(m.rows) + "x" + std::to_string(m.cols);
  const Report report{"softmax", shape.c_str(), copy_rate(bytes)};
  const float* from = in.get();
  float* to = out.get();
  bool right = true;
  const auto version = [&](const char* name, const std::function<void()>& run) {
    out.poison();
    run();
    const double error = worst(out.download(), wanted);
    right &= report.print(name, error, 1e-5, bytes, milliseconds(run));
  };
  version("1 one block per row, three passes",
          [&] { start<three_passes>(m.rows, 256, from, to, m.cols); });
  version("4 a block's registers, 16 scalars", [&] { blocks<16, 1>(from, to, m); });
  version("4 a block's registers, 32 scalars", [&] { blocks<32, 1>(from, to, m); });
  if (m.cols % 4 != 0) return right;  // rows are not aligned for what follows
  version("4 a block's registers, 8 in vectors", [&] { blocks<8, 4>(from, to, m); });
  version("4 a block's registers, 16 in vectors", [&] { blocks<16, 4>(from, to, m); });
  version("4 a block's registers, 32 in vectors", [&] { blocks<32, 4>(from, to, m); });
  version("2 sixteen bytes, two passes", [&] { start<two_passes>(m.rows, 256, from, to, m.cols); });
  if (m.cols > 1024) return right;
  version("3 one warp per row, in registers",
          [&] { m.cols <= 256 ? warps<2>(from, to, m) : warps<8>(from, to, m); });
  return right;
}

}  // namespace

bool softmax() {
  bool right = true;
  const std::vector<Matrix> few{{5, 33}, {7, 256}, {3, 1000}, {2, 2052}, {2, 8192}};
  const std::vector<Matrix> many{
      {1 << 18, 128}, {1 << 15, 1024}, {1 << 13, 4096}, {1 << 13, 8192}, {4096, 1001}};
  for (const Matrix& m : few) right &= check_versions(m);
  if (kMeasures) {
    for (const Matrix& m : many) right &= check_versions(m);
  }
  return right;
}

}  // namespace tenon::cuda::kernel_lab
