// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A product by cuSPARSE, which is not linked but opened at run time if the toolkit has it.
#include <dlfcn.h>

#include "plugin_cuda/lower_bounds/lower_bounds.h"
#include "plugin_cuda/lower_bounds/measure.h"

#if __has_include(<cusparse.h>)
#include <cusparse.h>

#include <string>
#include <type_traits>
#include <vector>

namespace {

#define TN_FUNCTION(name) decltype(&cusparse##name) name = nullptr
struct Library {
  TN_FUNCTION(Create);
  TN_FUNCTION(Destroy);
  TN_FUNCTION(CreateCsr);
  TN_FUNCTION(DestroySpMat);
  TN_FUNCTION(CreateDnMat);
  TN_FUNCTION(DestroyDnMat);
  TN_FUNCTION(SpMM_bufferSize);
  TN_FUNCTION(SpMM_preprocess);
  TN_FUNCTION(SpMM);

  bool open() {
    void* p = dlopen(("libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR)).c_str(), RTLD_NOW);
    const auto find = [&](auto& f, const char* name) {
      f = p ? reinterpret_cast<std::decay_t<decltype(f)>>(dlsym(p, name)) : nullptr;
      return f != nullptr;
    };
    return find(Create, "cusparseCreate") && find(Destroy, "cusparseDestroy") &&
           find(CreateCsr, "cusparseCreateCsr") && find(DestroySpMat, "cusparseDestroySpMat") &&
           find(CreateDnMat, "cusparseCreateDnMat") && find(DestroyDnMat, "cusparseDestroyDnMat") &&
           find(SpMM_bufferSize, "cusparseSpMM_bufferSize") &&
           find(SpMM_preprocess, "cusparseSpMM_preprocess") && find(SpMM, "cusparseSpMM");
  }
};

}  // namespace

double tenon_bound_cusparse_ms(int64_t rows, int64_t each, int64_t k) {
  using tenon::lower_bounds::Memory;
  std::vector<int> starts, columns;
  for (int64_t r = 0; r <= rows; ++r) starts.push_back(static_cast<int>(r * each));
  for (int64_t i = 0; i < rows * each; ++i)
    columns.push_back(static_cast<int>(i * 2654435761 % rows));
  const Memory at(4 * (rows + 1)), column(4 * rows * each), values(4 * rows * each),
      b(4 * rows * k), c(4 * rows * k);
  if (!at.p || !column.p || !values.p || !b.p || !c.p) return -1;
  cudaMemcpy(at.p, starts.data(), starts.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(column.p, columns.data(), columns.size() * sizeof(int), cudaMemcpyHostToDevice);
  Library lib;
  cusparseHandle_t handle;
  if (!lib.open() || lib.Create(&handle) != 0) return -1;
  cusparseSpMatDescr_t left = nullptr;
  cusparseDnMatDescr_t right = nullptr, out = nullptr;
  const auto index = CUSPARSE_INDEX_32I;
  const auto as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto algo = CUSPARSE_SPMM_CSR_ALG2;  // for row-major matrices, in a fixed order
  const float one = 1, none = 0;
  size_t bytes = 0;
  bool well = lib.CreateCsr(&left, rows, rows, rows * each, at.p, column.p, values.p, index, index,
                            CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) == 0 &&
              lib.CreateDnMat(&right, rows, k, k, b.p, CUDA_R_32F, CUSPARSE_ORDER_ROW) == 0 &&
              lib.CreateDnMat(&out, rows, k, k, c.p, CUDA_R_32F, CUSPARSE_ORDER_ROW) == 0 &&
              lib.SpMM_bufferSize(handle, as_is, as_is, &one, left, right, &none, out, CUDA_R_32F,
                                  algo, &bytes) == 0;
  const Memory buffer(static_cast<int64_t>(bytes) + 1);
  well = well && lib.SpMM_preprocess(handle, as_is, as_is, &one, left, right, &none, out,
                                     CUDA_R_32F, algo, buffer.p) == 0;
  const auto run = [&] {
    well = well && lib.SpMM(handle, as_is, as_is, &one, left, right, &none, out, CUDA_R_32F, algo,
                            buffer.p) == 0;
  };
  const double ms = tenon::lower_bounds::device_ms(5, run);
  if (out) lib.DestroyDnMat(out);
  if (right) lib.DestroyDnMat(right);
  if (left) lib.DestroySpMat(left);
  lib.Destroy(handle);
  return well ? ms : -1;
}

#else
double tenon_bound_cusparse_ms(int64_t, int64_t, int64_t) { return -1; }
#endif
