// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every operator of the build with sparse tensors as arguments: computed, or rejected with an error
// of Tenon's. Most operators are defined for strided tensors only.
#include <cstring>

#include "tenon/core/op.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using core::ArgType;

// Arguments for an operator, by their types: small, and the same for all operators.
struct Arguments {
  const Tensor sparse, strided;
  const int64_t ints[8] = {0, 1, 1, 1, 1, 1, 1, 1};
  const double floats[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const uint8_t bools[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const tn_tensor* list[2];
  std::vector<tn_value> values;

  // Bit i of `which`: tensor argument i is sparse, the others are not.
  Arguments(const core::Op& op, const Tensor& s, const Tensor& d, unsigned which)
      : sparse(s), strided(d) {
    list[0] = list[1] = &sparse.unsafeGetTensorImpl()->view;
    int tensors = 0;
    for (int i = 0; i < op.n_args; ++i) {
      const core::ArgInfo& a = op.args[i];
      const bool tensor = a.type == ArgType::Tensor;
      values.push_back(a.has_default && !tensor ? a.value
                                                : made(a, which >> (tensor ? tensors++ : 0) & 1));
    }
  }

  tn_value made(const core::ArgInfo& a, bool of_layout) {
    tn_value v{};
    const uint32_t n = a.fixed ? a.fixed : 1;
    switch (a.type) {
      case ArgType::Tensor:
        v.tag = TN_TAG_TENSOR;
        v.u.tensor = &(of_layout ? sparse : strided).unsafeGetTensorImpl()->view;
        break;
      case ArgType::TensorList:
      case ArgType::OptTensorList:
        v = {TN_TAG_TENSOR_LIST, 2, {}};
        v.u.tensors = list;
        break;
      case ArgType::Scalar:
      case ArgType::Float:
        v.tag = TN_TAG_F64;
        v.u.f64 = 1;
        break;
      case ArgType::Int:
      case ArgType::MemoryFormat:
        v.tag = TN_TAG_I64;
        v.u.i64 = a.type == ArgType::Int;
        break;
      case ArgType::IntList:
        v = {TN_TAG_I64_LIST, n, {}};
        v.u.i64s = ints;
        break;
      case ArgType::FloatList:
        v = {TN_TAG_F64_LIST, n, {}};
        v.u.f64s = floats;
        break;
      case ArgType::Bool:
        v.tag = TN_TAG_BOOL;
        break;
      case ArgType::BoolList:
        v = {TN_TAG_BOOL_LIST, n, {}};
        v.u.bools = bools;
        break;
      case ArgType::Dtype:
        v.tag = TN_TAG_DTYPE;
        v.u.dtype = core::abi_dtype(kDouble);
        break;
      case ArgType::Device:
        v.tag = TN_TAG_DEVICE;
        v.u.device = {TN_CPU, 0};
        break;
      case ArgType::Layout:
        v.tag = TN_TAG_LAYOUT;
        v.u.i64 = sparse.unsafeGetTensorImpl()->view.layout;
        break;
      case ArgType::Str:
        v = {TN_TAG_STR, 3, {}};
        v.u.str = "sum";
        break;
      default:
        v.tag = TN_TAG_NONE;
    }
    return v;
  }
};

// Reads the results of a call completely.
void use(const core::OwnedValue& v) {
  for (const core::Impl* t : {&v.tensor}) {
    if (*t) (void)Tensor(*t).to_dense().to(kCPU).sum();
  }
  for (const core::Impl& t : v.tensors) {
    if (t) (void)Tensor(t).to_dense().sum();
  }
}

TEST(EveryOp, ComputesOrRejectsSparseTensors) {
  const Tensor kept = test::Twice{Device(kCPU)}.make(), square = kept.mm(kept.t()),
               dense = test::Twice{Device(kCPU)}.dense();
  int served = 0, refused = 0;
  for (int k = 0; k < core::op_count(); ++k) {
    const core::Op& op = core::op_at(k);
    bool tensors = false;
    for (int i = 0; i < op.n_args; ++i)
      tensors |= op.args[i].type == ArgType::Tensor || op.args[i].type == ArgType::TensorList;
    for (const core::BoxedFn call : {op.boxed_call.load(), op.boxed_inplace.load()}) {
      if (!tensors || !call) continue;
      for (unsigned which : {~0u, 1u, 2u, 4u}) {
        for (const Tensor& of : {kept, square, kept.select(0, 1), kept.to(kLong)}) {
          SCOPED_TRACE(testing::Message()
                       << op.name << " of " << of.sizes().size() << " dimensions, " << which);
          Arguments a(op, of.clone(), of.to_dense(), which);
          core::OwnedValue out[8];
          try {
            call(a.values.data(), out);
            for (const core::OwnedValue& v : out) use(v);
            ++served;
          } catch (const Error&) {
            ++refused;
          } catch (const std::exception& e) {
            ADD_FAILURE() << "not an error of Tenon's: " << e.what();
          }
        }
      }
    }
  }
  test::expect_equal(kept, dense);
  EXPECT_GT(served, 500);
  EXPECT_GT(refused, 2000);
  RecordProperty("served", served);
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace tenon
