// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// searchsorted and repeat_interleave.
#include "tenon/sdk/ops/searchsorted.h"

#include <algorithm>

#include "plugin_cpu/rowwise/sort_keys.h"
#include "tenon/sdk/ops/repeat_interleave.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

template <class T, class O>
void search(const Tensor& out, const Tensor& rows, const Tensor& self, const int64_t* sorter,
            bool right) {
  const int64_t length = rows.size(-1);
  const int64_t each =
      rows.ndim() == 1 ? std::max<int64_t>(1, self.numel()) : std::max<int64_t>(1, self.size(-1));
  const T *row = rows.data<T>(), *x = self.data<T>();
  O* o = out.data<O>();
  parallel_for(self.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t start = rows.ndim() == 1 ? 0 : i / each * length;
      const auto key = sort_key(x[i]);
      int64_t low = 0, high = length;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const auto there = sort_key(row[start + (sorter ? sorter[start + middle] : middle)]);
        if (right ? !(key < there) : there < key)
          low = middle + 1;
        else
          high = middle;
      }
      o[i] = static_cast<O>(low);
    }
  });
}

tn_status searchsorted(Call&, Tensor out, Tensor rows, Tensor self, bool out_int32, bool right,
                       std::optional<Str> side, OptTensor sorter) {
  const int64_t* order = sorter.defined() ? sorter.data<int64_t>() : nullptr;
  const bool after = right || (side && *side == "right");
  if (order) {
    for (int64_t i = 0; i < sorter.numel(); ++i) {
      if (order[i] < 0 || order[i] >= rows.size(-1)) {
        throw Error(TN_ERROR_INDEX, "index ", order[i], " of 'sorter' is out of bounds for size ",
                    rows.size(-1));
      }
    }
  }
  dispatch_number(rows.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (out_int32)
      search<T, int32_t>(out, rows, self, order, after);
    else
      search<T, int64_t>(out, rows, self, order, after);
  });
  return TN_OK;
}
TN_KERNEL(searchsorted_Tensor, searchsorted, dtypes("number").mixed_dtypes());

tn_status repeat_interleave(Call& call, Tensor, Tensor repeats,
                            std::optional<int64_t> output_size) {
  dispatch_index(repeats.dtype(), [&](auto tag) {
    using I = tn_type(tag);
    const I* counts = repeats.data<I>();
    int64_t total = 0;
    for (int64_t i = 0; i < repeats.numel(); ++i) {
      if (counts[i] < 0)
        throw Error(TN_ERROR_VALUE, "count ", int64_t{counts[i]}, " at position ", i,
                    " is negative");
      if (__builtin_add_overflow(total, int64_t{counts[i]}, &total))
        throw Error(TN_ERROR_VALUE, "the counts are too large");
    }
    if (output_size && *output_size != total) {
      throw Error(TN_ERROR_VALUE, "output_size is ", *output_size, " but the counts sum up to ",
                  total);
    }
    I* out = call.alloc_out(0, Ints(&total, 1), repeats.dtype()).data<I>();
    for (int64_t i = 0; i < repeats.numel(); ++i)
      out = std::fill_n(out, counts[i], static_cast<I>(i));
  });
  return TN_OK;
}
TN_KERNEL(repeat_interleave_Tensor, repeat_interleave, dtypes("integral").dynamic());

}  // namespace
}  // namespace tenon::cpu
