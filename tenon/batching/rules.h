// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The rules, by what they do with the slices. Private to libtenon.
#pragma once

#include "tenon/batching/call.h"

namespace tenon::batching::rules {

// pointwise.cpp: ones align the operands, and broadcasting does the rest.
Results pointwise(Call& call);
Results copy(Call& call);
Results clone(Call& call);
Results fill_tensor(Call& call);
Results masked_fill_tensor(Call& call);

// dims.cpp: dimensions are shifted by one, and lists of sizes begin with the number of slices. All
// tensors have slices, where need be the same ones.
Results along_dims(Call& call);
// No dimension means all.
Results reduction(Call& call);
Results full_prod(Call& call);
Results full_all(Call& call);
Results full_any(Call& call);
Results full_max(Call& call);
Results full_min(Call& call);
Results arg_extremum(Call& call);
Results cat(Call& call);
// Of tensors of one rank, which take any number of dimensions before those that they work on.
Results leading(Call& call);

// view.cpp
Results view(Call& call);
Results as_strided(Call& call);
Results expand(Call& call);
Results permute(Call& call);
Results t(Call& call);
Results unsqueeze(Call& call);
Results squeeze(Call& call);

// products.cpp
Results matmul(Call& call);  // mm and bmm
Results mv(Call& call);
Results dot(Call& call);
Results addmm(Call& call);  // and baddbmm
Results addmv(Call& call);

// index.cpp
Results index(Call& call);
Results index_put(Call& call);
Results index_select(Call& call);
Results with_common_index(Call& call);  // index_add and others of an index that is not batched
Results embedding(Call& call);

// nn.cpp: the slices are more images, or more groups of channels.
Results convolution(Call& call);
Results convolution_backward(Call& call);
Results images_1d(Call& call);
Results images_2d(Call& call);
Results images_3d(Call& call);

// norm.cpp
Results layer_norm(Call& call);
Results rms_norm(Call& call);
Results layer_norm_backward(Call& call);
Results group_norm(Call& call);
Results group_norm_backward(Call& call);

}  // namespace tenon::batching::rules
