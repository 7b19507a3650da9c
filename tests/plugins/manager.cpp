// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Several builds of one device's plugin: the manifests say which is opened, before any is.
#include <gtest/gtest.h>

#include "support.h"
#include "tenon/abi/client.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/op.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

using namespace tenon;
using namespace tenon::test;

namespace {

// What every x86-64 or 64-bit ARM processor has, by its name in /proc/cpuinfo.
#if defined(__x86_64__)
constexpr const char* kHere = "[\"sse2\"]";
#else
constexpr const char* kHere = "[\"fp\"]";
#endif
constexpr const char* kNowhere = "[\"avx9000\"]";

// toy_plain, toy_fast and toy_future serve the device toy; the first runs on every processor, the
// last on none.
struct Toys : Folder {
  Toys() {
    add("toy_plain", "toy_plain", fields("0", "[]"));
    add("toy_fast", "toy_fast", fields("10", kHere));
    add("toy_future", "toy_future", fields("20", kNowhere));
  }
  static std::map<std::string, std::string> fields(const char* priority, const char* features) {
    return {{"device", "\"toy\""},
            {"variant", "\"isa\""},
            {"priority", priority},
            {"cpu_features", features}};
  }
};

bool is_mapped(const fs::path& file) {
  return bytes_of("/proc/self/maps").find(file.string()) != std::string::npos;
}

// The listing after the first use of the device; only one of the libraries may have been mapped.
std::string use(const Folder& f, const char* prefer, const std::string& expected_name) {
  return in_child(
      {{"TENON_PLUGIN_PATH", f.path().string()}, {"TENON_PLUGINS_PREFER", prefer}}, [&] {
        core::resolve(Device("toy:0"));
        for (const char* name : {"toy_plain", "toy_fast", "toy_future"}) {
          EXPECT_EQ(is_mapped(f / (std::string("libtenon_") + name + ".so")), name == expected_name)
              << name;
        }
        std::string out = listing();
        EXPECT_EQ(core_works(), "");
        return out;
      });
}

}  // namespace

TEST(PluginVariants, TheHighestThatThisProcessorRunsIsOpened) {
  Toys f;
  EXPECT_EQ(use(f, "", "toy_fast"),
            "toy_fast opened: \n"
            "toy_future refused: this processor has no avx9000\n"
            "toy_plain disabled: variant isa of toy is served by toy_fast (priority 10 against 0); "
            "TENON_PLUGINS_PREFER=toy_plain chooses this one\n");
}

TEST(PluginVariants, ANameOverridesThePriority) {
  Toys f;
  std::string out = use(f, "toy_plain", "toy_plain");
  EXPECT_NE(out.find("toy_plain opened"), std::string::npos) << out;
  EXPECT_NE(out.find("toy_fast disabled: variant isa of toy is served by toy_plain"),
            std::string::npos)
      << out;
}

TEST(PluginVariants, ANameDoesNotOverrideTheProcessor) {
  Toys f;
  std::string out = use(f, "toy_future,*plain", "toy_plain");
  EXPECT_NE(out.find("toy_future refused: this processor has no avx9000"), std::string::npos)
      << out;
  EXPECT_NE(out.find("toy_plain opened"), std::string::npos) << out;
}

TEST(PluginVariants, ABrokenOneFallsBackToTheNext) {
  Toys f;
  f.write("libtenon_toy_fast.so", "no library");
  std::string out = use(f, "", "toy_plain");
  EXPECT_NE(out.find("toy_fast refused: "), std::string::npos) << out;
  EXPECT_NE(out.find("toy_plain opened"), std::string::npos) << out;
}

TEST(PluginVariants, AnExplicitLoadOfAnotherIsRefused) {
  Toys f;
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [&] {
    core::resolve(Device("toy:0"));
    try {
      plugins::load((f / "libtenon_toy_plain.json").string());
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("loaded");
  });
  EXPECT_NE(out.find("variant isa of toy is served by plugin toy_fast; unload that first"),
            std::string::npos)
      << out;
}

TEST(PluginVariants, OtherPluginsOfTheDeviceAreOpenedToo) {
  Toys f;
  f.add("toy_extra", "toy_extra", {{"device", "\"toy\""}, {"variant", ""}});
  std::string out = use(f, "", "toy_fast");
  EXPECT_NE(out.find("toy_fast opened"), std::string::npos) << out;
  EXPECT_NE(out.find("toy_extra opened"), std::string::npos) << out;
}

namespace {

// The states of toy_extra after the first use of the device and after a call of _loop_program_.
std::string states_of_extra(const char* operators) {
  Toys f;
  f.add("toy_extra", "toy_extra",
        {{"device", "\"toy\""}, {"variant", ""}, {"operators", operators}});
  const auto state = [] {
    for (const plugins::Info& i : plugins::list())
      if (i.name == "toy_extra") return std::string(plugins::to_string(i.state));
    return std::string("absent");
  };
  return in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [&] {
    const core::DeviceSlot slot = core::device_id(Device("toy:0")).slot;
    std::string out = state();
    EXPECT_FALSE(core::has_kernel(core::get_op("relu"), slot, kDouble));
    out += ", " + state();
    EXPECT_FALSE(core::has_kernel(core::get_op("_loop_program_"), slot, kFloat));
    return out + ", " + state();
  });
}

}  // namespace

TEST(PluginOperators, OpenAtTheirFirstCall) {
  EXPECT_EQ(states_of_extra(R"(["_loop_program_"])"), "found, found, opened");
}

TEST(PluginOperators, OneThatIsNotOnDemandOpensWithTheDevice) {
  EXPECT_EQ(states_of_extra(R"(["_loop_program_", "relu"])"), "opened, opened, opened");
  EXPECT_EQ(states_of_extra(R"(["no_such_op"])"), "opened, opened, opened");
  EXPECT_EQ(states_of_extra("[]"), "opened, opened, opened");
}

namespace {

// What a search for an operator that nothing registers says after "no operator is called '...'",
// with the manifest of toy_extra, which names the operator acme::shift.
std::string unknown_with(const Folder& f, const char* op, const char* disabled = "") {
  return in_child({{"TENON_PLUGIN_PATH", f.path().string()}, {"TENON_PLUGINS_DISABLE", disabled}},
                  [&] {
                    try {
                      return std::string("found ") + core::get_op(op).name;
                    } catch (const NotImplementedError& e) {
                      const std::string begin = core::join("no operator is called '", op, "'");
                      EXPECT_EQ(e.msg().rfind(begin, 0), 0u) << e.msg();
                      return e.msg().substr(begin.size());
                    }
                  });
}

struct Acme : Folder {
  explicit Acme(const char* device, const char* operators = R"(["acme::shift"])",
                const char* layouts = "") {
    add("toy_extra", "toy_extra",
        {{"device", core::join('"', device, '"')}, {"operators", operators}, {"layouts", layouts}});
  }
  std::string would_provide() const {
    return core::join("; plugin 'toy_extra' would provide it (",
                      (*this / "libtenon_toy_extra.json").string(), "; ");
  }
};

}  // namespace

TEST(UnknownOperator, NamesThePluginThatIsDisabled) {
  Acme f("toy");
  EXPECT_EQ(unknown_with(f, "acme::shift", "toy*"),
            f.would_provide() + "disabled: disabled by TENON_PLUGINS_DISABLE=toy*)");
}

TEST(UnknownOperator, NamesThePluginThatIsRefused) {
  Acme f("cpu");
  f.write("libtenon_toy_extra.so", "no library");
  const std::string out = unknown_with(f, "acme::shift");
  EXPECT_EQ(out.rfind(f.would_provide() + "refused: ", 0), 0u) << out;
  EXPECT_NE(out.find("not a shared library"), std::string::npos) << out;
}

TEST(UnknownOperator, SaysWhenThePluginOpens) {
  Acme f("toy");
  EXPECT_EQ(unknown_with(f, "acme::shift"),
            f.would_provide() + "not opened: it opens at the first use of device toy)");
  Acme sparse("toy", R"(["acme::shift"])", R"(["blocks", "bands"])");
  EXPECT_EQ(unknown_with(sparse, "acme::shift"),
            sparse.would_provide() +
                "not opened: it opens at the first use of device toy with layout blocks or bands)");
}

TEST(UnknownOperator, AManifestNamesAllOverloadsOrOne) {
  Acme all("toy"), one("toy", R"(["acme::shift.left"])");
  const std::string reason = "not opened: it opens at the first use of device toy)";
  EXPECT_EQ(unknown_with(all, "acme::shift.left"), all.would_provide() + reason);
  EXPECT_EQ(unknown_with(one, "acme::shift.left"), one.would_provide() + reason);
  EXPECT_EQ(unknown_with(one, "acme::shift.right"), "");
  EXPECT_EQ(unknown_with(all, "acme::shifted"), "");
}

TEST(UnknownOperator, NamesAnOpenPluginThatDidNotRegisterIt) {
  Folder f;
  f.add("host_dtype", "host_dtype",
        {{"device", "\"cpu\""}, {"operators", R"(["acme::quarter", "acme::shift"])"}});
  EXPECT_EQ(unknown_with(f, "acme::quarter"), "found acme::quarter");
  EXPECT_EQ(unknown_with(f, "acme::shift"),
            core::join("; plugin 'host_dtype' names it in its manifest and did not register it (",
                       (f / "libtenon_host_dtype.json").string(), ")"));
}

TEST(UnknownOperator, ClosestNamesComeFirst) {
  Acme f("toy", R"(["grid_smapler_2d"])");
  EXPECT_EQ(unknown_with(f, "grid_smapler_2d"),
            "; closest: grid_sampler_2d, grid_sampler_3d, grid_sampler" + f.would_provide() +
                "not opened: it opens at the first use of device toy)");
}
