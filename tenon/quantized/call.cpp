// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators on quantized tensors: which there are, and how each is computed by operators on
// ordinary tensors. They are those that torch has kernels for, and views.
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "tenon/call/era04.h"
#include "tenon/call/generated.h"
#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/quantized/quantizer.h"
#include "tenon/runtime/error.h"

namespace tenon::quantized {
namespace {

using core::Form;

enum class Rule : uint8_t {
  Moves,    // the integers, whatever they mean
  Ordered,  // picks among them, or repeats them
  Units,    // computed in units of the scale, without zero point, and rounded
  Mean,     // the same, but where its zero point is added, see means()
  Leaky,
  Real,  // of the real numbers, quantized as the argument is
  Asks,  // the same, the result is an ordinary tensor
  Copy,
  Fill,
  Join,
  Relu,
  Sigmoid,
  Tanh,
};

const Rule* rule_of(const core::Op& op) {
  static constexpr Rule kView = Rule::Moves;
  static const std::map<std::string_view, Rule> kRules = {
      {"clone", Rule::Moves},
      {"detach", Rule::Moves},
      {"alias", Rule::Moves},
      {"flip", Rule::Moves},
      {"roll", Rule::Moves},
      {"repeat", Rule::Moves},
      {"index_select", Rule::Moves},
      {"index", Rule::Moves},
      {"_index", Rule::Moves},
      {"gather", Rule::Moves},
      {"native_channel_shuffle", Rule::Moves},
      {"max_pool2d_with_indices", Rule::Ordered},
      {"_max_pool2d", Rule::Ordered},
      {"max_pool3d_with_indices", Rule::Ordered},
      {"adaptive_max_pool2d", Rule::Ordered},
      {"adaptive_max_pool3d", Rule::Ordered},
      {"reflection_pad1d", Rule::Ordered},
      {"reflection_pad2d", Rule::Ordered},
      {"reflection_pad3d", Rule::Ordered},
      {"replication_pad1d", Rule::Ordered},
      {"replication_pad2d", Rule::Ordered},
      {"replication_pad3d", Rule::Ordered},
      {"upsample_nearest1d", Rule::Ordered},
      {"upsample_nearest2d", Rule::Ordered},
      {"upsample_nearest3d", Rule::Ordered},
      {"_upsample_nearest_exact1d", Rule::Ordered},
      {"_upsample_nearest_exact2d", Rule::Ordered},
      {"_upsample_nearest_exact3d", Rule::Ordered},
      {"max", Rule::Ordered},
      {"max.dim", Rule::Ordered},
      {"min", Rule::Ordered},
      {"min.dim", Rule::Ordered},
      {"amax", Rule::Ordered},
      {"amin", Rule::Ordered},
      {"sort", Rule::Ordered},
      {"sort.stable", Rule::Ordered},
      {"topk", Rule::Ordered},
      {"avg_pool2d", Rule::Mean},
      {"avg_pool3d", Rule::Units},
      {"_adaptive_avg_pool2d", Rule::Mean},
      {"_adaptive_avg_pool3d", Rule::Mean},
      {"mean", Rule::Real},
      {"mean.dim", Rule::Real},
      {"upsample_linear1d", Rule::Units},
      {"upsample_bilinear2d", Rule::Units},
      {"upsample_trilinear3d", Rule::Units},
      {"upsample_bicubic2d", Rule::Units},
      {"leaky_relu", Rule::Leaky},
      {"clamp", Rule::Real},
      {"clamp_min", Rule::Real},
      {"clamp_max", Rule::Real},
      {"hardtanh", Rule::Real},
      {"relu6", Rule::Real},
      {"elu", Rule::Real},
      {"threshold", Rule::Real},
      {"constant_pad_nd", Rule::Real},
      {"masked_fill.Scalar", Rule::Real},
      {"eq.Tensor", Rule::Asks},
      {"eq.Scalar", Rule::Asks},
      {"ne.Tensor", Rule::Asks},
      {"ne.Scalar", Rule::Asks},
      {"lt.Tensor", Rule::Asks},
      {"lt.Scalar", Rule::Asks},
      {"le.Tensor", Rule::Asks},
      {"le.Scalar", Rule::Asks},
      {"gt.Tensor", Rule::Asks},
      {"gt.Scalar", Rule::Asks},
      {"ge.Tensor", Rule::Asks},
      {"ge.Scalar", Rule::Asks},
      {"argmax", Rule::Asks},
      {"argmin", Rule::Asks},
      {"copy", Rule::Copy},
      {"fill.Scalar", Rule::Fill},
      {"cat", Rule::Join},
      {"_stack", Rule::Join},
      {"relu", Rule::Relu},
      {"sigmoid", Rule::Sigmoid},
      {"hardsigmoid", Rule::Sigmoid},
      {"tanh", Rule::Tanh}};
  if (op.kind == core::OpKind::View) return &kView;
  const auto it = kRules.find(op.name);
  return it == kRules.end() ? nullptr : &it->second;
}

// The arguments with other tensors in the place of the quantized ones.
class Arguments {
 public:
  template <class F>
  Arguments(const core::Op& op, const tn_value* in, F&& other) : op_(op) {
    for (int i = 0; i < op.n_args; ++i) {
      in_[i] = in[i];
      if (in[i].tag == TN_TAG_TENSOR) {
        const Tensor t = autograd::unbox_Tensor(in[i]);
        if (is_quantized(t)) in_[i] = autograd::box(op.index, i, keep(other(t)));
      } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
        in_[i] = list(autograd::unbox_TensorList(in[i]), other);
      }
    }
  }
  Arguments(const Arguments&) = delete;
  std::vector<Tensor> call() const {
    std::vector<core::TensorImpl*> outs(static_cast<std::size_t>(op_.n_results), nullptr);
    core::call(op_, in_, outs.data(), Form::Functional);
    std::vector<Tensor> results;
    for (core::TensorImpl* t : outs) results.emplace_back(core::Impl::adopt(t));
    return results;
  }

 private:
  const Tensor& keep(Tensor t) {
    tensors_.push_back(std::make_unique<Tensor>(std::move(t)));
    return *tensors_.back();
  }
  template <class F>
  tn_value list(const std::vector<Tensor>& given, F& other) {
    auto& views = lists_.emplace_back();
    for (const Tensor& t : given) {
      const Tensor& used = is_quantized(t) ? keep(other(t)) : t;
      views.push_back(used.defined() ? &used.unsafeGetTensorImpl()->view : nullptr);
    }
    return autograd::pointer_value(TN_TAG_TENSOR_LIST, views.data(), views.size());
  }
  const core::Op& op_;
  tn_value in_[core::kMaxArgs];
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::vector<const tn_tensor*>> lists_;
};

struct Call {
  const core::Op& op;
  const tn_value* in;
  Tensor first;  // quantized
  core::Ref<Quantizer> by;
};

Tensor first_quantized(const core::Op& op, const tn_value* in) {
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) {
      if (Tensor t = autograd::unbox_Tensor(in[i]); is_quantized(t)) return t;
    } else if (in[i].tag == TN_TAG_TENSOR_LIST) {
      for (const Tensor& t : autograd::unbox_TensorList(in[i]))
        if (is_quantized(t)) return t;
    }
  }
  return {};
}

// Dimensions of a tensor that is quantized per channel keep their places.
void check_channels(const Call& c, Rule rule) {
  if (!c.by->per_channel() || rule == Rule::Asks) return;
  const std::string_view name = c.op.name;
  TENON_CHECK(name == "clone" || name == "detach" || name == "alias", NotImplementedError,
              c.op.name,
              ": not implemented for a tensor that is quantized per channel; "
              "dequantize() it");
}

using Results = std::vector<Tensor>;

Results moved(const Call& c) {
  Results r = Arguments(c.op, c.in, integers_of).call();
  r[0] = wrap(r[0], c.by);
  return r;
}

Results ordered(const Call& c) {
  const ScalarType integer = integer_dtype(c.by->dtype);
  if (core::op_takes(c.op, integer)) return moved(c);
  const ScalarType wide = c.by->dtype == kQInt32 ? kDouble : kFloat;
  Results r =
      Arguments(c.op, c.in, [&](const Tensor& t) { return integers_of(t).to(wide); }).call();
  r[0] = wrap(r[0].to(integer), c.by);
  return r;
}

Results in_units(const Call& c) {
  Results r = Arguments(c.op, c.in, shifted).call();
  r[0] = wrap(from_shifted(r[0], *c.by), c.by);
  return r;
}

// In torch the zero point is added before a mean is rounded, except where channels are last. It
// decides for the means in the middle between two integers, of which the even one is taken.
Results means(const Call& c) {
  const Tensor integers = integers_of(c.first);
  const bool images = integers.dim() == 4, volumes = integers.dim() == 5;
  if (images && integers.is_contiguous(MemoryFormat::ChannelsLast)) return in_units(c);
  if (volumes && integers.is_contiguous(MemoryFormat::ChannelsLast3d)) return in_units(c);
  Results r = Arguments(c.op, c.in, shifted).call();
  const Quantizer without_zero(c.by->dtype, c.by->scale, 0);
  r[0] = wrap(from_shifted(r[0] + c.by->zero, without_zero), c.by);
  return r;
}

Tensor real_of(const Tensor& t) { return dequantize(t); }

Results real(const Call& c, const core::Ref<Quantizer>& by) {
  Results r = Arguments(c.op, c.in, real_of).call();
  r[0] = wrap(quantize(r[0], *by), by);
  return r;
}

// A slope of 0.1 or 0.2 has the middle between two integers in every tenth or fifth of them, where
// the rounding before decides: torch's is that of fma(integer, scale, -(scale * zero_point)).
Results leaky(const Call& c) {
  if (c.by->dtype == kQInt32) return in_units(c);
  const Range r = range_of(c.by->dtype, c.op.name);
  const auto scale = static_cast<float>(c.by->scale);
  const float of_zero = scale * static_cast<float>(c.by->zero);
  const TensorOptions options = TensorOptions(c.first.device()).dtype(kDouble);
  const Tensor all = (arange(r.low, r.high + 1, options) * static_cast<double>(scale) -
                      static_cast<double>(of_zero))
                         .to(kFloat);
  const Results reals = Arguments(c.op, c.in, [&](const Tensor&) { return all; }).call();
  return {wrap(tenon::_byte_table(integers_of(c.first), quantize(reals[0], *c.by)), c.by)};
}

// Tensors of other scales or zero points are quantized as the first one is.
Results joined(const Call& c) {
  const auto integers = [&](const Tensor& t) {
    const core::Ref<Quantizer> of = quantizer_of(t);
    const bool same = !of->per_channel() && of->dtype == c.by->dtype && of->scale == c.by->scale &&
                      of->zero == c.by->zero;
    return same ? integers_of(t) : quantize(dequantize(t), *c.by);
  };
  const int list = c.in[0].tag == TN_TAG_TENSOR_LIST ? 0 : 1;
  for (const Tensor& t : autograd::unbox_TensorList(c.in[list])) {
    TENON_CHECK(is_quantized(t), TypeError, c.op.name,
                ": quantized tensors and others cannot be joined");
  }
  Results r = Arguments(c.op, c.in, integers).call();
  r[0] = wrap(r[0], c.by);
  return r;
}

// What the results of sigmoid and tanh have in torch, whatever the argument has.
core::Ref<Quantizer> fixed(const Call& c, double low, double high) {
  const Range r = range_of(c.by->dtype, c.op.name);
  const double scale = (high - low) / (static_cast<double>(r.high - r.low) + 1);
  const int64_t zero = low == 0 ? r.low : (r.low + r.high + 1) / 2;
  return core::Ref<Quantizer>::adopt(new Quantizer(c.by->dtype, scale, zero));
}

Results results_of(const Call& c, Rule rule) {
  switch (rule) {
    case Rule::Moves:
      return moved(c);
    case Rule::Ordered:
      return ordered(c);
    case Rule::Units:
      return in_units(c);
    case Rule::Mean:
      return means(c);
    case Rule::Leaky:
      return leaky(c);
    case Rule::Real:
      return real(c, c.by);
    case Rule::Asks:
      return Arguments(c.op, c.in, real_of).call();
    case Rule::Join:
      return joined(c);
    case Rule::Relu:
      return {wrap(integers_of(c.first).clamp_min(c.by->zero), c.by)};
    case Rule::Sigmoid:
      return real(c, fixed(c, 0, 1));
    case Rule::Tanh:
      return real(c, fixed(c, -1, 1));
    case Rule::Copy:
      break;
    case Rule::Fill:
      return real(c, c.by);
  }
  throw NotImplementedError(core::join(c.op.name, ": not a function of quantized tensors"));
}

// self.copy_(src)
void copy(const core::Op& op, const tn_value* in) {
  const Tensor self = autograd::unbox_Tensor(in[0]), src = autograd::unbox_Tensor(in[1]);
  TENON_CHECK(is_quantized(self), TypeError, op.name,
              "_: a quantized tensor cannot be copied to an ordinary one; dequantize() it");
  const core::Ref<Quantizer> by = quantizer_of(self);
  integers_of(self).copy_(quantize(dequantize(src), *by));
}

}  // namespace

void call(const core::Op& op, const tn_value* in, core::TensorImpl** outs, Form form) {
  const Rule* rule = rule_of(op);
  TENON_CHECK(rule && form != Form::Out && (*rule != Rule::Copy || form == Form::Inplace),
              NotImplementedError, op.name, ": not implemented for quantized tensors",
              rule ? " in this form" : "", "; dequantize() them");
  const autograd::Today today;
  const NoGradGuard no_grad;
  if (*rule == Rule::Copy) return copy(op, in);
  Call c{op, in, first_quantized(op, in), {}};
  c.by = quantizer_of(c.first);
  check_channels(c, *rule);
  Results r = results_of(c, *rule);
  if (form == Form::Inplace) {
    const Tensor self = autograd::unbox_Tensor(in[0]);
    TENON_CHECK(is_quantized(self) && is_quantized(r[0]) && r[0].sizes() == self.sizes(),
                NotImplementedError, op.name, "_: not implemented for these quantized tensors");
    integers_of(self).copy_(integers_of(r[0]));
    return;
  }
  for (int k = 0; k < op.n_results; ++k)
    outs[k] = r[static_cast<std::size_t>(k)].defined()
                  ? r[static_cast<std::size_t>(k)].unsafeReleaseTensorImpl()
                  : nullptr;
}

}  // namespace tenon::quantized
