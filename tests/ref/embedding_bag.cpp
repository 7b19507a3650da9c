// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "number.h"
#include "tenon/sdk/ops/_embedding_bag.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::Error;
using tenon::sdk::OptTensor;

int64_t at(const Tensor& t, int64_t i) { return static_cast<int64_t>(get(t, {i})); }

int64_t begin_of(const Tensor& offsets, int64_t bag, int64_t n) {
  const int64_t i = bag < offsets.size(0) ? at(offsets, bag) : n;
  if (i < 0 || i > n || (bag == 0 && i != 0))
    throw Error(TN_ERROR_VALUE, "offsets: a bag starts at ", i);
  return i;
}

tn_status embedding_bag(Call&, Tensor out, Tensor bag_of, Tensor bag_size, Tensor row_of,
                        Tensor weight, Tensor indices, Tensor offsets, bool, int64_t mode, bool,
                        OptTensor factors, bool, int64_t padding) {
  const int64_t n = indices.size(0), bags = out.size(0);
  for (int64_t i = 0; i < n; ++i) {
    if (at(indices, i) < 0 || at(indices, i) >= weight.size(0))
      throw Error(TN_ERROR_INDEX, "index ", at(indices, i), " is out of bounds");
  }
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t begin = begin_of(offsets, b, n),
                  end = b + 1 == bags ? n : begin_of(offsets, b + 1, n);
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
      put(bag_of, {i}, static_cast<Real>(b));
      count += at(indices, i) != padding;
    }
    put(bag_size, {b}, static_cast<Real>(count));
    for (int64_t k = 0; k < weight.size(1); ++k) {
      Real sum = 0, most = 0;
      int64_t row = -1;
      for (int64_t i = begin; i < end; ++i) {
        if (at(indices, i) == padding) continue;
        const Real v = get(weight, {at(indices, i), k});
        sum += factors.defined() ? v * get(factors, {i}) : v;
        if (row >= 0 && !(v > most)) continue;
        most = v;
        row = at(indices, i);
      }
      put(out, {b, k},
          mode == 2                ? most
          : mode == 1 && count > 0 ? sum / static_cast<Real>(count)
                                   : sum);
      if (mode == 2) put(row_of, {b, k}, static_cast<Real>(row < 0 ? 0 : row));
    }
  }
  return TN_OK;
}
TN_KERNEL(_embedding_bag, embedding_bag, dtypes("floating").any_strides());

}  // namespace
