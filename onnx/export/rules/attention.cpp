// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer, which scripts take in
// evaluation. Tensors are [batch, length, embed].
#include <cmath>

#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

std::string linear(Call& c, const std::string& x, const std::string& weight,
                   const std::string& bias) {
  return c.op("Add", {c.op("MatMul", {x, c.transpose(weight, {1, 0})}), bias});
}

// One of query, key and value, by heads: [batch, heads, length, embed / heads].
std::string by_heads(Call& c, const std::string& x, int64_t part, int64_t heads) {
  const int64_t embed = c.integer("embed_dim"), begin = part * embed, end = begin + embed;
  const std::string y = linear(c, x, c.slice(c.in("qkv_weight"), 0, begin, end),
                               c.slice(c.in("qkv_bias"), 0, begin, end));
  return c.transpose(c.op("Reshape", {y, c.int_list({0, 0, heads, embed / heads})}), {0, 2, 1, 3});
}

// mask_type: 1 for padding [batch, length]; else it has the dimensions of the scores, the last
// ones.
std::string masked(Call& c, const std::string& scores, ScalarType d) {
  if (const auto kept =
          c.has("src") ? c.exporter.nested.find(c.in("src")) : c.exporter.nested.end();
      kept != c.exporter.nested.end())
    return c.op("Where", {c.unsqueeze(kept->second, {1, 2}), scores, c.constant(-HUGE_VAL, d)});
  if (c.none("mask")) return scores;
  std::string mask = c.in("mask");
  const bool padding = !c.none("mask_type") && c.integer("mask_type") == 1 && c.rank("mask") == 2;
  if (padding) mask = c.unsqueeze(mask, {1, 2});
  if (c.dtype("mask") == kBool) return c.op("Where", {mask, c.constant(-HUGE_VAL, d), scores});
  return c.op("Add", {scores, c.cast(mask, c.dtype("mask"), d)});
}

struct Attended {
  std::string values, weights;  // weights: [batch, heads, length, length]
};

Attended attend(Call& c, const std::string& query, const std::string& key, const std::string& value,
                int64_t heads, ScalarType d) {
  const int64_t embed = c.integer("embed_dim");
  const double scale = 1 / std::sqrt(static_cast<double>(embed / heads));
  const std::string q = c.op("Mul", {by_heads(c, query, 0, heads), c.constant(scale, d)}),
                    k = by_heads(c, key, 1, heads), v = by_heads(c, value, 2, heads);
  const std::string scores = masked(c, c.op("MatMul", {q, c.transpose(k, {0, 1, 3, 2})}), d),
                    weights = c.op("Softmax", {scores}, {{"axis", int64_t{-1}}}),
                    mixed = c.transpose(c.op("MatMul", {weights, v}), {0, 2, 1, 3});
  const std::string joined = c.op("Reshape", {mixed, c.int_list({0, 0, embed})});
  return {linear(c, joined, c.in("proj_weight"), c.in("proj_bias")), weights};
}

void multi_head_attention(Call& c) {
  const Attended made =
      attend(c, c.in("query"), c.in("key"), c.in("value"), c.integer("num_head"), c.dtype("query"));
  c.give(made.values, 0);
  if (!c.flag("need_weights")) {
    c.given.at(1) = std::make_shared<Item>(Item{IValue(), true});
    return;
  }
  const bool average = c.flag("average_attn_weights");
  c.give(average ? c.reduce("ReduceMean", made.weights, {1}, false) : made.weights, 1);
}

// nn.TransformerEncoder packs sequences without their padding where that is at their ends. Both
// ways differ in the padding alone, where this one gives zeros: the model takes it for any mask.
void is_left_aligned(Call& c) { c.given.at(0) = std::make_shared<Item>(Item{IValue(true), true}); }
std::string without_padding(Call& c, const std::string& x, const std::string& kept, double value,
                            ScalarType d) {
  return c.op("Where", {c.unsqueeze(kept, {2}), x, c.constant(value, d)});
}
void nested_from_mask(Call& c) {
  const std::string kept = c.in("mask", kBool);
  const std::string y = without_padding(c, c.in("t"), kept, 0, c.dtype("t"));
  c.exporter.nested[y] = kept;
  c.give(y);
}
void to_padded_tensor(Call& c) {
  const auto kept = c.exporter.nested.find(c.in("self"));
  need(kept != c.exporter.nested.end(), "of a tensor that is not nested");
  c.give(without_padding(c, c.in("self"), kept->second, c.number("padding"), c.dtype("self")));
}

void encoder_layer(Call& c) {
  const std::string x = c.in("src");
  const auto give = [&](const std::string& y) {
    if (const auto kept = c.exporter.nested.find(x); kept != c.exporter.nested.end()) {
      const std::string mask = kept->second;
      c.exporter.nested[y] = mask;
    }
    c.give(y);
  };
  const ScalarType d = c.dtype("src");
  const auto norm = [&](const std::string& x, const char* weight, const char* bias) {
    return norm_of_last(c, x, 1, d, c.in(weight), c.in(bias), c.number("eps"));
  };
  const auto norm1 = [&](const std::string& x) { return norm(x, "norm_weight_1", "norm_bias_1"); };
  const auto norm2 = [&](const std::string& x) { return norm(x, "norm_weight_2", "norm_bias_2"); };
  const auto attention = [&](const std::string& x) {
    return attend(c, x, x, x, c.integer("num_heads"), d).values;
  };
  const auto feed_forward = [&](const std::string& x) {
    const std::string inner = linear(c, x, c.in("ffn_weight_1"), c.in("ffn_bias_1"));
    return linear(c, c.flag("use_gelu") ? gelu_of(c, inner, d) : c.op("Relu", {inner}),
                  c.in("ffn_weight_2"), c.in("ffn_bias_2"));
  };
  if (c.flag("norm_first")) {
    const std::string y = c.op("Add", {x, attention(norm1(x))});
    return give(c.op("Add", {y, feed_forward(norm2(y))}));
  }
  const std::string y = norm1(c.op("Add", {x, attention(x)}));
  give(norm2(c.op("Add", {y, feed_forward(y)})));
}

const Rules::Entry list[] = {
    {"aten::_native_multi_head_attention", multi_head_attention},
    {"aten::_nested_tensor_from_mask_left_aligned", is_left_aligned},
    {"aten::_nested_tensor_from_mask", nested_from_mask},
    {"aten::to_padded_tensor", to_padded_tensor},
    {"aten::_transformer_encoder_layer_fwd", encoder_layer},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
