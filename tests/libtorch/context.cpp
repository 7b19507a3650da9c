// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a program asks and tells of the process, and of devices.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

TEST(Context, PrecisionOfProducts) {
  auto& context = at::globalContext();
  const auto before = context.float32MatmulPrecision();
  EXPECT_EQ(before, at::Float32MatmulPrecision::HIGHEST);
  context.setFloat32MatmulPrecision("medium");
  EXPECT_EQ(context.float32MatmulPrecision(), at::Float32MatmulPrecision::MEDIUM);
  EXPECT_TRUE(context.allowTF32CuBLAS());
  context.setFloat32MatmulPrecision("high");
  EXPECT_EQ(context.float32MatmulPrecision(), at::Float32MatmulPrecision::HIGH);
  EXPECT_THROW(context.setFloat32MatmulPrecision("low"), c10::ValueError);
  context.setFloat32MatmulPrecision(before);
  EXPECT_FALSE(context.allowTF32CuBLAS());
}

TEST(Context, Switches) {
  auto& context = at::globalContext();
  EXPECT_TRUE(context.userEnabledCuDNN() && context.userEnabledFlashSDP());
  context.setUserEnabledCuDNN(false);
  context.setSDPUseFlash(false);
  EXPECT_FALSE(context.userEnabledCuDNN() || context.userEnabledFlashSDP());
  EXPECT_TRUE(context.userEnabledMathSDP());
  context.setUserEnabledCuDNN(true);
  context.setSDPUseFlash(true);
  using Option = at::CuBLASReductionOption;
  EXPECT_EQ(context.allowFP16ReductionCuBLAS(), Option::AllowReducedPrecisionWithSplitK);
  context.setAllowFP16ReductionCuBLAS(false);
  EXPECT_EQ(context.allowFP16ReductionCuBLAS(), Option::DisallowReducedPrecisionAllowSplitK);
  context.setAllowFP16ReductionCuBLAS(true);
}

TEST(Context, WhatThereIs) {
  EXPECT_TRUE(at::hasLAPACK());
  EXPECT_FALSE(at::hasMAGMA() || at::hasOpenMP());
  EXPECT_EQ(at::globalContext().hasCuDNN(), torch::cuda::cudnn_is_available());
  EXPECT_TRUE(torch::cuda::is_available() || !torch::cuda::cudnn_is_available());
  EXPECT_FALSE(at::globalContext().hasXLA());
  int called = 0;
  at::intraop_launch([&] { ++called; });
  EXPECT_EQ(called, 1);
}

TEST(Context, DevicesOfTensors) {
  const auto x = torch::ones({1});
  EXPECT_EQ(at::device_of(x), torch::Device("cpu"));
  EXPECT_FALSE(at::device_of(torch::Tensor()));
  EXPECT_EQ(at::device_of(std::vector<torch::Tensor>{x}), torch::Device("cpu"));
  EXPECT_FALSE(at::device_of(std::vector<torch::Tensor>()));
  EXPECT_FALSE(at::device_of(c10::optional<torch::Tensor>()));
}

}  // namespace
