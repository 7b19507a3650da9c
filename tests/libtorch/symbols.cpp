// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names as values: symbols, dimensions, classes of programs.
#include <ATen/core/interned_strings.h>
#include <ATen/core/qualified_name.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <sstream>

namespace {

TEST(Symbols, InNamespaces) {
  const auto add = c10::Symbol::fromQualString("aten::add");
  EXPECT_EQ(add, at::Symbol::aten("add"));
  EXPECT_NE(add, at::Symbol::prim("add"));
  EXPECT_TRUE(add.is_aten());
  EXPECT_FALSE(add.is_prim());
  EXPECT_STREQ(add.toQualString(), "aten::add");
  EXPECT_STREQ(add.toUnqualString(), "add");
  EXPECT_EQ(add.ns(), c10::Symbol::fromQualString("namespaces::aten"));
  EXPECT_EQ(add.domainString(), "org.pytorch.aten");
  EXPECT_EQ(c10::Symbol::fromDomainAndUnqualString("org.pytorch.aten", "add"), add);
  EXPECT_EQ(std::hash<c10::Symbol>()(add), std::hash<c10::Symbol>()(at::Symbol::aten("add")));
  EXPECT_THROW(c10::Symbol::fromQualString("add"), c10::ValueError);
  EXPECT_THROW(c10::Symbol::fromDomainAndUnqualString("aten", "add"), c10::ValueError);
}

TEST(Symbols, OfDimensions) {
  const auto n = torch::Dimname::fromSymbol(torch::Symbol::dimname("N"));
  const auto any = torch::Dimname::fromSymbol(torch::Symbol::dimname("*"));
  EXPECT_TRUE(n.isBasic());
  EXPECT_TRUE(any.isWildcard());
  EXPECT_EQ(any, torch::Dimname::wildcard());
  EXPECT_TRUE(n.matches(any) && any.matches(n));
  EXPECT_EQ(*any.unify(n), n);
  EXPECT_FALSE(n.unify(torch::Dimname::fromSymbol(torch::Symbol::dimname("C"))));
  std::ostringstream out;
  out << n << " " << any;
  EXPECT_EQ(out.str(), "'N' None");
  EXPECT_TRUE(torch::Dimname::isValidName("in_1"));
  EXPECT_FALSE(torch::Dimname::isValidName("1in"));
  EXPECT_THROW(torch::Dimname::fromSymbol(torch::Symbol::dimname("a.b")), c10::ValueError);
  EXPECT_THROW(torch::Dimname::fromSymbol(torch::Symbol::aten("N")), c10::ValueError);
  const std::vector<torch::Dimname> names = {n, any};
  EXPECT_EQ(torch::DimnameList(names).size(), 2U);
}

TEST(Symbols, OfClasses) {
  const c10::QualifiedName block("__torch__.net.Block");
  EXPECT_EQ(block.prefix(), "__torch__.net");
  EXPECT_EQ(block.name(), "Block");
  EXPECT_EQ(c10::QualifiedName(c10::QualifiedName("__torch__.net"), "Block"), block);
  EXPECT_TRUE(c10::QualifiedName("__torch__").isPrefixOf(block));
  EXPECT_FALSE(c10::QualifiedName("__torch").isPrefixOf(block));
  EXPECT_EQ(c10::QualifiedName(std::vector<std::string>{"a", "b"}).qualifiedName(), "a.b");
  EXPECT_EQ(c10::QualifiedName().prefix(), "");
  for (const char* wrong : {"", ".a", "a.", "a..b"})
    EXPECT_THROW(c10::QualifiedName{wrong}, c10::ValueError) << wrong;
  EXPECT_THROW(c10::QualifiedName(block, "a.b"), c10::ValueError);
}

}  // namespace
