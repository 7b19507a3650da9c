// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of convolutions and their gradients.
#include "infer_args.gen.h"
#include "ops/infer/epilogue.h"
#include "ops/infer/memory_format.h"
#include "ops/infer/quantized.h"
#include "ops/infer/window.h"

namespace tenon::core {
namespace {

constexpr int kNoArg = -1;

// Where an operator has the arguments of a convolution.
struct ConvArgs {
  int input, weight, stride, padding, dilation, groups;
  int bias = kNoArg, transposed = kNoArg, output_padding = kNoArg;
};

struct Conv {
  Infer& c;
  ConvArgs at;
  bool image = false;  // the input is one image, without a dimension for the batch
  bool mixed = false;  // weight and bias have dtypes of their own

  int64_t item(int arg, int d, int nd) const { return window_entry(c, arg, d, nd); }
  void check_parameters(int nd) const;
  void check_tensors() const;
  void check_bias() const;
  void check_dtype(const TensorImpl& t, const char* name) const;
  // Of a result with the input's dimensions: channels last where those of the input or the weight
  // are.
  void keep_format(int k) const {
    core::keep_format(c, k, is_channels_last(input()) ? input() : weight());
  }
  int output_sizes(int64_t* sizes) const;
  const TensorImpl& input() const { return c.tensor(at.input); }
  const TensorImpl& weight() const { return c.tensor(at.weight); }
  int channel_dim() const { return image ? 0 : 1; }
  bool transposed() const { return at.transposed != kNoArg && c.flag(at.transposed); }
  int64_t groups() const { return c.integer(at.groups); }
  int64_t filters() const {
    return transposed() ? c.take(Size(weight().size(1)) * groups()) : weight().size(0);
  }
};

void Conv::check_parameters(int nd) const {
  for (int d = 0; d < nd; ++d) {
    if (item(at.stride, d, nd) <= 0) {
      fail<ValueError>(c, c.arg(at.stride), " must be positive, got ", c.ints(at.stride));
    }
    if (item(at.padding, d, nd) < 0) {
      fail<ValueError>(c, "negative padding is not supported here, got ", c.ints(at.padding));
    }
    if (item(at.dilation, d, nd) <= 0) {
      fail<ValueError>(c, c.arg(at.dilation), " must be positive, got ", c.ints(at.dilation));
    }
    if (transposed()) {
      const int64_t extra = item(at.output_padding, d, nd);
      if (extra < 0 || (extra >= item(at.stride, d, nd) && extra >= item(at.dilation, d, nd))) {
        fail<ValueError>(c, c.arg(at.output_padding),
                         " must be smaller than stride or dilation, got ",
                         c.ints(at.output_padding));
      }
    }
  }
}

void Conv::check_tensors() const {
  const TensorImpl &input = this->input(), &weight = this->weight();
  const int expected_dim = weight.ndim() - (image ? 1 : 0);
  if (input.ndim() != expected_dim || weight.ndim() < 3 || weight.ndim() > 5) {
    fail<ValueError>(c, "expected ", weight.ndim(), "-D input for weight ", weight.sizes(),
                     ", got ", input.ndim(), "-D input of shape ", input.sizes());
  }
  check_dtype(weight, "weight");
  const int64_t groups = this->groups(), leading = weight.size(0);
  if (groups <= 0) fail<ValueError>(c, "groups must be positive, got ", groups);
  const int64_t expected = transposed() ? leading : c.take(Size(weight.size(1)) * groups);
  if (input.size(channel_dim()) != expected || leading % groups != 0) {
    fail<ValueError>(c, "groups=", groups, ", weight ", weight.sizes(),
                     ": expected input channels ", expected,
                     leading % groups ? " and a first size of weight that groups divides" : "",
                     ", got ", input.size(channel_dim()), " in input ", input.sizes());
  }
}

void Conv::check_bias() const {
  const TensorImpl* bias = c.tensor_or_null(at.bias);
  if (!bias) return;
  if (bias->ndim() != 1 || bias->size(0) != filters()) {
    fail<ValueError>(c, "bias must have shape [", filters(), "] for weight ", weight().sizes(),
                     ", got ", bias->sizes());
  }
  check_dtype(*bias, "bias");
}

void Conv::check_dtype(const TensorImpl& t, const char* name) const {
  if (mixed || t.dtype == input().dtype) return;
  fail<TypeError>(c, "input has dtype ", dtype_name(input().dtype), " but ", name, " has ",
                  dtype_name(t.dtype));
}

// How many sizes there are, the batch among them: of one image it is 1.
int Conv::output_sizes(int64_t* sizes) const {
  const TensorImpl &input = this->input(), &weight = this->weight();
  const int nd = weight.ndim() - 2;
  check_parameters(nd);
  const bool transposed = this->transposed();
  sizes[0] = image ? 1 : input.size(0);
  sizes[1] = filters();
  for (int d = 0; d < nd; ++d) {
    const int64_t n = input.size(channel_dim() + 1 + d), stride = item(at.stride, d, nd),
                  pad = item(at.padding, d, nd);
    const int64_t reach = c.take(Size(weight.size(2 + d) - 1) * item(at.dilation, d, nd) + 1);
    const int64_t padded = c.take(Size(n) + 2 * pad);
    if (transposed) {
      sizes[2 + d] =
          c.take(Size(n - 1) * stride - 2 * pad + reach + item(at.output_padding, d, nd));
    } else {
      if (weight.size(2 + d) <= 0 || padded < reach) {
        fail<ValueError>(c, "the kernel of size ", reach,
                         " (with dilation) is larger than the padded input of size ", padded,
                         " at dimension ", 2 + d, ", input ", input.sizes(), ", weight ",
                         weight.sizes());
      }
      sizes[2 + d] = (padded - reach) / stride + 1;
    }
    if (sizes[2 + d] < (transposed ? 0 : 1)) {
      fail<ValueError>(c, "the output would have size ", sizes[2 + d], " at dimension ", 2 + d,
                       ", input ", input.sizes(), ", weight ", weight.sizes());
    }
  }
  return nd + 2;
}

// Positions of a window along dimension d of the image; arguments from `at` on are kernel,
// dilation, padding, stride.
int64_t positions(Infer& c, int at, int d, int64_t size) {
  const int64_t k = window_entry(c, at, d, 2), dilation = window_entry(c, at + 1, d, 2),
                pad = window_entry(c, at + 2, d, 2), stride = window_entry(c, at + 3, d, 2);
  if (k <= 0 || dilation <= 0 || stride <= 0) {
    fail<ValueError>(c, "kernel_size, dilation and stride must be positive, got ", k, ", ",
                     dilation, ", ", stride);
  }
  if (pad < 0) fail<ValueError>(c, "negative padding is not supported here, got ", pad);
  const int64_t padded = c.take(Size(size) + 2 * pad), room = padded - (k - 1) * dilation - 1;
  if (room < 0) {
    fail<ValueError>(c, "the window of size ", (k - 1) * dilation + 1,
                     " is larger than the padded image of size ", padded);
  }
  return room / stride + 1;
}

}  // namespace

TENON_INFER(im2col) {
  using A = args::im2col;
  const TensorImpl& self = c.tensor(A::self);
  const int n = self.ndim();
  bool fits = n == 3 || n == 4;
  for (int d = n - 3; fits && d < n; ++d) fits = self.size(d) > 0;
  if (!fits)
    fail<ValueError>(c, "expected 3-D or 4-D input with sizes that are not zero, got ",
                     self.sizes());
  const int64_t count = c.take(Size(positions(c, A::kernel_size, 0, self.size(n - 2))) *
                               positions(c, A::kernel_size, 1, self.size(n - 1)));
  const int64_t taps =
      window_entry(c, A::kernel_size, 0, 2) * window_entry(c, A::kernel_size, 1, 2);
  const int64_t rows = c.take(Size(self.size(n - 3)) * taps);
  const int64_t sizes[] = {self.size(0), rows, count};
  c.set(0, n == 4 ? IntArrayRef(sizes) : IntArrayRef(sizes + 1, 2), self.dtype);
}

TENON_INFER(col2im) {
  using A = args::col2im;
  const TensorImpl& self = c.tensor(A::self);
  const int n = self.ndim();
  if (n != 2 && n != 3) fail<ValueError>(c, "expected 2-D or 3-D input, got shape ", self.sizes());
  if (c.ints(A::output_size).size() != 2)
    fail<ValueError>(c, "output_size needs 2 entries, got ", c.ints(A::output_size));
  const int64_t size[] = {window_entry(c, A::output_size, 0, 2),
                          window_entry(c, A::output_size, 1, 2)};
  const int64_t taps =
      window_entry(c, A::kernel_size, 0, 2) * window_entry(c, A::kernel_size, 1, 2);
  const int64_t count = c.take(Size(positions(c, A::kernel_size, 0, size[0])) *
                               positions(c, A::kernel_size, 1, size[1]));
  if (self.size(n - 2) % taps != 0 || self.size(n - 1) != count) {
    fail<ValueError>(c, "expected a multiple of ", taps, " rows and ", count, " columns, got ",
                     self.sizes());
  }
  const int64_t sizes[] = {self.size(0), self.size(n - 2) / taps, size[0], size[1]};
  const int64_t plain[] = {self.size(0) / taps, size[0], size[1]};
  c.set(0, n == 3 ? IntArrayRef(sizes) : IntArrayRef(plain), self.dtype);
}

TENON_INFER(convolution) {
  using A = args::convolution;
  const Conv conv{c,
                  {A::input, A::weight, A::stride, A::padding, A::dilation, A::groups, A::bias,
                   A::transposed, A::output_padding}};
  conv.check_tensors();
  conv.check_bias();
  int64_t sizes[5];
  const int n = conv.output_sizes(sizes);
  c.set(0, {sizes, static_cast<std::size_t>(n)}, conv.input().dtype);
  conv.keep_format(0);
}

TENON_INFER(conv_epilogue) {
  using A = args::conv_epilogue;
  const bool image = c.tensor(A::input).ndim() + 1 == c.tensor(A::weight).ndim();
  const Conv conv{
      c, {A::input, A::weight, A::stride, A::padding, A::dilation, A::groups, A::bias}, image};
  conv.check_tensors();
  conv.check_bias();
  int64_t sizes[5];
  const auto n = static_cast<std::size_t>(conv.output_sizes(sizes));
  const IntArrayRef shape = image ? IntArrayRef(sizes + 1, n - 1) : IntArrayRef(sizes, n);
  check_other(c, A::other, shape, conv.input().dtype);
  check_activation(c, A::activation, A::parameters);
  c.set(0, shape, conv.input().dtype);
}

TENON_INFER(int8_convolution) {
  using A = args::int8_convolution;
  const Conv conv{c,
                  {A::input, A::weight, A::stride, A::padding, A::dilation, A::groups, A::bias},
                  false,
                  true};
  conv.check_tensors();
  conv.check_bias();
  const TensorImpl &weight = conv.weight(), &factor = c.tensor(A::factor);
  if (weight.ndim() < 4)
    fail<ValueError>(c, "expected a weight of 4 or 5 dimensions, got ", weight.sizes());
  if (weight.dtype != kChar && weight.dtype != kByte)
    fail<TypeError>(c, "expected a weight of dtype int8 or uint8, got ", dtype_name(weight.dtype));
  if (factor.ndim() != 1 || (factor.size(0) != 1 && factor.size(0) != conv.filters())) {
    fail<ValueError>(c, "factor must have shape [1] or [", conv.filters(), "], got ",
                     factor.sizes());
  }
  for (const TensorImpl* t : {c.tensor_or_null(A::bias), &c.tensor(A::factor)}) {
    if (t && t->dtype != kFloat)
      fail<TypeError>(c, "expected a bias and a factor of dtype float32, got ",
                      dtype_name(t->dtype));
  }
  const ScalarType dtype = c.dtype(A::dtype, kFloat);
  if (dtype == kInt && (c.tensor_or_null(A::bias) || c.flag(A::relu)))
    fail<ValueError>(c, "expected neither a bias nor relu for a result in int32");
  if (dtype != kFloat && dtype != kInt) check_quantized(c, dtype, c.integer(A::zero));
  int64_t sizes[5];
  const int n = conv.output_sizes(sizes);
  c.set(0, {sizes, static_cast<std::size_t>(n)}, dtype);
  set_channels_last(c, 0, n);
}

TENON_INFER(convolution_backward) {
  using A = args::convolution_backward;
  const Conv conv{c,
                  {A::input, A::weight, A::stride, A::padding, A::dilation, A::groups, kNoArg,
                   A::transposed, A::output_padding}};
  const TensorImpl &grad = c.tensor(A::grad_output), &input = conv.input(), &weight = conv.weight();
  conv.check_tensors();
  int64_t sizes[5];
  const IntArrayRef expected{sizes, static_cast<std::size_t>(conv.output_sizes(sizes))};
  if (grad.sizes() != expected) {
    fail<ValueError>(c, "expected grad_output of shape ", expected, " for input ", input.sizes(),
                     " and weight ", weight.sizes(), ", got ", grad.sizes());
  }
  if (grad.dtype != input.dtype) {
    fail<TypeError>(c, "grad_output has dtype ", dtype_name(grad.dtype), " but input has ",
                    dtype_name(input.dtype));
  }
  constexpr int kMask = A::output_mask;
  const int64_t filters[] = {grad.size(1)};
  if (c.bit(kMask, 0)) {
    c.set(0, input.sizes(), grad.dtype);
    conv.keep_format(0);
  } else {
    c.set_undefined(0);
  }
  if (c.bit(kMask, 1)) {
    c.set(1, weight.sizes(), grad.dtype);
    keep_format(c, 1, weight);
  } else {
    c.set_undefined(1);
  }
  if (c.bit(kMask, 2))
    c.set(2, filters, grad.dtype);
  else
    c.set_undefined(2);
}

}  // namespace tenon::core
