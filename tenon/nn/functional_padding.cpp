// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/padding.h"

#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

// Copies of both ends along each dimension, as if the tensor went on for ever.
Tensor circular(const Tensor& input, const std::vector<int64_t>& pad) {
  Tensor out = input;
  for (std::size_t i = 0; i + 1 < pad.size(); i += 2) {
    const int64_t dim = input.dim() - 1 - static_cast<int64_t>(i) / 2;
    const int64_t size = input.size(dim), before = pad[i], after = pad[i + 1];
    TENON_CHECK(before <= size && after <= size, ValueError, "pad: circular padding ", before, ", ", after,
                " is wider than dimension ", dim, " of size ", size);
    TENON_CHECK(before + after + size >= 0, ValueError, "pad: negative padding ", before, ", ", after,
                " leaves nothing of dimension ", dim, " of size ", size);
    const Tensor body =
        out.narrow(dim, before < 0 ? -before : 0, size + (before < 0 ? before : 0) + (after < 0 ? after : 0));
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(out.narrow(dim, size - before, before));
    parts.push_back(body);
    if (after > 0) parts.push_back(out.narrow(dim, 0, after));
    out = parts.size() == 1 ? body : tenon::cat(parts, dim);
  }
  return out;
}

// Reflected or replicated ends by index_select, one dimension after the other.
Tensor by_index(const Tensor& input, const std::vector<int64_t>& pad, bool reflect) {
  Tensor out = input;
  for (std::size_t i = 0; i + 1 < pad.size(); i += 2) {
    if (pad[i] == 0 && pad[i + 1] == 0) continue;
    const int64_t dim = input.dim() - 1 - static_cast<int64_t>(i) / 2;
    const int64_t size = input.size(dim);
    TENON_CHECK(!reflect || (pad[i] < size && pad[i + 1] < size), ValueError, "pad: reflection ", pad[i], ", ",
                pad[i + 1], " must be less than dimension ", dim, " of size ", size);
    TENON_CHECK(size > 0 && size + pad[i] + pad[i + 1] > 0, ValueError, "pad: padding ", pad[i], ", ", pad[i + 1],
                " leaves nothing of dimension ", dim, " of size ", size);
    std::vector<int64_t> index;
    for (int64_t k = -pad[i]; k < size + pad[i + 1]; ++k) {
      const int64_t low = reflect ? -k : 0, high = reflect ? 2 * (size - 1) - k : size - 1;
      index.push_back(k < 0 ? low : (k >= size ? high : k));
    }
    out = out.index_select(dim, tenon::tensor(index, TensorOptions().dtype(kLong)).to(input.device()));
  }
  return out;
}

}  // namespace

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  const auto& pad = options.pad();
  TENON_CHECK(pad.size() % 2 == 0, ValueError, "pad: expected an even number of sizes, got ", pad.size());
  TENON_CHECK(static_cast<int64_t>(pad.size()) / 2 <= input.dim(), ValueError, "pad: ", pad.size(),
              " sizes are too many for a ", input.dim(), "-D input");
  switch (options.mode().name()) {
    case enumtype::Name::Circular:
      return circular(input, pad);
    case enumtype::Name::Reflect:
      return by_index(input, pad, true);
    case enumtype::Name::Replicate:
      return by_index(input, pad, false);
    default:
      return tenon::constant_pad_nd(input, pad, options.value());
  }
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
