// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bmm: CLBlast for large products of floats, cl/matmul.cl for the rest.
#include <clblast_c.h>

#include "launch.h"
#include "tenon/sdk/ops/bmm.h"

namespace tenon::opencl {
namespace {

using namespace sdk;

constexpr int64_t kLarge = 32 * 32 * 32;  // min. multiplications of a product for CLBlast

// Layout of a batch of matrices in CLBlast's terms.
struct Layout {
  CLBlastTranspose transpose = CLBlastTransposeNo;
  std::size_t leading_dim = 0;
};

bool find_layout(const View& v, Layout& out) {
  const int64_t rows = v.size[1], columns = v.size[2], down = v.stride[1], right = v.stride[2];
  if ((right == 1 || columns == 1) && (down >= columns || rows == 1)) {
    out = {CLBlastTransposeNo, static_cast<std::size_t>(rows == 1 ? columns : down)};
    return true;
  }
  if ((down == 1 || rows == 1) && (right >= rows || columns == 1)) {
    out = {CLBlastTransposeYes, static_cast<std::size_t>(columns == 1 ? rows : right)};
    return true;
  }
  return false;
}

std::size_t offset_of(const View& v) { return v.base / static_cast<uint64_t>(item_size(v.dtype)); }
std::size_t batch_stride(const View& v) { return static_cast<std::size_t>(v.stride[0]); }

bool multiply_with_clblast(Launch& launch, const View& y, const View& a, const View& b) {
  const int64_t m = y.size[1], n = y.size[2], k = a.size[2];
  Layout la, lb, ly;
  if (m * n * k < kLarge || (y.dtype != kFloat32 && y.dtype != kFloat64)) return false;
  if (!find_layout(a, la) || !find_layout(b, lb) || !find_layout(y, ly) ||
      ly.transpose != CLBlastTransposeNo)
    return false;
  const auto size = [](int64_t v) { return static_cast<std::size_t>(v); };
  cl_command_queue queue = launch.queue();
  const CLBlastStatusCode status =
      y.dtype == kFloat32
          ? CLBlastSgemmStridedBatched(
                CLBlastLayoutRowMajor, la.transpose, lb.transpose, size(m), size(n), size(k), 1.0f,
                a.memory, offset_of(a), la.leading_dim, batch_stride(a), b.memory, offset_of(b),
                lb.leading_dim, batch_stride(b), 0.0f, y.memory, offset_of(y), ly.leading_dim,
                batch_stride(y), size(y.size[0]), &queue, nullptr)
          : CLBlastDgemmStridedBatched(
                CLBlastLayoutRowMajor, la.transpose, lb.transpose, size(m), size(n), size(k), 1.0,
                a.memory, offset_of(a), la.leading_dim, batch_stride(a), b.memory, offset_of(b),
                lb.leading_dim, batch_stride(b), 0.0, y.memory, offset_of(y), ly.leading_dim,
                batch_stride(y), size(y.size[0]), &queue, nullptr);
  if (status != CLBlastSuccess) {
    throw Error(TN_ERROR_BACKEND, "CLBlast's gemm failed with status ", static_cast<int>(status),
                " (", error_name(static_cast<cl_int>(status)), ")");
  }
  return true;
}

tn_status bmm(Call& call, Tensor out, Tensor self, Tensor mat2) {
  return run_or_decline([&] {
    const View y(out), a(self), b(mat2);
    Launch launch(call, out.device().index, "matmul", "matmul");
    if (multiply_with_clblast(launch, y, a, b)) return;
    View rows = a.broadcast_along(2, y.size[2]), columns = b.broadcast_along(1, y.size[1]);
    Grid g;
    if (!make_grid(g, y, {&y, &rows, &columns})) throw Declined{};
    launch.type('X', y.dtype)
        .arg(g)
        .arg(y)
        .arg(a)
        .arg(b)
        .arg(a.size[2])
        .arg(a.stride[2])
        .arg(b.stride[1]);
    launch.run_items(g.n);
  });
}

}  // namespace

TN_KERNEL(bmm, bmm, dtypes("number").any_strides());

}  // namespace tenon::opencl
