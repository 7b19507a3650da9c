// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Saving and loading tensors, lists of tensors, modules and optimizers. Files are safetensors,
// which other programs can read; what the format has no place for (strides, shared storage,
// scalars, a checksum) is under "tenon.*" in its metadata. Nothing that could be executed is ever
// read.
//
//   save(net, "net.safetensors");
//   load(net, "net.safetensors");
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/device_map.h"
#include "tenon/ivalue.h"
#include "tenon/tensor.h"

namespace tenon::serialize {

namespace detail {
struct Content;
}

// Collects named values and writes them at once. Names of nested archives are joined by dots.
class TENON_API OutputArchive final {
 public:
  OutputArchive();
  OutputArchive(OutputArchive&&) noexcept;
  OutputArchive& operator=(OutputArchive&&) noexcept;
  ~OutputArchive();

  // ValueError for a name that is taken or longer than 1,024 bytes, and for an undefined tensor. A
  // buffer differs from a parameter only in the reader's eyes.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, OutputArchive& nested_archive);

  // A file appears whole or not at all, also where several save to one name or the machine loses
  // power: the content is written to a temporary in the same folder, synced, and renamed. Mode and
  // owner of a file that is replaced are kept. A symbolic link stays, and the file that it names is
  // replaced; other hard links keep the old content. A file without write permission is refused,
  // also to root. Devices and pipes are written as they are. ValueError names what failed.
  void save_to(const std::string& filename);
  void save_to(std::ostream& stream);
  void save_to(const std::function<std::size_t(const void*, std::size_t)>& func);

  template <class... Ts>
  void operator()(Ts&&... ts) {
    write(std::forward<Ts>(ts)...);
  }

 private:
  std::unique_ptr<detail::Content> content_;
};

// Holds all that a file has. Errors are ValueErrors that name the file and what is wrong with it.
class TENON_API InputArchive final {
 public:
  InputArchive();
  InputArchive(InputArchive&&) noexcept;
  InputArchive& operator=(InputArchive&&) noexcept;
  ~InputArchive();

  // Into a defined tensor: copies the values, which must have its sizes. Else makes a new one.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  void read(const std::string& key, IValue& value);
  void read(const std::string& key, InputArchive& archive);
  // False if the archive has no such key.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  bool try_read(const std::string& key, IValue& value);
  bool try_read(const std::string& key, InputArchive& archive);

  // Tensors are made where `map_location` says: without one on the devices that they were saved
  // from, or on the host where such a device is not here. An error of it names the tensor. A stream
  // at its end is read from its start again. A file is read once, from its start, and never held as
  // a whole in addition to its tensors; a stream that cannot be sought is.
  void load_from(const std::string& filename, const DeviceMap& map_location = {});
  void load_from(std::istream& stream, const DeviceMap& map_location = {});
  void load_from(const char* data, std::size_t size, const DeviceMap& map_location = {});
  void load_from(
      const std::function<std::size_t(uint64_t pos, void* buf, std::size_t nbytes)>& read_func,
      const std::function<std::size_t()>& size_func, const DeviceMap& map_location = {});

  std::vector<std::string> keys();  // one level; nested archives by their name

  template <class... Ts>
  void operator()(Ts&&... ts) {
    read(std::forward<Ts>(ts)...);
  }

 private:
  std::shared_ptr<const detail::Content> content_;
  std::string prefix_;
};

inline OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  archive.write("0", tensor);
  return archive;
}
inline InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}
// Anything with save(OutputArchive&) and load(InputArchive&): modules, optimizers, samplers.
template <class T>
auto operator<<(OutputArchive& archive, const T& value) -> decltype(value.save(archive), archive) {
  value.save(archive);
  return archive;
}
template <class T>
auto operator>>(InputArchive& archive, T& value) -> decltype(value.load(archive), archive) {
  value.load(archive);
  return archive;
}
// Holders and smart pointers of such.
template <class T>
auto operator<<(OutputArchive& archive, const T& value) -> decltype(value->save(archive), archive) {
  TENON_CHECK(static_cast<bool>(value.get()), ValueError,
              "save: the pointer or module holder is empty");
  value->save(archive);
  return archive;
}
template <class T>
auto operator>>(InputArchive& archive, T& value) -> decltype(value->load(archive), archive) {
  TENON_CHECK(static_cast<bool>(value.get()), ValueError,
              "load: the pointer or module holder is empty");
  value->load(archive);
  return archive;
}

}  // namespace tenon::serialize

namespace tenon {

namespace serialize {
// What archives take, so that other functions of these names can stand beside the ones below.
template <class Value>
using Saved = decltype(std::declval<OutputArchive&>() << std::declval<const Value&>());
template <class Value>
using Loaded = decltype(std::declval<InputArchive&>() >> std::declval<Value&>());
}  // namespace serialize

// `where` is a file name, a std::ostream or a function that takes bytes.
template <class Value, class... Where, class = serialize::Saved<Value>>
void save(const Value& value, Where&&... where) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<Where>(where)...);
}
template <class... Where>
void save(const std::vector<Tensor>& tensors, Where&&... where) {
  serialize::OutputArchive archive;
  for (std::size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  archive.save_to(std::forward<Where>(where)...);
}

// `where` is a file name, a std::istream or bytes and their count; a DeviceMap may
// follow, or what is converted to one: a device, a map of names, a function.
template <class Value, class... Where, class = serialize::Loaded<Value>>
void load(Value& value, Where&&... where) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<Where>(where)...);
  archive >> value;
}
// Appends.
template <class... Where>
void load(std::vector<Tensor>& tensors, Where&&... where) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<Where>(where)...);
  Tensor value;
  for (std::size_t i = 0; archive.try_read(std::to_string(i), value); ++i) {
    tensors.push_back(std::move(value));
    value = Tensor();
  }
}

}  // namespace tenon
