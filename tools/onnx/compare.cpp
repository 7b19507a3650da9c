// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <cmath>
#include <fstream>
#include <iterator>

#include "onnx/import/tensors.h"
#include "onnx/proto/read.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

IValue of_sequence(const pb::SequenceProto& s) {
  const ExternalData none;
  TENON_CHECK(s.map_values_size() == 0 && s.sparse_tensor_values_size() == 0, NotImplementedError,
              "a sequence of maps or sparse tensors");
  if (s.sequence_values_size() > 0) {
    std::vector<IValue> items;
    for (const auto& v : s.sequence_values()) items.push_back(of_sequence(v));
    return items;
  }
  std::vector<Tensor> items;
  for (const auto& t : s.tensor_values()) items.push_back(read_tensor(t, none));
  return items;
}

IValue of_optional(const pb::OptionalProto& o) {
  if (o.has_tensor_value()) return read_tensor(o.tensor_value(), ExternalData());
  if (o.has_sequence_value()) return of_sequence(o.sequence_value());
  if (o.has_optional_value()) return of_optional(o.optional_value());
  return {};
}

std::string compare_tensors(const Tensor& got, const Tensor& expected, double rtol, double atol) {
  if (got.scalar_type() != expected.scalar_type())
    return core::join("dtype ", dtype_name(got.scalar_type()), ", expected ",
                      dtype_name(expected.scalar_type()));
  if (got.sizes() != expected.sizes())
    return core::join("shape ", got.sizes(), ", expected ", expected.sizes());
  const bool complex = isComplexType(got.scalar_type());
  // Two units of bfloat16, as the project's own runner allows.
  if (got.scalar_type() == kBFloat16) rtol = std::max(rtol, 1.0 / 64);
  const ScalarType wide = complex ? kComplexDouble : kDouble;
  Tensor a = got.detach().cpu().to(wide), b = expected.to(wide);
  if (complex) {
    a = view_as_real(a.contiguous());
    b = view_as_real(b.contiguous());
  }
  a = a.contiguous();
  b = b.contiguous();
  const double *pa = a.data_ptr<double>(), *pb = b.data_ptr<double>();
  double worst = 0;
  int64_t wrong = 0, at = -1;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const bool equal = pa[i] == pb[i] || (std::isnan(pa[i]) && std::isnan(pb[i]));
    const double off = std::fabs(pa[i] - pb[i]);
    if (equal || (std::isfinite(off) && off <= atol + rtol * std::fabs(pb[i]))) continue;
    ++wrong;
    if (at < 0 || off > worst) {
      worst = off;
      at = i;
    }
  }
  if (wrong == 0) return {};
  return core::join(wrong, " of ", a.numel(), " elements differ, element ", at, " is ", pa[at],
                    ", expected ", pb[at]);
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TENON_CHECK(in, ValueError, path, " cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
}

IValue read_value(const std::string& path, const pb::TypeProto& type) {
  const std::string bytes = read_file(path);
  if (type.has_sequence_type()) {
    pb::SequenceProto s;
    parse_message(bytes, s, path);
    return of_sequence(s);
  }
  if (type.has_optional_type()) {
    pb::OptionalProto o;
    parse_message(bytes, o, path);
    return of_optional(o);
  }
  TENON_CHECK(!type.has_map_type(), NotImplementedError, "a map");
  pb::TensorProto t;
  parse_message(bytes, t, path);
  return read_tensor(t, ExternalData());
}

std::string compare_values(const IValue& got, const IValue& expected, double rtol, double atol) {
  if (expected.isTensor()) {
    if (!got.isTensor()) return "a " + got.tagKind() + ", expected a tensor";
    return compare_tensors(got.toTensor(), expected.toTensor(), rtol, atol);
  }
  if (expected.isList()) {
    if (!got.isList()) return "a " + got.tagKind() + ", expected a list";
    const auto &a = got.toListRef().items, &b = expected.toListRef().items;
    if (a.size() != b.size()) return core::join("a list of ", a.size(), ", expected ", b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::string e = compare_values(a[i], b[i], rtol, atol); !e.empty())
        return core::join("element ", i, ": ", e);
    return {};
  }
  return got.isNone() ? std::string() : "a " + got.tagKind() + ", expected none";
}

}  // namespace tenon::onnx
