// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calling an op by its name: those that plugins register have no function of their own.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// An argument of such a call; it borrows what it is made from until the call returns.
class TENON_API CallArgument {
 public:
  CallArgument(std::nullopt_t = std::nullopt) {
  }  // NOLINT: as the others, from what a function would take
  CallArgument(const Tensor& t);
  CallArgument(TensorList list);
  CallArgument(const std::vector<Tensor>& list) : CallArgument(TensorList(list)) {}
  CallArgument(const Scalar& s) : value_(s.abi()) {}
  CallArgument(double v) : CallArgument(Scalar(v)) {}
  CallArgument(int64_t v) : CallArgument(Scalar(v)) {}
  CallArgument(int v) : CallArgument(Scalar(v)) {}
  CallArgument(bool v);
  CallArgument(IntArrayRef v);
  CallArgument(const std::vector<int64_t>& v) : CallArgument(IntArrayRef(v)) {}
  CallArgument(ArrayRef<double> v);
  CallArgument(std::string_view v);
  CallArgument(const char* v) : CallArgument(std::string_view(v)) {}
  CallArgument(ScalarType t);
  CallArgument(Device d);
  CallArgument(Layout l);

  const tn_value& abi();  // valid while this lives

 private:
  tn_value value_{};
  std::vector<const tn_tensor*> list_;
};

// "vendor::name.overload" or "add.Tensor" of the build, with the arguments of its schema; those
// left out at the end take their defaults. Recorded for backward as a function's call is. The op's
// results; a result that is not a tensor is a TypeError, as are arguments of other types than the
// schema's.
TENON_API std::vector<Tensor> call(std::string_view op,
                                   std::initializer_list<CallArgument> arguments);

}  // namespace tenon
