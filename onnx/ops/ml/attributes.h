// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the operators of ai.onnx.ml share: attributes, class labels, transforms of scores.
#pragma once

#include <string>
#include <vector>

#include "onnx/import/builder.h"

namespace tenon::onnx {

std::vector<float> floats(const Call& c, std::string_view name);       // empty: not there
std::vector<std::string> texts(const Call& c, std::string_view name);  // empty: not there
// Floats, or the tensor of the attribute NAME_as_tensor; of no dimension if neither is there.
Tensor numbers(Builder& b, const Call& c, const std::string& name);
Tensor tensor_of(const std::vector<int64_t>& v);
Value* module_constant(Builder& b, const Tensor& t, const char* name);

// As TreeEnsemble numbers them; PROBIT is the quantile of the normal distribution.
enum class Transform : int64_t { None, Softmax, Logistic, SoftmaxZero, Probit };
Transform transform_of(const Call& c);
Value* transform_scores(Builder& b, Value* scores, Transform t);

// Labels of classes: integers, or texts.
struct Labels {
  Labels(const Call& c, const char* integers);
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
  std::size_t size() const { return strings.empty() ? integers.size() : strings.size(); }
  // `index`: the class of each row.
  ItemPtr of(Builder& b, Value* index) const;
};

// Two scores and the class from the one score of each row, s. Of weights that are all positive s is
// the probability of the second class, of others its distance from the decision.
struct Classified {
  Value *scores, *index;
};
Classified classify_binary(Builder& b, Value* s, bool positive, Transform t);

}  // namespace tenon::onnx
