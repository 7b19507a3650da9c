// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Keys and values of a head are packed once; a task is a block of its queries. It goes over the
// keys in blocks, whose scores never leave the second cache: the weights of a block are relative to
// the largest score so far, and the sums so far are rescaled when it grows. How queries and keys
// are cut depends on the shape alone.
#include "plugin_cpu/rowwise/attention.h"

#include <algorithm>
#include <cmath>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/bf16.h"
#include "plugin_cpu/simd/convert.h"
#include "plugin_cpu/tiles/area.h"
#include "tenon/sdk/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/attention_tiles.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/rowwise/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Scores times `factor`, and -inf from `live` to `cols`; returns the largest. cols: a multiple of
// kTileDepth.
float scale_row(float* x, int64_t live, int64_t cols, float factor) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, factor), none = hn::Set(d, -INFINITY);
  auto best = none;
  int64_t j = 0;
  for (; j + lanes <= live; j += lanes) {
    const auto v = hn::Mul(hn::LoadU(d, x + j), by);
    best = hn::Max(v, best);
    hn::StoreU(v, d, x + j);
  }
  if (j < live) {
    const auto some = hn::FirstN(d, static_cast<size_t>(live - j));
    const auto v = hn::IfThenElse(some, hn::Mul(hn::LoadU(d, x + j), by), none);
    best = hn::Max(v, best);
    hn::StoreU(v, d, x + j);
    j += lanes;
  }
  for (; j < cols; j += lanes) hn::StoreU(none, d, x + j);
  return hn::GetLane(hn::MaxOfLanes(d, best));
}

// 2^(x - shift), rounded to bfloat16, into one line of tiles that follow each other; returns the
// sum before rounding.
float weigh_row(const float* x, int64_t cols, float shift, uint16_t* line) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, shift);
  const auto half = hn::Set(du, 0x8000);
  auto sum = hn::Zero(d);
  for (int64_t t = 0; t < cols; t += kTileDepth, line += kTileBytes / 2) {
    for (int64_t j = 0; j < kTileDepth; j += lanes) {
      const auto p = exp2_of(d, hn::Sub(hn::LoadU(d, x + t + j), by));
      sum = hn::Add(sum, p);
      const auto bits = hn::Add(hn::BitCast(du, p), half);
      hn::StoreU(hn::TruncateTo(dh, hn::ShiftRight<16>(bits)), dh, line + j);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void scale_sums(float* x, int64_t n, float factor) {
  for (int64_t j = 0; j < n; ++j) x[j] *= factor;
}

void add_bias(float* x, int64_t n, float scale, const float* bias, int64_t step) {
  if (step == 1) {
    for (int64_t j = 0; j < n; ++j) x[j] = x[j] * scale + bias[j];
  } else {
    for (int64_t j = 0; j < n; ++j) x[j] = x[j] * scale + bias[j * step];
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(scale_row);
TENON_EXPORT(weigh_row);
TENON_EXPORT(scale_sums);
TENON_EXPORT(add_bias);

namespace {

using sdk::BFloat16;
using Bf16Attention = Attention<BFloat16>;

constexpr int64_t kQueries = 64, kKeys = 256, kWidest = 256;
constexpr float kLog2E = 1.44269504f;

struct PackedHead {
  Packed k, v;
};

int64_t packed_head_bytes(const Bf16Attention& a) {
  return packed_bytes(a.keys, a.depth) + packed_bytes(a.width, a.keys);
}

PackedHead packed_head(const Bf16Attention& a, const char* at) {
  return {{at, tiles(a.depth, kTileDepth)},
          {at + packed_bytes(a.keys, a.depth), tiles(a.keys, kTileDepth)}};
}

void pack_head(const Bf16Attention& a, int64_t batch, int64_t head, char* to, bool serial) {
  char* values = to + packed_bytes(a.keys, a.depth);
  const auto *k = a.k.stride, *v = a.v.stride;
  pack_tiles({&a.k.at(batch, head)->x, k[2], k[3]}, a.keys, a.depth, TileOrder::PairsFirst, to,
             serial);
  pack_tiles({&a.v.at(batch, head)->x, v[3], v[2]}, a.width, a.keys, TileOrder::PairsFirst, values,
             serial);
}

// Queries of one head from one of them on, block by block of keys.
class Rows {
 public:
  Rows(const Bf16Attention& a, const TileUnit& unit, const PackedHead& of, int64_t batch,
       int64_t head, int64_t first)
      : a_(a),
        unit_(unit),
        of_(of),
        batch_(batch),
        head_(head),
        first_(first),
        rows_(std::min(kQueries, a.queries - first)) {}

  void run() {
    std::fill(largest_, largest_ + rows_, -INFINITY);
    std::fill(total_, total_ + rows_, 0.0f);
    struct Tag;
    char* to = static_cast<char*>(ThreadBuffer<Tag>::get(packed_bytes(kQueries, a_.depth)));
    const auto* s = a_.q.stride;
    pack_tiles({&a_.q.at(batch_, head_, first_)->x, s[2], s[3]}, rows_, a_.depth,
               TileOrder::LinesFirst, to, true);
    const int64_t seen = a_.causal ? std::min(a_.keys, first_ + rows_) : a_.keys;
    for (int64_t j = 0; j < seen; j += kKeys)
      block({to, of_.k.depth}, j, std::min(kKeys, seen - j));
    const auto* o = a_.out.stride;
    for (int64_t r = 0; r < rows_; ++r) {
      const float share = total_[r] == 0 ? 0 : 1 / total_[r];  // a mask may leave nothing
      store_sums(sums_.row(r), a_.width, share, 0.0f, a_.out.at(batch_, head_, first_ + r), o[3]);
      *a_.logsumexp.at(batch_, head_, first_ + r) =
          total_[r] == 0 ? -INFINITY : largest_[r] / kLog2E + std::log(total_[r]);
    }
  }

 private:
  void block(const Packed& q, int64_t key, int64_t cols) {
    scores_.multiply(unit_, q, of_.k.from(key), q.depth, rows_, cols, false);
    const int64_t depth = tiles(cols, kTileDepth);
    for (int64_t r = 0; r < rows_; ++r) row(r, key, cols, depth);
    sums_.multiply(unit_, {weights_, kWeightTiles}, of_.v.from(0, key / kTileDepth), depth, rows_,
                   a_.width, key > 0);
  }

  void row(int64_t r, int64_t key, int64_t cols, int64_t depth) {
    float* x = scores_.row(r);
    const int64_t live = a_.causal ? std::clamp<int64_t>(first_ + r + 1 - key, 0, cols) : cols;
    float factor = a_.scale * kLog2E;
    if (a_.bias.data) {
      const float* bias = a_.bias.at(batch_, head_, first_ + r) + key * a_.bias.stride[3];
      TENON_DISPATCH(add_bias)(x, live, a_.scale, bias, a_.bias.stride[3]);
      factor = kLog2E;
    }
    const float best =
        std::max(largest_[r], TENON_DISPATCH(scale_row)(x, live, depth * kTileDepth, factor));
    const float shift = best == -INFINITY ? 0.0f : best;  // nothing was seen yet: weights of 0
    const float before = best == largest_[r] || key == 0 ? 1.0f : std::exp2(largest_[r] - shift);
    char* line = weights_ + r / kTileLines * kWeightTiles * kTileBytes + r % kTileLines * 64;
    const float sum =
        TENON_DISPATCH(weigh_row)(x, depth * kTileDepth, shift, reinterpret_cast<uint16_t*>(line));
    if (key > 0 && before != 1) TENON_DISPATCH(scale_sums)(sums_.row(r), a_.width, before);
    total_[r] = total_[r] * before + sum;
    largest_[r] = best;
  }

  static constexpr int64_t kWeightTiles = kKeys / kTileDepth;
  const Bf16Attention& a_;
  const TileUnit& unit_;
  const PackedHead& of_;
  const int64_t batch_, head_, first_, rows_;
  float largest_[kQueries], total_[kQueries];
  Area<kKeys> scores_;
  Area<kWidest> sums_;
  alignas(64) char weights_[kQueries / kTileLines * kWeightTiles * kTileBytes];
};

// Heads [first, first + count) of all batches: their keys and values, then their queries.
void attend_heads(const Bf16Attention& a, const TileUnit& unit, int64_t first, int64_t count,
                  char* memory) {
  const int64_t bytes = packed_head_bytes(a), blocks = tiles(a.queries, kQueries);
  const auto pack = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pack_head(a, (first + i) / a.heads, (first + i) % a.heads, memory + i * bytes, count > 1);
    }
  };
  sdk::parallel_for(count, std::max<int64_t>(1, (1 << 18) / bytes), pack);
  sdk::parallel_for(count * blocks, 1, [&](int64_t begin, int64_t end) {
    const TileSession session(unit);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t head = first + t / blocks;
      const PackedHead of = packed_head(a, memory + t / blocks * bytes);
      Rows(a, unit, of, head / a.heads, head % a.heads, t % blocks * kQueries).run();
    }
  });
}

}  // namespace

bool attention_tiles(const Attention<sdk::BFloat16>& a) {
  const TileUnit* unit = tile_unit();
  if (!unit || a.width > kWidest || !tiles_pay(a.queries, a.keys, a.depth) || a.width < 8)
    return false;
  const int64_t all = a.batches * a.heads, bytes = packed_head_bytes(a);
  const int64_t group = std::max<int64_t>(1, std::min(all, kTilePackBytes / bytes));
  struct KeysAndValues;
  const CallBuffer<KeysAndValues> memory(group * bytes);
  for (int64_t h = 0; h < all; h += group)
    attend_heads(a, *unit, h, std::min(group, all - h), memory.as<char>());
  return true;
}

}  // namespace tenon::cpu
#endif
