// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The inference context of one operator call: arguments in, the outputs' shapes, dtypes and
// aliasing out. An infer function (ops/infer/*.cpp, named in the operator) reads the arguments and
// fills the context; core does the rest.
#pragma once

#include <cstdint>

#include "tenon/core/op.h"
#include "tenon/core/scalar.h"
#include "tenon/core/sizes.h"

namespace tenon::core {

// Uninitialized on purpose: only ndim entries mean something.
struct OutMeta {
  int ndim;
  ScalarType dtype;
  bool defined;          // false: refused by an output_mask
  bool has_strides;      // else row-major
  int8_t alias_of;       // argument whose storage a view shares; -1: new memory
  uint64_t byte_offset;  // of a view
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];
};

// ValueError unless the dtype can hold the number: no float beyond its range, no infinity or NaN
// for integers. Fractions may be cut off, and whole negative numbers may wrap to an unsigned dtype,
// as in -1 for its highest value.
TENON_API bool fits(const Scalar& number, ScalarType dtype) noexcept;
TENON_API void check_fits(const char* op, const char* argument, const Scalar& number,
                          ScalarType dtype);

// ValueError unless lists have the lengths that the schema gives them (ArgInfo::lengths).
TENON_API void check_list_lengths(const Op& op, const tn_value* in);
[[noreturn]] TENON_API TENON_COLD void wrong_list_length(const Op& op, const ArgInfo& a,
                                                         std::size_t given);
inline void check_list_length(const Op& op, const ArgInfo& a, std::size_t n) {
  if (n == a.fixed || (n == 1 && (a.lengths & kLengthOne)) || (n == 0 && (a.lengths & kLengthNone)))
    return;
  wrong_list_length(op, a, n);
}

class Infer {
 public:
  const Op& op;
  const tn_value* in;
  Form form;

  // What the function fills.
  OutMeta out[kMaxOutputs];
  // Tensors of `operands` are cast to it; Undefined: none is.
  ScalarType compute = ScalarType::Undefined;
  uint64_t operands = 0;    // bit i: argument i takes part in promotion
  uint64_t broadcasts = 0;  // bit i: argument i is expanded to the shape of output 0
  // The dtype that must be in the operator's classes; by default compute, else that of the first
  // tensor.
  ScalarType checked = ScalarType::Undefined;
  // The device of the outputs; by default that of the first tensor on a device other than the host.
  DeviceId device = DeviceId::none();
  bool pinned = false;        // output 0 in pinned memory of the host
  bool draws = true;          // false: this call takes no random words
  uint64_t random_count = 0;  // elements to reserve random words for; by default output 0's numel

  Infer(const Op& o, const tn_value* arguments, Form f) : op(o), in(arguments), form(f) {}

  // Arguments, by position.
  bool none(int i) const { return in[i].tag == TN_TAG_NONE; }
  TensorImpl& tensor(int i) const { return *TensorImpl::from_view(in[i].u.tensor); }
  TensorImpl* tensor_or_null(int i) const { return none(i) ? nullptr : &tensor(i); }
  int list_size(int i) const { return static_cast<int>(in[i].len); }
  TensorImpl* list_tensor(int i, int k) const {
    const tn_tensor* v = in[i].u.tensors[k];
    return v ? TensorImpl::from_view(v) : nullptr;
  }
  int64_t integer(int i) const { return in[i].u.i64; }
  int64_t integer(int i, int64_t if_none) const { return none(i) ? if_none : in[i].u.i64; }
  bool flag(int i) const { return in[i].u.i64 != 0; }
  double number(int i) const { return in[i].u.f64; }
  IntArrayRef ints(int i) const { return {in[i].u.i64s, in[i].len}; }
  int fixed(int i) const { return op.args[i].fixed; }  // N of int[N]
  bool bit(int i, int k) const { return in[i].u.bools[k]; }
  Scalar scalar(int i) const { return Scalar::from_abi(in[i]); }
  ScalarType dtype(int i, ScalarType if_none) const { return none(i) ? if_none : dtype_of(i); }

  // Outputs.
  void set(int k, IntArrayRef sizes, ScalarType dtype);
  // The sizes of t, and the order of its dimensions in memory (MemoryFormat::Preserve).
  void set_like(int k, const TensorImpl& t, ScalarType dtype);
  void set_view(int k, int of, IntArrayRef sizes, IntArrayRef strides, int64_t element_offset);
  void set_device(int i);  // that of argument i, if it is given
  void set_pinned(int i) { pinned = !none(i) && flag(i); }
  void set_undefined(int k) { out[k].defined = false; }
  void cast(int arg) { operands |= uint64_t{1} << arg; }
  void expand(int arg) { broadcasts |= uint64_t{1} << arg; }
  // The same, after a check that its shape is one that can be expanded to `sizes`.
  void expand_to(int arg, IntArrayRef sizes);
  // ValueError if it does not fit 64 bits.
  int64_t take(Size n) const { return n.get(op.name, "a size of the result"); }

  // core::check_fits for a number that is given.
  void check_fits(int i, ScalarType dtype) const {
    if (!none(i)) core::check_fits(op.name, op.args[i].name, scalar(i), dtype);
  }
  // "argument 'other'"
  std::string arg(int i) const;
  // Wraps a dimension counted from the end; IndexError when out of range. A 0-dim tensor counts as
  // one dimension.
  int dim(int64_t d, int ndim) const;
  // A result dtype by type promotion over tensors and numbers: category, then width; 0-dim tensors
  // and numbers do not widen a dimensioned tensor of their category.
  ScalarType promoted(std::initializer_list<int> args) const;
  // Broadcast shape of several tensors into output k; ValueError when two sizes differ.
  void broadcast_shape(int k, std::initializer_list<int> args, ScalarType dtype);

 private:
  ScalarType dtype_of(int i) const;
};

// A context, and the place that passes it.
struct InferSite {
  const Infer& infer;
  SourceSite site;
  InferSite(const Infer& c, SourceSite at = SourceSite::current()) : infer(c), site(at) {}
};
// "op: what"; the class of the exception, then the parts of the message.
template <class E, class... Parts>
[[noreturn]] TENON_INLINE void fail(InferSite c, const Parts&... parts) {
  throw_parts<E>({c.infer.op.name, ": ", MessagePart(parts)...}, c.site);
}

// Finds a named infer function; the generated op table refers to them directly.
#define TENON_INFER(name) void infer_##name(::tenon::core::Infer& c)

// A plain number that is within the range of every floating dtype.
inline bool every_float_holds(const tn_value& v) {
  constexpr int64_t kMaxHalf = 65504;
  if (v.tag == TN_TAG_I64) return v.u.i64 >= -kMaxHalf && v.u.i64 <= kMaxHalf;
  return v.tag == TN_TAG_F64 && v.u.f64 >= -double{kMaxHalf} && v.u.f64 <= double{kMaxHalf};
}

// Strides of `shape` (of as many elements as t) over the memory of t; false if only a copy can have
// it. `strides` has room for the shape's dimensions.
TENON_API bool view_strides(const TensorImpl& t, IntArrayRef shape, int64_t* strides);

}  // namespace tenon::core
