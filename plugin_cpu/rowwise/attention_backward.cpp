// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// With P = e^(scale Q K^T + bias - logsumexp) and d = rows of sums of grad * out:
//   dV = P^T grad, dS = scale P (grad V^T - d), dQ = dS K, dK = dS^T Q
// A task is a head, or one of several ranges of its queries where there are few heads: each range
// has sums of dK and dV of its own, which are added in order.
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/rowwise/attention.h"
#include "tenon/sdk/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/attention_backward.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/rowwise/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// 2^(x - shift) of n scores, in place.
HWY_INLINE void weights_of(float* x, int64_t n, float shift) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, shift);
  for (int64_t j = 0; j < n; j += lanes)
    hn::StoreU(exp2_of(d, hn::Sub(hn::LoadU(d, x + j), by)), d, x + j);
}

// Rows of the packed operands and the sums of one range of queries.
struct HeadMemory {
  float *keys, *values, *key_rows, *dk, *dv;
  int64_t depth, width;  // of the sums, in whole panels

  static int64_t sums(const AttentionShape& a) {
    return a.keys * (rounded_up(a.depth, kPanelColumns) + rounded_up(a.width, kPanelColumns));
  }
  static int64_t packed(const AttentionShape& a) {
    return panels_size(a.keys, a.depth) + panels_size(a.keys, a.width) +
           panels_size(a.depth, a.keys);
  }
  HeadMemory(const AttentionShape& a, float* operands, float* sums)
      : keys(operands),
        values(keys + panels_size(a.keys, a.depth)),
        key_rows(values + panels_size(a.keys, a.width)),
        dk(sums),
        dv(sums + a.keys * rounded_up(a.depth, kPanelColumns)),
        depth(rounded_up(a.depth, kPanelColumns)),
        width(rounded_up(a.width, kPanelColumns)) {}
};

class QueryRange {
 public:
  QueryRange(const AttentionBackward& a, const HeadMemory& of, int64_t batch, int64_t head,
             float* memory)
      : a_(a),
        of_(of),
        batch_(batch),
        head_(head),
        weights_(memory),
        slopes_(weights_ + kQueryBlock * kKeyBlock),
        queries_(slopes_ + kQueryBlock * kKeyBlock),
        query_panels_(queries_ + kQueryBlock * a.depth),
        grads_(query_panels_ + kQueryBlock * of.depth),
        grad_panels_(grads_ + kQueryBlock * a.width),
        dq_(grad_panels_ + kQueryBlock * of.width) {}

  static int64_t memory(const AttentionShape& a) {
    return kQueryBlock *
           (2 * kKeyBlock + a.depth + a.width + 2 * rounded_up(a.depth, kPanelColumns) +
            rounded_up(a.width, kPanelColumns));
  }

  void run(int64_t begin, int64_t end) {
    pack();
    std::fill(of_.dk, of_.dk + a_.keys * of_.depth, 0.0f);
    std::fill(of_.dv, of_.dv + a_.keys * of_.width, 0.0f);
    for (int64_t q = begin; q < end; q += kQueryBlock) rows(q, std::min(kQueryBlock, end - q));
  }

 private:
  void pack() {
    const auto *k = a_.k.stride, *v = a_.v.stride;
    const float *keys = a_.k.at(batch_, head_), *values = a_.v.at(batch_, head_);
    pack_panels(a_.keys, a_.depth, keys, k[3], k[2], of_.keys);
    pack_panels(a_.keys, a_.width, values, v[3], v[2], of_.values);
    pack_panels(a_.depth, a_.keys, keys, k[2], k[3], of_.key_rows);
  }

  void rows(int64_t first, int64_t count) {
    const auto *q = a_.q.stride, *g = a_.grad.stride;
    const float *query = a_.q.at(batch_, head_, first), *grad = a_.grad.at(batch_, head_, first);
    copy_rows(count, a_.depth, query, q, a_.scale * (a_.bias.data ? 1.0f : kLog2OfE), queries_);
    copy_rows(count, a_.width, grad, g, 1.0f, grads_);
    pack_panels(a_.depth, count, query, q[2], q[3], query_panels_);
    pack_panels(a_.width, count, grad, g[2], g[3], grad_panels_);
    for (int64_t r = 0; r < count; ++r) dots_[r] = dot(first + r);
    const int64_t seen = a_.seen(first, count);
    for (int64_t j = 0; j < seen; j += kKeyBlock)
      block(first, count, j, std::min(kKeyBlock, seen - j));
    if (seen == 0) std::fill(dq_, dq_ + count * of_.depth, 0.0f);
    for (int64_t r = 0; r < count; ++r) {
      float* to = a_.dq.at(batch_, head_, first + r);
      for (int64_t j = 0; j < a_.depth; ++j) to[j * a_.dq.stride[3]] = dq_[r * of_.depth + j];
    }
  }

  float dot(int64_t row) const {
    const float *grad = a_.grad.at(batch_, head_, row), *out = a_.out.at(batch_, head_, row);
    double sum = 0;
    for (int64_t j = 0; j < a_.width; ++j)
      sum += double{grad[j * a_.grad.stride[3]]} * double{out[j * a_.out.stride[3]]};
    return static_cast<float>(sum);
  }

  void block(int64_t first, int64_t count, int64_t key, int64_t columns) {
    multiply(count, columns, a_.depth, queries_, a_.depth, 1,
             Panels{of_.keys, a_.depth}.columns_from(key), 0.0f, weights_, kKeyBlock);
    multiply(count, columns, a_.width, grads_, a_.width, 1,
             Panels{of_.values, a_.width}.columns_from(key), 0.0f, slopes_, kKeyBlock);
    for (int64_t r = 0; r < count; ++r) row(r, first + r, key, columns);
    multiply(columns, a_.width, count, weights_, 1, kKeyBlock, {grad_panels_, count}, 1.0f,
             of_.dv + key * of_.width, of_.width);
    multiply(columns, a_.depth, count, slopes_, 1, kKeyBlock, {query_panels_, count}, 1.0f,
             of_.dk + key * of_.depth, of_.depth);
    multiply(count, a_.depth, columns, slopes_, kKeyBlock, 1,
             Panels{of_.key_rows, a_.keys}.steps_from(key), key > 0 ? 1.0f : 0.0f, dq_, of_.depth);
  }

  // From scores to weights, and from their gradients to those of scores.
  void row(int64_t r, int64_t query, int64_t key, int64_t columns) {
    float *p = weights_ + r * kKeyBlock, *s = slopes_ + r * kKeyBlock;
    const float sum = *a_.logsumexp.at(batch_, head_, query);
    int64_t live = a_.causal ? std::clamp<int64_t>(query + 1 - key, 0, columns) : columns;
    if (sum == -INFINITY) live = 0;
    if (a_.bias.data) {
      const int64_t step = a_.bias.stride[3];
      add_row_bias(p, live, a_.bias.at(batch_, head_, query) + key * step, step);
    }
    weights_of(p, live, sum * kLog2OfE);
    for (int64_t j = 0; j < live; ++j) s[j] = p[j] * (s[j] - dots_[r]) * a_.scale;
    std::fill(p + live, p + columns, 0.0f);
    std::fill(s + live, s + columns, 0.0f);
  }

  const AttentionBackward& a_;
  const HeadMemory of_;
  const int64_t batch_, head_;
  float *const weights_, *const slopes_, *const queries_, *const query_panels_,
                                                              *const grads_, *const grad_panels_,
                                                                                 *const dq_;
  float dots_[kQueryBlock];
};

// The sums of all ranges of a head, in order.
void store_sums(const AttentionBackward& a, int64_t batch, int64_t head, const float* sums,
                int64_t ranges) {
  const int64_t step = HeadMemory::sums(a);
  const auto store = [&](const Heads<float>& to, int64_t columns, const float* from) {
    const int64_t line = rounded_up(columns, kPanelColumns);
    for (int64_t i = 0; i < a.keys; ++i) {
      float* row = to.at(batch, head, i);
      for (int64_t j = 0; j < columns; ++j) {
        float sum = from[i * line + j];
        for (int64_t q = 1; q < ranges; ++q) sum += from[q * step + i * line + j];
        row[j * to.stride[3]] = sum;
      }
    }
  };
  store(a.dk, a.depth, sums);
  store(a.dv, a.width, sums + a.keys * rounded_up(a.depth, kPanelColumns));
}

void attend_backward(const AttentionBackward& a) {
  if (a.batches * a.heads == 0) return;
  constexpr int64_t kTasks = 16, kFewestBlocks = 4;
  struct Sums;
  struct Block;
  const int64_t all = a.batches * a.heads, blocks = (a.queries + kQueryBlock - 1) / kQueryBlock,
                ranges = std::clamp<int64_t>(kTasks / all, 1, blocks / kFewestBlocks + 1),
                length = (blocks + ranges - 1) / ranges * kQueryBlock, sums = HeadMemory::sums(a),
                floats = sizeof(float);
  const CallBuffer<Sums> shared(ranges == 1 ? 0 : all * ranges * sums * floats);
  sdk::parallel_for(all * ranges, 1, [&](int64_t from, int64_t to) {
    const CallBuffer<Block> buffer(
        (HeadMemory::packed(a) + QueryRange::memory(a) + (ranges == 1 ? sums : 0)) * floats);
    auto* memory = buffer.as<float>();
    float *operands = memory + QueryRange::memory(a), *own = operands + HeadMemory::packed(a);
    for (int64_t t = from; t < to; ++t) {
      const int64_t head = t / ranges, begin = std::min(a.queries, t % ranges * length);
      float* at = ranges == 1 ? own : shared.as<float>() + t * sums;
      QueryRange(a, {a, operands, at}, head / a.heads, head % a.heads, memory)
          .run(begin, std::min(a.queries, begin + length));
      if (ranges == 1) store_sums(a, head / a.heads, head % a.heads, at, 1);
    }
  });
  if (ranges == 1) return;
  sdk::parallel_for(all, 1, [&](int64_t from, int64_t to) {
    for (int64_t head = from; head < to; ++head) {
      store_sums(a, head / a.heads, head % a.heads, shared.as<float>() + head * ranges * sums,
                 ranges);
    }
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(attend_backward);

void attention_backward(const AttentionBackward& a) { TENON_DISPATCH(attend_backward)(a); }

}  // namespace tenon::cpu
#endif
