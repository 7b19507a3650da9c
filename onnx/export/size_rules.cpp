// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/size_rules.h"

#include <algorithm>
#include <map>

#include "onnx/export/call.h"
#include "tenon/core/op.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {
namespace {

// What a rule sees; a Refusal means that nothing is known.
struct Asked {
  Exporter& e;
  Call& c;
  const Tensor& out;
};
using SizeRule = Sizes (*)(const Asked& a);

int64_t wrap(int64_t dim, std::size_t rank) {
  return dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
}

Sizes of(const Item& i) {
  need(i.example.isTensor() && i.example.toTensor().defined(), "no tensor");
  if (i.constant) return Sizes(static_cast<std::size_t>(i.example.toTensor().dim()), kFixed);
  need(i.sizes.has_value(), "nothing is known");
  return *i.sizes;
}
Sizes of(const Asked& a, const char* argument) { return of(a.c.get(argument)); }
Sizes of_first(const Asked& a) { return of(a, a.c.first_argument()); }
bool all_fixed(const Sizes& s, std::size_t from = 0) {
  return std::all_of(s.begin() + static_cast<std::ptrdiff_t>(std::min(from, s.size())), s.end(),
                     [](int64_t v) { return v == kFixed; });
}

// Every argument but tensors is a constant.
bool only_tensors_vary(const Asked& a) {
  return std::all_of(a.c.node.inputs().begin(), a.c.node.inputs().end(), [&](const jit::Value* v) {
    const Item* i = a.e.find_item(v);
    return i && (i->constant || i->example.isTensor());
  });
}
int64_t if_fixed(const Asked& a, int64_t size) {
  return size == kFixed && only_tensors_vary(a) ? kFixed : a.e.fresh_symbol();
}

// A size of 1 in every run takes the other's; of two that vary in different ways nothing is known.
void broadcast_to(const Asked& a, Sizes& out, const Sizes& s, const Tensor& t) {
  const std::size_t skip = out.size() - s.size();
  for (std::size_t i = 0; i < s.size(); ++i) {
    int64_t& o = out[skip + i];
    const bool one = s[i] == kFixed && t.size(static_cast<int64_t>(i)) == 1;
    if (one) continue;
    if (o == -1 || s[i] == kFixed)
      o = s[i];
    else if (o != kFixed && o != s[i])
      o = a.e.fresh_symbol();
  }
}
Sizes broadcast(const Asked& a, const std::vector<const Item*>& items, std::size_t rank) {
  Sizes out(rank, -1);
  for (const Item* i : items) {
    const Sizes s = of(*i);
    need(s.size() <= rank, "more dimensions");
    broadcast_to(a, out, s, i->example.toTensor());
  }
  std::replace(out.begin(), out.end(), int64_t{-1}, kFixed);
  return out;
}
Sizes pointwise(const Asked& a) {
  std::vector<const Item*> items;
  for (const jit::Value* v : a.c.node.inputs()) {
    const Item* i = a.e.find_item(v);
    need(i != nullptr, "nothing is known");
    if (i->example.isTensor() && i->example.toTensor().defined()) items.push_back(i);
  }
  return broadcast(a, items, static_cast<std::size_t>(a.out.dim()));
}

Sizes as_self(const Asked& a) { return of(a, "self"); }
Sizes as_other(const Asked& a) { return of(a, "other"); }
Sizes as_hidden(const Asked& a) { return of(a, "hx"); }
Sizes as_index(const Asked& a) { return of(a, "index"); }

Sizes permute(const Asked& a) {
  const Sizes s = of(a, "self");
  Sizes out;
  for (const int64_t d : a.c.ints("dims"))
    out.push_back(s.at(static_cast<std::size_t>(wrap(d, s.size()))));
  return out;
}
Sizes transpose(const Asked& a) {
  Sizes s = of(a, "self");
  if (s.size() < 2) return s;
  const bool by_name = !a.c.has("dim0") && !a.c.has("axis0");
  const int64_t x = by_name ? -2 : a.c.integer(a.c.has("dim0") ? "dim0" : "axis0"),
                y = by_name ? -1 : a.c.integer(a.c.has("dim1") ? "dim1" : "axis1");
  std::swap(s.at(static_cast<std::size_t>(wrap(x, s.size()))),
            s.at(static_cast<std::size_t>(wrap(y, s.size()))));
  return s;
}
Sizes unsqueeze(const Asked& a) {
  Sizes s = of(a, "self");
  s.insert(s.begin() + wrap(a.c.integer("dim"), s.size() + 1), kFixed);
  return s;
}
Sizes squeeze(const Asked& a) {
  const Sizes s = of(a, "self");
  const Tensor x = a.c.example("self");
  std::set<int64_t> dims;
  if (!a.c.none("dim"))
    for (const int64_t d : a.c.ints("dim")) dims.insert(wrap(d, s.size()));
  Sizes out;
  for (std::size_t d = 0; d < s.size(); ++d) {
    const auto at = static_cast<int64_t>(d);
    if (x.size(at) != 1 || !(a.c.none("dim") || dims.count(at))) out.push_back(s[d]);
  }
  return out;
}
Sizes without_dim(const Asked& a) {
  Sizes s = of(a, "self");
  s.erase(s.begin() + wrap(a.c.integer("dim"), s.size()));
  return s;
}
Sizes slice(const Asked& a) {
  Sizes s = of(a, "self");
  int64_t& d = s.at(static_cast<std::size_t>(wrap(a.c.integer("dim"), s.size())));
  const bool constant =
      a.c.is_constant("start") && a.c.is_constant("end") && a.c.is_constant("step");
  const bool all = constant && a.c.integer("start") == 0 && a.c.integer("step", 1) == 1 &&
                   a.c.integer("end", kEnd) == kEnd;
  if (!all) d = if_fixed(a, d);
  return s;
}
Sizes narrow(const Asked& a) {
  Sizes s = of(a, "self");
  s.at(static_cast<std::size_t>(wrap(a.c.integer("dim"), s.size()))) =
      a.c.is_constant("length") ? kFixed : a.e.fresh_symbol();
  return s;
}
// Along one dimension as many as arguments and that dimension tell.
Sizes along_dim(const Asked& a) {
  Sizes s = of(a, "self");
  const std::vector<int64_t> dims = a.c.ints(a.c.has("dim") ? "dim" : "dimension");
  need(!dims.empty(), "along all");
  for (const int64_t d : dims) {
    int64_t& size = s.at(static_cast<std::size_t>(wrap(d, s.size())));
    size = if_fixed(a, size);
  }
  return s;
}
Sizes view_as_real(const Asked& a) {
  Sizes s = of(a, "self");
  s.push_back(kFixed);
  return s;
}
Sizes view_as_complex(const Asked& a) {
  const Sizes s = of(a, "self");
  return {s.begin(), s.end() - 1};
}
Sizes repeat_interleave(const Asked& a) {
  need(a.c.is_constant("repeats") && !a.c.none("dim"), "repeats that are computed");
  return along_dim(a);
}
Sizes unfold(const Asked& a) {
  Sizes s = along_dim(a);
  s.push_back(kFixed);
  return s;
}
Sizes topk(const Asked& a) {
  Sizes s = of(a, "self");
  if (s.empty()) return s;
  s.at(static_cast<std::size_t>(wrap(a.c.integer("dim", -1), s.size()))) =
      a.c.is_constant("k") ? kFixed : a.e.fresh_symbol();
  return s;
}

// A list of integers: those that are computed by their symbols.
struct Entry {
  int64_t symbol, value;
};
std::vector<Entry> entries(const Asked& a, const char* argument) {
  const Item& list = a.c.get(argument);
  std::vector<Entry> out;
  if (list.constant) {
    for (const int64_t v : a.c.ints(argument)) out.push_back({kFixed, v});
    return out;
  }
  need(list.has_parts, "a list that the program computes");
  for (const ItemPtr& p : list.parts) {
    const int64_t symbol = p->constant ? kFixed : p->symbol ? p->symbol : a.e.fresh_symbol();
    out.push_back({symbol, p->example.toInt()});
  }
  return out;
}

// What -1 stands for: sizes that cancel each other do not matter.
int64_t rest_of(const Asked& a, const std::vector<Entry>& given) {
  const Sizes s = of(a, "self");
  const Tensor x = a.c.example("self");
  Sizes left;
  int64_t have = 1, want = 1;
  for (std::size_t d = 0; d < s.size(); ++d) {
    if (s[d] == kFixed)
      have *= x.size(static_cast<int64_t>(d));
    else
      left.push_back(s[d]);
  }
  for (const Entry& g : given) {
    if (g.symbol == kFixed) {
      want *= g.value == -1 ? 1 : g.value;
      continue;
    }
    const auto at = std::find(left.begin(), left.end(), g.symbol);
    if (at == left.end()) return a.e.fresh_symbol();
    left.erase(at);
  }
  if (left.empty()) return kFixed;
  return left.size() == 1 && have == want ? left[0] : a.e.fresh_symbol();
}
Sizes reshaped(const Asked& a, const std::vector<Entry>& given) {
  Sizes out;
  for (const Entry& g : given)
    out.push_back(g.symbol == kFixed && g.value == -1 ? rest_of(a, given) : g.symbol);
  return out;
}
Sizes view(const Asked& a) { return reshaped(a, entries(a, a.c.has("size") ? "size" : "shape")); }
Sizes flatten(const Asked& a) {
  const Sizes s = of(a, "self");
  if (s.empty()) return {kFixed};
  const Tensor x = a.c.example("self");
  const auto begin = wrap(a.c.integer("start_dim"), s.size()),
             end = wrap(a.c.integer("end_dim", -1), s.size());
  std::vector<Entry> given;
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d) {
    if (d == begin) given.push_back({kFixed, -1});
    if (d < begin || d > end) given.push_back({s[static_cast<std::size_t>(d)], x.size(d)});
  }
  return reshaped(a, given);
}
Sizes unflatten(const Asked& a) {
  const Sizes s = of(a, "self");
  const Tensor x = a.c.example("self");
  const auto dim = wrap(a.c.integer("dim"), s.size());
  std::vector<Entry> given;
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d) {
    if (d != dim)
      given.push_back({s[static_cast<std::size_t>(d)], x.size(d)});
    else
      for (const Entry& e : entries(a, "sizes")) given.push_back(e);
  }
  return reshaped(a, given);
}
Sizes expand(const Asked& a) {
  const Sizes s = of(a, "self");
  const std::vector<Entry> given = entries(a, "size");
  Sizes out;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool keeps = given[i].symbol == kFixed && given[i].value == -1;
    out.push_back(keeps ? s.at(i + s.size() - given.size()) : given[i].symbol);
  }
  return out;
}
Sizes made(const Asked& a) {
  Sizes out;
  for (const Entry& g : entries(a, "size")) out.push_back(g.symbol);
  return out;
}
Sizes repeat(const Asked& a) {
  const Sizes s = of(a, "self");
  const std::vector<Entry> times = entries(a, "repeats");
  need(times.size() >= s.size(), "fewer repeats");
  Sizes out;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool has = i + s.size() >= times.size(), once = times[i].value == 1;
    const int64_t size = has ? s[i + s.size() - times.size()] : kFixed;
    if (times[i].symbol == kFixed)
      out.push_back(once || size == kFixed ? size : a.e.fresh_symbol());
    else
      out.push_back(has ? a.e.fresh_symbol() : times[i].symbol);
  }
  return out;
}

Sizes cat(const Asked& a) {
  const Item& list = a.c.get("tensors");
  need(list.has_parts && !list.parts.empty(), "a list that the program computes");
  const auto rank = static_cast<std::size_t>(a.out.dim());
  const auto dim = static_cast<std::size_t>(wrap(a.c.integer("dim"), rank));
  Sizes out(rank, -1);
  bool fixed = true;
  for (const ItemPtr& p : list.parts) {
    if (is_nothing(*p, a.out)) continue;
    const Sizes s = of(*p);
    fixed = fixed && s[dim] == kFixed;
    for (std::size_t d = 0; d < rank; ++d)  // all are the same: what is known of one holds
      if (out[d] == -1 || s[d] == kFixed) out[d] = s[d];
  }
  out[dim] = fixed ? kFixed : a.e.fresh_symbol();
  return out;
}
Sizes stack(const Asked& a) {
  const Item& list = a.c.get("tensors");
  need(list.has_parts && !list.parts.empty(), "a list that the program computes");
  Sizes s = of(*list.parts[0]);
  s.insert(s.begin() + wrap(a.c.integer("dim"), s.size() + 1), kFixed);
  return s;
}

Sizes product(const Asked& a, const Item& x, const Item& y) {
  Sizes s = of(x), t = of(y);
  need(s.size() >= 2 && t.size() >= 2, "vectors");
  const int64_t row = s[s.size() - 2], column = t.back();
  Sizes out(std::max(s.size(), t.size()), -1);
  const auto lead = [&](Sizes v, const Item& i) {
    v.back() = v[v.size() - 2] = kFixed;
    Tensor one = i.example.toTensor();
    one = one.narrow(-1, 0, std::min<int64_t>(one.size(-1), 1));
    broadcast_to(a, out, v, one);
  };
  lead(s, x);
  lead(t, y);
  std::replace(out.begin(), out.end(), int64_t{-1}, kFixed);
  out[out.size() - 2] = row;
  out.back() = column;
  return out;
}
Sizes matmul(const Asked& a) {
  return product(a, a.c.get("self"), a.c.get(a.c.has("other") ? "other" : "mat2"));
}
Sizes addmm(const Asked& a) {
  const bool batched = a.c.has("batch1");
  return product(a, a.c.get(batched ? "batch1" : "mat1"), a.c.get(batched ? "batch2" : "mat2"));
}
Sizes linear(const Asked& a) {
  Sizes s = of(a, "input");
  need(!s.empty(), "a number");
  s.back() = of(a, "weight").at(0);
  return s;
}
Sizes attention(const Asked& a) {
  Sizes q = of(a, "query");
  q.back() = of(a, "value").back();
  return q;
}
Sizes embedding(const Asked& a) {
  Sizes s = of(a, "indices");
  s.push_back(of(a, "weight").at(1));
  return s;
}

// Images: those before the spatial dimensions stay, the channels of a convolution are its own.
Sizes windows(const Asked& a, std::size_t spatial, bool channels) {
  Sizes s = of_first(a);
  need(s.size() >= spatial + 1, "fewer dimensions");
  for (std::size_t d = s.size() - spatial; d < s.size(); ++d) s[d] = if_fixed(a, s[d]);
  if (channels) s[s.size() - spatial - 1] = if_fixed(a, kFixed);
  return s;
}
std::size_t spatial_of(const std::string& name) {
  return name.find("1d") != std::string::npos ? 1 : name.find("3d") != std::string::npos ? 3 : 2;
}
Sizes convolution(const Asked& a) {
  need(all_fixed(of(a, "weight")), "a weight that varies");
  const bool quantized = a.c.name == "tenon_quantized::convolve";  // of one dimension by two
  return windows(a, (quantized ? of_first(a) : of(a, "weight")).size() - 2, true);
}
Sizes pool(const Asked& a) { return windows(a, spatial_of(a.c.name), false); }
Sizes to_size(const Asked& a) {
  Sizes s = of_first(a);
  const std::size_t spatial = spatial_of(a.c.name);
  if (a.c.none("output_size")) return windows(a, spatial, false);
  const std::vector<Entry> given = entries(a, "output_size");
  need(given.size() == spatial && s.size() > spatial, "other sizes");
  for (std::size_t i = 0; i < spatial; ++i) s[s.size() - spatial + i] = given[i].symbol;
  return s;
}
// The first dimension stays, and if the others are fixed, so are those of the result.
Sizes batch(const Asked& a) {
  const Sizes s = of_first(a);
  need(!s.empty() && all_fixed(s, 1) && only_tensors_vary(a), "sizes that vary");
  Sizes out(static_cast<std::size_t>(a.out.dim()), kFixed);
  out.at(0) = s[0];
  return out;
}
Sizes pad(const Asked& a) {
  Sizes s = of(a, "self");
  const std::vector<Entry> pads = entries(a, a.c.has("pad") ? "pad" : "padding");
  for (std::size_t i = 0; i < pads.size(); ++i) {
    int64_t& d = s.at(s.size() - 1 - i / 2);
    if (pads[i].symbol == kFixed && pads[i].value == 0) continue;
    d = pads[i].symbol == kFixed && d == kFixed ? kFixed : a.e.fresh_symbol();
  }
  return s;
}

Sizes reduce(const Asked& a) {
  Sizes s = of_first(a);
  if (a.out.dim() == 0) return {};
  std::set<int64_t> dims;
  if (!a.c.none("dim"))
    for (const int64_t d : a.c.ints("dim")) dims.insert(wrap(d, s.size()));
  const bool keep = static_cast<std::size_t>(a.out.dim()) == s.size();
  Sizes out;
  for (std::size_t d = 0; d < s.size(); ++d) {
    const bool gone = dims.empty() || dims.count(static_cast<int64_t>(d));
    if (!gone)
      out.push_back(s[d]);
    else if (keep)
      out.push_back(kFixed);
  }
  return out;
}

Sizes index_select(const Asked& a) {
  Sizes s = of(a, "self");
  const Sizes index = of(a, "index");
  if (s.empty()) return s;
  s.at(static_cast<std::size_t>(wrap(a.c.integer("dim"), s.size()))) =
      index.empty() ? kFixed : index[0];
  return s;
}
// Tensors of positions side by side, whose common shape takes the place of their dimensions.
Sizes index(const Asked& a) {
  const Sizes s = of(a, "self");
  const Item& list = a.c.get("indices");
  need(list.has_parts, "a list that the program computes");
  std::vector<const Item*> used;
  std::vector<std::size_t> dims;
  std::size_t common = 0;
  for (std::size_t d = 0; d < list.parts.size(); ++d) {
    const Item& i = *list.parts[d];
    if (i.example.isNone()) continue;
    need(!is_mask(i.example), "masks");
    used.push_back(&i);
    dims.push_back(d);
    common = std::max(common, static_cast<std::size_t>(i.example.toTensor().dim()));
  }
  if (used.empty()) return s;
  const Sizes shape = broadcast(a, used, common);
  const bool neighbors = dims.back() - dims.front() + 1 == dims.size();
  const std::size_t place = neighbors ? dims.front() : 0;
  Sizes out;
  for (std::size_t d = 0; d < s.size(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) out.push_back(s[d]);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(place), shape.begin(), shape.end());
  return out;
}

const std::map<std::string, SizeRule, std::less<>>& rules() {
  static const auto all = [] {
    std::map<std::string, SizeRule, std::less<>> t;
    const auto add = [&t](SizeRule rule, std::initializer_list<const char*> names) {
      for (const char* name : names) t.emplace(name, rule);
    };
    add(of_first, {"softmax", "_softmax", "log_softmax", "_log_softmax", "layer_norm", "batch_norm",
                   "group_norm", "instance_norm", "rms_norm", "normalize"});
    add(of_first,
        {"contiguous", "clone", "detach", "to", "type_as", "zeros_like", "ones_like", "full_like",
         "empty_like", "rand_like", "alias", "_to_copy", "lift_fresh", "NumToTensor"});
    add(of_first, {"copy", "fill", "zero", "index_put", "scatter", "scatter_add", "scatter_reduce",
                   "masked_fill", "masked_scatter", "slice_scatter", "select_scatter",
                   "diagonal_scatter", "index_add", "index_fill", "index_copy"});
    add(of_first, {"dropout", "cumsum", "cumprod", "flip", "roll", "tril", "triu", "sort",
                   "argsort", "logcumsumexp", "feature_dropout"});
    add(of_first,
        {"quantize_per_tensor", "quantize_per_channel", "dequantize", "int_repr",
         "dequantize_per_tensor", "dequantize_per_channel", "_make_per_tensor_quantized_tensor"});
    add(of_first, {"conj", "resolve_conj", "real", "imag"});
    add(pointwise, {"where", "addcmul", "addcdiv", "lerp", "gelu", "clamp", "pow", "remainder"});
    add(as_self, {"bucketize", "searchsorted"});
    add(as_other, {"expand_as", "view_as", "reshape_as"});
    add(as_hidden, {"gru_cell", "rnn_tanh_cell", "rnn_relu_cell"});
    add(as_index, {"gather"});
    add(permute, {"permute"});
    add(transpose, {"transpose", "t", "swapaxes", "swapdims", "mT", "numpy_T"});
    add(unsqueeze, {"unsqueeze"});
    add(squeeze, {"squeeze"});
    add(without_dim, {"select", "unbind"});
    add(slice, {"slice"});
    add(narrow, {"narrow"});
    add(along_dim,
        {"split", "split_with_sizes", "chunk", "unsafe_split", "unsafe_chunk", "fft_fft",
         "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft", "fft_rfft2", "fft_irfft2",
         "fft_fft2", "fft_ifft2", "fft_rfftn", "fft_irfftn", "fft_fftn", "fft_ifftn"});
    add(view_as_real, {"view_as_real"});
    add(view_as_complex, {"view_as_complex"});
    add(repeat_interleave, {"repeat_interleave"});
    add(unfold, {"unfold"});
    add(topk, {"topk"});
    add(view, {"view", "reshape", "_unsafe_view"});
    add(flatten, {"flatten"});
    add(unflatten, {"unflatten"});
    add(expand, {"expand", "broadcast_to"});
    add(made, {"zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty"});
    add(repeat, {"repeat"});
    add(cat, {"cat", "concat"});
    add(stack, {"stack"});
    add(matmul, {"matmul", "mm", "bmm"});
    add(addmm, {"addmm", "baddbmm"});
    add(linear, {"linear", "linear_dynamic"});
    add(attention, {"scaled_dot_product_attention"});
    add(embedding, {"embedding"});
    add(convolution, {"conv1d", "conv2d", "conv3d", "convolution", "_convolution",
                      "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolve"});
    add(pool, {"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
               "max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices"});
    add(to_size,
        {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
         "adaptive_max_pool2d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
         "upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d"});
    add(batch, {"im2col", "col2im", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"});
    add(pad, {"pad", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad1d",
              "replication_pad2d"});
    add(reduce, {"sum", "mean", "amax", "amin", "prod", "argmax", "argmin", "any", "all", "var",
                 "std", "norm", "linalg_vector_norm", "logsumexp", "max", "min", "median"});
    add(index_select, {"index_select"});
    add(index, {"index", "_index"});
    return t;
  }();
  return all;
}

bool is_pointwise(const jit::Node& n) {
  if (n.is("tenon_quantized::add") || n.is("tenon_quantized::mul")) return true;
  if (!n.op || !n.op->op) return false;
  const std::string_view family = n.op->op->family;
  return family == "pointwise" || family == "compare";
}

}  // namespace

std::string plain_name(const jit::Node& n) {
  std::string name = n.kind().substr(n.kind().find(':') + 2);
  if (name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_') name.pop_back();
  return name;
}

std::optional<Sizes> sizes_by_rule(Exporter& e, const jit::Node& n, const std::string& name,
                                   const Tensor& out) {
  const auto at = rules().find(name);
  const bool two = name == "max" || name == "min";  // of two tensors, as maximum
  SizeRule rule = at != rules().end() ? at->second : nullptr;
  if (two && n.inputs().size() == 2 && n.outputs().size() == 1) rule = pointwise;
  if (!rule && is_pointwise(n)) rule = pointwise;
  if (!rule && n.op && n.op->op && std::string_view(n.op->op->family) == "activation" &&
      name != "glu" && name != "prelu")
    rule = of_first;
  if (!rule) return std::nullopt;
  try {
    Call c(e, n);
    const Sizes sizes = rule({e, c, out});
    // A rule for another form of the operator shows itself.
    const bool fits = sizes.size() == static_cast<std::size_t>(out.dim());
    return fits ? std::optional(sizes) : std::nullopt;
  } catch (const Refusal&) {
    return std::nullopt;
  } catch (const Missing&) {
    return std::nullopt;
  } catch (const std::out_of_range&) {
    return std::nullopt;
  }
}

void note_number(Exporter& e, const jit::Node& n, const std::string& name, Item& out) {
  static const std::set<std::string, std::less<>> passing{"NumToTensor", "Int", "IntImplicit",
                                                          "ScalarImplicit"};
  if (out.constant || n.inputs().empty()) return;
  const Item* from = e.find_item(n.input(0));
  if (!from) return;
  if (passing.count(name)) out.symbol = from->symbol;
  const bool size = (name == "size" || name == "sym_size") && n.inputs().size() == 2;
  if (!size || !from->sizes || !e.item(n.input(1))->constant) return;
  const int64_t dim = wrap(e.item(n.input(1))->example.toInt(), from->sizes->size());
  if (dim >= 0 && dim < static_cast<int64_t>(from->sizes->size()))
    out.symbol = (*from->sizes)[static_cast<std::size_t>(dim)];
}

}  // namespace tenon::onnx::exporting
