// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Advanced indexing. The index tensors are converted to one table of byte offsets into self,
// checked before anything is written; the dimensions without an index are inner loops.
#include "tenon/sdk/ops/_index.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <optional>

#include "plugin_cpu/memory/accumulate.h"
#include "plugin_cpu/memory/indices.h"
#include "tenon/sdk/index.h"
#include "tenon/sdk/ops/index_put.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// The dimensions of self, each with an index or without.
struct Plan {
  std::vector<Tensor> index;       // one per dimension of self; undefined: all of it
  std::list<Scratch> positions;    // of masks
  std::vector<int64_t> shape;      // broadcast shape of the index tensors
  int at = 0;                      // the dimension of the result where that shape begins
  std::vector<int64_t> kept;       // dimensions of self without an index
  std::optional<Scratch> offsets;  // int64 of that shape: bytes into self
  bool empty() const { return offsets->tensor().numel() == 0; }
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

// The byte offsets of the indices into dimension d of self, written to `offsets` or added to them.
void add_offsets(const Tensor& offsets, const Tensor& self, int d, const Tensor& index,
                 bool first) {
  const int64_t size = self.size(d), step = self.stride(d) * item_size(self.dtype());
  StridedLoop loop(offsets.sizes());
  if (loop.numel == 0) return;
  loop.add(offsets);
  loop.add(index);
  loop.finish(0);
  dispatch_index(index.dtype(), [&](auto tag) {
    using I = tn_type(tag);
    parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
      loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          int64_t v = static_cast<int64_t>(*reinterpret_cast<const I*>(p[1] + i * s[1]));
          if (v < -size || v >= size) out_of_bounds(v, d, size);
          if (v < 0) v += size;
          int64_t& to = *reinterpret_cast<int64_t*>(p[0] + i * s[0]);
          to = first ? v * step : to + v * step;
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
  const Tensor& offsets =
      plan.offsets.emplace(Ints(plan.shape.data(), static_cast<int64_t>(plan.shape.size())), kInt64)
          .tensor();
  if (count == 0) *offsets.data<int64_t>() = 0;
  for (int d = 0; d < self.ndim(); ++d) {
    const Tensor& t = plan.index[static_cast<std::size_t>(d)];
    if (t.defined()) add_offsets(offsets, self, d, t, d == first);
  }
}

// Where each index leads: a loop over plan.shape in the order of the indices, with a tensor of the
// result's shape (or broadcast to it) and the offsets into self, and one over the other dimensions
// of self and that tensor.
struct Walk {
  StridedLoop positions;
  std::vector<int64_t> rest_sizes;
  StridedLoop rest;

  Walk(const Plan& plan, const Tensor& self, const Tensor& other)
      : positions(plan.offsets->tensor().sizes()),
        rest_sizes(sizes(plan, self)),
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
    positions.operands = 1;
    positions.base[0] = other.data<char>();
    for (int d = 0; d < n_index; ++d) positions.strides[n_index - 1 - d][0] = step(plan.at + d);
    positions.add(plan.offsets->tensor());
    positions.finish(1);
  }

  // f(run of self, its stride, run of the tensor, its stride, count) for the elements [from, to) of
  // the slices at the positions [begin, end).
  template <class F>
  void run(int64_t begin, int64_t end, int64_t from, int64_t to, F&& f) const {
    positions.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t in_self = *reinterpret_cast<const int64_t*>(p[1] + i * s[1]);
        const int64_t in_other = p[0] + i * s[0] - positions.base[0];
        if (rest.ndim == 1) {
          const int64_t* r = rest.strides[0];
          f(rest.base[0] + in_self + from * r[0], r[0], rest.base[1] + in_other + from * r[1], r[1],
            to - from);
          continue;
        }
        rest.run(from, to, [&](char* const* q, const int64_t* r, int64_t m) {
          f(q[0] + in_self, r[0], q[1] + in_other, r[1], m);
        });
      }
    });
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

// Single elements: to[i] = from[offset[i]].
template <class T>
void gather(char* const* p, const int64_t* s, const char* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(p[0] + i * s[0]) =
        *reinterpret_cast<const T*>(from + *reinterpret_cast<const int64_t*>(p[1] + i * s[1]));
  }
}

tn_status index(Call&, Tensor out, Tensor self, TensorList indices) {
  Plan plan;
  make_plan(plan, self, indices);
  if (out.numel() == 0) return TN_OK;
  const Walk walk(plan, self, out);
  const int64_t slice = walk.rest.numel;
  dispatch_any_size(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const int64_t grain = std::max<int64_t>(1, kMoveGrain / slice);
    parallel_for(walk.positions.numel, grain, [&](int64_t begin, int64_t end) {
      if (slice == 1) {
        walk.positions.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
          gather<T>(p, s, self.data<char>(), n);
        });
        return;
      }
      walk.run(begin, end, 0, slice,
               [](const char* from, int64_t fs, char* to, int64_t ts, int64_t n) {
                 read_run<T>(to, ts, from, fs, n);
               });
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
void each_put(const Walk& walk, F&& put) {
  parallel_for(walk.rest.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
    walk.run(0, walk.positions.numel, begin, end, put);
  });
}

tn_status index_put(Call&, Tensor out, Tensor self, TensorList indices, Tensor values,
                    bool accumulate) {
  {
    Plan plan;
    make_plan(plan, out, indices);
    check_values(plan, out, values);
    start_from(out, self);
    if (plan.empty() || out.numel() == 0) return TN_OK;
    if (!accumulate) {
      Walk walk(plan, out, values);
      dispatch_any_size(out.dtype(), [&](auto tag) {
        using T = tn_type(tag);
        each_put(walk, [](char* to, int64_t ts, const char* from, int64_t fs, int64_t n) {
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
    each_put(walk, [](char* to, int64_t ts, const char* from, int64_t fs, int64_t n) {
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
