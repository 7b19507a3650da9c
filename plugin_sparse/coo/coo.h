// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The components of a sparse tensor, and operators on them.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tenon/sdk/custom.h"

namespace tenon::coo {

using namespace sdk;

enum Component { kIndices = 0, kValues = 1 };
inline constexpr uint32_t kCoalesced = 1;  // the layout's flag
inline constexpr std::string_view kLayout = "sparse_coo";

inline Tensor indices(const Tensor& t) { return component(t, kIndices); }
inline Tensor values(const Tensor& t) { return component(t, kValues); }
inline bool coalesced(const Tensor& t) { return layout_flag(t, 0); }
inline int sparse_dim(const Tensor& t) { return static_cast<int>(indices(t).size(0)); }
inline int dense_dim(const Tensor& t) { return values(t).ndim() - 1; }
inline int64_t nnz(const Tensor& t) { return indices(t).size(1); }
inline bool on_host(const Tensor& t) { return t.device().type == TN_CPU; }

inline constexpr int64_t kAll = -1;  // a size to be inferred
inline std::vector<int64_t> to_vector(Ints v) { return {v.begin(), v.end()}; }
inline Ints span(const std::vector<int64_t>& v) {
  return {v.data(), static_cast<int64_t>(v.size())};
}
// Sizes of the values: n, then the sizes of t from the sparse ones on.
std::vector<int64_t> value_sizes(int64_t n, Ints sizes, int sparse_dim);

inline tn_value value(DType d) {
  tn_value v{TN_TAG_DTYPE, 0, {}};
  v.u.dtype = d;
  return v;
}
inline tn_value value(Device d) {
  tn_value v{TN_TAG_DEVICE, 0, {}};
  v.u.device = d;
  return v;
}
inline tn_value value(std::string_view text) {
  tn_value v{TN_TAG_STR, static_cast<uint32_t>(text.size()), {}};
  v.u.str = text.data();
  return v;
}
using sdk::value;

// Calls of other operators, on strided tensors of any device. Results live as long as this does.
class Ops {
 public:
  explicit Ops(const Call& call) : call_(call) {}
  ~Ops();
  Ops(const Ops&) = delete;

  // The first result of an operator.
  Tensor operator()(std::string_view op, std::initializer_list<tn_value> in) {
    return call_many(op, in, 1)[0];
  }
  std::vector<Tensor> call_many(std::string_view op, std::initializer_list<tn_value> in, int n);
  Tensor stack(const std::vector<Tensor>& parts, int64_t dim, std::string_view op = "stack");
  Tensor cat(const std::vector<Tensor>& parts, int64_t dim) { return stack(parts, dim, "cat"); }

  Tensor empty(Ints sizes, DType dtype, Device device);
  Tensor zeros(Ints sizes, DType dtype, Device device);
  Tensor arange(int64_t n, Device device);
  // The elements of a small int64 tensor; synchronizes with the device.
  std::vector<int64_t> read(const Tensor& t);
  Tensor row(const Tensor& t, int64_t i) {
    return (*this)("select.int", {value(t), value(int64_t{0}), value(i)});
  }
  Tensor index_select(const Tensor& t, int64_t dim, const Tensor& index) {
    return (*this)("index_select", {value(t), value(dim), value(index)});
  }
  // t[at[0], at[1], ...]: of an expanded t no copy is made.
  Tensor gather_rows(const Tensor& t, const Tensor& at);
  // Row-major linear indices (keys) of the columns of [sizes.size(), n] indices.
  Tensor keys(const Tensor& indices, Ints sizes);
  // The inverse of keys().
  Tensor columns(const Tensor& keys, Ints sizes);
  // Positions of equal keys in two lists: for each of `wanted`, in order, all in `sorted` from the
  // first on.
  struct Matches {
    Tensor wanted, sorted;
  };
  Matches matches(const Tensor& wanted, const Tensor& sorted);
  void copy(const Tensor& to, const Tensor& from) { (*this)("copy_", {value(to), value(from)}); }
  // to.index_add_(dim 0), alpha * from.
  void add_rows(const Tensor& to, const Tensor& index, const Tensor& from,
                const Scalar& alpha = Scalar::of(int64_t{1}));
  // The same as the sum with a sparse tensor of these rows: in a fixed order if the device has a
  // kernel for that.
  void add_rows_in_order(const Tensor& to, const Tensor& index, const Tensor& from,
                         const Scalar& alpha = Scalar::of(int64_t{1}));

 private:
  const Call& call_;
  std::deque<tn_value> kept_;
};

// A sparse tensor without duplicates, in order, while a kernel works on it.
struct Coo {
  Tensor indices, values;
};
// The parts of t, coalesced; and of what has these parts, the sparse sizes being the first of
// `sizes`.
Coo coalesce(Ops& op, const Tensor& t);
Coo coalesce(Ops& op, const Tensor& indices, const Tensor& values, Ints sizes);

// The components of output i.
void set_output(const Call& call, uint32_t i, const Tensor& indices, const Tensor& values,
                bool coalesced);
inline void set_output(const Call& call, const Coo& t) {
  set_output(call, 0, t.indices, t.values, true);
}
// Components of output 0, without elements.
void set_empty_output(const Call& call, Ints sizes, int sparse_dim, DType dtype);

}  // namespace tenon::coo
