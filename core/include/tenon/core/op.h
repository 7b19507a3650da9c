// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The op table: one entry per operator of ops/*.ops, plus those that plugins register. Entries are
// never removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/dtype.h"
#include "tenon/core/list_length.h"
#include "tenon/core/tensor_impl.h"
#include "tenon/runtime/array_ref.h"

namespace tenon::core {

inline constexpr int kMaxOps = 2048;  // known to one process
inline constexpr int kMaxOutputs = 8;
inline constexpr int kMaxArgs = 32;

enum class ArgType : uint8_t {
#define TENON_ARG_TYPE(Enum, base, list, optional, optional_items) Enum,
#include "tenon/core/arg_types.def"
#undef TENON_ARG_TYPE
};

struct ArgInfo {
  const char* name;
  ArgType type;
  uint8_t fixed;    // int[N], bool[N]: N, else 0
  uint8_t lengths;  // of a list: bits of ListLength
  bool mutates;     // (a!) or named by `mutates`
  bool keyword_only;
  bool has_default;
  const char* def;  // the default as text, as in the schema
  tn_value value;   // the default as a value, where has_default
};

struct ResultInfo {
  const char* name;  // "" unless the operator names it
  ArgType type;
};

enum class OpKind : uint8_t { Kernel, View, Composite };

enum OpFlags : uint32_t {
  kOpFunction = 1,
  kOpMethod = 2,
  kOpInplace = 4,
  kOpOut = 8,
  kOpDynamic = 16,       // kernel sizes its outputs
  kOpRandom = 32,        // takes a generator
  kOpDecomposes = 64,    // a function of tenon/ops can serve it
  kOpCrossDevice = 128,  // tensors may live on different devices (copy)
  kOpDifferentiable = 256,
  kOpNoKernel = 512,  // infer and allocation are all there is (empty)
  // What other operators decompose into; its own decomposition serves the host alone.
  kOpPrimitive = 1024,
  kOpOnPrimitives = 2048,  // decomposes on devices that have kernels for the primitives
  kOpListLengths = 4096,   // has an argument with ArgInfo::lengths
  kOpFastPath = 8192,      // may skip inference and preparation (dispatch/fast_path.cpp)
  kOpBoolResult = 16384,   // with kOpFastPath: the result is bool, else of the operands' dtype
  kOpOnDemand = 32768,     // plugins whose manifest names it open at its first call
};

// Operators that are one call of a primitive: which, and its code of tenon/abi/primitives.h.
enum class ByCode : uint8_t { None, Unary, Binary };

struct Op;
class Infer;
using InferFn = void (*)(Infer&);

// An owned result of an operator call by name.
struct OwnedValue {
  tn_tag tag = TN_TAG_NONE;
  Impl tensor;                // TENSOR; undefined: NONE
  std::vector<Impl> tensors;  // TENSOR_LIST
  tn_value plain{};           // I64, F64, BOOL, DTYPE, DEVICE
  double imaginary = 0;       // COMPLEX: plain.u.f64 is the real part
  std::vector<int64_t> ints;  // I64_LIST
};
// A whole operator call (with autograd) or a decomposition (without): every argument present, in
// schema order.
using BoxedFn = void (*)(const tn_value* in, OwnedValue* out);

enum class Form : uint8_t { Functional, Inplace, Out };

struct Op {
  const char* name;    // "add.Tensor"
  const char* ident;   // "add_Tensor"
  const char* schema;  // ATen's text
  const char* doc;
  const char* family;
  const char* samples;
  const char* dtypes;
  OpKind kind;
  uint32_t flags;
  uint8_t n_args, n_results;
  uint8_t random_words;  // of Philox, an element of output 0
  const ArgInfo* args;
  const ResultInfo* results;
  InferFn infer;
  uint8_t digest[32];
  const uint8_t (*since)[32];  // digests of older schemas
  uint8_t n_since;
  const char* scalar_overload;  // for a 0-dim host tensor beside device tensors; null: none
  ByCode by_code;
  uint8_t code;
  // Null: the operator rules on its results. Else the layout of its tensors does, or where all are
  // strided the one named here, if one is.
  const char* layout;

  // filled at run time
  int32_t index;
  std::atomic<BoxedFn> boxed_call;     // set when libtenon loads
  std::atomic<BoxedFn> boxed_inplace;  // arguments as in the schema; the first is written
  std::atomic<void (*)(const tn_value* in, const Impl* outs)> boxed_out;
  std::atomic<BoxedFn> decomposition;
  std::atomic<BoxedFn> complex_decomposition;  // of complex numbers, on any device
};

// The operators of the build, by the generated enumeration.
extern TENON_API Op g_ops[];

// Dense: op_at(i).index == i. The operators of the build come first, in the order of the generated
// enumeration.
TENON_API Op& op_at(int index);
TENON_API int op_count();
TENON_API Op* find_op(std::string_view name);  // "add.Tensor"; null if unknown
// As find_op, but throws with the closest names and the plugins that would provide it.
TENON_API Op& get_op(std::string_view name);
// At most n of `candidates`, nearest first and each once, that at most `distance` changed, added or
// missing characters tell from `name`.
TENON_API std::vector<std::string> nearest_names(std::string_view name,
                                                 const std::vector<std::string>& candidates,
                                                 std::size_t distance, std::size_t n);
// What the operator's `dtypes` line admits; grows when a plugin registers a dtype of an admitted
// class.
TENON_API bool op_takes(const Op& op, ScalarType t);
TENON_API std::vector<Op*> overloads(std::string_view base_name);

// Appends to the table; ValueError if the name is taken.
int add_op(std::unique_ptr<Op> op);

// While one lives, ops may be registered by this thread: a plugin's init runs inside of one. What
// was registered is withdrawn again unless it is kept.
class TENON_API OpRegistration {
 public:
  OpRegistration();
  ~OpRegistration();
  OpRegistration(const OpRegistration&) = delete;
  std::vector<int> keep();  // indices, for withdraw_op

 private:
  friend int add_registered_op(const tn_schema&, InferFn);
  std::vector<int> added_;
  OpRegistration* outer_;
};
// The op stays known, and calls say that its plugin is gone.
TENON_API void withdraw_op(int index) noexcept;
// Ops of the build have none.
struct RegisteredOp {
  std::string backward;
  uint64_t saved_in, saved_out;
};
TENON_API const RegisteredOp* registered(const Op& op) noexcept;
// How a program's call by name of a registered op is recorded; set when libtenon loads.
using RegisteredCall = void (*)(const Op& op, const tn_value* in, OwnedValue* out);
extern TENON_API std::atomic<RegisteredCall> g_registered_call;

}  // namespace tenon::core
