// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/nn/options/attention.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

// Attention in several heads (Vaswani and others, 2017). query is [target, batch, embed_dim], key
// and value are [source, batch, size]. Returns the result, [target, batch, embed_dim], and with
// need_weights the weights, [batch, target, source] or without averaging [batch, heads, target,
// source]; else an undefined tensor. Without a batch, all of them lack its dimension.
TENON_API std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const MultiheadAttentionForwardFuncOptions& options);

}  // namespace functional
}  // namespace nn
}  // namespace tenon
