// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads files that anyone may have made: every length and offset is checked before it is used, arithmetic included.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "checksum.h"
#include "content.h"
#include "tenon/ops.h"

namespace tenon::serialize::detail {
namespace {

using json = nlohmann::json;

struct FormatDtype {
  std::string_view name;
  ScalarType type;
};
constexpr FormatDtype kDtypes[] = {{"BOOL", kBool},   {"U8", kUInt8},   {"I8", kInt8},     {"I16", kInt16},
                                   {"I32", kInt32},   {"I64", kInt64},  {"F16", kFloat16}, {"BF16", kBFloat16},
                                   {"F32", kFloat32}, {"F64", kFloat64}};

struct Source {
  const std::string& name;

  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (!ok) throw ValueError(core::join("load: ", name, ": ", parts...));
  }
};

// The strict part of parsing: depth, duplicate keys. The values are checked where they are used.
json parse(const Source& source, const char* what, std::string_view text) {
  std::vector<std::set<std::string>> seen;
  auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      source.check(depth < kMaxDepth, what, " nests deeper than ", kMaxDepth, " levels");
      seen.emplace_back();
    } else if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) {
      seen.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      source.check(seen.back().insert(key).second, what, " names '", key, "' twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    source.check(false, what, " is not valid JSON: ", e.what());
  }
  return {};
}

struct Entry {
  std::string name;
  ScalarType dtype = kFloat32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

uint64_t natural(const Source& source, const std::string& where, const json& v) {
  source.check(v.is_number_unsigned(), where, " is not a whole number from zero up");
  return v.get<uint64_t>();
}

std::vector<int64_t> numbers(const Source& source, const std::string& where, const json& v) {
  source.check(v.is_array() && v.size() <= core::kMaxDims, where, " is not a list of at most ", core::kMaxDims,
               " numbers");
  std::vector<int64_t> out;
  for (const auto& n : v) {
    uint64_t u = natural(source, where, n);
    source.check(u <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), where, " has a number too large");
    out.push_back(static_cast<int64_t>(u));
  }
  return out;
}

// Bytes of so many elements; a message instead of a wrap.
uint64_t checked_bytes(const Source& source, const std::string& name, const std::vector<int64_t>& shape,
                       ScalarType dtype) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  uint64_t bytes = elementSize(dtype);
  for (int64_t n : shape) {
    source.check(!__builtin_mul_overflow(bytes, static_cast<uint64_t>(n), &bytes), "tensor '", name,
                 "': the product of its shape is too large");
  }
  return bytes;
}

Entry parse_entry(const Source& source, const std::string& name, const json& v) {
  std::string where = "tensor '" + name.substr(0, 80) + "'";
  source.check(name.size() <= kMaxName, where, ": the name is longer than ", kMaxName, " bytes");
  source.check(
      v.is_object() && v.size() == 3 && v.contains("dtype") && v.contains("shape") && v.contains("data_offsets"), where,
      " does not have exactly dtype, shape and data_offsets");
  source.check(v["dtype"].is_string(), where, ": dtype is not a string");
  Entry e;
  e.name = name;
  auto dtype = from_format_name(v["dtype"].get_ref<const std::string&>());
  TENON_CHECK(dtype, NotImplementedError, "load: ", source.name, ": ", where, " has dtype ",
              v["dtype"].get<std::string>(), ", which is not supported");
  e.dtype = *dtype;
  e.shape = numbers(source, where + ": shape", v["shape"]);
  const json& offsets = v["data_offsets"];
  source.check(offsets.is_array() && offsets.size() == 2, where, ": data_offsets is not a pair");
  e.begin = natural(source, where + ": data_offsets", offsets[0]);
  e.end = natural(source, where + ": data_offsets", offsets[1]);
  source.check(e.begin <= e.end && e.end - e.begin == checked_bytes(source, name, e.shape, e.dtype), where,
               ": data_offsets do not fit shape and dtype");
  return e;
}

std::vector<Entry> parse_entries(const Source& source, const json& header, uint64_t data_size) {
  std::vector<Entry> entries;
  source.check(header.size() <= kMaxTensors, "has more than ", kMaxTensors, " tensors");
  for (const auto& [name, v] : header.items()) {
    if (name != "__metadata__") entries.push_back(parse_entry(source, name, v));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  uint64_t at = 0;
  for (const auto& e : entries) {
    source.check(e.begin == at, "tensor '", e.name, "': its data leaves a gap or overlaps another's");
    at = e.end;
  }
  source.check(at <= data_size, "is truncated: its header promises ", at, " bytes of data, there are ", data_size);
  source.check(at == data_size, "has ", data_size - at, " bytes behind its last tensor");
  return entries;
}

Tensor make_tensor(const Entry& e, const char* data) {
  Tensor t = empty(e.shape, TensorOptions().dtype(e.dtype));
  std::size_t bytes = e.end - e.begin;
  if (bytes == 0) return t;
  auto* out = static_cast<char*>(t.data_ptr());
  std::memcpy(out, data + e.begin, bytes);
  if (e.dtype == kBool) {
    // Any other byte in a bool is undefined behaviour further on.
    for (std::size_t i = 0; i < bytes; ++i) out[i] = out[i] != 0;
  }
  return t;
}

void check_checksum(const Source& source, const std::string& expected, const char* data, std::size_t header_end,
                    std::size_t size) {
  std::string head(data, header_end);
  std::size_t at = head.find(kChecksumMark);
  source.check(at != std::string::npos && expected.size() == kChecksumDigits, "its checksum is malformed");
  at += kChecksumMark.size();
  std::fill_n(head.begin() + static_cast<std::ptrdiff_t>(at), kChecksumDigits, '0');
  uint32_t crc = crc32(crc32(0, head.data(), head.size()), data + header_end, size - header_end);
  static constexpr char kHex[] = "0123456789abcdef";
  for (std::size_t i = 0; i < kChecksumDigits; ++i) {
    source.check(expected[i] == kHex[crc >> (28 - 4 * i) & 15],
                 "is corrupt: its checksum differs from that of its content");
  }
}

// The strided view, if every element that it reaches is inside the base.
Tensor make_view(const Source& source, const std::string& where, const Tensor& base, const json& v) {
  auto shape = numbers(source, where + ": shape", v.value("shape", json()));
  auto strides = numbers(source, where + ": strides", v.value("strides", json()));
  auto offset = numbers(source, where + ": offset", json::array({v.value("offset", json())}))[0];
  source.check(shape.size() == strides.size(), where, ": shape and strides differ in length");
  checked_bytes(source, where, shape, base.scalar_type());
  int64_t last = offset;
  bool hollow = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (std::size_t d = 0; d < shape.size() && !hollow; ++d) {
    int64_t reach;
    source.check(
        !__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) && !__builtin_add_overflow(last, reach, &last), where,
        ": strides too large");
  }
  source.check(hollow ? offset <= base.numel() : last < base.numel(), where, " reaches outside of its storage");
  return base.as_strided(shape, strides, offset);
}

// Same values, in memory as strides say.
Tensor restride(const Source& source, const std::string& where, const Tensor& t, const json& v) {
  auto strides = numbers(source, where + ": strides", v["strides"]);
  source.check(strides.size() == static_cast<std::size_t>(t.dim()), where, ": as many strides as sizes expected");
  int64_t span = t.numel() > 0;
  for (int64_t d = 0; d < t.dim() && t.numel() > 0; ++d) {
    int64_t reach;
    source.check(!__builtin_mul_overflow(t.size(d) - 1, strides[static_cast<std::size_t>(d)], &reach) &&
                     !__builtin_add_overflow(span, reach, &span),
                 where, ": strides too large");
  }
  // A step of up to 1,024 is a view of a view; more is a small file that asks for a huge block.
  source.check(span <= 1024 * t.numel(), where, ": strides leave too large holes");
  Tensor out = zeros({span}, t.options()).as_strided(t.sizes(), strides);
  out.copy_(t);
  return out;
}

void read_extras(const Source& source, const json& extra, Content& content) {
  source.check(extra.is_object(), "tenon.tensors is not an object");
  for (const auto& [name, v] : extra.items()) {
    std::string where = "tenon.tensors: '" + name + "'";
    source.check(v.is_object(), where, " is not an object");
    if (v.contains("of")) {
      source.check(v["of"].is_string() && !content.tensors.count(name), where, " is no view of another tensor");
      auto base = content.tensors.find(v["of"].get_ref<const std::string&>());
      source.check(base != content.tensors.end() && base->second.is_contiguous(), where,
                   " is a view of a tensor that is not there");
      content.tensors[name] = make_view(source, where, base->second, v);
    } else {
      auto it = content.tensors.find(name);
      source.check(it != content.tensors.end(), where, " is not in the file");
      if (v.contains("strides")) it->second = restride(source, where, it->second, v);
    }
  }
  for (const auto& [name, v] : extra.items()) {
    if (!v.value("requires_grad", json(false)).is_boolean() || !v.value("requires_grad", false)) continue;
    Tensor& t = content.tensors.at(name);
    source.check(isFloatingType(t.scalar_type()), "tenon.tensors: '", name, "' of dtype ", dtype_name(t.scalar_type()),
                 " cannot require grad");
    t = t.detach().requires_grad_(true);
  }
}

double to_double(const Source& source, const std::string& key, const json& v) {
  if (v.is_number()) return v.get<double>();
  source.check(v == "nan" || v == "inf" || v == "-inf", "tenon.values: '", key, "' is not a number");
  double inf = std::numeric_limits<double>::infinity();
  return v == "nan" ? std::numeric_limits<double>::quiet_NaN() : v == "inf" ? inf : -inf;
}

IValue read_value(const Source& source, const std::string& key, const json& v) {
  source.check(v.is_object() && v.size() == 1, "tenon.values: '", key, "' is not one kind and its value");
  const std::string& kind = v.begin().key();
  const json& x = v.begin().value();
  if (kind == "none") return {};
  if (kind == "double") return to_double(source, key, x);
  if (kind == "int" && x.is_number_integer()) return x.get<int64_t>();
  if (kind == "bool" && x.is_boolean()) return x.get<bool>();
  if (kind == "string" && x.is_string()) return x.get<std::string>();
  if (kind == "ints" && x.is_array()) {
    std::vector<int64_t> out;
    for (const auto& n : x) {
      source.check(n.is_number_integer(), "tenon.values: '", key, "' has what is no whole number");
      out.push_back(n.get<int64_t>());
    }
    return out;
  }
  if (kind == "doubles" && x.is_array()) {
    std::vector<double> out;
    for (const auto& n : x) out.push_back(to_double(source, key, n));
    return out;
  }
  source.check(false, "tenon.values: '", key, "' has an unknown kind or the wrong value for it");
  return {};
}

void read_metadata(const Source& source, const json& meta, Content& content) {
  if (auto it = meta.find("tenon.tensors"); it != meta.end()) {
    read_extras(source, parse(source, "tenon.tensors", it->get_ref<const std::string&>()), content);
  }
  if (auto it = meta.find("tenon.values"); it != meta.end()) {
    json values = parse(source, "tenon.values", it->get_ref<const std::string&>());
    source.check(values.is_object(), "tenon.values is not an object");
    for (const auto& [key, v] : values.items()) content.values[key] = read_value(source, key, v);
  }
  if (auto it = meta.find("tenon.archives"); it != meta.end()) {
    json names = parse(source, "tenon.archives", it->get_ref<const std::string&>());
    source.check(names.is_array(), "tenon.archives is not a list");
    for (const auto& n : names) {
      source.check(n.is_string(), "tenon.archives has what is no string");
      content.archives.insert(n.get<std::string>());
    }
  }
}

void drop_hidden(Content& content) {
  auto it = content.tensors.lower_bound(std::string(kHiddenPrefix));
  while (it != content.tensors.end() && it->first.compare(0, kHiddenPrefix.size(), kHiddenPrefix) == 0) {
    it = content.tensors.erase(it);
  }
}

}  // namespace

std::optional<std::string_view> format_name(ScalarType t) {
  for (const auto& d : kDtypes) {
    if (d.type == t) return d.name;
  }
  return std::nullopt;
}

std::optional<ScalarType> from_format_name(std::string_view name) {
  for (const auto& d : kDtypes) {
    if (d.name == name) return d.type;
  }
  return std::nullopt;
}

Content read_safetensors(const std::string& name, const char* data, std::size_t size, std::optional<Device> device) {
  Source source{name};
  source.check(size >= 8, "is no safetensors file: it has ", size, " bytes, fewer than the 8 of the header's length");
  uint64_t header_size = 0;
  for (std::size_t i = 8; i-- > 0;) header_size = header_size << 8 | static_cast<unsigned char>(data[i]);
  source.check(header_size <= kMaxHeader, "is no safetensors file, or its header of ", header_size,
               " bytes exceeds the limit of ", kMaxHeader);
  source.check(header_size <= size - 8, "is truncated: its header has ", header_size, " bytes, only ", size - 8,
               " are there");
  source.check(header_size > 0 && data[8] == '{', "is no safetensors file: its header does not begin with '{'");
  std::size_t data_at = 8 + static_cast<std::size_t>(header_size);
  json header = parse(source, "its header", std::string_view(data + 8, static_cast<std::size_t>(header_size)));
  json meta = header.value("__metadata__", json::object());
  source.check(meta.is_object(), "__metadata__ is not an object");
  for (const auto& [key, v] : meta.items()) source.check(v.is_string(), "__metadata__: '", key, "' is not a string");
  auto entries = parse_entries(source, header, size - data_at);
  if (auto it = meta.find("tenon.checksum"); it != meta.end()) {
    check_checksum(source, it->get_ref<const std::string&>(), data, data_at, size);
  } else {
    source.check(!meta.contains("tenon.format"), "is corrupt: it has lost its checksum");
  }
  Content content;
  for (const auto& e : entries) {
    Tensor t = make_tensor(e, data + data_at);
    content.tensors.emplace(e.name, device ? t.to(*device) : t);
  }
  read_metadata(source, meta, content);
  drop_hidden(content);
  return content;
}

}  // namespace tenon::serialize::detail
