// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files of torch.save: state dictionaries and other values made of tensors, numbers, strings,
// lists, tuples and dictionaries. The reader knows a fixed list of types and runs nothing; a file
// that names another type is refused with that name.
//
//   for (auto& item : jit::load_state_dict("model.pt")) ...
//   jit::save_state_dict(net->state_dict(), "model.pt");  // torch.load reads it
#pragma once

#include <string>
#include <vector>

#include "tenon/device_map.h"
#include "tenon/ivalue.h"
#include "tenon/ordered_dict.h"

namespace tenon {

// libtorch's functions: a value as bytes that torch.load reads, and back from either form.
// NotImplementedError for values that the format has no place for.
TENON_API std::vector<char> pickle_save(const IValue& value);
TENON_API IValue pickle_load(const std::vector<char>& data);

namespace jit {

using tenon::DeviceMap;
using StateDict = OrderedDict<std::string, Tensor>;

// What torch.save wrote: the zip archives of torch since 1.6, and what was before. Tensors that
// shared memory share it again. ValueError names the file and what is wrong with it.
TENON_API IValue load_pickle(const std::string& filename, const DeviceMap& map_location = {});
TENON_API void save_pickle(const IValue& value, const std::string& filename);

// A dictionary of tensors by name. A checkpoint that has it under `key`, "state_dict" for example,
// is read so. ValueError: there is something beside tensors.
TENON_API StateDict load_state_dict(const std::string& filename, const DeviceMap& map_location = {},
                                    const std::string& key = "");
TENON_API void save_state_dict(const StateDict& state, const std::string& filename);

}  // namespace jit
}  // namespace tenon
