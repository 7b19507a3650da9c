// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files of torch.save: state dictionaries and other values made of tensors, numbers, strings,
// lists, tuples and dictionaries. The reader knows a fixed list of types and runs nothing; a file
// that names another type is refused with that name.
//
//   for (auto& item : jit::load_state_dict("model.pt")) ...
//   jit::save_state_dict(net->state_dict(), "model.pt");  // torch.load reads it
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/function_ref.h"
#include "tenon/ivalue.h"
#include "tenon/ordered_dict.h"

namespace tenon {

// libtorch's functions: a value as bytes that torch.load reads, and back from either form.
// NotImplementedError for values that the format has no place for.
TENON_API std::vector<char> pickle_save(const IValue& value);
TENON_API IValue pickle_load(const std::vector<char>& data);

namespace jit {

// Where tensors of a file go. By default where they were saved, or to the host where there is no
// such device. A device: all of them there. A map: from names as the file has them ("cuda:1") to
// names; what it lacks goes where it was. A function: of the name in the file.
class TENON_API DeviceMap {
 public:
  DeviceMap() = default;
  DeviceMap(Device device);
  DeviceMap(DeviceType device) : DeviceMap(Device(device)) {}
  DeviceMap(const char* device) : DeviceMap(Device(device)) {}
  DeviceMap(const std::string& device) : DeviceMap(Device(device)) {}
  DeviceMap(std::map<std::string, std::string> names);
  DeviceMap(SharedFunction<Device(const std::string& location)> function)
      : function_(std::move(function)) {}
  // ValueError for a name of no device, also for one that was asked for and is not here.
  Device place(const std::string& location) const;

 private:
  SharedFunction<Device(const std::string&)> function_;
};

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
