// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Classes of C++ in programs; tests/libtorch/custom_classes.cpp compares with libtorch.
#include "tenon/jit/custom_class.h"

#include <gtest/gtest.h>

#include <sstream>

#include "jit/formats/conform.h"
#include "tenon/jit.h"
#include "tenon/jit/freeze.h"
#include "tenon/tenon.h"

namespace tenon::jit {
namespace {

struct Counter : CustomClassHolder {
  explicit Counter(int64_t first) : n(first) {}
  int64_t next(int64_t by) { return n += by; }
  Tensor held() const { return memory; }
  void bump(Tensor x) const { x.add_(n); }
  int64_t n;
  Tensor memory = zeros({2});
};
struct Plain : CustomClassHolder {
  int64_t one() const { return 1; }
};
struct Unknown : CustomClassHolder {};

using CounterRef = core::Ref<Counter>;

CounterRef advance(const CounterRef& c, int64_t n) {
  c->next(n);
  return c;
}

TENON_LIBRARY(jit_classes, m) {
  m.class_<Counter>("Counter", "counts")
      .def(init<int64_t>(), "", {arg("first") = 0})
      .def("next", &Counter::next, "adds to it", {arg("by") = 1})
      .def("held", &Counter::held)
      .def("bump", &Counter::bump)
      .def("__len__", [](const CounterRef& self) { return self->n; })
      .def("both",
           [](const CounterRef& self, const CounterRef& other) {
             return std::array<int64_t, 2>{self->n, other->n};
           })
      .def("any", [](const CounterRef&, const IValue& v) { return v.tagKind(); })
      .def_static("of", [](int64_t n) { return CounterRef::make(n); })
      .def_readwrite("n", &Counter::n)
      .def_pickle([](const CounterRef& self) { return self->n; },
                  [](int64_t n) { return CounterRef::make(n); });
  m.class_<Plain>("Plain").def(init<>()).def("one", &Plain::one);
  m.def("advance", &advance);
  m.def("count_all(__torch__.torch.classes.jit_classes.Counter[] all, int? from=None) -> int",
        [](const std::vector<CounterRef>& all, std::optional<int64_t> from) {
          int64_t sum = from.value_or(0);
          for (const CounterRef& c : all) sum += c->n;
          return sum;
        });
}

template <class E, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}
#define EXPECT_SAYS(E, text, ...)                                           \
  EXPECT_NE(message<E>([&] { __VA_ARGS__; }).find(text), std::string::npos) \
      << message<E>([&] { __VA_ARGS__; })

TEST(JitCustomClass, ProgramsMakeCallAndReturnObjects) {
  const auto unit = compile(R"(
def f(n: int):
    c = torch.classes.jit_classes.Counter(n)
    c.next()
    c.next(by=10)
    d = torch.classes.jit_classes.Counter.of(2)
    d.n = d.n * 4
    empty = torch.classes.jit_classes.Counter()
    return c, c.both(d), len(c), c.any("text"), empty.n
def keep(c: Optional[torch.classes.jit_classes.Counter], all: List[torch.classes.jit_classes.Counter]) -> List[torch.classes.jit_classes.Counter]:
    if c is not None:
        all.append(c)
    return all
def operators(c: torch.classes.jit_classes.Counter):
    same = torch.ops.jit_classes.advance(c, 3)
    return torch.ops.jit_classes.count_all([c, same]), torch.ops.jit_classes.count_all([c], 1)
)");
  const auto out = unit->run_method("f", 5).toTuple()->elements();
  EXPECT_EQ(out[0].toCustomClass<Counter>()->n, 16);
  EXPECT_EQ(out[1].toIntVector(), (std::vector<int64_t>{16, 8}));
  EXPECT_EQ(out[2].toInt(), 16);
  EXPECT_EQ(out[3].toStringRef(), "String");
  EXPECT_EQ(out[4].toInt(), 0);

  const CounterRef c = CounterRef::make(1);
  List<CounterRef> all;
  const auto kept = unit->run_method("keep", c, all).to<List<CounterRef>>();
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.get(0).get(), c.get());
  EXPECT_EQ(
      unit->run_method("keep", IValue(), std::vector<CounterRef>{c, c}).toListRef().items.size(),
      2u);
  const auto sums = unit->run_method("operators", c).toTuple()->elements();
  EXPECT_EQ(sums[0].toInt(), 8);
  EXPECT_EQ(sums[1].toInt(), 5);
}

TEST(JitCustomClass, SaysWhatIsDocumented) {
  const ClassTypePtr cls = getCustomClass("__torch__.torch.classes.jit_classes.Counter");
  ASSERT_TRUE(cls);
  EXPECT_EQ(cls->doc_string, "counts");
  EXPECT_EQ(cls->find_method("next")->doc_string(), "adds to it");
  EXPECT_EQ(cls->find_method("next")->schema().arguments[1].name, "by");
  EXPECT_EQ(getCustomClass("__torch__.torch.classes.jit_classes.None"), nullptr);
  EXPECT_EQ(getCustomClassType<CounterRef>(), cls);
}

// A method may give memory that the object holds.
TEST(JitCustomClass, WritesReachWhatObjectsHold) {
  const auto unit = compile(R"(
def f(c: torch.classes.jit_classes.Counter, x: Tensor):
    before = c.held() + x
    c.held().add_(1)
    after = c.held() + x
    return before, after
)");
  for (int i = 0; i < 3; ++i) {
    const auto out = unit->run_method("f", CounterRef::make(1), ones({2})).toTuple()->elements();
    EXPECT_TRUE(out[0].toTensor().equal(ones({2})));
    EXPECT_TRUE(out[1].toTensor().equal(full({2}, 2.0)));
  }
}

TEST(JitCustomClass, ErrorsNameTheClass) {
  EXPECT_SAYS(TypeError, "Unknown is not registered", IValue(core::Ref<Unknown>::make()));
  const IValue c = make_custom_class<Counter>(1);
  EXPECT_SAYS(TypeError, "expected an object of __torch__.torch.classes.jit_classes.Plain, got",
              c.toCustomClass<Plain>());
  EXPECT_SAYS(TypeError, "jit_classes.Counter, got Int", IValue(3).toCustomClass<Counter>());
  EXPECT_SAYS(ErrorReport, "the class torch.classes.jit_classes.Missing is not registered",
              compile("def f():\n    return torch.classes.jit_classes.Missing(1)\n"));
  EXPECT_SAYS(ErrorReport, "argument 'by'",
              compile("def f(c: torch.classes.jit_classes.Counter):\n"
                      "    return c.next(by='a')\n"));
  const auto unit = compile(
      "def f():\n"
      "    c = __torch__.torch.classes.jit_classes.Counter.__new__("
      "__torch__.torch.classes.jit_classes.Counter)\n"
      "    return c.next()\n");
  EXPECT_SAYS(Error, "is used before its __init__", unit->run_method("f"));
}

// Else a program could give a method an object of another class.
TEST(JitCustomClass, CapsulesAreOutOfReach) {
  for (const char* line : {"return c.capsule", "c.capsule = d.capsule", "c.capsule = None",
                           "return getattr(c, 'capsule')"}) {
    EXPECT_SAYS(Error, "capsule",
                compile(std::string("def f(c: torch.classes.jit_classes.Counter, d: "
                                    "torch.classes.jit_classes.Plain):\n    ") +
                        line + "\n"))
        << line;
  }
  const auto unit = compile(R"(
def f(p: torch.classes.jit_classes.Plain):
    return unchecked_cast(__torch__.torch.classes.jit_classes.Counter, p).next()
)");
  EXPECT_SAYS(TypeError, "jit_classes.Counter, got __torch__.torch.classes.jit_classes.Plain",
              unit->run_method("f", core::Ref<Plain>::make()));
  const auto moved = compile(R"(
class Box:
    def __init__(self):
        self.x: Any = 1
def f(c: torch.classes.jit_classes.Counter, p: torch.classes.jit_classes.Plain, put: bool):
    if put:
        unchecked_cast(Box, c).x = unchecked_cast(Box, p).x
    else:
        unchecked_cast(Box, c).x = 3
    return c.next()
)");
  for (const bool put : {false, true}) {
    EXPECT_SAYS(TypeError, put ? "jit_classes.Counter holds another class's" : "expected Capsule",
                moved->run_method("f", CounterRef::make(1), core::Ref<Plain>::make(), put));
  }
}

TEST(JitCustomClass, DefinitionsThatDoNotFitAreRefused) {
  const auto register_in = [](auto f) {
    library::Block block("jit_refused", std::nullopt, f);
    library::run_blocks();
  };
  using library::Library;
  EXPECT_SAYS(ValueError, "is registered already, as __torch__.torch.classes.jit_classes.Counter",
              register_in([](Library& m) { m.class_<Counter>("Again"); }));
  EXPECT_SAYS(ValueError, "'a.b' is not a valid name of a class",
              register_in([](Library& m) { m.class_<Unknown>("a.b"); }));
  EXPECT_SAYS(ValueError, "names and defaults are of all arguments or of none; got 1 for 2",
              register_in([](Library& m) {
                m.class_<Unknown>("U").def("f", [](const core::Ref<Unknown>&, int64_t, int64_t) {},
                                           "", {arg("a")});
              }));
  EXPECT_SAYS(ValueError, "first argument of a method must be a pointer",
              register_in([](Library& m) { m.class_<Unknown>("U").def("f", [](int64_t) {}); }));
  EXPECT_SAYS(
      ValueError, "__getstate__ gives int, and __setstate__ takes str", register_in([](Library& m) {
        m.class_<Unknown>("U").def_pickle([](const core::Ref<Unknown>&) -> int64_t { return 1; },
                                          [](std::string) { return core::Ref<Unknown>::make(); });
      }));
  EXPECT_SAYS(ValueError, "jit_refused.U.f is already defined", register_in([](Library& m) {
                m.class_<Unknown>("U")
                    .def("f", [](const core::Ref<Unknown>&) {})
                    .def("f", [](const core::Ref<Unknown>&) {});
              }));
}

TEST(JitCustomClass, IsTakenBackWithItsBlock) {
  const char* const name = "__torch__.torch.classes.jit_passing.U";
  for (int i = 0; i < 2; ++i) {
    {
      library::Block block("jit_passing", std::nullopt,
                           [](library::Library& m) { m.class_<Unknown>("U").def(init<>()); });
      EXPECT_TRUE(IValue(core::Ref<Unknown>::make()).isCustomClass());
      EXPECT_TRUE(find_custom_class(name));
    }
    EXPECT_FALSE(find_custom_class(name));
  }
}

Module with_objects() {
  Module m("__torch__.M");
  const IValue c = make_custom_class<Counter>(5);
  m.register_parameter("weight", ones({2}));
  m.register_attribute("c", c.type(), c);
  const List<CounterRef> all(std::vector<CounterRef>{c.toCustomClass<Counter>()});
  all.push_back(CounterRef::make(7));
  m.register_attribute("all", IValue(all).type(), all);
  m.define(R"(
def forward(self, x: Tensor):
    made = torch.classes.jit_classes.Counter.of(self.all[1].n)
    return self.weight * x * made.next() + self.c.next(by=2)
)");
  return m;
}

TEST(JitCustomClass, FrozenModulesKeepObjects) {
  Module m = with_objects();
  m.eval();
  const Module frozen = freeze(m), fast = optimize_for_inference(m.clone());
  std::stringstream file;
  frozen.save(file);
  const Module loaded = load(file);
  EXPECT_TRUE(loaded.forward({ones({2})}).toTensor().equal(full({2}, 15.0)));
  for (const double expected : {15.0, 17.0}) {
    EXPECT_TRUE(frozen.forward({ones({2})}).toTensor().equal(full({2}, expected)));
    EXPECT_TRUE(fast.forward({ones({2})}).toTensor().equal(full({2}, expected)));
  }
}

// Equal expressions before and after a call are not one.
TEST(JitCustomClass, CallsMayWriteTheirArguments) {
  Module m("__torch__.W");
  const IValue c = make_custom_class<Counter>(5);
  m.register_attribute("c", c.type(), c);
  m.define(R"(
def forward(self, x: Tensor):
    y = x * 2
    before = y + 1
    self.c.bump(y)
    after = y + 1
    kept = self.c.held()
    a = kept * 2
    self.c.held().add_(1)
    return before, after, kept * 2 - a
)");
  m.eval();
  for (const Module& each : {m, freeze(m), optimize_for_inference(m)}) {
    const auto out = each.forward({ones({2})}).toTuple()->elements();
    EXPECT_TRUE(out[0].toTensor().equal(full({2}, 3.0)));
    EXPECT_TRUE(out[1].toTensor().equal(full({2}, 8.0)));
    EXPECT_TRUE(out[2].toTensor().equal(full({2}, 2.0)));
  }
}

TEST(JitCustomClass, CopiesByState) {
  const CounterRef c = CounterRef::make(3);
  const IValue held = c;
  const IValue both = std::vector<IValue>{held, held};
  const IValue copied = both.deepcopy();
  const auto& copies = copied.toListRef().items;
  EXPECT_NE(copies[0].toCustomClass<Counter>().get(), c.get());
  EXPECT_EQ(copies[0].toCustomClass<Counter>()->n, 3);
  EXPECT_TRUE(copies[0].is(copies[1]));
  const IValue plain = make_custom_class<Plain>();
  EXPECT_SAYS(TypeError, "jit_classes.Plain cannot be copied", plain.deepcopy());
  Module m("__torch__.P");
  m.register_attribute("p", plain.type(), plain);
  std::stringstream file;
  EXPECT_SAYS(TypeError, "jit_classes.Plain cannot be saved: the class has no def_pickle",
              m.save(file));
}

// Archives of torch have nested lists of one class under the name of another.
TEST(JitCustomClass, ListsUnderTheNameOfAnotherClass) {
  const IValue inner(List<core::Ref<Plain>>({core::Ref<Plain>::make()}));
  const TypePtr counters =
      Type::list(find_custom_class("__torch__.torch.classes.jit_classes.Counter"));
  inner.toListRef().element = nullptr;
  EXPECT_TRUE(formats::conform(inner, counters));
  EXPECT_FALSE(formats::conform(inner, Type::list(Type::integer())));
  const auto unit = compile(
      "def f(all: List[__torch__.torch.classes.jit_classes.Counter]) -> int:\n"
      "  return all[0].next()\n");
  EXPECT_THROW(unit->run_method("f", inner), TypeError);
}

}  // namespace
}  // namespace tenon::jit
