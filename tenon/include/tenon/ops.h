// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every operator as a function, and the factories that read C++ data.
#pragma once

#include "tenon/creation.h"
#include "tenon/indexing.h"
#include "tenon/ops.gen.h"
#include "tenon/tensor.h"

namespace tenon {
// An integer is the dimension, as in libtorch; `unbiased` takes a bool.
inline Tensor var(const Tensor& self, int dim) { return self.var(dim); }
inline Tensor std(const Tensor& self, int dim) { return self.std(dim); }
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int dim) {
  return var_mean(self, IntArrayRef(int64_t{dim}));
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int dim) {
  return std_mean(self, IntArrayRef(int64_t{dim}));
}
}  // namespace tenon
