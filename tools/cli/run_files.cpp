// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string_view>

#include "cases.h"
#include "programs.h"
#include "tenon/jit/npz.h"
#include "tenon/npy.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/serialize.h"

namespace tenon::command {
namespace {

bool ends_with(const std::string& file, std::string_view extension) {
  return file.size() >= extension.size() &&
         file.compare(file.size() - extension.size(), extension.size(), extension) == 0;
}

// An array of NumPy is the first argument, and those that it numbers itself, arr_0, are in order.
std::map<std::string, Tensor> read_inputs(const std::string& file) {
  if (ends_with(file, ".npy")) return {{"in.0", load_npy(file)}};
  if (!ends_with(file, ".npz")) return read_tensors(file);
  std::map<std::string, Tensor> out;
  for (auto& [name, array] : jit::load_npz(file))
    out[name.rfind("arr_", 0) == 0 ? "in." + name.substr(4) : name] = std::move(array);
  return out;
}

// The tensors of a file as values of types: "x" is a tensor or number, "x.0" and "x.1" are the
// parts of a list or tuple, and "x.mask" is a value of a dictionary.
class ArgumentReader {
 public:
  ArgumentReader(const std::string& file, const Device& device)
      : file_(file), device_(device), tensors_(read_inputs(file)) {}

  bool has(const std::string& name) const { return tensors_.count(name) || has_parts(name); }
  IValue read(const std::string& name, const jit::TypePtr& type) {
    if (type && type->is(jit::TypeKind::Optional)) return read(name, type->element());
    const auto at = tensors_.find(name);
    if (at != tensors_.end()) return leaf(*at, type);
    return is_dict(name, type) ? dict(name, type) : sequence(name, type);
  }
  // Each tensor is a part of an argument.
  void check_all_read(const jit::Method& method) const {
    for (const auto& [name, t] : tensors_) {
      if (read_.count(name)) continue;
      std::string all;
      const auto& arguments = method.function().schema().arguments;
      for (std::size_t i = 1; i < arguments.size(); ++i)
        all += core::join(i > 1 ? ", " : "", arguments[i].name, " (in.", i - 1, ")");
      throw ValueError(core::join("run: ", file_, ": '", name, "' is not an argument of ",
                                  method.name(), ", whose arguments are ", all));
    }
  }

 private:
  bool has_parts(const std::string& name) const {
    const auto at = tensors_.lower_bound(name + ".");
    return at != tensors_.end() && at->first.compare(0, name.size() + 1, name + ".") == 0;
  }
  bool is_dict(const std::string& name, const jit::TypePtr& type) const {
    if (type && !type->is(jit::TypeKind::Any)) return type->is(jit::TypeKind::Dict);
    return !has(name + ".0");
  }
  static jit::TypePtr part_type(const jit::TypePtr& type, std::size_t i) {
    if (!type || type->contained().empty()) return nullptr;
    return type->contained()[std::min(i, type->contained().size() - 1)];
  }
  IValue leaf(const std::pair<const std::string, Tensor>& at, const jit::TypePtr& type) {
    read_.insert(at.first);
    const jit::TypeKind kind = type ? type->kind() : jit::TypeKind::Tensor;
    if (kind == jit::TypeKind::Int) return at.second.item<int64_t>();
    if (kind == jit::TypeKind::Float) return at.second.item<double>();
    if (kind == jit::TypeKind::Bool) return at.second.item<bool>();
    return at.second.to(device_);
  }
  IValue sequence(const std::string& name, const jit::TypePtr& type) {
    std::vector<IValue> items;
    for (std::string part = name + ".0"; has(part); part = core::join(name, ".", items.size()))
      items.push_back(read(part, part_type(type, items.size())));
    if (!type || !type->is(jit::TypeKind::Tuple)) return items;
    return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items)));
  }
  IValue dict(const std::string& name, const jit::TypePtr& type) {
    const bool numbered = type && type->contained().at(0)->is(jit::TypeKind::Int);
    auto made = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
    const std::size_t start = name.size() + 1;
    for (auto at = tensors_.lower_bound(name + ".");
         at != tensors_.end() && at->first.compare(0, start, name + ".") == 0; ++at) {
      const std::string key = at->first.substr(start, at->first.find('.', start) - start);
      if (numbered)
        made->insert_or_assign(int64_t{std::stoll(key)},
                               read(name + "." + key, part_type(type, 1)));
      else
        made->insert_or_assign(key, read(name + "." + key, part_type(type, 1)));
    }
    return made;
  }

  const std::string& file_;
  const Device& device_;
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> read_;
};

// Each has memory of its own: a safetensors file would have one of those that share it.
void collect(const IValue& v, jit::NamedArrays& out) {
  const auto add = [&](const Tensor& given) {
    Tensor t = given.detach().to(kCPU).contiguous();
    for (const auto& item : out)
      if (item.second.storage().is_alias_of(t.storage())) {
        t = t.clone();
        break;
      }
    out.emplace_back("out." + std::to_string(out.size()), t);
  };
  if (v.isTensor()) {
    add(v.toTensor());
  } else if (v.isDouble()) {
    add(tensor(v.toDouble(), kDouble));
  } else if (v.isInt()) {
    add(tensor(v.toInt(), kLong));
  } else if (v.isBool()) {
    add(tensor(v.toBool(), kBool));
  } else if (v.isList()) {
    for (const IValue& e : v.toListRef().items) collect(e, out);
  } else if (v.isTuple()) {
    for (const IValue& e : v.toTupleRef().items) collect(e, out);
  } else if (v.isGenericDict()) {
    for (const auto& item : v.toDictRef().items()) collect(item.second, out);
  } else {
    TENON_CHECK(v.isNone(), ValueError, "run: a result of kind ", v.tagKind(),
                " cannot be written as a tensor");
  }
}

}  // namespace

std::vector<IValue> read_arguments(const std::string& file, const jit::Method& method,
                                   const Device& device) {
  ArgumentReader reader(file, device);
  const std::vector<jit::Argument>& arguments = method.function().schema().arguments;
  std::vector<IValue> out;
  std::size_t given = 0;  // up to the last one that the file has
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const jit::Argument& a = arguments[i];
    const std::string place = core::join("in.", i - 1), name = reader.has(place) ? place : a.name;
    const bool has = reader.has(name);
    out.push_back(has ? reader.read(name, a.type) : a.default_value.value_or(IValue()));
    if (has) given = i;
  }
  reader.check_all_read(method);
  for (std::size_t i = 1; i < given; ++i)
    TENON_CHECK(arguments[i].default_value || !out[i - 1].isNone(), ValueError, "run: ", file,
                " has no argument '", arguments[i].name, "' (in.", i - 1, ")");
  out.resize(given);
  return out;
}

void write_results(const std::string& file, const IValue& result) {
  jit::NamedArrays all;
  collect(result, all);
  if (ends_with(file, ".npz")) return jit::save_npz(all, file);
  if (ends_with(file, ".npy")) {
    TENON_CHECK(all.size() == 1, ValueError, "run: ", file, " holds one array, and there are ",
                all.size(), " results; write them to a .npz or .safetensors file");
    return save_npy(all[0].second, file);
  }
  serialize::OutputArchive archive;
  for (const auto& [name, value] : all) archive.write(name, value);
  archive.save_to(file);
}

}  // namespace tenon::command
