// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Diagonals, grids and combinations.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/core/sizes.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t rank = self.dim() + 1;
  TENON_CHECK(self.dim() > 0, ValueError, "diag_embed: expected at least 1 dimension");
  int64_t a = wrap("diag_embed", dim1, rank), b = wrap("diag_embed", dim2, rank);
  TENON_CHECK(a != b, ValueError, "diag_embed: dim1 and dim2 are both dimension ", a);
  std::vector<int64_t> sizes = self.sizes().vec();
  const core::Size shift = offset < 0 ? core::Size(0) - offset : core::Size(offset);
  const int64_t side = (shift + sizes.back()).get("diag_embed", "the size of the result");
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(a, b), side);
  sizes.insert(sizes.begin() + std::max(a, b), side);
  return diagonal_backward(self, sizes, offset, a, b);
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  TENON_CHECK(self.dim() == 1 || self.dim() == 2, ValueError,
              "diag: expected a vector or a matrix, got ", self.dim(), " dimensions");
  return self.dim() == 1 ? self.diag_embed(diagonal)
                         : self.diagonal(diagonal).clone(MemoryFormat::Contiguous);
}

Tensor diagflat(const Tensor& self, int64_t offset) {
  return self.reshape({-1}).diag_embed(offset);
}

namespace {

// Where the elements of blocks of these shapes are in a matrix of `columns` columns, block after
// block.
std::vector<int64_t> diagonal_positions(const std::vector<Tensor>& blocks, int64_t columns) {
  std::vector<int64_t> places;
  int64_t row = 0, column = 0;
  for (const Tensor& t : blocks) {
    for (int64_t i = 0; i < t.size(0); ++i) {
      for (int64_t j = 0; j < t.size(1); ++j) places.push_back((row + i) * columns + column + j);
    }
    row += t.size(0);
    column += t.size(1);
  }
  return places;
}

}  // namespace

// One write of all elements: blocks padded to whole rows and joined would be as many writes as
// there are blocks, and take the memory of the result twice.
Tensor block_diag(TensorList tensors) {
  TENON_CHECK(!tensors.empty(), ValueError, "block_diag: expected a non-empty list of tensors");
  std::vector<Tensor> blocks, values;
  core::Size rows = 0, columns = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TENON_CHECK(tensors[i].dim() <= 2, ValueError, "block_diag: the tensor at position ", i,
                " has ", tensors[i].dim(), " dimensions; at most 2 are possible");
    blocks.push_back(tenon::atleast_2d(tensors[i]));
    values.push_back(blocks.back().reshape({-1}));
    rows += blocks.back().size(0);
    columns += blocks.back().size(1);
  }
  const Tensor joined = tenon::cat(values, 0);
  const int64_t height = rows.get("block_diag", "a size of the result"),
                width = columns.get("block_diag", "a size of the result");
  Tensor out = tenon::zeros({height, width}, joined.options().requires_grad(false));
  const Tensor places =
      tenon::tensor(diagonal_positions(blocks, width), TensorOptions(kLong)).to(joined.device());
  return out.view({-1}).scatter_(0, places, joined).view({height, width});
}

std::vector<Tensor> meshgrid_indexing(TensorList tensors, std::string_view indexing) {
  TENON_CHECK(!tensors.empty(), ValueError, "meshgrid: expected a non-empty list of tensors");
  TENON_CHECK(indexing == "ij" || indexing == "xy", ValueError,
              "meshgrid: argument 'indexing' must be ij or xy, got '", std::string(indexing), "'");
  bool swap = indexing == "xy" && tensors.size() >= 2;
  std::vector<Tensor> in(tensors.begin(), tensors.end());
  if (swap) std::swap(in[0], in[1]);
  std::vector<int64_t> shape;
  for (const Tensor& t : in) {
    TENON_CHECK(t.dim() <= 1, ValueError, "meshgrid: expected vectors or numbers, got ", t.dim(),
                " dimensions");
    shape.push_back(t.numel());
  }
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::vector<int64_t> own(in.size(), 1);
    own[i] = shape[i];
    out.push_back(in[i].reshape(own).expand(shape));
  }
  if (swap) std::swap(out[0], out[1]);
  return out;
}
std::vector<Tensor> meshgrid(TensorList tensors) { return tenon::meshgrid(tensors, "ij"); }

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& t : tensors) {
    TENON_CHECK(t.dim() == 1, ValueError, "cartesian_prod: expected vectors, got ", t.dim(),
                " dimensions");
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> grids = tenon::meshgrid(tensors, "ij");
  for (Tensor& g : grids) g = g.reshape({-1});
  return tenon::stack(grids, 1);
}

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TENON_CHECK(self.dim() == 1, ValueError, "combinations: expected a vector, got ", self.dim(),
              " dimensions");
  TENON_CHECK(r >= 0, ValueError, "combinations: argument 'r' must not be negative, got ", r);
  if (r == 0) return empty({0}, self.options().requires_grad(std::nullopt));
  const int64_t n = self.numel(), step = with_replacement ? 0 : 1;
  // Of no element, so that a gradient of zeros is there.
  if (n == 0 || (!with_replacement && r > n))
    return self.slice(0, 0, 0).unsqueeze(1).expand({0, r}).clone();
  // How many numbers there will be; only roughly, as it decides whether they can be held.
  const double of = static_cast<double>(with_replacement ? n - 1 : n - r) + 1,
               each = static_cast<double>(r);
  const double total =
      std::exp(std::lgamma(of + each) - std::lgamma(of) - std::lgamma(each + 1)) * each;
  core::check_room("combinations", "numbers",
                   total < 0x1p62 ? static_cast<int64_t>(total) : INT64_MAX, sizeof(int64_t));
  std::vector<int64_t> pick(static_cast<std::size_t>(r)), all;
  // The first tuple is 0, step, 2 * step, ...; each next one raises the last position that can
  // still rise.
  for (std::size_t i = 0; i < pick.size(); ++i) pick[i] = static_cast<int64_t>(i) * step;
  auto limit = [&](std::size_t i) { return n - 1 - (r - 1 - static_cast<int64_t>(i)) * step; };
  bool more = n > 0 && pick.back() < n;
  while (more) {
    all.insert(all.end(), pick.begin(), pick.end());
    more = false;
    for (std::size_t i = pick.size(); i-- > 0;) {
      if (pick[i] >= limit(i)) continue;
      ++pick[i];
      for (std::size_t k = i + 1; k < pick.size(); ++k) pick[k] = pick[k - 1] + step;
      more = true;
      break;
    }
  }
  Tensor index = empty({static_cast<int64_t>(all.size())}, TensorOptions(kLong));
  std::copy(all.begin(), all.end(), index.data_ptr<int64_t>());
  return self.index_select(0, index.to(self.device()))
      .reshape({static_cast<int64_t>(all.size()) / r, r});
}

}  // namespace tenon::composite
