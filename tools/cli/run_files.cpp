// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "cases.h"
#include "programs.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/serialize.h"

namespace tenon::command {
namespace {

IValue as_argument(const Tensor& t, const jit::TypePtr& type, const Device& device) {
  const jit::TypeKind kind = !type                               ? jit::TypeKind::Tensor
                             : type->is(jit::TypeKind::Optional) ? type->element()->kind()
                                                                 : type->kind();
  if (kind == jit::TypeKind::Int) return t.item<int64_t>();
  if (kind == jit::TypeKind::Float) return t.item<double>();
  if (kind == jit::TypeKind::Bool) return t.item<bool>();
  return t.to(device);
}

void write_value(serialize::OutputArchive& archive, const IValue& v, int& next) {
  const auto write = [&](const Tensor& t) {
    archive.write("out." + std::to_string(next++), t.detach().to(kCPU).contiguous());
  };
  if (v.isTensor()) {
    write(v.toTensor());
  } else if (v.isDouble()) {
    write(tensor(v.toDouble(), kDouble));
  } else if (v.isInt()) {
    write(tensor(v.toInt(), kLong));
  } else if (v.isBool()) {
    write(tensor(v.toBool(), kBool));
  } else if (v.isList()) {
    for (const IValue& e : v.toListRef().items) write_value(archive, e, next);
  } else if (v.isTuple()) {
    for (const IValue& e : v.toTupleRef().items) write_value(archive, e, next);
  } else if (v.isGenericDict()) {
    for (const auto& item : v.toDictRef().items()) write_value(archive, item.second, next);
  } else {
    TENON_CHECK(v.isNone(), ValueError, "run: a result of kind ", v.tagKind(),
                " cannot be written as a tensor");
  }
}

}  // namespace

std::vector<IValue> read_arguments(const std::string& file, const jit::Method& method,
                                   const Device& device) {
  const std::map<std::string, Tensor> tensors = read_tensors(file);
  const std::vector<jit::Argument>& arguments = method.function().schema().arguments;
  std::vector<IValue> out;
  for (auto it = tensors.find("in.0"); it != tensors.end();
       it = tensors.find("in." + std::to_string(out.size()))) {
    const std::size_t at = out.size() + 1;  // after self
    out.push_back(
        as_argument(it->second, at < arguments.size() ? arguments[at].type : nullptr, device));
  }
  TENON_CHECK(out.size() == tensors.size(), ValueError, "run: ", file,
              " must have the tensors in.0, in.1, ... and no others");
  return out;
}

void write_results(const std::string& file, const IValue& result) {
  serialize::OutputArchive archive;
  int next = 0;
  write_value(archive, result, next);
  archive.save_to(file);
}

}  // namespace tenon::command
