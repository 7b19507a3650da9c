// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "data.h"
#include "tests/program.h"

namespace {

class Digits : public tenon::ProgramTest {
 protected:
  Digits() : ProgramTest(DIGITS_PROGRAM) {}
  std::string fault(const std::string& name) const {
    try {
      digits::load(path(name));
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
};

// Label k: a bright row k % 8, two rows for 8 and 9, in a little noise.
std::string drawn(int images) {
  std::mt19937 rng(1);
  std::string out;
  for (int i = 0; i < images; ++i) {
    int label = i % 10;
    for (int p = 0; p < 64; ++p) {
      bool bright = p / 8 == label % 8 || (label > 7 && p / 8 == label - 4);
      out +=
          std::to_string(bright ? 16 - static_cast<int>(rng() % 3) : static_cast<int>(rng() % 3)) +
          ",";
    }
    out += std::to_string(label) + "\n";
  }
  return out;
}

TEST_F(Digits, ReadsCsvAndGzip) {
  write("d.csv", drawn(100));
  gzFile gz = gzopen(path("d.csv.gz").c_str(), "wb");
  std::string text = drawn(100);
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  auto plain = digits::load(path("d.csv")), packed = digits::load(path("d.csv.gz"));
  EXPECT_EQ(plain.size(), 100);
  EXPECT_EQ(plain.rows, 8);
  EXPECT_EQ(plain.pixels, packed.pixels);
  EXPECT_EQ(plain.labels, packed.labels);
}

TEST_F(Digits, ReadsIdx) {
  auto word = [](unsigned v) {
    return std::string{char(v >> 24), char(v >> 16), char(v >> 8), char(v)};
  };
  std::string labels;
  for (int i = 0; i < 60; ++i) labels += static_cast<char>(i % 10);
  write("t-images-idx3-ubyte",
        word(0x803) + word(60) + word(4) + word(5) + std::string(60 * 20, '\xff'));
  write("t-labels-idx1-ubyte", word(0x801) + word(60) + labels);
  auto all = digits::load(path("t-images-idx3-ubyte"));
  EXPECT_EQ(all.size(), 60);
  EXPECT_EQ(all.cols, 5);
  EXPECT_EQ(all.pixels[7], 1.0f);
  write("t-labels-idx1-ubyte", word(0x801) + word(59) + labels);
  EXPECT_NE(fault("t-images-idx3-ubyte").find("one label per image"), std::string::npos);
}

TEST_F(Digits, SplitIsStratifiedAndFixed) {
  write("d.csv", drawn(200));
  auto all = digits::load(path("d.csv"));
  auto a = digits::split(all), b = digits::split(all);
  EXPECT_EQ(a.test.size(), 40);
  EXPECT_EQ(a.train.size(), 160);
  EXPECT_EQ(a.test.pixels, b.test.pixels);
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(std::count(a.test.labels.begin(), a.test.labels.end(), label), 4);
  }
}

TEST_F(Digits, FaultsNameTheLine) {
  EXPECT_NE(fault("none.csv").find("none.csv"), std::string::npos);
  write("d.csv", drawn(60) + "1,2,x\n");
  EXPECT_NE(fault("d.csv").find("line 61"), std::string::npos);
  write("d.csv", drawn(60) + "1,2,3\n");
  EXPECT_NE(fault("d.csv").find("line 61: has 3 numbers"), std::string::npos);
  write("d.csv", "1,2,3,4\n");
  EXPECT_NE(fault("d.csv").find("square"), std::string::npos);
}

TEST_F(Digits, OneSeedGivesTheSameBitsOnAnyThreads) {
  write("d.csv", drawn(200));
  std::string data = "--epochs 3 --batch 16 --data '" + path("d.csv") + "' --out '";
  ASSERT_EQ(run(data + path("one") + "' --threads 1"), 0) << read("out");
  ASSERT_EQ(run(data + path("two") + "' --threads 2 --workers 2"), 0) << read("out");
  EXPECT_NE(read("out").find("reloaded"), std::string::npos);
  EXPECT_FALSE(read("one/digits.safetensors").empty());
  EXPECT_EQ(read("one/digits.safetensors"), read("two/digits.safetensors"));
  EXPECT_NE(read("one/digits.svg").find("</svg>"), std::string::npos);
}

#ifdef DIGITS_LAUNCHER
// The losses that the program printed, one per epoch.
std::vector<double> losses_of(const std::string& out) {
  std::vector<double> losses;
  for (std::size_t at = 0; (at = out.find("] loss ", at)) != std::string::npos;)
    losses.push_back(std::stod(out.substr(at += 7)));
  return losses;
}

// Every rank computes and exchanges the three buckets of a step.
void expect_timeline(const std::string& svg, int ranks) {
  const auto count = [&](const std::string& words) {
    int n = 0;
    for (std::size_t at = 0; (at = svg.find(words, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count(">rank "), ranks) << svg;
  EXPECT_EQ(count("#8ab4f8"), 1 + ranks);  // forward, and its legend
  EXPECT_EQ(count("#e9a23b"), 1 + ranks);
  EXPECT_EQ(count("#c33"), 1 + 3 * ranks);
  EXPECT_GT(count("#36c"), 1 + 5 * ranks);
}

TEST_F(Digits, FourRanksHaveTheLossOfOne) {
  write("d.csv", drawn(200));
  std::string data = "--epochs 4 --batch 16 --data '" + path("d.csv") + "' --out '";
  ASSERT_EQ(run(data + path("one") + "' --ranks 1"), 0) << read("out");
  auto one = losses_of(read("out"));
  ASSERT_EQ(run(data + path("two") + "' --ranks 4"), 0) << read("out");
  auto four = losses_of(read("out"));
  EXPECT_NE(read("out").find("reloaded"), std::string::npos);
  ASSERT_EQ(one.size(), 4u);
  ASSERT_EQ(four.size(), 4u) << read("out");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(one[i], four[i], 2e-4) << "epoch " << i + 1;
  EXPECT_LT(one[3], 0.5 * one[0]);
  expect_timeline(read("two/ranks.svg"), 4);
  EXPECT_TRUE(read("one/ranks.svg").empty());
  EXPECT_EQ(run(data + path("two") + "' --ranks 5"), 1);
  EXPECT_NE(read("out").find("--batch 16 is not a multiple of --ranks 5"), std::string::npos);
}

TEST_F(Digits, RanksThatWereNotLaunchedAreMissed) {
  write("d.csv", drawn(200));
  const std::string launcher = "'" DIGITS_LAUNCHER "' launch -n 1";
  EXPECT_EQ(run("--ranks 4 --data '" + path("d.csv") + "'", launcher), 1);
  EXPECT_NE(read("out").find("--ranks is 4, but 1 were launched"), std::string::npos)
      << read("out");
}
#endif

TEST_F(Digits, WithoutPluginSaysWhereItLooked) {
  write("d.csv", drawn(200));
  EXPECT_EQ(run("--data '" + path("d.csv") + "'", "TENON_PLUGIN_PATH='" + path("one") + "'"), 1);
  EXPECT_NE(read("out").find(path("one")), std::string::npos) << read("out");
  EXPECT_NE(read("out").find("What to do"), std::string::npos);
}

}  // namespace
