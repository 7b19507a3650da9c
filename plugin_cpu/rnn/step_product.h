// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The product of each step with the same weights, block by block of its columns: groups of matrices
// B [depth, columns], such as one per gate, and C = A B for the columns of a block of every group,
// on the calling thread. The weights are packed once; of a short sequence they are not, and the
// product of all is taken before the blocks. Results do not depend on the number of threads.
#pragma once

#include <algorithm>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/rnn/geometry.h"

namespace tenon::cpu::rnn {

template <class T>
class StepProduct {
 public:
  // Group g of the weights is {weights.data + g * group, weights.rs, weights.cs}.
  StepProduct(int64_t steps, int64_t rows, int64_t groups, int64_t columns, int64_t depth,
              Mat<const T> weights, int64_t group)
      : packs_(steps >= kMinSteps),
        rows_(rows),
        groups_(groups),
        columns_(columns),
        depth_(depth),
        weights_(weights),
        group_(group) {}

  void take_memory(Parts& parts) {
    memory_ = parts.take<T>(packs_ ? blocks() * groups_ * panel() : rows_ * groups_ * columns_);
  }
  void set_weights(const T* data) {
    weights_.data = data;
    if (!packs_) return;
    const int64_t n = blocks() * groups_, grain = std::max<int64_t>(1, 32768 / panel());
    sdk::parallel_for(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        const int64_t from = q / groups_ * block();
        gemm_pack(std::min(block(), columns_ - from), depth_, part(q % groups_, from),
                  memory_ + q * panel());
      }
    });
  }

  // f(first row, rows, first column, columns, product): `product` is of that part alone, with
  // `gate` elements between groups.
  template <class F>
  void each(Mat<const T> a, F&& f) {
    if (!packs_) {
      for (int64_t g = 0; g < groups_; ++g)
        gemm(rows_, columns_, depth_, T(1), a, part(g, 0), T(0),
             Mat<T>{memory_ + g * columns_, groups_ * columns_, 1});
    }
    const int64_t parts = (rows_ + kRows - 1) / kRows, each = (rows_ + parts - 1) / parts;
    const int64_t work = std::min(rows_, each) * block() * groups_ * depth_;
    sdk::parallel_for(parts * blocks(), std::max<int64_t>(1, kGemmSerial / (2 * work)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t q = begin; q < end; ++q)
                          part_of(a, q % parts * each, each, q / parts, f);
                      });
  }

 private:
  static constexpr int64_t kMinSteps = 4;
  static constexpr int64_t kRows = 48;

  int64_t block() const { return std::min<int64_t>(columns_, columns_ >= 256 ? 64 : 32); }
  int64_t blocks() const { return (columns_ + block() - 1) / block(); }
  int64_t panel() const { return gemm_packed_size<T>(block(), depth_); }
  Mat<const T> part(int64_t g, int64_t column) const {
    return {weights_.data + g * group_ + column * weights_.cs, weights_.rs, weights_.cs};
  }

  template <class F>
  void part_of(Mat<const T> a, int64_t row, int64_t most, int64_t q, F& f) {
    struct Block;
    const int64_t rows = std::min(most, rows_ - row), from = q * block(),
                  columns = std::min(block(), columns_ - from);
    if (!packs_) {
      const int64_t stride = groups_ * columns_;
      return f(row, rows, from, columns, Rows<const T>{memory_ + row * stride + from, stride},
               columns_);
    }
    // Whole vectors, as far as the panels are packed.
    const int64_t gate = std::min(gemm_packed_size<T>(columns, 1), (columns + 15) / 16 * 16);
    T* to = static_cast<T*>(
        ThreadBuffer<Block>::get(rows * groups_ * gate * static_cast<int64_t>(sizeof(T))));
    for (int64_t g = 0; g < groups_; ++g)
      gemm_packed(rows, gate, depth_, {a.data + row * a.rs, a.rs, a.cs},
                  memory_ + (q * groups_ + g) * panel(), {to + g * gate, groups_ * gate, 1});
    f(row, rows, from, columns, Rows<const T>{to, groups_ * gate}, gate);
  }

  bool packs_;
  int64_t rows_, groups_, columns_, depth_;
  Mat<const T> weights_;
  int64_t group_;
  T* memory_ = nullptr;
};

}  // namespace tenon::cpu::rnn
