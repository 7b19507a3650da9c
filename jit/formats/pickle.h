// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The part of Python's pickle that archives use, protocols 2 to 5. Classes and functions are known
// by a fixed list: the reader is told of every other name, and decides.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ivalue.h"
#include "tenon/jit/type.h"

namespace tenon::jit::formats {

// What the reader of an archive says about names in a pickle. A function that is null: such names
// are refused.
struct UnpickleHooks {
  // A new object of class "__torch__.M" with its state (a dictionary of attributes, or what
  // __setstate__ takes). Called once the state is read: an object cannot refer to itself.
  std::function<IValue(const std::string& cls, const IValue& state)> build_object;
  // A call of "module.name" with arguments that is not in the fixed list (an enum, a named tuple).
  std::function<IValue(const std::string& global, const std::vector<IValue>& args)> call_global;
  // ("storage", "FloatStorage", key, location, numel) -> a tensor whose storage has numel elements
  // of storage_dtype(storage_type), or bytes for "UntypedStorage". Asked again for a key, it gives
  // the same memory.
  std::function<Tensor(const std::string& storage_type, const std::string& key,
                       const std::string& location, int64_t numel)>
      load_storage;
  // The type that an annotation names, "Dict[str, __torch__.M]".
  std::function<jit::TypePtr(const std::string& annotation)> type_of;
};

// Depth, memo and sizes are bounded; cyclic values are refused. Errors name the opcode and its
// position; the caller adds the entry.
TENON_API IValue unpickle(std::string_view bytes, const UnpickleHooks& hooks);
// The first of several pickles, which is taken off `bytes`.
IValue unpickle_first(std::string_view* bytes, const UnpickleHooks& hooks);

// "FloatStorage" -> kFloat. NotImplementedError names a kind of storage that Tenon has no dtype for
// (complex, quantized).
TENON_API ScalarType storage_dtype(const std::string& storage_type);
// kFloat -> "FloatStorage".
TENON_API std::string storage_type(ScalarType dtype);
// A tensor over the memory of another, once every element is known to lie inside. ValueError
// otherwise. Sizes and strides count elements of `dtype`.
TENON_API Tensor tensor_over(const Tensor& memory, ScalarType dtype, int64_t offset,
                             IntArrayRef sizes, IntArrayRef strides);

struct PickleHooks {
  // Writes the storage somewhere and returns its key.
  std::function<std::string(const Tensor& t)> save_storage;
  // The name in the archive of an object's class, or of an enum; null: its own.
  std::function<std::string(const ivalue::Object& object)> class_name;
  std::function<std::string(const ivalue::Enum& value)> enum_name;
  // A type as the archive's code writes it; null: its annotation().
  std::function<std::string(const jit::TypePtr& type)> annotation;
  // What __getstate__ of the object gives; nothing for a dictionary of its attributes. May be null.
  std::function<std::optional<IValue>(const ivalue::Object& object)> state;
  // Lists and dictionaries as torch.save writes them, without their types.
  bool plain = false;
  // Whether a parameter requires gradients; nothing for another tensor. Null: there are none.
  std::function<std::optional<bool>(const Tensor& t)> parameter;
};
// Protocol 2, as torch writes it. ValueError for a value that contains itself, NotImplementedError
// for kinds that archives do not hold (futures, generators).
TENON_API std::string pickle(const IValue& v, const PickleHooks& hooks);

}  // namespace tenon::jit::formats
