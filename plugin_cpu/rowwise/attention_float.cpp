// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Keys and values of a head are packed once; a task is a block of its queries. It goes over the
// keys in blocks, whose scores stay in the second cache: the weights of a block are relative to the
// largest score so far, and the sums so far are rescaled when it grows.
#include "plugin_cpu/rowwise/attention.h"

#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/attention_float.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/rowwise/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// The largest of n scores; NaN is ignored here, it propagates through the weights.
HWY_INLINE float largest_of(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Set(d, -INFINITY), b = a;
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    a = hn::Max(hn::LoadU(d, x + j), a);
    b = hn::Max(hn::LoadU(d, x + j + lanes), b);
  }
  float best = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; j < n; ++j) best = x[j] > best ? x[j] : best;
  return best;
}

// 2^(x - shift) of n scores in place, up to a whole vector, where there is room; returns their sum.
HWY_INLINE float weigh(float* x, int64_t n, float shift) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, shift);
  auto a = hn::Zero(d), b = a;
  int64_t j = 0;
  const auto weights = [&](int64_t at) {
    const auto p = exp2_of(d, hn::Sub(hn::LoadU(d, x + at), by));
    hn::StoreU(p, d, x + at);
    return p;
  };
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    a = hn::Add(a, weights(j));
    b = hn::Add(b, weights(j + lanes));
  }
  for (; j < n; j += lanes) {
    const auto live = hn::FirstN(d, static_cast<size_t>(std::min(lanes, n - j)));
    a = hn::Add(a, hn::IfThenElseZero(live, weights(j)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
}

// A block of queries of one head.
class QueryBlock {
 public:
  QueryBlock(const Attention<float>& a, const Panels& keys, const Panels& values, int64_t batch,
             int64_t head, int64_t first, float* memory)
      : a_(a),
        keys_(keys),
        values_(values),
        batch_(batch),
        head_(head),
        first_(first),
        rows_(std::min(kQueryBlock, a.queries - first)),
        width_(rounded_up(a.width, kPanelColumns)),
        scores_(memory),
        sums_(scores_ + kQueryBlock * kKeyBlock),
        queries_(sums_ + kQueryBlock * width_) {}

  static int64_t memory(const AttentionShape& a) {
    return kQueryBlock * (kKeyBlock + rounded_up(a.width, kPanelColumns) + a.depth);
  }

  void run() {
    std::fill(largest_, largest_ + rows_, -INFINITY);
    std::fill(total_, total_ + rows_, 0.0f);
    const float unit = a_.bias.data ? 1.0f : kLog2OfE;
    copy_rows(rows_, a_.depth, a_.q.at(batch_, head_, first_), a_.q.stride, a_.scale * unit,
              queries_);
    const int64_t seen = a_.seen(first_, rows_);
    for (int64_t j = 0; j < seen; j += kKeyBlock) block(j, std::min(kKeyBlock, seen - j));
    if (seen == 0) std::fill(sums_, sums_ + rows_ * width_, 0.0f);
    for (int64_t r = 0; r < rows_; ++r) store(r);
  }

 private:
  void block(int64_t key, int64_t columns) {
    multiply(rows_, columns, a_.depth, queries_, a_.depth, 1, keys_.columns_from(key), 0.0f,
             scores_, kKeyBlock);
    for (int64_t r = 0; r < rows_; ++r) weigh_row(r, key, columns);
    multiply(rows_, a_.width, columns, scores_, kKeyBlock, 1, values_.steps_from(key),
             key > 0 ? 1.0f : 0.0f, sums_, width_);
  }

  void weigh_row(int64_t r, int64_t key, int64_t columns) {
    float* x = scores_ + r * kKeyBlock;
    const int64_t live =
        a_.causal ? std::clamp<int64_t>(first_ + r + 1 - key, 0, columns) : columns;
    if (a_.bias.data) {
      const int64_t step = a_.bias.stride[3];
      add_row_bias(x, live, a_.bias.at(batch_, head_, first_ + r) + key * step, step);
    }
    const float best = std::max(largest_[r], largest_of(x, live));
    const float shift = best == -INFINITY ? 0.0f : best;  // nothing was seen yet: weights of 0
    const float before = best == largest_[r] || key == 0 ? 1.0f : std::exp2(largest_[r] - shift);
    const float sum = weigh(x, live, shift);
    std::fill(x + live, x + columns, 0.0f);
    if (before != 1) {
      float* sums = sums_ + r * width_;
      for (int64_t j = 0; j < a_.width; ++j) sums[j] *= before;
    }
    total_[r] = total_[r] * before + sum;
    largest_[r] = best;
  }

  void store(int64_t r) {
    const float share = total_[r] == 0 ? 0 : 1 / total_[r];  // a mask may leave nothing
    const float* sums = sums_ + r * width_;
    float* out = a_.out.at(batch_, head_, first_ + r);
    const int64_t step = a_.out.stride[3];
    if (step == 1) {
      for (int64_t j = 0; j < a_.width; ++j) out[j] = sums[j] * share;
    } else {
      for (int64_t j = 0; j < a_.width; ++j) out[j * step] = sums[j] * share;
    }
    *a_.logsumexp.at(batch_, head_, first_ + r) =
        total_[r] == 0 ? -INFINITY : largest_[r] / kLog2OfE + std::log(total_[r]);
  }

  const Attention<float>& a_;
  const Panels keys_, values_;
  const int64_t batch_, head_, first_, rows_, width_;
  float *const scores_, *const sums_, *const queries_;
  float largest_[kQueryBlock], total_[kQueryBlock];
};

// Keys as columns and values as rows.
int64_t packed_keys(const AttentionShape& a) { return panels_size(a.keys, a.depth); }
int64_t packed_values(const AttentionShape& a) { return panels_size(a.width, a.keys); }

void pack_keys_and_values(const Attention<float>& a, int64_t batch, int64_t head, float* to) {
  const auto *k = a.k.stride, *v = a.v.stride;
  pack_panels(a.keys, a.depth, a.k.at(batch, head), k[3], k[2], to);
  pack_panels(a.width, a.keys, a.v.at(batch, head), v[2], v[3], to + packed_keys(a));
}

// Heads of all batches in groups whose packed keys and values fit `kPackedBytes`.
void attend(const Attention<float>& a) {
  if (a.batches * a.heads == 0) return;
  constexpr int64_t kPackedBytes = 16 << 20;
  struct Packed;
  struct Block;
  const int64_t size = packed_keys(a) + packed_values(a), all = a.batches * a.heads,
                blocks = (a.queries + kQueryBlock - 1) / kQueryBlock, floats = sizeof(float),
                group = std::clamp<int64_t>(kPackedBytes / (size * floats + 1), 1, all);
  const CallBuffer<Packed> memory(group * size * floats);
  for (int64_t first = 0; first < all; first += group) {
    const int64_t count = std::min(group, all - first);
    sdk::parallel_for(count, std::max<int64_t>(1, (1 << 16) / (size + 1)),
                      [&](int64_t from, int64_t to) {
                        for (int64_t i = from; i < to; ++i) {
                          pack_keys_and_values(a, (first + i) / a.heads, (first + i) % a.heads,
                                               memory.as<float>() + i * size);
                        }
                      });
    sdk::parallel_for(count * blocks, 1, [&](int64_t from, int64_t to) {
      auto* block = static_cast<float*>(ThreadBuffer<Block>::get(QueryBlock::memory(a) * floats));
      for (int64_t t = from; t < to; ++t) {
        const int64_t head = first + t / blocks;
        const float* keys = memory.as<float>() + t / blocks * size;
        QueryBlock(a, {keys, a.depth}, {keys + packed_keys(a), a.keys}, head / a.heads,
                   head % a.heads, t % blocks * kQueryBlock, block)
            .run();
      }
    });
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(attend);

void attention_float(const Attention<float>& a) { TENON_DISPATCH(attend)(a); }

}  // namespace tenon::cpu
#endif
