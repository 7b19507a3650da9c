// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/conv/onednn_primitive.h"

#include <utility>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {
namespace {

namespace dn = onednn;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;
constexpr auto kF32 = Type::f32;
constexpr auto kAuto = dnnl::algorithm::convolution_auto;

bool flat(const Conv& c) {
  return c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 && c.pad[0] == 0;
}

Tag plain(std::size_t dims) {
  switch (dims) {
    case 1:
      return Tag::a;
    case 4:
      return Tag::abcd;
    case 5:
      return Tag::abcde;
    default:
      return Tag::abcdef;
  }
}

Desc any(const Dims& d, Type t) { return Desc(d, t, Tag::any); }
Desc user(const Dims& d, Type t) { return Desc(d, t, plain(d.size())); }

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr a;
  a.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return a;
}

dnnl::convolution_forward::primitive_desc forward_pd(Type type, const ConvShape& s,
                                                     const Desc* bias) {
  const auto describe = [&](const auto&... descs) {
    return dn::describe_if<dnnl::convolution_forward>(
        stays_in_bounds, dn::engine(), attributes(), dnnl::prop_kind::forward_training, kAuto,
        descs..., s.stride, s.dilation, s.pad_left, s.pad_right);
  };
  const Desc x = any(s.x, type), w = any(s.w, type), y = any(s.y, type);
  return bias ? describe(x, w, *bias, y) : describe(x, w, y);
}

template <class P>
typename P::primitive_desc backward_pd(Type type, const ConvShape& s, Type weights,
                                       const dnnl::convolution_forward::primitive_desc& f) {
  return dn::describe_backward<P>(dn::engine(), f, attributes(), kAuto, any(s.x, type),
                                  any(s.w, weights), any(s.y, type), s.stride, s.dilation,
                                  s.pad_left, s.pad_right);
}

ConvPrimitive make(Direction direction, Type type, const Conv& c, int64_t images, bool with_bias) {
  const ConvShape s = conv_shape(c, images);
  const Desc bias = with_bias ? user({c.filters}, type) : Desc();
  const auto forward = forward_pd(type, s, with_bias ? &bias : nullptr);
  ConvPrimitive p{{},
                  {},
                  {},
                  {},
                  bias,
                  {},
                  user(s.x, type),
                  user(s.w, direction == kWeights ? kF32 : type),
                  user(s.y, type)};
  if (direction == kForward) {
    p.run = dnnl::convolution_forward(forward);
    p.x = forward.src_desc(), p.w = forward.weights_desc(), p.y = forward.dst_desc();
    p.scratch = forward.scratchpad_desc();
  } else if (direction == kData) {
    const auto pd = backward_pd<dnnl::convolution_backward_data>(type, s, type, forward);
    p.run = dnnl::convolution_backward_data(pd);
    p.x = pd.diff_src_desc(), p.w = pd.weights_desc(), p.y = pd.diff_dst_desc();
    p.scratch = pd.scratchpad_desc();
  } else {
    const auto pd = backward_pd<dnnl::convolution_backward_weights>(type, s, kF32, forward);
    p.run = dnnl::convolution_backward_weights(pd);
    p.x = pd.src_desc(), p.w = pd.diff_weights_desc(), p.y = pd.diff_dst_desc();
    p.scratch = pd.scratchpad_desc();
  }
  return p;
}

struct Buffers {
  struct X;
  struct Y;
  struct Work;
};

}  // namespace

ConvShape conv_shape(const Conv& c, int64_t images) {
  ConvShape s;
  const int first = flat(c) ? 1 : 0;
  s.x = {images, c.channels};
  s.y = {images, c.filters};
  if (c.groups > 1)
    s.w = {c.groups, c.filters / c.groups, c.channels / c.groups};
  else
    s.w = {c.filters, c.channels};
  for (int i = first; i < 3; ++i) {
    s.x.push_back(c.in[i]);
    s.y.push_back(c.out[i]);
    s.w.push_back(c.kernel[i]);
    s.stride.push_back(c.stride[i]);
    s.dilation.push_back(c.dilation[i] - 1);
    s.pad_left.push_back(c.pad[i]);
    s.pad_right.push_back((c.out[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1 -
                          c.in[i] - c.pad[i]);
  }
  return s;
}

Dims image_dims(const Conv& c, int64_t channels) {
  Dims dims{1, channels};
  dims.insert(dims.end(), c.in + (flat(c) ? 1 : 0), c.in + 3);
  return dims;
}

dn::Key conv_key(Direction direction, Type type, const Conv& c, int64_t images, bool with_bias) {
  dn::Key key{direction, static_cast<int64_t>(type), images, with_bias, c.channels, c.filters,
              c.groups};
  for (const auto* v : {&c.in, &c.out, &c.kernel, &c.stride, &c.pad, &c.dilation})
    key.insert(key.end(), *v, *v + 3);
  return key;
}

ConvPrimitive& conv_primitive(Direction direction, Type type, const Conv& c, int64_t images,
                              bool with_bias) {
  const dn::Key key = conv_key(direction, type, c, images, with_bias);
  return dn::Cache<ConvPrimitive>::local().get(
      key, [&] { return make(direction, type, c, images, with_bias); });
}

const void* in_layout(const Desc& user, const void* p, const Desc& want, void* buffer) {
  if (dn::same(user, want)) return p;
  dn::reorder(user, p, want, buffer);
  return buffer;
}

void execute(Direction direction, ConvPrimitive& p, const void* x, const void* w, const void* bias,
             const void* y, bool x_is_ready) {
  void* bx =
      x_is_ready || dn::same(p.x, p.user_x) ? nullptr : ThreadBuffer<Buffers::X>::get(bytes(p.x));
  void* by = dn::same(p.y, p.user_y) ? nullptr : ThreadBuffer<Buffers::Y>::get(bytes(p.y));
  void* work = bytes(p.scratch) ? ThreadBuffer<Buffers::Work>::get(bytes(p.scratch)) : nullptr;
  const bool writes_x = direction == kData, writes_y = direction == kForward;
  const void* px = writes_x ? (bx ? bx : x) : bx ? in_layout(p.user_x, x, p.x, bx) : x;
  const void* py = writes_y ? (by ? by : y) : in_layout(p.user_y, y, p.y, by);
  const int arg_x = writes_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
            arg_y = writes_y ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
  const int arg_w = direction == kWeights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
  std::unordered_map<int, dnnl::memory> args{
      {arg_x, dn::wrap(p.x, px)}, {arg_y, dn::wrap(p.y, py)}, {arg_w, dn::wrap(p.w, w)}};
  if (bias) args.emplace(DNNL_ARG_BIAS, dn::wrap(p.bias, bias));
  if (work) args.emplace(DNNL_ARG_SCRATCHPAD, dn::wrap(p.scratch, work));
  p.run.execute(dn::stream(), args);
  if (writes_x && bx) dn::reorder(p.x, bx, p.user_x, const_cast<void*>(x));
  if (writes_y && by) dn::reorder(p.y, by, p.user_y, const_cast<void*>(y));
}

ConvWeights::ConvWeights(const ConvPrimitive& p, const void* w, const packed::Origin& from,
                         dn::Key key, int64_t parts)
    : data_(static_cast<const char*>(w)), each_(bytes(p.user_w)) {
  if (dn::same(p.w, p.user_w)) return;
  key.push_back(parts);
  const sdk::Ints layout(key.data(), static_cast<int64_t>(key.size()));
  const int64_t packed_each = (bytes(p.w) + 63) / 64 * 64;
  packed::Found found = packed::find(from, layout, parts * packed_each);
  if (!found.memory) {
    Buffer made(parts * packed_each);
    sdk::parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      dn::engine();  // prepares the thread
      for (int64_t i = begin; i < end; ++i)
        dn::reorder(p.user_w, data_ + i * each_, p.w, made.as<char>() + i * packed_each);
    });
    found.memory = found.wanted ? packed::add(from, layout, std::move(made), parts * packed_each)
                                : std::make_shared<const Buffer>(std::move(made));
  }
  kept_ = std::move(found.memory);
  data_ = kept_->as<const char>();
  each_ = packed_each;
}

}  // namespace tenon::cpu
