// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Cutting a dimension into parts.
#include <algorithm>
#include <vector>

#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

int64_t split_dim(const char* op, const Tensor& self, int64_t dim) {
  TENON_CHECK(self.dim() > 0, IndexError, op, ": dimension specified as ", dim,
              " but the tensor has no dimensions");
  return wrap(op, dim, self.dim());
}

std::vector<Tensor> slice_at(const Tensor& self, int64_t dim, const std::vector<int64_t>& ends) {
  std::vector<Tensor> out;
  int64_t from = 0;
  for (int64_t end : ends) {
    out.push_back(self.slice(dim, from, end, 1));
    from = end;
  }
  return out;
}

// The dimension that hsplit, vsplit and dsplit cut: their rank rules differ.
int64_t stack_dim(const char* op, const Tensor& self, int64_t min_rank, int64_t dim) {
  TENON_CHECK(self.dim() >= min_rank, ValueError, op, ": expected at least ", min_rank,
              " dimensions, got ", self.dim());
  return dim;
}
int64_t h_dim(const Tensor& self) { return stack_dim("hsplit", self, 1, self.dim() == 1 ? 0 : 1); }
int64_t v_dim(const Tensor& self) { return stack_dim("vsplit", self, 2, 0); }
int64_t d_dim(const Tensor& self) { return stack_dim("dsplit", self, 3, 2); }

std::vector<Tensor> equal_parts(const char* op, const Tensor& self, int64_t sections, int64_t dim) {
  TENON_CHECK(sections > 0 && self.size(dim) % sections == 0, ValueError, op, ": size ",
              self.size(dim), " of dimension ", dim, " is not divisible by ", sections,
              " sections");
  return self.tensor_split(sections, dim);
}

std::vector<Tensor> clone_each(std::vector<Tensor> list) {
  for (Tensor& t : list) t = t.clone(MemoryFormat::Contiguous);
  return list;
}

// Parts that a program may write one after another though a gradient needs the others: views share
// the version that recording checks, copies do not.
std::vector<Tensor> copied(std::vector<Tensor> parts) {
  for (Tensor& part : parts) part = part.clone(MemoryFormat::Contiguous);
  return parts;
}

}  // namespace

std::vector<Tensor> split_Tensor(const Tensor& self, int64_t split_size, int64_t dim) {
  dim = split_dim("split", self, dim);
  int64_t size = self.size(dim);
  TENON_CHECK(split_size > 0 || (split_size == 0 && size == 0), ValueError, "split: split_size is ",
              split_size, " but must be positive for dimension ", dim, " of size ", size);
  const int64_t n = size == 0 ? 1 : (size - 1) / split_size + 1;
  std::vector<Tensor> out = list_for("split", n);
  for (int64_t i = 0; i < n; ++i) {
    out.push_back(self.slice(dim, i * split_size, i + 1 == n ? size : (i + 1) * split_size, 1));
  }
  return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  dim = split_dim("split_with_sizes", self, dim);
  std::vector<int64_t> ends;
  core::Size sum = 0;
  for (int64_t s : split_sizes) {
    TENON_CHECK(s >= 0, ValueError, "split_with_sizes: negative size in ", split_sizes);
    ends.push_back((sum += s).get("split_with_sizes", "the sum of split_sizes"));
  }
  const int64_t at = ends.empty() ? 0 : ends.back();
  TENON_CHECK(at == self.size(dim), ValueError, "split_with_sizes: sizes ", split_sizes,
              " sum up to ", at, " but dimension ", dim, " has size ", self.size(dim));
  return slice_at(self, dim, ends);
}
std::vector<Tensor> split_sizes(const Tensor& self, IntArrayRef split_size, int64_t dim) {
  return self.split_with_sizes(split_size, dim);
}
std::vector<Tensor> split_with_sizes_copy(const Tensor& self, IntArrayRef split_sizes,
                                          int64_t dim) {
  return clone_each(self.split_with_sizes(split_sizes, dim));
}
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  dim = split_dim("chunk", self, dim);
  TENON_CHECK(chunks > 0, ValueError, "chunk: argument 'chunks' must be positive, got ", chunks);
  int64_t size = self.size(dim), part = size / chunks + (size % chunks != 0);
  if (part == 0) return self.tensor_split(chunks, dim);
  return self.split(part, dim);
}

std::vector<Tensor> unsafe_split_Tensor(const Tensor& self, int64_t split_size, int64_t dim) {
  return copied(self.split(split_size, dim));
}
std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  return copied(self.chunk(chunks, dim));
}

std::vector<Tensor> unbind_int(const Tensor& self, int64_t dim) {
  TENON_CHECK(self.dim() > 0, IndexError, "unbind: invalid index of a 0-dim tensor; use item()");
  dim = split_dim("unbind", self, dim);
  std::vector<Tensor> out = list_for("unbind", self.size(dim));
  for (int64_t i = 0; i < self.size(dim); ++i) out.push_back(self.select(dim, i));
  return out;
}
std::vector<Tensor> unbind_copy_int(const Tensor& self, int64_t dim) {
  return clone_each(self.unbind(dim));
}

std::vector<Tensor> tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  dim = split_dim("tensor_split", self, dim);
  TENON_CHECK(sections > 0, ValueError, "tensor_split: argument 'sections' must be positive, got ",
              sections);
  const int64_t size = self.size(dim);
  std::vector<Tensor> out = list_for("tensor_split", sections);
  for (int64_t i = 0, from = 0; i < sections; ++i) {
    const int64_t end = from + size / sections + (i < size % sections ? 1 : 0);
    out.push_back(self.slice(dim, from, end, 1));
    from = end;
  }
  return out;
}

std::vector<Tensor> tensor_split_indices(const Tensor& self, IntArrayRef indices, int64_t dim) {
  dim = split_dim("tensor_split", self, dim);
  std::vector<Tensor> out;
  int64_t from = 0;
  for (int64_t end : indices) {
    out.push_back(self.slice(dim, from, end, 1));
    from = end;
  }
  out.push_back(self.slice(dim, from, self.size(dim), 1));
  return out;
}

std::vector<Tensor> tensor_split_tensor_indices_or_sections(const Tensor& self, const Tensor& cuts,
                                                            int64_t dim) {
  TENON_CHECK(
      cuts.scalar_type() == kLong && cuts.dim() <= 1, ValueError,
      "tensor_split: argument 'tensor_indices_or_sections' must be int64 with at most 1 dimension");
  if (cuts.dim() == 0) return self.tensor_split(cuts.item().toLong(), dim);
  Tensor host = cuts.cpu().contiguous();
  return self.tensor_split(
      IntArrayRef(host.const_data_ptr<int64_t>(), static_cast<std::size_t>(host.numel())), dim);
}

std::vector<Tensor> hsplit_int(const Tensor& self, int64_t n) {
  return equal_parts("hsplit", self, n, h_dim(self));
}
std::vector<Tensor> vsplit_int(const Tensor& self, int64_t n) {
  return equal_parts("vsplit", self, n, v_dim(self));
}
std::vector<Tensor> dsplit_int(const Tensor& self, int64_t n) {
  return equal_parts("dsplit", self, n, d_dim(self));
}
std::vector<Tensor> hsplit_array(const Tensor& self, IntArrayRef at) {
  return self.tensor_split(at, h_dim(self));
}
std::vector<Tensor> vsplit_array(const Tensor& self, IntArrayRef at) {
  return self.tensor_split(at, v_dim(self));
}
std::vector<Tensor> dsplit_array(const Tensor& self, IntArrayRef at) {
  return self.tensor_split(at, d_dim(self));
}

}  // namespace tenon::composite
