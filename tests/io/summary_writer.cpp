// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/summary_writer.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "tenon/io/event_file.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using test::expect_words;
using test::text_of;

namespace {

template <class T>
T number(const std::string& bytes, std::size_t at = 0) {
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

// The fields of a message; varints as 8 bytes.
std::multimap<int, std::string> fields(const std::string& bytes) {
  std::multimap<int, std::string> out;
  std::size_t at = 0;
  const auto varint = [&] {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes.at(at++));
      v |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
  };
  while (at < bytes.size()) {
    const uint64_t key = varint();
    std::size_t n = key % 8 == 1 ? 8 : 4;
    if (key % 8 == 0) {
      const uint64_t v = varint();
      out.emplace(key / 8, std::string(reinterpret_cast<const char*>(&v), 8));
      continue;
    }
    if (key % 8 == 2) n = varint();
    out.emplace(key / 8, bytes.substr(at, n));
    at += n;
  }
  return out;
}
std::string field(const std::string& bytes, int number) {
  const auto all = fields(bytes);
  EXPECT_EQ(all.count(number), 1u) << number;
  return all.find(number)->second;
}

// The records of a file, whose checksums are checked by writing them again.
std::vector<std::string> records(const std::string& filename) {
  std::ifstream in(filename, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size();) {
    out.push_back(bytes.substr(at + 12, number<uint64_t>(bytes, at)));
    const std::string record = io::frame_record(out.back());
    EXPECT_EQ(bytes.substr(at, record.size()), record);
    at += record.size();
  }
  return out;
}
std::string value_of(const std::string& event) { return field(field(event, 5), 1); }

struct Summaries : public ::testing::Test {
  std::string folder = (std::filesystem::temp_directory_path() /
                        (std::string("tenon_summaries_") + std::to_string(getpid())))
                           .string();
  ~Summaries() override { std::filesystem::remove_all(folder); }
};

// RFC 3720, B.4.
TEST(Crc32c, OfTheStandardsExamples) {
  EXPECT_EQ(io::crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(io::crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(io::crc32c("123456789"), 0xe3069283u);
}

TEST_F(Summaries, ScalarsHaveTagStepAndTime) {
  SummaryWriter writer(folder + "/a/b", ".test");
  writer.add_scalar("loss/train", 0.25, 300, 12.5);
  writer.add_scalar("loss/train", -1, 301);
  writer.flush();
  const auto all = records(writer.filename());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(field(all[0], 3), "brain.Event:2");
  EXPECT_EQ(number<double>(field(all[1], 1)), 12.5);
  EXPECT_EQ(number<int64_t>(field(all[1], 2)), 300);
  EXPECT_EQ(field(value_of(all[1]), 1), "loss/train");
  EXPECT_EQ(number<float>(field(value_of(all[1]), 2)), 0.25f);
  EXPECT_GT(number<double>(field(all[2], 1)), 1.7e9);
  EXPECT_EQ(writer.filename().substr(writer.filename().size() - 5), ".test");
}

// Counts and limits of torch.utils.tensorboard's bins, by numpy.
TEST_F(Summaries, HistogramsHaveTheBinsOfTorch) {
  SummaryWriter writer(folder);
  writer.add_histogram("w", tensor({{1.0, 1.05}, {1.0, 1.3}}, kFloat64), 1);
  writer.flush();
  const std::string h = field(value_of(records(writer.filename()).at(1)), 5);
  EXPECT_EQ(number<double>(field(h, 1)), 1.0);
  EXPECT_EQ(number<double>(field(h, 2)), 1.3);
  EXPECT_EQ(number<double>(field(h, 3)), 4);
  EXPECT_NEAR(number<double>(field(h, 4)), 4.35, 1e-12);
  EXPECT_NEAR(number<double>(field(h, 5)), 4.7925, 1e-12);
  const double limits[] = {0.917246389039776, 1.0089710279437536, 1.109868130738129,
                           1.220854943811942, 1.3429404381931362};
  const double counts[] = {0, 2, 1, 0, 1};
  ASSERT_EQ(field(h, 6).size(), sizeof limits);
  ASSERT_EQ(field(h, 7).size(), sizeof counts);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ(number<double>(field(h, 6), 8 * i), limits[i]);
    EXPECT_EQ(number<double>(field(h, 7), 8 * i), counts[i]);
  }
  expect_words(text_of<ValueError>([&] { writer.add_histogram("e", zeros({0})); }),
               {"'e' has no elements"});
  expect_words(text_of<ValueError>([&] { writer.add_histogram("n", full({2}, NAN)); }), {"nan"});
}

TEST_F(Summaries, TextsAreTensorsOfThePluginText) {
  SummaryWriter writer(folder);
  writer.add_text("notes", "# first run", 2);
  writer.flush();
  const std::string value = value_of(records(writer.filename()).at(1));
  EXPECT_EQ(field(value, 1), "notes/text_summary");
  EXPECT_EQ(field(field(value, 8), 8), "# first run");
  EXPECT_EQ(field(field(field(value, 9), 1), 1), "text");
}

TEST_F(Summaries, AFolderThatCannotBeMadeIsRefused) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/file") << "x";
  expect_words(text_of<ValueError>([&] { SummaryWriter w(folder + "/file/runs"); }),
               {"SummaryWriter", "file/runs"});
}

}  // namespace
