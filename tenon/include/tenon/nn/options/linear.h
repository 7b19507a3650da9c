// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/arg.h"

namespace tenon {
namespace nn {

struct IdentityOptions {};

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  // Size of the last dimension of the input.
  TENON_ARG(int64_t, in_features);
  // Size of the last dimension of the output.
  TENON_ARG(int64_t, out_features);
  // Whether a learned bias is added.
  TENON_ARG(bool, bias) = true;
};

struct FlattenOptions {
  // First dimension that is merged.
  TENON_ARG(int64_t, start_dim) = 1;
  // Last dimension that is merged.
  TENON_ARG(int64_t, end_dim) = -1;
};

struct UnflattenOptions {
  using namedshape_t = std::vector<std::pair<std::string, int64_t>>;
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  UnflattenOptions(const char* dimname, namedshape_t namedshape)
      : UnflattenOptions(std::string(dimname), std::move(namedshape)) {}
  UnflattenOptions(std::string dimname, namedshape_t namedshape)
      : dim_(0), dimname_(std::move(dimname)), namedshape_(std::move(namedshape)) {}
  // Dimension that is split.
  TENON_ARG(int64_t, dim);
  // What it is split into.
  TENON_ARG(std::vector<int64_t>, sizes);
  // Its name; empty if it is given by its number.
  TENON_ARG(std::string, dimname);
  // Names and sizes of what a dimension with a name is split into.
  TENON_ARG(namedshape_t, namedshape);
};

struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  // Size of the last dimension of the first input.
  TENON_ARG(int64_t, in1_features);
  // Size of the last dimension of the second input.
  TENON_ARG(int64_t, in2_features);
  // Size of the last dimension of the output.
  TENON_ARG(int64_t, out_features);
  // Whether a learned bias is added.
  TENON_ARG(bool, bias) = true;
};

}  // namespace nn
}  // namespace tenon
