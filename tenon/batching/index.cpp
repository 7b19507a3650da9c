// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An index of its own for each slice is one index more, which counts the slices.
#include <algorithm>

#include "tenon/batching/rules.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

using OptTensors = std::vector<std::optional<Tensor>>;

// Where the dimensions of indices stand among those of a result.
struct Places {
  int64_t rank = 0;         // of the indices, broadcast
  int64_t first = 0;        // dimensions of self before them
  bool has_masks = false;   // which are indices of as many as they have true elements
  std::vector<bool> taken;  // dimensions of self that are indexed

  Places(const std::vector<Tensor>& list, int64_t self_rank)
      : taken(static_cast<std::size_t>(self_rank)) {
    int64_t begin = -1, end = 0, count = 0;
    for (std::size_t d = 0; d < list.size(); ++d) {
      if (!list[d].defined()) continue;
      has_masks |= list[d].scalar_type() == kBool || list[d].scalar_type() == kUInt8;
      rank = std::max(rank, list[d].dim());
      taken[d] = true;
      if (begin < 0) begin = static_cast<int64_t>(d);
      end = static_cast<int64_t>(d) + 1;
      ++count;
    }
    first = end - begin == count ? begin : 0;  // indices apart from each other come first
  }
};

OptTensors aligned_indices(const Call& call, const std::vector<Tensor>& list, int64_t rank) {
  OptTensors out;
  for (const Tensor& t : list)
    out.push_back(t.defined() ? std::optional(call.aligned(t, rank)) : std::nullopt);
  return out;
}

// With the numbers of the slices as the index of the first dimension. The result has the
// dimensions of the indices after that of the slices, whereever the indices stand.
OptTensors with_slices(const Call& call, const std::vector<Tensor>& list, const Places& places,
                       Device device) {
  OptTensors out = aligned_indices(call, list, places.rank);
  std::vector<int64_t> shape(static_cast<std::size_t>(places.rank + 1), 1);
  shape[0] = call.size;
  out.insert(out.begin(), arange(call.size, TensorOptions(kLong).device(device)).view(shape));
  return out;
}

// self at the indices, of tensors of a call.
Tensor take(const Call& call, const Tensor& self, const std::vector<Tensor>& list,
            const Places& places) {
  if (!is_batched_at(self, call.level)) {
    const OptTensors all = aligned_indices(call, list, places.rank);
    const Tensor found = tenon::index(self, ArrayRef<std::optional<Tensor>>(all));
    return places.first == 0 ? found : found.movedim(places.first, 0);
  }
  const OptTensors all = with_slices(call, list, places, self.device());
  const Tensor found = tenon::index(call.front(self), ArrayRef<std::optional<Tensor>>(all));
  std::vector<int64_t> dims = {0};
  for (int64_t d = 0; d < places.first; ++d) dims.push_back(1 + places.rank + d);
  for (int64_t d = 0; d < places.rank; ++d) dims.push_back(1 + d);
  for (int64_t d = 1 + places.rank + places.first; d < found.dim(); ++d) dims.push_back(d);
  return found.permute(dims);
}

// The values of an index_put, in the order of dimensions that with_slices gives.
Tensor arranged_values(const Call& call, const OptTensors& indices, const Places& places) {
  std::vector<Tensor> defined;
  for (const auto& i : indices) {
    if (i) defined.push_back(*i);
  }
  const Tensor sample = broadcast_tensors(defined)[0];
  const Tensor self = call.given(0);
  std::vector<int64_t> others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!places.taken[static_cast<std::size_t>(d)]) others.push_back(self.size(d));
  }
  std::vector<int64_t> shape = {call.size};
  shape.insert(shape.end(), others.begin(), others.begin() + places.first);
  shape.insert(shape.end(), sample.sizes().begin() + 1, sample.sizes().end());
  shape.insert(shape.end(), others.begin() + places.first, others.end());
  const Tensor values = call.aligned(2, static_cast<int64_t>(shape.size()) - 1).expand(shape);
  std::vector<int64_t> dims = {0};
  for (int64_t d = 0; d < places.rank; ++d) dims.push_back(1 + places.first + d);
  for (int64_t d = 0; d < places.first; ++d) dims.push_back(1 + d);
  for (int64_t d = 1 + places.rank + places.first; d < values.dim(); ++d) dims.push_back(d);
  return values.permute(dims);
}

}  // namespace

Results index(Call& call) {
  const std::vector<Tensor> list = call.given_list(1);
  const Places places(list, call.rank(0));
  return {take(call, call.given(0), list, places)};
}

Results index_put(Call& call) {
  const std::vector<Tensor> list = call.given_list(1);
  const Places places(list, call.rank(0));
  if (places.has_masks || places.rank == 0) return call_slice_by_slice(call);
  const OptTensors all = with_slices(call, list, places, call.given(0).device());
  std::vector<Tensor> indices;
  for (const auto& i : all) indices.push_back(i.value_or(Tensor()));
  return SameOperator(call)
      .set(0, call.expanded(0))
      .set(1, indices)
      .set(2, arranged_values(call, all, places))
      .run();
}

Results index_select(Call& call) {
  const int64_t rank = call.rank(0), dim = call.in[1].u.i64;
  if (rank == 0) return call_slice_by_slice(call);
  if (!call.is_batched(2))
    return SameOperator(call).set(0, call.front(0)).set(1, shifted(dim, rank)).run();
  std::vector<Tensor> list(static_cast<std::size_t>(shifted(dim, rank)));
  list.back() = call.given(2);
  const Tensor found = take(call, call.given(0), list, Places(list, rank));
  return {found.dim() == rank + 1 ? found : found.view(call.result_sizes(0))};
}

Results with_common_index(Call& call) {
  const int64_t rank = call.rank(0);
  const int source = call.position("source"), value = call.position("value");
  if (rank == 0 || call.is_batched(2) || (value >= 0 && call.is_batched(value)))
    return call_slice_by_slice(call);
  SameOperator all(call);
  all.set(0, call.expanded(0)).set(1, shifted(call.in[1].u.i64, rank));
  if (source >= 0) {
    const Tensor t = call.expanded(source);
    all.set(source, t.dim() == 1 ? t.unsqueeze(1) : t);
  }
  return all.run();
}

Results embedding(Call& call) {
  if (!call.is_batched(0)) return SameOperator(call).set(1, call.front(1)).run();
  const bool padded = call.in[2].u.i64 >= 0, scaled = call.in[3].u.i64 != 0;
  if (padded || scaled) return call_slice_by_slice(call);  // which change its gradient
  const std::vector<Tensor> list = {call.given(1)};
  return {take(call, call.given(0), list, Places(list, 2))};
}

}  // namespace tenon::batching::rules
