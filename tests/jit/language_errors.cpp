// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Texts that do not compile: errors/NAME.txt has the text, a line "----", and the message.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tenon/jit.h"

namespace tenon::jit {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string message_of(const std::string& text) {
  try {
    (void)compile(text);
  } catch (const ErrorReport& e) {
    std::string message = e.what();
    return message.empty() || message.back() != '\n' ? message + "\n" : message;
  }
  return "no error";
}

TEST(JitLanguageErrors, MessagesAreThoseOfTheFiles) {
  const std::string mark = "----\n";
  int n = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TENON_TEST_JIT) / "errors")) {
    const std::string file = read_file(entry.path());
    const std::size_t cut = file.find(mark);
    ASSERT_NE(cut, std::string::npos) << entry.path();
    EXPECT_EQ(message_of(file.substr(0, cut)), file.substr(cut + mark.size())) << entry.path();
    ++n;
  }
  EXPECT_GE(n, 40);
}

// Each would exhaust the stack of a parser or compiler without bounds.
TEST(JitLanguageErrors, DeepNestingIsRefused) {
  const auto repeat = [](const char* part, int n) {
    std::string s;
    for (int i = 0; i < n; ++i) s += part;
    return s;
  };
  constexpr int kDeep = 100000;
  const std::string head = "def f(x: int):\n  return ";
  const std::string refused[] = {head + repeat("(", kDeep) + "x" + repeat(")", kDeep) + "\n",
                                 head + repeat("[", kDeep) + repeat("]", kDeep) + "\n",
                                 head + repeat("-", kDeep) + "x\n",
                                 head + repeat("not ", kDeep) + "x\n",
                                 head + "x" + repeat(" + x", kDeep) + "\n",
                                 head + "x" + repeat(".y", kDeep) + "\n",
                                 head + "x" + repeat(" ** x", kDeep) + "\n",
                                 head + repeat("x if x else ", kDeep) + "x\n",
                                 head + "x" + repeat(" or x", kDeep) + "\n",
                                 head + "x" + repeat("(x)", kDeep) + "\n"};
  for (const std::string& text : refused) {
    EXPECT_NE(message_of(text).find("nest"), std::string::npos) << text.substr(0, 60) << "\n"
                                                                << message_of(text).substr(0, 300);
  }
  std::string blocks = "def f(x: int):\n", chain = blocks + "  if x == 0:\n    x = 1\n";
  for (int i = 1; i < 400; ++i) {
    blocks += std::string(static_cast<std::size_t>(i) * 2, ' ') + "if x > 0:\n";
    chain += "  elif x == 2:\n    x = 1\n";
  }
  EXPECT_NE(message_of(blocks + std::string(800, ' ') + "x = 1\n").find("levels"),
            std::string::npos);
  EXPECT_NE(message_of(chain).find("nested too deeply"), std::string::npos);
}

// Functions that call functions recurse in the compiler.
TEST(JitLanguageErrors, LongChainsOfFunctionsAreRefused) {
  std::string text = "def f0(x: int):\n  return x\n", reversed;
  for (int i = 1; i < 3000; ++i)
    reversed = "def f" + std::to_string(i) + "(x: int):\n  return f" + std::to_string(i - 1) +
               "(x)\n" + reversed;
  EXPECT_NE(message_of(reversed + text).find("nested too deeply"), std::string::npos);
}

// The place stays in view, however long its line is.
TEST(JitLanguageErrors, LongLinesAreCut) {
  const std::string text = "def f(x: int):\n  # " + std::string(5000, '-') + "\n  return x + " +
                           std::string(5000, ' ') + "unknown" + std::string(5000, ' ') + "\n";
  const std::string message = message_of(text);
  EXPECT_LT(message.size(), 1000u);
  std::istringstream lines(message);
  std::string line, before;
  while (std::getline(lines, line) && line.find("<--- HERE") == std::string::npos) before = line;
  EXPECT_EQ(before.substr(line.find('~'), 7), "unknown") << message;
}

TEST(JitLanguageErrors, TextsThatAreNotPrograms) {
  for (const char* text :
       {"x = 1\n", "def", "def f(", "class", "@", "def f(x):\n  return x[", "\\",
        "def f(x):\n\treturn x\n  y", "\x80\xff", "def f(*args):\n  pass\n",
        "def f(x, x):\n  pass\n", "def f(x):\n  return f'{x'\n", "def f(x):\n  return f'{x:.2f}'\n",
        "def f(x):\n  return '\\xZZ'\n", "def f(x):\n  return 99999999999999999999\n",
        "def f(x):\n  return 9223372036854775808\n", "def f(x):\n  return {1, 2}\n",
        "def f(x):\n  yield x\n"}) {
    EXPECT_NE(message_of(text), "no error") << text;
  }
}

}  // namespace
}  // namespace tenon::jit
