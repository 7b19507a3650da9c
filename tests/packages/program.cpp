// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The model's parts, and the whole program.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "map.h"
#include "model.h"
#include "report.h"
#include "tests/program.h"

namespace fs = std::filesystem;

namespace packages {
namespace {

class Program : public tenon::ProgramTest {
 protected:
  Program() : ProgramTest(PACKAGES_PROGRAM) {}
  std::string fault(const std::string& arguments) const {
    EXPECT_EQ(run(arguments + " --out '" + path("one") + "'"), 1);
    return read("out");
  }
};

// Six sections of 60 packages; each package needs three of its own section and one of any.
std::string planted() {
  std::mt19937 rng(1);
  std::string out;
  auto name = [](unsigned i) { return "p" + std::to_string(i); };
  for (unsigned i = 0; i < 360; ++i) {
    unsigned section = i % 6;
    out += "Package: " + name(i) + "\nSection: s" + std::to_string(section) + "\nDepends: ";
    for (int k = 0; k < 3; ++k) out += name(section + 6 * (rng() % 60)) + " (>= 1), ";
    out += name(rng() % 360) + "\n\n";
  }
  return out;
}

TEST_F(Program, FindsPlantedSections) {
  write("status", planted());
  ASSERT_EQ(run("--status '" + path("status") + "' --out '" + path("one") +
                "' --ask p1 --ask none --min-accuracy 85"),
            0)
      << read("out");
  EXPECT_NE(read("out").find("p1: s1 "), std::string::npos) << read("out");
  EXPECT_NE(read("out").find("none: no such package"), std::string::npos);
  EXPECT_NE(read("one/packages.svg").find("</svg>"), std::string::npos);
  EXPECT_EQ(run("--status '" + path("status") + "' --out '" + path("one") +
                "' --epochs 1 --min-accuracy 99"),
            1);
}

TEST_F(Program, OneSeedGivesTheSameBitsOnAnyThreads) {
  std::string text = planted();
  write("first", text.substr(0, text.size() / 2));
  gzFile gz = gzopen(path("second.gz").c_str(), "wb");
  gzwrite(gz, text.data() + text.size() / 2, static_cast<unsigned>(text.size() - text.size() / 2));
  gzclose(gz);
  std::string data = "--directed --epochs 8 --dots 40 --status '" + path("first") + "' --status '" +
                     path("second.gz") + "' --out '";
  ASSERT_EQ(run(data + path("one") + "' --threads 1"), 0) << read("out");
  ASSERT_EQ(run(data + path("two") + "' --threads 2"), 0) << read("out");
  EXPECT_FALSE(read("one/packages.svg").empty());
  EXPECT_EQ(read("one/packages.svg"), read("two/packages.svg"));
  ASSERT_EQ(run(data + path("two") + "' --seed 2"), 0) << read("out");
  EXPECT_NE(read("one/packages.svg"), read("two/packages.svg"));
}

// With any set of installed packages it learns, or reports why there are too few.
TEST_F(Program, ReadsThisMachine) {
  if (!fs::exists("/var/lib/dpkg/status"))
    GTEST_SKIP() << "not of the Debian family: no /var/lib/dpkg/status";
  int status =
      run("--status /var/lib/dpkg/status --epochs 20 --dots 100 --out '" + path("one") + "'");
  if (status == 0) {
    EXPECT_NE(read("one/packages.svg").find("</svg>"), std::string::npos);
  } else {
    EXPECT_EQ(status, 1);
    EXPECT_NE(read("out").find("--smallest"), std::string::npos) << read("out");
  }
}

TEST_F(Program, FaultsSayWhatToDo) {
  EXPECT_NE(fault("--status '" + path("none") + "'").find("Give --status"), std::string::npos);
  EXPECT_NE(fault("--status '" + path("") + "'").find("Is a directory"), std::string::npos);
  write("list.xz", std::string("\xfd"
                               "7zXZ\0\0",
                               7));
  EXPECT_NE(fault("--status '" + path("list.xz") + "'").find("xz -dk"), std::string::npos);
  write("list.lz4", "\x04\x22\x4d\x18");
  EXPECT_NE(fault("--status '" + path("list.lz4") + "'")
                .find("list.lz4: is cut short inside its lz4 data. Fetch it again"),
            std::string::npos);
  write("list.gz", "\x1f\x8b\x08garbage that no gzip file has");
  EXPECT_NE(fault("--status '" + path("list.gz") + "'").find("list.gz: cannot be read"),
            std::string::npos);
  write("words", "just words\n");
  EXPECT_NE(fault("--status '" + path("words") + "'").find("no package is described"),
            std::string::npos);
  write("status", planted());
  EXPECT_NE(
      fault("--device nothing --status '" + path("status") + "'").find("tenon plugins --load"),
      std::string::npos);
}

Graph small() {
  Graph g;
  g.names = {"a", "b", "c", "d"};
  g.section = {0, 0, 1, 1};
  g.sections = {"x", "y"};
  g.links = {{0, 1}, {1, 0}, {1, 2}};
  return g;
}

TEST(Model, AdjacencyIsNormalized) {
  const double half = 0.5, mixed = 1 / std::sqrt(6), third = 1. / 3;
  auto symmetric = adjacency(small(), false, tenon::kCPU);
  ASSERT_EQ(symmetric.size(), 1u);
  auto expected = tenon::tensor(
      {half, mixed, 0., 0., mixed, third, mixed, 0., 0., mixed, half, 0., 0., 0., 0., 1.});
  EXPECT_TRUE(symmetric[0].to_dense().allclose(expected.view({4, 4}).to(tenon::kFloat)));

  auto directed = adjacency(small(), true, tenon::kCPU);
  ASSERT_EQ(directed.size(), 2u);
  const double root = 1 / std::sqrt(2);
  auto needs = tenon::tensor({0., 1., 0., 0., root, 0., root, 0., 0., 0., 0., 0., 0., 0., 0., 0.});
  EXPECT_TRUE(directed[0].to_dense().allclose(needs.view({4, 4}).to(tenon::kFloat)));
  EXPECT_TRUE(directed[1].to_dense().equal(directed[0].to_dense().t()));
}

TEST(Model, GraphWithoutLinksIsLearned) {
  Graph g = small();
  g.links.clear();
  for (bool directed : {false, true}) {
    Gcn net(adjacency(g, directed, tenon::kCPU), 4, 2, 0.5);
    train(net, g, {{0, 2}, {1, 3}}, {}, [](int, const Epoch&) {});
    EXPECT_EQ(answer(net).best.size(), 4u);
  }
}

// The model is not limited to the CPU.
TEST(Model, LearnsTheSameOnAnotherDevice) {
  std::vector<double> losses[2];
  Options options;
  options.epochs = 4;
  options.width = 3;
  for (int i : {0, 1}) {
    tenon::Device device(i == 0 ? "cpu" : "ref");
    tenon::manual_seed(1);
    Gcn net(adjacency(small(), true, device), options.width, 2, 0.);
    net->to(device);
    train(net, small(), {{0, 2}, {1, 3}}, options,
          [&](int, const Epoch& e) { losses[i].push_back(e.loss); });
    ASSERT_EQ(net->embed().device().type(), device.type());
  }
  ASSERT_EQ(losses[0].size(), 4u);
  EXPECT_LT(losses[0][3], losses[0][0]);
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(losses[0][k], losses[1][k], 1e-5);
}

TEST(Map, KeepsGroupsApart) {
  tenon::manual_seed(1);
  auto points = tenon::randn({60, 8}) * 0.05;
  points.select(1, 0).slice(0, 0, 30).add_(1);
  points.select(1, 1).slice(0, 30, 60).add_(1);
  auto map = lay_out(points);
  ASSERT_EQ(map.sizes(), (std::vector<int64_t>{60, 2}));
  auto one = map.slice(0, 0, 30), two = map.slice(0, 30, 60);
  double apart = (one.mean(0) - two.mean(0)).norm().item<double>();
  double wide = (one - one.mean(0)).norm(2, 1).max().item<double>();
  EXPECT_GT(apart, 1.5 * wide);
  EXPECT_TRUE(lay_out(tenon::ones({3, 4})).isfinite().all().item<bool>());
}

TEST(Report, TableLinesUp) {
  Graph g = small();
  Judgment j;
  j.confusion = {{1000, 234}, {0, 0}};
  std::string text = table(g, j);
  EXPECT_EQ(text,
            "section    hidden   found   recall  precision  mostly taken for\n"
            "x           1,234   1,000    81.0%     100.0%  y (234)\n"
            "y               0       0     0.0%       0.0%\n");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(12), "12");
}

}  // namespace
}  // namespace packages
