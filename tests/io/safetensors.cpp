// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Handmade files: what other programs write is read, and what is broken is refused with a reason.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;
using serialize::InputArchive;

namespace {

std::string file(const std::string& header, const std::string& data = "") {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + data;
}

void read(const std::string& bytes, InputArchive& archive) {
  archive.load_from(bytes.data(), bytes.size());
}

// The reason why a file is refused; empty if it is not.
std::string refusal(const std::string& bytes) {
  InputArchive archive;
  return test::text_of([&] { read(bytes, archive); });
}

void expect_refused(const std::string& bytes, const char* reason) {
  test::expect_words(refusal(bytes), {reason});
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  InputArchive in;
  read(
      file(
          R"({"__metadata__":{"format":"pt"}, "a.w":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},
               "b":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}  )",
          std::string("\1\0\2\0\5", 5)),
      in);
  Tensor t, b;
  InputArchive a;
  in.read("a", a);
  a.read("w", t);
  EXPECT_TRUE(equal(t, tensor({1, 2}).to(kInt16)));
  in.read("b", b);
  EXPECT_EQ(static_cast<uint8_t*>(b.data_ptr())[0], 1);
}

TEST(Safetensors, RefusesBrokenFiles) {
  expect_refused("", "not a safetensors file");
  expect_refused("1234567", "not a safetensors file");
  expect_refused(std::string(8, '\xff'), "limit");
  expect_refused(file("{}").substr(0, 9), "truncated");
  expect_refused(file("[]"), "does not begin with '{'");
  expect_refused(file("{\"a\":}"), "not valid JSON");
  expect_refused(file("{\"a\":[[[[1]]]]}"), "nests deeper");
  expect_refused(file("{\"a\":1}"), "exactly dtype, shape and data_offsets");
  expect_refused(file(R"({"__metadata__":{"a":1}})"), "is not a string");
  std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  expect_refused(file("{" + a + "," + a + "}", "xy"), "twice");
  expect_refused(file("{" + a + "}", "x"), "truncated");
  expect_refused(file("{" + a + "}", "xyz"), "trailing bytes after the last tensor");
  expect_refused(file("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xy"),
                 "overlaps");
  expect_refused(file("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})", "xyzw"),
                 "gap");
  expect_refused(file(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}})", "xy"),
                 "not a non-negative integer");
  expect_refused(file(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,2]}})", "xy"),
                 "not a non-negative integer");
  expect_refused(file(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", "xy"),
                 "do not fit");
  expect_refused(file(R"({"a":{"dtype":"Q4","shape":[2],"data_offsets":[0,2]}})", "xy"), "Q4");
  expect_refused(file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "xy"),
                 "do not fit");
  // 2^32 * 2^32 * 4 wraps to zero.
  expect_refused(
      file(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
      "too large");
}

TEST(Safetensors, RefusesViewsThatReachOutside) {
  auto with = [](const std::string& extra) {
    std::string meta = extra;
    for (std::size_t i = 0; (i = meta.find('"', i)) != std::string::npos; i += 2)
      meta.insert(i, "\\");
    return file(R"({"__metadata__":{"tenon.tensors":")" + meta +
                    R"("},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                "wxyz");
  };
  EXPECT_EQ(refusal(with(R"({"v":{"of":"a","shape":[2],"strides":[2],"offset":1}})")), "");
  expect_refused(with(R"({"v":{"of":"a","shape":[2],"strides":[2],"offset":2}})"), "outside");
  expect_refused(with(R"({"v":{"of":"a","shape":[2],"strides":[9223372036854775807],"offset":2}})"),
                 "too large");
  expect_refused(with(R"({"v":{"of":"a","shape":[2],"strides":[1,1],"offset":0}})"),
                 "differ in length");
  expect_refused(with(R"({"v":{"of":"b","shape":[2],"strides":[1],"offset":0}})"), "not there");
  EXPECT_EQ(refusal(with(R"({"a":{"strides":[9000000000]}})")),
            "");  // the order of one dimension, and no such block
  expect_refused(with(R"({"a":{"strides":[1,1]}})"), "as many strides");
  expect_refused(with(R"({"a":{"requires_grad":true}})"), "cannot require grad");
}

TEST(Safetensors, EveryDamagedByteAndEveryCutIsFound) {
  std::stringstream out;
  save(std::vector<Tensor>{arange(5, kFloat32), arange(3)}, out);
  std::string good = out.str();
  EXPECT_EQ(refusal(good), "");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_NE(refusal(bad), "") << "byte " << i;
    EXPECT_NE(refusal(good.substr(0, i)), "") << "cut at " << i;
  }
}

TEST(Safetensors, FaultsOfTheChecksumSayWhatIsWrong) {
  std::stringstream out;
  save(std::vector<Tensor>{arange(5, kFloat32)}, out);
  const std::string good = out.str();
  const std::string mark = R"("tenon.checksum":")";
  const std::size_t at = good.find(mark);
  // The header with `with` in place of `length` bytes from `from` on, and the right length in
  // front.
  auto changed = [&](std::size_t from, std::size_t length, const std::string& with) {
    const std::size_t end =
        8 + static_cast<unsigned char>(good[0]) + 256 * static_cast<unsigned char>(good[1]);
    std::string header = good.substr(8, end - 8);
    return file(header.replace(from - 8, length, with), good.substr(end));
  };
  expect_refused(changed(at + mark.size(), 3, "xyz"), "is not 8 digits");
  expect_refused(changed(at + mark.size(), 3, ""), "is not 8 digits");
  expect_refused(changed(at + mark.size() - 1, 0, " "), "rewritten by a program");
  expect_refused(changed(at + 2, 1, "\\u0065"), "rewritten by a program");
  expect_refused(changed(at, 0, " "), "differs from that of its content");
}

TEST(Safetensors, RandomDamageNeverCrashes) {
  std::stringstream out;
  auto x = arange(12, kFloat32).view({3, 4});
  save(std::vector<Tensor>{x.t(), x[1], arange(3)}, out);
  std::string good = out.str();
  // Without the checksum the damage reaches the other checks.
  for (const char* key : {"tenon.checksum", "tenon.format"}) good[good.find(key)] = 'x';
  EXPECT_EQ(refusal(good), "");
  std::mt19937 rng(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[rng() % bad.size()] = static_cast<char>(rng());
    refusal(bad);
  }
}

}  // namespace
