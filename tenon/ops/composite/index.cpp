// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Indexing operators over _index, index_put, gather and scatter.
#include <algorithm>
#include <vector>

#include "tenon/core/sizes.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::composite {
namespace {

using OptTensors = std::vector<std::optional<Tensor>>;

bool is_mask(const Tensor& t) { return t.scalar_type() == kBool || t.scalar_type() == kUInt8; }

// Indices on the host serve tensors of every device.
Tensor placed(const Tensor& index, const Tensor& self) {
  return index.is_cpu() ? index.to(self.device()) : index;
}

// Replaces masks by the positions of their true elements. A mask without dimensions asks for a new
// one of size 1 or 0.
OptTensors positions(Tensor& self, ArrayRef<std::optional<Tensor>> indices) {
  OptTensors out;
  for (const auto& i : indices) {
    if (!i || !i->defined() || !is_mask(*i)) {
      out.push_back(i && i->defined() ? std::optional(placed(*i, self)) : std::nullopt);
      continue;
    }
    int64_t at = static_cast<int64_t>(out.size());
    Tensor mask = *i;
    if (mask.scalar_type() == kUInt8)
      warn("deprecated",
           "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
           "instead");
    if (mask.dim() == 0) {
      self = self.unsqueeze(at);
      mask = mask.reshape({1});
    }
    TENON_CHECK(at + mask.dim() <= self.dim(), IndexError, "index: too many indices (",
                indices.size(), ") for rank ", self.dim());
    for (int64_t d = 0; d < mask.dim(); ++d) {
      TENON_CHECK(mask.size(d) == self.size(at + d), IndexError, "index: mask shape ", mask.sizes(),
                  " does not match ", self.sizes(), " at position ", at + d);
    }
    Tensor found = placed(mask.nonzero(), self);
    for (int64_t d = 0; d < mask.dim(); ++d) out.push_back(found.select(1, d));
  }
  return out;
}

}  // namespace

Tensor index_Tensor(const Tensor& self, ArrayRef<std::optional<Tensor>> indices) {
  const bool host = self.is_cpu();
  const bool plain = std::none_of(indices.begin(), indices.end(), [&](const auto& i) {
    return i && i->defined() && (is_mask(*i) || (!host && i->is_cpu()));
  });
  if (plain) return _index(self, indices);
  Tensor of = self;
  OptTensors all = positions(of, indices);
  return _index(of, ArrayRef<std::optional<Tensor>>(all));
}

Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce) {
  TENON_CHECK(reduce == "add" || reduce == "multiply", ValueError,
              "scatter: argument 'reduce' must be add or multiply, got '", std::string(reduce),
              "'");
  return tenon::scatter_reduce(self, dim, index, src, reduce == "add" ? "sum" : "prod", true);
}

Tensor scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index,
                            const Scalar& value, std::string_view reduce) {
  return tenon::scatter(self, dim, index,
                        tenon::full(index.sizes(), value, self.options().requires_grad(false)),
                        reduce);
}

Tensor take(const Tensor& self, const Tensor& index) {
  TENON_CHECK(index.scalar_type() == kLong || index.scalar_type() == kInt, IndexError,
              "take: index tensors must be int64, got ", dtype_name(index.scalar_type()));
  std::optional<Tensor> at[] = {index};
  return _index(self.reshape({-1}), ArrayRef<std::optional<Tensor>>(at));
}

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  TENON_CHECK(index.numel() == source.numel(), ValueError, "put: 'index' holds ", index.numel(),
              " indices but 'source' ", source.numel());
  std::optional<Tensor> at[] = {index.reshape({-1})};
  return self.reshape({-1})
      .index_put(ArrayRef<std::optional<Tensor>>(at), source.reshape({-1}), accumulate)
      .view(self.sizes());
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  if (!dim) return self.reshape({-1}).gather(0, indices.reshape({-1}));
  TENON_CHECK(self.dim() == indices.dim(), ValueError, "take_along_dim: 'self' has ", self.dim(),
              " dimensions but 'indices' has ", indices.dim());
  int64_t d = wrap("take_along_dim", *dim, self.dim());
  std::vector<int64_t> of_self = self.sizes().vec(), of_index = indices.sizes().vec();
  for (int64_t k = 0; k < self.dim(); ++k) {
    if (k == d) continue;
    std::size_t i = static_cast<std::size_t>(k);
    int64_t size = of_self[i] == 1 ? of_index[i] : of_self[i];
    of_self[i] = of_index[i] = size;
  }
  const Tensor at = indices.expand(of_index);
  const int64_t size = self.dim() == 0 ? 1 : of_self[static_cast<std::size_t>(d)];
  return self.expand(of_self).gather(d, tenon::where(at < 0, at + size, at));
}

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  if (self.dim() == 0) return self.unsqueeze(0).nonzero().unbind(1);
  return self.nonzero().unbind(1);
}
std::vector<Tensor> where(const Tensor& condition) { return condition.nonzero_numpy(); }
Tensor argwhere(const Tensor& self) { return self.nonzero(); }

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  TENON_CHECK(size >= 0, ValueError, "nonzero_static: argument 'size' must not be negative, got ",
              size);
  Tensor found = self.nonzero();
  if (found.size(0) >= size) return found.slice(0, 0, size, 1).contiguous();
  return found.constant_pad_nd({0, 0, 0, size - found.size(0)}, fill_value);
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TENON_CHECK(self.scalar_type() == kLong, TypeError, "one_hot: expected int64 but found ",
              dtype_name(self.scalar_type()), " for argument 'self'");
  if (self.numel() == 0) {
    TENON_CHECK(num_classes > 0, ValueError,
                "one_hot: the number of classes of an empty tensor must be given");
  } else {
    int64_t smallest = self.min().item().toLong(), largest = self.max().item().toLong();
    TENON_CHECK(smallest >= 0, ValueError, "one_hot: class ", smallest, " is negative");
    if (num_classes == -1)
      num_classes = (core::Size(largest) + 1).get("one_hot", "the number of classes");
    TENON_CHECK(largest < num_classes, ValueError, "one_hot: class ", largest,
                " must be below the number of classes ", num_classes);
  }
  std::vector<int64_t> shape = self.sizes().vec();
  shape.push_back(num_classes);
  return tenon::zeros(shape, self.options()).scatter_(-1, self.unsqueeze(-1), 1);
}

}  // namespace tenon::composite
