// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What kernels of libtorch's extensions ask of tensors.
#include <gtest/gtest.h>
#include <torch/extension.h>

#include <sstream>

namespace {

TEST(Extensions, TypesOfTensors) {
  const auto x = torch::ones({2, 3}, torch::kDouble);
  EXPECT_EQ(&x.type(), &at::CPU(at::kDouble));
  EXPECT_EQ(x.type(), "tenon.DoubleTensor");
  EXPECT_FALSE(x.type().is_cuda() || x.type().is_sparse());
  EXPECT_EQ(x.type().scalarType(), torch::kDouble);
  EXPECT_TRUE(x.is_type("tenon.DoubleTensor"));
  const std::string text = x.type();
  EXPECT_EQ(text, x.toString());
  EXPECT_EQ(torch::zeros({2}, x.type()).dtype(), torch::kDouble);
  std::size_t size = 0;
  AT_DISPATCH_FLOATING_TYPES(x.type(), "size", [&] { size = sizeof(scalar_t); });
  EXPECT_EQ(size, 8u);
}

// Tables of functions by device type have this many entries.
TEST(Extensions, NumbersOfDeviceTypes) {
  for (int i = 0; i < static_cast<int>(at::DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES); ++i) {
    const auto type = static_cast<at::DeviceType>(i);
    EXPECT_EQ(at::Device(c10::DeviceTypeName(type, true)).type(), type);
  }
  EXPECT_EQ(at::DeviceType::PrivateUse1, at::kPrivateUse1);
  EXPECT_EQ(static_cast<int>(at::kXLA), 9);
}

TEST(Extensions, Addresses) {
  const auto x = torch::ones({3});
  const c10::DataPtr address = x.storage().data_ptr();
  EXPECT_EQ(address.get(), x.data_ptr());
  EXPECT_EQ(static_cast<float*>(address)[2], 1.f);
  EXPECT_TRUE(address && address.get_context());
  EXPECT_EQ(address.device(), torch::kCPU);
  float data[2] = {1, 2};
  const auto borrowed = torch::from_blob(data, {2});
  EXPECT_EQ(borrowed.storage().data_ptr().get(), data);
  EXPECT_EQ(borrowed.storage().data_ptr().get_context(), nullptr);
}

TEST(Extensions, Rows) {
  const auto x = torch::arange(6, torch::kFloat).view({2, 3});
  const at::TensorAccessor<float, 1, at::DefaultPtrTraits> row = x.accessor<float, 2>()[1];
  EXPECT_EQ(*decltype(row)::PtrType(row.data()), 3.f);
}

TEST(Extensions, SmallTypes) {
  std::ostringstream out;
  out << at::Half(3.5f) << at::BFloat16(-2.f);
  EXPECT_EQ(out.str(), "3.5-2");
  const std::vector<int64_t> sizes{1, 2, 3};
  const at::IntArrayRef list = sizes;
  EXPECT_EQ(std::vector<int64_t>(list.rbegin(), list.rend()), (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(at::indexing::TensorIndex(2).type(), at::indexing::TensorIndexType::SymInt);
}

TEST(Extensions, FunctionsAsMethods) {
  const auto x = torch::rand({3});
  const auto chained = x.m(torch::neg).m(torch::mse_loss, x, at::Reduction::Sum);
  EXPECT_TRUE(torch::equal(chained, torch::mse_loss(-x, x, at::Reduction::Sum)));
}

TEST(Extensions, MapsInTheOrderOfInsertion) {
  ska_ordered::order_preserving_flat_hash_map<std::string, int> words = {{"b", 1}, {"a", 2}};
  words["c"] = 3;
  EXPECT_FALSE(words.emplace("b", 7).second);
  words.insert_or_assign("a", 5);
  const auto text = [](const auto& map) {
    std::string out;
    for (const auto& [key, value] : map) out += key + std::to_string(value);
    return out;
  };
  EXPECT_EQ(text(words), "b1a5c3");
  const auto copy = words;
  EXPECT_EQ(words.erase("a"), 1u);
  EXPECT_EQ(words.erase("a"), 0u);
  EXPECT_EQ(text(words), "b1c3");
  EXPECT_EQ(text(copy), "b1a5c3");  // places of its own
  EXPECT_EQ(copy.at("a"), 5);
  EXPECT_THROW(words.at("a"), std::out_of_range);
  EXPECT_TRUE(words.contains("c") && !words.contains("a") && words != copy);
  auto moved = std::move(words);
  moved["d"] = 4;
  EXPECT_EQ(text(moved), "b1c3d4");
  EXPECT_EQ(moved.find("c")->second, 3);
  moved.erase(moved.begin(), moved.find("d"));
  EXPECT_EQ(text(moved), "d4");
}

}  // namespace
