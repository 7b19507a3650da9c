// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _linear_epilogue: a product with the weights, whose packed panels are kept, then bias, addend and
// activation by rows. Overwritten: the output.
#include "tenon/sdk/ops/_linear_epilogue.h"

#include "plugin_cpu/gemm/epilogue.h"
#include "plugin_cpu/gemm/gemm.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Epilogue;
using tenon::cpu::Mat;

tn_status linear_epilogue(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias,
                          OptTensor other, Str activation, Floats parameters) {
  if (out.numel() == 0) return TN_OK;
  const Epilogue e = tenon::cpu::epilogue_named(activation, parameters);
  const int64_t n = weight.size(0), k = weight.size(1), m = out.numel() / n;
  float* y = out.data<float>();
  tenon::cpu::gemm(m, n, k, 1.0f, Mat<const float>{input.data<const float>(), k, 1},
                   Mat<const float>{weight.data<const float>(), 1, k}, 0.0f, Mat<float>{y, n, 1},
                   tenon::cpu::packed::origin(weight, true));
  const float* b = bias.defined() ? bias.data<const float>() : nullptr;
  const float* o = other.defined() ? other.data<const float>() : nullptr;
  parallel_for(m, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      tenon::cpu::finish(e, n, 0.0f, b, o ? o + i * n : nullptr, y + i * n);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_linear_epilogue, linear_epilogue, dtypes("float32"));
