// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Advanced indexing. The index tensors are converted to one table of byte offsets into self,
// checked before anything is written; the dimensions without an index are inner loops.
#include "tenon/sdk/ops/_index.h"

#include <algorithm>
#include <cstring>
#include <list>

#include "plugin_cpu/memory/accumulate.h"
#include "plugin_cpu/memory/indices.h"
#include "tenon/sdk/index.h"
#include "tenon/sdk/ops/index_put.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// The dimensions of self, each with an index or without.
struct Plan {
  std::vector<Tensor> index;     // one per dimension of self; undefined: all of it
  std::list<Scratch> positions;  // of masks
  std::vector<int64_t> shape;    // broadcast shape of the index tensors
  int at = 0;                    // the dimension of the result where that shape begins
  std::vector<int64_t> kept;     // dimensions of self without an index
  std::vector<int64_t> offsets;  // bytes into self, by position of `shape`
};

bool is_mask(const Tensor& t) { return is_bool(t.dtype()) || t.dtype() == kUInt8; }

// A mask becomes one vector of positions per dimension that it covers.
void add_mask(Plan& plan, const Tensor& mask) {
  Dense dense(mask);
  const uint8_t* m = dense.tensor().data<uint8_t>();
  std::vector<int64_t> hits;
  for (int64_t i = 0; i < mask.numel(); ++i) {
    if (m[i]) hits.push_back(i);
  }
  const int64_t n = static_cast<int64_t>(hits.size());
  int64_t below = 1;
  for (int d = 0; d < mask.ndim(); ++d) below *= mask.size(d);
  for (int d = 0; d < mask.ndim(); ++d) {
    below /= mask.size(d) ? mask.size(d) : 1;
    Scratch& scratch = plan.positions.emplace_back(Ints(&n, 1), kInt64);
    int64_t* p = scratch.tensor().data<int64_t>();
    for (int64_t i = 0; i < n; ++i) p[i] = hits[static_cast<std::size_t>(i)] / below % mask.size(d);
    plan.index.push_back(scratch.tensor());
  }
}

// offset[i] += byte offset of the i-th index into dimension d of self.
void add_offsets(Plan& plan, const Tensor& self, int d, const Tensor& out_of) {
  const int64_t size = self.size(d), step = self.stride(d) * item_size(self.dtype());
  Scratch order(Ints(plan.shape.data(), static_cast<int64_t>(plan.shape.size())), kInt64);
  tn_tensor view = *order.tensor().abi();
  view.data = plan.offsets.data();
  StridedLoop loop(order.tensor().sizes());
  if (loop.numel == 0) return;
  loop.add(Tensor(&view));
  loop.add(out_of);
  loop.finish(0);
  dispatch_index(out_of.dtype(), [&](auto tag) {
    using I = tn_type(tag);
    parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
      loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          int64_t v = static_cast<int64_t>(*reinterpret_cast<const I*>(p[1] + i * s[1]));
          if (v < -size || v >= size) out_of_bounds(v, d, size);
          if (v < 0) v += size;
          *reinterpret_cast<int64_t*>(p[0] + i * s[0]) += v * step;
        }
      });
    });
  });
}

void make_plan(Plan& plan, const Tensor& self, const TensorList& indices) {
  for (int64_t k = 0; k < indices.size(); ++k) {
    if (indices[k].defined() && is_mask(indices[k]))
      add_mask(plan, indices[k]);
    else
      plan.index.push_back(indices[k]);
  }
  plan.index.resize(static_cast<std::size_t>(self.ndim()));
  int first = -1, last = -1, count = 0;
  for (int d = 0; d < self.ndim(); ++d) {
    if (!plan.index[static_cast<std::size_t>(d)].defined()) {
      plan.kept.push_back(d);
      continue;
    }
    if (first < 0) first = d;
    last = d;
    ++count;
    broadcast_index(plan.shape, plan.index[static_cast<std::size_t>(d)]);
  }
  plan.at = count > 0 && last - first + 1 == count ? first : 0;
  int64_t n = 1;
  for (int64_t s : plan.shape) n *= s;
  plan.offsets.assign(static_cast<std::size_t>(n), 0);
  for (int d = 0; d < self.ndim(); ++d) {
    const Tensor& t = plan.index[static_cast<std::size_t>(d)];
    if (t.defined()) add_offsets(plan, self, d, t);
  }
}

// Byte offsets of the positions of plan.shape in a tensor of the result's shape (or broadcast to
// it), and the loop over the other dimensions: operand 0 is self, operand 1 that tensor.
struct Walk {
  std::vector<int64_t> offsets;
  std::vector<int64_t> rest_sizes;
  StridedLoop rest;

  Walk(const Plan& plan, const Tensor& self, const Tensor& other)
      : rest_sizes(sizes(plan, self)),
        rest(Ints(rest_sizes.data(), static_cast<int64_t>(rest_sizes.size()))) {
    const int n_index = static_cast<int>(plan.shape.size()),
              n_rest = static_cast<int>(plan.kept.size());
    const int rank = n_index + n_rest;
    auto step = [&](int d) -> int64_t {  // of dimension d of the result, in bytes of `other`
      const int k = d - (rank - other.ndim());
      return k < 0 || other.size(k) == 1 ? 0 : other.stride(k) * item_size(other.dtype());
    };
    rest.operands = 2;
    rest.base[0] = self.data<char>();
    rest.base[1] = other.data<char>();
    for (int i = 0; i < n_rest; ++i) {
      const int loop_dim = n_rest - 1 - i;
      rest.strides[loop_dim][0] =
          self.stride(static_cast<int>(plan.kept[static_cast<std::size_t>(i)])) *
          item_size(self.dtype());
      rest.strides[loop_dim][1] = step(i < plan.at ? i : i + n_index);
    }
    rest.finish(1);
    offsets.resize(plan.offsets.size());
    for (std::size_t b = 0; b < offsets.size(); ++b) {
      int64_t left = static_cast<int64_t>(b), sum = 0;
      for (int d = n_index - 1; d >= 0; --d) {
        const int64_t size = plan.shape[static_cast<std::size_t>(d)];
        sum += left % size * step(plan.at + d);
        left /= size;
      }
      offsets[b] = sum;
    }
  }

 private:
  static std::vector<int64_t> sizes(const Plan& plan, const Tensor& self) {
    std::vector<int64_t> s;
    for (int64_t d : plan.kept) s.push_back(self.size(static_cast<int>(d)));
    return s;
  }
};

template <class T>
void read_run(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(to + i * to_stride) = *reinterpret_cast<const T*>(from + i * from_stride);
  }
}

tn_status index(Call&, Tensor out, Tensor self, TensorList indices) {
  Plan plan;
  make_plan(plan, self, indices);
  if (out.numel() == 0) return TN_OK;
  Walk walk(plan, self, out);
  const int64_t count = static_cast<int64_t>(plan.offsets.size()), slice = walk.rest.numel;
  dispatch_any_size(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    parallel_for(count, std::max<int64_t>(1, kMoveGrain / slice), [&](int64_t begin, int64_t end) {
      if (slice == 1) {
        const char* from = self.data<char>();
        char* to = out.data<char>();
        for (int64_t b = begin; b < end; ++b) {
          const std::size_t k = static_cast<std::size_t>(b);
          *reinterpret_cast<T*>(to + walk.offsets[k]) =
              *reinterpret_cast<const T*>(from + plan.offsets[k]);
        }
        return;
      }
      for (int64_t b = begin; b < end; ++b) {
        const std::size_t k = static_cast<std::size_t>(b);
        walk.rest.run(0, slice, [&](char* const* p, const int64_t* s, int64_t n) {
          read_run<T>(p[1] + walk.offsets[k], s[1], p[0] + plan.offsets[k], s[0], n);
        });
      }
    });
  });
  return TN_OK;
}
TN_KERNEL(_index, index, dtypes("all,complex").any_strides().mixed_dtypes());

// The shape that `values` must broadcast to: with a mask, known only here.
void check_values(const Plan& plan, const Tensor& self, const Tensor& values) {
  std::vector<int64_t> shape;
  for (std::size_t i = 0; i < plan.kept.size(); ++i) {
    if (static_cast<int>(i) == plan.at)
      shape.insert(shape.end(), plan.shape.begin(), plan.shape.end());
    shape.push_back(self.size(static_cast<int>(plan.kept[i])));
  }
  if (static_cast<int>(plan.kept.size()) <= plan.at)
    shape.insert(shape.end(), plan.shape.begin(), plan.shape.end());
  const int lead = static_cast<int>(shape.size()) - values.ndim();
  for (int d = 0; d < values.ndim(); ++d) {
    if (values.size(d) == 1) continue;
    if (lead + d < 0 || values.size(d) != shape[static_cast<std::size_t>(lead + d)]) {
      throw Error(TN_ERROR_INDEX, "argument 'values' of shape ", values.sizes(),
                  " cannot be broadcast to the indexed shape (shape mismatch) ",
                  Ints(shape.data(), static_cast<int64_t>(shape.size())));
    }
  }
}

// Duplicates are written in the order of the indices: only the other dimensions are split between
// threads.
template <class F>
void each_put(const Plan& plan, const Walk& walk, F&& put) {
  parallel_for(walk.rest.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
    for (std::size_t b = 0; b < plan.offsets.size(); ++b) {
      walk.rest.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
        put(p[0] + plan.offsets[b], s[0], p[1] + walk.offsets[b], s[1], n);
      });
    }
  });
}

tn_status index_put(Call&, Tensor out, Tensor self, TensorList indices, Tensor values,
                    bool accumulate) {
  {
    Plan plan;
    make_plan(plan, out, indices);
    check_values(plan, out, values);
    start_from(out, self);
    if (plan.offsets.empty() || out.numel() == 0) return TN_OK;
    if (!accumulate) {
      Walk walk(plan, out, values);
      dispatch_any_size(out.dtype(), [&](auto tag) {
        using T = tn_type(tag);
        each_put(plan, walk, [](char* to, int64_t ts, const char* from, int64_t fs, int64_t n) {
          read_run<T>(to, ts, from, fs, n);
        });
      });
      return TN_OK;
    }
  }
  sum_in(out, [&](const Tensor& target, auto wide, auto tag) {
    using A = tn_type(wide);
    using T = tn_type(tag);
    Plan plan;  // of the target, whose strides may differ
    make_plan(plan, target, indices);
    Walk walk(plan, target, values);
    each_put(plan, walk, [](char* to, int64_t ts, const char* from, int64_t fs, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        add_to<A>(*reinterpret_cast<A*>(to + i * ts),
                  convert<A>(*reinterpret_cast<const T*>(from + i * fs)));
      }
    });
  });
  return TN_OK;
}
TN_KERNEL(index_put, index_put, dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

}  // namespace
}  // namespace tenon::cpu
