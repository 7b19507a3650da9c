// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products, convolutions, pooling, resizing, embeddings, attention.
#include <cmath>

#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

void matmul(Call& c) {
  const char* other = c.has("other")  ? "other"
                      : c.has("mat2") ? "mat2"
                      : c.has("vec")  ? "vec"
                                      : "tensor";
  c.give(c.op("MatMul", {c.in("self"), c.in(other)}));
}
// beta * self + alpha * (a @ b)
void addmm(Call& c) {
  const char *a = c.has("mat1")     ? "mat1"
                  : c.has("batch1") ? "batch1"
                                    : "mat",
             *b = c.has("mat2")     ? "mat2"
                  : c.has("batch2") ? "batch2"
                                    : "vec";
  const ScalarType d = c.result().scalar_type();
  const bool constant = c.is_constant("alpha") && c.is_constant("beta");
  const bool alone = constant && c.number("beta", 1) == 0;  // what self has does not matter
  if (c.name == "aten::addmm" && constant && isFloatingType(d))
    return c.give(c.op("Gemm", {c.in(a), c.in(b), alone ? "" : c.in("self")},
                       {{"alpha", c.number("alpha", 1)}, {"beta", c.number("beta", 1)}}));
  const auto scaled = [&](const std::string& x, const char* by) {
    const bool once = c.is_constant(by) && c.number(by, 1) == 1;
    return once ? x : c.op("Mul", {x, c.in(by, d)});
  };
  const std::string product = scaled(c.op("MatMul", {c.in(a), c.in(b)}), "alpha");
  c.give(alone ? product : c.op("Add", {product, scaled(c.in("self"), "beta")}));
}
void linear(Call& c) {
  const std::string x = c.in("input");
  const bool floats = isFloatingType(c.dtype("input"));  // ONNX Runtime has Gemm of these alone
  if (floats && c.rank("input") == 2 && c.rank("weight") == 2) {
    Names inputs{x, c.in("weight"), c.in_or("bias")};
    return c.give(c.op("Gemm", inputs, {{"transB", int64_t{1}}}));
  }
  const int64_t rank = c.rank("weight");
  std::string y =
      c.op("MatMul", {x, rank == 2 ? c.transpose(c.in("weight"), {1, 0}) : c.in("weight")});
  if (!c.none("bias")) y = c.op("Add", {y, c.in("bias")});
  c.give(y);
}
void bilinear(Call& c) {
  const std::string y = c.op("Einsum", {c.in("input1"), c.in("weight"), c.in("input2")},
                             {{"equation", std::string("...i,oij,...j->...o")}});
  c.give(c.none("bias") ? y : c.op("Add", {y, c.in("bias")}));
}
void einsum(Call& c) {
  Names inputs;
  Item& all = c.get("tensors");
  need(all.has_parts, "a list that the program computes");
  for (const ItemPtr& p : all.parts) inputs.push_back(c.exporter.name_of(*p));
  c.give(c.op("Einsum", inputs, {{"equation", c.text("equation")}}));
}

// The dimensions of both by letters; those that are reduced are equal.
void tensordot(Call& c) {
  const Tensor a = c.example("self"), b = c.example("other");
  const std::vector<int64_t> in_a = c.ints("dims_self"), in_b = c.ints("dims_other");
  need(a.dim() + b.dim() <= 26, "more than 26 dimensions");
  std::string of_a, of_b, left;
  for (int64_t d = 0; d < a.dim() + b.dim(); ++d)
    (d < a.dim() ? of_a : of_b) += static_cast<char>('a' + d);
  for (std::size_t k = 0; k < in_a.size(); ++k) {
    const int64_t x = in_a[k] < 0 ? in_a[k] + a.dim() : in_a[k],
                  y = in_b.at(k) < 0 ? in_b[k] + b.dim() : in_b[k];
    need(a.size(x) == b.size(y), "sizes of 1 beside others");
    of_b[static_cast<std::size_t>(y)] = of_a[static_cast<std::size_t>(x)];
  }
  for (const char letter : of_a)
    if (of_b.find(letter) == of_b.npos) left += letter;
  for (const char letter : of_b)
    if (of_a.find(letter) == of_a.npos) left += letter;
  const std::string equation = of_a + "," + of_b + "->" + left;
  c.give(c.op("Einsum", {c.in("self"), c.in("other")}, {{"equation", equation}}));
}

struct Conv {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups, spatial;
};
void convolve(Call& c, Conv v) {
  const std::size_t n = static_cast<std::size_t>(v.spatial);
  std::string x = c.in("input");
  const bool lone = c.rank("input") == v.spatial + 1;  // an image without a batch
  if (lone) x = c.unsqueeze(x, {0});
  Attrs attrs{
      {"group", v.groups}, {"strides", IValue(v.stride)}, {"dilations", IValue(v.dilation)}};
  std::vector<int64_t> kernel;
  const Tensor w = c.example("weight");
  for (std::size_t i = 0; i < n; ++i) kernel.push_back(w.size(static_cast<int64_t>(i) + 2));
  attrs.push_back({"kernel_shape", IValue(kernel)});
  attrs.push_back({"pads", IValue(twice(v.padding))});
  if (v.transposed) attrs.push_back({"output_padding", IValue(v.output_padding)});
  std::string y =
      c.op(v.transposed ? "ConvTranspose" : "Conv", {x, c.in("weight"), c.in_or("bias")}, attrs);
  if (lone) y = c.squeeze(y, {0});
  c.give(y);
}
void convolution(Call& c) {
  const int64_t n = c.rank("weight") - 2;
  const auto k = static_cast<std::size_t>(n);
  const bool general = c.has("transposed");
  Conv v{c.ints("stride", k),    {}, c.ints("dilation", k), std::vector<int64_t>(k, 0), false,
         c.integer("groups", 1), n};
  if (c.get("padding").example.isString()) {
    v.padding.assign(k, 0);
    if (c.text("padding") == "same") {
      for (std::size_t i = 0; i < k; ++i) {
        const int64_t all = v.dilation[i] * (c.size("weight", static_cast<int64_t>(i) + 2) - 1);
        need(all % 2 == 0, "padding same with an even window");
        v.padding[i] = all / 2;
      }
    }
  } else {
    v.padding = c.ints("padding", k);
  }
  if (general) {
    v.transposed = c.flag("transposed");
    v.output_padding = c.ints("output_padding", k);
  }
  if (c.name.find("conv_transpose") != std::string::npos) {
    v.transposed = true;
    v.output_padding = c.ints("output_padding", k);
  }
  convolve(c, v);
}

template <int n>
void pool(Call& c, bool average) {
  constexpr auto k = static_cast<std::size_t>(n);
  std::vector<int64_t> kernel = c.ints("kernel_size", k), stride = c.ints("stride", k);
  if (stride.empty()) stride = kernel;
  std::string x = c.in("self");
  const bool lone = c.rank("self") == n + 1;
  if (lone) x = c.unsqueeze(x, {0});
  Attrs attrs{{"kernel_shape", IValue(kernel)},
              {"strides", IValue(stride)},
              {"pads", IValue(twice(c.ints("padding", k)))},
              {"ceil_mode", int64_t{c.flag("ceil_mode")}}};
  if (average) {
    need(c.none("divisor_override"), "divisor_override is not supported");
    attrs.push_back({"count_include_pad", int64_t{c.flag("count_include_pad", true)}});
  } else {
    attrs.push_back({"dilations", IValue(c.ints("dilation", k))});
  }
  const bool places = c.results.size() > 1;
  const Names y = c.ops(average ? "AveragePool" : "MaxPool", {x}, attrs, places ? 2 : 1);
  const auto give = [&](const std::string& v, std::size_t k) {
    c.give(lone ? c.squeeze(v, {0}) : v, k);
  };
  give(y[0], 0);
  if (!places) return;
  // ONNX counts from the first element of the batch, the program from that of the image.
  const std::string sizes = c.slice(c.op("Shape", {x}), 0, 2, kEnd);
  give(c.op("Mod", {y[1], c.reduce("ReduceProd", sizes, {0}, false)}), 1);
}
template <int n>
void max_pool(Call& c) {
  pool<n>(c, false);
}
template <int n>
void avg_pool(Call& c) {
  pool<n>(c, true);
}
// Row i has the weights of the elements that output i averages.
Tensor averages(int64_t in, int64_t out, ScalarType dtype) {
  const Tensor m = zeros({out, in}, TensorOptions(kFloat64));
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    m.select(0, i).narrow(0, begin, end - begin).fill_(1.0 / static_cast<double>(end - begin));
  }
  return m.to(dtype);
}

template <int n>
void adaptive(Call& c, const char* all, const char* windows) {
  std::vector<int64_t> sizes = c.ints("output_size", n), kernel;
  const bool lone = c.rank("self") == n + 1;  // an image without a batch
  const std::string x = lone ? c.unsqueeze(c.in("self"), {0}) : c.in("self");
  const auto give = [&](const std::string& y) { c.give(lone ? c.squeeze(y, {0}) : y); };
  if (std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s == 1; }))
    return give(c.op(all, {x}));
  bool divides = true;
  for (int i = 0; i < n; ++i)
    need(c.is_fixed("self", i - n), "an output size above 1 needs sizes that are known");
  for (int i = 0; i < n; ++i) {
    const int64_t in = c.size("self", c.rank("self") - n + i),
                  out = sizes[static_cast<std::size_t>(i)];
    divides = divides && in % out == 0;
    kernel.push_back(in / out);
  }
  if (divides)
    return give(
        c.op(windows, {x}, {{"kernel_shape", IValue(kernel)}, {"strides", IValue(kernel)}}));
  need(n < 3 && std::string_view(all) == "GlobalAveragePool",
       "an output size that does not divide the input's");
  const ScalarType d = c.dtype("self");
  const Tensor across = averages(c.size("self", -1), sizes.back(), d);
  std::string y = c.op("MatMul", {x, c.constant(across.t().contiguous())});
  if (n == 2) y = c.op("MatMul", {c.constant(averages(c.size("self", -2), sizes[0], d)), y});
  give(y);
}
template <int n>
void adaptive_avg(Call& c) {
  adaptive<n>(c, "GlobalAveragePool", "AveragePool");
}
template <int n>
void adaptive_max(Call& c) {
  need(c.node.outputs().size() == 1 || c.node.output(1)->uses().empty(), "its indices");
  adaptive<n>(c, "GlobalMaxPool", "MaxPool");
}

// Of each dimension, where the program gives them beside the size and they differ from what the
// size is of the input's; empty otherwise.
std::vector<double> scales_beside_sizes(Call& c, const char* input, int64_t spatial) {
  const std::vector<const char*> names =
      spatial == 1   ? std::vector<const char*>{"scales"}
      : spatial == 2 ? std::vector<const char*>{"scales_h", "scales_w"}
                     : std::vector<const char*>{"scales_d", "scales_h", "scales_w"};
  std::vector<double> scales;
  bool differ = false;
  for (int64_t i = 0; i < spatial; ++i) {
    const char* name = names[static_cast<std::size_t>(i)];
    if (!c.has(name) || c.none(name) || !c.is_constant(name)) return {};
    scales.push_back(c.number(name));
    const double size = static_cast<double>(c.size(input, 2 + i)) * scales.back(),
                 varies = c.is_fixed(input, 2 + i) ? size : scales.back();
    differ |= varies != std::floor(varies);
    if (c.is_constant("output_size") &&
        c.ints("output_size", static_cast<std::size_t>(spatial)).at(static_cast<std::size_t>(i)) !=
            static_cast<int64_t>(size))
      return {};
  }
  return differ ? scales : std::vector<double>();
}

void resize(Call& c) {
  const std::string kind = c.name;
  const char* input = c.has("input") ? "input" : "self";
  const bool nearest = kind.find("nearest") != std::string::npos,
             exact = kind.find("exact") != std::string::npos,
             cubic = kind.find("bicubic") != std::string::npos;
  const int64_t rank = c.rank(input), spatial = rank - 2;
  const bool corners = c.flag("align_corners");
  Attrs attrs{{"mode", std::string(nearest ? "nearest"
                                   : cubic ? "cubic"
                                           : "linear")},
              {"coordinate_transformation_mode", std::string(exact     ? "half_pixel"
                                                             : nearest ? "asymmetric"
                                                             : corners ? "align_corners"
                                                                       : "half_pixel")}};
  if (nearest)
    attrs.push_back({"nearest_mode", std::string(exact ? "round_prefer_ceil" : "floor")});
  if (cubic) attrs.push_back({"cubic_coeff_a", -0.75});
  const std::string x = c.in(input);
  const bool by_axes = c.exporter.opset() >= 18;  // else sizes of all dimensions are computed
  if (by_axes) {
    std::vector<int64_t> axes;
    for (int64_t d = 2; d < rank; ++d) axes.push_back(d);
    attrs.push_back({"axes", IValue(axes)});
  }
  const bool sizes_given = !c.none("output_size");
  std::vector<double> scales =
      c.has("scale_factors") ? c.numbers("scale_factors") : std::vector<double>();
  if (sizes_given && !corners) scales = scales_beside_sizes(c, input, spatial);
  if (!scales.empty()) {
    std::vector<IValue> all;
    if (!by_axes) all.assign(2, IValue(1.0));
    for (const double s : scales) all.emplace_back(s);
    const Tensor t = as_tensor(IValue(
        core::Ref<ivalue::List>::adopt(new ivalue::List(jit::Type::floating(), std::move(all)))));
    return c.give(c.op("Resize", {x, "", c.constant(t)}, attrs));
  }
  const std::string sizes =
      c.is_constant("output_size")
          ? c.int_list(c.ints("output_size", static_cast<std::size_t>(spatial)))
          : c.in("output_size");
  if (by_axes) return c.give(c.op("Resize", {x, "", "", sizes}, attrs));
  const std::string shape =
      c.op("Concat", {c.slice(c.op("Shape", {x}), 0, 0, 2), sizes}, {{"axis", int64_t{0}}});
  c.give(c.op("Resize", {x, "", "", shape}, attrs));
}

void embedding(Call& c) {
  c.give(c.op("Gather", {c.in("weight"), c.in("indices")}, {{"axis", int64_t{0}}}));
}
void dropout(Call& c) {
  need(!c.flag("train"), "in training is not supported");
  c.give(c.in("input"));
}
void grid_sampler(Call& c) {
  need(c.exporter.opset() >= 16, "needs opset 16");
  need(c.rank("input") == 4 || c.exporter.opset() >= 20, "of volumes needs opset 20");
  const bool renamed = c.exporter.opset() >= 20;
  const char* const modes[] = {renamed ? "linear" : "bilinear", "nearest",
                               renamed ? "cubic" : "bicubic"};
  const char* const paddings[] = {"zeros", "border", "reflection"};
  c.give(c.op("GridSample", {c.in("input"), c.in("grid")},
              {{"mode", std::string(modes[c.integer("interpolation_mode")])},
               {"padding_mode", std::string(paddings[c.integer("padding_mode")])},
               {"align_corners", int64_t{c.flag("align_corners")}}}));
}

// Each head of keys or values as often as heads of the query share it.
std::string shared_heads(Call& c, const char* argument) {
  const std::string x = c.in(argument);
  const int64_t rank = c.rank(argument);
  if (!c.flag("enable_gqa") || rank < 3) return x;
  need(c.is_fixed("query", -3) && c.is_fixed(argument, -3), "enable_gqa with heads that vary");
  const int64_t heads = c.size("query", -3), times = heads / c.size(argument, -3);
  if (times == 1) return x;
  std::vector<int64_t> repeats(static_cast<std::size_t>(rank) + 1, 1);
  repeats[static_cast<std::size_t>(rank) - 2] = times;
  const std::string all = c.op("Expand", {c.unsqueeze(x, {rank - 2}), c.int_list(repeats)}),
                    shape = c.op("Shape", {x}), last = c.slice(shape, 0, rank - 2, rank);
  Names sizes{c.int_list({heads}), last};
  if (rank > 3) sizes.insert(sizes.begin(), c.slice(shape, 0, 0, rank - 3));
  return c.op("Reshape", {all, c.op("Concat", sizes, {{"axis", int64_t{0}}})});
}
// A query that may see no key gets zeros.
std::string masked_softmax(Call& c, const std::string& scores, ScalarType d) {
  const std::string weights = c.op("Softmax", {scores}, {{"axis", int64_t{-1}}});
  if (c.none("attn_mask")) return weights;
  const std::string best = c.reduce("ReduceMax", scores, {-1}, true),
                    none = c.op("Equal", {best, c.constant(-HUGE_VAL, d)});
  return c.op("Where", {none, c.constant(0, d), weights});
}
void attention(Call& c) {
  need(c.number("dropout_p") == 0, "dropout is not supported");
  const ScalarType d = c.dtype("query");
  const int64_t rank = c.rank("query"), k_rank = c.rank("key");
  const double scale =
      c.none("scale") ? 1 / std::sqrt(static_cast<double>(c.size("query", -1))) : c.number("scale");
  std::vector<int64_t> order;
  for (int64_t i = 0; i < k_rank; ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(k_rank - 1)],
            order[static_cast<std::size_t>(k_rank - 2)]);
  std::string scores = c.op("MatMul", {c.op("Mul", {c.in("query"), c.constant(scale, d)}),
                                       c.transpose(shared_heads(c, "key"), order)});
  if (c.flag("is_causal")) {
    need(c.exporter.opset() >= 14, "is_causal needs opset 14");
    const std::string shape = c.op("Shape", {scores});
    const std::string ones =
        c.op("Expand", {c.constant(1, kFloat32), c.slice(shape, 0, rank - 2, rank)});
    const std::string keep =
        c.cast(c.op("Trilu", {ones}, {{"upper", int64_t{0}}}), kFloat32, kBool);
    scores = c.op("Where", {keep, scores, c.constant(-std::numeric_limits<double>::infinity(), d)});
  }
  if (!c.none("attn_mask")) {
    if (c.dtype("attn_mask") == kBool)
      scores = c.op("Where", {c.in("attn_mask"), scores,
                              c.constant(-std::numeric_limits<double>::infinity(), d)});
    else
      scores = c.op("Add", {scores, c.in("attn_mask", d)});
  }
  c.give(c.op("MatMul", {masked_softmax(c, scores, d), shared_heads(c, "value")}));
}

const Rules::Entry list[] = {
    {"aten::matmul", matmul},
    {"aten::mm", matmul},
    {"aten::bmm", matmul},
    {"aten::mv", matmul},
    {"aten::dot", matmul},
    {"aten::addmm", addmm},
    {"aten::baddbmm", addmm},
    {"aten::addmv", addmm},
    {"aten::linear", linear},
    {"aten::bilinear", bilinear},
    {"aten::einsum", einsum},
    {"aten::tensordot", tensordot},
    {"aten::conv1d", convolution},
    {"aten::conv2d", convolution},
    {"aten::conv3d", convolution},
    {"aten::conv_transpose1d", convolution},
    {"aten::conv_transpose2d", convolution},
    {"aten::conv_transpose3d", convolution},
    {"aten::convolution", convolution},
    {"aten::_convolution", convolution},
    {"aten::_convolution_mode", convolution},
    {"aten::max_pool1d", max_pool<1>},
    {"aten::max_pool2d", max_pool<2>},
    {"aten::max_pool3d", max_pool<3>},
    {"aten::max_pool1d_with_indices", max_pool<1>},
    {"aten::max_pool2d_with_indices", max_pool<2>},
    {"aten::max_pool3d_with_indices", max_pool<3>},
    {"aten::avg_pool1d", avg_pool<1>},
    {"aten::avg_pool2d", avg_pool<2>},
    {"aten::avg_pool3d", avg_pool<3>},
    {"aten::adaptive_avg_pool1d", adaptive_avg<1>},
    {"aten::adaptive_avg_pool2d", adaptive_avg<2>},
    {"aten::adaptive_avg_pool3d", adaptive_avg<3>},
    {"aten::adaptive_max_pool1d", adaptive_max<1>},
    {"aten::adaptive_max_pool2d", adaptive_max<2>},
    {"aten::adaptive_max_pool3d", adaptive_max<3>},
    {"aten::upsample_nearest1d", resize},
    {"aten::upsample_nearest2d", resize},
    {"aten::upsample_nearest3d", resize},
    {"aten::_upsample_nearest_exact2d", resize},
    {"aten::upsample_linear1d", resize},
    {"aten::upsample_bilinear2d", resize},
    {"aten::upsample_trilinear3d", resize},
    {"aten::upsample_bicubic2d", resize},
    {"aten::embedding", embedding},
    {"aten::dropout", dropout},
    {"aten::feature_dropout", dropout},
    {"aten::alpha_dropout", dropout},
    {"aten::grid_sampler", grid_sampler},
    {"aten::grid_sampler_2d", grid_sampler},
    {"aten::grid_sampler_3d", grid_sampler},
    {"aten::scaled_dot_product_attention", attention},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
