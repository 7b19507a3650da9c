// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/npy.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/ops.h"
#include "tests/mutations.h"
#include "tests/support.h"

using namespace tenon;
using test::expect_words;
using test::text_of;

namespace {

std::string npy_file(const std::string& header, const std::string& data) {
  std::string out = std::string("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + header + data;
}
Tensor read(const std::string& bytes) { return load_npy(bytes.data(), bytes.size(), "the bytes"); }
std::string hex(const char* digits) {
  std::string out;
  for (; *digits; digits += 2)
    out += static_cast<char>(std::stoi(std::string(digits, 2), nullptr, 16));
  return out;
}

// The data is what numpy 2.4 wrote.
TEST(Npy, ReadsWhatNumpyWrites) {
  const Tensor fortran =
      read(npy_file("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }   \n",
                    hex("000000030001000400020005")));
  EXPECT_TRUE(equal(fortran, arange(6).to(kShort).reshape({2, 3})));
  EXPECT_EQ(fortran.strides(), IntArrayRef({1, 2}));
  const Tensor c8 = read(npy_file("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }\n",
                                  hex("0000803f00000040")));
  EXPECT_EQ(c8.scalar_type(), kComplexFloat);
  EXPECT_TRUE(equal(view_as_real(c8), tensor({{1.f, 2.f}})));
  const Tensor c16 = read(npy_file("{'descr': '>c16', 'fortran_order': False, 'shape': (1,), }\n",
                                   hex("3ff80000000000000000000000000000")));
  EXPECT_TRUE(equal(view_as_real(c16), tensor({{1.5, 0.}}, kFloat64)));
  const Tensor flag =
      read(npy_file("{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", hex("01")));
  EXPECT_EQ(flag.dim(), 0);
  EXPECT_TRUE(flag.item<bool>());
  const Tensor none =
      read(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }\n", ""));
  EXPECT_EQ(none.sizes(), IntArrayRef({0, 3}));
}

TEST(Npy, WritesTheHeaderAtAMultipleOf64Bytes) {
  std::ostringstream out;
  save_npy(arange(6, kFloat32).reshape({2, 3}).t(), out);
  const std::string bytes = out.str();
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), ");
  EXPECT_EQ(bytes.size(), 128u + 24u);
  EXPECT_EQ(bytes[127], '\n');
}

TEST(Npy, RoundTrips) {
  for (const ScalarType t : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble,
                             kComplexFloat, kComplexDouble, kUInt16, kUInt32, kUInt64}) {
    const Tensor x = arange(24).remainder(2).to(t).reshape({2, 3, 4}).transpose(0, 2);
    std::stringstream stream;
    save_npy(x, stream);
    const Tensor y = load_npy(stream);
    EXPECT_EQ(y.scalar_type(), t);
    EXPECT_TRUE(equal(x, y)) << toString(t);
  }
  std::stringstream stream;
  save_npy(tensor(3.5), stream);
  EXPECT_EQ(load_npy(stream).item<double>(), 3.5);
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string end = ", 'fortran_order': False, 'shape': (2,), }\n";
  expect_words(text_of<ValueError>([] { read("PK and so on"); }), {"the bytes", "not a .npy file"});
  expect_words(text_of<TypeError>([&] { read(npy_file("{'descr': '|O'" + end, "12345678")); }),
               {"'|O'", "no counterpart"});
  expect_words(
      text_of<ValueError>([&] { read(npy_file("{'descr': [('a', '<f4')]" + end, "12345678")); }),
      {"records"});
  expect_words(text_of<ValueError>([&] { read(npy_file("{'descr': '<f4'" + end, "1234567")); }),
               {"7 bytes of data", "2 elements of 4 bytes"});
  expect_words(
      text_of<ValueError>([] { read(npy_file("{'descr': '<f4', 'shape': (2,), }\n", "")); }),
      {"lacks"});
  expect_words(
      text_of([] {
        read(npy_file(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}", ""));
      }),
      {"load_npy"});
  const std::string whole = npy_file("{'descr': '<f4'" + end, "12345678");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_NE(text_of([&] { read(whole.substr(0, n)); }), "") << n;
  }
  expect_words(text_of<ValueError>([] { load_npy("/no/such/file.npy"); }), {"cannot open"});
  std::ostringstream out;
  expect_words(text_of<TypeError>([&] { save_npy(ones({2}, kBFloat16), out); }), {"no dtype"});
}

// The header is half of the bytes. What is read is used: sizes and data are of one length.
TEST(Npy, DamagedFilesAreReadOrRefused) {
  for (const ScalarType type : {kFloat, kLong, kComplexDouble}) {
    std::ostringstream out;
    save_npy(arange(24).to(type).reshape({2, 3, 4}), out);
    const auto [taken, refused] = test::read_damaged(
        out.str(), 2000, [](const std::string& bytes) { read(bytes).clone().reshape({-1}); });
    EXPECT_GT(taken, 100) << "bytes of the data, and spaces of the header, may be any";
    EXPECT_GT(refused, 500);
    EXPECT_EQ(taken + refused, 2000);
  }
}

}  // namespace
