// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// For tests of programs and plugins, as torch.testing: comparison of tensors within the tolerances
// of their dtype, tensors of random numbers, and the same values by other strides. gradcheck is in
// tenon/gradcheck.h.
//
//   testing::assert_close(net(x), expected);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/arg.h"
#include "tenon/gradcheck.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::testing {

// What assert_close throws: the message says what differs, how many elements and the worst ones.
class TENON_API AssertionError : public Error {
 public:
  explicit AssertionError(std::string message, SourceSite site = SourceSite::current())
      : Error(std::move(message), TN_ERROR, site) {}
};

struct AssertCloseOptions {
  // |actual - expected| <= atol + rtol * |expected|. Both or neither is given; without them those
  // of default_tolerances of the two dtypes, whichever are larger.
  TENON_ARG(std::optional<double>, rtol) = std::nullopt;
  TENON_ARG(std::optional<double>, atol) = std::nullopt;
  // Whether NaN is close to NaN.
  TENON_ARG(bool, equal_nan) = false;
  // Whether devices, dtypes, layouts and strides must be the same. Values of different dtypes are
  // compared in their promoted one, of different devices on the host, of different layouts strided.
  TENON_ARG(bool, check_device) = true;
  TENON_ARG(bool, check_dtype) = true;
  TENON_ARG(bool, check_layout) = true;
  TENON_ARG(bool, check_stride) = false;
  // In place of the message; empty for the usual one.
  TENON_ARG(std::string, msg);
};

struct Tolerances {
  double rtol, atol;
};
// Those of torch.testing: float16 1e-3 and 1e-5, bfloat16 1.6e-2 and 1e-5, float32 and complex64
// 1.3e-6 and 1e-5, float64 and complex128 1e-7 and 1e-7, else zeros.
TENON_API Tolerances default_tolerances(ScalarType dtype);

// AssertionError unless the two are close. ValueError for one tolerance without the other or an
// undefined tensor beside a defined one.
TENON_API void assert_close(const Tensor& actual, const Tensor& expected,
                            const AssertCloseOptions& options = {});
// Item by item; the message names the first item that differs.
TENON_API void assert_close(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                            const AssertCloseOptions& options = {});

// Uniform random numbers of [low, high), drawn on the host by a generator with this seed: the same
// each time and on every device. Without bounds [-9, 9) for floating dtypes, -9 to 9 for signed
// integers, 0 to 9 for uint8, both values of bool.
TENON_API Tensor make_tensor(IntArrayRef size, const TensorOptions& options = {},
                             std::optional<double> low = std::nullopt,
                             std::optional<double> high = std::nullopt, uint64_t seed = 0);

// Tensors with the values, sizes and requires_grad of a strided t, and memory of their own. What
// lies between their elements is NaN, or 12, or true.
// Each second element of the memory; t itself where it is not contiguous.
TENON_API Tensor noncontiguous_like(const Tensor& t);
// The first dimension is the densest.
TENON_API Tensor transposed_like(const Tensor& t);
// Contiguous, with a storage offset of one element.
TENON_API Tensor offset_like(const Tensor& t);

}  // namespace tenon::testing
