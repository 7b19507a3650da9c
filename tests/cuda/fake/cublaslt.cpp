// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's product in plain loops, on the fake streams. It refuses what the real one refuses.
#include <cublasLt.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "control.h"
#include "tenon/sdk/half.h"

namespace {

using tenon::sdk::BFloat16;
using tenon::sdk::Half;

struct Layout {
  cudaDataType_t type;
  int64_t rows, columns, lead, apart;
  int32_t batch;
};
struct Desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transposed[2];
  int32_t epilogue;
  const void* bias;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Desc) <= sizeof(cublasLtMatmulDescOpaque_t));

// The problem that an algorithm was found for; it is invalid for others.
struct Algo {
  int64_t rows, columns, inner, workspace;
};
static_assert(sizeof(Algo) <= sizeof(cublasLtMatmulAlgo_t));

template <class T, class O>
T& as(O* opaque) {
  return *reinterpret_cast<T*>(opaque);
}
template <class T, class O>
const T& as(const O* opaque) {
  return *reinterpret_cast<const T*>(opaque);
}

// Injected failures are shared with the runtime's calls.
bool failing() { return tenon_fake_call("cublasLt") != 0; }
#define BEGIN() \
  if (failing()) return CUBLAS_STATUS_INTERNAL_ERROR

struct Work {
  Desc d;
  Layout a, b, c, out;
  double alpha, beta;
  const void *pa, *pb, *pc;
  void* pout;
};

// CUBLASLT_EPILOGUE_RELU, _BIAS and _GELU are bits of it; other bits (pointers to further results)
// are not supported here.
bool biased(const Desc& d) { return d.epilogue & CUBLASLT_EPILOGUE_BIAS; }
double activated(const Desc& d, double x) {
  if (d.epilogue == CUBLASLT_EPILOGUE_RELU || d.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS)
    return x > 0 ? x : 0;
  if (d.epilogue != CUBLASLT_EPILOGUE_GELU && d.epilogue != CUBLASLT_EPILOGUE_GELU_BIAS) return x;
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
bool known(const Desc& d) {
  for (int e : {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
                CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
    if (d.epilogue == e) return !biased(d) || d.bias != nullptr;
  }
  return false;
}

template <class T>
void multiply(const Work& w) {
  const int64_t inner = w.d.transposed[0] ? w.a.rows : w.a.columns;
  for (int64_t q = 0; q < w.out.batch; ++q) {
    const T* a = static_cast<const T*>(w.pa) + q * w.a.apart;
    const T* b = static_cast<const T*>(w.pb) + q * w.b.apart;
    const T* c = static_cast<const T*>(w.pc) + q * w.c.apart;
    T* out = static_cast<T*>(w.pout) + q * w.out.apart;
    for (int64_t j = 0; j < w.out.columns; ++j) {
      for (int64_t i = 0; i < w.out.rows; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          sum +=
              static_cast<double>(w.d.transposed[0] ? a[k + i * w.a.lead] : a[i + k * w.a.lead]) *
              static_cast<double>(w.d.transposed[1] ? b[j + k * w.b.lead] : b[k + j * w.b.lead]);
        }
        sum *= w.alpha;
        if (w.beta != 0) sum += w.beta * static_cast<double>(c[i + j * w.c.lead]);
        if (biased(w.d)) sum += static_cast<double>(static_cast<const T*>(w.d.bias)[i]);
        sum = activated(w.d, sum);
        out[i + j * w.out.lead] = static_cast<T>(static_cast<float>(sum));
        if constexpr (sizeof(T) == 8) out[i + j * w.out.lead] = sum;
      }
    }
  }
}

bool fits(const Desc& d, const Layout& a, const Layout& b, const Layout& c, const Layout& out) {
  const int64_t m = d.transposed[0] ? a.columns : a.rows, k = d.transposed[0] ? a.rows : a.columns;
  const int64_t n = d.transposed[1] ? b.rows : b.columns,
                inner = d.transposed[1] ? b.columns : b.rows;
  for (const Layout* l : {&a, &b, &c, &out}) {
    if (l->rows <= 0 || l->columns <= 0 || l->lead < l->rows || l->type != out.type ||
        l->batch != out.batch)
      return false;
  }
  const bool activates =
      d.epilogue != CUBLASLT_EPILOGUE_DEFAULT && d.epilogue != CUBLASLT_EPILOGUE_BIAS;
  if (!known(d) || (activates && d.scale == CUDA_R_64F)) return false;
  return out.rows == m && out.columns == n && c.rows == m && c.columns == n && k == inner;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  BEGIN();
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion(void) {
  const char* other = std::getenv("TENON_FAKE_CUBLAS_VERSION");
  return other ? static_cast<size_t>(std::atoi(other)) : CUBLAS_VER_MAJOR * 10000;
}
const char* cublasLtGetStatusName(cublasStatus_t s) {
  return s == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                          : "CUBLAS_STATUS_OF_THE_FAKE";
}
const char* cublasLtGetStatusString(cublasStatus_t) { return "by the fake"; }

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t,
                                                 cudaDataType type, uint64_t rows, uint64_t columns,
                                                 int64_t lead) {
  as<Layout>(layout) = {type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), lead, 0,
                        1};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t what,
                                                const void* value, size_t bytes) {
  Layout& l = as<Layout>(layout);
  if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof l.batch)
    std::memcpy(&l.batch, value, bytes);
  else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof l.apart)
    std::memcpy(&l.apart, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  as<Desc>(desc) = {compute, scale, {CUBLAS_OP_N, CUBLAS_OP_N}, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void* value, size_t bytes) {
  Desc& d = as<Desc>(desc);
  switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
    case CUBLASLT_MATMUL_DESC_TRANSB:
      if (bytes != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&d.transposed[what == CUBLASLT_MATMUL_DESC_TRANSB], value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      if (bytes != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&d.epilogue, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      if (bytes != sizeof(void*)) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&d.bias, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     size_t) {
  std::memset(preference, 0, sizeof *preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  BEGIN();
  const Layout& o = as<Layout>(out);
  *found = 0;
  if (!fits(as<Desc>(desc), as<Layout>(a), as<Layout>(b), as<Layout>(c), o))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const Layout& first = as<Layout>(a);
  const int64_t inner = as<Desc>(desc).transposed[0] ? first.rows : first.columns;
  *results = {};
  results->workspaceSize = o.rows * o.columns > 4096 ? 1 << 16 : 0;
  as<Algo>(&results->algo) = {o.rows, o.columns, inner,
                              static_cast<int64_t>(results->workspaceSize)};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t la, const void* b,
                              cublasLtMatrixLayout_t lb, const void* beta, const void* c,
                              cublasLtMatrixLayout_t lc, void* out, cublasLtMatrixLayout_t lout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t bytes,
                              cudaStream_t stream) {
  BEGIN();
  auto* w = new Work{as<Desc>(desc),
                     as<Layout>(la),
                     as<Layout>(lb),
                     as<Layout>(lc),
                     as<Layout>(lout),
                     0,
                     0,
                     a,
                     b,
                     c,
                     out};
  const Algo& found = as<Algo>(algo);
  const bool same = found.rows == w->out.rows && found.columns == w->out.columns &&
                    found.inner == (w->d.transposed[0] ? w->a.rows : w->a.columns);
  const bool room = static_cast<int64_t>(bytes) >= found.workspace &&
                    (workspace != nullptr || found.workspace == 0);
  if (!fits(w->d, w->a, w->b, w->c, w->out) || !same || !room) {
    delete w;
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool wide = w->d.scale == CUDA_R_64F;
  w->alpha = wide ? *static_cast<const double*>(alpha) : double{*static_cast<const float*>(alpha)};
  w->beta = wide ? *static_cast<const double*>(beta) : double{*static_cast<const float*>(beta)};
  const auto run = [](void* p) {
    const Work& work = *static_cast<Work*>(p);
    switch (work.out.type) {
      case CUDA_R_32F:
        return multiply<float>(work);
      case CUDA_R_64F:
        return multiply<double>(work);
      case CUDA_R_16F:
        return multiply<Half>(work);
      default:
        return multiply<BFloat16>(work);
    }
  };
  tenon_fake_enqueue_owned(
      stream, run, [](void* p) { delete static_cast<Work*>(p); }, w);
  return CUBLAS_STATUS_SUCCESS;
}
}
