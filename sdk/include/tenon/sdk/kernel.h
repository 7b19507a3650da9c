// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A kernel is a function over typed arguments, outputs first, and one line that registers it:
//
//   tn_status mm(Call& call, Tensor out, Tensor self, Tensor mat2) { ...; return TN_OK; }
//   TN_KERNEL(mm, mm, dtypes("floating").any_strides());
//
// The first argument names the operator's generated header, tenon/sdk/ops/mm.h; its
// TN_OP_mm_SIGNATURE is compared with the function's type at compile time. The record is constant
// data, found through a linker section.
#pragma once

#include <new>
#include <utility>

#include "tenon/sdk/parallel.h"
#include "tenon/sdk/signature.h"
#include "tenon/sdk/view.h"

namespace tenon::sdk {

// One call of a kernel.
class Call {
 public:
  explicit Call(tn_call* c) : c_(c) {}
  tn_call* abi() const { return c_; }
  uint32_t n_in() const { return c_->n_in; }
  uint32_t n_out() const { return c_->n_out; }
  tn_stream* stream() const { return c_->stream; }
  // As many bytes as the kernel's workspace function asked for, 64-byte aligned.
  template <class T = void>
  T* workspace() const {
    return static_cast<T*>(c_->workspace);
  }
  uint64_t workspace_bytes() const { return c_->workspace_bytes; }
  bool deterministic() const { return c_->flags & TN_CALL_DETERMINISTIC; }
  bool dry_run() const { return c_->flags & TN_CALL_DRY_RUN; }
  bool uniform() const { return c_->flags & TN_CALL_UNIFORM; }
  tn_error_word* device_error() const { return c_->device_error; }

  template <class F>
  void parallel_for(int64_t n, int64_t grain, F&& body) const {
    sdk::parallel_for(n, grain, static_cast<F&&>(body));
  }

  // Kernels with dynamic(): sizes output i. Once per output, from the calling thread.
  Tensor alloc_out(uint32_t i, Ints sizes, DType dtype) const {
    const tn_status s =
        host().alloc_out(c_, i, static_cast<int32_t>(sizes.size()), sizes.data(), dtype);
    if (s != TN_OK) throw Error(s, "output ", i, " of ", sizes, " elements could not be allocated");
    return Tensor(c_->out[i].u.tensor);
  }

 private:
  tn_call* c_;
};

namespace detail {

// Sets the text of the error.
__attribute__((cold, noinline)) inline tn_status report(tn_call* c, tn_status code,
                                                        std::string_view text) {
  host().set_error(c, tn_str{text.data(), text.size()});
  return code;
}

__attribute__((cold, noinline)) inline tn_status report_current(tn_call* c) {
  try {
    throw;
  } catch (const Error& e) {
    return report(c, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return report(c, TN_ERROR_MEMORY, "out of host memory");
  } catch (const std::exception& e) {
    return report(c, TN_ERROR_BACKEND, e.what());
  } catch (...) {
    return report(c, TN_ERROR, "unknown exception in a kernel");
  }
}

// The status of body(), or of what it throws.
template <class F>
tn_status report_exceptions(tn_call* c, F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_current(c);
  }
}

template <class... A, std::size_t... I>
inline tn_status invoke(tn_status (*f)(Call&, A...), tn_call* c, std::size_t outputs,
                        std::index_sequence<I...>) {
  const tn_value* values[sizeof...(A) + 1] = {(I < outputs ? c->out + I : c->in + (I - outputs))...,
                                              nullptr};
  if (!(Unpack<A>::accepts(*values[I]) && ...)) return TN_DECLINED;
  Call call(c);
  return f(call, Unpack<A>::get(*values[I])...);
}

template <class... A>
inline tn_status invoke(tn_status (*f)(Call&, A...), tn_call* c, std::size_t outputs) {
  return invoke(f, c, outputs, std::index_sequence_for<A...>{});
}

template <auto Fn, class Op>
tn_status trampoline(tn_call* c) noexcept {
  try {
    return invoke(Fn, c, Op::outputs);
  } catch (...) {
    return report_current(c);
  }
}

constexpr tn_str text(std::string_view s) { return tn_str{s.data(), s.size()}; }

}  // namespace detail

// Properties of a kernel; fields as in tn_kernel.
struct Traits {
  std::string_view dtypes_ = "all", inplace_ = "", layouts_ = "";
  uint32_t flags_ = 0;
  int32_t priority_ = 0;
  tn_status (*workspace_)(tn_call*, uint64_t*) = nullptr;
  tn_status (*supports_)(const tn_call*) = nullptr;

  constexpr Traits dtypes(std::string_view v) const {
    Traits t = *this;
    t.dtypes_ = v;
    return t;
  }
  constexpr Traits layouts(std::string_view v) const {
    Traits t = *this;
    t.layouts_ = v;
    return t;
  }
  // "0=0,0=1": output 0 may be the memory of argument 0 or 1.
  constexpr Traits inplace(std::string_view v) const {
    Traits t = *this;
    t.inplace_ = v;
    return t;
  }
  constexpr Traits any_strides() const { return with(TN_KERNEL_ANY_STRIDES); }
  constexpr Traits mixed_dtypes() const { return with(TN_KERNEL_MIXED_DTYPES); }
  constexpr Traits broadcasts() const { return with(TN_KERNEL_BROADCASTS); }
  constexpr Traits dynamic() const { return with(TN_KERNEL_DYNAMIC); }
  constexpr Traits nondeterministic() const { return with(TN_KERNEL_NONDETERMINISTIC); }
  constexpr Traits capture_safe() const { return with(TN_KERNEL_CAPTURE_SAFE); }
  constexpr Traits host_blocking() const { return with(TN_KERNEL_HOST_BLOCKING); }
  constexpr Traits priority(int32_t v) const {
    Traits t = *this;
    t.priority_ = v;
    return t;
  }
  constexpr Traits workspace(tn_status (*f)(tn_call*, uint64_t*)) const {
    Traits t = *this;
    t.workspace_ = f;
    return t;
  }
  constexpr Traits supports(tn_status (*f)(const tn_call*)) const {
    Traits t = *this;
    t.supports_ = f;
    return t;
  }
  constexpr Traits with(uint32_t flag) const {
    Traits t = *this;
    t.flags_ |= flag;
    return t;
  }
};

namespace detail {
template <class Op>
constexpr tn_kernel make_kernel(const Traits& t, tn_kernel_fn run) {
  tn_kernel k{sizeof(tn_kernel),
              t.flags_,
              t.priority_,
              text(Op::name),
              {},
              text(t.dtypes_),
              text(t.layouts_),
              text(t.inplace_),
              run,
              t.workspace_,
              t.supports_,
              nullptr};
  for (int i = 0; i < 32; ++i) k.digest[i] = Op::digest[i];
  return k;
}
}  // namespace detail
}  // namespace tenon::sdk

// `used` keeps the pointer through the compiler, `retain` through --gc-sections.
#if defined(__has_attribute)
#if __has_attribute(retain)
#define TN_DETAIL_KEEP used, retain
#endif
#endif
#ifndef TN_DETAIL_KEEP
#define TN_DETAIL_KEEP used
#endif

#define TN_DETAIL_JOIN2(a, b) a##b
#define TN_DETAIL_JOIN(a, b) TN_DETAIL_JOIN2(a, b)

// Registers one kernel: the operator's identifier, the function, its traits. At namespace scope, in
// a source file.
#define TN_KERNEL(op, fn, ...) \
  TN_DETAIL_KERNEL(op, fn, TN_DETAIL_JOIN(op##_kernel_, __COUNTER__), __VA_ARGS__)
#define TN_DETAIL_KERNEL(op, fn, id, ...)                                                         \
  namespace {                                                                                     \
  struct TN_DETAIL_JOIN(id, _op) {                                                                \
    static constexpr std::string_view name = TN_OP_##op##_NAME;                                   \
    static constexpr uint8_t digest[32] = TN_OP_##op##_DIGEST;                                    \
    static constexpr std::size_t outputs =                                                        \
        ::tenon::sdk::detail::count_outputs(TN_OP_##op##_SIGNATURE);                              \
  };                                                                                              \
  static_assert(                                                                                  \
      ::tenon::sdk::detail::matches(static_cast<decltype(&fn)>(nullptr), TN_OP_##op##_SIGNATURE), \
      "the function's parameters are not those of the op's schema: " TN_OP_##op##_SIGNATURE);     \
  constexpr tn_kernel id = ::tenon::sdk::detail::make_kernel<TN_DETAIL_JOIN(id, _op)>(            \
      ::tenon::sdk::Traits{}.__VA_ARGS__,                                                         \
      &::tenon::sdk::detail::trampoline<&fn, TN_DETAIL_JOIN(id, _op)>);                           \
  __attribute__((section("tn_kernels"), TN_DETAIL_KEEP))                                          \
  const tn_kernel* const TN_DETAIL_JOIN(id, _entry) = &id;                                        \
  }                                                                                               \
  static_assert(true, "")
