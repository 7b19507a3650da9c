// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>

#include "content.h"
#include "file_writer.h"
#include "mapped_file.h"
#include "runtime/base/settings.h"
#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"

namespace tenon::serialize {

using detail::Content;

OutputArchive::OutputArchive() : content_(std::make_unique<Content>()) {}
OutputArchive::OutputArchive(OutputArchive&&) noexcept = default;
OutputArchive& OutputArchive::operator=(OutputArchive&&) noexcept = default;
OutputArchive::~OutputArchive() = default;

namespace {

void check_key(const Content& content, const std::string& key) {
  TENON_CHECK(!key.empty() && key.size() <= detail::kMaxName, ValueError,
              "OutputArchive::write: a key of ", key.size(), " bytes; expected 1 to ",
              detail::kMaxName);
  TENON_CHECK(key != "__metadata__" &&
                  key.compare(0, detail::kHiddenPrefix.size(), detail::kHiddenPrefix) != 0,
              ValueError, "OutputArchive::write: the key '", key, "' is reserved");
  TENON_CHECK(!content.taken(key), ValueError, "OutputArchive::write: the key '", key,
              "' already exists");
}

}  // namespace

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  check_key(*content_, key);
  TENON_CHECK(tensor.defined(), ValueError, "OutputArchive::write: the tensor for '", key,
              "' is undefined");
  content_->order.push_back(key);
  content_->tensors.emplace(key, tensor);
}

void OutputArchive::write(const std::string& key, const IValue& value) {
  if (value.isTensor()) return write(key, value.toTensor());
  check_key(*content_, key);
  if (value.isTensorList()) {
    OutputArchive list;
    for (std::size_t i = 0; i < value.toTensorVector().size(); ++i) {
      list.write(std::to_string(i), value.toTensorVector()[i]);
    }
    return write(key, list);
  }
  content_->values.emplace(key, value);
}

void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  check_key(*content_, key);
  std::string prefix = key + ".";
  for (const auto& name : nested.content_->order)
    write(prefix + name, nested.content_->tensors.at(name));
  for (const auto& [name, value] : nested.content_->values) write(prefix + name, value);
  for (const auto& name : nested.content_->archives) content_->archives.insert(prefix + name);
  content_->archives.insert(key);
}

void OutputArchive::save_to(const std::function<std::size_t(const void*, std::size_t)>& func) {
  detail::write_safetensors(*content_, [&](const void* data, std::size_t bytes) {
    TENON_CHECK(func(data, bytes) == bytes, ValueError, "save: the writer did not take all of ",
                bytes, " bytes");
  });
}

void OutputArchive::save_to(std::ostream& stream) {
  detail::write_safetensors(*content_, [&](const void* data, std::size_t bytes) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    TENON_CHECK(stream.good(), ValueError, "save: the stream refuses to take ", bytes, " bytes");
  });
}

void OutputArchive::save_to(const std::string& filename) {
  detail::FileWriter file(filename);
  const auto put = [&](const void* data, std::size_t bytes) { file.write(data, bytes); };
  const auto patch = [&](uint64_t at, const void* data, std::size_t bytes) {
    file.rewrite(at, data, bytes);
  };
  if (file.rewritable())
    detail::write_safetensors(*content_, put, patch);
  else
    detail::write_safetensors(*content_, put);
  file.commit();
}

InputArchive::InputArchive() : content_(std::make_shared<Content>()) {}
InputArchive::InputArchive(InputArchive&&) noexcept = default;
InputArchive& InputArchive::operator=(InputArchive&&) noexcept = default;
InputArchive::~InputArchive() = default;

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  auto it = content_->tensors.find(prefix_ + key);
  if (it == content_->tensors.end()) return false;
  const Tensor& saved = it->second;
  if (!tensor.defined()) {
    tensor = saved;
    return true;
  }
  TENON_CHECK(tensor.sizes() == saved.sizes(), ValueError, "load: '", prefix_ + key, "' has sizes ",
              saved.sizes(), " in the file, but the tensor to load into has ", tensor.sizes());
  TENON_CHECK(tensor.layout() == saved.layout(), ValueError, "load: '", prefix_ + key,
              "' has layout ", toString(saved.layout()),
              " in the file, but the tensor to load into has ", toString(tensor.layout()));
  NoGradGuard no_grad;
  tensor.copy_(saved);
  return true;
}

bool InputArchive::try_read(const std::string& key, IValue& value) {
  if (auto it = content_->values.find(prefix_ + key); it != content_->values.end()) {
    value = it->second;
    return true;
  }
  if (auto it = content_->tensors.find(prefix_ + key); it != content_->tensors.end()) {
    value = it->second;
    return true;
  }
  InputArchive list;
  if (!try_read(key, list)) return false;
  std::vector<Tensor> tensors;
  Tensor one;
  for (std::size_t i = 0; list.try_read(std::to_string(i), one); ++i)
    tensors.push_back(std::exchange(one, Tensor()));
  value = tensors;
  return true;
}

bool InputArchive::try_read(const std::string& key, InputArchive& archive) {
  std::string prefix = prefix_ + key + ".";
  auto begins = [&](const auto& map) {
    auto it = map.lower_bound(prefix);
    if (it == map.end()) return false;
    const std::string* name;
    if constexpr (std::is_same_v<std::decay_t<decltype(*it)>, std::string>)
      name = &*it;
    else
      name = &it->first;
    return name->compare(0, prefix.size(), prefix) == 0;
  };
  if (!content_->archives.count(prefix_ + key) && !begins(content_->tensors) &&
      !begins(content_->values))
    return false;
  archive.content_ = content_;
  archive.prefix_ = prefix;
  return true;
}

namespace {

std::string known_keys(InputArchive& archive) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& k : archive.keys()) {
    if (++shown > 8) return out + ", ...";
    out += (out.empty() ? "" : ", ") + k;
  }
  return out.empty() ? "none" : out;
}

}  // namespace

void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  TENON_CHECK(try_read(key, tensor, is_buffer), ValueError, "No such serialized tensor '",
              prefix_ + key, "'; there are: ", known_keys(*this));
}
void InputArchive::read(const std::string& key, IValue& value) {
  TENON_CHECK(try_read(key, value), ValueError, "The archive does not have a field with name '",
              prefix_ + key, "'; there are: ", known_keys(*this));
}
void InputArchive::read(const std::string& key, InputArchive& archive) {
  TENON_CHECK(try_read(key, archive), ValueError, "No such serialized submodule: '", prefix_ + key,
              "'; there are: ", known_keys(*this));
}

std::vector<std::string> InputArchive::keys() {
  std::set<std::string> found;
  // Names with a common prefix are neighbors: a file of many archives is not searched for each of
  // them.
  const auto add = [&](const auto& sorted, const auto& name_of) {
    for (auto it = sorted.lower_bound(prefix_); it != sorted.end(); ++it) {
      const std::string& name = name_of(*it);
      if (name.compare(0, prefix_.size(), prefix_) != 0) return;
      found.insert(name.substr(prefix_.size(), name.find('.', prefix_.size()) - prefix_.size()));
    }
  };
  const auto first = [](const auto& entry) -> const std::string& { return entry.first; };
  add(content_->tensors, first);
  add(content_->values, first);
  add(content_->archives, [](const std::string& name) -> const std::string& { return name; });
  return {found.begin(), found.end()};
}

namespace {

// Bytes in memory, which must live on as long as the input.
detail::Input input_of(std::string name, const char* data, std::size_t size) {
  return {std::move(name), size,
          [data](void* out, std::size_t bytes) mutable {
            std::memcpy(out, data, bytes);
            data += bytes;
          },
          nullptr};
}

// What is left of a stream that knows its length; nothing of one that does not (a pipe).
std::optional<uint64_t> bytes_left(std::istream& stream) {
  const auto here = stream.tellg();
  stream.seekg(0, std::ios::end);
  const auto end = stream.tellg();
  stream.clear(stream.rdstate() & ~std::ios::failbit);
  if (here < 0 || end < here) return std::nullopt;
  stream.seekg(here);
  return static_cast<uint64_t>(end - here);
}

Content read_stream(const std::string& name, std::istream& stream, const DeviceMap& device) {
  if (stream.good()) {
    auto size = bytes_left(stream);
    if (size && *size == 0) {  // libtorch reads from the start always
      stream.seekg(0);
      size = bytes_left(stream);
    }
    if (size) {
      return detail::read_safetensors(
          {name, *size,
           [&](void* out, std::size_t bytes) {
             stream.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
             TENON_CHECK(stream.good(), ValueError, "load: error while reading ", name);
           },
           nullptr},
          device);
    }
  }
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  TENON_CHECK(!stream.bad(), ValueError, "load: error while reading ", name);
  return detail::read_safetensors(input_of(name, bytes.data(), bytes.size()), device);
}

// A pipe that waits for its writer is opened, too; what has neither length nor end (/dev/zero) is
// refused.
void check_readable(const std::string& filename) {
  detail::check_file_name("load", filename);
  std::error_code error;
  const auto kind = std::filesystem::status(filename, error).type();
  using std::filesystem::file_type;
  TENON_CHECK(kind != file_type::not_found && kind != file_type::none && kind != file_type::unknown,
              ValueError, "load: cannot open '", filename, "': ", error.message());
  TENON_CHECK(kind == file_type::regular || kind == file_type::fifo, ValueError, "load: '",
              filename, "' is neither a plain file nor a pipe");
}

// Small files are read sooner than mapped.
bool is_mapped(const std::string& filename) {
  constexpr uintmax_t kMin = 1 << 20;
  static const bool wanted = [] {
    static const char* const kWords[] = {"0", "1"};
    return core::choice_setting("LOAD_MAPPED", kWords, 2, 1) == 1;
  }();
  std::error_code error;
  if (!wanted || !std::filesystem::is_regular_file(filename, error)) return false;
  const auto size = std::filesystem::file_size(filename, error);
  return !error && size >= kMin;
}

}  // namespace

void InputArchive::load_from(const std::string& filename, const DeviceMap& device) {
  check_readable(filename);
  if (is_mapped(filename)) {
    auto file = std::make_shared<detail::MappedFile>(filename);
    detail::Input input = input_of("'" + filename + "'", reinterpret_cast<char*>(file->data()),
                                   static_cast<std::size_t>(file->size()));
    input.mapped = std::move(file);
    content_ = std::make_shared<Content>(detail::read_safetensors(input, device));
    prefix_.clear();
    return;
  }
  errno = 0;
  std::ifstream in(filename, std::ios::binary);
  TENON_CHECK(in.good(), ValueError, "load: cannot open '", filename, "': ", std::strerror(errno));
  content_ = std::make_shared<Content>(read_stream("'" + filename + "'", in, device));
  prefix_.clear();
}

void InputArchive::load_from(std::istream& stream, const DeviceMap& device) {
  content_ = std::make_shared<Content>(read_stream("the stream", stream, device));
  prefix_.clear();
}

void InputArchive::load_from(const char* data, std::size_t size, const DeviceMap& device) {
  content_ = std::make_shared<Content>(
      detail::read_safetensors(input_of("the bytes given", data, size), device));
  prefix_.clear();
}

void InputArchive::load_from(
    const std::function<std::size_t(uint64_t, void*, std::size_t)>& read_func,
    const std::function<std::size_t()>& size_func, const DeviceMap& device) {
  uint64_t at = 0;
  const auto read = [&](void* out, std::size_t bytes) {
    const std::size_t got = read_func(at, out, bytes);
    TENON_CHECK(got == bytes, ValueError, "load: the reader gave ", got, " of ", bytes, " bytes");
    at += bytes;
  };
  content_ = std::make_shared<Content>(
      detail::read_safetensors({"the bytes given", size_func(), read, nullptr}, device));
  prefix_.clear();
}

}  // namespace tenon::serialize
