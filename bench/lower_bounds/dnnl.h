// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives with their buffers, ready to run.
#pragma once

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>

#include "bench/lower_bounds/lower_bounds.h"

namespace bench::lower_bounds {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

struct Dnn {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  dnnl::memory memory(dnnl::memory::desc const& d) {
    dnnl::memory m(d, engine);
    size_t n = d.get_size();
    if (d.data_type() == Type::f32)
      std::fill_n(static_cast<float*>(m.get_data_handle()), n / 4, 0.01f);
    else if (d.data_type() == Type::bf16)
      std::fill_n(static_cast<uint16_t*>(m.get_data_handle()), n / 2, uint16_t(0x3c23));
    else
      std::memset(m.get_data_handle(), 0, n);
    return m;
  }
};

inline Dnn& dnn() {
  static Dnn d;
  return d;
}

using Args = std::unordered_map<int, dnnl::memory>;

struct Step {
  dnnl::primitive primitive;
  Args args;
  void operator()() {
    primitive.execute(dnn().stream, args);
    dnn().stream.wait();
  }
};

struct Steps {
  std::vector<Step> steps;
  void operator()() {
    for (auto& s : steps) s.primitive.execute(dnn().stream, s.args);
    dnn().stream.wait();
  }
};

inline dnnl::memory::desc any(Dims d, Type t) { return {d, t, Tag::any}; }

struct ConvShape {
  long n, in, out, size, kernel, stride = 1, groups = 1;
  long to() const { return (size + 2 * (kernel / 2) - kernel) / stride + 1; }
  Dims x() const { return {n, in, size, size}; }
  Dims w() const {
    return groups > 1 ? Dims{groups, out / groups, in / groups, kernel, kernel}
                      : Dims{out, in, kernel, kernel};
  }
  Dims y() const { return {n, out, to(), to()}; }
  Dims strides() const { return {stride, stride}; }
  Dims pad() const { return {kernel / 2, kernel / 2}; }
};

using Conv = dnnl::convolution_forward;
inline auto const direct = dnnl::algorithm::convolution_direct;

inline Conv::primitive_desc conv_desc(ConvShape c, Type t, bool training, bool relu = false,
                                      bool sum = false) {
  auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  Conv::desc d(kind, direct, any(c.x(), t), any(c.w(), t), any(c.y(), t), c.strides(), c.pad(),
               c.pad());
  dnnl::post_ops ops;
  if (sum) ops.append_sum(1.f);
  if (relu) ops.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  return {d, attr, dnn().engine};
}

inline Step conv(ConvShape c, Type t, bool training = false, bool relu = false, bool sum = false) {
  auto pd = conv_desc(c, t, training, relu, sum);
  auto& d = dnn();
  return {Conv(pd),
          {{DNNL_ARG_SRC, d.memory(pd.src_desc())},
           {DNNL_ARG_WEIGHTS, d.memory(pd.weights_desc())},
           {DNNL_ARG_DST, d.memory(pd.dst_desc())}}};
}

inline Step conv_dx(ConvShape c, Type t) {
  using B = dnnl::convolution_backward_data;
  B::desc desc(direct, any(c.x(), t), any(c.w(), t), any(c.y(), t), c.strides(), c.pad(), c.pad());
  B::primitive_desc pd(desc, dnn().engine, conv_desc(c, t, true));
  auto& d = dnn();
  return {B(pd),
          {{DNNL_ARG_DIFF_SRC, d.memory(pd.diff_src_desc())},
           {DNNL_ARG_WEIGHTS, d.memory(pd.weights_desc())},
           {DNNL_ARG_DIFF_DST, d.memory(pd.diff_dst_desc())}}};
}

inline Step conv_dw(ConvShape c, Type t) {
  using B = dnnl::convolution_backward_weights;
  B::desc desc(direct, any(c.x(), t), any(c.w(), t), any(c.y(), t), c.strides(), c.pad(), c.pad());
  B::primitive_desc pd(desc, dnn().engine, conv_desc(c, t, true));
  auto& d = dnn();
  return {B(pd),
          {{DNNL_ARG_SRC, d.memory(pd.src_desc())},
           {DNNL_ARG_DIFF_WEIGHTS, d.memory(pd.diff_weights_desc())},
           {DNNL_ARG_DIFF_DST, d.memory(pd.diff_dst_desc())}}};
}

inline Step matmul(Dims a, Dims b, Dims c, Type t, bool packed) {
  auto plain = [&](Dims d) { return dnnl::memory::desc(d, t, d.size() == 3 ? Tag::abc : Tag::ab); };
  dnnl::matmul::desc desc(plain(a), packed ? any(b, t) : plain(b), plain(c));
  dnnl::matmul::primitive_desc pd(desc, dnn().engine);
  auto& d = dnn();
  return {dnnl::matmul(pd),
          {{DNNL_ARG_SRC, d.memory(pd.src_desc())},
           {DNNL_ARG_WEIGHTS, d.memory(pd.weights_desc())},
           {DNNL_ARG_DST, d.memory(pd.dst_desc())}}};
}

inline Step pool(Dims x, long k, bool training, bool backward = false,
                 dnnl::memory::desc const* format = nullptr) {
  Dims y{x[0], x[1], x[2] / k, x[3] / k};
  auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  auto max = dnnl::algorithm::pooling_max;
  dnnl::memory::desc in = format ? *format : dnnl::memory::desc(x, Type::f32, Tag::nChw16c);
  dnnl::pooling_forward::desc fd(kind, max, in, any(y, Type::f32), {k, k}, {k, k}, {0, 0}, {0, 0});
  dnnl::pooling_forward::primitive_desc fp(fd, dnn().engine);
  auto& d = dnn();
  if (!backward) {
    Step s{dnnl::pooling_forward(fp),
           {{DNNL_ARG_SRC, d.memory(fp.src_desc())}, {DNNL_ARG_DST, d.memory(fp.dst_desc())}}};
    if (training) s.args.insert({DNNL_ARG_WORKSPACE, d.memory(fp.workspace_desc())});
    return s;
  }
  dnnl::pooling_backward::desc bd(max, in, fp.dst_desc(), {k, k}, {k, k}, {0, 0}, {0, 0});
  dnnl::pooling_backward::primitive_desc bp(bd, dnn().engine, fp);
  return {dnnl::pooling_backward(bp),
          {{DNNL_ARG_DIFF_SRC, d.memory(bp.diff_src_desc())},
           {DNNL_ARG_DIFF_DST, d.memory(bp.diff_dst_desc())},
           {DNNL_ARG_WORKSPACE, d.memory(bp.workspace_desc())}}};
}
}  // namespace bench::lower_bounds
