// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of copies, views, indexing, joins and sorts.
#pragma once

#include "tenon/autograd/saved.h"
#include "tenon/ops.h"

namespace tenon::autograd::formulas {

using OptTensors = ArrayRef<std::optional<Tensor>>;

// In the source's shape, dtype and device.
Tensor copy_backward(const Tensor& grad, IntArrayRef sizes, const TensorOptions& options);
Tensor as_strided_backward(const Tensor& grad, const TensorOptions& options, IntArrayRef sizes,
                           IntArrayRef strides, int64_t offset, IntArrayRef view_size,
                           IntArrayRef view_stride, std::optional<int64_t> view_offset);
Tensor permute_backward(const Tensor& grad, IntArrayRef dims);
Tensor slice_grad(const Tensor& grad, const SavedGeometry& of, int64_t dim,
                  std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
Tensor select_grad(const Tensor& grad, const SavedGeometry& of, int64_t dim, int64_t index);
Tensor unsqueeze_backward(const Tensor& grad, int64_t dim);
Tensor constant_pad_backward(const Tensor& grad, IntArrayRef pad);

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const TensorOptions& options,
                      const std::vector<Tensor>& indices);
Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices);
Tensor index_put_values_backward(const Tensor& grad, const std::vector<Tensor>& indices,
                                 IntArrayRef sizes);
Tensor index_select_backward(const Tensor& grad, const SavedGeometry& of, int64_t dim,
                             const Tensor& index);
Tensor index_add_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                                 IntArrayRef sizes, const Scalar& alpha);
std::tuple<Tensor, Tensor> index_reduce_backward(const Tensor& grad, const Tensor& self,
                                                 int64_t dim, const Tensor& index,
                                                 const Tensor& source, std::string_view reduce,
                                                 bool include_self, const Tensor& result);
Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor scatter_src_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                            IntArrayRef sizes);
std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self,
                                                   int64_t dim, const Tensor& index,
                                                   const Tensor& src, std::string_view reduce,
                                                   bool include_self, const Tensor& result);
Tensor masked_fill_value_backward(const Tensor& grad, const Tensor& mask);
Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask);
Tensor masked_scatter_self_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask);
Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask, IntArrayRef sizes);

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<SavedGeometry>& parts,
                                 int64_t dim);
// Of values that were taken from self along dim by indices.
Tensor pick_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes);
Tensor pick_reduced_backward(const Tensor& grad, int64_t dim, const Tensor& indices,
                             IntArrayRef sizes, bool keepdim);

}  // namespace tenon::autograd::formulas
