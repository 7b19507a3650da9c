// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/dtype.h"

#include <gtest/gtest.h>

#include "tenon/runtime/error.h"
#include "tests/support.h"

using namespace tenon;
using core::DtypeClass;
using core::DtypeInfo;

TEST(Dtype, PromotionTakesTheClassThenTheWidth) {
  EXPECT_EQ(promote_types(kBool, kUInt8), kUInt8);
  EXPECT_EQ(promote_types(kInt64, kHalf), kHalf);
  EXPECT_EQ(promote_types(kInt32, kInt64), kInt64);
  EXPECT_EQ(promote_types(kFloat, kDouble), kDouble);
  EXPECT_EQ(promote_types(kBFloat16, kFloat), kFloat);
  EXPECT_EQ(promote_types(kHalf, kBFloat16), kFloat);
  EXPECT_EQ(promote_types(kUInt8, kInt8), kInt16);
  EXPECT_EQ(promote_types(kUInt8, kInt16), kInt16);
  EXPECT_EQ(promote_types(kUInt8, kInt64), kInt64);
  EXPECT_EQ(promote_types(kBool, kBool), kBool);
  EXPECT_EQ(promote_types(kComplexFloat, kInt64), kComplexFloat);
  EXPECT_EQ(promote_types(kComplexFloat, kDouble), kComplexDouble);
  EXPECT_EQ(promote_types(kHalf, kComplexFloat), kComplexFloat);
}

TEST(Dtype, PromotionIsSymmetric) {
  for (ScalarType a : core::kBuiltInDtypes) {
    for (ScalarType b : core::kBuiltInDtypes)
      EXPECT_EQ(promote_types(a, b), promote_types(b, a)) << dtype_name(a) << dtype_name(b);
  }
}

TEST(Dtype, NamesSizesAndNumbersAgree) {
  EXPECT_EQ(dtype_name(kFloat), "float32");
  EXPECT_STREQ(toString(kFloat), "Float");
  EXPECT_EQ(core::dtype_from_name("bfloat16"), kBFloat16);
  EXPECT_EQ(elementSize(kInt64), 8u);
  EXPECT_EQ(core::dtype_from_abi({TN_BFLOAT, 16, 1}), kBFloat16);
  EXPECT_EQ(core::abi_dtype(kBool).code, TN_BOOL);
  EXPECT_EQ(core::dtype_from_abi({TN_COMPLEX, 64, 1}), kComplexFloat);
  EXPECT_EQ(core::dtype_from_abi({TN_COMPLEX, 32, 1}), kComplexHalf);
  EXPECT_THROW(core::dtype_from_abi({TN_COMPLEX, 16, 1}), TypeError);
  test::expect_words(test::text_of<TypeError>([&] { core::dtype_from_name("float17"); }),
                     {"invalid type 'float17'"});
}

TEST(Dtype, MasksAreReadFromClassesAndNames) {
  core::DtypeMask number = core::parse_dtype_mask("number");
  EXPECT_TRUE(number.has(kInt8) && number.has(kBFloat16));
  EXPECT_FALSE(number.has(kBool));
  EXPECT_FALSE(number.has(kComplexFloat));
  EXPECT_TRUE(core::parse_dtype_mask("all").has(kComplexDouble));
  EXPECT_FALSE(core::parse_dtype_mask("all", false).has(kComplexDouble));  // of a kernel
  EXPECT_TRUE(core::parse_dtype_mask("all,complex", false).has(kComplexDouble));
  core::DtypeMask two = core::parse_dtype_mask("floating, bool");
  EXPECT_TRUE(two.has(kBool) && two.has(kDouble));
  EXPECT_FALSE(two.has(kInt64));
  EXPECT_TRUE(core::parse_dtype_mask("int16").has(kInt16));
  EXPECT_THROW(core::parse_dtype_mask("floats"), TypeError);
}

TEST(Dtype, StorageOnlyOnesAreOfOperatorsNotOfKernels) {
  const core::DtypeMask of_operator = core::parse_dtype_mask("all"),
                        of_kernel = core::parse_dtype_mask("all,complex", false);
  for (const ScalarType t : core::kStorageDtypes) {
    EXPECT_TRUE(core::converted_dtype(t) && of_operator.has(t) && !of_kernel.has(t))
        << dtype_name(t);
    EXPECT_EQ(core::dtype_from_abi(core::abi_dtype(t)), t);
    EXPECT_EQ(core::dtype_from_name(dtype_name(t)), t);
  }
  for (const ScalarType t : core::kBuiltInDtypes) EXPECT_FALSE(core::converted_dtype(t));
  EXPECT_TRUE(core::parse_dtype_mask("float8_e4m3fn", false).has(kFloat8_e4m3fn));
  EXPECT_EQ(static_cast<int>(kFloat8_e4m3fn), 24);  // c10's number
  EXPECT_STREQ(toString(kUInt16), "UInt16");
  EXPECT_EQ(core::computing_dtype(kUInt64), kLong);
  EXPECT_EQ(core::computing_dtype(kFloat8_e5m2), kFloat);
  EXPECT_EQ(core::computing_dtype(kComplexHalf), kComplexFloat);
  EXPECT_EQ(core::computing_dtype(kHalf), kHalf);
}

TEST(Dtype, StorageOnlyOnesPromote) {
  EXPECT_EQ(promote_types(kUInt16, kByte), kUInt16);
  EXPECT_EQ(promote_types(kUInt16, kShort), kInt);
  EXPECT_EQ(promote_types(kUInt32, kLong), kLong);
  EXPECT_THROW(promote_types(kUInt64, kLong), TypeError);
  EXPECT_EQ(promote_types(kFloat8_e4m3fn, kFloat8_e5m2), kFloat);
  EXPECT_EQ(promote_types(kFloat8_e4m3fn, kBFloat16), kBFloat16);
  EXPECT_EQ(promote_types(kComplexHalf, kHalf), kComplexHalf);
  EXPECT_EQ(promote_types(kComplexHalf, kFloat), kComplexFloat);
  EXPECT_EQ(promote_types(kComplexHalf, kDouble), kComplexDouble);
}

TEST(Dtype, AForeignDtypeJoinsMasksThatWereReadBefore) {
  core::DtypeMask of_operator = core::parse_dtype_mask("floating");
  core::DtypeMask of_kernel = core::parse_dtype_mask("floating", false);
  ScalarType t =
      core::register_dtype(DtypeInfo{"test_float8", {}, DtypeClass::Floating, 8, true, 1});
  EXPECT_GE(static_cast<int>(t), TN_DTYPE_FOREIGN);
  EXPECT_TRUE(of_operator.has(t));
  EXPECT_FALSE(of_kernel.has(t));
  EXPECT_EQ(core::abi_dtype(t).code, static_cast<uint8_t>(t));
  EXPECT_EQ(core::abi_dtype(t).bits, 8);
  EXPECT_EQ(core::item_size(t), 1u);
  EXPECT_EQ(core::dtype_from_name("test_float8"), t);
  EXPECT_EQ(promote_types(t, kHalf), kHalf);
  EXPECT_EQ(promote_types(t, kInt64), t);
  EXPECT_EQ(core::register_dtype(DtypeInfo{"test_float8", {}, DtypeClass::Floating, 8, true, 1}),
            t);
  EXPECT_THROW(core::register_dtype(DtypeInfo{"test_float8", {}, DtypeClass::Floating, 8, true, 2}),
               ValueError);
  EXPECT_THROW(core::register_dtype(DtypeInfo{"float32", {}, DtypeClass::Floating, 8, true, 4}),
               ValueError);
}

TEST(Dtype, TheDefaultMustBeFloating) {
  EXPECT_EQ(get_default_dtype(), kFloat);
  set_default_dtype(kDouble);
  EXPECT_EQ(get_default_dtype(), kDouble);
  set_default_dtype(kFloat);
  test::expect_words(test::text_of<TypeError>([&] { set_default_dtype(kInt64); }),
                     {"default dtype"});
}

TEST(Dtype, AnUnknownNumberIsRefused) {
  EXPECT_FALSE(core::dtype_known(ScalarType::Undefined));
  EXPECT_THROW(core::dtype_info(ScalarType::Undefined), TypeError);
  EXPECT_THROW(core::dtype_info(static_cast<ScalarType>(-3)), TypeError);
}
