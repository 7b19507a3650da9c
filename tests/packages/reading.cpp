// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Control files, valid and damaged, and the graph built from them.
#include <gtest/gtest.h>
#include <lz4frame.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "control.h"
#include "graph.h"
#include "lz4.h"

namespace packages {
namespace {

using Names = std::vector<std::string>;
using Links = std::vector<std::array<int64_t, 2>>;

TEST(Control, RelationsGiveNames) {
  EXPECT_EQ(names_of("a (>= 1:2.0~rc1), b:any | c [amd64] <!nocheck>,  d(<< 2)"),
            (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(names_of("${shlibs:Depends}, , |, <x>, -y, libstdc++6"), (Names{"libstdc++6"}));
  EXPECT_TRUE(names_of("").empty());
}

TEST(Control, FieldsOfStanzas) {
  auto all = parse(
      "Package: one\nStatus: install ok installed\nSection: contrib/libs\nDepends: two (>= 1),\n "
      "three\n"
      "Description: text\n Package: not-this\n .\n more\n"
      "\n\n \t\n"
      "package:two\nRECOMMENDS: one\nSuggests: four\nPre-Depends: five\nProvides: v1, v2 (= 3)\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "one");
  EXPECT_EQ(all[0].section, "libs");
  EXPECT_EQ(all[0].needs, (Names{"two", "three"}));
  EXPECT_EQ(all[1].name, "two");
  EXPECT_EQ(all[1].section, "");
  EXPECT_EQ(all[1].needs, (Names{"five", "one", "four"}));
  EXPECT_EQ(all[1].provides, (Names{"v1", "v2"}));
}

TEST(Control, CarriageReturnsAreBlank) {
  auto all = parse(
      "Package: one\r\nSection: libs\r\nDepends: a,\r\n b\r\n\r\nPackage: two\r\nSection: X11\r\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].section, "libs");
  EXPECT_EQ(all[0].needs, (Names{"a", "b"}));
  EXPECT_EQ(all[1].section, "x11");
}

TEST(Control, DamageCostsWhatItHit) {
  const char text[] =
      "\0\xff garbage\nSection: lost\n\nPackage: \x1b[31m\nSection: bad\n\nPackage: kept\nno colon "
      "here\n: no name\n"
      "Section: <script>\nPackage: next\nSection: a/b/c";
  auto all = parse({text, sizeof text - 1});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "kept");
  EXPECT_EQ(all[0].section, "");
  EXPECT_EQ(all[1].name, "next");
  EXPECT_EQ(all[1].section, "c");
  EXPECT_TRUE(parse("").empty());
  EXPECT_TRUE(parse("Package: " + std::string(100000, 'x')).empty());
}

TEST(Control, AnyBytesAreSurvived) {
  const std::string good =
      "Package: one\nSection: libs\nDepends: two | three (>= 1), four:any\n\nPackage: two\n";
  std::mt19937 rng(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good.substr(0, rng() % good.size());
    for (int k = 0; k < 4 && !bad.empty(); ++k) bad[rng() % bad.size()] = static_cast<char>(rng());
    for (const auto& p : parse(bad)) {
      EXPECT_FALSE(p.name.empty());
      for (const auto& s : {p.name, p.section})
        EXPECT_EQ(s.find_first_of("<>&\x1b\n"), std::string::npos);
    }
  }
}

std::string frame(const std::string& text) {
  std::string out(LZ4F_compressFrameBound(text.size(), nullptr), '\0');
  out.resize(LZ4F_compressFrame(out.data(), out.size(), text.data(), text.size(), nullptr));
  return out;
}

std::string fault(const std::string& bytes) {
  try {
    unpack_lz4(bytes, 1 << 20);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(Lz4, Frames) {
  const std::string text = "Package: one\n" + std::string(200000, 'x');
  EXPECT_TRUE(is_lz4(frame("")));
  EXPECT_FALSE(is_lz4("Pac"));
  EXPECT_EQ(unpack_lz4(frame(""), 100), "");
  EXPECT_EQ(unpack_lz4(frame(text), 1 << 20), text);
  EXPECT_EQ(unpack_lz4(frame("a") + frame("b"), 100), "ab");
}

TEST(Lz4, DamageIsReported) {
  const std::string good = frame("twelve bytes");
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(fault(good.substr(0, n)).empty(), n == 0) << n;
  }
  EXPECT_NE(fault(good.substr(0, good.size() - 1)).find("cut short"), std::string::npos);
  EXPECT_NE(fault(good + "bytes of no frame").find("damaged"), std::string::npos);
  EXPECT_THROW(unpack_lz4(good, 11), std::runtime_error);
  std::mt19937 rng(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    bad[4 + rng() % (bad.size() - 4)] = static_cast<char>(rng());
    fault(bad);
  }
}

Package package(std::string name, std::string section, Names needs, Names provides = {}) {
  return {std::move(name), std::move(section), std::move(needs), std::move(provides)};
}

TEST(Graph, LinksAndSections) {
  auto g = build({package("a", "libs", {"b", "virtual", "nowhere", "a"}),
                  package("b", "", {"a", "a"}), package("c", "net", {"b"}, {"virtual", "virtual"}),
                  package("d", "net", {}, {"virtual"}), package("e", "libs", {}),
                  package("f", "libs", {}), package("g", "lonely", {}), package("b", "net", {"d"})},
                 2);
  EXPECT_EQ(g.names, (Names{"a", "b", "c", "d", "e", "f", "g"}));
  EXPECT_EQ(g.links, (Links{{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 3}, {2, 1}}));
  EXPECT_EQ(g.sections, (Names{"libs", "net"}));
  EXPECT_EQ(g.section, (std::vector<int64_t>{0, 1, 1, 1, 0, 0, -1}));
  EXPECT_EQ(g.unanswered, 1);
}

TEST(Graph, WhatManyProvideLinksNobody) {
  std::vector<Package> all{package("user", "x", {"few", "many"})};
  for (int i = 0; i < 17; ++i) {
    all.push_back(package("p" + std::to_string(i), i % 2 ? "x" : "y", {},
                          i < 16 ? Names{"few", "many"} : Names{"many"}));
  }
  auto g = build(all, 2);
  EXPECT_EQ(g.links.size(), 16u);
  EXPECT_EQ(g.links.back()[1], 16);
  EXPECT_EQ(g.unanswered, 0);
}

TEST(Graph, TooLittleIsReported) {
  auto what = [](const std::vector<Package>& all) -> std::string {
    try {
      build(all, 2);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(what({}).find("/var/lib/dpkg/status"), std::string::npos);
  EXPECT_NE(what({package("a", "libs", {}), package("b", "libs", {})}).find("--smallest"),
            std::string::npos);
}

TEST(Graph, SplitHidesOfEachSection) {
  std::vector<Package> all;
  all.reserve(62);
  for (int i = 0; i < 60; ++i)
    all.push_back(package("p" + std::to_string(i), i % 3 ? "many" : "few", {}));
  for (int i = 0; i < 2; ++i) all.push_back(package("q" + std::to_string(i), "two", {}));
  auto g = build(all, 2);
  auto s = split(g, 0.3, 7), again = split(g, 0.3, 7), other = split(g, 0.3, 8);
  EXPECT_EQ(s.hidden, again.hidden);
  EXPECT_NE(s.hidden, other.hidden);
  EXPECT_EQ(s.hidden.size(), 12u + 6u + 1u);
  EXPECT_EQ(s.hidden.size() + s.known.size(), all.size());
  EXPECT_FALSE(std::binary_search(s.known.begin(), s.known.end(), s.hidden[0]));
}

TEST(Graph, NeighborsVoteWithKnownSectionsOnly) {
  auto g = build({package("a", "x", {"b", "c", "d"}), package("b", "y", {}), package("c", "y", {}),
                  package("d", "x", {}), package("e", "x", {}), package("f", "x", {"e"})},
                 2);
  Split s;
  s.known = {1, 2, 3, 4};
  s.hidden = {0, 5};
  EXPECT_EQ(ask_neighbors(g, s), (std::vector<int64_t>{1, 0}));  // two of y and one of x; one of x
  s.known = {1, 2};
  s.hidden = {0, 3, 4, 5};
  EXPECT_EQ(ask_neighbors(g, s),
            (std::vector<int64_t>{1, 1, 1, 1}));  // the largest where none is known
}

}  // namespace
}  // namespace packages
