// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 and bfloat16 convolutions by oneDNN, in chunks of whole images. The chunks depend on the
// shape alone: on one thread and on two the bits are the same. Gradients of weights are summed over
// the chunks in their order.
#include <algorithm>
#include <cstring>

#include "plugin_cpu/conv/conv.h"
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

enum Direction : int64_t { kForward, kData, kWeights };

struct Primitive {
  dnnl::primitive run;
  Desc x, w, y, bias, scratch;  // layouts that the primitive requires
  Desc user_x, user_w, user_y;  // layouts of the tensors
};

struct Shape {
  Dims x, w, y, stride, dilation, pad_left, pad_right;
  int nd;
  Type type;
};

// One spatial dimension is passed as two, the first of size 1.
Shape shape_of(Type type, const Conv& c, int64_t images) {
  Shape s;
  s.type = type;
  const int first = c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 && c.pad[0] == 0 ? 1 : 0;
  s.nd = 3 - first;
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

dnnl::convolution_forward::primitive_desc forward_pd(const Shape& s, const Desc* bias) {
  const auto describe = [&](const auto&... descs) {
    return dn::describe<dnnl::convolution_forward>(
        dn::engine(), attributes(), dnnl::prop_kind::forward_training, kAuto, descs..., s.stride,
        s.dilation, s.pad_left, s.pad_right);
  };
  const Desc x = any(s.x, s.type), w = any(s.w, s.type), y = any(s.y, s.type);
  return bias ? describe(x, w, *bias, y) : describe(x, w, y);
}

template <class P>
typename P::primitive_desc backward_pd(const Shape& s, Type weights,
                                       const dnnl::convolution_forward::primitive_desc& f) {
  return dn::describe_backward<P>(dn::engine(), f, attributes(), kAuto, any(s.x, s.type),
                                  any(s.w, weights), any(s.y, s.type), s.stride, s.dilation,
                                  s.pad_left, s.pad_right);
}

Primitive make(Direction direction, Type type, const Conv& c, int64_t images, bool with_bias) {
  const Shape s = shape_of(type, c, images);
  const Desc bias = with_bias ? user({c.filters}, type) : Desc();
  const auto forward = forward_pd(s, with_bias ? &bias : nullptr);
  Primitive p{{},
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
    const auto pd = backward_pd<dnnl::convolution_backward_data>(s, type, forward);
    p.run = dnnl::convolution_backward_data(pd);
    p.x = pd.diff_src_desc(), p.w = pd.weights_desc(), p.y = pd.diff_dst_desc();
    p.scratch = pd.scratchpad_desc();
  } else {
    const auto pd = backward_pd<dnnl::convolution_backward_weights>(s, kF32, forward);
    p.run = dnnl::convolution_backward_weights(pd);
    p.x = pd.src_desc(), p.w = pd.diff_weights_desc(), p.y = pd.diff_dst_desc();
    p.scratch = pd.scratchpad_desc();
  }
  return p;
}

dn::Key key_of(Direction direction, Type type, const Conv& c, int64_t images, bool with_bias) {
  dn::Key key{direction, static_cast<int64_t>(type), images, with_bias, c.channels, c.filters,
              c.groups};
  for (const auto* v : {&c.in, &c.out, &c.kernel, &c.stride, &c.pad, &c.dilation})
    key.insert(key.end(), *v, *v + 3);
  return key;
}

Primitive& primitive(Direction direction, Type type, const Conv& c, int64_t images,
                     bool with_bias = false) {
  const dn::Key key = key_of(direction, type, c, images, with_bias);
  return dn::Cache<Primitive>::local().get(
      key, [&] { return make(direction, type, c, images, with_bias); });
}

int64_t bytes(const Desc& d) { return static_cast<int64_t>(d.get_size()); }

// At least 2 million multiply-adds per chunk, at most 16 chunks.
int64_t images_per_chunk(const Conv& c) {
  const int64_t enough = (2'000'000 + c.work() - 1) / std::max<int64_t>(1, c.work());
  return std::min(c.batch, std::max((c.batch + 15) / 16, enough));
}

// The caller's memory if its layout fits, else a reordered copy in `buffer`.
const void* in_layout(const Desc& user, const void* p, const Desc& want, void* buffer) {
  if (dn::same(user, want)) return p;
  dn::reorder(user, p, want, buffer);
  return buffer;
}

struct Buffers {
  struct X;
  struct Y;
  struct Work;
};

// Runs the primitive on one chunk. The output goes through a buffer if its layout differs.
void execute(Direction direction, Primitive& p, const void* x, const void* w, const void* bias,
             const void* y) {
  void* bx = dn::same(p.x, p.user_x) ? nullptr : ThreadBuffer<Buffers::X>::get(bytes(p.x));
  void* by = dn::same(p.y, p.user_y) ? nullptr : ThreadBuffer<Buffers::Y>::get(bytes(p.y));
  void* work = bytes(p.scratch) ? ThreadBuffer<Buffers::Work>::get(bytes(p.scratch)) : nullptr;
  const bool writes_x = direction == kData, writes_y = direction == kForward;
  const void* px = writes_x ? (bx ? bx : x) : in_layout(p.user_x, x, p.x, bx);
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

// The weights in the primitive's layout: the caller's, cached ones, or reordered for this call.
class Weights {
 public:
  Weights(const Primitive& p, const void* w, const packed::Origin& from, const dn::Key& key)
      : data_(w) {
    if (dn::same(p.w, p.user_w)) return;
    const sdk::Ints layout(key.data(), static_cast<int64_t>(key.size()));
    packed::Found found = packed::find(from, layout, bytes(p.w));
    if (!found.memory) {
      Buffer made(bytes(p.w));
      dn::reorder(p.user_w, w, p.w, made.as<>());
      found.memory = found.wanted ? packed::add(from, layout, std::move(made), bytes(p.w))
                                  : std::make_shared<const Buffer>(std::move(made));
    }
    kept_ = std::move(found.memory);
    data_ = kept_->as<>();
  }
  const void* data() const { return data_; }

 private:
  packed::Kept kept_;
  const void* data_;
};

// Forward and backward by data: the same loop, with the other side as output.
void walk_images(Direction direction, sdk::DType t, const Conv& c, const void* x, const void* w,
                 const packed::Origin& from, const void* bias, const void* y) {
  const Type type = dn::data_type(t.code, t.bits);
  const int64_t chunk = images_per_chunk(c), chunks = (c.batch + chunk - 1) / chunk;
  Primitive& first = primitive(direction, type, c, chunk, bias != nullptr);
  const Weights weights(first, w, from, key_of(direction, type, c, chunk, bias != nullptr));
  const Desc layout = first.w;
  const int64_t item = sdk::item_size(t);
  const int64_t x_image = c.channels * c.in_plane() * item,
                y_image = c.filters * c.out_plane() * item;
  sdk::parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const int64_t at = q * chunk;
      Primitive& p = primitive(direction, type, c, std::min(chunk, c.batch - at), bias != nullptr);
      Buffer other(dn::same(p.w, layout) ? 0 : bytes(p.w));
      const void* own = in_layout(layout, weights.data(), p.w, other.as<>());
      execute(direction, p, static_cast<const char*>(x) + at * x_image, own, bias,
              static_cast<const char*>(y) + at * y_image);
    }
  });
}

// A case that oneDNN does not implement is not an error here: the caller falls back to Tenon's own
// kernel.
template <class F>
bool attempt(F&& f) {
  try {
    f();
    return true;
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments) return false;
    throw sdk::Error(TN_ERROR_BACKEND, "oneDNN: ", e.what());
  }
}

}  // namespace

bool conv_forward_onednn(sdk::DType t, const Conv& c, const void* x, const void* w,
                         const packed::Origin& from, const void* bias, void* y) {
  return attempt([&] { walk_images(kForward, t, c, x, w, from, bias, y); });
}

bool conv_backward_data_onednn(sdk::DType t, const Conv& c, const void* dy, const void* w,
                               const packed::Origin& from, void* dx) {
  return attempt([&] { walk_images(kData, t, c, dx, w, from, nullptr, dy); });
}

bool conv_backward_weights_onednn(sdk::DType t, const Conv& c, const void* x, const void* dy,
                                  float* dw) {
  return attempt([&] {
    const Type type = dn::data_type(t.code, t.bits);
    const int64_t chunk = images_per_chunk(c), chunks = (c.batch + chunk - 1) / chunk,
                  n = c.weights();
    const int64_t item = sdk::item_size(t);
    const int64_t x_image = c.channels * c.in_plane() * item,
                  y_image = c.filters * c.out_plane() * item;
    primitive(kWeights, type, c, chunk);  // throws before anything is written
    Buffer parts(chunks > 1 ? chunks * n * 4 : 0);
    sdk::parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        const int64_t at = q * chunk;
        Primitive& p = primitive(kWeights, type, c, std::min(chunk, c.batch - at));
        float* part = chunks > 1 ? parts.as<float>() + q * n : dw;
        Buffer blocked(dn::same(p.w, p.user_w) ? 0 : bytes(p.w));
        void* out = blocked.as<>() ? blocked.as<>() : part;
        execute(kWeights, p, static_cast<const char*>(x) + at * x_image, out, nullptr,
                static_cast<const char*>(dy) + at * y_image);
        if (out != part) dn::reorder(p.w, out, p.user_w, part);
      }
    });
    if (chunks == 1) return;
    sdk::parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
      std::memcpy(dw + begin, parts.as<float>() + begin, static_cast<std::size_t>(end - begin) * 4);
      for (int64_t q = 1; q < chunks; ++q) {
        const float* part = parts.as<float>() + q * n;
        for (int64_t i = begin; i < end; ++i) dw[i] += part[i];
      }
    });
  });
}

}  // namespace tenon::cpu
