// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _linear_epilogue: a product with the weights, whose packed panels are kept, then bias, addend and
// activation by rows. Overwritten: the output.
#include "tenon/sdk/ops/_linear_epilogue.h"

#include <optional>

#include "plugin_cpu/gemm/epilogue.h"
#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/along_dim.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Dense;
using tenon::cpu::Epilogue;
using tenon::cpu::Mat;

// The weight is read as it lies, since it is packed: only programs with transposed weights have
// strides. Of the others copies are made.
tn_status linear_epilogue(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias,
                          OptTensor other, Str activation, Floats parameters) {
  if (!out.contiguous()) return TN_DECLINED;
  if (out.numel() == 0) return TN_OK;
  const Dense x(input);
  std::optional<Dense> added, addend;
  if (bias.defined()) added.emplace(bias);
  if (other.defined()) addend.emplace(other);
  const Epilogue e = tenon::cpu::epilogue_named(activation, parameters);
  const int64_t n = weight.size(0), k = weight.size(1), m = out.numel() / n;
  float* y = out.data<float>();
  const tenon::cpu::Finish finish{e,
                                  nullptr,
                                  added ? added->tensor().data<const float>() : nullptr,
                                  addend ? addend->tensor().data<const float>() : nullptr,
                                  y,
                                  n};
  tenon::cpu::gemm(m, n, k, 1.0f, Mat<const float>{x.tensor().data<const float>(), k, 1},
                   Mat<const float>{weight.data<const float>(), weight.stride(1), weight.stride(0)},
                   0.0f, Mat<float>{y, n, 1}, tenon::cpu::packed::origin(weight, true), {},
                   &finish);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_linear_epilogue, linear_epilogue, dtypes("float32").any_strides());
