// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "jit/formats/conform.h"
#include "jit/formats/pickle.h"
#include "tenon/jit/type.h"
#include "tenon/plugins/plugins.h"
#include "tenon/tenon.h"

namespace tenon::jit::formats {
namespace {

// clang-format off
// Written by Python, protocols 2, 4 and 5.
constexpr char kValues2[] =
    "\200\002]q\000(K\001J\377\377\377\377M,\001J\220\356\376\377\212\006\000\000\000\000"
    "\000\001\212\010\000\000\000\000\000\000\000\200G?\370\000\000\000\000\000\000G\177"
    "\360\000\000\000\000\000\000\210\211NX\004\000\000\000textq\001X\002\000\000\000\303"
    "\251q\002K\001\205q\003K\001K\002\206q\004K\001K\002K\003\207q\005(K\001K\002K\003K"
    "\004tq\006)]q\007}q\010(X\001\000\000\000aq\011]q\012(K\001K\002eK\003X\001\000\000"
    "\000bq\013u]q\014(]q\015K\001a]q\016G@\004\000\000\000\000\000\000aee.";
constexpr char kValues4[] =
    "\200\004\225\222\000\000\000\000\000\000\000]\224(K\001J\377\377\377\377M,\001J\220"
    "\356\376\377\212\006\000\000\000\000\000\001\212\010\000\000\000\000\000\000\000\200G"
    "?\370\000\000\000\000\000\000G\177\360\000\000\000\000\000\000\210\211N\214\004text"
    "\224\214\002\303\251\224K\001\205\224K\001K\002\206\224K\001K\002K\003\207\224(K\001K"
    "\002K\003K\004t\224)]\224}\224(\214\001a\224]\224(K\001K\002eK\003\214\001b\224u]\224"
    "(]\224K\001a]\224G@\004\000\000\000\000\000\000aee.";
constexpr char kValues5[] =
    "\200\005\225\222\000\000\000\000\000\000\000]\224(K\001J\377\377\377\377M,\001J\220"
    "\356\376\377\212\006\000\000\000\000\000\001\212\010\000\000\000\000\000\000\000\200G"
    "?\370\000\000\000\000\000\000G\177\360\000\000\000\000\000\000\210\211N\214\004text"
    "\224\214\002\303\251\224K\001\205\224K\001K\002\206\224K\001K\002K\003\207\224(K\001K"
    "\002K\003K\004t\224)]\224}\224(\214\001a\224]\224(K\001K\002eK\003\214\001b\224u]\224"
    "(]\224K\001a]\224G@\004\000\000\000\000\000\000aee.";
constexpr char kOrdered[] =
    "\200\002ccollections\012OrderedDict\012q\000)Rq\001(X\001\000\000\000aq\002K\001X\001"
    "\000\000\000bq\003K\002K\003\206q\004u.";
constexpr char kTensors[] =
    "\200\002]q\000(ctorch._utils\012_rebuild_tensor_v2\012q\001((X\007\000\000\000storage"
    "q\002ctorch\012FloatStorage\012q\003X\001\000\000\0000q\004X\003\000\000\000cpuq\005K"
    "\006tq\006QK\000K\003K\002\206q\007K\001K\003\206q\010\211ccollections\012OrderedDict"
    "\012q\011)Rq\012tq\013Rq\014ctorch._utils\012_rebuild_parameter\012q\015h\001((h\002h"
    "\003h\004h\005K\006tq\016QK\003K\003\205q\017K\001\205q\020\211h\011)Rq\021tq\022Rq"
    "\023\210h\011)Rq\024\207q\025Rq\026ctorch\012float16\012q\027ctorch\012Size\012q\030K"
    "\002K\003\206q\031\205q\032Rq\033ctorch\012device\012q\034X\003\000\000\000cpuq\035"
    "\205q\036Rq\037c_codecs\012encode\012q X\003\000\000\000\000\303\277q!X\006\000\000"
    "\000latin1q\"\206q#Rq$e.";
constexpr char kCyclicList[] =
    "\200\002]q\000h\000a.";
constexpr char kCyclicDict[] =
    "\200\004\225\014\000\000\000\000\000\000\000}\224\214\001x\224h\000\205\224s.";
constexpr char kComplex[] =
    "\200\002c__builtin__\012complex\012q\000G\000\000\000\000\000\000\000\000G@\000\000"
    "\000\000\000\000\000\206q\001Rq\002.";
constexpr char kStorageType[] = "\200\002ctorch\012FloatStorage\012q\000.";
constexpr char kPrint[] =
    "\200\002c__builtin__\012print\012q\000.";
// clang-format on

UnpickleHooks hooks() {
  UnpickleHooks h;
  h.load_storage = [](const std::string& type, const std::string&, const std::string&, int64_t n) {
    return arange(n, TensorOptions().dtype(storage_dtype(type)));
  };
  h.build_object = [](const std::string& cls, const IValue& state) {
    return IValue(std::vector<IValue>{cls, state});
  };
  h.type_of = [](const std::string& text) { return parse_type(text); };
  return h;
}

template <std::size_t N>
IValue read(const char (&bytes)[N]) {
  return unpickle(std::string_view(bytes, N - 1), hooks());
}

std::string refusal(const std::string& bytes) {
  try {
    (void)unpickle(bytes, hooks());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

void expect_values(const IValue& v) {
  const auto& items = v.toListRef().items;
  ASSERT_EQ(items.size(), 21u);
  const int64_t numbers[] = {1, -1, 300, -70000, int64_t{1} << 40, INT64_MIN};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(items[i].toInt(), numbers[i]);
  EXPECT_EQ(items[6].toDouble(), 1.5);
  EXPECT_TRUE(std::isinf(items[7].toDouble()));
  EXPECT_TRUE(items[8].toBool());
  EXPECT_FALSE(items[9].toBool());
  EXPECT_TRUE(items[10].isNone());
  EXPECT_EQ(items[11].toStringRef(), "text");
  EXPECT_EQ(items[12].toStringRef(), "\xc3\xa9");
  for (std::size_t i = 13; i < 17; ++i) EXPECT_EQ(items[i].toTupleRef().size(), i - 12);
  EXPECT_EQ(items[17].toTupleRef().size(), 0u);
  EXPECT_EQ(items[18].toListRef().items.size(), 0u);
  EXPECT_EQ(items[19].toDictRef().at("a").toListRef().items[1].toInt(), 2);
  EXPECT_EQ(items[19].toDictRef().at(3).toStringRef(), "b");
  EXPECT_EQ(items[20].toListRef().items[1].toListRef().items[0].toDouble(), 2.5);
}

TEST(JitPickle, ReadsValuesOfEveryProtocol) {
  expect_values(read(kValues2));
  expect_values(read(kValues4));
  expect_values(read(kValues5));
  const IValue ordered = read(kOrdered);
  EXPECT_EQ(ordered.toDictRef().items()[1].first.toStringRef(), "b");
}

// torch writes the name of another class for some lists; what they are kept in decides.
TEST(JitPickle, ATypeThatIsNotTheValuesSaysNothing) {
  static constexpr char kTagged[] =
      "\200\002ctorch.jit._pickle\012restore_type_tag\012]K\001aX\011\000\000\000List[str]\206R.";
  const IValue v = read(kTagged);
  EXPECT_EQ(v.toIntVector(), std::vector<int64_t>{1});
  EXPECT_FALSE(conform(v, parse_type("List[str]")));
  EXPECT_TRUE(conform(v, parse_type("List[int]")));
  static constexpr char kEmpty[] =
      "\200\002ctorch.jit._pickle\012restore_type_tag\012]X\011\000\000\000List[str]\206R.";
  const IValue none = read(kEmpty);
  EXPECT_TRUE(conform(none, parse_type("List[int]")));
  EXPECT_EQ(type_of(none)->str(), "int[]");
}

TEST(JitPickle, ReadsTensors) {
  const IValue v = read(kTensors);
  const auto& items = v.toListRef().items;
  const Tensor t = items[0].toTensor(), p = items[1].toTensor();
  EXPECT_EQ(t.sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(t[2][1].item<float>(), 5);
  EXPECT_FALSE(t.requires_grad());
  EXPECT_EQ(p.storage_offset(), 3);
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(p.is_leaf());
  EXPECT_EQ(items[2].toScalarType(), kHalf);
  EXPECT_EQ(items[3].toTupleRef().items[1].toInt(), 3);
  EXPECT_TRUE(items[4].toDevice().is_cpu());
  EXPECT_EQ(items[5].toStringRef(), std::string("\0\xff", 2));
}

// torch.FloatStorage could be the dtype of a plugin that is not open, but is none of torch's.
TEST(JitPickle, AsksNoPluginForAStorageType) {
  const auto open_plugins = [] {
    const std::vector<plugins::Info> all = plugins::list();
    return std::count_if(all.begin(), all.end(),
                         [](const auto& p) { return p.state != plugins::State::Found; });
  };
  const auto before = open_plugins();
  EXPECT_NE(refusal(std::string(kStorageType, sizeof kStorageType - 1)).find("torch.FloatStorage"),
            std::string::npos);
  EXPECT_EQ(open_plugins(), before);
}

TEST(JitPickle, RefusesWhatContainsItself) {
  EXPECT_NE(refusal(std::string(kCyclicList, sizeof kCyclicList - 1)).find("contains itself"),
            std::string::npos);
  EXPECT_NE(refusal(std::string(kCyclicDict, sizeof kCyclicDict - 1)).find("part of another"),
            std::string::npos);
  // a = [b]; b = [a]
  EXPECT_NE(refusal("\x80\x02]q\1]q\2h\1ah\2h\1.").find("opcode"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02"
                    "]q\1]q\2"
                    "ah\2h\1a.")
                .find("part of another"),
            std::string::npos);
  // An object whose state names it.
  EXPECT_NE(refusal(std::string("\x80\x02"
                                "c__torch__\nM\n)\x81q\1h\1b."))
                .find("itself"),
            std::string::npos);
}

TEST(JitPickle, BoundsDepthAndSharing) {
  const auto nested = [](std::size_t n) {
    return "\x80\x02" + std::string(n, ']') + std::string(n - 1, 'a') + ".";
  };
  EXPECT_EQ(refusal(nested(500)), "");
  EXPECT_NE(refusal(nested(600)).find("nested more than"), std::string::npos);
  EXPECT_NE(refusal(nested(1000000)).find("nested more than"), std::string::npos);
  // Each level has the one before twice.
  std::string doubled = "\x80\x02)q";
  doubled += '\0';
  for (int i = 0; i < 60; ++i) {
    doubled += 'h';
    doubled += static_cast<char>(i);
    doubled += "\x86q";
    doubled += static_cast<char>(i + 1);
  }
  EXPECT_NE(refusal(doubled + ".").find("has more than"), std::string::npos);
  // Chains that are joined from the outside in: each list is empty when it is put in the next.
  std::string chain = "\x80\x02";
  for (int i = 0; i < 200; ++i) chain += std::string("]q") + static_cast<char>(i);
  for (int i = 198; i >= 0; --i) {
    chain += std::string("0h") + static_cast<char>(i) + "h" + static_cast<char>(i + 1) + "a";
  }
  EXPECT_NE(refusal(chain + ".").find("opcode"), std::string::npos);
}

TEST(JitPickle, ReadsComplexNumbers) {
  const IValue z = unpickle(std::string(kComplex, sizeof kComplex - 1), hooks());
  EXPECT_EQ(z.toComplexDouble(), std::complex<double>(0, 2));
}

TEST(JitPickle, RefusesNamesThatItDoesNotKnow) {
  EXPECT_NE(refusal(std::string(kPrint, sizeof kPrint - 1)).find("used as a value"),
            std::string::npos);
  EXPECT_EQ(refusal("\x80\x02"
                    "cposix\nsystem\nX\2" +
                    std::string("\0\0\0ls\x85R.", 8)),
            "opcode 'R' at byte 24: calls posix.system, which is not one of the functions that "
            "archives use");
  EXPECT_NE(refusal("\x80\x02"
                    "ctorch\nfloat32\n.")
                .size(),
            1000u);
  EXPECT_NE(refusal("\x80\x01N.").find("protocol 1"), std::string::npos);
}

TEST(JitPickle, TensorsStayInsideOfTheirStorage) {
  const Tensor memory = arange(12, kFloat);
  EXPECT_EQ(tensor_over(memory, kFloat, 2, {2, 5}, {5, 1})[1][4].item<float>(), 11);
  EXPECT_EQ(tensor_over(memory, kByte, 47, {1}, {1}).numel(), 1);
  EXPECT_EQ(tensor_over(memory, kFloat, 12, {0, 5}, {1000, 1}).numel(), 0);
  const auto refused = [&](int64_t offset, IntArrayRef sizes, IntArrayRef strides) {
    EXPECT_THROW((void)tensor_over(memory, kFloat, offset, sizes, strides), ValueError);
  };
  refused(3, {2, 5}, {5, 1});
  refused(-1, {1}, {1});
  refused(12, {}, {});
  refused(13, {0}, {1});
  refused(0, {-1}, {1});
  refused(0, {2}, {-1});
  refused(0, {3}, {INT64_MAX});
  refused(0, {int64_t{1} << 32, int64_t{1} << 32}, {0, 0});
  refused(0, {1, 2}, {1});
}

void expect_same(const IValue& v) {
  std::vector<Tensor> saved;
  PickleHooks out;
  out.save_storage = [&](const Tensor& t) {
    saved.push_back(t);
    return std::to_string(saved.size() - 1);
  };
  UnpickleHooks in = hooks();
  in.load_storage = [&](const std::string&, const std::string& key, const std::string&, int64_t) {
    return saved.at(std::stoul(key));
  };
  const IValue back = unpickle(pickle(v, out), in);
  EXPECT_TRUE(back == v);
  EXPECT_TRUE(same_type(*type_of(back), *type_of(v))) << type_of(back)->str();
}

TEST(JitPickle, ReadsWhatItWrites) {
  expect_same(std::vector<int64_t>{1, 256, -5, 70000, INT64_MAX});
  expect_same(std::vector<double>{0.5, -1e300});
  expect_same(std::vector<bool>{true, false});
  expect_same(std::vector<std::string>{"a", "a", ""});
  expect_same(std::vector<int64_t>{});
  expect_same(std::make_tuple(int64_t{1}, std::string("x"), 2.5, true));
  expect_same(std::make_tuple(int64_t{1}));
  expect_same(Device("cpu"));
  auto dict = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict(Type::string(), Type::integer()));
  dict->insert_or_assign("b", 1);
  dict->insert_or_assign("a", 2);
  expect_same(dict);
  expect_same(tensor(2.5));
}

TEST(JitPickle, RefusesToWriteWhatContainsItself) {
  auto list = core::Ref<ivalue::List>::adopt(new ivalue::List);
  list->items.push_back(IValue(list));
  EXPECT_THROW((void)pickle(list, {}), ValueError);
  list->items.clear();
}

TEST(JitPickle, EveryChangedByteIsReadOrRefused) {
  std::mt19937 random(7);
  for (const std::string& good :
       {std::string(kValues2, sizeof kValues2 - 1), std::string(kValues5, sizeof kValues5 - 1),
        std::string(kTensors, sizeof kTensors - 1)}) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (int k = 0; k < 20; ++k) {
        std::string bad = good;
        bad[i] = static_cast<char>(random());
        (void)refusal(bad);
      }
      EXPECT_NE(refusal(good.substr(0, i)), "");
    }
  }
}

}  // namespace
}  // namespace tenon::jit::formats
