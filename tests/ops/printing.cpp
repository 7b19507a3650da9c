// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Strided tensors as text, as torch prints them today and as 0.4 did; profiles.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

TEST(Printing, Today) {
  EXPECT_EQ(to_text(tensor({2., 3., 4.})), "tensor([2., 3., 4.])");
  EXPECT_EQ(to_text(tensor(3.1416)), "tensor(3.1416)");
  EXPECT_EQ(to_text(tensor({1., 2.5})), "tensor([1.0000, 2.5000])");
  EXPECT_EQ(to_text(tensor({-1, 10})), "tensor([-1, 10])");
  EXPECT_EQ(to_text(tensor({1, 2}, kInt)), "tensor([1, 2], dtype=int32)");
  EXPECT_EQ(to_text(tensor({true, false})), "tensor([ True, False])");
  EXPECT_EQ(to_text(tensor({{1., 2.}, {3., 4.}}, kDouble)),
            "tensor([[1., 2.],\n        [3., 4.]], dtype=float64)");
  EXPECT_EQ(to_text(tensor({NAN, 1.5, -INFINITY})), "tensor([   nan, 1.5000,   -inf])");
  EXPECT_EQ(to_text(tensor({1e10, 1.5})), "tensor([1.0000e+10, 1.5000e+00])");
  EXPECT_EQ(to_text(empty({0, 2})), "tensor([], size=(0, 2))");
  EXPECT_EQ(to_text(arange(2000)), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
}

TEST(Printing, As04Did) {
  const compat::Era04 era;
  EXPECT_EQ(to_text(tensor({2., 3., 4., 5.})), "tensor([ 2.,  3.,  4.,  5.])");
  EXPECT_EQ(to_text(tensor(3.1416)), "tensor(3.1416)");
  EXPECT_EQ(to_text(tensor(5)), "tensor(5)");
  EXPECT_EQ(to_text(tensor({-1, 10})), "tensor([ -1,  10])");
  EXPECT_EQ(to_text(zeros({3}, kInt)), "tensor([ 0,  0,  0], dtype=int32)");
  EXPECT_EQ(to_text(tensor({1000., 0.5})), "tensor([ 1000.0000,     0.5000])");
  EXPECT_EQ(to_text(tensor({NAN, 1.5})), "tensor([    nan,  1.5000])");
  EXPECT_EQ(to_text(tensor({1e10, 1.})), "tensor([ 1.0000e+10,  1.0000e+00])");
  EXPECT_EQ(to_text(tensor({{-0.5, 0.25}, {0.125, 0.75}}, kDouble)),
            "tensor([[-0.5000,  0.2500],\n        [ 0.1250,  0.7500]], dtype=float64)");
  EXPECT_EQ(to_text(empty({0})), "tensor([])");
  EXPECT_EQ(to_text(ones({1}, requires_grad())), "tensor([ 1.])");
}

TEST(Printing, As04DidByACommonFactor) {
  const compat::Era04 era;
  EXPECT_EQ(to_text(tensor({10., 123456.5})), "tensor(1.00000e+05 *\n       [ 0.0001,  1.2346])");
  EXPECT_EQ(to_text(tensor({0.001, 0.002})), "tensor(1.00000e-03 *\n       [ 1.0000,  2.0000])");
}

TEST(Printing, Profiles) {
  const PrintOptions before = print_options();
  set_print_options(print_profile("short"));
  EXPECT_EQ(to_text(tensor(3.1416)), "tensor(3.14)");
  EXPECT_EQ(to_text(arange(2000)), "tensor([   0,    1,  ..., 1998, 1999])");
  set_print_options(print_profile("full"));
  const std::string text = to_text(arange(2000));
  EXPECT_EQ(text.find("..."), text.npos);
  EXPECT_NE(text.find(" 1003,"), text.npos);
  set_print_options(print_profile("default"));
  EXPECT_EQ(to_text(tensor(3.1416)), "tensor(3.1416)");
  EXPECT_THROW(print_profile("loud"), ValueError);
  set_print_options(before);
}

}  // namespace
}  // namespace tenon
