// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/conv/int8.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "isa/isa.h"
#include "plugin_cpu/conv/onednn_primitive.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {
namespace {

namespace dn = onednn;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

const int kFactors = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
          kInputZero = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
          kZero = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST;

struct Primitive {
  dnnl::convolution_forward run;
  Desc x, w;
  int64_t scratch_bytes;
  std::unordered_map<int, dnnl::memory> args;  // each call sets their addresses
};

Type type_of(sdk::DType t) {
  const bool sums = sdk::dtype_key(t) == sdk::dtype_key(sdk::kInt32);
  return sums ? Type::s32 : dn::data_type(t.code, t.bits);
}
Desc innermost(const Dims& dims, Type t) {
  return Desc(dims, t, dims.size() == 4 ? Tag::acdb : Tag::acdeb);
}

Desc factors_of(const Int8Conv& q, std::size_t dims) {
  Dims each(dims, 1);
  if (!q.one_factor) each[1] = q.shape.filters;
  return Desc(each, Type::f32, dims == 4 ? Tag::abcd : Tag::abcde);
}

// After a sum the product with the factors, then the rounding that does not depend on the zero
// point. Zero points that are 0 are left out: behind relu most are, and those of the input cost
// sums over the padding in each call.
dnnl::primitive_attr attributes(const Int8Conv& q, const Desc& factors) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (q.input_zero != 0) dn::append_zero_point(attr, DNNL_ARG_SRC);
  if (type_of(q.result) == Type::s32) return attr;
  dnnl::post_ops ops;
  ops.append_binary(dnnl::algorithm::binary_mul, factors);
  if (type_of(q.result) != Type::f32) {
    if (q.zero != 0) dn::append_zero_point(attr, DNNL_ARG_DST);
    dn::append_function(ops, dnnl::algorithm::eltwise_round);
  }
  if (q.relu) dn::append_function(ops, dnnl::algorithm::eltwise_relu);
  attr.set_post_ops(ops);
  return attr;
}

bool is_padded_volume(const ConvShape& s) {
  const auto any = [](const Dims& pads) {
    return std::any_of(pads.begin(), pads.end(), [](int64_t n) { return n != 0; });
  };
  return s.x.size() == 5 && (any(s.pad_left) || any(s.pad_right));
}

// With a zero point of the input, oneDNN 2.6 prefers a kernel on AMX that is slower than the next
// ones for most windows of one pixel. It is also wrong where rows or columns of a volume are padded
// and planes are not.
bool is_wanted(std::string_view kernel, const Int8Conv& q, const ConvShape& s) {
  if (!stays_in_bounds(kernel)) return false;
  if (kernel.rfind("jit:avx512_core_amx", 0) != 0) return true;
  return q.shape.taps() != 1 && (q.input_zero == 0 || !is_padded_volume(s));
}

Primitive make(const Int8Conv& q, int64_t images, bool with_bias) {
  const ConvShape s = conv_shape(q.shape, images);
  const Desc x = innermost(s.x, type_of(q.input)), y = innermost(s.y, type_of(q.result)),
             w(s.w, Type::s8, Tag::any), factors = factors_of(q, s.x.size());
  const Desc bias = with_bias ? Desc({q.shape.filters}, Type::f32, Tag::a) : Desc();
  const auto describe = [&](const auto&... descs) {
    return dn::describe_if<dnnl::convolution_forward>(
        [&](std::string_view kernel) { return is_wanted(kernel, q, s); }, dn::engine(),
        attributes(q, factors), dnnl::prop_kind::forward_inference,
        dnnl::algorithm::convolution_direct, descs..., s.stride, s.dilation, s.pad_left,
        s.pad_right);
  };
  const auto pd = with_bias ? describe(x, w, bias, y) : describe(x, w, y);
  const Desc one({1}, Type::s32, Tag::a);
  Primitive p{dnnl::convolution_forward(pd), x, pd.weights_desc(), bytes(pd.scratchpad_desc()), {}};
  p.args = {{DNNL_ARG_SRC, dn::wrap(x, nullptr)},
            {DNNL_ARG_WEIGHTS, dn::wrap(p.w, nullptr)},
            {DNNL_ARG_DST, dn::wrap(y, nullptr)}};
  if (q.input_zero != 0) p.args.emplace(kInputZero, dn::wrap(one, nullptr));
  if (q.zero != 0) p.args.emplace(kZero, dn::wrap(one, nullptr));
  if (type_of(q.result) != Type::s32) p.args.emplace(kFactors, dn::wrap(factors, nullptr));
  if (with_bias) p.args.emplace(DNNL_ARG_BIAS, dn::wrap(bias, nullptr));
  if (p.scratch_bytes > 0)
    p.args.emplace(DNNL_ARG_SCRATCHPAD, dn::wrap(pd.scratchpad_desc(), nullptr));
  return p;
}

dn::Key key_of(const Int8Conv& q, int64_t images, bool with_bias) {
  dn::Key key = conv_key(kForward, type_of(q.input), q.shape, images, with_bias);
  key.insert(key.end(), {static_cast<int64_t>(type_of(q.result)), q.relu, q.one_factor,
                         q.input_zero != 0, q.zero != 0});
  return key;
}

Primitive& primitive(const Int8Conv& q, int64_t images, bool with_bias) {
  return dn::Cache<Primitive>::local().get(key_of(q, images, with_bias),
                                           [&] { return make(q, images, with_bias); });
}

// The strides of a tensor as those of the primitive's dimensions: one more for groups of filters,
// one less where the first of three spatial dimensions is 1.
Dims strides_for(const Dims& dims, sdk::Ints strides, bool groups) {
  Dims out(strides.begin(), strides.end());
  if (groups) out.insert(out.begin(), out[0] * dims[1]);
  if (out.size() > dims.size()) out.erase(out.begin() + (groups ? 3 : 2));
  return out;
}

// Images with channels innermost: the caller's, or a copy that the thread keeps.
const void* images_of(const Int8Conv& q, StridedBytes x) {
  struct Images;
  const ConvShape s = conv_shape(q.shape, q.shape.batch);
  const Desc given(s.x, type_of(q.input), strides_for(s.x, x.strides, false)),
      wanted = innermost(s.x, type_of(q.input));
  if (dn::same(given, wanted)) return x.data;
  return in_layout(given, x.data, wanted, ThreadBuffer<Images>::get(bytes(wanted)));
}

// Layouts of weights have sums behind the elements, too, which no key of dn::reorder tells.
void pack(const dnnl::reorder::primitive_desc& pd, const void* src, void* dst) {
  dnnl::reorder(pd).execute(dn::stream(), {{DNNL_ARG_FROM, dn::wrap(pd.src_desc(), src)},
                                           {DNNL_ARG_TO, dn::wrap(pd.dst_desc(), dst)}});
}

// The copy between plain layouts leaves out the sums where it transposes 8 by 8 elements (2.6). It
// has nothing to transpose where filters are innermost already.
void pack(const Dims& dims, bool groups, const Desc& from, const void* src, const Desc& to,
          void* dst) {
  const dnnl::reorder::primitive_desc direct(dn::engine(), from, dn::engine(), to);
  if (std::string_view(direct.impl_info_str()).rfind("jit:uni", 0) != 0)
    return pack(direct, src, dst);
  const Tag innermost_filters = groups ? (dims.size() == 6 ? Tag::dhwigo : Tag::hwigo)
                                       : (dims.size() == 5 ? Tag::dhwio : Tag::hwio);
  const Desc inner(dims, Type::s8, innermost_filters);
  struct Inner;
  const void* ordered = in_layout(from, src, inner, ThreadBuffer<Inner>::get(bytes(inner)));
  pack({dn::engine(), inner, dn::engine(), to}, ordered, dst);
}

// Weights as the primitive needs them, which are kept between calls.
class Weights {
 public:
  Weights(const Primitive& p, const Int8Conv& q, int64_t images, bool with_bias, StridedBytes w,
          const packed::Origin& from) {
    layout_ = p.w;
    const Dims dims = conv_shape(q.shape, images).w;
    const Desc given(dims, Type::s8, strides_for(dims, w.strides, q.shape.groups > 1));
    dn::Key key = key_of(q, images, with_bias);
    key.insert(key.end(), w.strides.begin(), w.strides.end());
    const sdk::Ints layout(key.data(), static_cast<int64_t>(key.size()));
    packed::Found found = packed::find(from, layout, bytes(p.w));
    if (!found.memory) {
      Buffer made(bytes(p.w));
      pack(dims, q.shape.groups > 1, given, w.data, p.w, made.as<>());
      found.memory = found.wanted ? packed::add(from, layout, std::move(made), bytes(p.w))
                                  : std::make_shared<const Buffer>(std::move(made));
    }
    kept_ = std::move(found.memory);
  }
  const Desc& layout() const { return layout_; }
  const void* data() const { return kept_->as<const char>(); }

 private:
  Desc layout_;
  packed::Kept kept_;
};

// Images, or rows of one: sums of integers have the same bits in any parts, which may be as many as
// there are threads. Each part of an image reads all weights.
class Parts {
 public:
  struct Part {
    Int8Conv q;                    // of the part alone
    int64_t images, x_row, y_row;  // where its rows begin, over all images
  };
  explicit Parts(const Int8Conv& q) : q_(q), dim_(q.shape.in[0] > 1 || q.shape.out[0] > 1 ? 0 : 1) {
    constexpr int64_t kEnough = 4'000'000;  // multiply-adds of a part
    const Conv& c = q.shape;
    const int64_t n = c.batch > 1 ? c.batch : c.out[dim_], threads = sdk::host().num_threads(),
                  most = std::clamp<int64_t>(c.work() * c.batch / kEnough, 1, threads);
    each_ = (n + most - 1) / most;
    count_ = (n + each_ - 1) / each_;
  }
  int64_t count() const { return count_; }
  Part at(int64_t k) const {
    const Conv& c = q_.shape;
    const int64_t first = k * each_;
    if (c.batch > 1)
      return {q_, std::min(each_, c.batch - first), first * c.in[dim_], first * c.out[dim_]};
    Part p{q_, 1, 0, first};
    p.x_row = cut(p.q.shape, first, std::min(each_, c.out[dim_] - first));
    return p;
  }
  int64_t x_row_size() const { return q_.shape.in_plane() / q_.shape.in[dim_] * q_.shape.channels; }
  int64_t y_row_size() const {
    return q_.shape.out_plane() / q_.shape.out[dim_] * q_.shape.filters;
  }

 private:
  // Rows [first, first + rows) of the result of one image; returns where their input begins.
  int64_t cut(Conv& c, int64_t first, int64_t rows) const {
    const int64_t reach = (c.kernel[dim_] - 1) * c.dilation[dim_] + 1,
                  from = first * c.stride[dim_] - c.pad[dim_],
                  to = from + (rows - 1) * c.stride[dim_] + reach;
    const int64_t begin = std::clamp<int64_t>(from, 0, c.in[dim_] - 1);
    c.in[dim_] = std::max<int64_t>(1, std::min(to, c.in[dim_]) - begin);
    c.out[dim_] = rows;
    c.pad[dim_] = begin - from;
    return begin;
  }
  const Int8Conv& q_;
  int dim_;  // of the rows; that of the planes where there are several, which have all their rows
  int64_t each_, count_;
};

struct Source {
  StridedBytes w;
  const packed::Origin& from;
  const float *bias, *factors;
};

// `weights` are of the first part; others need the same layout, as a rule.
void run(const Parts::Part& part, const Source& o, const Weights& weights, const char* x, char* y) {
  struct Work;
  const Int8Conv& q = part.q;
  const bool with_bias = o.bias != nullptr;
  Primitive& p = primitive(q, part.images, with_bias);
  std::optional<Weights> own;
  if (!dn::same(p.w, weights.layout())) own.emplace(p, q, part.images, with_bias, o.w, o.from);
  const auto set = [&](int argument, const void* data) {
    p.args.at(argument).set_data_handle(const_cast<void*>(data));
  };
  set(DNNL_ARG_SRC, x);
  set(DNNL_ARG_WEIGHTS, (own ? *own : weights).data());
  set(DNNL_ARG_DST, y);
  if (q.input_zero != 0) set(kInputZero, &q.input_zero);
  if (q.zero != 0) set(kZero, &q.zero);
  if (type_of(q.result) != Type::s32) set(kFactors, o.factors);
  if (with_bias) set(DNNL_ARG_BIAS, o.bias);
  if (p.scratch_bytes > 0) set(DNNL_ARG_SCRATCHPAD, ThreadBuffer<Work>::get(p.scratch_bytes));
  p.run.execute(dn::stream(), p.args);
}

// Images with channels innermost in, and out.
void run_parts(const Int8Conv& q, const Source& o, const char* images, char* y) {
  const Parts parts(q);
  const Parts::Part first = parts.at(0);
  const bool with_bias = o.bias != nullptr;
  const Weights weights(primitive(first.q, first.images, with_bias), first.q, first.images,
                        with_bias, o.w, o.from);
  const int64_t y_row = parts.y_row_size() * sdk::item_size(q.result);
  sdk::parallel_for(parts.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const Parts::Part p = parts.at(k);
      run(p, o, weights, images + p.x_row * parts.x_row_size(), y + p.y_row * y_row);
    }
  });
}

// oneDNN has no fast kernel for an output of one pixel. Images of one pixel are the pixels of one
// column; others get a second output beside the first, over pixels that are not theirs.
void run_single_pixels(Int8Conv q, const Source& o, const char* images, char* y) {
  struct Wide;
  struct Pairs;
  Conv& c = q.shape;
  if (c.batch > 1 && c.plain()) {
    c.in[1] = c.out[1] = std::exchange(c.batch, 1);
    return run_parts(q, o, images, y);
  }
  const int64_t rows = c.batch * c.in[0] * c.in[1], row = c.in[2] * c.channels,
                wide_row = row + c.stride[2] * c.channels,
                pixel = c.filters * sdk::item_size(q.result);
  char* wide = static_cast<char*>(ThreadBuffer<Wide>::get(rows * wide_row));
  char* pairs = static_cast<char*>(ThreadBuffer<Pairs>::get(c.batch * 2 * pixel));
  // The zero point adds nothing: a window that reached into the padding may now reach into these.
  std::memset(wide, static_cast<uint8_t>(q.input_zero), static_cast<std::size_t>(rows * wide_row));
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(wide + i * wide_row, images + i * row, static_cast<std::size_t>(row));
  c.in[2] += c.stride[2];
  c.out[2] = 2;
  run_parts(q, o, wide, pairs);
  for (int64_t n = 0; n < c.batch; ++n)
    std::memcpy(y + n * pixel, pairs + 2 * n * pixel, static_cast<std::size_t>(pixel));
}

}  // namespace

bool int8_by_onednn() { return isa() == Isa::Avx3 && dn::native_int8(); }

bool conv_forward_int8(const Int8Conv& q, StridedBytes x, StridedBytes w,
                       const packed::Origin& from, const float* bias, const float* factors,
                       void* y) {
  if (!int8_by_onednn()) return false;
  try {
    const Source source{w, from, bias, factors};
    const char* images = static_cast<const char*>(images_of(q, x));
    char* out = static_cast<char*>(y);
    if (q.shape.out_plane() == 1)
      run_single_pixels(q, source, images, out);
    else
      run_parts(q, source, images, out);
    return true;
  } catch (const dnnl::error& e) {  // of a primitive that there is none of, before any write
    if (e.status != dnnl_out_of_memory) return false;
    throw sdk::Error(TN_ERROR_MEMORY, "oneDNN: ", e.what());
  }
}

}  // namespace tenon::cpu
