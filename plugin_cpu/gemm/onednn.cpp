// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16 products by oneDNN, if the processor has instructions for them. Rows are cut into blocks
// that depend on the shape alone; sums are kept in float.
#include <algorithm>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/bf16.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {
namespace {

namespace dn = onednn;
using Desc = dnnl::memory::desc;
constexpr auto kBF16 = dnnl::memory::data_type::bf16;

struct Product {
  dnnl::matmul run;
  Desc a, b, c, scratch;
};

bool dense(int64_t rows, int64_t cols, int64_t rs, int64_t cs) {
  return (cs == 1 && rs >= cols) || (rs == 1 && cs >= rows);
}

Product make(int64_t m, int64_t n, int64_t k, Mat<const void> a, Mat<const void> b, int64_t c_row) {
  const Desc da({m, k}, kBF16, dnnl::memory::dims{a.rs, a.cs}),
      db({k, n}, kBF16, dnnl::memory::dims{b.rs, b.cs}),
      dc({m, n}, kBF16, dnnl::memory::dims{c_row, 1});
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd = dn::describe<dnnl::matmul>(dn::engine(), attr, da, db, dc);
  return {dnnl::matmul(pd), da, db, dc, pd.scratchpad_desc()};
}

Product& product(int64_t m, int64_t n, int64_t k, Mat<const void> a, Mat<const void> b,
                 int64_t c_row) {
  const dn::Key key{m, n, k, a.rs, a.cs, b.rs, b.cs, c_row};
  return dn::Cache<Product>::local().get(key, [&] { return make(m, n, k, a, b, c_row); });
}

}  // namespace

bool gemm_bf16_onednn(int64_t m, int64_t n, int64_t k, Mat<const void> a, Mat<const void> b,
                      Mat<void> c) {
  if (m * n * k < 64 * 64 * 64 || m < 2 || n < 2 || c.cs != 1 || c.rs < n) return false;
  if (!dense(m, k, a.rs, a.cs) || !dense(k, n, b.rs, b.cs) || !bf16_by_onednn()) return false;
  const int64_t block = m * n * k <= kGemmSerial ? m : std::max<int64_t>(64, (m + 15) / 16),
                item = 2;
  try {
    product(std::min(block, m), n, k, a, b, c.rs);  // throws before anything is written
    sdk::parallel_for(m, block, [&](int64_t begin, int64_t end) {
      struct Work;
      Product& p = product(end - begin, n, k, a, b, c.rs);
      std::unordered_map<int, dnnl::memory> args{
          {DNNL_ARG_SRC, dn::wrap(p.a, static_cast<const char*>(a.data) + begin * a.rs * item)},
          {DNNL_ARG_WEIGHTS, dn::wrap(p.b, b.data)},
          {DNNL_ARG_DST, dn::wrap(p.c, static_cast<char*>(c.data) + begin * c.rs * item)}};
      if (const int64_t bytes = static_cast<int64_t>(p.scratch.get_size())) {
        args.emplace(DNNL_ARG_SCRATCHPAD, dn::wrap(p.scratch, ThreadBuffer<Work>::get(bytes)));
      }
      p.run.execute(dn::stream(), args);
    });
    return true;
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments) return false;
    throw sdk::Error(TN_ERROR_BACKEND, "oneDNN: ", e.what());
  }
}

}  // namespace tenon::cpu
