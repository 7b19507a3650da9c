// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The part of Python's pickle that archives use, protocols 2 to 5. Classes and functions are known
// by a fixed list: the reader is told of every other name, and decides.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ivalue.h"

namespace tenon::jit::formats {

// What the reader of an archive says about names in a pickle.
struct UnpickleHooks {
  // A new object of class "__torch__.M", and then its state (a dictionary of attributes, or what
  // __setstate__ takes): returns the object. Called once the state is read.
  std::function<IValue(const std::string& cls, const IValue& state)> build_object;
  // An object that was named but has no state yet, for those that refer to themselves: refused
  // where null.
  // A call of "module.name" with arguments that is not in the fixed list (an enum, a named tuple).
  std::function<IValue(const std::string& global, const std::vector<IValue>& args)> call_global;
  // ("storage", "FloatStorage", key, location, numel) -> a tensor of bytes or of the dtype, of
  // numel elements.
  std::function<Tensor(const std::string& storage_type, const std::string& key,
                       const std::string& location, int64_t numel)>
      load_storage;
};

// Depth, memo and sizes are bounded; cyclic values are refused. Errors name the opcode and its
// position; the caller adds the entry.
IValue unpickle(std::string_view bytes, const UnpickleHooks& hooks);

struct PickleHooks {
  // Writes the storage somewhere and returns its key.
  std::function<std::string(const Tensor& t)> save_storage;
};
std::string pickle(const IValue& v, const PickleHooks& hooks);

}  // namespace tenon::jit::formats
